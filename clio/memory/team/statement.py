"""One file of the shared folder: what somebody said, once and for all; and the name it is said under.

A statement is never changed. Who says it differently writes another that names the ones it replaces, and empties those.
"""

import hashlib
import re
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.memory.inert import one_line
from clio.memory.store.ltm_merge import MAX_CHARS
from clio.memory.store.ltm_objects import Json, identity, is_entry, set_handle, stored_id
from clio.memory.store.record import Kind
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
