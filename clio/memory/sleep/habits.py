"""Commands that are run again and again: which, and in which order, counted over many turns.

An occasion is one session on one day. What ran well on three of them is a habit. The counts are kept between nights in
a small state, so that no session is read twice; feeding the same turn again changes nothing.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from clio.memory.inert import one_line
from clio.memory.sleep.doings import doings_of
from clio.memory.sleep.experiences import Experience
from clio.memory.sleep.finding import QUOTE_CHARS, Finding
from clio.memory.sleep.habit_lines import Counted, counted, role_of
from clio.memory.sleep.outcomes import outcome_of
from clio.sessions.state import derived_id
from clio.text.formatting import truncate
from clio.text.scoring import DAY_S

MAX_HABITS = 600
"""Commands and orders that are counted at once; those seen on the fewest occasions, then the oldest, give way."""
MAX_OCCASIONS = 12
_LONGEST = 4
_JOINT = " → "


class Tally(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How often one command, or one order of commands, ran well.

    occasions: short hashes of session and day, at most `MAX_OCCASIONS`. of: the general form of an exact command.
    alone: whether it may be a habit by itself. session, message, at: where it ran last.
    """

    steps: tuple[str, ...]
    occasions: tuple[str, ...]
    of: str = ""
    alone: bool = True
    session: str = ""
    message: str = ""
    at: float = 0.0


class HabitState(Struct, frozen=True, kw_only=True):
    """What is counted so far, by the text of the command or the order. At most `MAX_HABITS` entries, no secrets."""

    tallies: dict[str, Tally] = {}


class Habits:
    """Counts commands over turns, in whatever order they come."""

    def __init__(self, state: HabitState | None = None) -> None:
        self._tallies = dict(state.tallies) if state is not None else {}

    @property
    def state(self) -> HabitState:
        """What is counted so far, to be kept until the next night."""
        self._make_room(MAX_HABITS)
        return HabitState(tallies=dict(self._tallies))

    def feed(self, experience: Experience) -> None:
        """Count the commands of one turn that ran well."""
        ran: list[Counted] = []
        for doing in doings_of(experience.messages):
            line = doing.deeds.command
            if doing.deeds.exit_code != 0 or not (commands := counted(line)):
                continue
            if outcome_of(0, doing.output, sure=True) == "passed":
                ran.extend(one for one in commands if not ran or ran[-1].general != one.general)
        if not ran:
            return
        occasion = derived_id(f"{experience.session} {int(experience.at // DAY_S)}".encode("utf-8", "replace"))[:8]
        for one in ran:
            if one.exact != one.general and one.exact:
                self._count(one.exact, (one.exact,), occasion, experience, of=one.general, alone=one.alone)
            self._count(one.general, (one.general,), occasion, experience, alone=one.alone)
        for steps in _orders(ran):
            self._count(_JOINT.join(steps), steps, occasion, experience)
        if len(self._tallies) > 2 * MAX_HABITS:
            self._make_room(MAX_HABITS)

    def findings(self, least: int = 3) -> list[Finding]:
        """The habits seen on at least so many occasions: single commands, then orders, the most frequent first."""
        usual = {key: tally for key, tally in self._tallies.items() if len(tally.occasions) >= least}
        single = [tally for tally in usual.values() if len(tally.steps) == 1 and tally.alone]
        # A general form says nothing where what was run is always the same.
        exact = {tally.of: tally for tally in single if tally.of}
        single = [tally for tally in single if tally.of or not _covers(exact.get(tally.steps[0]), tally, least)]
        orders = [tally for tally in usual.values() if len(tally.steps) > 1]
        orders = [one for one in orders if not any(_within(one, other) for other in orders)]
        return [_finding(tally) for tally in (*_ranked(single), *_ranked(orders))]

    def _count(
        self,
        key: str,
        steps: tuple[str, ...],
        occasion: str,
        experience: Experience,
        *,
        of: str = "",
        alone: bool = True,
    ) -> None:
        known = self._tallies.get(key)
        before = known.occasions if known else ()
        if occasion in before and known is not None and experience.at <= known.at:
            return
        occasions = before if occasion in before else (*before, occasion)[-MAX_OCCASIONS:]
        newest = known is None or experience.at >= known.at
        if known is not None and not newest:
            self._tallies[key] = msgspec.structs.replace(known, occasions=occasions)
            return
        self._tallies[key] = Tally(
            steps=steps,
            occasions=occasions,
            of=of,
            alone=alone,
            session=experience.session,
            message=experience.message,
            at=experience.at,
        )

    def _make_room(self, most: int) -> None:
        if len(self._tallies) > most:
            ranked = sorted(self._tallies.items(), key=lambda item: (-len(item[1].occasions), -item[1].at, item[0]))
            self._tallies = dict(ranked[:most])


def _orders(ran: list[Counted]) -> set[tuple[str, ...]]:
    """The orders of two to four different commands in what was run, each at least once something checked."""
    found: set[tuple[str, ...]] = set()
    names = [one.general for one in ran]
    for start in range(len(ran)):
        for size in range(2, _LONGEST + 1):
            part = names[start : start + size]
            if (
                len(part) == size
                and len(set(part)) == size
                and sum(one.alone for one in ran[start : start + size]) >= 1
            ):
                found.add(tuple(part))
    return found


def _covers(exact: Tally | None, general: Tally, least: int) -> bool:
    """Whether the exact form of a command is all that there is to its general form."""
    return exact is not None and len(set(general.occasions) - set(exact.occasions)) < least


def _within(one: Tally, other: Tally) -> bool:
    """Whether an order is a part of a longer one that is nearly as usual."""
    if len(one.steps) >= len(other.steps) or len(other.occasions) * 2 <= len(one.occasions):
        return False
    size = len(one.steps)
    return any(other.steps[place : place + size] == one.steps for place in range(len(other.steps) - size + 1))


def _ranked(tallies: Iterable[Tally]) -> list[Tally]:
    return sorted(tallies, key=lambda tally: (-len(tally.occasions), tally.steps))


def _finding(tally: Tally) -> Finding:
    if len(tally.steps) == 1:
        role = role_of(tally.steps[0])
        text = f"usual {role + ' ' if role else ''}command: `{one_line(tally.steps[0])}`"
    else:
        text = f"usual order: {_JOINT.join(role_of(step) or _short(step) for step in tally.steps)}"
    return Finding(
        kind="workflow",
        text=text,
        steps=tuple(one_line(step) for step in tally.steps),
        confidence=min(0.55 + 0.05 * len(tally.occasions), 0.9),
        asserted_by="model",
        quote=truncate(_JOINT.join(tally.steps), QUOTE_CHARS),
        session=tally.session,
        message=tally.message,
        at=tally.at,
    )


def _short(step: str) -> str:
    return " ".join(word for word in step.split()[:2] if not word.startswith("-"))
