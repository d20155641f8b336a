"""What a project's files may decide before the user trusts them, and whether the project's memory is the user's own."""

import hashlib
import hmac
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clio.config.loaded import LoadedConfig, TrustRequest
from clio.config.paths import FOLDER_NAME, project_config
from clio.config.schema import Config, Setting
from clio.errors import ClioError, ConfigError, NewerDocument
from clio.readonly_git import run_git
from clio.storage.documents import DocumentFormat, decode_document, update_document
from clio.storage.files import find_birth_mark, read_regular, write_atomic
from clio.storage.locks import error_reason, suggest_fix
from clio.text.formatting import truncate
from clio.text.json_data import JsonDecoder
from clio.text.lazy_regex import LazyRegex
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
        # Only the seal is proven: whoever has a copy of the folder can have changed the memory beside it.
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


_PASSWORD = LazyRegex(r"(?<=://)[^/@\s]*@")
_SECRET_QUERY = LazyRegex(r"([?&][^=&#]*(?:key|token|secret|password|auth)[^=&#]*=)[^&#]+", re.IGNORECASE)
_MAX_VALUE_CHARS = 200
_MAX_ASKED_CHARS = 20_000


def mask_secrets(name: str, value: str) -> str:
    """Return the text of a setting with secrets masked: of a key at most the last four characters remain."""
    if name == "api_key" and value != "keyring":
        return "…" + value[-4:] if len(value) >= 16 else "…"
    if name.rpartition(".")[2] == "api_key_command":
        return value.split(maxsplit=1)[0] + (" …" if len(value.split()) > 1 else "")
    if name in ("base_url", "embedding_base_url"):
        return _SECRET_QUERY.sub(r"\1…", _PASSWORD.sub("…@", value))
    return value


def format_value(name: str, value: object) -> str:
    """Format a value on one line as YAML does; text is quoted only if necessary."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return str(value)
    return _quote_if_necessary(truncate(mask_secrets(name, value), _MAX_VALUE_CHARS))


def format_asked_value(name: str, value: object) -> str:
    """Format a value on one line for the question whether the user trusts it: the whole value.

    What is left out could be what the user would not have agreed to: the end of a long command, for example.
    """
    if not isinstance(value, str):
        return format_value(name, value)
    return shorten_asked_text(_quote_if_necessary(mask_secrets(name, value)))


def shorten_asked_text(text: str) -> str:
    """Return a text for such a question; one that no one would read to its end says so at its end."""
    if len(text) <= _MAX_ASKED_CHARS:
        return text
    left_out = len(text) - _MAX_ASKED_CHARS
    return text[:_MAX_ASKED_CHARS] + tr(
        "… ({count:,} more characters that are not shown: read the file before you agree)", count=left_out
    )


def _quote_if_necessary(text: str) -> str:
    return text if text.isprintable() and text.strip() == text and text else json.dumps(text)


_CONTROLS_CLIO = mark("controls what clio may do")
_STARTS_PROGRAMS = mark("names programs that clio starts")
_IS_SKILL = mark("belongs to a skill, which later sessions follow")
_IS_AGENT = mark("contains instructions for a sub-agent")
_IS_COMMAND = mark("belongs to a custom command, which may run other commands")

PERMISSION_FILES: Mapping[str, str] = {
    "config.yaml": _CONTROLS_CLIO,
    "config.yml": _CONTROLS_CLIO,
    "mcp.yaml": _STARTS_PROGRAMS,
    "mcp.yml": _STARTS_PROGRAMS,
    "hooks.yaml": _STARTS_PROGRAMS,
}
"""Files directly in `.clio` and in clio's home that need no trust there."""
PERMISSION_PATHS: Mapping[str, str] = {
    **{f"{FOLDER_NAME}/{name}": why for name, why in PERMISSION_FILES.items()},
    ".mcp.json": _STARTS_PROGRAMS,
    f"{FOLDER_NAME}/commands": _IS_COMMAND,
    ".claude/commands": _IS_COMMAND,
    f"{FOLDER_NAME}/agents": _IS_AGENT,
    ".claude/agents": _IS_AGENT,
    f"{FOLDER_NAME}/skills": _IS_SKILL,
    ".claude/skills": _IS_SKILL,
    ".agents/skills": _IS_SKILL,
}
"""Each file, or directory with all its contents, below a project that affects permissions, and why, as the end of a
sentence.
"""
_PERMISSION_PARTS = {tuple(place.split("/")): why for place, why in PERMISSION_PATHS.items()}
_PERMISSION_PARENTS = {parts[:1] for parts in _PERMISSION_PARTS if len(parts) > 1}


