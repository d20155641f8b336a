"""Random scripts; those judged read-only are really run, and must change, run, reveal and reach nothing.

    python -m tests.security.script_fuzz 3000 [seed] [language …]      (make fuzz-scripts N=3000)

Runs, for each language, this many scripts that are judged read-only, with every installed implementation. A finding is
a change of their folder, a program they start, a file opened for writing or outside, or the value of a variable in
their output. Programs and files are observed with strace; without it, only changes and output are checked.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from clio.security.readonly.grammar import Judgement
from clio.security.readonly.judge import judge_read_only
from clio.security.shell.command_line import SimpleCommand, Word
from clio.security.shell.parser import parse_command_line
from tests.security import script_chance

CANARY = "kanarienvogel-4711"
BATCH = 100
_SYSTEM = ("/lib", "/usr", "/etc/ld.so", "/etc/locale", "/etc/nsswitch", "/etc/passwd", "/etc/group", "/proc/self")
_SYSTEM += ("/proc/filesystems", "/sys/", "/proc/cpuinfo", "/proc/meminfo", "/dev/null", "/dev/tty", "/etc/localtime")
_CALL = re.compile(r'^(?:\[pid +)?(\d+)\]? +(\w+)\((?:AT_FDCWD, |\d+[^,]*, )?"((?:[^"\\]|\\.)*)"(.*)')
_LOOPS = re.compile(r"while|for|do\b|repeat|range|recurse|until|\bb|:|limit|\$!|\.\.|tail")
_TRACED = "execve,openat,open,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,symlink,link,connect,chmod"
_STRACE = ("-f", "--seccomp-bpf", "-qq", "-s", "4000")
_TRACED += ",truncate,utimensat,fchmodat"


@dataclass(frozen=True)
class Language:
    """How scripts of a language are generated and run.

    name: as judged. runs: the programs that run its arguments. starts: further programs they may start.
    """

    name: str
    make: Callable[[Random], list[str]]
    runs: tuple[tuple[str, ...], ...]
    starts: frozenset[str] = frozenset()
    whole_line: bool = False


_READERS = frozenset("grep head sed awk gzip ls cat wc mawk gawk original-awk busybox sort tac tail find xargs".split())
_PACKERS = frozenset("gzip bzip2 xz zstd lzma sh bash cat zcat gunzip bzcat xzcat lzcat 7z 7zr".split())
LANGUAGES = (
    Language("sed", script_chance.sed, (("sed",), ("sed", "--posix"), ("busybox", "sed"))),
    Language("awk", script_chance.awk, (("gawk",), ("mawk",), ("original-awk",), ("busybox", "awk"))),
    Language("jq", script_chance.jq, (("jq",),)),
    Language("find", script_chance.find, (("find",), ("busybox", "find")), _READERS),
    Language("fd", script_chance.fd, (("fdfind",),), _READERS),
    Language(
        "xargs", lambda random: [script_chance.xargs_line(random)], ((),), _READERS | {"sh", "sort", "echo"}, True
    ),
    Language("tar", script_chance.tar, (("tar",), ("bsdtar",), ("busybox", "tar")), _PACKERS),
    Language("gzip", script_chance.packer("t.gz"), (("gzip",), ("busybox", "gzip"))),
    Language("xz", script_chance.packer("t.xz"), (("xz",),)),
    Language("bzip2", script_chance.packer("t.bz2"), (("bzip2",), ("busybox", "bzip2"))),
    Language("zcat", script_chance.packer("t.gz"), (("zcat",),), _PACKERS),
    Language("unzip", script_chance.unzip, (("unzip",), ("busybox", "unzip"))),
)


def judge_words(program: str, words: list[str]) -> Judgement | str:
    """Return clio's judgement of a call."""
    call = tuple(Word(word) for word in (program, *words))
    return judge_read_only(SimpleCommand(words=call, written=call))


def judge_line(text: str) -> Judgement | str:
    """Return clio's judgement of what xargs starts in a line; other calls of the line are not judged here."""
    line = parse_command_line(text)
    if line.unknown:
        return line.unknown[0]
    fed = [each for each in line.commands if each.wrappers[-1:] == ("xargs",)]
    plain = {"find", "ls", "grep", "cd", "head", "tail", "sort", "sed"}
    found: list[Judgement] = []
    for command in line.commands:
        judgement = judge_read_only(command, line)
        if isinstance(judgement, str) and not command.wrappers and command.program in plain:
            judgement = Judgement(paths=tuple(word for word in command.words[1:] if not word.dynamic))
        if isinstance(judgement, str):
            return judgement
        found.append(judgement)
    return Judgement(paths=tuple(path for each in found for path in each.paths)) if fed else "no xargs"


