"""Check that the error has the code that follows from the first session."""

from bench.agent_tasks.result import PYTHON, UNITTEST, Result

HIDDEN = """
import re
from orders.errors import OrderError
from orders.place import place_order

try:
    place_order("Grace Hopper", [])
except OrderError as error:
    found = re.findall(r"ORD-[0-9]+", str(error))
    assert found == ["ORD-4108"], f"the code is {found}"
    assert "Grace" not in str(error), "the message contains customer data"
else:
    raise AssertionError("an empty basket is accepted")
assert place_order("ada", [(3, 2)]) == 6
"""


def check(result: Result) -> None:
    """Add the problems of the result."""
    result.expect_success("the error is not as agreed", [*PYTHON, "hidden.py"], files={"hidden.py": HIDDEN})
    result.expect_success("the project's tests fail", UNITTEST)
    tests = "".join(path.read_text(encoding="utf-8") for path in result.tree.glob("tests/**/*.py"))
    result.expect(tests.count("def test_") >= 2, "there is no test of the empty basket")
