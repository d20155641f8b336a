"""Changes to files, planned whole and then made whole: all of them or none."""

import asyncio
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from clio.errors import ToolFailed, ToolRetry
from clio.security.actions import ChangeFiles, FileChange
from clio.security.path_policy import Workspace
from clio.storage.atomic import write_atomic
from clio.tools.base import Prepared, Progress, ToolOutput
from clio.tools.files.planned import NEW_FILE_MODE, PlannedChange
from clio.tools.files.read_log import ReadLog
from clio.tools.files.revise import revise, revision_report
from clio.tools.files.text_file import explain, read_bytes


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
