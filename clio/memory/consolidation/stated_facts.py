"""Find facts and decisions in the user's messages of a turn, by rules.

The patterns are the section "facts" of `clio/memory/preferences/languages/en.json`. In other languages, what
`read_statements` recognizes is found, and plain statements with a value by the rules of `languages/facts.json`.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache

import msgspec
from msgspec import Struct, structs

from clio.memory.consolidation.experiences import (
    QUOTE_CHARS,
    CompletedCall,
    Experience,
    Finding,
    FindingKind,
    is_assent,
)
from clio.memory.consolidation.value_changes import find_change
from clio.memory.preferences.foreign_statements import (
    detect_language,
    is_own_english,
    list_foreign_texts,
    read_requests,
)
from clio.memory.preferences.limits import PROHIBITS, find_limits
from clio.memory.preferences.own_sentences import FILLER, MAX_SENTENCE, WrittenSentence, read_own_sentences
from clio.memory.preferences.own_sentences import MAX_CHARS as LOOKED_AT
from clio.memory.preferences.rule_files import english_rules, load_rule_file
from clio.memory.preferences.stated_preferences import TAIL, find_preferences, is_order, is_pointing, list_about_user
from clio.memory.statement_reader import JUDGEMENTS, find_family, word_tables
from clio.messages import UserMessage
from clio.text.formatting import truncate
from clio.text.lazy_regex import LazyRegex
from clio.text.untrusted_text import make_inert_line, quote_inert

_FACTS = english_rules("facts")

LEAD = _FACTS.pattern("lead")
"""Words before a statement that are not part of it, such as "by the way"."""
WE = _FACTS.pattern("we")
ONLY_NOT = frozenset("touch edit commit push merge change mock allow accept".split()) | {"check in"}
"""Verbs that state a lasting fact about a team only with "never", "always" or "only"; tasks contain them too."""
LASTING = _FACTS.pattern("lasting")
SLOT = _FACTS.pattern("slot")
NAMED = _FACTS.pattern("named")
NO_SUBJECT = _FACTS.pattern("no_subject")
"""Beginnings of a sentence that means nothing without its context, or is about the current task."""
DOUBT = _FACTS.pattern("doubt")
"""Signs of a complaint, a guess, a story, a wish, a report about others, or something valid only today."""
NOW_IS_FINE = _FACTS.pattern("now_is_fine")
"""Uses of "now" for a permanent change: another name, place or number of something."""
POINTING_REST = _FACTS.pattern("pointing_rest")
CREDENTIAL = _FACTS.pattern("credential")
CUT = _FACTS.pattern("cut")
"""The point where a statement ends and a request based on it begins."""
PASTED_ISSUE = _FACTS.pattern("pasted_issue")
DECISION = _FACTS.pattern("decision")
NO_CHOICE = _FACTS.pattern("no_choice")
"""Choices that mean nothing outside of their conversation, such as "the second one"."""
REASON = _FACTS.pattern("reason")
PROCEDURE = _FACTS.pattern("procedure")
"""Questions about how to continue, whose answers are worth nothing later."""
NO_CHOICE_AT_ALL = _FACTS.pattern("no_choice_at_all")
NAMES = _FACTS.pattern("names")
"""Signs that a choice is about the project: a name, or the rejected alternative."""
NO_ANSWER = _FACTS.pattern("no_answer")
NOTICEABLE = _FACTS.pattern("noticeable")
"""A message without any of these contains nothing that the rules of `find_preferences` would find."""
STATEMENT_LIKE = _FACTS.pattern("statement_like")
"""A fast test; most messages fail it and need none of the slower patterns."""
OF_THE_TEAM = _FACTS.pattern("of_the_team")
NOBODY = _FACTS.pattern("nobody")
ONLY = _FACTS.pattern("only")
RULE = _FACTS.pattern("rule")
NEEDS_PLACE = _FACTS.pattern("needs_place")
PLACE = _FACTS.pattern("place")
NEEDS_PROJECT = _FACTS.pattern("needs_project")
OF_PROJECT = _FACTS.pattern("of_project")
COMPLETE = _FACTS.pattern("complete")


def get_base_verb(verb: str) -> str:
    """Return a verb as `ONLY_NOT` lists it: "push" for "pushes"; unchanged if it is not listed."""
    verb = verb.casefold()
    return next((one for one in (verb, verb.removesuffix("s"), verb.removesuffix("es")) if one in ONLY_NOT), verb)


def make_choice_prefix(how: str | None, late: str | None, going_on: str | None) -> str:
    """Return the words between "decided:" and the choice: "against ", "keep ", or "" for a choice to use it."""
    said = (how or late or going_on or "").casefold()
    if "against" in said or "drop" in said:
        return "against "
    if said.startswith(("keep", "stick", "stay")) or said.endswith(("keep", "stay with", "stay on")):
        return "keep "
    return ""


TURNED = _FACTS.pattern("turned")
"""A rest that shows that the statement before it describes what is to be changed."""
POINTS_AT_CHOICE = _FACTS.pattern("points_at_choice")
"""Answers that mean nothing without the list they were chosen from, such as "the first"."""
ALL_OF = _FACTS.pattern("all_of")
AND_DO = _FACTS.pattern("and_do")
CALLED = _FACTS.pattern("called")
PROPER = LazyRegex(r"[A-Z][\w+#]*[a-zA-Z0-9+#](?![\w'])")
"""A proper name: capitalized, as in "the service is called Heron"."""
LISTED = LazyRegex(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]", re.MULTILINE)
TO_BUILD = _FACTS.pattern("to_build")
"""Requests to build something: a list in such a message is a specification, not facts."""
OPEN_QUESTION = _FACTS.pattern("open_question")
"""Questions that yes or no does not answer."""
AT_PATH = _FACTS.pattern("at_path")
"""Where something is that a request for a change would call so, too: "the logo is at assets/logo.svg"."""
PASSING_EVENT = _FACTS.pattern("passing_event")
"""An event at a time that says nothing without the day it was said: "the meeting is at 3"."""
SOURCE_WRONG = _FACTS.pattern("source_wrong")
"""What a document says and what is right: "the wiki says retention is 30 days, it is actually 14 days"."""
THAT_THING = _FACTS.pattern("that_thing")
"""Things that may only be pointed at ("that file"), so that a statement about them means nothing later."""
CHOOSES = _FACTS.pattern("chooses")


_ENDS_POINTING = _FACTS.pattern("ends_pointing")
_OWNS_SOME = _FACTS.pattern("owns_some")
_SAYS_VALUE = _FACTS.pattern("says_value")
CONFIDENCE, EXPLICIT = 0.8, 0.9
"""Confidence in a statement made in passing, and in one that the user asked clio to remember."""
MAX_CHARS = 2_500
"""A longer message is mostly a document: only what the user asks to remember is read from it."""
_MAX_STATED, _MAX_SENTENCE, _MAX_ANSWER = 6, 220, 300
_CORRECTED = 0.5
"""Least probability that what follows a statement of a document gives it another value."""


def find_statements(experience: Experience, calls: Sequence[CompletedCall]) -> list[Finding]:
    """Return what the user stated in a turn, and their answers to the agent's questions, without duplicates.

    Returns nothing if there are more than six: that many are a pasted document or a specification.

    calls: the tool calls of the turn.
    """
    found: dict[str, Finding] = {}
    for message in experience.messages:
        if isinstance(message, UserMessage) and message.origin == "user" and not is_assent(message.content):
            for kind, text, quote, confidence in read_lasting_statements(message.content):
                found.setdefault(text.casefold(), _make_finding(experience, kind, text, quote, confidence))
    for call in calls:
        text = format_decision(call.effects.question, call.effects.answer) if call.effects.question else ""
        if text:
            found.setdefault(text.casefold(), _make_finding(experience, "fact", text, call.effects.answer, CONFIDENCE))
    return list(found.values()) if len(found) <= _MAX_STATED else []


def read_english_sentences(text: str, max_chars: int = MAX_SENTENCE) -> Iterator[WrittenSentence]:
    """Yield the user's own sentences that are English and no questions."""
    language = detect_language(text)
    for said in read_own_sentences(text, max_chars):
        if not said.is_question and is_own_english(said.text, text, language):
            yield said


