"""A text of at most so many tokens, where only the weight it is to have can be asked for."""

from collections.abc import Callable

from clio.tokens import TokenEstimator

_TRIES, _MARGIN = 8, 0.98


def within(budget_tokens: int, estimator: TokenEstimator, make: Callable[[float], str]) -> str:
    """What `make` gives, of at most `budget_tokens` by the estimator; empty where it never gets that small.

    make: called with the most the text may weigh, in units (see clio.tokens); "" where nothing fits.
    """
    room = budget_tokens * estimator.ratio
    for _ in range(_TRIES):
        text = make(room)
        tokens = estimator.text(text) if text else 0
        if tokens <= budget_tokens:
            return text
        # The estimator finds the whole denser than prose, for its hashes and paths: so much less of it fits.
        room *= _MARGIN * budget_tokens / tokens
    return ""
