"""File states and changes as the log records them, and what undo and redo mean for each file. Pure."""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from msgspec import Struct

Kind = Literal["turn", "undo", "redo", "rewind"]
NOT_KEPT = "~"
"""Begins the id of bytes that were not kept; what follows only tells whether the file changed."""


class FileState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file as it was at one time.

    mode: permission bits. size: in bytes. id: SHA-256 of its bytes, as the object store knows them.
    link: for a symbolic link where it points to, in place of bytes.
    """

    mode: int = 0o644
    size: int = 0
    id: str = ""
    link: str | None = None

    @property
    def kept(self) -> bool:
        """Whether its bytes were kept."""
        return self.link is not None or not self.id.startswith(NOT_KEPT)


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One file before and after. None where there was none.

    path: relative to the workspace with forward slashes; absolute for a file outside of it.
    unsure: somebody else may have changed it too, since nobody looked in time.
    """

    path: str
    before: FileState | None = None
    after: FileState | None = None
    unsure: bool = False


class TurnRef(Struct, frozen=True, kw_only=True):
    """Which turn something belongs to: its session, and the message it began with."""

    session: str
    message: str


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the log: what a call, or a restoring, did to files.

    at: seconds since the epoch. session, message: the turn it belongs to; a restoring has no message.
    of: the messages whose turns were taken back; of a redo the id of the record it takes back.
    made, gone: folders that were made and removed, outermost first.
    scanned: the whole workspace was looked at; what is ignored there, and what was too large, was not.
    """

    id: str
    kind: Kind
    at: float
    session: str
    message: str = ""
    changes: tuple[Change, ...] = ()
    of: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    scanned: bool = False


Verdict = Literal["put", "same", "edited", "between", "unsure", "lost", "blocked"]
"""put: it can be put back. same: it is so already. edited: changed since. between: changed by somebody between two of
the turns. unsure: nobody knows who changed it. lost: its bytes were not kept. blocked: a link leads the path away."""
REFUSED: frozenset[Verdict] = frozenset(("edited", "between", "unsure"))
"""Verdicts that a person may override."""


class TurnFiles(Struct, frozen=True, kw_only=True):
    """What one turn did to files. at: when the first of it happened."""

    message: str
    session: str
    at: float
    records: tuple[Record, ...]

    @property
    def changes(self) -> tuple[Change, ...]:
        """Each file once, as before and after the whole turn; files that are as before are left out."""
        wanted = plan_undo(self.records)
        return tuple(
            Change(path=one.path, before=one.target, after=one.expected, unsure=one.unsure)
            for one in wanted
            if one.target != one.expected
        )

    @property
    def scanned(self) -> bool:
        """Whether commands were run in it."""
        return any(record.scanned for record in self.records)


class Wanted(Struct, frozen=True, kw_only=True):
    """A file on its way back: how it should be now, and how it is to be.

    between: somebody else changed it between the changes that are taken back. unsure: see `Change`.
    """

    path: str
    expected: FileState | None
    target: FileState | None
    between: bool = False
    unsure: bool = False


class Step(Struct, frozen=True, kw_only=True):
    """What is to be done with one file. current: how it is."""

    wanted: Wanted
    current: FileState | None
    verdict: Verdict


def list_turns(records: Iterable[Record]) -> list[TurnFiles]:
    """The turns that changed files, oldest first."""
    found: dict[str, list[Record]] = {}
    for record in records:
        if record.kind == "turn":
            found.setdefault(record.message, []).append(record)
    turns = [
        TurnFiles(message=message, session=of[0].session, at=of[0].at, records=tuple(of))
        for message, of in found.items()
    ]
    return [turn for turn in turns if turn.changes or any(one.made or one.gone for one in turn.records)]


def list_undone_turns(records: Sequence[Record]) -> set[str]:
    """The messages of the turns whose changes are taken back now."""
    standing: dict[str, Record] = {}
    for record in records:
        if record.kind in ("undo", "rewind"):
            standing[record.id] = record
        elif record.kind == "redo":
            for one in record.of:
                standing.pop(one, None)
    return {message for record in standing.values() for message in record.of}


def find_redoable(records: Sequence[Record], sessions: Collection[str]) -> Record | None:
    """The newest taking back in one of these sessions that was not itself taken back."""
    reversed_ = {one for record in records if record.kind == "redo" for one in record.of}
    return next(
        (
            record
            for record in reversed(records)
            if record.kind in ("undo", "rewind") and record.id not in reversed_ and record.session in sessions
        ),
        None,
    )


def plan_undo(records: Iterable[Record]) -> list[Wanted]:
    """How to take these back: each file as it was before the first of them. They are given oldest first."""
    wanted: dict[str, Wanted] = {}
    for record in records:
        for change in record.changes:
            known = wanted.get(change.path)
            wanted[change.path] = Wanted(
                path=change.path,
                expected=change.after,
                target=known.target if known else change.before,
                between=bool(known) and (known.between or known.expected != change.before),
                unsure=change.unsure or bool(known and known.unsure),
            )
    return [wanted[path] for path in sorted(wanted)]


def judge_step(wanted: Wanted, current: FileState | None, *, blocked: bool = False) -> Step:
    """What can be done with one file that is `current` now."""
    verdict: Verdict = "put"
    if current == wanted.target:
        verdict = "same"
    elif blocked:
        verdict = "blocked"
    elif wanted.target is not None and not wanted.target.kept:
        verdict = "lost"
    elif current != wanted.expected:
        verdict = "edited"
    elif wanted.between:
        verdict = "between"
    elif wanted.unsure:
        verdict = "unsure"
    return Step(wanted=wanted, current=current, verdict=verdict)
