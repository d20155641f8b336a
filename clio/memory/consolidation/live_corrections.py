"""Apply what the user's message changes in memory at once: corrections, changed preferences, and lifted limits.

Consolidation applies the same rules for corrections (`stated_facts.match_corrections`) to sessions that were recorded
without this. Limits are lifted here only, and only by the user's own sentences: nothing that a model, a tool or a file
says lifts a limit. A permission for one occasion ("just this once"), with a condition ("if the tests pass") or in a
question lifts nothing. The rules of other languages than English are read by `rule_files`.
"""

import math
import re
from collections.abc import Callable, Collection, Sequence
from typing import Literal

from msgspec import Struct

from clio.memory.consolidation.forget_requests import (
    find_forget_requests,
    is_meant,
    is_stated_in,
    list_named,
    needs_confirmation,
)
from clio.memory.consolidation.stated_facts import (
    Correction,
    Stated,
    make_replacement,
    match_corrections,
    read_correctable_statements,
    read_corrections,
)
from clio.memory.consolidation.stores import archive_refuted
from clio.memory.consolidation.value_changes import ValueChange, find_value_change
from clio.memory.consolidation.value_corrections import (
    find_corrected_value,
    has_rival,
    is_said_before,
    list_content_words,
    read_value_corrections,
)
from clio.memory.preferences.foreign_statements import (
    USING,
    compare_withdrawn,
    detect_language,
    is_own_english,
    list_foreign_texts,
    read_withdrawals,
)
from clio.memory.preferences.rule_files import FILLER, english_rules, read_own_sentences
from clio.memory.preferences.stated_preferences import DISLIKED, VERBS
from clio.memory.statement_words import PREPOSITIONS, STOP_WORDS
from clio.memory.store.record import (
    PROJECT_KINDS,
    SHORT_ID,
    AssertedBy,
    Kind,
    MemoryDraft,
    MemoryRecord,
    Provenance,
    has_same_text,
    shorten_content,
)
from clio.memory.store.typed_store import Scope
from clio.memory.system import MemorySystem
from clio.messages import Message, UserMessage
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr
from clio.text.vocabulary import stem_word

_EN = english_rules("withdrawals")
MAX_SENTENCE = 160
_LEAD = _EN.pattern("lead")
_LASTING = _EN.pattern("lasting")
"""Words that make a permission more than an order of the current task: "now", "again", "from now on"."""
_PASSING = _EN.pattern("passing")
"""Signs of one occasion, a condition, a guess or a report about others."""
_ALLOWED_TO = _EN.pattern("allowed_to")
_THING_IS_FINE = _EN.pattern("thing_is_fine")
_GRANTED = _EN.pattern("granted")
_NO_NEED = _EN.pattern("no_need")
_NO_LONGER_WANTED = _EN.pattern("no_longer_wanted")
_FORGET = _EN.pattern("forget")
_FORGET_STATED = _EN.pattern("forget_stated")
_FORGET_NAMED = _EN.pattern("forget_named")
_RULE_IS_GONE = _EN.pattern("rule_is_gone")
_NAMED_RULE_IS_GONE = _EN.pattern("named_rule_is_gone")
_CHANGED_MIND = _EN.pattern("changed_mind")
_USE_NOW = _EN.pattern("use_now")
_TAIL = _EN.pattern("tail")
_PROHIBITION = _EN.pattern("prohibition")
_DISLIKED = _EN.pattern("disliked")
_CONDITION = _EN.pattern("condition")
"""Words of a limit that make it narrower than a plain prohibition, such as "without asking"."""
_FILLERS = _EN.word_set("fillers")
_VERB_GROUPS = {word: group for group, lines in _EN.maps["verb_groups"].items() for word in lines.split()}
_AND_ORDER = re.compile(r",? and (?=[a-z]+ )|, (?=[a-z]+ )|; ")
_BEFORE_VERBS = frozenset("or and to ever just please now any more not never dont be".split())
_MAX_ALONE = 12
"""A permission without a lasting word counts if it is the whole message and has at most this many words."""

WithdrawalKind = Literal["permission", "release", "forget"]


