"""One conversation, on disk from its first message: appended messages survive a kill at any instant."""

import threading
import time
from pathlib import Path

from clio.messages import Message
from clio.sessions import session_format
from clio.sessions.session_files import BlobStore, SessionDisk
from clio.sessions.state import (
    NAME_CHARS,
    Bill,
    ImportSource,
    PlanMode,
    SessionLimit,
    SessionState,
    Todo,
    Trim,
    to_one_line,
)


class _SingleThreadGuard:
    """A lock that never waits: entering it while another thread holds it raises RuntimeError."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.RLock()  # re-entrant: `undo_trim` records a change

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(f"{self._name} is changed by two threads at once")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Session:
    """A conversation and its files; created by `SessionStore`.

    Any thread may use it, but only one at a time may change it. A change that starts during another thread's change
    raises RuntimeError before anything is written, because the lines of the journal would be mixed up. After `close`
    another process may open the files, so every further change raises ValueError; reading stays possible.

    Args:
        disk: None for a session that is never written to disk.
        blobs: without `disk`, the outputs that an earlier run stored.
    """

    def __init__(self, state: SessionState, disk: SessionDisk | None, blobs: BlobStore | None = None) -> None:
        self._state = state
        self._disk = disk
        self._blobs = disk.blobs if disk else blobs or BlobStore(None)
        self._closed = False
        self._changing = _SingleThreadGuard(f"session {state.id!r}")
        self._is_foreign = False
        self._own_from = 0
        self._warnings: list[str] = []

    @property
    def id(self) -> str:
        """The session's UUID, also the name of its files."""
        return self._state.id

    @property
    def name(self) -> str | None:
        """The name that the user gave it; None for none."""
        return self._state.name

    @property
    def created_at(self) -> float:
        """Seconds since the epoch."""
        return self._state.created_at

    @property
    def working_directory(self) -> Path:
        """The directory in which it was started."""
        return Path(self._state.working_directory)

    @property
    def parent(self) -> str | None:
        """Id of the session it was forked from, or that delegated work to it; None for neither."""
        return self._state.parent

    @property
    def delegated(self) -> str | None:
        """Name of the sub-agent whose session it is; None for a conversation with the user."""
        return self._state.delegated

    @property
    def messages(self) -> list[Message]:
        """All messages, oldest first. This is the live list: do not modify it."""
        return self._state.messages

    @property
    def window_ids(self) -> list[str]:
        """Ids of the messages that the next request is built from. This is the live list: do not modify it."""
        return self._state.window_ids

    @property
    def trims(self) -> list[Trim]:
        """The trims of the context window, oldest first. This is the live list: do not modify it."""
        return self._state.trims

    @property
    def todos(self) -> tuple[Todo, ...]:
        """The todo list."""
        return self._state.todos

    @property
    def plan_mode(self) -> PlanMode | None:
        """The state of plan mode; None while it is off."""
        return self._state.plan_mode

    @property
    def limits(self) -> tuple[SessionLimit, ...]:
        """The limits that the user stated for this session only, oldest first."""
        return self._state.limits

    @property
    def bills(self) -> list[Bill]:
        """Token usage, one entry per request. This is the live list: do not modify it."""
        return self._state.bills

    @property
    def token_ratio(self) -> float | None:
        """Learned average of characters per token; None before the first answer with a token count."""
        return self._state.token_ratio

    @property
    def model(self) -> str | None:
        """The model chosen in this session; None for the configured one."""
        return self._state.model

    @property
    def server_alias(self) -> str | None:
        """The alias on whose server `model` runs; "" for the configured server, None if not recorded."""
        return self._state.server_alias

    @property
    def efforts(self) -> dict[str, str]:
        """Reasoning effort by model name, as chosen in this session. This is the live dict: do not modify it."""
        return self._state.efforts

    @property
    def is_foreign(self) -> bool:
        """Whether it came with the project: this user's clio did not write it."""
        return self._is_foreign

    @property
    def own_from(self) -> int:
        """Index of the first message that may be the user's own; earlier ones came with the project."""
        return self._own_from

    def warn(self, warning: str) -> None:
        """Add a sentence to `warnings`."""
        self._warnings.append(warning)

    def mark_foreign(self, warning: str) -> None:
        """Mark the session as one that came with the project, and add a warning.

        Its messages so far do not count as the user's. Its model, effort, plan mode and limits are reset.
        """
        self._is_foreign = True
        self._own_from = len(self._state.messages)
        self.warn(warning)
        # A repository must not choose the server or the mode of the user's next turn.
        self._state.model = self._state.server_alias = self._state.token_ratio = self._state.plan_mode = None
        self._state.efforts = {}
        if self._state.limits:
            # Recorded, because after a kill the session counts as the user's, and the model follows limits as orders.
            self.set_limits(())

    @property
    def imported(self) -> ImportSource | None:
        """The source, if another program wrote the session; else None."""
        return self._state.imported

    @property
    def is_persistent(self) -> bool:
        """Whether the session is written to disk."""
        return self._disk is not None

    @property
    def unsaved_reason(self) -> str | None:
        """Why the latest state is not on disk, as the end of a sentence that begins "not saved:"; None if it is.

        Unwritten changes stay in memory; each later change tries to write them again.
        """
        return self._disk.unsaved if self._disk else None

    @property
    def warnings(self) -> list[str]:
        """Warnings for the user about the session's files, one sentence each."""
        return [*self._warnings, *(self._disk.warnings if self._disk else ())]

    def append(self, message: Message) -> None:
        """Append a message: one line in the journal, passed to the operating system.

        The cost does not depend on the session's length. Lone surrogates in the text are replaced by U+FFFD.
        """
        self._record(session_format.MessageAdded(n=len(self._state.messages) + 1, message=message))

    def add_bill(self, bill: Bill) -> None:
        """Record the token usage and cost of one request."""
        self._record(session_format.BillAdded(bill=bill))

    def set_todos(self, todos: tuple[Todo, ...]) -> None:
        """Replace the todo list."""
        self._record(session_format.TodosSet(todos=todos))

    def set_plan_mode(self, planned: PlanMode | None) -> None:
        """Set the state of plan mode; None turns it off."""
        self._record(session_format.PlanSet(plan=planned))

    def set_limits(self, limits: tuple[SessionLimit, ...]) -> None:
        """Replace the limits that the user stated for this session."""
        self._record(session_format.LimitsSet(limits=limits))

    def rename(self, name: str | None) -> None:
        """Set the name, on one line of at most 120 characters; None or "" removes it."""
        self._record(session_format.Renamed(session_name=to_one_line(name or "", NAME_CHARS) or None))

    def set_token_ratio(self, token_ratio: float | None) -> None:
        """Store the learned average of characters per token."""
        self._record(session_format.RatioLearned(token_ratio=token_ratio))

    def set_model(self, name: str | None, server_alias: str | None = None) -> None:
        """Store the model chosen in this session, and the alias on whose server it runs."""
        self._record(session_format.ModelChosen(selected_model=name, server_alias=server_alias))

    def set_effort(self, model: str, effort: str) -> None:
        """Store the reasoning effort for a model."""
        self._record(session_format.EffortChosen(model=model, effort=effort))

    def set_stm(self, ids: tuple[str, ...]) -> None:
        """Set the ids of the messages in the context window; later messages are added to it automatically."""
        self._record(session_format.WindowSet(stm=ids))

    def add_trim(self, trim: Trim) -> None:
        """Record a trim: messages leave the context window or are shortened in it. All stay in the session."""
        self._record(session_format.Trimmed(trim=trim))

    def undo_trim(self) -> Trim | None:
        """Undo the last trim and return it; None if there is none."""
        with self._changing:
            self._check_open()
            last = self._state.trims[-1] if self._state.trims else None
            if last is not None:
                self._record(session_format.TrimUndone())
            return last

    def write_blob(self, text: str) -> str:
        """Store a full output, which must be redacted already; return its handle for `read_blob`."""
        with self._changing:
            self._check_open()
            handle = self._blobs.add(text)
            if self._disk is not None:
                self._disk.flush()
            return handle

    def write_data(self, data: bytes) -> str:
        """Store binary data, such as an image; return its handle for `read_data`."""
        with self._changing:
            self._check_open()
            handle = self._blobs.add_data(data)
            if self._disk is not None:
                self._disk.flush()
            return handle

    def read_data(self, handle: str) -> bytes:
        """Return the bytes with this handle. Raises BlobNotFound, OSError."""
        return self._blobs.read_data(handle)

    def read_blob(self, handle: str) -> str:
        """Return the text with this handle. Raises BlobNotFound, OSError."""
        return self._blobs.read(handle)

    def sync(self) -> None:
        """Flush everything appended so far to the storage device, so that it survives a power failure.

        Takes as long as an fsync: call it once per step.
        """
        with self._changing:
            self._check_open()
            if self._disk is not None:
                self._disk.sync()

    def close(self) -> None:
        """Write the snapshot, delete the journal and release the lock. A session without messages leaves no file.

        If the snapshot cannot be written, the journal stays and `unsaved_reason` says why. A second call does nothing.
        """
        with self._changing:
            if self._closed:
                return
            self._closed = True
            if self._disk is not None:
                self._disk.save_whole()
                self._disk.release()

    def _check_open(self) -> None:
        """Raise ValueError after `close`, since a write would acquire the lock again and nothing would release it."""
        if self._closed:
            raise ValueError(f"session {self.id!r} is closed; open it again to change it")

    def _record(self, record: session_format.JournalRecord) -> None:
        """Apply a change to the state and append it to the journal. Replaying the journal uses the same code."""
        with self._changing:
            self._check_open()
            # Encoded before it is applied: a record that cannot be encoded must not change the state.
            record, line = session_format.encode_record(record)
            session_format.apply_record(record, self._state)
            self._state.updated_at = time.time()
            if self._disk is not None:
                self._disk.write(line)