def explain_permission_path(parts: Sequence[str]) -> str:
    """Return why a path affects permissions, as the end of a sentence; "" if it does not. Parent directories count too.

    parts: of a path below a project, in lower case. A project may be in any directory of another one.
    """
    for start in range(len(parts)):
        for length in (1, 2):  # the paths in PERMISSION_PATHS have one or two parts
            if why := _PERMISSION_PARTS.get(tuple(parts[start : start + length])):
                return why
    return tr("contains files that control what clio may do") if tuple(parts[-1:]) in _PERMISSION_PARENTS else ""


_MODES_BY_PERMISSION = ("plan", "ask", "edits", "all")  # from most to least restrictive

RuleKind = Literal["waits", "narrows", "user"]
"""Waits for trust; takes effect at once if it restricts, else waits; allowed only in the user's own file."""


class ProjectRule(Struct, frozen=True, kw_only=True):
    """What an untrusted project may do with one setting.

    Args:
        narrower: whether this value permits less than the configuration below; for "narrows" only.
        why: the reason of the decision.
    """

    effect: RuleKind
    why: str
    narrower: Callable[[object, Config], bool] | None = None


def _waits(why: str) -> ProjectRule:
    return ProjectRule(effect="waits", why=why)


def _narrows(why: str, narrower: Callable[[object, Config], bool]) -> ProjectRule:
    return ProjectRule(effect="narrows", why=why, narrower=narrower)


def _user_only(why: str) -> ProjectRule:
    return ProjectRule(effect="user", why=why)


_CHOOSES_SERVER = "decides which server receives the conversation"
_CHANGES_COST = "changes what a turn costs"
_STOPS_WORK = "could stop the user's work early"
_CHOOSES_MEMORY = "decides what is remembered, or which memory is sent"
_CHANGES_SCREEN = "changes what the user sees"
_CHANGES_KEYS = "changes what the user's keys do"
_LIMITS_SHARED_STORE = "limits a store that all projects share"

