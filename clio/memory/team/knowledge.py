"""Shared and private knowledge as one document: how the folder's entries get into it, and how changes get back.

`ltm.mine.json` holds what is this user's own of the shared entries, such as how often they said one, and how surely. It
lies beside the folder, out of git: what changes with each use would be a conflict in each merge.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from clio.config.project_links import SHARED_NAME, is_team_trusted
from clio.memory.store.ltm_codec import LtmDocument, Shared
from clio.memory.store.ltm_merge import confirmed
from clio.memory.store.ltm_objects import SHAPES, Json, identity, share, times_of
from clio.memory.store.record import Because, Kind
from clio.memory.team.folder import Files, TeamFolder
from clio.memory.team.statement import (
    MAX_NAMED,
    Living,
    Statement,
    author,
    living,
    make,
    month_of,
    own_fields,
    words_of,
)
from clio.storage.documents import Document, DocumentFormat, encode_document, load_document
from clio.storage.files import write_atomic
from clio.text.scoring import DAY_S


class Own(Struct, frozen=True, kw_only=True):
    """By the name of a statement, the fields that are other than it says; null: it is not there."""

    entries: dict[str, Json] = {}


FORMAT = DocumentFormat(schema="clio.ltm_mine", version=1, type=Own)


def read_own(path: Path) -> Own:
    """What is this person's own. Raises CorruptDocument after setting the file aside, NewerDocument, OSError."""
    document = load_document(path, FORMAT)
    return document.value if document else Own()


def write_own(path: Path, entries: dict[str, Json]) -> None:
    """Replace it. Raises as `read_own`."""
    before = load_document(path, FORMAT) or Document(value=Own())
    if entries != before.value.entries:
        write_atomic(path, encode_document(Document(value=Own(entries=entries), unknown=before.unknown), FORMAT))


def put_on(raw: Json, living: Living, own: Own) -> None:
    """Give an entry what is the person's own of it; of words that were changed since, only how often and when."""
    kind = living.kind
    for name in living.names:
        for field, value in own.entries.get(name, {}).items():
            if field not in own_fields(kind):
                continue
            if value is None:
                raw.pop(field, None)
            elif field != "updated" or not isinstance(value, int | float) or value > confirmed(raw):
                raw[field] = value
    count = SHAPES[kind].count
    for name in living.replaces:
        former = own.entries.get(name, {})
        if count in former:
            raw[count] = max(times_of(kind, raw), times_of(kind, former))
        if confirmed(former) > confirmed(raw):
            raw["updated"] = confirmed(former)


def put_double_on(raw: Json, living: Living, double: Json, own: Own) -> None:
    """Give an entry what the file still had of it, where a conversion was cut short before that was noted."""
    if not any(name in own.entries for name in living.names):
        fields = own_fields(living.kind) - {"updated"}
        raw.update({name: value for name, value in double.items() if name in fields})
        if confirmed(double) > confirmed(raw):
            raw["updated"] = confirmed(double)


def own_of(kind: Kind, raw: Mapping[str, Any], shared: Mapping[str, Any]) -> Json:
    """What of an entry is other than everybody reads it."""
    fields = own_fields(kind)
    found = {name: value for name, value in raw.items() if name in fields and value != shared.get(name)}
    return found | {name: None for name in fields if name in shared and name not in raw}


TIDY_DAYS = 180.0
"""What was empty here for so long is empty in every branch somebody still works on."""
MAX_OWN = 20_000
"""So many entries a person has something of their own about, at most; the oldest are forgotten first."""


