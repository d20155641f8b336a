"""Turns with the style they had and what came of them, in `.clio/trajectories.jsonl`: one line each, only appended.

A turn is known by the id of the message it began with. What a turn said is in its session; here is how it went.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from clio.memory.feedback.rating_phrases import Category
from clio.storage.files import make_ignored_folder, open_regular, write_atomic
from clio.storage.jsonl import append_lines, keep_damaged_lines, read_lines
from clio.storage.locks import FileLock
from clio.text.json_data import decode_json
from clio.text.scoring import DAY_S

Source = Literal["you", "undo", "words", "tests", "revert"]
"""Who said how an answer was: the person, or a sign of it: an undo, the next words, a green test, a revert."""
_TAIL_BYTES = 65_536


class Trajectory(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="turn"):
    """A turn. message: the id of the message it began with; bucket: its context; question: how it began, ≤ 80 chars."""

    message: str
    session: str
    at: float
    question: str = ""
    bucket: str = ""
    style: str = ""
    explored: bool = False
    status: str = ""


class Rating(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="rating"):
    """What somebody or something said of a turn. reward: −1, 0, 1; weight: 1.0 for a person's word, less for a sign.

    A later rating of the same source takes the place of an earlier one; a withdrawn one leaves none.
    """

    message: str
    at: float
    reward: int
    weight: float = 1.0
    source: Source = "you"
    reason: Category | None = None
    text: str = ""
    note: str = ""
    withdrawn: bool = False


Line = Trajectory | Rating


class Rated(Struct, frozen=True, kw_only=True):
    """A turn with what was said of it, the newest rating of each source, the oldest first."""

    turn: Trajectory
    ratings: tuple[Rating, ...] = ()

    @property
    def reward(self) -> float:
        """Its ratings together, weighed: below zero where it was not liked."""
        return sum(one.reward * one.weight for one in self.ratings)


class Retained(Struct, frozen=True, kw_only=True):
    """What retention did: how many turns stay, went to the archive, were deleted from it."""

    kept: int = 0
    archived: int = 0
    deleted: int = 0


class Trajectories:
    """The file of one project, and its archive; several processes may append. Raises OSError, TimeoutError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.archive = path.with_suffix(".archive.jsonl")

    def add(self, *lines: Line) -> None:
        """Append lines, on disk when this returns."""
        make_ignored_folder(self.path.parent, self.path.parent)
        with self._lock():
            append_lines(self.path, map(msgspec.json.encode, lines))

    def all(self) -> list[Rated]:
        """Every turn with its ratings, the oldest first; lines that do not parse are passed over."""
        return _folded(_decoded(read_lines(self.path).lines))

    def last(self, session: str = "") -> Rated | None:
        """The newest turn, of a session where one is named. Reads the end of the file only, where that holds it."""
        for lines in (self._tail(), read_lines(self.path).lines):
            found = [one for one in _folded(_decoded(lines)) if not session or one.turn.session == session]
            if found:
                return found[-1]
        return None

    def find(self, message: str) -> Rated | None:
        """The turn that began with that message."""
        return next((one for one in self.all() if one.turn.message == message), None)

    def rewards(self) -> dict[str, float]:
        """What each rated turn was worth, by the id of the message it began with."""
        return {one.turn.message: one.reward for one in self.all() if one.ratings}

    def retain(self, now: float, *, dry_run: bool = False) -> Retained:
        """Move turns nobody rated to the archive after 90 days, and delete them there after 365; rated ones stay."""
        if not (self.path.exists() or self.archive.exists()):
            return Retained()
        from clio.text.consolidate import retention

        with self._lock():
            rated = self.all()
            fates = [retention(_days(one, now), bool(one.ratings), archived=False) for one in rated]
            kept = [one for one, fate in zip(rated, fates, strict=True) if fate == "kept"]
            gone = [one for one, fate in zip(rated, fates, strict=True) if fate != "kept"]
            old = _folded(_decoded(read_lines(self.archive).lines))
            stay = [one for one in old if retention(_days(one, now), bool(one.ratings), archived=True) != "deleted"]
            done = Retained(kept=len(kept), archived=len(gone), deleted=len(old) - len(stay))
            if not dry_run and (gone or done.deleted):
                keep_damaged_lines(self.path)
                keep_damaged_lines(self.archive)
                _write(self.archive, {one.turn.message: one for one in (*stay, *gone)}.values())
                _write(self.path, kept)
        return done

    def _tail(self) -> tuple[bytes, ...]:
        try:
            with open_regular(self.path) as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - _TAIL_BYTES, 0))
                data = file.read()
        except FileNotFoundError:
            return ()
        lines = data.split(b"\n")
        return tuple(line for line in (lines[1:] if size > _TAIL_BYTES else lines) if line)

    def _lock(self) -> FileLock:
        return FileLock(self.path.with_name(self.path.name + ".lock"))


def _decoded(lines: Iterable[bytes]) -> Iterable[Line]:
    for line in lines:
        try:
            yield decode_json(line, type=Line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # a torn or foreign line: one turn's account, never a memory


def _folded(lines: Iterable[Line]) -> list[Rated]:
    turns: dict[str, Trajectory] = {}
    ratings: dict[str, dict[str, Rating]] = {}
    for line in lines:
        if isinstance(line, Trajectory):
            turns[line.message] = line
        else:
            ratings.setdefault(line.message, {}).pop(line.source, None)
            ratings[line.message][line.source] = line
    return [
        Rated(turn=turn, ratings=tuple(one for one in ratings.get(id, {}).values() if not one.withdrawn))
        for id, turn in turns.items()
    ]


def _write(path: Path, rated: Iterable[Rated]) -> None:
    lines = [line for one in rated for line in (one.turn, *one.ratings)]
    write_atomic(path, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def _days(one: Rated, now: float) -> float:
    return (now - one.turn.at) / DAY_S
