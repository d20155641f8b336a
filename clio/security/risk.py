"""How dangerous something is, in three degrees, with the reason in a few words."""

from typing import Literal

from msgspec import Struct

Level = Literal["low", "medium", "high"]
_ORDER: tuple[Level, ...] = ("low", "medium", "high")


class Risk(Struct, frozen=True):
    """A degree of danger and why. "low" is given only to what provably reads and nothing else."""

    level: Level
    reason: str


def low(reason: str) -> Risk:
    """It only looks."""
    return Risk("low", reason)


def medium(reason: str) -> Risk:
    """It changes what can be brought back, or is not known."""
    return Risk("medium", reason)


def high(reason: str) -> Risk:
    """It may destroy, reach out, or escape notice."""
    return Risk("high", reason)


def worst(risks: list[Risk]) -> Risk:
    """The most dangerous of several, the first of equals; low for none."""
    return max(risks, key=lambda risk: _ORDER.index(risk.level), default=low("nothing runs"))


def exceeds(level: Level, limit: Level) -> bool:
    """Whether one degree is above another."""
    return _ORDER.index(level) > _ORDER.index(limit)


def has_option(argv: tuple[str, ...], letters: str, longs: tuple[str, ...] = ()) -> bool:
    """Whether arguments hold one of these one-letter options, alone or in a cluster, or one of these long ones.

    Long options may be shortened (`--outp`), as GNU programs and git allow; one character after `--` is enough here.
    What stands after a lone `--` is no option.
    """
    for word in argv:
        if word == "--":
            return False
        if word.startswith("--"):
            name = word[2:].split("=", 1)[0]
            if name and any(each == name or each.startswith(name) for each in longs):
                return True
        elif len(word) > 1 and word[0] == "-" and any(letter in word[1:] for letter in letters):
            return True
    return False
