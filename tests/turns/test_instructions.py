"""Turns in a project with instruction files: what is sent to the model, and what the user can see."""

import asyncio
from typing import Any

from clio.commands.context_commands import show_context
from tests.support.chat_server import text, tool_calls
from tests.support.wording import mentions
from tests.turns.conftest import MakeHarness

SECRET = "sk-proj-" + "Zx81kq" * 8


def make_files(project: Any) -> None:
    (project / "AGENTS.md").write_text(f"Use tabs. Key: {SECRET}. See @style.md\n", encoding="utf-8")
    (project / "style.md").write_text("Short names.\n", encoding="utf-8")
    (project / "api").mkdir()
    (project / "api" / "AGENTS.md").write_text("The api speaks French.\n", encoding="utf-8")
    (project / "api" / "app.py").write_text("x = 1\n", encoding="utf-8")


def test_the_prompt_has_root_instructions_and_a_folders_come_with_its_files(make_harness: MakeHarness) -> None:
    harness = make_harness(
        [
            tool_calls([("read_file", {"path": "api/app.py"})]),
            tool_calls([("read_file", {"path": "api/app.py"})]),
            text("ok"),
        ]
    )
    make_files(harness.project)
    asyncio.run(harness.turn("look"))
    first, second, third = (request.body["messages"] for request in harness.server.requests)
    assert "Use tabs." in first[0]["content"] and "Short names." in first[0]["content"]
    assert SECRET not in str(first)
    assert "French" not in str(first)
    assert "The api speaks French." in second[-1]["content"]
    assert "French" not in third[-1]["content"]
    assert first[0] == second[0] == third[0]


def test_the_no_instructions_option_omits_all(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([("read_file", {"path": "api/app.py"})]), text("ok")], instructions=False)
    make_files(harness.project)
    asyncio.run(harness.turn("look"))
    sent = str(harness.server.requests[-1].body)
    assert "Use tabs." not in sent and "Short names." not in sent and "French" not in sent


def test_context_lists_each_file_with_its_tokens_and_those_not_read(make_harness: MakeHarness) -> None:
    harness = make_harness([text("ok")])
    make_files(harness.project)
    (harness.project / "AGENTS.md").write_text("Use tabs. " * 3_000 + "@style.md @/etc/hosts", encoding="utf-8")
    asyncio.run(harness.turn("look"))
    table = show_context(harness.app, "").table
    assert table is not None
    rows = [tuple(map(str, row)) for row in table.rows]
    place = next(place for place, row in enumerate(rows) if row[0] == "in the prompt")
    assert mentions(rows[place][1], "AGENTS.md", "instructions") and ", 2,7" in rows[place][1]
    assert rows[place][1].endswith(" tokens, truncated")
    assert rows[place + 1][1].startswith("style.md: imported by AGENTS.md, ")
    assert ("left out", "AGENTS.md imports /etc/hosts, which is outside the project; import it in "
            "~/.clio/instructions.md instead") in rows  # fmt: skip
