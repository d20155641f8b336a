"""The table of command lines in `command_lines.txt`: each line's simple commands and verdict."""

import os
from pathlib import Path

import pytest
from msgspec import Struct

from clio.config.schema import ApprovalMode
from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Allow, Ask, Deny, Policy
from clio.security.shell.parser import parse_command_line

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
        for command in parse_command_line(line).commands
    )


def test_the_table_can_be_parsed() -> None:
    assert len(ROWS) >= 240
    assert {row.verdict for row in ROWS} == {"run", "low", "medium", "high", "never"}


def test_the_table_is_large() -> None:
    assert len(ROWS) > 240


def test_the_simple_commands_of_each_line() -> None:
    found = [(row.line, spelled(row.line)) for row in ROWS]
    assert found == [(row.line, tuple(command.rstrip() for command in row.commands)) for row in ROWS]


def test_the_verdict_in_mode_ask(workspace: Workspace) -> None:
    assert verdicts("ask", workspace) == [(row.line, row.verdict) for row in ROWS]


def test_the_verdict_in_mode_all(workspace: Workspace) -> None:
    """The never-list is refused; lines that clio obeys, unseen deletions and paths outside need approval."""
    asked = {
        "cat <<EOF\n`rm -rf src`\nEOF",
        "ls {a,b} && {rm,-rf,src}",
        "echo hi > .clio/config.yaml",
        "echo hi > $OUT",
        "tar -xf a.tar -C /",
        'eval "rm -rf $X"',
        "crontab -r",
        "ssh host 'rm -rf /srv/x'",
        "echo hi > /etc/motd",
        "kubectl delete pod x",
        "terraform apply",
        "xargs -I{} rm -rf {} < README.md",
        "xargs sh -c 'rm -rf \"$@\"' _",
        'while read x; do rm -rf "$x"; done < README.md',
    }
    assert asked <= {row.line for row in ROWS}
    assert verdicts("all", workspace) == [
        (row.line, "never" if row.verdict == "never" else "high" if row.line in asked else "run") for row in ROWS
    ]


def test_the_verdict_in_mode_plan(workspace: Workspace) -> None:
    """Only what is proved to be read-only runs."""
    expected = [(row.line, "run" if row.verdict == "run" else "never") for row in ROWS]
    assert verdicts("plan", workspace) == expected


def verdicts(mode: ApprovalMode, workspace: Workspace) -> list[tuple[str, str]]:
    policy = Policy(workspace, mode)
    return [(row.line, verdict_of(policy, row.line)) for row in ROWS]
