"""Check that the unchanged tests of the start pass, and the function also works for other amounts."""

from bench.agent_tasks.result import PYTHON, UNITTEST, Result

HIDDEN = """
import random
from decimal import Decimal
from money import split
from money.rounding import to_cents

random.seed(3)
for _ in range(300):
    amount = Decimal(random.randint(0, 100_000)) / 100
    weights = [random.randint(1, 9) for _ in range(random.randint(1, 8))]
    shares = split(amount, weights)
    assert sum(shares) == amount, (amount, weights, shares)
    for share, weight in zip(shares, weights):
        assert abs(share - amount * weight / sum(weights)) < Decimal("0.011"), (amount, weights, shares)
for cents in range(0, 400):
    assert to_cents(Decimal(cents) / 100 + Decimal("0.005")) == Decimal(cents + 1) / 100, cents
"""


def check(result: Result) -> None:
    """Add the problems of the result."""
    result.expect_unchanged("tests")
    result.expect_success("the tests of the start fail", UNITTEST, keep_tests=True)
    result.expect_success("other amounts are wrong", [*PYTHON, "hidden.py"], files={"hidden.py": HIDDEN})
    result.expect_only_changed("money", "tests")
