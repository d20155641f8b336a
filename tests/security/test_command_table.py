"""The table of command lines in `command_lines.txt`: each line's simple commands and verdict."""

import os
from pathlib import Path

import pytest
from msgspec import Struct

from clio.security.actions import RunCommand
from clio.security.approval import Allow, Ask, Deny, Policy
from clio.security.path_policy import Workspace
from clio.security.shell.syntax import parse

TABLE = Path(__file__).parent / "command_lines.txt"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the table speaks of POSIX paths")


class Row(Struct, frozen=True):
    verdict: str
    line: str
    commands: tuple[str, ...]


def rows() -> list[Row]:
    found: list[tuple[str, str, list[str]]] = []
    for text in TABLE.read_text(encoding="utf-8").splitlines():
        if text.startswith("         "):
            found[-1][2].append(text[9:])
        elif text and (not text.startswith("#")):
            verdict, line = text[:6].strip(), text[7:]
            found.append((verdict, line.replace("␤", "\n"), []))
    return [Row(verdict, line, tuple(commands)) for verdict, line, commands in found]


ROWS = rows()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "project"
    for folder in ("src", "sub", ".git", ".clio"):
        (root / folder).mkdir(parents=True)
    (root / "README.md").write_text("words\n", encoding="utf-8")
    (root / "src" / "app.py").write_text("pass\n", encoding="utf-8")
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "secret.txt").write_text("x", encoding="utf-8")
    (tmp_path / "outside.txt").write_text("x", encoding="utf-8")
    (root / "link").symlink_to(outside)
    return Workspace(root)


def verdict_of(policy: Policy, line: str) -> str:
    match policy.judge(RunCommand(command=line, cwd=policy.workspace.root)):
        case Allow():
            return "run"
        case Deny():
            return "never"
        case Ask(risk=risk):
            return risk


def spelled(line: str) -> tuple[str, ...]:
    return tuple(
        " ".join([*(f"{name}={value}" for name, value in command.env), *command.argv]).replace("\n", "␤").rstrip()
        for command in parse(line).commands
    )


def test_the_table_is_a_table() -> None:
    assert len(ROWS) >= 240
    assert {row.verdict for row in ROWS} == {"run", "low", "medium", "high", "never"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.line[:60])
def test_simple_commands(row: Row) -> None:
    assert spelled(row.line) == tuple(command.rstrip() for command in row.commands)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.line[:60])
def test_verdict_in_ask(row: Row, workspace: Workspace) -> None:
    assert verdict_of(Policy(workspace, "ask"), row.line) == row.verdict


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.line[:60])
def test_verdict_in_other_modes(row: Row, workspace: Workspace) -> None:
    """`all` refuses the never-list and asks for what decides what clio does; `plan` runs only what provably reads."""
    every = "high" if "> .clio/" in row.line else "run"
    assert verdict_of(Policy(workspace, "all"), row.line) == ("never" if row.verdict == "never" else every)
    assert verdict_of(Policy(workspace, "plan"), row.line) == ("run" if row.verdict == "run" else "never")
