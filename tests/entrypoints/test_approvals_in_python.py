"""What a program that uses `Agent` is told about an action of a hostile model."""

import subprocess
from pathlib import Path

import pytest

from clio import Agent, Approval
from tests.support.chat_server import ChatServer, text, tool_calls


def ask_about(project: Path, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, str]) -> Approval:
    monkeypatch.setenv("CLIO_HOME", str(project.parent / "home"))
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    seen: list[Approval] = []

    def deny(request: Approval) -> bool:
        seen.append(request)
        return False

    with (
        ChatServer([tool_calls([(tool, arguments)]), text("done")]) as server,
        Agent(project, model="m", provider="openai", base_url=server.url, approve="ask", on_approval=deny) as agent,
    ):
        agent.run("go")
    (request,) = seen
    return request


def test_title_and_reason_cannot_control_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "a\x1b]0;title\x07\nb\u202e.txt"
    request = ask_about(tmp_path / "project", monkeypatch, "write_file", {"path": name, "content": "x"})
    assert (request.title + request.reason).isprintable()
    assert request.files == (str(tmp_path / "project" / name),)  # unchanged, because the program decides by it


def test_the_new_path_of_a_moved_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\n")
    patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: migrations/b.txt\n@@\n-one\n+two\n*** End Patch"
    request = ask_about(project, monkeypatch, "apply_patch", {"patch": patch})
    assert set(request.files) == {str(project / "a.txt"), str(project / "migrations" / "b.txt")}
