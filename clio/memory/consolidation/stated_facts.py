"""Facts the user stated in a turn, and answers to questions the agent asked. English only, by rule."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from clio.memory.consolidation.experiences import QUOTE_CHARS, Doing, Experience, Finding, FindingKind, is_nod
from clio.memory.inert import one_line, quotation
from clio.memory.preferences.language_rules import content_terms, detect_language, read_statements
from clio.memory.preferences.rule_files import english_rules
from clio.memory.preferences.sentences import FILLER, Said, own_sentences
from clio.memory.preferences.sentences import MAX_CHARS as LOOKED_AT
from clio.memory.preferences.stated_preferences import TAIL, is_order, is_pointing, notice
from clio.memory.subjects import announces_change, relate_statements
from clio.messages import UserMessage
from clio.text.formatting import truncate
from clio.text.lazy_regex import LazyRegex

_FACTS = english_rules("facts")

LEAD = _FACTS.pattern("lead")
"""What stands before a statement and says nothing of it."""
WE = _FACTS.pattern("we")
ONLY_NOT = frozenset("touch edit commit push merge change mock allow accept".split()) | {"check in"}
"""Verbs that say something lasting of a team only with never, always or only; a task has them as well."""
LASTING = _FACTS.pattern("lasting")
SLOT = _FACTS.pattern("slot")
NAMED = _FACTS.pattern("named")
NO_SUBJECT = _FACTS.pattern("no_subject")
"""How something begins that does not stand alone, or is about the work at hand."""
DOUBT = _FACTS.pattern("doubt")
"""What makes a sentence a complaint, a guess, a story, a wish, a report of others, or something for today alone."""
NOW_IS_FINE = _FACTS.pattern("now_is_fine")
"""Where "now" is said of what has changed for good: another name, place or number of something."""
POINTING_REST = _FACTS.pattern("pointing_rest")
CREDENTIAL = _FACTS.pattern("credential")
CUT = _FACTS.pattern("cut")
"""Where a statement ends and the request that rests on it begins."""
PASTED_ISSUE = _FACTS.pattern("pasted_issue")
DECISION = _FACTS.pattern("decision")
NO_CHOICE = _FACTS.pattern("no_choice")
"""What a decision names that means nothing outside of its conversation."""
REASON = _FACTS.pattern("reason")
PROCEDURE = _FACTS.pattern("procedure")
"""Questions about how to go on, which say nothing once they are answered."""
NO_CHOICE_AT_ALL = _FACTS.pattern("no_choice_at_all")
NAMES = _FACTS.pattern("names")
"""What makes a choice one of the project: a name, or what was not chosen."""
NO_ANSWER = _FACTS.pattern("no_answer")
NOTICEABLE = _FACTS.pattern("noticeable")
"""Without one of these the live noticing finds nothing that the rules here could take for a statement as well."""
STATEMENT_LIKE = _FACTS.pattern("statement_like")
"""A quick look that spares most messages the long one."""
OF_THE_TEAM = _FACTS.pattern("of_the_team")
NOBODY = _FACTS.pattern("nobody")
ONLY = _FACTS.pattern("only")
RULE = _FACTS.pattern("rule")
NEEDS_PLACE = _FACTS.pattern("needs_place")
PLACE = _FACTS.pattern("place")
NEEDS_PROJECT = _FACTS.pattern("needs_project")
OF_PROJECT = _FACTS.pattern("of_project")
COMPLETE = _FACTS.pattern("complete")


def base_verb(verb: str) -> str:
    """A verb as the tables have it: "pushes" is "push"."""
    verb = verb.casefold()
    return next((one for one in (verb, verb.removesuffix("s"), verb.removesuffix("es")) if one in ONLY_NOT), verb)


def choice_prefix(how: str | None, late: str | None, going_on: str | None) -> str:
    """What stands between "decided:" and what was chosen, where the choice is not simply to use it."""
    said = (how or late or going_on or "").casefold()
    if "against" in said or "drop" in said:
        return "against "
    if said.startswith(("keep", "stick", "stay")) or said.endswith(("keep", "stay with", "stay on")):
        return "keep "
    return ""


TURNED = _FACTS.pattern("turned")
"""What is cut off and takes the statement before it for what is to be changed."""
POINTS_AT_CHOICE = _FACTS.pattern("points_at_choice")
"""An answer that means nothing without the list it was chosen from."""
ALL_OF = _FACTS.pattern("all_of")
AND_DO = _FACTS.pattern("and_do")
CALLED = _FACTS.pattern("called")
PROPER = LazyRegex(r"[A-Z][\w+#]*[a-zA-Z0-9+#](?![\w'])")
"""A name, which what is called by it keeps."""
LISTED = LazyRegex(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]", re.MULTILINE)
TO_BUILD = _FACTS.pattern("to_build")
"""A list in a message that asks for something to be made is what is to be made."""
OPEN_QUESTION = _FACTS.pattern("open_question")
"""A question that a yes or a no does not answer."""
THAT_THING = _FACTS.pattern("that_thing")
"""A thing that is pointed at, of which nothing is said."""
CHOOSES = _FACTS.pattern("chooses")


_CORRECTIONS = english_rules("corrections")

MAX_CORRECTION_CHARS = 2_500
"""Of a message; a longer one is mostly pasted."""
_LEAD = _CORRECTIONS.pattern("lead")
_MARKS = _CORRECTIONS.pattern("marks")
_NOT_LASTING = _CORRECTIONS.pattern("not_lasting")
"""What is meant for a while, wished, guessed, planned, reported of others, or a fault."""
_POINTING = _CORRECTIONS.pattern("pointing")
_VALUE = re.compile(r"(?<![\w./:-])(?:v?\d[\w.:-]*\w|\d)(?![\w/])")
_DENIED = re.compile(
    r"(?:\bnicht(?: mehr)?|\bstatt|\bpas|\bet non|\bau lieu de|\bplus|\bno|\ben vez de|\bnão|\bem vez de|不是|不叫"
    r"|不再是|不用)"
    r" ?([\w./-]*[A-Za-z][\w./-]*)|([A-Za-z][\w./-]*) ?(?:ではな|じゃな)",
    re.I,
)
"""A name that another language's correction says no longer holds."""
_TAIL = _CORRECTIONS.pattern("tail")


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
        if (
            not isinstance(message, UserMessage)
            or message.origin != "user"
            or len(message.content) > MAX_CORRECTION_CHARS
        ):
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
    for said in own_sentences(text, _MAX_SENTENCE):
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


