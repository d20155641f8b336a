"""Expand the words of a command line, and recognize targets that are devices, whole folders or many processes."""

import os
import posixpath
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase, translate
from itertools import islice

from clio.security import command_risk as tables
from clio.security.actions import resolve_links
from clio.security.command_risk import has_option
from clio.security.shell.command_line import (
    CD_BUILTINS,
    STDIN_FROM_FILE,
    CommandLine,
    SimpleCommand,
    Word,
    has_glob,
    unquote_ansi_quoted,
    word_set,
)
from clio.security.shell.parser import parse_command_line
from clio.text.lazy_regex import LazyRegex

_HARMLESS_DEVICE = LazyRegex(
    r"/dev/(?:null|zero|full|u?random|tty\w*|pts/.*|ptmx|console|std(?:in|out|err)|fd(?:/.*)?|shm(?:/.*)?|mqueue(?:/.*)?"
    r"|(?:tcp|udp)/.*|cu\..*|serial/.*|input/.*|uinput|snd/.*|dsp\d*|audio|midi\w*|lp\d+|usb/.*|video\d+|net/.*|kmsg|log"
    r"|hidraw\d+|i2c-\d+|spidev.*|gpiochip\d+|kvm|fuse|dri/.*|rtc\d*|nvidia\w*|bus/.*|loop-control|vcs\w*)"
)
_DISK_DEVICE = LazyRegex(
    r"/dev/(?:[shv]d|xvd|nvme|mmcblk|r?disk|mapper/|md|dm-|loop|nbd|zd|zvol|pmem|sr\d|dasd|bcache|drbd|mtd|ubi|k?mem\b|port\b"
    r"|block/|sg\d|root\b)",
)
PROCESS_LINK = LazyRegex(r"^/+proc/+[^/]+(?:/+task/+[^/]+)?/+(root|cwd)(?=/|$)")
"""A path through the /proc link to the root or current directory of a process, which a variable may name."""
_SYSTEM_CONTROL_FILE = LazyRegex(r"/proc/sysrq-trigger\b|/sys/firmware/efi/")


def is_device(path: str) -> bool:
    """Whether writing to an absolute path reaches a device that is not known to be harmless."""
    return any(
        _SYSTEM_CONTROL_FILE.match(each) or (each.startswith("/dev/") and _HARMLESS_DEVICE.fullmatch(each) is None)
        for each in _list_equal_paths(path)
    )


def is_disk(path: str) -> bool:
    """Whether an absolute path is a disk, by name or by type."""
    for each in _list_equal_paths(path):
        if _SYSTEM_CONTROL_FILE.match(each) or _DISK_DEVICE.match(each.lower()):
            return True
        try:
            if stat.S_ISBLK(os.stat(each).st_mode):  # noqa: PTH116
                return True
        except (OSError, ValueError):
            continue
    return False


def _list_equal_paths(path: str) -> tuple[str, ...]:
    """Return a path in plain form and with its links resolved; nothing for a path no program can receive."""
    if "\0" in path:
        return ()
    plain = "/" + posixpath.normpath(path).lstrip("/")
    while (link := PROCESS_LINK.search(plain)) and link[1] == "root":  # the process of the link may not exist yet
        plain = plain[link.end() :] or "/"
    try:
        real = os.path.realpath(plain)
    except OSError:  # a link that may not be read
        real = plain
    # A link such as /dev/stdout leads to the current output, which is not what the line refers to.
    return (plain,) if _HARMLESS_DEVICE.fullmatch(plain) else (plain, real)


def read_option_values(argv: tuple[str, ...], options: tuple[str, ...]) -> list[str]:
    """Return the values of these options, given as the next word, after `=` or attached."""
    found: list[str] = []
    for place, text in enumerate(argv):
        for option in options:
            if text == option and place + 1 < len(argv):
                found.append(argv[place + 1])
            elif text.startswith(f"{option}="):
                found.append(text.partition("=")[2])
            elif len(option) == 2 and option[0] == "-" and text.startswith(option):
                found.append(text[2:])
            elif option == "-f" and place == 0 and text.endswith("f") and place + 1 < len(argv):
                found.append(argv[place + 1])  # `tar cf file`
    return found


