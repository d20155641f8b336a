"""`clio __complete` is fast, changes nothing, and prints only plain words."""

import subprocess
import sys
from pathlib import Path

import pytest

from clio.entrypoints.completions.listing import KINDS, list_completions
from clio.entrypoints.completions.scripts import LISTED
from clio.git.worktrees import open_worktree
from clio.messages import AssistantMessage, UserMessage
from clio.sessions.store import OwnSessions, SessionStore


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    (tmp_path / "project" / ".clio").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    env = {"HOME": str(tmp_path), "CLIO_HOME": str(tmp_path / "home")}
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    return env


def listed(kind: str, env: dict[str, str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert list_completions([kind], env) == 0
    return capsys.readouterr().out.splitlines()


def test_sessions_are_listed_by_id_with_their_names(
    tmp_path: Path, env: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "project"
    store = SessionStore(project / ".clio" / "sessions", own=OwnSessions(project, tmp_path / "home"))
    session = store.new(tmp_path, name="retry \x1b[31mpolicy")
    session.append(UserMessage(content="why?"))
    session.append(AssistantMessage(content="so"))
    session.close()
    (line,) = listed("sessions", env, capsys)
    word, note = line.split("\t")
    assert session.id.startswith(word)
    assert note == "retry [31mpolicy"


def test_a_session_of_the_repository_is_marked(
    tmp_path: Path, env: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    session = SessionStore(tmp_path / "project" / ".clio" / "sessions").new(tmp_path, name="theirs")
    session.append(UserMessage(content="why?"))
    session.append(AssistantMessage(content="so"))
    session.close()
    (line,) = listed("sessions", env, capsys)
    assert line.partition("\t")[2] == "from the repository: theirs"


def test_names_that_a_shell_could_misread_are_left_out(
    tmp_path: Path, env: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "project" / ".clio" / "styles"
    folder.mkdir()
    for name in ("$(id)", "two words", "-rf", "a;b", "plain.one"):
        (folder / f"{name}.md").touch()
    styles = [line.partition("\t")[0] for line in listed("styles", env, capsys)]
    assert styles[-1] == "plain.one"
    assert "concise" in styles
    assert {"$(id)", "two words", "-rf", "a;b"} & set(styles) == set()


def test_a_damaged_file_gives_no_completions_and_is_not_changed(
    tmp_path: Path, env: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    knowledge = tmp_path / "project" / ".clio" / "ltm.json"
    knowledge.write_text("{", encoding="utf-8")
    assert listed("entries", env, capsys) == []
    assert [path.name for path in knowledge.parent.iterdir()] == ["ltm.json"]


def test_skills_and_servers_are_listed(tmp_path: Path, env: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    for folder in (tmp_path / "home" / "skills" / "mine", tmp_path / "project" / ".clio" / "skills" / "ours"):
        folder.mkdir(parents=True)
        (folder / "SKILL.md").touch()
    (tmp_path / "project" / ".mcp.json").write_text('{"mcpServers": {"files": {"command": "x"}}}', encoding="utf-8")
    assert [line.rstrip() for line in listed("skills", env, capsys)] == ["mine", "ours"]
    assert listed("servers", env, capsys) == ["files\t.mcp.json"]


def test_a_worktree_has_the_sessions_of_the_main_checkout(
    tmp_path: Path, env: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = tmp_path / "shop"
    git = ["git", "-c", "user.name=you", "-c", "user.email=you@localhost", "-C", str(shop)]
    subprocess.run(["git", "init", "--quiet", str(shop)], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "begin"], check=True)
    (shop / ".clio" / "memory").mkdir(parents=True)
    (shop / ".clio" / "memory" / "kept.json").write_text('{"key": "kept", "content": "x"}', encoding="utf-8")
    folder, _ = open_worktree(shop, "fix")
    monkeypatch.chdir(folder)
    assert listed("notes", env, capsys) == ["kept\tx"]
    assert [line.strip() for line in listed("worktrees", env, capsys)] == ["fix"]


def test_nothing_is_written_and_unknown_kinds_are_empty(
    tmp_path: Path, env: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(tmp_path.rglob("*"))
    for kind in (*LISTED, "nonsense", ""):
        listed(kind, env, capsys)
    assert sorted(tmp_path.rglob("*")) == before
    assert set(KINDS) == set(LISTED)


def test_nothing_heavy_is_imported(env: dict[str, str]) -> None:
    code = (
        "import sys; from clio.cli import main\n"
        f"for kind in {LISTED!r}: main(['__complete', kind])\n"
        "heavy = {'openai', 'rich', 'prompt_toolkit', 'numpy', 'mcp', 'git', 'asyncio', 'clio.commands.registry'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
