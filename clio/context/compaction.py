"""How much of the window the conversation may fill, and what stays when it gets smaller."""

import math
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, structs

from clio.context.message_views import (
    MIN_TOOL_CHARS,
    Unit,
    apply_cuts,
    find_recent_start,
    find_tail_start,
    find_task_index,
    fit_units,
)
from clio.context.request_builder import BuiltRequest, ContextBuilder, is_compact
from clio.errors import ContextOverflow
from clio.messages import Message, UserMessage
from clio.providers.base import LIMIT_NAMED, LIMIT_REFUSED, SMALLEST_WINDOW, ModelLimits
from clio.text.translation import tr
from clio.tokens import TokenEstimator, message_units

PROACTIVE_SHARE, TARGET_SHARE = 0.75, 0.50
REACTIVE_SHARES = (0.50, 0.25, 0.0)
"""Shares of the refused conversation that the retries after an overflow send; 0.0 is the smallest useful request."""
SUMMARY_SHARE = 0.08
_LARGEST_RESERVE, _RESERVE_SHARE = 16_384, 0.125


class WindowBudget(Struct, frozen=True, kw_only=True):
    """One window divided into parts; all numbers are estimated tokens.

    Attributes:
        window: size of the window.
        reserve: kept free for the answer.
        fixed: system prompt and tools.
    """

    window: int
    reserve: int
    fixed: int

    @property
    def room(self) -> int:
        """Tokens for summary and history; may be zero or negative if the window is too small."""
        return self.window - self.reserve - self.fixed

    @property
    def trim_above(self) -> int:
        """When summary and history exceed this many tokens, the oldest messages leave the window."""
        return math.floor(self.room * PROACTIVE_SHARE)

    @property
    def target(self) -> int:
        """Tokens that a trim leaves."""
        return math.floor(self.room * TARGET_SHARE)

    @property
    def max_summary(self) -> int:
        """Limit for the thread summary in tokens."""
        return math.floor(self.window * SUMMARY_SHARE)


def make_window_budget(limits: ModelLimits, fixed_units: float, estimator: TokenEstimator) -> WindowBudget:
    """Divide a model's window. The answer gets an eighth of it, at most what the model can write."""
    # Models state up to 128,000 tokens of output; reserving all of it would leave little of the window.
    reserve = min(limits.max_output_tokens, _LARGEST_RESERVE, int(limits.context_window * _RESERVE_SHARE))
    return WindowBudget(window=limits.context_window, reserve=reserve, fixed=estimator.convert_units(fixed_units))


def make_too_small_error(budget: WindowBudget, words: int) -> ContextOverflow:
    """Return the error for a window into which the user's own text, `words` tokens, does not fit."""
    needed = budget.fixed + words + budget.reserve
    return ContextOverflow(
        tr(
            "the context window of {window:,} tokens is too small: {needed:,} are needed (prompt and tools "
            "{fixed:,}, your message {words:,}, answer {reserve:,}); shorten the message, or use a model "
            "with a larger window",
            window=budget.window,
            fixed=budget.fixed,
            words=words,
            reserve=budget.reserve,
            needed=needed,
        ),
        limit_tokens=budget.window,
        sent_tokens=needed,
    )


def make_nothing_smaller_error(refusal: ContextOverflow, budget: WindowBudget, conversation: int) -> ContextOverflow:
    """Return the error for a server that refuses even the smallest possible request."""
    return ContextOverflow(
        tr(
            "{refusal}; the smallest request for this message has about {fixed:,} tokens (prompt and "
            "tools {fixed2:,}, conversation {conversation:,}): use a model with a larger window",
            refusal=refusal,
            fixed=budget.fixed + conversation,
            fixed2=budget.fixed,
            conversation=conversation,
        ),
        limit_tokens=refusal.limit_tokens,
        sent_tokens=budget.fixed + conversation,
    )


_NEAR_FACTOR = 4.0  # worthless results are searched only in the newest units, up to this many times `keep`
_NEWEST_SHARE = 0.4  # of `hard`: minimum for the newest step if it must be cut
_OLDER_SHARE = 0.08  # of `hard`: minimum for each of the last steps before it if they must be cut
_FILLED_SHARE = 0.85  # of `hard`: how far cut steps fill it, so that the next step does not cut them again
_MIN_EDGE_SHARE = 0.04  # of `keep`: if less is free, the oldest unit is not cut to fill it


