"""How well secrets are found: recall over made-up ones, false alarms in ordinary files, what a stream costs.

python -m bench.redaction [--megabytes 50] [--show] [FOLDER …]

The folders are by default the packages and the standard library of this Python, and /usr/share/doc. `--show` prints the
line of every alarm.
"""

import argparse
import sysconfig
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from clio.security.redact import Redactor
from tests.security.secret_corpus import KINDS, placed, survives

STREAM_CHARS = 400_000
PIECE_CHARS = 24
BUDGET_MS = 5.0


def texts(folders: list[Path], limit: int) -> Iterator[tuple[Path, str]]:
    """Text files under folders, up to so many characters in all; none twice, none that is compiled or compressed."""
    seen, taken = set[int](), 0
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or not path.is_file() or path.suffix in (".pyc", ".so", ".gz", ".png", ".svg"):
                continue
            raw = path.read_bytes()
            if b"\0" in raw[:4096] or len(raw) > 2_000_000 or hash(raw) in seen:
                continue
            seen.add(hash(raw))
            text = raw.decode("utf-8", "replace")
            taken += len(text)
            yield path, text
            if taken > limit:
                return


def recall() -> tuple[int, int, list[str]]:
    """Secrets placed, secrets of which nothing is left, and the kinds and places of the others."""
    redactor, total, missed = Redactor(), 0, list[str]()
    for case in placed():
        total += 1
        if survives(redactor.redact(case.text).text, case):
            missed.append(f"{case.kind} in {case.place}")
    return total, total - len(missed), missed


def alarms(folders: list[Path], limit: int, show: bool) -> tuple[int, int, float]:
    """Characters looked at, secrets claimed in them, and seconds."""
    redactor, size, spent = Redactor(), 0, 0.0
    for path, text in texts(folders, limit):
        started = time.perf_counter()
        counts = redactor.redact(text).counts
        spent += time.perf_counter() - started
        size += len(text)
        if counts and show:
            for line in text.splitlines():
                cleaned = redactor.redact(line)
                if cleaned.counts:
                    print(f"  {path.name}: {dict(cleaned.counts)} {line.strip()[:100]!r}")
    return size, redactor.total, spent


def streamed(text: str) -> float:
    """Milliseconds a 100 KB of a stream costs in small pieces: the best of three."""
    best = float("inf")
    for _ in range(3):
        stream = Redactor().stream()
        started = time.perf_counter()
        for start, end in pairwise([*range(0, len(text), PIECE_CHARS), len(text)]):
            stream.feed(text[start:end])
        stream.finish()
        best = min(best, time.perf_counter() - started)
    return best * 1000 / (len(text) / 100_000)


def main() -> None:
    """Print the figures."""
    reader = argparse.ArgumentParser()
    reader.add_argument("folders", nargs="*", type=Path)
    reader.add_argument("--megabytes", type=int, default=50)
    reader.add_argument("--show", action="store_true")
    given = reader.parse_args()
    paths = sysconfig.get_paths()
    folders: list[Path] = given.folders or [Path(paths["purelib"]), Path(paths["stdlib"]), Path("/usr/share/doc")]
    total, found, missed = recall()
    print(f"kinds            {len(KINDS)}, in {total} places")
    print(f"recall           {found / total:.4f}")
    for each in missed[:40]:
        print(f"  missed: {each}")
    size, claimed, spent = alarms(folders, given.megabytes * 1_000_000, given.show)
    print(f"false alarms     {claimed} in {size / 1e6:.1f} MB: {claimed / (size / 1e6):.2f} a MB")
    print(f"whole            {size / 1e6 / spent:.1f} MB/s")
    library = sorted(Path(paths["stdlib"]).glob("*.py"))
    sample = "".join(path.read_text(encoding="utf-8", errors="replace") for path in library)[:STREAM_CHARS]
    print(f"streamed         {streamed(sample):.1f} ms per 100 KB in pieces of {PIECE_CHARS} (aim: {BUDGET_MS:.0f})")


if __name__ == "__main__":
    main()
