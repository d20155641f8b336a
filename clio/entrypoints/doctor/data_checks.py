"""The checks of `clio doctor` on clio's own files: whether they can be read and written, and their size."""

import os
import re
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from clio.checkpoints.store_limits import measure_usage
from clio.commands.subcommands import GcRequest
from clio.config.memory_seal import describe_key_damage
from clio.config.project_links import has_shared_memory, is_team_trusted, team_memory_folder
from clio.entrypoints.disk_usage import measure_disk_usage
from clio.entrypoints.doctor.findings import MAX_NAMED, DoctorContext, Finding, make_note, make_ok, make_problem
from clio.errors import NewerDocument, StorageError
from clio.memory.portability.memory_files import MemoryPaths, list_file_sets
from clio.memory.store.ltm_codec import decode_ltm
from clio.memory.store.typed_store import FORMAT as MEMORIES
from clio.memory.team.share import Sharing
from clio.memory.transcripts.database import VERSION
from clio.memory.transcripts.index import FILE
from clio.memory.transcripts.session_search import SessionFolder
from clio.sessions.listing import list_file_names, list_sessions
from clio.storage.documents import decode_document, describe_damage
from clio.storage.files import read_beginning, read_regular
from clio.storage.jsonl import is_truncated_line, split_lines
from clio.storage.locks import error_reason, find_lock_owner, supports_locks
from clio.text.formatting import format_bytes
from clio.text.json_data import decode_json
from clio.text.translation import english, tr, tr_count

VERY_LOW_DISK_BYTES, LOW_DISK_BYTES = 100_000_000, 1_000_000_000
"""Free space below which a disk is reported as a problem, or as a note."""
MUCH_BYTES, MANY_UNFINISHED = 100_000_000, 1_000
"""Above one of these, what `clio gc` could free is reported as a note; the second counts unfinished writes."""
_FEW_FILES = 1_000  # fewer free inodes than this are reported as a full disk
_READ_BYTES = 1_000_000
_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# Matches a literal value, not a reference to a variable.
# The setting `keys` names keys of the keyboard.
_SECRET = re.compile(
    rb"(?i)(?<![\w-])(?!keys[\"']?\s*:)[\w-]*(key|token|secret|passw\w*|authorization|credential)[\w-]*[\"']?\s*[:=]\s*[\"']?(?!\$)[^\s\"'#]{8}"
)


def check_home(context: DoctorContext) -> Iterator[Finding]:
    """Whether clio's own folder, or the one it will be created in, can be written."""
    if context.loaded.config.incognito:
        yield make_ok("home", tr("{shown}, not written to in incognito mode", shown=context.display(context.home)))
        return
    yield _is_writable("home", context.home, context, tr("make it writable for you, or set CLIO_HOME"))
    if context.home.is_dir() and _read_mode(context.home) & _OTHERS_WRITE:
        shown = context.display(context.home)
        yield make_problem(
            "home",
            tr("other users can write to {shown} and so control what clio runs", shown=shown),
            tr("chmod go-w {shown}", shown=shown),
        )


def check_project(context: DoctorContext) -> Iterator[Finding]:
    """Whether the project's sessions and memory can be stored."""
    if context.loaded.config.incognito:
        yield make_ok("project", tr("{owner}, not written to in incognito mode", owner=context.owner))
    else:
        yield _is_writable(
            "project", context.owner / ".clio", context, tr("make it writable for you, or use --incognito")
        )


def check_secrets(context: DoctorContext) -> Iterator[Finding]:
    """Whether other users can read a file that contains a key."""
    own = [context.home / name for name in ("config.yaml", "mcp.yaml", "hooks.yaml")]
    theirs = [context.owner / ".clio" / name for name in ("config.yaml", "mcp.yaml")]
    files = [*own, *theirs, context.owner / ".mcp.json"]
    files_with_keys = [path for path in dict.fromkeys(files) if path.is_file() and _SECRET.search(_read_head(path))]
    open_to_others = [path for path in files_with_keys if _read_mode(path) & _OTHERS_READ] if os.name != "nt" else []
    for path in open_to_others:
        yield make_problem(
            "keys",
            tr("{shown} contains an API key and other users can read it", shown=context.display(path)),
            tr("chmod 600 {shown}", shown=context.display(path)),
        )
    if not open_to_others:
        yield make_ok(
            "keys",
            tr("in {files}, which only you can read", files=tr_count(len(files_with_keys), "file"))
            if files_with_keys
            else tr("no API keys in clio's files"),
        )


