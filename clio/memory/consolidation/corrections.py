"""Find what the user's message changes in memory, and change it at once, before the request is sent.

The models of `value_changes` compare the message with each memory that may be meant: those that have a word of it, and
those of this session. If it fits several memories, or it is not certain that it changes one, the user is asked.
Consolidation does the same for sessions that were recorded without this (`match_corrections`). `withdrawals` takes back
limits and memories.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, structs

from clio.memory.consolidation.content_words import (
    count_shared_words,
    count_words,
    is_said_before,
)
from clio.memory.consolidation.experiences import Correction, Experience
from clio.memory.consolidation.forget_requests import find_forget_requests
from clio.memory.consolidation.new_values import (
    CLEARLY,
    SHORT,
    JudgedStatement,
    has_value,
    judge_statement,
    read_corrections,
    read_own_text,
)
from clio.memory.consolidation.stated_facts import read_correctable_statements
from clio.memory.consolidation.statement_pairs import find_part_probability
from clio.memory.consolidation.value_changes import find_change
from clio.memory.consolidation.withdrawals import MAX_LISTED
from clio.memory.preferences.limits import find_limits
from clio.memory.preferences.own_sentences import FILLER, WrittenSentence
from clio.memory.statement_relation import relate_statements
from clio.memory.statement_rewording import remove_denied
from clio.memory.store.memory_store import MemoryStore
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
from clio.text.untrusted_text import make_inert_line

_ENDED = 0.85
"""Least probability that a memory no longer holds from which on it is archived."""
_MAY_CHANGE = 0.001
"""Least probability that a part of a replayed message says that something has changed."""
_MAX_ALL = 500
"""A message is compared with all memories of a scope if there are at most so many."""
_MAX_COMPARED = 50
"""Otherwise with this many of each kind, those that share most words with it; the model compares no more."""
_KINDS: tuple[Kind, ...] = ("fact", "note")
_OF_TEAM = re.compile(
    r"(?:we|our|the team|wir|unser\w*|nous|on|notre|nosotros|nuestr[oa]s?|nós|noss[oa]s?)\b|我们|うち", re.I
)


class Stated(Struct, frozen=True, kw_only=True):
    """A statement in memory.

    Attributes:
        at: when the user made it, in seconds since the epoch.
        is_live: whether it was saved while the user typed, and compared with the later messages of its session then.
    """

    id: str
    text: str
    at: float
    session: str = ""
    is_live: bool = False


def _group(judged: Sequence[JudgedStatement]) -> list[list[JudgedStatement]]:
    """Return the changes by the value that they give, the most probable first; those that are closer exclude others."""
    groups: list[list[JudgedStatement]] = []
    if alike := [one for one in judged if not one.is_close and one.is_alike]:
        judged = [one for one in judged if one.is_close or one in alike]
    for one in sorted(judged, key=lambda one: (not one.is_close, -one.odds)):
        start, end = one.value.found.new
        same = next(
            (two for two in groups if start < two[0].value.found.new[1] and two[0].value.found.new[0] < end), None
        )
        if same is None:
            groups.append([one])
        elif one.is_close or not same[0].is_close:
            same.append(one)
    return groups


def _choose(group: Sequence[JudgedStatement]) -> tuple[list[JudgedStatement], bool]:
    """Return the statements that a new value may be meant for, and whether it certainly is meant for all of them."""
    group = [one for one in group if one.is_same_form] or group
    first = group[0]
    related = [one for one in group if relate_statements(one.statement, first.statement) != "different"]
    rivals = [one for one in group if one not in related and first.odds < one.odds * CLEARLY]
    if rivals:
        return [first, *rivals], False
    return ([one for one in related if one.is_certain], True) if first.is_certain else ([first], False)


class Match(Struct, frozen=True, kw_only=True):
    """The statements in memory that a correction refutes. content: what holds now."""

    correction: Correction
    refuted: tuple[Stated, ...]
    content: str


def find_corrections(experience: Experience) -> list[Correction]:
    """Return the user's messages of a turn that may change a memory, in order."""
    found: list[Correction] = []
    for message in experience.messages:
        if not isinstance(message, UserMessage) or message.origin != "user" or not read_corrections(message.content):
            continue
        text = read_own_text(message.content)
        if find_part_probability(text, "changed") >= _MAY_CHANGE:
            found.append(
                Correction(
                    text=text,
                    quote=make_inert_line(text),
                    session=experience.session,
                    message=experience.message,
                    at=experience.at,
                    before=experience.before,
                )
            )
    return found


