"""List the sessions in a directory, from the beginning of each snapshot and a byte search in each journal.

Of a snapshot only the first 4 KiB are read. A journal, which only running and killed sessions have, is searched
without decoding it. Only files with a layout other than clio's are decoded completely.
"""

import os
import re
from collections.abc import Callable, Collection
from pathlib import Path

import msgspec

from clio.errors import SessionNotFound, StorageError
from clio.sessions import session_format
from clio.sessions.loading import load_session
from clio.sessions.state import (
    JOURNAL_SUFFIX,
    LOCK_SUFFIX,
    SNAPSHOT_SUFFIX,
    SessionFiles,
    SessionInfo,
    SessionState,
    find_first_words,
    is_session_id,
)
from clio.storage.files import NotAFile, open_regular, read_head, read_regular
from clio.storage.locks import find_lock_owner
from clio.threads import never_stop

HEAD_BYTES = 4096
"""Bytes read of a snapshot: more than its small fields have, which come first in the file."""
# Bytes with which msgspec encodes these records; `encode_record` always writes the fields in this order.
MESSAGE_PREFIX = b'\n{"type":"message","n":'
RENAME_PREFIX = b'\n{"type":"name",'
JOURNAL_LINES_READ = 10
"""Lines decoded at the beginning of a journal: the header, and with it the first user message."""
MAX_DECODED_FILES = 50
"""Number of files without a readable head that are decoded completely; further ones are listed without details."""
# A journal without messages is listed only if it is larger than any header line, since it then contains damaged lines.
MAX_HEADER_BYTES = 16_384


def find_session_ids(names: set[str]) -> set[str]:
    """Return the session ids among the file names of a sessions directory: names of snapshots and journals."""
    ids = {name.removesuffix(JOURNAL_SUFFIX) for name in names if name.endswith(JOURNAL_SUFFIX)}
    ids |= {name.removesuffix(".json") for name in names if name.endswith(".json")}
    return {id for id in ids if is_session_id(id)}


def list_file_names(folder: Path) -> set[str]:
    """Return the names in a directory; empty if it does not exist."""
    try:
        return {path.name for path in folder.iterdir()}
    except (FileNotFoundError, NotADirectoryError):
        return set()


