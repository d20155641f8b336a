"""The input line keeps its row, and printed text above it does not change, whatever opens and closes."""

import random
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.entrypoints.repl_support import Place, at_prompt, make_place
from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.pty_session import PtySession
from tests.support.terminal_picture import line_text
from tests.support.walk import STEADY, list_rows, name_colours

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
ANSWER = "# Totals\n\n" + "\n\n".join(f"Paragraph {number} of **this** answer, 漢字 in `code`." for number in range(9))
TODOS = [{"title": f"item {number}"} for number in range(4)]
ASK = {"question": "Which one?", "options": ["the first", "the second", "neither of them"]}
MENUS = {
    "/": "/effort ",
    "/m": "/mcp ",
    "/theme ": "high-contrast",
    "see @": "rules.py",
    "@pr": "prices.py",
    "\x12": "history",
    "one\x1b\rtwo\x1b\rthree\x1b\r@pr": "prices.py",
    "a long line " * 20 + "@ru": "rules.py",
}
PICKERS = ("/model", "/effort", "/theme")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ChatServer(models=[{"id": name} for name in ("test-model", "other", "third")]) as server:
        place = make_place(tmp_path, server)
        (place.home / ".clio" / "config.yaml").write_text("confine_unasked: off\ntheme: dark\n", encoding="utf-8")
        for name in ("prices.py", "rules.py", "till.py"):
            (place.project / name).write_text("x = 1\n", encoding="utf-8")
        yield place


class Watcher:
    """Types into one clio, and compares its screen before and after."""

    def __init__(self, clio: PtySession, server: ChatServer, rng: random.Random) -> None:
        self.clio = clio
        self.server = server
        self.rng = rng
        self.turns = 0

    @property
    def lines(self) -> int:
        return self.clio.screen.lines

    @property
    def row(self) -> int:
        """The row of the input line, counted from the top of the screen."""
        rows = [number for number, row in enumerate(self.clio.lines) if row.startswith("❯")]
        assert rows, self.clio.text
        return rows[-1]

    def read_above(self) -> list[str]:
        """Return the coloured rows above the input line, of scrollback and screen, without blank ones at the end."""
        self.clio.take_in()
        screen = self.clio.screen
        rows = list_rows(screen)[: len(screen.history.top) + self.row]
        while rows and not line_text(rows[-1], screen.columns):
            rows.pop()
        shown = (name_colours(cells, screen.columns) or line_text(cells, screen.columns) for cells in rows)
        # A background that reached the edge also does so in a wider terminal, if the row was hidden meanwhile.
        return [re.sub(r"\[on \w+\] +\[\]$", "", row) for row in shown]

    def wait_idle(self) -> None:
        at_prompt(self.clio)
        assert self.clio.lines[self.row + 1].startswith("test-model"), self.clio.text
        assert not any(self.clio.lines[self.row + 2 :]), self.clio.text

    def open_menu(self) -> None:
        """Open a menu and close it, which must leave nothing."""
        row, above = self.row, self.read_above()
        typed, shown = self.rng.choice(list(MENUS.items()))
        self.clio.send(typed)
        self.clio.wait_for_screen(re.escape(shown))
        assert self.row == row or len(typed) > 10, self.clio.text
        self.clio.key("escape")
        self.clio.wait_gone(shown)
        if typed != "\x12":
            self.clio.key("ctrl-c")  # clears the line
        self.wait_idle()
        assert self.row == row, self.clio.text
        self.check_rows(above)

    def choose(self) -> None:
        """Open a list and close it."""
        at_bottom, above = self.row == self.lines - 2, self.read_above()
        self.clio.line(self.rng.choice(PICKERS))
        self.clio.wait_for_screen(r"esc to cancel\Z")
        self.clio.key("escape")
        self.clio.wait_gone("esc to cancel")
        self.wait_idle()
        self.check_after(at_bottom, above)

    def run_turn(self) -> None:
        """Let the model ask, plan, run, and answer; type ahead meanwhile."""
        at_bottom, above = self.row == self.lines - 2, self.read_above()
        kind = self.rng.choice(("text", "command", "ask", "todos"))
        if kind == "command":
            self.server.add(tool_calls((("run_command", {"command": "rm -rf build; seq 9"}),)))
        elif kind == "ask":
            self.server.add(tool_calls((("ask_user", ASK),)))
        elif kind == "todos":
            done = [{"id": number, "status": "completed"} for number in range(1, 5)]
            self.server.add(tool_calls((("todo_operations", {"operation": "write", "todos": TODOS}),)))
            self.server.add(tool_calls((("todo_operations", {"operation": "update", "todos": done}),)))
        self.turns += 1
        ends = f"End of {self.turns}."
        self.server.add(text(self.rng.choice((f"{ANSWER}\n\n{ends}", ends))))
        self.clio.line("fill it")
        if kind == "command":
            self.clio.wait_for_screen("deletes permanently")
            self.clio.send(key := self.rng.choice("yn"))
            if key == "n":
                self.clio.wait_for_screen("why not")
                self.clio.send("\r")
        elif kind == "ask":
            self.clio.wait_for_screen("neither of them")
            self.clio.send(self.rng.choice("12"))
        self.clio.wait_for_screen(rf"{re.escape(ends)}\s+\d requests?")
        self.wait_idle()
        self.check_after(at_bottom, above)

    def resize(self) -> None:
        columns = self.rng.choice((60, 80, 100))
        self.clio.resize(columns, self.rng.choice((18, 24, 30)))
        self.clio.send("typed")
        self.clio.wait_for_screen("❯ typed")
        self.clio.send("\x15")
        self.wait_idle()

    def check_after(self, at_bottom: bool, above: list[str]) -> None:
        """Check that a line at the bottom returns there, and that nothing printed before has changed."""
        assert not at_bottom or self.row == self.lines - 2, f"row {self.row} of {self.lines}:\n{self.clio.text}"
        self.check_rows(above)

    def check_rows(self, above: list[str]) -> None:
        """Check that the rows have not changed."""
        now = self.read_above()[: len(above)]
        changed = [pair for pair in zip(above, now, strict=True) if pair[0] != pair[1]]
        assert not changed, f"{changed[0]}\n{self.clio.everything}"


