"""Command lines made by chance from the grammar of bash, really run, and compared with what clio says they run.

Every command name leads to a stand-in that writes down its words and its folder, and does no more; the wrappers among
them (`env`, `xargs`, `find`, …) are the real ones. What was written down is the truth: each call must be one that
`parse` named, in a folder it named, and each file made must be the target of a redirect it named.

    python -m tests.security.command_fuzz 5000 [seed]      (make fuzz-commands N=5000)
"""

import fcntl
import os
import random
import re
import select
import shutil
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from clio.security.shell_syntax import parse
from clio.security.shell_words import CommandLine, SimpleCommand, Word

NAMES = ("hit", "rm", "git", "ls", "touch", "cat", "curl")
WRAPPERS = ("env", "timeout", "nice", "nohup", "xargs", "find", "setsid", "stdbuf", "bash", "sh")
_END = "\x1e"
_STAND_IN = """#!{shell}
printf '%s\\0' "{name}" "$PWD" "$@" "{end}" >> "{log}" 2>/dev/null
"""


@dataclass
class Stage:
    """A folder to run lines in, its stand-ins and what they write."""

    root: Path
    bin: Path = field(init=False)
    home: Path = field(init=False)
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        self.bin, self.home, self.log = self.root / "bin", self.root / "a" / "b" / "work", self.root / "log"
        self.bin.mkdir()
        for name in NAMES:
            self.write(name, _STAND_IN.format(shell="/bin/sh", name=name, end=_END, log=self.log))
        for name in WRAPPERS:
            if real := shutil.which(name):
                (self.bin / name).symlink_to(real)

    def write(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def play(self, line: str) -> tuple[list[tuple[str, ...]], set[str]]:
        """Run a line: the calls, each name, folder and arguments; and the files that are new."""
        shutil.rmtree(self.root / "a", ignore_errors=True)
        (self.home / "sub").mkdir(parents=True)
        for path in (self.home / "in", self.home / "sub" / "in", self.home / "-x"):
            path.write_text("one\n", encoding="utf-8")
        self.log.write_text("", encoding="utf-8")
        before = {str(path) for path in (self.root / "a").rglob("*")}
        env = {"PATH": str(self.bin), "HOME": str(self.home / "sub"), "LC_ALL": "C.UTF-8"}
        bash = shutil.which("bash") or "bash"
        ends, held = os.pipe()
        high = fcntl.fcntl(held, fcntl.F_DUPFD, 90)  # out of the way of the descriptors lines use
        os.close(held)
        process = subprocess.Popen(
            [bash, "-c", line],
            cwd=self.home,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(high,),
        )
        os.close(high)
        try:
            process.communicate(timeout=10)
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

    def unjudged(self, line: str) -> str:
        """What a line did that clio would not have judged; "" where there is nothing."""
        parsed = parse(line)
        if parsed.unknown:
            return ""
        calls, made = self.play(line)
        for name, folder, *arguments in filter(None, calls):
            if not any(self.covers(command, name, folder, arguments) for command in parsed.commands):
                return f"ran {name} {arguments} in {folder}"
        return next((f"made {path}" for path in sorted(made) if not self.named(parsed, path)), "")

    def covers(self, command: SimpleCommand, name: str, folder: str, arguments: list[str]) -> bool:
        """Whether a simple command is this call."""
        folders = command.folders
        there = folders is None or any(self.place(each) == os.path.realpath(folder) for each in folders)
        home = str(self.home / "sub")
        words = tuple(Word(home) if word == Word("~") else word for word in command.words[1:])
        return command.program == name and there and (_fits(words, arguments) or _fits(command.words[1:], arguments))

    def named(self, parsed: CommandLine, path: str) -> bool:
        """Whether a redirect of the line may have made a file."""
        for redirect in parsed.redirects:
            if redirect.target.dynamic or redirect.target.glob or redirect.folders is None:
                return True
            name = redirect.target.text.replace("~", str(self.home / "sub"), 1)
            targets = (os.path.join(self.place(each), name) for each in redirect.folders)  # noqa: PTH118
            if redirect.writes and path in map(os.path.realpath, targets):
                return True
        return False

    def place(self, folder: str) -> str:
        """A folder as `parse` names it, from where the line starts."""
        return os.path.realpath(self.home / folder.replace("~", str(self.home / "sub"), 1))


def _wait_for_end(pipe: int) -> None:
    """Wait until nobody holds the other end of a pipe any more: no process substitution, nothing in the background."""
    select.select([pipe], [], [], 5.0)
    os.close(pipe)


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _double(text: str) -> str:
    return '"' + re.sub(r'([\\"`$])', r"\\\1", text) + '"'


def _fits(words: tuple[Word, ...], arguments: list[str]) -> bool:
    """Whether words may turn into these arguments: an open one into any number of them."""
    if not words:
        return not arguments
    first, rest = words[0], words[1:]
    if first.dynamic or first.glob:
        return any(_fits(rest, arguments[taken:]) for taken in range(len(arguments) + 1))
    return bool(arguments) and arguments[0] == first.text and _fits(rest, arguments[1:])


class Lines:
    """Command lines by chance, of the pieces in `command_grammar.txt`; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.count = 0

    def line(self) -> str:
        """One line, mostly a correct one."""
        text = self.list(self.chance.choice((1, 2, 2, 3)))
        if self.chance.random() < 0.08:
            at = self.chance.randrange(len(text) + 1)
            text = text[:at] + self.piece("noise") + text[at:]
        return text

    def piece(self, kind: str) -> str:
        """A piece of a kind."""
        return self.chance.choice(GRAMMAR[kind])

    def list(self, depth: int) -> str:
        """Statements joined."""
        text = self.statement(depth)
        for _ in range(self.chance.choice((0, 0, 0, 1, 1, 2))):
            text += self.chance.choice(_JOINTS) + self.statement(depth)
        return text

    def statement(self, depth: int) -> str:
        """A command or a compound one, perhaps with redirects."""
        if depth <= 0 or self.chance.random() < 0.5:
            return self.command(depth)
        lists, calls = [self.list(depth - 1) for _ in range(2)], [self.command(depth - 1), self.command(0)]
        quoted = self.chance.choice((_single, _double))(self.list(depth - 1))
        words = {
            "w": self.word(depth - 1),
            "p": self.word(0),
            "q": quoted,
            "h": self.here(depth - 1),
            "r": self.target(),
        }
        text = self.piece("forms").format(*lists, *calls, **words)
        return text + self.redirect() if self.chance.random() < 0.1 and not text.endswith(("E", "\n")) else text

    def command(self, depth: int) -> str:
        """A call of a stand-in, perhaps through wrappers, with assignments and redirects in odd places."""
        self.count += 1
        parts = [f"V{self.count}={self.word(0)}"] if self.chance.random() < 0.1 else []
        while self.chance.random() < 0.15:
            parts.append(self.piece("wrappers"))
        parts.append(self.spelled(self.chance.choice(NAMES)))
        for _ in range(self.chance.choice((0, 1, 1, 2, 3))):
            parts.append(self.word(depth) if self.chance.random() < 0.85 else self.redirect().strip())
        if self.chance.random() < 0.08:
            parts.insert(0, self.redirect().strip())
        text = self.chance.choice((" ", " ", " ", " ", "  ", "\t", " \\\n")).join(parts)
        return text + (self.chance.choice((" # hit x\n", " #\n", "\n")) if self.chance.random() < 0.03 else "")

    def spelled(self, name: str) -> str:
        """A command name as an attacker would write it."""
        half = len(name) // 2
        return self.piece("spellings").format(
            name=name,
            head=name[:half],
            tail=name[half:],
            first=name[0],
            rest=name[1:],
            begin=name[:-1],
            last=name[-1],
            hex=f"{ord(name[0]):02x}",
            octal=f"{ord(name[0]):03o}",
        )

    def word(self, depth: int) -> str:
        """An argument."""
        if depth <= 0 or self.chance.random() < 0.65:
            return self.piece("words")
        flat, quoted = self.command(0).replace("\\\n", " ").replace("`", ""), self.command(0).replace("'", "")
        return self.piece("substitutions").format(self.list(depth - 1), flat, self.piece("sums"), quoted)

    def here(self, depth: int) -> str:
        """A line of a here-document."""
        return f"text {self.word(depth)} 'and' {self.word(depth)} \" $x".replace("\n", " ")

    def target(self) -> str:
        """Where a redirect goes."""
        return self.piece("targets")

    def redirect(self) -> str:
        """A redirect with the blank before it."""
        return self.piece("redirects").format(self.target())


def _grammar() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    text = (Path(__file__).parent / "command_grammar.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if re.fullmatch(r"\[\w+\]", line):
            found[line[1:-1]] = []
        elif found and line:
            next(reversed(found.values())).append(line.translate({ord("␤"): "\n", ord("␉"): "\t", ord("␠"): " "}))
    return found


GRAMMAR = _grammar()
_JOINTS = (" ; ", ";", " && ", " || ", " | ", "\n", " |& ", "&&", " & ", "\n\n", " |\n ")


def hunt(number: int, seed: int) -> list[tuple[str, str]]:
    """So many lines from a seed on; those that did what was not judged, each with what it was."""
    found: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder).resolve())
        for each in range(seed, seed + number):
            line = Lines(each).line()
            if why := stage.unjudged(line):
                found.append((line, why))
    return found


def main() -> int:
    """Print what was found; 1 where it is anything."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    understood = sum(not parse(Lines(each).line()).unknown for each in range(seed, seed + number))
    found = hunt(number, seed)
    for line, why in found:
        print(f"{line!r}\n    {why}")
    print(f"{number} lines, {understood} understood and run, {len(found)} did what was not judged")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
