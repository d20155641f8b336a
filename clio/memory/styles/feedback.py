"""Store ratings of answers in `.clio/trajectories.jsonl`, and update the response styles from them."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from clio.errors import UserError
from clio.memory.styles.feedback_signals import Category, check_rating_text, find_signals, infer_reason
from clio.memory.styles.styles import Learned, Styles
from clio.messages import Message, is_turn_start
from clio.sessions.session import Session
from clio.sessions.store import SessionStore
from clio.storage.files import make_ignored_folder, open_regular, write_atomic
from clio.storage.jsonl import append_lines, back_up_damaged_file, read_lines
from clio.storage.locks import FileLock
from clio.text.embedding import Embedder
from clio.text.json_data import decode_json
from clio.text.scoring import DAY_S

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

    def last(self, session: str = "") -> Rated | None:
        """Return the latest turn, of one session if given. Reads only the end of the file if it contains the turn."""
        for lines in (self._tail(), read_lines(self.path).lines):
            found = [
                rated for rated in _fold_lines(_decode_lines(lines)) if not session or rated.turn.session == session
            ]
            if found:
                return found[-1]
        return None

    def find(self, message: str) -> Rated | None:
        """Return the turn that began with the message with this id, or None."""
        return next((rated for rated in self.all() if rated.turn.message == message), None)

    def rewards(self) -> dict[str, float]:
        """Return the reward of each rated turn, by the id of its first message."""
        return {rated.turn.message: rated.reward for rated in self.all() if rated.ratings}

    def retain(self, now: float, *, dry_run: bool = False) -> Retained:
        """Archive unrated turns after 90 days and delete them from the archive after 365; rated turns stay."""
        if not (self.path.exists() or self.archive.exists()):
            return Retained()
        from clio.text.consolidate import decide_retention

        with self._lock():
            rated = self.all()
            fates = [decide_retention(_get_age_days(turn, now), bool(turn.ratings), archived=False) for turn in rated]
            kept = [turn for turn, fate in zip(rated, fates, strict=True) if fate == "kept"]
            archived = [turn for turn, fate in zip(rated, fates, strict=True) if fate != "kept"]
            old = _fold_lines(_decode_lines(read_lines(self.archive).lines))
            remaining = [
                turn
                for turn in old
                if decide_retention(_get_age_days(turn, now), bool(turn.ratings), archived=True) != "deleted"
            ]
            result = Retained(kept=len(kept), archived=len(archived), deleted=len(old) - len(remaining))
            if not dry_run and (archived or result.deleted):
                back_up_damaged_file(self.path)
                back_up_damaged_file(self.archive)
                # The archive first: after a crash in between, a turn is in both files, not in none.
                _write_rated(self.archive, {turn.turn.message: turn for turn in (*remaining, *archived)}.values())
                _write_rated(self.path, kept)
        return result

    def _tail(self) -> tuple[bytes, ...]:
        try:
            with open_regular(self.path) as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - _TAIL_BYTES, 0))
                data = file.read()
        except FileNotFoundError:
            return ()
        lines = data.split(b"\n")
        # The first line is probably incomplete if the file is longer.
        return tuple(line for line in (lines[1:] if size > _TAIL_BYTES else lines) if line)

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


def _get_age_days(rated: Rated, now: float) -> float:
    return (now - rated.turn.at) / DAY_S


QUESTION_CHARS = 80
CONTENT_COMPLAINT_FACTOR = 0.25
"""Factor on the weight of a complaint about the content, for which the style is not the main cause."""
_ABOUT_CONTENT: frozenset[Category] = frozenset(("incorrect_info", "not_helpful"))
# The values of `style_state.DIMENSIONS` towards which a complaint moves the user's taste.
_TARGET_DIMENSIONS: Mapping[Category, Mapping[str, float]] = {
    "too_verbose": {"verbosity": 0.0, "explanation_depth": 0.0, "directness": 1.0},
    "too_brief": {"verbosity": 1.0, "explanation_depth": 1.0, "patience": 1.0},
}


class Noted(Struct, frozen=True, kw_only=True):
    """The result of a rating. learned: change of the answer's style, None without one; changed: the replaced rating."""

    turn: Trajectory
    rating: Rating
    learned: Learned | None = None
    changed: Rating | None = None


