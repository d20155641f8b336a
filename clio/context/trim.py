"""What stays when the window gets smaller, and what of it is shown shorter. Pure.

Stale tool outputs give way first, then the oldest units, then long texts in what is left; the words of the user never.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from clio.context.shrink import STALE, fit_units, shortened, stale_results
from clio.context.units import Unit, tail_start, task_index
from clio.messages import Message, UserMessage
from clio.tokens import message_units

_NEAR = 4.0  # stale outputs are looked for in so many times what is to stay


class Goal(Struct, frozen=True, kw_only=True):
    """How small the window is to be; all are weights (see clio.tokens) of summary and history together.

    keep: to come down to. hard: not to be exceeded, though the user's own words may.
    head: of the summary now. summary: the most it may take once something left. tail: what the contiguous tail may
        weigh in any case, however large the task's message is.
    least: leave only the task's message and the newest unit.
    """

    keep: float
    hard: float
    head: float
    summary: float
    tail: float = 0.0
    least: bool = False


class Plan(Struct, frozen=True, kw_only=True):
    """What stays: the units from `start` on, and before them the message that says what is being worked on.

    task: index of that message's unit where it lies before the tail; None where it is in the tail, or nowhere.
    """

    start: int
    task: int | None = None

    def kept(self, units: Sequence[Unit]) -> list[Unit]:
        """The units that stay, in their order."""
        tail = list(units[self.start :])
        return tail if self.task is None else [units[self.task], *tail]


class Smaller(Struct, frozen=True, kw_only=True):
    """A smaller window: which units stay, and how far which of their messages are cut (see `shrink`)."""

    plan: Plan
    kept: list[Unit]
    shrunk: dict[str, int]


def make_smaller(
    units: Sequence[Unit], goal: Goal, known: Mapping[str, int], weigh: Callable[[Message], float]
) -> Smaller:
    """What to do to reach the goal. `known`: how far messages are cut already; a placeholder stays one."""
    near = tail_start(units, _NEAR * goal.keep)  # what lies before leaves in any case
    shrunk = {id: STALE for id in stale_results(units[near:]) if id not in known}
    units = cut_units(units, shrunk)
    plan = Plan(start=0)
    if goal.least or goal.head + _weight(units) > goal.keep:
        plan = plan_trim(units, 0.0 if goal.least else goal.keep - goal.summary, goal.tail)
    kept = plan.kept(units)
    summary = goal.summary if plan.start else goal.head
    if _weight(kept) + summary > goal.hard:
        must = must_weigh(kept)
        left = min(goal.hard, max(goal.keep, must + summary + goal.tail)) - min(summary, max(goal.hard - must, 0.0) / 2)
        cuts = fit_units(kept, left, weigh)
        shrunk |= cuts
        kept = cut_units(kept, cuts)
        if _weight(kept) > goal.hard and len(kept) > 1 and not _is_user(kept[-1]):
            plan = Plan(start=len(units), task=task_index(units))  # too many small results to be cut
            kept = plan.kept(units)
    staying = {message.id for unit in kept for message in unit.messages}
    return Smaller(plan=plan, kept=kept, shrunk={id: chars for id, chars in shrunk.items() if id in staying})


def plan_trim(units: Sequence[Unit], keep: float, least_tail: float = 0.0) -> Plan:
    """The longest contiguous tail that fits beside the task's message.

    keep: weight of all that stays. least_tail: what the tail may weigh in any case.
    The newest unit and the task's message stay even where they weigh more than that.
    """
    if not units:
        return Plan(start=0)
    task = task_index(units)
    start = tail_start(units, keep)
    if task is None or task >= start:
        return Plan(start=start)
    start = max(start, tail_start(units, max(keep - units[task].weight, least_tail)))
    return Plan(start=start, task=task)


def cut_units(units: Sequence[Unit], cuts: Mapping[str, int]) -> list[Unit]:
    """The units with these messages shown shorter."""
    if not cuts:
        return list(units)
    return [_cut(unit, cuts) if any(m.id in cuts for m in unit.messages) else unit for unit in units]


def must_weigh(units: Sequence[Unit]) -> float:
    """Weight of what no trim touches: the task's message, and the newest unit where the user said that too."""
    task = task_index(units)
    weight = units[task].weight if task is not None else 0.0
    newest = len(units) - 1
    return weight + (units[newest].weight if units and newest != task and _is_user(units[newest]) else 0.0)


def _cut(unit: Unit, cuts: Mapping[str, int]) -> Unit:
    messages = tuple(shortened(each, cuts[each.id]) if each.id in cuts else each for each in unit.messages)
    return Unit(messages=messages, weight=sum(map(message_units, messages)))


def _is_user(unit: Unit) -> bool:
    return isinstance(unit.messages[0], UserMessage)


def _weight(units: Sequence[Unit]) -> float:
    return sum(unit.weight for unit in units)
