"""Random calls of every program that clio runs without approval; those that need none are run.

    python -m tests.security.command_options_fuzz 30000 [seed]      (make fuzz-commands)

Options come from the grammars, from each program's `--help`, and from neither. Calls that need no approval are run
here without a sandbox, in a throwaway repository; they must change no file there, in the home folder or outside, leave
no process, open no network socket, and show neither the environment nor a file from outside.
"""

import ctypes
import hashlib
import inspect
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Allow, Policy
from clio.security.readonly import judge as judges
from clio.security.readonly.grammar import Grammar
from clio.tools.shell.sandboxed_run import build_confined_environment

SECRET = "Xq7-marker-secret-of-the-environment"
CANARY = "Zk9-content-of-a-file-outside"
LIMIT_S = 1.0
_ADOPT = 36
"""PR_SET_CHILD_SUBREAPER: orphaned processes become children of this one, and can be waited for."""
_OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z0-9@?.][\w-]*)([=?])?(?:text|path|number)?(?:\(([^)]*)\))?")
_HELP_OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z0-9@][\w-]*)")
_NETWORK = re.compile(r"\b(?:connect|sendto)\(.*sa_family=AF_INET|\blisten\(")
_SUBCOMMAND = re.compile(r"[\w-]+(?: [\w-]+){0,2}")
UNLISTED = """
    -o -i -w -f -x -e -c -C -O -T -R -D -p -s -d -D -u -z -- - --output --output= --in-place --exec --pre
    --compress-program
    --files0-from --config --set --delete --no-list --edit --write --save --open --browser --web --debug --log --trace
    --pager --editor --execute --eval --require --import --load --plugin --upload --download --fix --force --sort
    --format --list --help --version -V -h -v --get --add --textconv --ext-diff --no-index --follow --link --stdin
    --from-file
    --paginate --revert --fromfile --hostname-bin --search-zip --ignore-file --index-url --find-links --proxy
    --cache-dir
    -exec -execdir -ok -delete -fprint -fprintf -fls -print -type -name -maxdepth -L -H -P -n -r
    """.split()
WORDS = """
    a.txt b.txt sub sub/c.txt ./a.txt 1 0 5 -1 +3 99999999999999999999 - '' 'a b' x=y HEAD main HEAD~1 new-name origin f
    foo . .. @args link linkdir linkdir/secret.txt /proc/self/environ /etc/hostname ~ +%s 2020-01-01 12:00 MARKER
    $CANARY/secret.txt ../canary/secret.txt $CANARY out.txt none name,size %s %n always auto json 'a[$(touch out.txt)]'
    data.json a.tar bundle.zip script.py Cargo.toml 1,2 s/a/b/ p 1p /one/p '1e touch out.txt' 'w out.txt' '{print}' e
    '{print > "out.txt"}' 'BEGIN{system("touch out.txt")}' '{print ENVIRON["MARKER"]}' . .a env '$ENV' input_filename
    'include "x"; .' keys '{}' ';' + -exec touch cat rm out.txt '$d' 1d =  y/abc/xyz/ n 'r link' 'R a.txt' F
    """
PATTERNS = ("*.txt", "*", "f?", "./*", "sub/*", "[ab].txt", "l*", "@*", ".*", "-*", "*/*")
SHELL_LINES = (
    "{0}",
    "{0}",
    "{0}",
    "{0} | cat",
    "cd sub && {0}",
    "{0} 2>/dev/null",
    "{0} 2>&1 | head -5",
    "({0})",
    "{0} < a.txt",
    "{0} <<< text",
    "cat a.txt | {0}",
    "echo a.txt | {0}",
    "{0} && echo done",
    'for f in a.txt link; do {0} "$f"; done',
    "for f in *.txt; do {0} $f; done",
    "x=a.txt; {0} $x",
    "{0} {{a,b}}.txt",
    "{0} <(cat a.txt)",
    "timeout 1 {0}",
    "{0} | rev",
    "{0} | base64",
)
ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "MARKER": SECRET,
    "TERM": "dumb",
    "GIT_CONFIG_NOSYSTEM": "1",
}
_BUILTINS = frozenset(
    """
    cd pushd popd dirs exit return break continue shift wait jobs times umask ulimit read mapfile readarray getopts
    unset let set type command trap export declare typeset local readonly : [ [[ printf echo test pwd true false
    """.split()
)


