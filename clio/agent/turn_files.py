"""Tells the checkpoints what a turn does to files, and describes changes to the files of a session in sentences."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clio.agent.user_interface import Emit, Notice
from clio.checkpoints.checkpoint_store import Change, FileState, Record, TurnRef
from clio.checkpoints.checkpoints import Checkpoints
from clio.errors import ClioError
from clio.messages import Fragment, begins_turn
from clio.security.actions import Action, ChangeFiles, RunCommand
from clio.sessions.session import Session
from clio.storage.locks import cause
from clio.tools.files.diff import diff_texts
from clio.tools.files.text_file import NotText, decode, shown, size_text

if TYPE_CHECKING:
    from clio.checkpoints.checkpoint_store import Step


_MAX_BYTES = 2_000_000
"""Files larger than this are shown as a size, not as a diff."""
_NOTHING = "/dev/null"


class ShownChange(Struct, frozen=True, kw_only=True):
    """A change of one file.

    Attributes:
        text: a unified diff, or a line that replaces it.
        what: "new", "deleted" or "changed".
    """

    path: str
    what: str
    text: str
    added: int = 0
    removed: int = 0


def show_change(change: Change, checkpoints: Checkpoints, clean: Callable[[str], str]) -> ShownChange:
    """Return the change with secrets replaced by `clean`. Raises ClioError and OSError."""
    before, after = change.before, change.after
    what = "new" if before is None else "deleted" if after is None else "changed"
    head = "".join(_modes(before, after))
    old, new = (_text(state, checkpoints) for state in (before, after))
    if old is None or new is None:
        return ShownChange(path=change.path, what=what, text=head + _in_words(change, checkpoints))
    names = (change.path if before else _NOTHING, change.path if after else _NOTHING)
    diff = diff_texts(old, new, *names)
    text = diff.text
    # an empty file was created or deleted, or only its permissions changed
    if not text or not (diff.added or diff.removed):
        text = f"--- {names[0]}\n+++ {names[1]}\n"
    return ShownChange(
        path=change.path, what=what, text=clean(shown(_placed(text, head))), added=diff.added, removed=diff.removed
    )


def _placed(text: str, head: str) -> str:
    """Put the lines about permissions below the file names."""
    lines = text.split("\n", 2)
    return "\n".join([*lines[:2], head + lines[2]]) if head else text


def _modes(before: FileState | None, after: FileState | None) -> list[str]:
    if before is None or after is None or (before.mode == after.mode and (before.link is None) == (after.link is None)):
        return []
    return [f"old mode {_mode(before)}\n", f"new mode {_mode(after)}\n"]


def _mode(state: FileState) -> str:
    return f"{0o120000 if state.link is not None else 0o100000 | state.mode:o}"


def _text(state: FileState | None, checkpoints: Checkpoints) -> str | None:
    """Return the text; None if it is not text, or too large to show."""
    data = checkpoints.content(state) if state is None or state.size <= _MAX_BYTES else None
    if data is None:
        return None
    try:
        return decode(data).text
    except NotText:
        return None


def _in_words(change: Change, checkpoints: Checkpoints) -> str:
    sizes = " → ".join(_size(state) for state in (change.before, change.after))
    lost = any(checkpoints.content(state) is None for state in (change.before, change.after))
    return f"{'Not kept' if lost else 'Binary file'} {change.path}: {sizes}\n"


def _size(state: FileState | None) -> str:
    return "nothing" if state is None else "a link" if state.link is not None else size_text(state.size)


_MAX_PATHS = 30
"""Files named in one sentence to the model."""
_CAP_TOKENS = 400
_ADVICE = "What you remember of these files may be out of date; read them before you edit them."


class TurnFiles:
    """Connects the turns of a clio process to its checkpoints. Each problem is reported once and never ends a turn.

    Args:
        only_reads: whether a command provably changes nothing.
        clean: replaces secrets.
        enabled: False to record nothing.

    Attributes:
        before_change: awaited before files that are about to change are read; it may raise ToolFailed.
    """

    def __init__(
        self,
        checkpoints: Checkpoints,
        session: Session,
        *,
        only_reads: Callable[[RunCommand], bool],
        clean: Callable[[str], str],
        emit: Emit,
        enabled: bool = True,
    ) -> None:
        self.checkpoints = checkpoints
        self._session = session
        self._only_reads = only_reads
        self._clean = clean
        self._emit = emit
        self.enabled = enabled
        self.before_change: Callable[[ChangeFiles], Awaitable[None]] | None = None
        self._ready = self._watched = False
        self._said: set[str] = set()

    def begin_session(self, session: Session) -> None:
        """Assign file changes from now on to the turns of another session."""
        self._session = session

    async def before(self, action: Action, *, may_change: bool = False) -> None:
        """Record the state before an approved call; returns when the files it may change are known.

        Args:
            may_change: whether it may change files although the policy judged that it only reads.
        """
        if isinstance(action, ChangeFiles) and self.before_change is not None:
            await self.before_change(action)
        turn = turn_of(self._session)
        if not self.enabled or turn is None:
            return
        if not self._ready:
            self._ready = True
            self.checkpoints.get_ready()
        try:
            if isinstance(action, ChangeFiles):
                self._watched = True
                await asyncio.wrap_future(self.checkpoints.before_files(turn, _paths(action)))
            elif isinstance(action, RunCommand) and (
                may_change or not await asyncio.to_thread(self._only_reads, action)
            ):
                self._watched = True
                await asyncio.wrap_future(self.checkpoints.before_command(turn))
        except (ClioError, OSError) as error:
            self._say(f"/undo will not cover this call: {cause(error)}", warning=True)
        self._tell()

    def after(self) -> None:
        """Record the end of a call, successful or not. Returns at once; the next call waits for the work."""
        if self._watched:
            self._watched = False
            self.checkpoints.after()

    async def end_turn(self) -> None:
        """End the turn; returns when all its changes are recorded, because later ones are the user's own."""
        turn = turn_of(self._session)
        if self.enabled and turn is not None:
            await asyncio.wrap_future(self.checkpoints.end_turn(turn))
            self._tell()

    def cut_off(self) -> None:
        """End a turn that was cancelled, without waiting."""
        turn = turn_of(self._session)
        if self.enabled and turn is not None:
            self.checkpoints.end_turn(turn)

    def recover(self) -> None:
        """Complete what a killed process left unfinished. Call it once, before anything else."""
        if self.enabled:
            try:
                self.checkpoints.recover()
            except (ClioError, OSError) as error:
                self._say(f"what an earlier clio did to files cannot be told: {cause(error)}", warning=True)
            self._tell()

    def fragments(self) -> list[Fragment]:
        """Return what the model is told about files restored since the last message."""
        session = self._session
        if not session.messages:
            return []
        try:
            records = self.checkpoints.restored_since(session.messages[-1].created)
        except (ClioError, OSError):
            return []  # /undo has reported the error
        known = {message.id for message in session.messages} if records else set[str]()
        lines = [line for record in records if (line := _line(record, known))]
        if not lines:
            return []
        text = "\n".join([*lines, _ADVICE])
        reason = "the user put files back"
        return [Fragment(name="files", text=text, source="undo", reason=reason, cap_tokens=_CAP_TOKENS)]

    def show(self, change: Change) -> "ShownChange":
        """Return a change as a diff with secrets replaced. Raises ClioError and OSError."""

        return show_change(change, self.checkpoints, self._clean)

    def way(self, step: "Step") -> "ShownChange":
        """Return what taking this step would do to its file."""
        return self._shown_step(step, step.wanted.target)

    def lost_edits(self, step: "Step") -> "ShownChange":
        """Return the later changes by others that this step would discard; the whole change if they are not known."""
        expected = step.wanted.expected
        return self._shown_step(step, step.wanted.target) if step.current == expected else self._edits(step)

    def _edits(self, step: "Step") -> "ShownChange":
        self.checkpoints.keep_current(step.wanted.path)
        return self.show(Change(path=step.wanted.path, before=step.wanted.expected, after=step.current))

    def _shown_step(self, step: "Step", target: FileState | None) -> "ShownChange":
        self.checkpoints.keep_current(step.wanted.path)
        return self.show(Change(path=step.wanted.path, before=step.current, after=target))

    def _tell(self) -> None:
        for sentence in self.checkpoints.take_news():
            self._say(sentence)

    def _say(self, text: str, *, warning: bool = False) -> None:
        if text not in self._said:
            self._said.add(text)
            self._emit(Notice(text=text, level="warning" if warning else "info"))


def turn_of(session: Session) -> TurnRef | None:
    """Return the running turn, or the last one; None before the first."""
    for message in reversed(session.messages):
        if begins_turn(message):
            return TurnRef(session=session.id, message=message.id)
    return None


def _paths(action: ChangeFiles) -> list[Path]:
    moved = [change.moved_to for change in action.changes if change.moved_to is not None]
    return [*(change.path for change in action.changes), *moved]


def _line(record: Record, known: set[str]) -> str:
    """Describe one restore, if it concerns turns the model knows about."""
    paths = [change.path for change in record.changes]
    if not paths or not (record.kind == "redo" or known & set(record.of)):
        return ""
    named = ", ".join(paths[:_MAX_PATHS]) + (f" and {len(paths) - _MAX_PATHS} more" if len(paths) > _MAX_PATHS else "")
    what = "brought back changes that had been undone" if record.kind == "redo" else "undid changes you had made"
    return f"The user {what}; these files were put back: {named}"
