"""One long session in a terminal of each size, screen by screen, with wide letters wherever letters can stand."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.entrypoints.repl_support import Place
from tests.support.chat_server import ChatServer, Part, Pause, Recorded, Reply, chunk, stall, text, tool_calls
from tests.support.harness import make_repository
from tests.support.walk import STEADY, Walk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
BILL = (5_400, 96, 4_096)
PRICES = (
    'def total(prices, discount):\n    """合計: sum after a discount in percent 🎉."""\n'
    + "    return sum(prices) - discount\n"
    + "".join(f"\n\ndef rule_{number}(price):\n    return price * {number}\n" for number in range(4))
)
FILES = {
    ".gitignore": ".clio/\n",
    "prices.py": PRICES,
    "価格表/一覧.py": "価格 = [40, 60]\n",
    "cafe\u0301.md": "# Cafe\u0301\n\nopen till late\n",
    "🎉 party.md": "cake\n",
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


def held(thought: str, words: str, at: int, gates: tuple[threading.Event, threading.Event]) -> Reply:
    """An answer that waits at the first gate after its thought, and at the second after so many characters."""

    def render(request: Recorded) -> Iterator[Part]:
        for delta, gate in zip(({"reasoning_content": thought}, {"content": words[:at]}), gates, strict=True):
            yield chunk(delta)
            while not gate.is_set():
                yield Pause(0.02)
        yield from list(text(words[at:], usage=BILL).render(request))

    return Reply(render)


def calls(*wanted: tuple[str, dict[str, Any]]) -> Reply:
    return tool_calls(wanted, usage=BILL)


def say(words: str) -> Reply:
    return text(words, usage=BILL)


class Session:
    """The walk of one size: each method is one item, in the order in which they are called."""

    def __init__(self, walk: Walk, server: ChatServer, size: tuple[int, int]) -> None:
        self.walk = walk
        self.clio = walk.terminal
        self.server = server
        self.size = size

    def ready(self) -> None:
        """Wait for an empty prompt."""
        self.clio.wait_for(r"❯ Ask[^\n]*\n+(?:[^\n]*\n)?test-model · [^\n]*\Z", regex=True)

    def look(self, name: str, shows: str, since: str = "", *, counts: bool = True) -> None:
        self.walk.look(name, shows, since, counts=counts)

    def beginning(self) -> None:
        self.look("first-start", r"for commands[^\n]*\n+❯ Ask[^\n]*\n+test-model · ask")
        self.clio.line("/contxt")
        self.look("mistyped", r"/context[\s\S]*❯ Ask[^\n]*\n+test-model", "❯ /contxt")
        self.clio.line("/help")
        self.look("help", r"keys[\s\S]*❯ Ask[^\n]*\n+test-model", "❯ /help")

    def answer(self) -> None:
        gates = threading.Event(), threading.Event()
        self.server.add(held("I look at total first.\n\nThen 端数処理.\n", ANSWER, ANSWER.index("| 👩"), gates))
        self.clio.line("what is 合計 of cafe\u0301 🎉?")
        self.clio.wait_for("thinking")
        self.clio.send("\x14")
        self.look("thinking", "Then 端数処理")
        columns, lines = self.size
        self.clio.resize(columns - 7, lines)
        gates[0].set()
        self.look("narrow", "漢字[\\s\\S]*writing")
        self.clio.resize(columns, lines)
        self.look("wide", "漢字[\\s\\S]*writing")
        gates[1].set()
        self.clio.wait_for("引用")
        self.ready()
        self.look("answer", r"1 request[\s\S]*❯", "❯ what is")

    def typing(self) -> None:
        clio = self.clio
        clio.send("why @pr")
        self.look("mention-menu", "prices.py[\\s\\S]*test-model")
        clio.send("\t and @価")
        self.look("mention-wide", "一覧")
        clio.send("\t and @cafe")
        self.look("mention-combining", r"@cafe[\s\S]*caf\u00e9\.md")
        clio.send("\t")
        self.look("mentions", r"\+ [^\n]*prices.py")
        clio.key("ctrl-c")
        clio.send("\x1b[200~" + "wide 漢字\n" * 60 + "\x1b[201~ and this?")
        self.look("pasted", r"\[pasted")
        clio.key("ctrl-c")
        clio.send("/the")
        self.look("commands", "/theme")
        clio.send("\t ")
        self.look("options", "high-contrast")
        clio.key("ctrl-c")
        clio.key("ctrl-r")
        clio.send("cont")
        self.look("search", "contxt")
        clio.key("escape")
        self.ready()
        clio.line("!printf '漢字\\ta\\n🎉\\tb\\n'; ls; exit 3")
        self.look("own-command", r"exit 3[\s\S]*❯ Ask[^\n]*\n+test-model", "❯ !printf")

    def change(self) -> None:
        self.server.add(
            calls(
                ("read_file", {"path": "prices.py"}),
                ("read_file", {"path": "価格表/一覧.py"}),
                ("read_file", {"path": "cafe\u0301.md"}),
                ("search_text", {"pattern": "no such word anywhere in all of this project, 漢字漢字漢字漢字漢字"}),
            ),
            calls(("write_file", {"path": "prices.py", "content": EDITED})),
            calls(("run_command", {"command": "touch 四.txt; echo 漢字; echo '🎉 done'; exit 2"})),
            say("The discount is a percentage now (`prices.py:3`)."),
        )
        self.clio.line("make the discount a percentage")
        self.look("approval", "n no")
        self.clio.send("h")
        self.look("hunks", "hunk 1 of")
        self.clio.send("a")
        self.look("approval-command", r"\? run[\s\S]*n no")
        self.clio.send("y")
        self.clio.wait_for("percentage now")
        self.ready()
        self.look("turn", r"4 requests[\s\S]*❯", "❯ make the")
        self.clio.line("/last list")
        self.look("last-list", r"/last list[\s\S]*❯ Ask[^\n]*\n+test-model", "❯ /last list")
        self.clio.line("/last")
        self.look("last", r"/last\n[\s\S]*❯ Ask[^\n]*\n+test-model", "❯ /last")

    def steering(self) -> None:
        self.server.add(stall("I look at how `total` is used first"))
        self.clio.line("who uses it?")
        self.clio.wait_for("is used")
        self.clio.line("then write the changelog in 日本語, with all that was decided, and 🎉 at its end")
        self.clio.wait_for("queued 1")
        self.clio.line("!keep the signature as it is")
        self.clio.wait_for("steering")
        self.clio.send("and run the 漢字")
        self.look("queue", "steering[\\s\\S]*❯ and run the 漢字")
        self.clio.key("escape")
        self.look("stopped", r"interrupted[\s\S]*❯ and run", "❯ who uses")
        self.clio.send("\x15")
        self.clio.key("up")
        self.clio.key("ctrl-c")
        self.clio.key("up")
        self.clio.key("ctrl-c")

    def undoing(self) -> None:
        self.ready()
        self.clio.line("/diff")
        self.look("diff", r"prices.py[\s\S]*❯ Ask[^\n]*\n+test-model", "❯ /diff")
        self.clio.line("/undo")
        self.look("undo", r"Undid[\s\S]*❯ Ask[^\n]*\n+test-model", "❯ /undo")
        self.clio.line("/redo")
        self.look("redo", r"Restored[\s\S]*❯ Ask[^\n]*\n+test-model", "❯ /redo")
        self.clio.line("/rewind")
        self.look("rewind", r"you said[\s\S]*enter to choose", "❯ /rewind")
        self.clio.key("escape")
        self.ready()

    def planning(self) -> None:
        todos = [{"title": title} for title in TODOS]
        first = [{"id": 1, "status": "completed"}, {"id": 2, "status": "in_progress"}]
        self.server.add(
            calls(("todo_operations", {"operation": "write", "todos": todos})),
            say("Three steps."),
            calls(("todo_operations", {"operation": "update", "todos": first})),
            say("One is done."),
        )
        self.clio.line("/plan count money in whole cents")
        self.look("plan", "yes, approval mode", "❯ /plan")
        self.clio.send("y")
        self.clio.wait_for("One is done.")
        self.ready()
        self.clio.line("/todo")
        self.look("todo", r"1 of 3 done[\s\S]*❯ Ask[^\n]*\n+test-model", "❯ /todo")

    def looking(self) -> None:
        for command, shows in (("/context", "next trim"), ("/cost", "project, 30 days")):
            self.clio.line(command)
            self.look(
                command[1:], rf"{shows}[\s\S]*❯ Ask[^\n]*\n+test-model", f"❯ {command}", counts=command != "/context"
            )
        self.clio.line("/theme")
        self.look("theme", "enter to choose", "❯ /theme")
        self.clio.key("escape")
        self.ready()
        self.clio.key("ctrl-d")
        assert self.clio.wait_exit() == 0


@pytest.mark.parametrize("size", [(80, 24), (40, 15), (200, 60)])
def test_a_walk_through_the_terminal(tmp_path: Path, size: tuple[int, int]) -> None:
    with ChatServer() as server:
        place = Place(tmp_path / "home" / "shop", tmp_path / "home", server)
        make_repository(place.project, FILES)
        # What confines commands is another on each machine, and the first question says which.
        (place.home / ".clio").mkdir()
        (place.home / ".clio" / "config.yaml").write_text("confine_unasked: off\n", encoding="utf-8")
        with place.clio(columns=size[0], lines=size[1], code=STEADY, XTERM_VERSION="XTerm(379)") as clio:
            walk = Walk(clio, size[0])
            session = Session(walk, server, size)
            session.beginning()
            session.answer()
            session.typing()
            session.change()
            session.steering()
            session.undoing()
            session.planning()
            session.looking()
            assert not walk.wrong, "\n\n".join(walk.wrong)
