"""Parts of `clio acp` that need no process: diffs, links, results, the order of updates."""

import asyncio
import json
import random
import re
from pathlib import Path
from typing import Any

from clio.agent.user_interface import Notice, StreamRestarted, TextDelta, ToolFinished, ToolProgress, ToolStarted
from clio.commands.command import Bar, BarPart, CommandResult, Table
from clio.commands.registry import find_command
from clio.commands.settings_commands import MODES
from clio.config.command_line import parse_arguments
from clio.entrypoints.acp.session import EditorAttachments, format_mention
from clio.entrypoints.acp.updates import (
    MAX_UNCUT_CHARS,
    MODE_NAMES,
    EditorListener,
    FileVersions,
    Outbox,
    SpokenMessage,
    UpdateMaker,
    fence_text,
    make_file_versions,
    read_patches,
)
from clio.security.actions import Workspace
from clio.sessions.state import Todo
from clio.tools.files.diff import diff_texts
from clio.ui.result_markdown import format_result_as_markdown
from tests.entrypoints.repl_support import ROOT
from tests.support.acp_editor import kind
from tests.support.rows import each_row


def both(before: str, after: str, now: str | None, *, old: str = "a.py", new: str = "a.py") -> list[FileVersions]:
    [patch] = read_patches(diff_texts(before, after, old, new).text)
    return list(make_file_versions(patch, now))


def test_a_diff_contains_the_whole_file() -> None:
    rng = random.Random(7)
    for _ in range(300):
        lines = [f"{rng.choice(['--- x', '+++ y', '@@ -1 +1 @@', 'word', ''])}{rng.randrange(3)}" for _ in range(30)]
        after = lines.copy()
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(after))
            after[at : at + rng.randrange(3)] = ["new"] * rng.randrange(3)
        old, new = ("\n".join(text) + rng.choice(["", "\n"]) for text in (lines, after))
        if old == new:
            continue
        [one] = both(old, new, new)
        assert (one.old, one.new) == (old, new)
        assert 1 <= one.line <= len(after) + 1


def test_a_diff_that_does_not_apply_is_shown_part_by_part() -> None:
    before = "".join(f"line {number}\n" for number in range(40))
    after = before.replace("line 3\n", "line three\n").replace("line 30\n", "")
    shown = both(before, after, "something else\n")
    assert [one.line for one in shown] == [4, 31]
    assert shown[0].old == "line 0\nline 1\nline 2\nline 3\nline 4\nline 5\nline 6\n"
    assert shown[0].new == "line 0\nline 1\nline 2\nline three\nline 4\nline 5\nline 6\n"
    assert len(both(before, after, after + "x" * MAX_UNCUT_CHARS)) == 2
    assert both("", "new\n", None, old="/dev/null") == [FileVersions(old=None, new="new\n", line=1)]
    assert both("gone\n", "", None, new="/dev/null") == [FileVersions(old="gone\n", new="", line=1)]
    assert read_patches("no diff\n") == []


@each_row(
    "uri,words",
    [
        ("file:///w/a.py", "@/w/a.py"),
        ("file:///w/a%20b.py", '@"/w/a b.py"'),
        ("file:///w/a.py#L3", "@/w/a.py:3"),
        ("file:///w/a.py#L3:9", "@/w/a.py:3-9"),
        ("file:///w/a.py#L3-L9", "@/w/a.py:3-9"),
        ("file:///w/a.py#heading", "@/w/a.py"),
        ("file://elsewhere/w/a.py", "a.py (file://elsewhere/w/a.py)"),
        ("https://example.org/", "a.py (https://example.org/)"),
    ],
)
def test_links_become_locations(uri: str, words: str) -> None:
    assert format_mention(uri, "a.py") == words


def test_attached_texts_wait_for_one_message() -> None:
    attachments = EditorAttachments()
    attachments.attach('a "b".md', "x" * 100_000)
    [fragment] = attachments.take_fragments()
    assert fragment.source == "a 'b'.md" and len(fragment.text) < 50_000
    assert attachments.take_fragments() == []