PROJECT_RULES: Mapping[str, ProjectRule] = {
    "model": _waits(_CHANGES_COST),
    "provider": _waits(_CHOOSES_SERVER),
    "base_url": _waits(_CHOOSES_SERVER),
    "api_key": _waits(_CHOOSES_SERVER),
    "api_key_command": _user_only("runs a command and decides which key is sent"),
    "api_key_command_ttl_s": _user_only("decides how often the user's own command runs"),
    "api": _waits("decides which protocol is used with the server"),
    "effort": _waits("decides how many tokens a request may cost"),
    "cache_ttl": _waits(_CHANGES_COST),
    "transport": _waits("decides which HTTP client is used, and thus how connections are checked"),
    "sync": _user_only("decides when the user's memory is sent"),
    "web_search": _user_only("decides which server the model's queries are sent to"),
    "web_search_url": _user_only("decides which server the model's queries are sent to"),
    "fetch_encodings": _user_only("decides what is downloaded into the home that all projects share"),
    "approve": _narrows(
        "asking more often is more restrictive",
        lambda value, lower: _rank_mode(value) < _rank_mode(lower.approve),
    ),
    "background_approvals": _narrows(
        "refusing is more restrictive than asking", lambda value, lower: value == "refuse"
    ),
    "allow": _waits("lets commands run without approval"),
    "deny": _narrows("blocking another command is more restrictive", lambda value, lower: True),
    "sandbox": _narrows("a sandbox is more restrictive than none", lambda value, lower: lower.sandbox == "off"),
    "sandbox_write": _waits("lets commands write outside of the project"),
    "sandbox_caches": _narrows("read-only caches are more restrictive", lambda value, lower: value is False),
    "confine_unasked": _narrows("confining commands is more restrictive", lambda value, lower: value != "off"),
    "sandbox_network": _narrows("no network access is more restrictive", lambda value, lower: value is False),
    "max_steps": _waits(_STOPS_WORK),
    "max_cost": _waits(_STOPS_WORK),
    "context_window": _waits(_CHANGES_COST),
    "max_output_tokens": _waits(_CHANGES_COST),
    "models": _waits("changes requests to models, and what a turn costs"),
    "fallback": _waits(_CHOOSES_SERVER),
    "fallback_cooldown_s": _waits(_CHANGES_COST),
    "light_model": _waits(_CHOOSES_SERVER),
    "session_titles": _waits(_CHANGES_COST),
    "ltm": _waits(_CHOOSES_MEMORY),
    "instructions": _waits("would also switch off the user's own instructions"),
    "hooks": _waits("would also switch off the user's own hooks"),
    "checks": _waits("runs commands after every edit, or switches off the user's own checks"),
    "language_servers": _waits("runs programs, or switches off the user's own choice of language servers"),
    "plugins": _waits("names plugins for the user to add"),
    "scenario": _waits("decides which of the user's preferences count"),
    "preference_half_life_days": _user_only("weakens preferences that all projects share"),
    "preference_floor": _user_only("weakens preferences that all projects share"),
    "notice": _waits(_CHOOSES_MEMORY),
    "sleep": _waits(_CHOOSES_MEMORY),
    "sleep_idle_s": _waits(_CHOOSES_MEMORY),
    "sleep_use_model": _waits(_CHANGES_COST),
    "embedder": _waits("decides who receives the text that is embedded"),
    "embedding_model": _waits("decides who receives the text that is embedded"),
    "embedding_folder": _waits("names files that clio reads"),
    "embedding_base_url": _waits("decides who receives the text that is embedded"),
    "brain_across_sessions": _waits(_CHOOSES_MEMORY),
    "brain_distance": _waits(_CHOOSES_MEMORY),
    "stop_words": _waits("decides where every answer ends"),
    "incognito": _waits("would keep the user's session and memory from being saved"),
    "redact": _narrows("redacting is more restrictive", lambda value, lower: value is True),
    "redact_patterns": _waits("a pattern that matches everything hides what the user is asked about"),
    "private_network": _narrows(
        "no access to the local network is more restrictive", lambda value, lower: value is False
    ),
    "checkpoints": _waits("without checkpoints, /undo cannot revert a turn"),
    "checkpoint_mb": _user_only(_LIMITS_SHARED_STORE),
    "checkpoint_days": _user_only(_LIMITS_SHARED_STORE),
    "job_days": _user_only(_LIMITS_SHARED_STORE),
    "command_timeout_s": _waits(_STOPS_WORK),
    "editing": _waits(_CHANGES_KEYS),
    "keys": _waits(_CHANGES_KEYS),
    "attribution": _waits("adds text of the project to the user's commits"),
    "color": _waits(_CHANGES_SCREEN),
    "theme": _waits(_CHANGES_SCREEN),
    "language": _waits(_CHANGES_SCREEN),
    "hyperlinks": _waits(_CHANGES_SCREEN),
    "screen_reader": _waits(_CHANGES_SCREEN),
    "reasoning": _waits(_CHANGES_SCREEN),
    "notify": _waits(_CHANGES_SCREEN),
    "notify_after_s": _waits(_CHANGES_SCREEN),
    "notify_command": _user_only("runs a command"),
    "status_line": _user_only("runs a command"),
    "terminal_title": _waits(_CHANGES_SCREEN),
    "telemetry": _user_only("decides who receives data about the user's work"),
    "debug": _waits("prints tracebacks, which show the user's files and values"),
}
"""A rule for every setting of the schema. A new setting needs a rule here; a test reports missing ones."""


def needs_trust(setting: Setting, lower: Config) -> bool:
    """Whether a project's value takes effect only with trust, given the configuration of the layers below.

    A setting without a rule always waits.
    """
    rule = PROJECT_RULES.get(setting.key[0])
    if is_user_only(setting):
        return False
    if _is_unchanged(setting, lower):
        return False
    # A setting without a rule waits: forgetting one must be safe.
    return rule is None or rule.narrower is None or not rule.narrower(setting.value, lower)


def is_user_only(setting: Setting) -> bool:
    """Whether a project's value for this setting is always ignored, trusted or not."""
    if setting.key[0] == "models":
        setting = Setting(key=(setting.key[2],), value=setting.value, origin=setting.origin)
    rule = PROJECT_RULES.get(setting.key[0])
    return rule is not None and rule.effect == "user"


def _is_unchanged(setting: Setting, lower: Config) -> bool:
    if setting.key[0] == "models":
        lower_settings = lower.models.get(setting.key[1])
        return lower_settings is not None and getattr(lower_settings, setting.key[2]) == setting.value
    lower_value: object = getattr(lower, setting.key[0])
    return setting.value in lower_value if isinstance(lower_value, tuple) else setting.value == lower_value


