"""Statements: the files of the shared folder, and the memories that result from all of them.

A statement is one version of a memory by one team member. Its file is never changed: a new version is a new statement,
which lists the statements it replaces, and their files are emptied. So every merge of git agrees by itself.
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

from clio.memory.store.ltm_codec import (
    SHAPES,
    Json,
    SharedMemory,
    get_handle,
    get_identity,
    get_times,
    is_ltm_object,
    make_handle,
    set_handle,
    to_fraction,
)
from clio.memory.store.ltm_objects import MAX_CHARS, absorb_memory, get_confirmed_at
from clio.memory.store.record import PROJECT_KINDS, Kind
from clio.text.formatting import truncate
from clio.text.json_data import decode_json
from clio.text.untrusted_text import make_inert_line

MAX_BYTES = 256 * 1024
"""Maximum size of a file; a memory with all its texts at their maximum length has about this size."""
MAX_NAME_CHARS = 60
MAX_NAMED = 64
"""Maximum number of former statements that a statement lists; the oldest ones are dropped first."""
NAME = re.compile(r"[a-z]-[0-9a-f]{6,16}\.[0-9a-f]{16}")
_HANDLE = re.compile(r"[a-z]-[0-9a-f]{6,16}")
_MAX_DEPTH, _MAX_ITEMS = 8, 500
_OURS, _BASE, _THEIRS, _END = b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>"


class Statement(Struct, frozen=True, kw_only=True):
    """One version of a memory by one team member.

    Attributes:
        name: the name of its file without the suffix; unique.
        by: the author's name; empty if git has none.
        said: when it was written, in seconds since the epoch.
        replaces: the statements it replaces, the latest first.
        origins: the first statements of its memory; empty if it is the first one itself.
        entry: the JSON object as in `ltm.json`, without the fields that each user has for themselves.
        handle: the id in that object, if it has one.
        words: what identifies the memory, see `get_identity`.
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
        """The first statements of its memory."""
        return self.origins or (self.name,)

    def raw(self) -> Json:
        """Return a new copy of the JSON object, which may be changed."""
        return decode_json(self.entry)


class _File(Struct, kw_only=True):
    by: str = ""
    entry: Json
    origins: list[str] = []
    replaces: list[str] = []
    said: float = 0.0


def make_statement(
    kind: Kind, raw: Json, *, by: str, said: float, replaces: tuple[str, ...] = (), origins: tuple[str, ...] = ()
) -> tuple[Statement, bytes]:
    """Return a statement and the bytes of its file: JSON with sorted keys, one per line, so that git can merge it.

    Its name consists of the handle and a hash of the bytes.
    """
    fields: dict[str, Any] = {"by": by, "entry": raw, "said": said}
    fields |= {"replaces": list(replaces)} if replaces else {}
    fields |= {"origins": list(origins)} if origins else {}
    data = msgspec.json.format(msgspec.json.encode(fields, order="deterministic"), indent=1) + b"\n"
    handle = raw.get("id")
    # The handle becomes part of a file name, so any other form is replaced by a hash.
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
        handle=get_handle(raw),
        words=get_identity(kind, raw),
    )
    return statement, data


def read(name: str, kind: Kind, data: bytes) -> list[Statement]:
    """Return the statements in a file: none if it was emptied, both sides if it contains conflict markers of git.

    Raises ValueError with a phrase if the file is invalid.
    """
    if not data.strip():
        return []
    if len(data) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES:,} bytes")
    found = [_read_side(name, kind, side) for side in _split_conflict(data) if side.strip()]
    # Both sides are equal if the conflict was only about white space or the order of keys.
    return found if len(found) < 2 or found[0] != found[1] else found[:1]


def _read_side(name: str, kind: Kind, data: bytes) -> Statement:
    try:
        file = decode_json(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"it is no statement of a memory: {error}") from error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _check_limits(file.entry, _MAX_DEPTH)
    if not is_ltm_object(kind, file.entry):
        raise ValueError(f"it is no {kind}")
    if not isinstance(file.entry.get("id"), str):
        set_handle(file.entry, name.partition(".")[0])
    return Statement(
        name=name,
        kind=kind,
        by=clean_author_name(file.by),
        said=max(file.said, 0.0),
        replaces=_valid_names(file.replaces),
        origins=_valid_names(file.origins),
        entry=msgspec.json.encode(file.entry),
        handle=get_handle(file.entry),
        words=get_identity(kind, file.entry),
    )


def clean_author_name(name: str) -> str:
    """Return an author's name on one line, truncated, without control characters and tags.

    It comes from a repository and is shown in the terminal and in the prompt.
    """
    return truncate(make_inert_line(name), MAX_NAME_CHARS)


def _valid_names(given: list[str]) -> tuple[str, ...]:
    # Names become file names, so nothing such as "../x" may pass.
    return tuple(dict.fromkeys(name for name in given if NAME.fullmatch(name)))[:MAX_NAMED]


def _check_limits(value: object, depth: int) -> None:
    """Raise ValueError for values that clio never writes: deep nesting, long lists, long texts."""
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
        _check_limits(item, depth - 1)


