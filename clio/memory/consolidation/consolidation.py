"""What is known of a project's consolidation between runs: its settings, state and reports, and the turns that wait.

Consolidation replays finished turns of earlier sessions to store what can be learned from them as memories, and merges
and archives memories. Its state is in `.clio/sleep.json`, its reports in `.clio/sleep.log.jsonl`. The run itself is in
`clio.memory.consolidation.runner`, which is imported when one starts.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct, field, structs

from clio.errors import CorruptDocument, StorageError, UserError
from clio.memory.consolidation.command_findings import HabitState
from clio.memory.consolidation.experiences import Correction, Experience, find_own_start, split_into_turns
from clio.memory.transcripts.session_text import MEMORY_TOOL
from clio.messages import AssistantMessage, Message, UserMessage, is_turn_start
from clio.sessions.listing import find_session_ids, list_file_names, list_sessions
from clio.sessions.state import SessionInfo
from clio.sessions.store import SessionStore
from clio.storage.documents import Document, DocumentFormat, load_document, save_document
from clio.storage.files import make_ignored_folder, read_regular, write_atomic
from clio.storage.jsonl import append_lines, back_up_damaged_file, read_lines
from clio.storage.locks import FileLock
from clio.text.consolidate import compute_replay_priority
from clio.text.formatting import format_stored_time
from clio.text.json_data import decode_json
from clio.text.scoring import DAY_S
from clio.text.translation import tr, tr_count

StartedBy = Literal["hand", "idle", "exit"]
"""What started a consolidation: the user ("hand"), or clio when idle or at exit."""
MAX_REPORTS = 200
MAX_CHANGES = 100
"""Number of changes that a report lists; the others are only counted."""
_MAX_LOG_BYTES = 1_000_000
_MAX_SAVED_HABITS = 2_000
MIN_SESSIONS = 3
"""Number of sessions in which a note must have been used to be promoted; further sessions are not stored."""
_BEFORE_CHARS = 500
"""Number of characters of the message before a turn that are kept: its end."""
_SEEING = frozenset(("store", "retrieve"))


class Report(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The report of one consolidation.

    Attributes:
        at: its start, in seconds since the epoch.
        by: what started it.
        seconds: its duration.
        dry_run: nothing was written; the numbers say what would have been done.
        early_end: why it ended before all turns were replayed: stopped by the user, or out of time; empty if not.
        sessions: the number of sessions read.
        replayed: the number of turns replayed.
        waiting: the number of finished turns that are still to be replayed.
        facts, solutions, workflows, rules, preferences: numbers of new memories.
        confirmed: memories that were stated again.
        superseded: memories replaced by a newer statement.
        variants: new memories that contradict an existing one and are less certain.
        by_model: memories that a model found.
        merged: memories merged with a similar one.
        archived: memories moved to the archive because they faded, or were old or uncertain.
        promoted: notes promoted to discoveries.
        turns_archived, turns_deleted: rated turns whose time in the file of ratings was over.
        unread: the number of sessions that could not be read.
        changes: one line per change, at most `MAX_CHANGES`.
        errors: one sentence per error.
        write_error: the one of them that says what could not be written; empty if everything was written.
    """

    at: float
    by: StartedBy = "hand"
    seconds: float = 0.0
    dry_run: bool = False
    early_end: Literal["", "stopped", "time"] = field(default="", name="cut")
    sessions: int = 0
    replayed: int = 0
    waiting: int = 0
    facts: int = 0
    solutions: int = 0
    workflows: int = 0
    rules: int = 0
    preferences: int = 0
    confirmed: int = 0
    superseded: int = 0
    variants: int = 0
    by_model: int = 0
    merged: int = 0
    archived: int = 0
    promoted: int = 0
    turns_archived: int = 0
    turns_deleted: int = 0
    unread: int = 0
    changes: tuple[str, ...] = ()
    errors: tuple[str, ...] = field(default=(), name="trouble")
    write_error: str = field(default="", name="unkept")

    @property
    def learned(self) -> int:
        """Return the number of memories that are new or have a new text."""
        new = self.facts + self.solutions + self.workflows + self.rules + self.preferences
        return new + self.superseded + self.variants + self.promoted

    @property
    def changed(self) -> int:
        """Return the number of all changes of memories."""
        return self.learned + self.confirmed + self.merged + self.archived

    @property
    def did_anything(self) -> bool:
        """Whether there is anything to report: turns replayed, changes or errors."""
        return bool(self.changed or self.replayed or self.turns_archived or self.turns_deleted or self.errors)

    @property
    def line(self) -> str:
        """Return the report in one line."""
        counts = [tr_count(number, one, many) for number, one, many in self._list_counts() if number]
        turns = tr_count(self.replayed, "turn")
        head = (
            tr("dry run: {turns} to process", turns=turns)
            if self.dry_run
            else tr("consolidated: {turns} processed", turns=turns)
        )
        line = ", ".join([head, *(counts or [tr("nothing new")])])
        if self.early_end:
            why = tr("stopped") if self.early_end == "stopped" else tr("out of time")
            left = tr_count(self.waiting, "turn") if self.waiting else tr("more")
            line += tr("; {why}, {left} left", why=why, left=left)
        if self.dry_run:
            return tr("{line} · nothing was written", line=line)
        return tr("{line} · /memory log, /memory undo", line=line) if self.changed else line

    def _list_counts(self) -> tuple[tuple[int, str, str], ...]:
        return (
            (self.facts, "fact", "facts"),
            (self.solutions, "fix", "fixes"),
            (self.workflows, "workflow", "workflows"),
            (self.rules, "rule", "rules"),
            (self.preferences, "preference", "preferences"),
            (self.promoted, tr("note promoted"), tr("notes promoted")),
            (self.superseded, "superseded", "superseded"),
            (self.variants, "variant", "variants"),
            (self.confirmed, "confirmed", "confirmed"),
            (self.merged, "merged", "merged"),
            (self.archived, "archived", "archived"),
        )


