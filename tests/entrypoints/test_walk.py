"""Every state of the terminal at three widths: the typed keys, and the recorded screen.

tests/support/walk.py explains how the screens are recorded again, and what is checked on each in addition.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from tests.entrypoints.repl_support import Place
from tests.support.chat_server import (
    ChatServer,
    Part,
    Pause,
    Recorded,
    Reply,
    Script,
    chunk,
    error,
    stall,
    text,
    tool_calls,
)
from tests.support.harness import make_repository
from tests.support.walk import IDLE, STEADY, Step, Walk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
SIZES = {40: 20, 80: 24, 120: 44}
"""Columns, with the lines of the terminal."""
BILL = (5_400, 96, 4_096)
PRICES = (
    'def total(prices, discount):\n    """合計: sum after a discount in percent 🎉."""\n'
    + "    return sum(prices) - discount\n"
    + "".join(f"\n\ndef rule_{number}(price):\n    return price * {number}\n" for number in range(4))
)
CHECK = """
for n in 1 2 3 4 5; do echo step $n of 5; done
while [ ! -e ../go ]; do sleep 0.02; done
for n in 1 2; do echo tests/test_$n.py passed; done
echo 'E   AssertionError: total was 190, not 180'
for n in 1 2 3 4; do echo done $n; done
exit 1
"""
FILES = {
    ".gitignore": ".clio/\n",
    "prices.py": PRICES,
    "価格表/一覧.py": "価格 = [40, 60]\n",
    "cafe\u0301.md": "# Cafe\u0301\n\nopen till late\n",
    "🎉 party.md": "cake\n",
    "check.sh": CHECK,
    "tests/test_prices.py": "from prices import total\n",
}
ANSWER = """# Totals

