"""Orders in a sentence that begins with one: never, always, don't … again, from now on, stop …."""

import re

from msgspec import structs

from clio.memory.preferences.notice_parts import ALWAYS, NEVER, Noticed, Sentence, made, small
from clio.memory.preferences.notice_words import (
    BEHAVIOUR,
    HERE,
    MANNER,
    MANNER_GERUNDS,
    NOW,
    STANDING,
    STANDING_END,
    TAIL,
    is_order,
    is_pointing,
)
from clio.memory.preferences.scenarios import ScenarioBook
from clio.text.lazy_regex import LazyRegex

_SUBJECT = LazyRegex(
    r"(?:you (?:should|must|shall|have to|need to|are to|may|can|ought to) (?:please )?"
    r"|i(?:'d| would)? (?:want|need|expect|ask|like) you to (?:please )?"
    r"|(?:please )?(?:make|be) sure (?:to |that you |you )?|remember to |see to it that you )",
    re.I,
    needs="you sure remember",
)
_SCOPE = LazyRegex(
    r"(?P<scope>(?P<when>when(?:ever)?|every time|each time|if|before|after|while) (?P<who>you|we|i)?\b[^,¤]{2,60},"
    r"|(?:in|for|with|during|inside) (?!(?:general|case|that|this|it|fact|short|order|future|the future)\b)"
    r"[\w/.¤-]+(?: (?!(?:you|we|they|i|it|one|people)\b)[\w/.¤-]+){0,4}?,?)"
    r" (?=(?:please )?(?:you (?:should|must) )?(?:always|never|do(?:n't| not) ever|use|run|write|add|ask|check)\b)",
    re.I,
    needs="always never do use run write add ask check",
)
_NEVER = LazyRegex(r"never(?:,? ever)?,?\s+(?!again\b)", re.I, needs="never")
_ALWAYS = LazyRegex(r"always\s+", re.I, needs="always")
_DONT = LazyRegex(
    r"(?:don't|do not|dont|you (?:shouldn't|mustn't|should not|must not|may not))\s+", re.I, needs="don't dont not n't"
)
_AGAIN = LazyRegex(r"\b(?:ever again|again|ever|any ?more)$", re.I)
_STOP = LazyRegex(r"stop (?P<what>\w[\w-]*ing)\b", re.I, needs="stop")
_SO_MUCH = LazyRegex(r" (?:so|too|as|up|all) (?:much|many)?\b", re.I)
_AT_WORK = LazyRegex(
    r"stop (?!say|repeat|explain|ask|mention|thank|apologi)\w+ing (?:to |in |from )?(?:the (?!words?\b)|my |that )"
    r"|.*\b(?:once|when|after|until|if|before)\b",
    re.I,
)
"""What code, or the work at hand, is to stop doing."""
_NO = LazyRegex(r"no (?:more )?(?P<what>\w+(?: (?:in|from|to|for|without) .{1,40})?)$", re.I, needs="no")
_WANT_NEVER = LazyRegex(
    r"i (?:never|don't ever|do not ever) want (?:you to |to (?=(?:see|read|have) ))", re.I, needs="want"
)
ASKED_TO_STOP = LazyRegex(
    rf"(?:can|could|would|will) you (?:please )?(?=stop {MANNER_GERUNDS.pattern})", re.I, needs="stop"
)
"""A question that is an order."""
MANNERS = frozenset(
    "emojis emoji comments apologies docstrings summaries bullets tables headings abbreviations jargon praise".split()
)


def order(part: Sentence) -> Noticed | None:
    """The order a sentence begins with, if it does."""
    scope = _SCOPE.match(part.masked)
    prefix = ""
    scenario = None
    if scope is not None:
        prefix = f"{part.text[: scope.end('scope')].strip()} "
        from clio.memory.preferences.infer import infer

        scenario = infer(scope["scope"], ScenarioBook())
        general = not scope["when"] or (scope["who"] and scope["when"].lower() != "if")
        part = part.after(scope.end(), scoped=True, sure=part.sure and bool(general))
    part = _standing(part)
    noticed = _never(part) or _always(part) or _stop(part) or _no(part) or _plain_order(part)
    if noticed is None:
        return None
    return structs.replace(noticed, content=small(prefix) + noticed.content, scenario=scenario)


