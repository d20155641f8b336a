"""Finds what a line deletes or writes over where the path is only known when the line runs.

The never-list judges paths that can be told from the line. A path that another program makes up cannot be judged, so
the user is asked, even in mode `all`. Known are the outputs of programs on a list, such as `mktemp`, `pwd`, or `find`
below a folder that is not a whole home or system folder. Reads the file system for links; changes nothing.
"""

import re
from collections.abc import Sequence

from clio.algorithms.late_pattern import LatePattern
from clio.security.expansion import Expansion, names_in, outputs_in
from clio.security.risk import has_option
from clio.security.shell.syntax import parse
from clio.security.shell.words import FROM_FILE, CommandLine, SimpleCommand, Word, names
from clio.security.shell.wrappers import SAME_SHELL, SHELLS
from clio.security.targets import KILL_VALUES, operands_of
from clio.security.whole_paths import WholePaths

_ALL_OPERANDS = names("""
    rm rmdir unlink shred srm wipe rimraf trash trash-put truncate mv tee ln cp install rsync dd dcfldd dc3dd ddrescue
    wipefs blkdiscard badblocks fdisk sfdisk sgdisk gdisk parted mkswap cryptsetup diskutil split csplit gio scp
    gzip gunzip bzip2 xz zstd patch
    """)
"""Programs that delete or write over what they are given. Those in `_LAST_OPERAND` read all but the last."""
_LAST_OPERAND = names("cp install rsync ln scp dd dcfldd dc3dd ddrescue")
_RECURSIVE = names("chmod chown chgrp setfacl chattr")
_OUTPUTS = {
    "curl": ("-o", "--output"),
    "wget": ("-O", "--output-document"),
    "sort": ("-o", "--output"),
    "tar": ("-C", "--directory"),
    "unzip": ("-d",),
}
"""Options whose value is a file or folder to write."""
_STARTS_MANY = names("parallel rush")
_BY_NAME = names("pkill killall skill")
_IN_PLACE = names("sed gsed perl ruby")
_NEVER_BY_TEXT = names("kill systemctl init telinit loginctl docker podman nerdctl zpool")
"""Programs on the never-list by something else than a path; asked about only where text is put together for them."""
_PRINTERS = names("echo printf")
_FILTERS = names(
    "sed awk gawk mawk tr cut rev printf base64 base32 basenc xxd od head tail fold fmt tac paste column openssl perl"
    " python python3 ruby nl expand sort uniq cat hexdump dd iconv gzip gunzip zcat"
)
_DISK_MAKERS = ("mkfs", "mke2fs", "newfs")

_NUMBERS = LatePattern(r"\$(?:[$!?#]|\{#\w+\}|\{?(?:RANDOM|SRANDOM|SECONDS|EPOCHSECONDS|PPID|UID|EUID|LINENO)\b\}?)")
_ARITHMETIC = LatePattern(r"\$\(\((?:[^()$`]|\$\w+|\$\{\w+\}|\([^()]*\))*\)\)")
_PIPES = LatePattern(r"[<>]\([^()]*\)")
_DATE = LatePattern(r"\+(?:%[YmdHMSsFTjuVy]|[\w.:-])+")
_COUNT = LatePattern(r"-(?:n\s*)?\d+|--lines=\d+")
_SPECIAL = LatePattern(r"[-_0]|BASH\w*|OLDPWD|PWD|DIRSTACK|IFS|REPLY|OPTARG|PIPESTATUS|FUNCNAME|MAPFILE|COPROC")
_MAX_DEPTH = 3
_MANY = 64
_STANDS_FOR = "name"


def find_unknown_target(line: CommandLine, text: str, start: str, home: str, depth: int = 0) -> str:
    """What a line would delete or write over without telling where that is, as a question's reason; "" for nothing.

    text: the line as typed. start: the folder it starts in. home: the user's. depth: how many shells it is inside.
    """
    expansion = Expansion(line, text, start, home)
    known = _Knowledge(expansion, line, text, start, home)
    for redirect in line.redirects:
        if redirect.writes and not known.is_told(redirect.target):
            return f"it writes over {redirect.target.text!r}, which is only known when it runs"
    for command in line.commands:
        if why := known.explain(command):
            return why
    for script in line.late_scripts:
        if known.is_made_of_text(script.text):
            return f"it runs {script.text!r}, a text that is put together when it runs"
        inner = parse(script.text)
        filled = "$" not in script.text and "`" not in script.text  # then xargs or find puts names in it
        if filled and any(_targets_of(each.program, each) for each in inner.commands):
            return f"it runs {script.text!r}, with names in it that are only known when it runs"
        for each in expansion.texts(script) if depth < _MAX_DEPTH and not filled else ():
            if why := find_unknown_target(parse(each), each, start, home, depth + 1):
                return why
    return ""


