"""/memory sleep and /memory log: requesting, running, reports; and `clio memory sleep` in a separate process."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clio.commands.command import ConsolidateNow, WorkControl
from clio.commands.memory.commands import make_consolidation_result
from clio.commands.registry import complete_command_line, run_command
from clio.entrypoints.background_work import consolidate_now
from clio.memory.consolidation.consolidation import Report
from clio.messages import AssistantMessage, UserMessage
from tests.commands.harness import Harness, make_harness
from tests.entrypoints.repl_support import clio, make_place
from tests.memory.consolidation.consolidation_support import FACTS
from tests.support.own_sessions import own_store
from tests.support.waiting import wait_until
from tests.support.wording import mentions


def make_sessions(harness: Harness) -> None:
    for fact in FACTS:
        session = harness.store.new(harness.loaded.project)
        session.append(UserMessage(content=fact))
        session.append(AssistantMessage(content="Noted."))
        session.close()


def test_a_requested_consolidation_is_run_by_the_entry_point(harness: Harness) -> None:
    assert run_command(harness, "/memory sleep").follow_up == ConsolidateNow()
    assert run_command(harness, "/memory sleep --dry-run").follow_up == ConsolidateNow(dry_run=True)
    assert "takes --dry-run" in run_command(harness, "/memory sleep now").text
    assert not run_command(harness, "/memory sleep --quick").ok


def test_a_consolidation_reports_its_progress(harness: Harness) -> None:
    make_sessions(harness)
    progress: list[tuple[int, int]] = []
    track = WorkControl(
        report_progress=lambda done, total: progress.append((done, total)), is_stopped=lambda: len(progress) == 2
    )
    assert "stopped" in consolidate_now(harness, ConsolidateNow(), track).text
    assert progress == [(1, len(FACTS)), (2, max(len(FACTS), 3))]


def test_a_requested_consolidation_is_reported_and_logged(harness: Harness) -> None:
    assert "Nothing has been consolidated here yet" in run_command(harness, "/memory log").text
    make_sessions(harness)
    dry = consolidate_now(harness, ConsolidateNow(dry_run=True), WorkControl())
    assert f"{len(FACTS)} facts · nothing was written" in dry.text and "- `fact “" in dry.text
    assert "Nothing has been consolidated here yet" in run_command(harness, "/memory log").text
    done = consolidate_now(harness, ConsolidateNow(), WorkControl())
    assert done.text.startswith(f"consolidated: {len(FACTS)} turns processed, {len(FACTS)} facts")
    assert json.loads(json.dumps(done.data))["facts"] == len(FACTS)
    log = run_command(harness, "/memory log")
    assert "requested" in log.text and "8080" in log.text
    assert run_command(harness, "/memory undo").text.startswith("Undone: the consolidation of")


def test_the_log_accepts_a_number(harness: Harness) -> None:
    for number in range(5):
        harness.memory.consolidation.log.add(Report(at=float(number), replayed=number + 1))
    assert run_command(harness, "/memory log 3").text.count("processed") == 3
    for wrong in ("all", "1 2", "-1"):
        assert not run_command(harness, f"/memory log {wrong}").ok


def test_numbers_in_the_log_have_a_unit_and_no_markup(harness: Harness) -> None:
    harness.memory.consolidation.log.add(Report(at=1.0, sessions=1, turns_archived=1))
    answer = run_command(harness, "/memory log").text
    assert "1 session read" in answer and "1 turn archived" in answer
    assert "**" not in answer


def test_saved_memories_are_shown_as_data(harness: Harness) -> None:
    harness.memory.consolidation.log.add(
        Report(at=1.0, facts=1, changes=("fact “**run** `rm -rf`\n# Now”",), errors=("odd",))
    )
    answer = run_command(harness, "/memory log").text
    assert "- ``fact “**run** `rm -rf` # Now”``" in answer or "- `` fact “**run** `rm -rf` # Now” ``" in answer
    assert "- warning: odd" in answer
    assert "warning: odd" in make_consolidation_result(Report(at=1.0, errors=("odd",))).text


def test_incognito_never_consolidates(tmp_path: Path) -> None:
    hidden = make_harness(tmp_path, incognito=True)
    for line in ("/memory sleep", "/memory log"):
        assert "incognito" in run_command(hidden, line).text


def test_the_option_is_completed(harness: Harness) -> None:
    assert [one.text for one, _ in complete_command_line(harness, "/memory sleep --")] == ["--dry-run"]


def test_the_subcommand_consolidates_without_a_conversation(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    harness = make_harness(place.project)
    make_sessions(harness)
    for info in harness.store.list():
        own_store(place.project, place.home / ".clio").record_own(info.id)
    clio(place, "memory", "list")  # the first start records that this memory was made here
    before = {path: path.read_bytes() for path in place.project.rglob("*") if path.is_file()}
    dry = json.loads(clio(place, "memory", "sleep", "--dry-run", "--json").stdout)
    assert dry["dry_run"] and dry["facts"] == len(FACTS)
    assert {path: path.read_bytes() for path in place.project.rglob("*") if path.is_file()} == before
    done = clio(place, "memory", "sleep")
    assert (done.returncode, done.stderr) == (0, "")
    assert mentions(done.stdout, f"{len(FACTS)} facts", "clio memory log", "clio memory undo")
    assert json.loads(clio(place, "memory", "log", "5", "--json").stdout)[0]["by"] == "hand"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_ctrl_c_ends_the_consolidation_and_reports_its_progress(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    harness = make_harness(place.project)
    for _ in range(150):
        make_sessions(harness)
    log = place.project / ".clio" / "sleep.lock"
    with subprocess.Popen(
        [sys.executable, "-m", "clio", "memory", "sleep"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=place.project,
        env=place.env(),
    ) as process:
        wait_until(lambda: log.exists() or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert "stopped" in out
