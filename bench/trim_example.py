"""Show a trim: the request before it and the request after it, as clio sent them.

    python -m bench.trim_example

A scripted model works on a made-up project with clio's tools: it reads, makes a failing edit, edits, runs the tests and
searches. The window has 10,000 tokens. Each message is printed as one line, the summary in full.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from clio.agent.user_interface import ContextTrimmed
from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.harness import Harness, make_repository

WINDOW = 10_000
REQUEST = "Make read_number accept a sign, and run the tests."
_SHOWN = 96
_READER = "".join(
    f"def read_{name}(text, start):\n    '''Read one {name}.'''\n    end = start\n"
    f"    while end < len(text) and text[end].is{kind}():\n        end += 1\n    return text[start:end], end\n\n\n"
    for name, kind in [("number", "digit"), ("word", "alpha"), ("blank", "space")]
    + [(f"form_{n}", "alnum") for n in range(24)]
)
_TESTS = """\
import pytest, reader

def test_sign():
    assert reader.read_number("-12 x", 0) == ("-12", 3)

@pytest.mark.parametrize("n", range(60))
def test_form(n):
    assert reader.read_word("abc 1", 0) == ("abc", 3)
"""
_WORDS, _DATES = (_READER.replace("number", kind).replace("form", f"{kind}_form") for kind in ("word", "date"))
_OLD = "    '''Read one number.'''\n    end = start\n"
_NEW = "    '''Read one number.'''\n    end = start + (text[start : start + 1] in '+-')\n"
_RUN = ("run_command", {"command": f"{sys.executable} -m pytest -v -p no:cacheprovider test_reader.py"})
_EDIT = ("edit_file", {"path": "reader.py", "old_string": _OLD, "new_string": _NEW})
_WRONG = {"path": "reader.py", "old_string": "def read_number(text):\n    sign = 1\n" * 9, "new_string": "pass\n"}
STEPS: list[tuple[str, list[tuple[str, dict[str, Any]]]]] = [
    ("I read the module.", [("read_file", {"path": "reader.py"})]),
    ("I edit it.", [("edit_file", _WRONG)]),
    ("The quoted lines were wrong: the sign belongs before the loop over the digits.", [_EDIT]),
    ("Now the tests.", [_RUN]),
    ("Who else calls it?", [("search_text", {"pattern": "def read_form"})]),
    ("I look at the result.", [("read_file", {"path": "reader.py"})]),
    ("And at the tests.", [("read_file", {"path": "test_reader.py"})]),
    ("The words are read elsewhere.", [("read_file", {"path": "words.py"})]),
    ("And the dates.", [("read_file", {"path": "dates.py"})]),
    ("Once more, all of them.", [_RUN]),
]


def summarize_messages(body: dict[str, Any]) -> list[str]:
    """Return a line for each message: role, number of characters, beginning."""
    rows: list[str] = []
    for message in body["messages"]:
        text = str(message["content"] or "")
        calls = [
            f"{call['function']['name']} {call['function']['arguments']}" for call in message.get("tool_calls") or []
        ]
        line = " ".join("; ".join(filter(None, [text, *calls])).split()).replace(sys.executable, "python")
        size = len(text) + sum(map(len, calls))
        rows.append(f"{message['role']:<9} {size:>6,}  {line[:_SHOWN]}{'…' if len(line) > _SHOWN else ''}")
    return rows


def run_example(folder: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the bodies of all requests, and the index of the first that was built with a trim (0 for none)."""
    home = folder / "home"
    home.mkdir()
    make_repository(
        folder / "project", {"reader.py": _READER, "test_reader.py": _TESTS, "words.py": _WORDS, "dates.py": _DATES}
    )
    replies = [tool_calls(calls, words=text) for text, calls in STEPS]
    with ChatServer([*replies, text("read_number accepts a sign; 61 tests pass.")]) as server:
        harness = Harness(folder / "project", home, server, context_window=WINDOW, approve="all")
        trimmed: list[int] = []

        def emit(event: object) -> None:
            if isinstance(event, ContextTrimmed):
                trimmed.append(len(server.requests))

        harness.events = type("Events", (list,), {"append": lambda self, event: emit(event)})()
        harness.app = harness.build()

        async def run_turn() -> None:
            await harness.turn(REQUEST)
            await harness.app.close()

        asyncio.run(run_turn())
        return [request.body for request in server.requests], trimmed[0] if trimmed else 0


def main() -> None:
    """Print both requests."""
    with tempfile.TemporaryDirectory() as name:
        bodies, index = run_example(Path(name))
    if not index:
        raise SystemExit("nothing was trimmed")
    for title, body in (("before", bodies[index - 1]), ("after", bodies[index])):
        print(f"{title}: {len(json.dumps(body['messages'], ensure_ascii=False)):,} characters")
        print("\n".join(summarize_messages(body)) + "\n")
    summary = str(bodies[index]["messages"][1]["content"])
    print(summary.partition("</thread_summary>")[0].replace(sys.executable, "python") + "</thread_summary>")


if __name__ == "__main__":
    main()