def read_lasting_statements(text: str) -> Iterator[tuple[FindingKind, str, str, float]]:
    """Yield the lasting statements of a message: kind, text, the sentence that contains it, confidence."""
    for language, part in list_foreign_texts(text) if len(text) <= MAX_CHARS else ():
        requests = read_requests(part, language)
        limits = [one for one in find_limits(part) if PROHIBITS.search(one.content)]
        stated = {one.content for one in limits if one.term == "lasting"}
        for one in requests:
            if one.content not in stated and not CREDENTIAL.search(one.content):
                yield "fact", one.content, one.quote, EXPLICIT
        for content, quote in _read_foreign_facts(part, language):
            if all(content not in one.quote for one in (*requests, *limits)):
                yield "fact", content, quote, CONFIDENCE
    language = detect_language(text)
    ends = text if len(text) <= LOOKED_AT else f"{text[: LOOKED_AT // 2]}\n{text[-LOOKED_AT // 2 :]}"
    noticed = find_preferences(text) if NOTICEABLE.search(ends) else ()
    noticed = [one for one in noticed if is_own_english(one.quote, text, language)]
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
    for said in read_english_sentences(text):
        if said.text in taken or len(said.text) > _MAX_SENTENCE or not STATEMENT_LIKE.search(said.masked):
            continue
        lead = LEAD.match(said.masked)
        about_user = list_about_user(said.text[lead.end() if lead else 0 :])
        for one in about_user:
            yield "fact", one, said.text, CONFIDENCE
        for part in () if about_user else _split_sentence(said):
            if stating := _classify_sentence(part):
                yield (*stating, said.text, CONFIDENCE)


