"""What stays when the window gets smaller, and what of it is shown shorter. Pure.

The results of the last steps and the newest part of the conversation stay as they are while they fit. Of what is older,
worthless results give way first, then the oldest units, then long texts in what is left; the words of the user never.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from clio.context.shrink import TOOL_FLOOR, apply_cuts, fit_units
from clio.context.units import Unit, recent_start, tail_start, task_index
from clio.messages import Message, UserMessage
from clio.tokens import message_units

_NEAR = 4.0  # worthless results are looked for in so many times what is to stay
_NEWEST_SHARE = 0.4  # of `hard`: what the newest step gets at least, where it has to be cut
_OLDER_SHARE = 0.08  # of `hard`: what each of the last steps before it gets at least, where they have to be cut
_FILLED_SHARE = 0.85  # of `hard`: how far steps that have to be cut fill it; the next one must not cut them again
_EDGE_SHARE = 0.04  # of `keep`: where less is left free, the oldest unit is not cut to fill it


class Goal(Struct, frozen=True, kw_only=True):
    """How small the window is to be; all are weights (see clio.tokens) of summary and history together.

    keep: to come down to. hard: not to be exceeded, though the user's own words may.
    head: of the summary now. summary: the most it may take once something left; least_summary: what it must be left.
    tail: what the contiguous tail may weigh in any case, however large the task's message is.
    steps: so many last steps stay as they are as long as they do not exceed `hard`.
    verbatim: the newest units stay as they are that weigh at most this together; where it is 0, nothing is cut to fill
        what is left free.
    least: leave only the task's message and the newest unit.
    """

    keep: float
    hard: float
    head: float
    summary: float
    least_summary: float = 0.0
    tail: float = 0.0
    steps: int = 0
    verbatim: float = 0.0
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


def _same(message: Message) -> Message:
    return message


def make_smaller(
    units: Sequence[Unit],
    goal: Goal,
    known: Mapping[str, int],
    whole: Callable[[Message], Message] = _same,
) -> Smaller:
    """What to do to reach the goal.

    known: how far messages are cut already; one line stays one. whole: a message as it is stored, where the units hold
    a shorter view of it.
    """
    shrunk: dict[str, int] = {}
    units, fixed = _keep_recent(units, goal, shrunk, whole)
    total = goal.head + _weight(units)
    if total > goal.keep and not goal.least:
        units, total = _without_worthless(units, fixed, total, goal, known, shrunk)
    plan = Plan(start=0)
    if goal.least:
        plan = plan_trim(units, 0.0)
    elif total > goal.keep:
        plan = _at_most(plan_trim(units, goal.keep - goal.summary, goal.tail), fixed, units)
        plan, units = _with_edge(plan, units, goal, shrunk, whole)
    kept = plan.kept(units)
    if _weight(kept) + goal.least_summary > goal.hard:
        plan, kept = _cut_to_fit(plan, units, goal, shrunk, whole)
    staying = {message.id for unit in kept for message in unit.messages}
    left = {key: chars for key, chars in shrunk.items() if key in staying or key.partition("#")[0] in staying}
    return Smaller(plan=plan, kept=kept, shrunk=left)


def _keep_recent(
    units: Sequence[Unit], goal: Goal, shrunk: dict[str, int], whole: Callable[[Message], Message]
) -> tuple[Sequence[Unit], int]:
    """The units, and index of the first that stays: the last steps as far as they fit, and the newest part.

    The newest come first. What does not fit whole is cut to what is left, less a little for the steps before it.
    """
    task, first = task_index(units), recent_start(units, goal.steps)
    left = goal.hard - goal.least_summary - (units[task].weight if task is not None else 0.0)
    spare, least = (1 - _FILLED_SHARE) * goal.hard, _OLDER_SHARE * goal.hard
    found, fixed, newest = list(units), len(units), True
    for index in range(len(units) - 1, first - 1, -1):
        weight, is_cut = 0.0 if index == task else units[index].weight, False
        if weight > left and not _is_user(units[index]):
            most = left - sum(min(each.weight, least) for each in units[first:index] if each.is_step)
            aim = max(most - spare, min(_NEWEST_SHARE * goal.hard if newest else least, left))
            cuts = fit_units([units[index]], aim, whole, most=most)
            unit = _cut(units[index], cuts, whole)
            weight, is_cut = unit.weight, newest or unit.weight <= left
            if is_cut:
                found[index] = unit
                shrunk |= cuts
        newest = newest and _is_user(units[index])
        if weight > left and not is_cut:
            break
        left -= weight
        fixed = index
    if goal.verbatim and not shrunk:
        fixed = min(fixed, _start_within(units, goal.verbatim))
    return found, fixed


def _start_within(units: Sequence[Unit], budget: float) -> int:
    """As `tail_start`, but the newest unit is left out where it is larger than the budget."""
    start = tail_start(units, budget)
    return start if _weight(units[start:]) <= budget else len(units)


def _without_worthless(
    units: Sequence[Unit], fixed: int, total: float, goal: Goal, known: Mapping[str, int], shrunk: dict[str, int]
) -> tuple[Sequence[Unit], float]:
    """The units with worthless results as one line each, as many as it takes; noted in `shrunk`. And the new total."""
    from clio.context.worthless import find_worthless

    near = tail_start(units, _NEAR * goal.keep)  # what is before that leaves in any case
    found = list(units)
    for each in find_worthless(units[near:], fixed - near):
        if total <= goal.keep:
            break
        cuts = {key: why for key, why in each.cuts.items() if key not in known}
        before = found[near + each.unit]
        after = _cut(before, cuts) if cuts else before
        if after.weight < before.weight:
            shrunk |= cuts
            total += after.weight - before.weight
            found[near + each.unit] = after
    return found, total


def _at_most(plan: Plan, start: int, units: Sequence[Unit]) -> Plan:
    """The plan, its tail beginning at `start` where it would begin later."""
    if plan.start <= start:
        return plan
    task = task_index(units)
    return Plan(start=start, task=task if task is not None and task < start else None)


def _with_edge(
    plan: Plan, units: Sequence[Unit], goal: Goal, shrunk: dict[str, int], whole: Callable[[Message], Message]
) -> tuple[Plan, Sequence[Unit]]:
    """The plan with one unit more, its outputs cut to what is left free of what may stay, where that is worth it."""
    edge = plan.start - 1
    free = goal.keep - goal.summary - _weight(plan.kept(units))
    if not goal.verbatim or edge < 0 or _is_user(units[edge]) or free < _EDGE_SHARE * goal.keep:
        return plan, units
    cuts = fit_units([units[edge]], free, whole, floor=TOOL_FLOOR)
    unit = _cut(units[edge], cuts, whole)
    if unit.weight > free:
        return plan, units
    shrunk |= cuts
    return Plan(start=edge, task=plan.task), [*units[:edge], unit, *units[edge + 1 :]]


def _cut_to_fit(
    plan: Plan, units: Sequence[Unit], goal: Goal, shrunk: dict[str, int], whole: Callable[[Message], Message]
) -> tuple[Plan, list[Unit]]:
    """Long texts cut until all of it fits."""
    kept = plan.kept(units)
    cuts = fit_units(kept, goal.hard - goal.least_summary, whole)
    shrunk |= cuts
    kept = cut_units(kept, cuts, whole)
    if _weight(kept) > goal.hard and len(kept) > 1 and not _is_user(kept[-1]):
        plan = Plan(start=len(units), task=task_index(units))  # too many small results to be cut
        kept = plan.kept(units)
    return plan, kept


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


def cut_units(
    units: Sequence[Unit], cuts: Mapping[str, int], whole: Callable[[Message], Message] = _same
) -> list[Unit]:
    """The units with these messages shown shorter."""
    if not cuts:
        return list(units)
    return [_cut(unit, cuts, whole) if any(m.id in cuts for m in unit.messages) else unit for unit in units]


def must_weigh(units: Sequence[Unit]) -> float:
    """Weight of what no trim touches: the task's message, and the newest unit where the user said that too."""
    task = task_index(units)
    weight = units[task].weight if task is not None else 0.0
    newest = len(units) - 1
    return weight + (units[newest].weight if units and newest != task and _is_user(units[newest]) else 0.0)


def _cut(unit: Unit, cuts: Mapping[str, int], whole: Callable[[Message], Message] = _same) -> Unit:
    messages = tuple(apply_cuts(whole(each) if each.id in cuts else each, cuts) for each in unit.messages)
    return Unit(messages=messages, weight=sum(map(message_units, messages)))


def _is_user(unit: Unit) -> bool:
    return isinstance(unit.messages[0], UserMessage)


def _weight(units: Sequence[Unit]) -> float:
    return sum(unit.weight for unit in units)
