"""Size of the checkpoint store, and which checkpoints are deleted first when it exceeds its limit."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from clio.checkpoints.checkpoint_store import NOT_KEPT, DiskObjects, Record, lock_log, read_log, rewrite_log
from clio.checkpoints.workspace_scan import SEEN_NAME, list_seen_ids
from clio.errors import StorageError
from clio.storage.locks import FileLock

YOUNG_S = 3600.0
"""Objects put this recently are spared: the line that names them may be about to be written."""


class Usage(Struct, frozen=True, kw_only=True):
    """What the store holds. oldest: seconds since the epoch; None where there is nothing."""

    bytes: int
    objects: int
    turns: int
    projects: int
    oldest: float | None


def measure_usage(store: Path) -> Usage:
    """Count. Raises OSError."""
    sizes = [size for _, size, _ in DiskObjects(store / "objects").all()]
    logs = [_records(path) for path in _logs(store)]
    times = [record.at for log in logs for record in log]
    return Usage(
        bytes=sum(sizes),
        objects=len(sizes),
        turns=len({record.message for log in logs for record in log if record.kind == "turn"}),
        projects=sum(bool(log) for log in logs),
        oldest=min(times, default=None),
    )


def make_room(store: Path, *, max_bytes: int, max_age_s: float, now: float, young_s: float = YOUNG_S) -> None:
    """Forget what is too old, then the oldest until the rest fits, and delete what nothing names any more.

    Does nothing while another clio is at it. Raises OSError.
    """
    lock = FileLock(store / "room.lock")
    if not store.is_dir() or not lock.acquire():
        return
    try:
        objects = DiskObjects(store / "objects")
        sizes = {name: size for name, size, _ in objects.all()}
        logs = {path: _records(path) for path in _logs(store)}
        for path in store.glob(f"projects/*/{SEEN_NAME}"):
            if path.stat().st_mtime < now - max_age_s:
                path.unlink(missing_ok=True)
        seen = _seen_ids(store)
        keep_from = _cut(logs.values(), sizes, seen, max_bytes, now - max_age_s)
        for path, records in logs.items():
            if any(record.at < keep_from for record in records):
                _forget_before(path, keep_from)
        if sum(sizes.get(name, 0) for name in seen) > max_bytes:
            for path in store.glob(f"projects/*/{SEEN_NAME}"):
                path.unlink(missing_ok=True)
            seen.clear()
        live = seen | {name for path in _logs(store) for record in _records(path) for name in list_object_ids(record)}
        objects.sweep(live, older_than_s=young_s)
    finally:
        lock.release()


def count_excess_bytes(store: Path, *, max_bytes: int, max_age_s: float, now: float, young_s: float = YOUNG_S) -> int:
    """How many bytes `make_room` would free; what was seen and never changed counts as kept. Raises OSError."""
    objects = {name: (size, put) for name, size, put in DiskObjects(store / "objects").all()}
    sizes = {name: size for name, (size, _) in objects.items()}
    logs, seen = [_records(path) for path in _logs(store)], _seen_ids(store)
    keep_from = _cut(logs, sizes, seen, max_bytes, now - max_age_s)
    live = seen | {name for log in logs for record in log if record.at >= keep_from for name in list_object_ids(record)}
    return sum(size for name, (size, put) in objects.items() if name not in live and put < now - young_s)


def list_object_ids(record: Record) -> Iterable[str]:
    """The objects a record needs."""
    for change in record.changes:
        for state in (change.before, change.after):
            if state is not None and state.id and not state.id.startswith(NOT_KEPT):
                yield state.id


def _cut(logs: Iterable[list[Record]], sizes: dict[str, int], seen: set[str], max_bytes: int, oldest: float) -> float:
    """The time before which everything is forgotten: newest first, as many records as fit."""
    newest_first = sorted((record for log in logs for record in log), key=lambda record: -record.at)
    counted = set(seen)
    total = sum(sizes.get(name, 0) for name in seen)
    total = 0 if total > max_bytes else total  # then what was seen goes, and not what was done
    for record in newest_first:
        new = set(list_object_ids(record)) - counted
        total += sum(sizes.get(name, 0) for name in new)
        counted |= new
        if total > max_bytes or record.at < oldest:
            return record.at + 1e-6
    return oldest


def _forget_before(path: Path, time: float) -> None:
    with lock_log(path):
        rewrite_log(path, [record for record in read_log(path) if record.at >= time])


def _seen_ids(store: Path) -> set[str]:
    return {name for path in store.glob(f"projects/*/{SEEN_NAME}") for name in list_seen_ids(path)}


def _logs(store: Path) -> list[Path]:
    return sorted(store.glob("projects/*/log.jsonl"))


def _records(path: Path) -> list[Record]:
    try:
        return read_log(path)
    except (StorageError, FileNotFoundError):
        return []  # a newer clio's, or gone meanwhile
