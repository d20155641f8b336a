"""What one person likes, dislikes and forbids: memories of type preference with a score, by the preferences document.

The score says how much; the weight is the score as it has faded since it was last reinforced. Up to 1.5 it is a hard
limit, which no limit, no filter of rank and no fading keeps out of a prompt.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from heapq import nsmallest
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from clio.errors import UserError
from clio.ids import new_id
from clio.memory.preferences.scenarios import ScenarioBook
from clio.memory.store.record import Action, MemoryRecord, Provenance, Remembered, check_content, cleaned_tags, short
from clio.memory.store.typed_store import TypedStore
from clio.text.scoring import (
    DAY_S,
    DEFAULT_FLOOR,
    DEFAULT_HALF_LIFE_DAYS,
    DEFAULT_SCORE,
    HARD_LIMIT,
    bands_of,
    check_decay,
    check_score,
    decay_coefficient,
    in_ranges,
    is_cooled_down,
    ranges_of,
    smoothed,
    weight_of,
)

Touch = Literal["touched", "cooldown", "not_found"]
DEFAULT_TOP = 10


class Fading(Struct, frozen=True, kw_only=True):
    """How preferences fade. Raises ValueError for values that cannot be: half-life above 0, floor from 0 to below 1."""

    half_life_days: float = DEFAULT_HALF_LIFE_DAYS
    floor: float = DEFAULT_FLOOR

    def __post_init__(self) -> None:
        check_decay(self.half_life_days, self.floor)


class Weighed(Struct, frozen=True, kw_only=True):
    """A preference and how heavy it is now. coefficient: d(t), from 1.0 when just reinforced down to the floor."""

    record: MemoryRecord
    score: float
    coefficient: float
    weight: float

    @property
    def bands(self) -> tuple[str, ...]:
        """The bands of its score."""
        return bands_of(self.score)


class Preferences:
    """The preferences in a person's store. Raises UserError for what cannot be; else what the store raises."""

    def __init__(
        self,
        store: TypedStore,
        scenarios: ScenarioBook,
        fading: Fading | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._scenarios = scenarios
        self.fading = fading or Fading()
        self._clock = clock

    @property
    def path(self) -> Path:
        """The file they are in, with the person's other memories."""
        return self._store.path

    @property
    def book(self) -> ScenarioBook:
        """The scenarios they are sorted by."""
        return self._scenarios

    def add(
        self,
        item: str,
        reason: str = "",
        score: float = DEFAULT_SCORE,
        *,
        keywords: Sequence[str] = (),
        scenarios: Sequence[str] = (),
        explicit: bool = False,
        provenance: Provenance | None = None,
    ) -> Remembered:
        """Note a preference, or reinforce the one of that name: smoothed where inferred, set where said as a rule.

        Tags given are added to those it has. The same words, however written, are the same preference; a rule also
        takes the place of what it is about, as "never use tabs" does of "tabs" and of "always use tabs". What is only
        inferred reinforces a rule and does not move it.
        """
        content, score = check_content(item), _score(score)
        known = self._named(content) or (self._same_thing(content) if explicit else None)
        tags = tuple(self._scenarios.resolve(name) for name in cleaned_tags(scenarios))
        now = self._clock()
        if known is None:
            record = MemoryRecord(
                id=new_id(),
                type="preference",
                content=content,
                importance=1.0 if explicit else 0.7,
                score=score,
                reason=reason.strip(),
                keywords=cleaned_tags(keywords),
                scenarios=tuple(dict.fromkeys((*tags, *self._scenarios.tags(keywords)))),
                created=now,
                updated=now,
                accessed=now,
                seen=now,
                explicit=explicit,
                provenance=provenance,
            )
            self._store.put(f"remembered “{short(record)}”", (record,))
            return Remembered(record=record, action="new")
        old = known.score if known.score is not None else score
        stays = known.explicit and not explicit
        record = structs.replace(
            known,
            content=content if explicit else known.content,
            importance=1.0 if explicit else known.importance,
            reason=reason.strip() or known.reason,
            score=old if stays else smoothed(old, score, explicit=explicit),
            keywords=cleaned_tags((*known.keywords, *keywords)),
            scenarios=tuple(dict.fromkeys((*known.scenarios, *tags))),
            updated=now,
            accessed=now,
            seen=now,
            version=known.version + 1,
            explicit=explicit or known.explicit,
            provenance=provenance or known.provenance,
        )
        [record] = self._store.put(f"reinforced “{short(record)}”", (record,), "reinforced")
        action: Action = "merged"
        return Remembered(record=record, action=action, old=known)

    def all(self) -> list[Weighed]:
        """Every preference, the heaviest first."""
        now = self._clock()
        return sorted((self._weigh(record, now) for record in self._records()), key=_heaviest)

    def top(self, count: int = DEFAULT_TOP, types: Sequence[str] = (), scenario: str | None = None) -> list[Weighed]:
        """The `count` heaviest; of these bands, and of this scenario, where asked. Changes nothing."""
        return self.recall("", types=types, scenario=scenario, limit=count)

    def recall(
        self,
        query: str = "",
        *,
        types: Sequence[str] = (),
        scenario: str | None = None,
        min_score: float | None = None,
        limit: int | None = None,
        touch: bool = False,
    ) -> list[Weighed]:
        """Preferences by the query, as one stretch of text in item, reason or keywords; by bands, scenario and score.

        scenario: those tagged with it, and those that have one of its words. touch: what is found counts as
        reinforced, twelve hours after the last time. Bands whose range `min_score` empties give nothing.
        """
        ranges = _ranges(types, min_score)
        now = self._clock()
        fitting = (
            self._weigh(record, now)
            for record in self._records()
            if _says(record, query) and (not scenario or self._belongs(record, scenario))
        )
        weighed = (one for one in fitting if ranges is None or in_ranges(one.score, ranges))
        found = sorted(weighed, key=_heaviest) if limit is None else nsmallest(max(limit, 0), weighed, key=_heaviest)
        if touch and found:
            self.apply([one.record.id for one in found])
        return found

    def hard_limits(self) -> list[MemoryRecord]:
        """What must never be done, the oldest first: independent of scenario, weight and any limit."""
        found = [record for record in self._records() if record.score is not None and record.score <= HARD_LIMIT]
        return sorted(found, key=lambda record: (record.created, record.id))

    def apply(self, ids: Sequence[str]) -> list[tuple[str, Touch]]:
        """Say that these were used: reinforced twelve hours after the last time, or later. Each id counts once."""
        now = self._clock()
        known = {record.id: record for record in self._records()}
        results: list[tuple[str, Touch]] = []
        touched: list[MemoryRecord] = []
        for id in dict.fromkeys(ids):
            record = known.get(id)
            if record is None:
                results.append((id, "not_found"))
            elif not is_cooled_down(now - record.seen):
                results.append((id, "cooldown"))
            else:
                touched.append(structs.replace(record, seen=now, accessed=now, touch_count=record.touch_count + 1))
                results.append((id, "touched"))
        self._store.put(f"reinforced {len(touched)} preferences", touched)
        return results

    def touch(self, item: str) -> Touch:
        """The same for the preference of that name."""
        record = self._named(item)
        return self.apply([record.id])[0][1] if record else "not_found"

    def update(
        self,
        id: str,
        *,
        item: str | None = None,
        reason: str | None = None,
        score: float | None = None,
        keywords: Sequence[str] | None = None,
        scenarios: Sequence[str] | None = None,
    ) -> MemoryRecord:
        """Set what is given. Raises UserError where nothing is."""
        fields: dict[str, object] = {}
        if item is not None:
            other = self._named(item)
            if other is not None and other.id != id:
                raise UserError(f"there is a preference {other.content!r} already; remove one of them first")
            fields["content"] = item
        if reason is not None:
            fields["reason"] = reason.strip()
        if score is not None:
            fields["score"] = _score(score)
        if keywords is not None:
            fields["keywords"] = cleaned_tags(keywords)
        if scenarios is not None:
            fields["scenarios"] = tuple(self._scenarios.resolve(name) for name in cleaned_tags(scenarios))
        return self._store.update(id, **fields)

    def clear(self) -> int:
        """Put all preferences into the archive, as one change to undo; how many there were."""
        ids = [record.id for record in self._records()]
        return self._store.forget_all(ids, f"cleared {len(ids)} preferences")

    def remove(self, id: str) -> bool:
        """Put a preference into the archive; False where there is none of that id."""
        return self._store.forget(id)

    def find(self, wanted: str) -> MemoryRecord:
        """The preference of that item or id. Raises UserError."""
        named = self._named(wanted)
        if named is not None:
            return named
        record = self._store.find(wanted)
        if record.type != "preference":
            raise UserError(f"{wanted!r} is a {record.type}, not a preference; `/memory` is for those")
        return record

    def keywords(self) -> dict[str, int]:
        """Each keyword with how many preferences have it, the commonest first."""
        return _counted(keyword for record in self._records() for keyword in record.keywords)

    def scenarios(self) -> dict[str, int]:
        """Each scenario with how many preferences are tagged with it; those nobody uses too."""
        used = _counted(name for record in self._records() for name in record.scenarios)
        return used | {name: 0 for name in self._scenarios.names if name not in used}

    def _records(self) -> Iterable[MemoryRecord]:
        return self._store.each("preference")

    def _named(self, item: str) -> MemoryRecord | None:
        wanted = " ".join(item.casefold().split())
        return next((one for one in self._records() if " ".join(one.content.casefold().split()) == wanted), None)

    def _same_thing(self, item: str) -> MemoryRecord | None:
        """What a rule about the same takes the place of: the rule before, else the liking."""
        from clio.memory.preferences.stance import thing

        wanted = thing(item)
        found = [record for record in self._records() if thing(record.content) == wanted]
        return max(found, key=lambda record: record.explicit) if found else None

    def _weigh(self, record: MemoryRecord, now: float) -> Weighed:
        score = DEFAULT_SCORE * record.importance if record.score is None else record.score
        days = max(now - record.seen, 0.0) / DAY_S
        coefficient = decay_coefficient(days, self.fading.half_life_days, self.fading.floor)
        return Weighed(record=record, score=score, coefficient=coefficient, weight=weight_of(score, coefficient))

    def _belongs(self, record: MemoryRecord, scenario: str) -> bool:
        name = self._scenarios.resolve(scenario)
        if record.scenarios:
            return name in record.scenarios
        return self._scenarios.says(name, f"{record.content} {record.reason} {' '.join(record.keywords)}")


def _heaviest(one: Weighed) -> tuple[float, float, str]:
    return -one.weight, -one.score, one.record.content.casefold()


def _score(score: float) -> float:
    try:
        return check_score(score)
    except (ValueError, TypeError) as error:
        raise UserError(str(error)) from error


def _ranges(types: Sequence[str], min_score: float | None) -> tuple[tuple[float, float], ...] | None:
    """The ranges of scores asked for; None where any will do."""
    try:
        if types:
            return ranges_of(types, min_score)
        return None if min_score is None else ((_score(min_score), 10.0),)
    except ValueError as error:
        raise UserError(str(error)) from error


def _says(record: MemoryRecord, query: str) -> bool:
    wanted = query.strip().casefold()
    return any(wanted in text.casefold() for text in (record.content, record.reason, *record.keywords))


def _counted(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
