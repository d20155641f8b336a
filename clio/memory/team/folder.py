"""Read and write the files of `.clio/ltm/`, the memory shared by a team, and the memories that result from them.

A statement is one version of a memory by one team member. Its file is never changed: a new version is a new statement,
which lists the statements it replaces, and their files are emptied. So every merge of git agrees by itself.

The files come from a repository, so any may be hostile: names, sizes, links and nesting are checked, and an invalid
file is left out and reported, never fatal.

    <kind>/<name>.json         a statement; empty after it was replaced or forgotten
    forgotten/<name>           an empty file: the memory that began with this statement is forgotten
    confirmed/<name>.<month>   an empty file: a member confirmed the statement in that month
"""

import hashlib
import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct, structs

import clio
from clio.config.project_links import FORMAT_NAME, has_shared_memory
from clio.errors import NewerDocument
from clio.memory.store.deduplication import merge_object
from clio.memory.store.ltm_codec import (
    MAX_CHARS,
    SHAPES,
    Json,
    SharedMemory,
    get_confirmed_at,
    get_handle,
    get_identity,
    get_times,
    is_ltm_object,
    make_handle,
    set_handle,
    to_record,
)
from clio.memory.store.record import PROJECT_KINDS, Kind
from clio.readonly_git import run_git
from clio.storage.documents import check_version
from clio.storage.files import NO_FOLLOW, make_folder, make_ignored_folder, sync_folder, write_atomic
from clio.text.formatting import truncate
from clio.text.json_data import decode_json
from clio.text.translation import tr
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
    def first_statements(self) -> tuple[str, ...]:
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
        raise ValueError(tr("it has more than {max_bytes:,} bytes", max_bytes=MAX_BYTES))
    found = [_read_side(name, kind, side) for side in _split_conflict(data) if side.strip()]
    # Both sides are equal if the conflict was only about white space or the order of keys.
    return found if len(found) < 2 or found[0] != found[1] else found[:1]