class Withdrawal(Struct, frozen=True, kw_only=True):
    """One statement that takes something back.

    Attributes:
        kind: "permission" allows what a limit prohibits; "release" no longer wants what a rule or preference asks for;
            "forget" names a rule or limit to forget.
        about: the words that say what it is about; "" if it only points ("forget that rule").
        quote: the sentence as written.
        language: code of its language; "" for English.
        may_be_state: whether it only says that something is fine, which may as well describe its state.
    """

    kind: WithdrawalKind
    about: str
    quote: str
    language: str = ""
    may_be_state: bool = False


def find_withdrawals(text: str) -> list[Withdrawal]:
    """Return the statements of a message that lift a limit or take back a preference, in its order."""
    language = detect_language(text)
    sentences = read_own_sentences(text, MAX_SENTENCE)
    found = [
        Withdrawal(kind=one.kind, about=one.about, quote=one.quote, language=code, may_be_state=one.may_be_state)
        for code, part in list_foreign_texts(text)
        for one in read_withdrawals(part, code)
    ]
    for said in sentences:
        if not is_own_english(said.text, text, language):
            continue
        lead = _LEAD.match(said.masked)
        start = lead.end() if lead else 0
        if said.is_question or FILLER in said.masked or _PASSING.search(said.masked, start):
            continue
        is_alone = len(sentences) == 1 and len(said.text.split()) <= _MAX_ALONE
        read = _read(said.masked[start:], is_alone=is_alone or _LASTING.search(said.masked) is not None)
        if read is not None:
            kind, (begin, end) = read
            about = _without_tail(said.text[start:][begin:end])
            may_be_state = kind == "permission" and not begin and not _GRANTED.search(said.masked, start)
            found.append(Withdrawal(kind=kind, about=about, quote=said.text, may_be_state=may_be_state))
    return found


def _read(masked: str, *, is_alone: bool) -> tuple[WithdrawalKind, tuple[int, int]] | None:
    """Return the kind of a sentence, and the place of the words that say what it is about; None for any other."""
    kinds: tuple[tuple[WithdrawalKind, tuple[LazyRegex, ...]], ...] = (
        ("forget", (_FORGET_STATED, _FORGET, _FORGET_NAMED, _RULE_IS_GONE, _NAMED_RULE_IS_GONE, _CHANGED_MIND)),
        ("permission", (_ALLOWED_TO, _THING_IS_FINE, _USE_NOW) if is_alone else ()),
        ("release", (_NO_NEED, _NO_LONGER_WANTED)),
    )
    for kind, patterns in kinds:
        for pattern in patterns:
            if found := pattern.match(masked):
                name = next((name for name in ("about", "rest") if found.groupdict().get(name)), "")
                return kind, found.span(name) if name else (0, 0)
    return None


def _without_tail(text: str) -> str:
    while (tail := _TAIL.search(text)) is not None and tail.start() > 0:
        text = text[: tail.start()]
    return text.strip(" ,.;:!")


def is_lifted(limit: str, one: Withdrawal) -> bool:
    """Whether a withdrawal takes back this limit, rule or preference.

    A permission must name all that the limit is about, and nothing narrower: "you may edit setup.py" lifts "never edit
    setup.py", but not "never edit files without asking", and "you may edit docs/setup.md" lifts neither.
    """
    if language := one.language or detect_language(limit):
        return compare_withdrawn(limit, one.about, one.kind, language, may_be_state=one.may_be_state)
    if one.may_be_state and not _verbs(one.about) and not _verbs_of_limit(limit) <= USING:
        return False
    first_order = _AND_ORDER.split(one.about)[0]
    return any(_is_about(limit, one.kind, about) for about in dict.fromkeys((one.about, first_order)) if about)


def _is_about(limit: str, kind: WithdrawalKind, about: str) -> bool:
    if kind == "forget":
        wanted = _objects(about) or _verbs(about)
        return bool(wanted) and wanted <= _objects(limit) | _verbs(limit)
    prohibition = _PROHIBITION.match(limit)
    disliked = _DISLIKED.match(limit)
    beginning = disliked or prohibition
    demanded = limit[beginning.end() :] if beginning else limit
    is_negated = prohibition is not None and prohibition["not"] is not None
    avoided = _PROHIBITION.match(about)
    if kind == "release" and is_negated and not disliked and not (avoided and avoided["not"]):
        return False  # "you need not push" lifts a duty, not the prohibition "never push"
    if kind == "permission" and not is_negated and not disliked:
        return False
    about = about[avoided.end() :] if avoided and kind == "release" else about
    if bool(_CONDITION.search(demanded)) != bool(_CONDITION.search(about)):
        return False
    mine, other = _objects(demanded), _objects(about)
    verbs, others = _verbs(demanded), _verbs(about)
    return bool(mine or verbs) and mine == other and (verbs <= others or not others)


