"""Checks of clio's data: configuration and trust, sessions, memory, tokeniser files."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from clio.checkpoints.store_limits import measure_usage
from clio.commands.custom_commands import CustomCommands
from clio.commands.pending_trust import list_waiting_for_trust
from clio.config.own_memory import describe_key_damage
from clio.config.paths import display, user_home
from clio.config.project_links import is_shared, is_trusted, shared_folder
from clio.config.show import start_notes
from clio.config.trust import Trust
from clio.context.encoding_fetch import fetch_encoding
from clio.context.encodings import ENCODINGS, O200K, Encoding, encoding_folders, find_encoding, is_intact
from clio.entrypoints.doctor.finding import Finding, Ground, fix, note, ok, several
from clio.errors import NewerDocument, ServerFailed, StorageError
from clio.memory.control.hoards import hoards_of
from clio.memory.control.places import Places
from clio.memory.ltm.file import decode_ltm, refuse_newer
from clio.memory.recall.cache_file import FILE
from clio.memory.recall.database import VERSION
from clio.memory.recall.stamps import SessionFolder
from clio.memory.team.share import Sharing
from clio.memory.typed.files import FORMAT as MEMORIES
from clio.sessions.listing import file_names, list_sessions
from clio.skills.shelf import SkillShelf
from clio.storage.documents import decode, describe_damage
from clio.storage.files import read_regular
from clio.storage.jsonl import is_torn_line, split_lines
from clio.storage.locks import holder, knows_locks, reason
from clio.subagents.definitions import DefinitionFolders
from clio.text.json_data import decode_json
from clio.tools.files.text_file import size_text

_MAX_NAMED = 3


def check_files(ground: Ground) -> Iterator[Finding]:
    """Which configuration files were read; reading them has succeeded by then."""
    files = ", ".join(ground.shown(path) for path in ground.loaded.files)
    yield ok("configuration", files or "no files, so everything is as it comes")


def check_trust(ground: Ground) -> Iterator[Finding]:
    """Which settings of the project are not trusted yet."""
    loaded = ground.loaded
    trust = Trust(ground.home)
    if wrong := trust.damage():
        yield fix("trust", f"{ground.shown(trust.path)} {wrong}, so no project is trusted with anything",
                  "put a copy back, or trust each anew: clio config trust, clio memory share on")  # fmt: skip
    for sentence in start_notes(loaded):
        yield note("trust", sentence)
    waiting = list_waiting_for_trust(loaded, ground.env)
    if waiting:
        names = ", ".join(value.key for value in waiting[:_MAX_NAMED])
        more = f" and {len(waiting) - _MAX_NAMED} more" if len(waiting) > _MAX_NAMED else ""
        yield note("trust", f"the project's {names}{more} wait for it", "look at them, then: clio config trust")
    if not loaded.withheld and not waiting:
        trusted = len(loaded.trusted)
        yield ok("trust", f"{several(trusted, 'value')} of the project's in force because you said so" if trusted
                 else "the project asks for nothing that needs it")  # fmt: skip


def check_added(ground: Ground) -> Iterator[Finding]:
    """How many MCP servers, skills, commands, sub-agents and hooks there are; none is started."""
    loaded = ground.loaded
    found = SkillShelf(ground.owner, ground.home, ground.env).find()
    commands = CustomCommands(ground.owner, ground.home, ground.env)
    agents, agent_problems = DefinitionFolders(ground.owner, ground.home, ground.env).find()
    enabled = sum(1 for server in loaded.servers if server.enabled)
    off = len(loaded.servers) - enabled
    counts = (
        several(enabled, "MCP server") + (f" ({off} switched off)" if off else ""),
        several(len(found.skills), "skill"),
        several(len(commands()), "own command"),
        several(len(agents), "sub-agent"),
        several(len(loaded.hooks), "hook"),
    )
    for problem in (*loaded.server_problems, *found.problems, *commands.problems(), *agent_problems):
        yield note("extensions", problem)
    yield ok("extensions", ", ".join(counts))


def check_sessions(ground: Ground) -> Iterator[Finding]:
    """How many sessions there are, and which cannot be read."""
    folder = ground.owner / ".clio" / "sessions"
    infos = list_sessions(folder)
    unread = [info.id for info in infos if not info.messages and not info.created_at]
    if unread:
        names = ", ".join(unread[:_MAX_NAMED]) + (" …" if len(unread) > _MAX_NAMED else "")
        yield fix("sessions", f"{len(unread)} cannot be read: {names}",
                  "put a copy back, or: clio sessions delete ID")  # fmt: skip
    aside = [name for name in file_names(folder) if ".corrupt-" in name]
    if aside:
        names = ", ".join(aside[:_MAX_NAMED]) + (" …" if len(aside) > _MAX_NAMED else "")
        yield note("sessions", f"{several(len(aside), 'file')} set aside as damaged ({names})",
                   f"look at them in {ground.shown(folder)}")  # fmt: skip
    running = sum(1 for info in infos if info.running)
    more = f", {running} open now" if running else ""
    yield ok("sessions", f"{len(infos):,} of this project{more}" if infos else "none yet in this project")


def check_index(ground: Ground) -> Iterator[Finding]:
    """Whether the search index can be used, and how many sessions it lacks; it updates by itself."""
    path = ground.owner / ".clio" / "cache" / FILE
    if not path.is_file():
        yield ok("index", "none yet; it is made when earlier sessions are first searched")
        return
    import sqlite3

    try:
        kept = _kept(path)
    except sqlite3.Error as error:
        yield note("index", f"{ground.shown(path)} cannot be used ({error})", "nothing, it is made anew when needed")
        return
    if kept is None:
        yield note("index", "it is of another version of clio", "nothing, it is made anew when needed")
        return
    watched = SessionFolder(ground.owner / ".clio" / "sessions")
    watched.look()
    behind = sum(1 for id, stamp in watched.stamps.items() if id not in kept or not stamp.same_as(kept[id]))
    state = f"{several(behind, 'session')} behind, caught up with at the next search" if behind else "up to date"
    yield ok("index", f"{several(len(kept), 'session')}, {size_text(path.stat().st_size)}, {state}")


def _kept(path: Path) -> dict[str, str] | None:
    """The stamp of each session in the index; None for an index of another version. Raises sqlite3.Error.

    Opened as immutable, so that no lock is taken.
    """
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            return None
        return {str(name): str(stamp) for name, stamp in connection.execute("SELECT name, stamp FROM sessions")}


_MAX_NAMED_FILES = 5
_LONG_HELD_S = 3600.0
_NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError)


def check_memory(ground: Ground) -> Iterator[Finding]:
    """Whether every memory file can be read; those that cannot are named."""
    places = Places(project=ground.owner, home=ground.home)
    hoards = [hoard for hoard in hoards_of(places, ("project", "user", "styles")) if hoard.kind != "cache"]
    files = sorted({path for hoard in hoards for path in hoard.files()})
    damaged = 0
    if problem := describe_key_damage(ground.home):
        yield fix("memory", f"{problem}, by which clio knows the memory it wrote itself",
                  "in projects of your own run: clio config trust")  # fmt: skip
    for path in files:
        if ".corrupt-" in path.name:
            yield note(
                "memory", f"{ground.shown(path)} was set aside as damaged", "take out what you need, then delete it"
            )
        elif wrong := _what_is_wrong(path):
            damaged += 1
            if damaged <= _MAX_NAMED_FILES:
                yield fix("memory", f"{ground.shown(path)} {wrong}", _todo(wrong))
    if damaged > _MAX_NAMED_FILES:
        yield fix(
            "memory", f"{several(damaged - _MAX_NAMED_FILES, 'more file')} cannot be read", "look at those named first"
        )
    if not damaged:
        size = sum(path.lstat().st_size for path in files if path.exists())
        yield ok(
            "memory",
            f"{several(len(files), 'file')}, {size_text(size)}, all can be read" if files else "nothing kept yet",
        )


def check_team(ground: Ground) -> Iterator[Finding]:
    """Shared memory files that are left out, or ignored by git; nothing where memory is not shared and trusted."""
    project = ground.owner
    if ground.loaded.config.incognito or not (is_shared(shared_folder(project)) and is_trusted(project, ground.home)):
        return
    sharing = Sharing(project / ".clio" / "ltm.json", project=project, home=ground.home, clock=time.time, clean=str)
    try:
        status = sharing.status()
    except (StorageError, OSError) as error:
        yield fix("team memory", str(error), "look with: clio memory share status")
        return
    if status.problems or status.rule:
        named = ", ".join(repr(problem.path) for problem in status.problems[:_MAX_NAMED_FILES])
        left_out = (
            f"{several(len(status.problems), 'file')} left out ({named})"
            if named
            else "git does not see what it should"
        )
        yield note("team memory", left_out, "look with: clio memory share status")
    else:
        yield ok("team memory", f"{len(status.shared)} shared in .clio/ltm/")


def check_undo(ground: Ground) -> Iterator[Finding]:
    """The checkpoints of all projects for /undo; nothing where there are none."""
    store = ground.home / "checkpoints"
    if not store.is_dir():
        return
    try:
        kept = measure_usage(store)
    except OSError as error:
        yield note("undo", f"{ground.shown(store)} cannot be read: {error.strerror}", "make it yours")
        return
    turns = f"{several(kept.turns, 'turn')} of {several(kept.projects, 'project')}"
    yield ok("undo", f"{turns}, {size_text(kept.bytes)} in {ground.shown(store)}")


def check_locks(ground: Ground) -> Iterator[Finding]:
    """Which locks are held, and by whom. A lock file left by a process that ended locks nothing."""
    folder = ground.owner / ".clio"
    held, left = 0, 0
    for path in _locks((folder, folder / "sessions", folder / "cache", ground.home)):
        owner = holder(path)
        if owner is None:
            left += 1
            continue
        held += 1
        age_s = time.time() - owner.timestamp
        if path.parent.name != "sessions" and owner.pid and age_s > _LONG_HELD_S:
            hours = f"{age_s / 3600:.0f} hours"
            yield note("locks", f"{ground.shown(path)} has been held by process {owner.pid} for {hours}",
                       "end that process if it hangs")  # fmt: skip
    for place in (folder, ground.home):
        if place.is_dir() and not knows_locks(place):
            yield note("locks", f"the file system of {ground.shown(place)} has none, so nothing is learned there",
                       "move it to a disk that has them")  # fmt: skip
    behind = f", {left} left behind by processes that ended, which lock nothing" if left else ""
    yield ok("locks", f"{held} held{behind}")


def _locks(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in dict.fromkeys(folders):
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries if entry.name.endswith(".lock"))
        except OSError:
            continue  # missing or unreadable: another check reports it
        yield from (folder / name for name in names)


def _what_is_wrong(path: Path) -> str:
    """What keeps clio from reading the file, as the end of a sentence; "" where nothing does."""
    try:
        data = read_regular(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot be read: {reason(error)}"
    try:
        if path.name == "ltm.json":
            refuse_newer(decode_ltm(data), str(path))
        elif path.name == "memories.json":
            decode(data, MEMORIES, path)
        elif path.suffix == ".json":
            decode_json(data)
        elif path.suffix == ".jsonl":
            split = split_lines(data)
            for line in split.lines:
                decode_json(line)
            if split.torn and not is_torn_line(split.torn):
                return "is damaged (its end is not valid JSON)"
    except NewerDocument:
        return "is from a newer clio"
    except _NO_JSON as error:
        return f"is damaged ({describe_damage(str(error))})"
    return ""


def _todo(wrong: str) -> str:
    if wrong.endswith("not a file"):
        return "remove it"
    if "too large to read" in wrong:
        return "move it away"
    if wrong.startswith("cannot"):
        return "make it yours"
    if wrong.startswith("is from"):
        return "update clio"
    return "put a copy back, or let clio set it aside when it next needs it"


_FETCH = "clio doctor --fetch-encodings"


def check_encodings(ground: Ground) -> Iterator[Finding]:
    """Which token encodings are on disk. Changes nothing."""
    return _look(ground.home, ground.env, {})


def fetch_encodings(ground: Ground) -> Iterator[Finding]:
    """Check the encodings after downloading the one clio needs, if it is missing."""
    folders = encoding_folders(ground.env, ground.home)
    path = find_encoding(O200K, folders)
    if path is not None and _is_whole(path, O200K):
        return _look(ground.home, ground.env, {})
    try:
        fetched = fetch_encoding(O200K, ground.home)
    except (ServerFailed, OSError) as error:
        wrong, _, todo = str(error).partition("; ")
        return iter([fix("encodings", wrong, todo or f"try again: {_FETCH}")])
    return _look(ground.home, ground.env, {O200K.name: fetched})


def _look(home: Path, env: Mapping[str, str], fetched: Mapping[str, Path]) -> Iterator[Finding]:
    folders = encoding_folders(env, home)
    there = {encoding: path for encoding in ENCODINGS if (path := find_encoding(encoding, folders))}
    whole = {encoding.name: path for encoding, path in there.items() if _is_whole(path, encoding)} | dict(fetched)
    for encoding, path in there.items():
        if encoding.name not in whole:
            yield note(
                "encodings", f"{str(path)!r} is damaged or not readable, and not used", f"remove it, or: {_FETCH}"
            )
    if whole:
        shown = (f"{name} in {display(path.parent, project=None, user_home=user_home(env))}"
                 for name, path in whole.items())  # fmt: skip
        yield ok("encodings", ", ".join(shown))
    elif not there:
        yield note(
            "encodings",
            "none on disk, so tokens are guessed at first and learned from what is billed",
            f"to count them exactly: {_FETCH}",
        )


def _is_whole(path: Path, encoding: Encoding) -> bool:
    try:
        return is_intact(path, encoding)
    except OSError:
        return False
