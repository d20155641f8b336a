"""What a workspace looks like at one moment, and what differs between two of them. Pure."""

import os
from collections.abc import Mapping
from typing import NamedTuple


class Row(NamedTuple):
    """One file that was looked at. A tuple, for there are many.

    seen: what the file system said of it, to tell whether it was touched since; empty where that cannot be told.
    blob: what git calls its bytes; "" outside of git. id: see FileState; "" where git has the bytes.
    """

    seen: tuple[int, ...]
    mode: int
    size: int
    id: str
    blob: str = ""
    link: str | None = None


class Clean(NamedTuple):
    """One tracked file whose bytes are those of a blob."""

    blob: str
    mode: int
    size: int


class Snapshot(NamedTuple):
    """All files of a workspace that are covered.

    clean: what git has, but for what stands in `rows` or `gone`; snapshots of one index share it.
    repositories: folders of other repositories, which are not covered. beyond: files left out since there are too many.
    """

    clean: Mapping[str, Clean]
    rows: Mapping[str, Row]
    gone: frozenset[str] = frozenset()
    repositories: tuple[str, ...] = ()
    beyond: int = 0

    def of(self, path: str) -> Row | Clean | None:
        """The file at that path; None where there is none."""
        row = self.rows.get(path)
        if row is not None or path in self.gone:
            return row
        return self.clean.get(path)

    def folders(self) -> set[str]:
        """Every folder that holds a file, at any depth."""
        found: set[str] = set()
        for paths in (self.rows, self.clean):
            for path in paths:
                folder = path.rpartition("/")[0]
                while folder and folder not in found:
                    found.add(folder)
                    folder = folder.rpartition("/")[0]
        return found


def differing(before: Snapshot, after: Snapshot) -> list[str]:
    """The paths whose file is not the same in both, sorted."""
    doubtful = before.rows.keys() | after.rows.keys() | before.gone | after.gone
    if before.clean is not after.clean:
        doubtful |= {path for path, _ in before.clean.items() ^ after.clean.items()}
    return sorted(path for path in doubtful if not _same(before.of(path), after.of(path)))


def signature(status: os.stat_result) -> tuple[int, ...]:
    """What changes whenever a file is written, replaced or given other permissions."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode


def _same(one: Row | Clean | None, other: Row | Clean | None) -> bool:
    if one is None or other is None:
        return one is other
    if (one.mode, one.size) != (other.mode, other.size):
        return False
    if one.blob and other.blob:
        return one.blob == other.blob
    return isinstance(one, Row) and isinstance(other, Row) and (one.id, one.link) == (other.id, other.link)
