"""Versioned JSON documents that several clio processes share; reading several files in spite of errors in one."""

import errno
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clio.errors import ClioError, CorruptDocument, NewerDocument, StorageError
from clio.storage.files import make_folder, make_ignored_folder, read_regular, write_atomic
from clio.storage.locks import FileLock, error_cause
from clio.text.json_data import decode_json
from clio.text.translation import tr

T = TypeVar("T", bound=Struct)
_R = TypeVar("_R")
Json = dict[str, Any]
Migration = Callable[[Json], Json]


class DocumentFormat(Struct, Generic[T], frozen=True, kw_only=True):
    """The format of a kind of document.

    Attributes:
        schema: the value of its `schema` field.
        version: the newest version.
        type: the Struct of its fields without `schema` and `version`. Each field needs a default, so that an empty
            document is valid.
        migrations: `{1: v1_to_v2, …}`, pure functions of the whole JSON object.
        unversioned: the version assumed for a document that names none.
    """

    schema: str
    version: int
    type: type[T]
    migrations: Mapping[int, Migration] = {}
    unversioned: int = 1


class Document(Struct, Generic[T], frozen=True, kw_only=True):
    """The value of a document, and the top-level fields this clio does not know, which a rewrite keeps."""

    value: T
    unknown: dict[str, Raw] = {}


class _VersionField(Struct):
    version: Raw | UnsetType = UNSET


_MAX_VERSION = 9_999
"""Any larger number is treated as one version that this clio does not know."""


def load_document(path: Path, kind: DocumentFormat[T]) -> Document[T] | None:
    """Read the document at `path`; None if there is none. Older versions are migrated in memory.

    Raises:
        NewerDocument: if a newer clio wrote it.
        CorruptDocument: if it does not parse; the file has been moved aside.
        OSError: if it cannot be read.
    """
    try:
        data = read_regular(path)
    except FileNotFoundError as error:
        if path.is_symlink():  # its target may be on a disk that is not mounted
            raise OSError(errno.ENOLINK, tr("it is a broken link"), str(path)) from error
        return None
    try:
        return decode_document(data, kind, path)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        moved_to = set_file_aside(path)
        raise make_corrupt_error(path, moved_to, str(error)) from error


def decode_document(data: bytes, kind: DocumentFormat[T], path: Path) -> Document[T]:
    """Decode the document in `data`. `path` is used in messages only.

    Raises:
        NewerDocument: if a newer clio wrote it.
        msgspec.DecodeError: if it is damaged.
    """
    version = read_version(data, kind.unversioned)
    refuse_newer_version(path, version, kind.version)
    if version < kind.version:
        old = decode_json(data, type=Json)
        data = _migrate_to_newest(old, version, kind)
    # Fields a newer clio added within this version are kept as they are.
    known = {"schema", "version", *kind.type.__struct_encode_fields__}
    fields = decode_json(data, type=dict[str, Raw])
    unknown = {name: value.copy() for name, value in fields.items() if name not in known}
    return Document(value=decode_json(data, type=kind.type), unknown=unknown)


def read_version(data: bytes, unversioned: int = 1) -> int:
    """Return the version that a JSON object states, or `unversioned` if it states none.

    Raises:
        msgspec.DecodeError: if the version is not a positive whole number, so the file is damaged.
    """
    version = decode_json(data, type=_VersionField).version
    return unversioned if version is UNSET else check_version(decode_json(bytes(version)))


def check_version(version: object) -> int:
    """Return a version, with every number above `_MAX_VERSION` reduced to one more than it.

    Raises:
        msgspec.DecodeError: if the value is nothing that clio writes as a version.
    """
    # JSON numbers beyond 64 bits may be decoded as floats; infinity is no version.
    if isinstance(version, int | float) and _MAX_VERSION < version <= sys.float_info.max:
        return _MAX_VERSION + 1
    if type(version) is int and 0 <= version <= _MAX_VERSION:
        return version
    raise msgspec.ValidationError(
        tr("its version is {version!r}, which is not a version number", version=str(version)[:40])
    )


