"""Statements from the shell scripts on this machine, really run in bwrap, and compared with clio's judgement.

    python -m tests.security.command_found 12000 /usr /etc      (Linux, with bwrap)

Scripts are written by people, not by a grammar: whole statements, and the lines in them. The disk is mounted read-only;
only one folder is writable, and there is no network. Statements that run or read another script of the machine are
skipped: clio judges that script by its path, and what it runs would be attributed to the statement.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from clio.security.shell.command_line import CommandLine, SimpleCommand
from clio.security.shell.parser import parse_command_line
from tests.security import command_stage
from tests.security.command_stage import WRAPPERS, Stage

_SHEBANG = re.compile(rb"#! ?/(?:usr/)?bin/(?:env )?(?:ba|da)?sh\b")
_PEELED = ("sudo", "doas")  # what comes after them is judged, with a note of them
_READERS = (".", "source", "bash", "sh")
_NAME = re.compile(r"[A-Za-z_][\w.+-]*")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_MOST_LINES, _MOST_CHARS = 60, 2_500
_HERE = Path(__file__).resolve().parents[2]
_INSIDE = "CLIO_FOUND_STAGE"


def scripts(folders: list[str]) -> Iterator[Path]:
    """Return files with the name or the first line of a shell script."""
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            try:
                if path.is_symlink() or not path.is_file() or path.stat().st_size > 120_000:
                    continue
                with path.open("rb") as file:
                    if path.suffix in (".sh", ".bash") or _SHEBANG.match(file.read(64)):
                        yield path
            except OSError:
                continue


def statements(text: str) -> Iterator[str]:
    """Return the statements of a script, and those lines in them that are statements themselves."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        if not lines[at].strip() or lines[at].lstrip().startswith("#"):
            at += 1
            continue
        ends = range(at + 1, min(len(lines), at + _MOST_LINES) + 1)
        whole = next((end for end in ends if _is_whole("\n".join(lines[at:end]))), None)
        if whole is not None:
            yield "\n".join(lines[at:whole])
            yield from (line for each in lines[at + 1 : whole - 1] if _is_whole(line := each.strip()))
        at = whole or at + 1


def _is_whole(text: str) -> bool:
    if not text or text.startswith("#") or text.endswith("\\") or "\0" in text or len(text) > _MOST_CHARS:
        return False
    return subprocess.run(["bash", "-n", "-c", text], capture_output=True).returncode == 0


def _names_a_script(command: SimpleCommand) -> bool:
    programs = (*command.written[:1], *command.words[:1])  # `exec /usr/bin/x` is written with a wrapper
    return any("/" in word.text for word in programs) or command.program in _READERS


def run_statements(number: int, folders: list[str], stage_folder: Path) -> int:
    """Run this many statements, print those that did something not in the judgement, and return their number."""
    lines: dict[str, None] = {}
    for path in scripts(folders):
        lines |= dict.fromkeys(statements(path.read_text(encoding="utf-8", errors="replace")))
        if len(lines) >= number:
            break
    reasons = Counter[str]()
    understood: dict[str, CommandLine] = {}
    for line in list(lines)[:number]:
        parsed = parse_command_line(line)
        if parsed.unknown:
            reasons[_QUOTED.sub("…", parsed.unknown[0])] += 1
        elif any(map(_names_a_script, parsed.commands)):
            reasons["another script is run or read"] += 1
        else:
            understood[line] = parsed
    names = {name for line in understood for name in _NAME.findall(line) if len(name) < 60}
    builtin = set(subprocess.run(["bash", "-c", "compgen -bk"], capture_output=True, text=True).stdout.split())
    command_stage.NAMES = tuple(sorted(({*command_stage.NAMES} | names) - builtin - {*WRAPPERS, *_PEELED}))
    stage = Stage(stage_folder)
    found = [(line, why) for line, parsed in understood.items() if (why := stage.unjudged(line, parsed))]
    for line, why in found:
        print(f"{line!r}\n    {why}")
    for reason, times in reasons.most_common(12):
        print(f"{times:7} {reason}")
    print(f"{min(number, len(lines))} statements, {len(understood)} run, {len(found)} did what was not judged")
    return len(found)


def main() -> int:
    """Restart in bwrap, and run the statements there."""
    number, folders = int(sys.argv[1]), sys.argv[2:]
    if stage_folder := os.environ.get(_INSIDE):
        return 1 if run_statements(number, folders, Path(stage_folder)) else 0
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        print("bwrap is not installed; without it what scripts do is not done", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder).resolve())
        walls = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", place, place]
        command = [bwrap, *walls, "--unshare-all", "--die-with-parent", "--chdir", str(_HERE)]
        again = [sys.executable, "-m", "tests.security.command_found", *sys.argv[1:]]
        return subprocess.run(
            [*command, *again], env={**os.environ, _INSIDE: place, "PYTHONDONTWRITEBYTECODE": "1"}
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
