"""Whether the memory in a project's `.clio` was written by this user's clio, or came with the project.

An archive or a repository can bring `.clio/ltm.json` and its like. What they say is the repository's statement until
the user trusts the folder. clio knows its own by a seal: a file in `.clio` with a code that only the key in clio's
home can have made, for this folder's path. Copied to another folder the seal says nothing, so the memory of a project
that was moved or copied is asked about once. The seal does not cover files that git tracks, for a pull changes those.

Sessions are known by their ids: clio notes the id of each session it begins or imports in its home. A session whose id
is not there, or of which git tracks a file, came with the project. Those of a project sealed before ids were noted
count as the user's own, once, when the seal is renewed.

Projects that were in use before there were seals are known from the record of costs, once, when the key is made;
those sealed before seals named their folder, once, when the key is next used to seal.
"""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.config.loaded import Widening
from clio.config.paths import FOLDER_NAME
from clio.errors import ClioError, NewerDocument
from clio.git_looking import answer
from clio.storage.documents import Format, decode, update
from clio.storage.files import read_regular, write_atomic
from clio.storage.locks import reason
from clio.text.json_data import JsonDecoder

KEY = "project memory"
SEAL_NAME = "written-here"
_KEY_NAME = "memory_key.json"
_LEDGER_NAME = "costs.jsonl"
_FILES = ("ltm.json", "memories.json", "memories.journal.jsonl")
_FOLDER = "memory"
_SESSIONS = "sessions"
_SESSIONS_NAME = "own_sessions.txt"
_WITH_SESSIONS = "s-"
_ID = re.compile(r"[0-9A-Za-z_-]{1,100}")
_FINGERPRINT = hashlib.sha256(b'["project memory"]').hexdigest()
_MAX_SEAL_BYTES = 1_000
_GIT_TIMEOUT_S = 5


class _Key(Struct, frozen=True, kw_only=True):
    """key: in hexadecimal; "" before it is made. former: projects that were in use before there were seals.

    unbound: projects in use while seals named no folder, whose seals of that form count; None before they are noted.
    """

    key: str = ""
    former: tuple[str, ...] = ()
    unbound: tuple[str, ...] | None = None


class _Spent(Struct):
    project: str = ""


_KEY_FORMAT = Format(schema="clio.memory-key", version=1, type=_Key)
_spent: JsonDecoder[_Spent] = JsonDecoder(_Spent)


def memory_widening(damage: str | None = None) -> Widening:
    """What is asked before the memory of a project counts as the user's own. damage: see `describe_seal_damage`."""
    return Widening(
        key=KEY,
        value="whose memory this is cannot be told" if damage else "what was remembered came with this folder",
        where=f"{FOLDER_NAME}/",
        fingerprint=_FINGERPRINT,
    )


def came_with_project(project: Path, home: Path) -> bool:
    """Whether there is memory in the project that this user's clio did not write. Writes nothing."""
    names = list(_memory_files(project / FOLDER_NAME))
    if not names or project / FOLDER_NAME == home.resolve():
        return False
    known = _read_key(home)
    former = known.former if known.key else _projects_in_ledger(home)
    if not _is_sealed(project, known, home) and str(project) not in former:
        return True
    return _tracks_any(project, names)


def seal_memory(project: Path, home: Path) -> None:
    """Note that this user's clio writes this project's memory. What cannot be written is asked about the next time."""
    folder = project / FOLDER_NAME
    with suppress(OSError, ClioError):
        known = make_key(home)
        nonce, code = _read_seal(project)
        is_sealed = nonce.startswith(_WITH_SESSIONS) and hmac.compare_digest(code, _code(known, nonce, project))
        if folder.is_dir() and not is_sealed:
            record_sessions(home, earlier_sessions(project, home))
            nonce = _WITH_SESSIONS + secrets.token_hex(16)
            write_atomic(folder / SEAL_NAME, f"{nonce}:{_code(known, nonce, project)}\n".encode(), durable=False)


