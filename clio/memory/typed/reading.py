"""What there is in a store of typed memories: found, listed, counted, and how each came to be what it is."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clio.errors import UserError
from clio.memory.typed.files import MemoryFiles
from clio.memory.typed.former import Former
from clio.memory.typed.ranked import Ranked, load_all, rank
from clio.memory.typed.record import MemoryRecord, MemoryType, check_type
from clio.memory.typed.shelf import Shelf

if TYPE_CHECKING:
    from clio.memory.typed.versions import Version

Scope = Literal["project", "user"]
DEFAULT_LIMIT = 10
_LEAST_PREFIX = 4
_EVERYTHING = 1 << 60


class TypedReading:
    """The half of a store that looks: nothing here changes a file.

    Methods raise UserError for what cannot be found; StorageError for a file that is not what it should be; OSError.
    """

    def __init__(self, path: Path, scope: Scope = "project", *, clock: Callable[[], float] = time.time) -> None:
        self.scope: Scope = scope
        self._shelf = Shelf()
        self._files = MemoryFiles(path, self._shelf)
        self._clock = clock

    @property
    def path(self) -> Path:
        """The snapshot's file."""
        return self._files.path

    @property
    def damaged(self) -> int:
        """How many lines of the files could not be read so far."""
        return self._files.damaged

    def peek(self, query: str | frozenset[str] = "", limit: int = DEFAULT_LIMIT, type: str = "") -> tuple[Ranked, ...]:
        """What `recall` would give, without any of it counting as used. query: words, or the stems of words."""
        wanted, unwanted = _filter(type)
        most = _EVERYTHING if limit < 0 else limit or DEFAULT_LIMIT
        self._files.catch_up()
        now = self._clock()
        if query.strip() if isinstance(query, str) else query:
            return rank(self._shelf, query, most, now, wanted=wanted, unwanted=unwanted)
        return load_all(self._shelf, most, now, wanted=wanted, unwanted=unwanted)

    def keywords_like(self, term: str) -> set[str]:
        """The stems of keywords that a stem no memory has may be a misspelling of."""
        self._files.catch_up()
        return self._shelf.keywords_like(term)

    def records(self, *, superseded: bool = False) -> list[MemoryRecord]:
        """The live memories in the order they were made; with those that were superseded if asked."""
        self._files.catch_up()
        found = self._shelf.records.values() if superseded else self._shelf.live()
        return sorted(found, key=lambda record: (record.created, record.id))

    def live(self, ids: Iterable[str]) -> list[MemoryRecord]:
        """Those of these that are live, in their order."""
        self._files.catch_up()
        found = (self._shelf.records.get(id) for id in ids)
        return [record for record in found if record is not None and record.is_live]

    def each(self, type: MemoryType) -> Iterator[MemoryRecord]:
        """The memories of one type that hold, in no particular order, without the cost of one; variants do not."""
        self._files.catch_up()
        return (one for one in tuple(self._shelf.live()) if one.type == type and not one.is_variant)

    def variants(self, id: str) -> tuple[MemoryRecord, ...]:
        """What other sources say that contradicts this memory with less confidence: at most three."""
        self._files.catch_up()
        return self._shelf.variants(id)

    def count(self) -> int:
        """How many live memories there are."""
        self._files.catch_up()
        return len(self._shelf)

    def has(self, id: str) -> bool:
        """Whether a memory of that id is here, live or superseded."""
        return id in self._shelf.records

    def find(self, prefix: str) -> MemoryRecord:
        """The memory whose id is this, or alone begins or ends with it. Raises UserError."""
        self._files.catch_up()
        return self._shelf.records[_meant(prefix, self._shelf.records)]

    def like(self, prefix: str) -> tuple[str, ...]:
        """The ids that this may mean: itself, else all that begin or end with it."""
        self._files.catch_up()
        return _like(prefix, self._shelf.records)

    def history(self, id: str) -> tuple[MemoryRecord, ...]:
        """A memory with what it took the place of and what took its place, variants too, newest first: as each is.

        Raises UserError.
        """
        self._files.catch_up()
        found = self._lineage(id, self._files.archived())
        if not found:
            raise _unknown(id)
        return found

    def versions(self, prefix: str = "") -> "tuple[Version, ...]":
        """Everything each memory ever said, and when, the oldest first; those that left the store too.

        prefix: only of the memory whose id is this, or alone begins or ends with it, and of its `history`.
        Raises UserError.
        """
        from clio.memory.typed.versions import versions_of

        self._files.catch_up()
        formers = self._files.archived()
        found = versions_of(self._shelf.records.values(), formers)
        if not prefix:
            return tuple(found)
        id = _meant(prefix, dict.fromkeys((*self._shelf.records, *(former.record.id for former in formers))))
        related = {record.id for record in self._lineage(id, formers)} | {id}
        return tuple(version for version in found if version.record.id in related)

    def archived(self) -> tuple[MemoryRecord, ...]:
        """What was forgotten or compacted away, oldest first."""
        return tuple(one.record for one in self._files.archived() if one.left and one.because != "dropped")

    def _lineage(self, id: str, formers: Iterable[Former]) -> tuple[MemoryRecord, ...]:
        from clio.memory.typed.links import lineage

        gone = {former.record.id: former.record for former in formers if former.left}
        return lineage(id, gone | self._shelf.records)


def _meant(prefix: str, ids: Collection[str]) -> str:
    """The id that is this, or alone begins or ends with it. Raises UserError."""
    found = _like(prefix, ids)
    if len(found) > 1:
        raise UserError(f"{len(found)} memories have an id like {prefix!r}; give more of it")
    if not found:
        raise _unknown(prefix)
    return found[0]


def _like(prefix: str, ids: Collection[str]) -> tuple[str, ...]:
    wanted = prefix.strip().lower()
    if wanted in ids:
        return (wanted,)
    if len(wanted) < _LEAST_PREFIX:
        return ()
    return tuple(id for id in ids if id.startswith(wanted) or id.endswith(wanted))


def _unknown(id: str) -> UserError:
    return UserError(f"there is no memory {id!r}; `/memory recall` shows those there are with their ids")


def _filter(type: str) -> tuple[str, str]:
    """The type wanted and the type not wanted; empty where there is none."""
    if type.startswith("!"):
        return "", check_type(type[1:])
    return (check_type(type), "") if type.strip() else ("", "")
