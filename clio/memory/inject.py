"""The project knowledge as the system prompt carries it: few entries, the best first, and a word on the rest."""

import math
from collections.abc import Iterable

from clio.fragments import Fragment
from clio.memory.records import Entry, Knowledge

MAX_DISCOVERIES = 15
MAX_SOLUTIONS = 15
MAX_PATTERNS = 10
CAP_TOKENS = 2_000
CHARS_PER_TOKEN = 4
MAX_ENTRY_CHARS = 400

_HALF_LIFE_S = 90 * 86_400.0
_INTRODUCTION = "What earlier sessions learned about this project. It may be out of date: the files decide."


def knowledge_fragment(knowledge: Knowledge, source: str, cap_tokens: int = CAP_TOKENS) -> Fragment | None:
    """The block for the system prompt, at most `cap_tokens` at four characters each; None where nothing is known.

    The same knowledge gives the same bytes whenever it is asked: the prompt cache lives on that.
    """
    sections = (
        ("Discoveries", best_first(knowledge.discoveries)[:MAX_DISCOVERIES]),
        ("Solutions", best_first(knowledge.solutions)[:MAX_SOLUTIONS]),
        ("Patterns", best_first(knowledge.patterns)[:MAX_PATTERNS]),
    )
    total = len(knowledge.entries)
    chosen = _that_fit([(title, entry) for title, entries in sections for entry in entries], total, cap_tokens)
    if not chosen:
        return None
    text = _render(chosen, total)
    return Fragment(
        name="project_knowledge",
        text=text,
        source=source,
        reason=f"{len(chosen)} of {total} entries, the newest and most certain",
        cap_tokens=cap_tokens,
    )


def best_first(entries: Iterable[Entry]) -> list[Entry]:
    """The entries by confidence × 0.5^(age / 90 days), best first.

    All ages grow alike, so the order does not depend on when it is asked for.
    """
    return sorted(entries, key=_worth, reverse=True)


def _worth(entry: Entry) -> tuple[float, float, str]:
    certain = math.log2(max(entry.confidence, 0.01)) + math.log2(entry.times)
    return certain + entry.confirmed / _HALF_LIFE_S, entry.confirmed, entry.text


def _that_fit(entries: list[tuple[str, Entry]], total: int, cap_tokens: int) -> list[tuple[str, Entry]]:
    """The entries without the least worthy ones, as many as the cap asks for."""
    kept = list(entries)
    for _, worst in sorted(entries, key=lambda pair: _worth(pair[1])):
        if len(_render(kept, total)) <= cap_tokens * CHARS_PER_TOKEN:
            break
        kept = [pair for pair in kept if pair[1] is not worst]
    return kept


def _render(entries: list[tuple[str, Entry]], total: int) -> str:
    lines, title = [_INTRODUCTION], ""
    for section, entry in entries:
        if section != title:
            title = section
            lines.append(f"{title}:")
        lines.append(f"- {_shortened(entry)}")
    if total > len(entries):
        lines.append(
            f'{total - len(entries)} more are kept: memory_operations(operation="search", query=…) finds them.'
        )
    return "\n".join(lines)


def _shortened(entry: Entry) -> str:
    helped = f" [helped {entry.times} times]" if entry.times > 1 else ""
    room = MAX_ENTRY_CHARS - len(helped)
    return (entry.line if len(entry.line) <= room else entry.line[: room - 1] + "…") + helped
