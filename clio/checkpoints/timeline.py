"""What the log comes to: turns, which of them are taken back, and what taking back means for each file. Pure."""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from msgspec import Struct

from clio.checkpoints.states import Change, FileState, Record

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
        wanted = way_back(self.records)
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


def turns_of(records: Iterable[Record]) -> list[TurnFiles]:
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


def taken_back(records: Sequence[Record]) -> set[str]:
    """The messages of the turns whose changes are taken back now."""
    standing: dict[str, Record] = {}
    for record in records:
        if record.kind in ("undo", "rewind"):
            standing[record.id] = record
        elif record.kind == "redo":
            for one in record.of:
                standing.pop(one, None)
    return {message for record in standing.values() for message in record.of}


def redoable(records: Sequence[Record], sessions: Collection[str]) -> Record | None:
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


def way_back(records: Iterable[Record]) -> list[Wanted]:
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


def judge(wanted: Wanted, current: FileState | None, *, blocked: bool = False) -> Step:
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
