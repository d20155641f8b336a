"""What the rows of a vector store stand for: each a piece of a turn or a document, or nothing any more."""

from collections.abc import Iterable, Iterator, Sequence

from clio.memory.vectors.embedders import Row
from clio.memory.vectors.files import Mark, Record, VectorItem


class Contents:
    """The records of a store in the order they were written, found by place, by id and by group. Keeps no vectors."""

    def __init__(self) -> None:
        self._items: list[VectorItem | None] = []
        self._ids: dict[str, int] = {}
        self._groups: dict[str, list[int]] = {}
        self._marks: dict[str, str] = {}

    def __len__(self) -> int:
        """How many pieces there are, without those that count no more."""
        return sum(len(places) for places in self._groups.values())

    def __bool__(self) -> bool:
        return bool(self._ids)

    def __contains__(self, id: str) -> bool:
        return id in self._ids

    @property
    def rows(self) -> int:
        """How many rows were written, with those that count no more."""
        return len(self._items)

    @property
    def groups(self) -> set[str]:
        """The groups that have pieces or a mark."""
        return self._groups.keys() | self._marks.keys()

    @property
    def marks(self) -> dict[str, str]:
        """A copy of the stamps by group."""
        return dict(self._marks)

    def stamp_of(self, group: str) -> str | None:
        """The stamp of a group; None where it has no mark."""
        return self._marks.get(group)

    def at(self, place: int) -> VectorItem | None:
        """What a row stands for; None where it counts no more."""
        return self._items[place]

    def pieces(self) -> Iterator[tuple[int, VectorItem]]:
        """The rows that count, with their places, ascending."""
        return ((place, item) for place, item in enumerate(self._items) if item is not None)

    def unused(self) -> list[int]:
        """The places of the rows that count no more."""
        return [place for place, item in enumerate(self._items) if item is None]

    def ids_of(self, group: str) -> list[str]:
        """The ids of a group, in the order they were put."""
        items = [self._items[place] for place in self._groups.get(group, ())]
        return list(dict.fromkeys(item.id for item in items if item))

    def pieces_of(self, id: str) -> list[VectorItem]:
        """All pieces of a turn or chunk, in the order they were put."""
        place = self._ids.get(id)
        found: list[VectorItem] = []
        while place is not None and place < len(self._items):
            item = self._items[place]
            if item is None or item.id != id:
                break
            found.append(item)
            place += 1
        return found

    def any_of(self, groups: Iterable[str]) -> bool:
        """Whether one of these groups has pieces."""
        return not self._groups.keys().isdisjoint(groups)

    def places_of(self, groups: Iterable[str]) -> list[int]:
        """Where the pieces of these groups stand."""
        return [place for group in groups for place in self._groups.get(group, ())]

    def unknown(self, records: Sequence[Record], rows: Sequence[Row]) -> tuple[list[Record], list[Row]]:
        """Of records and their rows those that are not there yet, by their ids; records without rows are all new."""
        if not rows:
            return list(records), []
        pairs = [
            (record, row)
            for record, row in zip(records, rows, strict=True)
            if not isinstance(record, VectorItem) or record.id not in self._ids
        ]
        return [record for record, _ in pairs], [row for _, row in pairs]

    def take_in(self, records: Iterable[Record]) -> list[int]:
        """Add what was written; returns the places that count no more because of it."""
        gone: list[int] = []
        for record in records:
            if isinstance(record, VectorItem):
                self._groups.setdefault(record.group, []).append(len(self._items))
                self._ids.setdefault(record.id, len(self._items))
                self._items.append(record)
            elif isinstance(record, Mark):
                self._marks[record.group] = record.stamp
            else:
                self._marks.pop(record.group, None)
                places = self._groups.pop(record.group, [])
                self._let_go(places)
                gone += places
        return gone

    def _let_go(self, places: Sequence[int]) -> None:
        for place in places:
            item = self._items[place]
            if item is not None:
                self._ids.pop(item.id, None)
                self._items[place] = None
