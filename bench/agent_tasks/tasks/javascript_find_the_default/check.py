"""Check that the answer has the effective number and its two sources, and that no file was changed."""

import re

from bench.agent_tasks.result import Result


def check(result: Result) -> None:
    """Add the problems of the result."""
    result.expect(re.search(r"\b56\b", result.answer), "the answer is not 56")
    result.expect("profiles.js" in result.answer, "the answer does not name src/config/profiles.js")
    result.expect("sender.js" in result.answer, "the answer does not name src/queue/sender.js")
    for path in result.list_changed_files():
        result.problems.append(f"{path} was changed")
