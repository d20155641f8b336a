"""What a clio is about to do, noted first, so that the next one knows what a killed one may have left."""

import secrets
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from clio.algorithms.json_data import decode_json
from clio.checkpoints.states import FileState, TurnRef
from clio.storage.files import make_folder, read_regular, write_atomic
from clio.storage.locks import FileLock, holder


class Intent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call that may change files, before it ran.

    files: those it names, as they were. seen: the id of what was seen of the whole workspace, for a command.
    made: folders that were not there.
    """

    turn: TurnRef
    at: float
    files: dict[str, FileState | None] = {}
    seen: str = ""
    made: tuple[str, ...] = ()


class Intents(Protocol):
    """Where one clio notes what it is about to do."""

    def begin(self, intent: Intent) -> None:
        """Note it; it replaces the one before."""
        ...

    def end(self) -> None:
        """It was done and is in the log."""
        ...

    def abandoned(self) -> list[Intent]:
        """Those of clios that were killed; each is handed out once."""
        ...

    def close(self) -> None:
        """Nothing more will be noted."""
        ...


class DiskIntents:
    """One small file for each clio, beside a lock that it holds while it lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "intents"
        self._path = self._folder / f"{secrets.token_hex(8)}.json"
        self._lock = FileLock(_lock_of(self._path))

    def begin(self, intent: Intent) -> None:
        """Raises OSError."""
        make_folder(self._folder)
        if not self._lock.held:
            self._lock.acquire()
        write_atomic(self._path, msgspec.json.encode(intent), durable=False)

    def end(self) -> None:
        """Raises OSError."""
        self._path.unlink(missing_ok=True)

    def abandoned(self) -> list[Intent]:
        """Raises OSError."""
        found: list[Intent] = []
        for path in sorted(self._folder.glob("*.json")):
            lock = FileLock(_lock_of(path))
            if path == self._path or holder(lock.path) is not None or not lock.acquire():
                continue
            try:
                found.append(decode_json(read_regular(path), type=Intent))
            except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
                continue  # another clio was faster, or the power failed in the middle
            finally:
                path.unlink(missing_ok=True)
                lock.release()
        return sorted(found, key=lambda intent: intent.at)

    def close(self) -> None:
        """See Intents."""
        with suppress(OSError):  # the next clio finds it, and nothing changed
            self.end()
        self._lock.release()


class NoIntents:
    """For a clio that writes nothing."""

    def begin(self, intent: Intent) -> None:
        """See Intents."""

    def end(self) -> None:
        """See Intents."""

    def abandoned(self) -> list[Intent]:
        """See Intents."""
        return []

    def close(self) -> None:
        """See Intents."""


def _lock_of(path: Path) -> Path:
    return path.with_suffix(".lock")
