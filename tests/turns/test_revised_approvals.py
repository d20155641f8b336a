"""A user approves something other than proposed: fewer hunks, fewer files, their own text. Real files, real HTTP."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from clio.agent.user_interface import ToolFinished
from clio.messages import ToolMessage
from clio.security.actions import ChangeFiles, FileChange
from clio.security.approval import Answer, ApprovalRequest, Declined
from clio.tools.files.diff import apply_diff_hunks, split_hunks
from tests.support.chat_server import text, tool_calls
from tests.support.harness import Harness
from tests.support.wording import mentions
from tests.turns.conftest import MakeHarness

OLD = "".join(f"line {number}\n" for number in range(30))
SECOND_ONLY = OLD.replace("line 20\n", "LINE 20\n")
Decide = Callable[[tuple[FileChange, ...]], Answer]


def patch(*names: str) -> tuple[str, dict[str, str]]:
    """Return a call that changes line 2 and line 20 of each of these files."""
    hunks = "@@\n line 1\n-line 2\n+LINE 2\n line 3\n@@\n line 19\n-line 20\n+LINE 20\n line 21\n"
    files = "".join(f"*** Update File: {name}\n{hunks}" for name in names)
    return ("apply_patch", {"patch": f"*** Begin Patch\n{files}*** End Patch\n"})


def rewritten(change: FileChange, after: str) -> FileChange:
    return msgspec.structs.replace(change, after=after)


def second_hunk_only(changes: tuple[FileChange, ...]) -> Answer:
    before, after = changes[0].before or "", changes[0].after or ""
    first, second = split_hunks(before, after)
    declined = Declined(path=changes[0].path, hunks=1, of=2, diff=first.text)
    return Answer(
        "changed", changes=(rewritten(changes[0], apply_diff_hunks(before, after, [second])),), declined=(declined,)
    )


def own_words(changes: tuple[FileChange, ...]) -> Answer:
    return Answer("changed", changes=(rewritten(changes[0], "mine\n"),), edited=(changes[0].path,))


class Told:
    """One turn with a user who decides this way; `last` is the result given to the model."""

    def __init__(
        self, make_harness: MakeHarness, call: tuple[str, dict[str, str]], decide: Decide, *names: str
    ) -> None:
        self.harness: Harness = make_harness([tool_calls([call]), text("ok")])
        self.project: Path = self.harness.project
        for name in names:
            (self.project / name).write_text(OLD, encoding="utf-8")
        self._decide = decide
        self.harness.user.ask = self._ask
        asyncio.run(self.harness.turn("change it"))
        self.last = [message for message in self.harness.app.session.messages if isinstance(message, ToolMessage)][-1]

    async def _ask(self, request: ApprovalRequest) -> Answer:
        assert isinstance(request.action, ChangeFiles)
        return self._decide(request.action.changes)

    def read(self, name: str) -> str:
        return (self.project / name).read_bytes().decode()


def test_only_the_accepted_hunk_is_written_and_the_model_is_shown_the_other(make_harness: MakeHarness) -> None:
    decided = Told(make_harness, patch("a.txt"), second_hunk_only, "a.txt")
    assert decided.read("a.txt") == SECOND_ONLY
    assert decided.last.ok and "updated a.txt (+1 -1)" in decided.last.content
    assert "declined 1 of 2 hunks of a.txt" in decided.last.content
    assert "-line 2\n+LINE 2\n" in decided.last.content and "+LINE 20" not in decided.last.content
    (finished,) = decided.harness.seen(ToolFinished)
    assert "+LINE 20" in finished.diff and "+LINE 2\n" not in finished.diff and finished.asked


def test_the_users_own_text_is_written_and_the_model_is_shown_the_difference(make_harness: MakeHarness) -> None:
    decided = Told(make_harness, ("write_file", {"path": "new.txt", "content": "yours\n"}), own_words)
    assert decided.read("new.txt") == "mine\n"
    assert mentions(decided.last.content, "user", "edited", "new.txt")
    assert "-yours\n+mine" in decided.last.content


def test_a_file_removed_from_a_patch_is_not_changed(make_harness: MakeHarness) -> None:
    decided = Told(
        make_harness, patch("a.txt", "b.txt"), lambda changes: Answer("changed", changes=changes[1:]), "a.txt", "b.txt"
    )
    assert decided.read("a.txt") == OLD and decided.read("b.txt") != OLD
    assert "declined your change of a.txt" in decided.last.content


def test_the_next_edit_starts_from_what_was_written(make_harness: MakeHarness) -> None:
    """Text written by the user counts as read, because the model was told of it."""
    again = ("edit_file", {"path": "new.txt", "old_string": "mine", "new_string": "ours"})
    harness = make_harness(
        [tool_calls([("write_file", {"path": "new.txt", "content": "yours\n"})]), tool_calls([again]), text("ok")]
    )
    answers: list[Decide] = [own_words, lambda changes: Answer("once")]

    async def ask(request: ApprovalRequest) -> Answer:
        assert isinstance(request.action, ChangeFiles)
        return answers.pop(0)(request.action.changes)

    harness.user.ask = ask
    asyncio.run(harness.turn("write, then edit"))
    assert (harness.project / "new.txt").read_text(encoding="utf-8") == "ours\n"


def test_a_file_that_changed_during_the_question_is_left_alone(make_harness: MakeHarness) -> None:
    def meanwhile(changes: tuple[FileChange, ...]) -> Answer:
        changes[0].path.write_text("somebody else\n", encoding="utf-8")
        return second_hunk_only(changes)

    decided = Told(make_harness, patch("a.txt"), meanwhile, "a.txt")
    assert decided.read("a.txt") == "somebody else\n"
    assert not decided.last.ok and "changed on disk" in decided.last.content


def test_a_folder_that_became_a_link_during_the_question_is_not_written_through(make_harness: MakeHarness) -> None:
    def meanwhile(changes: tuple[FileChange, ...]) -> Answer:
        folder, outside = changes[0].path.parent, changes[0].path.parent.parent.parent / "outside"
        folder.rename(outside)
        folder.symlink_to(outside)
        return Answer("once")

    harness = make_harness([])
    (harness.project / "sub").mkdir()
    decided = Told(make_harness, patch("sub/a.txt"), meanwhile, "sub/a.txt")
    assert (decided.project.parent / "outside" / "a.txt").read_text(encoding="utf-8") == OLD
    assert not decided.last.ok and "replaced by a link or moved" in decided.last.content


def elsewhere(changes: tuple[FileChange, ...]) -> Answer:
    return Answer("changed", changes=(msgspec.structs.replace(changes[0], path=changes[0].path.with_name("b.txt")),))


def deleted(changes: tuple[FileChange, ...]) -> Answer:
    return Answer("changed", changes=(msgspec.structs.replace(changes[0], kind="delete", after=None),))


def nothing(changes: tuple[FileChange, ...]) -> Answer:
    return Answer("changed")


@pytest.mark.parametrize("decide", [elsewhere, deleted, nothing])
def test_an_answer_can_only_change_files_in_the_question(make_harness: MakeHarness, decide: Decide) -> None:
    decided = Told(make_harness, patch("a.txt"), decide, "a.txt", "b.txt")
    assert decided.read("a.txt") == OLD and decided.read("b.txt") == OLD
    assert not decided.last.ok and "no file was changed" in decided.last.content


def test_plan_mode_switched_on_during_the_question_refuses(make_harness: MakeHarness) -> None:
    harnesses: list[Harness] = []

    def meanwhile(changes: tuple[FileChange, ...]) -> Answer:
        harnesses[0].app.policy.mode = "plan"
        return second_hunk_only(changes)

    harness = make_harness([tool_calls([patch("a.txt")]), text("ok")])
    harnesses.append(harness)
    (harness.project / "a.txt").write_text(OLD, encoding="utf-8")

    async def ask(request: ApprovalRequest) -> Answer:
        assert isinstance(request.action, ChangeFiles)
        return meanwhile(request.action.changes)

    harness.user.ask = ask
    asyncio.run(harness.turn("change it"))
    assert (harness.project / "a.txt").read_text(encoding="utf-8") == OLD


def test_a_secret_written_by_the_user_does_not_reach_the_model(make_harness: MakeHarness) -> None:
    secret = "sk-proj-Zq8vT3mK1xW7" + "bN5cR9dL2fH4gJ6"

    def with_secret(changes: tuple[FileChange, ...]) -> Answer:
        return Answer("changed", changes=(rewritten(changes[0], f"token = '{secret}'\n"),), edited=(changes[0].path,))

    decided = Told(make_harness, ("write_file", {"path": "new.txt", "content": "x\n"}), with_secret)
    assert secret in decided.read("new.txt")
    assert secret not in decided.last.content and secret not in str(decided.harness.server.requests[-1].body)
