"""Notices what a person says plainly about how they want things done: by rule, without a model, in their words alone.

Precision comes first. A sentence counts when it begins with what it demands; what only points ("don't do that"), asks,
is quoted, is told of somebody else or is meant for now is none. Where a rule could be meant for the work at hand alone,
`certain` is False and the person is to be asked. English only.
"""

import re
from collections.abc import Iterator

from msgspec import structs

from clio.memory.preferences.notice_orders import ASKED_TO_STOP, order
from clio.memory.preferences.notice_parts import HATED, LIKED, Noticed, Sentence, first, made
from clio.memory.preferences.notice_style import complaint, praise
from clio.memory.preferences.notice_tastes import swap, taste
from clio.memory.preferences.notice_words import FINITE, LEAD, NOW, TAIL, is_order, is_pointing
from clio.memory.preferences.own_words import FILLER, Said, own_sentences
from clio.text.lazy_regex import LazyRegex

MAX_NOTICED = 8
"""Of one message; who says more is writing a document."""
_RULES = (order, taste, swap)
_ONE_THING = LazyRegex(r"\b(?:the|an?)\b", re.I)
"""A rule about "the" something, said behind a task, may be about that task alone."""
_TURN = LazyRegex(
    r"(?:(?:,| -| –| —) (?:and |but )?| (?:and|but) )(?:please )?"
    r"(?=(?:never|always|from now on|stop \w+ing|do(?:n't| not) ever)\b)",
    re.I,
    needs="never always from stop ever",
)
_THANKS = LazyRegex(
    r"(?:thank(?:s| you)|that works|that helped|looks good|well done|works now|good work|nice work)\b.{0,30}", re.I
)


def notice(text: str) -> tuple[Noticed, ...]:
    """What a person's message says about how they want things done, in the order it is said; nothing twice."""
    found: dict[str, Noticed] = {}
    at_work = False
    for said in own_sentences(text):
        for noticed in _in_sentence(said):
            certain = noticed.certain and not (
                at_work and noticed.kind == "rule" and _ONE_THING.search(noticed.content)
            )
            found.setdefault(noticed.content.casefold(), structs.replace(noticed, quote=said.text, certain=certain))
        at_work = at_work or _is_task(said)
    return tuple(found.values()) if len(found) <= MAX_NOTICED else ()


def _is_task(said: Said) -> bool:
    """Whether a sentence asks for work, about which the next one may still be."""
    lead = LEAD.match(said.masked)
    words = said.masked[lead.end() if lead else 0 :].split()
    return len(words) > 1 and not said.is_question and is_order(words[0]) is True


def _in_sentence(said: Said) -> Iterator[Noticed]:
    whole = Sentence(text=said.text, masked=said.masked)
    fact = _fact(whole, said)
    if fact is not None:
        yield fact
        return
    if said.is_question and not ASKED_TO_STOP.match(whole.masked):
        return
    style = complaint(whole.masked) or praise(whole.masked)
    if style is not None:
        kind, content = style
        yield made(kind, content, HATED if kind == "complaint" else LIKED, certain=True)
        return
    for part in _parts(whole):
        noticed = first(part, _RULES)
        if noticed is not None:
            yield noticed
            return


def _parts(whole: Sentence) -> Iterator[Sentence]:
    """The sentence from where it begins to say something; and what an order goes on with behind a comma."""
    lead = LEAD.match(whole.masked)
    begun = whole.after(lead.end()) if lead else whole
    yield begun
    verb = begun.masked.split(" ", 1)[0]
    turn = _TURN.search(begun.masked)
    if turn is None:
        return
    before = begun.masked[: turn.start()]
    if is_order(verb) and not NOW.search(before) and FILLER not in before:
        yield begun.after(turn.end(), sure=False)
    elif _THANKS.fullmatch(before.strip(" ,")):
        yield begun.after(turn.end())


_ASKED = LazyRegex(
    r"(?:(?:ok(?:ay)?|and|also|so|please|pls|clio|hey|now|oh|btw|by the way)[\s,]+)*"
    r"(?P<ask>(?:can|could|will|would) you )?(?:please )?"
    r"(?:(?P<fyi>fyi|for your information)[\s,:]+"
    r"|(?:remember|keep in mind|bear in mind|don't forget|do not forget|make a note|note for later|take note"
    r"|memori[sz]e|for (?:future|later) reference(?=[:,])|for the record(?=[:,]))"
    r"(?P<colon>\s*[:,])?\s+(?P<that>that\s+)?)",
    re.I,
    needs="fyi information remember mind forget note memori reference record",
)
_CLAUSE = LazyRegex(r"(?:the|our|my|your|his|her|their|its|a|an|we|you|they|it|there|i|every|each|all|no)\b", re.I)
_NO_FACT = LazyRegex(
    r"(?:when|how|what|why|where|who|me\b|us\b|him\b|her\b|the time|this\b|it\b|them\b|those\b|these\b)", re.I
)


def _fact(whole: Sentence, said: Said) -> Noticed | None:
    found = _ASKED.match(whole.masked)
    if found is None or (said.is_question and not found["ask"]):
        return None
    rest = whole.after(found.end()).without_tail(TAIL)
    to = re.match(r"to\b\s*", rest.masked, re.I)
    forget = "forget" in found[0].lower()
    if forget and not found["that"] and not found["colon"]:
        return None
    inner = rest.after(to.end()) if to else rest
    demanded = first(inner, _RULES)
    if demanded is not None:
        return demanded
    if not rest.masked or is_pointing(rest.masked) or _NO_FACT.match(rest.masked) or NOW.search(rest.masked):
        return None
    if to is not None:
        return None
    is_clause = found["colon"] or FINITE.search(rest.masked) or (found["that"] and _CLAUSE.match(rest.masked))
    sure = bool(is_clause) and not found["fyi"]
    if not sure and not found["that"] and not found["fyi"]:
        return None
    if not sure and found["that"]:
        rest = whole.after(found.start("that")).without_tail(TAIL)
    return made("fact", rest.text, None, certain=sure)
