"""What is remembered: whether each file can be read, what was set aside as damaged, the locks, and what /undo keeps.

Nothing is opened as memory opens it, which would set a damaged file aside: the bytes are read and understood, no more.
"""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from clio.checkpoints.store_limits import measure_usage
from clio.config.own_memory import describe_key_damage
from clio.config.project_links import is_shared, is_trusted, shared_folder
from clio.entrypoints.doctor.finding import Finding, Ground, fix, note, ok, several
from clio.errors import NewerDocument, StorageError
from clio.memory.control.hoards import hoards_of
from clio.memory.control.places import Places
from clio.memory.ltm.file import decode_ltm, refuse_newer
from clio.memory.team.share import Sharing
from clio.memory.typed.files import FORMAT as MEMORIES
from clio.storage.documents import decode, describe_damage
from clio.storage.files import read_regular
from clio.storage.jsonl import is_torn_line, split_lines
from clio.storage.locks import holder, knows_locks, reason
from clio.text.json_data import decode_json
from clio.tools.files.text_file import size_text

_MAX_NAMED = 5
_LONG_HELD_S = 3600.0
_NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError)


def check_memory(ground: Ground) -> Iterator[Finding]:
    """Whether every file of memory can be read; those that cannot are named."""
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
            if damaged <= _MAX_NAMED:
                yield fix("memory", f"{ground.shown(path)} {wrong}", _todo(wrong))
    if damaged > _MAX_NAMED:
        yield fix("memory", f"{several(damaged - _MAX_NAMED, 'more file')} cannot be read", "look at those named first")
    if not damaged:
        size = sum(path.lstat().st_size for path in files if path.exists())
        yield ok(
            "memory",
            f"{several(len(files), 'file')}, {size_text(size)}, all can be read" if files else "nothing kept yet",
        )


def check_team(ground: Ground) -> Iterator[Finding]:
    """What of the shared knowledge is left out, or not seen by git; nothing where none is shared and trusted."""
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
        named = ", ".join(repr(problem.path) for problem in status.problems[:_MAX_NAMED])
        left_out = (
            f"{several(len(status.problems), 'file')} left out ({named})"
            if named
            else "git does not see what it should"
        )
        yield note("team memory", left_out, "look with: clio memory share status")
    else:
        yield ok("team memory", f"{len(status.shared)} shared in .clio/ltm/")


def check_undo(ground: Ground) -> Iterator[Finding]:
    """What /undo keeps of all projects; nothing where it keeps nothing."""
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
    """Who has something locked. What a process that ended left behind locks nothing."""
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
            continue  # not there, or not to be read: another line says so
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