@pytest.mark.parametrize("seed", range(4))
def test_the_input_line_keeps_its_row(place: Place, seed: int) -> None:
    assert place.server is not None
    rng = random.Random(seed)
    with place.clio(columns=80, lines=24, setup=STEADY, COLORTERM="truecolor") as clio:
        watcher = Watcher(clio, place.server, rng)
        clio.wait_for("for commands")
        watcher.wait_idle()
        acts = (watcher.open_menu, watcher.choose, watcher.run_turn, watcher.resize)
        for act in rng.choices(acts, weights=(6, 2, 3, 1), k=16):
            act()


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (40, 20)])
def test_a_declined_call_stays_above_the_next_question(place: Place, columns: int, lines: int) -> None:
    """The input line for the reason is removed, however long the reason was, and no other row is hidden."""
    assert place.server is not None
    reason = "the package manager does it better"
    place.server.add(
        text("\n\n".join(f"line {number}" for number in range(30))),
        tool_calls((("run_command", {"command": "rm -rf build; seq 9"}),)),
        tool_calls((("web_fetch", {"url": "https://example.org/a"}),)),
        text("As you like."),
    )
    with place.clio(columns=columns, lines=lines, setup=STEADY) as clio:
        clio.wait_for("for commands")
        clio.line("fill it")
        clio.wait_for_screen(r"line 29\s+1 request")
        at_prompt(clio)
        clio.line("clean up")
        clio.wait_for_screen("deletes permanently")
        clio.send("n")
        clio.wait_for_screen(r"✗ run rm -rf build; seq 9\n  why not\?")
        clio.line(reason)
        shown = " ".join(clio.wait_for_screen(r"\? fetch[\s\S]*n no, and say why").split())
        assert f"… declined{':' if columns == 80 else ''} {reason}" in shown and "● run rm -rf build; seq 9" in shown, (
            shown
        )
        assert "why not" not in clio.everything and shown.count("https://example.org/a") == 1, shown
        clio.key("escape")
        at_prompt(clio)