class ReportLog:
    """The file with the reports of one project, the newest last. Its methods raise OSError and TimeoutError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, report: Report) -> None:
        """Append a report; it is on disk when this returns."""
        make_ignored_folder(self.path.parent, self.path.parent)
        with FileLock(self.path.with_name(self.path.name + ".lock")):
            if append_lines(self.path, (msgspec.json.encode(report),)) > _MAX_LOG_BYTES:
                self._truncate()

    def last(self, limit: int) -> tuple[Report, ...]:
        """Return the last reports, newest first; invalid lines are skipped."""
        reports = [report for line in reversed(read_lines(self.path).lines) if (report := _decode_report(line))]
        return tuple(reports[: min(limit, MAX_REPORTS)])

    def _truncate(self) -> None:
        """Keep only the newest reports: at most `MAX_REPORTS`, in at most half of the maximum size."""
        back_up_damaged_file(self.path)
        kept_lines, remaining_bytes = list[bytes](), _MAX_LOG_BYTES // 2
        for line in reversed(read_lines(self.path).lines[-MAX_REPORTS:]):
            remaining_bytes -= len(line)
            if remaining_bytes < 0:
                break
            kept_lines.append(line)
        write_atomic(self.path, b"".join(line + b"\n" for line in reversed(kept_lines)))


def _decode_report(line: bytes) -> Report | None:
    try:
        return decode_json(line, type=Report)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


AskModel = Callable[[str], str]
"""Sends a prompt to a model and returns its answer; raises ProviderError."""


class _LastRun(Struct, frozen=True):
    """The field of the state file `sleep.json` that is needed here: when the last complete run ended."""

    last_full: float = 0.0


class Consolidation:
    """The settings of a project's consolidation, whether it is due, and the reports of earlier runs.

    Args:
        project: the project's folder.
        user_folder: the folder of the user's memories.
        redact: removes secrets from every text before it is stored.
        rng: the source of randomness, which tests replace.

    Attributes:
        ask: sends a prompt to a model; None to ask no model.
        current: id of the running session, whose finished turns are replayed, too.
        before_write: called before the first file is written.
    """

    def __init__(
        self,
        project: Path,
        user_folder: Path,
        store: SessionStore,
        *,
        redact: Callable[[str], str],
        clock: Callable[[], float] = time.time,
        rng: random.Random | None = None,
    ) -> None:
        self.project = project
        self.folder = project / ".clio"
        self.user_folder = user_folder
        self.store = store
        self.redact = redact
        self.clock = clock
        self.rng = rng or random.Random()
        self.ask: AskModel | None = None
        self.current = ""
        self.before_write: Callable[[], None] = lambda: None
        self.log = ReportLog(self.folder / "sleep.log.jsonl")

    def is_due(self) -> bool:
        """Whether a complete run should start: the project has sessions, and no complete run has ended today.

        Only a complete run merges and archives memories; finished turns are replayed whether it is due or not.
        """
        if not self.has_sessions():
            return False
        try:
            last = decode_json(read_regular(self.folder / "sleep.json"), type=_LastRun)
        except FileNotFoundError:
            return True
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return True  # the run reports what is wrong with the file
        return not is_same_day(last.last_full, self.clock())

    def has_sessions(self) -> bool:
        """Whether the project has a folder of sessions."""
        return self.store.folder.is_dir()


def is_same_day(one: float, other: float) -> bool:
    """Whether two times, in seconds since the epoch, are on the same day in the local time zone."""
    return format_stored_time("%Y-%m-%d", one, "never") == format_stored_time("%Y-%m-%d", other)


class Progress(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much of one session was replayed. Turns are named by the id of their first message.

    Attributes:
        done: the last turn up to which all turns were replayed.
        beyond: turns after it that were replayed, too.
        messages, updated: the number of messages and the last change of the session when all turns had been replayed.
    """

    done: str = ""
    beyond: tuple[str, ...] = ()
    messages: int = 0
    updated: float = 0.0

    def covers(self, info: SessionInfo) -> bool:
        """Whether the session is unchanged since all its turns were replayed."""
        return bool(self.messages) and (self.messages, self.updated) == (info.messages, info.updated_at)


