"""`session_progress`: how the work stood before a trim, as a page for people and for a session that is resumed.

Pure text; it is stored through `MemorySystem.write_progress` and read back by `fresh_progress`.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from clio.algorithms.late_pattern import LatePattern
from clio.context.inert import cut, one_line, quoted
from clio.context.summary import FileState, ThreadSummary
from clio.prompt_files import fill_prompt
from clio.sessions.state import Todo

FRESH_S = 2 * 3_600.0
"""An older checkpoint is not put before the model: the work has gone on, or the day has."""
_CLOCK_SLACK_S = 60.0
_TASK_UNITS, _LINE_UNITS, _NEWEST = 2_000.0, 300.0, 40
_HEAD = LatePattern(r"\A# [^\n]*\n\nsession: (?P<session>\S+)\ntime: (?P<time>\S+)\n\n?(?P<rest>.*)", re.S)
_MARKS = {"completed": "x", "in_progress": ">", "blocked": "!"}


def checkpoint_text(
    *,
    session: str,
    now: float,
    summary: ThreadSummary,
    todos: Sequence[Todo] = (),
    task: str = "",
    git: str = "",
) -> str:
    """The page for the whole session so far.

    summary: of everything, trimmed or not. git: what `GitActivity.text` says, empty outside a repository.
    """
    sections = (
        ("Task", cut(quoted(task), _TASK_UNITS)),
        ("Todos", "\n".join(f"- [{_MARKS.get(todo.status, ' ')}] {todo.id}. {_todo(todo)}" for todo in todos)),
        ("Files changed", _listed([_changed(path, state) for path, state in summary.files.items()])),
        ("Commits", _listed([f"{commit.hash} {one_line(commit.subject)}" for commit in summary.commits])),
        ("Last command", _outcome(summary)),
        ("Tool calls", ", ".join(f"{one_line(name)} {count}" for name, count in summary.tools.items())),
        ("Git", git.strip()),
    )
    text = "\n\n".join(f"## {title}\n{body}" for title, body in sections if body)
    time = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
    return fill_prompt("context/session_progress", session=session, time=time, sections=text) + "\n"


def fresh_progress(page: str, *, session: str, now: float) -> tuple[str, float] | None:
    """The sections of a checkpoint and its age in seconds; None for another session's, an old one or another page."""
    head = _HEAD.match(page.replace("\r\n", "\n"))
    if head is None or head["session"] != session:
        return None
    try:
        age = now - datetime.fromisoformat(head["time"]).timestamp()
    except ValueError:
        return None
    return (head["rest"].strip(), max(age, 0.0)) if -_CLOCK_SLACK_S <= age < FRESH_S else None


def _changed(path: str, state: FileState) -> str:
    return f"{one_line(path)} ({'reverted' if state.is_reverted else state.kind})"


def _todo(todo: Todo) -> str:
    return one_line(todo.title) + (f" ({one_line(todo.note)})" if todo.note else "")


def _listed(lines: Sequence[str]) -> str:
    more = [f"- ({len(lines) - _NEWEST} more before)"] if len(lines) > _NEWEST else []
    return "\n".join([*more, *(f"- {cut(line, _LINE_UNITS)}" for line in lines[-_NEWEST:])])


def _outcome(summary: ThreadSummary) -> str:
    outcome = summary.outcome
    return f"exit {outcome.exit_code}: {cut(one_line(outcome.command), _LINE_UNITS)}" if outcome else ""
