"""One conversation on disk from its first message: what was appended is there after a kill at any instant."""

import threading
import time
from pathlib import Path

from clio.messages import Message
from clio.sessions import session_format
from clio.sessions.blobs import BlobStore
from clio.sessions.session_files import SessionDisk
from clio.sessions.state import NAME_CHARS, Bill, ImportSource, PlanMode, SessionState, Todo, Trim, to_one_line


class _OneThread:
    """A lock that does not wait: entering it while another thread is inside raises RuntimeError."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.RLock()  # re-entrant: `undo_trim` records a change

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(f"{self._name} is changed by two threads at once")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Session:
    """A conversation and its files; made by `SessionStore`.

    Any thread may use it, but only one at a time may change it: a change that begins while another thread is still in
    one raises RuntimeError before anything is written, because the lines of the journal would be mixed up. After
    `close` another process may open the files, so every further change raises ValueError; reading goes on.

    disk: None for a session that is never to be on disk; `blobs` then holds the outputs an earlier run stored.
    """

    def __init__(self, state: SessionState, disk: SessionDisk | None, blobs: BlobStore | None = None) -> None:
        self._state = state
        self._disk = disk
        self._blobs = disk.blobs if disk else blobs or BlobStore(None)
        self._closed = False
        self._changing = _OneThread(f"session {state.id!r}")
        self._is_foreign = False
        self._own_from = 0
        self._warnings: list[str] = []

    @property
    def id(self) -> str:
        """The session's UUID, also the name of its files."""
        return self._state.id

    @property
    def name(self) -> str | None:
        """What the person calls it."""
        return self._state.name

    @property
    def created_at(self) -> float:
        """Seconds since the epoch."""
        return self._state.created_at

    @property
    def working_directory(self) -> Path:
        """Where it was started."""
        return Path(self._state.working_directory)

    @property
    def parent(self) -> str | None:
        """Id of the session it was branched from, or that delegated work to it."""
        return self._state.parent

    @property
    def delegated(self) -> str | None:
        """The sub-agent that works in it; None where a person talks."""
        return self._state.delegated

    @property
    def messages(self) -> list[Message]:
        """The live list, oldest first; to be read only."""
        return self._state.messages

    @property
    def stm(self) -> list[str]:
        """Ids of the messages the next request is built from; to be read only."""
        return self._state.stm

    @property
    def trims(self) -> list[Trim]:
        """How messages left the window, oldest first; to be read only."""
        return self._state.trims

    @property
    def todos(self) -> tuple[Todo, ...]:
        """The list of work."""
        return self._state.todos

    @property
    def plan_mode(self) -> PlanMode | None:
        """How plan mode stands in it; None while it is off."""
        return self._state.plan_mode

    @property
    def bills(self) -> list[Bill]:
        """Token usage, one entry per request; to be read only."""
        return self._state.bills

    @property
    def token_ratio(self) -> float | None:
        """Characters per token as learned; None where nothing was."""
        return self._state.token_ratio

    @property
    def model(self) -> str | None:
        """The model chosen in this session; None for the configured one."""
        return self._state.model

    @property
    def server_alias(self) -> str | None:
        """The alias whose server the model was chosen on, "" for the configured server; None where not recorded."""
        return self._state.server_alias

    @property
    def efforts(self) -> dict[str, str]:
        """How hard models are to think, by their names, as chosen in this session; to be read only."""
        return self._state.efforts

    @property
    def is_foreign(self) -> bool:
        """Whether it came with the project: this user's clio did not write it."""
        return self._is_foreign

    @property
    def own_from(self) -> int:
        """The place of the first message that may be the user's: those before it came with the project."""
        return self._own_from

    def warn(self, warning: str) -> None:
        """Add a sentence to `warnings`."""
        self._warnings.append(warning)

    def mark_foreign(self, warning: str) -> None:
        """Take it for one that came with the project: its settings and its messages so far are not the user's."""
        self._is_foreign = True
        self._own_from = len(self._state.messages)
        self.warn(warning)
        self._state.model = self._state.server_alias = self._state.token_ratio = self._state.plan_mode = None
        self._state.efforts = {}

    @property
    def imported(self) -> ImportSource | None:
        """Where it came from, if another program wrote it."""
        return self._state.imported

    @property
    def is_persistent(self) -> bool:
        """Whether it has files at all."""
        return self._disk is not None

    @property
    def unsaved_reason(self) -> str | None:
        """Why the newest state is not on disk, as the rest of a sentence that begins "not saved:"; None when it is.

        What could not be written stays in memory and is written with the next change for which the disk works.
        """
        return self._disk.unsaved if self._disk else None

    @property
    def warnings(self) -> list[str]:
        """What is to be known of the session's files, one sentence each."""
        return [*self._warnings, *(self._disk.warnings if self._disk else ())]

    def append(self, message: Message) -> None:
        """Add a message: one line in the journal, handed to the operating system. Costs the same at any length.

        Text that is no valid Unicode (half of a surrogate pair) is kept with U+FFFD in its place.
        """
        self._record(session_format.MessageAdded(n=len(self._state.messages) + 1, message=message))

    def add_bill(self, bill: Bill) -> None:
        """Note what a request cost."""
        self._record(session_format.BillAdded(bill=bill))

    def set_todos(self, todos: tuple[Todo, ...]) -> None:
        """Replace the list of work."""
        self._record(session_format.TodosSet(todos=todos))

    def set_plan_mode(self, planned: PlanMode | None) -> None:
        """Keep whether plan mode is on, and whether its plan waits for the person."""
        self._record(session_format.PlanSet(plan=planned))

    def rename(self, name: str | None) -> None:
        """Give it a name of up to 120 characters on one line; None or an empty one takes the name away."""
        self._record(session_format.Renamed(session_name=to_one_line(name or "", NAME_CHARS) or None))

    def set_token_ratio(self, token_ratio: float | None) -> None:
        """Keep the learned characters per token."""
        self._record(session_format.RatioLearned(token_ratio=token_ratio))

    def set_model(self, name: str | None, server_alias: str | None = None) -> None:
        """Keep the model chosen in this session, and the alias whose server it belongs to."""
        self._record(session_format.ModelChosen(selected_model=name, server_alias=server_alias))

    def set_effort(self, model: str, effort: str) -> None:
        """Keep how hard a model is to think."""
        self._record(session_format.EffortChosen(model=model, effort=effort))

    def set_stm(self, ids: tuple[str, ...]) -> None:
        """Set the sliding window after a trim; later messages join it by themselves."""
        self._record(session_format.WindowSet(stm=ids))

    def add_trim(self, trim: Trim) -> None:
        """Take messages out of the window, or have them shown shorter; none leaves the session."""
        self._record(session_format.Trimmed(trim=trim))

    def undo_trim(self) -> Trim | None:
        """Reverse the last trim, and return it; None where there is none."""
        with self._changing:
            self._check_open()
            last = self._state.trims[-1] if self._state.trims else None
            if last is not None:
                self._record(session_format.TrimUndone())
            return last

    def write_blob(self, text: str) -> str:
        """Keep a whole output, already redacted; returns the handle for `read_blob`."""
        with self._changing:
            self._check_open()
            handle = self._blobs.add(text)
            if self._disk is not None:
                self._disk.flush()
            return handle

    def write_data(self, data: bytes) -> str:
        """Keep bytes that are no text, such as a picture's; returns the handle for `read_data`."""
        with self._changing:
            self._check_open()
            handle = self._blobs.add_data(data)
            if self._disk is not None:
                self._disk.flush()
            return handle

    def read_data(self, handle: str) -> bytes:
        """The bytes behind a handle. Raises BlobNotFound; OSError where the disk fails."""
        return self._blobs.read_data(handle)

    def read_blob(self, handle: str) -> str:
        """The text behind a handle. Raises BlobNotFound; OSError where the disk fails."""
        return self._blobs.read(handle)

    def sync(self) -> None:
        """Make everything appended so far survive a power failure. Takes what an fsync takes: call it once a step."""
        with self._changing:
            self._check_open()
            if self._disk is not None:
                self._disk.sync()

    def close(self) -> None:
        """Write the snapshot, drop the journal, let go of the lock. A session without a message leaves no file.

        Where the snapshot cannot be written the journal stays and `unsaved` says why. A second call does nothing.
        """
        with self._changing:
            if self._closed:
                return
            self._closed = True
            if self._disk is not None:
                self._disk.save_whole()
                self._disk.release()

    def _check_open(self) -> None:
        """Raise ValueError after `close`: a write would take the lock again, and nothing would release it."""
        if self._closed:
            raise ValueError(f"session {self.id!r} is closed; open it again to change it")

    def _record(self, record: session_format.Record) -> None:
        """Carry out a change and write it down; reading the journal carries it out in the same way."""
        with self._changing:
            self._check_open()
            record, line = session_format.encode_record(record)
            session_format.apply_record(record, self._state)
            self._state.updated_at = time.time()
            if self._disk is not None:
                self._disk.write(line)
