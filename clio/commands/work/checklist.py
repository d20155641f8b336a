"""The list of work as a Markdown checklist that a person edits, and back. All pure."""

import difflib
import re

from clio.algorithms.late_pattern import LatePattern
from clio.errors import UsageError
from clio.sessions.state import Todo, TodoStatus

_MARKS: dict[TodoStatus, str] = {"pending": " ", "in_progress": ">", "completed": "x", "blocked": "!"}
_STATUSES: dict[str, TodoStatus] = {**{mark: status for status, mark in _MARKS.items()}, "X": "completed"}
_ITEM = LatePattern(r"(?:(?:[-*+]|\d+[.)])\s+)?(?:\[(.?)\](?:\s+|$))?(.*)")
_COMMENT = LatePattern(r"^<!--.*?(?:-->|\Z)", re.DOTALL | re.MULTILINE)
HELP = """
<!--
One line is one item: [ ] open, [>] in work, [x] done, [!] blocked. Lines set in below it are its note.
Move, reword, delete and add lines as you like; nothing left means no list.
-->
"""


def to_markdown(todos: tuple[Todo, ...]) -> str:
    """One line an item, its note set in below it."""
    lines: list[str] = []
    for todo in todos:
        lines.append(f"- [{_MARKS[todo.status]}] {todo.title}")
        lines += [f"  {line}" for line in todo.note.splitlines()]
    return "".join(f"{line}\n" for line in lines)


def from_markdown(text: str, old: tuple[Todo, ...]) -> tuple[Todo, ...]:
    """The list in an edited checklist. Items keep their numbers from `old`, reworded ones too; new ones get others.

    Headings and comments are left out. Raises UsageError for a mark that means nothing, and for two items in work.
    """
    items: list[tuple[TodoStatus, str, list[str]]] = []
    for line in _COMMENT.sub("", text).splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace() and items and not re.match(r"\s*[-*+]\s+\[.?\]", line):
            items[-1][2].append(line.strip())
        elif item := _item(line.strip()):
            items.append((*item, []))
    active = [title for status, title, _ in items if status == "in_progress"]
    if len(active) > 1:
        raise UsageError(f"Only one item can be in work, these would be: {', '.join(active)}; leave [>] at one of them")
    numbers = _numbers([todo.title for todo in old], [title for _, title, _ in items], [todo.id for todo in old])
    return tuple(
        Todo(id=number, title=title, status=status, note="\n".join(notes))
        for number, (status, title, notes) in zip(numbers, items, strict=True)
    )


def _item(line: str) -> tuple[TodoStatus, str] | None:
    """Status and title of one line; None where it has no words."""
    found = _ITEM.fullmatch(line)
    assert found is not None  # every part of it may be missing
    mark, title = found[1], " ".join(found[2].split())
    if not title:
        return None
    if mark is not None and (mark or " ") not in _STATUSES:
        raise UsageError(f"The mark [{mark}] of {title!r} means nothing here; write [ ], [>], [x] or [!]")
    return _STATUSES[mark or " "], title


def _numbers(before: list[str], after: list[str], ids: list[int]) -> list[int]:
    """A number for each title: its own from before, wherever it stands; that of the line it replaced; a new one."""
    left = dict(zip(ids, before, strict=True))
    numbers: list[int | None] = []
    for title in after:
        same = next((number for number, known in left.items() if known == title), None)
        if same is not None:
            del left[same]
        numbers.append(same)
    for kind, start, end, first, last in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "replace":
            for place, number in zip(range(first, last), ids[start:end], strict=False):
                if numbers[place] is None and number in left:
                    numbers[place] = number
                    del left[number]
    following = max(ids, default=0)
    made: list[int] = []
    for number in numbers:
        following += number is None
        made.append(following if number is None else number)
    return made
