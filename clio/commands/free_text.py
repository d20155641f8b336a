"""Free text behind a command's name: a few words and options, and then text that stays as it was typed."""

import re
from collections.abc import Collection

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.commands.arguments import read
from clio.errors import UsageError

_WORD = LatePattern(r"""--[\w-]+="[^"]*"(?!\S)|"(?:[^"\\]|\\.)*"(?!\S)|'(?:[^']|'"'"')*'(?!\S)|\S+""", re.DOTALL)


class Text(Struct, frozen=True, kw_only=True):
    """What was given. has_text: whether there was a text; '""' is one, and empty.

    options: all values of an option in the order they were given, by its name with the dashes.
    """

    heads: tuple[str, ...] = ()
    text: str = ""
    has_text: bool = False
    options: dict[str, tuple[str, ...]] = {}

    def one(self, option: str) -> str | None:
        """The value of an option that has one; None without it. Raises UsageError where it was given twice."""
        values = self.options.get(option, ())
        if len(values) > 1:
            raise UsageError(f"{option} is given {len(values)} times, and can be given once")
        return values[0] if values else None


def read_text(argument: str, *, heads: int = 0, valued: Collection[str] = ()) -> Text:
    """At most `heads` words, then text. Known options stand before or behind the text, as `--name value` or `=value`.

    An option inside of the text, or an unknown one, is text; so is all that stands behind "--". Quotes around the whole
    text are taken off, so that a text that was one word of a process comes as it was; quotes inside of it stay.
    Raises UsageError for a known option without a value.
    """
    words = [(match[0], match.start(), match.end()) for match in _WORD.finditer(argument)]
    given: list[tuple[str, str]] = []
    head: list[str] = []
    ends_at = len(words)
    place = 0
    while place < len(words):
        word = words[place][0]
        if word == "--":
            place += 1
            break
        name, equals, value = word.partition("=")
        if name in valued:
            place += 1
            if not equals:
                value = words[place][0] if place < len(words) else _needs(name)
                place += 1
            given.append((name, plain(value)))
        elif len(head) < heads:
            head.append(plain(word))
            place += 1
        else:
            ends_at = _before_options(words, place, valued, given)
            break
    while len(head) < heads and place < ends_at:
        head.append(plain(words[place][0]))
        place += 1
    kept = words[place:ends_at]
    return Text(
        heads=tuple(head),
        text=plain(kept[0][0]) if len(kept) == 1 else argument[kept[0][1] : kept[-1][2]] if kept else "",
        has_text=bool(kept),
        options={name: tuple(value for key, value in given if key == name) for name, _ in given},
    )


def plain(word: str) -> str:
    """A word without the quotes around it."""
    return read(word).text if word[:1] in ("'", '"') else word


def as_number(raw: str, option: str, *, low: float, high: float) -> float:
    """A number a person wrote, "80%" being 0.8. Raises UsageError where it is none from `low` to `high`."""
    digits, percent, _ = raw.strip().partition("%")
    try:
        value = float(digits) / (100 if percent else 1)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise UsageError(f"{option} takes a number from {low:g} to {high:g}, not {raw!r}")
    return value


def count_of(raw: str, what: str) -> int:
    """A whole number of at least 1. Raises UsageError."""
    if not (raw.isascii() and raw.isdigit() and int(raw[:12]) > 0 and len(raw) <= 12):
        raise UsageError(f"{what} takes a whole number of at least 1, not {raw!r}")
    return int(raw)


def _before_options(
    words: list[tuple[str, int, int]], first: int, valued: Collection[str], given: list[tuple[str, str]]
) -> int:
    """Where the options behind the text begin; they are put into `given`."""
    end, found = len(words), list[tuple[str, str]]()
    while end > first:
        name, equals, value = words[end - 1][0].partition("=")
        if equals and name in valued:
            found.append((name, plain(value)))
            end -= 1
        elif end - 1 > first and words[end - 2][0] in valued:
            found.append((words[end - 2][0], plain(words[end - 1][0])))
            end -= 2
        elif name in valued:
            _needs(name)
        else:
            break
    given += reversed(found)
    return end


def _needs(name: str) -> str:
    raise UsageError(f"{name} needs a value behind it")
