"""How much of the window the conversation may fill, and when it is too much.

Source: seed 004 with 75 % and 50 % of the *room*, not of the window.
"""

import math

from msgspec import Struct

from clio.errors import ContextOverflow
from clio.providers.base import Limits
from clio.tokens import TokenEstimator

PROACTIVE, TARGET = 0.75, 0.50
REACTIVE = (0.50, 0.25, 0.0)
"""Shares of what was sent that the retries after an overflow keep; 0.0 is the minimum that makes sense."""
SUMMARY_SHARE = 0.08
_LARGEST_RESERVE, _RESERVE_SHARE = 16_384, 0.125


class Budget(Struct, frozen=True, kw_only=True):
    """One window divided up; all numbers are estimated tokens.

    room: what is left of the window for summary and history after the answer, the tools and the system prompt.
    """

    window: int
    reserve: int
    fixed: int

    @property
    def room(self) -> int:
        """Tokens for summary and history; may be zero or less on a window that is too small."""
        return self.window - self.reserve - self.fixed

    @property
    def proactive(self) -> int:
        """Above this many tokens of summary and history the oldest go."""
        return math.floor(self.room * PROACTIVE)

    @property
    def target(self) -> int:
        """How many tokens a trim leaves."""
        return math.floor(self.room * TARGET)

    @property
    def summary(self) -> int:
        """The most a thread summary may take."""
        return math.floor(self.window * SUMMARY_SHARE)


def make_budget(limits: Limits, fixed_units: float, estimator: TokenEstimator) -> Budget:
    """The division of a model's window. The answer's share is an eighth of it, at most what the model can write."""
    reserve = min(limits.max_output_tokens, _LARGEST_RESERVE, int(limits.context_window * _RESERVE_SHARE))
    return Budget(window=limits.context_window, reserve=reserve, fixed=estimator.tokens(fixed_units))


def too_small(budget: Budget, words: int) -> ContextOverflow:
    """The error for a window in which the user's own words, `words` tokens, do not fit."""
    needed = budget.fixed + words + budget.reserve
    return ContextOverflow(
        f"the window of {budget.window:,} tokens is too small: prompt and tools take {budget.fixed:,}, your message "
        f"{words:,} and the answer {budget.reserve:,}, together {needed:,}; shorten the message, or use a model with "
        "a larger window",
        limit_tokens=budget.window,
        sent_tokens=needed,
    )


def nothing_smaller(refusal: ContextOverflow, budget: Budget, conversation: int) -> ContextOverflow:
    """The error for a server that refuses even the smallest request there is."""
    return ContextOverflow(
        f"{refusal}; the smallest request for this message has about {budget.fixed + conversation:,} tokens (prompt "
        f"and tools {budget.fixed:,}, conversation {conversation:,}): use a model with a larger window",
        limit_tokens=refusal.limit_tokens,
        sent_tokens=budget.fixed + conversation,
    )
