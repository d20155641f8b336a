"""What was read already, so that a second import need not read it again. A cache: where it is lost, all is read."""

from pathlib import Path

from msgspec import Struct, structs

from clio.errors import StorageError
from clio.importing.places import SourceFile
from clio.storage.documents import Format, load, update

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