ABOVE = "import sys\nsys.stdout.write(''.join(f'shell {{n}}\\n' for n in range({count})))\nsys.stdout.flush()\n"
FULL_SCREEN = "#!/bin/sh\nprintf '\\033[?1049h\\033[H\\033[2Jpage'; echo edited > $1; printf '\\033[?1049l'\n"
PRINTING = "#!/bin/sh\nseq {count}; echo edited > $1\n"


def check_menu(clio: PtySession, server: ChatServer) -> None:
    """Check that a menu opens and closes while nothing above it moves."""
    watcher = Watcher(clio, server, random.Random(0))
    watcher.wait_idle()
    row, above, scrolled = watcher.row, watcher.read_above(), len(clio.screen.history.top)
    clio.send("/")
    clio.wait_for_screen("/effort ")
    clio.wait_for_screen(r"❯ /\n")
    assert (watcher.row, len(clio.screen.history.top)) == (row, scrolled), clio.text
    clio.key("escape")
    clio.wait_gone("/effort ")
    clio.key("ctrl-c")
    watcher.wait_idle()
    assert (watcher.row, watcher.read_above(), len(clio.screen.history.top)) == (row, above, scrolled), clio.text


@pytest.mark.parametrize("count", [0, 8, 9, 16, 22, 60])
@pytest.mark.parametrize("change", ["start", "lower", "higher"])
def test_the_first_menu_moves_nothing(place: Place, count: int, change: str) -> None:
    """Wherever the input line is after the start or after a resize."""
    assert place.server is not None
    with place.clio(columns=80, lines=24, setup=ABOVE.format(count=count) + STEADY) as clio:
        clio.wait_for("for commands")
        at_prompt(clio)
        if change != "start":
            clio.resize(80, 20 if change == "lower" else 34)
            clio.send("typed")
            clio.wait_for_screen("❯ typed")
            clio.send("\x15")
        check_menu(clio, place.server)


@pytest.mark.parametrize("program", [FULL_SCREEN, PRINTING.format(count=3)], ids=["full screen", "printing"])
@pytest.mark.parametrize("count", [0, 5])
def test_the_first_menu_after_an_editor_moves_nothing(place: Place, program: str, count: int) -> None:
    """Rows that the editor did not change are still known; after other programs the menu has space below."""
    assert place.server is not None
    editor = place.home / "editor"
    editor.write_text(program, encoding="utf-8")
    editor.chmod(0o755)
    with place.clio(columns=80, lines=24, setup=ABOVE.format(count=count) + STEADY, EDITOR=str(editor)) as clio:
        clio.wait_for("for commands")
        at_prompt(clio)
        clio.send("\x18\x05")
        clio.wait_for_screen("❯ edited")
        clio.send("\x15")
        check_menu(clio, place.server)


def test_the_first_menu_at_the_bottom_after_a_full_screen_editor_moves_nothing(place: Place) -> None:
    assert place.server is not None
    editor = place.home / "editor"
    editor.write_text(FULL_SCREEN, encoding="utf-8")
    editor.chmod(0o755)
    place.server.add(text(f"{ANSWER}\n\n{ANSWER}"))
    with place.clio(columns=80, lines=24, setup=STEADY, EDITOR=str(editor)) as clio:
        clio.wait_for("for commands")
        clio.line("fill it")
        clio.wait_for("1 request")
        at_prompt(clio)
        clio.send("\x18\x05")
        clio.wait_for_screen("❯ edited")
        clio.send("\x15")
        check_menu(clio, place.server)


