"""What is said about prices; imported with the commands' names, so it needs next to nothing itself."""

from clio.algorithms.stored_time import format_stored_time

SHOWN = "~/.clio/prices.yaml"
"""The user's own file, as it is named to them."""
OLD_DAYS = 180
"""A price nobody has looked up for so long is told to be old."""
_STATES_COST = frozenset(("openrouter",))


def states_cost(server: str) -> bool:
    """Whether the server says with each answer what it cost."""
    return server in _STATES_COST


def unknown_price(server: str, model: str) -> str:
    """What to do about a model without a price, as the rest of a sentence."""
    return (
        f"the price of {model} at {server} is not known: add it to {SHOWN}, such as "
        f'"{server}": {{"{model}": {{input: 1, cached: 0.1, output: 5}}}}, in dollars a million tokens'
    )


def day_of(seconds: float) -> str:
    """The local day of a moment, as "2026-11-05"."""
    return format_stored_time("%Y-%m-%d", seconds)
