"""Draws docs/tour/*.svg: eleven moments of a real clio in a real terminal, working with a scripted model.

python docs/make_tour.py [NAME ...]        all of them, or those of these names
"""

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from picture_stage import ROOT, stage

from tests.support.chat_server import Reply, stall, tool_calls
from tests.support.chat_server import text as words

FOLDER = ROOT / "docs" / "tour"
FILES = {
    ".gitignore": "__pycache__/\n.clio/\n",
    "prices.py": 'def total(prices, discount):\n    """Sum after a discount in percent."""\n'
    "    return sum(prices) - discount\n",
    "test_prices.py": "from prices import total\n\n\ndef test_total():\n    assert total([40, 60], 10) == 90\n\n\n"
    "def test_discount_is_a_share():\n    assert total([100, 100], 10) == 180\n",
}
RUN = ("run_command", {"command": "pytest -q"})
READ = ("read_file", {"path": "prices.py"})
FIX = ("edit_file", {"path": "prices.py", "old_string": "- discount", "new_string": "* (100 - discount) / 100"})
TABLE = """\
`total` in `prices.py` sums first and discounts **once**, at the end:

| basket | discount | 合計 | verdict |
|---|---:|---:|---|
| 40 + 60 | 10 % | 90 | ✅ right by luck |
| 100 + 100 | 10 % | 190 | ❌ should be 180 |

It subtracts the number instead of the share. What it should say:

```python
def total(prices, discount):
    \"\"\"Sum after a discount in percent.\"\"\"
    return sum(prices) * (100 - discount) / 100
```
"""
FIXED = "The discount is a percentage now (`prices.py:3`)."
PLAN = (
    "todo_operations",
    {
        "operation": "write",
        "todos": [
            {"title": "count in whole cents"},
            {"title": "round half to even, 端数処理"},
            {"title": "test odd sums and empty baskets"},
        ],
    },
)


def say(answer: str) -> Reply:
    """The model's words, billed by the same numbers whatever the prompt is."""
    return words(answer, usage=(5_400, 96, 4_096))


def call(*calls: tuple[str, dict[str, object]]) -> Reply:
    """The model's calls, billed likewise."""
    return tool_calls(calls, usage=(5_120, 48, 4_096))


def first_start() -> str:
    """Nothing was ever configured but a key."""
    with stage([], FILES, lines=12, visited=False) as on:
        return on.picture()


def question() -> str:
    """An answer with a table and code."""
    with stage([call(READ), say(TABLE)], FILES, lines=32) as on:
        on.ask("what does total() do with the discount?", "2 requests")
        return on.picture()


def approval() -> str:
    """A change is shown before it is made."""
    with stage([call(READ), call(FIX), say(FIXED)], FILES) as on:
        on.terminal.line("make the discount a percentage")
        on.wait_question("edit prices.py")
        return on.picture()


def command() -> str:
    """A command that was allowed, and its output."""
    answer = "One of two tests fails: `total([100, 100], 10)` gives 190 instead of 180."
    with stage([call(RUN), say(answer)], FILES) as on:
        on.terminal.line("run the tests")
        on.answer("pytest -q", "y")
        on.terminal.wait_for("2 requests")
        on.settle()
        return on.picture()


def context() -> str:
    """What fills the model's window."""
    with stage([call(READ), say("It subtracts a percentage as if it were an amount.")], FILES, lines=32) as on:
        on.ask("look at prices.py", "2 requests")
        on.ask("/context", "none so far")
        return on.picture()


def memory() -> str:
    """A wish is kept, and said to be."""
    with stage([say("Understood: whole cents."), say("Half to even, in whole cents.")], FILES, lines=32) as on:
        on.ask("never use floats for money", "1 request")
        on.ask("how should totals be rounded?", "even, in whole cents.")
        on.ask("/memory why", "tokens.")
        return on.picture()


def steering() -> str:
    """Words typed while it works."""
    with stage([call(READ), stall("I look at how `total` is used first, then I change")], FILES) as on:
        on.terminal.line("make the discount a percentage")
        on.terminal.wait_for("is used first")
        on.terminal.line("then write the changelog")
        on.terminal.wait_for("queued 1")
        on.terminal.line("!keep the signature as it is")
        on.terminal.wait_for("steering")
        on.terminal.send("and run the")
        on.settle(2.0)
        picture = on.picture()
        on.terminal.key("escape")
        return picture


def undo() -> str:
    """A turn is taken back."""
    with stage([call(FIX), say(FIXED)], FILES, lines=40, options=("--approve", "edits")) as on:
        on.ask("make the discount a percentage", "2 requests")
        on.ask("/undo", "restores it")
        return on.picture()


def plan() -> str:
    """A plan before any change."""
    with stage([call(READ), call(PLAN), say("Three steps; approve them, and I begin.")], FILES, lines=32) as on:
        on.terminal.line("/plan")
        on.settle()
        on.terminal.line("count money in whole cents")
        on.terminal.wait_for("yes, approval mode")
        on.settle()
        return on.picture()


def cost() -> str:
    """What it came to."""
    with stage([call(READ), say("It subtracts an amount."), say("No: a share is meant.")], FILES, lines=32) as on:
        on.ask("look at prices.py", "2 requests")
        on.ask("is it right?", "1 request")
        on.ask("/cost", "project, 30 days")
        return on.picture()


def picker() -> str:
    """A list to choose from: the points to go back to."""
    with stage(
        [call(READ), say("It subtracts an amount."), call(FIX), say(FIXED)], FILES, options=("--approve", "edits")
    ) as on:
        on.ask("what does total() do with the discount?", "2 requests")
        on.ask("make the discount a percentage", "2 requests")
        on.terminal.line("/rewind")
        on.terminal.wait_for("enter to choose")
        on.settle()
        picture = on.picture()
        on.terminal.key("escape")
        return picture


SCENES: dict[str, Callable[[], str]] = {
    "01-first-start": first_start,
    "02-question": question,
    "03-approval": approval,
    "04-command": command,
    "05-context": context,
    "06-memory": memory,
    "07-steering": steering,
    "08-undo": undo,
    "09-plan": plan,
    "10-cost": cost,
    "11-rewind": picker,
}


def main(names: list[str]) -> int:
    """Draw them."""
    FOLDER.mkdir(exist_ok=True)
    for name, scene in SCENES.items():
        if not names or any(wanted in name for wanted in names):
            (FOLDER / f"{name}.svg").write_text(scene(), encoding="utf-8")
            sys.stdout.write(f"docs/tour/{name}.svg\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
