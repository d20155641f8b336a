"""Find what the user's message corrects in memory, and apply it at once, before the request is sent.

The patterns are the section "corrections" of `clio/memory/preferences/languages/en.json`; in other languages a sentence
corrects what `read_statements` recognizes. `clio.memory.statement_relation` compares whole statements,
`value_corrections` finds the value where a correction leaves out a part of the subject, or all of it.
If a correction fits several statements, the user is asked. Consolidation applies the same rules (`match_corrections`)
to sessions that were recorded without this. `withdrawals` takes back limits and memories.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct, structs

from clio.memory.consolidation.alignment import (
    NUMBER,
    ValueChange,
    find_outdated_numbers,
    get_shape,
    is_already_said,
    is_restated,
    list_statements,
)
from clio.memory.consolidation.experiences import Correction, Experience
from clio.memory.consolidation.forget_requests import find_forget_requests, is_part_meant, takes_back_last
from clio.memory.consolidation.stated_facts import read_correctable_statements, read_english_sentences
from clio.memory.consolidation.value_changes import is_improbable
from clio.memory.consolidation.value_corrections import (
    find_corrected_choice,
    find_corrected_value,
    find_implied_value,
    has_rival,
    is_said_before,
    list_content_words,
    list_free_clauses,
    read_value_corrections,
    shares_word,
)
from clio.memory.consolidation.withdrawals import MAX_LISTED
from clio.memory.preferences.foreign_statements import (
    detect_language,
    list_foreign_texts,
    read_statements,
)
from clio.memory.preferences.limits import find_limits
from clio.memory.preferences.own_sentences import FILLER
from clio.memory.preferences.rule_files import english_rules
from clio.memory.preferences.stated_preferences import find_order_behind, is_order
from clio.memory.statement_parser import announces_change, parse_statement
from clio.memory.statement_reader import read_statement_words, split_clauses, word_tables
from clio.memory.statement_relation import relate_statements, topic_terms
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

_MAX_SENTENCE = 220
"""Number of characters of a sentence that may correct something."""
_CORRECTIONS = english_rules("corrections")

_MAX_MESSAGE = 2_500
"""A longer message is mostly pasted text, and is not read."""
_LEAD = _CORRECTIONS.pattern("lead")
_DENIAL = _CORRECTIONS.pattern("denial")
"""Requests to forget an earlier value, which is named, in favour of what follows: "forget port 9100, it's 9464"."""
_NEW_ONE = _CORRECTIONS.pattern("new_one")
"""Sentences that introduce another thing of a kind and name it: "we moved to a new staging db, it's called orders"."""
_MARKS = _CORRECTIONS.pattern("marks")
NOT_LASTING = _CORRECTIONS.pattern("not_lasting")
"""Signs of something temporary, wished, guessed, planned, reported about others, or a bug."""
_SINCE = _CORRECTIONS.pattern("since")
_POINTING = _CORRECTIONS.pattern("pointing")
_TAIL = _CORRECTIONS.pattern("tail")
SOMEONE_LEFT = _CORRECTIONS.pattern("someone_left")
_SOMEONE_DOES = re.compile(r"[A-Z][\w-]+ (?!and\b)[a-z]+s .+")
_USED_TO = re.compile(r"\bused to\b", re.I)
_USED_TO_AND_NOW = re.compile(r"\(.*\bused to\b|[,;].*\bused to\b|\bused to\b.*[,;–—]\s*\S", re.I)
"""A sentence that says what is true now, beside what used to be."""
_QUESTION_WORD = re.compile(r"(?:what|which|why|how|who|whose)\b", re.I)
_CLAUSE_END = re.compile(r"\s*[,;–—]\s+(?:(?:so|and|but)\s+)?")
_KINDS: tuple[Kind, ...] = ("fact", "note")
_MAX_ALL = 500
"""A correction is compared with all memories of a scope if there are at most so many."""
_MAX_COMPARED = 50
"""Otherwise with this many of each kind, those that share most words with it."""
_CONTEXT_CHARS = 2_000
"""Number of characters of the preceding conversation that are examined."""
_OF_TEAM = re.compile(
    r"(?:we|our|the team|wir|unser\w*|nous|on|notre|nosotros|nuestr[oa]s?|nós|noss[oa]s?)\b|我们|うち", re.I
)


class Stated(Struct, frozen=True, kw_only=True):
    """A statement in memory. at: when the user made it, in seconds since the epoch."""

    id: str
    text: str
    at: float
    session: str = ""


def find_corrections(experience: Experience) -> list[Correction]:
    """Return the sentences of a turn's user messages that announce a change or deny something, in order."""
    found: list[Correction] = []
    for message in experience.messages:
        if not isinstance(message, UserMessage) or message.origin != "user":
            continue
        for text, quote in read_corrections(message.content):
            found.append(
                Correction(
                    text=text,
                    quote=make_inert_line(quote),
                    session=experience.session,
                    message=experience.message,
                    at=experience.at,
                    before=experience.before,
                )
            )
    return found