CONFIDENCE, EXPLICIT = 0.8, 0.9
"""Of what was said in passing, and of what the person asked to remember."""
MAX_CHARS = 2_500
"""Of a message; a longer one is mostly a document, of which only what is asked to be remembered is taken."""
_MAX_STATED, _MAX_SENTENCE, _MAX_ANSWER = 6, 220, 300


def statements_in(experience: Experience, doings: Sequence[Doing]) -> list[Finding]:
    """What the person stated in a turn, and what they answered when they were asked; nothing twice.

    doings: what was done in the turn.
    """
    found: dict[str, Finding] = {}
    for message in experience.messages:
        if isinstance(message, UserMessage) and message.origin == "user" and not is_nod(message.content):
            for kind, text, quote, confidence in stated(message.content):
                found.setdefault(text.casefold(), _finding(experience, kind, text, quote, confidence))
    for doing in doings:
        text = decision(doing.deeds.question, doing.deeds.answer) if doing.deeds.question else ""
        if text:
            found.setdefault(text.casefold(), _finding(experience, "fact", text, doing.deeds.answer, CONFIDENCE))
    return list(found.values()) if len(found) <= _MAX_STATED else []


def stated(text: str) -> Iterator[tuple[FindingKind, str, str, float]]:
    """What a message states for good: kind, text, the sentence it stands in, confidence."""
    language = detect_language(text)
    if language:
        for one in read_statements(text, language) if len(text) <= MAX_CHARS else ():
            if one.kind == "remember" and not CREDENTIAL.search(one.content):
                yield "fact", one.content, one.quote, EXPLICIT
        return
    ends = text if len(text) <= LOOKED_AT else f"{text[: LOOKED_AT // 2]}\n{text[-LOOKED_AT // 2 :]}"
    noticed = notice(text) if NOTICEABLE.search(ends) else ()
    taken = {one.quote for one in noticed}
    for one in noticed:
        if CREDENTIAL.search(one.content):
            continue
        if one.kind == "fact" and (one.certain or not THAT_THING.match(one.content)):
            yield "fact", one.content, one.quote, EXPLICIT if one.certain else CONFIDENCE
        elif one.kind == "rule" and not one.certain and OF_THE_TEAM.match(one.content):
            yield "rule", one.content, one.quote, CONFIDENCE
    if len(text) > MAX_CHARS or not STATEMENT_LIKE.search(text) or PASTED_ISSUE.search(text):
        return
    if LISTED.search(text) and TO_BUILD.search(text):
        return
    for said in own_sentences(text):
        if said.is_question or said.text in taken or len(said.text) > _MAX_SENTENCE:
            continue
        if not STATEMENT_LIKE.search(said.masked):
            continue
        stating = _statement(said)
        if stating is not None:
            yield (*stating, said.text, CONFIDENCE)


