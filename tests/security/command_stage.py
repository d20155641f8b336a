"""A folder in which command lines are really run, with stand-ins for programs, and compared with clio's judgement.

Every command name leads to a stand-in that records its arguments and its folder, prints two names and does no more; the
wrappers (`env`, `xargs`, `find`, …) are the real ones. The record is the truth: each call must be one that `parse`
named, in a folder it named, and each created file must be the target of a redirect it named.
"""

import fcntl
import os
import re
import resource
import select
import shutil
import stat
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from clio.security.shell.command_line import STDIN_FROM_FILE, CommandLine, SimpleCommand, Word

NAMES = tuple(
    """
    hit rm git ls touch cat curl pytest python3 npm npx node make cargo go grep rg sed awk head tail sort uniq wc cut tr
    mkdir cp mv chmod tee diff docker jq ln date tar pip tree ps du less seq uname basename dirname which sleep ruff
    """.split()
)
WRAPPERS = ("env", "timeout", "nice", "nohup", "xargs", "find", "setsid", "stdbuf", "bash", "sh")
SHELLS: dict[str, tuple[str, ...]] = {
    "bash": ("bash", "-c"),
    "posix": ("bash", "--posix", "-c"),
    "dash": ("dash", "-c"),
    "zsh": ("zsh", "--emulate", "sh", "-f", "-c"),
}
"""What may follow `bash` and `/bin/sh`; zsh stands for the `sh` that a user can select on macOS."""
_FAIL = frozenset({"diff", "curl"})
_SAY_NOTHING = frozenset({"rm", "touch", "mkdir", "cp", "mv", "chmod", "sleep"})
_END = "\x1e"
EVIL = "evil"
"""A folder with programs of common names: they run if PATH was changed to it."""
_EVILS = ("hit", "rm", "git", "ls", "touch", "cat", "curl")
_STACKED = re.compile(r"~(?:[-+]\d*|\d+)(?=/|\Z)")
_SCRIPT = ("hit", "from", "rc")
"""The content of the script `rc` there, which must only run if clio saw it."""
_STAND_IN = """#!{shell}
printf '%s\\0' "{name}" "$PWD" "$@" "{end}" >> "{log}" 2>/dev/null
{rest}
"""
_EVIL = """#!/bin/sh
printf '%s\\0' "evil" "$PWD" "$0" "{end}" >> "{log}" 2>/dev/null
"""


def _bound(process: int) -> None:
    """Limit the CPU time, so that an endless loop ends itself."""
    # From outside: a function that runs in the child process makes its start three times as slow.
    if hasattr(resource, "prlimit"):
        with suppress(ProcessLookupError):
            resource.prlimit(process, resource.RLIMIT_CPU, (5, 6))


