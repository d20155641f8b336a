"""Reads the decision records and makes the tables of docs/decisions/README.md, grouped by subject.

`python docs/make_reference.py` writes the tables into the page.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

FOLDER = Path(__file__).resolve().parent / "decisions"
HEADINGS = ("Status and date", "Context", "Decision", "Alternatives considered", "Consequences")
"""The parts of every record, in this order."""
SUBJECTS: dict[str, tuple[int, ...]] = {
    "Agent and context window": (1, 2, 10, 12, 13, 49),
    "Sessions and files on disk": (6, 23, 43, 54, 60, 89),
    "Memory": (8, 15, 16, 19, 20, 25, 26, 28, 29, 34, 35, 37, 44, 75, 76, 77, 78, 91, 92, 93, 94, 95, 96),
    "Search and recall": (17, 18, 30, 31, 32, 33, 36, 74, 81, 90),
    "Feedback and response styles": (38, 39),
    "File tools and undo": (3, 5, 7, 40, 80, 83),
    "Approvals and security": (4, 14, 55, 56, 57, 58, 79, 61, 62, 66, 67, 73),
    "Servers and costs": (41, 63, 68, 69, 70),
    "Commands and screen": (9, 21, 22, 42, 51, 52, 53, 71, 72, 82),
    "Extensions and other programs": (45, 46, 47, 48, 50, 84, 85, 86, 87, 88),
    "Start-up and memory use": (11, 59, 64, 65),
}
"""The numbers of the records on each subject, in the order of the page. Every record belongs to exactly one."""

_FILE = re.compile(r"(\d{4})-[a-z0-9-]+\.md")
_TITLE = re.compile(r"# (\d{4}): ([^\s|][^|]*)")
_STATUS = re.compile(r"Accepted(?:, \d{4}-\d\d-\d\d)?|Superseded by \[\d{4}\]\(\d{4}-[a-z0-9-]+\.md\)")


class Record(Struct, frozen=True, kw_only=True):
    """One decision record: file name, number, title, and the first sentence of its status."""

    file: str
    number: int
    title: str
    status: str


def make_file_name(number: str, title: str) -> str:
    """Return the name of a record's file: its number and the title in small letters with hyphens."""
    plain = title.lower().replace("'", "")
    return f"{number}-{re.sub('[^a-z0-9]+', '-', plain).strip('-')}.md"


def read_record(path: Path) -> Record:
    """Read one record.

    Raises:
        ValueError: if its title, file name, headings or status do not have the form that the page describes.
    """
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    title = _TITLE.fullmatch(first)
    if title is None:
        raise ValueError(f"{path.name}: the first line must be '# NNNN: the decision as a statement', not {first!r}")
    wanted = make_file_name(title[1], title[2])
    if path.name != wanted:
        raise ValueError(f"{path.name}: the file of this title must be named {wanted}")
    parts: dict[str, list[str]] = {}
    text: list[str] = []
    for line in lines:
        if line.startswith("## "):
            text = parts[line.removeprefix("## ")] = []
        else:
            text.append(line)
    if tuple(parts) != HEADINGS:
        raise ValueError(f"{path.name}: the headings must be {', '.join(HEADINGS)}, not {', '.join(parts)}")
    if empty := [name for name, body in parts.items() if not "".join(body).strip()]:
        raise ValueError(f"{path.name}: there is no text under {', '.join(empty)}")
    words = " ".join(" ".join(parts["Status and date"]).split())
    status = _STATUS.match(words)
    if status is None or words[status.end() : status.end() + 1] != ".":
        raise ValueError(f"{path.name}: the status must begin with 'Accepted, DATE.' or 'Superseded by [NNNN](FILE).'")
    return Record(file=path.name, number=int(title[1]), title=title[2], status=status[0])


def read_records(folder: Path = FOLDER) -> list[Record]:
    """Read all records of a folder, ordered by number. Raises ValueError as `read_record` does."""
    return [read_record(path) for path in sorted(folder.glob("*.md")) if _FILE.fullmatch(path.name)]


def render_index(records: Iterable[Record]) -> str:
    """Render a heading and a table for each subject.

    Raises:
        ValueError: if a record belongs to no subject or to several, or a subject names a record that does not exist.
    """
    by_number = {record.number: record for record in records}
    listed = sorted(number for numbers in SUBJECTS.values() for number in numbers)
    if listed != sorted(by_number):
        wrong = sorted(
            {number for number in (*listed, *by_number) if listed.count(number) != 1 or number not in by_number}
        )
        raise ValueError(f"SUBJECTS in {Path(__file__).name} must list each record once; see {wrong}")
    tables: list[str] = []
    for subject, numbers in SUBJECTS.items():
        rows = (by_number[number] for number in sorted(numbers))
        lines = [f"| [{row.number:04}]({row.file}) | {row.title} | {row.status} |" for row in rows]
        tables.append("\n".join([f"### {subject}", "", "| number | decision | status |", "|---|---|---|", *lines]))
    return "\n\n".join(tables)


def decision_index() -> str:
    """The tables of all decision records."""
    return render_index(read_records())