class _Knowledge:
    """What can be told of the words of one line."""

    def __init__(self, expansion: Expansion, line: CommandLine, text: str, start: str, home: str) -> None:
        self._expansion = expansion
        self._line = line
        self._text = text
        self._start, self._home = start, home

    def explain(self, command: SimpleCommand) -> str:
        """Why a call may delete or write over what cannot be told; "" where it does not."""
        if not command.words:
            return ""
        fed = set(command.upstream)
        reads_shell_text = command.program in SHELLS | SAME_SHELL and len(command.words) == 1
        sources = [each for each in self._line.commands if each.program in fed]
        made = fed & _FILTERS and fed <= _FILTERS | _PRINTERS and any(map(_begins_with_text, sources))
        if reads_shell_text and made:
            return f"{command.program} runs a text that is put together when it runs"
        first = command.words[0]
        if first.dynamic and self._is_open(first) and (why := self._explain_program(command)):
            return why
        for program in self._programs(first):
            targets = _targets_of(program, command)
            unknown = next((word for word in targets if not self.is_told(word, command)), None)
            if unknown is not None:
                what = "what a pipe brings" if unknown.text == "$INPUT" else repr(unknown.text)
                return f"{program} would delete or write over {what}, which is only known when it runs"
            if targets and (command.folders is None or any("$" in one or "`" in one for one in command.folders)):
                anywhere = WholePaths(("/", self._home), self._start, self._home)
                if found := next((word for word in targets if anywhere.is_whole(word)), None):
                    return f"{program} would delete or write over {found.text!r} in a folder only known when it runs"
            by_text = program in _NEVER_BY_TEXT or program.startswith(_DISK_MAKERS)
            made = next((word for word in command.words[1:] if by_text and self.is_made_of_text(word.text)), None)
            if made is not None:
                return f"{program} gets {made.text!r}, which is put together when it runs"
        return ""

    def _programs(self, first: Word) -> list[str]:
        texts = [value.text for value in self._expansion.values(first)] if first.dynamic else [first.text]
        return list(dict.fromkeys(text.rsplit("/", 1)[-1] for text in texts))

    def _explain_program(self, command: SimpleCommand) -> str:
        """Why a call of a program that is not known may delete a whole folder."""
        name = command.words[0].text
        inner = list(outputs_in(name))
        if inner and all(_finds_program(text) for text in inner):
            return ""
        whole = WholePaths(command.folders or ("",), self._start, self._home)
        for word in command.words[1:]:
            if any(whole.is_whole(value) for value in self._expansion.values(word)) or self.is_made_of_text(word.text):
                return f"{name!r} is only known when it runs, and would get {word.text!r}"
        return f"{name!r} is put together when it runs" if self.is_made_of_text(name) else ""

    def is_told(self, word: Word, command: SimpleCommand | None = None) -> bool:
        """Whether the line tells what a path may become, so that the never-list has judged it."""
        if not word.dynamic:
            return True
        if "INPUT" in names_in(word.text) or "{}" in word.text:
            # Such a name is relative or below a plain folder, until something is put before it.
            placed = word.text.startswith(("/", "~", "..")) or "/.." in word.text
            return command is not None and not placed and self._is_fed_with_told(command)
        return not self._is_open(word, command)

    def is_made_of_text(self, text: str, depth: int = 0) -> bool:
        """Whether a word holds the output of commands that do nothing but put a text together."""
        for inner in outputs_in(text):
            commands = parse(inner).commands
            only_text = all(each.program in _PRINTERS | _FILTERS for each in commands)
            if only_text and any(map(_begins_with_text, commands)) and not self._is_told_output(inner, depth):
                return True
        if depth > _MAX_DEPTH:
            return False
        values = [value for name in names_in(text) for value in self._expansion.given(name)]
        return any(self.is_made_of_text(value, depth + 1) for value in values)

    def _is_open(self, word: Word, command: SimpleCommand | None = None) -> bool:
        closed = self._close(word.text, command, 0)
        if closed is None:
            return True
        if f"{_STANDS_FOR}/.." in closed:
            return True  # the folder above what an output names
        values = self._expansion.values(Word(closed, dynamic=True, glob=word.glob))
        if len(values) >= _MANY or any(value.dynamic for value in values):
            return True
        # An output that may be empty leaves the path before or after it.
        whole = WholePaths((command.folders if command else None) or ("",), self._start, self._home)
        emptied = closed.replace(_STANDS_FOR, "") if _STANDS_FOR in closed and _STANDS_FOR not in word.text else ""
        rest = self._expansion.values(Word(emptied, dynamic=True, glob=word.glob)) if emptied else ()
        return any(whole.is_whole(value) or whole.is_everything_in(value) for value in rest)

    def _close(self, text: str, command: SimpleCommand | None, depth: int) -> str | None:
        """A word with what is known not to matter replaced; None where a part of it cannot be told."""
        if depth > _MAX_DEPTH:
            return None
        if names_in(text) and any(value.strip() for value in self._expansion.given("IFS")):
            return None
        text = _PIPES.sub("/dev/fd/63", _NUMBERS.sub("1", _ARITHMETIC.sub("1", text)))
        for inner in outputs_in(text):
            if not self._is_told_output(inner, depth):
                return None
            for written in (f"$({inner})", f"`{inner}`"):
                text = text.replace(written, _STANDS_FOR) if not _is_expanded(inner) else text
        for name in names_in(text):
            values = self._expansion.given(name)
            if re.search(rf"\b{re.escape(name)}(?:\[[^\]]*\])?\+=", self._text):
                return None
            if self._expansion.is_read(name) and name not in dict(self._line.loops):
                if values or command is None or not self._is_fed_with_told(command):
                    return None
                text = re.sub(rf"\$\{{?{re.escape(name)}\b\}}?", _STANDS_FOR, text)
                continue
            if _SPECIAL.fullmatch(name) and name != "PWD" and not values:
                return None
            plain = re.search(rf"\$(?:\{{{re.escape(name)}\}}|{re.escape(name)}\b)", text) is not None
            for value in values:
                if not plain and ("$" in value or "`" in value):
                    return None  # what a form such as `${x%/}` makes of an output cannot be told
                closed = self._close(value, command, depth + 1)
                if closed is None:
                    return None
                if closed != value:  # only known outputs and numbers were replaced
                    text = re.sub(
                        rf"\$(?:\{{{re.escape(name)}\}}|{re.escape(name)}\b)", closed.replace("\\", r"\\"), text
                    )
        return text

    def _is_told_output(self, text: str, depth: int) -> bool:
        line = parse(text)
        if line.unknown or not line.commands or depth > _MAX_DEPTH:
            return False
        return self._are_told(line.commands, depth + 1)

    def _is_fed_with_told(self, command: SimpleCommand) -> bool:
        """Whether what a pipe, `find -exec` or `read` hands to a command is known to be below a plain folder."""
        upstream = set(command.upstream)
        if "find" in command.wrappers or "fd" in command.wrappers or "fdfind" in command.wrappers:
            upstream |= set(command.wrappers) & {"find", "fd", "fdfind"}
        if not upstream:
            return command.stdin not in (None, "", FROM_FILE)
        sources = [each for each in self._line.commands if each is not command and each.program in upstream]
        return {each.program for each in sources} == upstream and self._are_told(sources, 1)

    def _are_told(self, commands: Sequence[SimpleCommand], depth: int) -> bool:
        return all(self._prints_told(each, depth) for each in commands)

    def _prints_told(self, command: SimpleCommand, depth: int) -> bool:
        """Whether a program prints nothing but paths that the never-list judges, or names that lead nowhere else."""
        rest = command.words[1:]
        argv = command.argv[1:]
        options = tuple(text for text in argv if text.startswith("-") and text != "-")
        operands = [word for word in rest if not word.text.startswith("-")]
        told = all(self._close(word.text, None, depth) is not None for word in rest)
        match command.program:
            case "pwd" | "whoami" | "nproc" | "hostname" | "arch":
                return not operands
            case "dirname":
                inner = [
                    each.program for word in rest for text in outputs_in(word.text) for each in parse(text).commands
                ]
                return told and set(inner) <= {"pwd", "dirname", "readlink", "realpath", "which", "command"}
            case "mktemp" | "uname" | "id" | "basename" | "realpath" | "readlink" | "cd":
                return told
            case "echo":
                return told and not any("\\" in text for text in argv)
            case "printf":
                return told and argv[0] in ("%s", "%s\\n", "%d", "%s\\0") and len(argv) == 2
            case "date":
                formats = [text for text in argv if text.startswith("+")]
                return told and all(_DATE.fullmatch(text) for text in formats)
            case "ls":
                return told and not command.upstream
            case "find" | "fd" | "fdfind":
                return told and self._finds_below(command)
            case "git":
                return told and _lists_names(argv)
            case "rg" | "grep" | "egrep" | "fgrep" if not command.upstream:
                listing = has_option(options, "lL", ("files-with-matches", "files-without-match"))
                paths = operands[1:] or [Word(".")]
                whole = WholePaths(command.folders or ("",), self._start, self._home)
                return told and listing and not any(map(whole.is_whole, paths))
            case "grep" | "egrep" | "fgrep" | "rg":
                return not has_option(options, "orcbnH", ("only-matching", "replace", "count", "line-number"))
            case "head" | "tail":
                joined = " ".join(argv)
                return not argv or all(_COUNT.fullmatch(part) for part in re.split(r" (?=-)", joined))
            case "sort":
                return all(re.fullmatch(r"-[urnVzf]+", text) for text in argv)
            case "uniq" | "cat" | "read" | "xargs" | "true" | ":":
                return not argv or command.program in ("read", "xargs")
            case _:
                return False

    def _finds_below(self, command: SimpleCommand) -> bool:
        """Whether find prints nothing but paths below folders that are no whole home or system folder."""
        words = command.words[1:]
        acts = (
            "-printf",
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-fprint",
            "-fprint0",
            "-fprintf",
            "-fls",
            "-files0-from",
        )
        destroys = command.program == "find" and any(word.text in acts[:1] + acts[5:] for word in words)
        place = next((at for at, word in enumerate(words) if word.text.startswith(("-", "(", "!"))), len(words))
        starts = words[:place] if command.program == "find" else [word for word in words if "/" in word.text]
        whole = WholePaths(command.folders or ("",), self._start, self._home)
        values = [value for word in starts or (Word("."),) for value in self._expansion.values(word)]
        return not destroys and not any(whole.is_whole(value, follows=True) for value in values)


