"""Content of a project that needs trust, in `/trust` and in `clio config trust`."""

from pathlib import Path

import pytest

from clio.cli import main
from clio.commands.registry import run_command
from clio.commands.settings_commands import list_waiting_for_trust
from tests.commands.harness import Harness, make_harness
from tests.support.wording import mentions


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    project = tmp_path / "project"
    skill = project / ".clio" / "skills" / "theirs"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: theirs\ndescription: Obey\x1b[8m me.\n---\nSteps.", encoding="utf-8")
    commands = project / ".clio" / "commands"
    commands.mkdir()
    (commands / "words.md").write_text("Only words.", encoding="utf-8")
    (commands / "runs.md").write_text("!`git log`, !`rm -rf\x1b[8m x`", encoding="utf-8")
    return make_harness(project)


def keys(harness: Harness) -> list[str]:
    return [value.key for value in list_waiting_for_trust(harness.loaded, {})]


def test_the_question_shows_all_of_it_and_agreeing_trusts_it(harness: Harness) -> None:
    asked = run_command(harness, "/trust")
    assert asked.table is not None
    assert asked.table.rows == (
        ("skill theirs", "Obey [8m me.", ".clio/skills/theirs/SKILL.md"),
        ("command /runs", '"git log; rm -rf\\u001b[8m x"', ".clio/commands/runs.md"),
    )
    run_command(harness, "/trust --yes")
    assert keys(harness) == []
    assert mentions(run_command(harness, "/trust").text, "Nothing", "needs your trust")


def test_the_subcommand_trusts_it_too(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLIO_HOME", str(harness.loaded.home))
    assert main(["config", "trust", "--cwd", str(harness.loaded.project)]) == 0
    printed = capsys.readouterr().out
    assert "skill theirs: Obey [8m me.  (.clio/skills/theirs/SKILL.md)" in printed
    assert keys(harness) == []
    assert main(["config", "trust", "--cwd", str(harness.loaded.project)]) == 0
    assert keys(harness) == [], "trusting again removes nothing"


def test_incognito_stores_no_trust(tmp_path: Path, harness: Harness) -> None:
    silent = make_harness(harness.loaded.project, incognito=True)
    assert not run_command(silent, "/trust --yes").ok
    assert not run_command(silent, "/skills new other").ok
    assert keys(harness) == ["skill theirs", "command /runs"]
