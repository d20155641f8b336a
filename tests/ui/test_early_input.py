"""Text typed before a question is on the screen answers nothing, for each kind of line and question."""

import json
import os
import random
import re
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.entrypoints.repl_support import make_place
from tests.support.pty_session import PtySession

pytestmark = pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
ROOT = Path(__file__).parent.parent.parent

PROGRAM = """
import asyncio, os, sys, time
from pathlib import Path
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.output import create_output
from prompt_toolkit.completion import DummyCompleter
from clio.commands.command import Table
from clio.entrypoints import first_paint
from clio.ui.questions import Questions
from clio.ui.plain_line import PlainLine
from clio.ui.printed_rows import PrintedRows
from clio.ui.prompt_line import PromptLine
from clio.ui.reader.prompt import ReaderLine
from clio.ui.reader.prompt import ReaderQuestions
from clio.ui.theme import Theme

kind = sys.argv[1]

async def main():
    output = create_output()
    def size():
        now = output.get_size()
        return now.columns, now.rows
    printed = PrintedRows(size)
    def say(text):
        print(text, flush=True)
        printed.add(text + "\\n")  # as all that clio prints
    common = dict(history=InMemoryHistory(), completer=DummyCompleter(), status=lambda: ())
    if kind.startswith("plain"):
        line = PlainLine(text="> ", output=sys.stdout)
        questions = Questions(sys.stdout, live=False)
    elif kind.startswith("reader"):
        line = ReaderLine(stream=sys.stdout, size=size, **common)
        questions = ReaderQuestions(sys.stdout, size)
    else:
        line = PromptLine(text="> ", printed=printed, **common)
        questions = Questions(sys.stdout, live=True, theme=Theme())
    for number in range(int(sys.argv[2])):
        if not kind.startswith("plain"):
            first_paint.silence_terminal()
        say(f"working {number}")
        while not Path(f"go{number}").exists():
            await asyncio.sleep(0.01)  # the poll interval, in the program under test
        if kind.endswith(("key", "line")):
            questions.keep_early_input()
        if kind.endswith("confirm"):
            answer = await line.confirm(f"Delete {number}?")
        elif kind.endswith("word"):
            answer = await line.confirm(f"Delete {number}?", "yes")
        elif kind.endswith("list"):
            table = Table(columns=("name",), rows=(("yes",), ("no",)))
            answer = await questions.choose_row(f"Delete {number}?", table, ("yes", "no"), 1)
        elif kind.endswith("key"):
            answer = await questions.ask_key({"y": f"Delete {number}?", "n": "no"})
        else:
            answer = await questions.ask_line(f"Delete {number}? ")
        say(f"ANSWER {number} {answer!r}")
        say(f"TEXT {number} {await line.read()!r}")

asyncio.run(main())
"""
LINES, QUESTIONS = ("prompt", "reader", "plain"), ("confirm", "word", "key", "line")
KINDS = [f"{line}-{question}" for line in LINES for question in QUESTIONS]


EARLY = ("yes", "y\r", "yes\r")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", KINDS)
def test_early_text_is_no_answer_and_stays_on_the_next_line(tmp_path: Path, kind: str) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb" if kind.startswith("plain") else "xterm"}
    expected = {"line": "'yes'", "key": "'y'"}.get(kind.partition("-")[2], "True")
    with PtySession([sys.executable, "program.py", kind, str(len(EARLY))], cwd=tmp_path, env=env) as session:
        for number, early in enumerate(EARLY):
            session.wait_for(f"working {number}")
            session.send(early)
            time.sleep(0.1)  # the terminal does not tell when keys are in its queue
            (tmp_path / f"go{number}").touch()
            session.wait_for(f"Delete {number}?")
            session.take_in(0.3)
            time.sleep(0.6)  # a pause of the user after typing
            assert f"ANSWER {number}" not in session.everything
            session.send("y" if kind.endswith(("confirm", "key")) and "plain" not in kind else "yes\r")
            session.wait_for(f"ANSWER {number}")
            session.take_in(0.1)
            session.send(" more\r")
            session.wait_for(f"TEXT {number}")
            assert f"ANSWER {number} {expected}" in session.everything
            assert f"TEXT {number} '{early.strip()} more'" in session.everything


