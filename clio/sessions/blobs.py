"""Whole tool outputs beside a session: stored once, named by their content."""

import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from clio.algorithms.late_pattern import LatePattern
from clio.sessions.text import valid_text
from clio.storage.atomic import sync_folder, write_atomic
from clio.storage.folders import make_folder
from clio.storage.reading import read_regular

HANDLE = LatePattern(r"[0-9a-f]{8,64}")
HANDLE_CHARS = 16


class BlobNotFound(LookupError):
    """No stored output answers to the handle; the message says so in one sentence."""


class BlobStore:
    """The outputs of one session; those that are not written yet are readable from memory.

    folder: where stored ones are read from; None for none.
    writable: False keeps new ones in memory only.
    elsewhere: by whole digest, how to read those that another program stored; `flush` stores them here too.
    """

    def __init__(
        self, folder: Path | None, *, writable: bool = True, elsewhere: Mapping[str, Callable[[], str]] | None = None
    ) -> None:
        self._folder = folder
        self._writable = writable
        self._elsewhere = dict(elsewhere or {})
        self._waiting: dict[str, bytes] = {}
        self._not_durable: list[Path] = []

    def add(self, text: str) -> str:
        """Keep a text; returns its handle, the first 16 digits of the SHA-256 of its UTF-8. Call `flush` next."""
        return self.add_data(valid_text(text).encode("utf-8"))

    def add_data(self, data: bytes) -> str:
        """The same for bytes that are no text, such as a picture's."""
        digest = hashlib.sha256(data).hexdigest()
        self._waiting[digest] = data
        return digest[:HANDLE_CHARS]

    def read(self, handle: str) -> str:
        """The text behind a handle of at least 8 digits. Raises BlobNotFound; OSError where the disk fails."""
        return self.read_data(handle).decode("utf-8", errors="replace")

    def read_data(self, handle: str) -> bytes:
        """The same as bytes."""
        if HANDLE.fullmatch(handle):
            for digest, data in self._waiting.items():
                if digest.startswith(handle):
                    return data
            found = sorted(self._folder.glob(handle + "*")) if self._folder else []
            found = [path for path in found if HANDLE.fullmatch(path.name)]
            if len(found) == 1:
                return read_regular(found[0])
            for digest, read in self._elsewhere.items():
                if digest.startswith(handle):
                    with suppress(FileNotFoundError):
                        return read().encode("utf-8", errors="replace")
        raise BlobNotFound(
            f"No stored output has the handle {handle!r}; use the handle as the shortened output gave it."
        )

    @property
    def waiting(self) -> bool:
        """Whether there are outputs `flush` would write."""
        return bool(self._waiting)

    def flush(self) -> None:
        """Write what waits. Raises OSError; what could not be written waits on."""
        if self._folder is None or not self._writable:
            return
        for digest in list(self._waiting):
            self._store(self._folder, digest, self._waiting[digest])
            del self._waiting[digest]
        for digest in list(self._elsewhere):
            try:
                text = self._elsewhere[digest]()
            except FileNotFoundError:
                pass  # deleted meanwhile: there is nothing to be stored
            else:
                self._store(self._folder, digest, text.encode("utf-8"))
            del self._elsewhere[digest]

    def sync(self) -> None:
        """Make what was written survive a power failure. Raises OSError."""
        if not self._not_durable:
            return
        while self._not_durable:
            path = self._not_durable.pop()
            if path.exists():
                fd = os.open(path, os.O_RDWR)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)
        if self._folder is not None and self._folder.is_dir():
            sync_folder(self._folder)

    def _store(self, folder: Path, digest: str, data: bytes) -> None:
        path = folder / digest
        if not path.exists():
            make_folder(folder)
            write_atomic(path, data, durable=False)
            self._not_durable.append(path)
