"""How much of a model's window the conversation may take: from the model's limits, what stands before it, and servers.

A server that refuses a request, or takes one and bills it, tells more than was known: that counts from then on.
Weights are in units (see clio.tokens) unless tokens are named.
"""

import math
from collections.abc import Sequence

from msgspec import structs

from clio.context.budget import Budget, make_budget, too_small
from clio.context.builder import Built, ContextBuilder, is_compact
from clio.context.trim import must_weigh
from clio.context.units import Unit, recent_start, task_index
from clio.errors import ContextOverflow
from clio.providers.base import NAMED, REFUSED, SMALLEST_WINDOW, Limits

_SUMMARY_ROOM = 0.25  # of the room: on small windows 8 % of the window would be most of what is left
_LEAST_GAP = 0.4  # of the room, where the user's words or the last steps take most of it
RECENT_STEPS = 3
"""The results of so many last steps stay in the window as they are, as long as they fit."""


class WindowRoom:
    """The room of one model's window beside the builder's prompt and tools; grows when the builder's prompt shrinks."""

    def __init__(self, limits: Limits, builder: ContextBuilder) -> None:
        self._limits = limits
        self._builder = builder
        self._estimator = builder.estimator
        self._refused_units = 0.0

    @property
    def limits(self) -> Limits:
        """Of the model, as far as is known by now."""
        return self._limits

    def narrow(self, limits: Limits) -> None:
        """Take no more than another model can as well."""
        window = min(limits.context_window, self._limits.context_window)
        output = min(limits.max_output_tokens, self._limits.max_output_tokens)
        self._limits = Limits(context_window=window, max_output_tokens=output, source=limits.source)
        self._refused_units = 0.0

    def copy_state(self) -> tuple[Limits, float]:
        """What is known about the window, for `restore_state`."""
        return self._limits, self._refused_units

    def restore_state(self, state: tuple[Limits, float]) -> None:
        """Know what was known when the state was copied."""
        self._limits, self._refused_units = state

    @property
    def budget(self) -> Budget:
        """The window divided up, in tokens."""
        return make_budget(self._limits, self._builder.fixed_units, self._estimator)

    @property
    def size(self) -> float:
        """The most that summary and history may weigh."""
        return self._units_of(max(self.budget.room, 0))

    @property
    def target(self) -> float:
        """The weight a trim leaves."""
        return self._units_of(self.budget.target)

    @property
    def summary_tokens(self) -> int:
        """The most tokens the summary may take."""
        budget = self.budget
        return max(min(budget.summary, math.floor(budget.room * _SUMMARY_ROOM)), 0)

    @property
    def summary(self) -> float:
        """The same as a weight."""
        return self._units_of(self.summary_tokens)

    def trigger(self, units: Sequence[Unit]) -> float:
        """Weight above which a trim is due: 75 % of the room, more where what stays in any case takes most of it."""
        size = self.size
        start, task = recent_start(units, RECENT_STEPS), task_index(units)
        recent = sum(unit.weight for unit in units[start:])
        if task is not None and task < start:
            recent += units[task].weight
        least = max(recent, must_weigh(units)) + self.summary + _LEAST_GAP * size
        return min(max(self._units_of(self.budget.proactive), least), size)

    def make_for(self, units: Sequence[Unit]) -> None:
        """See to it that the user's words fit, beside a smaller prompt if need be. Raises ContextOverflow."""
        while must_weigh(units) > self._units_of(self.budget.room):
            if not self._builder.use_smaller():
                raise too_small(self.budget, self._estimator.tokens(must_weigh(units)))

    def refused(self, built: Built, error: ContextOverflow) -> None:
        """Learn what a refusal says about the window and about the estimate."""
        limit = error.limit_tokens or 0
        counted = error.sent_tokens or (limit if limit >= self._limits.context_window else 0)
        self._estimator.learn(built.units, counted)
        if limit >= SMALLEST_WINDOW:
            self._lower(limit, NAMED)
        else:
            self._refused_units = min(self._refused_units or built.units, built.units)

    def filled(self, tokens: int) -> None:
        """Learn that a request and its answer took the whole window, and how many tokens that was."""
        if tokens >= SMALLEST_WINDOW:
            self._lower(tokens, NAMED)

    def accepted(self, built: Built, prompt_tokens: int) -> bool:
        """Learn from a request a server took, and from its bill; says whether the ratio changed.

        After refusals the smallest refused request tells how large the window can be at most.
        """
        if self._refused_units:
            self._lower(self._estimator.tokens(self._refused_units), REFUSED)
            self._refused_units = 0.0
        return self._estimator.learn(built.units, prompt_tokens)

    def _units_of(self, tokens: float) -> float:
        return tokens * self._estimator.ratio

    def _lower(self, tokens: int, source: str) -> None:
        if tokens < self._limits.context_window:
            self._limits = structs.replace(self._limits, context_window=tokens, source=source)
        if is_compact(self._limits) and not self._builder.prefix.compact:
            self._builder.use_smaller()
