"""Check that both symptoms are fixed, also for random bookings, and that tests were added."""

from bench.agent_tasks.result import PYTHON, UNITTEST, Result

HIDDEN = """
import random
from rooms import free_slots

assert free_slots([(540, 600), (600, 660)]) == [(480, 540), (660, 1080)]
assert free_slots([(480, 900), (540, 600)]) == [(900, 1080)]
random.seed(7)
for _ in range(300):
    starts = random.sample(range(400, 1100), random.randint(0, 6))
    bookings = [(start, start + random.randint(1, 200)) for start in starts]
    slots = free_slots(bookings)
    free = {minute for start, end in slots for minute in range(start, end)}
    taken = {minute for start, end in bookings for minute in range(start, end)}
    assert free == set(range(480, 1080)) - taken, (bookings, slots)
    assert all(start < end for start, end in slots), (bookings, slots)
    assert all(a[1] < b[0] for a, b in zip(slots, slots[1:])), (bookings, slots)
"""


def check(result: Result) -> None:
    """Add the problems of the result."""
    result.expect_success("free_slots is still wrong", [*PYTHON, "hidden.py"], files={"hidden.py": HIDDEN})
    result.expect_success("the project's tests fail", UNITTEST)
    before = (result.start / "tests" / "test_schedule.py").read_text(encoding="utf-8").count("def test_")
    after = sum(path.read_text(encoding="utf-8").count("def test_") for path in result.tree.glob("tests/**/*.py"))
    result.expect(after >= before + 2, "two tests were asked for")
    result.expect_only_changed("rooms", "tests")
