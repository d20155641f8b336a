"""Reads a session from its files, whatever state they are in, and changes none of them."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from clio.algorithms.json_data import decode_json
from clio.errors import CorruptDocument, SessionNotFound
from clio.sessions import journal, legacy, snapshot
from clio.sessions.files import SessionFiles
from clio.sessions.legacy_outputs import stored_outputs, with_output
from clio.sessions.loaded import Loaded
from clio.sessions.state import SessionState
from clio.storage.document import check_version, corrupt, migrate, refuse_newer
from clio.storage.jsonl import read_lines
from clio.storage.reading import read_regular

_TRIES = 5


class _Stamp(Struct):
    schema: Any = None
    version: Any = None


def load(files: SessionFiles, *, outputs: bool = True) -> Loaded:
    """The session, journal included.

    outputs: False leaves out the whole outputs another program stored, which would have to be read.
    Raises SessionNotFound; NewerDocument; OSError; CorruptDocument (with `moved_to` None) where nothing can be read.
    """
    for _ in range(_TRIES):
        before = _look(files.snapshot)
        try:
            loaded = _load(files, outputs)
        except (SessionNotFound, CorruptDocument):
            if _look(files.snapshot) == before:
                raise
        else:
            if _look(files.snapshot) == before:
                return loaded
    return _load(files, outputs)


def _look(path: Path) -> tuple[int, int, int] | None:
    """What changes when a file is replaced.

    A clio that closes the session puts the journal into a new snapshot and deletes it: who had read the old snapshot
    by then would miss all that the journal held.
    """
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _load(files: SessionFiles, outputs: bool) -> Loaded:
    if not files.exist():
        raise SessionNotFound(f"There is no session {files.id!r}; `/session list` shows those there are.")
    base, merged_journal = _load_snapshot(files, outputs)
    read = read_lines(files.journal)
    lines = read.lines
    head = _sound_header(lines, files.journal)
    if head is not None and head.journal == merged_journal:
        return msgspec.structs.replace(base, merged=True)
    played = journal.replay(lines, base.state)
    warnings = list(base.warnings)
    if played.damaged:
        warnings.append(f"{played.damaged} lines of {str(files.journal)!r} are damaged and were passed over.")
    if b"\0" in read.torn:  # no kill leaves these: a file system that lost its power does
        warnings.append(f"The last {len(read.torn):,} bytes of {str(files.journal)!r} were lost and are cut off.")
    if not base.state.messages and not base.foreign and not base.corrupt and not played.damaged:
        raise SessionNotFound(f"Session {files.id!r} ended before its first message; there is nothing to open.")
    if not base.state.messages:
        damaged = base.corrupt or base.foreign
        raise corrupt(files.snapshot if damaged else files.journal, None, "nothing in it can be read")
    if lines:
        base.state.updated_at = max(base.state.updated_at, files.journal.stat().st_mtime)
    return msgspec.structs.replace(base, journal=played.journal, damaged=played.damaged > 0, warnings=tuple(warnings))


def _sound_header(lines: tuple[bytes, ...], path: Path) -> journal.Opened | None:
    """The journal's first line; None where it is none, or names no version that can be. Raises NewerDocument."""
    head = journal.header(lines)
    try:
        if head is not None:
            refuse_newer(path, head.version, journal.VERSION)
    except msgspec.DecodeError:
        return None
    return head


def _load_snapshot(files: SessionFiles, outputs: bool) -> tuple[Loaded, str]:
    try:
        data = read_regular(files.snapshot)
    except FileNotFoundError:
        return Loaded(state=SessionState(id=files.id)), ""
    try:
        return _parse(data, files, outputs)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if (mended := snapshot.without_bad_numbers(data)) is not None:
            with suppress(msgspec.DecodeError):
                loaded, merged_journal = _parse(mended, files, outputs)
                said = f"{str(files.snapshot)!r} has numbers that cannot be read; those are left out, all else is used."
                warnings = (*loaded.warnings, said)
                return msgspec.structs.replace(loaded, corrupt=True, clean=0, warnings=warnings), merged_journal
        rescued = legacy.decode({"schema": snapshot.SCHEMA} | snapshot.rescue(data), files.id)
        count = len(rescued.state.messages)
        said = f"{str(files.snapshot)!r} is damaged ({error}); {count} messages could be read from it."
        return Loaded(state=rescued.state, corrupt=True, warnings=(said,)), ""


def _parse(data: bytes, files: SessionFiles, outputs: bool) -> tuple[Loaded, str]:
    """The snapshot in `data`. Raises msgspec.DecodeError where it is no JSON object, or NewerDocument."""
    stamp = decode_json(data, type=_Stamp)
    is_large = isinstance(stamp.version, float) and stamp.version > snapshot.VERSION + 1
    if stamp.schema == snapshot.SCHEMA and is_large:
        refuse_newer(files.snapshot, check_version(stamp.version), snapshot.VERSION)
    if stamp.schema == snapshot.SCHEMA and type(stamp.version) is int:
        refuse_newer(files.snapshot, stamp.version, snapshot.VERSION)
        if stamp.version < snapshot.OLDEST_READ:
            old = decode_json(data, type=dict[str, Any])
            data = msgspec.json.encode(migrate(old, stamp.version, snapshot.OLDEST_READ, snapshot.MIGRATIONS))
        try:
            state, merged_journal = snapshot.decode(data)
        except msgspec.ValidationError:
            pass  # somebody edited it: read what can be read, and keep the file
        else:
            state.id = files.id
            return Loaded(state=state, clean=len(state.messages)), merged_journal
    read = legacy.decode(decode_json(data, type=dict[str, Any]), files.id, _todos(files.private / "todos.json"))
    whole = stored_outputs(files.tool_results) if outputs and stamp.schema is None else {}
    read.state.messages = [with_output(message, whole) for message in read.state.messages]
    return Loaded(state=read.state, foreign=True, outputs=tuple(whole.values()), warnings=read.warnings), ""


def _todos(path: Path) -> Any:
    """The original's list of work; None where there is none that can be read."""
    try:
        return decode_json(read_regular(path))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
