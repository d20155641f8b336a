"""Skills in whole turns over real HTTP: the list in the prompt, loading, and whose skills are used."""

import asyncio
from pathlib import Path
from typing import Any

from clio.agent.user_interface import Notice
from clio.commands.command import EditText, RunExpandedCommand
from clio.commands.registry import run_added_command, run_command
from clio.security.approval import Answer
from tests.support.chat_server import text, tool_calls
from tests.support.harness import Harness
from tests.support.wording import mentions
from tests.turns.conftest import MakeHarness

SKILL = """\
---
name: $name
description: Makes release notes. Use it when a release is to be described.
compatibility: Needs git
allowed-tools: Bash(git log:*)
---

# Release notes

Run scripts/collect.sh, then read references/tone.md.
"""


def write(folder: Path, name: str = "release-notes") -> Path:
    skill = folder / "skills" / name
    (skill / "scripts").mkdir(parents=True)
    (skill / "references").mkdir()
    (skill / "SKILL.md").write_text(SKILL.replace("$name", name), encoding="utf-8")
    (skill / "scripts" / "collect.sh").write_text("git log --oneline\n", encoding="utf-8")
    (skill / "references" / "tone.md").write_text("Short sentences.\n", encoding="utf-8")
    return skill


def run(harness: Harness, *texts: str) -> None:
    async def turns() -> None:
        for words in texts:
            await harness.turn(words)

    asyncio.run(turns())


def body(harness: Harness, number: int = -1) -> Any:
    return harness.server.requests[number].body


def results(harness: Harness) -> list[str]:
    return [message["content"] for message in body(harness)["messages"] if message["role"] == "tool"]


def test_the_prompt_has_only_name_and_description_and_never_changes(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([("use_skill", {"name": "release-notes"})]), text("ok"), text("ok")])
    home = harness.loaded.home
    write(home)

    async def turns() -> None:
        await harness.turn("describe the release")
        write(home, "another-skill")
        await harness.turn("go on")

    asyncio.run(turns())
    systems = [request.body["messages"][0]["content"] for request in harness.server.requests]
    assert "- release-notes: Makes release notes. Use it when" in systems[0]
    assert "Run scripts/collect.sh" not in systems[0]
    assert len(set(systems)) == 1
    assert len({str(request.body["tools"]) for request in harness.server.requests}) == 1
    (loaded,) = results(harness)
    assert loaded.startswith(
        f"Skill release-notes, in {home / 'skills' / 'release-notes'}; paths in it are relative to that folder.\n"
    )
    assert mentions(loaded, "references/tone.md", "scripts/collect.sh")
    assert mentions(loaded, "Bash(git log:*)")
    assert loaded.endswith("# Release notes\n\nRun scripts/collect.sh, then read references/tone.md.")
    assert "description:" not in loaded


def test_without_skills_nothing_is_sent(make_harness: MakeHarness) -> None:
    harness = make_harness([text("ok")])
    run(harness, "hello")
    assert "use_skill" not in str(body(harness))


def test_files_of_the_users_skills_can_be_read_and_nothing_around_them(
    make_harness: MakeHarness, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    skill = write(home)
    (skill / "link.md").symlink_to(home / "secret.txt")
    (home / "secret.txt").write_text("secret", encoding="utf-8")
    calls = [
        ("read_file", {"path": str(skill / "references" / "tone.md")}),
        ("read_file", {"path": str(skill / "link.md")}),
        ("read_file", {"path": str(home / "secret.txt")}),
        ("write_file", {"path": str(skill / "references" / "tone.md"), "content": "Long."}),
        ("run_command", {"command": f"sh {skill}/scripts/collect.sh"}),
    ]
    harness = make_harness([tool_calls(calls), text("ok")])
    harness.user.approvals = [Answer(kind="no") for _ in calls]
    run(harness, "go")
    assert "Short sentences." in results(harness)[0]
    assert results(harness)[1:] == ["the user declined"] * 4
    assert len(harness.user.asked) == 4


def test_a_folder_that_contains_the_home_folder_is_not_opened_by_a_link(
    make_harness: MakeHarness, tmp_path: Path
) -> None:
    (tmp_path / "home" / "skills").mkdir(parents=True)
    (tmp_path / "home" / "skills" / "all").symlink_to(tmp_path)
    (tmp_path / "SKILL.md").write_text("---\nname: all\ndescription: All.\n---\nRead.", encoding="utf-8")
    harness = make_harness([tool_calls([("read_file", {"path": str(tmp_path / "home" / "secret.txt")})]), text("ok")])
    run(harness, "go")
    assert "- all: All." in body(harness)["messages"][0]["content"]
    assert len(harness.user.asked) == 1


def test_a_skill_of_a_project_is_used_once_it_is_trusted(make_harness: MakeHarness) -> None:
    call = tool_calls([("use_skill", {"name": "release-notes"})])
    harness = make_harness([text("ok"), call, text("ok")])
    write(harness.project / ".clio")
    assert not run_command(harness.app, "/skills use release-notes").ok
    run(harness, "hello")
    assert "release-notes" not in str(body(harness))
    notices = [event.text for event in harness.seen(Notice)]
    assert len(notices) == 1 and mentions(notices[0], "skills", "trust", "release-notes", "/trust")
    shown = run_command(harness.app, "/trust")
    assert shown.table is not None
    assert shown.table.rows[0][0] == "skill release-notes"
    run_command(harness.app, "/trust --yes")
    harness.app = harness.build()
    run(harness, "hello again")
    assert mentions(results(harness)[0], ".clio/skills/release-notes")


def test_an_unknown_name_is_answered_with_the_known_ones(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([("use_skill", {"name": "relase_notes"})]), text("ok")])
    write(harness.loaded.home)
    run(harness, "go")
    assert "the nearest are: release-notes" in results(harness)[0]