def list_mounts(argv: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the host folders mounted into a container, as (path in the container, path on the host)."""
    for text in read_option_values(argv, ("-v", "--volume")):
        machine, _, rest = text.partition(":")
        if machine.startswith(("/", "~", "$HOME", "..")) and rest:
            yield rest.partition(":")[0], machine
    for text in read_option_values(argv, ("--mount",)):
        parts = [part.partition("=") for part in text.split(",")]
        pairs = {name: value for name, _, value in parts}
        machine = pairs.get("source", pairs.get("src", ""))
        inside = pairs.get("target", pairs.get("dst", pairs.get("destination", "")))
        if machine.startswith(("/", "~", "$HOME", "..")) and inside:
            yield inside, machine


def map_to_machine(text: str, mounts: Sequence[tuple[str, str]], elsewhere: str = "/container") -> str:
    """Translate a path in a container to the host; outside all mounts, to a harmless path below `elsewhere`."""
    for inside, machine in mounts:
        if text == inside.rstrip("/") or text.startswith(f"{inside.rstrip('/')}/"):
            return f"{machine.rstrip('/')}/{text[len(inside.rstrip('/')) :].lstrip('/')}"
    return f"{elsewhere}{text}" if text.startswith("/") else text


_OWN_HOME = LazyRegex(r"^(?:\$HOME|\$\{HOME(?::?[-?][^}]*)?\}|~)(?=/|$)")
_USER_HOME = LazyRegex(r"~[a-z_][\w-]*/?(?:\*)?")
_MATCHES_EVERYTHING = LazyRegex(r"(?:[*?.]|\[[!^][^\]]*\]|\[[^\]]*[-:][^\]]*\])*")
_SYSTEM_FOLDERS = tables.SYSTEM_FOLDERS | word_set(
    """
    /usr/bin /usr/lib /usr/lib64 /usr/sbin /usr/share /usr/local /usr/include /usr/local/bin /usr/local/lib /var/lib
    /run
    """
)
_ESSENTIAL_FILES = word_set(
    "/etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/sudoers /etc/fstab /etc/nsswitch.conf"
)
"""Files without which no user can log in or the system does not boot."""
_SYSTEM_TOP_FOLDERS = word_set("etc bin sbin lib lib64 usr boot System")


class WholePaths:
    """Decides whether operands of one command are whole folders of the system, or a home folder.

    Args:
        folders: where the command may run, as typed and relative to `start`.
        home: the user's home folder.
    """

    def __init__(self, folders: tuple[str, ...], start: str, home: str) -> None:
        self.home = posixpath.normpath(home)
        self.start = start
        self.folders = tuple(posixpath.join(start, self._expand_own_home(folder)) for folder in folders)

    def is_whole(self, word: Word, *, follows: bool = False) -> bool:
        """Whether a path is one of these folders, or all of its contents.

        Args:
            follows: whether the program follows a link named without a trailing slash.
        """
        return any(covered is not None for covered in self._iter_covered(word, follows))

    def is_everything_in(self, word: Word) -> bool:
        """Whether a pattern matches everything in one of these folders."""
        return any(bool(covered) for covered in self._iter_covered(word, False))

    def is_system_file(self, word: Word) -> bool:
        """Whether a path is below a folder of the system, except for those with variable data."""
        return any(
            path.split("/")[1] in _SYSTEM_TOP_FOLDERS and not path.startswith("/usr/local/")
            for path in self._iter_paths(word.text, follows=True)
        )

    def is_essential_file(self, word: Word) -> bool:
        """Whether a path is one of the few files the system cannot run without."""
        return any(
            path.removeprefix("/private") in _ESSENTIAL_FILES for path in self._iter_paths(word.text, follows=True)
        )

    def _iter_covered(self, word: Word, follows: bool) -> Iterator[int | None]:
        """Yield, for each location a path may mean, how many of its last parts match everything; None for no such
        folder.
        """
        if _USER_HOME.fullmatch(word.text):
            yield int(word.text.endswith("*"))
        for path in self._iter_paths(word.text, follows):
            parts = [part for part in path.split("/") if part]
            count = len(parts)
            while parts and ("*" in parts[-1] or "[" in parts[-1]) and _MATCHES_EVERYTHING.fullmatch(parts[-1]):
                parts.pop()
            yield count - len(parts) if self._is_listed(parts) else None

    def _is_listed(self, parts: list[str]) -> bool:
        """Whether a path, given as its parts, is a whole system folder or lies at or above the home folder."""
        if not parts or (len(parts) == 2 and parts[0] in ("home", "Users")):
            return True
        home = [part for part in self.home.split("/") if part]
        listed = [[part for part in path.split("/") if part] for path in _SYSTEM_FOLDERS]
        listed += [home[:length] for length in range(1, len(home) + 1)]
        return any(len(each) == len(parts) and all(map(fnmatchcase, each, parts)) for each in listed)

    def _iter_paths(self, text: str, follows: bool) -> Iterator[str]:
        """Yield the absolute paths that a word may mean, as written and with links resolved."""
        text = self._expand_own_home(text)
        while match := PROCESS_LINK.match(text):  # before variables: it does not matter which process they name
            text = (self.start if match[1] == "cwd" else "") + text[match.end() :] or "/"
        if text == "~+" or text.startswith("~+/"):  # the current directory
            text = f".{text[2:]}"
        if not text or "$" in text or "`" in text or "\0" in text or _USER_HOME.match(text):
            return
        for folder in self.folders:
            path = posixpath.join(folder, text)
            while match := PROCESS_LINK.match(path):
                path = (self.start if match[1] == "cwd" else "") + path[match.end() :] or "/"
            yield "/" + posixpath.normpath(path).lstrip("/")
            fixed, rest = _split_before_pattern(path)
            if not rest and not follows and not text.endswith(("/", "/.")):
                fixed, rest = posixpath.split(fixed)
            real = posixpath.join(resolve_links(fixed or "/"), rest)
            yield "/" + posixpath.normpath(real).lstrip("/")

    def _expand_own_home(self, text: str) -> str:
        return _OWN_HOME.sub(lambda _: self.home, text)


def _split_before_pattern(path: str) -> tuple[str, str]:
    """Split a path before its first part that is a pattern."""
    parts = path.split("/")
    place = next((place for place, part in enumerate(parts) if any(mark in part for mark in "*?[")), len(parts))
    return "/".join(parts[:place]), "/".join(parts[place:])


KILL_VALUE_OPTIONS = word_set(
    "-u -U -G -g -t -s -P -F --signal --euid --uid --group --pgroup --session --terminal --parent --pidfile --user -o"
    " -y --ns --nslist --older-than --younger-than --cgroup --env"
)
_COMMON_PROCESSES = (
    "systemd",
    "init",
    "bash",
    "sh",
    "zsh",
    "sshd",
    "python3",
    "node",
    "clio",
    "dbus-daemon",
    "kworker/0:1",
    "cron",
)


def list_operands(words: tuple[Word, ...], valued: frozenset[str] = frozenset()) -> tuple[Word, ...]:
    """Return the words that are neither options nor values of the options in `valued`."""
    found: list[Word] = []
    ended = skip = False
    for word in words:
        if skip:
            skip = False
        elif ended or not word.text.startswith("-") or word.text == "-":
            found.append(word)
        elif word.text == "--":
            ended = True
        else:
            skip = word.text in valued
    return tuple(found)


def is_narrowed_find(argv: tuple[str, ...], whole: WholePaths) -> bool:
    """Whether a `find` call only selects certain names or empty files."""
    if any(text in ("-o", "-or", ",") for text in argv):
        return False
    for place, text in enumerate(argv[:-1]):
        value, before = argv[place + 1], argv[place - 1] if place else ""
        if before in ("!", "-not"):
            continue
        if text in ("-inum", "-samefile"):
            return True
        if text in ("-name", "-iname", "-regex", "-iregex") and re.search(r"\w{2}|\.\w|\w\.", value):
            return True
        if text in ("-path", "-ipath", "-wholename") and re.search(r"\w{2}", value):
            return not (value.startswith("/") and whole.is_whole(Word(value)))
    return "-empty" in argv


def is_matching_many_processes(program: str, rest: tuple[Word, ...]) -> bool:
    """Whether `pkill`, `killall` or `pgrep` matches most running processes."""
    program = "pkill" if program == "pgrep" else program
    argv, patterns = tuple(word.text for word in rest), list_operands(rest, valued=KILL_VALUE_OPTIONS)
    regex = program == "pkill" or has_option(argv, "r", ("regexp",))
    others = has_option(argv, "v" if program == "pkill" else "", ("inverse",))
    by_user = has_option(argv, "uUGgts", ("user", "euid", "uid", "group", "session", "terminal", "pgroup"))
    return others or (by_user and not patterns) or (regex and any(_is_wide_pattern(word.text) for word in patterns))


def _is_wide_pattern(pattern: str) -> bool:
    """Whether a pattern matches the names of most processes."""
    text = re.sub(r"\[\[?:(?:alpha|alnum|print|graph|lower):\]\]?", r"\\w", pattern).replace("[\\w]", "\\w")
    if len(text) > 200:
        return False
    try:
        found = re.compile(text)
    except re.error:
        return False
    return sum(found.search(name) is not None for name in _COMMON_PROCESSES) > len(_COMMON_PROCESSES) // 2


_SUBSTRING = LazyRegex(r":\s*\(?\s*(-?\d+)\s*\)?\s*(?::\s*(-?\d+)\s*)?")
_MAX_CHARS = 400
"""Longer values are not expanded, because matching a pattern at each position takes quadratic time."""


def apply_parameter_expansion(value: str, form: str) -> str:
    """Apply a parameter expansion such as `${x%/*}` to a value; an unknown form returns the value unchanged.

    Args:
        form: the text between the name and the closing brace, such as `%/*`.
    """
    if len(value) > _MAX_CHARS or len(form) > _MAX_CHARS:
        return value
    places = range(len(value) + 1)
    doubled = form[:1] == form[1:2]
    pattern = _strip_quotes(form[2:] if doubled else form[1:])
    match form[:1]:
        case "%":  # `%` tries the shortest suffix first, `%%` the longest
            return _remove_suffix(value, pattern, places if doubled else reversed(places))
        case "#":
            return _remove_prefix(value, pattern, reversed(places) if doubled else places)
        case "/":
            return _replace_pattern(value, form[1:])
        case "^":
            return value.upper() if doubled else value[:1].upper() + value[1:]
        case ",":
            return value.lower() if doubled else value[:1].lower() + value[1:]
        case ":" if form[1:2] == "+":
            return form[2:]
        case "+":
            return form[1:]
        case ":" if found := _SUBSTRING.fullmatch(form):
            rest = value[int(found[1]) :]
            return rest if found[2] is None else rest[: int(found[2])]
        case _:
            return value


def _remove_suffix(value: str, pattern: str, places: Iterable[int]) -> str:
    """Return the value up to the first of these positions from which the rest matches a pattern."""
    return next((value[:place] for place in places if fnmatchcase(value[place:], pattern)), value)


def _remove_prefix(value: str, pattern: str, places: Iterable[int]) -> str:
    return next((value[place:] for place in places if fnmatchcase(value[:place], pattern)), value)


def _replace_pattern(value: str, form: str) -> str:
    """Apply `pattern/text`, whose first character may select all matches, or only the start or end."""
    sign = form[:1] if form[:1] in ("/", "#", "%") else ""
    pattern, _, text = form[len(sign) :].partition("/")
    if not pattern:
        return value
    inside = translate(_strip_quotes(pattern))[4:-3]  # without the group and the end anchor that `translate` adds
    found = rf"\A(?:{inside})" if sign == "#" else rf"(?:{inside})\Z" if sign == "%" else inside
    return re.sub(found, lambda _: _strip_quotes(text), value, count=0 if sign == "/" else 1)


def _strip_quotes(text: str) -> str:
    return text.replace('"', "").replace("'", "").replace("\\/", "/")


_MAX_VALUES = 64
"""Values per word that are examined; nested brace expansions multiply."""
_MAX_DEPTH = 4
"""Variables within values that are replaced, which also ends references of a variable to itself."""
_LOOPS = LazyRegex(r"\b(?:for|select)\s+(\w+)\s+in\s+([^;\n]*)")
_ARRAYS = LazyRegex(r"\b(\w+)\+?=\(([^()]*)\)")
_HERE_STRING_READ = LazyRegex(
    r"\b(?:read|mapfile|readarray)\s+(?:-\w+\s+)*(\w+)\s*<<<\s*(\"[^\"]*\"|'[^']*'|[^\s;&|]+)"
)
_READ_BUILTIN = LazyRegex(r"\b(?:read|mapfile|readarray)\b([^\n;&|<]*)")
_FUNCTIONS = LazyRegex(r"(?:\bfunction\s+([\w-]+)|\b([\w-]+)\s*\(\s*\))")
_VARIABLE = LazyRegex(r"\$(?:\{(\w+|[@*])(?:\[[@*\d]+\])?(?:(:?[-=])([^{}]*)|([%#/:^,+?][^{}]*))?\}|(\w+|[@*]))")
_BRACES = LazyRegex(r"\{([^{}]*(?:,|\.\.)[^{}]*)\}")
_COMMAND_SUBSTITUTION = LazyRegex(r"\$\(([^()]*(?:\([^()]*\)[^()]*)*)\)|`([^`]*)`")
_ARGUMENT_APPENDERS = frozenset({"xargs", "find", "fd", "fdfind", "parallel"})
"""Wrappers that pass a script arguments not contained in the line."""
_FILTERS = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "fzf", "peco"})
_NAME_PRINTERS = frozenset(
    {"dirname", "basename", "pwd", "cat"}
    | {"ls", "find", "echo", "printf", "fd", "realpath", "readlink", "compgen", "stat", "eza", "exa", "locate"}
)


class Expansion:
    """The values that words of one line may take.

    Attributes:
        folders: every folder the line changes to by name, the starting folder first. Used for commands whose own folder
            is not known.
    """

    def __init__(self, line: CommandLine, text: str, start: str, home: str) -> None:
        self._line = line
        self._text = text
        self._start = start
        self._home = home
        self._variables: dict[str, list[str]] = {}
        self._links: dict[str, str] = {}
        self._collect_variables()
        entered = [
            value.text
            for command in line.commands
            if command.program in CD_BUILTINS
            for word in command.words[1:]
            for value in self.expand_word(word)
            if not value.dynamic and not value.text.startswith("-")
        ]
        self.folders = tuple(dict.fromkeys(("", *entered)))

    def expand_word(self, word: Word) -> tuple[Word, ...]:
        """Return the plain words a word may expand to; the word itself if not known; nothing if it is empty."""
        if not word.dynamic:
            first, slash, rest = word.text.partition("/")
            linked = self._links.get(first) if slash else None
            return (word,) if linked is None else (Word(f"{linked.rstrip('/')}/{rest}", glob=word.glob),)
        found = list[Word]()
        for text in islice(self._iter_expansions(word.text, 0), _MAX_VALUES):
            parts = text.split() if word.glob or " " in text else [text]
            for part in parts:
                opened = "$" in part or "`" in part
                found.append(Word(part, dynamic=opened, glob=not opened and has_glob(part)))
        return tuple(dict.fromkeys(found))

    def find_whole_input(self, command: SimpleCommand, whole: WholePaths) -> str:
        """Return a whole folder whose contents a pipe or loop passes to a command; "" for none."""
        if not self._has_piped_arguments(command):
            return ""
        if command.stdin and command.stdin != STDIN_FROM_FILE:
            return next((text for text in command.stdin.split() if whole.is_whole(Word(text))), "")
        sources = self._list_sources(command)
        if any(each.program in _FILTERS and _is_narrow_filter(each) for each in sources):
            return ""
        texts = (text for each in sources for text in self._iter_printed_names(each, whole))
        return next((text for text in texts if whole.is_whole(Word(text))), "")

    def expand_script(self, word: Word) -> tuple[str, ...]:
        """Return a script in every form its variable parts may give it."""
        return tuple(islice(self._iter_expansions(word.text, 0), _MAX_VALUES))

    def is_read_by_line(self, name: str) -> bool:
        """Whether the line reads a value into a variable, or declares it without one."""
        return name in self._list_read_names()

    def get_assigned_values(self, name: str) -> tuple[str, ...]:
        """Return the values that the line assigns to a variable."""
        return tuple(self._variables.get(name, ()))

    def follow_link(self, folder: str) -> str:
        """Return the target of a folder name if the line itself creates it as a link."""
        first, slash, rest = folder.removeprefix("./").partition("/")
        linked = self._links.get(first)
        return folder if linked is None else f"{linked.rstrip('/')}/{rest}" if slash else linked

    def has_all_processes_as_input(self, command: SimpleCommand) -> bool:
        """Whether the ids of all processes are passed to a command."""
        for word in command.words[1:]:
            if not word.dynamic:
                continue
            if any(value.text.startswith("/proc/") for value in self.expand_word(word)):
                return True
            for name in list_variable_names(word.text):
                if any("/proc/" in value for value in self._variables.get(name, ())):
                    return True
            inner = [text for text in (word.text, *self._iter_raw_values(word)) for text in iter_substitutions(text)]
            if any(_is_listing_processes(parse_command_line(text).commands) for text in inner):
                return True
        return self._has_piped_arguments(command) and _is_listing_processes(self._list_sources(command))

    def _collect_variables(self) -> None:
        """Collect what the line assigns to variables, positional parameters and links."""
        functions = {name for pair in _FUNCTIONS.findall(self._text) for name in pair if name}
        for command in self._line.commands:
            if command.program == "ln" and len(command.words) > 3 and "s" in command.argv[1]:
                self._links[command.argv[-1]] = command.argv[-2]
            for name, value in command.env:
                self._add_values(name, [value])
            arguments = [word.text for word in command.words[1:]]
            if command.program == "set" and "--" in arguments:
                arguments = arguments[arguments.index("--") + 1 :]
            elif command.program not in functions:
                continue
            self._add_values("@", arguments)
            self._add_values("*", arguments)
            for number, argument in enumerate(arguments, 1):
                self._add_values(str(number), [argument])
        for words in self._line.arguments:
            given = [word.text for word in words]
            self._add_values("@", given[1:])
            self._add_values("*", given[1:])
            for number, argument in enumerate(given):
                self._add_values(str(number), [argument])
        for pattern in (_LOOPS, _ARRAYS, _HERE_STRING_READ):
            for name, items in pattern.findall(self._text):
                self._add_values(name, _split_list(items))

    def _add_values(self, name: str, values: list[str]) -> None:
        known = self._variables.setdefault(name, [])
        known += [value for value in values if value not in known][: _MAX_VALUES - len(known)]

    def _iter_raw_values(self, word: Word) -> Iterator[str]:
        for name in list_variable_names(word.text):
            yield from self._variables.get(name, ())

    def _iter_expansions(self, text: str, depth: int) -> Iterator[str]:
        """Yield the text with each possible value of its first variable part, and so on recursively."""
        if depth > _MAX_DEPTH:
            yield text
            return
        if match := _COMMAND_SUBSTITUTION.search(text):
            values = list(self._iter_outputs(match[1] or match[2] or ""))
            if values:
                for value in values:
                    yield from self._iter_expansions(text[: match.start()] + value + text[match.end() :], depth + 1)
                return
            yield text
            return
        if match := _VARIABLE.search(text):
            values = self._find_values(match[1] or match[5], match[3])
            form = match[4] or ""
            if values is not None and form:
                values = list(dict.fromkeys(apply_parameter_expansion(value, form) for value in values))
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
                yield from self._iter_expansions(text[: match.start()] + value + text[match.end() :], depth + 1)
            return
        if (match := _BRACES.search(text)) and (choices := _list_brace_choices(match[1])):
            for choice in choices:
                yield from self._iter_expansions(text[: match.start()] + choice + text[match.end() :], depth)
            return
        yield text

    def _find_values(self, name: str, default: str | None) -> list[str] | None:
        """Return the possible values of a variable; None if the line does not determine them."""
        found = list(self._variables.get(name, ()))
        if not found and name in ("HOME", "PWD"):
            found = [self._home if name == "HOME" else self._start]
        elif not found and name in os.environ and name not in self._list_read_names():
            found = [os.environ[name]]
        if default is not None and (default or not found):
            found.append(default)
        return found or None

    def _is_unset(self, name: str) -> bool:
        """Whether a variable is set nowhere and is therefore empty."""
        if name.isdecimal():  # a line has no positional arguments, nor has a function called without any
            fed = any(not _ARGUMENT_APPENDERS.isdisjoint(each.wrappers) for each in self._line.commands)
            return name != "0" and not fed and not any(each.program == "set" for each in self._line.commands)
        return name[:1].isalpha() and name not in self._list_read_names() and name not in os.environ and name != "INPUT"

    def _list_read_names(self) -> set[str]:
        """Names that the line reads values into, or declares without one."""
        found = {name for words in _READ_BUILTIN.findall(self._text) for name in words.split()}
        return found | set(
            re.findall(r"(?:-v|local|declare|export|typeset|getopts\s+\S+|for|select)\s+(\w+)", self._text)
        )

    def _iter_outputs(self, text: str) -> Iterator[str]:
        """Yield the possible outputs of a command substitution, where they are plain."""
        commands = parse_command_line(text).commands
        if any(each.program in _FILTERS and _is_narrow_filter(each) for each in commands):
            return
        whole = WholePaths(("",), self._start, self._home)
        for command in commands:
            yield from self._iter_printed_names(command, whole)

    def _iter_printed_names(self, command: SimpleCommand, whole: WholePaths) -> Iterator[str]:
        """Yield the names a command prints, as paths or patterns."""
        if command.program not in _NAME_PRINTERS:
            return
        operands = [word for word in command.words[1:] if not word.text.startswith("-")]
        if command.program == "pwd":
            folders = command.folders or ("",)
            yield from (posixpath.normpath(posixpath.join(self._start, folder)) for folder in folders)
            return
        if command.program == "cat":
            yield from (command.stdin or "").split() if command.stdin != STDIN_FROM_FILE else ()
            return
        if command.program in ("dirname", "basename"):
            part = posixpath.dirname if command.program == "dirname" else posixpath.basename
            plain = (value for word in operands for value in self.expand_word(word) if not value.dynamic)
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
            for value in self.expand_word(word):
                texts = [value.text]
                if "\\" in value.text:
                    texts = unquote_ansi_quoted(value.text).replace("\0", " ").split()
                if command.program in ("ls", "eza", "exa") and "-d" not in command.argv:
                    texts = [f"{text.rstrip('/')}/*" for text in texts]
                yield from texts

    def _has_piped_arguments(self, command: SimpleCommand) -> bool:
        """Whether the arguments of a command come from a pipe or from `read`."""
        names = {name for word in command.words[1:] if word.dynamic for name in list_variable_names(word.text)}
        reads = bool(names & self._list_read_names())
        if "xargs" in command.wrappers and not command.upstream and "INPUT" in names:
            here = command.stdin not in (None, STDIN_FROM_FILE)
            return here or "<(" in self._line.text
        return reads or (bool(command.upstream) and any(word.dynamic for word in command.words[1:]))

    def _list_sources(self, command: SimpleCommand) -> list[SimpleCommand]:
        upstream = set(command.upstream)
        return [
            each for each in self._line.commands if each is not command and (not upstream or each.program in upstream)
        ]


def _split_list(text: str) -> list[str]:
    """Split a list as typed, without quotes; command substitutions are kept whole."""
    if _COMMAND_SUBSTITUTION.search(text):
        return [match[0] for match in _COMMAND_SUBSTITUTION.finditer(text)]
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _list_brace_choices(inside: str) -> list[str]:
    """Return the alternatives of a brace expansion; a long range is represented by its ends."""
    if "," in inside:
        return inside.split(",")
    first, _, last = inside.partition("..")
    return [first, last.partition("..")[0]]


def iter_substitutions(text: str) -> Iterator[str]:
    """Yield the contents of the command substitutions in a word."""
    for match in _COMMAND_SUBSTITUTION.finditer(text):
        yield match[1] or match[2] or ""


def list_variable_names(text: str) -> list[str]:
    """Return the names of the variables in a word."""
    return [match[1] or match[5] for match in _VARIABLE.finditer(text)]


def _is_narrow_filter(command: SimpleCommand) -> bool:
    """Whether a filter passes on only certain names."""
    pattern = next((word.text for word in command.words[1:] if not word.text.startswith("-")), "")
    inverted = any(re.fullmatch(r"-\w*v\w*|--invert-match", word.text) for word in command.words[1:])
    return command.program in ("fzf", "peco") or (not inverted and re.search(r"\w{2}", pattern) is not None)


def _is_listing_processes(commands: list[SimpleCommand] | tuple[SimpleCommand, ...]) -> bool:
    """Whether these commands together print the ids of all processes."""
    if any(each.program in _FILTERS and _is_narrow_filter(each) for each in commands):
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
        if each.program == "pgrep" and is_matching_many_processes("pgrep", each.words[1:]):
            return True
    return False