def match_corrections(corrections: Iterable[Correction], near: Callable[[Correction], Sequence[Stated]]) -> list[Match]:
    """Return what each correction certainly refutes, oldest correction first, without those that refute nothing.

    Statements newer than the correction stay.

    Args:
        near: returns the statements in memory that may be about a correction's subject.
    """
    gone: set[str] = set()
    found: list[Match] = []
    for one in sorted(corrections, key=lambda correction: correction.at):
        own = read_corrections(one.text)
        known: dict[int, Stated] = {}
        judged: list[JudgedStatement] = []
        done: list[str] = []  # what was changed while the user typed
        for stated in near(one):
            is_same = stated.session == one.session
            done += [stated.text] if is_same and stated.is_live else []
            if stated.at >= one.at or stated.id in gone or (is_same and stated.is_live):
                continue
            is_reply = is_same and is_said_before(stated.text, one.before)
            result = judge_statement(
                stated.text, one.text, own, one.before or "…", is_reply=is_reply, is_same_session=is_same
            )
            if result is not None:
                judged.append(result)
                known[id(result)] = stated
        for group in _group([two for two in judged if not any(has_value(text, two.value.new) for text in done)]):
            chosen, is_certain = _choose(group)
            if is_certain:
                refuted = tuple(known[id(two)] for two in chosen)
                gone.update(two.id for two in refuted)
                found.append(Match(correction=one, refuted=refuted, content=chosen[0].value.content))
    return found


def archive_refuted(memories: MemoryStore, ids: Collection[str], new: MemoryRecord | None, title: str) -> int:
    """Archive the memories that a statement refutes, and return their number.

    new: what takes their place; None if it only says that they no longer hold.
    """
    gone = memories.supersede(ids, new, title)
    entries = [id for id in ids if id[1:2] == "-"]
    if entries and new is not None:
        gone += len(memories.ltm.supersede(dict.fromkeys(entries, new.id)))
    elif entries:
        gone += len(memories.ltm.forget(entries))
    return gone


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
        return replace_memories(memory, self.contents[0], self.session, self.quote, self.candidates[:1])


class CorrectedStatement(Struct, frozen=True, kw_only=True):
    """A statement of the turn before with the value by which a sentence corrects it. author: who stated it."""

    statement: str
    content: str
    author: AssertedBy
    quote: str


def correct_memories(
    memory: MemorySystem,
    text: str,
    session: str,
    before: Sequence[Message],
    done: Collection[str] = (),
    rules: Mapping[str, str] = {},
    tastes: Mapping[str, str] = {},
) -> "list[Replaced | UnclearCorrection]":
    """Replace the memories to which the user's message gives another value; each one is one change to undo.

    A memory is archived if it no longer holds and nothing takes its place: "das VPN ist abgeschafft". What a team
    changed ("we moved to poetry") may hold in this project only, so that a preference for all projects is asked about.

    Args:
        before: the messages of the turn before, which tell what "it's 9090 now" is about.
        done: sentences of the message that have an effect already.
        rules: by sentence of the message, the whole rule or limit that it states.
        tastes: by sentence, the preference that it states; such a sentence changes only preferences.

    Raises UserError, StorageError, OSError.
    """
    own = [one for one in read_corrections(text) if not any(two in one.text or one.text in two for two in done)]
    if not own:
        return []
    message = memory.redacted(read_own_text(text))
    own = [structs.replace(one, text=memory.redacted(one.text)) for one in own]
    context = "\n".join(one.content for one in before)
    last = next((one.content for one in before if isinstance(one, UserMessage) and one.origin == "user"), "")
    is_asked = _is_question(before)
    judged: list[JudgedStatement] = []
    for record, scope in _list_candidates(memory, message, last, session):
        is_own = record.session == session
        is_reply = is_said_before(record.content, context)
        if scope and is_asked and not count_shared_words(record.content, message):
            continue  # "no, pnpm" may answer a question of the model
        one = judge_statement(record.content, message, own, context, is_reply=is_reply, is_same_session=is_own)
        if one is not None and (_says_all(one, tastes) if scope else one.value.new not in tastes.get(one.quote, "")):
            judged.append(structs.replace(one, record=record, scope=scope))
    found: list[Replaced | UnclearCorrection] = []
    for group in _group(judged):
        found += _apply(memory, group, session, rules, {*rules, *tastes})
    return found or _archive_ended(memory, message, own, session, last)


def _is_question(before: Sequence[Message]) -> bool:
    """Whether the model has asked something, so that a few words may answer it."""
    return bool(before) and before[-1].content.rstrip().endswith(("?", "？"))


def _says_all(one: JudgedStatement, tastes: Mapping[str, str]) -> bool:
    """Whether a preference says after its change all that the sentence does: not "prefer short", of "short replies"."""
    stated = tastes.get(one.quote, "")
    is_whole = count_shared_words(one.value.content, stated) == count_words(remove_denied(stated))
    return is_whole if stated else one.is_certain or not one.is_named


