"""Whether the memory and the sessions in a project are the user's own, or came with its files."""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from clio.config.loaded import TrustRequest
from clio.config.paths import FOLDER_NAME
from clio.errors import ClioError, NewerDocument
from clio.readonly_git import run_git
from clio.storage.documents import DocumentFormat, decode_document, update_document
from clio.storage.files import find_birth_mark, read_regular, write_atomic
from clio.storage.locks import error_reason
from clio.text.json_data import JsonDecoder
from clio.text.translation import mark, tr

PROJECT_MEMORY_KEY = mark("project memory")
SEAL_NAME = "written-here"
_KEY_NAME = "memory_key.json"
_LEDGER_NAME = "costs.jsonl"
_MEMORY_FILES = ("ltm.json", "memories.json", "memories.journal.jsonl", "memory.log.jsonl")
_MEMORY_FOLDER = "memory"
_SESSIONS_FOLDER = "sessions"
_OWN_SESSIONS_NAME = "own_sessions.txt"
_NOT_OWN = "!"
"""Begins a line about a session that others changed after this user's clio wrote it; no id contains it."""
_SESSIONS_SEAL_PREFIX = "s-"
_SESSION_ID = re.compile(r"[0-9A-Za-z_-]{1,100}")
_MEMORY_FINGERPRINT = hashlib.sha256(b'["project memory"]').hexdigest()
_MAX_SEAL_BYTES = 1_000
_MADE_HERE, _FOLDERS = "by this clio", "folders "  # no absolute path, so that no code is valid for another purpose
_GIT_TIMEOUT_S = 5


class _MemoryKey(Struct, frozen=True, kw_only=True):
    """The key that seals the memory of this user's projects.

    Attributes:
        key: in hexadecimal; "" before it is created.
        former: projects that were in use before seals existed.
        unbound: projects in use while seals named no directory, whose seals of that form are valid; None before they
            are recorded.
    """

    key: str = ""
    former: tuple[str, ...] = ()
    unbound: tuple[str, ...] | None = None


class _LedgerProject(Struct):
    project: str = ""


_KEY_FORMAT = DocumentFormat(schema="clio.memory-key", version=1, type=_MemoryKey)
_ledger_decoder: JsonDecoder[_LedgerProject] = JsonDecoder(_LedgerProject)


def make_memory_trust_request(damage: str | None = None) -> TrustRequest:
    """Return the question to ask before a project's memory is treated as the user's own.

    damage: see `describe_seal_damage`.
    """
    return TrustRequest(
        key=PROJECT_MEMORY_KEY,
        value=damage or tr("memory that came with this project"),
        where=f"{FOLDER_NAME}/",
        fingerprint=_MEMORY_FINGERPRINT,
    )


def has_foreign_memory(project: Path, home: Path) -> bool:
    """Whether the project contains memory that this user's clio did not write. Writes nothing."""
    names = list(_iter_memory_files(project / FOLDER_NAME))
    if not names or project / FOLDER_NAME == home.resolve():
        return False
    memory_key = _read_key(home)
    former = memory_key.former if memory_key.key else _projects_in_ledger(home)
    if not _is_sealed(project, memory_key, home) and str(project) not in former:
        return True
    return _tracks_any(project, names)


def seal_memory(project: Path, home: Path) -> None:
    """Record that this user's clio writes this project's memory. If that fails, the user is asked the next time."""
    folder = project / FOLDER_NAME
    # Not sealed, the project's memory only counts as foreign until the user accepts it: that must not stop a turn.
    with suppress(OSError, ClioError):
        memory_key = load_or_create_key(home)
        seal = _read_seal(project)
        is_sealed = seal.nonce.startswith(_SESSIONS_SEAL_PREFIX) and seal == _make_seal(memory_key, seal.nonce, project)
        if folder.is_dir() and not is_sealed:
            record_sessions(home, find_earlier_sessions(project, home))
            made = _make_seal(memory_key, _SESSIONS_SEAL_PREFIX + secrets.token_hex(16), project)
            write_atomic(folder / SEAL_NAME, f"{':'.join(filter(None, made))}\n".encode(), durable=False)