class _ForeignRules(Struct, frozen=True, kw_only=True):
    """How a language other than English states facts of a project, each with a value: a name, number, path or host.

    Attributes:
        lead: words before a statement that are not part of it.
        states: whole statements. The groups `name` and `tool` are values that may look like any other word.
        denied: the end of a statement that says what does not hold: ", nicht npm".
        never: searched anywhere; words of remarks about the task, of doubts, plans, orders and hearsay.
    """

    lead: str
    states: tuple[str, ...]
    denied: str
    never: str


@cache
def _foreign_rules(language: str) -> tuple[re.Pattern[str], tuple[LazyRegex, ...], re.Pattern[str], re.Pattern[str]]:
    """Return the compiled rules of a language, in the order of `_ForeignRules`."""
    raw = load_rule_file("facts", dict[str, msgspec.Raw])
    rules = msgspec.json.decode(raw[language], type=_ForeignRules)
    parts = msgspec.json.decode(raw["parts"], type=dict[str, str])

    def fill(text: str) -> str:
        for _ in range(2):  # a part may contain another one
            for name, part in parts.items():
                text = text.replace(f"{{{name}}}", part)
        return text

    states = tuple(LazyRegex(fill(pattern), re.I) for pattern in rules.states)
    denied, never = re.compile(fill(rules.denied), re.I), re.compile(rules.never, re.I)
    return re.compile(rules.lead, re.I), states, denied, never


_FOREIGN_AND = re.compile(r",? (?:und|et|y|e) |[,;，；] ?")


