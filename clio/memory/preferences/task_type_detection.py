"""Detects the task type of a request by rule, without a model.

Each task type has cues, regular expressions with a weight; a keyword that only `scenarios.yaml` names weighs 2. The
task type with the highest sum wins where the sum is high enough and unique. Pasted text counts only for its form: a
traceback means debugging, whatever words are in it.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import PurePath

from clio.memory.preferences.task_types import BUILT_IN, ScenarioBook
from clio.memory.preferences.rule_files import english_rules
from clio.text.lazy_regex import LazyRegex
from clio.text.vocabulary import stem_word, tokenize

TRACE = (
    r"Traceback \(most recent|^\s+at \S+ ?\(|^\s*File \".+\", line \d|panicked at|^E  +\w+(?:Error|Exception)|segfault"
    r"|^\w*(?:Error|Exception): |^\s*(?:FAILED|ERROR) \S+::"
)
"""What a pasted failure looks like, line by line."""


@cache
def cues() -> dict[str, tuple[tuple[float, LazyRegex], ...]]:
    """Return weights and cues by task type."""
    return english_rules("task_types").cue_patterns()


@cache
def trace() -> re.Pattern[str]:
    """The pattern of a pasted failure."""
    return re.compile(TRACE, re.MULTILINE)


MAX_CHARS = 4_000
"""Of a request, so that a pasted file costs nothing; what is asked stands before it, or in its last lines."""
_ENOUGH = 2.0
_OPENING_CHARS, _OPENING_BONUS = 40, 1.5
_FILES_CAP = 1.0

_FENCED = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.DOTALL | re.MULTILINE)
_SUFFIXES = {
    "coding": frozenset("py js ts tsx jsx go rs java kt c h cc cpp hpp rb php swift cs sql sh pm pl".split()),
    "writing": frozenset("md rst adoc txt tex".split()),
}


def infer(text: str, book: ScenarioBook, recent_files: Sequence[str] = ()) -> str | None:
    """The scenario of a request, by its name in the book; None where its words say nothing clear.

    recent_files: paths the last steps read or changed; they break a tie and never decide alone.
    """
    points = _points(text, book)
    for name, more in _of_files(recent_files).items():
        if name in points:
            points[name] += more
    ranked = sorted(points.items(), key=lambda pair: -pair[1])
    if not ranked or ranked[0][1] < _ENOUGH or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def _points(text: str, book: ScenarioBook) -> dict[str, float]:
    pasted = len(text) > MAX_CHARS
    text = f"{text[: MAX_CHARS // 2]}\n{text[-MAX_CHARS // 2 :]}" if pasted else text
    points: dict[str, float] = {}
    if trace().search(text):
        points["debugging"] = 4.0
    asked = _FENCED.sub(" ", text).strip()
    for name, known in cues().items():
        found = [(weight, match.start()) for weight, cue in known if (match := cue.search(asked))]
        if found:
            best, place = max(found, key=lambda pair: (pair[0], -pair[1]))
            rest = sum(weight for weight, _ in found) - best
            opens = _OPENING_BONUS if place < _OPENING_CHARS else 0.0
            points[name] = points.get(name, 0.0) + best + opens + rest / 4
    said = {stem_word(word) for word in tokenize(asked)}
    for name in book.names:
        built_in = BUILT_IN.get(name)
        own = set(book.keywords(name)) - set(built_in.keywords if built_in else ())
        # The words of a built-in kind are for matching preferences; its cues above say more about a request.
        hits = len(said & {stem_word(word.casefold()) for word in own}) + (built_in is None and stem_word(name) in said)
        if hits:
            points[name] = points.get(name, 0.0) + 2.0 * hits
    return points


def _of_files(paths: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for path in paths[-10:]:
        pure = PurePath(path)
        suffix = pure.suffix.lstrip(".").lower()
        is_test = "test" in pure.name.lower() or any(part.lower() in ("test", "tests") for part in pure.parts[:-1])
        kinds = [name for name, suffixes in _SUFFIXES.items() if suffix in suffixes]
        for name in ["testing"] if is_test and kinds == ["coding"] else kinds:
            found[name] = min(found.get(name, 0.0) + 0.25, _FILES_CAP)
    return found
