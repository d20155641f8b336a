"""A restoring is noted before it begins, so that the next clio finishes what a killed one began."""

import time
from pathlib import Path

import msgspec

from clio.algorithms.json_data import decode_json
from clio.checkpoints.log import Log
from clio.checkpoints.objects import Objects
from clio.checkpoints.restore import Restored, path_of, restore
from clio.checkpoints.states import Record
from clio.storage.documents import set_aside
from clio.storage.files import make_folder, read_regular, sync_folder, write_atomic
from clio.storage.locks import FileLock, drop_unfinished

_DONE = {"undo": "an undo", "redo": "a redo", "rewind": "a rewind", "turn": "a restoring"}


class Journal:
    """The restorings of one workspace. folder: None keeps no note, since nothing may be written."""

    def __init__(self, folder: Path | None, root: Path, objects: Objects, log: Log) -> None:
        self._path = folder / "restoring.json" if folder else None
        self._root = root
        self._objects = objects
        self._log = log

    def carry_out(self, record: Record) -> Restored:
        """Do what the record says and log what was done. Raises OSError, TimeoutError where another clio is at it."""
        if self._path is None:
            return self._restore(record)
        make_folder(self._path.parent)
        with FileLock(self._path.with_suffix(".lock")):
            self._objects.make_durable(
                state.id for change in record.changes for state in (change.before, change.after) if state is not None
            )
            write_atomic(self._path, msgspec.json.encode(record))
            return self._finished(self._path, record)

    def finish(self) -> list[str]:
        """Finish what was begun and not ended; a sentence for the person about each. Raises OSError."""
        if self._path is None or not self._path.exists():
            return []
        lock = FileLock(self._path.with_suffix(".lock"))
        if not lock.acquire():
            return []  # another clio is at it this moment
        try:
            record = decode_json(read_regular(self._path), type=Record)
            restored = self._finished(self._path, record)
            drop_unfinished([path_of(self._root, change.path) for change in record.changes], time.time())
        except FileNotFoundError:
            return []
        except (msgspec.DecodeError, UnicodeDecodeError):
            moved = set_aside(self._path)
            return [f"{str(self._path)!r} cannot be read and was set aside as {moved.name if moved else 'nothing'!r}"]
        finally:
            lock.release()
        count = len(restored.record.changes)
        words = f"{_DONE[record.kind]} that was cut off has been finished: {count} file{'s' * (count != 1)}"
        left = "".join(f"; {path!r} was left as it is: {why}" for path, why in restored.left)
        return [words + left]

    def _finished(self, path: Path, record: Record) -> Restored:
        known = {one.id for one in self._log.read()}
        restored = Restored(record=record) if record.id in known else self._restore(record)
        path.unlink(missing_ok=True)
        sync_folder(path.parent)
        return restored

    def _restore(self, record: Record) -> Restored:
        restored = restore(self._root, record, self._objects)
        self._log.append(restored.record)
        return restored