def _as_stated(record: MemoryRecord) -> str:
    """Return the text of a preference as the user says it: a dislike is stored as the thing that is disliked."""
    is_dislike = record.score is not None and record.score <= DISLIKED and not record.explicit
    is_bare = is_dislike and not _DISLIKED.match(record.content) and not _PROHIBITION.match(record.content)
    return f"hate {record.content}" if is_bare else record.content


def _verbs_of_limit(limit: str) -> frozenset[str]:
    prohibition = _PROHIBITION.match(limit)
    return _verbs(limit[prohibition.end() :] if prohibition else limit)


def _words(text: str) -> list[str]:
    """Return the words of a text; of "no-emojis" as in "the no-emojis rule" only the second part."""
    found = re.findall(r"[\w./+#@*-]+", text.casefold().replace("'", ""))
    return [word.strip(".,;:!?").removeprefix("no-") for word in found]


def _verbs(text: str) -> frozenset[str]:
    """Return the groups of the verbs that a text begins with, or that follow "or" and "and"."""
    found: set[str] = set()
    takes = True
    for word in _words(text):
        verb = _verb_of(word)
        if takes and verb:
            found.add(verb)
        elif word not in _BEFORE_VERBS:
            takes = False
        takes = takes or word in ("or", "and")
    return frozenset(found)


def _verb_of(word: str) -> str:
    """Return the group of a verb, such as "edit" for "change" and "editing"; "" for any other word."""
    for form in (word, word.removesuffix("ing"), f"{word.removesuffix('ing')}e", re.sub(r"(.)\1ing$", r"\1", word)):
        if form in _VERB_GROUPS:
            return _VERB_GROUPS[form]
        if form in VERBS:
            return form
    return ""


def _objects(text: str) -> frozenset[str]:
    """Return the stems of the words that a limit or permission is about, without its verbs and fillers."""
    verbs = _verbs(text)
    found: set[str] = set()
    for word in _words(text):
        if word in _FILLERS or word in STOP_WORDS or word in PREPOSITIONS:
            continue
        if _verb_of(word) in verbs and _verb_of(word):
            continue
        found.add(stem_word(word))
    return frozenset(found)


_KINDS: tuple[Kind, ...] = ("fact", "note")
MAX_ALL = 500
"""A correction is compared with all memories of a scope if there are at most so many."""
MAX_LISTED = 4
"""Number of memories that are listed if it is not clear which one a correction is about."""
MAX_COMPARED = 50
"""Otherwise with this many of each kind, those that share most words with it."""
CONTEXT_CHARS = 2_000
"""Number of characters of the preceding conversation that are examined."""


class Replaced(Struct, frozen=True, kw_only=True):
    """What one correction did.

    Attributes:
        refuted: the memories that no longer hold; none if it corrects what is not in memory.
        record: what holds now; None if the correction only says what does not.
        quote: the sentence as written.
        scope: of `record`.
    """

    refuted: tuple[MemoryRecord, ...]
    record: MemoryRecord | None
    quote: str

    scope: Scope = "project"

    def describe(self) -> str:
        """Return the line that reports it."""
        old = "; ".join(f"“{shorten_content(one)}”" for one in self.refuted)
        if self.record is not None and not self.refuted:
            saved = tr("Saved to {scope} memory: {contents}", scope=self.scope, contents=self.record.content)
            return tr("{parts} · /memory undo", parts=saved)
        if self.record is None:
            return tr("No longer used: {old} · /memory undo", old=old)
        return tr(
            "Saved to {scope} memory: {content} (instead of {old}) · /memory undo",
            scope=self.scope,
            content=self.record.content,
            old=old,
        )


