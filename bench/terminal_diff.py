"""Measure the display of a change: CPU milliseconds from the approval request to the first screen of its diff.

python bench/terminal.py diff
"""

import asyncio
import io
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from clio.security.actions import ChangeFiles, FileChange
from clio.security.approval import ApprovalRequest, Ask
from clio.tools.files.diff import diff_texts
from clio.ui.approval_dialog import PromptIO, TerminalApprover
from clio.ui.diff_view import find_changed_words, render_diff
from clio.ui.theme import Terminal, Theme

TERMINAL = Terminal(live=True, escapes=True, colour=True, reflows=True)
LAST_CHOICE = "all"
"""The last word of "d show all", which is the end of the first screen."""
RUNS = 5


class _ScreenRecorder(io.StringIO):
    """Records when the first screen is complete."""

    def __init__(self) -> None:
        super().__init__()
        self.shown_at = 0.0

    def write(self, text: str) -> int:
        if not self.shown_at and LAST_CHOICE in text and "show" in text:
            self.shown_at = time.process_time()
        return super().write(text)


def make_cases() -> dict[str, tuple[str, str]]:
    """Return texts before and after a change by name."""
    plain = "".join(f"value_{number} = compute({number}, 'abc')\n" for number in range(10_000))
    half = plain[: len(plain) // 2]
    return {
        "10,000 lines, all new": ("", plain),
        "5,000 lines, all changed": (half, half.replace("compute", "calculate")),
        "10,000 lines, all changed": (plain, plain.replace("compute", "calculate")),
        "10,000 lines, every 10th changed": (plain, plain.replace("0, 'abc'", "0, 'abd'")),
        "one line of 1 MB, a word changed": ("x " * 500_000 + "\n", "x " * 250_000 + "y " + "x " * 249_999 + "\n"),
    }


async def first_paint_ms(before: str, after: str) -> float:
    """Return the CPU time from the request until the first screen is drawn, in milliseconds."""

    @asynccontextmanager
    async def suspended() -> AsyncGenerator[None]:
        yield

    recorder = _ScreenRecorder()
    with create_pipe_input() as keyboard:
        display = Vt100_Output(recorder, lambda: Size(rows=24, columns=80), term="xterm-256color")
        prompt_io = PromptIO(
            io.StringIO(), TERMINAL, lambda: (80, 24), suspended, lambda: None, keyboard=keyboard, display=display
        )
        change = FileChange(path=Path("app.py"), kind="update", before=before, after=after)
        request = ApprovalRequest(
            title="edit app.py", action=ChangeFiles(changes=(change,)), verdict=Ask("low", "changes files")
        )
        started = time.process_time()
        answer = asyncio.ensure_future(TerminalApprover(prompt_io).ask(request))
        while not recorder.shown_at:
            await asyncio.sleep(0)
        keyboard.send_text("y")
        await answer
    return (recorder.shown_at - started) * 1000


def report() -> None:
    """Measure and print."""
    print("diff: first screen of a proposal at 80×24, CPU milliseconds, median of", RUNS)
    for name, (before, after) in make_cases().items():
        print(f"  {name:36}{median(asyncio.run(first_paint_ms(before, after)) for _ in range(RUNS)):8.1f}")
    before, after = make_cases()["10,000 lines, all changed"]
    diff = diff_texts(before, after, "a", "a").text
    print("diff: other, CPU milliseconds")
    print(
        f"  {'20 rows below a finished call':36}{_median_cpu_ms(lambda: list(render_diff(diff, Theme(), 80, 20))):8.1f}"
    )
    worst = ("a b " * 30 + "x", "b a " * 30 + "y")
    print(f"  {'changed words of two lines, at worst':36}{_median_cpu_ms(lambda: find_changed_words(*worst)):8.1f}")


def _median_cpu_ms(work: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(RUNS):
        started = time.process_time()
        work()
        times.append((time.process_time() - started) * 1000)
    return median(times)