def earlier_sessions(project: Path, home: Path) -> frozenset[str]:
    """The sessions of a project that was this user's before clio recorded ids; none where that was done already."""
    known = _read_key(home)
    if _is_sealed(project, known, home, with_sessions=True):
        return frozenset()
    if not _is_sealed(project, known, home):
        former = known.former if known.key else _projects_in_ledger(home)
        if str(project) not in former or os.path.lexists(project / FOLDER_NAME / SEAL_NAME):
            return frozenset()
    with suppress(OSError):
        found = (entry.name.partition(".")[0] for entry in os.scandir(project / FOLDER_NAME / _SESSIONS))
        return frozenset(filter(_ID.fullmatch, found)) - tracked_sessions(project)
    return frozenset()


def accept_sessions(project: Path, home: Path) -> None:
    """Count the sessions that are in a project as the user's own, for a user who trusts its memory. Raises OSError."""
    with suppress(FileNotFoundError):
        found = (entry.name.partition(".")[0] for entry in os.scandir(project / FOLDER_NAME / _SESSIONS))
        record_sessions(home, frozenset(filter(_ID.fullmatch, found)) - tracked_sessions(project))


def recorded_sessions(home: Path) -> frozenset[str]:
    """The ids of all sessions that this user's clio wrote."""
    with suppress(OSError):
        return frozenset(read_regular(home / _SESSIONS_NAME).decode("ascii", "replace").split())
    return frozenset()


def record_sessions(home: Path, ids: Collection[str]) -> None:
    """Note that this user's clio wrote these sessions. Raises OSError."""
    if not ids:
        return
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(home / _SESSIONS_NAME, flags, 0o600), "ab") as file:
        file.write("".join(f"{id}\n" for id in sorted(ids)).encode("ascii"))


def tracked_sessions(project: Path) -> frozenset[str]:
    """The ids of the sessions of which git tracks any file: a pull changes those."""
    if not _may_track(project):
        return frozenset()
    listed = answer(project, "ls-files", "-z", "--", f"{FOLDER_NAME}/{_SESSIONS}", timeout_s=_GIT_TIMEOUT_S) or ""
    inside = (path.partition(f"{FOLDER_NAME}/{_SESSIONS}/")[2] for path in listed.split("\0"))
    return frozenset(path.partition("/")[0].partition(".")[0].lower() for path in inside if path)


def make_key(home: Path) -> _Key:
    """The key of this home, made where there is none, with the projects in use until now. Raises OSError, ClioError."""
    known = _read_key(home)
    if known.key and known.unbound is not None:
        return known
    used = tuple(sorted(_projects_in_ledger(home)))

    def complete(old: _Key) -> _Key:
        if not old.key:
            return _Key(key=secrets.token_hex(32), former=used, unbound=())
        return old if old.unbound is not None else _Key(key=old.key, former=old.former, unbound=used)

    return update(home / _KEY_NAME, _KEY_FORMAT, complete)


def describe_seal_damage(project: Path, home: Path) -> str | None:
    """Why clio cannot tell whether it wrote the project's memory itself; None where it can.

    A clause that names the damaged file: the key in clio's home, or the project's seal.
    """
    if damage := describe_key_damage(home):
        return damage
    seal = project / FOLDER_NAME / SEAL_NAME
    try:
        text = read_regular(seal, _MAX_SEAL_BYTES).decode("ascii").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{str(seal)!r} cannot be read: {reason(error)}"
    except UnicodeDecodeError:
        return f"{str(seal)!r} is damaged"
    nonce, colon, code = text.partition(":")
    if not (colon and _is_hexadecimal(nonce.removeprefix(_WITH_SESSIONS), 32) and _is_hexadecimal(code, 64)):
        return f"{str(seal)!r} is damaged"
    copies = sorted(path.name for path in home.glob(f"{_KEY_NAME}.corrupt-*"))
    if copies and not _is_sealed(project, _read_key(home), home):
        return f"{str(home / _KEY_NAME)!r} was damaged and set aside as {copies[-1]!r}, and a new key was made"
    return None