def apply_corrections(
    memory: MemorySystem, text: str, session: str, context: str, done: Collection[str] = ()
) -> list[Replaced]:
    """Replace the facts, notes and discoveries that the user's message refutes; each correction is one change to undo.

    Args:
        context: what was said just before, which tells what "it's 9090 now" is about.
        done: sentences of the message that have corrected something already.

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
    replaced = [
        _replace(
            memory, make_replacement(refuted[0].text, one), session, one.quote, [known[stated.id] for stated in refuted]
        )
        for one, refuted in matched
    ]
    return [*replaced, *_change_preferences(memory, corrections)]


def _change_preferences(memory: MemorySystem, corrections: Sequence[Correction]) -> list[Replaced]:
    """Give preferences, rules and limits the name or number that a correction says: "I prefer spaces now, not tabs"."""
    done: list[Replaced] = []
    said = Provenance(session=corrections[0].session, asserted_by="user")
    for scope, record in _preferences(memory):
        for correction in corrections:
            change = find_value_change(record.content, correction.text)
            if change is None or not change.is_named:
                continue
            book = memory.preferences if scope == "user" else memory.project_preferences
            content = change.apply(record.content)
            same = [one for one in book.all() if has_same_text(one.record.content, content)]
            if same:
                memory.store.forget(record.id)
                changed = same[0].record
            else:
                changed = memory.store.update(record.id, content=content, provenance=said)
            done.append(Replaced(refuted=(record,), record=changed, quote=correction.quote, scope=scope))
            break
    return done


def _preferences(memory: MemorySystem) -> list[tuple[Scope, MemoryRecord]]:
    """Return the preferences, rules and limits with their scope; the project's only if the project is trusted."""
    found: list[tuple[Scope, MemoryRecord]] = [("user", one.record) for one in memory.preferences.all()]
    if not memory.is_foreign:
        found.extend(("project", one.record) for one in memory.project_preferences.all())
    return found


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
        listed = "; ".join(f"{one.id[-SHORT_ID:]} “{shorten_content(one)}”" for one in self.candidates)
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
        return _replace(memory, self.contents[0], self.session, self.quote, self.candidates[:1])


def correct_values(memory: MemorySystem, text: str, session: str, context: str) -> list[Replaced | UnclearCorrection]:
    """Replace values of which a sentence says little more than the new one, where it is certain what it corrects.

    It is certain if the sentence names the subject or the former value, if the statement is in the conversation just
    before, or if nothing was said before and only one memory has a value of this form.

    Args:
        context: see `apply_corrections`.

    Raises UserError, StorageError, OSError.
    """
    found: list[Replaced | UnclearCorrection] = []
    context = context[-CONTEXT_CHARS:].strip()
    for sentence in read_value_corrections(text):
        clean = memory.redacted(sentence)
        known: dict[str, MemoryRecord] = {}
        correction = Correction(text=clean, quote=clean, session=session, message="", at=math.inf)
        _search(memory, context, known)(correction)
        changes = [
            (record, change)
            for record in _keep_related(known.values(), f"{clean} {context}")
            if (change := find_corrected_value(record.content, clean))
        ]
        if not changes:
            continue
        chosen, is_certain = _choose_change(changes, context)
        records = tuple(record for record, _ in chosen)
        contents = tuple(change.apply(record.content) for record, change in chosen)
        if is_certain:
            found.append(_replace(memory, contents[0], session, sentence, records))
        else:
            found.append(UnclearCorrection(candidates=records, contents=contents, quote=sentence, session=session))
    return found


class CorrectedStatement(Struct, frozen=True, kw_only=True):
    """A statement of the turn before with the value by which a sentence corrects it. author: who stated it."""

    content: str
    author: AssertedBy
    quote: str


def find_corrected_statements(text: str, before: Sequence[Message]) -> list[CorrectedStatement]:
    """Return what a message corrects of the turn before; nothing of a sentence that may correct several statements.

    before: the messages of that turn.
    """
    context = "\n".join(one.content for one in before)
    authors: dict[str, AssertedBy] = {}
    for message in before:
        if isinstance(message, UserMessage) and message.origin != "user":
            continue
        for statement in read_correctable_statements(message.content):
            is_user = isinstance(message, UserMessage) or authors.get(statement) == "user"
            authors[statement] = "user" if is_user else "model"
    found: list[CorrectedStatement] = []
    for sentence in read_value_corrections(text):
        changed: dict[str, AssertedBy] = {
            change.apply(statement): author
            for statement, author in authors.items()
            if (change := find_corrected_value(statement, sentence))
            and (change.is_named or not has_rival(change, statement, context))
        }
        if len(changed) == 1:
            [(content, author)] = changed.items()
            found.append(CorrectedStatement(content=content, author=author, quote=sentence))
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


