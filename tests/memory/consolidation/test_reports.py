"""Reports of a consolidation: its line, and its entry in the log."""

from pathlib import Path

import pytest

from clio.memory.consolidation import consolidation as report_module
from clio.memory.consolidation.consolidation import Report, ReportLog


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (
            Report(at=0.0, replayed=42, facts=3, solutions=1, merged=2, archived=5),
            "consolidated: 42 turns processed, 3 facts, 1 fix, 2 merged, 5 archived · /memory log, /memory undo",
        ),
        (Report(at=0.0, replayed=1), "consolidated: 1 turn processed, nothing new"),
        (
            Report(at=0.0, replayed=7, facts=1, early_end="stopped", waiting=1_200),
            "consolidated: 7 turns processed, 1 fact; stopped, 1,200 turns left · /memory log, /memory undo",
        ),
        (
            Report(at=0.0, early_end="time", waiting=1),
            "consolidated: 0 turns processed, nothing new; out of time, 1 turn left",
        ),
        (
            Report(at=0.0, replayed=2, rules=1, dry_run=True),
            "dry run: 2 turns to process, 1 rule · nothing was written",
        ),
    ],
)
def test_a_consolidation_in_one_line(report: Report, line: str) -> None:
    assert report.line == line


def test_the_log_keeps_the_newest_reports_and_has_a_size_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_module, "_MAX_LOG_BYTES", 20_000)
    log = ReportLog(tmp_path / ".clio" / "sleep.log.jsonl")
    assert log.last(5) == ()
    for number in range(300):
        log.add(Report(at=float(number), facts=number, changes=("a change " * 20,)))
        assert log.path.stat().st_size <= 21_000
    assert [report.facts for report in log.last(3)] == [299, 298, 297]
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_an_unknown_line_costs_one_report(tmp_path: Path) -> None:
    log = ReportLog(tmp_path / "sleep.log.jsonl")
    log.add(Report(at=1.0))
    with log.path.open("ab") as file:
        file.write(b'{"at": "soon"}\n{"at": 2')
    log.add(Report(at=3.0))
    assert [report.at for report in log.last(10)] == [3.0, 1.0]
