"""POSIX-only features are guarded by a check that is false on Windows; checked in the source, as no test runs there."""

import ast
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from tests.support.python_source import parse_source
from tests.support.rows import each_row

pytestmark = pytest.mark.usefixtures("no_garbage_collection")
PACKAGE = Path(__file__).parent.parent / "clio"
MODULES = frozenset("fcntl termios tty pty pwd grp resource syslog".split())
OF_OS = frozenset(
    "killpg setsid fork forkpty getuid geteuid getgid getegid getpgid getpgrp getsid nice fchmod fchown chown mkfifo "
    "pread pwrite posix_fadvise uname ttyname tcgetpgrp tcsetpgrp openpty getloadavg WIFEXITED WEXITSTATUS O_NOFOLLOW "
    "O_CLOEXEC O_DIRECTORY O_NONBLOCK sched_getaffinity sync".split()
)
OF_SIGNAL = frozenset(
    "SIGHUP SIGKILL SIGQUIT SIGUSR1 SIGUSR2 SIGWINCH SIGTSTP SIGCONT SIGPIPE SIGCHLD alarm setitimer pause".split()
)
METHODS = frozenset({"add_signal_handler", "remove_signal_handler", "add_reader", "remove_reader"})
NAMES = MODULES | OF_OS | OF_SIGNAL | METHODS
LINUX_ALONE = frozenset(("sandbox/landlock_child.py", "tools/shell/launcher_child.py"))
"""Separate programs, started by their path after a check and never imported."""
QUESTIONS = ("sys.platform", "hasattr(", "os.name")


def places(words: Collection[str]) -> Iterator[tuple[Path, ast.Module]]:
    """Return the modules that contain one of the words; parsing all takes seconds."""
    named = re.compile(rf"\b({'|'.join(words)})\b")
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path.relative_to(PACKAGE).as_posix() not in LINUX_ALONE and named.search(text):
            yield path, parse_source(text)


def only_posix(node: ast.AST) -> str:
    """Return the name of a POSIX-only feature that the node uses, if any."""
    match node:
        case ast.Import(names=names) if found := {alias.name for alias in names} & MODULES:
            return found.pop()
        case ast.ImportFrom(module=str(module)) if module in MODULES:
            return module
        case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in OF_OS:
            return f"os.{name}"
        case ast.Attribute(value=ast.Name(id="signal"), attr=name) if name in OF_SIGNAL:
            return f"signal.{name}"
        case ast.Call(func=ast.Attribute(attr=name)) if name in METHODS:
            return name
        case _:
            return ""


def unguarded(node: ast.AST, *, guarded: bool = False) -> Iterator[tuple[int, str]]:
    """Return uses without a check around them or earlier in their block, and without suppressing errors of Windows."""
    if (name := only_posix(node)) and not guarded:
        yield getattr(node, "lineno", 0), name
    for _, value in ast.iter_fields(node):
        inside = guarded or is_guard(node)
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from unguarded(child, guarded=inside)
                inside = inside or (isinstance(child, ast.If) and is_guard(child))


def is_guard(node: ast.AST) -> bool:
    match node:
        case ast.If(test=test) | ast.IfExp(test=test):
            return any(question in ast.unparse(test) for question in QUESTIONS)
        case ast.With(items=items):
            return any("NotImplementedError" in ast.unparse(item.context_expr) for item in items)
        case _:
            return False


def test_linux_only_modules_are_never_imported() -> None:
    for program in LINUX_ALONE:
        assert (PACKAGE / program).exists()
        module = "clio." + program.removesuffix(".py").replace("/", ".")
        for path, tree in places([module.rpartition(".")[2]]):
            imported = [name for node in ast.walk(tree) for name in names_of(node)]
            assert module not in imported, path


def names_of(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), names=names):
            return [module, *(f"{module}.{alias.name}" for alias in names)]
        case _:
            return []


def test_posix_only_features_are_checked_for_first() -> None:
    found = [(path.relative_to(PACKAGE), unguarded(tree)) for path, tree in places(NAMES)]
    assert len(found) > 20
    assert [f"{path}:{line} {name}" for path, uses in found for line, name in uses] == []


@each_row(
    "text",
    [
        "import os\nos.killpg(1, 9)",
        "import asyncio\nasyncio.get_event_loop().add_reader(0, print)",
        "import fcntl",
        "import asyncio, signal\nasyncio.get_event_loop().add_signal_handler(signal.SIGINT, print)",
        "import os, sys\ndef f():\n    os.nice(1)\n    if sys.platform == 'win32':\n        return",
    ],
)
def test_an_unguarded_use_is_detected(text: str) -> None:
    assert list(unguarded(parse_source(text)))


@pytest.mark.parametrize(
    "text",
    [
        "import os, sys\nif sys.platform != 'win32':\n    os.killpg(1, 9)",
        "import sys\ndef f():\n    if sys.platform == 'win32':\n        return\n    import fcntl",
        "import os\nif hasattr(os, 'nice'):\n    os.nice(10)",
    ],
)
def test_a_check_before_it_is_sufficient(text: str) -> None:
    assert not list(unguarded(parse_source(text)))
