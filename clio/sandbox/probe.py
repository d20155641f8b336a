"""Whether a fence really holds here, found out by running it: what counts is what became of the files."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from clio.sandbox import bubblewrap, landlock, seatbelt
from clio.sandbox.fence import GIVEN, Enclosed, Fence, Level
from clio.sandbox.own_tmp import programs_in_tmp
from clio.sandbox.places import git_folders, make_fence, socket_folders
from clio.storage.locks import cause

_LIMIT_S = 10.0
_TRY_CONFINED = 'if mkdir "$1" 2>&-; then rmdir "$1"; echo a command could write; fi; : > /dev/null && echo done'
_TRY = 'echo in > inside; echo out > "$1/outside"; echo out > .git/config; echo done'


def enclose(level: Level, fence: Fence, argv: tuple[str, ...], cwd: Path, *, lingers: bool = False) -> Enclosed:
    """The same command behind the fence, held by that level. Raises OSError where its program is gone.

    lingers: it goes on as long as anything it started does, where else that ended with it.
    """
    match level:
        case "bwrap":
            return bubblewrap.enclose(_there(bubblewrap.program(), "bwrap"), fence, argv, cwd, lingers=lingers)
        case "landlock":
            return landlock.enclose(fence, argv, lingers=lingers)
        case "seatbelt":
            return seatbelt.enclose(_there(seatbelt.program(), "sandbox-exec"), fence, argv)
        case "off":
            return Enclosed(argv=argv)


def why_not(level: Level, env: Mapping[str, str]) -> str:
    """Why a level does not hold on this machine; "" where it does. Runs one small command, in 15 to 60 ms."""
    if reason := _absent(level):
        return reason
    try:
        with tempfile.TemporaryDirectory(prefix="clio-probe-", dir=_outside_tmp()) as name:
            return _try(level, Path(name).resolve(), env)
    except (OSError, subprocess.TimeoutExpired) as error:
        return cause(error)


def _try(level: Level, folder: Path, env: Mapping[str, str]) -> str:
    root, outside, tmp = folder / "project", folder / "other", folder / "tmp"
    for path in (root / ".git" / "hooks", outside, tmp):
        path.mkdir(parents=True)
    (root / ".git" / "config").write_text("kept", encoding="utf-8")
    fence = make_fence(root, person=folder / "home", clio_home=outside, env={}, tmp=tmp, caches=False)
    done = _run(enclose(level, fence, ("/bin/sh", "-c", _TRY, "sh", str(outside)), root), root, env)
    if "done" not in done.stdout.splitlines() or not (root / "inside").exists():
        said = (done.stderr or done.stdout).strip().splitlines()
        return f"it does not run: {said[-1][:200]}" if said else f"it ends with exit code {done.returncode}"
    if (outside / "outside").exists():
        return "a command could write outside"
    if level != "landlock" and (root / ".git" / "config").read_text(encoding="utf-8") != "kept":
        return "a command could write what is sealed"
    return ""


def why_not_confined(level: Level, env: Mapping[str, str], person: Path) -> str:
    """Why a command cannot be confined by a level on this machine; "" where it can.

    Runs one small command, which tries to make a folder in the user's home folder. Makes no file where it is refused.
    """
    if reason := _absent(level):
        return reason
    wrong = str(person / f".clio-probe-{os.getpid()}")
    try:
        argv = ("/bin/sh", "-c", _TRY_CONFINED, "sh", wrong)
        done = _run(confine(level, Path("/"), argv, person=person, own_tmp=False), Path("/"), env)
    except (OSError, subprocess.TimeoutExpired) as error:
        return cause(error)
    if done.stdout.split() != ["done"]:
        said = (done.stderr or done.stdout).strip().splitlines()
        return f"it does not run: {said[-1][:200]}" if said else f"it ends with exit code {done.returncode}"
    return ""


def confine(
    level: Level, root: Path, argv: tuple[str, ...], *, person: Path, env: Mapping[str, str] | None = None,
    network: bool = False, lingers: bool = False, own_tmp: bool = True,
) -> Enclosed:  # fmt: skip
    """A command that only reads: nothing is written but a /tmp of its own, and it has no network.

    `Enclosed.tmp`, where there is one, is to be removed after it. env: by its PATH, programs in /tmp are found.
    own_tmp: False where not even a folder for temporary files may be made; bubblewrap's is in memory.
    Raises OSError where the level's program is gone.
    """
    match level:
        case "bwrap":
            program = _there(bubblewrap.program(), "bwrap")
            shown = (root, *programs_in_tmp(env or {}), *git_folders(root))
            hidden = socket_folders(person)
            return bubblewrap.confine(program, root, argv, shown, hidden, network=network, lingers=lingers)
        case "landlock":
            return landlock.confine(_own_tmp() if own_tmp else None, argv, network=network, lingers=lingers)
        case "seatbelt":
            program = _there(seatbelt.program(), "sandbox-exec")
            return seatbelt.confine(program, _own_tmp() if own_tmp else None, argv, network=network)
        case "off":
            return Enclosed(argv=argv)


def _own_tmp() -> Path:
    return Path(tempfile.mkdtemp(prefix="clio-command-")).resolve()


def _run(enclosed: Enclosed, cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    argv, given = enclosed.command, -1
    try:
        if enclosed.given:
            given, write = os.pipe()
            os.write(write, enclosed.given)
            os.close(write)
            place = argv.index(GIVEN)
            argv = (*argv[:place], str(given), *argv[place + 1 :])
        return subprocess.run(
            argv, cwd=cwd, env={**env, **dict(enclosed.env)}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=_LIMIT_S, check=False, pass_fds=() if given < 0 else (given,),
        )  # fmt: skip
    finally:
        if given >= 0:
            os.close(given)


def _absent(level: Level) -> str:
    find: Mapping[Level, Callable[[], str]] = {
        "bwrap": lambda: "" if bubblewrap.program() else "bubblewrap is not installed",
        "landlock": landlock.missing,
        "seatbelt": lambda: "" if seatbelt.program() else "it is a part of macOS",
    }
    return find[level]() if level in find else ""


def _there(program: str | None, name: str) -> str:
    if program is None:
        raise FileNotFoundError(f"{name} is not installed")
    return program


def _outside_tmp() -> str | None:
    """A folder no level lets commands write; /tmp is given to them."""
    return "/var/tmp" if Path("/var/tmp").is_dir() else None
