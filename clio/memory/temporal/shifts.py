"""Tastes that have shifted by three points of ten, or by 0.3 in a dimension of style, within thirty days. Pure.

Source: the adaptive-memory document, whose scale goes from 0 to 1.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from clio.memory.typed.versions import Version
from clio.text.scoring import DAY_S, MAX_SCORE, shifts

WITHIN_DAYS = 30.0


class Held(Struct, frozen=True, kw_only=True):
    """What a preference said from a time on: its words and its score, 0 to 10."""

    id: str
    text: str
    score: float
    at: float


class Shift(Struct, frozen=True, kw_only=True):
    """A preference that is no longer what it was. size: of the change, on 0 to 1."""

    id: str
    before: Held
    now: Held
    size: float

    @property
    def line(self) -> str:
        """One sentence that says so."""
        was, now = self.before, self.now
        if was.text == now.text:
            return f"You used to rate “{was.text}” {was.score:g} of 10, now {now.score:g}."
        return f"You used to say “{was.text}” ({was.score:g} of 10), now “{now.text}” ({now.score:g} of 10)."


def preference_shifts(history: Iterable[Held], now: float, since: Mapping[str, float] | None = None) -> list[Shift]:
    """The preferences whose score moved by at least 3 within the last 30 days, the largest change first.

    history: what each said, in any order. since: by id, a later beginning to compare with, such as the last report's.
    """
    of: dict[str, list[Held]] = {}
    for held in sorted(history, key=lambda held: held.at):
        of.setdefault(held.id, []).append(held)
    found: list[Shift] = []
    for id, said in of.items():
        start = max(now - WITHIN_DAYS * DAY_S, (since or {}).get(id, 0.0))
        first = next((held for held in reversed(said) if held.at <= start), said[0])
        last = said[-1]
        for _, size in shifts([first.score / MAX_SCORE], [last.score / MAX_SCORE]):
            found.append(Shift(id=id, before=first, now=last, size=size))
    return sorted(found, key=lambda shift: (-shift.size, shift.id))


def style_shifts(before: Mapping[str, float], after: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """(dimension, before, now) of those that moved by at least 0.3, in the order of `before`."""
    names = [name for name in before if name in after]
    moved = shifts([before[name] for name in names], [after[name] for name in names])
    return [(names[place], before[names[place]], after[names[place]]) for place, _ in moved]


def history_of(versions: Sequence[Version]) -> list[Held]:
    """What the preferences among these memories said in the course of time, of those that still hold."""
    holding = {version.record.id for version in versions if version.until is None}
    return [
        Held(id=version.record.id, text=version.record.content, score=version.record.score, at=version.since)
        for version in versions
        if version.record.id in holding and version.record.type == "preference" and version.record.score is not None
        if version.because != "undone"
    ]
