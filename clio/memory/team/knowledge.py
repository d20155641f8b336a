"""Combine the shared memories with those of `ltm.json` in one document, and write its changes back to both.

`ltm.mine.json` contains this user's own fields of the shared memories, such as count and confidence. It is outside the
shared folder and not in git: fields that change with each use would be a conflict in every merge.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from clio.config.project_links import SHARED_NAME, is_team_trusted
from clio.memory.store.change_log import End
from clio.memory.store.ltm_codec import (
    SHAPES,
    Json,
    LtmDocument,
    SharedEntry,
    SharedMemory,
    get_confirmed_at,
    get_identity,
    get_times,
    to_fraction,
)
from clio.memory.store.record import Kind
from clio.memory.team.folder import (
    MAX_NAMED,
    Files,
    Statement,
    TeamFolder,
    copy_shared_entry,
    find_valid_memories,
    format_month,
    get_git_author,
    get_own_fields,
    get_shared_fields,
    make_statement,
)
from clio.storage.documents import Document, DocumentFormat, encode_document, load_document
from clio.storage.files import write_atomic
from clio.text.scoring import DAY_S


class Own(Struct, frozen=True, kw_only=True):
    """The user's own fields by statement name, as far as they differ from the statement; null for a missing field."""

    entries: dict[str, Json] = {}


FORMAT = DocumentFormat(schema="clio.ltm_mine", version=1, type=Own)


def read_own(path: Path) -> Own:
    """Return the user's own fields. Raises CorruptDocument after moving the file aside, NewerDocument, OSError."""
    document = load_document(path, FORMAT)
    return document.value if document else Own()


def write_own(path: Path, entries: dict[str, Json]) -> None:
    """Replace the user's own fields. Raises what `read_own` raises."""
    before = load_document(path, FORMAT) or Document(value=Own())
    if entries != before.value.entries:
        write_atomic(path, encode_document(Document(value=Own(entries=entries), unknown=before.unknown), FORMAT))


def apply_own_fields(raw: Json, living: SharedMemory, own: Own) -> None:
    """Set the user's own fields of a memory; from versions it replaced, only the count and the last confirmation."""
    kind = living.kind
    for name in living.names:
        for field, value in own.entries.get(name, {}).items():
            if field not in get_own_fields(kind):
                continue
            if value is None:
                raw.pop(field, None)
            elif field != "updated" or not isinstance(value, int | float) or value > get_confirmed_at(raw):
                raw[field] = value
    count = SHAPES[kind].count
    for name in living.replaces:
        former = own.entries.get(name, {})
        if count in former:
            raw[count] = max(get_times(kind, raw), get_times(kind, former))
        if get_confirmed_at(former) > get_confirmed_at(raw):
            raw["updated"] = get_confirmed_at(former)


def apply_private_copy(raw: Json, living: SharedMemory, copy: Json, own: Own) -> None:
    """Set the own fields of a memory from a copy in `ltm.json`, unless `ltm.mine.json` has them.

    Such a copy remains if the process was killed while sharing was turned on.
    """
    if not any(name in own.entries for name in living.names):
        fields = get_own_fields(living.kind) - {"updated"}
        raw.update({name: value for name, value in copy.items() if name in fields})
        if get_confirmed_at(copy) > get_confirmed_at(raw):
            raw["updated"] = get_confirmed_at(copy)


def find_own_fields(kind: Kind, raw: Mapping[str, Any], shared: Mapping[str, Any]) -> Json:
    """Return the own fields of a memory that differ from what all members read."""
    fields = get_own_fields(kind)
    found = {name: value for name, value in raw.items() if name in fields and value != shared.get(name)}
    return found | {name: None for name in fields if name in shared and name not in raw}


TIDY_DAYS = 180.0
"""Age from which empty files are deleted. By then they are empty in every branch that is still in use."""
MAX_OWN = 20_000
"""Maximum number of statements with own fields; the oldest are dropped first."""


