"""How fast redaction is: MB/s over real source, whole and streamed in small pieces, and how many files it changes.

python -m bench.redact [folder]      (default: the standard library of this Python)
"""

import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

from clio.security.redact import Redactor

PIECE_CHARS = 24
STREAM_CHARS = 400_000


def sources(folder: Path) -> list[str]:
    """All Python files under a folder, third-party packages left out."""
    files = (path for path in sorted(folder.rglob("*.py")) if "site-packages" not in path.parts)
    return [path.read_text(encoding="utf-8", errors="replace") for path in files]


def seconds(work: Callable[[], object]) -> float:
    """The best of three runs."""
    times: list[float] = []
    for _ in range(3):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def stream(text: str) -> None:
    """Redact a text as a model would write it."""
    redactor = Redactor().stream()
    for place in range(0, len(text), PIECE_CHARS):
        redactor.feed(text[place : place + PIECE_CHARS])
    redactor.finish()


def main() -> None:
    """Print the table."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(sysconfig.get_paths()["stdlib"])
    texts = sources(folder)
    size = sum(map(len, texts))
    redactor = Redactor()
    changed = sum(bool(redactor.redact(text).counts) for text in texts)
    whole = seconds(lambda: [redactor.redact(text) for text in texts])
    sample = "".join(texts)[:STREAM_CHARS]
    piecewise = seconds(lambda: stream(sample))
    print(f"files            {len(texts)}, {size / 1e6:.1f} MB, {changed} changed")
    print(f"whole            {size / 1e6 / whole:.1f} MB/s")
    print(f"streamed         {len(sample) / 1e6 / piecewise:.2f} MB/s in pieces of {PIECE_CHARS}")
    print(f"a piece          {piecewise / (len(sample) / PIECE_CHARS) * 1e6:.0f} µs")


if __name__ == "__main__":
    main()
