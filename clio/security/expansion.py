"""What the words of a line stand for, as far as the line itself tells: braces, variables, loops, and piped names."""

import os
import posixpath
import re
import shlex
from collections.abc import Iterator
from itertools import islice

from clio.algorithms.late_pattern import LatePattern
from clio.security.shell.moves import MOVES
from clio.security.shell.parameter_forms import apply_form
from clio.security.shell.syntax import parse
from clio.security.shell.words import FROM_FILE, CommandLine, SimpleCommand, Word, has_glob, in_ansi_quotes
from clio.security.targets import is_narrowed_find, names_many_processes
from clio.security.whole_paths import WholePaths

_MAX_VALUES = 64
_MAX_DEPTH = 4
_LOOPS = LatePattern(r"\b(?:for|select)\s+(\w+)\s+in\s+([^;\n]*)")
_ARRAYS = LatePattern(r"\b(\w+)\+?=\(([^()]*)\)")
_HERE = LatePattern(r"\b(?:read|mapfile|readarray)\s+(?:-\w+\s+)*(\w+)\s*<<<\s*(\"[^\"]*\"|'[^']*'|[^\s;&|]+)")
_READ = LatePattern(r"\b(?:read|mapfile|readarray)\b([^\n;&|<]*)")
_FUNCTIONS = LatePattern(r"(?:\bfunction\s+([\w-]+)|\b([\w-]+)\s*\(\s*\))")
_VARIABLE = LatePattern(r"\$(?:\{(\w+|[@*])(?:\[[@*\d]+\])?(?:(:?[-=])([^{}]*)|([%#/:^,+?][^{}]*))?\}|(\w+|[@*]))")
_BRACES = LatePattern(r"\{([^{}]*(?:,|\.\.)[^{}]*)\}")
_OUTPUT = LatePattern(r"\$\(([^()]*(?:\([^()]*\)[^()]*)*)\)|`([^`]*)`")
_APPENDS = frozenset({"xargs", "find", "fd", "fdfind", "parallel"})
"""Wrappers that give a text, run by a shell, arguments the line does not say."""
_FILTERS = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "fzf", "peco"})
_NAMES = frozenset(
    {"dirname", "basename", "pwd", "cat"}
    | {"ls", "find", "echo", "printf", "fd", "realpath", "readlink", "compgen", "stat", "eza", "exa", "locate"}
)