def _standing(part: Sentence) -> Sentence:
    """Without the words that say it holds from now on, and without those that say who is to do it."""
    if asked := ASKED_TO_STOP.match(part.masked):
        part = part.after(asked.end())
    changed = True
    while changed:
        changed = False
        if begun := STANDING.match(part.masked):
            part, changed = part.after(begun.end(), standing=True), True
        if late := re.match(r"next time,?\s+", part.masked, re.I):
            part, changed = part.after(late.end(), standing=True, sure=False), True
        if please := re.match(r"(?:please|clio|then|just)[\s,]+", part.masked, re.I):
            part, changed = part.after(please.end()), True
    if STANDING_END.search(part.masked):
        part = structs.replace(part.without_tail(STANDING_END), standing=True)
    subject = _SUBJECT.match(part.masked)
    if subject and re.match(r"(?:always|never|do(?:n't| not))\b", part.masked[subject.end() :], re.I):
        part = part.after(subject.end())
    return part


def _never(part: Sentence) -> Noticed | None:
    wanted = _WANT_NEVER.match(part.masked)
    found = wanted or _NEVER.match(part.masked)
    dont = None if found else _DONT.match(part.masked)
    if found:
        rest = part.after(found.end())
        return _demand(rest, "never", NEVER)
    if dont is None:
        return None
    rest = part.after(dont.end())
    ever = re.match(r"ever\s+", rest.masked, re.I)
    rest = rest.after(ever.end()) if ever else rest
    trimmed = rest.masked.rstrip(" .!,")
    if ever or part.standing or _AGAIN.search(trimmed):
        return _demand(rest, "never", NEVER)
    verb = rest.masked.split(" ", 1)[0].lower()
    in_scope = re.search(r"\bin (?:this|these|the current) \w+$", trimmed, re.I)
    if (verb in MANNER and not re.search(r"\b(?:the|an?|that|this|it|my|your)\b|,", trimmed, re.I)) or in_scope:
        return _demand(rest, "don't", NEVER, certain=False)
    return None


def _always(part: Sentence) -> Noticed | None:
    found = _ALWAYS.match(part.masked)
    return _demand(part.after(found.end()), "always", ALWAYS) if found else None


def _plain_order(part: Sentence) -> Noticed | None:
    """An order without never or always, which holds on where it says so: "from now on …"."""
    if not part.standing or is_order(part.masked.split(" ", 1)[0]) is not True:
        return None
    return _demand(part, "", ALWAYS)


def _demand(rest: Sentence, word: str, score: float, *, certain: bool = True) -> Noticed | None:
    """What is demanded, if the rest is an order that stands for itself."""
    rest = rest.without_tail(TAIL)
    rest = rest.without_tail(STANDING_END).without_tail(TAIL)
    first, _, more = rest.masked.partition(" ")
    known = is_order(first)
    if known is False or not rest.masked or (more and not rest.scoped and is_pointing(more)):
        return None
    if NOW.search(rest.masked) or (known is None and not more):
        return None
    doubtful = not rest.sure or known is None or first.lower() in BEHAVIOUR or HERE.search(more)
    content = f"{word} {rest.text}".strip() if word else small(rest.text)
    return made("rule", content, score, certain=certain and not doubtful)


def _stop(part: Sentence) -> Noticed | None:
    found = _STOP.match(part.masked)
    if found is None:
        return None
    rest = part.without_tail(TAIL)
    more = rest.masked[found.end() :]
    if (more.strip() and is_pointing(more)) or NOW.search(more) or found["what"].lower() == "doing":
        return None
    if (
        not MANNER_GERUNDS.fullmatch(found["what"])
        or _SO_MUCH.match(more)
        or _AT_WORK.match(rest.masked)
        or HERE.search(more)
    ):
        return None
    return made("rule", small(rest.text), NEVER, certain=part.sure)


def _no(part: Sentence) -> Noticed | None:
    rest = part.without_tail(TAIL)
    found = _NO.fullmatch(rest.masked)
    if found is None or found["what"].split()[0].lower() not in MANNERS:
        return None
    return made("rule", small(rest.text), NEVER, certain=False)