def _read_side(name: str, kind: Kind, data: bytes) -> Statement:
    """Return the statement in a file without conflict markers, or in one side of a conflict. Raises ValueError."""
    try:
        file = decode_json(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(tr("it is not a valid memory file: {error}", error=error)) from error
    except RecursionError:
        raise ValueError(tr("it is nested too deeply")) from None
    _check_limits(file.entry, _MAX_DEPTH)
    if not is_ltm_object(kind, file.entry):
        raise ValueError(tr("it is not a valid {kind}", kind=kind))
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
            raise ValueError(tr("a text has more than {max_chars:,} characters", max_chars=MAX_CHARS))
        return
    if not isinstance(value, dict | list):
        return
    if depth == 0:
        raise ValueError(tr("it is nested too deeply"))
    if len(cast("Json | list[Any]", value)) > _MAX_ITEMS:
        raise ValueError(tr("a list has more than {max_items} items", max_items=_MAX_ITEMS))
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
    return clean_author_name(run_git(project, "config", "user.name", timeout_s=_TIME_LIMIT_S) or "")


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


def find_valid_memories(
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
        if statement.name not in replaced and not forgotten.issuperset(statement.first_statements)
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
        if statement.origins and statement.name not in replaced and forgotten.issuperset(statement.first_statements)
    ]
    return sorted(found, key=lambda statement: (-statement.said, statement.name))


def _merge_statements(group: list[Statement], months: Mapping[str, str], used_handles: set[str]) -> SharedMemory:
    """Return the memory of statements with the same text; its handle is added to `used_handles`."""
    first, entry = group[0], group[0].entry
    if len(group) > 1:
        raw = first.raw()
        for other in group[1:]:
            merge_object(raw, structs.replace(to_record(first.kind, other.raw(), ""), confirmations=()), is_copy=True)
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
        origins=tuple(dict.fromkeys(name for statement in group for name in statement.first_statements))[:MAX_NAMED],
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
        structs.replace(memory, rivals=tuple(others)) if others else memory
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


VERSION = 1
FORMAT = (
    b'{\n "about": "what clio knows of this project, one file a statement; docs/team.md of clio says how to read it",\n'
    b' "schema": "clio.team",\n "version": 1\n}\n'
)
MAX_FILES = 20_000
"""Maximum number of files per subfolder; later ones, by name, are left out and reported."""
MAX_TOTAL_BYTES = 64 * 1024 * 1024
"""Maximum size of all statements; 2,000 memories have about 1 MB."""
_FORGOTTEN, _CONFIRMED = "forgotten", "confirmed"
_MONTH = re.compile(r"20\d\d-(?:0[1-9]|1[0-2])")
_MAX_PROBLEMS, _CACHED_AT_ONCE = 50, 64
_JSON = ".json"

Stamp = tuple[int, int, int, int]


class Problem(Struct, frozen=True, kw_only=True):
    """A file that was left out: its path inside the folder, and the reason."""

    path: str
    why: str


class Files(Struct, frozen=True, kw_only=True):
    """The content of the folder.

    Attributes:
        emptied: names of replaced or forgotten statements.
        forgotten: names of first statements whose memories are forgotten.
        months: by statement, the last month in which a member confirmed it.
    """

    statements: tuple[Statement, ...] = ()
    emptied: frozenset[str] = frozenset()
    forgotten: frozenset[str] = frozenset()
    months: dict[str, str] = {}
    problems: tuple[Problem, ...] = ()


class _Seen(Struct, frozen=True, array_like=True):
    """A file as it was when it was last read: its statements, or why it is invalid."""

    stamp: Stamp
    statements: tuple[Statement, ...]
    why: str = ""


class _Cache(Struct, frozen=True, array_like=True):
    """The content of the cache file, with the version of clio that wrote it, since others may parse differently."""

    clio: str
    seen: dict[str, _Seen]


class _Format(Struct):
    version: int = VERSION


class TeamFolder:
    """The shared folder. Files are only ever added and emptied, so that git can merge every change by itself.

    Methods raise OSError.

    cache: a file with the parsed statements by the stamps of their files; it can be deleted at any time.
    """

    def __init__(self, path: Path, cache: Path) -> None:
        self.path = path
        self._cache = cache
        self._seen: dict[str, _Seen] | None = None
        self._last = Files()

    def exists(self) -> bool:
        """Whether the folder exists, is no symbolic link, and contains the format file."""
        return has_shared_memory(self.path)

    def read(self) -> Files:
        """Return the content of the folder. Only changed files are opened. Raises NewerDocument.

        As long as nothing changes, the same object is returned.
        """
        self._refuse_newer()
        problems: list[Problem] = []
        known = self._load_cache()
        seen: dict[str, _Seen] = {}
        emptied: set[str] = set()
        total = 0
        for kind in PROJECT_KINDS:
            for file, info in _files(self.path / kind, problems):
                name = file.removesuffix(_JSON)
                # Anything may be in a repository; only names that clio itself gives are opened.
                if not file.endswith(_JSON) or not NAME.fullmatch(name):
                    _add_problem(problems, f"{kind}/{file}", tr("not a file name that clio uses"))
                elif info.st_size == 0:
                    emptied.add(name)
                # A repository with gigabytes of statements must not fill the memory of every member.
                elif (total := total + min(info.st_size, MAX_BYTES)) > MAX_TOTAL_BYTES:
                    _add_problem(
                        problems,
                        f"{kind}/{file}",
                        tr(
                            "all files together have more than {max_total_bytes:,} bytes",
                            max_total_bytes=MAX_TOTAL_BYTES,
                        ),
                    )
                else:
                    place = f"{kind}/{file}"
                    stamp = (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
                    was = known.get(place)
                    # Unchanged files are not opened again: 2,000 statements take 30 ms instead of 90 ms.
                    seen[place] = was if was and was.stamp == stamp else self._open(place, name, kind, stamp)
        for place, one in seen.items():
            if one.why:
                _add_problem(problems, place, one.why)
        opened = sum(known.get(place) is not one for place, one in seen.items())
        is_known = not opened and len(seen) == len(known)
        self._save_cache(seen, opened)
        found = Files(
            statements=self._last.statements
            if is_known and self._last.statements
            else tuple(statement for one in seen.values() for statement in one.statements),
            emptied=frozenset(emptied),
            forgotten=frozenset(name for name in _names(self.path / _FORGOTTEN, problems) if NAME.fullmatch(name)),
            months=_months(_names(self.path / _CONFIRMED, problems)),
            problems=tuple(problems),
        )
        # The same object as long as nothing changed, so that callers can compare by identity.
        if found != self._last:
            self._last = found
        return self._last

    def size(self) -> int:
        """Return the total size of its files in bytes."""
        return sum(path.lstat().st_size for path in self.path.rglob("*") if not path.is_dir() and not path.is_symlink())

    # The methods below write. Call them only while holding the lock of `ltm.json`.

    def create(self) -> None:
        """Create the folder and its format file."""
        make_folder(self.path)
        if not (self.path / FORMAT_NAME).exists():
            write_atomic(self.path / FORMAT_NAME, FORMAT, 0o644)

    def put(self, kind: Kind, name: str, data: bytes, *, durable: bool = True) -> Path:
        """Write a statement."""
        make_folder(self.path / kind)
        path = self.path / kind / f"{name}{_JSON}"
        # 0o644, as for all files of a repository; private files of clio have 0o600.
        write_atomic(path, data, 0o644, durable=durable)
        return path

    def empty(self, kind: Kind, name: str) -> None:
        """Empty the file of a statement. It is not deleted, because git would take it for renamed to a similar file."""
        path = self.path / kind / f"{name}{_JSON}"
        if path.is_symlink() or path.exists():
            write_atomic(path, b"", 0o644, durable=False)

    def forget(self, names: Iterable[str]) -> None:
        """Mark the memories that began with these statements as forgotten, including versions in other branches."""
        self._create_markers(_FORGOTTEN, names)

    def confirm(self, name: str, month: str) -> None:
        """Record that the user confirmed a statement in a month, and delete the records of earlier months."""
        self._create_markers(_CONFIRMED, [f"{name}.{month}"])
        for old in (self.path / _CONFIRMED).glob(f"{name}.*"):
            if old.name < f"{name}.{month}":
                old.unlink(missing_ok=True)

    def sync_to_disk(self) -> None:
        """Sync the folders, so that all files that were written are on disk."""
        for folder in (*(self.path / kind for kind in PROJECT_KINDS), self.path / _FORGOTTEN, self.path):
            if _is_folder(folder):
                sync_folder(folder)

    def tidy(self, before: float) -> int:
        """Delete files that have been empty since before a time, by the file system's clock; return their number.

        A branch that is older and empties the same file gets a git conflict about an empty file.
        """
        deleted = 0
        found = self.read()
        for kind in PROJECT_KINDS:
            for file, info in _files(self.path / kind, []):
                if info.st_size == 0 and info.st_mtime < before and file.removesuffix(_JSON) in found.emptied:
                    (self.path / kind / file).unlink(missing_ok=True)
                    deleted += 1
        existing = {statement.name for statement in found.statements}
        for folder in (_FORGOTTEN, _CONFIRMED):
            for file, info in _files(self.path / folder, []):
                ours = NAME.match(file)
                if ours and info.st_mtime < before and (folder == _FORGOTTEN or ours[0] not in existing):
                    (self.path / folder / file).unlink(missing_ok=True)
                    deleted += 1
        return deleted

    def _create_markers(self, folder: str, names: Iterable[str]) -> None:
        make_folder(self.path / folder)
        for name in names:
            path = self.path / folder / name
            if path.is_symlink() or not path.exists():
                # Empty, and named after the statement: two branches that both add it have the same file, which merges
                # without conflict.
                write_atomic(path, b"", 0o644, durable=False)

    def _refuse_newer(self) -> None:
        path = self.path / FORMAT_NAME
        try:
            version = check_version(decode_json(_content(path), type=_Format).version)
        except (OSError, ValueError, RecursionError):
            return  # a damaged format file does not matter: it only announces later versions
        if version > VERSION:
            raise NewerDocument(
                tr(
                    "{path!r} has version {version}, and this clio reads up to {version2}; update clio.",
                    path=str(self.path),
                    version=version,
                    version2=VERSION,
                )
            )

    def _open(self, place: str, name: str, kind: Kind, stamp: Stamp) -> _Seen:
        try:
            if stamp[0] > MAX_BYTES:
                raise ValueError(tr("it has more than {max_bytes:,} bytes", max_bytes=MAX_BYTES))
            return _Seen(stamp, tuple(read(name, kind, _content(self.path / place))))
        except (ValueError, RecursionError) as error:
            return _Seen(stamp, (), str(error))
        except OSError as error:
            return _Seen((0, 0, 0, 0), (), error.strerror or str(error))  # no stamp, so it is read again next time

    def _load_cache(self) -> dict[str, _Seen]:
        if self._seen is None:
            try:
                cache = msgspec.msgpack.decode(_content(self._cache), type=_Cache)
                self._seen = cache.seen if cache.clio == clio.__version__ else {}
            except (OSError, ValueError, RecursionError):
                self._seen = {}
        return self._seen

    def _save_cache(self, seen: dict[str, _Seen], opened: int) -> None:
        self._seen = seen
        if opened < _CACHED_AT_ONCE:
            return
        with suppress(OSError):  # the next start reads the files again
            make_ignored_folder(self._cache.parent, self._cache.parent.parent)
            write_atomic(self._cache, msgspec.msgpack.encode(_Cache(clio.__version__, seen)), durable=False)


def _files(folder: Path, problems: list[Problem]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the regular files of a folder by name; report everything else in it as a problem."""
    if not _is_folder(folder):
        if os.path.lexists(folder):
            _add_problem(problems, folder.name, tr("it is not a folder"))
        return
    try:
        with os.scandir(folder) as found:
            entries = sorted((one for one in found if not one.name.endswith(".tmp")), key=lambda entry: entry.name)
    except FileNotFoundError:  # another process has just turned sharing off
        return
    for entry in entries[MAX_FILES:][:1]:
        _add_problem(
            problems,
            f"{folder.name}/{entry.name}",
            tr("too many files: the last {count:,} are left out", count=len(entries) - MAX_FILES),
        )
    for entry in entries[:MAX_FILES]:
        try:
            # A link in a repository could lead to any file of the member who opens it.
            info = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        if stat.S_ISREG(info.st_mode):
            yield entry.name, info
        else:
            reason = "it is a symbolic link" if entry.is_symlink() else "it is not a file"
            _add_problem(problems, f"{folder.name}/{entry.name}", reason)


def _names(folder: Path, problems: list[Problem]) -> list[str]:
    return [name for name, _ in _files(folder, problems)]


def _months(names: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for file in names:
        name, _, month = file.rpartition(".")
        if NAME.fullmatch(name) and _MONTH.fullmatch(month) and month > found.get(name, ""):
            found[name] = month
    return found


def _add_problem(problems: list[Problem], path: str, why: str) -> None:
    if len(problems) < _MAX_PROBLEMS:
        problems.append(Problem(path=path, why=why))


def _content(path: Path) -> bytes:
    # O_NONBLOCK: opening a named pipe would otherwise wait for a writer.
    fd = os.open(path, os.O_RDONLY | NO_FOLLOW | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(fd, "rb") as file:
        return file.read(-1 if path.suffix != _JSON else MAX_BYTES + 1)


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
