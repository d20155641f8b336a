"""Long work in a real terminal: a progress bar, Esc ends it, and text typed meanwhile is kept."""

import sys
from pathlib import Path

import pytest

from tests.entrypoints.repl_support import Place, make_place
from tests.support.pty_session import PtySession
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
SLOW = """
import sys, time
from pathlib import Path
import clio.ui.turn_display
from clio.memory.vectors.semantic_index import Documents

clio.ui.turn_display.SHOW_PROGRESS_AFTER_S = clio.ui.turn_display._REDRAW_PERIOD_S = 0.0
read = Documents._embed_file

def slowly(self, file):
    if file == "notes/5.md":
        Path("reading").touch()
        while not Path("go").exists():
            time.sleep(0.01)  # the poll interval, in the program under test
    return read(self, file)

Documents._embed_file = slowly
from clio.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = make_place(tmp_path, starts_python=True)
    (place.home / ".clio" / "config.yaml").write_text("provider: offline\n", encoding="utf-8")
    (place.project / "notes").mkdir()
    for number in range(10):
        (place.project / "notes" / f"{number}.md").write_text(f"The server {number} is blue.\n", encoding="utf-8")
    return place


def wait_for_the_sixth(place: Place, clio: PtySession) -> None:
    """Wait until the bar shows the sixth file, before it is read: ending during it would leave one more."""
    clio.wait_for("▰▰▰▰▰▱▱▱▱▱ 50 %")
    wait_until(lambda: (place.project / "reading").exists(), clio.timeout_s)


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (60, 15)])
def test_documents_are_read_in_the_background_of_the_shell(place: Place, columns: int, lines: int) -> None:
    with place.clio(code=SLOW, columns=columns, lines=lines) as clio:
        clio.wait_for("offline · ")
        clio.line("/docs add notes")
        wait_for_the_sixth(place, clio)
        assert "reading documents ▰▰▰▰▰" in clio.text
        clio.wait_for("esc to interrupt")
        clio.send("next")
        clio.key("escape")
        clio.wait_for("stopping")
        (place.project / "go").touch()
        clio.wait_for("Stopped: 4 files not")
        clio.wait_for("❯ next")
        assert "reading documents" not in clio.text


def test_on_the_command_line_ctrl_c_ends_it(place: Place) -> None:
    with place.clio("docs", "add", "notes", code=SLOW) as clio:
        wait_for_the_sixth(place, clio)
        clio.key("ctrl-c")
        clio.wait_for("stopping")
        (place.project / "go").touch()
        clio.wait_for("Stopped: 4 files not read")
        assert clio.wait_exit() == 0
