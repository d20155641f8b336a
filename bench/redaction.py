"""Measure the redaction of secrets: recall on generated secrets, false alarms in files, the time in streams.

    python -m bench.redaction [--megabytes 50] [--show] [--seed 20000] [FOLDER …]

The default folders are the packages and the standard library of this Python, and /usr/share/doc. `--show` prints the
line of each false alarm. With `--megabytes 1`, the measurement takes mostly the time of the streams.
"""

import argparse
import base64
import difflib
import json
import random
import sysconfig
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from clio.security.redaction.redactor import Redactor
from tests.security.secret_contexts import CONTEXTS, in_contexts, leaks
from tests.security.secret_corpus import KINDS, RandomLetters, halved, leaves_a_tail, placed, survives

ROOT = Path(__file__).parent.parent
STREAM_CHARS = 100_000
PIECE_CHARS = 24
BUDGET_MS = 5.0
HALVED_LOTS = 6
CONTEXT_SEEDS = 12
RUNS = 15


def read_texts(folders: list[Path], limit: int) -> Iterator[tuple[Path, str]]:
    """Yield different text files below folders, up to `limit` characters in total."""
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


def measure_recall() -> tuple[int, int, list[str]]:
    """Return the number of secrets, the number that are completely removed, and kinds and places of the others."""
    redactor, total, missed = Redactor(), 0, list[str]()
    for case in placed():
        total += 1
        if survives(redactor.redact(case.text).text, case):
            missed.append(f"{case.kind} in {case.place}")
    return total, total - len(missed), missed


def measure_contexts(seed: int) -> tuple[int, dict[str, int]]:
    """Return the number of secrets in contexts, and by context the number with six consecutive letters left."""
    redactor, total, missed = Redactor(), 0, dict[str, int]()
    for case in in_contexts(range(seed, seed + CONTEXT_SEEDS), each=12):
        total += 1
        if leaks(redactor.redact(case.text).text, case):
            missed[case.kind] = missed.get(case.kind, 0) + 1
    return total, missed


def count_false_alarms(folders: list[Path], limit: int, show: bool) -> tuple[int, int, float]:
    """Return the number of characters searched, the number of secrets reported in them, and the seconds."""
    redactor, size, seconds = Redactor(), 0, 0.0
    for path, text in read_texts(folders, limit):
        started = time.perf_counter()
        counts = redactor.redact(text).counts
        seconds += time.perf_counter() - started
        size += len(text)
        if counts and show:
            for line in text.splitlines():
                cleaned = redactor.redact(line)
                if cleaned.counts:
                    print(f"  {path.name}: {dict(cleaned.counts)} {line.strip()[:100]!r}")
    return size, redactor.total, seconds


def measure_halved() -> tuple[int, int, list[str]]:
    """Return the same for secrets that are split between two messages; the second half must be removed."""
    total, missed = 0, list[str]()
    for case in halved(range(HALVED_LOTS)):
        total += 1
        redactor = Redactor()
        redacted = [redactor.message(part).text for part in case.parts]
        if leaves_a_tail(redacted, case):
            missed.append(f"{case.kind} in {case.place}")
    return total, total - len(missed), missed


def count_false_halves(folders: list[Path], limit: int) -> tuple[int, int]:
    """Return the characters of ordinary files, split at random into messages, and the redactions that splits cause."""
    rng, size, false_alarms = random.Random(7), 0, 0
    apart, together = Redactor(env_secrets=ENVIRONMENT), Redactor(env_secrets=ENVIRONMENT)
    for _, text in read_texts(folders, limit):
        at = 0
        while at < len(text):
            part = text[at : at + rng.randint(200, 6_000)]
            marks = together.message(part).text.count("[REDACTED:")
            false_alarms += max(0, marks - apart.redact(part).text.count("[REDACTED:"))
            at += len(part)
        size += len(text)
    return size, false_alarms


ENVIRONMENT = [
    *(RandomLetters(f"environment/{number}")(24 + number) for number in range(18)),
    "correct-horse-battery",
    "violet kettle 77 orbit",
]
SETTINGS: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "nothing": ((), []),
    "20 values": ((), ENVIRONMENT),
    "and a pattern": ((r"ACME-\d+",), ENVIRONMENT),
}


