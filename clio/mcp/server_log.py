"""What a server writes beside the protocol, kept for the person who looks for a fault: its last lines, on disk."""

import os
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path

from clio.storage.files import make_folder

MAX_BYTES = 200_000
"""Of one file; the one before it is kept as `.1`."""
_TAIL_LINES = 20
_LINE_CHARS = 2_000


class ServerLog:
    """One server's log; without a path the last lines are only kept in memory. May be written from any thread.

    clean: takes secrets out of a line.
    """

    def __init__(self, path: Path | None, clean: Callable[[str], str] = str) -> None:
        self.path = path
        self._clean = clean
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._lock = threading.Lock()
        self._size: int | None = None

    def write(self, line: str) -> None:
        """Add a line. A log that cannot be written loses it: no server is stopped for that."""
        line = self._clean(line.rstrip("\r\n")[:_LINE_CHARS])
        with self._lock:
            if line.strip():
                self._tail.append(line.strip())
            if self.path is not None:
                self._append(self.path, line.encode("utf-8", "replace") + b"\n")

    def last_words(self) -> str:
        """The last line that was written; "" where there is none."""
        return self._tail[-1] if self._tail else ""

    def clear(self) -> None:
        """Forget the lines in memory: a new process begins."""
        self._tail.clear()

    def _append(self, path: Path, data: bytes) -> None:
        try:
            if self._size is None:
                make_folder(path.parent)
                self._size = path.stat().st_size if path.exists() else 0
            if self._size + len(data) > MAX_BYTES:
                path.replace(path.with_name(path.name + ".1"))
                self._size = 0
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, data)
            finally:
                os.close(descriptor)
            self._size += len(data)
        except OSError:
            self._size = None