def check_disk(context: DoctorContext) -> Iterator[Finding]:
    """Report how much space is left where clio writes."""
    seen: set[int] = set()
    for name, folder in (("home", context.home), ("project", context.owner)):
        existing = _find_nearest_folder(folder)
        if (device := existing.stat().st_dev) in seen:
            continue
        seen.add(device)
        free = shutil.disk_usage(existing).free
        text = tr(
            "{bytes} free for {shown}",
            bytes=format_bytes(free),
            shown=context.display(folder) if name == "home" else tr("the project"),
        )
        files_left = _count_free_files(existing)
        if free < VERY_LOW_DISK_BYTES or files_left < _FEW_FILES:
            text += (
                tr(", and room for {files_left:,.0f} more files", files_left=files_left)
                if free >= VERY_LOW_DISK_BYTES
                else ""
            )
            yield make_problem("disk", text, tr("free some space, or sessions cannot be saved"))
        elif free < LOW_DISK_BYTES:
            yield make_note("disk", text, tr("free some space soon"))
        else:
            yield make_ok("disk", text)


def check_space(context: DoctorContext) -> Iterator[Finding]:
    """Report how much `clio gc` could free in clio's directories."""
    usages = measure_disk_usage(context.loaded, GcRequest())
    waste = sum(usage.removable_bytes for usage in usages)
    unfinished = sum(len(usage.removable) for usage in usages if usage.kind == "unfinished writes")
    left = (
        tr(
            ", with {unfinished_writes} from killed processes",
            unfinished_writes=tr_count(unfinished, "unfinished write"),
        )
        if unfinished
        else ""
    )
    if waste > MUCH_BYTES or unfinished > MANY_UNFINISHED:
        yield make_note(
            "space", tr("{bytes} can be freed{left}", bytes=format_bytes(waste), left=left), tr("free it with: clio gc")
        )
    else:
        removable = (
            tr("{bytes} can be freed{left}", bytes=format_bytes(waste), left=left)
            if waste
            else tr("nothing to clean up")
        )
        size = format_bytes(sum(usage.bytes for usage in usages))
        yield make_ok(
            "space",
            tr("{size} in clio's folders, {removable}", size=size, removable=removable)
            if usages
            else tr("nothing stored yet"),
        )


def _is_writable(about: str, folder: Path, context: DoctorContext, todo: str) -> Finding:
    shown = context.display(folder)
    existing = _find_nearest_folder(folder)
    if not existing.is_dir():
        return make_problem(
            about,
            tr("{shown} cannot be written: {shown2} is not a folder", shown=shown, shown2=context.display(existing)),
            todo,
        )
    if not os.access(existing, os.W_OK | os.X_OK):
        return make_problem(
            about, tr("{shown} cannot be written: no permission, or mounted read-only", shown=shown), todo
        )
    return make_ok(
        about,
        tr("{shown} can be written", shown=shown) + ("" if existing == folder else tr("; it is created when needed")),
    )


def _find_nearest_folder(folder: Path) -> Path:
    """The folder, or its nearest existing parent."""
    return next(path for path in (folder, *folder.parents) if os.path.lexists(path))


def _count_free_files(folder: Path) -> float:
    """How many more files the file system can hold; infinite where it has no such limit."""
    if not hasattr(os, "statvfs"):
        return float("inf")
    status = os.statvfs(folder)
    return status.f_favail if status.f_files else float("inf")


def _read_head(path: Path) -> bytes:
    try:
        return read_beginning(path, _READ_BYTES)
    except OSError:
        return b""  # the check of the configuration reports it


def _read_mode(path: Path) -> int:
    return path.stat().st_mode