def _migrate_to_newest(old: Json, version: int, kind: DocumentFormat[T]) -> bytes:
    """Return the document in its newest version. Raises msgspec.DecodeError if an older one is malformed."""
    try:
        return msgspec.json.encode(migrate_document(old, version, kind.version, kind.migrations))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise msgspec.ValidationError(
            tr("it does not match version {version} of the format: {error!r}", version=version, error=error)
        ) from error


def encode_document(document: Document[T], kind: DocumentFormat[T]) -> bytes:
    """Encode a document as indented UTF-8 JSON: schema and version first, unknown fields last."""
    fields: dict[str, Any] = {"schema": kind.schema, "version": kind.version}
    for name, wire_name in zip(document.value.__struct_fields__, document.value.__struct_encode_fields__, strict=True):
        fields[wire_name] = getattr(document.value, name)
    return msgspec.json.format(msgspec.json.encode(fields | document.unknown), indent=1) + b"\n"


def save_document(path: Path, kind: DocumentFormat[T], document: Document[T]) -> None:
    """Write a whole document. Use `update_document` if other processes may write it as well. Raises OSError."""
    make_folder(path.parent)
    write_atomic(path, encode_document(document, kind))


def update_document(path: Path, kind: DocumentFormat[T], change: Callable[[T], T]) -> T:
    """Read, change and write a document under a lock, so that no concurrent update is lost. Returns the new value.

    Args:
        change: receives the value on disk (an empty document if there is none) and must not use an older value.
            If it returns the same object, nothing is written.

    Raises:
        OSError: if the document cannot be written.
        TimeoutError: if the lock is not released in time.
        Exception: whatever `load_document` raises.
    """
    make_folder(path.parent)
    with FileLock(path.with_name(path.name + ".lock")):
        document = load_document(path, kind) or Document(value=kind.type())
        value = change(document.value)
        if value is not document.value:
            write_atomic(path, encode_document(Document(value=value, unknown=document.unknown), kind))
    return value


def migrate_document(document: Json, version: int, newest: int, migrations: Mapping[int, Migration]) -> Json:
    """Migrate a JSON object from `version` to `newest`, one step at a time. Raises KeyError if a step is missing."""
    for step in range(version, newest):
        document = migrations[step](document) | {"version": step + 1}
    return document


def refuse_newer_version(path: Path, version: int, newest: int) -> None:
    """Raise NewerDocument if this clio does not know `version`.

    Raises:
        msgspec.DecodeError: if the number is nothing that clio writes as a version, so the file is damaged.
    """
    if check_version(version) > newest:
        raise NewerDocument(
            tr(
                "{path!r} was written by a newer clio (version {version}; this one reads up to {newest}). It is "
                "left unchanged; update clio to open it.",
                path=str(path),
                version=version,
                newest=newest,
            )
        )