def _apply(
    memory: MemorySystem,
    group: Sequence[JudgedStatement],
    session: str,
    rules: Mapping[str, str],
    stated: Collection[str],
) -> "list[Replaced | UnclearCorrection]":
    """Change what one new value is meant for, or return what to ask the user.

    stated: the sentences of the message that are saved as they stand if they change nothing.
    """
    group = [one for one in group if not _is_other_limit(one, rules)]
    if not group:
        return []
    chosen, is_certain = _choose(group)
    first = chosen[0]
    if is_certain:  # facts and preferences are changed in different ways
        chosen = [one for one in chosen if (one.scope is None) is (first.scope is None)]
    contents = tuple(rules.get(one.quote) or one.value.content if one.scope else one.value.content for one in chosen)
    records = tuple(one.record for one in chosen if one.record)
    if is_certain and first.scope:
        is_certain = first.is_named and not (first.scope == "user" and _OF_TEAM.match(first.quote))
    if not is_certain and first.quote in stated:
        return []  # it is saved as it stands
    if not is_certain and first.value.others:
        records, contents = records[:1] * 2, (contents[0], first.value.others[0])
    if not is_certain:
        return [
            UnclearCorrection(
                candidates=records[:MAX_LISTED], contents=contents[:MAX_LISTED], quote=first.quote, session=session
            )
        ]
    if first.scope and records[0].kind == "preference":
        return [_change_preference(memory, records[0], first.scope, contents[0], session, first.quote)]
    return [replace_memories(memory, contents[0], session, first.quote, records)]


def _is_other_limit(one: JudgedStatement, rules: Mapping[str, str]) -> bool:
    """Whether a sentence is a limit of its own beside another: "don't touch setup.py, fix the parser"."""
    is_limit = one.record is not None and one.record.is_limit
    return is_limit and one.is_named and one.quote not in rules and bool(find_limits(one.quote))


def _list_candidates(
    memory: MemorySystem, message: str, last: str, session: str
) -> list[tuple[MemoryRecord, Scope | None]]:
    """Return the memories that a message may change, those that share most words with it first.

    last: the user's message before. With preferences, their scope.
    """
    known: dict[str, MemoryRecord] = {}
    for record in search_memories(memory, message, last):
        known[record.id] = record
    facts = ((one, None) for one in known.values())
    found: list[tuple[MemoryRecord, Scope | None]] = [
        *facts,
        *((one, scope) for scope, one in memory.list_preferences()),
    ]
    ranked = [(count_shared_words(one[0].content, message), one[0].session == session, one) for one in found]
    ranked = [one for one in ranked if one[0] or one[1] or len(message) <= SHORT]
    ranked.sort(key=lambda one: (-one[0], not one[1]))
    return [one for *_, one in ranked[:_MAX_COMPARED]]


def _archive_ended(
    memory: MemorySystem, message: str, own: Sequence[WrittenSentence], session: str, last: str
) -> "list[Replaced | UnclearCorrection]":
    """Archive the memory that most probably no longer holds, if one does not."""
    own = [one for one in own if not one.is_question and FILLER not in one.masked]
    own = [one for one in own if not find_forget_requests(one.text)]
    ended: list[tuple[float, MemoryRecord, str]] = []
    for record, scope in _list_candidates(memory, message, last, session) if own else ():
        said = next((one for one in own if count_shared_words(record.content, one.text)), None)
        if said is None or scope:
            continue
        is_reply = record.session == session and is_said_before(record.content, last)
        probability = find_change(record.content, message, is_reply=is_reply).ended
        if probability >= _ENDED:
            ended.append((probability, record, said.text))
    if not ended:
        return []
    _, record, quote = max(ended, key=lambda one: one[0])
    return [replace_memories(memory, "", session, quote, [record])]


def find_corrected_statements(text: str, before: Sequence[Message], also: str = "") -> list[CorrectedStatement]:
    """Return what a message corrects of the turn before; nothing if it may correct several statements.

    Args:
        before: the messages of that turn.
        also: a statement that these messages led to, such as one that they corrected.
    """
    own = read_corrections(text)
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
    clean = read_own_text(text)
    is_asked = _is_question(before)
    judged = (
        [judge_statement(one, clean, own, context, is_reply=True, is_same_session=True) for one in authors]
        if own
        else []
    )
    found: list[CorrectedStatement] = []
    for group in _group([one for one in judged if one and (one.is_named or not is_asked)]):
        chosen, is_certain = _choose(group)
        if is_certain and len(chosen) == 1:
            [one] = chosen
            found.append(
                CorrectedStatement(
                    statement=one.statement, content=one.value.content, author=authors[one.statement], quote=one.quote
                )
            )
    return found


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


def search_memories(memory: MemorySystem, message: str, last: str) -> Iterator[MemoryRecord]:
    """Yield the facts, notes and discoveries that a message may be about. last: the user's message before."""
    for store in (memory.store.project, memory.store.user):
        for kind in _KINDS:
            if store.count() <= _MAX_ALL:
                found = store.index.of_kind(kind)
            else:
                found = [hit.record for hit in store.peek(f"{message} {last}", _MAX_COMPARED, kind)]
            for record in found:
                yield from (record, *store.index.variants(record.id))  # "9090, not 9191" may deny what a variant says
    yield from (entry for entry in memory.store.records(PROJECT_KINDS) if entry.kind == "discovery")


def replace_memories(
    memory: MemorySystem, content: str, session: str, quote: str, refuted: Sequence[MemoryRecord]
) -> Replaced:
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
