"""The nights of one project: where they are slept, whether one is due, what they did. What a night needs is elsewhere.

It is imported by whoever opens memory; the pass itself, `clio.memory.sleep.sleep`, only by whoever begins one.
"""

import random
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.memory.sleep.report import Report, ReportLog
from clio.sessions.store import SessionStore
from clio.storage.files import read_regular
from clio.text.formatting import format_stored_time
from clio.text.json_data import decode_json

Ask = Callable[[str], str]
"""Puts a prompt to a model and returns its answer; raises ProviderError."""


class _Last(Struct, frozen=True):
    """What of the state says when the last whole pass ended."""

    last_full: float = 0.0


class Nights:
    """Where a project's nights are slept.

    project: its folder. person: the folder of the person's memories. redact: applied to every text before it is stored.
    rng: where chance comes from. ask: puts a question to a model; None asks nobody.
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
        self.begin: Callable[[], None] = lambda: None  # before anything is written
        self.log = ReportLog(self.folder / "sleep.log.jsonl")

    def is_due(self) -> bool:
        """Whether clio should sleep by itself: there are sessions, and no whole pass has ended today."""
        if not self.store.folder.is_dir():
            return False
        try:
            last = decode_json(read_regular(self.folder / "sleep.json"), type=_Last)
        except FileNotFoundError:
            return True
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return True  # the night itself says what is wrong with the file
        return not same_day(last.last_full, self.clock())

    def last(self, limit: int) -> tuple[Report, ...]:
        """The newest reports, the newest first. Raises OSError."""
        return self.log.last(limit)


def same_day(one: float, other: float) -> bool:
    """Whether two times, in seconds since the epoch, are of one day on this machine's clock."""
    return format_stored_time("%Y-%m-%d", one, "never") == format_stored_time("%Y-%m-%d", other)