def find_earlier_sessions(project: Path, home: Path) -> frozenset[str]:
    """Return the sessions of a project used before clio recorded ids; empty if they have been returned before."""
    memory_key = _read_key(home)
    if _is_sealed(project, memory_key, home, with_sessions=True):
        return frozenset()
    if not _is_sealed(project, memory_key, home):
        former = memory_key.former if memory_key.key else _projects_in_ledger(home)
        if str(project) not in former or os.path.lexists(project / FOLDER_NAME / SEAL_NAME):
            return frozenset()
    with suppress(OSError):
        found = (entry.name.partition(".")[0] for entry in os.scandir(project / FOLDER_NAME / _SESSIONS_FOLDER))
        others = find_tracked_sessions(project) | read_recorded_sessions(home).foreign
        return frozenset(filter(_SESSION_ID.fullmatch, found)) - others
    return frozenset()


def accept_sessions(project: Path, home: Path) -> None:
    """Treat the sessions in a project as the user's own, after the user has trusted its memory. Raises OSError."""
    with suppress(FileNotFoundError):
        found = (entry.name.partition(".")[0] for entry in os.scandir(project / FOLDER_NAME / _SESSIONS_FOLDER))
        record_sessions(home, frozenset(filter(_SESSION_ID.fullmatch, found)) - find_tracked_sessions(project))


class RecordedSessions(Struct, frozen=True, kw_only=True):
    """Ids of sessions. own: those that this user's clio wrote. foreign: those that others have changed since."""

    own: frozenset[str] = frozenset()
    foreign: frozenset[str] = frozenset()


def read_recorded_sessions(home: Path) -> RecordedSessions:
    """Return what is recorded about sessions; of several lines about one session the last counts."""
    path = home / _OWN_SESSIONS_NAME
    try:
        found = path.stat()
        return _read_recorded_sessions(path, (found.st_ino, found.st_size, found.st_mtime_ns))
    except OSError:
        return RecordedSessions()


@lru_cache(maxsize=4)
def _read_recorded_sessions(path: Path, stamp: tuple[int, int, int]) -> RecordedSessions:
    """Cached, since each search asks for it: the file is only appended to, so its size changes with its content."""
    is_own: dict[str, bool] = {}
    for line in read_regular(path).decode("ascii", "replace").split():
        is_own[line.removeprefix(_NOT_OWN)] = not line.startswith(_NOT_OWN)
    return RecordedSessions(
        own=frozenset(id for id, own in is_own.items() if own),
        foreign=frozenset(id for id, own in is_own.items() if not own),
    )


def record_sessions(home: Path, ids: Collection[str], *, own: bool = True) -> None:
    """Record that this user's clio wrote these sessions; with own=False, that others changed them. Raises OSError."""
    if not ids:
        return
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Opened for appending: several clios write ids, and each writes whole lines with one call. A pipe must not block.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(home / _OWN_SESSIONS_NAME, flags, 0o600), "ab") as file:
        file.write("".join(f"{'' if own else _NOT_OWN}{id}\n" for id in sorted(ids)).encode("ascii"))


def find_tracked_sessions(project: Path) -> frozenset[str]:
    """Return the ids of sessions with files tracked by git, which a pull can change."""
    if not _is_git_check_needed(project):
        return frozenset()
    listed = (
        run_git(project, "ls-files", "-z", "--", f"{FOLDER_NAME}/{_SESSIONS_FOLDER}", timeout_s=_GIT_TIMEOUT_S) or ""
    )
    inside = (path.partition(f"{FOLDER_NAME}/{_SESSIONS_FOLDER}/")[2] for path in listed.split("\0"))
    return frozenset(path.partition("/")[0].partition(".")[0].lower() for path in inside if path)


def load_or_create_key(home: Path) -> _MemoryKey:
    """Return the key of this home; create it with the projects in use until now if missing.

    Raises OSError, ClioError.
    """
    memory_key = _read_key(home)
    if memory_key.key and memory_key.unbound is not None:
        return memory_key
    used = tuple(sorted(_projects_in_ledger(home)))

    def complete(old: _MemoryKey) -> _MemoryKey:
        if not old.key:
            return _MemoryKey(key=secrets.token_hex(32), former=used, unbound=())
        return old if old.unbound is not None else _MemoryKey(key=old.key, former=old.former, unbound=used)

    return update_document(home / _KEY_NAME, _KEY_FORMAT, complete)