def _keep_related(records: Collection[MemoryRecord], said: str) -> list[MemoryRecord]:
    """Return the records that may be about what was said: all, unless there are many, else those that share a word."""
    if len(records) <= MAX_ALL:
        return list(records)
    words = [word for word in list_content_words(said) if len(word) > 2]
    return [one for one in records if any(word in one.content.casefold() for word in words)][:MAX_ALL]


def _choose_change(
    changes: Sequence[tuple[MemoryRecord, ValueChange]], context: str
) -> tuple[Sequence[tuple[MemoryRecord, ValueChange]], bool]:
    """Return the changes that a correction may mean, and whether it certainly means the only one of them."""
    named = [one for one in changes if one[1].is_named]
    said = [one for one in named or changes if is_said_before(one[0].content, context)]
    if len(named) == 1:
        return named, True
    if said:
        is_rivalled = not named and any(has_rival(change, record.content, context) for record, change in said)
        return said, len(said) == 1 and not is_rivalled
    if named:
        return named[:MAX_LISTED], False
    formed = [one for one in changes if one[1].is_alike or re.search(r"[^\W\d].*[./_-]|[/_].*[^\W\d]", one[1].new)]
    if any(has_rival(change, record.content, context) for record, change in formed):
        return (), False  # it is about what was said before
    alike = [one for one in formed if one[1].is_alike]
    if not context and len(alike) == len(formed) == 1:
        return alike, True
    return (formed if len(formed) == 1 or not context else ())[:MAX_LISTED], False


class Lifted(Struct, frozen=True, kw_only=True):
    """What one statement of the user takes back.

    Attributes:
        records: the limits, rules and preferences that were archived.
        held: limits of this session that no longer apply.
        candidates: what it may have meant, if that is not clear; nothing was archived then.
        quote: the sentence as written.
    """

    records: tuple[MemoryRecord, ...] = ()
    held: tuple[str, ...] = ()
    candidates: tuple[MemoryRecord, ...] = ()
    quote: str

    def describe(self) -> str:
        """Return the line that reports it; "" if there was nothing to take back."""
        if self.candidates:
            listed = "; ".join(f"{one.id[-SHORT_ID:]} “{shorten_content(one)}”" for one in self.candidates)
            return tr("Not clear which one no longer applies: {listed} · /memory forget ID", listed=listed)
        gone = [*(shorten_content(one) for one in self.records), *self.held]
        undo = tr(" · /memory undo") if self.records else ""
        return tr("No longer applies: {gone}{undo}", gone="; ".join(gone), undo=undo) if gone else ""


def lift_limits(memory: MemorySystem, text: str, session: str) -> list[Lifted]:
    """Archive the limits, rules and preferences that the user's message takes back; each sentence is one change.

    Raises UserError, StorageError, OSError.
    """
    done: list[Lifted] = []
    for one in find_withdrawals(text):
        known = [record for _, record in _preferences(memory)]
        if not memory.is_foreign:
            known += [entry for entry in memory.store.records(PROJECT_KINDS) if entry.kind == "rule"]
        held = tuple(limit for limit in memory.held_limits if is_lifted(limit, one))
        if one.about:
            records = [record for record in known if is_lifted(_as_stated(record), one)]
        else:  # "forget that rule"
            here = [record for record in known if _session(record) == session]
            records = [max(here, key=lambda record: record.updated)] if here else []
        if one.kind == "forget" and len(records) > 1:
            done.append(Lifted(candidates=tuple(records), quote=one.quote))
            continue
        done.append(_take_back(memory, records, held, one.quote))
    return done


def _take_back(memory: MemorySystem, records: Sequence[MemoryRecord], held: tuple[str, ...], quote: str) -> Lifted:
    """Archive memories and lift limits of this session, if there are any."""
    if records:
        memory.store.forget(*[record.id for record in records])
    if held:
        memory.lift_held(held)
    return Lifted(records=tuple(records), held=held, quote=quote)


