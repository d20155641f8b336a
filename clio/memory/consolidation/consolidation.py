"""Where consolidation of a project runs, whether it is due, and the reports of earlier runs.

Imported with the memory system; the run itself, `clio.memory.consolidation.runner`, only when one starts.
"""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from clio.sessions.store import SessionStore
from clio.storage.files import make_ignored_folder, read_regular, write_atomic
from clio.storage.jsonl import append_lines, back_up_damaged_file, read_lines
from clio.storage.locks import FileLock
from clio.text.formatting import format_count, format_stored_time
from clio.text.json_data import decode_json

By = Literal["hand", "idle", "exit"]
MAX_REPORTS = 200
MAX_CHANGES = 100
"""Number of changes that a report lists; the others are only counted."""
_FOLD_BYTES = 1_000_000


class Report(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The report of one consolidation.

    Attributes:
        at: its start, in seconds since the epoch.
        by: what started it: the user ("hand"), or clio when idle or at exit.
        dry_run: nothing was written; the numbers say what would have been done.
        cut: why it ended early; empty if it is complete.
        sessions: the number of sessions read.
        replayed: the number of turns replayed.
        waiting: the number of listed turns that were not replayed.
        facts, solutions, workflows, rules, preferences: numbers of new memories.
        confirmed: memories that were stated again.
        superseded: memories replaced by a newer statement.
        variants: new memories that contradict an existing one and are less certain.
        by_model: memories that a model found.
        merged: memories merged with a similar one.
        archived: memories that faded, or were old or doubtful.
        promoted: notes promoted to discoveries.
        turns_archived, turns_deleted: turns in the file of ratings, by their retention.
        unread: sessions that could not be read.
        changes: one line per change, at most 100.
        trouble: one sentence per error.
        unkept: the one of them that says what could not be written; empty if everything was.
    """

    at: float
    by: By = "hand"
    seconds: float = 0.0
    dry_run: bool = False
    cut: Literal["", "stopped", "time"] = ""
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
    trouble: tuple[str, ...] = ()
    unkept: str = ""

    @property
    def learned(self) -> int:
        """The number of new and of changed memories."""
        new = self.facts + self.solutions + self.workflows + self.rules + self.preferences
        return new + self.superseded + self.variants + self.promoted

    @property
    def changed(self) -> int:
        """The number of all changes of memories."""
        return self.learned + self.confirmed + self.merged + self.archived

    @property
    def did_anything(self) -> bool:
        """Whether there is anything to report: turns replayed, changes or errors."""
        return bool(self.changed or self.replayed or self.turns_archived or self.turns_deleted or self.trouble)

    @property
    def line(self) -> str:
        """The report in one line."""
        parts = [format_count(number, one, many) for number, one, many in self._parts() if number]
        turns = format_count(self.replayed, "turn")
        head = f"dry run: {turns} to replay" if self.dry_run else f"consolidated: {turns} replayed"
        line = ", ".join([head, *(parts or ["nothing new"])])
        if self.cut:
            why = "stopped" if self.cut == "stopped" else "out of time"
            left = format_count(self.waiting, "turn") if self.waiting else "more"
            line += f"; {why}, {left} left"
        if self.dry_run:
            return f"{line} · nothing was written"
        return f"{line} · /memory log, /memory undo" if self.changed else line

    def _parts(self) -> tuple[tuple[int, str, str], ...]:
        return (
            (self.facts, "fact", "facts"),
            (self.solutions, "fix", "fixes"),
            (self.workflows, "workflow", "workflows"),
            (self.rules, "rule", "rules"),
            (self.preferences, "preference", "preferences"),
            (self.promoted, "note promoted", "notes promoted"),
            (self.superseded, "superseded", "superseded"),
            (self.variants, "variant", "variants"),
            (self.confirmed, "confirmed", "confirmed"),
            (self.merged, "merged", "merged"),
            (self.archived, "archived", "archived"),
        )


class ReportLog:
    """The reports of one project, at most 200, the newest last. Raises OSError, TimeoutError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, report: Report) -> None:
        """Append a report; it is on disk when this returns."""
        make_ignored_folder(self.path.parent, self.path.parent)
        with FileLock(self.path.with_name(self.path.name + ".lock")):
            if append_lines(self.path, (msgspec.json.encode(report),)) > _FOLD_BYTES:
                self._fold()

    def last(self, limit: int) -> tuple[Report, ...]:
        """Return the last reports, newest first; invalid lines are skipped."""
        found = [report for line in reversed(read_lines(self.path).lines) if (report := _decode(line))]
        return tuple(found[: min(limit, MAX_REPORTS)])

    def _fold(self) -> None:
        back_up_damaged_file(self.path)
        kept, room = list[bytes](), _FOLD_BYTES // 2
        for line in reversed(read_lines(self.path).lines[-MAX_REPORTS:]):
            room -= len(line)
            if room < 0:
                break
            kept.append(line)
        write_atomic(self.path, b"".join(line + b"\n" for line in reversed(kept)))


def _decode(line: bytes) -> Report | None:
    try:
        return decode_json(line, type=Report)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


Ask = Callable[[str], str]
"""Sends a prompt to a model and returns its answer; raises ProviderError."""


class _Last(Struct, frozen=True):
    """The part of the state file with the end of the last complete pass."""

    last_full: float = 0.0


class Consolidation:
    """The files and settings of a project's consolidation, whether it is due, and the reports of earlier runs.

    Args:
        project: the project's folder.
        person: the folder of the user's memories.
        redact: removes secrets from every text before it is stored.
        rng: the source of randomness.

    Attributes:
        ask: sends a prompt to a model; None to ask no model.
        current: id of the running session, whose finished turns are replayed, too.
        begin: called before the first file is written.
    """

    def __init__(
        self,
        project: Path,
        person: Path,
        store: SessionStore,
        *,
        redact: Callable[[str], str],
        clock: Callable[[], float] = time.time,
        rng: random.Random | None = None,
    ) -> None:
        self.project = project
        self.folder = project / ".clio"
        self.person = person
        self.store = store
        self.redact = redact
        self.clock = clock
        self.rng = rng or random.Random()
        self.ask: Ask | None = None
        self.current = ""
        self.begin: Callable[[], None] = lambda: None  # before anything is written
        self.log = ReportLog(self.folder / "sleep.log.jsonl")

    def is_due(self) -> bool:
        """Whether clio should tidy the stores: there are sessions, and no complete pass has ended today.

        Waiting turns are replayed whether it is due or not.
        """
        if not self.has_sessions():
            return False
        try:
            last = decode_json(read_regular(self.folder / "sleep.json"), type=_Last)
        except FileNotFoundError:
            return True
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return True  # the run reports what is wrong with the file
        return not same_day(last.last_full, self.clock())

    def has_sessions(self) -> bool:
        """Whether the project has a folder of sessions."""
        return self.store.folder.is_dir()

    def last(self, limit: int) -> tuple[Report, ...]:
        """Return the last reports, newest first. Raises OSError."""
        return self.log.last(limit)


def same_day(one: float, other: float) -> bool:
    """Whether two times, in seconds since the epoch, are on the same day in the local time zone."""
    return format_stored_time("%Y-%m-%d", one, "never") == format_stored_time("%Y-%m-%d", other)