def read_corrections(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence that may correct something: without its introduction, and as written."""
    if len(text) > _MAX_MESSAGE:
        return
    for language, part in list_foreign_texts(text):
        said = (one for one in read_statements(part, language) if one.kind == "correction")
        yield from ((one.content, one.quote) for one in said if not find_forget_requests(one.quote))
    has_left = False
    for said in read_english_sentences(text, _MAX_SENTENCE):
        if has_left and (read := _SOMEONE_DOES.match(said.text)):
            yield f"{read[0].rstrip(' .!')} instead", said.text  # "Fatou left. Bengt runs the reviews"
        has_left = SOMEONE_LEFT.match(said.text) is not None
        if (correcting := _strip_correction(said.text, said.masked)) and not takes_back_last(said.text):
            yield correcting, said.text


def _strip_correction(text: str, masked: str) -> str:
    """Return the sentence without introduction and ending if it may correct something; otherwise ""."""
    lead = _LEAD.match(masked)
    start = lead.end() if lead else 0
    tail = _TAIL.search(masked, start)
    end = tail.start() if tail else len(masked)
    end = start + find_order_behind(masked[start:end])
    if (denial := _DENIAL.match(masked, start, end)) and is_order(masked[denial.end() :].split(" ", 1)[0]) is False:
        denied = f"not {denial['denied']}, "
        return _strip_correction(denied + text[denial.end() : end], denied + masked[denial.end() : end])
    rest = masked[start:end]
    if (new := _NEW_ONE.fullmatch(rest.rstrip(" .,;!"))) and not NOT_LASTING.search(rest) and FILLER not in rest:
        thing, value = (text[start:][slice(*new.span(name))] for name in ("thing", "value"))
        return make_inert_line(f"the {thing} is {new['how'] or ''} {value}")
    if len(rest.split()) < 2 and rest.isascii() and not ((lead or tail) and NUMBER.search(rest)):
        return ""
    if not (lead or announces_change(masked) or _MARKS.search(masked)):
        return ""
    if _QUESTION_WORD.match(rest) or (_USED_TO.search(rest) and not _USED_TO_AND_NOW.search(rest)):
        return ""
    if FILLER in rest or NOT_LASTING.search(_SINCE.sub(" ", masked)) or is_order(rest.split(" ", 1)[0]) is True:
        return ""
    return make_inert_line(text[start:end]).rstrip(" .,;!")


def _is_refuted(old: str, correction: Correction) -> bool:
    """Whether a correction gives another value to the subject of an older statement."""
    if _agrees(old, correction.text):
        return False
    # What replaces one clause of a statement must not take the others away.
    is_one = not list_statements(read_statement_words(old)) or find_corrected_value(old, correction.text) is not None
    if is_one and relate_statements(old, correction.text) == "supersedes":
        return True
    if not (detect_language(correction.text) or detect_language(old)):
        return False
    change = find_corrected_value(old, correction.text)
    return change is not None and change.is_named


def _agrees(old: str, correction: str) -> bool:
    """Whether an older statement already has all numbers, or the name, that a correction says are right."""
    current = set(NUMBER.findall(correction)) - find_outdated_numbers(correction)
    has_numbers = bool(current) and current <= set(NUMBER.findall(old))
    return has_numbers or is_already_said(old, correction) or is_restated(correction, old, with_value=True)


def make_replacement(old: str, correction: Correction) -> str:
    """Return the new statement, understandable by itself, that replaces an old one; "" if none can be made.

    If the correction replaces one value by another, it is the old statement with the new value; otherwise the user's
    own words if they name their subject.
    """
    # All numbers of the correction must be in it: "MySQL 5.7" does not become "PostgreSQL 5.7" but "PostgreSQL 15".
    numbers = set(NUMBER.findall(correction.text)) - find_outdated_numbers(correction.text)
    changes = (find_corrected_value(old, text) for text in (correction.quote, correction.text))
    texts = (change.apply(old) for change in changes if change)
    replaced = next((text for text in texts if numbers <= set(NUMBER.findall(text))), "")
    # "not vpn1, we have vpn3.acme.dev as gateway": the clause behind the denial is understandable by itself.
    text = _DENIED_FIRST.sub("", correction.text) if _IDENTIFIER.search(correction.text) else correction.text
    if replaced or _POINTING.match(text) or len(text.split()) < 3:
        return replaced
    return _CHANGED_NOW.sub("", text)


_CHANGED_NOW = re.compile(
    r"(?<!for)(?<!right)(?<!just)[\s,]+(?:now|instead|jetzt|maintenant|ahora|agora)[\s.!]*$", re.I
)
"""A word of the change itself, which is no part of the new statement."""


_DENIED_FIRST = re.compile(r"^not [^\s,;]+[,;]\s+(?=(?:\S+\s+){2,}\S)", re.I)
_IDENTIFIER = re.compile(r"(?<!\w)[A-Za-z][\w./-]*[_./\d-]\w+")


def match_corrections(
    corrections: Iterable[Correction], near: Callable[[Correction], Sequence[Stated]], context: str | None = None
) -> list[tuple[Correction, list[Stated]]]:
    """Return the statements that each correction refutes, oldest correction first, without those that refute none.

    Statements newer than the correction stay. A correction that leaves out its subject or a part of it ("it's 9090 now,
    not 8080", "the port is 9090 now") refutes one statement at most; see `_choose_one`.

    Args:
        near: returns the statements in memory that may be about a correction's subject.
        context: what was said just before the corrections; None if that is not known.
    """
    gone: set[str] = set()
    found: list[tuple[Correction, list[Stated]]] = []
    for one in sorted(corrections, key=lambda correction: correction.at):
        earlier = [
            stated
            for stated in near(one)
            if stated.at < one.at and stated.id not in gone and not has_same_text(stated.text, one.text)
        ]
        unlike = [stated for stated in earlier if not _agrees(stated.text, one.text)]
        for reading in _list_readings(one):
            refuted = _match_one(reading, unlike, context)
            if refuted:
                gone.update(stated.id for stated in refuted)
                found.append((reading, refuted))
                break
    return found


def _list_readings(one: Correction) -> Iterator[Correction]:
    """Yield the correction, and then each of its clauses that announces a change: "Ana left, the lead is Tom now"."""
    yield one
    parts = _CLAUSE_END.split(one.text)
    for part in parts if len(parts) > 1 else ():
        if len(part.split()) > 2 and announces_change(part) and not SOMEONE_LEFT.match(part):
            yield structs.replace(one, text=part)


def _match_one(one: Correction, earlier: Sequence[Stated], context: str | None) -> list[Stated]:
    earlier = [stated for stated in earlier if not _is_about_other_value(stated.text, one)]
    refuted = [stated for stated in earlier if _is_refuted(stated.text, one)]
    if _POINTING.match(one.text):
        refuted = _choose_one(refuted, one, context)
    elif not _are_related(refuted):
        refuted = _choose_closest(refuted, one)
    return refuted or _match_short(earlier, one, context)


def _is_about_other_value(statement: str, one: Correction) -> bool:
    """Whether a replayed correction that only says a value is about a value of the message before it."""
    change = find_corrected_value(statement, one.quote) if one.before else None
    if change is None or change.is_named or is_said_before(statement, one.before):
        return False
    return has_rival(change, statement, one.before)


def _match_short(earlier: Sequence[Stated], one: Correction, context: str | None) -> list[Stated]:
    """Return the statement that a correction without its whole subject is about, in a list; none if it is not clear."""
    changes = [(stated, change) for stated in earlier if (change := find_corrected_value(stated.text, one.text))]
    named = [stated for stated, change in changes if change.is_named]
    if named:
        return _choose_one(named, one, context)
    if context is not None:
        # "It's 9090 now" is about a statement that was just said, with no other value of that form beside it; or, if
        # nothing was said, about the only one with a value of exactly that form. One or two digits are chance.
        said = [
            stated
            for stated, change in changes
            if is_said_before(stated.text, context) and not has_rival(change, stated.text, context)
        ]
        is_telling = not context and any(len(re.findall(r"\d", change.new)) > 2 for _, change in changes)
        alike = [stated for stated, change in changes if change.is_alike and is_telling]
        return next((found for found in (said, alike) if len(found) == 1), list[Stated]())
    # "Make that 8005" after a request about port 8000 is not about the 7001 of an earlier statement.
    shapes = set(map(get_shape, NUMBER.findall(one.before)))
    same = [
        stated
        for stated, change in changes
        if stated.session == one.session
        and (get_shape(change.old) not in shapes or change.old in NUMBER.findall(one.before))
    ]
    return same if len(same) == 1 else []


def _choose_one(refuted: Sequence[Stated], one: Correction, context: str | None = None) -> list[Stated]:
    """Return the latest statement of the correction's session, otherwise the only one, or the only one in context."""
    same = [stated for stated in refuted if stated.session == one.session]
    if same:
        return [max(same, key=lambda stated: stated.at)]
    if len(refuted) > 1 and context:
        before = set(NUMBER.findall(context))
        refuted = [stated for stated in refuted if before & set(NUMBER.findall(stated.text))]
    return list(refuted) if len(refuted) == 1 else []


def _are_related(refuted: Sequence[Stated]) -> bool:
    """Whether all of these statements are about one subject, so that a correction may refute them all."""
    return all(relate_statements(one.text, other.text) != "different" for one, other in pairwise(refuted))


def _choose_closest(refuted: Sequence[Stated], one: Correction) -> list[Stated]:
    """Return the statement that shares most words with the correction, in a list; none if several share as many."""
    wanted = topic_terms(one.text)
    best = max(len(wanted & topic_terms(stated.text)) for stated in refuted)
    closest = [stated for stated in refuted if len(wanted & topic_terms(stated.text)) == best]
    return closest if len(closest) == 1 or _are_related(closest) else _choose_one(closest, one)


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
    context = context[-_CONTEXT_CHARS:]
    known: dict[str, MemoryRecord] = {}
    matched = match_corrections(corrections, search_memories(memory, context, known), context)
    matched = [
        (
            one,
            [
                stated
                for stated in refuted
                if one.quote not in facts or relate_statements(stated.text, facts[one.quote]) == "supersedes"
            ],
        )
        for one, refuted in matched
    ]
    replaced: list[Replaced | UnclearCorrection] = [
        replace_memories(
            memory, make_replacement(refuted[0].text, one), session, one.quote, [known[stated.id] for stated in refuted]
        )
        for one, refuted in matched
        if refuted
    ]
    return [*replaced, *_change_preferences(memory, corrections, rules)]


def _change_preferences(
    memory: MemorySystem, corrections: Sequence[Correction], rules: Mapping[str, str]
) -> "list[Replaced | UnclearCorrection]":
    """Give preferences, rules and limits the name or number that a correction says: "I prefer spaces now, not tabs".

    A correction that states a whole rule replaces a rule by its own words: the rest of the former one may be wrong.
    """
    done: list[Replaced | UnclearCorrection] = []
    # "Don't touch setup.py, fix the parser" is a limit of its own beside "never touch _re.py".
    own = {one.quote for one in corrections if one.quote not in rules and find_limits(one.quote)}
    for scope, record in memory.list_preferences():
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
        return replace_memories(memory, self.contents[0], self.session, self.quote, self.candidates[:1])


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
    context = context[-_CONTEXT_CHARS:].strip()
    done: set[str] = set()
    for sentence in _read_new_values(text):
        if any(one in sentence for one in done):
            continue
        clean = memory.redacted(sentence)
        known: dict[str, MemoryRecord] = {}
        correction = Correction(text=clean, quote=clean, session=session, message="", at=math.inf)
        search_memories(memory, context, known)(correction)
        changes = [
            (record, change)
            for record in keep_related(known.values(), f"{clean} {context}")
            for change in _find_changes(
                record.content, clean, text, is_answer=sentence not in facts and is_just_said(record, session, context)
            )
            if sentence not in facts or relate_statements(record.content, facts[sentence]) == "supersedes"
            if not is_improbable(record.content, text, is_reply=is_just_said(record, session, context))
        ]
        if not changes:
            continue
        done.add(sentence)
        chosen, is_certain = _choose_change(changes, context, session)
        records = tuple(record for record, _ in chosen)
        contents = tuple(change.apply(record.content) for record, change in chosen)
        if is_certain:
            found.append(replace_memories(memory, contents[0], session, sentence, records))
        else:
            found.append(UnclearCorrection(candidates=records, contents=contents, quote=sentence, session=session))
    return found


def _find_changes(content: str, sentence: str, message: str, *, is_answer: bool) -> list[ValueChange]:
    """Return the value of a memory that a sentence replaces, or of each of its statements if that is not clear.

    is_answer: whether the message comes directly after the one that stated the memory.
    """
    change = find_corrected_value(content, sentence) or _find_instead(content, sentence)
    if change is None and (is_answer or shares_word(content, message)):
        change = _find_told(content, sentence)
        change = change or find_implied_value(content, sentence, message, is_answer=is_answer)
    if change:
        return [change]
    parts = split_clauses(content)
    return [
        structs.replace(change, within=part)
        for part in parts[1:] and parts
        if (change := find_corrected_value(content[slice(*part)], sentence))
    ]


def _find_told(statement: str, sentence: str) -> ValueChange | None:
    """Return the clause of a sentence that would take the place of a statement if the user asked to remember it."""
    if list_statements(read_statement_words(statement)):
        return None
    tables = word_tables()
    for clause in (tables.sources.sub("", one).strip() for one in list_free_clauses(sentence)):
        is_uncertain = any(one.search(clause) for one in (NOT_LASTING, tables.doubts, tables.ended))
        if is_uncertain or detect_language(clause) or is_order(clause.split(" ", 1)[0]):
            continue
        told = parse_statement(clause)
        if told.predicate != "*" and not told.is_revoked and relate_statements(statement, clause) == "supersedes":
            new = _CHANGED_NOW.sub("", clause)
            return ValueChange(old=statement.rstrip(" ."), new=new, is_named=True, is_stated=True)
    return None


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
    known = memory.list_preferences()
    stated: list[tuple[Scope, MemoryRecord]] = [
        (scope, one)
        for scope, one in known
        if said and not is_asked and one.session == session and is_said_before(one.content, said)
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


def is_just_said(record: MemoryRecord, session: str, context: str) -> bool:
    """Whether a memory was stated in this session, just before. context: what was said just before."""
    return record.session == session and is_said_before(record.content, context)


def keep_related(records: Collection[MemoryRecord], said: str) -> list[MemoryRecord]:
    """Return the records that may be about what was said: all, unless there are many, else those that share a word."""
    if len(records) <= _MAX_ALL:
        return list(records)
    words = [word for word in list_content_words(said) if len(word) > 2]
    return [one for one in records if any(word in one.content.casefold() for word in words)][:_MAX_ALL]


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
        if record.session == session
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


def search_memories(
    memory: MemorySystem, context: str, known: dict[str, MemoryRecord]
) -> Callable[[Correction], Sequence[Stated]]:
    """Return a function that lists the memories a correction may be about, and adds them to `known`."""
    entries = [entry for entry in memory.store.records(PROJECT_KINDS) if entry.kind == "discovery"]

    def near(correction: Correction) -> list[Stated]:
        for store in (memory.store.project, memory.store.user):
            for kind in _KINDS:
                if store.count() <= _MAX_ALL:
                    found = store.index.of_kind(kind)
                else:
                    hits = store.peek(f"{correction.text} {context}", _MAX_COMPARED, kind)
                    found = (hit.record for hit in hits if not hit.record.is_variant)
                for record in found:
                    # "9090, not 9191" may deny what only a variant says.
                    known.update((one.id, one) for one in (record, *store.index.variants(record.id)))
        known.update((entry.id, entry) for entry in entries)
        return [
            Stated(id=id, text=record.content, at=record.stated_since, session=record.session)
            for id, record in known.items()
            if not has_same_text(record.content, correction.text)
        ]

    return near


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
