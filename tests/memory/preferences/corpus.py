"""Lines that users write, with what clio should recognize in them."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from clio.memory.preferences.stated_preferences import StatedPreference, find_preferences

HERE = Path(__file__).parent
NOTICE_FILES = ("lines.txt", "held_out.txt", "fresh.txt", "blind.txt", "last.txt")
UNSEEN = "unseen.txt"
"""No rule was or may be changed for a line of this file: otherwise it measures nothing."""


class Line(Struct, frozen=True):
    """One line of a corpus. outcome: "-" for nothing; else a kind, with "!" if certain and "?" if not."""

    outcome: str
    content: str
    text: str


def notice_lines(name: str) -> list[Line]:
    """Return the lines of one file of statements."""
    return [Line(*parts) for parts in _parts(name, 3)]


class Score(Struct, frozen=True, kw_only=True):
    """Correct and wrong results of a file, in numbers of lines and of recognized statements."""

    lines: int
    recorded: int
    recorded_right: int
    asked: int
    asked_right: int
    wanted: int
    found: int


def score(name: str) -> Score:
    """Return the score of one file. A line with several rules names one of them; the others count as correct."""
    lines = notice_lines(name)
    given, right, found = {"!": 0, "?": 0}, {"!": 0, "?": 0}, 0
    for line in lines:
        outcomes = [as_outcome(one) for one in find_preferences(line.text)]
        found += (line.outcome, line.content) in outcomes
        for outcome in outcomes:
            given[outcome[0][-1]] += 1
            right[outcome[0][-1]] += outcome == (line.outcome, line.content) or len(outcomes) > 1
    return Score(
        lines=len(lines),
        recorded=given["!"],
        recorded_right=right["!"],
        asked=given["?"],
        asked_right=right["?"],
        wanted=sum(line.outcome != "-" for line in lines),
        found=found,
    )


def scenario_lines() -> list[tuple[str, str | None]]:
    """Return requests with their task type."""
    return [(text, None if name == "-" else name) for name, text in _parts("scenario_lines.txt", 2)]


def as_outcome(noticed: StatedPreference) -> tuple[str, str]:
    """Return what was recognized, in the notation of the corpus."""
    return f"{noticed.kind}{'!' if noticed.certain else '?'}", noticed.content


def _parts(name: str, number: int) -> Iterator[list[str]]:
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            *head, text = (part.strip() for part in line.split("|", number - 1))
            yield [*head, text.replace("\\n", "\n")]
