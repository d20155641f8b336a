"""What a wipe would delete: so many of what, and how large it is."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from clio.errors import NewerDocument, StorageError
from clio.memory.control.hoards import Hoard
from clio.memory.control.places import Places
from clio.memory.ltm.archive import LtmArchive
from clio.memory.ltm.store import open_store
from clio.memory.notes import Notes
from clio.memory.sleep.state import SleepState, read_state
from clio.memory.typed.files import MemoryFiles
from clio.memory.typed.shelf import Shelf
from clio.memory.vectors.documents import DOCUMENTS
from clio.storage.documents import load
from clio.storage.jsonl import read_lines


class Doomed(Struct, frozen=True, kw_only=True):
    """One part of what would go. records: how many, None where that says nothing, or nobody can tell."""

    hoard: Hoard
    files: int
    bytes: int
    records: int | None = None


def survey(places: Places, hoards: tuple[Hoard, ...]) -> tuple[Doomed, ...]:
    """What there is of these, without what there is nothing of.

    Raises NewerDocument where a later clio wrote a file: it may keep things where this one does not look.
    """
    found: list[Doomed] = []
    for hoard in hoards:
        records = _count(places, hoard)
        files = hoard.files()
        if files and not _is_what_a_wipe_leaves(hoard, files, records):
            sizes = (path.lstat().st_size for path in files if path.exists())
            found.append(Doomed(hoard=hoard, files=len(files), bytes=sum(sizes), records=records))
    return tuple(found)


def _is_what_a_wipe_leaves(hoard: Hoard, files: Sequence[Path], records: int | None) -> bool:
    """Whether the files say nothing but that something was wiped."""
    names = [path.name for path in files]
    if hoard.kind == "memories":
        return records == 0 and names == ["memories.json"]
    if hoard.kind == "nights" and names == ["sleep.json"]:
        state, _ = read_state(files[0])
        return state == SleepState(sessions=state.sessions)
    return False


def _count(places: Places, hoard: Hoard) -> int | None:
    try:
        return _records(places, hoard)
    except NewerDocument:
        raise
    except (StorageError, OSError, ValueError):
        return None  # damaged: it goes all the same


def _records(places: Places, hoard: Hoard) -> int | None:
    match hoard.kind:
        case "memories":
            shelf = Shelf()
            files = MemoryFiles(hoard.folder / "memories.json", shelf)
            files.catch_up()
            return len(shelf.records) + _lines(files.archive.name, hoard)
        case "knowledge":
            archive = LtmArchive(places.knowledge_archive).read()
            known = open_store(places.knowledge, project=places.project, home=places.home).read()
            return len(known.all()) + len(archive)
        case "notes":
            return len(Notes(places.notes).newest_first())
        case "documents":
            document = load(places.documents, DOCUMENTS)
            return len(document.value.sources) if document else 0
        case "ratings":
            return _lines("trajectories.jsonl", hoard) + _lines("trajectories.archive.jsonl", hoard)
        case "undo":
            return _lines("memory.undo.jsonl", hoard)
        case _:
            return None


def _lines(name: str, hoard: Hoard) -> int:
    return len(read_lines(hoard.folder / name).lines)