@dataclass
class Stage:
    """A folder in which calls are run, and its surroundings."""

    root: Path
    home: Path = field(init=False)
    strace: str | None = field(init=False)

    def __post_init__(self) -> None:
        self.home = self.root / "work"
        self.strace = shutil.which("strace")
        if self.strace and subprocess.run([self.strace, *_STRACE, "true"], capture_output=True, check=False).returncode:
            self.strace = None  # too old, or not permitted here
        (self.root / "secret").write_text(f"{CANARY}\n", encoding="utf-8")
        self.build()

    def build(self) -> None:
        """Restore the folder."""
        shutil.rmtree(self.home, ignore_errors=True)
        (self.home / "sub").mkdir(parents=True)
        text = "a b c\ntouch PWN8\nw PWN8\n/a/b\n3:x:y\na a\n{print}\n"
        for name in ("f", "f2", "a.py", "sub/b.py"):
            (self.home / name).write_text(text, encoding="utf-8")
        (self.home / "f3").write_text("../secret\n", encoding="utf-8")
        (self.home / "data.json").write_text('{"a": {"b": [1, 2]}, "env": "x", "c": "y"}\n', encoding="utf-8")
        run = partial(subprocess.run, cwd=self.home, check=False, capture_output=True)
        run(
            [
                "sh",
                "-c",
                "cp f one; gzip -c f >t.gz; xz -c f >t.xz; bzip2 -c f >t.bz2; tar cf t.tar one; gzip -c t.tar >t.tgz",
            ]
        )
        run(["zip", "-q", "t.zip", "one"])
        (self.home / "one").unlink()

    def contents(self) -> dict[str, tuple[int, bytes]]:
        """Return all files with their times and contents."""
        return {
            str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
            for path in sorted(self.home.rglob("*"))
        }

    def is_inside(self, judgement: Judgement) -> bool:
        """Whether all files that a call is judged to read are inside, so that it would need no approval."""
        if any("\0" in word.text for word in judgement.paths):  # no program can be given such a name
            return False
        paths = (self.home / word.text for word in judgement.paths)
        return all(os.path.realpath(path).startswith(f"{self.home}/") or path == self.home for path in paths)

    def run(self, calls: list[str], language: Language) -> str:
        """Run calls one after the other; return what one of them did, "" for nothing."""
        before, log = self.contents(), self.root / "log"
        script = "ulimit -t 1 -f 20000\n" + "".join(f"{{ {call}\n}} </dev/null\n" for call in calls)
        (self.root / "batch").write_text(script, encoding="utf-8")
        command = ["sh", str(self.root / "batch")]
        if self.strace:
            command = [self.strace, *_STRACE, "-e", f"trace={_TRACED}", "-o", str(log), *command]
        env = {"PATH": os.environ["PATH"], "CANARY": CANARY, "LC_ALL": "C.UTF-8", "HOME": str(self.root)}
        with (self.root / "out").open("wb") as out:
            process = subprocess.Popen(
                command, cwd=self.home, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
            )
            try:
                process.wait(timeout=120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                return "takes too long"
        if self.contents() != before:
            self.build()
            return "changed a file"
        if CANARY.encode() in (self.root / "out").read_bytes():
            return "showed what it may not"
        return self.read_log(log, language) if self.strace else ""

    def read_log(self, log: Path, language: Language) -> str:
        """Return the forbidden operations that strace recorded."""
        programs = {run[0] for run in language.runs if run} | language.starts | {"timeout"}
        for number, line in enumerate(log.read_text("utf-8", "replace").splitlines()):
            match = _CALL.match(line)
            if match is None or number == 0:
                if " connect(" in line and "nscd/socket" not in line:
                    return line
                continue
            _, call, path, rest = match.groups()
            if call == "execve":
                if path.rsplit("/", 1)[-1] not in programs and "= -1" not in rest:
                    return line
            elif call in ("openat", "open"):
                writes = re.search(r"O_WRONLY|O_RDWR|O_CREAT", rest)
                real = os.path.realpath(self.home / path)
                inside = f"{real}/".startswith(f"{self.home}/") or real == str(self.root / "batch")
                # GNU find opens the root only for its number.
                known = path == "/" or path.startswith("/proc/self/") or real.startswith(_SYSTEM)
                if (writes and not real.startswith("/dev/")) or not (inside or known or "ENOENT" in rest):
                    return line
            elif "= -1 ENOENT" not in rest:
                return line
        return ""


def spell(language: Language, words: list[str]) -> list[str]:
    """Return a call as shell lines that run it, one for each installed implementation."""
    if language.whole_line:
        return words
    bound = ["timeout", "0.2"] if any(_LOOPS.search(word) for word in words) else []
    return [shlex.join([*bound, *run, *words]) for run in language.runs if shutil.which(run[0])]


def run_scripts(number: int, seed: int, names: tuple[str, ...] = ()) -> tuple[list[tuple[str, str]], Counter[str]]:
    """Return findings among this many read-only scripts of each language, and the counts."""
    finds: list[tuple[str, str]] = []
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder).resolve())
        for language in LANGUAGES:
            if (names and language.name not in names) or not spell(language, [""]):
                continue
            batch: list[str] = []
            accepted = 0
            for words in script_chance.many(language.make, seed * 1_000_003):
                counts[f"{language.name} made"] += 1
                if accepted >= number or counts[f"{language.name} made"] > 300 * number + 300:
                    break
                judgement = judge_line(words[0]) if language.whole_line else judge_words(language.name, words)
                if isinstance(judgement, str) or not stage.is_inside(judgement):
                    continue
                if any("\udc80" <= letter <= "\udcff" for word in words for letter in word):
                    continue
                accepted += 1
                calls = spell(language, words)
                counts[f"{language.name} judged read-only"] += 1
                counts[f"{language.name} runs"] += len(calls)
                batch += calls
                if len(batch) >= BATCH:
                    finds += search(stage, batch, language)
                    batch = []
            finds += search(stage, batch, language)
    return finds, counts


def search(stage: Stage, calls: list[str], language: Language) -> list[tuple[str, str]]:
    """Return the calls of a batch that did something, found by bisection."""
    if not calls or not (why := stage.run(calls, language)):
        return []
    if len(calls) == 1:
        return [(calls[0], why)]
    half = len(calls) // 2
    return search(stage, calls[:half], language) + search(stage, calls[half:], language)


def main() -> int:
    """Print the findings; return 1 if there are any."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    finds, counts = run_scripts(number, seed, tuple(sys.argv[3:]))
    for call, why in finds:
        print(f"{call}\n    {why}")
    for name, times in counts.items():
        print(f"{times:8} {name}")
    total = sum(times for name, times in counts.items() if name.endswith("judged read-only"))
    print(f"{total} calls judged read-only and run, {len(finds)} did something else")
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
