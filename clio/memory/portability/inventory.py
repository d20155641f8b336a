"""Every file that holds something learned, by kind and owner, and how much is in each."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from clio.errors import CorruptDocument, NewerDocument, StorageError, UserError
from clio.memory.consolidation.progress import ConsolidationState, Progress, read_state, write_state
from clio.memory.store.change_log import EARLIER_NAME, LOG_NAME, ChangeLog
from clio.memory.store.ltm_store import open_store
from clio.memory.store.notes import Notes
from clio.memory.store.typed_codec import FORMAT, MemoryFiles, Snapshot
from clio.memory.store.typed_index import MemoryIndex
from clio.memory.store.typed_store import Scope
from clio.memory.vectors.documents import DOCUMENTS
from clio.messages import UserMessage
from clio.sessions.state import SessionInfo
from clio.sessions.store import SessionStore
from clio.storage.documents import Document, load_document, save_document
from clio.storage.files import open_regular, sync_folder
from clio.storage.jsonl import read_lines
from clio.storage.locks import FileLock, read_owner
from clio.text.json_data import decode_json

StyleOwner = Literal["project", "user"]


class Places(Struct, frozen=True, kw_only=True):
    """project: its folder. home: clio's own, where the person's memories lie. Nothing need exist."""

    project: Path
    home: Path

    @property
    def folder(self) -> Path:
        """The project's `.clio`."""
        return self.project / ".clio"

    @property
    def knowledge(self) -> Path:
        """The project knowledge."""
        return self.folder / "ltm.json"

    @property
    def notes(self) -> Path:
        """The folder of notes."""
        return self.folder / "memory"

    def log(self, scope: Scope) -> Path:
        """The change log of a scope."""
        return (self.home if scope == "user" else self.folder) / LOG_NAME

    @property
    def documents(self) -> Path:
        """Which documents somebody added."""
        return self.folder / "documents.json"

    @property
    def ratings(self) -> Path:
        """Turns, and what was said of them."""
        return self.folder / "trajectories.jsonl"

    @property
    def ratings_archive(self) -> Path:
        """What of it nobody rated for long."""
        return self.folder / "trajectories.archive.jsonl"

    @property
    def cache(self) -> Path:
        """The folder of indexes, vectors and accounts."""
        return self.folder / "cache"

    @property
    def sessions(self) -> Path:
        """The folder of conversations."""
        return self.folder / "sessions"

    @property
    def scenarios(self) -> Path:
        """The person's kinds of work."""
        return self.home / "scenarios.yaml"

    @property
    def styles(self) -> Path:
        """What was learned about styles."""
        return self.home / "styles.json"

    def memories(self, scope: Scope) -> Path:
        """The snapshot of typed memories."""
        return (self.home if scope == "user" else self.folder) / "memories.json"

    def own_styles(self, owner: StyleOwner) -> Path:
        """The folder of style files somebody wrote."""
        return (self.home if owner == "user" else self.folder) / "styles"


def read_typed(places: Places, scope: Scope) -> tuple[MemoryIndex, MemoryFiles]:
    """The typed memories of a scope, and their files. Raises StorageError, OSError."""
    index = MemoryIndex()
    files = MemoryFiles(places.memories(scope), index, ChangeLog(places.log(scope)), scope)
    files.catch_up()
    return index, files


WipeScope = Literal["project", "user", "styles"]
WIPE_SCOPES: tuple[WipeScope, ...] = get_args(WipeScope)
Kind = Literal[
    "memories", "knowledge", "notes", "documents", "ratings", "nights", "sleep", "undo", "cache", "shifts", "styles"
]