def list_sessions(folder: Path, stop: Callable[[], bool] = never_stop) -> list[SessionInfo]:
    """Return all sessions, most recently changed first; unreadable ones without details.

    stop: called before each session; if it returns True, the result is empty.
    """
    names, plain_files = set[str](), set[str]()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.add(entry.name)
                if entry.is_file(follow_symlinks=False):
                    plain_files.add(entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    infos: list[SessionInfo] = []
    broken = 0
    # Newest ids first, so that the limit for complete decoding leaves out the oldest files.
    for id in sorted(find_session_ids(names), reverse=True):
        if stop():
            return []
        files = SessionFiles(folder, id)
        if info := _describe(files, names, may_decode=broken < MAX_DECODED_FILES, plain_files=plain_files):
            infos.append(info)
            broken += info.messages == 0
    return sorted(infos, key=lambda info: (info.updated_at, info.id), reverse=True)


def find_newest(folder: Path, count: int) -> list[SessionInfo]:
    """Return the sessions whose files changed last, at most `count`, most recently changed first.

    Reads only their files, so it is quick in a directory of thousands.
    """
    changed: dict[str, float] = {}
    names: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.add(entry.name)
                id = entry.name.removesuffix(JOURNAL_SUFFIX).removesuffix(SNAPSHOT_SUFFIX)
                if is_session_id(id):
                    changed[id] = max(changed.get(id, 0.0), entry.stat(follow_symlinks=False).st_mtime)
    except (FileNotFoundError, NotADirectoryError):
        return []
    newest = sorted(changed, key=changed.__getitem__, reverse=True)[:count]
    infos = [_describe(SessionFiles(folder, id), names, may_decode=False) for id in newest]
    return [info for info in infos if info is not None]


def _describe(
    files: SessionFiles, names: set[str], *, may_decode: bool, plain_files: Collection[str] = ()
) -> SessionInfo | None:
    """Return the list entry of one session; None if it was deleted meanwhile or has no message yet.

    plain_files: names that are known to be regular files, which are opened without asking again.
    """
    try:
        info = _read_info(files, names, may_decode=may_decode, plain_files=plain_files)
    except (FileNotFoundError, NotAFile):
        return None
    except OSError:
        info = SessionInfo(id=files.id)
    running = f"{files.id}{LOCK_SUFFIX}" in names and find_lock_owner(files.lock) is not None
    return msgspec.structs.replace(info, running=True) if info and running else info


def _read_info(
    files: SessionFiles, names: set[str], *, may_decode: bool, plain_files: Collection[str]
) -> SessionInfo | None:
    # File names are built as strings: creating four Path objects per session took a third of the time of a listing.
    snapshot_name = f"{files.id}{SNAPSHOT_SUFFIX}"
    has_snapshot = snapshot_name in names
    info, merged_journal = SessionInfo(id=files.id), ""
    if has_snapshot:
        is_plain = snapshot_name in plain_files
        data = (
            read_head(f"{files.folder}{os.sep}{snapshot_name}", HEAD_BYTES)
            if is_plain
            else _read_any_head(files.snapshot)
        )
        head = session_format.decode_snapshot_head(data)
        if head is None and not may_decode:
            return SessionInfo(id=files.id, updated_at=files.snapshot.stat().st_mtime)
        if head is None:
            return _info_from_whole_file(files)
        info, merged_journal = _info_from_head(head, files.id), head.merged_journal
    if f"{files.id}{JOURNAL_SUFFIX}" in names:
        info = _add_journal(info, files.journal, merged_journal)
    return info if info.messages or has_snapshot or files.journal.stat().st_size > MAX_HEADER_BYTES else None


def _read_any_head(path: Path) -> bytes:
    with open_regular(path, None) as file:
        return file.read(HEAD_BYTES)


def _info_from_head(head: session_format.SnapshotHead, id: str) -> SessionInfo:
    return SessionInfo(
        id=id,
        name=head.session_name,
        created_at=head.created_at,
        updated_at=head.updated_at,
        messages=head.message_count,
        first_words=head.first_words,
        working_directory=head.working_directory,
        imported=head.imported,
        parent=head.parent,
        delegated=head.delegated,
    )


def _info_from_whole_file(files: SessionFiles) -> SessionInfo:
    try:
        state = load_session(files, outputs=False).state
    except (StorageError, SessionNotFound):
        return SessionInfo(id=files.id, updated_at=files.snapshot.stat().st_mtime)
    return SessionInfo(
        id=files.id,
        name=state.name,
        created_at=state.created_at,
        updated_at=state.updated_at,
        messages=len(state.messages),
        first_words=find_first_words(state.messages),
        working_directory=state.working_directory,
        imported=state.imported,
        parent=state.parent,
        delegated=state.delegated,
    )


def _add_journal(info: SessionInfo, path: Path, merged_journal: str) -> SessionInfo:
    data = read_regular(path)
    header = session_format.read_journal_header((data.partition(b"\n")[0],))
    if header is not None and header.journal == merged_journal:
        return info
    if not info.messages:
        info = _info_from_journal(info, data)
    # Only up to the last line end: after it there may be a line that is still being written.
    last = data.rfind(MESSAGE_PREFIX, 0, data.rfind(b"\n"))
    count = _read_number(data, last + len(MESSAGE_PREFIX)) if last >= 0 else 0
    renamed = data.rfind(RENAME_PREFIX)
    if renamed >= 0:
        state = SessionState(id=info.id, name=info.name)
        session_format.replay_journal((_read_line(data, renamed + 1),), state)
        info = msgspec.structs.replace(info, name=state.name)
    updated_at = max(info.updated_at, path.stat().st_mtime)
    return msgspec.structs.replace(info, messages=max(info.messages, count), updated_at=updated_at)


def _info_from_journal(info: SessionInfo, data: bytes) -> SessionInfo:
    """Return the details of a session without a snapshot, from the first lines of its journal."""
    lines: list[bytes] = []
    start = 0
    while len(lines) < JOURNAL_LINES_READ and 0 <= start < len(data):
        lines.append(_read_line(data, start))
        start = data.find(b"\n", start) + 1 or -1
    state = SessionState(id=info.id)
    session_format.replay_journal(tuple(lines), state)
    return SessionInfo(
        id=info.id,
        name=state.name,
        created_at=state.created_at,
        first_words=find_first_words(state.messages),
        working_directory=state.working_directory,
        parent=state.parent,
        delegated=state.delegated,
    )


def _read_line(data: bytes, start: int) -> bytes:
    end = data.find(b"\n", start)
    return data[start : end if end >= 0 else len(data)]


def _read_number(data: bytes, start: int) -> int:
    # 15 digits bound the number's size whatever a damaged file contains.
    digits = re.compile(rb"\d{0,15}").match(data, start)
    return int(digits.group() or 0) if digits else 0
