"""Tastes in a sentence that begins with one: I prefer, I like, I hate, I always, use X instead of Y."""

import re

from clio.memory.preferences.notice_orders import MANNERS
from clio.memory.preferences.notice_parts import ALWAYS, DISLIKED, HATED, LIKED, NEVER, Noticed, Sentence, made, small
from clio.memory.preferences.notice_words import HERE, NOW, STANDING_END, TAIL, is_order, is_pointing
from clio.text.lazy_regex import LazyRegex

_ADVERBS = (
    r"(?:(?:really|much|generally|usually|strongly|personally|do|still|definitely|normally|typically|absolutely) )*"
)
_PREFER = LazyRegex(rf"i(?P<would>'d| would)? ?{_ADVERBS}prefer\s+", re.I, needs="prefer")
_LIKE = LazyRegex(rf"i {_ADVERBS}(?P<verb>like|love|enjoy)\s+", re.I, needs="like love enjoy")
_DISLIKE = LazyRegex(
    rf"i (?P<what>{_ADVERBS}(?P<verb>hate|dislike|detest|despise|don't {_ADVERBS}like|do not {_ADVERBS}like|can't stand"
    r"|cannot stand))\s+",
    re.I,
    needs="hate like detest despise stand",
)
_NO_WISH = LazyRegex(r"i (?P<what>(?:don't|do not) want)\s+(?P<thing>\w+)\b", re.I, needs="want")
_HABIT = LazyRegex(
    r"i (?P<how>always|never|usually|normally|typically) (?P<verb>[\w-]+)\b", re.I, needs="always never ally"
)
_WE = LazyRegex(r"we (?P<how>always|never) (?P<verb>[\w-]+)\b", re.I, needs="always never")
_RATHER = LazyRegex(r"i(?:'d| would) rather\s+", re.I, needs="rather")
_SPECIFIC = LazyRegex(
    r"(?:this|that|it|these|those|your|his|her|their|the (?:second|first|third|other|last|former|latter|new|old|latest"
    r"|current|one|way|idea|result|design|approach|solution|name|look|previous|original)|option|both|neither|either|all"
    r"|what|where|not|if|we|you)\b",
    re.I,
)
_WHEN_YOU = LazyRegex(r"(?:it )?(?:when|how|that) (?:you|your answers|answers|code|tests|commits|functions)\b", re.I)
_GENERAL = LazyRegex(r"\b(?:in general|generally|usually|always|over|to|as a rule|everywhere)\b", re.I)
_POINTED = LazyRegex(r"^ (?:that|those)\b|,", re.I)
_NO_HABITS = frozenset(
    "get see have know think hear find need want forget feel hope believe remember understand".split()
)


def taste(part: Sentence) -> Noticed | None:
    """The taste a sentence begins with, if it does."""
    part = part.without_tail(STANDING_END)
    return _prefers(part) or _likes(part) or _dislikes(part) or _does(part)


def _prefers(part: Sentence) -> Noticed | None:
    found = _PREFER.match(part.masked)
    if found is None:
        return None
    rest = part.after(found.end()).without_tail(TAIL)
    if not rest.masked or is_pointing(rest.masked) or _SPECIFIC.match(rest.masked) or NOW.search(rest.masked):
        return None
    if found["would"] and (HERE.search(rest.masked) or re.search(r"\bthe\b", rest.masked, re.I)):
        return None
    general = not found["would"] or _GENERAL.search(part.masked[found.end() :])
    certain = part.sure and bool(general) and not HERE.search(rest.masked)
    return made("preference", f"prefer {rest.text}", LIKED, certain=certain)


def _likes(part: Sentence) -> Noticed | None:
    found = _LIKE.match(part.masked)
    if found is None:
        return None
    rest = part.after(found.end()).without_tail(TAIL)
    about_clio = _WHEN_YOU.match(rest.masked) is not None
    if not rest.masked or (not about_clio and (_SPECIFIC.match(rest.masked) or is_pointing(rest.masked))):
        return None
    if re.match(r"(?:to|how|the|a|an|my|our)\b", rest.masked, re.I) and not about_clio:
        return None
    if NOW.search(rest.masked) or HERE.search(rest.masked):
        return None
    return made("preference", f"{found['verb'].lower()} {rest.text}", LIKED, certain=about_clio and part.sure)


def _dislikes(part: Sentence) -> Noticed | None:
    found = _DISLIKE.match(part.masked)
    if found is not None:
        rest = part.after(found.end()).without_tail(TAIL)
        about_clio = _WHEN_YOU.match(rest.masked) is not None
        if not rest.masked or (not about_clio and (_SPECIFIC.match(rest.masked) or is_pointing(rest.masked))):
            return None
        if NOW.search(rest.masked) or re.match(r"(?:to|how|the|my|our)\b", rest.masked, re.I):
            return None
        score = HATED if found["verb"].lower() in ("hate", "detest", "despise", "can't stand") else DISLIKED
        if HERE.search(rest.masked):
            return None
        certain = part.sure
        return made("dislike", f"{found['verb'].lower()} {rest.text}", score, certain=certain)
    wish = _NO_WISH.match(part.masked)
    if wish is None or wish["thing"].lower() not in MANNERS:
        return None
    rest = part.after(wish.start("what")).without_tail(TAIL)
    if NOW.search(rest.masked):
        return None
    return made("dislike", small(rest.text), HATED, certain=part.sure and not HERE.search(rest.masked))


def _does(part: Sentence) -> Noticed | None:
    """What the person or their team does: told, not asked for, so it is asked about."""
    rest = part.without_tail(TAIL)
    rather = _RATHER.match(rest.masked)
    if rather is not None:
        more = rest.after(rather.end())
        points = _SPECIFIC.match(more.masked) or is_pointing(more.masked.partition(" ")[2]) or HERE.search(more.masked)
        stays = re.search(r"\bthan\b", more.masked) and not points and not more.masked.startswith(("not ", "you "))
        return made("preference", f"rather {more.text}", LIKED, certain=False) if stays else None
    habit, team = _HABIT.match(rest.masked), _WE.match(rest.masked)
    found = habit or team
    if found is None:
        return None
    verb, more = found["verb"].lower(), rest.masked[found.end() :]
    if (
        is_order(verb) is not True
        or verb in _NO_HABITS
        or is_pointing(more)
        or _POINTED.search(more)
        or NOW.search(more)
        or HERE.search(more)
    ):
        return None
    if team is not None:
        score = NEVER if team["how"].lower() == "never" else ALWAYS
        return made("rule", small(rest.text), score, certain=False)
    return made("preference", small(rest.text[2:].strip()), LIKED, certain=False)


_SWAP = LazyRegex(
    r"use (?P<this>[^,]{1,60}?)(?: instead of | rather than | over |, not )(?P<that>[^,]{1,60})$", re.I, needs="use"
)
_NAME = LazyRegex(
    r"(?!(?:a|an|the|this|that|these|those|it|my|your|our|two|one|some|any|all|its|their)\b)\S+(?: \S+)?", re.I
)


def swap(part: Sentence) -> Noticed | None:
    """ "Use X instead of Y": for good where both are plain names."""
    rest = part.without_tail(TAIL)
    found = _SWAP.fullmatch(rest.masked)
    if found is None or is_pointing(found["this"]) or is_pointing(found["that"]) or NOW.search(rest.masked):
        return None
    names = _NAME.fullmatch(found["this"]) and _NAME.fullmatch(found["that"]) and not HERE.search(rest.masked)
    if not names or found["this"][0].isdigit() or found["that"][0].isdigit():
        return None
    return made("preference", small(rest.text), LIKED, certain=part.sure)