def _read_foreign_facts(text: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield what the user's sentences in a language other than English state of the project, with the sentence."""
    lead, _, denied, _ = _foreign_rules(language)
    for said in read_own_sentences(re.sub(r"([。！？])(?=\S)", r"\1\n", text), _MAX_SENTENCE):
        plain = said.text.replace("’", "'").strip(" .。!！")
        if said.is_question or said.text.lstrip().startswith("¿") or word_tables().doubts.search(plain):
            continue
        plain = lead.sub("", denied.sub("", plain))
        about_user = list_about_user(plain)
        parts = about_user or ([plain] if _states_foreign_fact(plain, language) else _FOREIGN_AND.split(plain))
        if about_user or all(_states_foreign_fact(part, language) for part in parts):
            yield from ((make_inert_line(part), said.text) for part in parts)


def _states_foreign_fact(text: str, language: str) -> bool:
    _, states, _, never = _foreign_rules(language)
    if never.search(text) or CREDENTIAL.search(text):
        return False
    found = next((match for pattern in states if (match := pattern.fullmatch(text))), None)
    tool = found.groupdict().get("tool") if found else None
    return found is not None and (not tool or bool(find_family(tool.casefold())) or not tool.isalpha())


_JOINED = re.compile(r"(?:\s*[,;]\s+(?:and\s+)?|\s+and\s+)(?!.*\bstill\b)", re.I)
"""Between two statements; what is still so beside another one is about to change."""


def _split_sentence(said: WrittenSentence) -> list[WrittenSentence]:
    """Return the statements that a sentence joins with commas or "and", each complete; itself if it is only one."""
    for found in _JOINED.finditer(said.masked):
        first, rest = (
            structs.replace(said, text=said.text[span], masked=said.masked[span])
            for span in (slice(found.start()), slice(found.end(), None))
        )
        if _classify_sentence(first) and _classify_sentence(rest):
            return [first, *_split_sentence(rest)]
    return [said]


def read_correctable_statements(text: str) -> Iterator[str]:
    """Yield the statements of a message that a correction in the next message may be about, with or without its value.

    These are its lasting facts, and sentences that say how many parts something has, when it begins, or its currency.
    The latter mean little by themselves, and last if the user corrects them.
    """
    yield from (content for kind, content, *_ in read_lasting_statements(text) if kind == "fact")
    for said in read_own_sentences(text, _MAX_SENTENCE) if len(text) <= MAX_CHARS else ():
        plain = said.masked.rstrip(" .!")
        if not said.is_question and _SAYS_VALUE.fullmatch(plain) and not DOUBT.search(plain):
            yield said.text.rstrip(" .!")


def format_decision(question: str, answer: str) -> str:
    """Return the agent's question and the user's answer as one text; "" if they decide nothing lasting."""
    question, answer = make_inert_line(question), make_inert_line(answer)
    if is_assent(answer) or len(answer) > _MAX_ANSWER or len(question) > _MAX_ANSWER or NO_ANSWER.search(answer):
        return ""
    if PROCEDURE.search(question) or CREDENTIAL.search(question) or POINTS_AT_CHOICE.match(answer):
        return ""
    if not OPEN_QUESTION.search(question):
        return ""
    return f"asked {quote_inert(question)}, the answer was {quote_inert(answer)}"


def _classify_sentence(said: WrittenSentence) -> tuple[FindingKind, str] | None:
    """Return the kind and text of what one sentence states; None if it states nothing lasting."""
    lead = LEAD.match(said.masked)
    start = lead.end() if lead else 0
    masked = whole = said.masked[start:]
    wrong = SOURCE_WRONG.match(masked)
    if (
        wrong
        and not (NO_SUBJECT.match(wrong["old"]) or CREDENTIAL.search(masked))
        and (text := _correct_source(said.text[start:], wrong))
    ):
        return "fact", text
    chooses_only = NO_SUBJECT.match(masked) is not None and not AT_PATH.match(masked.rstrip(" .!"))
    if chooses_only and not CHOOSES.match(masked):
        return None
    for ends in (CUT, TAIL):
        cut = ends.search(masked)
        masked = masked[: cut.start()] if cut else masked
    if TURNED.search(whole[len(masked) :]):
        return None
    text = make_inert_line(said.text[start : start + len(masked)])
    if len(masked.split()) < 3 or CREDENTIAL.search(masked) or _continues_with_order(masked):
        return None
    if PASSING_EVENT.match(masked):
        return None
    chosen = _format_choice(masked, text)
    if chosen:
        return "fact", chosen
    if chooses_only or DOUBT.search(NOW_IS_FINE.sub(" ", masked)) or masked.count(FILLER) > len(masked) // 2:
        return None
    rule = RULE.search(masked) is not None
    return (
        ("rule" if rule else "fact", text) if _is_about_team(masked) or _is_about_project_part(masked, text) else None
    )


def _correct_source(text: str, wrong: re.Match[str]) -> str:
    """Return the statement of a document with the value that the user says is right; "" if it has no other value."""
    old, new = (make_inert_line(text[slice(*wrong.span(part))]) for part in ("old", "new"))
    change = find_change(old, new, is_reply=True)
    start, end = change.old
    return f"{old[:start]}{new[slice(*change.new)]}{old[end:]}" if change.probability >= _CORRECTED else ""


def _continues_with_order(masked: str) -> bool:
    """Whether the sentence continues with an order about its subject, so that it is about the current task."""
    return any(is_order(found["verb"]) for found in AND_DO.finditer(masked))


def _format_choice(masked: str, text: str) -> str:
    """Return the decision as "decided: …" if the sentence states one and names the choice; otherwise ""."""
    found = DECISION.fullmatch(masked)
    if found is None or NO_CHOICE.match(found["what"]) or NO_CHOICE_AT_ALL.search(masked):
        return ""
    what = text[found.start("what") :]
    how = found["how"] or found["going"]
    if how and not (REASON.search(found["what"]) or NAMES.search(what)):
        return ""
    return f"decided: {make_choice_prefix(found['how'], found['late'], found['going'])}{what}"


def _is_about_team(masked: str) -> bool:
    """Whether the sentence says what the team does, such as "we deploy on Mondays"."""
    found = WE.fullmatch(masked)
    if found is None or not _stands_alone(found["rest"]):
        return False
    denied = found["not"] or NOBODY.match(masked) or ONLY.search(masked)
    return bool(denied) or get_base_verb(found["verb"]) not in ONLY_NOT


def _is_about_project_part(masked: str, text: str) -> bool:
    """Whether the sentence says what a part of the project is, where it is, or what it always does."""
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
    if verb == "owns" and _OWNS_SOME.match(rest):
        return False  # "Jonas owns a dog"
    if verb in ("run", "runs") and not NAMES.search(text[found.start("rest") :]):
        return False
    return _stands_alone(rest) or (not rest.strip() and COMPLETE.search(verb) is not None)


def _stands_alone(rest: str) -> bool:
    """Whether the predicate of a sentence means something outside of the conversation."""
    plain = rest.strip(" .,")
    if not plain or all(word in JUDGEMENTS for word in plain.casefold().split()):
        return False  # "the port is taken" is true for now
    return not (is_pointing(rest) or POINTING_REST.match(rest) or _ENDS_POINTING.search(plain))


def _make_finding(experience: Experience, kind: FindingKind, text: str, quote: str, confidence: float) -> Finding:
    return Finding(
        kind=kind,
        text=make_inert_line(text),
        confidence=confidence,
        asserted_by="user",
        quote=truncate(make_inert_line(quote), QUOTE_CHARS),
        session=experience.session,
        message=experience.message,
        at=experience.at,
    )