class TeamKnowledge:
    """The shared memories that belong to one `ltm.json`. Methods raise CorruptDocument, NewerDocument, OSError.

    Args:
        path: the path of `ltm.json`.
        project: the project folder, whose git configuration names the author and which must be trusted.
        home: the folder that stores which projects are trusted; with None the shared folder is not used.
    """

    def __init__(self, path: Path, project: Path, home: Path | None, clock: Callable[[], float]) -> None:
        self.folder = TeamFolder(path.with_name(SHARED_NAME), path.with_name("cache") / "ltm.team")
        self.own_path = path.with_name("ltm.mine.json")
        self.project = project
        self.home = home
        self._clock = clock
        self._known: tuple[Files | None, list[SharedMemory]] = (None, [])

    @property
    def in_use(self) -> bool:
        """Whether there is a shared folder and the user trusts it."""
        return self.home is not None and self.folder.exists() and is_team_trusted(self.project, self.home)

    def put_into(self, document: LtmDocument) -> None:
        """Add the valid shared memories to a document read from `ltm.json`, before its own of the same kind.

        A memory in `ltm.json` with the same text is taken for the same one. That happens if the process was killed
        while sharing was turned on.
        """
        found, now = self._living(), self._clock()
        document.shares = True
        own = read_own(self.own_path) if found else Own()
        copies = _remove_private_copies(document, found)
        document.private = {id(raw): raw for kind in SHAPES for raw in document.section(kind)}
        sections: dict[Kind, list[Json]] = {kind: [] for kind in SHAPES}
        for memory in found:
            raw = copy_shared_entry(memory, now)
            apply_own_fields(raw, memory, own)
            raw_before = msgspec.json.encode(raw)
            if copies and (copy := copies.get(memory.handle)) is not None:
                apply_private_copy(raw, memory, copy, own)
            sections[memory.kind].append(raw)
            document.shared[id(raw)] = SharedEntry(memory=memory, raw=raw, raw_before=raw_before)
        for kind, raws in sections.items():
            document.section(kind)[:0] = raws

    def write(self, document: LtmDocument, now: float, ended: Mapping[str, End], *, stated: bool = False) -> None:
        """Write the changes of a document to the folder by adding and emptying files.

        If that fails, the files written so far are deleted.

        Args:
            ended: by handle, how a memory ended.
            stated: the user set the confidence explicitly, so that the change is for all members.
        """
        there: dict[int, tuple[Kind, Json]] = {id(raw): (kind, raw) for kind, raw in document.all()}
        files = self.folder.read()
        taken = files.forgotten | files.emptied
        # Fields of statements that do not exist here are kept: they may exist in another branch.
        own = dict(read_own(self.own_path).entries)
        gone = [one.memory for key, one in document.shared.items() if key not in there]
        changed = [one for key, one in document.shared.items() if key in there and one.is_changed]
        restated = [one for one in changed if _needs_statement(one, stated=stated)]
        restated += _find_merge_sides(document, there, [*gone, *(one.memory for one in restated)])
        confirmations: list[tuple[str, str]] = []
        for shared in (one for one in changed if one not in restated):
            raw, base, name = shared.raw, copy_shared_entry(shared.memory, now), shared.memory.names[0]
            own.pop(name, None)
            if mine := find_own_fields(shared.memory.kind, raw, base):
                own[name] = mine
            month = format_month(get_confirmed_at(raw))
            if get_confirmed_at(raw) > get_confirmed_at(shared.before) and month > max(
                files.months.get(name, ""), format_month(get_confirmed_at(base))
            ):
                confirmations.append((name, month))
        made: list[tuple[Statement, bytes]] = []
        new: list[tuple[Kind, Json, SharedMemory | None]] = []
        new.extend((one.memory.kind, one.raw, one.memory) for one in restated)
        new += [(*one, None) for key, one in there.items() if not (key in document.shared or key in document.private)]
        for kind, raw, former in new:
            made.append(self._statement(kind, raw, now, former, taken))
            own[made[-1][0].name] = find_own_fields(kind, raw, _read_as_others(made[-1][0], now))
        # New files before the old ones are emptied: a killed process leaves a duplicate, not a loss.
        self._write_statements(made)
        ends = ((one, ended.get(one.handle)) for one in gone if not one.rivals)
        forgotten = [one for one, end in ends if end and end.because == "forgotten"]
        self.folder.forget(name for one in forgotten for name in one.origins)
        for one in (*gone, *(shared.memory for shared in restated)):
            for name in one.names:
                self.folder.empty(one.kind, name)
                own.pop(name, None)
        for name, month in confirmations:
            self.folder.confirm(name, month)
        if made or gone:
            self.folder.sync_to_disk()
        write_own(self.own_path, dict(list(own.items())[-MAX_OWN:]))

    def tidy(self, days: float = TIDY_DAYS) -> int:
        """Delete files that have been empty for so many days; return their number. Requires the lock of `ltm.json`."""
        # The real clock, not `self._clock`: it is compared with modification times of the file system.
        return self.folder.tidy(time.time() - days * DAY_S)

    def is_mine(self, by: str) -> bool:
        """Whether an author's name is this user's."""
        return by == get_git_author(self.project)

    def _living(self) -> list[SharedMemory]:
        """Return the valid shared memories. Computed only after a file changed."""
        files = self.folder.read()
        if files is not self._known[0]:
            self._known = (files, find_valid_memories(files.statements, files.forgotten, files.months))
        return self._known[1]

    def _statement(
        self, kind: Kind, raw: Json, now: float, former: SharedMemory | None, taken: frozenset[str]
    ) -> tuple[Statement, bytes]:
        """Return a new statement of a memory, with a name that no replaced or forgotten statement has."""
        entry = {name: value for name, value in raw.items() if name not in ("by", "confirmations")}
        if "provenance" in entry:
            entry.pop("provenance")
            entry |= {"provenance": source} if (source := get_shared_fields(kind, raw).get("provenance")) else {}
        stated = raw.get("by")
        by = stated if isinstance(stated, str) and stated and former is None else get_git_author(self.project)
        replaces = (*former.names, *former.replaces)[:MAX_NAMED] if former else ()
        origins, said = former.origins if former else (), now
        while True:
            new = make_statement(kind, entry, by=by, said=said, replaces=replaces, origins=origins)
            if new[0].name not in taken:
                return new
            # Another time gives another hash, and so another name.
            said = round(said + 0.001, 3)

    def _write_statements(self, made: list[tuple[Statement, bytes]]) -> None:
        written: list[Path] = []
        try:
            for statement, data in made:
                written.append(self.folder.put(statement.kind, statement.name, data, durable=len(made) < 20))
        except BaseException:
            for path in written:
                with suppress(OSError):  # the first error is the one to report
                    path.unlink()
            raise


