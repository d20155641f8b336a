"""Check the command line, that old files can be loaded, the README and the tests."""

from bench.agent_tasks.result import PYTHON, UNITTEST, Result

HIDDEN = """
import json, os, pathlib, subprocess, sys

os.environ |= {"TODO_FILE": "hidden.json", "TODO_TODAY": "2031-05-04"}

def todo(*words):
    return subprocess.run([sys.executable, "-B", "-m", "todo", *words], capture_output=True, text=True)

pathlib.Path("hidden.json").write_text(json.dumps([{"number": 1, "text": "old", "done": False}]))
assert todo("list").stdout == "  1 [ ] old\\n", "a list of the version before does not load"
assert todo("add", "late", "--due", "2031-05-03").returncode == 0, "add --due fails"
todo("add", "paid", "--due", "2031-05-02")
todo("done", "3")
todo("add", "today", "--due", "2031-05-04")
shown = todo("list").stdout
assert "  2 [ ] late (due 2031-05-03)\\n" in shown and "  1 [ ] old\\n" in shown, shown
assert todo("list", "--overdue").stdout == "  2 [ ] late (due 2031-05-03)\\n", todo("list", "--overdue").stdout
before = pathlib.Path("hidden.json").read_bytes()
refused = todo("add", "never", "--due", "2031-02-30")
assert refused.returncode == 2, refused
assert "Traceback" not in refused.stderr, refused.stderr
assert pathlib.Path("hidden.json").read_bytes() == before, "a refused item was stored"
"""


def check(result: Result) -> None:
    """Add the problems of the result."""
    result.expect_success("due dates do not work", [*PYTHON, "hidden.py"], files={"hidden.py": HIDDEN})
    result.expect_success("the project's tests fail", UNITTEST)
    result.expect("--due" in result.read("README.md"), "the README does not show --due")
    result.expect("--overdue" in result.read("README.md"), "the README does not show --overdue")
    tests = "".join(path.read_text(encoding="utf-8") for path in result.tree.glob("tests/**/*.py"))
    result.expect("overdue" in tests, "there is no test of --overdue")
