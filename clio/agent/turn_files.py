"""Record which files a tool call changes, tell the model which files the user restored, and render changes as diffs."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clio.agent.user_interface import Emit, Notice
from clio.checkpoints.checkpoint_store import Change, ChangeRecord, FileState, TurnRef
from clio.checkpoints.checkpoints import Checkpoints
from clio.errors import ClioError
from clio.messages import Fragment, is_turn_start
from clio.security.actions import Action, ChangeFiles, RunCommand
from clio.sessions.session import Session
from clio.storage.locks import error_cause
from clio.text.formatting import format_bytes
from clio.text.translation import tr
from clio.tools.files.diff import diff_texts

if TYPE_CHECKING:
    from clio.checkpoints.checkpoint_store import RestoreStep

_MAX_PATHS = 30
"""Files named in one sentence to the model."""
_MAX_NOTE_TOKENS = 400
_STALE_FILES_ADVICE = "What you remember of these files may be out of date; read them before you edit them."
_MAX_DIFFED_BYTES = 2_000_000
"""A change of a larger file is described by its sizes only."""
_NO_FILE = "/dev/null"
"""The name that a unified diff shows for a file that does not exist."""


class RenderedChange(Struct, frozen=True, kw_only=True):
    """A change of one file, ready to be shown.

    Attributes:
        what: "new", "deleted" or "changed".
        text: a unified diff, or one line with the sizes if the content cannot be shown as text.
        added, removed: numbers of lines.
    """

    path: str
    what: str
    text: str
    added: int = 0
    removed: int = 0


class TurnFileRecorder:
    """Records the file changes of each turn as checkpoints. Each problem is reported once and never ends a turn.

    Args:
        only_reads: returns whether a command provably changes nothing.
        redact: returns a text with its secrets replaced.
        enabled: False to record nothing.

    Attributes:
        before_change: a hook that is awaited before the files of an edit are recorded; it may raise ToolFailed.
    """

    def __init__(
        self,
        checkpoints: Checkpoints,
        session: Session,
        *,
        only_reads: Callable[[RunCommand], bool],
        redact: Callable[[str], str],
        emit: Emit,
        enabled: bool = True,
    ) -> None:
        self.checkpoints = checkpoints
        self._session = session
        self._only_reads = only_reads
        self._redact = redact
        self._emit = emit
        self.enabled = enabled
        self.before_change: Callable[[ChangeFiles], Awaitable[None]] | None = None
        self._is_prepared = self._is_call_recorded = False
        self._reported: set[str] = set()

    def begin_session(self, session: Session) -> None:
        """Record file changes from now on under the turns of another session."""
        self._session = session

    async def record_before(self, action: Action, *, may_change: bool = False) -> None:
        """Record the state of the files that an approved call may change; return when the call may start.

        Args:
            may_change: True to record a command even if `only_reads` says that it changes nothing.
        """
        if isinstance(action, ChangeFiles) and self.before_change is not None:
            await self.before_change(action)
        turn = get_running_turn(self._session)
        if not self.enabled or turn is None:
            return
        if not self._is_prepared:
            self._is_prepared = True
            self.checkpoints.prepare()
        try:
            if isinstance(action, ChangeFiles):
                self._is_call_recorded = True
                await asyncio.wrap_future(self.checkpoints.before_files(turn, _list_changed_paths(action)))
            elif isinstance(action, RunCommand) and (
                may_change or not await asyncio.to_thread(self._only_reads, action)
            ):
                self._is_call_recorded = True
                # The scan must end before the command starts, else its changes would be taken for the state before it.
                await asyncio.wrap_future(self.checkpoints.before_command(turn))
        except (ClioError, OSError) as error:
            self._report_once(
                tr("/undo will not cover this call: {error_cause}", error_cause=error_cause(error)), warning=True
            )
        self._report_checkpoint_messages()

    def record_after(self) -> None:
        """Record what the call changed, whether it succeeded or not.

        Returns at once: the work runs in the background, and the next `record_before` waits for it.
        """
        if self._is_call_recorded:
            self._is_call_recorded = False
            self.checkpoints.after()

    async def end_turn(self) -> None:
        """End the turn. Waits until all its changes are recorded, because later ones are the user's own."""
        turn = get_running_turn(self._session)
        if self.enabled and turn is not None:
            await asyncio.wrap_future(self.checkpoints.end_turn(turn))
            self._report_checkpoint_messages()

    def end_cancelled_turn(self) -> None:
        """End a turn that was cancelled, without waiting."""
        turn = get_running_turn(self._session)
        if self.enabled and turn is not None:
            self.checkpoints.end_turn(turn)

    def recover(self) -> None:
        """Complete the recording or restoring that a killed process left unfinished. Call it once, at the start."""
        if self.enabled:
            try:
                self.checkpoints.recover()
            except (ClioError, OSError) as error:
                self._report_once(
                    tr(
                        "file changes of an interrupted clio cannot be recovered: {error_cause}",
                        error_cause=error_cause(error),
                    ),
                    warning=True,
                )
            self._report_checkpoint_messages()

    def make_restore_fragments(self) -> list[Fragment]:
        """Return a note for the model about files that /undo or /redo restored since the last message."""
        session = self._session
        if not session.messages:
            return []
        try:
            records = self.checkpoints.list_restores_since(session.messages[-1].created)
        except (ClioError, OSError):
            return []  # /undo has reported the error
        message_ids = {message.id for message in session.messages} if records else set[str]()
        lines = [line for record in records if (line := _describe_restore(record, message_ids))]
        if not lines:
            return []
        text = "\n".join([*lines, _STALE_FILES_ADVICE])
        reason = "the user restored files"
        return [Fragment(name="files", text=text, source="undo", reason=reason, cap_tokens=_MAX_NOTE_TOKENS)]

    def render_change(self, change: Change) -> RenderedChange:
        """Return a change as a diff with secrets replaced. Raises ClioError, OSError."""
        return render_change(change, self.checkpoints, self._redact)

    def render_step(self, step: "RestoreStep") -> RenderedChange:
        """Return what this step of a restore would do to its file."""
        self.checkpoints.store_current(step.file.path)
        return self.render_change(Change(path=step.file.path, before=step.current, after=step.file.target))

    def render_lost_edits(self, step: "RestoreStep") -> RenderedChange:
        """Return the changes made after the turn that this step would discard; if there are none, the whole step."""
        expected = step.file.expected
        if step.current == expected:
            return self.render_step(step)
        self.checkpoints.store_current(step.file.path)
        return self.render_change(Change(path=step.file.path, before=expected, after=step.current))

    def _report_checkpoint_messages(self) -> None:
        for sentence in self.checkpoints.pop_messages():
            self._report_once(sentence)

    def _report_once(self, text: str, *, warning: bool = False) -> None:
        if text not in self._reported:
            self._reported.add(text)
            self._emit(Notice(text=text, level="warning" if warning else "info"))