class ConsolidationState(Struct, frozen=True, kw_only=True):
    """The state that one consolidation run leaves for the next one: the content of `sleep.json`.

    Attributes:
        sessions: the progress of each session, by id.
        habits: the commands counted so far.
        notes: the sessions in which each note was used, at most three.
        promoted: for each promoted note, a hash of its text at that time.
        told: hashes of the habits that were saved as memories, each with the month.
        corrections: corrections that have refuted nothing so far; what they correct may be in turns that are not
            replayed yet.
        last_full: when the last complete pass ended, in seconds since the epoch.
        compacted, compacted_at: the stamp of the memory files after they were last compacted, and the time of that.
    """

    sessions: dict[str, Progress] = {}
    habits: HabitState = HabitState()
    notes: dict[str, tuple[str, ...]] = {}
    promoted: dict[str, str] = {}
    told: tuple[str, ...] = ()
    corrections: tuple[Correction, ...] = ()
    last_full: float = 0.0
    compacted: str = ""
    compacted_at: float = 0.0

    def with_told_habits(self, digests: Iterable[str]) -> "ConsolidationState":
        """Return the state after habits were saved as memories."""
        return structs.replace(self, told=(*self.told, *digests)[-_MAX_SAVED_HABITS:])

    def with_notes(self, session: str, keys: Iterable[str]) -> "ConsolidationState":
        """Return the state after notes were used in a session."""
        new = {
            key: (*there, session)
            for key in keys
            if session not in (there := self.notes.get(key, ())) and len(there) < MIN_SESSIONS
        }
        return structs.replace(self, notes=self.notes | new) if new else self

    def without_deleted_sessions(self, sessions: Iterable[str]) -> "ConsolidationState":
        """Return the state without sessions that no longer exist."""
        there = set(sessions)
        kept = {id: progress for id, progress in self.sessions.items() if id in there}
        return self if len(kept) == len(self.sessions) else structs.replace(self, sessions=kept)


_STATE = DocumentFormat(schema="clio.sleep", version=1, type=ConsolidationState)


def read_state(path: Path) -> tuple[ConsolidationState, str]:
    """Return the state, and a message if its file was damaged and moved aside; then everything is replayed again.

    Raises NewerDocument, OSError.
    """
    try:
        document = load_document(path, _STATE)
    except CorruptDocument as error:
        return ConsolidationState(), str(error)
    return (document.value if document else ConsolidationState()), ""


def write_state(path: Path, state: ConsolidationState) -> None:
    """Write the state. The caller must hold the lock `sleep.lock`. Raises OSError."""
    save_document(path, _STATE, Document(value=state))


class ReplayedTurns:
    """The turns of one session that are replayed in this pass.

    turns: ids of the first messages of its turns in order, after those that were replayed without a gap.
    """

    def __init__(self, progress: Progress, turns: Iterable[str]) -> None:
        self._progress = progress
        self._turns = tuple(turns)
        self._done = set(progress.beyond)

    @property
    def waiting(self) -> list[str]:
        """The turns that have not been replayed yet."""
        return [turn for turn in self._turns if turn not in self._done]

    def add(self, turn: str) -> None:
        """Mark a turn as replayed."""
        self._done.add(turn)

    def progress(self, info: SessionInfo) -> Progress:
        """Return the progress of the session. info: the session when its turns were listed."""
        done, place = self._progress.done, 0
        while place < len(self._turns) and self._turns[place] in self._done:
            done = self._turns[place]
            place += 1
        rest = tuple(turn for turn in self._turns[place:] if turn in self._done)
        if place < len(self._turns):
            return Progress(done=done, beyond=rest)
        return Progress(done=done, messages=info.messages, updated=info.updated_at)


