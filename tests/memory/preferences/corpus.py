"""Lines people write, with what clio is to make of them."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from clio.memory.preferences.notice import Noticed

HERE = Path(__file__).parent
NOTICE_FILES = ("lines.txt", "held_out.txt", "fresh.txt", "blind.txt")


class Line(Struct, frozen=True):
    """One line of a corpus. outcome: "-" for nothing; else a kind, with "!" where it is certain and "?" where not."""

    outcome: str
    content: str
    text: str


def notice_lines(name: str) -> list[Line]:
    """The lines of one file about what is noticed."""
    return [Line(*parts) for parts in _parts(name, 3)]


def scenario_lines() -> list[tuple[str, str | None]]:
    """Requests, and the kind of work they are."""
    return [(text, None if name == "-" else name) for name, text in _parts("scenario_lines.txt", 2)]


def as_outcome(noticed: Noticed) -> tuple[str, str]:
    """What was noticed in the corpus's form."""
    return f"{noticed.kind}{'!' if noticed.certain else '?'}", noticed.content


def _parts(name: str, number: int) -> Iterator[list[str]]:
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            *head, text = (part.strip() for part in line.split("|", number - 1))
            yield [*head, text.replace("\\n", "\n")]