def test_a_deleted_skill_gives_an_error_message(make_harness: MakeHarness) -> None:
    harness = make_harness([text("ok"), tool_calls([("use_skill", {"name": "release-notes"})]), text("ok")])
    skill = write(harness.loaded.home)

    async def turns() -> None:
        await harness.turn("one")
        (skill / "SKILL.md").unlink()
        await harness.turn("two")

    asyncio.run(turns())
    assert mentions(results(harness)[0], "cannot be used", "No such file")


def test_a_small_window_has_skills_too(make_harness: MakeHarness) -> None:
    harness = make_harness([text("ok")], context_window=16_000)
    write(harness.loaded.home)
    run(harness, "hello")
    assert "- release-notes" in body(harness)["messages"][0]["content"]
    assert "use_skill" in [tool["function"]["name"] for tool in body(harness)["tools"]]


def test_a_skill_called_by_the_user_comes_before_the_message(make_harness: MakeHarness) -> None:
    harness = make_harness([text("ok")])
    write(harness.loaded.home)
    step = run_command(harness.app, "/skills use release-notes for 2.0").follow_up
    assert isinstance(step, RunExpandedCommand)
    asyncio.run(harness.app.run_turn(step.line, step.expand))
    sent = body(harness)["messages"][-1]["content"]
    assert "The user asks you to use this skill" in sent
    assert "Run scripts/collect.sh" in sent
    assert sent.endswith("/skills use release-notes for 2.0")
    assert run_added_command(harness.app, "/skills use release-notes for 2.0") is not None
    assert run_added_command(harness.app, "/skills list") is None


def test_a_new_skill_is_written_trusted_and_used(make_harness: MakeHarness) -> None:
    harness = make_harness([text("ok")])
    step = run_command(harness.app, "/skills new tidy-up").follow_up
    assert isinstance(step, EditText)
    assert "name: tidy-up" in step.text
    assert not step.then("---\nname: tidy-up\n---\nno description").ok
    assert not (harness.project / ".clio" / "skills").exists()
    assert step.then("---\nname: tidy-up\ndescription: Tidies.\n---\nTidy.").ok
    assert (harness.project / ".clio" / "skills" / "tidy-up" / "SKILL.md").is_file()
    assert not run_command(harness.app, "/skills new tidy-up").ok
    for wrong in ("Tidy", "a--b", "x" * 65, "../up", ""):
        assert not run_command(harness.app, f"/skills new {wrong}").ok
    own = run_command(harness.app, "/skills new mine --user").follow_up
    assert isinstance(own, EditText)
    assert own.then("---\nname: mine\ndescription: Mine.\n---\nDo it.").ok
    assert (harness.loaded.home / "skills" / "mine" / "SKILL.md").is_file()
    listed = run_command(harness.app, "/skills")
    assert listed.table is not None
    assert [row[:2] for row in listed.table.rows] == [("tidy-up", ""), ("mine", "")]
    assert "'tidy-up'" in run_command(harness.app, "/skills show tidyup").text
    assert run_command(harness.app, "/skills show tidy-up").verbatim == "Tidy."
    run(harness, "hello")
    assert "- mine: Mine.\n- tidy-up: Tidies." in body(harness)["messages"][0]["content"]
