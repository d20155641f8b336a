"""What stands beside the summary after an overflow or on resume: the working tree, the newest commits, the progress.

It is data in neutral words: text that tells the model to go on, or to announce something, would be obeyed or answered.
"""

from pathlib import Path

from msgspec import Struct

from clio.context.checkpoint import fresh_progress
from clio.context.fitting import within
from clio.context.inert import cut, one_line, quoted, weight
from clio.context.workspace_state import read_git
from clio.prompt_files import fill_prompt
from clio.tokens import TokenEstimator

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
