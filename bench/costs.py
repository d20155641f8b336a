"""Measure the accounting of costs: a price, an entry in the ledger, sums by day over many sessions.

    python bench/costs.py [--sessions 5000] [--turns 8]

Prints wall-clock milliseconds; medians if an operation is repeated. Asserts nothing.
"""

import argparse
import tempfile
import time
from pathlib import Path

from bench.measurements import median_ms, time_ms
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
        prices = PriceBook(Path(folder))
        print_row("first price (reads YAML)", time_ms(lambda: prices.find_price("openai", "gpt-6-sol")))
        price = prices.find_price("openai", "gpt-6-sol")
        assert price is not None
        usage = Usage(prompt_tokens=12_000, cached_tokens=8_000, completion_tokens=450)
        compute_cost = price.cost
        print_row("cost of one request", median_ms(lambda: compute_cost(usage), 1_000))
        print_row("price again", median_ms(lambda: prices.find_price("openai", "gpt-6-sol"), 1_000))
        ledger = Ledger(Path(folder) / "costs.jsonl")
        entries = [make_entry(session, turn) for session in range(options.sessions) for turn in range(options.turns)]
        started = time.perf_counter()
        for place in range(0, len(entries), 500):
            ledger.add(entries[place : place + 500])
        print_row(f"add {len(entries):,} turns, 500 at once", 1_000 * (time.perf_counter() - started))
        print_row("add one turn, with fsync", median_ms(lambda: ledger.add([make_entry(0, 0)]), 20))
        assert ledger.path is not None
        print(f"{'size of the file':<36} {ledger.path.stat().st_size / 1e6:>9.2f} MB")
        print_row("read and sum by day", time_ms(lambda: sum_by_day(ledger)))


def make_entry(session: int, turn: int) -> LedgerEntry:
    """Return the ledger entry of one turn."""
    return LedgerEntry(
        date=f"2026-11-{session % DAYS + 1:02}", project=f"/home/me/project{session % 7}", session=f"s{session:036}",
        server="openai", model="gpt-6-sol", requests=3, prompt_tokens=12_000 + turn, cached_tokens=8_000,
        completion_tokens=450, micro_dollars=14_100,
    )  # fmt: skip


def sum_by_day(ledger: Ledger) -> dict[str, int]:
    """Return the sums that `/cost days --all` shows, in millionths of a dollar."""
    sums: dict[str, int] = {}
    for one in merge_entries(ledger.read().entries):
        sums[one.date] = sums.get(one.date, 0) + one.micro_dollars
    return sums


def print_row(name: str, milliseconds: float) -> None:
    """Print one row."""
    print(f"{name:<36} {milliseconds:>9.3f} ms")


if __name__ == "__main__":
    main()