def describe_key_damage(home: Path) -> str | None:
    """What is wrong with the file of the key; None where nothing is."""
    path = home / _KEY_NAME
    try:
        known = decode(read_regular(path), _KEY_FORMAT, path).value
    except FileNotFoundError:
        return f"{str(path)!r} is a link that leads nowhere" if path.is_symlink() else None
    except OSError as error:
        return f"{str(path)!r} cannot be read: {reason(error)}"
    except NewerDocument:
        return f"{str(path)!r} is from a newer clio"
    except (msgspec.DecodeError, ClioError):
        return f"{str(path)!r} is damaged"
    return None if known.key else f"{str(path)!r} is damaged: it holds no key"


def _is_hexadecimal(text: str, length: int) -> bool:
    return len(text) == length and set(text) <= set("0123456789abcdef")


def _read_key(home: Path) -> _Key:
    path = home / _KEY_NAME
    try:
        return decode(read_regular(path), _KEY_FORMAT, path).value
    except (OSError, msgspec.DecodeError, ClioError):
        return _Key()


def _code(known: _Key, nonce: str, project: Path | None) -> str:
    """The code of a seal for a project; None: of the earlier form, which named none."""
    sealed = nonce if project is None else f"{nonce}\0{project}"
    return hmac.new(known.key.encode(), os.fsencode(sealed), "sha256").hexdigest() if known.key else ""


def _read_seal(project: Path) -> tuple[str, str]:
    """The nonce and the code of the project's seal; both "" where there is none to read."""
    try:
        text = read_regular(project / FOLDER_NAME / SEAL_NAME, _MAX_SEAL_BYTES).decode("ascii")
    except (OSError, UnicodeDecodeError):
        return "", ""
    nonce, _, code = text.strip().partition(":")
    return nonce, code


def _is_sealed(project: Path, known: _Key, home: Path, *, with_sessions: bool = False) -> bool:
    """with_sessions: by a clio that records the ids of sessions too."""
    nonce, code = _read_seal(project)
    if not known.key or (with_sessions and not nonce.startswith(_WITH_SESSIONS)):
        return False
    if hmac.compare_digest(code, _code(known, nonce, project)):
        return True
    if not hmac.compare_digest(code, _code(known, nonce, None)):
        return False
    return str(project) in (_projects_in_ledger(home) if known.unbound is None else known.unbound)


def _memory_files(folder: Path) -> Iterator[str]:
    """The names in `.clio` that hold something remembered; locks and what was set aside hold nothing."""
    yield from (name for name in _FILES if os.path.lexists(folder / name))
    with suppress(OSError):
        names = [entry.name for entry in os.scandir(folder / _FOLDER)]
        yield from (f"{_FOLDER}/{name}" for name in names if name.endswith((".json", ".md")))


def _projects_in_ledger(home: Path) -> frozenset[str]:
    found: set[str] = set()
    with suppress(OSError):
        for line in read_regular(home / _LEDGER_NAME).splitlines():
            with suppress(msgspec.DecodeError):
                found.add(_spent.decode(line).project)
    return frozenset(found)


def _tracks_any(project: Path, names: list[str]) -> bool:
    """Whether git tracks any of these files of `.clio`."""
    if not _may_track(project):
        return False
    asked = (f"{FOLDER_NAME}/{name}" for name in names[:100])
    return bool(answer(project, "ls-files", "--", *asked, timeout_s=_GIT_TIMEOUT_S))


def _may_track(project: Path) -> bool:
    """Whether git has to be asked what it tracks in `.clio`."""
    top = next((folder for folder in (project, *project.parents) if os.path.lexists(folder / ".git")), None)
    return top is not None and not _index_lacks_folder(top / ".git" / "index")


def _index_lacks_folder(index: Path) -> bool:
    """Whether git's index, in a form that has every path as it is, names no file in `.clio`; spares asking git."""
    try:
        data = read_regular(index)
    except FileNotFoundError:
        return index.parent.is_dir()
    except OSError:
        return False
    return data[:8] in (b"DIRC\0\0\0\2", b"DIRC\0\0\0\3") and f"{FOLDER_NAME}/".encode() not in data
