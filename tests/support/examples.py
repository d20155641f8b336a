"""How many examples a property is held against."""

from hypothesis import settings


def examples(least: int) -> settings:
    """At least so many: for a fault that few examples meet. `make fuzz` asks for more, and gets more."""
    return settings(max_examples=max(least, settings().max_examples))
