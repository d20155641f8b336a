"""Programs clio calls."""

import subprocess
from collections.abc import Iterator

from clio.checks.checkers import describe_checks, waiting_programs
from clio.config.schema import CHECKS_AUTO, CHECKS_OFF
from clio.entrypoints.doctor.finding import Finding, Ground, fix, note, ok
from clio.text.lazy_regex import LazyRegex
from clio.tools.files.file_index import ripgrep

GIT_NEEDED = (2, 23)
"""`git switch` came with it."""
_TIME_LIMIT_S = 3.0
_VERSION = LazyRegex(r"\d+\.\d+[\w.+-]*")


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


def check_edit_checks(ground: Ground) -> Iterator[Finding]:
    """What is run on changed files after a step that edited."""
    wanted = ground.loaded.config.checks
    found = describe_checks(wanted, ground.project)
    waiting = waiting_programs(wanted, ground.project, ground.owner, ground.home)
    ready = [name for name in found if name not in waiting]
    named = f"after edits: {', '.join(ready)}" if ready else "no program is found"
    if wanted[-1:] == (CHECKS_OFF,):
        yield ok("checks", "off, the model is not told what its edits break")
    elif CHECKS_AUTO in wanted:
        yield ok("checks", f"{named}; Python, JSON, TOML and YAML that none of them reads is parsed")
    else:
        yield ok("checks", named)
    if waiting:
        confined = "once the project is trusted, and only confined"
        yield note(
            "checks", f"{', '.join(waiting)} would run code of this project, so only {confined}", "clio config trust"
        )


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