class TeamKnowledge:
    """The shared knowledge beside one `ltm.json`.

    path: that file. project: whose git names the author, and whose trust counts.
    home: where trust is kept; None: nobody is trusted, and the folder is left alone.
    Methods raise CorruptDocument, NewerDocument, OSError.
    """

    def __init__(self, path: Path, project: Path, home: Path | None, clock: Callable[[], float]) -> None:
        self.folder = TeamFolder(path.with_name(SHARED_NAME), path.with_name("cache") / "ltm.team")
        self.own_path = path.with_name("ltm.mine.json")
        self.project = project
        self.home = home
        self._clock = clock
        self._known: tuple[Files | None, list[Living]] = (None, [])

    @property
    def in_use(self) -> bool:
        """Whether there is shared knowledge, and the person trusts it."""
        return self.home is not None and self.folder.exists() and is_team_trusted(self.project, self.home)

    def put_into(self, document: LtmDocument) -> None:
        """Add the entries that live to a document read from `ltm.json`; they stand before its own of their kinds.

        What is there in the same words is taken for the same entry, as after a conversion that was cut short.
        """
        found, now = self._living(), self._clock()
        document.shares = True
        own = read_own(self.own_path) if found else Own()
        doubles = _take_doubles(document, found)
        document.private = {id(raw): raw for kind in SHAPES for raw in document.section(kind)}
        sections: dict[Kind, list[Json]] = {kind: [] for kind in SHAPES}
        for one in found:
            raw = one.raw(now)
            put_on(raw, one, own)
            was = msgspec.json.encode(raw)
            if doubles and (double := doubles.get(one.handle)) is not None:
                put_double_on(raw, one, double, own)
            sections[one.kind].append(raw)
            document.shared[id(raw)] = Shared(living=one, raw=raw, was=was)
        for kind, raws in sections.items():
            document.section(kind)[:0] = raws

    def write(self, document: LtmDocument, now: float, why: Mapping[str, Because], *, stated: bool = False) -> None:
        """Bring the folder to what the document says: new files, and emptied ones. Nothing else is touched.

        why: of the handles that leave. stated: how sure somebody is was said on purpose, so it is for all.
        Where this fails, what was written is taken back.
        """
        there: dict[int, tuple[Kind, Json]] = {id(raw): (kind, raw) for kind, raw in document.all()}
        files = self.folder.read()
        taken = files.forgotten | files.emptied
        own = dict(read_own(self.own_path).entries)  # also of what is not there: it comes back with another branch
        gone = [one.living for key, one in document.shared.items() if key not in there]
        changed = [one for key, one in document.shared.items() if key in there and one.is_changed]
        anew = [one for one in changed if _says_anew(one, stated=stated)]
        anew += _other_sides(document, there, [*gone, *(one.living for one in anew)])
        confirmations: list[tuple[str, str]] = []
        for shared in (one for one in changed if one not in anew):
            raw, base, name = shared.raw, shared.living.raw(now), shared.living.names[0]
            own.pop(name, None)
            if mine := own_of(shared.living.kind, raw, base):
                own[name] = mine
            month = month_of(confirmed(raw))
            if confirmed(raw) > confirmed(shared.before) and month > max(
                files.months.get(name, ""), month_of(confirmed(base))
            ):
                confirmations.append((name, month))
        made: list[tuple[Statement, bytes]] = []
        new: list[tuple[Kind, Json, Living | None]] = []
        new.extend((one.living.kind, one.raw, one.living) for one in anew)
        new += [(*one, None) for key, one in there.items() if not (key in document.shared or key in document.private)]
        for kind, raw, former in new:
            made.append(self._statement(kind, raw, now, former, taken))
            own[made[-1][0].name] = own_of(kind, raw, _as_read(made[-1][0], now))
        self._carry_out(made)
        forgotten = [one for one in gone if why.get(one.handle) == "forgotten" and not one.rivals]
        self.folder.forget(name for one in forgotten for name in one.origins)
        for one in (*gone, *(shared.living for shared in anew)):
            for name in one.names:
                self.folder.empty(one.kind, name)
                own.pop(name, None)
        for name, month in confirmations:
            self.folder.confirm(name, month)
        if made or gone:
            self.folder.settle()
        write_own(self.own_path, dict(list(own.items())[-MAX_OWN:]))

    def tidy(self, days: float = TIDY_DAYS) -> int:
        """Delete files that say nothing any more, and did not for so many days; how many. Only under the lock."""
        return self.folder.tidy(time.time() - days * DAY_S)  # it is the file system that says since when

    def is_mine(self, by: str) -> bool:
        """Whether that name is this person's."""
        return by == author(self.project)

    def _living(self) -> list[Living]:
        """The entries that live; worked out anew only when a file is another."""
        files = self.folder.read()
        if files is not self._known[0]:
            self._known = (files, living(files.statements, files.forgotten, files.months))
        return self._known[1]

    def _statement(
        self, kind: Kind, raw: Json, now: float, former: Living | None, taken: frozenset[str]
    ) -> tuple[Statement, bytes]:
        """The entry as a statement of its own; what ended does not come back to life under its name."""
        entry = {name: value for name, value in raw.items() if name not in ("by", "confirmations")}
        if "provenance" in entry:
            entry.pop("provenance")
            entry |= {"provenance": source} if (source := words_of(kind, raw).get("provenance")) else {}
        stated = raw.get("by")
        by = stated if isinstance(stated, str) and stated and former is None else author(self.project)
        replaces = (*former.names, *former.replaces)[:MAX_NAMED] if former else ()
        origins, said = former.origins if former else (), now
        while True:
            new = make(kind, entry, by=by, said=said, replaces=replaces, origins=origins)
            if new[0].name not in taken:
                return new
            said = round(said + 0.001, 3)

    def _carry_out(self, made: list[tuple[Statement, bytes]]) -> None:
        written: list[Path] = []
        try:
            for statement, data in made:
                written.append(self.folder.put(statement.kind, statement.name, data, durable=len(made) < 20))
        except BaseException:
            for path in written:
                with suppress(OSError):  # the first error is the one to tell
                    path.unlink()
            raise


