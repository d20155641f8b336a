"""Times from files that may be damaged."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clio.memory.consolidation.consolidation import is_same_day
from clio.memory.team.folder import format_month, get_month_start
from clio.text.formatting import format_age, format_ago, format_stored_time
from tests.support.rows import each_row

NO_TIMES = (1e18, -1e18, 1e308, float("inf"), float("-inf"), float("nan"), 2**70)


@each_row("seconds", NO_TIMES)
def test_an_invalid_time_is_shown_as_unknown(seconds: float) -> None:
    assert format_stored_time("%Y-%m-%d", seconds, "unknown") == "unknown"
    assert not is_same_day(seconds, time.time())


def test_a_time_is_shown_in_local_time() -> None:
    assert format_stored_time("%Y-%m-%d", 1_700_000_000.0) == time.strftime("%Y-%m-%d", time.localtime(1_700_000_000))
    assert is_same_day(1_700_000_000.0, 1_700_000_001.0) and not is_same_day(1_700_000_000.0, 1_700_200_000.0)


@pytest.mark.parametrize("seconds", [1e18, -1e18, 1e308, 2**70])
def test_a_month_can_always_be_read_back(seconds: float) -> None:
    assert get_month_start(format_month(seconds)) >= 0


def test_a_note_with_a_damaged_time_is_shown(tmp_path: Path) -> None:
    env = os.environ | {"CLIO_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "clio", "note", *words]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)

    assert run("set", "mine", "kept").returncode == 0
    path = tmp_path / ".clio" / "memory" / "mine.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"timestamp": 1e18}), encoding="utf-8")
    for words in (("show", "mine"), ("list",), ("search", "kept")):
        ended = run(*words)
        assert ended.returncode == 0 and "kept" in ended.stdout, ended.stderr


def test_an_invalid_age_stays_short() -> None:
    for seconds in NO_TIMES:
        assert len(format_age(seconds)) <= 7 and len(format_ago(seconds)) < 20
