"""Store which answers the user rated how, in `.clio/trajectories.jsonl`, and archive old ones.

Each line of the file is a turn or a rating of one; a later rating of the same source replaces the earlier one.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from clio.storage.files import make_ignored_folder, write_atomic
from clio.storage.jsonl import append_lines, back_up_damaged_file, read_last_lines, read_lines
from clio.storage.locks import FileLock
from clio.text.json_data import decode_json
from clio.text.scoring import DAY_S

Category = Literal["too_verbose", "too_brief", "wrong_tone", "not_helpful", "incorrect_info"]
CATEGORIES: tuple[Category, ...] = ("too_verbose", "too_brief", "wrong_tone", "not_helpful", "incorrect_info")
Source = Literal["you", "undo", "words", "tests", "revert"]
"""Source of a rating: the user, or a signal: an undo, the next message, a test that passes, a revert."""
_TAIL_BYTES = 65_536
"""Size of the end of the file that is read to find the latest turn."""


class Trajectory(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="turn"):
    """A turn. message: id of its first message; bucket: its context; question: start of that message, ≤ 80 chars."""

    message: str
    session: str
    at: float
    question: str = ""
    bucket: str = ""
    style: str = ""
    explored: bool = False
    status: str = ""


class Rating(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="rating"):
    """A rating of a turn. reward: −1, 0 or 1; weight: 1.0 from the user, less from a signal.

    A later rating replaces the earlier one of the same source; if it is `withdrawn`, that source has no rating.
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


RatingLine = Trajectory | Rating


class Rated(Struct, frozen=True, kw_only=True):
    """A turn with the latest rating of each source, the oldest first."""

    turn: Trajectory
    ratings: tuple[Rating, ...] = ()

    @property
    def reward(self) -> float:
        """Sum of the weighted ratings; negative if the user disliked the answer."""
        return sum(rating.reward * rating.weight for rating in self.ratings)


class Retained(Struct, frozen=True, kw_only=True):
    """Number of turns that stayed, were archived, and were deleted from the archive."""

    kept: int = 0
    archived: int = 0
    deleted: int = 0


class Trajectories:
    """The rated turns of one project and their archive. Several processes may append.

    Methods may raise OSError and TimeoutError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.archive = path.with_suffix(".archive.jsonl")

    def add(self, *lines: RatingLine) -> None:
        """Append lines; they are on disk when this returns."""
        make_ignored_folder(self.path.parent, self.path.parent)
        with self._lock():
            append_lines(self.path, map(msgspec.json.encode, lines))

    def all(self) -> list[Rated]:
        """Return all turns with their ratings, the oldest first. Lines that cannot be parsed are skipped."""
        return _fold_lines(_decode_lines(read_lines(self.path).lines))

    def last(self) -> Rated | None:
        """Return the latest turn. Reads only the end of the file if it contains the turn."""
        for lines in (read_last_lines(self.path, _TAIL_BYTES), read_lines(self.path).lines):
            if found := _fold_lines(_decode_lines(lines)):
                return found[-1]
        return None

    def find(self, message: str) -> Rated | None:
        """Return the turn that began with the message with this id, or None."""
        return next((rated for rated in self.all() if rated.turn.message == message), None)

    def rewards(self) -> dict[str, float]:
        """Return the reward of each rated turn, by the id of its first message."""
        return {rated.turn.message: rated.reward for rated in self.all() if rated.ratings}

    def retain(self, now: float) -> Retained:
        """Archive unrated turns after 90 days and delete them from the archive after 365; rated turns stay."""
        if not (self.path.exists() or self.archive.exists()):
            return Retained()
        from clio.text.consolidate import decide_retention

        with self._lock():

            def decide(rated: Rated, *, archived: bool) -> str:
                return decide_retention((now - rated.turn.at) / DAY_S, bool(rated.ratings), archived=archived)

            kept, archived = list[Rated](), list[Rated]()
            for turn in self.all():
                (kept if decide(turn, archived=False) == "kept" else archived).append(turn)
            old = _fold_lines(_decode_lines(read_lines(self.archive).lines))
            remaining = [turn for turn in old if decide(turn, archived=True) != "deleted"]
            result = Retained(kept=len(kept), archived=len(archived), deleted=len(old) - len(remaining))
            if archived or result.deleted:
                back_up_damaged_file(self.path)
                back_up_damaged_file(self.archive)
                # The archive first: after a crash in between, a turn is in both files, not in none.
                _write_rated(self.archive, {turn.turn.message: turn for turn in (*remaining, *archived)}.values())
                _write_rated(self.path, kept)
        return result

    def _lock(self) -> FileLock:
        return FileLock(self.path.with_name(self.path.name + ".lock"))


def _decode_lines(lines: Iterable[bytes]) -> Iterable[RatingLine]:
    for line in lines:
        try:
            yield decode_json(line, type=RatingLine)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # an incomplete or unknown line: it loses the rating of one turn, never a memory


def _fold_lines(lines: Iterable[RatingLine]) -> list[Rated]:
    """Return the turns of lines in order of time, each with the latest rating of each source."""
    turns: dict[str, Trajectory] = {}
    ratings: dict[str, dict[str, Rating]] = {}
    for line in lines:
        if isinstance(line, Trajectory):
            turns[line.message] = line
        else:
            ratings.setdefault(line.message, {}).pop(line.source, None)
            ratings[line.message][line.source] = line
    return [
        Rated(turn=turn, ratings=tuple(rating for rating in ratings.get(id, {}).values() if not rating.withdrawn))
        for id, turn in turns.items()
    ]


def _write_rated(path: Path, turns: Iterable[Rated]) -> None:
    lines = [line for rated in turns for line in (rated.turn, *rated.ratings)]
    write_atomic(path, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
