"""Lines people write, with what clio is to make of them."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from clio.memory.preferences.stated_preferences import StatedPreference, find_preferences

HERE = Path(__file__).parent
NOTICE_FILES = ("lines.txt", "held_out.txt", "fresh.txt", "blind.txt", "last.txt")
UNSEEN = "unseen.txt"
"""No rule was changed for a line of it, and none is to be: else it says nothing any more."""


class Line(Struct, frozen=True):
    """One line of a corpus. outcome: "-" for nothing; else a kind, with "!" where it is certain and "?" where not."""

    outcome: str
    content: str
    text: str


def notice_lines(name: str) -> list[Line]:
    """The lines of one file about what is noticed."""
    return [Line(*parts) for parts in _parts(name, 3)]


class Score(Struct, frozen=True, kw_only=True):
    """How well a file's lines come out, in numbers of lines and of what was noticed."""

    lines: int
    recorded: int
    recorded_right: int
    asked: int
    asked_right: int
    wanted: int
    found: int


def score(name: str) -> Score:
    """The score of one file. A line with several rules names one of them; the others count as right."""
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
    """Requests, and the kind of work they are."""
    return [(text, None if name == "-" else name) for name, text in _parts("scenario_lines.txt", 2)]


def as_outcome(noticed: StatedPreference) -> tuple[str, str]:
    """What was noticed in the corpus's form."""
    return f"{noticed.kind}{'!' if noticed.certain else '?'}", noticed.content


def _parts(name: str, number: int) -> Iterator[list[str]]:
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            *head, text = (part.strip() for part in line.split("|", number - 1))
            yield [*head, text.replace("\\n", "\n")]