EXAMPLES = 1 if settings().max_examples < 1_000 else 100
"""Each example takes seconds; `make fuzz` runs more."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["prompt-confirm", "prompt-key", "prompt-line", "prompt-list", "reader-key"])
@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**32))
def test_typing_across_a_question_answers_nothing_and_loses_nothing(kind: str, seed: int) -> None:
    """A user types at any speed while the question appears; the first key after a pause is the answer."""
    rng = random.Random(seed)
    pause_s = rng.choice((0.02, 0.05, 0.15))
    before = rng.randrange(30)
    typed = ""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    with tempfile.TemporaryDirectory() as folder:
        cwd = Path(folder)
        (cwd / "program.py").write_text(PROGRAM, encoding="utf-8")
        with PtySession([sys.executable, "program.py", kind, "1"], cwd=cwd, env=env) as session:
            session.wait_for("working 0")
            while "Delete 0?" not in session.everything:
                if len(typed) >= before:
                    (cwd / "go0").touch()
                keys = "".join(rng.choice("yYnsaqd x\r") for _ in range(rng.choice((1, 1, 1, 5))))
                session.send(keys)
                typed += keys
                end = time.monotonic() + pause_s * rng.random()
                while (left := end - time.monotonic()) > 0:
                    assert session.take_in(left), session.everything
            session.take_in(1.2)
            time.sleep(1.2)  # a pause of the user
            assert "ANSWER 0" not in session.everything
            session.send({"list": "\r", "line": "yes\r", "word": "yes\r"}.get(kind.partition("-")[2], "y"))
            session.wait_for("ANSWER 0")
            session.wait_for(r"ANSWER 0[^\n]*\n(.*\n)*(>|you:|line )", regex=True)
            session.send("END\r")
            session.wait_for(r"TEXT 0 .*END'", regex=True)
            shown = session.everything
    assert re.search(r"ANSWER 0 (True|'yes'|'y'|'no')\n", shown), shown
    text = re.search(r"TEXT 0 '(.*)END'", shown)
    assert text is not None, shown
    assert re.sub(r"\\n|\s", "", text[1]) == re.sub(r"\s", "", typed), (typed, shown)


def test_an_early_yes_grants_no_trust(tmp_path: Path) -> None:
    place = make_place(tmp_path, starts_python=True)
    (place.project / ".clio").mkdir()
    (place.project / ".clio" / "config.yaml").write_text("approve: all\n", encoding="utf-8")
    for answer, granted in (("n", False), ("y", True)):
        trusted = place.home / ".clio" / "trusted.json"
        with place.clio("--provider", "offline") as session:
            session.send("yes\r")
            session.wait_for("Trust it? [y/N]")
            session.take_in(0.5)
            assert not trusted.exists()
            session.line(answer)
            session.wait_for("❯ yes")
        assert bool(json.loads(trusted.read_text(encoding="utf-8"))["projects"]) is granted
        trusted.unlink()  # the denial is remembered: begin again


@pytest.mark.parametrize("pause_s", [0.25, 0.5])
def test_a_letter_after_escape_at_the_idle_prompt_is_typed(tmp_path: Path, pause_s: float) -> None:
    place = make_place(tmp_path, starts_python=True)
    with place.clio("--provider", "offline") as session:
        session.wait_for("❯")
        session.wait_for("offline")
        session.key("escape")
        session.take_in(pause_s)
        time.sleep(pause_s)  # a pause of the user between two keys
        session.send("f")
        session.send("ine")
        session.wait_for("❯ fine")
        session.send("\x1b[D!")  # arrow keys still work
        session.wait_for("❯ fin!e")