def _rank_mode(mode: object) -> int:
    return _MODES_BY_PERMISSION.index(str(mode))


_SKILLS_KEY_PREFIX = "skills:"
"""Prefix of the keys in `noted` for skills: their value is removed or replaced only when the waiting skills change."""
_SERVER_KEYS = frozenset((("provider",), ("base_url",), ("api_key",), ("model",)))


class TrustDocument(Struct, frozen=True, kw_only=True):
    """For each project's path, the fingerprints of trusted and of declined values.

    noted: the day on which a one-shot run reported what waits for trust, and a fingerprint of it; of today only,
    except for skills, which are reported again when they change.
    """

    projects: dict[str, tuple[str, ...]] = {}
    declined: dict[str, tuple[str, ...]] = {}
    noted: dict[str, str] = {}


TRUST_FORMAT = DocumentFormat(schema="clio.trusted", version=1, type=TrustDocument)


class TrustStore:
    """The user's decisions, stored in `trusted.json` in clio's home directory."""

    def __init__(self, home: Path) -> None:
        self.path = home / "trusted.json"

    def covers(self, project: Path, values: Iterable[TrustRequest]) -> bool:
        """Whether the project is trusted with all of these values."""
        return {value.fingerprint for value in values} <= self.fingerprints(project)

    def fingerprints(self, project: Path) -> frozenset[str]:
        """Return the fingerprints of trusted values; empty if the file is missing, damaged or from a newer clio."""
        return frozenset(self._read().projects.get(str(project), ()))

    def has_declined(self, project: Path, values: Iterable[TrustRequest]) -> bool:
        """Whether the user has declined all of these values before, so that they are not asked about again."""
        return {value.fingerprint for value in values} <= set(self._read().declined.get(str(project), ()))

    def describe_damage(self) -> str | None:
        """Describe what is wrong with the file, in which case no project is trusted; None if it is valid."""
        try:
            decode_document(read_regular(self.path), TRUST_FORMAT, self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return tr("cannot be read: {strerror}", strerror=error.strerror)
        except NewerDocument:
            return tr("is from a newer clio")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return tr("is damaged ({error})", error=error)
        return None

    def grant(self, project: Path, values: Iterable[TrustRequest]) -> None:
        """Trust the project with exactly these values: earlier ones that are not among them are revoked.

        A fingerprint with a kind before a colon always stays, because it does not belong to a configuration value.
        Raises ConfigError if the decision cannot be stored, CorruptDocument or NewerDocument.
        """
        self._store(project, frozenset(value.fingerprint for value in values), keep=False)

    def add(self, project: Path, value: TrustRequest) -> None:
        """Trust the project with one more value. Raises as `grant`."""
        self._store(project, frozenset((value.fingerprint,)), keep=True)

    def add_all(self, project: Path, values: Iterable[TrustRequest]) -> None:
        """Trust the project with these values as well. Raises as `grant`."""
        self._store(project, frozenset(value.fingerprint for value in values), keep=True)

    def decline(self, project: Path, values: Iterable[TrustRequest]) -> None:
        """Remember that the user declined these values. Raises as `grant`."""
        fingerprints = tuple(sorted(value.fingerprint for value in values))
        self._update(lambda old: replace(old, declined=old.declined | {str(project): fingerprints}))

    def note_once_a_day(self, project: Path, values: Iterable[TrustRequest], today: str) -> bool:
        """Whether to report now that these values wait: not if the same was reported today. Records the report.

        If that cannot be recorded, it is reported every time.
        """
        digest = hashlib.sha256("\n".join(sorted(value.fingerprint for value in values)).encode()).hexdigest()
        entry = f"{today} {digest}"
        if self._read().noted.get(str(project)) == entry:
            return False

        def change(old: TrustDocument) -> TrustDocument:
            remaining = {
                key: value
                for key, value in old.noted.items()
                if key.startswith(_SKILLS_KEY_PREFIX) or value.startswith(f"{today} ")
            }
            return replace(old, noted=remaining | {str(project): entry})

        if self.describe_damage() is None:
            with suppress(ClioError, TimeoutError):
                self._update(change)
        return True

    def note_skills_once(self, project: Path, values: Iterable[TrustRequest]) -> bool:
        """Whether to report that these skills wait for trust: not if the same was reported before. Records the report.

        If that cannot be recorded, it is reported every time.
        """
        key = f"{_SKILLS_KEY_PREFIX}{project}"
        digest = hashlib.sha256("\n".join(sorted(value.fingerprint for value in values)).encode()).hexdigest()
        if self._read().noted.get(key) == digest:
            return False
        if self.describe_damage() is None:
            with suppress(ClioError, TimeoutError):
                self._update(lambda old: replace(old, noted=old.noted | {key: digest}))
        return True

    def _store(self, project: Path, granted: frozenset[str], *, keep: bool) -> None:
        def change(old: TrustDocument) -> TrustDocument:
            before = frozenset(old.projects.get(str(project), ()))
            # Marks with a kind, such as "skill:…", are decided one by one and not with the settings.
            remaining = before if keep else {fingerprint for fingerprint in before if ":" in fingerprint}
            return replace(old, projects=old.projects | {str(project): tuple(sorted(remaining | granted))})

        self._update(change)

    def _read(self) -> TrustDocument:
        try:
            return decode_document(read_regular(self.path), TRUST_FORMAT, self.path).value
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, NewerDocument):
            return TrustDocument()

    def _update(self, change: Callable[[TrustDocument], TrustDocument]) -> None:
        try:
            update_document(self.path, TRUST_FORMAT, change)
        except OSError as error:
            raise ConfigError(
                tr(
                    "the trust decision cannot be saved in {path}: {error_reason}; {suggest_fix}",
                    path=self.path,
                    error_reason=error_reason(error),
                    suggest_fix=suggest_fix(error),
                )
            ) from None