def test_results_are_markdown() -> None:
    result = CommandResult(
        bar=Bar(title="window", parts=(BarPart(name="used", amount=1, mark="#"),)),
        text="Some `words`\x1b[31m.",
        verbatim="```\nfenced\n```",
        diff="-a\n+b\n",
        table=Table(columns=("a", "b"), rows=(("1|2", "<b>\n"),)),
        todos=(Todo(id=1, title="leap"),),
    )
    text = format_result_as_markdown(result)
    assert "Some `words`." in text
    assert "````\n```\nfenced\n```\n````" in text
    assert "```diff\n-a\n+b\n```" in text
    assert "| 1\\|2 | &lt;b> |" in text
    assert text.endswith("- [ ] leap")
    assert format_result_as_markdown(CommandResult()) == "" == fence_text(" \n")


class Sink:
    """Receives updates, one at a time, when the test permits."""

    def __init__(self) -> None:
        self.taken: list[Any] = []
        self.open = asyncio.Event()

    async def send(self, session_id: str, update: Any) -> None:
        await self.open.wait()
        self.taken.append(update)


def test_queued_updates_are_joined_and_newer_ones_replace_older_ones(tmp_path: Path) -> None:
    async def work() -> list[Any]:
        make, sink = UpdateMaker(), Sink()
        outbox = Outbox(sink.send, make.make_message)
        steps: list[object] = []
        listener = EditorListener(make, outbox, editor_path=str, on_step=steps.append)
        listener.workspace = Workspace(tmp_path)
        listener.handle(Notice(text="said before there is a session"))
        listener.open("s")
        for word in ("one ", "two ", "\x1b[3", "1mthree"):
            listener.handle(TextDelta(text=word))
        listener.handle(StreamRestarted())
        listener.handle(ToolStarted(call_id="c", name="run_command", title="run x"))
        for number in range(1_000):
            await asyncio.to_thread(listener.handle, ToolProgress(call_id="c", text=f"{number}\n"))
        (tmp_path / "a.py").write_text("b\n", encoding="utf-8")
        diff = diff_texts("a\n", "b\n", "a.py", "a.py").text
        listener.handle(
            ToolFinished(call_id="c", name="todo_operations", title="t", ok=True, summary="", seconds=0, diff=diff)
        )
        assert steps == [None]
        sink.open.set()
        await outbox.flush()
        await outbox.close()
        outbox.put("s", SpokenMessage("agent_message_chunk", "too late"))
        await outbox.flush()
        return sink.taken

    received = asyncio.run(work())
    kinds = [kind(update) for update in received]
    assert kinds[0] == "agent_message_chunk"
    assert kinds[-2:] == ["tool_call_update", "tool_call_update"], "a thousand updates are joined to one"
    assert len(received) <= 6
    words = "".join(update.content.text for update in received if kind(update) == "agent_message_chunk")
    assert words.startswith("\n\n> said before there is a session\n\none two three")
    assert "> the answer was cut off and starts again:" in words
    assert received[-2].content[0].content.text.endswith("998\n999\n```")
    assert (received[-1].content[0].old_text, received[-1].content[0].new_text) == ("a\n", "b\n")
    assert received[-1].content[0].path == str(tmp_path / "a.py")


def test_the_documented_editor_settings_start_this_command() -> None:
    page = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    settings = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    assert len(settings) == 2
    for one in settings:
        agent = one["agent_servers"]["clio"]
        assert Path(agent["command"]).name == "clio" and parse_arguments(agent["args"]).words == ["acp"]
    for block in re.findall(r"```lua\n(.*?)```", page, re.DOTALL):
        assert block.count("{") == block.count("}") and '"clio"' in block and '"acp"' in block
    [options] = re.findall(r'`(\["acp", .*\])`', page)
    assert parse_arguments(json.loads(options)).model == "qwen3"
    assert all(f"`{MODE_NAMES[mode]}`" in page and f"`{mode}`" in page for mode in MODES)
    named = set(re.findall(r"`/(\w+)", page))
    assert all(find_command(word) is not None for word in named - {"theme"}), named
