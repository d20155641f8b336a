"""/config: one setting at a time, in the user's file or the project's, with the checks of a start."""

import subprocess
import sys
from pathlib import Path

import pytest

from clio.config.layers import load_config
from clio.config.options import Options
from clio.config.schema import Config
from tests.support.chat_server import ChatServer, text
from tests.support.harness import Harness


def clio(project: Path, home: Path, *words: str) -> tuple[int, str]:
    env = {"CLIO_HOME": str(home), "HOME": str(home.parent), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    done = subprocess.run(
        [sys.executable, "-m", "clio", *words], cwd=project, env=env, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


def load(project: Path, home: Path) -> Config:
    return load_config(Options(cwd=project), {"CLIO_HOME": str(home), "HOME": str(home.parent)}).config


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    return project, tmp_path / "home"


def test_on_the_command_line_values_are_set_shown_and_removed(places: tuple[Path, Path]) -> None:
    project, home = places
    assert clio(project, home, "config", "set", "models.gpt-4.1.context_window", "32000")[0] == 0
    assert clio(project, home, "config", "set", "checks", "ruff check {files}", "mypy")[0] == 0
    found = load(project, home)
    assert found.models["gpt-4.1"].context_window == 32000 and found.checks == ("ruff check {files}", "mypy")
    assert "32000" in clio(project, home, "config", "get", "models.gpt-4.1.context_window")[1]
    assert clio(project, home, "config", "unset", "models.gpt-4.1.context_window")[0] == 0
    assert load(project, home).models == {}


def test_files_are_named_with_a_tilde_where_possible(places: tuple[Path, Path]) -> None:
    project, home = places
    assert " ~/home/config.yaml" in clio(project, home, "config", "set", "max_steps", "7")[1]
    assert " .clio/config.yaml" in clio(project, home, "config", "set", "max_steps", "7", "--project")[1]
    assert " ~/home/mcp.yaml;" in clio(project, home, "mcp", "add", "x", "--scope", "user", "--", "x")[1]
    assert " .clio/mcp.yaml;" in clio(project, home, "mcp", "add", "x", "--", "x")[1]


def test_a_value_set_for_the_project_is_trusted_and_other_values_still_wait(places: tuple[Path, Path]) -> None:
    project, home = places
    (project / ".clio").mkdir()
    (project / ".clio" / "config.yaml").write_text("approve: all\n")
    assert clio(project, home, "config", "set", "max_steps", "7", "--project")[0] == 0
    found = load(project, home)
    assert (found.max_steps, found.approve) == (7, "ask")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("aprove", "x"), "approve"),
        (("approve", "never"), "ask, edits"),
        (("max_steps", "0"), "whole number"),
        (("keys.mode", "c-g"), "c-g"),
        (("redact_patterns", "(a+)+"), "(a+)+"),
        (("api_key", "sk-abcdefgh"), "clio auth login"),
        (("checkpoint_mb", "5", "--project"), "--project"),
        (("models.x.colour", "red"), "context_window"),
    ],
)
def test_an_invalid_value_is_refused_and_not_written(
    places: tuple[Path, Path], words: tuple[str, ...], message: str
) -> None:
    project, home = places
    code, output = clio(project, home, "config", "set", *words)
    assert code != 0 and message in output
    assert load(project, home) == Config()


def test_a_conversation_applies_settings_that_can_change_at_once(places: tuple[Path, Path]) -> None:
    from clio.commands.command import ApplySetting
    from clio.commands.registry import run_command

    project, home = places
    with ChatServer([text("Done.")]) as server:
        app = Harness(project, home, server).app
        for line in ("/config set approve edits", "/config set max_steps 3", "/config set effort high"):
            step = run_command(app, line).follow_up
            assert isinstance(step, ApplySetting)
            app.apply_setting(step.name, step.value)
        assert app.policy.mode == "edits" and app.config.max_steps == 3
        assert app.efforts.get_effort("test-model") == "high"
        assert run_command(app, "/config set ltm off").follow_up is None
        # The harness gives the model like a flag, so the file cannot change it.
        overridden = run_command(app, "/config set model other")
        assert overridden.follow_up is None and overridden.ok


def test_names_and_values_are_completed(places: tuple[Path, Path]) -> None:
    from clio.commands.registry import complete_command_line

    with ChatServer([text("Done.")]) as server:
        app = Harness(*places, server).app

        def complete(line: str) -> set[str]:
            return {suggestion.text for suggestion, _ in complete_command_line(app, line)}

        assert "approve" in complete("/config set appr")
        assert complete("/config set approve e") == {"edits"}
        assert "--project" in complete("/config set approve edits --")
        assert "keys.editor" in complete("/config unset keys.")
