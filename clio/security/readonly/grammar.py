"""Parse a program's arguments by an allow-list grammar: every option and operand must be listed. Pure."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal

from msgspec import Struct

from clio.security.shell.command_line import Word

Order = Literal["permute", "stop", "first"]
"""Where options may be. "permute": anywhere (git, GNU getopt). "stop": only before the first operand; all later words
are operands. "first": like "stop", but a later word that looks like an option is refused, for programs that write to a
second operand, whose implementations differ in the order they read words.
"""

MAX_WORDS = 2_000
"""Calls with more words are not parsed."""


class Value(Struct, frozen=True):
    """The value of an option.

    Attributes:
        kind: "text" is never opened as a file; "path" is a file or directory that is read.
        choices: the only values accepted; empty for any.
        optional: the value must be attached (`--color=auto`) or absent.
    """

    kind: Literal["text", "path", "number"] = "text"
    choices: frozenset[str] = frozenset()
    optional: bool = False


class Operand(Struct, frozen=True):
    """One operand of a call. many: any number of them, including none. optional: at most one."""

    kind: Literal["text", "path", "number"]
    choices: frozenset[str] = frozenset()
    optional: bool = False
    many: bool = False


class ParsedCall(Struct, frozen=True):
    """A call parsed by a grammar.

    Attributes:
        options: each option by its listed name, with its value ("" if it has none), in order.
        operands: the words that are not options.
        paths: the words, or values of options, that the program opens.
    """

    options: tuple[tuple[str, str], ...]
    operands: tuple[Word, ...]
    paths: tuple[Word, ...]

    def has_option(self, *names: str) -> bool:
        """Whether one of these options is given."""
        return any(name in names for name, _ in self.options)

    def values(self, *names: str) -> tuple[str, ...]:
        """Return the values of these options, in order."""
        return tuple(value for name, value in self.options if name in names)


class Grammar(Struct, frozen=True):
    """The options and operands of one program or sub-command that are harmless in every combination.

    Attributes:
        options: one-letter or long options, dashes included, with their value; None for a flag.
        number: whether `-5` is an option.
        long_single_dash: several letters after one dash are one option (find, java, terraform), not a cluster.
    """

    options: Mapping[str, Value | None]
    operands: tuple[Operand, ...]
    order: Order = "permute"
    number: bool = False
    long_single_dash: bool = False


_SPEC_VALUE = re.compile(r"(?P<kind>text|path|number)?(?:\((?P<choices>[^)]*)\))?\Z")
_SPEC_OPTION = re.compile(r"(?P<name>--?[^\s=?]*|-\?)(?P<sign>[=?])?(?P<value>.*)\Z", re.S)
_SPEC_OPERAND = re.compile(r"(?P<kind>text|path|number)(?:\((?P<choices>[^)]*)\))?(?P<count>[?*+]?)\Z")
_NUMBER = re.compile(r"[-+]?\d[\d.,]*[a-zA-Z%]{0,2}\Z", re.ASCII)
_OPTION_START = re.compile(r"--?[a-zA-Z]")
_PATTERN_OPTIONS = frozenset({"-e", "--regexp"})
"""Options whose value is a pattern and may begin with a dash. For others, versions of a program may differ."""
_NUMBERED = re.compile(r"-\d+\Z", re.ASCII)


@cache
def read_grammar(spec: str, *, order: Order = "permute", long_single_dash: bool = False) -> Grammar:
    """Parse a grammar from its text form `options ; operands`, words separated by blanks.

    Options: `-n` or `--name` is a flag, `-n=` takes any text, `-n=number` a number, `-f=path` a file that is read,
    `-t=(a|b)` one of these; with `?` instead of `=` the value is optional and must be attached. `-#` allows `-5`.
    Operands: `text`, `path`, `number` or `text(a|b)`, with `?` (optional), `*` (any number) or `+` (at least one).

    Raises:
        ValueError: if a word is neither.
    """
    head, _, tail = spec.partition(";")
    options: dict[str, Value | None] = {}
    for word in head.split():
        match = _SPEC_OPTION.match(word)
        value = _SPEC_VALUE.match(match["value"]) if match else None
        if match is None or value is None or len(match["name"]) < 2:
            raise ValueError(f"not an option of a grammar: {word!r}")
        choices = frozenset(filter(None, (value["choices"] or "").split("|")))
        kind = value["kind"] or "text"
        optional = match["sign"] == "?"
        options[match["name"]] = Value(kind=kind, choices=choices, optional=optional) if match["sign"] else None  # pyright: ignore[reportArgumentType]
    number = options.pop("-#", None) is not None or "-#" in head.split()
    operands: list[Operand] = []
    for word in tail.split():
        match = _SPEC_OPERAND.match(word)
        if match is None:
            raise ValueError(f"not an operand of a grammar: {word!r}")
        choices, kind, count = (
            frozenset(filter(None, (match["choices"] or "").split("|"))),
            match["kind"],
            match["count"],
        )
        if count == "+":
            operands.append(Operand(kind=kind, choices=choices))  # pyright: ignore[reportArgumentType]
        operands.append(Operand(kind=kind, choices=choices, optional=count == "?", many=count in ("*", "+")))  # pyright: ignore[reportArgumentType]
    return Grammar(
        options=options, operands=tuple(operands), order=order, number=number, long_single_dash=long_single_dash
    )


class UnknownWord(Exception):
    """A word of a call is not in its grammar. The message names it for the approval dialog."""


def parse_call(grammar: Grammar, words: tuple[Word, ...]) -> ParsedCall:
    """Parse the arguments of a call, without the program's name.

    A word computed at run time is never accepted. An unquoted pattern such as `*.py` becomes one or more files, so it
    is accepted only as an operand, and only where any number of paths is allowed.

    Raises:
        UnknownWord: if a word is not in the grammar.
    """
    if len(words) > MAX_WORDS:
        raise UnknownWord("has too many arguments to check")
    options: list[tuple[str, str]] = []
    operands: list[Word] = []
    paths: list[Word] = []
    place, only_operands = 0, False
    while place < len(words):
        word = words[place]
        place += 1
        if word.dynamic:
            raise UnknownWord("has arguments computed at run time")
        text = word.text
        if only_operands or len(text) < 2 or not text.startswith("-"):
            operands.append(word)
            only_operands = only_operands or grammar.order == "stop"
            continue
        if operands and grammar.order == "first":
            raise UnknownWord(f"the option {text!r} comes after a file name")
        if text == "--":
            only_operands = True
            continue
        if word.glob:
            options.append(_match_pattern_option(grammar, text))
            continue
        if grammar.number and _NUMBERED.match(text):
            options.append(("-#", text[1:]))
            continue
        for name, value, attached in _split_option(grammar, text):
            listed = grammar.options[name]
            if listed is None:
                options.append((name, ""))
                continue
            given = value
            if not attached and not listed.optional:
                if place == len(words) or words[place].dynamic or words[place].glob:
                    raise UnknownWord(f"the value of {name} is missing or computed at run time")
                given = words[place].text
                if name not in _PATTERN_OPTIONS and _OPTION_START.match(given):
                    raise UnknownWord(f"the value {given!r} of {name} looks like an option")
                place += 1
            if attached or not listed.optional:
                _check_value(name, given, listed.kind, listed.choices)
                if listed.kind == "path":
                    paths.append(Word(given))
            options.append((name, given))
    paths += _match_operands(grammar.operands, operands)
    return ParsedCall(options=tuple(options), operands=tuple(operands), paths=tuple(paths))


def _match_pattern_option(grammar: Grammar, text: str) -> tuple[str, str]:
    """Parse an unquoted `--include=*.py`: every name it matches begins with that option, and becomes its text value.

    Raises:
        UnknownWord: if a match may be parsed in another way.
    """
    name, sign, value = text.partition("=")
    listed = grammar.options.get(name)
    if not (sign and name.startswith("--") and listed) or listed.kind != "text" or listed.choices:
        raise UnknownWord(f"the option {text!r} contains an unquoted pattern")
    return name, value


def _split_option(grammar: Grammar, text: str) -> list[tuple[str, str, bool]]:
    """Return the listed options in one word, each with its attached value and whether it has one."""
    name, sign, value = text.partition("=")
    if text.startswith("--") or grammar.long_single_dash:
        if name not in grammar.options:
            raise UnknownWord(f"the option {name!r} is not known to be harmless")
        if sign and grammar.options[name] is None:
            raise UnknownWord(f"the option {name!r} takes no value")
        return [(name, value, bool(sign))]
    found: list[tuple[str, str, bool]] = []
    for at, letter in enumerate(text[1:], start=1):
        option = f"-{letter}"
        if option not in grammar.options:
            raise UnknownWord(f"the option {option!r} is not known to be harmless")
        rest = text[at + 1 :]
        if grammar.options[option] is not None:
            found.append((option, rest, bool(rest)))
            return found
        found.append((option, "", False))
    return found


def _check_value(name: str, text: str, kind: str, choices: frozenset[str]) -> None:
    if choices and text not in choices:
        raise UnknownWord(f"{name} {text!r} is not known to be harmless" if name else f"{text!r} is not known")
    if kind == "number" and not _NUMBER.match(text):
        raise UnknownWord(f"{text!r} is not a number" + (f", as {name} wants" if name else ""))


def _match_operands(listed: tuple[Operand, ...], words: list[Word]) -> list[Word]:
    """Return the operands that are paths. Raises UnknownWord for too many operands or one of the wrong kind."""
    paths: list[Word] = []
    needed = sum(not operand.optional and not operand.many for operand in listed)
    many = any(operand.many for operand in listed)
    if len(words) < needed:
        raise UnknownWord("an argument is missing")
    if any(word.glob for word in words):
        # Each pattern expands to one or more words, so every later word may be at any position.
        while listed and words and not (words[0].glob or listed[0].optional or listed[0].many):
            _check_value("", words[0].text, listed[0].kind, listed[0].choices)
            paths += words[:1] if listed[0].kind == "path" else []
            listed, words = listed[1:], words[1:]
        if not many or any(operand.choices or operand.kind == "number" for operand in listed):
            raise UnknownWord("an unquoted pattern may expand to several arguments")
        return [*paths, *words]
    spare = len(words) - needed
    if spare > sum(operand.optional for operand in listed) and not many:
        raise UnknownWord("has more arguments than are known to be harmless")
    place = 0
    for operand in listed:
        take = 1
        if operand.optional:
            take = min(spare, 1)
            spare -= take
        elif operand.many:
            take, spare = spare, 0
        for word in words[place : place + take]:
            _check_value("", word.text, operand.kind, operand.choices)
            if operand.kind == "path":
                paths.append(word)
        place += take
    return paths


class Judgement(Struct, frozen=True):
    """What a read-only call reads.

    Attributes:
        paths: the words it opens, relative to its directory.
        follows_links: it walks directories and follows the links in them.
        lists_arguments: xargs passes it file names from another command; all must be plain names inside the project.
        network: it queries a local service.
        git: it reads a repository, whose configuration may name programs.
        directory: the directory of that repository (`git -C`), relative to its own.
        conditions: what must be true of the project's files, see `developer_tools.explain_project_influence`.
    """

    paths: tuple[Word, ...] = ()
    follows_links: bool = False
    lists_arguments: bool = False
    network: bool = False
    git: bool = False
    directory: str = ""
    conditions: tuple[str, ...] = ()


Judge = Callable[[tuple[Word, ...]], Judgement]
"""Judges the words of a call, program name first. Raises UnknownWord if the call is not known to be read-only."""


def make_judge(
    spec: str,
    *,
    order: Order = "permute",
    long_single_dash: bool = False,
    check: Callable[[ParsedCall], None] | None = None,
    follows: tuple[str, ...] = (),
) -> Judge:
    """Create the judge of a program whose whole grammar is one spec.

    Args:
        check: raises UnknownWord for parsed calls that the grammar cannot judge alone (scripts, dates).
        follows: options that make the program follow links while it walks directories.
    """

    def judge(words: tuple[Word, ...]) -> Judgement:
        """Judge a call by the grammar."""
        call = parse_call(read_grammar(spec, order=order, long_single_dash=long_single_dash), words[1:])
        if check is not None:
            check(call)
        return Judgement(paths=call.paths, follows_links=call.has_option(*follows))

    return judge
