"""Context before a message: who approves actions, and the state of the working tree."""

import asyncio

from clio.agent.user_interface import ComposedInterface
from clio.app import build_app
from clio.context.workspace_state import invalidate_working_trees
from clio.security.approval import Answer, ApprovalRequest, get_next_mode
from tests.support.chat_server import text
from tests.support.harness import Asker, Harness, git
from tests.turns.conftest import MakeHarness


class NoUser:
    """An approver for a run without a user."""

    never_asks = True

    async def ask(self, request: ApprovalRequest) -> Answer:
        raise AssertionError("asked")


def contexts(harness: Harness) -> list[str]:
    """Return the text before each user message in the last request."""
    messages = harness.server.requests[-1].body["messages"]
    return [message["content"] for message in messages if message["role"] == "user"]


def test_changed_files_are_named_and_commits_are_reported_when_they_change(make_harness: MakeHarness) -> None:
    harness = make_harness([text("one"), text("two"), text("three")])

    async def run_turns() -> None:
        await harness.turn("first")
        (harness.project / "calc.py").write_text("changed\n", encoding="utf-8")
        invalidate_working_trees()
        await harness.turn("second")
        git(harness.project, "commit", "-qam", "Change the sum")
        invalidate_working_trees()
        await harness.turn("third")

    asyncio.run(run_turns())
    first, second, third = contexts(harness)
    assert "changed files: 0" in first and "last commits:" in first
    assert "changed files: 1\n   M calc.py" in second and "last commits:" not in second
    assert "changed files: 0" in third and "Change the sum" in third


def test_a_continued_session_is_sent_only_what_changed_since_its_last_message(make_harness: MakeHarness) -> None:
    harness = make_harness([text("one"), text("two"), text("three"), text("four")])

    async def run_turns() -> None:
        await harness.turn("I prefer short answers")
        await continue_session()
        await harness.turn("second")
        await continue_session()
        git(harness.project, "commit", "-q", "--allow-empty", "-m", "Change the sum")
        harness.app.memory.preferences.add("long diffs", score=9.0)
        invalidate_working_trees()
        await harness.turn("third")
        await harness.app.close()

    async def continue_session() -> None:
        await harness.app.close()
        session = harness.app.session.id
        harness.app = harness.build()
        harness.app.open_session(session)

    asyncio.run(run_turns())
    first, second, third = contexts(harness)
    assert "last commits:" in first and "short answers" in first
    assert "last commits:" not in second and "short answers" not in second.partition("second")[0]
    assert "Change the sum" in third and "short answers" in third and "long diffs" in third


def test_the_approval_mode_is_sent_in_each_turn(make_harness: MakeHarness) -> None:
    harness = make_harness([text("one"), text("two")])

    async def run_turns() -> None:
        await harness.turn("first")
        harness.app.policy.mode = get_next_mode("ask")
        await harness.turn("second")

    asyncio.run(run_turns())
    first, second = contexts(harness)
    assert "approvals: edits, and commands that may change something, are shown to the user first" in first
    assert "approvals: edits in the project run unasked" in second


def test_a_run_without_a_user_says_that_no_one_can_approve(make_harness: MakeHarness) -> None:
    harness = make_harness([text("one")])
    harness.app = build_app(
        harness.loaded, ComposedInterface(NoUser(), Asker(harness.user), harness.events.append), env=harness.env
    )
    asyncio.run(harness.turn("first"))
    assert "approvals: no one can approve here" in contexts(harness)[0]
