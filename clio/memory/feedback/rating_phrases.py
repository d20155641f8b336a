"""Phrases with which users rate an answer, with the reasons they give."""

import re
from collections.abc import Mapping
from typing import Literal

Category = Literal["too_verbose", "too_brief", "wrong_tone", "not_helpful", "incorrect_info"]
CATEGORIES: tuple[Category, ...] = ("too_verbose", "too_brief", "wrong_tone", "not_helpful", "incorrect_info")
MAX_WORDS_CHARS = 300
SIMILAR = 0.6

_PHRASES: Mapping[Category, str] = {
    "incorrect_info": r"wrong|incorrect|inaccurate|outdated|out of date|not (?:true|right|correct)|false|untrue|"
    r"mistaken|made (?:that|this|it) up|hallucinat\w*|no such|doesn't exist|does not exist|error in",
    "too_verbose": r"too (?:long|verbose|wordy|much|many|chatty|detailed)|tl;?dr|concise|shorter|brief(?:er|ly)|"
    r"verbose|rambl\w*|get to the point|long[- ]winded|less (?:text|words|detail)|wall of text|cut (?:it|the)|in short",
    "too_brief": r"too (?:short|brief|terse|curt|little)|not enough|more (?:detail|details|depth|explanation|context)|"
    r"elaborate|expand|explain (?:more|further|why)|go deeper|incomplete|missing (?:detail|details|steps)|lacks?",
    "wrong_tone": r"too (?:formal|casual|friendly|informal|stiff|cold|harsh|rude|cheerful|enthusiastic)|tone|rude|"
    r"condescending|patroni[sz]ing|robotic|sarcastic|unprofessional|polite|emoji\w*|stop apologi[sz]ing|sycophan\w*",
    "not_helpful": r"not (?:helpful|useful|what i|answer\w*|relevant)|(?:doesn't|does not|didn't|did not|won't) (?:"
    r"help|answer|work|address)|unhelpful|useless|irrelevant|off[- ]topic|missed the point|beside the point|no help",
}
# A short answer that was too short is "not enough detail", which names "detail" too: the order decides.
_ORDER: tuple[Category, ...] = ("too_brief", "too_verbose", "not_helpful", "incorrect_info", "wrong_tone")
_RULES = {name: re.compile(rf"(?<!\w)(?:{_PHRASES[name]})(?!\w)") for name in _ORDER}


def classify(text: str) -> Category | None:
    """What is wrong with an answer, by the phrases people use in English; None where none of them is there."""
    words = " ".join(text.replace("’", "'").casefold().split())
    return next((name for name in _ORDER if _RULES[name].search(words)), None)


def check_words(text: str) -> str:
    """The free text of a feedback. Raises ValueError above 300 characters."""
    if len(text) > MAX_WORDS_CHARS:
        raise ValueError(f"a feedback has up to {MAX_WORDS_CHARS} characters, not {len(text)}")
    return text


def similar_categories(similarities: Mapping[str, float], threshold: float = SIMILAR) -> dict[str, float]:
    """The categories an embedder finds similar enough, with their similarity."""
    return {name: value for name, value in similarities.items() if value >= threshold}


EXAMPLES: Mapping[Category, tuple[str, ...]] = {
    "too_verbose": (
        "this answer is far too long",
        "you write much more than I need",
        "please keep it short",
        "I do not want to read so much text",
        "skip the explanations and give me the result",
        "you repeat yourself and pad everything out",
    ),
    "too_brief": (
        "this answer is far too short",
        "please explain this in more detail",
        "you left out the steps in between",
        "I need more explanation than that",
        "tell me more about why it works",
        "that leaves most of my question open",
    ),
    "wrong_tone": (
        "I do not like your tone",
        "stop being so cheerful",
        "you sound arrogant",
        "please be more polite",
        "this is much too formal for me",
        "stop flattering me",
    ),
    "not_helpful": (
        "this does not help me at all",
        "you did not answer my question",
        "that has nothing to do with what I asked",
        "I cannot use this answer",
        "you missed the point of my request",
        "this brings me no further",
    ),
    "incorrect_info": (
        "what you said is wrong",
        "there is a mistake in your answer",
        "that function does not exist",
        "this information is out of date",
        "your facts are not correct",
        "you made this up",
    ),
}