def find_trust_requests(settings: Iterable[Setting], lower: Config) -> tuple[tuple[Setting, TrustRequest], ...]:
    """Return those settings of a project's file that need trust, given the configuration of the layers below.

    A server, its key and its model belong together: if one of them waits, all of the file's wait.
    """
    listed = tuple(settings)
    waiting = [setting for setting in listed if needs_trust(setting, lower)]
    if any(setting.key in _SERVER_KEYS for setting in waiting):
        # A key must not be sent to another server than the one it was given with.
        waiting += [setting for setting in listed if setting.key in _SERVER_KEYS and setting not in waiting]
    return tuple((setting, make_setting_trust_request(setting)) for setting in waiting)


def make_setting_trust_request(setting: Setting) -> TrustRequest:
    """Return the setting in the form in which the user is asked to trust it."""
    return TrustRequest(
        key=setting.name,
        value=format_asked_value(setting.name, setting.value),
        where=setting.origin,
        fingerprint=hashlib.sha256(json.dumps([setting.name, setting.value]).encode("ascii")).hexdigest(),
    )


def trust_project(loaded: LoadedConfig) -> None:
    """Trust the project with everything its file requests now. Takes effect with the next `load_config`.

    Raises as `TrustStore.grant`.
    """
    TrustStore(loaded.home).grant(loaded.main_project, (*loaded.trusted, *loaded.withheld))
    if any(value.key == PROJECT_MEMORY_KEY for value in loaded.withheld):
        accept_sessions(loaded.main_project, loaded.home)


def should_ask_for_trust(loaded: LoadedConfig) -> bool:
    """Whether an interactive user should be asked to trust the project: something waits that was not declined."""
    return bool(loaded.withheld) and not TrustStore(loaded.home).has_declined(loaded.main_project, loaded.withheld)


def is_trust_note_due(loaded: LoadedConfig) -> bool:
    """Whether a run that cannot ask reports what waits for trust: once a day, and whenever something else waits."""
    if loaded.config.incognito:
        return True
    return TrustStore(loaded.home).note_once_a_day(loaded.main_project, loaded.withheld, time.strftime("%Y-%m-%d"))


def decline_project(loaded: LoadedConfig) -> None:
    """Remember that the user declined; the question returns only if the file requests something else. Raises as
    `grant`.
    """
    TrustStore(loaded.home).decline(loaded.main_project, loaded.withheld)


def store_allow_rule(loaded: LoadedConfig, rule: str) -> None:
    """Store an "always" answer in the project's file and trust it; other untrusted values stay untrusted.

    Raises ConfigError if the file cannot be changed.
    """
    from clio.config.yaml_edit import store_rule

    store_rule(project_config(loaded.main_project), rule)
    TrustStore(loaded.home).add(
        loaded.main_project, make_setting_trust_request(Setting(key=("allow",), value=rule, origin=""))
    )