class UnclearRequest(Struct, frozen=True, kw_only=True):
    """A request to forget something that may as well be about the current task, so that nothing was archived.

    Attributes:
        record: the memory that it names.
        quote: the sentence as written.
    """

    record: MemoryRecord
    quote: str

    def describe(self) -> str:
        """Return the line that names the memory."""
        return Lifted(candidates=(self.record,), quote=self.quote).describe()

    def question(self) -> str:
        """Return the question whether the memory is meant."""
        return tr("Forget “{content}”?", content=shorten_content(self.record))

    def apply(self, memory: MemorySystem) -> Lifted:
        """Archive the memory. Raises UserError, StorageError, OSError."""
        return _take_back(memory, (self.record,), (), self.quote)


def forget_stated(
    memory: MemorySystem, text: str, session: str, context: str, last_message: str, done: Collection[str]
) -> list[Lifted | UnclearRequest]:
    """Archive the memories that the user's message asks to forget; each sentence is one change to undo.

    Args:
        context: what was said just before.
        last_message: the user's message before this one in the session, which "scratch that" takes back.
        done: sentences of the message that have taken something back already.

    Raises UserError, StorageError, OSError.
    """
    found: list[Lifted | UnclearRequest] = []
    for request in find_forget_requests(text):
        if request.quote in done:
            continue
        known = [record for _, record in _preferences(memory)]
        known += [one for one in memory.store.records(_FORGETTABLE, with_notes=False) if not one.is_variant]
        held: tuple[str, ...] = ()
        if request.kind == "pointing":
            records = [one for one in known if _session(one) == session and is_stated_in(one.content, last_message)]
            held = tuple(one for one in memory.held_limits if is_stated_in(one, last_message))
        else:
            records = [known[place] for place in list_named([one.content for one in known], request)]
            held = tuple(one for one in memory.held_limits if request.kind != "bare" and is_meant(one, request))
            if len(records) > 1:
                found.append(Lifted(candidates=tuple(records[:MAX_LISTED]), quote=request.quote))
                continue
            if records and needs_confirmation(request, records[0].content, context):
                found.append(UnclearRequest(record=records[0], quote=request.quote))
                continue
        if records or held:
            found.append(_take_back(memory, records, held, request.quote))
    return found


_FORGETTABLE = ("fact", "note", "discovery", "rule")


def _search(
    memory: MemorySystem, context: str, known: dict[str, MemoryRecord]
) -> Callable[[Correction], Sequence[Stated]]:
    """Return a function that lists the memories a correction may be about, and adds them to `known`."""
    entries = [entry for entry in memory.store.records(PROJECT_KINDS) if entry.kind == "discovery"]

    def near(correction: Correction) -> list[Stated]:
        for store in (memory.store.project, memory.store.user):
            for kind in _KINDS:
                if store.count() <= MAX_ALL:
                    found = store.each(kind)
                else:
                    hits = store.peek(f"{correction.text} {context}", MAX_COMPARED, kind)
                    found = (hit.record for hit in hits if not hit.record.is_variant)
                for record in found:
                    # "9090, not 9191" may deny what only a variant says.
                    known.update((one.id, one) for one in (record, *store.variants(record.id)))
        known.update((entry.id, entry) for entry in entries)
        return [
            Stated(id=id, text=record.content, at=record.begun, session=_session(record))
            for id, record in known.items()
            if not has_same_text(record.content, correction.text)
        ]

    return near


def _session(record: MemoryRecord) -> str:
    return record.provenance.session if record.provenance else ""


def _replace(memory: MemorySystem, content: str, session: str, quote: str, refuted: Sequence[MemoryRecord]) -> Replaced:
    """Save a new statement, if there is one, and archive those that it refutes.

    quote: the correction as written.
    """
    record: MemoryRecord | None = None
    is_of_project = any(one.kind in PROJECT_KINDS for one in refuted) or not memory.store.user.live([refuted[0].id])
    scope: Scope = "project" if is_of_project else "user"
    with memory.store.group(f"replaced “{shorten_content(refuted[0])}”"):
        if content:
            said = Provenance(session=session, asserted_by="user")
            draft = MemoryDraft(kind="fact", content=content, explicit=True)
            record = memory.store.add(draft, said, scope=scope).record
        gone = [one.id for one in refuted if record is None or one.id != record.id]
        title = f"replaced by “{shorten_content(record)}”" if record else ""
        archive_refuted(memory.store, gone, record, title)
    return Replaced(refuted=tuple(refuted), record=record, quote=quote, scope=scope)