def test_an_editor_that_prints_at_the_bottom_hides_nothing(place: Place) -> None:
    """The rows are unknown now, so the menu must not replace them by the earlier ones."""
    assert place.server is not None
    editor = place.home / "editor"
    editor.write_text(PRINTING.format(count=1), encoding="utf-8")
    editor.chmod(0o755)
    place.server.add(text(f"{ANSWER}\n\n{ANSWER}"))
    with place.clio(columns=80, lines=24, setup=STEADY, EDITOR=str(editor)) as clio:
        clio.wait_for("for commands")
        clio.line("fill it")
        clio.wait_for("1 request")
        at_prompt(clio)
        clio.send("\x18\x05")
        clio.wait_for_screen("❯ edited")
        clio.send("\x15")
        watcher = Watcher(clio, place.server, random.Random(0))
        watcher.wait_idle()
        above = watcher.read_above()
        clio.send("/")
        clio.wait_for_screen("/effort ")
        clio.key("escape")
        clio.wait_gone("/effort ")
        clio.key("ctrl-c")
        watcher.wait_idle()
        assert watcher.read_above() == above and "1" in above, clio.text


def test_a_terminal_that_never_reports_its_row_is_not_waited_for(place: Place) -> None:
    assert place.server is not None
    place.server.add(text("One."), text("Two."), text("Three."))
    with place.clio(columns=80, lines=24, setup=STEADY) as clio:
        clio.screen.reply = None
        clio.wait_for("❯")
        began = time.monotonic()
        for number, shown in enumerate(("One.", "Two.", "Three."), 1):
            clio.line(f"message {number}")
            clio.wait_for(shown)
        clio.send("/")
        clio.wait_for_screen("/effort ")
        assert clio.raw.count(b"\x1b[6n") == 1
        assert time.monotonic() - began < 15


@pytest.mark.parametrize("seconds", [0.05, 0.6])
def test_a_menu_typed_before_a_slow_reply_opens_and_the_reply_is_not_text(place: Place, seconds: float) -> None:
    """On a slow connection the menu waits a moment for the row, and then opens without it."""
    with place.clio(columns=80, lines=24, setup=STEADY) as clio:
        replies: list[str] = []
        clio.screen.reply = replies.append
        clio.wait_for("❯")
        clio.send("/")
        end = time.monotonic() + seconds
        while not replies or time.monotonic() < end:
            clio.take_in(0.01)
        clio.send("".join(replies))
        clio.wait_for_screen(r"/effort [\s\S]*❯ /\n|❯ /\n[\s\S]*/effort ")
        clio.send("he")
        clio.wait_for_screen(r"❯ /he\n")


@pytest.mark.parametrize("ends", ["open", "done"])
def test_a_pinned_list_is_printed_when_it_is_unpinned_and_leaves_no_blank_rows(place: Place, ends: str) -> None:
    """A printed list is not pinned again by a turn that does not change it."""
    assert place.server is not None
    done = [{"id": number, "status": "completed"} for number in range(1, 5 if ends == "done" else 3)]
    place.server.add(
        tool_calls((("todo_operations", {"operation": "write", "todos": TODOS}),)),
        tool_calls((("todo_operations", {"operation": "update", "todos": done}),)),
        text("One."),
        text("Two."),
    )
    with place.clio(columns=80, lines=24, setup=ABOVE.format(count=60) + STEADY) as clio:
        clio.wait_for("for commands")
        at_prompt(clio)
        for number, answer in enumerate(("One.", "Two."), 1):
            clio.line("go on")
            clio.wait_for_screen(rf"{answer}[\s\S]*request")
            at_prompt(clio)
            rows = clio.lines
            assert rows[-2].startswith("❯") and not rows[-3] and "request" in rows[-4], clio.text
            assert clio.everything.count("  ☑ item 1") == 1 and clio.everything.count("item 3") == 1, (
                number,
                clio.text,
            )


def test_a_notice_above_the_line_is_between_blank_rows(place: Place) -> None:
    assert place.server is not None
    place.server.add(text("Answered."))
    with place.clio(columns=80, lines=24, setup=STEADY) as clio:
        clio.wait_for("for commands")
        clio.line("hello")
        clio.wait_for("1 request")
        at_prompt(clio)
        for count in (1, 2):
            clio.send("\x0f")
            clio.wait_for_screen(rf"(no output to open[\s\S]*){{{count}}}❯ Ask")
            at_prompt(clio)
        rows = clio.lines
        first = next(number for number, row in enumerate(rows) if "1 request" in row)
        assert [bool(row) for row in rows[first : first + 7]] == [True, False, True, False, True, False, True], (
            clio.text
        )
