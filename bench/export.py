"""Measure the time and the size of exported long sessions.

    python -m bench.export [MB ...]        20 by default

The generated coding sessions have answers in Markdown, edits, diffs and outputs of a few kilobytes, and are trimmed
every 400 messages. Secrets are replaced as in clio. The last rows are difficult for the export: prose alone, brackets,
emphasis, and messages with one line of a megabyte.
"""

import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from clio.export.export_session import Form, export_session
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, Usage, UserMessage
from clio.security.redaction.redactor import Redactor
from clio.sessions.state import Trim
from clio.sessions.store import SessionStore

FORMS: tuple[Form, ...] = ("html", "md", "json")
WORDS = (
    "the parser reads a token and keeps what it does not know until somebody asks for it again in a later turn".split()
)
CODE = (
    "def read(path: str, limit: int = 10) -> list[str]:\n    # how many lines\n    return open(path).read()[:limit]\n"
)


def make_coding_session(mb: float) -> Iterator[Message]:
    """Yield the messages of turns until they have `mb` megabytes."""
    rng, size, number = random.Random(0), 0, 0
    while size < mb * 1e6:
        number += 1
        prose = "\n\n".join(" ".join(rng.choices(WORDS, k=60)) for _ in range(3))
        output = "\n".join(f"src/m{rng.randrange(99)}.py:{n}: {' '.join(rng.choices(WORDS, k=8))}" for n in range(180))
        old = CODE * rng.randrange(1, 6)
        calls = (
            ToolCall(id="a", name="search_text", arguments=json.dumps({"pattern": "limit", "path": "src"})),
            ToolCall(
                id="b",
                name="edit_file",
                arguments=json.dumps(
                    {"path": "src/a.py", "old_string": old, "new_string": old.replace("limit", "most")}
                ),
            ),
            ToolCall(id="c", name="run_command", arguments=json.dumps({"command": "git diff"})),
        )
        diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,9 +1,9 @@\n" + "-old line\n+new line\n" * 60
        usage = Usage(prompt_tokens=9_000, completion_tokens=300, cached_tokens=8_000)
        turn: list[Message] = [
            UserMessage(content=f"{number}. {prose[:300]}", created=1e9 + number),
            AssistantMessage(content=prose, tool_calls=calls, model="m", usage=usage, created=1e9 + number),
            ToolMessage(tool_call_id="a", content=output, summary="180 lines"),
            ToolMessage(tool_call_id="b", content="edited", summary="+3 -3"),
            ToolMessage(tool_call_id="c", content=diff, summary="exit 0"),
            AssistantMessage(content=f"## Done\n\n{prose}\n\n```python\n{CODE * 4}```\n", model="m", usage=usage),
        ]
        size += len(prose) * 2 + len(output) + len(diff) + 2 * len(old) + 4 * len(CODE)
        yield from turn


def repeat_answer(text: str, count: int) -> Iterator[Message]:
    """Yield the same answer `count` times."""
    for _ in range(count):
        yield AssistantMessage(content=text)


def measure(name: str, messages: Iterator[Message]) -> None:
    """Print one row for each format."""
    redactor = Redactor()
    with tempfile.TemporaryDirectory() as folder:
        store = SessionStore(Path(folder))
        session = store.new(Path("/project"))
        window: list[str] = []
        for message in messages:
            session.append(message)
            window.append(message.id)
            if len(window) == 800:
                session.add_trim(Trim(handle=f"t{len(session.trims) + 1}", dropped=tuple(window[:400]), freed_tokens=1))
                del window[:400]
        session.close()
        for form in FORMS:
            start = time.perf_counter()
            text = export_session(store, session.id, form, redact=lambda text: redactor.redact(text).text, now=0.0)
            seconds = time.perf_counter() - start
            print(f"{name:24} {form:5} {seconds:7.2f} s {len(text.encode()) / 1e6:8.1f} MB {text.count('<'):>10,} tags")


if __name__ == "__main__":
    for mb in [float(word) for word in sys.argv[1:]] or [20.0]:
        measure(f"{mb:g} MB of coding", make_coding_session(mb))
    measure("20 MB of prose", repeat_answer(" ".join(WORDS * 240) + "\n\n", 800))
    measure("brackets", repeat_answer("[" * 30_000 + "](" * 10_000, 20))
    measure("emphasis", repeat_answer("*a _b " * 9_000, 20))
    measure("lines of a megabyte", repeat_answer("x" * 1_000_000, 20))