def _targets_of(program: str, command: SimpleCommand) -> tuple[Word, ...]:
    """The words that name what a call deletes or writes over."""
    rest = command.words[1:]
    argv = command.argv[1:]
    options = tuple(text for text in argv if text.startswith("-"))
    if program in _OUTPUTS:
        return tuple(
            word
            for at, word in enumerate(rest)
            if (at and argv[at - 1] in _OUTPUTS[program])
            or word.text.startswith(tuple(f"{o}=" for o in _OUTPUTS[program]))
        )
    if program.startswith(_DISK_MAKERS):
        return rest
    if program in _BY_NAME:
        return operands_of(rest, valued=KILL_VALUES)
    if program in _IN_PLACE and has_option(options, "i", ("in-place",)):
        return operands_of(rest)[1:]
    if program in _STARTS_MANY and any(text in _ALL_OPERANDS for text in argv):
        return rest if ":::" in argv else (*rest, Word("$INPUT", dynamic=True))
    if program == "find" and ("-delete" in argv or any(text in ("-exec", "-execdir") for text in argv)):
        place = next((at for at, text in enumerate(argv) if text.startswith(("-", "(", "!"))), len(rest))
        return rest[:place] if "-delete" in argv else ()
    if program == "git":
        return rest if "clean" in argv else ()
    if program in _RECURSIVE:
        return (
            tuple(word for word in rest if not word.text.startswith("-"))[1:]
            if has_option(options, "R", ("recursive",))
            else ()
        )
    if program not in _ALL_OPERANDS:
        return ()
    if program in ("dd", "dcfldd", "dc3dd"):
        return tuple(word for word in rest if word.text.startswith("of=") or word.text.startswith("$"))
    if program in _LAST_OPERAND:
        aimed = any(text.startswith(("-t", "--target-directory", "--del", "--remove-s")) for text in options)
        return rest if aimed else rest[-1:]
    return rest


