"""A short sample of each torture test, in one process that forks clios; `make torture` runs them at length.

The clios are forked by a separate Python process: this one has threads, and modules that other tests have changed.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the output of the sample; the fixture fails if anything was lost."""
    done = subprocess.run(
        [sys.executable, "-m", "torture.short"],
        cwd=tmp_path_factory.mktemp("torture"), capture_output=True, text=True, timeout=100, check=False,
        env={"PATH": str(Path(sys.executable).parent) + ":/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": "/nowhere"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def test_killed_clios_keep_what_they_confirmed(output: str) -> None:
    found = re.search(r"^kill: (\d+) killed, (\d+) messages and (\d+) memories", output, re.MULTILINE)
    assert found and int(found[1]) == 4 and int(found[2]) > 0, output


def test_torn_files_affect_nothing_else(output: str) -> None:
    found = re.search(r"^tear: (\d+) damages", output, re.MULTILINE)
    assert found and int(found[1]) >= 2, output


def test_many_simultaneous_clios_lose_nothing(output: str) -> None:
    found = re.search(r"^many: (\d+) runs", output, re.MULTILINE)
    assert found and int(found[1]) >= 2, output


def test_errors_are_reported(output: str) -> None:
    scenes = re.findall(r"^(full|writers|read-only|clock|locks): .* problems: 0$", output, re.MULTILINE)
    assert scenes == ["full", "writers", "read-only", "clock", "locks"], output


def test_the_checker_detects_losses(output: str) -> None:
    """A torture test that cannot fail proves nothing.

    Memories, a message, a rating, learned styles and letters of a file are removed, and a forgotten note restored.
    """
    assert "sabotage: seen" in output