@dataclass
class Stage:
    """A repository, a home folder and a folder outside, in which lines are run and compared."""

    root: Path
    project: Path = field(init=False)
    home: Path = field(init=False)
    canary: Path = field(init=False)
    before: str = field(init=False)
    files: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.project, self.home, self.canary = self.root / "project", self.root / "home", self.root / "canary"
        self.build()

    def build(self) -> None:
        """Create all files and folders again."""
        for path in (self.project, self.home, self.canary):
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir(parents=True)
        (self.project / "sub").mkdir()
        (self.canary / "secret.txt").write_text(CANARY, encoding="utf-8")
        texts = {
            "a.txt": "one\ntwo\nthree\n", "b.txt": "two\nthree\n", "f1": "1\n", "f2": "2\n", "sub/c.txt": "c\n",
            "data.json": '{"a": [1, 2]}', "args": f"{self.canary}/secret.txt\n", "script.py": "open('out.txt', 'w')\n",
            "-n": "x\n", "--output=out.txt": "x\n", "@args": f"{self.canary}/secret.txt\n",
        }  # fmt: skip
        for name, text in texts.items():
            (self.project / name).write_text(text, encoding="utf-8")
        (self.project / "link").symlink_to(self.canary / "secret.txt")
        (self.project / "linkdir").symlink_to(self.canary)
        subprocess.run(["tar", "-cf", "a.tar", "a.txt", "b.txt"], cwd=self.project, check=True)
        git = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main"]
        for words in (["init", "-q"], ["add", "a.txt", "b.txt"], ["commit", "-qm", "one"]):
            subprocess.run([*git, *words], cwd=self.project, check=True, env=self.environment())
        (self.project / "a.txt").write_text("one\ntwo\nchanged\n", encoding="utf-8")
        for words in (
            ["npm", "root"],
            ["cargo", "--version"],
        ):  # they create a folder in the home folder when they are first used
            if shutil.which(words[0]):
                subprocess.run(words, cwd=self.project, env=self.environment(), capture_output=True, check=False)
        self.before, self.files = self.look(), self.list_files()

    def list_files(self) -> set[str]:
        """Return every path with its size."""
        tops = (self.project, self.home, self.canary)
        return {f"{path} {path.lstat().st_size}" for top in tops for path in top.rglob("*")}

    def environment(self) -> dict[str, str]:
        given = {**ENVIRONMENT, "PATH": os.environ["PATH"], "HOME": str(self.home), "CANARY": str(self.canary)}
        return build_confined_environment(given, self.project, confined=False)

    def look(self) -> str:
        """Return a hash of every file's name, mode and bytes."""
        found = hashlib.blake2b()
        for top in (self.project, self.home, self.canary):
            for folder, folders, files in os.walk(top):
                folders.sort()
                for name in sorted((*folders, *files)):
                    path = os.path.join(folder, name)  # noqa: PTH118
                    status = os.lstat(path)
                    found.update(f"{path} {status.st_mode} {status.st_nlink} {status.st_uid}\n".encode())
                    if os.path.islink(path):  # noqa: PTH114
                        found.update(os.readlink(path).encode())  # noqa: PTH115
                    elif name in files:
                        with open(path, "rb") as file:  # noqa: PTH123
                            found.update(file.read())
        return found.hexdigest()

    def run(self, line: str, *, traced: bool = False) -> str:
        """Run a line; return what it changed or showed, "" for nothing."""
        words = ["bash", "-c", line]
        log = self.root / "trace"
        if traced:
            words = ["strace", "-f", "-qq", "-e", "trace=connect,listen,sendto", "-o", str(log), *words]
        with (self.root / "output").open("w+b") as output:
            process = subprocess.Popen(
                words, cwd=self.project, env=self.environment(), stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            with suppress(ProcessLookupError):
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4_000_000, 4_000_000))
                resource.prlimit(process.pid, resource.RLIMIT_AS, (8_000_000_000, 8_000_000_000))
            late = False
            try:
                process.wait(timeout=LIMIT_S * (3 if traced else 1))
            except subprocess.TimeoutExpired:
                late = True
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            left = _end_group(process.pid)
            output.seek(0)
            shown = output.read()
        if left and not late:
            return "it left a process"
        if SECRET.encode() in shown or SECRET.encode()[::-1] in shown:
            return "it shows the environment"
        if CANARY.encode() in shown or CANARY.encode()[::-1] in shown:
            return "it shows a file from outside"
        if traced and log.exists() and _NETWORK.search(log.read_text(encoding="utf-8", errors="replace")):
            return "it opens a network socket"
        if self.look() != self.before:
            changed = sorted(self.files ^ self.list_files())
            self.build()
            return f"it changed {changed[:5] or 'a file'}"
        return ""


