"""What a program that starts another is found to start, and the options that stand before it. Pure."""

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.security.shell.words import Word


class Peeled(Struct, frozen=True, kw_only=True):
    """What a wrapper starts.

    calls: the inner calls, each with its words. scripts: texts the wrapper hands to a shell.
    env: variables it sets. keep: the wrapper must be judged as well, for what it does itself.
    arguments: what the scripts find as `$0`, `$1` and so on.
    unknown: why the inner call cannot be told; "" when it can. folder_unknown: it changes the folder.
    withholds: it keeps variables of the environment from what it starts.
    """

    calls: tuple[tuple[Word, ...], ...] = ()
    scripts: tuple[Word, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    keep: bool = False
    unknown: str = ""
    arguments: tuple[Word, ...] = ()
    folder_unknown: bool = False
    withholds: bool = False


Words = tuple[Word, ...]
WITHHOLDS = "without the environment"
"""Stands among the wrappers of a call from which a wrapper keeps variables; no program has this name."""


class Options(Struct, frozen=True):
    """The options a wrapper takes before its command: bare ones, and those that take a value."""

    flags: frozenset[str]
    valued: frozenset[str]


def options(flags: str = "", valued: str = "") -> Options:
    """The options of a wrapper, each kind as words in a row."""
    return Options(frozenset(flags.split()), frozenset(valued.split()))


def skip(words: Words, known: Options, start: int = 1) -> int:
    """The place of the first word after the options; -1 where an option is dynamic or not known."""
    place = start
    while place < len(words):
        word = words[place]
        if word.dynamic and (word.text.startswith("-") or not word.text):
            return -1
        text = word.text
        if text == "--":
            return place + 1
        if not text.startswith("-") or text == "-":
            return place
        name = text.split("=", 1)[0]
        if name in known.valued:
            if any(splits(each) for each in words[place : place + (1 if "=" in text else 2)]):
                return -1
            place += 1 if "=" in text else 2
        elif text in known.flags or _glued(text, known) or (name.startswith("--") and name in known.flags):
            place += 1
        else:
            return -1
    return place


_ONE_FILE = LatePattern(r"<\([^()]*\)")
"""A process substitution: the name of one file."""


def splits(word: Word) -> bool:
    """Whether a word may turn into several, the further ones a program and its arguments."""
    return (word.dynamic or word.glob) and _ONE_FILE.fullmatch(word.text) is None


def _glued(text: str, known: Options) -> bool:
    """Whether an option is a known one with its value attached, or several one-letter flags in one word."""
    if text.startswith("--"):
        return False
    letters = text[1:]
    for place, letter in enumerate(letters):
        if f"-{letter}" in known.valued:
            return place + 1 < len(letters)
        if f"-{letter}" not in known.flags:
            return False
    return True


def unclear(words: Words) -> Peeled:
    """A wrapper that starts something, but nobody can say what."""
    return Peeled(keep=True, unknown=f"what {words[0].text!r} starts cannot be told")


def value(words: Words, place: int, names: tuple[str, ...]) -> str:
    """The value of an option that stands at a place: glued, after `=`, or the next word."""
    text = words[place].text
    for name in names:
        if text == name:
            return words[place + 1].text if place + 1 < len(words) else ""
        if text.startswith(name):
            return text[len(name) :].removeprefix("=")
    return ""


def joined(words: Words) -> Word:
    """The words as one text, as `eval` and `ssh` put them together."""
    return Word(" ".join(word.text for word in words), dynamic=any(map(splits, words)))
