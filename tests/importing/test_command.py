"""`clio import` for a user: the documented example, questions, errors, Ctrl-C."""

import json
import os
import re
import signal
from contextlib import nullcontext
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from clio.cli import main
from clio.config.command_line import help_text
from clio.entrypoints import importing
from tests.importing.homes import CLAUDE_ID, claude_conversation, claude_file, claude_line
from tests.support.wording import mentions

PAGE = Path(__file__).parent.parent.parent / "docs" / "import.md"
CHATS = """
# aider chat started at 2024-05-06 10:11:12

#### add a marmot to the zoo

Sure: the zoo has one now.

# aider chat started at 2024-05-07 09:00:00

#### thanks

Welcome.
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "zoo"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


def test_the_documented_example_works(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / ".aider.chat.history.md").write_text(CHATS, encoding="utf-8")
    block = re.search(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    for example in block[1].split("$ ")[1:]:
        command, *expected = example.rstrip("\n").split("\n")
        assert main(command.split()[1:]) == 0
        shown = capsys.readouterr().out
        pattern = "\n".join(expected).replace("[", "[[]").replace("…", "*")
        assert fnmatchcase(shown.rstrip("\n"), pattern), f"{command}\n{shown}"


def test_facts_are_confirmed_one_by_one(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    claude_file(home, project)
    (project / "CLAUDE.md").write_text("- one\n- two\n- three\n- four\n- five\x1b[31m\n", encoding="utf-8")
    answers = iter(["y", "n", "", "a"])
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return next(answers)

    monkeypatch.setattr(importing, "ask_on_terminal", ask)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert main(["import", "claude"]) == 0
    shown = capsys.readouterr().out
    assert len(asked) == 4 and "\x1b[31m" not in shown
    assert mentions(shown, "3 facts", "claude", "project")
    main(["memory", "list", "--json"])
    entries = json.loads(capsys.readouterr().out)
    report = {(entry["text"], entry["provenance"]["asserted_by"]) for entry in entries["entries"]}
    assert report == {("one", "model"), ("four", "model"), ("five\x1b[31m", "model")}
    main(["import", "claude", "--json"])
    assert [fact["text"] for fact in json.loads(capsys.readouterr().out)["facts"]] == ["three"], (
        "the second was declined"
    )


def test_in_a_pipe_facts_are_listed_and_none_is_imported(
    project: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "CLAUDE.md").write_text("- tests run with make\n", encoding="utf-8")
    claude_file(home, project)
    main(["import", "claude"])
    shown = capsys.readouterr().out
    assert "none was saved" in shown and "- tests run with make" in shown
    main(["import", "claude", "--facts", "yes"])
    assert "Saved 1 fact of claude to project memory" in capsys.readouterr().out
    main(["import", "claude"])
    assert mentions(capsys.readouterr().out, "claude", "1 file", "unchanged")


def test_the_json_output_of_an_import(project: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = [
        {"type": "weather"},
        claude_line("user", "u9", [{"type": "tool_result", "tool_use_id": "?", "content": "x"}]),
    ]
    claude_file(home, project, *claude_conversation(str(project)), *odd, end="{")
    claude_file(home, project.parent / "other", name=CLAUDE_ID.replace("6", "7"))
    main(["import", "claude", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["sessions"] == {"new": 1, "grown": 0, "known": 0, "old": 0, "empty": 0, "busy": 0}
    assert (report["messages"], report["of_other_projects"], report["torn"]) == (5, 1, 1)
    assert (report["not_understood"], report["results_without_call"]) == ({"weather": 1}, 1)
    main(["sessions", "list", "--json"])
    assert [info["imported_from"] for info in json.loads(capsys.readouterr().out)] == ["claude"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["claud"], "clio cannot import from 'claud'; did you mean 'clio import claude'?"),
        (["claude", "nowhere"], "'nowhere' does not exist; name a file or a folder of claude"),
        (["claude", "a", "b"], "only one path is accepted, not also 'b'; put quotes around a path with spaces"),
        (["claude", "--facts", "maybe"], "--facts takes yes or no, not 'maybe'; without it you are asked"),
        (["claude"], "claude has no data in its usual place; write clio import claude PATH"),
        (["--all"], "import from which agent? Write clio import claude|codex|gemini|aider|specstory|clio, then --all"),
        (["aider", "--incognito"], "incognito mode stores nothing, so it imports nothing; leave out --incognito"),
    ],
)
def test_invalid_arguments_are_refused(
    project: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", *words]) == 2
    assert capsys.readouterr().err == f"clio: {message}\n"
    assert not (project / ".clio").exists()


def test_ctrl_c_stops_cleanly_and_explains_how_to_continue(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        conversation = claude_conversation(str(project), f"Question {number}")
        claude_file(home, project, *conversation, name=f"{number:08x}-2bb1-45cb-90bc-a28ce44da090")

    class Interrupted:
        def update(self, done: int, total: int) -> None:
            if 0 < done < total:
                os.kill(os.getpid(), signal.SIGINT)

        def set_hint(self, hint: str) -> None:
            assert hint == "stopping"

    with monkeypatch.context() as patch:
        patch.setattr(importing, "show_progress", lambda *a, **k: nullcontext(Interrupted()))  # pyright: ignore[reportUnknownLambdaType]
        assert main(["import", "claude"]) == 130
    assert mentions(capsys.readouterr().out, "Stopped", "2 files left")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert main(["import", "claude"]) == 0
    assert "2 new, 1 file unchanged" in capsys.readouterr().out


def test_import_is_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert " import," in help_text()
    assert main(["import", "--help"]) == 0
    assert "clio import claude [PATH]" in capsys.readouterr().out
