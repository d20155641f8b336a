"""Which files are custom commands: names, folders, properties, and invalid files."""

import os
from pathlib import Path

import pytest

from clio.commands.custom_commands import MAX_BYTES, MAX_FILES, CustomFile, CustomFolders
from tests.support.wording import mentions


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    found = {
        "project": tmp_path / "project" / ".clio" / "commands",
        "other": tmp_path / "project" / ".claude" / "commands",
        "own": tmp_path / "clio" / "commands",
        "other own": tmp_path / ".claude" / "commands",
    }
    for folder in found.values():
        folder.mkdir(parents=True)
    return found


@pytest.fixture
def folders(tmp_path: Path) -> CustomFolders:
    return CustomFolders(tmp_path / "project", tmp_path / "clio", {"HOME": str(tmp_path)})


def only(folders: CustomFolders) -> CustomFile:
    (found,), problems = folders.read()
    assert problems == ()
    return found


def test_properties_are_read(places: dict[str, Path], folders: CustomFolders) -> None:
    (places["project"] / "commit.md").write_text(
        "---\ndescription: Commit the staged changes\nargument-hint: [message]\nmodel: small\n"
        "allowed-tools: Bash(git add:*), Read, Edit, mcp__jira__search\n---\n\nCommit $1.\n"
    )
    assert only(folders) == CustomFile(
        name="commit",
        display_path=".clio/commands/commit.md",
        is_users_own=False,
        template="Commit $1.",
        description="Commit the staged changes",
        hint="message",
        model="small",
        tools=("run_command(git add *)", "edit_file", "apply_patch", "mcp_jira_search"),
    )


def test_the_model_in_a_file_of_another_agent_is_ignored(places: dict[str, Path], folders: CustomFolders) -> None:
    (places["other"] / "x.md").write_text("---\nmodel: opus\n---\nDo it.")
    assert only(folders).model == ""
    assert only(folders).description == "Do it."


def test_folders_are_part_of_the_name_and_the_first_place_takes_precedence(
    places: dict[str, Path], folders: CustomFolders
) -> None:
    for place, folder in places.items():
        (folder / "front" / "ui").mkdir(parents=True)
        (folder / "front" / "ui" / "test.md").write_text(f"from {place}")
    assert (only(folders).name, only(folders).template) == ("front:ui:test", "from project")


def test_a_changed_file_is_read_again_and_a_deleted_one_is_gone(
    places: dict[str, Path], folders: CustomFolders
) -> None:
    path = places["own"] / "a.md"
    path.write_text("one")
    assert only(folders).template == "one"
    assert only(folders).is_users_own
    path.write_text("other")
    assert only(folders).template == "other"
    path.unlink()
    assert folders.read() == ((), ())


def test_invalid_files_are_named(places: dict[str, Path], folders: CustomFolders, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("secrets of another place")
    folder = places["project"]
    (folder / "link.md").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    (folder / "2fast.md").write_text("x")
    (folder / "big.md").write_bytes(b"x" * (MAX_BYTES + 1))
    os.mkfifo(folder / "pipe.md")
    (folder / "README.md").write_text("about these commands")
    (folder / ".hidden.md").write_text("x")
    (folder / "good.md").write_bytes(b"\xff\xfe caf\xe9\r\nline\x1b[2J")
    found, problems = folders.read()
    assert [file.name for file in found] == ["good"]
    assert "\x1b" not in found[0].description
    messages = "\n".join(problems)
    assert mentions(messages, ".clio/commands/link.md", "not used", "link")
    assert mentions(messages, ".clio/commands/pipe.md", "not used", "not a file")
    assert "'2fast' is not a valid command name" in messages
    assert f"larger than {MAX_BYTES:,} bytes" in messages


def test_the_users_own_files_may_be_links(places: dict[str, Path], folders: CustomFolders, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.md").write_text("from elsewhere")
    (places["own"] / "mine.md").symlink_to(tmp_path / "dotfiles.md")
    assert only(folders).template == "from elsewhere"


def test_properties_that_are_not_valid_yaml_are_read_line_by_line(
    places: dict[str, Path], folders: CustomFolders
) -> None:
    (places["own"] / "odd.md").write_text("---\ndescription: Use when: it is odd\nallowed-tools: *\n---\nDo it.")
    found = only(folders)
    assert found.description == "Use when: it is odd"
    assert found.template == "Do it."
    assert "odd.md:2:" in found.problem


def test_the_number_of_files_is_limited(places: dict[str, Path], folders: CustomFolders) -> None:
    for number in range(MAX_FILES + 20):
        (places["own"] / f"c{number}.md").touch()
    assert len(folders.read()[0]) == MAX_FILES
