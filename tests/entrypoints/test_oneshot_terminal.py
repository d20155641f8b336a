"""`clio -p` whose standard output is a terminal."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.entrypoints.repl_support import Place, clio, make_place
from tests.support.chat_server import ChatServer, text, tool_calls

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
ANSWER = """# Totals

A **bold** word, `code`, and words enough to be wrapped at forty columns.

| item | sum |
|------|----:|
| one  |  10 |

```python
total = 1
```

- first
- second
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ChatServer() as server:
        yield make_place(tmp_path, server)


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_markdown_is_rendered(place: Place, term: str) -> None:
    assert place.server is not None
    place.server.add(tool_calls((("read_file", {"path": "a.md"}),)), text(ANSWER, chunk_size=3))
    (place.project / "a.md").write_text("x\n", encoding="utf-8")
    with place.clio("-p", "what is the total?", columns=40, TERM=term) as session:
        assert session.wait_exit() == 0
        shown = session.everything
        assert not any(mark in shown for mark in ("**", "`", "# Totals", "|--", "- first")), shown
        assert "Totals" in shown and "total = 1" in shown and "• first" in shown and "* read a.md" in shown
        assert shown.count("enough") == 1 and all(len(row) < 40 for row in session.lines)
        assert (b"\x1b[" in session.raw) is (term != "dumb")


def test_a_pipe_gets_the_models_text_unchanged(place: Place) -> None:
    assert place.server is not None
    place.server.add(text(ANSWER, chunk_size=3))
    assert clio(place, "-p", "what is the total?").stdout == ANSWER


def test_a_screen_reader_gets_the_models_text_wrapped(place: Place) -> None:
    assert place.server is not None
    place.server.add(text("A **bold** word."))
    with place.clio("--screen-reader", "-p", "what is the total?") as session:
        assert session.wait_exit() == 0
        assert "A **bold** word." in session.everything