def set_file_aside(path: Path, *, keep: bool = False) -> Path | None:
    """Move a file to `<name>.corrupt-<time>` beside it; None if that fails.

    Args:
        keep: leave the file under its old name as well, for a writer that replaces it immediately.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    for number in range(100):  # several files of one name can be set aside within one second
        target = path.with_name(f"{path.name}.corrupt-{stamp}" + (f"-{number}" if number else ""))
        if target.exists():
            continue
        try:
            link_or_copy(path, target) if keep else path.rename(target)
        except OSError:
            return None
        return target
    return None


def link_or_copy(path: Path, target: Path) -> None:
    """Hard-link a file to a second name; copy it if the file system has no hard links. Raises OSError."""
    try:
        os.link(path, target)
    except FileExistsError:
        raise
    except OSError:
        import shutil

        shutil.copy2(path, target)


def describe_damage(cause: str) -> str:
    """Describe for the user what a decoder found wrong. Causes phrased by clio are returned unchanged."""
    return cause if cause.startswith(_CLIO_CAUSE_STARTS) or cause[:1].isdigit() else tr("not valid JSON of this kind")


_CLIO_CAUSE_STARTS = ("it", "no ", "nothing ")
"""Lower-case beginnings of causes phrased by clio; those of the decoder begin with a capital letter."""


def make_corrupt_error(path: Path, moved_to: Path | None, cause: str) -> CorruptDocument:
    """Create the error that tells the user where a file that does not parse has been moved."""
    result = (
        tr("it was renamed to {moved_to!r}", moved_to=moved_to.name)
        if moved_to
        else tr("it could not be renamed and was left unchanged")
    )
    return CorruptDocument(
        tr(
            "{path!r} cannot be read ({damage}); {result}.",
            path=str(path),
            damage=describe_damage(cause),
            result=result,
        ),
        path=path,
        moved_to=moved_to,
    )


def save_cached(path: Path, value: object) -> None:
    """Write a value to a file in `.clio/cache`. Raises OSError."""
    make_ignored_folder(path.parent, path.parent.parent)
    # Not synced: the file is a cache, and losing it after a power failure does no harm.
    write_atomic(path, msgspec.json.encode(value), durable=False)


def load_cached(path: Path, type: type[T]) -> T | None:
    """Return the value that `save_cached` wrote, or None if there is no readable one."""
    try:
        return decode_json(read_regular(path), type=type)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


class LearnedFile(Generic[T]):
    """One document of learned values. Several processes may use it; each changes only what it learned itself.

    Args:
        path: None disables reading and writing.
        content: its description in messages, such as "the record of token counts".
        notice: called at most once per run with a description of a problem with the file.
    """

    def __init__(self, path: Path | None, kind: DocumentFormat[T], content: str, notice: Callable[[str], None]) -> None:
        self._path = path
        self._kind = kind
        self._content = content
        self._notice = notice
        self._has_noticed = False

    def read(self) -> T | None:
        """Return the content; None if there is none or it cannot be read."""
        if self._path is None:
            return None
        try:
            document = load_document(self._path, self._kind)
        except (StorageError, OSError) as error:
            self._notice_once(
                tr("{content} is not known: {error_cause}", content=self._content, error_cause=error_cause(error))
            )
            return None
        return document.value if document else None

    def change(self, change: Callable[[T], T]) -> None:
        """Read, change and write the content under a lock. Writes nothing if `change` returns its argument."""
        if self._path is None:
            return
        try:
            try:
                update_document(self._path, self._kind, change)
            except CorruptDocument as error:
                self._notice_once(tr("{content} is learned again: {error}", content=self._content, error=error))
                if error.moved_to is not None:  # else the damaged file is still there and would be overwritten
                    update_document(self._path, self._kind, change)
        except (StorageError, OSError) as error:
            self._notice_once(
                tr("{content} is not stored: {error_cause}", content=self._content, error_cause=error_cause(error))
            )

    def _notice_once(self, sentence: str) -> None:
        if not self._has_noticed:
            self._has_noticed = True
            self._notice(sentence)


class ErrorIsolation:
    """Runs several parts one by one, so that an error in one does not affect the others.

    It collects a sentence for the user about each part that failed.
    """

    def __init__(self) -> None:
        self.left_out: list[str] = []

    def run(self, what: str, part: Callable[[], _R], default: _R) -> _R:
        """Return the result of a part; `default` and a collected message if it fails.

        what: the part with its verb, such as "notes are", for the message "notes are left out: …".
        """
        # A damaged file has been moved aside when CorruptDocument is raised, so the second attempt finds no file.
        for _ in range(2):
            try:
                return part()
            except CorruptDocument as error:
                self.add_message(str(error))
            except (ClioError, OSError) as error:  # includes TimeoutError, for a lock that is never released
                self.add_message(tr("{what} left out: {error_cause}", what=what, error_cause=error_cause(error)))
                break
        return default

    def take_messages(self) -> list[str]:
        """Return the messages collected since the last call."""
        messages, self.left_out = self.left_out, []
        return messages

    def add_message(self, sentence: str) -> None:
        """Add a message, unless it is already in the list."""
        if sentence not in self.left_out:
            self.left_out.append(sentence)
