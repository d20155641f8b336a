"""The names of the project's files for the menu behind "@": made ahead, and renewed beside what is typed."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from clio.text.fuzzy import FuzzyNames

FRESH_S = 5.0
"""A listing serves this long before a newer one is looked for; new files appear soon enough."""
_BETWEEN = "\0"
"""What no name holds."""


class FileNames:
    """The files of one project and their index. Asked by one thread, renewed by another.

    list_files: relative posix paths, however long it takes. list_ahead: the same where it is soon done, else None.
    changed: told, in another thread, that the files are others than those that were given a moment ago.
    """

    def __init__(
        self,
        list_files: Callable[[], Sequence[str]],
        list_ahead: Callable[[], Sequence[str] | None] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._list_files = list_files
        self._list_ahead = list_ahead or list_files
        self._clock = clock
        self._held: tuple[Sequence[str], FuzzyNames] = ((), FuzzyNames(()))
        self._listed_at: float | None = None
        self._ahead: tuple[str, float] | None = None
        self._listing = threading.Lock()
        self.changed: Callable[[], None] = lambda: None

    def now(self) -> tuple[Sequence[str], FuzzyNames]:
        """The files, their names and those of their folders.

        The first time it takes as long as it takes, unless `prepare` has listed them; later no time. What is older
        than `FRESH_S` is given as it is, and renewed meanwhile.
        """
        if self._listed_at is None:
            with self._listing:
                if self._listed_at is None:
                    self._unpack() if self._ahead else self._take(self._list_files())
        if self._clock() - (self._listed_at or 0.0) > FRESH_S and self._listing.acquire(blocking=False):
            threading.Thread(target=self._renew, name="file names", daemon=True).start()
        return self._held

    def prepare(self) -> None:
        """List them before anybody asks, unless there are too many; for a thread, while nobody waits.

        They are kept as one text: with an index 20,000 names are 5 MiB, which take 0.03 s when somebody asks, and many
        never do.
        """
        with self._listing:
            if self._listed_at is None and (files := self._list_ahead()) is not None:
                self._ahead = _BETWEEN.join(files), self._clock()

    def _unpack(self) -> None:
        """Take what was listed ahead."""
        assert self._ahead is not None
        names, at = self._ahead
        self._ahead = None
        self._take(names.split(_BETWEEN) if names else [])
        self._listed_at = at

    def _renew(self) -> None:
        before = self._held
        try:
            with suppress(OSError):  # the project is gone, or cannot be read: what was there is offered on
                self._take(self._list_files())
        finally:
            self._listing.release()
        if self._held is not before:
            self.changed()

    def _take(self, files: Sequence[str]) -> None:
        if files != self._held[0]:
            self._held = (files, FuzzyNames((*files, *_folders(files))))
        self._listed_at = self._clock()


def _folders(files: Sequence[str]) -> list[str]:
    """Every folder of the files, with its slash."""
    folders: dict[str, None] = {}
    for path in files:
        end = path.rfind("/")
        while end > 0 and path[: end + 1] not in folders:
            folders[path[: end + 1]] = None
            end = path.rfind("/", 0, end)
    return list(folders)
