"""How the project knowledge is changed: under a lock, noted first, kept before it leaves, written whole."""

import copy
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from clio.errors import StorageError
from clio.memory.ltm.archive import Kept, LtmArchive
from clio.memory.ltm.changes import Piece, is_as, piece, put_back
from clio.memory.ltm.file import LtmDocument, write_ltm
from clio.memory.ltm.history import LtmHistory, begin_anew, endings, says_else, with_successor
from clio.memory.ltm.kinds import identity, stored_id
from clio.memory.ltm.reading import read_whole
from clio.memory.records import Because
from clio.memory.team.knowledge import TeamKnowledge
from clio.memory.undo import UndoLog, new_change
from clio.storage.files import make_ignored_folder
from clio.storage.locks import FileLock, NoLocks


class LtmStore:
    """`ltm.json`, the archive beside it and the log of changes, written in an order in which dying loses nothing.

    Methods raise CorruptDocument after setting a file aside, and NewerDocument; those that write raise StorageError
    with a sentence where that fails, and then the file is as it was.

    team: what is shared through git, in one with the file while it is in use; new entries are shared then.
    """

    def __init__(
        self,
        path: Path,
        undo: UndoLog | None = None,
        clock: Callable[[], float] = time.time,
        team: TeamKnowledge | None = None,
    ) -> None:
        self.path = path
        self.clock = clock
        self.team = team
        self.archive = LtmArchive(path.with_name("ltm.archive.json"))
        self.history = LtmHistory(path.with_name("ltm.history.jsonl"))
        self._undo = undo

    def read(self) -> LtmDocument:
        """The document as it is now. Raises OSError."""
        return read_whole(self.path, lambda: self.team)

    def exists(self) -> bool:
        """Whether anything was ever known."""
        return self.path.exists() or bool(self.team and self.team.in_use)

    def size(self) -> int:
        """The size of what the entries lie in."""
        own = self.path.stat().st_size if self.path.exists() else 0
        return own + (self.team.folder.size() if self.team and self.team.in_use else 0)

    @contextmanager
    def changing(self) -> Generator[tuple[LtmDocument, float]]:
        """The document as it is now, for a change; nobody else changes it meanwhile."""
        lock = FileLock(self.path.with_name(self.path.name + ".lock"))
        try:
            with _one_sentence(self.path):
                make_ignored_folder(self.path.parent, self.path.parent)
                lock.__enter__()
                document = self.read()
            yield document, round(self.clock(), 3)
        finally:
            lock.release()

    def write(
        self,
        document: LtmDocument,
        now: float,
        what: str,
        before: Sequence[Piece],
        after: Sequence[Piece],
        archived: Sequence[Kept] = (),
        why: Mapping[str, Because] | None = None,
        successors: Mapping[str, str] = MappingProxyType({}),
        *,
        stated: bool = False,
    ) -> None:
        """Note the change, then keep what leaves, then write the file: dying in between loses nothing.

        why: of the handles that leave. successors: of those whose place another took, the handle of that one.
        stated: how sure somebody is was said on purpose, see `TeamKnowledge.write`.
        """
        _begin_anew(document, now, before, after)
        document.touch(now)
        key = (before or after)[0].id if len(before) + len(after) <= 2 else ""
        change = new_change("ltm", what, at=now, key=key, before=before or None, after=after or None)
        with _one_sentence(self.path):
            if self._undo:
                self._undo.record(change)
            try:
                self.history.put(endings(before, after, now, why or {}, successors=successors))
                if archived:
                    self.archive.put(archived)
                self.put(document, now, why or {}, stated=stated)
            except BaseException:
                if self._undo:
                    with suppress(OSError):  # the first error is the one to tell
                        self._undo.take(change.id)
                raise
        if back := [one.kept for one in before if one.kept]:
            self._take_out(lambda one: one in back)

    def send_off(
        self,
        document: LtmDocument,
        now: float,
        what: str,
        why: Mapping[str, Because],
        successors: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Move the entries of these handles to the archive, and write the file even where there is none.

        successors: of those whose place another took, the handle of that one.
        """
        known = document.by_handle()
        before = [piece(document, known[handle][0], handle, known[handle][1]) for handle in why]
        kept = [
            Kept(
                kind=one.kind,
                archived=now,
                because=why[one.id],
                entry=with_successor(copy.deepcopy(one.entry) | {"id": one.id}, successors.get(one.id)),
            )
            for one in before
        ]
        for one in sorted(before, key=lambda one: -one.place):
            del document.section(one.kind)[one.place]
        if before:
            self.write(document, now, what, before, (), kept, why, successors)
            return
        document.touch(now)
        with _one_sentence(self.path):
            self.put(document, now)

    def take_back(self, document: LtmDocument, now: float, before: Sequence[Piece], after: Sequence[Piece]) -> bool:
        """Make the file and the archive as they were before a change; False where they are no longer as after it.

        A process that died between noting a change and making it leaves one that is as good as taken back.
        """
        touched = {one.id for one in (*before, *after)}
        if not is_as(document, before, touched):
            if not is_as(document, after, touched):
                return False
            put_back(document, before, after)
            document.touch(now)
            with _one_sentence(self.path):
                self.history.put(endings(after, before, now, undone=True))
                if kept := [one.kept for one in before if one.kept]:
                    self.archive.put(kept)
                self.put(document, now)
        back = {one.id for one in before if one.kept is None} - {one.id for one in after}
        self._take_out(lambda one: stored_id(one.entry) in back)
        return True

    def drop_doubles(self, document: LtmDocument) -> None:
        """Take out of the archive what a process that died left both there and in the file."""
        known = document.by_handle()

        def is_double(kept: Kept) -> bool:
            twin = known.get(stored_id(kept.entry))
            if twin is None or twin[0] != kept.known_kind:
                return False
            return identity(*twin) == identity(twin[0], kept.entry)

        self._take_out(is_double)

    def put(
        self,
        document: LtmDocument,
        now: float,
        why: Mapping[str, Because] = MappingProxyType({}),
        *,
        stated: bool = False,
    ) -> None:
        """Write the document, each entry where it lies: in the file, or in the shared folder.

        As it was read: what is shared or trusted only since then must not take in what nobody wanted to share. A folder
        that is gone since then, as with another branch, takes in nothing.
        """
        if self.team and document.shares and self.team.in_use:
            self.team.write(document, now, why, stated=stated)
            if self.path.exists() or document.private:
                write_ltm(self.path, document, private=True)
        else:
            write_ltm(self.path, document)

    def tidy(self) -> None:
        """Delete what says nothing any more, under the lock; where that cannot be done it waits for the next time."""
        if self.team and self.team.in_use:
            with suppress(OSError):
                self.team.tidy()

    def _take_out(self, gone: Callable[[Kept], bool]) -> None:
        """Tidy the archive after a change was made; where that cannot be, a double waits for the next pruning."""
        with suppress(OSError):
            self.archive.take(gone)


def open_store(
    path: Path,
    *,
    project: Path,
    home: Path | None,
    undo: UndoLog | None = None,
    clock: Callable[[], float] = time.time,
) -> LtmStore:
    """The store of a project, with what is shared there. home: where trust is kept; None: it is left alone."""
    return LtmStore(path, undo, clock, TeamKnowledge(path, project, home, clock))


def _begin_anew(document: LtmDocument, now: float, before: Sequence[Piece], after: Sequence[Piece]) -> None:
    """Note in the entries that say something else, and in their pieces, from when they do."""
    former = {one.id: one.entry for one in before if one.kept is None}
    changed = [one for one in after if one.id in former and says_else(one.kind, former[one.id], one.entry)]
    known = document.by_handle() if changed else {}
    for one in changed:
        begin_anew(one.entry, now)
        begin_anew(known[one.id][1], now)


@contextmanager
def _one_sentence(path: Path) -> Generator[None]:
    """What the operating system refuses, as an error for people."""
    try:
        yield
    except TimeoutError as error:
        raise StorageError(f"The project knowledge was not changed: {error}") from error
    except NoLocks as error:
        raise StorageError(f"The project knowledge was not changed: {error}.") from error
    except OSError as error:
        cause = error.strerror or str(error)
        raise StorageError(
            f"The project knowledge was not changed: {str(path)!r} cannot be read or written ({cause}); "
            "make room or mend its permissions and try again."
        ) from error
