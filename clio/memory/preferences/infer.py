"""Which kind of work a turn is about, told from its words by rule."""

import re
from collections.abc import Mapping

from clio.memory.preferences.scenarios import ScenarioBook

# What is asked for decides, and it usually stands first; the things it is done to say less.
_SIGNS: Mapping[str, tuple[tuple[str, float], ...]] = {
    "git": (
        (r"\b(?:commit|rebase|cherry-?pick|squash|stash|git|open a pr|merge (?:conflict|branch)|push)\b", 2.0),
        (r"\b(?:branch|changelog|history|diff)\b", 0.5),
    ),
    "review": ((r"\b(?:review|look over|critique|audit|nitpick|what do you think of|code smells?)\b", 2.5),),
    "debugging": (
        (r"\b(?:debug|bug|crash(?:es|ed)?|traceback|stack ?trace|exception|segfault|hangs?|leaks?)\b", 2.0),
        (r"\b(?:fails?|failing|failed|broken|error|doesn't work|does not work|not working|wrong)\b", 1.2),
        (r"^why (?:does|do|is|did|are)\b", 1.0),
    ),
    "testing": (
        (r"\b(?:(?:write|add|extend|run|more|unit|integration) tests?|test coverage|pytest|fixtures?)\b", 2.0),
        (r"\b(?:tests?|coverage|mocks?|flaky)\b", 0.8),
    ),
    "writing": (
        (r"\b(?:readme|docs|documentation|docstrings?|tutorial|user guide|document (?:the|this|how))\b", 2.0),
        (r"\b(?:wording|paragraph|typo|prose|markdown)\b", 1.0),
    ),
    "coding": (
        (r"\b(?:implement|refactor|rewrite|rename|extract|add (?:a|an|the|support))\b", 1.5),
        (r"\bwrite (?:a|an|the) (?:function|class|script|module|parser|command)\b", 1.5),
        (r"\b(?:function|class|method|module|endpoint|api|feature|code|type hints?)\b", 0.6),
    ),
}
_RULES = {name: [(re.compile(pattern), weight) for pattern, weight in signs] for name, signs in _SIGNS.items()}
_LEAST = 1.0


def infer(text: str, book: ScenarioBook) -> str | None:
    """The scenario of a person's words; None where nothing says which. Only the first 2,000 characters are read."""
    said = " ".join(text[:2_000].replace("’", "'").casefold().split())
    scores = {name: sum(weight for rule, weight in rules if rule.search(said)) for name, rules in _RULES.items()}
    for name in book.names:
        if name not in scores:
            hits = sum(1 for word in book.keywords(name) if re.search(rf"\b{re.escape(word.casefold())}\b", said))
            scores[name] = 0.6 * hits
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] >= _LEAST else None
