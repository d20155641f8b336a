"""Complaints and praise about the way clio answers, as the thing that is disliked or liked: "verbose answers"."""

import re
from typing import Literal

from clio.text.lazy_regex import LazyRegex

_ANSWERS = r"(?:answers?|explanations?|repl(?:y|ies)|responses?|summar(?:y|ies)|messages?|outputs?|writing|prose)"
_MUCH = r"(?:(?:way|far|much|a bit|a little|rather|still|again|really|just) )*"
_TALK = {
    "verbose": "verbose",
    "wordy": "verbose",
    "chatty": "verbose",
    "talkative": "verbose",
    "long-winded": "verbose",
    "terse": "terse",
    "curt": "terse",
    "vague": "vague",
    "formal": "formal",
    "informal": "informal",
    "flowery": "flowery",
    "enthusiastic": "enthusiastic",
    "repetitive": "repetitive",
}
"""What can only be said of talk, and the word it is kept under."""
_SIZE = {"long": "long", "short": "short", "brief": "short", "detailed": "detailed", "technical": "technical"}
"""What can be said of code as well, so that it needs the answer named."""
_GOOD = {
    "short": "short",
    "brief": "short",
    "concise": "concise",
    "succinct": "concise",
    "crisp": "concise",
    "clear": "clear",
    "detailed": "detailed",
    "thorough": "detailed",
    "direct": "direct",
    "simple": "simple",
    "to the point": "short",
}
_TALK_WORDS, _ALL_WORDS = "|".join(_TALK), "|".join(_TALK | _SIZE)
_GOOD_WORDS = "|".join(_GOOD)
_THINGS = {
    "comments": "comments in code",
    "emojis": "emojis in answers",
    "emoji": "emojis in answers",
    "apologies": "apologies in answers",
    "words": "verbose answers",
    "bullet points": "bullet points in answers",
    "questions": "many questions",
    "docstrings": "docstrings everywhere",
}
_END = r"(?: for me| for my taste| again| please|, .{1,40})?[\s.!,]*"


def _complaint(pattern: str) -> LazyRegex:
    return LazyRegex(pattern, re.I, needs="too")


def _praise(pattern: str, needs: str) -> LazyRegex:
    return LazyRegex(pattern, re.I, needs=needs)


_COMPLAINTS = (
    _complaint(rf"(?:that (?:was|is)|that's|it was|this was) {_MUCH}too (?P<talk>{_TALK_WORDS}){_END}"),
    _complaint(rf"(?:this is|it's|it is) {_MUCH}too (?P<talk>{_TALK_WORDS}) for (?:me|my taste)[\s.!,]*"),
    _complaint(rf"(?:you are|you're|you were) (?:being )?{_MUCH}too (?P<talk>{_TALK_WORDS}){_END}"),
    _complaint(rf"{_MUCH}too (?P<talk>{_TALK_WORDS}){_END}"),
    _complaint(
        rf"your (?:last |previous |first )?{_ANSWERS} (?:is|are|was|were|get|got) {_MUCH}"
        rf"too (?P<talk>{_ALL_WORDS}){_END}"
    ),
    _complaint(
        rf"(?:you (?:write|add|use|put|ask|make|have) (?:way |far )?)?too many (?P<thing>{'|'.join(_THINGS)})"
        rf"(?: in (?:your|the) (?:code|answers?|output))?{_END}"
    ),
    _complaint(rf"you (?P<deed>apologi[sz]e|talk|explain) (?:way |far )?too much{_END}"),
)
_DEEDS = {"apologise": "apologies in answers", "apologize": "apologies in answers"}
_LEAD = r"(?:(?:thanks?(?: you)?|thx|great|perfect|nice|cool|good|yes|wow|ok(?:ay)?|lovely|excellent)[\s,!.]+)*"
_VERY = r"(?:(?:nice|nicely|very|really|so|wonderfully|pleasantly|good|great|lovely|and|a|an) )*"
_IS = r"(?:that|this|it|your (?:last )?" + _ANSWERS + r")(?: (?:was|is|were|are))?"
_ANSWERS_NEED = "answer explanation repl response summar message output writing prose"
_PRAISES = (
    _praise(
        rf"{_LEAD}i (?:really )?(?:like|love|liked|loved|appreciate)d? how {_VERY}(?P<good>{_GOOD_WORDS}) {_IS}{_END}",
        "how",
    ),
    _praise(rf"{_LEAD}nice and (?P<good>{_GOOD_WORDS}){_END}", "nice"),
    _praise(rf"{_LEAD}(?P<good>{_GOOD_WORDS}) and to the point{_END}", "point"),
    _praise(
        rf"{_LEAD}(?:that (?:was|is)|that's|this is) {_VERY}(?P<good>{_GOOD_WORDS}) {_ANSWERS}{_END}", _ANSWERS_NEED
    ),
    _praise(rf"(?:nice|great|good|lovely|excellent),? (?P<good>{_GOOD_WORDS}) {_ANSWERS}{_END}", _ANSWERS_NEED),
)


def complaint(masked: str) -> tuple[Literal["complaint"], str] | None:
    """What a sentence complains of, if it does."""
    for pattern in _COMPLAINTS:
        found = pattern.fullmatch(masked)
        if found is None:
            continue
        named = found.groupdict()
        if named.get("talk"):
            return "complaint", f"{(_TALK | _SIZE)[named['talk'].lower()]} answers"
        if named.get("thing"):
            return "complaint", _THINGS[named["thing"].lower()]
        return "complaint", _DEEDS.get(named["deed"].lower(), "verbose answers")
    return None


def praise(masked: str) -> tuple[Literal["praise"], str] | None:
    """What a sentence praises, if it does."""
    for pattern in _PRAISES:
        found = pattern.fullmatch(masked)
        if found is not None:
            return "praise", f"{_GOOD[found['good'].lower()]} answers"
    return None
