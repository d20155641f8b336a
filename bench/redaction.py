"""How well secrets are found: recall over made-up ones, whole and halved, false alarms in files, what a stream costs.

python -m bench.redaction [--megabytes 50] [--show] [--seed 20000] [FOLDER …]

The folders are by default the packages and the standard library of this Python, and /usr/share/doc. `--show` prints the
line of every alarm. The streams are also timed where `--megabytes 1` makes the rest short.
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
from tests.security.secret_corpus import KINDS, Lot, halved, leaves_a_tail, placed, survives

ROOT = Path(__file__).parent.parent
STREAM_CHARS = 100_000
PIECE_CHARS = 24
BUDGET_MS = 5.0
HALVED_LOTS = 6
CONTEXT_SEEDS = 12
RUNS = 15


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


def contexts(seed: int) -> tuple[int, dict[str, int]]:
    """Secrets in their contexts, and by context those of which six letters on end are left."""
    redactor, total, missed = Redactor(), 0, dict[str, int]()
    for case in in_contexts(range(seed, seed + CONTEXT_SEEDS), each=12):
        total += 1
        if leaks(redactor.redact(case.text).text, case):
            missed[case.kind] = missed.get(case.kind, 0) + 1
    return total, missed


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


def halves() -> tuple[int, int, list[str]]:
    """Secrets cut in two by two messages, those whose second half is gone, and the kinds and places of the rest."""
    total, missed = 0, list[str]()
    for case in halved(range(HALVED_LOTS)):
        total += 1
        redactor = Redactor()
        said = [redactor.message(part).text for part in case.parts]
        if leaves_a_tail(said, case):
            missed.append(f"{case.kind} in {case.place}")
    return total, total - len(missed), missed


def halves_claimed(folders: list[Path], limit: int) -> tuple[int, int]:
    """Characters of ordinary files, cut into messages by lot, and marks only the cuts made."""
    chance, size, claimed = random.Random(7), 0, 0
    apart, together = Redactor(env_secrets=ENVIRONMENT), Redactor(env_secrets=ENVIRONMENT)
    for _, text in texts(folders, limit):
        at = 0
        while at < len(text):
            part = text[at : at + chance.randint(200, 6_000)]
            marks = together.message(part).text.count("[REDACTED:")
            claimed += max(0, marks - apart.redact(part).text.count("[REDACTED:"))
            at += len(part)
        size += len(text)
    return size, claimed


ENVIRONMENT = [
    *(Lot(f"environment/{number}")(24 + number) for number in range(18)),
    "correct-horse-battery",
    "violet kettle 77 orbit",
]
SETTINGS: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "nothing": ((), []),
    "20 values": ((), ENVIRONMENT),
    "and a pattern": ((r"ACME-\d+",), ENVIRONMENT),
}


def samples() -> dict[str, str]:
    """100 KB each of prose, source code, a diff of it, and JSON with base64 in it."""
    chance = random.Random(1)
    library = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    code = "".join(path.read_text(encoding="utf-8", errors="replace") for path in library)
    lines = code[: 4 * STREAM_CHARS].splitlines(True)
    changed = [line for line in lines if chance.random() > 0.1]
    pictures = [{"id": n, "data": base64.b64encode(chance.randbytes(900)).decode()} for n in range(100)]
    found = {
        "prose": "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))),
        "source code": code,
        "diff": "".join(difflib.unified_diff(lines, changed)),
        "JSON, base64": json.dumps(pictures, indent=1),
    }
    return {name: text[:STREAM_CHARS] for name, text in found.items()}


def streamed(text: str, redactor: Redactor, piece_chars: int) -> float:
    """Milliseconds of the processor a text costs in pieces, over the loop that only cuts it: the best of some runs."""
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


def decoded(text: str) -> float:
    """Milliseconds it takes to read the same pieces out of the JSON they come in: what a stream costs anyhow."""
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


def streams() -> None:
    """Print what streams cost."""
    floor = decoded(samples()["prose"])
    print(f"  in the same run, json.loads of the events such pieces come in takes {floor:.1f} ms per 100 KB")
    for name, text in samples().items():
        costs = [streamed(text, Redactor(*given), PIECE_CHARS) for given in SETTINGS.values()]
        parts = ", ".join(f"{cost:.1f} {given}" for given, cost in zip(SETTINGS, costs, strict=True))
        print(f"  {name:<15}{parts}  ms per 100 KB in pieces of {PIECE_CHARS} (aim: {BUDGET_MS:.0f})")
    code, redactor = samples()["source code"], Redactor(env_secrets=ENVIRONMENT)
    word = Lot("word")(1_000_000)
    print(f"  one letter each {streamed(code, redactor, 1):.1f} ms per 100 KB")
    print(f"  1 MB at once    {streamed((code * 10)[:1_000_000], redactor, 1_000_000):.0f} ms")
    print(f"  1 MB, no blank  {streamed(word, redactor, PIECE_CHARS):.0f} ms in pieces of {PIECE_CHARS}")


def main() -> None:
    """Print the figures."""
    reader = argparse.ArgumentParser()
    reader.add_argument("folders", nargs="*", type=Path)
    reader.add_argument("--megabytes", type=int, default=50)
    reader.add_argument("--show", action="store_true")
    reader.add_argument(
        "--seed", type=int, default=20_000, help="of the secrets in contexts; those up to 10,000 are used"
    )
    given = reader.parse_args()
    paths = sysconfig.get_paths()
    folders: list[Path] = given.folders or [Path(paths["purelib"]), Path(paths["stdlib"]), Path("/usr/share/doc")]
    total, found, missed = recall()
    print(f"kinds            {len(KINDS)}, in {total} places")
    print(f"recall           {found / total:.4f}")
    for each in missed[:40]:
        print(f"  missed: {each}")
    total, lost = contexts(given.seed)
    print(
        f"in contexts      {1 - sum(lost.values()) / total:.4f} of {total} in {len(CONTEXTS)} contexts; missed: {lost}"
    )
    size, claimed, spent = alarms(folders, given.megabytes * 1_000_000, given.show)
    print(f"false alarms     {claimed} in {size / 1e6:.1f} MB: {claimed / (size / 1e6):.2f} a MB")
    print(f"whole            {size / 1e6 / spent:.1f} MB/s")
    total, found, missed = halves()
    print(f"halved           {found / total:.4f} of {total} leave no second half")
    for each in missed[:10]:
        print(f"  missed: {each}")
    size, claimed = halves_claimed(folders, min(given.megabytes, 10) * 1_000_000)
    print(f"false halves     {claimed} in {size / 1e6:.1f} MB of messages cut by lot")
    print("streamed")
    streams()


if __name__ == "__main__":
    main()