class TrimGoal(Struct, frozen=True, kw_only=True):
    """How small the window must become. All values are weights (see clio.tokens) of summary and history together.

    Attributes:
        keep: weight to reach.
        hard: weight not to be exceeded, except by the user's own text.
        current_summary: weight of the current summary.
        max_summary: limit for the summary once something has left the window.
        min_summary: minimum that must remain for the summary.
        min_tail: weight the contiguous tail may have in any case, however large the task's message is.
        recent_steps: number of last steps that stay unchanged as long as they do not exceed `hard`.
        verbatim: the newest units up to this weight stay unchanged; if 0, nothing is cut to fill free space.
        is_minimal: keep only the task's message and the newest unit.
    """

    keep: float
    hard: float
    current_summary: float
    max_summary: float
    min_summary: float = 0.0
    min_tail: float = 0.0
    recent_steps: int = 0
    verbatim: float = 0.0
    is_minimal: bool = False


class TrimPlan(Struct, frozen=True, kw_only=True):
    """What stays: the units from `start` on, and before them the message that states the task.

    task: index of that message's unit if it is before the tail; None if it is in the tail or does not exist.
    """

    start: int
    task: int | None = None

    def select_kept(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the units that stay, in order."""
        tail = list(units[self.start :])
        return tail if self.task is None else [units[self.task], *tail]


class SmallerWindow(Struct, frozen=True, kw_only=True):
    """A smaller window: which units stay, and how far which of their messages are cut (see `apply_cuts`)."""

    plan: TrimPlan
    kept: list[Unit]
    shrunk: dict[str, int]


def _same(message: Message) -> Message:
    return message


def plan_smaller_window(
    units: Sequence[Unit],
    goal: TrimGoal,
    known: Mapping[str, int],
    whole: Callable[[Message], Message] = _same,
) -> SmallerWindow:
    """Return how to reach the goal.

    Args:
        known: how far messages are already cut; a message that is one line stays one line.
        whole: returns the stored message for a shortened view of it.
    """
    shrunk: dict[str, int] = {}
    units, fixed = _keep_recent(units, goal, shrunk, whole)
    total = goal.current_summary + _weight(units)
    if total > goal.keep and not goal.is_minimal:
        units, total = _shorten_worthless(units, fixed, total, goal, known, shrunk)
    plan = TrimPlan(start=0)
    if goal.is_minimal:
        plan = plan_trim(units, 0.0)
    # Results without further use have already become one line each; only now do whole units leave.
    elif total > goal.keep:
        plan = _limit_start(plan_trim(units, goal.keep - goal.max_summary, goal.min_tail), fixed, units)
        plan, units = _add_edge_unit(plan, units, goal, shrunk, whole)
    kept = plan.select_kept(units)
    if _weight(kept) + goal.min_summary > goal.hard:
        plan, kept = _cut_to_fit(plan, units, goal, shrunk, whole)
    # Cuts of messages that leave would only grow the session file.
    staying = {message.id for unit in kept for message in unit.messages}
    left = {key: chars for key, chars in shrunk.items() if key in staying or key.partition("#")[0] in staying}
    return SmallerWindow(plan=plan, kept=kept, shrunk=left)


def _keep_recent(
    units: Sequence[Unit], goal: TrimGoal, shrunk: dict[str, int], whole: Callable[[Message], Message]
) -> tuple[Sequence[Unit], int]:
    """Return the units, long ones cut, and the index of the first that stays in any case.

    The last steps stay as far as they fit, the newest first. A step that does not fit whole is cut to the remaining
    space, less a reserve for the steps before it.
    """
    task, first = find_task_index(units), find_recent_start(units, goal.recent_steps)
    left = goal.hard - goal.min_summary - (units[task].weight if task is not None else 0.0)
    spare, least = (1 - _FILLED_SHARE) * goal.hard, _OLDER_SHARE * goal.hard
    kept_units, fixed, newest = list(units), len(units), True
    for index in range(len(units) - 1, first - 1, -1):
        weight, is_cut = 0.0 if index == task else units[index].weight, False
        if weight > left and not _is_user(units[index]):
            # One huge result would otherwise take the space of the two steps before it, which the model still works
            # with.
            most = left - sum(min(each.weight, least) for each in units[first:index] if each.is_step)
            aim = max(most - spare, min(_NEWEST_SHARE * goal.hard if newest else least, left))
            cuts = fit_units([units[index]], aim, whole, most=most)
            unit = _cut(units[index], cuts, whole)
            weight, is_cut = unit.weight, newest or unit.weight <= left
            if is_cut:
                kept_units[index] = unit
                shrunk |= cuts
        newest = newest and _is_user(units[index])
        if weight > left and not is_cut:
            break
        left -= weight
        fixed = index
    # If the last steps already had to be cut, there is no space to keep more than those unchanged.
    if goal.verbatim and not shrunk:
        fixed = min(fixed, _find_start_within(units, goal.verbatim))
    return kept_units, fixed


def _find_start_within(units: Sequence[Unit], budget: float) -> int:
    """Like `find_tail_start`, but excludes the newest unit if it exceeds the budget."""
    start = find_tail_start(units, budget)
    return start if _weight(units[start:]) <= budget else len(units)


def _shorten_worthless(
    units: Sequence[Unit], fixed: int, total: float, goal: TrimGoal, known: Mapping[str, int], shrunk: dict[str, int]
) -> tuple[Sequence[Unit], float]:
    """Return the units with as many worthless results as needed shown as one line, and the new weight.

    The cuts are added to `shrunk`.
    """
    from clio.context.worthless import find_worthless_results

    near = find_tail_start(units, _NEAR_FACTOR * goal.keep)  # everything before that leaves the window in any case
    shortened = list(units)
    for each in find_worthless_results(units[near:], fixed - near):
        if total <= goal.keep:
            break
        # A result that is one line already frees nothing a second time.
        cuts = {key: why for key, why in each.cuts.items() if key not in known}
        before = shortened[near + each.unit]
        after = _cut(before, cuts) if cuts else before
        if after.weight < before.weight:
            shrunk |= cuts
            total += after.weight - before.weight
            shortened[near + each.unit] = after
    return shortened, total


def _limit_start(plan: TrimPlan, start: int, units: Sequence[Unit]) -> TrimPlan:
    """Return the plan with its tail starting at `start` at the latest."""
    if plan.start <= start:
        return plan
    task = find_task_index(units)
    return TrimPlan(start=start, task=task if task is not None and task < start else None)


def _add_edge_unit(
    plan: TrimPlan, units: Sequence[Unit], goal: TrimGoal, shrunk: dict[str, int], whole: Callable[[Message], Message]
) -> tuple[TrimPlan, Sequence[Unit]]:
    """Return the plan with one more unit, its outputs cut to the free space, if that is worthwhile."""
    edge = plan.start - 1
    free = goal.keep - goal.max_summary - _weight(plan.select_kept(units))
    if not goal.verbatim or edge < 0 or _is_user(units[edge]) or free < _MIN_EDGE_SHARE * goal.keep:
        return plan, units
    # Units have very different sizes, so the last one that left may have left much of the space unused.
    cuts = fit_units([units[edge]], free, whole, floor=MIN_TOOL_CHARS)
    unit = _cut(units[edge], cuts, whole)
    if unit.weight > free:
        return plan, units
    shrunk |= cuts
    return TrimPlan(start=edge, task=plan.task), [*units[:edge], unit, *units[edge + 1 :]]


def _cut_to_fit(
    plan: TrimPlan, units: Sequence[Unit], goal: TrimGoal, shrunk: dict[str, int], whole: Callable[[Message], Message]
) -> tuple[TrimPlan, list[Unit]]:
    """Cut long texts until everything fits."""
    kept = plan.select_kept(units)
    cuts = fit_units(kept, goal.hard - goal.min_summary, whole)
    shrunk |= cuts
    kept = shorten_units(kept, cuts, whole)
    if _weight(kept) > goal.hard and len(kept) > 1 and not _is_user(kept[-1]):
        plan = TrimPlan(start=len(units), task=find_task_index(units))  # there are too many small results to be cut
        kept = plan.select_kept(units)
    return plan, kept


def plan_trim(units: Sequence[Unit], keep: float, least_tail: float = 0.0) -> TrimPlan:
    """Return the longest contiguous tail that fits beside the task's message.

    The newest unit and the task's message stay even if they weigh more.

    Args:
        keep: weight of everything that stays.
        least_tail: weight the tail may have in any case.
    """
    if not units:
        return TrimPlan(start=0)
    task = find_task_index(units)
    start = find_tail_start(units, keep)
    if task is None or task >= start:
        return TrimPlan(start=start)
    # The task's message may be far before the tail and counts against the same space.
    start = max(start, find_tail_start(units, max(keep - units[task].weight, least_tail)))
    return TrimPlan(start=start, task=task)


def shorten_units(
    units: Sequence[Unit], cuts: Mapping[str, int], whole: Callable[[Message], Message] = _same
) -> list[Unit]:
    """Return the units with these messages shortened."""
    if not cuts:
        return list(units)
    return [_cut(unit, cuts, whole) if any(m.id in cuts for m in unit.messages) else unit for unit in units]


def weigh_untrimmable(units: Sequence[Unit]) -> float:
    """Return the weight of what no trim removes: the task's message, and the newest unit if it is also the user's."""
    task = find_task_index(units)
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


_SUMMARY_ROOM = 0.25  # of the room: on small windows 8 % of the window would be most of what is left
_LEAST_GAP_OF_LONG_TASK = 0.4  # of the room, if the user's text or the last steps take most of it
RECENT_STEPS = 3
"""The results of this many last steps stay unchanged as long as they fit."""


class WindowRoom:
    """The space in one model's window beside prompt and tools; grows when the builder's prompt becomes smaller."""

    def __init__(self, limits: ModelLimits, builder: ContextBuilder) -> None:
        self._limits = limits
        self._builder = builder
        self._estimator = builder.estimator
        self._refused_units = 0.0

    @property
    def limits(self) -> ModelLimits:
        """Limits of the model, as far as they are known."""
        return self._limits

    def reduce_limits(self, limits: ModelLimits) -> None:
        """Reduce the limits to those that another model can handle as well."""
        window = min(limits.context_window, self._limits.context_window)
        output = min(limits.max_output_tokens, self._limits.max_output_tokens)
        self._limits = ModelLimits(context_window=window, max_output_tokens=output, source=limits.source)
        self._refused_units = 0.0

    def copy_state(self) -> tuple[ModelLimits, float]:
        """Return what is known about the window, for `restore_state`."""
        return self._limits, self._refused_units

    def restore_state(self, state: tuple[ModelLimits, float]) -> None:
        """Restore a state returned by `copy_state`."""
        self._limits, self._refused_units = state

    @property
    def budget(self) -> WindowBudget:
        """The window divided into parts, in tokens."""
        return make_window_budget(self._limits, self._builder.fixed_units, self._estimator)

    @property
    def size(self) -> float:
        """Maximum weight of summary and history."""
        return self._units_of(max(self.budget.room, 0))

    @property
    def target(self) -> float:
        """Weight that a trim leaves."""
        return self._units_of(self.budget.target)

    @property
    def max_summary_tokens(self) -> int:
        """Limit for the summary in tokens."""
        # In a small window the prompt and the tools take most of it, so a share of the whole window would leave no
        # history.
        budget = self.budget
        return max(min(budget.max_summary, math.floor(budget.room * _SUMMARY_ROOM)), 0)

    @property
    def max_summary(self) -> float:
        """Limit for the summary as a weight."""
        return self._units_of(self.max_summary_tokens)

    def get_trim_threshold(self, units: Sequence[Unit]) -> float:
        """Return the weight above which a trim is due.

        It is 75 % of the room, or more if what stays in any case takes most of it.
        """
        size = self.size
        start, task = find_recent_start(units, RECENT_STEPS), find_task_index(units)
        recent = sum(unit.weight for unit in units[start:])
        if task is not None and task < start:
            recent += units[task].weight
        # While the last steps alone exceed 75 % of the room, a trim in each step would free almost nothing and cost the
        # prompt cache each time.
        least = max(recent, weigh_untrimmable(units)) + self.max_summary + _LEAST_GAP_OF_LONG_TASK * size
        return min(max(self._units_of(self.budget.trim_above), least), size)

    def make_fit(self, units: Sequence[Unit]) -> None:
        """Make the user's text fit, with a smaller prompt if needed. Raises ContextOverflow."""
        while weigh_untrimmable(units) > self._units_of(self.budget.room):
            if not self._builder.use_smaller_prefix():
                raise make_too_small_error(self.budget, self._estimator.convert_units(weigh_untrimmable(units)))

    def learn_from_refusal(self, built: BuiltRequest, error: ContextOverflow) -> None:
        """Learn the window size and the token ratio from a refusal."""
        limit = error.limit_tokens or 0
        counted = error.sent_tokens or (limit if limit >= self._limits.context_window else 0)
        self._estimator.learn_from_bill(built.units, counted)
        if limit >= SMALLEST_WINDOW:
            self._lower(limit, LIMIT_NAMED)
        else:
            # Without a number in the refusal, the smallest refused request is an upper limit of the window.
            self._refused_units = min(self._refused_units or built.units, built.units)

    def learn_full_window(self, tokens: int) -> None:
        """Record that a request and its answer filled the whole window, and with how many tokens."""
        if tokens >= SMALLEST_WINDOW:
            self._lower(tokens, LIMIT_NAMED)

    def learn_from_acceptance(self, built: BuiltRequest, prompt_tokens: int) -> bool:
        """Learn from a request the server accepted and from its bill; return whether the token ratio changed.

        After refusals, the smallest refused request is an upper limit for the window.
        """
        if self._refused_units:
            self._lower(self._estimator.convert_units(self._refused_units), LIMIT_REFUSED)
            self._refused_units = 0.0
        return self._estimator.learn_from_bill(built.units, prompt_tokens)

    def _units_of(self, tokens: float) -> float:
        return tokens * self._estimator.ratio

    def _lower(self, tokens: int, source: str) -> None:
        if tokens < self._limits.context_window:
            self._limits = structs.replace(self._limits, context_window=tokens, source=source)
        # In a window this small the full prompt and all tools would leave no space for the conversation.
        if is_compact(self._limits) and not self._builder.prefix.compact:
            self._builder.use_smaller_prefix()