class Feedback:
    """Ratings of one project's answers.

    Args:
        redact: removes secrets from the user's text before it is stored.

    Raises:
        UserError: by methods, if there is no answer to rate.
        StorageError, OSError, TimeoutError: by methods, if a file is damaged or cannot be read, written or locked.
    """

    def __init__(
        self,
        trajectories: Trajectories,
        styles: Styles,
        store: SessionStore,
        *,
        session_of: Callable[[], Session | None],
        redact: Callable[[str], str],
        embedder: Embedder | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.trajectories = trajectories
        self._styles = styles
        self._store = store
        self._session_of = session_of
        self._redact = redact
        self._embedder = embedder
        self._clock = clock

    def rate(self, reward: int, *, reason: Category | None = None, text: str = "") -> Noted:
        """Save the user's rating of the last answer of this session, otherwise of the latest answer in the project.

        A second rating of the same answer replaces the first.

        Args:
            reward: −1, 0 or 1.
            reason: derived from the text if None.
            text: the user's comment, up to 300 characters.
        """
        try:
            comment = self._redact(check_rating_text(text.strip()))
        except ValueError as error:
            raise UserError(f"{error}; shorten it") from error
        known = self._find_target()
        if reason is None and comment and reward <= 0:
            reason = infer_reason(comment, self._embedder)
        rating = Rating(message=known.turn.message, at=self._clock(), reward=reward, reason=reason, text=comment)
        return self._save_rating(known, rating)

    def withdraw(self) -> Noted:
        """Withdraw the user's rating of the last answer."""
        known = self._find_target()
        if not _find_rating(known, "you"):
            raise UserError("the last answer has no rating to withdraw")
        withdrawal = Rating(message=known.turn.message, at=self._clock(), reward=0, withdrawn=True)
        return self._save_rating(known, withdrawal)

    def recent(self, limit: int = 20) -> list[Rated]:
        """Return the turns with the latest ratings, the latest first."""
        rated = [turn for turn in self.trajectories.all() if turn.ratings]
        return sorted(rated, key=lambda turn: -turn.ratings[-1].at)[: max(limit, 0)]

    def end_turn(self, session: Session, status: str) -> list[Noted]:
        """Store a turn that ended, and rate it and the previous one by signals. Does nothing if styles are off."""
        if not self._styles.is_on or not session.is_persistent:
            return []
        turn, before = last_turns(session.messages)
        if not turn:
            return []
        chosen = self._styles.current
        trajectory = self._make_trajectory(session, turn[0], status)
        self.trajectories.add(trajectory)
        if chosen is not None:
            self._styles.count_use(chosen.skill.id)
        noted: list[Noted | None] = []
        for signal in find_signals(turn, before):
            message = turn[0].id if signal.target == "this" else before[0].id if before else ""
            known = Rated(turn=trajectory) if signal.target == "this" else self.trajectories.find(message)
            noted.append(self._rate_by_signal(known, signal.reward, signal.weight, signal.source, signal.note))
        return [result for result in noted if result]

    def signal(self, reward: int, weight: float, source: Source, note: str) -> Noted | None:
        """Rate the last answer by a signal. Returns None if styles are off or the user has rated the answer."""
        session = self._session_of()
        if not self._styles.is_on or session is None:
            return None
        turn, _ = last_turns(session.messages)
        known = self.trajectories.find(turn[0].id) if turn else None
        return self._rate_by_signal(known, reward, weight, source, note)

    def _rate_by_signal(
        self, known: Rated | None, reward: int, weight: float, source: Source, note: str
    ) -> Noted | None:
        if known is None or _find_rating(known, "you"):  # the user's own rating is worth more than any signal
            return None
        message, note = known.turn.message, self._redact(note)
        rating = Rating(message=message, at=self._clock(), reward=reward, weight=weight, source=source, note=note)
        return self._save_rating(known, rating)

    def _find_target(self) -> Rated:
        """Return the answer to rate: the last one of this session, or else the latest one of the project."""
        session = self._session_of()
        if session is not None and session.id:
            turn, _ = last_turns(session.messages)
            if not turn or len(turn) == 1:
                raise UserError("there is no answer to rate yet; ask something first")
            known = self.trajectories.find(turn[0].id)
            return known or Rated(turn=self._make_trajectory(session, turn[0], "", styled=False))
        if (newest := self.trajectories.last()) is not None:
            return newest
        for info in self._store.list():
            if not info.is_conversation or not self._store.is_own(info.id):
                continue  # the answer is another program's, or the session is not the user's
            messages = self._store.read(info.id)
            turn, _ = last_turns(messages)
            if len(turn) > 1:
                question = self._get_question(turn[0])
                return Rated(
                    turn=Trajectory(message=turn[0].id, session=info.id, at=turn[0].created, question=question)
                )
        raise UserError("there is no answer in this project yet; start clio and ask something first")

    def _save_rating(self, known: Rated, rating: Rating) -> Noted:
        turn = known.turn
        before = _find_rating(known, rating.source)
        # A second rating replaces the first, so the effect of the first is undone before the new one is learned.
        if before is not None and turn.style:
            self._styles.unlearn(turn.bucket, turn.style, before.reward, _get_weight(before))
        new = () if self.trajectories.find(turn.message) else (turn,)
        self.trajectories.add(*new, rating)
        learned = None
        if turn.style and not rating.withdrawn:
            learned = self._styles.learn(turn.bucket, turn.style, rating.reward, _get_weight(rating))
        target = _TARGET_DIMENSIONS.get(rating.reason) if rating.reason else None
        if turn.bucket and target and rating.reward <= 0:
            self._styles.nudge(turn.bucket, target)
        return Noted(turn=turn, rating=rating, learned=learned, changed=before)

    def _make_trajectory(self, session: Session, first: Message, status: str, *, styled: bool = True) -> Trajectory:
        chosen = self._styles.current if styled else None
        return Trajectory(
            message=first.id,
            session=session.id,
            at=self._clock(),
            question=self._get_question(first),
            bucket=chosen.bucket if chosen else "",
            style=chosen.skill.id if chosen else "",
            explored=bool(chosen and chosen.explored),
            status=status,
        )

    def _get_question(self, message: Message) -> str:
        beginning = message.content[: 5 * QUESTION_CHARS]  # more than enough, and cheap for a long paste
        return self._redact(" ".join(beginning.split())[:QUESTION_CHARS])


def last_turns(messages: Sequence[Message]) -> tuple[Sequence[Message], Sequence[Message]]:
    """Return the messages of the last turn and of the one before it; empty if there is none."""
    places: list[int] = []
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if is_turn_start(message):
            places.append(place)
            if len(places) == 2:
                break
    if not places:
        return (), ()
    last = places[0]
    return messages[last:], messages[places[1] : last] if len(places) == 2 else ()


def _find_rating(known: Rated, source: Source) -> Rating | None:
    return next((rating for rating in known.ratings if rating.source == source), None)


def _get_weight(rating: Rating) -> float:
    is_about_content = rating.reason in _ABOUT_CONTENT and rating.reward < 0
    return rating.weight * (CONTENT_COMPLAINT_FACTOR if is_about_content else 1.0)