def describe_seal_damage(project: Path, home: Path) -> str | None:
    """Describe why clio cannot tell whether it wrote the project's memory itself; None if it can.

    The result is a clause that names the damaged file: the key in clio's home, or the project's seal.
    """
    if damage := describe_key_damage(home):
        return damage
    seal = project / FOLDER_NAME / SEAL_NAME
    try:
        text = read_regular(seal, _MAX_SEAL_BYTES).decode("ascii").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        return tr("{seal!r} cannot be read: {error_reason}", seal=str(seal), error_reason=error_reason(error))
    except UnicodeDecodeError:
        return tr("{seal!r} is damaged", seal=str(seal))
    if not _parse_seal(text):
        return tr("{seal!r} is damaged", seal=str(seal))
    copies = sorted(path.name for path in home.glob(f"{_KEY_NAME}.corrupt-*"))
    if copies and not _is_sealed(project, _read_key(home), home):
        return tr(
            "{home!r} was damaged and was renamed to {copies!r}; clio created a new key",
            home=str(home / _KEY_NAME),
            copies=copies[-1],
        )
    found, memory_key = _read_seal(project), _read_key(home)
    is_copied = memory_key.key and hmac.compare_digest(found.maker, _sign(memory_key, found.nonce, _MADE_HERE))
    if (
        is_copied
        and not _is_sealed(project, memory_key, home)
        and not _tracks_any(project, list(_iter_memory_files(seal.parent)))
    ):
        # The seal proves where it was made. The memory beside it may have been changed in a copy of the folder.
        return tr(
            "{folder!r} is a copy of another folder in which your clio wrote it, or was moved from there, and may have "
            "been changed",
            folder=str(seal.parent),
        )
    return None


def describe_key_damage(home: Path) -> str | None:
    """Describe what is wrong with the key's file; None if it is valid."""
    path = home / _KEY_NAME
    try:
        memory_key = decode_document(read_regular(path), _KEY_FORMAT, path).value
    except FileNotFoundError:
        return tr("{path!r} is a broken link", path=str(path)) if path.is_symlink() else None
    except OSError as error:
        return tr("{path!r} cannot be read: {error_reason}", path=str(path), error_reason=error_reason(error))
    except NewerDocument:
        return tr("{path!r} is from a newer clio", path=str(path))
    except (msgspec.DecodeError, ClioError):
        return tr("{path!r} is damaged", path=str(path))
    return None if memory_key.key else tr("{path!r} is damaged: it contains no key", path=str(path))


def _is_hexadecimal(text: str, length: int) -> bool:
    return len(text) == length and set(text) <= set("0123456789abcdef")


def _read_key(home: Path) -> _MemoryKey:
    path = home / _KEY_NAME
    try:
        return decode_document(read_regular(path), _KEY_FORMAT, path).value
    except (OSError, msgspec.DecodeError, ClioError):
        return _MemoryKey()


class _Seal(NamedTuple):
    """The parts of a seal: a random text, and codes that only this user's key makes of it and of something else.

    Attributes:
        path: the code for the project's path, so that a seal copied into another folder is invalid.
        maker: the code that shows that this user's clio made the seal, wherever that was.
        folders: the code for the project's folder and its `.clio`, wherever they are moved; "" if the file system does
            not tell them from later folders.
    """

    nonce: str = ""
    path: str = ""
    maker: str = ""
    folders: str = ""


def _make_seal(memory_key: _MemoryKey, nonce: str, project: Path) -> _Seal:
    folders = _identify_folders(project)
    return _Seal(
        nonce=nonce,
        path=_sign(memory_key, nonce, str(project)),
        maker=_sign(memory_key, nonce, _MADE_HERE),
        folders=_sign(memory_key, nonce, f"{_FOLDERS}{folders}") if folders else "",
    )


def _sign(memory_key: _MemoryKey, nonce: str, about: str | None) -> str:
    """Return the code that only this key makes; None is for the earliest form, which named no project."""
    signed = nonce if about is None else f"{nonce}\0{about}"
    return hmac.new(memory_key.key.encode(), os.fsencode(signed), "sha256").hexdigest() if memory_key.key else ""


