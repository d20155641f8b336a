"""Files that define sub-agents: what is read, what is refused, and what needs trust."""

from pathlib import Path

import pytest

from clio.commands.command import EditText
from clio.commands.registry import run_command
from clio.config.trust import TrustStore
from clio.skills.skills import SubagentCatalog, UnreadableFile, make_subagent_trust_request, parse_subagent_definition
from tests.commands.harness import make_harness
from tests.support.wording import mentions

TEXT = "---\ndescription: finds things\n---\nSearch wide.\n"


class DefinitionFiles:
    """A project in a user's home folder."""

    def __init__(self, home: Path) -> None:
        self.home, self.project = home / ".clio", home / "shop"
        self.project.mkdir()
        self.folders = SubagentCatalog(self.project, self.home, {"HOME": str(home)})

    def write(self, name: str, text: str = TEXT) -> None:
        path = self.home.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def files(tmp_path: Path) -> DefinitionFiles:
    return DefinitionFiles(tmp_path.resolve())


def test_the_projects_definition_takes_precedence_over_the_users(files: DefinitionFiles) -> None:
    for name in ("shop/.clio/agents/b.md", "shop/.claude/agents/b.md", ".clio/agents/b.md", ".claude/agents/a.md"):
        files.write(name)
    found, problems = files.folders.find()
    assert [(one.name, one.displayed_path, one.own) for one in found] == [
        ("a", "~/.claude/agents/a.md", True),
        ("b", ".clio/agents/b.md", False),
    ]
    assert problems == ()


def test_a_projects_definitions_need_trust_and_any_change_asks_again(files: DefinitionFiles) -> None:
    files.write("shop/.clio/agents/theirs.md")
    files.write(".clio/agents/mine.md")
    assert [one.name for one in files.folders.list_usable()] == ["mine"]
    TrustStore(files.home).add_all(files.project, files.folders.list_withheld())
    assert [one.name for one in files.folders.list_usable()] == ["mine", "theirs"]
    files.write("shop/.clio/agents/theirs.md", TEXT + "And run rm -rf.\n")
    assert [one.name for one in files.folders.list_usable()] == ["mine"]


def test_the_properties_of_other_agents_are_understood() -> None:
    text = "---\nname: Find-It\ndescription: d\ntools: Read, Grep, Bash(git log:*), mcp_x_y\nmodel: sonnet\n---\nwords"
    theirs = parse_subagent_definition(text, stem="x", displayed_path="~/.claude/agents/x.md", own=True)
    assert (theirs.name, theirs.tools, theirs.model) == (
        "find-it", ("read_file", "search_text", "run_command", "mcp_x_y"), "",
    )  # fmt: skip
    assert parse_subagent_definition(text, stem="x", displayed_path=".clio/agents/x.md", own=False).model == "sonnet"
    assert parse_subagent_definition(TEXT, stem="x", displayed_path="x.md", own=True).tools is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no properties", "it has no description"),
        ("---\ndescription: d\n---\n", "it has no instructions for the sub-agent below its properties"),
        ("---\nname: ../up\ndescription: d\n---\nx", "is not a valid name"),
        ("---\ndescription: d\nmax_steps: 0\n---\nx", "max_steps must be a number from 1 to 50, not '0'"),
        ("---\ndescription: d\nmax_steps: 9999\n---\nx", "max_steps must be"),
    ],
)
def test_errors_are_reported(files: DefinitionFiles, text: str, message: str) -> None:
    with pytest.raises(UnreadableFile):
        parse_subagent_definition(text, stem="x", displayed_path="x.md", own=True)
    files.write(".clio/agents/x.md", text)
    found, problems = files.folders.find()
    assert found == () and message in problems[0]


def test_a_link_out_of_the_project_is_not_followed(files: DefinitionFiles) -> None:
    files.write("secret.md")
    folder = files.project / ".clio" / "agents"
    folder.mkdir(parents=True)
    (folder / "x.md").symlink_to(files.home.parent / "secret.md")
    found, problems = files.folders.find()
    assert found == () and [mentions(text, ".clio/agents/x.md", "link", "outside") for text in problems] == [True]


def test_definitions_are_listed_shown_and_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    harness = make_harness(tmp_path)
    monkeypatch.setenv("HOME", str(harness.loaded.home.parent))
    assert "Only the general sub-agent" in run_command(harness, "/agents").text
    follow_up = run_command(harness, "/agents new explore").follow_up
    assert isinstance(follow_up, EditText)
    follow_up.then(follow_up.text)
    table = run_command(harness, "/agents list").table
    assert table is not None
    assert [(row[0], row[1], row[2]) for row in table.rows] == [("explore", "", ".clio/agents/explore.md")]
    shown = run_command(harness, "/agents show explore")
    assert "where to look" in shown.verbatim
    assert not run_command(harness, "/agents new explore").ok
    assert not run_command(harness, "/agents new ../x").ok
    assert not run_command(harness, "/agents show nobody").ok
    assert (
        make_subagent_trust_request(SubagentCatalog(harness.loaded.project, harness.loaded.home, {}).find()[0][0]).key
        == "agent explore"
    )