def decision(question: str, answer: str) -> str:
    """A question the agent put and the person's answer as one text; empty where it settles nothing that lasts."""
    question, answer = one_line(question), one_line(answer)
    if is_nod(answer) or len(answer) > _MAX_ANSWER or len(question) > _MAX_ANSWER or NO_ANSWER.search(answer):
        return ""
    if PROCEDURE.search(question) or CREDENTIAL.search(question) or POINTS_AT_CHOICE.match(answer):
        return ""
    if not OPEN_QUESTION.search(question):
        return ""
    return f"asked {quotation(question)}, the answer was {quotation(answer)}"


def _statement(said: Said) -> tuple[FindingKind, str] | None:
    """What one sentence states, if it does."""
    lead = LEAD.match(said.masked)
    start = lead.end() if lead else 0
    masked = whole = said.masked[start:]
    chooses_only = NO_SUBJECT.match(masked) is not None
    if chooses_only and not CHOOSES.match(masked):
        return None
    for ends in (CUT, TAIL):
        cut = ends.search(masked)
        masked = masked[: cut.start()] if cut else masked
    if TURNED.search(whole[len(masked) :]):
        return None
    text = one_line(said.text[start : start + len(masked)])
    if len(masked.split()) < 3 or CREDENTIAL.search(masked) or _orders_it(masked):
        return None
    chosen = _choice(masked, text)
    if chosen:
        return "fact", chosen
    if chooses_only or DOUBT.search(NOW_IS_FINE.sub(" ", masked)) or masked.count(FILLER) > len(masked) // 2:
        return None
    rule = RULE.search(masked) is not None
    return ("rule" if rule else "fact", text) if _of_team(masked) or _of_thing(masked, text) else None


def _orders_it(masked: str) -> bool:
    """Whether it goes on with what is to be done with its subject, which is then the work at hand."""
    return any(is_order(found["verb"]) for found in AND_DO.finditer(masked))


def _choice(masked: str, text: str) -> str:
    """A decision that names what was chosen; empty where the sentence takes none."""
    found = DECISION.fullmatch(masked)
    if found is None or NO_CHOICE.match(found["what"]) or NO_CHOICE_AT_ALL.search(masked):
        return ""
    what = text[found.start("what") :]
    how = found["how"] or found["going"]
    if how and not (REASON.search(found["what"]) or NAMES.search(what)):
        return ""
    return f"decided: {choice_prefix(found['how'], found['late'], found['going'])}{what}"


def _of_team(masked: str) -> bool:
    """Whether it says what the team does."""
    found = WE.fullmatch(masked)
    if found is None or not _stands_alone(found["rest"]):
        return False
    denied = found["not"] or NOBODY.match(masked) or ONLY.search(masked)
    return bool(denied) or base_verb(found["verb"]) not in ONLY_NOT


def _of_thing(masked: str, text: str) -> bool:
    """Whether it says what something of the project is, where it is, or what it does all the time."""
    slot = SLOT.fullmatch(masked) or NAMED.fullmatch(masked)
    if slot is not None:
        return _stands_alone(slot["rest"])
    called = CALLED.fullmatch(masked)
    if called is not None and PROPER.match(text, called.start("rest")):
        return True
    found = LASTING.fullmatch(masked)
    if found is None:
        return False
    verb, rest, subject = found["verb"].casefold(), found["rest"], found["subject"]
    if NEEDS_PLACE.search(verb) and not (PLACE.search(rest) or ALL_OF.match(subject)):
        return False
    if NEEDS_PROJECT.match(verb) and not OF_PROJECT.match(subject):
        return False
    if verb in ("run", "runs") and not NAMES.search(text[found.start("rest") :]):
        return False
    return _stands_alone(rest) or (not rest.strip() and COMPLETE.search(verb) is not None)


def _stands_alone(rest: str) -> bool:
    """Whether what is said of the subject means something outside of the conversation."""
    return bool(rest.strip(" .,")) and not is_pointing(rest) and not POINTING_REST.match(rest)


def _finding(experience: Experience, kind: FindingKind, text: str, quote: str, confidence: float) -> Finding:
    return Finding(
        kind=kind,
        text=one_line(text),
        confidence=confidence,
        asserted_by="user",
        quote=truncate(one_line(quote), QUOTE_CHARS),
        session=experience.session,
        message=experience.message,
        at=experience.at,
    )