class Turn(Struct, frozen=True, gc=False):
    """One waiting turn. priority: its weight when turns are drawn at random. at, importance: see `Experience`."""

    session: str
    message: str
    priority: float
    at: float
    importance: float


class Listed(Struct, frozen=True, kw_only=True):
    """A session whose turns wait or whose progress must be saved. notes: keys of the notes it stored or read."""

    info: SessionInfo
    replayed: ReplayedTurns
    turns: tuple[Turn, ...]
    notes: frozenset[str]


class Sessions:
    """The stored sessions of a project that no other process has open. Transcripts are read one at a time.

    current: id of the session that this process continues; "" for none.
    """

    def __init__(
        self, store: SessionStore, known: Mapping[str, Progress], rewards: Mapping[str, float], current: str = ""
    ) -> None:
        self._store = store
        self._current = current
        self._known = known
        self._rewards = rewards
        self.unread = self.looked_at = 0
        self.count = len(self.ids())

    def ids(self) -> set[str]:
        """Return the ids of all sessions, including running ones."""
        return find_session_ids(list_file_names(self._store.folder))

    def waiting(self, now: float, over: Callable[[], bool]) -> Iterator[Listed]:
        """Yield the sessions that changed since they were replayed, the last changed first, until `over` is true.

        Nothing is learned from imported sessions (their facts were offered at the import), from sessions of sub-agents
        (no user spoke there, and the calling session has the result), or from sessions that came with the project.
        What a copy of a session has from the first one is learned there: said once, it must not count twice.
        """
        ids = self.ids()
        foreign = self._store.find_foreign(ids)
        for info in list_sessions(self._store.folder, over):
            if over():
                return
            self.looked_at += 1
            progress = self._known.get(info.id, Progress())
            # The process that has the session open replays it when it ends.
            if info.running and info.id != self._current:
                continue
            if not info.is_conversation or info.id in foreign or progress.covers(info):
                continue
            messages = self._read(info.id)
            if messages is None:
                continue
            turns = split_into_turns(info.id, messages, progress.done)
            if info.parent in ids:
                turns = [turn for turn in turns if turn.at >= info.created_at]
            replayed = ReplayedTurns(progress, (turn.message for turn in turns))
            wait = set(replayed.waiting)
            yield Listed(
                info=info,
                replayed=replayed,
                turns=tuple(self._turn(turn, now) for turn in turns if turn.message in wait),
                notes=_find_used_notes(messages[find_own_start(messages) :]),
            )

    def experiences(self, session: str, wanted: Mapping[str, Turn]) -> tuple[list[Experience], Sequence[Message]]:
        """Return the wanted turns of a session with their messages, in order, and all its messages.

        Turns that no longer exist are left out.

        wanted: by id of the turn's first message.
        """
        messages = self._read(session) or ()
        starts = [place for place, message in enumerate(messages) if is_turn_start(message)]
        found: list[Experience] = []
        before = ""
        for start, end in zip(starts, [*starts[1:], len(messages)], strict=True):
            began = messages[start]
            turn = wanted.get(began.id)
            if turn is not None:
                found.append(
                    Experience(
                        session=turn.session,
                        message=turn.message,
                        at=turn.at,
                        importance=turn.importance,
                        messages=messages[start:end],
                        before=before,
                    )
                )
            before = began.content[-_BEFORE_CHARS:] if isinstance(began, UserMessage) else ""
        return found, messages

    def _turn(self, turn: Experience, now: float) -> Turn:
        days = max(now - turn.at, 0.0) / DAY_S
        priority = compute_replay_priority(turn.importance, days, turn.message in self._rewards)
        return Turn(turn.session, turn.message, priority, turn.at, turn.importance)

    def _read(self, session: str) -> tuple[Message, ...] | None:
        """Return the messages, or None if they cannot be read or the session was deleted meanwhile."""
        try:
            return self._store.read(session)
        except (StorageError, UserError, OSError):
            self.unread += 1
            return None


def _find_used_notes(messages: Sequence[Message]) -> frozenset[str]:
    """Return the keys of the notes that were stored or read with the memory tool."""
    calls = (call for message in messages if isinstance(message, AssistantMessage) for call in message.tool_calls)
    found = (_read_note_key(call.arguments) for call in calls if call.name == MEMORY_TOOL)
    return frozenset(key for key in found if key)


def _read_note_key(arguments: str) -> str:
    try:
        given = decode_json(arguments)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    fields = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    key = fields.get("key")
    return key if fields.get("operation") in _SEEING and isinstance(key, str) else ""
