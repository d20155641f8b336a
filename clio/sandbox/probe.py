"""Whether a fence really holds here, found out by running it: what counts is what became of the files."""

import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from clio.sandbox import bubblewrap, landlock, seatbelt
from clio.sandbox.fence import Enclosed, Fence, Level
from clio.sandbox.places import make_fence
from clio.storage.reasons import cause

_LIMIT_S = 10.0
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
    argv = enclose(level, fence, ("/bin/sh", "-c", _TRY, "sh", str(outside)), root).argv
    done = subprocess.run(
        argv, cwd=root, env=dict(env), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
        timeout=_LIMIT_S, check=False,
    )  # fmt: skip
    if "done" not in done.stdout.splitlines() or not (root / "inside").exists():
        said = (done.stderr or done.stdout).strip().splitlines()
        return f"it does not run: {said[-1][:200]}" if said else f"it ends with exit code {done.returncode}"
    if (outside / "outside").exists():
        return "a command could write outside"
    if level != "landlock" and (root / ".git" / "config").read_text(encoding="utf-8") != "kept":
        return "a command could write what is sealed"
    return ""


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
