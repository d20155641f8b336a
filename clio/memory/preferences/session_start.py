"""What clio asks and reports when an interactive session starts: unconfirmed limits, and preferences that changed.

`PendingLimits` stores limits that clio could not ask the user about, such as in `clio -p`. They are in
`~/.clio/memories.pending.json`, not in the project, so that a cloned project cannot make clio ask.

`Shifts` finds preferences whose score changed by 3 of 10 points, or style dimensions by 0.3, within 30 days. Each
change is reported once; `~/.clio/shifts.json` stores which ones were. Source: the adaptive-memory document (see
docs/architecture.md), whose scale goes from 0 to 1.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from clio.memory.preferences.stated_preferences import StatedPreference
from clio.memory.store.typed_store import TypedStore
from clio.storage.documents import DocumentFormat, update_document
from clio.text.scoring import DAY_S, MAX_SCORE, find_shifts
from clio.text.translation import tr

if TYPE_CHECKING:
    from clio.memory.store.versions import Version

PENDING_FILE = "memories.pending.json"
MAX_PENDING = 50
"""Maximum number of pending limits of all projects; the oldest are dropped first."""


class PendingLimit(Struct, frozen=True, kw_only=True):
    """One limit to ask about. project, session: directory and session it was stated in; at: when, in epoch seconds."""

    project: str
    noticed: StatedPreference
    session: str = ""
    at: float = 0.0


class _Pending(Struct, frozen=True, kw_only=True):
    limits: tuple[PendingLimit, ...] = ()


_PENDING_FORMAT = DocumentFormat(schema="clio.pending_limits", version=1, type=_Pending)


class PendingLimits:
    """The limits that wait for confirmation. All methods may raise StorageError and OSError."""

    def __init__(self, home: Path, project: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = home / PENDING_FILE
        self._project = str(project)
        self._clock = clock

    @property
    def is_empty(self) -> bool:
        """Whether the file does not exist, and so no limit is pending. Reads nothing."""
        return not self._path.exists()

    def add(self, noticed: Sequence[StatedPreference], session: str) -> None:
        """Add limits to ask about. A pending limit of this project with the same content is replaced."""
        now = self._clock()
        new = [PendingLimit(project=self._project, noticed=one, session=session, at=now) for one in noticed]

        def change(pending: _Pending) -> _Pending:
            contents = {one.noticed.content for one in new}
            kept = [
                one for one in pending.limits if one.project != self._project or one.noticed.content not in contents
            ]
            return _Pending(limits=tuple([*kept, *new][-MAX_PENDING:]))

        self._update(change)

    def take(self) -> tuple[PendingLimit, ...]:
        """Remove and return the limits of this project, and all that are not limited to a project."""
        if self.is_empty:
            return ()
        taken: list[PendingLimit] = []

        def change(pending: _Pending) -> _Pending:
            taken[:] = [one for one in pending.limits if self._concerns(one)]
            return _Pending(limits=tuple(one for one in pending.limits if not self._concerns(one)))

        self._update(change)
        return tuple(taken)

    def replace(self, contents: Mapping[str, str]) -> None:
        """Give pending limits of this project another content, by the present one; those with "" are removed."""
        if self.is_empty:
            return

        def change(pending: _Pending) -> _Pending:
            limits: list[PendingLimit] = []
            for one in pending.limits:
                new = contents.get(one.noticed.content) if self._concerns(one) else None
                if new is None:
                    limits.append(one)
                elif new:
                    limits.append(structs.replace(one, noticed=structs.replace(one.noticed, content=new)))
            return _Pending(limits=tuple(limits))

        self._update(change)

    def _concerns(self, one: PendingLimit) -> bool:
        return one.project == self._project or not one.noticed.in_project

    def _update(self, change: Callable[[_Pending], _Pending]) -> None:
        update_document(self._path, _PENDING_FORMAT, change)


WITHIN_DAYS = 30.0


class PreferenceVersion(Struct, frozen=True, kw_only=True):
    """One version of a preference: its text and its score, 0 to 10, and the time it was saved."""

    id: str
    text: str
    score: float
    at: float


class Shift(Struct, frozen=True, kw_only=True):
    """A change of a preference. size: of the change of its score, on a scale from 0 to 1."""

    id: str
    before: PreferenceVersion
    now: PreferenceVersion
    size: float

    @property
    def line(self) -> str:
        """One sentence that reports the change."""
        was, now = self.before, self.now
        if was.text == now.text:
            return tr(
                "Preference changed: “{text}” from {score:g} to {score2:g} of 10.",
                text=was.text,
                score=was.score,
                score2=now.score,
            )
        return tr(
            "Preference changed: “{old}” ({score:g} of 10) → “{new}” ({score2:g} of 10).",
            old=was.text,
            score=was.score,
            new=now.text,
            score2=now.score,
        )


def find_preference_shifts(
    history: Iterable[PreferenceVersion], now: float, since: Mapping[str, float] | None = None
) -> list[Shift]:
    """Return the preferences whose score changed by at least 3 within the last 30 days, the largest change first.

    Args:
        history: the versions of all preferences, in any order.
        since: by id, a later start of the comparison, such as the time of the last report.
    """
    of: dict[str, list[PreferenceVersion]] = {}
    for held in sorted(history, key=lambda held: held.at):
        of.setdefault(held.id, []).append(held)
    found: list[Shift] = []
    for id, versions in of.items():
        start = max(now - WITHIN_DAYS * DAY_S, (since or {}).get(id, 0.0))
        first = next((held for held in reversed(versions) if held.at <= start), versions[0])
        last = versions[-1]
        for _, size in find_shifts([first.score / MAX_SCORE], [last.score / MAX_SCORE]):
            found.append(Shift(id=id, before=first, now=last, size=size))
    return sorted(found, key=lambda shift: (-shift.size, shift.id))


def find_style_shifts(before: Mapping[str, float], after: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """Return (name, before, now) of each dimension that changed by at least 0.3, in the order of `before`."""
    names = [name for name in before if name in after]
    moved = find_shifts([before[name] for name in names], [after[name] for name in names])
    return [(names[place], before[names[place]], after[names[place]]) for place, _ in moved]


def list_preference_versions(versions: "Sequence[Version]") -> list[PreferenceVersion]:
    """Return all versions of the preferences that still exist, without versions that an undo removed."""
    holding = {version.record.id for version in versions if version.until is None}
    return [
        PreferenceVersion(
            id=version.record.id, text=version.record.content, score=version.record.score, at=version.since
        )
        for version in versions
        if version.record.id in holding and version.record.kind == "preference" and version.record.score is not None
        if version.because != "undone"
    ]


SHIFTS_FILE = "shifts.json"
_SNAPSHOT_DAYS = 7.0


class Snapshot(Struct, frozen=True, kw_only=True):
    """The style dimensions at one time, each 0.0 to 1.0."""

    at: float
    values: dict[str, float]


class ReportedShifts(Struct, frozen=True, kw_only=True):
    """The content of `shifts.json`.

    Attributes:
        preferences: the time of the last report, by id of the preference.
        styles: snapshots of each style vector by name, oldest first.
    """

    preferences: dict[str, float] = {}
    styles: dict[str, tuple[Snapshot, ...]] = {}


SHIFTS_FORMAT = DocumentFormat(schema="clio.shifts", version=1, type=ReportedShifts)


class Shifts:
    """Reports changes of preferences and style vectors, each once across all sessions and processes."""

    def __init__(self, home: Path, preferences: TypedStore, clock: Callable[[], float] = time.time) -> None:
        self._path = home / SHIFTS_FILE
        self._preferences = preferences
        self._clock = clock

    def take_new(self, styles: Mapping[str, Mapping[str, float]] | None = None) -> list[str]:
        """Return one sentence for each change of the last 30 days not reported yet, the largest of preferences first.

        Args:
            styles: the current vectors, by the name to show; a snapshot is saved for the next comparison.

        Raises:
            StorageError: if the file is damaged.
            OSError, TimeoutError: if it cannot be read, written or locked.
        """
        now = self._clock()
        history = list_preference_versions(self._preferences.versions())
        sentences: list[str] = []

        def update(reported: ReportedShifts) -> ReportedShifts:
            sentences.clear()
            start = now - WITHIN_DAYS * DAY_S
            recent = {id: at for id, at in reported.preferences.items() if at >= start}
            shifted = find_preference_shifts(history, now, recent)
            sentences.extend(shift.line for shift in shifted)
            kept = dict(reported.styles)
            for name, values in (styles or {}).items():
                kept[name], lines = _style(name, reported.styles.get(name, ()), values, now)
                sentences.extend(lines)
            new = ReportedShifts(preferences=recent | {shift.id: now for shift in shifted}, styles=kept)
            return reported if new == reported else new

        if history or styles:
            update_document(self._path, SHIFTS_FORMAT, update)
        return sentences


def _style(
    name: str, snapshots: tuple[Snapshot, ...], values: Mapping[str, float], now: float
) -> tuple[tuple[Snapshot, ...], list[str]]:
    """Return the snapshots to store, weekly and of the last 30 days, and the changes since the oldest of them."""
    recent = tuple(one for one in snapshots if now - one.at <= WITHIN_DAYS * DAY_S)
    moved = find_style_shifts(recent[0].values, values) if recent else []
    present = Snapshot(at=now, values=dict(values))
    if moved:
        lines = [
            f"Preferred style of answers ({name}) changed: {value.replace('_', ' ')} from {before:.1f} to {after:.1f}."
            for value, before, after in moved
        ]
        return (present,), lines
    if not recent or now - recent[-1].at >= _SNAPSHOT_DAYS * DAY_S:
        return (*recent, present), []
    return recent, []
