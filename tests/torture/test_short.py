"""A short slice of each torture, in one process that forks clios; `make torture` does it at length.

The processes are forked by a Python of their own: this one has threads, and modules that other tests have changed.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the slice printed; it fails where anything was lost."""
    done = subprocess.run(
        [sys.executable, "-m", "torture.short"],
        cwd=tmp_path_factory.mktemp("torture"), capture_output=True, text=True, timeout=100, check=False,
        env={"PATH": str(Path(sys.executable).parent) + ":/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": "/nowhere"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def test_killed_clios_keep_what_they_confirmed(told: str) -> None:
    found = re.search(r"^kill: (\d+) killed, (\d+) messages and (\d+) memories", told, re.MULTILINE)
    assert found and int(found[1]) == 4 and int(found[2]) > 0, told


def test_torn_files_cost_nothing_else(told: str) -> None:
    found = re.search(r"^tear: (\d+) damages", told, re.MULTILINE)
    assert found and int(found[1]) >= 2, told


def test_many_at_once_lose_nothing(told: str) -> None:
    found = re.search(r"^many: (\d+) runs", told, re.MULTILINE)
    assert found and int(found[1]) >= 2, told


def test_trouble_is_reported(told: str) -> None:
    scenes = re.findall(r"^(full|writers|read-only|clock|locks): .* problems: 0$", told, re.MULTILINE)
    assert scenes == ["full", "writers", "read-only", "clock", "locks"], told


def test_the_oracle_sees_what_is_lost(told: str) -> None:
    """A torture that cannot fail proves nothing.

    Memories, a message, a rating, what a style learned and letters of a file are taken away, and a forgotten note is
    put back.
    """
    assert "sabotage: seen" in told
