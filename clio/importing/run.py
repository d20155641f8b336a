"""The import itself, file after file, to be stopped at any time and continued; and what was read already."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field, structs

from clio.errors import StorageError
from clio.importing import aider, claude, codex, gemini, places
from clio.importing.intake import Fate, Intake, Twins
from clio.importing.places import SourceFile
from clio.importing.reading import About, Agent, Piece, Progress, Tally
from clio.storage.documents import Format, load, update
from clio.storage.files import make_ignored_folder
from clio.storage.locks import NO_ROOM

READING = 1
"""Grows when clio learns to read more of the files: then all are read again."""


class FileRead(Struct, frozen=True, kw_only=True):
    """How a file looked when it was read. size: in bytes; modified: in nanoseconds since the epoch."""

    size: int
    modified: int
    reading: int = READING


class Imports(Struct, frozen=True, kw_only=True):
    """The files by their path, and the facts that were declined, each by what `Fact.mark` says."""

    files: dict[str, FileRead] = {}
    declined: tuple[str, ...] = ()


FORMAT = Format(schema="clio.imports", version=1, type=Imports)


class Ledger:
    """`imports.json` in a project's cache."""

    def __init__(self, cache: Path) -> None:
        self._path = cache / "imports.json"

    def read(self) -> Imports:
        """What is known; nothing where the file is lost or damaged."""
        try:
            document = load(self._path, FORMAT)
        except (StorageError, OSError):
            return Imports()
        return document.value if document else Imports()

    def note(self, files: list[SourceFile]) -> None:
        """These were read whole. Raises OSError, StorageError."""
        new = {str(file.path): FileRead(size=file.size, modified=file.modified) for file in files}
        if new:
            update(self._path, FORMAT, lambda known: structs.replace(known, files=known.files | new))

    def decline(self, marks: list[str]) -> None:
        """These facts are not to be offered again. Raises OSError, StorageError."""
        if marks:
            update(
                self._path,
                FORMAT,
                lambda known: structs.replace(known, declined=tuple(dict.fromkeys((*known.declined, *marks)))),
            )


def is_read(known: Imports, file: SourceFile) -> bool:
    """Whether nothing changed in the file since it was read."""
    return known.files.get(str(file.path)) == FileRead(size=file.size, modified=file.modified)


Reader = Callable[[Path, Tally, Progress], Iterator[Piece]]
READERS: dict[Agent, Reader] = {
    "claude": claude.read,
    "codex": codex.read,
    "gemini": gemini.read,
    "aider": aider.read,
    "clio": places.read,
}
_ONE_AFTER_THE_OTHER = frozenset[Agent]({"aider"})
"""Whose files hold many conversations, none of which is gone back to."""
_NOTE_EVERY_S = 2.0


class Stopped(Exception):
    """Somebody asked to stop."""


class Report(Struct, kw_only=True):
    """What an import did. fates: how many conversations came to what. unchanged: files that were not read again.

    stopped: it was interrupted; `left` files were not read. seconds: how long it took. read_bytes: of the sources.
    """

    files: int = 0
    unchanged: int = 0
    left: int = 0
    messages: int = 0
    read_bytes: int = 0
    seconds: float = 0.0
    stopped: bool = False
    fates: Counter[Fate] = field(default_factory=Counter[Fate])
    tally: Tally = field(default_factory=Tally)


class Importer:
    """Imports into the sessions of one project.

    folder: of its sessions. redact: takes secrets out of a text. max_chars: of an output that stands in a message.
    """

    def __init__(
        self,
        folder: Path,
        ledger: Ledger,
        redact: Callable[[str], str],
        max_chars: int,
        clock: Callable[[], float] = time.time,
        *,
        record: Callable[[str], None] = lambda session_id: None,
    ) -> None:
        """record: told of the id of each session that was written."""
        self._record = record
        self._folder = folder
        self._ledger = ledger
        self._redact = redact
        self._max_chars = max_chars
        self._clock = clock
        self._twins = Twins(folder)

    def run(
        self,
        files: Sequence[SourceFile],
        *,
        since: float = 0.0,
        again: bool = False,
        dry_run: bool = False,
        stop: Callable[[], bool] = lambda: False,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Report:
        """Take in what these files hold; nothing of them is changed. Raises OSError where nothing can be written.

        since: conversations that ended before are left. again: files are read that did not change. dry_run: nothing is
        written. progress: told how many bytes of how many are done.
        """
        report, begun = Report(), time.monotonic()
        known = self._ledger.read()
        wanted = [file for file in files if file.modified / 1e9 >= since]
        new = [file for file in wanted if again or not is_read(known, file)]
        report.unchanged = len(wanted) - len(new)
        total, done = sum(file.size for file in new), 0
        whole: list[SourceFile] = []
        noted_at = begun
        if not dry_run and new:
            make_ignored_folder(self._folder, self._folder.parent)

        def tell(place: int) -> None:
            if stop():
                raise Stopped
            progress(min(done + place, total), total)

        try:
            for file in new:
                tell(0)
                if self._read(file, report, tell, since, dry_run):
                    whole.append(file)
                done += file.size
                report.files, report.read_bytes = report.files + 1, done
                if not dry_run and time.monotonic() - noted_at > _NOTE_EVERY_S:
                    self._ledger.note(whole)
                    whole, noted_at = [], time.monotonic()
        except Stopped:
            report.stopped = True
        finally:
            progress(total, total)
            if not dry_run:
                self._ledger.note(whole)
        report.left = len(new) - report.files
        report.seconds = time.monotonic() - begun
        return report

    def _read(self, file: SourceFile, report: Report, tell: Progress, since: float, dry_run: bool) -> bool:
        """Read one file; whether all of it is in its place now, so that it need not be read again."""
        open_: dict[str, Intake] = {}
        fates: Counter[Fate] = Counter()
        unread = len(report.tally.unreadable)
        try:
            for piece in READERS[file.agent](file.path, report.tally, tell):
                intake = open_.get(piece.key)
                if intake is None:
                    if file.agent in _ONE_AFTER_THE_OTHER:
                        self._finish(open_, report, fates, since, dry_run)
                    intake = open_[piece.key] = self._intake(file, piece.key, report.tally, dry_run)
                if isinstance(piece, About):
                    intake.tell(piece)
                else:
                    intake.add(piece)
            self._finish(open_, report, fates, since, dry_run)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise  # nothing is wrong with what is read, and nothing more can be kept
            report.tally.unreadable.append((str(error.filename or file.path), error.strerror or str(error)))
            return False
        finally:
            for intake in open_.values():
                intake.drop()
        return not (fates["busy"] or fates["old"]) and unread == len(report.tally.unreadable)

    def _intake(self, file: SourceFile, key: str, tally: Tally, dry_run: bool) -> Intake:
        return Intake(
            self._folder,
            file.agent,
            key,
            file.path,
            tally,
            self._redact,
            self._max_chars,
            twins=self._twins,
            dry_run=dry_run,
        )

    def _finish(
        self, open_: dict[str, Intake], report: Report, fates: Counter[Fate], since: float, dry_run: bool
    ) -> None:
        while open_:
            key = next(iter(open_))
            session_id = open_[key].files.id
            fate, messages = open_[key].finish(self._clock(), since=since)
            if fate in ("new", "grown") and not dry_run:
                self._record(session_id)
            del open_[key]
            fates[fate] += 1
            report.fates[fate] += 1
            report.messages += messages if fate in ("new", "grown") else 0
