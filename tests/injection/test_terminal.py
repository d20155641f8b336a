"""Text of a file, a server, a command or a model stays text on every way to the terminal."""

import re
from pathlib import Path

from clio.ui.line_rules import CLEAR_BELOW
from clio.ui.safe_text import StreamCleaner, clean, escape_controls
from tests.injection.corpus import TERMINAL, WORD, Trick
from tests.injection.editor_ways import editor_ways
from tests.injection.ways import Way, ways
from tests.support.rows import each_row


def every_way(folder: Path) -> dict[str, Way]:
    return ways(folder) | editor_ways(folder)


NAMES = list(every_way(Path()))
# Sequences that clio itself writes: styles, the cursor of the live rows, frames, links to the web.
_OWN = re.compile(
    r"\x1b\[[0-9;]*m|\x1b\[\d*[ABCDJK]|\x1b\[\?(?:25|2026)[hl]|\x1b\]8;[\w=]*;(?:https?://[\x21-\x7e]+)?\x1b\\"
)
STEERING = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e01ef]"
)
_TOO_SHORT = ("\x1b", "\x1b[", "\x9b")  # the beginning of any sequence


@each_row("way", NAMES)
def test_no_text_controls_the_terminal(way: str, tmp_path: Path) -> None:
    written = every_way(tmp_path)[way]("\n".join(trick.text for trick in TERMINAL))
    for trick in TERMINAL:
        assert not (found := _harm(trick, written)), f"{trick.name}: {found!r} in {written!r}"
    assert written.count(WORD) >= len(TERMINAL) or (way == "notification" and WORD in written), (
        "hardly anything is shown"
    )


@each_row("trick", TERMINAL, ids=lambda trick: trick.name)
def test_each_sequence_alone_and_cut_anywhere(trick: Trick) -> None:
    streamed = [("".join([(each := StreamCleaner()).feed(trick.text[:at]), each.feed(trick.text[at:]), each.finish()]))
                for at in range(len(trick.text))]  # fmt: skip
    for written in (clean(trick.text), escape_controls(trick.text), *streamed):
        assert WORD in written
        assert not (found := _harm(trick, written)), f"{found!r} in {written!r}"


def _harm(trick: Trick, written: str) -> str:
    """Return the first sign that has an effect, "" if there is none."""
    written = written.replace(CLEAR_BELOW, "")  # clio's own sequence to clear what is below the rows
    for raw in trick.raw:
        if raw in written and raw not in _TOO_SHORT:
            return raw
    left = STEERING.search(_OWN.sub("", written))
    return left[0] if left else ""
