"""Size of the checkpoint store, and which checkpoints are deleted first when it exceeds its limit."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from clio.checkpoints.checkpoint_store import (
    NOT_STORED_PREFIX,
    ChangeRecord,
    DiskObjectStore,
    lock_change_log,
    read_change_log,
    rewrite_change_log,
)
from clio.checkpoints.workspace_scan import SCAN_CACHE_NAME, list_scan_cache_ids
from clio.errors import StorageError
from clio.storage.locks import FileLock

MIN_OBJECT_AGE_S = 3600.0
"""Objects stored more recently are not deleted: the log line that names them may not be written yet."""


class StoreUsage(Struct, frozen=True, kw_only=True):
    """What the store contains. oldest: seconds since the epoch; None if it is empty."""

    bytes: int
    objects: int
    turns: int
    projects: int
    oldest: float | None


def measure_usage(store: Path) -> StoreUsage:
    """Return the usage of the whole store. Raises OSError."""
    sizes = [size for _, size, _ in DiskObjectStore(store / "objects").all()]
    logs = [_read_records(path) for path in _list_logs(store)]
    times = [record.at for log in logs for record in log]
    return StoreUsage(
        bytes=sum(sizes),
        objects=len(sizes),
        turns=len({record.message for log in logs for record in log if record.kind == "turn"}),
        projects=sum(bool(log) for log in logs),
        oldest=min(times, default=None),
    )


def shrink_store(
    store: Path, *, max_bytes: int, max_age_s: float, now: float, min_object_age_s: float = MIN_OBJECT_AGE_S
) -> None:
    """Delete records that are too old, then the oldest until the rest fits, and all objects that no record names.

    Does nothing while another clio process shrinks the store. Raises OSError.
    """
    lock = FileLock(store / "room.lock")
    if not store.is_dir() or not lock.acquire():
        return
    try:
        # Order: first the log lines, then the objects. A kill in between leaves objects that the next run deletes; the
        # other way round there would be lines whose objects are missing.
        objects = DiskObjectStore(store / "objects")
        sizes = {name: size for name, size, _ in objects.all()}
        logs = {path: _read_records(path) for path in _list_logs(store)}
        for path in store.glob(f"projects/*/{SCAN_CACHE_NAME}"):
            if path.stat().st_mtime < now - max_age_s:
                path.unlink(missing_ok=True)
        scanned = _list_scanned_ids(store)
        cutoff = _find_cutoff(logs.values(), sizes, scanned, max_bytes, now - max_age_s)
        for path, records in logs.items():
            if any(record.at < cutoff for record in records):
                _drop_records_before(path, cutoff)
        if sum(sizes.get(name, 0) for name in scanned) > max_bytes:
            for path in store.glob(f"projects/*/{SCAN_CACHE_NAME}"):
                path.unlink(missing_ok=True)
            scanned.clear()
        needed = scanned | {
            name for path in _list_logs(store) for record in _read_records(path) for name in list_object_ids(record)
        }
        objects.sweep(needed, older_than_s=min_object_age_s)
    finally:
        lock.release()


def count_excess_bytes(store: Path, *, max_bytes: int, max_age_s: float, now: float) -> int:
    """Return how many bytes `shrink_store` would free.

    Does not count the copies that workspace scans made of files which never changed.

    Raises OSError.
    """
    objects = {name: (size, stored_at) for name, size, stored_at in DiskObjectStore(store / "objects").all()}
    sizes = {name: size for name, (size, _) in objects.items()}
    logs, scanned = [_read_records(path) for path in _list_logs(store)], _list_scanned_ids(store)
    cutoff = _find_cutoff(logs, sizes, scanned, max_bytes, now - max_age_s)
    needed = scanned | {
        name for log in logs for record in log if record.at >= cutoff for name in list_object_ids(record)
    }
    return sum(
        size for name, (size, stored_at) in objects.items() if name not in needed and stored_at < now - MIN_OBJECT_AGE_S
    )


def list_object_ids(record: ChangeRecord) -> Iterable[str]:
    """Return the ids of the objects a record needs."""
    for change in record.changes:
        for state in (change.before, change.after):
            if state is not None and state.id and not state.id.startswith(NOT_STORED_PREFIX):
                yield state.id


def _find_cutoff(
    logs: Iterable[list[ChangeRecord]], sizes: dict[str, int], scanned: set[str], max_bytes: int, oldest: float
) -> float:
    """Return the time before which all records are deleted, so that as many of the newest as possible stay."""
    newest_first = sorted((record for log in logs for record in log), key=lambda record: -record.at)
    counted = set(scanned)
    total = sum(sizes.get(name, 0) for name in scanned)
    total = 0 if total > max_bytes else total  # copies from scans are dropped rather than recorded changes
    for record in newest_first:
        new = set(list_object_ids(record)) - counted
        total += sum(sizes.get(name, 0) for name in new)
        counted |= new
        if total > max_bytes or record.at < oldest:
            return record.at + 1e-6  # just after this record, so that it goes too
    return oldest


def _drop_records_before(path: Path, before: float) -> None:
    with lock_change_log(path):
        rewrite_change_log(path, [record for record in read_change_log(path) if record.at >= before])


def _list_scanned_ids(store: Path) -> set[str]:
    return {name for path in store.glob(f"projects/*/{SCAN_CACHE_NAME}") for name in list_scan_cache_ids(path)}


def _list_logs(store: Path) -> list[Path]:
    return sorted(store.glob("projects/*/log.jsonl"))


def _read_records(path: Path) -> list[ChangeRecord]:
    try:
        return read_change_log(path)
    except (StorageError, FileNotFoundError):
        return []  # written by a newer clio, or deleted meanwhile