def _begins_with_text(command: SimpleCommand) -> bool:
    """Whether a call brings a text of its own, and not what is in a file."""
    given = command.stdin not in (None, FROM_FILE)
    own = any("BEGIN" in text or text.startswith(("-c", "-e")) for text in command.argv[1:])
    return command.program in _PRINTERS or given or (own and command.program not in ("head", "tail", "cut", "sed"))


def _is_expanded(text: str) -> bool:
    """Whether `Expansion` knows the values of a substitution by itself."""
    commands = parse(text).commands
    return len(commands) == 1 and commands[0].program in (
        "pwd",
        "echo",
        "dirname",
        "basename",
        "realpath",
        "readlink",
        "ls",
    )


def _finds_program(text: str) -> bool:
    """Whether a substitution prints where a program is, whose name it tells."""
    commands = parse(text).commands
    return len(commands) == 1 and commands[0].program in ("which", "command", "type") and not commands[0].dynamic


def _lists_names(argv: Sequence[str]) -> bool:
    """Whether a call of git prints names inside its repository, a name of a branch, or a hash."""
    subcommand = argv[0] if argv else ""
    if subcommand == "rev-parse":
        return all(text.startswith(("--short", "--show-toplevel", "--abbrev-ref", "HEAD")) for text in argv[1:])
    if subcommand == "ls-files":
        plain = names("-o --others --exclude-standard -i --ignored -m --modified -d --deleted -c --cached -z --")
        return all(text in plain or not text.startswith("-") for text in argv[1:])
    return subcommand == "diff" and "--name-only" in argv
