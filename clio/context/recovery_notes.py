"""The notes of a trimmed session: session_progress, written before a trim, and the note beside the summary later."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from clio.context.inert import cut, one_line, quoted, weight
from clio.context.summary import FileState, ThreadSummary
from clio.context.summary_text import within
from clio.context.workspace_state import read_git
from clio.prompt_files import fill_prompt
from clio.sessions.state import Todo
from clio.text.lazy_regex import LazyRegex
from clio.tokens import TokenEstimator

FRESH_S = 2 * 3_600.0
"""An older checkpoint is not put before the model: the work has gone on, or the day has."""
_CLOCK_SLACK_S = 60.0
_TASK_UNITS, _LINE_UNITS, _NEWEST = 2_000.0, 300.0, 40
_HEAD = LazyRegex(r"\A# [^\n]*\n\nsession: (?P<session>\S+)\ntime: (?P<time>\S+)\n\n?(?P<rest>.*)", re.S)
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


COMMITS, FILES = 10, 20
_PROGRESS_SHARE = 0.5  # of the note's budget: the summary says most of it already


class GitActivity(Struct, frozen=True, kw_only=True):
    """How a repository stands. `changed` are the lines of the short status, `commits` "hash subject", newest first."""

    branch: str = ""
    changed: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """One fact a line; file names and subjects cannot forge a line or a tag."""
        files = [f"  {line[:3]}{one_line(line[3:])}" for line in self.changed[:FILES]]
        more = [f"  ({len(self.changed) - FILES:,} more)"] if len(self.changed) > FILES else []
        head = f"branch {one_line(self.branch)}, {len(self.changed):,} changed files"
        commits = ["last commits:", *(f"  {one_line(line)}" for line in self.commits[:COMMITS])] if self.commits else []
        return "\n".join([head, *files, *more, *commits])


def git_activity(project: Path) -> GitActivity | None:
    """Status and newest commits of a working tree; None outside git, without git, or if it takes too long.

    Blocks as long as two short git commands take; under an event loop, call it in a thread.
    """
    status = read_git(project, "status", "--porcelain", "--branch")
    if status is None:
        return None
    log = read_git(project, "log", f"--max-count={COMMITS}", "--pretty=format:%h %s")
    head, *changed = status.splitlines() or [""]
    branch = head.removeprefix("## ").removeprefix("No commits yet on ").split("...")[0]
    return GitActivity(branch=branch, changed=tuple(changed), commits=tuple((log or "").splitlines()))


def recovery_note(
    *,
    estimator: TokenEstimator,
    budget_tokens: int,
    git: GitActivity | None = None,
    progress: str = "",
    session: str = "",
    now: float = 0.0,
) -> str:
    """The note, to be put behind the summary in the same message; empty where there is nothing to say or no room.

    progress: the stored `session_progress` page, whoever wrote it; used only if it is this session's and fresh.
    Task, todos, commits and files of the conversation itself stand in the summary and are not repeated.
    """
    parts = [git.text] if git else []
    found = fresh_progress(progress, session=session, now=now) if progress else None
    if found:
        text, age_s = found
        parts.append(f"progress noted {age_s / 60:.0f} minutes before:\n  | {quoted(text)}")
    frame = weight(fill_prompt("context/recovery", state=""))
    return within(budget_tokens, estimator, lambda room: _fitted(parts, room - frame))


def _fitted(parts: list[str], room: float) -> str:
    """The note of at most this weight; what the second part leaves is the first one's."""
    shown = list(parts)
    if len(shown) == 2:
        shown[1] = cut(shown[1], max(room * _PROGRESS_SHARE, room - weight(shown[0]) - 1))
        room -= weight(shown[1]) + 1
    shown[:1] = [cut(part, room) for part in shown[:1]]
    state = "\n".join(part for part in shown if part)
    return fill_prompt("context/recovery", state=state) if state else ""
