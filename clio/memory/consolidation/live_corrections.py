"""Apply what the user's message corrects in memory at once, before the request is sent.

Consolidation applies the same rules (`corrections.match_corrections`) to sessions that were recorded without this.
`live_withdrawals` takes back limits and memories.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct, structs

from clio.memory.consolidation.alignment import ValueChange
from clio.memory.consolidation.corrections import (
    Correction,
    Stated,
    archive_refuted,
    make_replacement,
    match_corrections,
    read_corrections,
)
from clio.memory.consolidation.forget_requests import find_forget_requests, is_part_meant, takes_back_last
from clio.memory.consolidation.live_withdrawals import MAX_LISTED, get_session, list_preferences
from clio.memory.consolidation.stated_facts import read_correctable_statements
from clio.memory.consolidation.value_corrections import (
    find_corrected_choice,
    find_corrected_value,
    has_rival,
    is_said_before,
    list_content_words,
    read_value_corrections,
)
from clio.memory.preferences.limits import find_limits
from clio.memory.statement_parser import announces_change
from clio.memory.statement_reader import split_clauses
from clio.memory.statement_relation import relate_statements
from clio.memory.store.record import (
    PROJECT_KINDS,
    SHORT_ID,
    AssertedBy,
    Kind,
    MemoryDraft,
    MemoryRecord,
    Provenance,
    Replacement,
    has_same_text,
    shorten_content,
)
from clio.memory.store.typed_store import Scope
from clio.memory.system import MemorySystem
from clio.messages import Message, UserMessage
from clio.text.translation import tr

_KINDS: tuple[Kind, ...] = ("fact", "note")
MAX_ALL = 500
"""A correction is compared with all memories of a scope if there are at most so many."""
MAX_COMPARED = 50
"""Otherwise with this many of each kind, those that share most words with it."""
CONTEXT_CHARS = 2_000
"""Number of characters of the preceding conversation that are examined."""


_OF_TEAM = re.compile(
    r"(?:we|our|the team|wir|unser\w*|nous|on|notre|nosotros|nuestr[oa]s?|nós|noss[oa]s?)\b|我们|うち", re.I
)


class Replaced(Struct, frozen=True, kw_only=True):
    """What one correction did.

    Attributes:
        refuted: the memories that no longer hold; none if it corrects what is not in memory.
        record: what holds now; None if the correction only says what does not.
        quote: the sentence as written.
        scope: of `record`.
        is_new: whether `record` was made for it, and did not exist before.
    """

    refuted: tuple[MemoryRecord, ...]
    record: MemoryRecord | None
    quote: str

    scope: Scope = "project"
    is_new: bool = True

    @property
    def replacement(self) -> Replacement | None:
        """What taking it back has to revert; None if it only said what does not hold."""
        return Replacement(new=self.record, old=self.refuted, is_new=self.is_new) if self.record else None

    def describe(self) -> str:
        """Return the line that reports it."""
        old = "; ".join(f"“{shorten_content(one)}”" for one in self.refuted)
        if self.record is not None and not self.refuted:
            saved = tr("Saved to {scope} memory: {contents}", scope=tr(self.scope), contents=self.record.content)
            return tr("{parts} · /memory undo", parts=saved)
        if self.record is None:
            return tr("No longer used: {old} · /memory undo", old=old)
        return tr(
            "Saved to {scope} memory: {content} (instead of {old}) · /memory undo",
            scope=tr(self.scope),
            content=self.record.content,
            old=old,
        )


def apply_corrections(
    memory: MemorySystem,
    text: str,
    session: str,
    context: str,
    done: Collection[str] = (),
    rules: Mapping[str, str] = {},
    facts: Mapping[str, str] = {},
) -> "list[Replaced | UnclearCorrection]":
    """Replace the facts, notes and discoveries that the user's message refutes; each correction is one change to undo.

    What a team changed ("we moved to poetry") may hold in this project only, so that a preference for all projects is
    asked about.

    Args:
        context: what was said just before, which tells what "it's 9090 now" is about.
        done: sentences of the message that have corrected something already.
        rules: by sentence of the message, the whole rule or limit that it states.
        facts: by sentence, the complete statement that it asks to remember; see `correct_values`.

    Raises UserError, StorageError, OSError.
    """
    corrections = [
        Correction(text=memory.redacted(text), quote=memory.redacted(quote), session=session, message="", at=math.inf)
        for text, quote in read_corrections(text)
        if not any(one in quote or quote in one for one in done)
    ]
    if not corrections:
        return []
    context = context[-CONTEXT_CHARS:]
    known: dict[str, MemoryRecord] = {}
    matched = match_corrections(corrections, _search(memory, context, known), context)
    matched = [
        (
            one,
            [
                stated
                for stated in refuted
                if one.quote not in facts or _gives_other_value(stated.text, facts[one.quote])
            ],
        )
        for one, refuted in matched
    ]
    replaced: list[Replaced | UnclearCorrection] = [
        _replace(
            memory, make_replacement(refuted[0].text, one), session, one.quote, [known[stated.id] for stated in refuted]
        )
        for one, refuted in matched
        if refuted
    ]
    return [*replaced, *_change_preferences(memory, corrections, rules)]


def _gives_other_value(known: str, fact: str) -> bool:
    """Whether a complete statement gives another value to the whole subject of a known one."""
    return relate_statements(known, fact) == "supersedes"


def _change_preferences(
    memory: MemorySystem, corrections: Sequence[Correction], rules: Mapping[str, str]
) -> "list[Replaced | UnclearCorrection]":
    """Give preferences, rules and limits the name or number that a correction says: "I prefer spaces now, not tabs".

    A correction that states a whole rule replaces a rule by its own words: the rest of the former one may be wrong.
    """
    done: list[Replaced | UnclearCorrection] = []
    # "Don't touch setup.py, fix the parser" is a limit of its own beside "never touch _re.py".
    own = {one.quote for one in corrections if one.quote not in rules and find_limits(one.quote)}
    for scope, record in list_preferences(memory):
        for correction in corrections:
            if record.is_limit and correction.quote in own:
                continue
            changes = (find(record.content, correction.text) for find in (find_corrected_value, find_corrected_choice))
            change = next((one for one in changes if one is not None and one.is_named), None)
            if change is None:
                continue
            rule = rules.get(correction.quote, "") if record.explicit else ""
            content = rule if rule and not announces_change(rule) else change.apply(record.content)
            session, quote = correction.session, correction.quote
            if scope == "user" and _OF_TEAM.match(correction.text):
                unclear = UnclearCorrection(candidates=(record,), contents=(content,), quote=quote, session=session)
                done.append(unclear)
            else:
                done.append(_change_preference(memory, record, scope, content, session, quote))
            break
    return done


def _change_preference(
    memory: MemorySystem, record: MemoryRecord, scope: Scope, content: str, session: str, quote: str
) -> Replaced:
    """Give a preference, rule or limit another text, or let one that has this text already take its place."""
    book = memory.preferences if scope == "user" else memory.project_preferences
    same = [one for one in book.all() if has_same_text(one.record.content, content)]
    if same:
        memory.store.forget(record.id)
        changed = same[0].record
    else:
        said = Provenance(session=session, asserted_by="user")
        changed = memory.store.update(record.id, content=content, provenance=said)
    return Replaced(refuted=(record,), record=changed, quote=quote, scope=scope, is_new=False)


class UnclearCorrection(Struct, frozen=True, kw_only=True):
    """A correction of which it is not certain what it corrects, so that nothing was replaced.

    Attributes:
        candidates: the memories it may be about; none if it is about something else that was said before.
        contents: what each would be after it.
        quote: the sentence as written.
        session: where the user wrote it.
    """

    candidates: tuple[MemoryRecord, ...]
    contents: tuple[str, ...]
    quote: str
    session: str

    def describe(self) -> str:
        """Return the line that names what it may be about."""
        listed = "; ".join(dict.fromkeys(f"{one.id[-SHORT_ID:]} “{shorten_content(one)}”" for one in self.candidates))
        return tr(
            "Not clear what “{quote}” corrects, so nothing changed: {listed} · /memory edit ID",
            quote=self.quote,
            listed=listed,
        )

    def question(self) -> str:
        """Return the question whether the only candidate is meant."""
        old = shorten_content(self.candidates[0])
        return tr("Replace “{old}” with “{new}” in memory?", old=old, new=self.contents[0])

    def apply(self, memory: MemorySystem) -> Replaced:
        """Replace the first candidate. Raises UserError, StorageError, OSError."""
        record = self.candidates[0]
        if record.kind == "preference":
            scope = memory.store.scope_of(record.id)
            return _change_preference(memory, record, scope, self.contents[0], self.session, self.quote)
        return _replace(memory, self.contents[0], self.session, self.quote, self.candidates[:1])


def correct_values(
    memory: MemorySystem, text: str, session: str, context: str, facts: Mapping[str, str] = {}
) -> list[Replaced | UnclearCorrection]:
    """Replace values of which a sentence says little more than the new one, where it is certain what it corrects.

    It is certain if the sentence names the subject or the former value, if the statement is in the conversation just
    before, or if nothing was said before and only one memory has a value of exactly this form.

    Args:
        context: see `apply_corrections`.
        facts: by sentence of the message, the complete statement that it asks to remember. It replaces only a memory
            about its whole subject: "remember that the port is 8000" does not change the port of staging.

    Raises UserError, StorageError, OSError.
    """
    found: list[Replaced | UnclearCorrection] = []
    context = context[-CONTEXT_CHARS:].strip()
    done: set[str] = set()
    for sentence in _read_new_values(text):
        if any(one in sentence for one in done):
            continue
        clean = memory.redacted(sentence)
        known: dict[str, MemoryRecord] = {}
        correction = Correction(text=clean, quote=clean, session=session, message="", at=math.inf)
        _search(memory, context, known)(correction)
        changes = [
            (record, change)
            for record in _keep_related(known.values(), f"{clean} {context}")
            for change in _find_changes(record.content, clean)
            if sentence not in facts or _gives_other_value(record.content, facts[sentence])
        ]
        if not changes:
            continue
        done.add(sentence)
        chosen, is_certain = _choose_change(changes, context, session)
        records = tuple(record for record, _ in chosen)
        contents = tuple(change.apply(record.content) for record, change in chosen)
        if is_certain:
            found.append(_replace(memory, contents[0], session, sentence, records))
        else:
            found.append(UnclearCorrection(candidates=records, contents=contents, quote=sentence, session=session))
    return found


def _find_changes(content: str, sentence: str) -> list[ValueChange]:
    """Return the value of a memory that a sentence replaces, or of each of its statements if that is not clear."""
    if change := find_corrected_value(content, sentence) or _find_instead(content, sentence):
        return [change]
    parts = split_clauses(content)
    return [
        structs.replace(change, within=part)
        for part in parts[1:] and parts
        if (change := find_corrected_value(content[slice(*part)], sentence))
    ]


def _find_instead(statement: str, sentence: str) -> ValueChange | None:
    """Return the value that a request to forget a statement gives instead: "forget that Jo is the lead, it's Ida"."""
    for request in find_forget_requests(sentence):
        stated = structs.replace(request, about=request.about.removesuffix(request.instead))
        if request.instead and is_part_meant(statement, stated, is_preference=False):
            change = find_corrected_value(statement, f"no, {request.instead}")
            return change and structs.replace(change, is_named=True)
    return None


def _read_new_values(text: str) -> list[str]:
    """Return the sentences of `read_value_corrections` without those that only take something back."""
    return [one for one in read_value_corrections(text) if not takes_back_last(one)]


def correct_preferences(
    memory: MemorySystem,
    text: str,
    session: str,
    before: Sequence[Message],
    done: Collection[str],
    rules: Mapping[str, str],
) -> list[Replaced | UnclearCorrection]:
    """Replace a limit by one that names and excludes its value, and find what may correct the message before.

    "No, pnpm" after "we use npm here, not yarn" says little more than a value, so the user is asked.

    Args:
        before: the messages of the turn before.
        done: sentences of the message that have corrected something already.
        rules: see `apply_corrections`.

    Raises UserError, StorageError, OSError.
    """
    sentences = [one for one in _read_new_values(text) if one not in done]
    if not sentences:
        return []
    said = next((one.content for one in before if isinstance(one, UserMessage) and one.origin == "user"), "")
    # "No, pnpm" may answer a question of the model.
    is_asked = bool(before) and before[-1].content.rstrip().endswith(("?", "？"))
    known = list_preferences(memory)
    stated: list[tuple[Scope, MemoryRecord]] = [
        (scope, one)
        for scope, one in known
        if said and not is_asked and get_session(one) == session and is_said_before(one.content, said)
    ]
    found: list[Replaced | UnclearCorrection] = []
    for sentence in sentences:
        clean, rule = memory.redacted(sentence), rules.get(sentence, "")
        changes = [
            (one, change)
            for one in (known if rule else stated)
            if (change := find_corrected_choice(one[1].content, clean))
            and (not rule or (one[1].explicit and change.is_named))
        ]
        if len(changes) != 1:
            continue
        [((scope, record), change)] = changes
        if rule:
            found.append(_change_preference(memory, record, scope, rule, session, sentence))
        elif not has_rival(change, record.content, said):
            contents = (change.apply(record.content),)
            found.append(UnclearCorrection(candidates=(record,), contents=contents, quote=sentence, session=session))
    return found


class CorrectedStatement(Struct, frozen=True, kw_only=True):
    """A statement of the turn before with the value by which a sentence corrects it. author: who stated it."""

    statement: str
    content: str
    author: AssertedBy
    quote: str


def find_corrected_statements(text: str, before: Sequence[Message], also: str = "") -> list[CorrectedStatement]:
    """Return what a message corrects of the turn before; nothing of a sentence that may correct several statements.

    Args:
        before: the messages of that turn.
        also: a statement that these messages led to, such as one that they corrected.
    """
    context = "\n".join(one.content for one in before)
    authors: dict[str, AssertedBy] = {}
    for message in before:
        if isinstance(message, UserMessage) and message.origin != "user":
            continue
        for statement in read_correctable_statements(message.content):
            is_user = isinstance(message, UserMessage) or authors.get(statement) == "user"
            authors[statement] = "user" if is_user else "model"
    if also and not any(has_same_text(one, also) for one in authors):
        authors[also] = "user"
    found: list[CorrectedStatement] = []
    for sentence in _read_new_values(text):
        changed: dict[str, tuple[str, AssertedBy]] = {
            change.apply(statement): (statement, author)
            for statement, author in authors.items()
            if (change := find_corrected_value(statement, sentence) or _find_instead(statement, sentence))
            # One that excludes something is not part of another: "we use black, not yapf", "we use ruff, not black".
            and not (_is_limit(statement) and _is_limit(sentence))
            and (change.is_named or not has_rival(change, statement, context))
        }
        if len(changed) == 1:
            [(content, (statement, author))] = changed.items()
            found.append(CorrectedStatement(statement=statement, content=content, author=author, quote=sentence))
    return found


def _is_limit(text: str) -> bool:
    return any(one.term == "lasting" for one in find_limits(text))


def learn_corrected(
    memory: MemorySystem, text: str, session: str, before: Sequence[Message], done: Collection[str]
) -> list[Replaced]:
    """Save what a message corrects of the turn before, if memory had nothing to replace.

    Args:
        before: the messages of the turn before.
        done: sentences of the message that have corrected a memory.

    Raises UserError, StorageError, OSError.
    """
    saved: list[Replaced] = []
    for one in find_corrected_statements(text, before):
        if one.quote in done:
            continue
        said = Provenance(session=session, asserted_by=one.author)
        added = memory.store.add(MemoryDraft(kind="fact", content=one.content), said, scope="project")
        if added.is_new:
            saved.append(Replaced(refuted=(), record=added.record, quote=one.quote))
    return saved


def _keep_related(records: Collection[MemoryRecord], said: str) -> list[MemoryRecord]:
    """Return the records that may be about what was said: all, unless there are many, else those that share a word."""
    if len(records) <= MAX_ALL:
        return list(records)
    words = [word for word in list_content_words(said) if len(word) > 2]
    return [one for one in records if any(word in one.content.casefold() for word in words)][:MAX_ALL]


def _choose_change(
    changes: Sequence[tuple[MemoryRecord, ValueChange]], context: str, session: str
) -> tuple[Sequence[tuple[MemoryRecord, ValueChange]], bool]:
    """Return the changes that a correction may mean, and whether it certainly means the only one of them."""
    named = [one for one in changes if one[1].is_named]
    most = max((change.shared for _, change in named), default=0)
    closest = [one for one in named if one[1].shared == most]
    if len(closest) == 1:
        return closest, True
    if any(change.is_stated for _, change in changes):
        return (), False
    said = [one for one in named or changes if is_said_before(one[0].content, context)]
    if said:
        is_rivalled = not named and any(has_rival(change, record.content, context) for record, change in said)
        return said, len(said) == 1 and not is_rivalled
    if named:
        return named[:MAX_LISTED], False
    # "No wait, it's int-green", some turns after "our integration env is called int-blue".
    resembling = [
        (record, change)
        for record, change in changes
        if get_session(record) == session
        and (change.is_resembling or (change.is_close and not has_rival(change, record.content, context)))
    ]
    if len(resembling) == 1:
        return resembling, True
    formed = [one for one in changes if one[1].is_alike or re.search(r"[^\W\d].*[./_-]|[/_].*[^\W\d]", one[1].new)]
    if any(has_rival(change, record.content, context) for record, change in formed):
        return (), False  # it is about what was said before
    alike = [one for one in formed if one[1].is_alike]
    if not context and len(alike) == len(formed) == 1:
        return alike, True
    # Numbers of one or two digits may be about anything that was said before.
    telling = [one for one in alike if len(re.findall(r"\d", one[1].new)) > 2]
    return (formed if len(formed) == 1 or not context else telling)[:MAX_LISTED], False


def _search(
    memory: MemorySystem, context: str, known: dict[str, MemoryRecord]
) -> Callable[[Correction], Sequence[Stated]]:
    """Return a function that lists the memories a correction may be about, and adds them to `known`."""
    entries = [entry for entry in memory.store.records(PROJECT_KINDS) if entry.kind == "discovery"]

    def near(correction: Correction) -> list[Stated]:
        for store in (memory.store.project, memory.store.user):
            for kind in _KINDS:
                if store.count() <= MAX_ALL:
                    found = store.index.of_kind(kind)
                else:
                    hits = store.peek(f"{correction.text} {context}", MAX_COMPARED, kind)
                    found = (hit.record for hit in hits if not hit.record.is_variant)
                for record in found:
                    # "9090, not 9191" may deny what only a variant says.
                    known.update((one.id, one) for one in (record, *store.index.variants(record.id)))
        known.update((entry.id, entry) for entry in entries)
        return [
            Stated(id=id, text=record.content, at=record.stated_since, session=get_session(record))
            for id, record in known.items()
            if not has_same_text(record.content, correction.text)
        ]

    return near


def _replace(memory: MemorySystem, content: str, session: str, quote: str, refuted: Sequence[MemoryRecord]) -> Replaced:
    """Save a new statement, if there is one, and archive those that it refutes.

    quote: the correction as written.
    """
    record: MemoryRecord | None = None
    is_new = False
    is_of_project = any(one.kind in PROJECT_KINDS for one in refuted) or not memory.store.user.live([refuted[0].id])
    scope: Scope = "project" if is_of_project else "user"
    with memory.store.group(f"replaced “{shorten_content(refuted[0])}”"):
        if content:
            said = Provenance(session=session, asserted_by="user")
            draft = MemoryDraft(kind="fact", content=content, explicit=True)
            saved = memory.store.add(draft, said, scope=scope)
            record, is_new = saved.record, saved.is_new
        gone = [one.id for one in refuted if record is None or one.id != record.id]
        title = f"replaced by “{shorten_content(record)}”" if record else ""
        archive_refuted(memory.store, gone, record, title)
    return Replaced(refuted=tuple(refuted), record=record, quote=quote, scope=scope, is_new=is_new)
