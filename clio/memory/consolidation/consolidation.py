"""The settings of a project's consolidation, whether it is due, and the reports of earlier runs.

Consolidation replays finished turns of earlier sessions to store what can be learned from them as memories, and merges
and archives memories. This module is imported with the memory system; the run itself, which is in
`clio.memory.consolidation.runner`, is imported when one starts.
"""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, field

from clio.sessions.store import SessionStore
from clio.storage.files import make_ignored_folder, read_regular, write_atomic
from clio.storage.jsonl import append_lines, back_up_damaged_file, read_lines
from clio.storage.locks import FileLock
from clio.text.formatting import format_stored_time
from clio.text.json_data import decode_json
from clio.text.translation import tr, tr_count

StartedBy = Literal["hand", "idle", "exit"]
"""What started a consolidation: the user ("hand"), or clio when idle or at exit."""
MAX_REPORTS = 200
MAX_CHANGES = 100
"""Number of changes that a report lists; the others are only counted."""
_MAX_LOG_BYTES = 1_000_000


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
        reports = [report for line in reversed(read_lines(self.path).lines) if (report := _decode(line))]
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


def _decode(line: bytes) -> Report | None:
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

    def last(self, limit: int) -> tuple[Report, ...]:
        """Return the last reports, newest first. Raises OSError."""
        return self.log.last(limit)


def is_same_day(one: float, other: float) -> bool:
    """Whether two times, in seconds since the epoch, are on the same day in the local time zone."""
    return format_stored_time("%Y-%m-%d", one, "never") == format_stored_time("%Y-%m-%d", other)
