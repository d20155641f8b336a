"""What a parsed command line is made of, and how quotes are taken off. Pure; knows nothing of the parser."""

import re

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern


def names(text: str) -> frozenset[str]:
    """The words of a text as a set; tables read better this way."""
    return frozenset(text.split())


FROM_FILE = "\0"


class Word(Struct, frozen=True):
    """One word of a command, its quotes removed.

    dynamic: part of it is only known when it runs (`$X`, `$(…)`, `{a,b}`); `text` then keeps that part as written.
    glob: it holds an unquoted `*`, `?` or `[` and may stand for several file names.
    """

    text: str
    dynamic: bool = False
    glob: bool = False


class Redirect(Struct, frozen=True, kw_only=True):
    """One redirect to or from a file; those between descriptors are left out.

    folders: the folders the line may be in by then; see `SimpleCommand.folders`.
    """

    operator: str
    target: Word
    folders: tuple[str, ...] | None = ("",)

    @property
    def writes(self) -> bool:
        """Whether the file is created or changed."""
        return ">" in self.operator


class SimpleCommand(Struct, frozen=True, kw_only=True):
    """One program call, with what stands around it.

    words: the program and its arguments, after every wrapper (`env`, `timeout 5`, `sudo`) is taken off. Empty for a
        bare assignment.
    written: the same call with its wrappers, for rules that name them.
    env: variables set for it, name and value; the value of a dynamic one is as written.
    wrappers: programs that start it, outermost first; "sh -c" and its like are named by the program.
    upstream: programs whose output a pipe brings to it, nearest last.
    folders: the folders it may run in, as typed and relative to where the line starts; None: cannot be told.
    stdin: the text a here-document feeds it, where that is fixed; FROM_FILE for a redirected file.
    declares: the names that `export` and its like give a value; those are no longer in `words`.
    """

    words: tuple[Word, ...]
    written: tuple[Word, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    wrappers: tuple[str, ...] = ()
    upstream: tuple[str, ...] = ()
    folders: tuple[str, ...] | None = ("",)
    stdin: str | None = None
    declares: tuple[str, ...] = ()

    @property
    def argv(self) -> tuple[str, ...]:
        """The words as plain text."""
        return tuple(word.text for word in self.words)

    @property
    def program(self) -> str:
        """The program's name without its folder, lower case left alone; "" for a bare assignment."""
        return self.words[0].text.rsplit("/", 1)[-1] if self.words else ""

    @property
    def dynamic(self) -> bool:
        """Whether any of its words is only known when it runs."""
        return any(word.dynamic for word in self.words)


class CommandLine(Struct, frozen=True, kw_only=True):
    """Everything one command line would run.

    unknown: in a few words each, what could not be understood; empty when all was.
    text: the line as written.
    arguments: what shells inside the line are given as `$0`, `$1` and so on, each call's words by themselves.
    late_scripts: texts that a shell inside the line reads and that are only known when it runs.
    fork_bomb: it defines a function that starts itself without end.
    second_reading: the calls that only a second reader of the line finds, where the two do not agree.
    hidden_programs: why programs may run that the line does not name, such as those in a text a pipe brings to a shell.
    loops: each `for name in …` with the words it goes through, of the line itself and not of scripts in it.
    """

    commands: tuple[SimpleCommand, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    unknown: tuple[str, ...] = ()
    fork_bomb: bool = False
    loops: tuple[tuple[str, tuple[Word, ...]], ...] = ()
    text: str = ""
    arguments: tuple[tuple[Word, ...], ...] = ()
    late_scripts: tuple[Word, ...] = ()
    second_reading: tuple[SimpleCommand, ...] = ()
    hidden_programs: tuple[str, ...] = ()


_WORD_ESCAPE = LatePattern(r"\\(\n|.)", re.DOTALL)
_STRING_ESCAPE = LatePattern(r'\\([\n"\\$`])')
_ANSI_ESCAPE = LatePattern(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)
_PLAIN_ANSI = LatePattern(
    r"(?:[^\\]|\\(?:[abeEfnrtv\\'\"?]|x(?:[1-7][0-9a-fA-F]|0[1-9a-fA-F])|(?:1[0-7]|0[1-7])[0-7]|u(?!0000)[0-9a-fA-F]{4}))*"
)
_ANSI_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_GLOB = LatePattern(r"(?<!\\)(?:\\\\)*[*?\[]")
_BRACES = LatePattern(r"\{[^{}]*(?:,|\.\.)")
_INNERMOST = LatePattern(r"\{([^{}]*)\}")
_ROW = LatePattern(r"([-+]?\d{1,9})\.\.([-+]?\d{1,9})(?:\.\.[-+]?\d{1,9})?")
_LETTERS = 58
"""As many as there are from `A` to `z`."""
MANY_WORDS = 100_000
"""A brace expansion of so many words takes a shell's memory and time as it likes."""


def unquoted(text: str) -> str:
    """A bare word with its backslashes taken off."""
    return _WORD_ESCAPE.sub(lambda match: "" if match[1] == "\n" else match[1], text)


def in_double_quotes(text: str) -> str:
    """The inside of a double-quoted string with its escapes taken off."""
    return _STRING_ESCAPE.sub(lambda match: "" if match[1] == "\n" else match[1], text)


def strange_ansi(text: str) -> bool:
    """Whether the inside of `$'…'` has an escape that shells read otherwise, or that makes no character."""
    return _PLAIN_ANSI.fullmatch(text) is None


def in_ansi_quotes(text: str) -> str:
    """The inside of `$'…'` with its escapes taken off."""

    def one(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xuU" and len(code) > 1:
            number = int(code[1:], 16)
            return chr(number) if number < 0x110000 else ""
        if code[0] in "01234567":
            return chr(int(code, 8) & 0xFF)
        if code[0] == "c" and len(code) > 1:
            return chr(ord(code[1]) & 0x1F)
        return _ANSI_LETTERS.get(code, code if code in "\\'\"?" else match[0])

    return _ANSI_ESCAPE.sub(one, text)


def has_glob(text: str) -> bool:
    """Whether a bare word, as written, holds an unescaped glob character."""
    return _GLOB.search(text) is not None


def has_braces(text: str) -> bool:
    """Whether unquoted text may be a brace expansion, which makes several words of one."""
    return _BRACES.search(text) is not None


def count_expanded(text: str) -> int:
    """At most how many words the brace expansions of one word make: `{a,b}{1..10}` makes 20.

    Braces in quotes count as well, and nested ones more than they make.
    """
    total, left = 1, text
    while total < MANY_WORDS and (group := _INNERMOST.search(left)):
        inside = group[1]
        if ends := _ROW.fullmatch(inside):
            total *= abs(int(ends[2]) - int(ends[1])) + 1
        elif ".." in inside:
            total *= MANY_WORDS if any(map(str.isdigit, inside)) else _LETTERS
        else:
            total *= inside.count(",") + 1
        left = f"{left[: group.start()]}x{left[group.end() :]}"
    return total