class Expansion:
    """The values that words of one line may take.

    folders: every folder the line enters by name, for commands whose own cannot be told; the one it starts in first.
    """

    def __init__(self, line: CommandLine, text: str, start: str, home: str) -> None:
        self._line = line
        self._text = text
        self._start = start
        self._home = home
        self._variables: dict[str, list[str]] = {}
        self._links: dict[str, str] = {}
        self._collect()
        entered = [
            value.text
            for command in line.commands
            if command.program in MOVES
            for word in command.words[1:]
            for value in self.values(word)
            if not value.dynamic and not value.text.startswith("-")
        ]
        self.folders = tuple(dict.fromkeys(("", *entered)))

    def values(self, word: Word) -> tuple[Word, ...]:
        """What a word may become, each plain; itself where the line does not tell; nothing where it is empty."""
        if not word.dynamic:
            first, slash, rest = word.text.partition("/")
            linked = self._links.get(first) if slash else None
            return (word,) if linked is None else (Word(f"{linked.rstrip('/')}/{rest}", glob=word.glob),)
        found = list[Word]()
        for text in islice(self._texts(word.text, 0), _MAX_VALUES):
            parts = text.split() if word.glob or " " in text else [text]
            for part in parts:
                opened = "$" in part or "`" in part
                found.append(Word(part, dynamic=opened, glob=not opened and has_glob(part)))
        return tuple(dict.fromkeys(found))

    def fed_with_whole(self, command: SimpleCommand, whole: WholePaths) -> str:
        """A whole folder whose contents a pipe or a loop hands to a command; "" for none."""
        if not self._is_fed(command):
            return ""
        if command.stdin and command.stdin != FROM_FILE:
            return next((text for text in command.stdin.split() if whole.is_whole(Word(text))), "")
        sources = self._sources(command)
        if any(each.program in _FILTERS and _narrows(each) for each in sources):
            return ""
        texts = (text for each in sources for text in self._printed(each, whole))
        return next((text for text in texts if whole.is_whole(Word(text))), "")

    def texts(self, word: Word) -> tuple[str, ...]:
        """A text that a shell will read, in every way its open parts may be filled."""
        return tuple(islice(self._texts(word.text, 0), _MAX_VALUES))

    def is_read(self, name: str) -> bool:
        """Whether the line reads a value into a variable, or declares it without one."""
        return name in self._read_names()

    def given(self, name: str) -> tuple[str, ...]:
        """The values the line gives a variable."""
        return tuple(self._variables.get(name, ()))

    def follow_link(self, folder: str) -> str:
        """A folder, where it is named by a link that the line makes: where that leads."""
        first, slash, rest = folder.removeprefix("./").partition("/")
        linked = self._links.get(first)
        return folder if linked is None else f"{linked.rstrip('/')}/{rest}" if slash else linked

    def fed_with_processes(self, command: SimpleCommand) -> bool:
        """Whether the numbers of all processes are handed to a command."""
        for word in command.words[1:]:
            if not word.dynamic:
                continue
            if any(value.text.startswith("/proc/") for value in self.values(word)):
                return True
            for name in names_in(word.text):
                if any("/proc/" in value for value in self._variables.get(name, ())):
                    return True
            inner = [text for text in (word.text, *self._raw(word)) for text in outputs_in(text)]
            if any(_lists_processes(parse(text).commands) for text in inner):
                return True
        return self._is_fed(command) and _lists_processes(self._sources(command))

    def _collect(self) -> None:
        functions = {name for pair in _FUNCTIONS.findall(self._text) for name in pair if name}
        for command in self._line.commands:
            if command.program == "ln" and len(command.words) > 3 and "s" in command.argv[1]:
                self._links[command.argv[-1]] = command.argv[-2]
            for name, value in command.env:
                self._add(name, [value])
            arguments = [word.text for word in command.words[1:]]
            if command.program == "set" and "--" in arguments:
                arguments = arguments[arguments.index("--") + 1 :]
            elif command.program not in functions:
                continue
            self._add("@", arguments)
            self._add("*", arguments)
            for number, argument in enumerate(arguments, 1):
                self._add(str(number), [argument])
        for words in self._line.arguments:
            given = [word.text for word in words]
            self._add("@", given[1:])
            self._add("*", given[1:])
            for number, argument in enumerate(given):
                self._add(str(number), [argument])
        for pattern in (_LOOPS, _ARRAYS, _HERE):
            for name, items in pattern.findall(self._text):
                self._add(name, _split(items))

    def _add(self, name: str, values: list[str]) -> None:
        known = self._variables.setdefault(name, [])
        known += [value for value in values if value not in known][: _MAX_VALUES - len(known)]

    def _raw(self, word: Word) -> Iterator[str]:
        for name in names_in(word.text):
            yield from self._variables.get(name, ())

    def _texts(self, text: str, depth: int) -> Iterator[str]:
        """The text with its first open part replaced in every way, and so on."""
        if depth > _MAX_DEPTH:
            yield text
            return
        if match := _OUTPUT.search(text):
            values = list(self._output(match[1] or match[2] or ""))
            if values:
                for value in values:
                    yield from self._texts(text[: match.start()] + value + text[match.end() :], depth + 1)
                return
            yield text
            return
        if match := _VARIABLE.search(text):
            values = self._value_of(match[1] or match[5], match[3])
            form = match[4] or ""
            if values is not None and form:
                values = list(dict.fromkeys(apply_form(value, form) for value in values))
            if (
                values is None
                and match.start() == 0
                and text[match.end() :][:1] == "/"
                and not form.startswith((":?", "?"))
                and self._is_unset(match[1] or match[5])
            ):
                values = [""]
            if values is None:
                yield text
                return
            for value in values:
                yield from self._texts(text[: match.start()] + value + text[match.end() :], depth + 1)
            return
        if (match := _BRACES.search(text)) and (choices := _choices(match[1])):
            for choice in choices:
                yield from self._texts(text[: match.start()] + choice + text[match.end() :], depth)
            return
        yield text

    def _value_of(self, name: str, default: str | None) -> list[str] | None:
        """What a variable may hold; None where the line does not tell."""
        found = list(self._variables.get(name, ()))
        if not found and name in ("HOME", "PWD"):
            found = [self._home if name == "HOME" else self._start]
        elif not found and name in os.environ and name not in self._read_names():
            found = [os.environ[name]]
        if default is not None and (default or not found):
            found.append(default)
        return found or None

    def _is_unset(self, name: str) -> bool:
        """Whether a variable is set nowhere, so that it is empty."""
        if name.isdecimal():  # a line has no arguments of its own, nor has a function that is called without any
            fed = any(not _APPENDS.isdisjoint(each.wrappers) for each in self._line.commands)
            return name != "0" and not fed and not any(each.program == "set" for each in self._line.commands)
        return name[:1].isalpha() and name not in self._read_names() and name not in os.environ and name != "INPUT"

    def _read_names(self) -> set[str]:
        """Names that the line reads values into, or declares without one."""
        found = {name for words in _READ.findall(self._text) for name in words.split()}
        return found | set(
            re.findall(r"(?:-v|local|declare|export|typeset|getopts\s+\S+|for|select)\s+(\w+)", self._text)
        )

    def _output(self, text: str) -> Iterator[str]:
        """What a command substitution may say, where that is plain."""
        commands = parse(text).commands
        if any(each.program in _FILTERS and _narrows(each) for each in commands):
            return
        whole = WholePaths(("",), self._start, self._home)
        for command in commands:
            yield from self._printed(command, whole)

    def _printed(self, command: SimpleCommand, whole: WholePaths) -> Iterator[str]:
        """Names a command prints, as paths or patterns."""
        if command.program not in _NAMES:
            return
        operands = [word for word in command.words[1:] if not word.text.startswith("-")]
        if command.program == "pwd":
            folders = command.folders or ("",)
            yield from (posixpath.normpath(posixpath.join(self._start, folder)) for folder in folders)
            return
        if command.program == "cat":
            yield from (command.stdin or "").split() if command.stdin != FROM_FILE else ()
            return
        if command.program in ("dirname", "basename"):
            part = posixpath.dirname if command.program == "dirname" else posixpath.basename
            plain = (value for word in operands for value in self.values(word) if not value.dynamic)
            yield from (part(value.text.rstrip("/") or "/") or "." for value in plain)
            return
        if command.program == "find":
            if is_narrowed_find(command.argv, whole):
                return
            place = next((at for at, word in enumerate(command.words[1:]) if word.text.startswith("-")), None)
            operands = list(command.words[1:] if place is None else command.words[1 : place + 1])
        if not operands and command.program in ("ls", "eza", "exa"):
            yield from (f"{folder.rstrip('/')}/*" for folder in command.folders or () if folder)
        for word in operands:
            for value in self.values(word):
                texts = [value.text]
                if "\\" in value.text:
                    texts = in_ansi_quotes(value.text).replace("\0", " ").split()
                if command.program in ("ls", "eza", "exa") and "-d" not in command.argv:
                    texts = [f"{text.rstrip('/')}/*" for text in texts]
                yield from texts

    def _is_fed(self, command: SimpleCommand) -> bool:
        """Whether what a command is told comes from a pipe or from `read`."""
        names = {name for word in command.words[1:] if word.dynamic for name in names_in(word.text)}
        reads = bool(names & self._read_names())
        if "xargs" in command.wrappers and not command.upstream and "INPUT" in names:
            here = command.stdin not in (None, FROM_FILE)
            return here or "<(" in self._line.text
        return reads or (bool(command.upstream) and any(word.dynamic for word in command.words[1:]))

    def _sources(self, command: SimpleCommand) -> list[SimpleCommand]:
        upstream = set(command.upstream)
        return [
            each for each in self._line.commands if each is not command and (not upstream or each.program in upstream)
        ]