class Hoard(Struct, frozen=True, kw_only=True):
    """Files that belong together. `what` is their name for people.

    folder: where they lie. names: patterns of their names; with them go what was set aside as damaged and what a killed
    writer left half-written. lock: the name of the file they are changed under; empty where everyone writes alone.
    owner: of typed memories, whose they are.
    """

    kind: Kind
    what: str
    folder: Path
    names: tuple[str, ...]
    lock: str = ""
    owner: Scope = "project"

    def files(self) -> list[Path]:
        """The files there are, without the lock; everything below a folder of that name."""
        return sorted(path for found in self._top() for path in _below(found))

    def _top(self) -> Iterator[Path]:
        try:
            found = list(self.folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return
        for path in found:
            if not path.name.endswith(".lock") and any(fnmatch(path.name, name) for name in self.names):
                yield path


def hoards_of(places: Places, scopes: Iterable[WipeScope]) -> tuple[Hoard, ...]:
    """What these scopes hold, in the order it is wiped: the changes that could be taken back come last."""
    scopes = frozenset(scopes)
    project, home = places.folder, places.home
    found: list[Hoard] = []
    if "project" in scopes:
        found += [
            _memories(project, "project", "memories of the project"),
            Hoard(
                kind="knowledge", what="project knowledge", folder=project, names=("ltm.*", "ltm"), lock="ltm.json.lock"
            ),
            Hoard(kind="notes", what="notes", folder=places.notes, names=("*",)),
            _one(project, "documents", "documents you added, not the files themselves", "documents.json"),
            Hoard(
                kind="ratings",
                what="rated turns and ratings",
                folder=project,
                names=("trajectories.*",),
                lock="trajectories.jsonl.lock",
            ),
        ]
    if "user" in scopes:
        found += [
            _memories(home, "user", "memories of yours, preferences among them"),
            Hoard(kind="sleep", what="how far sleep came with yours", folder=home, names=("sleep.person.*",)),
            _one(home, "shifts", "changes of taste that were told", "shifts.json"),
            _log(home, "change log of your memories", LOG_NAME),
        ]
    if "styles" in scopes:
        found.append(_one(home, "styles", "what was learned about styles", "styles.json"))
    if "project" in scopes or "user" in scopes:
        if "project" in scopes:
            found.append(Hoard(kind="nights", what="what sleep counts", folder=project, names=("sleep.json*",)))
        found += [
            Hoard(kind="sleep", what="what sleep did", folder=project, names=("sleep.log*",)),
            _log(project, "change log of the project", LOG_NAME, EARLIER_NAME)
            if "project" in scopes
            else _log(project, "changes to undo of an earlier clio", EARLIER_NAME),
        ]
    names = ("*",) if "project" in scopes else ("why.json*", "style.json*") if "user" in scopes else ("style.json*",)
    if scopes:
        found.append(Hoard(kind="cache", what="indexes, vectors, accounts of turns", folder=places.cache, names=names))
    return tuple(found)


def _memories(folder: Path, owner: Scope, what: str) -> Hoard:
    return Hoard(
        kind="memories", what=what, folder=folder, names=("memories.*",), lock="memories.json.lock", owner=owner
    )


def _one(folder: Path, kind: Kind, what: str, name: str) -> Hoard:
    """A document with what was set aside beside it."""
    return Hoard(kind=kind, what=what, folder=folder, names=(f"{name}*",), lock=f"{name}.lock")


def _log(folder: Path, what: str, *names: str) -> Hoard:
    return Hoard(
        kind="undo", what=what, folder=folder, names=tuple(f"{name}*" for name in names), lock=f"{names[0]}.lock"
    )


def _below(path: Path) -> Iterator[Path]:
    """The file, or all files in the folder; a link is itself a file."""
    if path.is_symlink() or not path.is_dir():
        yield path
        return
    for inner in path.iterdir():
        if not inner.name.endswith(".lock"):
            yield from _below(inner)


class Doomed(Struct, frozen=True, kw_only=True):
    """One part of what would go. records: how many, None where that says nothing, or nobody can tell."""

    hoard: Hoard
    files: int
    bytes: int
    records: int | None = None


def survey(places: Places, hoards: tuple[Hoard, ...]) -> tuple[Doomed, ...]:
    """What there is of these, without what there is nothing of.

    Raises NewerDocument where a later clio wrote a file: it may keep things where this one does not look.
    """
    found: list[Doomed] = []
    for hoard in hoards:
        records = _count(places, hoard)
        files = hoard.files()
        if files and not _is_what_a_wipe_leaves(hoard, files, records):
            sizes = (path.lstat().st_size for path in files if path.exists())
            found.append(Doomed(hoard=hoard, files=len(files), bytes=sum(sizes), records=records))
    return tuple(found)


def _is_what_a_wipe_leaves(hoard: Hoard, files: Sequence[Path], records: int | None) -> bool:
    """Whether the files say nothing but that something was wiped."""
    names = [path.name for path in files]
    if hoard.kind == "memories":
        return records == 0 and names == ["memories.json"]
    if hoard.kind == "nights" and names == ["sleep.json"]:
        state, _ = read_state(files[0])
        return state == ConsolidationState(sessions=state.sessions)
    return False


def _count(places: Places, hoard: Hoard) -> int | None:
    try:
        return _records(places, hoard)
    except NewerDocument:
        raise
    except (StorageError, OSError, ValueError):
        return None  # damaged: it goes all the same


def _records(places: Places, hoard: Hoard) -> int | None:
    match hoard.kind:
        case "memories":
            index, files = read_typed(places, hoard.owner)
            return len(index.records) + len(files.formers())
        case "knowledge":
            store = open_store(places.knowledge, project=places.project, home=places.home)
            known = store.read()
            return len(known.all()) + len(store.archive.read(known))
        case "notes":
            return len(Notes(places.notes).newest_first())
        case "documents":
            document = load_document(places.documents, DOCUMENTS)
            return len(document.value.sources) if document else 0
        case "ratings":
            return _lines("trajectories.jsonl", hoard) + _lines("trajectories.archive.jsonl", hoard)
        case "undo":
            return len(ChangeLog(hoard.folder / LOG_NAME).undoable())
        case _:
            return None


def _lines(name: str, hoard: Hoard) -> int:
    return len(read_lines(hoard.folder / name).lines)


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
