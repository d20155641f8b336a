"""Isolate tests from the user who runs them, and prevent connections to other machines."""

import gc
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import count as counter
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import settings

from clio.storage.jsonl import pop_damage_notes
from tests.support.examples import is_fuzzing, sample

# Time limits are generous for busy machines. Examples are the same for everyone, so that a failure can be repeated;
# `make fuzz` tries more.
settings.register_profile("tests", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("fuzz", deadline=None, max_examples=5_000)  # make fuzz
settings.load_profile("tests")

# Each worker would compile all tests again, 30 s of its time; programs under test write bytecode too, below.
sys.dont_write_bytecode = False

# If started in the background of a script, where Ctrl-C is ignored, programs under test would ignore it too.
signal.signal(signal.SIGINT, signal.default_int_handler)

_KEPT = {"PATH", "HOME", "LANG", "TMPDIR", "TEMP", "SYSTEMROOT", "VIRTUAL_ENV", "PYTHONPATH", "CLIO_VECTORS"} | {
    "WALK",  # these two: see tests/support/walk.py
    "WALK_PICTURES",
}
_connect = socket.socket.connect
_numbers = counter(1)


def _loopback_only(self: socket.socket, address: Any) -> None:
    host = address[0] if isinstance(address, tuple) else ""
    if self.family in (socket.AF_INET, socket.AF_INET6) and not str(host).startswith("127.") and host != "::1":
        raise AssertionError(f"a test reached for the network: {address!r}")
    _connect(self, address)


def _folder(factory: pytest.TempPathFactory, of: str, name: str) -> Path:
    """Make a new folder. pytest would list all existing ones to find the next number: a tenth of ten thousand tests."""
    path = factory.getbasetemp() / of / f"{next(_numbers)}-{name}"
    path.mkdir(mode=0o700, parents=True)
    return path


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    return _folder(tmp_path_factory, "tests", re.sub(r"\W", "_", request.node.name)[:30])


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Set an empty home folder; a bare environment and a closed network apply to all tests, below."""
    home = _folder(tmp_path_factory, "homes", "home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CLIO_HOME", str(home / ".clio"))
    # A language server on PATH would start with every edit; tests of servers turn them on.
    monkeypatch.setenv("CLIO_LANGUAGE_SERVERS", "off")
    pop_damage_notes()  # of the test before, in the same process
    if keyboard := sys.modules.get("clio.ui.keyboard"):
        keyboard.pop_saved_text()  # typed in the test before


@pytest.fixture(scope="module")
def no_garbage_collection() -> Iterator[None]:
    """Collect no garbage while a file is parsed.

    A finalizer that parses something itself, as pytest's warning about resources left open does, makes CPython 3.11
    miscount its own recursion (gh-106905).
    """
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect tests without garbage collection: almost nothing is garbage then, and looking for it took 7 s of 17.

    Collected tests also stay out of later garbage collections, because they live to the end.
    """
    gc.disable()
    try:
        _import_other_files_first(session)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _import_other_files_first(session: pytest.Session) -> None:
    """Let each worker begin importing at another file, so that workers use what others have compiled."""
    worker, count = os.environ.get("PYTEST_XDIST_WORKER", ""), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 0))
    if count < 2 or session.config.args != session.config.getini("testpaths"):
        return
    root = Path(__file__).parent.parent
    files = sorted(path.relative_to(root).with_suffix("") for path in root.glob("tests/**/test_*.py"))
    first = len(files) * int(worker.removeprefix("gw")) // count
    for path in files[first:] + files[:first]:
        with suppress(Exception, pytest.skip.Exception):  # pytest imports it again, and reports the error
            import_module(".".join(path.parts))


for _name in list(os.environ):
    if _name not in _KEPT and not _name.startswith("PYTEST"):
        del os.environ[_name]
os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
socket.socket.connect = _loopback_only


@cache
def _read_list(file: str) -> frozenset[str]:
    """Return the node ids in a list: of slow_tests.txt and long_tests.txt without parameters, or a whole file."""
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def _is_slow(node_id: str) -> bool:
    name = node_id.partition("[")[0]
    return name in _read_list("slow_tests.txt") or name.partition("::")[0] in _read_list("slow_tests.txt")


def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> list[pytest.Item] | None:
    """With `-m fast`, do not collect a slow function, because its cases would only be deselected.

    A slow one with the marker `fast` is collected: it is the quickest test of a module that no other fast test runs.
    """
    is_fast_run = collector.config.getoption("markexpr") == "fast"
    is_chosen = any(mark.name == "fast" for mark in getattr(obj, "pytestmark", ()))
    return [] if is_fast_run and not is_chosen and _is_slow(f"{collector.nodeid}::{name}") else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--every-case", action="store_true", help="also run what a run of all tests leaves out")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests as fast or failing, and leave out some in a run of all tests, which takes six minutes on two cores.

    A test is fast if it is not in slow_tests.txt: a new one is fast until it has been measured. Left out are most cases
    of functions marked `sampled(count)`, and five of six functions in long_tests.txt, different ones at each commit.
    The cases in known_misreadings.txt must fail: one that passes has to be taken off the list.
    """
    for item in items:
        if not _is_slow(item.nodeid):
            item.add_marker("fast")
        if item.nodeid in _read_list("known_misreadings.txt"):
            item.add_marker(pytest.mark.xfail(reason="the trained models misread it", strict=True))
    if _takes_samples(config):
        left_out = _list_unsampled(items)
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=[*left_out])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if _takes_samples(config) and not config.getoption("markexpr"):
        terminalreporter.write_line("samples of the long tests: `make every-case` runs all of them")


def _takes_samples(config: pytest.Config) -> bool:
    """Whether this is a run of all tests: a run of a named file or function includes every case."""
    runs_everything = config.args == config.getini("testpaths")
    return runs_everything and not config.getoption("every_case") and not is_fuzzing()


def _list_unsampled(items: list[pytest.Item]) -> dict[pytest.Item, None]:
    """Return the tests that sampling leaves out, in order."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: dict[pytest.Item, None] = {}
    commit = _read_commit()
    for name, cases in functions.items():
        mark = cases[0].get_closest_marker("sampled")
        taken = set(sample(cases, mark.args[0], name)) if mark and mark.args else set(cases)
        long = next((one for one in (name, name.partition("::")[0]) if one in _read_list("long_tests.txt")), "")
        if long and (crc32(long.encode()) - commit) % 6:
            taken = set()
        left_out |= {case: None for case in cases if case not in taken}
    return left_out


def _read_commit() -> int:
    """Return a number that differs between commits; 0 outside a repository."""
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return int(done.stdout.strip() or "0", 16) if done.returncode == 0 else 0
