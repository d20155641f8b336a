"""The ways to an editor: everything that `clio acp` sends it as text, in one string."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from clio.agent.user_interface import MessageAdded
from clio.commands.command import CommandContext
from clio.entrypoints.acp.session import (
    EditorApprover,
    EditorAsker,
    EditorQuestions,
    list_editor_commands,
    replay_messages,
)
from clio.entrypoints.acp.updates import EditorListener, Outbox, SpokenMessage, UpdateMaker
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from clio.security.actions import Workspace
from clio.security.approval import ApprovalRequest, Ask
from clio.sessions.state import Todo
from clio.ui.result_markdown import format_result_as_markdown
from tests.injection.ways import ROOT, Way, actions, events, result

# What must be exact so that the editor can find or display it: paths, both sides of a change, ids.
_EXACT = frozenset("path old_text new_text tool_call_id option_id current_mode_id".split())


def words_of(value: object) -> Iterator[str]:
    """Return every text of an update except what must be exact."""
    match value:
        case str():
            yield value
        case dict():
            for key, inner in cast("dict[str, object]", value).items():
                yield from (() if key in _EXACT else (key, *words_of(inner)))
        case list():
            for inner in cast("list[object]", value):
                yield from words_of(inner)
        case _:
            return


def _record_updates(talk: Callable[[UpdateMaker, Outbox], Any]) -> str:
    """Return the updates an editor receives during this conversation."""

    async def work() -> list[Any]:
        updates: list[Any] = []

        async def send(session_id: str, update: Any) -> None:
            updates.append(update)

        make = UpdateMaker()
        outbox = Outbox(send, make.make_message)
        waited = talk(make, outbox)
        if asyncio.iscoroutine(waited):
            updates += await waited
        await outbox.flush()
        await outbox.close()
        return updates

    return "\n".join(word for update in asyncio.run(work()) for word in words_of(update.model_dump()))


def _listener(text: str) -> str:
    def talk(make: UpdateMaker, outbox: Outbox) -> None:
        listener = EditorListener(make, outbox, editor_path=str, on_step=lambda usage: None)
        listener.workspace = Workspace(ROOT)
        listener.open("s")
        call = ToolCall(id="1", name="run_command", arguments=json.dumps({"command": text, text: [text]}))
        listener.handle(MessageAdded(message=AssistantMessage(content="", tool_calls=(call,))))
        for event in events(text):
            listener.handle(event)
        listener.handle(MessageAdded(message=ToolMessage(tool_call_id="1", name=text, content=text)))
        listener.text(text)

    return _record_updates(talk)


def _replayed(text: str) -> str:
    messages: list[Message] = [
        UserMessage(content=text),
        AssistantMessage(
            content=text,
            reasoning=text,
            tool_calls=(ToolCall(id="1", name="edit_file", arguments=json.dumps({"path": text})),),
        ),
        ToolMessage(tool_call_id="1", name=text, content=text),
    ]

    def talk(make: UpdateMaker, outbox: Outbox) -> None:
        replay_messages(messages, make, lambda name, given: [], lambda update: outbox.put("s", update))
        outbox.put("s", SpokenMessage("agent_message_chunk", format_result_as_markdown(result(text))))

    return _record_updates(talk)


def _offers(text: str) -> str:
    command = SimpleNamespace(name="x", summary=text, argument=text, subcommands=(), source=text, own=False)
    shell = cast(CommandContext, SimpleNamespace(added=SimpleNamespace(all=lambda: (command,))))

    def talk(make: UpdateMaker, outbox: Outbox) -> None:
        outbox.put("s", make.make_command_list(list_editor_commands(shell)))
        outbox.put("s", make.make_plan((Todo(id=1, title=text, note=text, status="blocked"),)))
        outbox.put("s", make.make_title_change(text))

    return _record_updates(talk)


def _asked(text: str) -> str:
    async def talk(make: UpdateMaker, outbox: Outbox) -> list[Any]:
        questions: list[Any] = []

        async def ask(session_id: str, call: Any, options: list[Any]) -> Any:
            questions.extend([call, *options])
            return SimpleNamespace(outcome=SimpleNamespace(option_id="no"))

        harness = EditorQuestions(make, outbox, ask)
        approver = EditorApprover(harness, str)
        for action in actions(text):
            verdict = Ask(risk="high", reason=text, rule=text)
            await approver.ask(ApprovalRequest(title=text, action=action, verdict=verdict))
        await EditorAsker(harness).ask(text, (text, text))
        return questions

    return _record_updates(talk)


def editor_ways(folder: Path) -> dict[str, Way]:
    """Return all ways by name."""
    return {
        "editor, a turn": _listener,
        "editor, told again": _replayed,
        "editor, what is offered": _offers,
        "editor, questions": _asked,
    }
