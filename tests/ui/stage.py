"""The live screen in tests: events go in, a terminal emulator comes out, and the test controls the clock."""

import io
from collections.abc import Iterable
from pathlib import Path

from clio.agent.user_interface import (
    Event,
    Notice,
    ReasoningDelta,
    Retrying,
    StepFinished,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from clio.config.schema import ShowReasoning
from clio.messages import Usage
from clio.sessions.state import Todo
from clio.ui.screen import Screen
from clio.ui.theme import Terminal
from tests.support.terminal_picture import PictureScreen, render_bytes, screen_lines

GOLDEN = Path(__file__).parent.parent / "golden" / "ui"
ANSWER = """# Result

Two **important** things in `clio/app.py`, and a sentence long enough to be wrapped at the edge of every screen here.

- first
- second, with `code`
  - nested

1. one
2. two
   ```sh
   make test
   ```

| Name | 大きさ | Count |
|------|:------:|------:|
| 漢字 | a | 1 |
| b | 全角文字 | 22 |

```python
def greet(name: str) -> str:
    \"\"\"Say
    hello.\"\"\"
    return f"你好 {name}"  # 世界
```

> quoted words

Done: <b>not HTML</b> &amp; [a link](https://example.org/x).
"""
DIFF = "--- a/clio/app.py\n+++ b/clio/app.py\n@@ -1,3 +1,4 @@\n import os\n-x = 1\n+x = 2\n+y = 3\n def f():\n"


class Stage:
    """A live screen of a fixed size. `reflows` and sizes are those of the terminal it writes to."""

    def __init__(
        self,
        columns: int = 80,
        lines: int = 24,
        *,
        colour: bool = True,
        reflows: bool = False,
        reasoning: ShowReasoning = "show",
        facts: tuple[str, ...] = (),
        todos: tuple[Todo, ...] = (),
    ) -> None:
        self.now = 0.0
        self.size = (columns, lines)
        self.stream = io.StringIO()
        self.own_status = ""
        terminal = Terminal(live=True, escapes=True, colour=colour, reflows=reflows)
        self.screen = Screen(
            self.stream,
            terminal,
            lambda: self.size,
            reasoning=reasoning,
            get_status_parts=lambda: facts,
            get_own_status=lambda: self.own_status,
            get_todos=lambda: todos,
            clock=lambda: self.now,
        )

    def play(self, *events: Event, seconds: float = 0.06) -> None:
        """Handle the events, with one frame after each."""
        for event in events:
            self.now += seconds
            self.screen.handle(event)

    def rest(self, seconds: float = 0.06) -> None:
        """Let time pass and draw a frame."""
        self.now += seconds
        self.screen.tick()

    @property
    def written(self) -> str:
        """Every byte the screen has written."""
        return self.stream.getvalue()

    def terminal(self) -> PictureScreen:
        """Return what a terminal of this size shows."""
        return render_bytes(self.written.encode(), *self.size)

    def everything(self) -> str:
        """Return scrollback and screen."""
        screen = self.terminal()
        return "\n".join([*screen.scrollback(), *screen_lines(screen)]).rstrip("\n")

    def visible(self) -> str:
        """Return the screen without scrollback."""
        return "\n".join(screen_lines(self.terminal())).rstrip("\n")


def start() -> tuple[Event, ...]:
    """Return the first events of a turn."""
    return (TurnStarted(session_id="s", text="hi", model="m"), StepStarted(step=1, prompt_tokens=9))


def finished(
    call_id: str, title: str, summary: str, *, ok: bool = True, preview: str = "", diff: str = ""
) -> ToolFinished:
    """Return the end of a call."""
    return ToolFinished(
        call_id=call_id, name="x", title=title, ok=ok, summary=summary, seconds=0.5, preview=preview, diff=diff
    )


def end(status: str = "done", error: str = "") -> TurnFinished:
    """Return the end of a turn."""
    usage = Usage(prompt_tokens=12_345, completion_tokens=432, cached_tokens=8_000)
    return TurnFinished(status=status, text="", steps=2, usage=usage, seconds=12.3, error=error)  # pyright: ignore


def whole_turn() -> tuple[Event, ...]:
    """Return a turn with every kind of event."""
    return (
        *start(),
        ReasoningDelta(text="I should look at the file first,"),
        ReasoningDelta(text=" then think.\n\nYes."),
        TextDelta(text="Let me look at **two** files"),
        TextDelta(text=".\n"),
        ToolStarted(call_id="1", name="read_file", title="read clio/app.py:10-40"),
        ToolStarted(call_id="2", name="search_text", title="search 'retry' in clio/"),
        ToolStarted(call_id="3", name="run_command", title="run pytest -q tests/ui"),
        ToolProgress(call_id="3", text="12 passed"),
        finished("2", "search 'retry' in clio/", "3 matches"),
        finished("1", "read clio/app.py:10-40", "31 lines"),
        finished("3", "run pytest -q tests/ui", "exit 1 in 2.3 s", ok=False, preview="E  AssertionError: 漢\nFAILED"),
        StepFinished(step=1, usage=None),
        Retrying(attempt=1, of=4, delay_s=2.5, reason="the server asks to wait"),
        StepStarted(step=2, prompt_tokens=9),
        ToolStarted(call_id="4", name="edit_file", title="edit clio/app.py"),
        finished("4", "edit clio/app.py", "+2 -1", diff=DIFF),
        Notice(text="1 secret was redacted", level="warning"),
        TextDelta(text=ANSWER),
        end(),
    )


def deltas(text: str, size: int) -> Iterable[TextDelta]:
    """Return the text in pieces of this many characters."""
    return [TextDelta(text=text[at : at + size]) for at in range(0, len(text), size)]
