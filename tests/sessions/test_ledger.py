"""costs.jsonl: the cost of every turn, written by many clios at the same time, however they end."""

import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from clio.errors import NewerDocument
from clio.providers.prices import format_day
from clio.sessions import ledger as ledger_module
from clio.sessions.ledger import (
    COMPACT_BYTES,
    Ledger,
    LedgerEntry,
    compact_entries,
    make_ledger_entries,
    merge_entries,
    recount_entries,
)
from clio.sessions.state import Bill
from clio.storage.files import write_atomic as real

WRITER = """
import sys
from pathlib import Path
from clio.sessions.ledger import Ledger, LedgerEntry
ledger = Ledger(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    ledger.add([LedgerEntry(date="2026-11-20", project="p", session=sys.argv[2], model="m" * 900, requests=1)])
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "home" / "costs.jsonl")


def spent(day: str = "2026-11-20", session: str = "s", model: str = "m", **sums: int) -> LedgerEntry:
    return LedgerEntry(date=day, project="p", session=session, server="openai", model=model, **({"requests": 1} | sums))


def test_added_entries_are_read_by_the_next_clio(ledger: Ledger) -> None:
    ledger.add([spent(micro_dollars=21_000, prompt_tokens=9, cached_tokens=4)])
    ledger.add([spent(model="other", unpriced_tokens=5)])
    assert ledger.path is not None
    assert Ledger(ledger.path).read().entries == (
        spent(micro_dollars=21_000, prompt_tokens=9, cached_tokens=4),
        spent(model="other", unpriced_tokens=5),
    )
    assert ledger.path.stat().st_mode & 0o777 == 0o600


def test_concurrent_clios_lose_no_entries_during_compaction(ledger: Ledger) -> None:
    assert ledger.path is not None
    rounds = 2 * COMPACT_BYTES // 1_000  # each of them crosses the size at which it is compacted
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(ledger.path), name, str(rounds)]) for name in ("a", "b")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    total: dict[str, int] = {}
    for one in ledger.read().entries:
        total[one.session] = total.get(one.session, 0) + one.requests
    assert total == {"a": rounds, "b": rounds}
    assert ledger.path.stat().st_size < 2 * COMPACT_BYTES


def test_a_long_session_stays_small_and_a_large_ledger_is_rarely_rewritten(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ledger.path is not None
    ledger.add([spent(session=f"session-{number}" * 10) for number in range(400)])
    written: list[int] = []
    monkeypatch.setattr(ledger_module, "write_atomic", lambda path, data: written.append(len(data)) or real(path, data))
    start = ledger.path.stat().st_size
    assert start > 4 * COMPACT_BYTES
    for _ in range(600):
        ledger.add([spent()])
    assert len(written) == 1
    assert 0 < written[0] - start < 200
    assert ledger.path.stat().st_size < start + COMPACT_BYTES + start // 4
    [mine] = [one for one in compact_entries(ledger.read().entries, "2026-11-20") if one.session == "s"]
    assert mine.requests == 600


def test_a_truncated_line_is_removed_and_an_unknown_line_stays(ledger: Ledger) -> None:
    ledger.add([spent()])
    assert ledger.path is not None
    with ledger.path.open("ab") as file:
        file.write(b'{"strange":1}\n{"date":"2026-11-2')
    ledger.add([spent(session="t")])
    read = ledger.read()
    assert [one.session for one in read.entries] == ["s", "t"]
    assert read.damaged == (b'{"strange":1}',)
    ledger.recount("p", {}, format_day)
    assert ledger.read() == read


def test_a_ledger_of_a_newer_clio_is_not_changed(ledger: Ledger) -> None:
    assert ledger.path is not None
    ledger.path.parent.mkdir()
    ledger.path.write_text('{"schema":"clio.costs","version":9}\n', encoding="utf-8")
    with pytest.raises(NewerDocument, match="newer clio"):
        ledger.add([spent()])
    assert ledger.path.read_text(encoding="utf-8") == '{"schema":"clio.costs","version":9}\n'


def test_a_ledger_without_a_path_writes_nothing(tmp_path: Path) -> None:
    silent = Ledger(None)
    silent.add([spent()])
    assert silent.read().entries == ()
    assert list(tmp_path.iterdir()) == []


def test_lines_of_one_session_and_day_become_one(ledger: Ledger) -> None:
    lines = [spent(micro_dollars=10, cached_tokens=1), spent(micro_dollars=5), spent("2026-11-21", micro_dollars=1)]
    assert merge_entries(lines) == [
        spent(requests=2, micro_dollars=15, cached_tokens=1),
        spent("2026-11-21", micro_dollars=1),
    ]


def test_compaction_merges_sessions_then_days_and_keeps_the_sums() -> None:
    today = date(2026, 11, 20)
    lines = [
        spent((today - timedelta(days=ago)).isoformat(), session=f"s{ago}", micro_dollars=1) for ago in range(1_000)
    ]
    kept = compact_entries(lines, today.isoformat())
    assert sum(one.micro_dollars for one in kept) == 1_000
    assert [one.session for one in kept if one.date >= "2026-09-21"] == [f"s{ago}" for ago in range(61)]
    assert {one.session for one in kept if one.date < "2026-09-21"} == {""}
    assert len(kept) < 61 + 340 + 24
    assert compact_entries(kept, today.isoformat()) == kept


def test_bills_of_one_session_by_day_and_model() -> None:
    noon = 1_795_176_000.0
    bills = [
        Bill(model="m", prompt_tokens=10, completion_tokens=2, timestamp=noon, server="openai", cost=7),
        Bill(model="m", prompt_tokens=20, cached_tokens=5, timestamp=noon + 60, server="openai", cost=8),
        Bill(model="old", prompt_tokens=3, completion_tokens=1, timestamp=noon),
    ]
    first, second = make_ledger_entries(bills, project="p", session="s", day_of=format_day)
    assert (first.requests, first.prompt_tokens, first.cached_tokens, first.micro_dollars) == (2, 30, 5, 15)
    assert (second.micro_dollars, second.unpriced_tokens) == (0, 4)


def test_a_recount_keeps_entries_it_cannot_recount() -> None:
    known = [
        spent(session="here", micro_dollars=1),
        spent(session="deleted", micro_dollars=2),
        spent("2026-01-05", session="", micro_dollars=4),
    ]
    again = [spent(session="here", micro_dollars=8), spent("2026-01-05", session="here", micro_dollars=3)]
    counted = recount_entries([*known, LedgerEntry(date="2026-11-20", project="q", model="m")], "p", {"here": again})
    assert [(one.project, one.session, one.micro_dollars) for one in counted] == [
        ("p", "deleted", 2), ("p", "", 4), ("q", "", 0), ("p", "here", 8),
    ]  # fmt: skip
