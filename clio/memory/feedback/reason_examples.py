"""How people say what is wrong with an answer, reason by reason: what an embedder compares their words with."""

from collections.abc import Mapping

from clio.text.rating_phrases import Category

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