def check_sessions(context: DoctorContext) -> Iterator[Finding]:
    """How many sessions there are, and which cannot be read."""
    folder = context.owner / ".clio" / "sessions"
    infos = list_sessions(folder)
    unread = [info.id for info in infos if not info.messages and not info.created_at]
    if unread:
        names = ", ".join(unread[:MAX_NAMED]) + (" …" if len(unread) > MAX_NAMED else "")
        yield make_problem("sessions", tr("{count} cannot be read: {names}", count=len(unread), names=names),
                  tr("restore a backup, or run clio sessions delete ID"))  # fmt: skip
    damaged = [name for name in list_file_names(folder) if ".corrupt-" in name]
    if damaged:
        names = ", ".join(damaged[:MAX_NAMED]) + (" …" if len(damaged) > MAX_NAMED else "")
        yield make_note(
            "sessions",
            tr("{files} renamed as damaged ({names})", files=tr_count(len(damaged), "file"), names=names),
            tr("see {shown}", shown=context.display(folder)),
        )
    running = sum(1 for info in infos if info.running)
    more = tr(", {running} open now", running=running) if running else ""
    yield make_ok(
        "sessions",
        tr("{count:,} of this project{more}", count=len(infos), more=more) if infos else tr("none yet in this project"),
    )


def check_index(context: DoctorContext) -> Iterator[Finding]:
    """Whether the search index can be used, and how many sessions it lacks; it updates by itself."""
    path = context.owner / ".clio" / "cache" / FILE
    if not path.is_file():
        yield make_ok("index", tr("none yet; it is created when earlier sessions are first searched"))
        return
    import sqlite3

    try:
        stamps = _read_stamps(path)
    except sqlite3.Error as error:
        yield make_note(
            "index",
            tr("{shown} cannot be used ({error})", shown=context.display(path), error=error),
            tr("nothing to do, it is rebuilt when needed"),
        )
        return
    if stamps is None:
        yield make_note("index", tr("another version of clio wrote it"), tr("nothing to do, it is rebuilt when needed"))
        return
    watched = SessionFolder(context.owner / ".clio" / "sessions")
    watched.scan()
    behind = sum(1 for id, stamp in watched.stamps.items() if id not in stamps or not stamp.matches(stamps[id]))
    state = (
        tr("{sessions} behind, updated at the next search", sessions=tr_count(behind, "session"))
        if behind
        else tr("up to date")
    )
    yield make_ok("index", f"{tr_count(len(stamps), 'session')}, {format_bytes(path.stat().st_size)}, {state}")


def _read_stamps(path: Path) -> dict[str, str] | None:
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


def check_memory(context: DoctorContext) -> Iterator[Finding]:
    """Whether every memory file can be read; those that cannot are named."""
    places = MemoryPaths(project=context.owner, home=context.home)
    file_sets = [
        file_set for file_set in list_file_sets(places, ("project", "user", "styles")) if file_set.kind != "cache"
    ]
    files = sorted({path for file_set in file_sets for path in file_set.files()})
    damaged = 0
    if problem := describe_key_damage(context.home):
        yield make_problem(
            "memory",
            tr("{problem}; with it, clio recognizes memory that it wrote itself", problem=problem),
            tr("in your own projects, run clio config trust"),
        )
    for path in files:
        if ".corrupt-" in path.name:
            yield make_note(
                "memory",
                tr("{shown} was renamed as damaged", shown=context.display(path)),
                tr("copy what you need from it, then delete it"),
            )
        elif wrong := _describe_file_damage(path):
            damaged += 1
            if damaged <= _MAX_NAMED_FILES:
                yield make_problem("memory", f"{context.display(path)} {wrong}", _suggest_file_fix(wrong))
    if damaged > _MAX_NAMED_FILES:
        yield make_problem(
            "memory",
            tr("{more_files} cannot be read", more_files=tr_count(damaged - _MAX_NAMED_FILES, "more file")),
            tr("repair the files named above first"),
        )
    if not damaged:
        size = sum(path.lstat().st_size for path in files if path.exists())
        yield make_ok(
            "memory",
            tr("{files}, {bytes}, all can be read", files=tr_count(len(files), "file"), bytes=format_bytes(size))
            if files
            else tr("nothing stored yet"),
        )


