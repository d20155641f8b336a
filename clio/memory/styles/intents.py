"""What a message wants, told from its words by rule; no model is asked.

Each intent has cues, turns of phrase with a weight; the words a clause opens with weigh most. An intent has the weight
of its best cue and a quarter of the others'; the intent with most wins.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal, TypeAlias, get_args

from clio.memory.preferences.infer_cues import trace
from clio.memory.styles.cues_abroad import ABROAD
from clio.memory.styles.cues_words import WORDS
from clio.memory.styles.cues_work import WORK
from clio.memory.styles.small_talk import is_polite, is_small_talk
from clio.text.lazy_regex import LazyRegex
from clio.text.vocabulary import words

Intent: TypeAlias = Literal["question", "explain", "fix", "build", "review", "plan", "write", "run", "chat"]
Cue: TypeAlias = tuple[float, re.Pattern[str], bool]
"""Its weight, the pattern, and whether a clause must open with it."""
INTENTS: tuple[Intent, ...] = get_args(Intent)
# Where two have as much, the one that is more to do.
_RANK: tuple[Intent, ...] = ("fix", "write", "review", "plan", "build", "run", "explain", "question")

# What may stand before the word a clause really opens with, in any language: people mix them.
_OPENING = LazyRegex(
    r"^(?:\W|(?:please|pls|now|then|ok(?:ay)?|k|so|and|but|or|hmm+|uh+|well|great|perfect|cool|nice|awesome"
    r"|alright|right"
    r"|actually|also|just|simply|next|first|second|finally|lastly|hey|hi|hello|thanks|yes|yeah|yep|sure|no"
    r"|claude|clio|let'?s"
    r"|let us|lets|can we|could we|we should|you should|we (?:need|have) to|you (?:need|have) to|(?:can"
    r"|could|would|will) you"
    r"|i(?: want|'d like| would like| need) you to|i(?: want|'d like| would like| need) to|i wanna"
    r"|go ahead and|try to|try and"
    r"|help me(?: to)?|make sure to|don'?t forget to|looks good|sounds good|lgtm|good|wait|i think we should"
    r"|maybe|again|quickly"
    r"|bitte|jetzt|dann|kannst du|könntest du|s'il te plaît|peux-tu|pouvez-vous|por favor|puedes|podrías"
    r"|ahora)\b)*"
)
_TAG = LazyRegex(
    r"[,.;]\s*(?:does (?:that|this) make sense|make sense|no|yes|yeah|yep|right|ok(?:ay)?|correct)$"
    r"|^does (?:that|this) make sense$"
)
_CLAUSE = LazyRegex(
    r"[,;]\s+(?=(?:just|please|so|then|now|and then|and please|and now)\b|\w+ (?:it|this|that|them)\b)|\s[-–—]\s"
)
_PASTED_FAILURE, _COMPLAINT, _ASKED = 3.0, 1.5, 1.0
_CLEAR = 3.0
_FEW_WORDS = 2
_PASTED_LINES = 20
_MOST_CLAUSES, _LONGEST = 40, 400


def infer_intent(sentences: Sequence[tuple[str, bool]], raw: str, *, frustrated: bool = False) -> Intent:
    """What a message wants.

    sentences: what the person wrote themselves, each with whether it is a question. raw: the message with what is
    pasted; where nothing else is there, its first lines are read. frustrated: who complains wants a fix rather.
    """
    sentences = sentences or [(line, False) for line in raw.splitlines()[:_PASTED_LINES]]
    said = words("\n".join(text for text, _ in sentences))
    if is_small_talk(said):
        return "chat"
    clauses = [clause for text, asked in sentences for clause in _clauses(text, asked)]
    if len(clauses) > _MOST_CLAUSES:
        clauses = clauses[: _MOST_CLAUSES // 2] + clauses[-_MOST_CLAUSES // 2 :]
    points = {intent: _points(found, clauses) for intent, found in _cues().items()}
    if trace().search("\n".join(line for line in raw.splitlines() if line.strip())):
        points["fix"] += _PASTED_FAILURE
    if frustrated:
        points["fix"] += _COMPLAINT
    if any(asked for _, asked in sentences):
        points["question"] += _ASKED
    best = max(_RANK, key=lambda intent: points[intent])
    if points[best] < _CLEAR and is_polite(said):
        return "chat"
    if points[best] > 0.0:
        return best
    return "build" if len(said) > _FEW_WORDS else "chat"


def _points(cues: Sequence[Cue], clauses: Sequence[str]) -> float:
    whole = "\n".join(clauses)
    found = [weight for weight, cue, opens in cues if (any(map(cue.match, clauses)) if opens else cue.search(whole))]
    return max(found) + (sum(found) - max(found)) / 4 if found else 0.0


def _clauses(sentence: str, asked: bool) -> list[str]:
    """The clauses of a sentence in small letters, each without "ok, please" and the like, unless that is all of it."""
    clauses = _CLAUSE.sub("\n", _TAG.sub("", f"{sentence.lower()[:_LONGEST]}")).split("\n")
    clauses = [_OPENING.sub("", clause, 1) or clause for clause in clauses]
    return [*clauses[:-1], clauses[-1] + "?" * asked]


def _written(intent: Intent) -> Iterator[tuple[float, str]]:
    for cues in (WORK, WORDS, ABROAD):
        yield from cues.get(intent, ())


@cache
def _cues() -> dict[Intent, tuple[Cue, ...]]:
    """The cues, compiled when the first message is looked at."""
    return {
        intent: tuple((weight, re.compile(cue, re.MULTILINE), cue.startswith("^")) for weight, cue in _written(intent))
        for intent in _RANK
    }