def _end_group(group: int) -> bool:
    """End the process group; return whether a process of it was left (a process substitution may end last)."""
    with suppress(ProcessLookupError, PermissionError):
        for _ in range(100):
            with suppress(ChildProcessError):  # this process adopts orphans; see `fuzz`
                while os.waitpid(-group, os.WNOHANG) != (0, 0):
                    pass
            os.killpg(group, 0)
            time.sleep(0.005)  # the poll interval: at most half a second in all
        os.killpg(group, signal.SIGKILL)
        return True
    return False


@dataclass(frozen=True)
class Vocabulary:
    """The parts of calls of one program."""

    program: str
    options: tuple[str, ...]
    values: tuple[str, ...]
    subcommands: tuple[str, ...]
    more: tuple[str, ...]


def vocabulary(program: str, judge: object, *, help_text: bool = True) -> Vocabulary:
    """Return the options, values and subcommands in a judge's grammar, and the options in its program's help."""
    options: dict[str, None] = {}
    values: dict[str, None] = {}
    subcommands: dict[str, None] = {}
    for found in _contents(judge, 0):
        if isinstance(found, Grammar):
            options.update(dict.fromkeys(found.options))
        elif found in ("permute", "stop", "first"):
            continue
        elif _SUBCOMMAND.fullmatch(found) and not found.startswith("-"):
            subcommands[found] = None
        else:
            for match in _OPTION.finditer(found):
                options[match[1]] = None
                values.update(dict.fromkeys(filter(None, (match[3] or "").split("|"))))
    more = _help(program) if help_text else ()
    return Vocabulary(program, tuple(options), tuple(values), tuple(subcommands), more)


def _contents(thing: object, depth: int) -> Iterator[str | Grammar]:
    """Yield strings and grammars of a judge: from its closure, and from the names it uses in its module."""
    if depth > 5:
        return
    if isinstance(thing, str | Grammar):
        yield thing
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            yield from _contents(key, depth + 1)
            yield from _contents(value, depth + 1)
    elif isinstance(thing, tuple | list | set | frozenset):
        for each in thing:
            yield from _contents(each, depth + 1)
    elif inspect.isfunction(thing) and "security" in thing.__module__:
        seen = inspect.getclosurevars(thing)
        for name, value in (*seen.nonlocals.items(), *seen.globals.items()):
            if name not in ("parse_call", "read_grammar"):
                yield from _contents(value, depth + 1)
        constants = thing.__code__.co_consts
        yield from (each for each in constants if isinstance(each, str) and "-" in each and each != thing.__doc__)


def _help(program: str) -> tuple[str, ...]:
    words = ["bash", "-c", f"help {program}"] if program in _BUILTINS else [program, "--help"]
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=False, cwd=tempfile.gettempdir()
        )
        text = (done.stdout + done.stderr).decode(errors="replace")
        return tuple(dict.fromkeys(_HELP_OPTION.findall(text)))
    return ()