def get_running_turn(session: Session) -> TurnRef | None:
    """Return the running turn, or the last one; None before the first."""
    for message in reversed(session.messages):
        if is_turn_start(message):
            return TurnRef(session=session.id, message=message.id)
    return None


def _list_changed_paths(action: ChangeFiles) -> list[Path]:
    moved = [change.moved_to for change in action.changes if change.moved_to is not None]
    return [*(change.path for change in action.changes), *moved]


def _describe_restore(record: ChangeRecord, message_ids: set[str]) -> str:
    """Return a sentence about one restore; "" if it undid none of these messages' turns."""
    paths = [change.path for change in record.changes]
    if not paths or not (record.kind == "redo" or message_ids & set(record.reverted)):
        return ""
    names = ", ".join(paths[:_MAX_PATHS]) + (f" and {len(paths) - _MAX_PATHS} more" if len(paths) > _MAX_PATHS else "")
    action = "brought back changes that had been undone" if record.kind == "redo" else "undid changes you had made"
    return f"The user {action}; these files were restored: {names}"


def render_change(change: Change, checkpoints: Checkpoints, redact: Callable[[str], str]) -> RenderedChange:
    """Return the change with secrets replaced by `redact`. Raises ClioError, OSError."""
    from clio.tools.files.text_file import to_printable  # imported late: only /diff and /undo need it

    before, after = change.before, change.after
    what = "new" if before is None else "deleted" if after is None else "changed"
    mode_lines = "".join(_render_mode_lines(before, after))
    old, new = (_read_text(state, checkpoints) for state in (before, after))
    if old is None or new is None:
        return RenderedChange(
            path=change.path, what=what, text=mode_lines + _describe_unreadable_change(change, checkpoints)
        )
    names = (change.path if before else _NO_FILE, change.path if after else _NO_FILE)
    diff = diff_texts(old, new, *names)
    text = diff.text
    if not text or not (diff.added or diff.removed):
        # An empty file was created or deleted, or only permissions changed.
        text = f"--- {names[0]}\n+++ {names[1]}\n"
    if mode_lines:  # they go between the file names and the hunks
        old_name, new_name, hunks = text.split("\n", 2)
        text = "\n".join((old_name, new_name, mode_lines + hunks))
    return RenderedChange(
        path=change.path,
        what=what,
        text=redact(to_printable(text)),
        added=diff.added,
        removed=diff.removed,
    )


def _render_mode_lines(before: FileState | None, after: FileState | None) -> list[str]:
    if before is None or after is None or (before.mode == after.mode and (before.link is None) == (after.link is None)):
        return []
    return [f"old mode {_format_mode(before)}\n", f"new mode {_format_mode(after)}\n"]


def _format_mode(state: FileState) -> str:
    """Return the mode as git writes it: six octal digits that begin with the file type, 120 or 100."""
    return f"{0o120000 if state.link is not None else 0o100000 | state.mode:o}"


def _read_text(state: FileState | None, checkpoints: Checkpoints) -> str | None:
    """Return the content as text; None if it is binary, too large or not stored."""
    from clio.tools.files.text_file import NotText, decode_file

    data = checkpoints.read_content(state) if state is None or state.size <= _MAX_DIFFED_BYTES else None
    if data is None:
        return None
    try:
        return decode_file(data).text
    except NotText:
        return None


def _describe_unreadable_change(change: Change, checkpoints: Checkpoints) -> str:
    sizes = " → ".join(_describe_size(state) for state in (change.before, change.after))
    is_missing = any(checkpoints.read_content(state) is None for state in (change.before, change.after))
    return f"{'Not stored' if is_missing else 'Binary file'} {change.path}: {sizes}\n"


def _describe_size(state: FileState | None) -> str:
    return "nothing" if state is None else "a link" if state.link is not None else format_bytes(state.size)
