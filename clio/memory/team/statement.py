"""One file of the shared folder: what somebody said, once and for all; and the name it is said under.

A statement is never changed. Who says it differently writes another that names the ones it replaces, and empties those.
"""

import hashlib
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.memory.inert import one_line
from clio.memory.store.ltm_merge import MAX_CHARS, absorb, confirmed
from clio.memory.store.ltm_objects import (
    SHAPES,
    Json,
    identity,
    is_entry,
    new_handle,
    set_handle,
    share,
    stored_id,
    times_of,
)
from clio.memory.store.record import KINDS, Kind
from clio.text.formatting import truncate
from clio.text.json_data import decode_json

MAX_BYTES = 256 * 1024
"""Of one file; an entry with all its texts as long as they may be has about as much."""
MAX_NAME_CHARS = 60
MAX_NAMED = 64
"""So many former statements one names at most: those longest gone are forgotten first."""
NAME = re.compile(r"[a-z]-[0-9a-f]{6,16}\.[0-9a-f]{16}")
_HANDLE = re.compile(r"[a-z]-[0-9a-f]{6,16}")
_MAX_DEPTH, _MAX_ITEMS = 8, 500
_OURS, _BASE, _THEIRS, _END = b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>"


class Statement(Struct, frozen=True, kw_only=True):
    """An entry as somebody said it.

    name: of its file, without the ending; unlike that of any other statement.
    by: the person's name, empty where git knows none. said: when, in seconds since the epoch.
    replaces: the statements it stands in for, the nearest first. origins: those its entry began with; none: itself.
    entry: the object as `ltm.json` would have it, without what belongs to one person, in JSON.
    handle, words: of that object its handle, if it has one, and what makes it this entry (see `identity`).
    """

    name: str
    kind: Kind
    by: str = ""
    said: float = 0.0
    replaces: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    entry: bytes
    handle: str
    words: tuple[str, ...]

    @property
    def began(self) -> tuple[str, ...]:
        """The statements its entry began with."""
        return self.origins or (self.name,)

    def raw(self) -> Json:
        """A copy of the object, for changing."""
        return decode_json(self.entry)


class _File(Struct, kw_only=True):
    by: str = ""
    entry: Json
    origins: list[str] = []
    replaces: list[str] = []
    said: float = 0.0


def make(
    kind: Kind, raw: Json, *, by: str, said: float, replaces: tuple[str, ...] = (), origins: tuple[str, ...] = ()
) -> tuple[Statement, bytes]:
    """A statement and the bytes of its file: sorted keys, one a line. Its name is the handle and a hash of them."""
    fields: dict[str, Any] = {"by": by, "entry": raw, "said": said}
    fields |= {"replaces": list(replaces)} if replaces else {}
    fields |= {"origins": list(origins)} if origins else {}
    data = msgspec.json.format(msgspec.json.encode(fields, order="deterministic"), indent=1) + b"\n"
    handle = raw.get("id")
    if not (isinstance(handle, str) and _HANDLE.fullmatch(handle)):
        handle = f"{kind[0]}-{hashlib.sha256(str(handle).encode('utf-8', 'replace')).hexdigest()[:6]}"
    name = f"{handle}.{hashlib.sha256(kind.encode() + data).hexdigest()[:16]}"
    statement = Statement(
        name=name,
        kind=kind,
        by=by,
        said=said,
        replaces=replaces,
        origins=origins,
        entry=msgspec.json.encode(raw),
        handle=stored_id(raw),
        words=identity(kind, raw),
    )
    return statement, data


def read(name: str, kind: Kind, data: bytes) -> list[Statement]:
    """What a file says: nothing where it was emptied, both sides where a merge left its marks in it.

    Raises ValueError with a phrase for a file that is no statement.
    """
    if not data.strip():
        return []
    if len(data) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES:,} bytes")
    found = [_read(name, kind, side) for side in _sides(data) if side.strip()]
    return found if len(found) < 2 or found[0] != found[1] else found[:1]


def _read(name: str, kind: Kind, data: bytes) -> Statement:
    try:
        file = decode_json(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"it is no statement: {error}") from error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _bound(file.entry, _MAX_DEPTH)
    if not is_entry(kind, file.entry):
        raise ValueError(f"it is no {kind}")
    if not isinstance(file.entry.get("id"), str):
        set_handle(file.entry, name.partition(".")[0])
    return Statement(
        name=name,
        kind=kind,
        by=person(file.by),
        said=max(file.said, 0.0),
        replaces=_names(file.replaces),
        origins=_names(file.origins),
        entry=msgspec.json.encode(file.entry),
        handle=stored_id(file.entry),
        words=identity(kind, file.entry),
    )


def person(name: str) -> str:
    """A person's name as it may be shown: one bounded line without signs that steer a terminal or a prompt."""
    return truncate(one_line(name), MAX_NAME_CHARS)


def _names(given: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in given if NAME.fullmatch(name)))[:MAX_NAMED]


def _bound(value: object, depth: int) -> None:
    """Raises ValueError for what no clio writes: deep nesting, long lists, long texts."""
    if isinstance(value, str):
        if len(value) > MAX_CHARS:
            raise ValueError(f"a text has more than {MAX_CHARS:,} characters")
        return
    if not isinstance(value, dict | list):
        return
    if depth == 0:
        raise ValueError("it is nested too deeply")
    if len(cast("Json | list[Any]", value)) > _MAX_ITEMS:
        raise ValueError(f"a list has more than {_MAX_ITEMS} items")
    for item in (
        (*cast(Json, value), *cast(Json, value).values()) if isinstance(value, dict) else cast(list[Any], value)
    ):
        _bound(item, depth - 1)


def _sides(data: bytes) -> list[bytes]:
    """The file, or what each side of a merge would have made of it."""
    if _OURS not in data:
        return [data]
    ours, theirs, now = list[bytes](), list[bytes](), "both"
    for line in data.splitlines(keepends=True):
        mark = line[:7]
        if now == "both" and mark == _OURS:
            now = "ours"
        elif now == "ours" and mark == _BASE:
            now = "base"
        elif now in ("ours", "base") and mark == _THEIRS:
            now = "theirs"
        elif now == "theirs" and mark == _END:
            now = "both"
        else:
            ours += [line] if now in ("both", "ours") else []
            theirs += [line] if now in ("both", "theirs") else []
    return [b"".join(ours), b"".join(theirs)]


_TIME_LIMIT_S = 5.0


@lru_cache(maxsize=64)
def author(project: Path) -> str:
    """`user.name` of git in that folder; empty where git is missing, or has none. The address is never asked for."""
    try:
        done = subprocess.run(
            ["git", "config", "user.name"],
            cwd=project, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIME_LIMIT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return person(done.stdout.decode("utf-8", "replace"))


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
