"""Deleting for good what was learned, while others may have it open: under their locks, and so that nothing comes back.

What a running clio has in memory is not trusted by it longer than the files say so: it follows them. Killed at any
moment, a wipe leaves files that open, and running it again finishes.
"""

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.errors import CorruptDocument, StorageError, UserError
from clio.memory.consolidation.progress import ConsolidationState, Progress, write_state
from clio.memory.portability.inventory import Hoard, Places
from clio.memory.store.typed_codec import FORMAT, Snapshot
from clio.messages import UserMessage
from clio.sessions.state import SessionInfo
from clio.sessions.store import SessionStore
from clio.storage.documents import Document, load_document, save_document
from clio.storage.files import open_regular, sync_folder
from clio.storage.locks import FileLock, read_owner
from clio.text.json_data import decode_json

LOCK_S = 10.0
YOUNG_S = 1.0
"""A half-written file is a living writer's unless it is older than this."""
_FOLDERS_LOCK, _INDEX_LOCK = "items.lock", "recall.sqlite.lock"


class _Head(Struct):
    generation: int = 0


def wipe(places: Places, hoards: Iterable[Hoard]) -> None:
    """Delete these for good. Sessions that stay count as slept over: they do not teach again what they taught.

    Raises StorageError with a sentence where a file cannot be deleted or locked, UserError while somebody sleeps.
    """
    with _asleep(places):
        for hoard in hoards:
            try:
                if hoard.kind == "nights":
                    _begin_nights_anew(hoard, SessionStore(places.sessions))
                else:
                    _WAYS.get(hoard.kind, _delete)(hoard)
            except TimeoutError as error:
                raise StorageError(f"{hoard.what}: {error} Nothing of them was deleted; wipe again.") from error
            except OSError as error:
                cause = error.strerror or str(error)
                raise StorageError(
                    f"{hoard.what}: {error.filename or str(hoard.folder)!r} cannot be deleted ({cause}); "
                    "mend its permissions and wipe again."
                ) from error


def _delete(hoard: Hoard) -> None:
    """Everything of it, under its lock."""
    if not hoard.files():
        return
    with ExitStack() as stack:
        if hoard.lock:
            stack.enter_context(FileLock(hoard.folder / hoard.lock))
        _unlink(hoard.files())


def _empty_memories(hoard: Hoard) -> None:
    """Put an empty snapshot of the next generation in their place, and delete all else.

    A clio that has the memories open tells by the generation that its own are void; without a file, a new journal could
    be taken for the one it knows.
    """
    path = hoard.folder / "memories.json"
    if not hoard.files():
        return
    with FileLock(hoard.folder / hoard.lock):
        save_document(path, FORMAT, Document(value=Snapshot(generation=_generation(path) + 1)))
        _unlink(file for file in hoard.files() if file != path)


def _generation(path: Path) -> int:
    try:
        document = load_document(path, FORMAT)
    except CorruptDocument:
        document = None
    found = document.value.generation if document else 0
    try:
        with open_regular(path.with_suffix(".journal.jsonl")) as file:
            return max(found, decode_json(file.readline(), type=_Head).generation)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return found


def _begin_nights_anew(hoard: Hoard, sessions: SessionStore) -> None:
    """Of what sleep noted only how far it came is left: as far as the sessions go."""
    path = hoard.folder / "sleep.json"
    progress = {info.id: _all_of(info, sessions) for info in sessions.list()}
    if progress:
        write_state(path, ConsolidationState(sessions=progress))
    _unlink(file for file in hoard.files() if file != path or not progress)


def _all_of(info: SessionInfo, sessions: SessionStore) -> Progress:
    try:
        messages = sessions.read(info.id)
    except (StorageError, UserError, OSError):
        messages = ()  # nobody can learn from what cannot be read
    turns = [message.id for message in messages if isinstance(message, UserMessage) and message.origin == "user"]
    done = turns[-1] if turns else ""
    return Progress(done=done) if info.running else Progress(done=done, messages=info.messages, updated=info.updated_at)


def _delete_notes(hoard: Hoard) -> None:
    """Notes have no lock: one that is just being written is waited for, for a moment."""
    deadline = time.monotonic() + 2 * YOUNG_S
    while any(map(_is_young, hoard.files())) and time.monotonic() < deadline:
        time.sleep(0.05)
    _unlink(hoard.files())


def _is_young(path: Path) -> bool:
    try:
        return path.name.endswith(".tmp") and time.time() - path.lstat().st_mtime < YOUNG_S
    except OSError:
        return False


def _delete_cache(hoard: Hoard) -> None:
    """Indexes and vectors, each under its own lock; whoever has them open makes them anew from what is left."""
    files = hoard.files()
    with ExitStack() as stack:
        for folder in sorted({file.parent for file in files if file.parent != hoard.folder}):
            stack.enter_context(FileLock(folder / _FOLDERS_LOCK))
        if any(file.name.startswith("recall.sqlite") for file in files):
            stack.enter_context(FileLock(hoard.folder / _INDEX_LOCK))
        _unlink(hoard.files())


def _unlink(files: Iterable[Path]) -> None:
    """Away with the files; folders stay, where somebody may be about to write."""
    folders: set[Path] = set()
    for file in files:
        file.unlink(missing_ok=True)
        folders.add(file.parent)
    for folder in folders:
        with suppress(FileNotFoundError):
            sync_folder(folder)


@contextmanager
def _asleep(places: Places) -> Generator[None]:
    """Nobody sleeps meanwhile: what a night has in hand would come back after the wipe. Raises UserError."""
    if not places.folder.is_dir():
        yield
        return
    lock = FileLock(places.folder / "sleep.lock")
    if not lock.acquire(LOCK_S):
        owner = read_owner(lock.path)
        raise UserError(f"clio is consolidating memory in process {owner.pid}; wipe again when it is done")
    try:
        yield
    finally:
        lock.release()


_WAYS: dict[str, Callable[[Hoard], None]] = {
    "memories": _empty_memories,
    "notes": _delete_notes,
    "cache": _delete_cache,
}
