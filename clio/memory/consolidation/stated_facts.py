"""Facts the user stated in a turn, and answers to questions the agent asked. English only, by rule."""

from collections.abc import Iterator, Sequence

from clio.memory.consolidation import statement_patterns as words
from clio.memory.consolidation.experiences import QUOTE_CHARS, Doing, Experience, Finding, FindingKind, is_nod
from clio.memory.inert import one_line, quotation
from clio.memory.preferences.language_rules import detect_language, read_statements
from clio.memory.preferences.sentences import FILLER, Said, own_sentences
from clio.memory.preferences.sentences import MAX_CHARS as LOOKED_AT
from clio.memory.preferences.stated_preferences import TAIL, is_order, is_pointing, notice
from clio.messages import UserMessage
from clio.text.formatting import truncate

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
            if one.kind == "remember" and not words.CREDENTIAL.search(one.content):
                yield "fact", one.content, one.quote, EXPLICIT
        return
    ends = text if len(text) <= LOOKED_AT else f"{text[: LOOKED_AT // 2]}\n{text[-LOOKED_AT // 2 :]}"
    noticed = notice(text) if words.NOTICEABLE.search(ends) else ()
    taken = {one.quote for one in noticed}
    for one in noticed:
        if words.CREDENTIAL.search(one.content):
            continue
        if one.kind == "fact" and (one.certain or not words.THAT_THING.match(one.content)):
            yield "fact", one.content, one.quote, EXPLICIT if one.certain else CONFIDENCE
        elif one.kind == "rule" and not one.certain and words.OF_THE_TEAM.match(one.content):
            yield "rule", one.content, one.quote, CONFIDENCE
    if len(text) > MAX_CHARS or not words.STATEMENT_LIKE.search(text) or words.PASTED_ISSUE.search(text):
        return
    if words.LISTED.search(text) and words.TO_BUILD.search(text):
        return
    for said in own_sentences(text):
        if said.is_question or said.text in taken or len(said.text) > _MAX_SENTENCE:
            continue
        if not words.STATEMENT_LIKE.search(said.masked):
            continue
        stating = _statement(said)
        if stating is not None:
            yield (*stating, said.text, CONFIDENCE)


def decision(question: str, answer: str) -> str:
    """A question the agent put and the person's answer as one text; empty where it settles nothing that lasts."""
    question, answer = one_line(question), one_line(answer)
    if is_nod(answer) or len(answer) > _MAX_ANSWER or len(question) > _MAX_ANSWER or words.NO_ANSWER.search(answer):
        return ""
    if words.PROCEDURE.search(question) or words.CREDENTIAL.search(question) or words.POINTS_AT_CHOICE.match(answer):
        return ""
    if not words.OPEN_QUESTION.search(question):
        return ""
    return f"asked {quotation(question)}, the answer was {quotation(answer)}"


def _statement(said: Said) -> tuple[FindingKind, str] | None:
    """What one sentence states, if it does."""
    lead = words.LEAD.match(said.masked)
    start = lead.end() if lead else 0
    masked = whole = said.masked[start:]
    chooses_only = words.NO_SUBJECT.match(masked) is not None
    if chooses_only and not words.CHOOSES.match(masked):
        return None
    for ends in (words.CUT, TAIL):
        cut = ends.search(masked)
        masked = masked[: cut.start()] if cut else masked
    if words.TURNED.search(whole[len(masked) :]):
        return None
    text = one_line(said.text[start : start + len(masked)])
    if len(masked.split()) < 3 or words.CREDENTIAL.search(masked) or _orders_it(masked):
        return None
    chosen = _choice(masked, text)
    if chosen:
        return "fact", chosen
    if (
        chooses_only
        or words.DOUBT.search(words.NOW_IS_FINE.sub(" ", masked))
        or masked.count(FILLER) > len(masked) // 2
    ):
        return None
    rule = words.RULE.search(masked) is not None
    return ("rule" if rule else "fact", text) if _of_team(masked) or _of_thing(masked, text) else None


def _orders_it(masked: str) -> bool:
    """Whether it goes on with what is to be done with its subject, which is then the work at hand."""
    return any(is_order(found["verb"]) for found in words.AND_DO.finditer(masked))


def _choice(masked: str, text: str) -> str:
    """A decision that names what was chosen; empty where the sentence takes none."""
    found = words.DECISION.fullmatch(masked)
    if found is None or words.NO_CHOICE.match(found["what"]) or words.NO_CHOICE_AT_ALL.search(masked):
        return ""
    what = text[found.start("what") :]
    how = found["how"] or found["going"]
    if how and not (words.REASON.search(found["what"]) or words.NAMES.search(what)):
        return ""
    return f"decided: {words.going(found['how'], found['late'], found['going'])}{what}"


def _of_team(masked: str) -> bool:
    """Whether it says what the team does."""
    found = words.WE.fullmatch(masked)
    if found is None or not _stands_alone(found["rest"]):
        return False
    denied = found["not"] or words.NOBODY.match(masked) or words.ONLY.search(masked)
    return bool(denied) or words.base(found["verb"]) not in words.ONLY_NOT


def _of_thing(masked: str, text: str) -> bool:
    """Whether it says what something of the project is, where it is, or what it does all the time."""
    slot = words.SLOT.fullmatch(masked) or words.NAMED.fullmatch(masked)
    if slot is not None:
        return _stands_alone(slot["rest"])
    called = words.CALLED.fullmatch(masked)
    if called is not None and words.PROPER.match(text, called.start("rest")):
        return True
    found = words.LASTING.fullmatch(masked)
    if found is None:
        return False
    verb, rest, subject = found["verb"].casefold(), found["rest"], found["subject"]
    if words.NEEDS_PLACE.search(verb) and not (words.PLACE.search(rest) or words.ALL_OF.match(subject)):
        return False
    if words.NEEDS_PROJECT.match(verb) and not words.OF_PROJECT.match(subject):
        return False
    if verb in ("run", "runs") and not words.NAMES.search(text[found.start("rest") :]):
        return False
    return _stands_alone(rest) or (not rest.strip() and words.COMPLETE.search(verb) is not None)


def _stands_alone(rest: str) -> bool:
    """Whether what is said of the subject means something outside of the conversation."""
    return bool(rest.strip(" .,")) and not is_pointing(rest) and not words.POINTING_REST.match(rest)


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