`total` in `prices.py` discounts **once**, 端数処理 at the end. See [the rules](https://example.org/rules?lang=ja).

| basket | discount | 合計 | verdict |
|---|---:|:---:|---|
| 40 + 60 | 10 % | 90 | ✅ right by luck |
| cafe\u0301 au lait + 漢字の本 | 100 % | 0 | ❌ should be 180 |
| 👩‍💻 + 🇯🇵 | 5 % | 1 | ⚠️ unclear |

1. one
   - nested, long enough to be wrapped at the edge of a narrow screen and further
2. two

```python
def total(prices, discount):
    \"\"\"合計: sum after a discount, 🎉 in percent, and a long line that goes over the edge of the screen.\"\"\"
    return sum(prices) * (100 - discount) / 100
```

> quoted 引用
"""
EDITED = (
    PRICES.replace("- discount", "* (100 - discount) / 100").replace("🎉", "🎊").replace("price * 3", "price * 4  # 四")
)
TODOS = ["count in whole cents", "round half to even, 端数処理 for all the currencies there are", "test odd sums 🎉"]


PROGRESS = [{"id": 1, "status": "completed"}, {"id": 2, "status": "in_progress"}]


class Gates:
    """Points at which an answer waits until the walk has seen enough."""

    def __init__(self) -> None:
        self.opened = 0
        self.passed = 0

    def open(self, walk: Walk) -> None:
        """Let the answer continue."""
        self.opened += 1

    def wait(self) -> Iterator[Part]:
        """Return a part of an answer: silence until the gate is open."""
        self.passed += 1
        number = self.passed
        while self.opened < number:
            yield Pause(0.01)


gates = Gates()


def gated_answer(*parts: str | dict[str, Any]) -> Reply:
    """Return an answer that waits at a gate after each of these texts or chunks except the last, a text."""

    def render(request: Recorded) -> Iterator[Part]:
        for part in parts[:-1]:
            yield chunk(part if isinstance(part, dict) else {"content": part})
            yield from gates.wait()
        yield from list(text(str(parts[-1]), usage=BILL).render(request))

    return Reply(render)


def calls(*wanted: tuple[str, dict[str, Any]]) -> Reply:
    return tool_calls(wanted, usage=BILL)


def run(command: str) -> Reply:
    return calls(("run_command", {"command": command}))


def say(words: str) -> Reply:
    return text(words, usage=BILL)


def idle(before: str) -> str:
    """Return a pattern for this text followed by an idle, empty line."""
    return rf"{before}{IDLE}"


def resume_narrower(walk: Walk) -> None:
    """Continue the answer in a terminal of fewer columns."""
    walk.resize(walk.columns - 7)
    gates.open(walk)


AT_PROMPT = rf"\A{IDLE}"


def touch(name: str) -> Callable[[Walk], None]:
    """Let the command continue that waits for this file."""
    return lambda walk: (Path(walk.terminal.cwd) / name).touch()


EXPLORE = calls(
    ("read_file", {"path": "prices.py"}),
    ("read_file", {"path": "価格表/一覧.py"}),
    ("read_file", {"path": "cafe\u0301.md"}),
    ("search_text", {"pattern": "no such word anywhere in all of this project, 漢字漢字漢字漢字漢字"}),
)
ASK = {"question": "Which rounding?", "options": ["half to even", "half up, as the old till does", "always down"]}
THOUGHT = "I look at total first.\n\nThen 端数処理.\n"

TALK = (
    Step(name="first-start", shows=r"for commands[\s\S]*❯ Ask[^\n]*\n+test-model · ask"),
    Step(name="mistyped", typed="/contxt⏎", shows=idle("/context"), since="❯ /contxt"),
    Step(name="help", typed="/help⏎", shows=idle("keys"), since="❯ /help"),
    # an answer; a terminal that becomes narrower may cut what is above
    Step(typed="/clear⏎", act=Walk.forget, shows=r"\A\n*❯ Ask"),
    Step(
        name="waiting",
        typed="what is 合計 of cafe\u0301 🎉?⏎",
        replies=[
            gated_answer(
                {}, {"reasoning_content": THOUGHT}, ANSWER[: ANSWER.index("| 👩")], ANSWER[ANSWER.index("| 👩") :]
            )
        ],
        shows="waiting",
    ),
    Step(act=gates.open, shows="thinking"),
    Step(name="thinking", typed="⌃t", shows="Then 端数処理"),
    Step(name="narrow", act=resume_narrower, shows="漢字[\\s\\S]*writing"),
    Step(name="streaming", act=lambda walk: walk.resize(walk.columns), shows="漢字[\\s\\S]*writing"),
    Step(name="answer", act=gates.open, shows=idle("1 request"), since="❯ what is"),
    # typing
    Step(name="mention-menu", typed="why @pr", shows="prices.py[\\s\\S]*test-model"),
    Step(name="mention-wide", typed="⇥ and @価", shows="一覧"),
    Step(name="mention-combining", typed="⇥ and @cafe", shows=r"caf\u00e9\.md\n❯ [^\n]*@cafe|@cafe\n\s+caf\u00e9\.md"),
    Step(name="mentions", typed="⇥", shows=r"\+ [^\n]*prices.py"),
    Step(name="pasted", typed="⌃c\x1b[200~" + "wide 漢字\n" * 60 + "\x1b[201~ and this?", shows=r"\[pasted"),
    Step(name="commands", typed="⌃c/the", shows="/theme"),
    Step(name="options", typed="⇥ ", shows="high-contrast"),
    Step(name="history", typed="⌃c⌃rcont", shows="contxt"),
    Step(typed="⎋", shows=AT_PROMPT),
    Step(
        name="own-command",
        typed="!x=$(ls); printf '漢字\\ta\\n🎉\\tb\\n%s\\n' \"$x\"; exit 3⏎",
        shows=idle("exit 3"),
        since="❯ !x=$(ls)",
    ),
    # reads, and a change
    Step(
        name="explored",
        typed="make the discount a percentage⏎",
        replies=[
            EXPLORE,
            gated_answer({}, "The discount becomes a share."),
        ],
        shows=r"explored 3[\s\S]*waiting",
    ),
    Step(name="explored-unfolded", typed="⌃o", shows="一覧.py … 1 line"),
    Step(act=gates.open, shows=idle("becomes a share")),
    Step(
        name="approval",
        typed="yes, do it⏎",
        replies=[
            calls(("write_file", {"path": "prices.py", "content": EDITED})),
            run("touch 四.txt; echo 漢字; echo '🎉 done'; exit 2"),
            say("The discount is a percentage now (`prices.py:3`)."),
        ],
        shows="n no",
    ),
    Step(name="hunks", typed="h", shows="hunk 1 of"),
    Step(name="approval-command", typed="a", shows=r"\? run[\s\S]*n no"),
    Step(name="approval-details", typed="?", shows=r"\? run[\s\S]*n no"),
    Step(name="turn", typed="y", shows=idle(r"3 requests"), since="❯ yes, do"),
    Step(name="last-list", typed="/last list⏎", shows=idle("exit 2"), since="❯ /last list"),
    Step(name="last", typed="/last⏎", shows=idle("Call 2"), since="❯ /last"),
    # commands
    Step(
        name="approval-fails",
        typed="test it⏎",
        replies=[
            run("sh check.sh"),
            gated_answer({}, "One test fails."),
        ],
        shows="n no",
    ),
    Step(name="running", typed="y", shows="step 5 of 5"),
    Step(name="running-unfolded", typed="⌃o", shows="step 1 of 5"),
    Step(name="failed", typed="⌃o", act=touch("../go"), shows=r"exit 1[\s\S]*waiting"),
    Step(name="failed-unfolded", typed="⌃o", shows=r"step 3[\s\S]*done 4[\s\S]*waiting"),
    Step(name="failed-turn", act=gates.open, shows=idle("One test fails"), since="❯ test it"),
    Step(
        name="output",
        typed="and count⏎",
        replies=[run("seq 12"), gated_answer({}, "Twelve.")],
        shows=r"\+\d+ lines[\s\S]*waiting",
    ),
    Step(name="output-unfolded", typed="⌃o", shows=r" 9\n[\s\S]*waiting"),
    Step(act=gates.open, shows=idle("Twelve")),
    # a question of the model
    Step(
        name="question",
        typed="round it⏎",
        replies=[calls(("ask_user", ASK)), say("Half to even it is.")],
        shows="always down[\\s\\S]*Which|Which[\\s\\S]*always down",
    ),
    Step(name="question-answered", typed="1⏎", shows=idle("to even it is"), since="❯ round it"),
    # typed during work
    Step(typed="who uses it?⏎", replies=[stall("I look at how `total` is used first")], shows="is used"),
    Step(typed="then write the changelog in 日本語, with all that was decided, and 🎉 at its end⏎", shows="queued 1"),
    Step(typed="!keep the signature as it is⏎", shows="steering"),
    Step(name="queue", typed="and run the 漢字", shows="steering[\\s\\S]*❯ and run the 漢字"),
    Step(name="stopped", typed="⎋", shows=r"interrupted[\s\S]*❯ and run", since="❯ who uses"),
    Step(typed="⌃u↑⌃c↑⌃c", shows=AT_PROMPT),
    # undo
    Step(name="diff", typed="/diff⏎", shows=idle("prices.py"), since="❯ /diff"),
    Step(name="undo", typed="/undo⏎", shows=idle("Undid"), since="❯ /undo"),
    Step(name="redo", typed="/redo⏎", shows=idle("Restored"), since="❯ /redo"),
    Step(name="rewind", typed="/rewind⏎", shows=r"you said[\s\S]*enter to choose"),
    Step(typed="⎋", shows=AT_PROMPT),
    # a plan, and its todo list
    Step(
        name="plan",
        typed="/plan count money in whole cents⏎",
        replies=[
            calls(("todo_operations", {"operation": "write", "todos": [{"title": title} for title in TODOS]})),
            say("Three steps."),
            calls(("todo_operations", {"operation": "update", "todos": PROGRESS})),
            gated_answer("One is done so far.\n\n", "The rest follows."),
        ],
        shows="yes, approval mode",
        since="❯ /plan",
    ),
    Step(name="todo-pinned", typed="y", shows="One is done"),
    Step(act=gates.open, shows=idle("rest follows")),
    Step(name="todo", typed="/todo⏎", shows=idle("1 of 3 done"), since="❯ /todo"),
    Step(name="plan-mode", typed="/plan⏎", shows=r"test-model · plan[^\n]*\Z", since="❯ /plan"),
    Step(typed="/plan off⏎", shows=AT_PROMPT),
    # results, and lists to choose from
    Step(name="context", typed="/context⏎", shows=idle("next trim"), since="❯ /context", counts=False),
    Step(name="cost", typed="/cost⏎", shows=idle("project, 30 days"), since="❯ /cost"),
    Step(typed="#discounts are percentages everywhere⏎", shows=idle("memory")),
    *(
        step
        for command in ("/theme", "/model", "/effort", "/memory")
        for step in (
            Step(name=f"pick-{command[1:]}", typed=f"{command}⏎", shows="enter to choose", since=f"❯ {command}"),
            Step(typed="⎋", shows=AT_PROMPT),
        )
    ),
    # a busy server
    Step(
        name="retry",
        typed="go on⏎",
        replies=[error(429, headers={"Retry-After": "30"})],
        shows="retrying in",
    ),
    Step(name="retry-stopped", typed="⎋", shows=r"interrupted[\s\S]*❯", since="❯ go on"),
    Step(name="refused", varies=True, act=lambda walk: walk.server.stop(), typed="⌃uand now?⏎", shows=r"\(1 of 4\)"),
    Step(typed="⎋", shows=r"interrupted[\s\S]*❯", since="❯ and now"),
    Step(typed="⌃u", shows=AT_PROMPT),
)


class Start(Struct, frozen=True, kw_only=True):
    """A separate clio, and its steps. keys: what ends it; "" if it ends by itself.

    breaks: whether the terminal breaks long lines, which are complete for a screen reader or in a list of paths.
    """

    options: Sequence[str] = ()
    env: Mapping[str, str] = {}
    replies: Sequence[Script] = ()
    steps: Sequence[Step]
    keys: str = "⌃d"
    breaks: bool = False


SMALL = "Run `make test`:\n\n1. look at **total**\n2. write\n\n```python\nx = 2  # half\n```\n"
CHANGE = calls(("edit_file", {"path": "prices.py", "old_string": "- discount", "new_string": "- discount / 100"}))


def simple_steps(name: str, prompt: str) -> tuple[Step, ...]:
    """Return an answer, a question about a change and its result, where the screen is simpler."""
    return (
        Step(shows=rf"{prompt}[^\n]*(\n[^\n]*)?\Z"),
        Step(
            name=f"{name}-answer",
            typed="what is it?⏎",
            shows=rf"x = 2[\s\S]*request[\s\S]*\n{prompt}[^\n]*(\n[^\n]*)?\Z",
        ),
        Step(name=f"{name}-approval", typed="halve it⏎", shows=r"edit prices.py[\s\S]*\b(?:n|no)\b[^\n]*(\n[^\n]*)?\Z"),
        Step(name=f"{name}-approved", typed="y⏎", shows=rf"Halved[\s\S]*request[\s\S]*\n{prompt}[^\n]*(\n[^\n]*)?\Z"),
    )


PLAIN_REPLIES = (say(SMALL), CHANGE, say("Halved."))
STARTS = (
    Start(
        env={"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "", "CLIO_MODEL": ""},
        options=["--provider", "offline"],
        steps=[
            Step(name="no-model", shows=r"for commands[\s\S]*❯ Ask[^\n]*\noffline · ask"),
            Step(name="no-model-answer", typed="where is total?⏎", shows=r"requests[\s\S]*❯ Ask[^\n]*\noffline"),
        ],
    ),
    Start(
        replies=[say("Whole cents, then."), say("Half to even.")],
        steps=[
            Step(shows=AT_PROMPT),
            Step(name="remembered", typed="never use floats for money⏎", shows=idle("1 request"), since="❯ never"),
            Step(typed="#we deploy on Fridays⏎", shows=idle("Fridays ·")),
        ],
    ),
    Start(
        replies=[say("Half to even.")],
        steps=[
            Step(name="start-memory", shows=idle("2 memories")),
            Step(typed="how is it rounded?⏎", shows=idle("1 request")),
            Step(name="why", typed="/memory why⏎", shows=idle("tokens"), since="❯ /memory", counts=False),
            Step(name="pick-session", typed="/session⏎", shows="enter to choose", since="❯ /session"),
            Step(typed="⎋", shows=AT_PROMPT),
        ],
    ),
    Start(options=["-c"], steps=[Step(name="resumed", shows=idle("how is it rounded"))]),
    Start(
        options=["-r"],
        steps=[
            Step(name="pick-resume", shows="enter to choose"),
            Step(name="pick-resume-filtered", typed="floats", shows=r"filter: floats"),
            Step(typed="⎋", shows=AT_PROMPT),
        ],
    ),
    Start(
        options=["--max-cost", "0.03"],
        replies=[text("Hi.", usage=(12_000, 450)), say("never sent")],
        steps=[
            Step(typed="hi⏎", shows=idle(r"\$0\.029")),
            Step(name="limit", typed="more⏎", shows=idle("stopped by"), since="❯ more"),
        ],
    ),
    Start(options=["--help"], steps=[Step(name="usage", shows="exit codes")], keys=""),
    Start(options=["doctor"], steps=[Step(name="doctor", shows=r"problem|note|ok", varies=True)], keys="", breaks=True),
    Start(env={"NO_COLOR": "1"}, replies=PLAIN_REPLIES, steps=simple_steps("no-color", "❯")),
    Start(env={"TERM": "dumb"}, replies=PLAIN_REPLIES, steps=simple_steps("dumb", ">"), keys="/exit⏎", breaks=True),
    Start(options=["--screen-reader"], replies=PLAIN_REPLIES, steps=simple_steps("reader", "you:"), breaks=True),
)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Return a project under git, and a server that offers two models."""
    gates.__init__()
    with ChatServer(models=[{"id": "test-model"}, {"id": "other-model"}]) as server:
        place = Place(tmp_path / "home" / "shop", tmp_path / "home", server)
        make_repository(place.project, FILES)
        # The sandbox differs between machines, and the first question names it.
        (place.home / ".clio").mkdir()
        (place.home / ".clio" / "config.yaml").write_text("confine_unasked: off\n", encoding="utf-8")
        yield place


@pytest.mark.parametrize("columns", SIZES)
def test_a_walk_through_a_conversation(place: Place, columns: int) -> None:
    assert place.server is not None
    with place.clio(columns=columns, lines=SIZES[columns], setup=STEADY, XTERM_VERSION="XTerm(379)") as clio:
        walk = Walk(clio, columns, place.server)
        walk.run(TALK)
        clio.key("ctrl-d")
        assert clio.wait_exit() == 0
        assert not walk.wrong, "\n\n".join(walk.wrong)


@pytest.mark.parametrize("columns", SIZES)
def test_starts_and_plain_terminals(place: Place, columns: int) -> None:
    assert place.server is not None
    (place.home / ".clio" / "history").touch()
    (place.home / ".clio" / "prices.yaml").write_text('"*":\n  test-model: {input: 2, cached: 0.2, output: 10}\n')
    wrong: list[str] = []
    for start in STARTS:
        place.server.replies[:] = start.replies
        lines = SIZES[columns]
        with place.clio(*start.options, columns=columns, lines=lines, setup=STEADY, **start.env) as clio:
            walk = Walk(clio, columns, place.server, breaks=start.breaks)
            walk.run([*start.steps, Step(typed=start.keys, shows="")])
            assert clio.wait_exit() in (0, 1)
            wrong += walk.wrong
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("columns", SIZES)
def test_the_input_line_keeps_its_row(place: Place, columns: int) -> None:
    """On a full screen: idle, waiting, writing, running a command, after questions, and idle again."""
    assert place.server is not None
    lines = SIZES[columns]
    filling = "\n\n".join(f"line {number}" for number in range(lines))
    place.server.add(
        say(filling),
        gated_answer({}, "I run it first"),
        gated_answer({"content": "\n\n".join(["Then I look"] * 9)}, "It is done."),
    )
    place.server.add(
        run("sh check.sh"), gated_answer({}, "One test fails."), calls(("ask_user", ASK)), gated_answer({}, filling)
    )
    with place.clio("--approve", "all", columns=columns, lines=lines, setup=STEADY) as clio:
        walk = Walk(clio, columns, place.server)
        printed: list[str] = []

        def look(typed: str, shows: str) -> None:
            walk.run([Step(typed=typed, shows=shows)])
            rows = clio.lines
            assert rows[lines - 2].startswith("❯") and rows[lines - 1].startswith("test-model"), rows
            everything = clio.everything.splitlines()
            assert everything[: len(printed)] == printed
            printed[:] = everything[: -lines // 2]

        walk.run([Step(shows=AT_PROMPT), Step(typed="fill⏎", shows=idle("1 request"))])
        look("", idle("1 request"))
        look("first⏎", "waiting")
        gates.open(walk)
        look("", idle("1 request"))
        look("second⏎", "Then I look[\\s\\S]*writing")
        gates.open(walk)
        look("", idle("1 request"))
        look("test it⏎", "step 5 of 5")
        look("typed ahead", "❯ typed ahead")
        touch("../go")(walk)
        look("", "exit 1[\\s\\S]*waiting")
        gates.open(walk)
        look("⌃u", idle("2 requests"))
        walk.run([Step(typed="ask me⏎", shows="always down"), Step(typed="1", shows="waiting")])
        gates.open(walk)
        look("", idle("2 requests"))
