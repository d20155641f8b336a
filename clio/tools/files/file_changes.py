"""Changes to files, planned whole and then made: all of them or none, or what the user left of them."""

import asyncio
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from clio.errors import ToolFailed, ToolRetry
from clio.security.actions import ChangeFiles, FileChange, Workspace
from clio.storage.files import write_atomic
from clio.tools.base import Prepared, Progress, ReadLog, ToolOutput
from clio.tools.files.diff import diff_change, text_lines
from clio.tools.files.text_file import (
    MAX_EDIT_BYTES,
    ON_ERROR,
    TextFile,
    decode,
    encode,
    explain,
    read_bytes,
    shown,
    size_text,
)

NEW_FILE_MODE = 0o666
"""Permissions of a new file, from which the user's umask takes its part."""


class PlannedChange(Struct, frozen=True, kw_only=True):
    """One change in bytes. `before` is None for a new file, `after` for a deleted one.

    mode: permission bits of the file as it is, or NEW_FILE_MODE.
    """

    change: FileChange
    before: bytes | None
    after: bytes | None
    mode: int

    @property
    def target(self) -> Path:
        """Where the file is afterwards, or was."""
        return self.change.moved_to or self.change.path


def revise(planned: Sequence[PlannedChange], wanted: Sequence[FileChange], workspace: Workspace) -> list[PlannedChange]:
    """The plans for these changes and no others.

    Each must be one of the planned changes, at most with another `after`. What it was made for stays what it was: the
    bytes the file must still have. Raises ToolError where a change is of something else or its text cannot be written.
    """
    open_plans = {plan.change.path: plan for plan in planned}
    revised: list[PlannedChange] = []
    for change in wanted:
        name = workspace.display(change.path)
        plan = open_plans.pop(change.path, None)
        if plan is None or not _same_but_text(plan.change, change):
            raise ToolFailed(f"{name!r} was not proposed so; no file was changed, propose the change again")
        revised.append(plan if change.after == plan.change.after else _with_text(plan, change, name))
    if not revised:
        raise ToolFailed("nothing of the proposal is left; no file was changed")
    return revised


def revision_report(revised: Sequence[PlannedChange], workspace: Workspace) -> tuple[str, str]:
    """The text for the model and the summary for the person, once the changes are made."""
    verbs = {"add": "added", "update": "updated", "delete": "deleted", "move": "moved"}
    lines: list[str] = []
    added = removed = 0
    for plan in revised:
        change, diff = plan.change, diff_change(plan.change)
        moved = f" to {workspace.display(change.moved_to)}" if change.moved_to is not None else ""
        lines.append(f"{verbs[change.kind]} {workspace.display(change.path)}{moved} ({diff.counts})")
        added, removed = added + diff.added, removed + diff.removed
    return "\n".join(lines), f"+{added} -{removed}"


def _same_but_text(ours: FileChange, theirs: FileChange) -> bool:
    same = (ours.kind, ours.before, ours.moved_to) == (theirs.kind, theirs.before, theirs.moved_to)
    return same and (ours.after is None) == (theirs.after is None)


def _with_text(plan: PlannedChange, change: FileChange, name: str) -> PlannedChange:
    text = change.after or ""
    like = decode(plan.before, plan.mode) if plan.before is not None else None
    if like is None:
        like = TextFile(data=b"", text="", encoding="utf-8", bom=b"", mode=plan.mode)
    data = encode(_exact(text, plan, like, name), like, name)
    if len(data) > MAX_EDIT_BYTES:
        raise ToolFailed(f"{name!r} would have {size_text(len(data))}, more than clio writes; no file was changed")
    return PlannedChange(change=change, before=plan.before, after=data, mode=plan.mode)


def _exact(text: str, plan: PlannedChange, like: TextFile, name: str) -> str:
    """The text with its real lines in place of the shown ones: bytes that are no text are shown as U+FFFD.

    A line with such a mark that could have been two different ones cannot be written. Raises ToolFailed.
    """
    after = (plan.after or b"").removeprefix(like.bom).decode(like.encoding, ON_ERROR.get(like.encoding, "strict"))
    real = like.text + "\n" + after
    if "\ufffd" not in text or shown(real) == real:
        return text
    known: dict[str, set[str]] = {}
    for line in (*text_lines(like.text), *text_lines(after)):
        known.setdefault(shown(line), set()).add(line)
    lines: list[str] = []
    for line in text_lines(text):
        candidates = known.get(line, set()) if "\ufffd" in line else {line}
        if len(candidates) != 1:
            raise ToolFailed(
                f"{name!r} holds bytes that are no text, and the version the user allowed does not say which belong in "
                f"{line.strip()[:80]!r}; no file was changed, make a smaller edit that leaves this line alone"
            )
        lines.append(candidates.pop())
    return "".join(lines)


class _Undo(Struct, frozen=True, kw_only=True):
    """What puts one path back: its bytes, or its absence; `folder` for a folder that was made."""

    path: Path
    data: bytes | None = None
    mode: int = NEW_FILE_MODE
    folder: bool = False


