"""What a set of files comes to: which entries live, in whose words. Pure, and the same in whatever order they came."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from clio.memory.store.ltm_merge import absorb, confirmed
from clio.memory.store.ltm_objects import SHAPES, Json, new_handle, set_handle, share, times_of
from clio.memory.store.record import KINDS, Kind
from clio.memory.team.statement import MAX_NAMED, Statement
from clio.text.json_data import decode_json

MAX_TIMES = 100
"""How often an entry was said counts only up to here where others say so: nobody pushes theirs to the front."""


class Living(Struct, frozen=True, kw_only=True):
    """One entry that lives.

    entry: its object in JSON, of all statements that say it. handle: no other entry has it.
    month: in which somebody confirmed it last, as far as others are told.
    names: its statements; several where people said the same without knowing of each other. replaces, origins: of all.
    by: who said it, each once. rivals: handles of the entries that say of the same something else.
    """

    kind: Kind
    entry: bytes
    handle: str
    month: str
    names: tuple[str, ...]
    replaces: tuple[str, ...]
    origins: tuple[str, ...]
    by: tuple[str, ...]
    words: tuple[str, ...]
    rivals: tuple[str, ...] = ()

    def raw(self, now: float) -> Json:
        """Its object, for changing. It claims no time to come, and no more sayings than count."""
        raw = decode_json(self.entry)
        if raw.get("id") != self.handle:
            set_handle(raw, self.handle)
        for name in ("timestamp", "updated", "since"):
            stated = raw.get(name)
            if isinstance(stated, int | float) and stated > now:
                raw[name] = now
        count = SHAPES[self.kind].count
        if count in raw and times_of(self.kind, raw) > MAX_TIMES:
            raw[count] = MAX_TIMES
        if self.month and (since := min(month_began(self.month), now)) > confirmed(raw):
            raw["updated"] = since
        return raw


def living(statements: Iterable[Statement], forgotten: frozenset[str], months: Mapping[str, str]) -> list[Living]:
    """The entries that live, kind by kind, the oldest first.

    A statement lives unless another replaces it, or all that its entry began with is forgotten.
    forgotten: names of first statements. months: of a statement, the last month somebody confirmed it in, "2026-04".
    """
    listed = {(one.name, one.entry): one for one in statements}
    gone = {name for one in listed.values() for name in one.replaces if name != one.name}
    alive = [one for one in listed.values() if one.name not in gone and not forgotten.issuperset(one.began)]
    alive.sort(key=lambda one: (_PLACES[one.kind], one.said, one.name, one.entry))
    same: dict[tuple[str, ...], list[Statement]] = defaultdict(list)
    for one in alive:
        same[one.kind, *one.words].append(one)
    taken: set[str] = set()
    return _with_rivals([_joined(group, months, taken) for group in same.values()])


def hidden(statements: Iterable[Statement], forgotten: frozenset[str]) -> list[Statement]:
    """Words that were changed by somebody while another forgot their entry, the newest first."""
    listed = list(statements)
    gone = {name for one in listed for name in one.replaces}
    late = [one for one in listed if one.origins and one.name not in gone and forgotten.issuperset(one.began)]
    return sorted(late, key=lambda one: (-one.said, one.name))


def _joined(group: list[Statement], months: Mapping[str, str], taken: set[str]) -> Living:
    """The entry of statements that say the same. taken: handles of entries before it, which it must not have."""
    first, entry = group[0], group[0].entry
    if len(group) > 1:
        raw = first.raw()
        for other in group[1:]:
            more = other.raw()
            more["confidence"] = share(more.get("confidence"), SHAPES[first.kind].unstated)
            absorb(first.kind, raw, more)
        entry = msgspec.json.encode(raw)
    handle = first.handle
    if not handle or handle in taken:
        handle = new_handle(first.kind, first.raw(), taken)
    taken.add(handle)
    return Living(
        kind=first.kind,
        entry=entry,
        handle=handle,
        month=max((months[one.name] for one in group if one.name in months), default=""),
        names=tuple(dict.fromkeys(one.name for one in group)),
        replaces=tuple(dict.fromkeys(name for one in group for name in one.replaces))[:MAX_NAMED],
        origins=tuple(dict.fromkeys(name for one in group for name in one.began))[:MAX_NAMED],
        by=tuple(dict.fromkeys(one.by for one in group if one.by)),
        words=first.words,
    )


def _with_rivals(found: list[Living]) -> list[Living]:
    """Each with the handles of those that began as the same entry and say something else now."""
    by_origin: dict[str, list[str]] = defaultdict(list)
    for one in found:
        for name in one.origins:
            by_origin[name].append(one.handle)
    if all(len(handles) == 1 for handles in by_origin.values()):
        return found
    rivals = [sorted({other for name in one.origins for other in by_origin[name]} - {one.handle}) for one in found]
    return [
        msgspec.structs.replace(one, rivals=tuple(others)) if others else one
        for one, others in zip(found, rivals, strict=True)
    ]


_LAST_S = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


def month_of(at: float) -> str:
    """The month of a time, as the names of files have it: "2026-04"."""
    return datetime.fromtimestamp(min(max(at, 0.0), _LAST_S), UTC).strftime("%Y-%m")


def month_began(month: str) -> float:
    """The first second of a month. Raises ValueError for what is none."""
    return datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC).timestamp()


def words_of(kind: Kind, raw: Json) -> dict[str, Any]:
    """What a statement is about: everything but what each person has of their own."""
    source, own = raw.get("provenance"), own_fields(kind)
    said = {name: value for name, value in raw.items() if name not in own}
    if isinstance(source, dict) and "asserted_by" in source:
        said["provenance"] = {"asserted_by": source["asserted_by"]}
    return said


def own_fields(kind: Kind) -> frozenset[str]:
    """Fields that change with each use and are each person's own: how sure, how often, when, in which session."""
    return _OWN_OF[kind]


_PLACES = {kind: place for place, kind in enumerate(KINDS)}
_OWN = frozenset(
    (
        "confidence",
        "success_rate",
        "timestamp",
        "updated",
        "since",
        "version",
        "example_hashes",
        "provenance",
        "by",
        "confirmations",
    )
)
_OWN_OF: dict[Kind, frozenset[str]] = {kind: _OWN | {SHAPES[kind].count} for kind in KINDS}