def _other_sides(document: LtmDocument, there: Mapping[int, object], ending: list[Living]) -> list[Shared]:
    """What lies in one file with what ends, as both sides of a merge by hand do: it needs one of its own."""
    names = {name for one in ending for name in one.names}
    handles = {one.handle for one in ending}
    return [
        one
        for key, one in document.shared.items()
        if key in there and one.living.handle not in handles and not names.isdisjoint(one.living.names)
    ]


def _says_anew(one: Shared, *, stated: bool) -> bool:
    """Whether others have to read it: other words, a doubt, or a confidence somebody set."""
    kind, raw, was = one.living.kind, one.raw, one.before
    if words_of(kind, raw) != words_of(kind, was):
        return True
    unstated = SHAPES[kind].unstated
    now, before = share(raw.get("confidence"), unstated), share(was.get("confidence"), unstated)
    return now < before or (stated and now != before)


def _take_doubles(document: LtmDocument, found: list[Living]) -> dict[str, Json]:
    """Take the objects out of the file that the folder has in the same words; each by the handle it has there."""
    doubles: dict[str, Json] = {}
    if not (private := document.all()):
        return doubles
    shared = {(one.kind, *one.words): one for one in found}
    for kind, raw in private:
        twin = shared.get((kind, *identity(kind, raw)))
        if twin is not None and _same_words(kind, msgspec.json.decode(twin.entry), raw):
            doubles[twin.handle] = raw
    if doubles:
        gone = {id(raw) for raw in doubles.values()}
        for kind in SHAPES:
            section = document.section(kind)
            section[:] = [raw for raw in section if id(raw) not in gone]
    return doubles


def _same_words(kind: Kind, one: Json, other: Json) -> bool:
    said, again = words_of(kind, one), words_of(kind, other)
    return {**said, "id": ""} == {**again, "id": ""}


def _as_read(statement: Statement, now: float) -> Json:
    """The entry as everybody reads it."""
    again = msgspec.structs.replace(statement, replaces=(), origins=())
    return living([again], frozenset(), {})[0].raw(now)
