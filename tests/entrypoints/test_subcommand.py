"""`clio sessions`, `clio memory` and `clio note` as real processes: output, files, errors, and what is not changed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clio.messages import AssistantMessage, UserMessage
from clio.sessions.store import SessionStore
from tests.entrypoints.repl_support import Place, clio, make_place
from tests.support.chat_server import ChatServer
from tests.support.chat_server import text as reply
from tests.support.own_sessions import own_store
from tests.support.wording import mentions


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


def store_of(place: Place) -> SessionStore:
    return own_store(place.project, place.home / ".clio")


def make_session(place: Place, *texts: str, name: str | None = None) -> str:
    """Save a session of alternating questions and answers; return its id."""
    session = store_of(place).new(place.project, name=name)
    for number, text in enumerate(texts):
        session.append(UserMessage(content=text) if number % 2 == 0 else AssistantMessage(content=text))
    session.close()
    return session.id


def printed(place: Place, *arguments: str, **env: str) -> str:
    done = clio(place, *arguments, **env)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def as_json(place: Place, *arguments: str) -> Any:
    return json.loads(printed(place, *arguments, "--json"))


def refused(place: Place, *arguments: str, code: int = 2) -> str:
    done = clio(place, *arguments)
    assert (done.returncode, done.stdout) == (code, ""), done
    assert done.stderr.startswith("clio: ")
    assert done.stderr.count("\n") == 1
    assert "/session" not in done.stderr
    return done.stderr


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_sessions_are_listed_as_lines_and_as_json(place: Place) -> None:
    assert mentions(printed(place, "sessions"), "No sessions")
    assert as_json(place, "sessions", "list") == []
    first = make_session(place, "why does it fail?", "because", name="Größe 表示")
    second = make_session(place, "x " * 300)
    before = files(place.project)
    heading, *rows = printed(place, "sessions", "list").splitlines()
    assert heading.split() == ["#", "session", "last", "used", "messages", "id"]
    assert [row.split()[0] for row in rows] == ["1", "2"]
    assert "Größe 表示" in rows[1]
    assert printed(place, "session") == printed(place, "sessions", "list")
    listed = as_json(place, "sessions", "list")
    assert [info["id"] for info in listed] == [second, first]
    assert listed[1] | {"name": "Größe 表示", "messages": 2, "running": False} == listed[1]
    assert as_json(place, "sessions", "show", "2")["id"] == first
    assert files(place.project) == before


def test_search_prints_passages_and_how_to_continue(place: Place) -> None:
    found = make_session(place, "does it retry?", "the retry policy doubles the delay", name="Retries")
    make_session(place, "release notes")
    done = clio(place, "sessions", "search", "retry", "policy")
    assert done.returncode == 0
    assert "the retry policy doubles the delay" in done.stdout
    assert "release notes" not in done.stdout
    assert "Enter" not in done.stdout
    resume = done.stderr.removeprefix("resume it with: clio -r ").strip()
    assert store_of(place).find(resume) == found
    report = as_json(place, "sessions", "search", "retry policy")
    assert [session["id"] for session in report["sessions"]] == [found]
    assert report["sessions"][0]["passages"][0]["exact"] == 3.0
    assert as_json(place, "sessions", "search", "wombat")["sessions"] == []


def test_names_with_blanks_are_accepted_on_the_command_line(place: Place) -> None:
    session = make_session(place, "hello")
    assert (
        printed(place, "sessions", "name", session[:8], "it's", '"my"', "talk")
        == 'The session is now it\'s "my" talk.\n'
    )
    assert as_json(place, "sessions", "show", 'it\'s "my" talk')["id"] == session
    copy = as_json(place, "sessions", "fork", 'it\'s "my" talk', "a second  way")
    assert copy["parent"] == session
    assert as_json(place, "sessions", "show", copy["id"])["name"] == "a second way"
    assert as_json(place, "sessions", "show", copy["id"])["parent"] == session


def test_a_session_in_use_is_not_renamed(place: Place) -> None:
    session = store_of(place).new(place.project)
    session.append(UserMessage(content="I am at work"))
    assert "open in another clio" in refused(place, "sessions", "name", session.id, "other")
    assert as_json(place, "sessions", "list")[0]["running"] is True
    session.close()


def test_deleting_needs_confirmation(place: Place) -> None:
    session = make_session(place, "hello")
    assert "clio can't ask here; add --yes" in refused(place, "sessions", "delete", "1")
    assert "add --yes" in refused(place, "sessions", "delete", "1", "--json")
    assert (place.project / ".clio" / "sessions" / f"{session}.json").exists()
    assert printed(place, "sessions", "delete", "1", "--yes") == "Deleted 'hello' (1 message).\n"
    assert as_json(place, "sessions", "list") == []


@pytest.mark.parametrize("name", ["talk.html", "talk.md", "talk.json", "talk", "TALK.HTM"])
def test_the_suffix_of_the_path_selects_the_format(place: Place, name: str) -> None:
    session = make_session(place, "hello <b>there</b>", name="A talk")
    report = as_json(place, "sessions", "export", "A talk", name)
    written = place.project / (name if "." in name else "talk.html")
    assert report == {
        "path": str(written),
        "bytes": written.stat().st_size,
        "format": {".md": "md", ".json": "json"}.get(written.suffix, "html"),
        "session": session,
    }
    text = written.read_text(encoding="utf-8")
    assert {"html": "&lt;b&gt;there", "md": "# A talk", "json": '"hello <b>there</b>"'}[report["format"]] in text


def test_an_export_replaces_no_file_without_force(place: Place) -> None:
    make_session(place, "hello", name="A talk: 1/2")
    (place.project / "mine.md").write_text("mine", encoding="utf-8")
    assert "already exists; add --force" in refused(place, "sessions", "export", "1", "mine.md")
    assert (place.project / "mine.md").read_text(encoding="utf-8") == "mine"
    assert "Wrote " in printed(place, "sessions", "export", "1", "mine.md", "--force")
    assert (place.project / "mine.md").read_text(encoding="utf-8").startswith("# A talk")
    printed(place, "sessions", "export", "1", ".")
    assert (place.project / "a-talk-1-2.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["1", "talk.txt"], "does not end in an export format; use .html, .md or .json, or add --format"),
        (["1", "gone/talk.md"], "there is no folder"),
        (["1", "gone/"], "there is no folder"),
        (["1", "x.md", "--format", "pdf"], "there is no export format 'pdf'; choose one of html, md, json"),
        (["1"], "which session, and to which file? Write clio sessions export ID PATH"),
        (["nobody", "x.md"], "no session matches 'nobody'; clio sessions list"),
    ],
)
def test_an_impossible_export_gives_the_reason(place: Place, arguments: list[str], message: str) -> None:
    make_session(place, "hello")
    assert message in refused(place, "sessions", "export", *arguments)


def test_commands_that_need_a_conversation_are_no_subcommands() -> None:
    from clio.commands.registry import find_command
    from clio.entrypoints.completions.scripts import make_completion_script
    from clio.entrypoints.subcommand import format_help

    for name, inside in (("memory", ("off", "on")), ("mcp", ("reload",))):
        table = find_command(name)
        assert table is not None
        offered = format_help(name)
        for sub in inside:
            assert sub in [one.name for one in table.subcommands]
            assert f"clio {name} {sub} " not in offered
    assert "recall and save nothing until" not in make_completion_script("fish")


def test_an_export_can_be_piped_with_secrets_redacted(place: Place) -> None:
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 3
    make_session(place, f"use {key}", name="Keys")
    text = printed(place, "sessions", "export", "Keys", "-")
    assert text.startswith("# Keys\n")
    assert key not in text
    assert json.loads(printed(place, "sessions", "export", "Keys", "-", "--format", "json"))["title"] == "Keys"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sessions", "lst"], "clio sessions: unknown argument 'lst'; did you mean 'clio sessions list'?"),
        (["session", "trim"], "clio sessions: unknown argument 'trim'; choose one of list, search, "),
        (["sessions", "show"], "which session?"),
        (["sessions", "show", "nobody"], "no session matches 'nobody'"),
        (["sessions", "search"], "search for what?"),
        (["sessions", "list", "--al"], "there is no option '--al' here; did you mean '--all'?"),
        (["memory", "lsit"], "clio memory: unknown argument 'lsit'; did you mean 'clio memory list'?"),
        (["memory", "offf"], "choose one of list, search, show, add"),
        (["memory", "off"], "turned off and on inside a conversation. clio --incognito starts one without memory"),
        (["memory", "forget", "x", "--yse"], "there is no option '--yse' here; did you mean '--yes'?"),
        (["notes", "shwo"], "clio note: unknown argument 'shwo'; did you mean 'clio note show'?"),
        (["sessions", "list", "--cwd", "gone"], "--cwd 'gone': there is no such folder"),
        (["sessions", "search", "x", "--incognito"], "incognito mode reads no earlier session"),
        (["sessions", "fork", "1", "--incognito"], "incognito mode changes nothing on disk"),
        (["sessions", "name", "1", "x", "--incognito"], "incognito mode changes nothing on disk"),
    ],
)
def test_usage_errors_are_a_sentence_and_exit_code_two(place: Place, arguments: list[str], message: str) -> None:
    assert message in refused(place, *arguments)


def test_a_damaged_session_is_a_storage_error(place: Place) -> None:
    session = make_session(place, "hello")
    (place.project / ".clio" / "sessions" / f"{session}.json").write_text("{", encoding="utf-8")
    done = clio(place, "sessions", "export", session, "x.md")
    assert (done.returncode, done.stdout) == (1, "")
    assert session in done.stderr


def test_notes_and_knowledge_use_the_same_handlers(place: Place) -> None:
    printed(place, "note", "set", "build steps", "run make,  then wait")
    shown = as_json(place, "notes", "show", "build steps")
    assert "run make,  then wait" in json.dumps(shown)
    printed(place, "memory", "add", "discovery", "the parser lives in lib/core")
    assert "the parser lives in lib/core" in printed(place, "memory", "list")
    assert "lib/core" in json.dumps(as_json(place, "memory", "search", "parser"))
    assert not (place.project / ".clio" / "sessions").exists()


def test_the_flags_of_clio_work_after_the_subcommand(place: Place, tmp_path: Path) -> None:
    make_session(place, "hello")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    away = clio(place, "sessions", "list", "--json", "--cwd", str(place.project), cwd=elsewhere)
    assert len(json.loads(away.stdout)) == 1
    assert json.loads(clio(place, "--json", "sessions", cwd=elsewhere).stdout) == []
    broken = tmp_path / "broken.yaml"
    broken.write_text("approve: 7\n", encoding="utf-8")
    assert "broken.yaml:1" in refused(place, "sessions", "--config", str(broken))
    assert len(as_json(place, "--incognito", "sessions", "list")) == 1


def test_help_needs_no_project_and_lists_the_usage(place: Place) -> None:
    text = printed(place, "sessions", "--help")
    for form in ("list [--all]", "search WORDS", "export ID PATH", "delete ID [--yes]", "--json"):
        assert form in text
    assert "/session" not in text
    assert files(place.project) == {}


def test_modules_only_for_conversations_are_not_imported(place: Place) -> None:
    make_session(place, "hello")
    code = (
        "import sys; from clio.cli import main; main(['sessions', 'list']);"
        "print(sorted({'openai', 'prompt_toolkit', 'asyncio', 'rich.markdown', 'markdown_it', 'sqlite3', 'clio.app',"
        " 'clio.memory.system', 'clio.export.export_session', 'clio.agent.loop'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        encoding="utf-8",
        cwd=place.project,
        env=place.env(),
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_locale_without_unicode_is_supported(place: Place) -> None:
    make_session(place, "größer → besser")
    done = subprocess.run(
        [sys.executable, "-m", "clio", "sessions", "list"],
        capture_output=True,
        cwd=place.project,
        env=place.env(PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C"),
        check=True,
    )
    assert b"gr?" in done.stdout


def test_a_closed_pipe_is_no_error(place: Place) -> None:
    for _ in range(3):
        make_session(place, "hello")
    command = f'"{sys.executable}" -m clio sessions list | true'
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, cwd=place.project, env=place.env(), check=False, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


QUOTE = "the queue is drained by a cron job at four"
FINDING = json.dumps(
    {"findings": [{"turn": 1, "kind": "fact", "text": "The queue is drained at four by cron.", "quote": QUOTE}]}
)


@pytest.mark.parametrize("may_ask", [True, False])
def test_a_consolidation_on_the_command_line_asks_a_model_if_the_setting_allows_it(place: Place, may_ask: bool) -> None:
    make_session(place, "why is it empty in the morning?", f"Because {QUOTE}, so nothing is left.")
    with ChatServer([reply(FINDING)]) as server:
        env = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "test-key", "CLIO_MODEL": "test-model"}
        (place.home / ".clio").mkdir(exist_ok=True)
        (place.home / ".clio" / "config.yaml").write_text(
            f"sleep_use_model: {str(may_ask).lower()}\n", encoding="utf-8"
        )
        done = clio(place, "memory", "consolidate", "--json", **env)
        assert done.returncode == 0, done
        report = json.loads(done.stdout)
        assert not report["errors"]
        assert len(server.requests) == may_ask and bool(report["changes"]) is may_ask
    assert ("drained at four" in printed(place, "memory", "list")) is may_ask


def test_a_consolidation_on_the_command_line_says_why_no_model_was_asked(place: Place) -> None:
    make_session(place, "why is it empty in the morning?", f"Because {QUOTE}, so nothing is left.")
    (place.home / ".clio").mkdir(exist_ok=True)
    (place.home / ".clio" / "config.yaml").write_text("sleep_use_model: true\nprovider: offline\n", encoding="utf-8")
    report = json.loads(clio(place, "memory", "consolidate", "--json").stdout)
    assert any("model was not asked" in error for error in report["errors"])