def _split_conflict(data: bytes) -> list[bytes]:
    """Return the file, or if it has conflict markers, the file as each side of the merge had it."""
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
def get_git_author(project: Path) -> str:
    """Return git's `user.name` in a folder; empty without git or a name. The e-mail address is never read."""
    try:
        done = subprocess.run(
            ["git", "config", "user.name"],
            cwd=project, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIME_LIMIT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return clean_author_name(done.stdout.decode("utf-8", "replace"))


MAX_TIMES = 100
"""Limit of the count that another member's statement can claim, so that no one can push their memories to the front."""


def copy_shared_entry(memory: SharedMemory, now: float) -> Json:
    """Return a new copy of the JSON object, without times in the future and with at most 100 uses."""
    raw = decode_json(memory.entry)
    if raw.get("id") != memory.handle:
        set_handle(raw, memory.handle)
    for name in ("timestamp", "updated", "since"):
        stated = raw.get(name)
        if isinstance(stated, int | float) and stated > now:
            raw[name] = now
    count = SHAPES[memory.kind].count
    if count in raw and get_times(memory.kind, raw) > MAX_TIMES:
        raw[count] = MAX_TIMES
    if memory.month and (since := min(get_month_start(memory.month), now)) > get_confirmed_at(raw):
        raw["updated"] = since
    return raw


def find_living(
    statements: Iterable[Statement], forgotten: frozenset[str], months: Mapping[str, str]
) -> list[SharedMemory]:
    """Return the valid shared memories, sorted by kind and then by age, the oldest first.

    A statement is valid unless another one replaces it, or all first statements of its memory are forgotten. The result
    depends only on the set of statements, so all members see the same memories.

    Args:
        forgotten: names of first statements.
        months: by statement, the last month in which a member confirmed it, such as "2026-04".
    """
    unique = {(statement.name, statement.entry): statement for statement in statements}
    replaced = {name for statement in unique.values() for name in statement.replaces if name != statement.name}
    valid = [
        statement
        for statement in unique.values()
        if statement.name not in replaced and not forgotten.issuperset(statement.began)
    ]
    valid.sort(key=lambda statement: (_PLACES[statement.kind], statement.said, statement.name, statement.entry))
    groups: dict[tuple[str, ...], list[Statement]] = defaultdict(list)
    for statement in valid:
        groups[statement.kind, *statement.words].append(statement)
    used_handles: set[str] = set()
    return _add_rivals([_merge_statements(group, months, used_handles) for group in groups.values()])


def find_hidden_changes(statements: Iterable[Statement], forgotten: frozenset[str]) -> list[Statement]:
    """Return statements that one member changed while another one forgot the memory, the newest first."""
    all_statements = list(statements)
    replaced = {name for statement in all_statements for name in statement.replaces}
    found = [
        statement
        for statement in all_statements
        if statement.origins and statement.name not in replaced and forgotten.issuperset(statement.began)
    ]
    return sorted(found, key=lambda statement: (-statement.said, statement.name))


def _merge_statements(group: list[Statement], months: Mapping[str, str], used_handles: set[str]) -> SharedMemory:
    """Return the memory of statements with the same text; its handle is added to `used_handles`."""
    first, entry = group[0], group[0].entry
    if len(group) > 1:
        raw = first.raw()
        for other in group[1:]:
            more = other.raw()
            more["confidence"] = to_fraction(more.get("confidence"), SHAPES[first.kind].unstated)
            absorb_memory(first.kind, raw, more)
        entry = msgspec.json.encode(raw)
    handle = first.handle
    if not handle or handle in used_handles:
        handle = make_handle(first.kind, first.raw(), used_handles)
    used_handles.add(handle)
    return SharedMemory(
        kind=first.kind,
        entry=entry,
        handle=handle,
        month=max((months[statement.name] for statement in group if statement.name in months), default=""),
        names=tuple(dict.fromkeys(statement.name for statement in group)),
        replaces=tuple(dict.fromkeys(name for statement in group for name in statement.replaces))[:MAX_NAMED],
        origins=tuple(dict.fromkeys(name for statement in group for name in statement.began))[:MAX_NAMED],
        by=tuple(dict.fromkeys(statement.by for statement in group if statement.by)),
        words=first.words,
    )


def _add_rivals(found: list[SharedMemory]) -> list[SharedMemory]:
    """Return the memories, each with the ids of those that have the same origin and another text."""
    by_origin: dict[str, list[str]] = defaultdict(list)
    for memory in found:
        for name in memory.origins:
            by_origin[name].append(memory.handle)
    if all(len(handles) == 1 for handles in by_origin.values()):
        return found
    rivals = [
        sorted({other for name in memory.origins for other in by_origin[name]} - {memory.handle}) for memory in found
    ]
    return [
        msgspec.structs.replace(memory, rivals=tuple(others)) if others else memory
        for memory, others in zip(found, rivals, strict=True)
    ]


_MAX_TIME_S = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


def format_month(at: float) -> str:
    """Return the month of a time in UTC, as in file names: "2026-04"."""
    return datetime.fromtimestamp(min(max(at, 0.0), _MAX_TIME_S), UTC).strftime("%Y-%m")


def get_month_start(month: str) -> float:
    """Return the first second of a month such as "2026-04". Raises ValueError for an invalid one."""
    return datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC).timestamp()


def get_shared_fields(kind: Kind, raw: Json) -> dict[str, Any]:
    """Return the fields of a memory that all members share."""
    source, own = raw.get("provenance"), get_own_fields(kind)
    shared = {name: value for name, value in raw.items() if name not in own}
    if isinstance(source, dict) and "asserted_by" in source:
        shared["provenance"] = {"asserted_by": source["asserted_by"]}
    return shared


def get_own_fields(kind: Kind) -> frozenset[str]:
    """Return the names of the fields that each user has for themselves, since they change with each use.

    Such as confidence, count, times and session: shared, they would be a conflict in every merge.
    """
    return _OWN_FIELDS_OF[kind]


_PLACES = {kind: place for place, kind in enumerate(PROJECT_KINDS)}
_OWN_FIELDS = frozenset(
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
_OWN_FIELDS_OF: dict[Kind, frozenset[str]] = {kind: _OWN_FIELDS | {SHAPES[kind].count} for kind in PROJECT_KINDS}