def check_team(context: DoctorContext) -> Iterator[Finding]:
    """Report shared memory files that are left out, or ignored by git; nothing if memory is not shared and trusted."""
    project = context.owner
    if context.loaded.config.incognito or not (
        has_shared_memory(team_memory_folder(project)) and is_team_trusted(project, context.home)
    ):
        return
    sharing = Sharing(project / ".clio" / "ltm.json", project=project, home=context.home, clock=time.time, redact=str)
    try:
        status = sharing.status()
    except (StorageError, OSError) as error:
        yield make_problem(tr("team memory"), str(error), tr("see clio memory share status"))
        return
    if status.problems or status.rule:
        named = ", ".join(repr(problem.path) for problem in status.problems[:_MAX_NAMED_FILES])
        left_out = (
            tr("{files} left out ({named})", files=tr_count(len(status.problems), "file"), named=named)
            if named
            else tr("git ignores files that should be shared")
        )
        yield make_note(tr("team memory"), left_out, tr("see clio memory share status"))
    else:
        yield make_ok(tr("team memory"), tr("{count} shared in .clio/ltm/", count=len(status.shared)))


def check_undo(context: DoctorContext) -> Iterator[Finding]:
    """Report the checkpoints of all projects for /undo; nothing if there are none."""
    store = context.home / "checkpoints"
    if not store.is_dir():
        return
    try:
        stamps = measure_usage(store)
    except OSError as error:
        yield make_note(
            "undo",
            tr("{shown} cannot be read: {strerror}", shown=context.display(store), strerror=error.strerror),
            tr("make it readable for you"),
        )
        return
    turns = tr(
        "{turns} of {projects}", turns=tr_count(stamps.turns, "turn"), projects=tr_count(stamps.projects, "project")
    )
    yield make_ok(
        "undo",
        tr("{turns}, {bytes} in {shown}", turns=turns, bytes=format_bytes(stamps.bytes), shown=context.display(store)),
    )


def check_locks(context: DoctorContext) -> Iterator[Finding]:
    """Report which locks are held, and by whom. A lock file left by a process that has exited locks nothing."""
    folder = context.owner / ".clio"
    held, left = 0, 0
    for path in _list_lock_files((folder, folder / "sessions", folder / "cache", context.home)):
        owner = find_lock_owner(path)
        if owner is None:
            left += 1
            continue
        held += 1
        age_s = time.time() - owner.timestamp
        if path.parent.name != "sessions" and owner.pid and age_s > _LONG_HELD_S:
            hours = tr("{age_s:.0f} hours", age_s=age_s / 3600)
            yield make_note(
                "locks",
                tr(
                    "{shown} has been held by process {pid} for {hours}",
                    shown=context.display(path),
                    pid=owner.pid,
                    hours=hours,
                ),
                tr("end that process if it hangs"),
            )
    for place in (folder, context.home):
        if place.is_dir() and not supports_locks(place):
            text = tr(
                "the file system of {shown} has no locks, so nothing is learned there", shown=context.display(place)
            )
            yield make_note("locks", text, tr("move it to a disk that supports them"))
    behind = tr(", {left} from processes that have exited (harmless)", left=left) if left else ""
    yield make_ok("locks", tr("{held} in use{behind}", held=held, behind=behind))


def _list_lock_files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in dict.fromkeys(folders):
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries if entry.name.endswith(".lock"))
        except OSError:
            continue  # missing or unreadable: another check reports it
        yield from (folder / name for name in names)


def _describe_file_damage(path: Path) -> str:
    """Return what prevents clio from reading the file, as the end of a sentence; "" if nothing does."""
    try:
        data = read_regular(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return tr("cannot be read: {error_reason}", error_reason=error_reason(error))
    try:
        if path.name == "ltm.json":
            decode_ltm(data).refuse_newer(str(path))
        elif path.name == "memories.json":
            decode_document(data, MEMORIES, path)
        elif path.suffix == ".json":
            decode_json(data)
        elif path.suffix == ".jsonl":
            split = split_lines(data)
            for line in split.lines:
                decode_json(line)
            if split.truncated and not is_truncated_line(split.truncated):
                return tr("is damaged (its end is not valid JSON)")
    except NewerDocument:
        return tr("is from a newer clio")
    except _NO_JSON as error:
        return tr("is damaged ({damage})", damage=describe_damage(str(error)))
    return ""


def _suggest_file_fix(wrong: str) -> str:
    wrong = english(wrong)
    if wrong.endswith("not a file"):
        return tr("remove it")
    if "too large to read" in wrong:
        return tr("move it away")
    if wrong.startswith("cannot"):
        return tr("make it readable for you")
    if wrong.startswith("is from"):
        return tr("update clio")
    return tr("restore a backup; otherwise clio renames it when it next needs it")
