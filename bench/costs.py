"""What counting costs costs: a price, a line in the ledger, the sums of days over many sessions.

    python bench/costs.py [--sessions 5000] [--turns 8]

Printed are wall-clock milliseconds, medians where a thing was done often. Nothing is asserted here.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from clio.messages import Usage
from clio.providers.prices import PriceBook
from clio.sessions.ledger import Ledger, LedgerEntry, merge_entries

DAYS = 30


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=5_000)
    parser.add_argument("--turns", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        book = PriceBook(Path(folder))
        row("first price (reads YAML)", timed(lambda: book.find_price("openai", "gpt-6-sol")))
        price = book.find_price("openai", "gpt-6-sol")
        assert price is not None
        usage = Usage(prompt_tokens=12_000, cached_tokens=8_000, completion_tokens=450)
        cost_of = price.cost
        row("price of one request", median(timed(lambda: cost_of(usage)) for _ in range(1_000)))
        row("looked up again", median(timed(lambda: book.find_price("openai", "gpt-6-sol")) for _ in range(1_000)))
        ledger = Ledger(Path(folder) / "costs.jsonl")
        lines = [spent(session, turn) for session in range(options.sessions) for turn in range(options.turns)]
        started = time.perf_counter()
        for place in range(0, len(lines), 500):
            ledger.add(lines[place : place + 500])
        row(f"{len(lines):,} turns written, 500 at once", 1_000 * (time.perf_counter() - started))
        row("one turn more, fsynced", median(timed(lambda: ledger.add([spent(0, 0)])) for _ in range(20)))
        assert ledger.path is not None
        print(f"{'size of the file':<36} {ledger.path.stat().st_size / 1e6:>9.2f} MB")
        row("read and added up by day", timed(lambda: by_day(ledger)))


def spent(session: int, turn: int) -> LedgerEntry:
    """One turn of one session."""
    return LedgerEntry(
        date=f"2026-11-{session % DAYS + 1:02}", project=f"/home/me/project{session % 7}", session=f"s{session:036}",
        server="openai", model="gpt-6-sol", requests=3, prompt_tokens=12_000 + turn, cached_tokens=8_000,
        completion_tokens=450, micro_dollars=14_100,
    )  # fmt: skip


def by_day(ledger: Ledger) -> dict[str, int]:
    """What `/cost days --all` adds up."""
    sums: dict[str, int] = {}
    for one in merge_entries(ledger.read().spent):
        sums[one.date] = sums.get(one.date, 0) + one.micro_dollars
    return sums


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of one run."""
    started = time.perf_counter()
    work()
    return 1_000 * (time.perf_counter() - started)


def row(name: str, milliseconds: float) -> None:
    """One line."""
    print(f"{name:<36} {milliseconds:>9.3f} ms")


if __name__ == "__main__":
    main()
