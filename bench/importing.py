"""Measure the time and the memory of `clio import`.

    python -m bench.importing [MB]        200 by default

Generates one file of Claude Code and one chat of Gemini CLI of that size, with outputs of about ten kilobytes of source
code, and as many megabytes in files of 2 MB. The index is not built.
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from clio.importing.intake import Importer, ImportLedger
from clio.importing.places import SourceFile
from clio.importing.reading import Agent
from clio.security.redaction.redactor import Redactor

_WORDS = [word for path in Path(__file__).parent.rglob("*.py") for word in path.read_text(encoding="utf-8").split()]


def make_claude_lines(mb: float, session: str) -> Iterator[str]:
    """Yield the lines of a conversation of `mb` megabytes."""
    rng, size, turn = random.Random(0), 0, 0
    while size < mb * 1e6:
        turn += 1
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_760_000_000 + turn))
        common = {"sessionId": session, "timestamp": at, "cwd": "/project"}
        blocks = (
            {"type": "text", "text": _text(rng, 60)},
            {"type": "tool_use", "id": f"t{turn}", "name": "Bash", "input": {"command": _text(rng, 5)}},
        )
        output = _text(rng, 20_000 if turn % 5 == 0 else 1_500)
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": output}
        messages = [
            ("user", {"content": _text(rng, 30)}),
            *(("assistant", {"id": f"m{turn}", "model": "m", "content": [block]}) for block in blocks),
            ("user", {"content": [result]}),
        ]
        for place, (kind, message) in enumerate(messages):
            line = common | {"type": kind, "uuid": f"{session}-{turn}-{place}", "message": message}
            data = json.dumps(line | ({"toolUseResult": {"stdout": output}} if place == 3 else {})) + "\n"
            size += len(data)
            yield data


def make_gemini_chat(mb: float) -> Iterator[str]:
    """Yield the parts of one JSON document with a chat of `mb` megabytes."""
    rng, size, turn = random.Random(0), 0, 0
    yield '{"sessionId": "s", "messages": ['
    while size < mb * 1e6:
        turn += 1
        response = [{"functionResponse": {"response": {"output": _text(rng, 3_000)}}}]
        call = {"id": f"c{turn}", "name": "read_file", "args": {"path": "x.py"}, "result": response}
        messages = (
            {"id": f"u{turn}", "type": "user", "content": _text(rng, 30)},
            {"id": f"g{turn}", "type": "gemini", "content": _text(rng, 60), "toolCalls": [call]},
        )
        data = ("," if turn > 1 else "") + ",".join(json.dumps(message, indent=1) for message in messages)
        size += len(data)
        yield data
    yield "]}"


def measure(agent: Agent, folder: Path) -> None:
    """Import the files of a folder, and print time and memory. To be run in its own process."""
    files = [
        SourceFile(agent=agent, path=path, size=path.stat().st_size, modified=path.stat().st_mtime_ns)
        for path in sorted(folder.glob("*.json*"))
    ]
    redactor = Redactor()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as project:
        ledger = ImportLedger(Path(project) / ".clio" / "cache")
        importer = Importer(
            Path(project) / ".clio" / "sessions", ledger, lambda text: redactor.redact(text).text, 12_000
        )
        report = importer.run(files)
        again = importer.run(files, again=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    mb, memory = report.read_bytes / 1e6, f"{before / 1e3:>4.0f} → {peak / 1e3:>4.0f} MB"
    print(
        f"{agent:<8} {len(files):>4} files {mb:>6.0f} MB {report.messages:>7,} messages  {report.seconds:>6.1f} s "
        f"{mb / report.seconds:>5.0f} MB/s   again {again.seconds:>5.1f} s   {memory}"
    )


def main(mb: float) -> None:
    """Generate the data and measure."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        single, small_files, chat = (root / part for part in ("one", "many", "chat"))
        for folder in (single, small_files, chat):
            folder.mkdir()
        _write(single / "one.jsonl", make_claude_lines(mb, "one"))
        for number in range(max(int(mb / 2), 1)):
            _write(small_files / f"{number}.jsonl", make_claude_lines(2, f"s{number}"))
        _write(chat / "session-1.json", make_gemini_chat(mb))
        for agent, folder in (("claude", single), ("claude", small_files), ("gemini", chat)):
            subprocess.run([sys.executable, "-m", "bench.importing", "measure", agent, folder], check=True)


def _write(path: Path, pieces: Iterator[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(pieces)


def _text(rng: random.Random, words: int) -> str:
    start = rng.randrange(max(len(_WORDS) - words, 1))
    return " ".join(_WORDS[start : start + words])


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["measure", agent, folder]:
            measure("gemini" if agent == "gemini" else "claude", Path(folder))
        case [size]:
            main(float(size))
        case _:
            main(200)
