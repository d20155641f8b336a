"""How many slips of a finger make one word another, and whether that is few enough to have been meant. Pure."""

from collections.abc import Iterable

_LONGEST = 60  # what is longer is a sentence, and would take long


def nearest_name(word: str, names: Iterable[str]) -> str | None:
    """The name with the fewest slips; None where no name is near. Of several the first with the same first letter.

    Near are one slip, two in words of five letters and more, and a third of the letters in longer ones.
    """
    known = [name for name in names if abs(len(name) - len(word)) <= allowed(word, name)]
    if not word or not known or len(word) > _LONGEST:
        return None
    counted = {name: slips(word, name) for name in known}
    best = min(known, key=lambda name: (counted[name], name[:1] != word[:1], abs(len(name) - len(word))))
    return best if counted[best] <= allowed(word, best) else None


def allowed(one: str, other: str) -> int:
    """How many slips may lie between two words for one to have been meant by the other; of one letter, none."""
    letters = min(len(one), len(other))
    return 0 if letters < 2 else 1 if letters < 5 else max(2, letters // 3)


def slips(one: str, other: str) -> int:
    """Letters to add, leave out, change or swap with their neighbour to make one word the other.

    Source: the optimal string alignment distance (Damerau 1964).
    """
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
