"""Write tests/slow_tests.txt and long_tests.txt from pytest's durations: `python -m tests.support.slow_tests FILE`."""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

LIMIT_S = 0.05
"""A test function is slow from this time on: set-up and tear-down included, of its slowest parameter."""
MANY_S = 0.3
"""A test function is slow too if all its parameters together take longer."""
LONG_S = 1.0
"""A test function is long from this time on, all its parameters together."""
WHOLE_FILES = ("tests/context/test_retention.py", "tests/test_architecture.py", "tests/torture/test_short.py")
"""Files in which the first test to run sets up for all, so that only the first is measured as slow."""
FOLDER = Path(__file__).parent.parent
SLOW_HEAD = """\
# Tests that `pytest -m fast` leaves out. Written by `make slow-tests`; see docs/development/tests.md.
"""
LONG_HEAD = """\
# Tests of which a run of all tests takes a sixth. Written by `make slow-tests`; see docs/development/tests.md.
"""

_DURATION = re.compile(r"^([0-9.]+)s (?:call|setup|teardown) +(tests/\S+::[^\n]+)$", re.MULTILINE)


def find_slow_tests(report: str) -> tuple[list[str], list[str]]:
    """Return the node ids, without parameters, of the slow and of the long functions in `pytest --durations=0`."""
    seconds: dict[str, float] = defaultdict(float)
    for taken, name in _DURATION.findall(report):
        seconds[name] += float(taken)
    slowest: dict[str, float] = defaultdict(float)
    together: dict[str, float] = defaultdict(float)
    for name, taken in seconds.items():
        function = name.partition("[")[0]
        slowest[function] = max(slowest[function], taken)
        together[function] += taken
    slow = {name for name in slowest if slowest[name] >= LIMIT_S or together[name] >= MANY_S}
    long = {name for name in together if together[name] >= LONG_S}
    return _with_whole_files(slow), _with_whole_files(long)


def _with_whole_files(names: Iterable[str]) -> list[str]:
    return sorted({*WHOLE_FILES, *(name for name in names if not name.startswith(WHOLE_FILES))})


if __name__ == "__main__":
    slow, long = find_slow_tests(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for name, head, found in (("slow_tests.txt", SLOW_HEAD, slow), ("long_tests.txt", LONG_HEAD, long)):
        (FOLDER / name).write_text(head + "".join(f"{one}\n" for one in found), encoding="utf-8")
        print(f"{len(found)} test functions in {name}")
