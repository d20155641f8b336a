"""Programs clio calls, and what keeps the commands it runs apart from the rest of the machine."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from clio.entrypoints.doctor.finding import Finding, Ground, fix, note, ok
from clio.tools.search.file_index import ripgrep

GIT_NEEDED = (2, 23)
"""`git switch` came with it."""
_TIME_LIMIT_S = 3.0
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")
_CONTAINER = (Path("/.dockerenv"), Path("/run/.containerenv"))


def check_git(ground: Ground) -> Iterator[Finding]:
    """Whether git runs and is new enough, and whether the project is under it."""
    found = _program("git", "git", "it is needed for branches, diffs and commits; install it")
    version = _VERSION.search(found.text) if found.mark == "ok" else None
    if version and tuple(int(part) for part in version[0].split(".")[:2]) < GIT_NEEDED:
        wanted = ".".join(map(str, GIT_NEEDED))
        yield note(
            "git", f"{version[0]} is older than {wanted}, so switching branches fails", f"install {wanted} or later"
        )
    elif version and not (ground.project / ".git").exists():
        yield ok("git", f"{version[0]}; this project is not under it")
    else:
        yield found


def check_ripgrep(ground: Ground) -> Iterator[Finding]:
    """Whether searching is quick."""
    yield _program("ripgrep", ripgrep(), "searching works without it, more slowly; install ripgrep")


def check_sandbox(ground: Ground) -> Iterator[Finding]:
    """What a command the model runs could reach. clio has no sandbox of its own, and this says so."""
    mode = ground.loaded.config.approve
    inside = next((str(path) for path in _CONTAINER if path.exists()), "")
    where = f"the container around clio ({inside})" if inside else "none, commands run with your rights"
    root = ", as root" if not inside and hasattr(os, "geteuid") and os.geteuid() == 0 else ""
    if mode == "all" and not inside:
        yield note("sandbox", f"{where}{root}, and nobody is asked (approve: all)",
                   "run clio in a container, or with --approve edits")  # fmt: skip
    else:
        yield ok("sandbox", f"{where}{root}; what is asked first: approve {mode}")


def _program(name: str, path: str | None, without: str) -> Finding:
    if path is None:
        return note(name, "not found", without)
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=_TIME_LIMIT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError:
        return note(name, "not found", without)
    except subprocess.TimeoutExpired:
        return fix(name, f"{path!r} does not end", "reinstall it")
    except OSError as error:
        return fix(name, f"{path!r} does not run: {error.strerror}", "reinstall it")
    if done.returncode != 0 or not done.stdout.strip():
        return fix(name, f"{path!r} ends with exit code {done.returncode}", "reinstall it")
    words = done.stdout.split()
    return ok(name, next((word for word in words if word[:1].isdigit()), words[0]))
