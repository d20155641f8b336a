"""Write tests/slow_tests.txt from the durations that pytest reports: `python -m tests.support.slow_tests FILE`."""

import re
import sys
from collections import defaultdict
from pathlib import Path

LIMIT_S = 0.05
"""A test function is slow from here on: set-up and tear-down included, the slowest of its parameters."""
MANY_S = 0.3
"""A test function is slow as well if all its parameters together take longer."""
WHOLE_FILES = ("tests/context/test_retention.py", "tests/test_architecture.py", "tests/torture/test_short.py")
"""Files in which whichever test runs first pays for all of them, so that only the first is measured as slow."""
TARGET = Path(__file__).parent.parent / "slow_tests.txt"
HEAD = """\
# Tests that `pytest -m fast` leaves out. Written by `make slow-tests`; see docs/development/tests.md.
"""

_DURATION = re.compile(r"^([0-9.]+)s (?:call|setup|teardown) +(tests/\S+::[^\n]+)$", re.MULTILINE)


def find_slow_tests(report: str) -> list[str]:
    """Return the test functions (node ids without parameters) that are slow according to `pytest --durations=0`."""
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
    return sorted({*WHOLE_FILES, *(name for name in slow if not name.startswith(WHOLE_FILES))})


if __name__ == "__main__":
    found = find_slow_tests(Path(sys.argv[1]).read_text(encoding="utf-8"))
    TARGET.write_text(HEAD + "".join(f"{name}\n" for name in found), encoding="utf-8")
    print(f"{len(found)} slow test functions")
