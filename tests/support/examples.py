"""How many examples a property is held against, and how many cases of a long list a test takes."""

import random
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

T = TypeVar("T")


def examples(least: int) -> settings:
    """At least so many: for a fault that few examples meet. `make fuzz` asks for more, and gets more."""
    return settings(max_examples=max(least, settings().max_examples))


def is_fuzzing() -> bool:
    """Return whether this is `make fuzz`, which takes as long as it takes."""
    return settings().max_examples >= 1_000


def sample(cases: Sequence[T], count: int, seed: object = 0) -> Sequence[T]:
    """Return `count` of the cases in their order, the same in every run; with `make fuzz` all of them.

    A test that uses it has the marker `sampled`, by which `make fuzz` finds it. Another seed takes other cases.
    """
    if is_fuzzing() or count >= len(cases):
        return cases
    return [cases[place] for place in sorted(random.Random(repr(seed)).sample(range(len(cases)), count))]
