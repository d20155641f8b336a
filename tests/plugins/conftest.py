"""A repository with a plugin that has one part of each kind, and a `clio` that runs in this process."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from clio.cli import main
from tests.support.repositories import git, make, write

HOOKS = {
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": '"${CLAUDE_PLUGIN_ROOT}/guard.sh"'}]}
        ],
        "SessionStart": [{"hooks": [{"type": "command", "command": "echo 'notes of the plugin'"}]}],
        "Notification": [{"hooks": [{"type": "command", "command": "echo no"}]}],
    }
}
GUARD = """#!/bin/sh
case "$(cat)" in
*'"tool_name":"Bash"'*'"command":"rm '*)
  echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",' \\
    '"permissionDecisionReason":"no deletions here"}}' ;;
esac
"""
FILES = {
    ".claude-plugin/plugin.json": json.dumps({"name": "kit", "version": "1.2.0", "description": "A kit."}),
    "skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Tidy code.\n---\nRun ${CLAUDE_PLUGIN_ROOT}/guard.sh.\n",
    "commands/shout.md": "---\ndescription: Shout\n---\nShout $ARGUMENTS.\n",
    "commands/undo.md": "---\ndescription: Undo\n---\nUndo it all.\n",
    "agents/critic.md": "---\nname: critic\ndescription: Criticizes.\nmodel: opus\n---\nBe strict.\n",
    "hooks/hooks.json": json.dumps(HOOKS),
    ".mcp.json": json.dumps({"mcpServers": {"store": {"command": "${CLAUDE_PLUGIN_ROOT}/serve", "args": ["--all"]}}}),
    "themes/dusk.yaml": "extends: dark\naccent: magenta\n",
    "guard.sh": GUARD,
    "output-styles/loud.md": "Loud.\n",
}
RunClio = Callable[..., "Outcome"]


class Outcome(Struct, kw_only=True):
    """The output of one run of clio, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The printed JSON document."""
        return json.loads(self.out)


@pytest.fixture
def home() -> Path:
    return Path(os.environ["CLIO_HOME"])


@pytest.fixture
def clio(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Return a function that runs clio in a project."""
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    monkeypatch.chdir(project)

    def run(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = main(list(arguments))
        printed = capsys.readouterr()
        return Outcome(code=code, out=printed.out, err=printed.err)

    return run


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the plugin `kit`."""
    return make_plugin(tmp_path / "kit")


def make_plugin(folder: Path, files: Mapping[str, str] = FILES) -> Path:
    make(folder, files)
    if "guard.sh" in files:
        (folder / "guard.sh").chmod(0o755)
        git(folder, "commit", "--quiet", "--all", "--message", "program")
    return folder


def change_plugin(folder: Path, files: Mapping[str, str], gone: Sequence[str] = ()) -> str:
    """Commit these files; return the commit."""
    write(folder, files)
    for name in gone:
        (folder / name).unlink()
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "change")
    return git(folder, "rev-parse", "HEAD")


def head_of(folder: Path) -> str:
    return git(folder, "rev-parse", "HEAD")


def url_of(folder: Path) -> str:
    return f"file://{folder}"
