"""Looks after what cannot be sealed while commands go on behind a turn: again and again, and when they have ended."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clio.sandbox.guard import Guard


class Watches:
    """One guard for each workspace in which something goes on: it remembers how all was before the first began.

    Nothing tells who changed a file: what a person changes there meanwhile is set aside like what a job did.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._guards: dict[Path, tuple[Guard, int]] = {}
        self._notes: list[str] = []

    def begin(self, root: Path, look: "Callable[[], Guard]") -> None:
        """Something is about to begin there. look: remembers how it is before the first; its errors are raised."""
        with self._lock:
            self._put_back(root)
            guard, count = self._guards.get(root) or (look(), 0)
            self._guards[root] = guard, count + 1

    def end(self, root: Path) -> None:
        """It has ended, or never began."""
        with self._lock:
            self._put_back(root)
            guard, count = self._guards[root]
            if count > 1:
                self._guards[root] = guard, count - 1
            else:
                del self._guards[root]

    def undo(self) -> None:
        """Undo what was changed by now, everywhere; what is to be said of it waits."""
        with self._lock:
            for root in self._guards:
                self._put_back(root)

    def put_back(self) -> list[str]:
        """The same. What is to be said and has not been said, a line each."""
        self.undo()
        with self._lock:
            notes, self._notes = self._notes, []
            return notes

    def _put_back(self, root: Path) -> None:
        if root not in self._guards:
            return
        from clio.sandbox.guard import put_back

        if note := put_back(self._guards[root][0], root):
            self._notes.append(note)