def _split(text: str) -> list[str]:
    """The items of a list as typed, quotes taken off; command substitutions kept whole."""
    if _OUTPUT.search(text):
        return [match[0] for match in _OUTPUT.finditer(text)]
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _choices(inside: str) -> list[str]:
    """What a brace expansion stands for; a long row of numbers by its ends."""
    if "," in inside:
        return inside.split(",")
    first, _, last = inside.partition("..")
    return [first, last.partition("..")[0]]


def outputs_in(text: str) -> Iterator[str]:
    """The insides of the command substitutions of a word."""
    for match in _OUTPUT.finditer(text):
        yield match[1] or match[2] or ""


def names_in(text: str) -> list[str]:
    """The names of the variables in a word."""
    return [match[1] or match[5] for match in _VARIABLE.finditer(text)]


def _narrows(command: SimpleCommand) -> bool:
    """Whether a filter keeps only what has a certain name."""
    pattern = next((word.text for word in command.words[1:] if not word.text.startswith("-")), "")
    inverted = any(re.fullmatch(r"-\w*v\w*|--invert-match", word.text) for word in command.words[1:])
    return command.program in ("fzf", "peco") or (not inverted and re.search(r"\w{2}", pattern) is not None)


def _lists_processes(commands: list[SimpleCommand] | tuple[SimpleCommand, ...]) -> bool:
    """Whether these together print the numbers of all processes."""
    if any(each.program in _FILTERS and _narrows(each) for each in commands):
        return False
    if any(each.program in ("head", "tail") for each in commands):
        return False
    if any(
        each.program in ("awk", "gawk", "mawk", "sed") and re.search(r"/[^/]*\w{2}|~|==", each.argv[-1])
        for each in commands
    ):
        return False
    for each in commands:
        if each.program == "ps" and not any(
            re.match(r"-[Cpqts]|--p|--ppid|--tty|[pq]$", text) for text in each.argv[1:]
        ):
            return True
        if each.program == "seq" or (each.program == "ls" and any(text.startswith("/proc") for text in each.argv)):
            return True
        if each.program == "pgrep" and names_many_processes("pgrep", each.words[1:]):
            return True
    return False