def prepare_changes(
    title: str,
    planned: Sequence[PlannedChange],
    workspace: Workspace,
    read_log: ReadLog,
    report: Callable[[], tuple[str, str]],
) -> Prepared:
    """The prepared call that makes these changes; `report` gives the output's text and summary."""
    changes = tuple(plan.change for plan in planned)
    for plan in planned:
        _check_target(plan, workspace)

    async def run(progress: Progress) -> ToolOutput:
        await asyncio.to_thread(carry_out, planned, workspace, read_log)
        text, summary = report()
        return ToolOutput(text=text, summary=summary, changed=changes)

    def other(wanted: tuple[FileChange, ...]) -> Prepared:
        revised = revise(planned, wanted, workspace)
        return prepare_changes(title, revised, workspace, read_log, lambda: revision_report(revised, workspace))

    return Prepared(title=title, action=ChangeFiles(changes=changes), run=run, revise=other)


def carry_out(planned: Sequence[PlannedChange], workspace: Workspace, read_log: ReadLog) -> None:
    """Make all the changes. After an error nothing has changed, or the error names what could not be put back.

    Raises ToolRetry where a file is no longer what the plan was made for, ToolFailed where writing failed.
    """
    for plan in planned:
        _check_unchanged(plan, workspace)
    undo: list[_Undo] = []
    for plan in planned:
        try:
            _make(plan, undo)
        except OSError as error:
            left = [workspace.display(path) for path in _roll_back(undo)]
            failure = explain(error, workspace.display(plan.target), "write")
            tail = f"; these could not be put back: {', '.join(left)}" if left else "; no file was changed"
            raise type(failure)(f"{failure}{tail}") from error
    for plan in planned:
        if plan.change.moved_to is not None or plan.after is None:
            read_log.forget(plan.change.path)
        if plan.after is not None:
            read_log.saw(plan.target, plan.after)


def _check_target(plan: PlannedChange, workspace: Workspace) -> None:
    """Refuse early what cannot be written, so that nobody is asked to approve it."""
    target = plan.target
    for folder in target.parents:
        if os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir raises where a folder above is closed
            break
        if os.path.lexists(folder):
            shown, blocker = workspace.display(target), workspace.display(folder)
            raise ToolRetry(f"{shown!r} cannot be written: {blocker!r} is a file, not a folder")
    # Replacing a file asks the folder only; a file marked read-only is to stay all the same.
    effective = os.access in os.supports_effective_ids
    if plan.before is not None and not os.access(plan.change.path, os.W_OK, effective_ids=effective):
        raise ToolFailed(f"no permission to write {workspace.display(plan.change.path)!r}: the file is write-protected")


def _check_unchanged(plan: PlannedChange, workspace: Workspace) -> None:
    change = plan.change
    shown = workspace.display(change.path)
    if os.path.realpath(plan.target) != str(plan.target):
        raise ToolRetry(f"{workspace.display(plan.target)!r} leads elsewhere since just now; look at it again")
    if plan.before is not None and read_bytes(change.path, shown)[0] != plan.before:
        raise ToolRetry(f"{shown!r} changed on disk just now; read it again before you change it")
    new = plan.target if plan.before is None or change.moved_to else None
    if new is not None and os.path.lexists(new):
        raise ToolRetry(f"{workspace.display(new)!r} exists already; read it before you change it")


def _make(plan: PlannedChange, undo: list[_Undo]) -> None:
    """One change; every step is noted before it is taken."""
    change = plan.change
    gone = change.moved_to is not None or plan.after is None
    if plan.after is not None:
        for folder in reversed([folder for folder in plan.target.parents if not folder.exists()]):
            folder.mkdir()
            undo.append(_Undo(path=folder, folder=True))
        undo.append(_Undo(path=plan.target, data=None if gone else plan.before, mode=plan.mode))
        _write(plan.target, plan.after, plan.mode)
    if gone:
        undo.append(_Undo(path=change.path, data=plan.before, mode=plan.mode))
        change.path.unlink()


def _write(path: Path, data: bytes, mode: int) -> None:
    """Replace a file and give it its permission bits, which the umask may have taken from the new one."""
    write_atomic(path, data, mode)
    if mode != NEW_FILE_MODE and stat.S_IMODE(path.stat().st_mode) != mode:
        path.chmod(mode)


def _roll_back(undo: list[_Undo]) -> list[Path]:
    """Put everything back, newest first; the paths where that failed."""
    failed: list[Path] = []
    for step in reversed(undo):
        try:
            if step.folder:
                step.path.rmdir()
            elif step.data is None:
                step.path.unlink(missing_ok=True)
            elif not step.path.is_file() or step.path.read_bytes() != step.data:
                _write(step.path, step.data, step.mode)
        except NotADirectoryError:  # a file stands where its folder would be, so it was never made
            continue
        except OSError:  # told to the model as a path that was left changed
            failed.append(step.path)
    return failed
