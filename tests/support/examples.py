"""Number of examples of property tests, and samples of long lists of cases."""

import random
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

T = TypeVar("T")


def examples(least: int) -> settings:
    """Run at least this many examples, for faults that few examples find; `make fuzz` runs more."""
    return settings(max_examples=max(least, settings().max_examples))


def is_fuzzing() -> bool:
    """Return whether this is `make fuzz`, which may take long."""
    return settings().max_examples >= 1_000


def sample(cases: Sequence[T], count: int, seed: object = 0) -> Sequence[T]:
    """Return `count` of the cases in their order, the same in every run; with `make fuzz` all of them.

    A test that uses it has the marker `sampled`, by which `make fuzz` finds it. Another seed takes other cases.
    """
    if is_fuzzing() or count >= len(cases):
        return cases
    return [cases[place] for place in sorted(random.Random(repr(seed)).sample(range(len(cases)), count))]
