"""The three lines of the very first start: what was found, and how to fix what is missing."""

import re
import sys
from pathlib import Path

import pytest

from clio import __version__
from clio.config.layers import load_config
from clio.config.options import Options
from clio.entrypoints.repl.welcome import describe_start
from tests.entrypoints.repl_support import Place, at_prompt, clio, make_place
from tests.support.chat_server import ChatServer, text
from tests.support.harness import git


def lines(place: Path, env: dict[str, str], *, model: str = "big", server: str = "openai") -> tuple[str, ...]:
    """Return the lines below the name."""
    home = place.parent / "home"
    loaded = load_config(Options(cwd=place), env | {"HOME": str(home)})
    return describe_start(loaded, env, model=model, server=server, user_home=home)[1:]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "shop"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(autouse=True)
def home_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.mark.parametrize(
    ("env", "server", "introduction"),
    [
        ({"OPENAI_API_KEY": "sk-1"}, "openai", "big at openai · key from OPENAI_API_KEY"),
        ({"CLIO_API_KEY": "sk-1"}, "openai", "big at openai · key from CLIO_API_KEY"),
        ({"ANTHROPIC_API_KEY": "sk-1"}, "anthropic", "big at anthropic · key from ANTHROPIC_API_KEY"),
        ({}, "ollama", "big at ollama · no key needed"),
        ({}, "offline", "no model is connected · set OPENAI_API_KEY or start Ollama, then restart clio"),
        (
            {"CLIO_PROVIDER": "offline"},
            "offline",
            "offline, as configured · set OPENAI_API_KEY or start Ollama, then restart clio",
        ),
    ],
)
def test_the_server_and_the_source_of_the_key_are_named(
    project: Path, env: dict[str, str], server: str, introduction: str
) -> None:
    assert lines(project, env, server=server)[0] == introduction


def test_the_key_itself_is_never_shown(project: Path) -> None:
    assert "sk-very-secret" not in "".join(lines(project, {"OPENAI_API_KEY": "sk-very-secret"}))


def test_a_missing_part_is_reported_with_the_command_that_fixes_it(project: Path) -> None:
    assert lines(project.resolve(), {})[1].endswith(
        "shop · no git – run `git init` · no instructions – run `clio init`"
    )


def test_an_unfinished_instructions_file_is_to_be_completed(project: Path) -> None:
    (project / ".clio").mkdir()
    (project / ".clio" / "instructions.md").write_text("<!-- what should be known -->\n", encoding="utf-8")
    assert lines(project, {})[1].endswith(" · .clio/instructions.md is still empty")


def test_existing_parts_are_named(project: Path) -> None:
    git(project, "init", "--quiet", "--initial-branch=work")
    (project / ".clio").mkdir()
    (project / "AGENTS.md").write_text("Use tabs.", encoding="utf-8")
    assert lines(project, {})[1].endswith("shop · work · .clio/ · AGENTS.md")


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 15), (200, 60)])
def test_the_first_start_in_a_terminal(tmp_path: Path, columns: int, rows: int) -> None:
    with ChatServer([]) as server:
        place = Place(tmp_path / "home" / "shop", tmp_path / "home", server)
        place.project.mkdir(parents=True)
        with place.clio(columns=columns, lines=rows) as session:
            session.wait_for(r"help for commands[^\n]*\n(?:  [^\n]*\n)?\n❯ Ask[^\n]*\n+test-model · ask", regex=True)
            introduction = session.text[: session.text.index("❯")]
            assert (
                introduction.index("test-model at")
                < introduction.index("~/shop · no git")
                < introduction.index("/help")
            )
            assert all(len(line) <= columns for line in session.lines)
            rows = introduction.strip().splitlines()
            assert len(rows) == 4 if columns >= 80 else sum(row.startswith("  ") for row in rows) == len(rows) - 4
            assert "run `clio init`" in introduction and "# to remember" in introduction  # on a narrow screen too
            session.key("ctrl-d")
            assert session.wait_exit() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize("columns", [40, 80])
def test_a_later_start_shows_memories_and_the_last_session(tmp_path: Path, columns: int) -> None:
    with ChatServer([text("Hello.")]) as server:
        place = Place(tmp_path / "home" / "shop", tmp_path / "home", server)
        place.project.mkdir(parents=True)
        git(place.project, "init", "--quiet", "--initial-branch=work")
        assert clio(place, "memory", "remember", "staging listens on port 5433").returncode == 0
        assert clio(place, "-p", "fix the parser").returncode == 0
        (place.home / ".clio" / "history").touch()
        with place.clio("--effort", "high", columns=columns) as session:
            session.wait_for(r"/help for commands[^\n]*\n(?:  [^\n]*\n)?\n❯ Ask", regex=True)
            introduction = session.text[: session.text.index("\n\n❯")].splitlines()
        memory = "1 memory · last session just now: fix the parser"
        assert introduction[:3] == [f"clio {__version__}", "test-model · high · ask", "~/shop · work"]
        assert memory in " ".join(" ".join(introduction).split()).replace("memory last", "memory · last")
        with place.clio("-c", columns=columns) as session:
            session.wait_for("test-model")
            session.take_in(0.5)
            assert "help for commands" not in session.everything


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_a_plain_terminal_shows_the_introduction_once_too(tmp_path: Path) -> None:
    place = make_place(tmp_path, visited=False, starts_python=True)
    for greeted in (True, False):
        with place.clio("--provider", "offline", TERM="dumb") as session:
            session.wait_for(r"^> ?$|\n>", regex=True)
            session.line("/exit")
            assert session.wait_exit() == 0
            assert ("help for commands" in session.everything) is greeted


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_no_first_screen_below_a_message_that_was_sent_at_once(tmp_path: Path) -> None:
    """Only the very first start still names the source of the key."""
    waits = (
        "import os, time\nimport clio.entrypoints.repl.welcome as welcome\nrender = welcome.render_welcome\n"
        "def render_later(*given, **named):\n"
        f"    while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)\n"
        "    return render(*given, **named)\nwelcome.render_welcome = render_later\n"
    )
    with ChatServer([text("It adds.")]) as server:
        place = make_place(tmp_path, server, visited=False)
        with place.clio(setup=waits) as clio:
            clio.wait_for("❯")
            clio.line("what is it?")
            clio.wait_for("❯ what is it?")
            (tmp_path / "go").touch()
            clio.wait_for("It adds.")
            at_prompt(clio)
            shown = clio.everything
    assert "key from OPENAI_API_KEY" in shown and "It adds." in shown
    assert not re.search(r"(?m)^clio \d", shown) and "for commands" not in shown, shown