def _identify_folders(project: Path) -> str:
    """Return what tells a project's folder and its `.clio` from all others, wherever they are moved.

    "" if the file system gives a later folder the same number and nothing else.
    """
    found: list[str] = []
    for folder in (project, project / FOLDER_NAME):
        try:
            if not (born := find_birth_mark(folder)):
                return ""
            stat = folder.stat(follow_symlinks=False)
        except OSError:
            return ""
        found.append(f"{stat.st_dev}:{stat.st_ino}:{born}")
    return " ".join(found)


def _read_seal(project: Path) -> _Seal:
    """Return the parts of the project's seal; each "" if there is none, or it is damaged."""
    try:
        text = read_regular(project / FOLDER_NAME / SEAL_NAME, _MAX_SEAL_BYTES).decode("ascii")
    except (OSError, UnicodeDecodeError):
        return _Seal()
    return _parse_seal(text) or _Seal()


def _parse_seal(text: str) -> _Seal | None:
    nonce, *codes = text.strip().split(":")
    if not _is_hexadecimal(nonce.removeprefix(_SESSIONS_SEAL_PREFIX), 32):
        return None
    is_complete = 1 <= len(codes) < len(_Seal._fields) and all(_is_hexadecimal(code, 64) for code in codes)
    return _Seal(nonce, *codes) if is_complete else None


def _is_sealed(project: Path, memory_key: _MemoryKey, home: Path, *, with_sessions: bool = False) -> bool:
    """Whether the project has a valid seal. with_sessions: written by a clio that also records the ids of sessions."""
    seal = _read_seal(project)
    if not memory_key.key or (with_sessions and not seal.nonce.startswith(_SESSIONS_SEAL_PREFIX)):
        return False
    if hmac.compare_digest(seal.path, _sign(memory_key, seal.nonce, str(project))):
        return True
    if seal.folders and hmac.compare_digest(seal.folders, _make_seal(memory_key, seal.nonce, project).folders):
        return True
    if not hmac.compare_digest(seal.path, _sign(memory_key, seal.nonce, None)):
        return False
    return str(project) in (_projects_in_ledger(home) if memory_key.unbound is None else memory_key.unbound)


def _iter_memory_files(folder: Path) -> Iterator[str]:
    """Yield the names in `.clio` that contain memory; lock files and files moved aside contain none."""
    yield from (name for name in _MEMORY_FILES if os.path.lexists(folder / name))
    with suppress(OSError):
        names = [entry.name for entry in os.scandir(folder / _MEMORY_FOLDER)]
        yield from (f"{_MEMORY_FOLDER}/{name}" for name in names if name.endswith((".json", ".md")))


def _projects_in_ledger(home: Path) -> frozenset[str]:
    found: set[str] = set()
    with suppress(OSError):
        # Projects with recorded costs were in use before seals existed, so their memory is the user's.
        for line in read_regular(home / _LEDGER_NAME).splitlines():
            with suppress(msgspec.DecodeError):
                found.add(_ledger_decoder.decode(line).project)
    return frozenset(found)


def _tracks_any(project: Path, names: list[str]) -> bool:
    """Whether git tracks any of these files of `.clio`."""
    if not _is_git_check_needed(project):
        return False
    # One file tracked by git is enough evidence; a long command line could exceed the system's limit.
    paths = (f"{FOLDER_NAME}/{name}" for name in names[:100])
    return bool(run_git(project, "ls-files", "--", *paths, timeout_s=_GIT_TIMEOUT_S))


def _is_git_check_needed(project: Path) -> bool:
    """Whether git has to be asked what it tracks in `.clio`."""
    top = next((folder for folder in (project, *project.parents) if os.path.lexists(folder / ".git")), None)
    return top is not None and not _index_lacks_folder(top / ".git" / "index")


def _index_lacks_folder(index: Path) -> bool:
    """Whether git's index, if it is in a format with full paths, contains no file of `.clio`; saves calling git."""
    try:
        data = read_regular(index)
    except FileNotFoundError:
        return index.parent.is_dir()
    except OSError:
        return False
    # Version 4 of the index compresses paths, so a search for the name would miss it.
    return data[:8] in (b"DIRC\0\0\0\2", b"DIRC\0\0\0\3") and f"{FOLDER_NAME}/".encode() not in data
