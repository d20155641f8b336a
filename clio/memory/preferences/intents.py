"""Classify what each part of a user's message does: an intent such as a lasting wish, a limit or a task.

A linear classifier (multinomial logistic regression) over hashed word and character n-grams, for seven languages
together. Its weights are in `intents.bin`; `bench/intents.py` trains and measures it with the labelled messages in
`bench/data/intents.jsonl`.

A sentence is divided where its parts do different things: "fix the parser, and btw long answers tire me".
"""

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct

from clio.text.linear_model import LinearModel, hash_features

Intent = Literal["wish", "dislike", "limit", "once", "lifted", "remember", "changed", "other"]
"""What a part of a message does.

- wish, dislike: what the user likes or dislikes about how clio works or answers, in this and later sessions.
- limit: a lasting prohibition or condition of what clio may do.
- once: a wish or limit of the current answer, task or session.
- lifted: permits again what was limited, or takes a wish back.
- remember: asks to remember a fact.
- changed: says that a fact has changed or was wrong.
- other: a task, question, fact, remark or quotation.
"""
INTENTS: tuple[Intent, ...] = get_args(Intent)
LASTING: tuple[Intent, ...] = ("wish", "dislike", "limit")

MODEL = LinearModel(Path(__file__).with_name("intents.bin"), len(INTENTS))

CODE = re.compile(
    r"`[^`]*`|[¤]+|https?://\S+|(?<!\w)[\w.~-]*/[\w./*~-]+|(?<!\w)\.?[\w-]+\.(?:[a-z]{1,4}|lock|example|local)(?!\w)"
)
_DIGITS = re.compile(r"\d+")
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+(?:'[a-z]+)?|[^\w\s]")
CUT = re.compile(
    r"\s*[,;:()–—。、，；：]+\s*|\s+-+\s+"
    r"|\s+(?=(?:and|but|so|because|cause|since|und|aber|denn|weil|et|mais|car|donc|y|pero|porque|así que|e|mas|então)"
    r"\s)",
    re.IGNORECASE,
)
"""What may separate two parts of a sentence. Words that join them belong to the second one."""
_MAX_CLAUSES = 10
_MAX_CHARS = 300
"""A longer part is read up to this length."""


class MessagePart(Struct, frozen=True):
    """One part of a sentence: from `start` to `end`, its most probable intent, and the probability of each."""

    start: int
    end: int
    intent: Intent
    probabilities: tuple[float, ...]

    @property
    def lasting(self) -> float:
        """The probability that the part is a lasting wish, dislike or limit."""
        return sum(self.probabilities[INTENTS.index(one)] for one in LASTING)


def list_features(text: str) -> list[int]:
    """Return the numbers of the features of a text: of its n-grams.

    These are words, pairs of words, and three to five characters of a word. A Chinese or Japanese character is a word.
    Code, paths and numbers are placeholders.
    """
    text = _DIGITS.sub("0", CODE.sub("§", text.casefold().replace("’", "'")))[:_MAX_CHARS]
    tokens = ["^", *_TOKEN.findall(text), "$"]
    features = {f"1{token}" for token in tokens}
    features.update(f"2{one} {two}" for one, two in pairwise(tokens))
    features.update(f"3{one} {two} {three}" for one, two, three in zip(tokens, tokens[1:], tokens[2:], strict=False))
    features.update(f"s{one} {two}" for one, two in zip(tokens, tokens[2:], strict=False))
    for token in set(tokens):
        if len(token) > 3:
            marked = f"<{token}>"
            features.update(f"c{marked[at : at + size]}" for size in (3, 4, 5) for at in range(len(marked) - size + 1))
    return hash_features(features)


def classify(text: str) -> tuple[float, ...]:
    """Return the probability of each of `INTENTS` for one part of a message."""
    return MODEL.list_probabilities(list_features(text))


@lru_cache(maxsize=128)
def find_parts(sentence: str, mark: str = "") -> tuple[MessagePart, ...]:
    """Return the parts of a sentence in order, each with its intent; all of it if it has only one. Cached.

    The division is the one with the greatest product of the probabilities of its parts' intents.

    sentence: masked as by `read_own_sentences`. mark: the mark at its end.
    """
    cuts = [cut.span() for cut in CUT.finditer(sentence) if cut.start() > 0 and cut.end() < len(sentence)]
    cuts = cuts[: _MAX_CLAUSES - 1]
    begins, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(sentence)]
    best: list[tuple[float, Sequence[MessagePart]]] = [(0.0, ())]
    for stop in range(1, len(begins) + 1):
        options: list[tuple[float, Sequence[MessagePart]]] = []
        for first in range(stop):
            start, end = begins[first], ends[stop - 1]
            probabilities = classify(sentence[start:end] + (mark if stop == len(begins) else ""))
            top = max(probabilities)
            part = MessagePart(start, end, INTENTS[probabilities.index(top)], probabilities)
            options.append((best[first][0] + math.log(top), (*best[first][1], part)))
        best.append(max(options, key=lambda one: one[0]))
    return tuple(best[-1][1])