@dataclass
class Stage:
    """A folder to run lines in, its stand-ins and their records."""

    root: Path
    bin: Path = field(init=False)
    home: Path = field(init=False)
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        self.bin, self.home, self.log = self.root / "bin", self.root / "a" / "b" / "work", self.root / "log"
        self.bin.mkdir()
        for name in NAMES:
            output = "" if name in _SAY_NOTHING else "echo in; echo sub/in; "
            rest = f"{{ {output}exit {int(name in _FAIL)}; }} 2>/dev/null"
            path = self.bin / name
            text = _STAND_IN.format(shell="/bin/sh", name=name, end=_END, log=self.log, rest=rest)
            path.write_text(text, encoding="utf-8")
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        (self.root / EVIL).write_text(_EVIL.format(end=_END, log=self.log), encoding="utf-8")
        (self.root / EVIL).chmod(0o755)
        for name in WRAPPERS:
            if real := shutil.which(name):
                (self.bin / name).symlink_to(real)

    def play(self, line: str, shell: str = "bash") -> tuple[list[tuple[str, ...]], set[str]]:
        """Run a line; return the calls (name, folder and arguments) and the new files."""
        shutil.rmtree(self.root / "a", ignore_errors=True)
        (self.home / "sub").mkdir(parents=True)
        for path in (self.home / "in", self.home / "sub" / "in", self.home / "-x", self.home / "a.py"):
            path.write_text("one\n", encoding="utf-8")
        (self.home / "rc").write_text(" ".join(_SCRIPT) + "\n", encoding="utf-8")
        (self.home / EVIL).mkdir()
        for name in _EVILS:
            (self.home / EVIL / name).symlink_to(self.root / EVIL)
        self.log.write_text("", encoding="utf-8")
        before = {str(path) for path in (self.root / "a").rglob("*")}
        env = {"PATH": str(self.bin), "HOME": str(self.home / "sub"), "LC_ALL": "C.UTF-8"}
        program, *options = SHELLS[shell]
        ends, held = os.pipe()
        high = fcntl.fcntl(held, fcntl.F_DUPFD, 90)  # not one of the descriptors that lines use
        os.close(held)
        process = subprocess.Popen(
            [shutil.which(program) or program, *options, line],
            cwd=self.home,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(high,),
        )
        _bound(process.pid)
        os.close(high)
        try:
            process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
        _wait_for_end(ends)
        calls: list[tuple[str, ...]] = []
        current: list[str] = []
        for text in self.log.read_bytes().decode("utf-8", "surrogateescape").split("\0"):
            if text == _END:
                calls.append(tuple(current))
                current = []
            else:
                current.append(text)
        return calls, {str(path) for path in (self.root / "a").rglob("*")} - before

    def unjudged(self, line: str, parsed: CommandLine, shell: str = "bash") -> str:
        """Return what a line did that clio did not judge, "" for nothing."""
        calls, made = self.play(line, shell)
        for name, folder, *arguments in filter(None, dict.fromkeys(calls)):
            if not any(self.covers(command, name, folder, arguments) for command in parsed.commands):
                return f"ran {name} {arguments} in {folder}"
        return next((f"made {path}" for path in sorted(made) if not self.named(parsed, path)), "")

    def covers(self, command: SimpleCommand, name: str, folder: str, arguments: list[str]) -> bool:
        """Whether a simple command is this call."""
        if command.program in ("bash", "sh", ".", "source") and name in command.argv[1:]:
            return True  # a script, which is also searched on PATH
        if (name, *arguments) == _SCRIPT and command.program in ("bash", "sh", ".", "source"):
            return len(command.words) > 1 or command.stdin == STDIN_FROM_FILE
        if name == EVIL:
            return any(EVIL in word.text for word in command.words)
        folders = command.folders
        there = folders is None or any(self.place(each) == os.path.realpath(folder) for each in folders)
        words = tuple(map(self.at_home, command.words[1:]))
        return command.program == name and there and (_fits(words, arguments) or _fits(command.words[1:], arguments))

    def at_home(self, word: Word) -> Word:
        """Return a word with its leading `~` expanded."""
        anywhere = _STACKED.match(word.text) is not None  # the policy takes it for any folder
        return Word(self.filled(word.text), dynamic=word.dynamic or anywhere, glob=word.glob)

    def filled(self, path: str) -> str:
        """Return a path with its leading `~` expanded."""
        return re.sub(r"^~(?=/|$)", str(self.home / "sub"), path)

    def named(self, parsed: CommandLine, path: str) -> bool:
        """Whether a redirect of the line may have created a file."""
        for redirect in parsed.redirects:
            target = self.at_home(redirect.target)
            if target.dynamic or target.glob or redirect.folders is None:
                return True
            name = self.filled(redirect.target.text)
            targets = (os.path.join(self.place(each), name) for each in redirect.folders)  # noqa: PTH118
            if redirect.writes and path in map(os.path.realpath, targets):
                return True
        return False

    def place(self, folder: str) -> str:
        """Return a folder as `parse` names it, relative to the start of the line."""
        return os.path.realpath(self.home / self.filled(folder))


def _wait_for_end(pipe: int) -> None:
    """Wait until the other end of a pipe is closed: no process substitution and no background process remains."""
    select.select([pipe], [], [], 5.0)
    os.close(pipe)


def _fits(words: tuple[Word, ...], arguments: list[str]) -> bool:
    """Whether words may expand to these arguments: an open one to any number of them."""
    if not words:
        return not arguments
    first, rest = words[0], words[1:]
    if first.dynamic or first.glob:
        return any(_fits(rest, arguments[taken:]) for taken in range(len(arguments) + 1))
    return bool(arguments) and arguments[0] == first.text and _fits(rest, arguments[1:])