def make_line(chance: random.Random, words: Vocabulary) -> str:
    """Return one random line around one call."""
    call = [words.program]
    if words.subcommands and chance.random() < 0.85:
        call += chance.choice(words.subcommands).split()
    items: list[str] = []
    for _ in range(chance.choice((0, 1, 1, 2, 2, 3, 4))):
        items.append(_option(chance, words) if chance.random() < 0.55 else _word(chance, words))
    if chance.random() < 0.05:
        items.insert(chance.randrange(len(items) + 1), "--")
    if items and chance.random() < 0.1:
        items.append(chance.choice(items))
    line = " ".join([*call, *items])
    return chance.choice(SHELL_LINES).format(line)


def _option(chance: random.Random, words: Vocabulary) -> str:
    pool = words.options if words.options and chance.random() < 0.75 else (words.more or tuple(UNLISTED))
    option = chance.choice(pool if chance.random() < 0.93 else tuple(UNLISTED))
    letters = [each[1] for each in words.options if len(each) == 2 and each != "-#"]
    match chance.randrange(9):
        case 0 | 1:
            return f"{option} {_word(chance, words)}"
        case 2:
            return f"{option}={_word(chance, words)}"
        case 3 if len(option) == 2:
            return f"{option}{_word(chance, words)}"
        case 4 if letters:
            return (
                "-" + "".join(chance.choices(letters, k=chance.choice((2, 2, 3)))) + chance.choice(("", "", "5", "o"))
            )
        case 5 if len(option) > 3:
            return option[: chance.randrange(2, len(option)) + 1]
        case 6 if len(option) > 3:
            return f"--no-{option[2:]}"
        case _:
            return option


_PLAIN_WORDS = tuple(shlex.split(WORDS))


def _word(chance: random.Random, words: Vocabulary) -> str:
    if chance.random() < 0.12:
        return chance.choice(PATTERNS)
    if words.values and chance.random() < 0.25:
        return shlex.quote(chance.choice(words.values))
    word = chance.choice(_PLAIN_WORDS)
    return word if word.startswith("$CANARY") or word == "~" else shlex.quote(word)


@dataclass
class Result:
    """found: lines with a forbidden effect, and the effect. counts: lines judged and run, by program."""

    found: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    counts: Counter[str] = field(default_factory=Counter[str])


def fuzz(number: int, seed: int, *, help_text: bool = True, trace: bool = True, show: bool = False) -> Result:
    """Judge this many lines, and run those that need no approval; show: print each finding at once."""
    result = Result()
    names = [name for name in judges.list_readonly_programs() if name in _BUILTINS or shutil.which(name)]
    known = {name: vocabulary(name, judges.get_judge(name), help_text=help_text) for name in names}
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_ADOPT, 1, 0, 0, 0)
    traced = trace and shutil.which("strace") is not None
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder).resolve())
        policy = Policy(Workspace(stage.project), "ask")
        for each in range(seed, seed + number):
            chance = random.Random(each)
            program = names[each % len(names)]
            line = make_line(chance, known[program])
            # As bash would, because the path belongs to this stage.
            line = line.replace("$CANARY", str(stage.canary))
            result.counts["judged"] += 1
            verdict = policy.judge(RunCommand(command=line, cwd=stage.project))
            if not isinstance(verdict, Allow):
                continue
            result.counts["run unasked"] += 1
            result.counts[f"  {program}"] += 1
            if why := stage.run(line, traced=traced and each % 23 == 0):
                result.found.append((line, f"{each}: {why}"))
                if show:
                    print(f"{line!r}\n    {each}: {why}", flush=True)
    return result


def main() -> int:
    """Print the findings; return 1 if there are any."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 30_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    result = fuzz(number, seed, show=True)
    for what, times in result.counts.most_common():
        print(f"{times:7} {what}")
    print(f"{number} lines judged, {result.counts['run unasked']} run unasked, {len(result.found)} did harm")
    return 1 if result.found else 0


if __name__ == "__main__":
    sys.exit(main())
