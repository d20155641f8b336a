"""The name a person may have meant."""

from collections.abc import Iterable, Sequence

ELSEWHERE: dict[str, str] = {
    "add": "@path in a message",
    "bug": "clio doctor, outside",
    "compact": "/session trim",
    "config": "clio config show, outside",
    "doctor": "clio doctor, outside",
    "init": "clio init, outside",
    "mode": "/approve",
    "new": "/session new",
    "permissions": "/approve",
    "reset": "/session new",
    "resume": "/session list",
    "run": "!command",
    "status": "/session show",
    "tokens": "/context",
}
"""What other agents' commands are called here; never the name of a command that exists."""
_MANY = 4


def nearest(word: str, known: Iterable[str], prefix: str = "", otherwise: str = "") -> str:
    """The end of a sentence that helps on: "did you mean 'x'?", or the whole choice. `prefix` goes before each.

    A beginning that only a few names share gives all of them. otherwise: said in place of a long choice.
    """
    names, typed = list(known), word.lower()
    starts = [name for name in names if typed and name.startswith(typed)]
    best = starts if 0 < len(starts) <= _MANY else _close(typed, names)
    if best:
        *others, last = (repr(prefix + name) for name in best)
        return f"did you mean {', '.join(others)}{' or ' if others else ''}{last}?"
    return otherwise or "choose one of " + ", ".join(prefix + name for name in names)


def _close(word: str, names: Sequence[str]) -> list[str]:
    """The name with the fewest slips, none where there are too many. Two letters in the wrong order are one slip."""
    if not word or not names:
        return []
    slips = {name: _slips(word, name) for name in names}
    best = min(names, key=lambda name: (slips[name], name[:1] != word[:1], abs(len(name) - len(word))))
    return [best] if slips[best] <= max(1, min(len(word), len(best)) // 2) and slips[best] < len(best) else []


def _slips(one: str, other: str) -> int:
    """Letters to add, leave out, change or swap with their neighbour to make one word the other."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, there in enumerate(other, 1):
            cost = min(last[column] + 1, line[column - 1] + 1, last[column - 1] + (letter != there))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == there:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        before, last = last, line
    return last[-1]
