"""List the tests that a run skipped, and fail if one should have run: `python -m tests.support.skipped_tests FILE`.

FILE is the report of `pytest --junitxml=FILE`. tests/allowed_skips.txt lists the reasons expected on a machine that
has everything the suite can use.
"""

import argparse
import re
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ALLOWED = Path(__file__).parent.parent / "allowed_skips.txt"


def read_skips(report: str) -> Counter[tuple[str, str]]:
    """Count the skipped tests of a JUnit report by file and reason."""
    skips: Counter[tuple[str, str]] = Counter()
    for case in ElementTree.fromstring(report).iter("testcase"):
        if (skipped := case.find("skipped")) is not None:
            # A module that is skipped as a whole is a case without a class.
            module = case.get("classname") or case.get("name") or ""
            skips[module.replace(".", "/") + ".py", skipped.get("message") or ""] += 1
    return skips


def read_allowed(text: str, platform: str) -> list[re.Pattern[str]]:
    """Return the patterns of reasons that are expected on this platform (a value of `sys.platform`)."""
    lines = (line.partition(": ") for line in text.splitlines() if line and not line.startswith("#"))
    return [re.compile(pattern) for systems, _, pattern in lines if {platform, "all"} & set(systems.split())]


def find_unexpected(skips: Counter[tuple[str, str]], allowed: list[re.Pattern[str]]) -> list[tuple[str, str]]:
    """Return the file and reason of each skip that no pattern allows, in order."""
    return sorted(key for key in skips if not any(pattern.search(key[1]) for pattern in allowed))


def render_summary(skips: Counter[tuple[str, str]], unexpected: list[tuple[str, str]]) -> str:
    """Return the skips as a Markdown table, those that should have run first."""
    total = sum(skips.values())
    rows = [f"{total} tests skipped, {sum(skips[key] for key in unexpected)} of them should run here", ""]
    if skips:
        rows += ["| tests | file | reason | |", "|--:|---|---|---|"]
    order = [*unexpected, *sorted(set(skips) - set(unexpected))]
    rows += [f"| {skips[key]} | {key[0]} | {key[1]} | {'**should run**' * (key in unexpected)} |" for key in order]
    return "\n".join(rows) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Print the table, append it to the summary, and return 1 if a test should have run."""
    parser = argparse.ArgumentParser(description="Fail if a test was skipped that should have run.")
    parser.add_argument("report", type=Path)
    parser.add_argument("--summary", type=Path, help="file the table is appended to")
    parser.add_argument("--platform", default=sys.platform)
    options = parser.parse_args(arguments)
    if not options.report.is_file():
        print(f"{options.report} is missing: the tests did not run", file=sys.stderr)
        return 1
    skips = read_skips(options.report.read_text(encoding="utf-8"))
    unexpected = find_unexpected(skips, read_allowed(ALLOWED.read_text(encoding="utf-8"), options.platform))
    table = render_summary(skips, unexpected)
    print(table)
    if options.summary:
        with options.summary.open("a", encoding="utf-8") as file:
            file.write(table)
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
