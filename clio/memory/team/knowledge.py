"""Shared and private knowledge as one document: how the folder's entries get into it, and how changes get back."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from clio.config.team_folder import SHARED_NAME, is_trusted
from clio.memory.ltm_file import LtmDocument
from clio.memory.ltm_kinds import SHAPES, Json, identity, share
from clio.memory.ltm_merge import confirmed
from clio.memory.ltm_prune import DAY_S
from clio.memory.records import Because, Kind
from clio.memory.team.author import author
from clio.memory.team.folder import TeamFolder
from clio.memory.team.own import Own, copied, own_of, put_double_on, put_on, read_own, write_own
from clio.memory.team.state import Living, living, month_of, words_of
from clio.memory.team.statement import MAX_NAMED, Statement, make

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

    @property
    def in_use(self) -> bool:
        """Whether there is shared knowledge, and the person trusts it."""
        return self.home is not None and self.folder.exists() and is_trusted(self.project, self.home)

    def put_into(self, document: LtmDocument) -> None:
        """Add the entries that live to a document read from `ltm.json`; they stand before its own of their kinds.

        What is there in the same words is taken for the same entry, as after a conversion that was cut short.
        """
        files = self.folder.read()
        found = living(files.statements, files.forgotten, files.months, self._clock())
        own = read_own(self.own_path) if found else Own()
        doubles = _take_doubles(document, found)
        document.private = {id(raw): raw for kind in SHAPES for raw in document.section(kind)}
        for kind in SHAPES:
            mine = [one for one in found if one.kind == kind]
            document.section(kind)[:0] = [one.raw for one in mine]
        for one in found:
            base = copied(one.raw)
            put_on(one, own)
            if (double := doubles.get(one.handle)) is not None:
                put_double_on(one, double, own)
            document.shared[id(one.raw)] = (one, base, copied(one.raw))

    def write(self, document: LtmDocument, now: float, why: Mapping[str, Because], *, stated: bool = False) -> None:
        """Bring the folder to what the document says: new files, and emptied ones. Nothing else is touched.

        why: of the handles that leave. stated: how sure somebody is was said on purpose, so it is for all.
        Where this fails, what was written is taken back.
        """
        there: dict[int, tuple[Kind, Json]] = {id(raw): (kind, raw) for kind, raw in document.all()}
        known = read_own(self.own_path)
        own = dict(known.entries)  # also of what is not there: it comes back with another branch
        made: list[tuple[Statement, bytes]] = []
        ended: list[Living] = []
        files = self.folder.read()
        months, taken = files.months, files.forgotten | files.emptied
        confirmations: list[tuple[str, str]] = []
        anew = _said_anew(document, there, stated=stated)
        for key, (one, base, was) in document.shared.items():
            if key not in there:
                ended.append(one)
                continue
            raw = one.raw
            if key in anew:
                new = self._statement(one.kind, raw, now, one, taken)
                made.append(new)
                ended.append(one)
                own[new[0].name] = own_of(one.kind, raw, _as_read(new[0], now))
            else:
                for name in one.names:
                    own.pop(name, None)
                if mine := own_of(one.kind, raw, base):
                    own[one.names[0]] = mine
                month, name = month_of(confirmed(raw)), one.names[0]
                if confirmed(raw) > confirmed(was) and month > max(months.get(name, ""), month_of(confirmed(base))):
                    confirmations.append((name, month))
        for key, (kind, raw) in there.items():
            if key not in document.shared and key not in document.private:
                new = self._statement(kind, raw, now, None, taken)
                made.append(new)
                own[new[0].name] = own_of(kind, raw, _as_read(new[0], now))
        self._carry_out(made)
        taken_out = [one for one in ended if id(one.raw) not in there and why.get(one.handle) == "forgotten"]
        self.folder.forget(name for one in taken_out if not one.rivals for name in one.origins)
        for one in ended:
            for name in one.names:
                self.folder.empty(one.kind, name)
                own.pop(name, None)
        for name, month in confirmations:
            self.folder.confirm(name, month)
        if made or ended:
            self.folder.settle()
        write_own(self.own_path, dict(list(own.items())[-MAX_OWN:]))

    def tidy(self, days: float = TIDY_DAYS) -> int:
        """Delete files that say nothing any more, and did not for so many days; how many. Only under the lock."""
        return self.folder.tidy(time.time() - days * DAY_S)  # it is the file system that says since when

    def is_mine(self, by: str) -> bool:
        """Whether that name is this person's."""
        return by == author(self.project)

    def _statement(
        self, kind: Kind, raw: Json, now: float, former: Living | None, taken: frozenset[str]
    ) -> tuple[Statement, bytes]:
        """The entry as a statement of its own; what ended does not come back to life under its name."""
        entry = {name: value for name, value in raw.items() if name != "by"}
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


def _said_anew(document: LtmDocument, there: Mapping[int, object], *, stated: bool) -> set[int]:
    """Which of the shared objects others have to read again; with one side of a file both that a merge left there."""
    found = {
        key
        for key, (one, _, was) in document.shared.items()
        if key in there and _says_anew(one.kind, one.raw, was, stated=stated)
    }
    ending = {
        name for key, (one, *_) in document.shared.items() if key not in there or key in found for name in one.names
    }
    return found | {
        key for key, (one, *_) in document.shared.items() if key in there and not ending.isdisjoint(one.names)
    }


def _says_anew(kind: Kind, raw: Json, was: Json, *, stated: bool) -> bool:
    """Whether others have to read it: other words, a doubt, or a confidence somebody set."""
    if words_of(kind, raw) != words_of(kind, was):
        return True
    unstated = SHAPES[kind].unstated
    now, before = share(raw.get("confidence"), unstated), share(was.get("confidence"), unstated)
    return now < before or (stated and now != before)


def _take_doubles(document: LtmDocument, found: list[Living]) -> dict[str, Json]:
    """Take the objects out of the file that the folder has in the same words; each by the handle it has there."""
    shared = {(one.kind, *identity(one.kind, one.raw)): one for one in found}
    doubles: dict[str, Json] = {}
    for kind in SHAPES:
        for raw in document.raws(kind):
            twin = shared.get((kind, *identity(kind, raw)))
            if twin is not None and _same_words(kind, twin.raw, raw):
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
    return living([again], frozenset(), {}, now)[0].raw
