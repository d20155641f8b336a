"""Corrections: what the user said later about the same subject refutes what was remembered before.

A sentence such as "Actually, the API listens on 9090 now" is rarely a statement that stands on its own, so
`stated_facts` leaves most of them out. Here they are compared with the facts that are remembered: where
`clio.memory.subjects` finds another value of the same subject, the old fact leaves, and the new value takes its place
if it can be told in a sentence that stands on its own.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from clio.memory.consolidation.experiences import Experience
from clio.memory.inert import one_line
from clio.memory.preferences.language_rules import content_terms, detect_language, read_statements
from clio.memory.preferences.rule_files import english_rules
from clio.memory.preferences.sentences import FILLER, own_sentences
from clio.memory.preferences.stated_preferences import is_order
from clio.memory.subjects import announces_change, relate_statements
from clio.messages import UserMessage

_EN = english_rules("corrections")

MAX_CHARS = 2_500
"""Of a message; a longer one is mostly pasted."""
MAX_SENTENCE = 220
_I = re.IGNORECASE
_LEAD = _EN.pattern("lead")
_MARKS = _EN.pattern("marks")
_NOT_LASTING = _EN.pattern("not_lasting")
"""What is meant for a while, wished, guessed, planned, reported of others, or a fault."""
_POINTING = _EN.pattern("pointing")
_VALUE = re.compile(r"(?<![\w./:-])(?:v?\d[\w.:-]*\w|\d)(?![\w/])")
_DENIED = re.compile(
    r"(?:\bnicht(?: mehr)?|\bstatt|\bpas|\bet non|\bau lieu de|\bplus|\bno|\ben vez de|\bnão|\bem vez de|不是|不叫"
    r"|不再是|不用)"
    r" ?([\w./-]*[A-Za-z][\w./-]*)|([A-Za-z][\w./-]*) ?(?:ではな|じゃな)",
    _I,
)
"""A name that another language's correction says no longer holds."""
_TAIL = _EN.pattern("tail")


class Correction(Struct, frozen=True, kw_only=True):
    """A sentence that may correct what is remembered.

    text: the sentence without words such as "actually". session, message: where it was said. at: when, in seconds
    since the epoch.
    """

    text: str
    quote: str
    session: str
    message: str
    at: float


class Stated(Struct, frozen=True, kw_only=True):
    """A remembered statement. at: when it was said, in seconds since the epoch."""

    id: str
    text: str
    at: float
    session: str = ""


def corrections_in(experience: Experience) -> list[Correction]:
    """The sentences of a turn's user messages that announce a change or deny something, in order."""
    found: list[Correction] = []
    for message in experience.messages:
        if not isinstance(message, UserMessage) or message.origin != "user" or len(message.content) > MAX_CHARS:
            continue
        for text, quote in _correcting_sentences(message.content):
            found.append(
                Correction(
                    text=text,
                    quote=one_line(quote),
                    session=experience.session,
                    message=experience.message,
                    at=experience.at,
                )
            )
    return found


def _correcting_sentences(text: str) -> Iterator[tuple[str, str]]:
    """Each sentence that may correct something, without its lead, and as it was written."""
    language = detect_language(text)
    if language:
        yield from ((one.content, one.quote) for one in read_statements(text, language) if one.kind == "correction")
        return
    for said in own_sentences(text, MAX_SENTENCE):
        correcting = _correcting(said.text, said.masked) if not said.is_question else ""
        if correcting:
            yield correcting, said.text


def _correcting(text: str, masked: str) -> str:
    """The sentence without lead and tail, where it may correct something; else empty."""
    lead = _LEAD.match(masked)
    start = lead.end() if lead else 0
    tail = _TAIL.search(masked, start)
    end = tail.start() if tail else len(masked)
    rest = masked[start:end]
    if len(rest.split()) < 2 and rest.isascii():
        return ""
    if not (lead or announces_change(masked) or _MARKS.search(masked)):
        return ""
    if FILLER in rest or _NOT_LASTING.search(masked) or is_order(rest.split(" ", 1)[0]) is True:
        return ""
    return one_line(text[start:end]).rstrip(" .,;!")


def is_refuted(old: str, correction: Correction) -> bool:
    """Whether a correction gives another value to the subject of an older statement."""
    if relate_statements(old, correction.text) == "supersedes":
        return True
    language = detect_language(correction.text) or detect_language(old)
    return bool(language) and _has_other_value(old, correction.text, language)


def _has_other_value(old: str, new: str, language: str) -> bool:
    """The same for other languages, whose grammar is not read: much the same words, and one number or name differs."""
    mine, other = content_terms(old, language), content_terms(new, language)
    if not mine or not other or len(mine & other) * 2 < min(len(mine), len(other)):
        return False
    before, after = set(_VALUE.findall(old)), set(_VALUE.findall(new))
    if before and after - before and not (after and before <= after and len(before) > 1):
        return True
    denied = {found[1] or found[2] for found in _DENIED.finditer(new)}
    return any(name and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", old, re.I) for name in denied)


def replacement(old: str, correction: Correction) -> str:
    """What holds instead of an old statement, in a sentence that stands on its own; empty where none can be made.

    The old statement with the new number in it, where one number takes the place of one; else the user's own words,
    where they name their subject.
    """
    replaced = _with_new_value(old, correction.text)
    if replaced or _POINTING.match(correction.text) or len(correction.text.split()) < 3:
        return replaced
    return correction.text


def _with_new_value(old: str, text: str) -> str:
    before, after = _VALUE.findall(old), _VALUE.findall(text)
    new = [value for value in dict.fromkeys(after) if value not in before]
    denied = [value for value in dict.fromkeys(before) if value in after]
    gone = denied or list(dict.fromkeys(before))
    if len(new) != 1 or len(gone) != 1:
        return ""
    return re.sub(rf"(?<![\w./:-]){re.escape(gone[0])}(?![\w/])", lambda _: new[0], old)


def match_corrections(
    corrections: Iterable[Correction], near: Callable[[Correction], Sequence[Stated]]
) -> list[tuple[Correction, list[Stated]]]:
    """Which statements each correction refutes, oldest correction first; corrections that refute none are left out.

    near: the remembered statements that may be about a correction's subject. What was said after a correction stays. A
    correction that only points ("it's 9090 now, not 8080") refutes one statement: the latest of its session, else the
    only one that fits.
    """
    gone: set[str] = set()
    found: list[tuple[Correction, list[Stated]]] = []
    for one in sorted(corrections, key=lambda correction: correction.at):
        refuted = [
            stated
            for stated in near(one)
            if stated.at < one.at and stated.id not in gone and is_refuted(stated.text, one)
        ]
        if _POINTING.match(one.text):
            same = [stated for stated in refuted if stated.session == one.session]
            refuted = [max(same, key=lambda stated: stated.at)] if same else refuted if len(refuted) == 1 else []
        if refuted:
            gone.update(stated.id for stated in refuted)
            found.append((one, refuted))
    return found
