"""Which shifts of taste a person has been told: each is told once. `~/.clio/shifts.json`."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from clio.memory.temporal.shifts import WITHIN_DAYS, history_of, preference_shifts, style_shifts
from clio.memory.typed.store import TypedStore
from clio.storage.documents import Format, update
from clio.text.scoring import DAY_S

FILE = "shifts.json"
_SNAPSHOT_DAYS = 7.0


class Snapshot(Struct, frozen=True, kw_only=True):
    """The style dimensions as they were at one time, each 0.0 to 1.0."""

    at: float
    values: dict[str, float]


class Told(Struct, frozen=True, kw_only=True):
    """What has been told. preferences: when, by id. styles: snapshots of each vector, the oldest first."""

    preferences: dict[str, float] = {}
    styles: dict[str, tuple[Snapshot, ...]] = {}


FORMAT = Format(schema="clio.shifts", version=1, type=Told)


class Shifts:
    """Shifts of the tastes in `preferences`, and of style vectors, told once across sessions and processes."""

    def __init__(self, home: Path, preferences: TypedStore, clock: Callable[[], float] = time.time) -> None:
        self._path = home / FILE
        self._preferences = preferences
        self._clock = clock

    def take_new(self, styles: Mapping[str, Mapping[str, float]] | None = None) -> list[str]:
        """One sentence for each shift of the last 30 days that nobody was told yet, the largest of preferences first.

        styles: the vectors as they are now, by the name they are told by; an older state is kept for the next time.
        Raises StorageError for a file that is not what it should be, OSError, TimeoutError.
        """
        now = self._clock()
        history = history_of(self._preferences.versions())
        said: list[str] = []

        def tell(told: Told) -> Told:
            said.clear()
            start = now - WITHIN_DAYS * DAY_S
            recent = {id: at for id, at in told.preferences.items() if at >= start}
            shifted = preference_shifts(history, now, recent)
            said.extend(shift.line for shift in shifted)
            kept = dict(told.styles)
            for name, values in (styles or {}).items():
                kept[name], lines = _style(name, told.styles.get(name, ()), values, now)
                said.extend(lines)
            new = Told(preferences=recent | {shift.id: now for shift in shifted}, styles=kept)
            return told if new == told else new

        if history or styles:
            update(self._path, FORMAT, tell)
        return said


def _style(
    name: str, snapshots: tuple[Snapshot, ...], values: Mapping[str, float], now: float
) -> tuple[tuple[Snapshot, ...], list[str]]:
    """The snapshots to keep, weekly and of the last thirty days, and what has shifted since the oldest of them."""
    recent = tuple(one for one in snapshots if now - one.at <= WITHIN_DAYS * DAY_S)
    moved = style_shifts(recent[0].values, values) if recent else []
    present = Snapshot(at=now, values=dict(values))
    if moved:
        lines = [f"Your taste in answers ({name}) moved: {_dimension(*one)}." for one in moved]
        return (present,), lines
    if not recent or now - recent[-1].at >= _SNAPSHOT_DAYS * DAY_S:
        return (*recent, present), []
    return recent, []


def _dimension(name: str, before: float, after: float) -> str:
    return f"{name.replace('_', ' ')} from {before:.1f} to {after:.1f}"