def make_samples() -> dict[str, str]:
    """Return 100 KB each of prose, source code, a diff of it, and JSON with base64."""
    rng = random.Random(1)
    library = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    code = "".join(path.read_text(encoding="utf-8", errors="replace") for path in library)
    lines = code[: 4 * STREAM_CHARS].splitlines(True)
    changed = [line for line in lines if rng.random() > 0.1]
    records = [{"id": n, "data": base64.b64encode(rng.randbytes(900)).decode()} for n in range(100)]
    texts = {
        "prose": "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))),
        "source code": code,
        "diff": "".join(difflib.unified_diff(lines, changed)),
        "JSON, base64": json.dumps(records, indent=1),
    }
    return {name: text[:STREAM_CHARS] for name, text in texts.items()}


def time_stream_ms(text: str, redactor: Redactor, piece_chars: int) -> float:
    """Return the CPU time of redacting a text in pieces in milliseconds, without the loop; best of several runs."""
    pieces = [text[start:end] for start, end in pairwise([*range(0, len(text), piece_chars), len(text)])]
    best = loop = float("inf")
    for _ in range(RUNS):
        stream = redactor.stream()
        started = time.process_time()
        for piece in pieces:
            stream.feed(piece)
        stream.finish()
        best = min(best, time.process_time() - started)
        started = time.process_time()
        for piece in pieces:
            str(piece)
        loop = min(loop, time.process_time() - started)
    return (best - loop) * 1000


def time_decoding_ms(text: str) -> float:
    """Return the CPU time of decoding the JSON events with the same pieces in milliseconds, for comparison."""
    events = [
        json.dumps(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "some-model",
                "choices": [{"index": 0, "delta": {"content": text[at : at + PIECE_CHARS]}, "finish_reason": None}],
            }
        )
        for at in range(0, len(text), PIECE_CHARS)
    ]
    best = float("inf")
    for _ in range(RUNS):
        started = time.process_time()
        for event in events:
            json.loads(event)
        best = min(best, time.process_time() - started)
    return best * 1000


def report_streams() -> None:
    """Print the CPU times of streams."""
    decoding_ms = time_decoding_ms(make_samples()["prose"])
    print(f"  for comparison: json.loads of the events takes {decoding_ms:.1f} ms per 100 KB")
    for name, text in make_samples().items():
        costs = [time_stream_ms(text, Redactor(*given), PIECE_CHARS) for given in SETTINGS.values()]
        parts = ", ".join(f"{cost:.1f} {given}" for given, cost in zip(SETTINGS, costs, strict=True))
        print(f"  {name:<15}{parts}  ms per 100 KB in pieces of {PIECE_CHARS} (aim: {BUDGET_MS:.0f})")
    code, redactor = make_samples()["source code"], Redactor(env_secrets=ENVIRONMENT)
    word = RandomLetters("word")(1_000_000)
    print(f"  single letters  {time_stream_ms(code, redactor, 1):.1f} ms per 100 KB")
    print(f"  1 MB at once    {time_stream_ms((code * 10)[:1_000_000], redactor, 1_000_000):.0f} ms")
    print(f"  1 MB, no space  {time_stream_ms(word, redactor, PIECE_CHARS):.0f} ms in pieces of {PIECE_CHARS}")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("--show", action="store_true")
    parser.add_argument(
        "--seed",
        type=int,
        default=20_000,
        help="of the secrets in contexts; seeds up to 10,000 were used in development",
    )
    arguments = parser.parse_args()
    paths = sysconfig.get_paths()
    folders: list[Path] = arguments.folders or [Path(paths["purelib"]), Path(paths["stdlib"]), Path("/usr/share/doc")]
    total, redacted, missed = measure_recall()
    print(f"kinds            {len(KINDS)}, in {total} places")
    print(f"recall           {redacted / total:.4f}")
    for each in missed[:40]:
        print(f"  missed: {each}")
    total, leaked = measure_contexts(arguments.seed)
    share = 1 - sum(leaked.values()) / total
    print(f"in contexts      {share:.4f} of {total} in {len(CONTEXTS)} contexts; missed: {leaked}")
    size, false_alarms, seconds = count_false_alarms(folders, arguments.megabytes * 1_000_000, arguments.show)
    print(f"false alarms     {false_alarms} in {size / 1e6:.1f} MB: {false_alarms / (size / 1e6):.2f} per MB")
    print(f"whole            {size / 1e6 / seconds:.1f} MB/s")
    total, redacted, missed = measure_halved()
    print(f"split            {redacted / total:.4f} of {total} leave no second half")
    for each in missed[:10]:
        print(f"  missed: {each}")
    size, false_alarms = count_false_halves(folders, min(arguments.megabytes, 10) * 1_000_000)
    print(f"false splits     {false_alarms} in {size / 1e6:.1f} MB of messages split at random")
    print("streamed")
    report_streams()


if __name__ == "__main__":
    main()