def _find_merge_sides(
    document: LtmDocument, there: Mapping[int, object], ending: list[SharedMemory]
) -> list[SharedEntry]:
    """Return memories that share a file with one that ends, because it contains both sides of a merge conflict.

    The file will be emptied, so they need a new one.
    """
    names = {name for memory in ending for name in memory.names}
    handles = {memory.handle for memory in ending}
    return [
        shared
        for key, shared in document.shared.items()
        if key in there and shared.memory.handle not in handles and not names.isdisjoint(shared.memory.names)
    ]


def _needs_statement(shared: SharedEntry, *, stated: bool) -> bool:
    """Whether a change concerns all members: another text, less confidence, or a confidence that the user set."""
    kind, raw, was = shared.memory.kind, shared.raw, shared.before
    if get_shared_fields(kind, raw) != get_shared_fields(kind, was):
        return True
    unstated = SHAPES[kind].unstated
    now, before = to_fraction(raw.get("confidence"), unstated), to_fraction(was.get("confidence"), unstated)
    return now < before or (stated and now != before)


def _remove_private_copies(document: LtmDocument, found: list[SharedMemory]) -> dict[str, Json]:
    """Remove memories from the document of `ltm.json` that are also shared; return them by their shared handle."""
    copies: dict[str, Json] = {}
    if not (private := document.all()):
        return copies
    shared = {(one.kind, *one.words): one for one in found}
    for kind, raw in private:
        twin = shared.get((kind, *get_identity(kind, raw)))
        if twin is not None and _is_same_text(kind, msgspec.json.decode(twin.entry), raw):
            copies[twin.handle] = raw
    if copies:
        gone = {id(raw) for raw in copies.values()}
        for kind in SHAPES:
            section = document.section(kind)
            section[:] = [raw for raw in section if id(raw) not in gone]
    return copies


def _is_same_text(kind: Kind, one: Json, other: Json) -> bool:
    said, again = get_shared_fields(kind, one), get_shared_fields(kind, other)
    return {**said, "id": ""} == {**again, "id": ""}


def _read_as_others(statement: Statement, now: float) -> Json:
    """Return the JSON object of a statement as all members read it."""
    again = msgspec.structs.replace(statement, replaces=(), origins=())
    return copy_shared_entry(find_valid_memories([again], frozenset(), {})[0], now)
