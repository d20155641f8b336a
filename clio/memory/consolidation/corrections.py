"""Find the sentences that correct something, and which statements in memory they refute.

The patterns are the section "corrections" of `clio/memory/preferences/languages/en.json`; in other languages a sentence
corrects what `read_statements` recognizes. `clio.memory.statement_relation` compares whole statements,
`value_corrections` finds the value where a correction leaves out a part of the subject, or all of it.
If a correction fits several statements, the caller has to choose one.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct, structs

from clio.memory.consolidation.alignment import (
    NUMBER,
    find_outdated_numbers,
    get_shape,
    is_already_said,
    is_restated,
    list_statements,
)
from clio.memory.consolidation.experiences import (
    Experience,
)
from clio.memory.consolidation.forget_requests import find_forget_requests, takes_back_last
from clio.memory.consolidation.stated_facts import read_english_sentences
from clio.memory.consolidation.value_corrections import (
    find_corrected_value,
    has_rival,
    is_said_before,
)
from clio.memory.preferences.foreign_statements import (
    detect_language,
    list_foreign_texts,
    read_statements,
)
from clio.memory.preferences.own_sentences import FILLER
from clio.memory.preferences.rule_files import english_rules
from clio.memory.preferences.stated_preferences import find_order_behind, is_order
from clio.memory.statement_parser import announces_change
from clio.memory.statement_reader import read_statement_words
from clio.memory.statement_relation import relate_statements, topic_terms
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import MemoryRecord, has_same_text
from clio.messages import UserMessage
from clio.text.untrusted_text import make_inert_line

_MAX_CHARS = 220
"""Number of characters of a sentence that may correct something."""
_CORRECTIONS = english_rules("corrections")

MAX_CORRECTION_CHARS = 2_500
"""A longer message is mostly pasted text, and is not read."""
_LEAD = _CORRECTIONS.pattern("lead")
_DENIAL = _CORRECTIONS.pattern("denial")
"""Requests to forget an earlier value, which is named, in favour of what follows: "forget port 9100, it's 9464"."""
_NEW_ONE = _CORRECTIONS.pattern("new_one")
"""Sentences that introduce another thing of a kind and name it: "we moved to a new staging db, it's called orders"."""
_MARKS = _CORRECTIONS.pattern("marks")
_NOT_LASTING = _CORRECTIONS.pattern("not_lasting")
"""Signs of something temporary, wished, guessed, planned, reported about others, or a bug."""
_SINCE = _CORRECTIONS.pattern("since")
_POINTING = _CORRECTIONS.pattern("pointing")
_TAIL = _CORRECTIONS.pattern("tail")
_SOMEONE_LEFT = _CORRECTIONS.pattern("someone_left")
_SOMEONE_DOES = re.compile(r"[A-Z][\w-]+ (?!and\b)[a-z]+s .+")
_USED_TO = re.compile(r"\bused to\b", re.I)
_USED_TO_AND_NOW = re.compile(r"\(.*\bused to\b|[,;].*\bused to\b|\bused to\b.*[,;–—]\s*\S", re.I)
"""A sentence that says what is true now, beside what used to be."""
_QUESTION_WORD = re.compile(r"(?:what|which|why|how|who|whose)\b", re.I)
_CLAUSE_END = re.compile(r"\s*[,;–—]\s+(?:(?:so|and|but)\s+)?")


class Correction(Struct, frozen=True, kw_only=True):
    """A sentence that may correct a memory.

    Attributes:
        text: the sentence without words such as "actually".
        quote: the sentence as written.
        session, message: ids of where the user wrote it.
        at: when, in seconds since the epoch.
        before: the user's message before it in the session, if a stored session is replayed.
    """

    text: str
    quote: str
    session: str
    message: str
    at: float
    before: str = ""


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
    if len(text) > MAX_CORRECTION_CHARS:
        return
    for language, part in list_foreign_texts(text):
        said = (one for one in read_statements(part, language) if one.kind == "correction")
        yield from ((one.content, one.quote) for one in said if not find_forget_requests(one.quote))
    has_left = False
    for said in read_english_sentences(text, _MAX_CHARS):
        if has_left and (read := _SOMEONE_DOES.match(said.text)):
            yield f"{read[0].rstrip(' .!')} instead", said.text  # "Fatou left. Bengt runs the reviews"
        has_left = _SOMEONE_LEFT.match(said.text) is not None
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
    if (new := _NEW_ONE.fullmatch(rest.rstrip(" .,;!"))) and not _NOT_LASTING.search(rest) and FILLER not in rest:
        thing, value = (text[start:][slice(*new.span(name))] for name in ("thing", "value"))
        return make_inert_line(f"the {thing} is {new['how'] or ''} {value}")
    if len(rest.split()) < 2 and rest.isascii() and not ((lead or tail) and NUMBER.search(rest)):
        return ""
    if not (lead or announces_change(masked) or _MARKS.search(masked)):
        return ""
    if _QUESTION_WORD.match(rest) or (_USED_TO.search(rest) and not _USED_TO_AND_NOW.search(rest)):
        return ""
    if FILLER in rest or _NOT_LASTING.search(_SINCE.sub(" ", masked)) or is_order(rest.split(" ", 1)[0]) is True:
        return ""
    return make_inert_line(text[start:end]).rstrip(" .,;!")


def is_refuted(old: str, correction: Correction) -> bool:
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
        if len(part.split()) > 2 and announces_change(part) and not _SOMEONE_LEFT.match(part):
            yield structs.replace(one, text=part)


def _match_one(one: Correction, earlier: Sequence[Stated], context: str | None) -> list[Stated]:
    earlier = [stated for stated in earlier if not _is_about_other_value(stated.text, one)]
    refuted = [stated for stated in earlier if is_refuted(stated.text, one)]
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
