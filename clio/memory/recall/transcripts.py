"""What of a session is worth finding again: its messages as turns, with one line per tool call. Pure but for `Outputs`.

Every message is there, whatever was trimmed out of the window. Left out are system prompts, what clio itself put into
the conversation, and what was recalled in it: it would be found as its own echo.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import assert_never

from msgspec import Struct

from clio.memory.recall.call_lines import SILENT, call_line
from clio.memory.recall.docs import TurnDoc
from clio.messages import AssistantMessage, Commit, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from clio.sessions.blobs import HANDLE
from clio.sessions.side_effects import commits_in, deeds_of, runs_commit
from clio.sessions.state import SessionState, first_words
from clio.storage.files import open_regular

MEMORY_TOOL = "memory_operations"
OUTPUT_END_BYTES = 65_536
"""Of a longer output its first and its last 64 KiB are kept."""

_LEFT_OUT = "\n[…]\n"


class _Open(Struct, frozen=True):
    """A call that waits for its result: the place of its message, and its own place in there."""

    message: int
    call: int


class Outputs:
    """The whole outputs of one session: what the message holds, or the blob of which it holds a preview.

    folder: the session's blobs; it need not exist. elsewhere: how to read others, by their digest.
    """

    def __init__(self, folder: Path, elsewhere: Mapping[str, Callable[[], str]] | None = None) -> None:
        self._folder = folder
        self._elsewhere = elsewhere or {}
        self._names: list[str] | None = None

    def __call__(self, message: ToolMessage) -> str:
        """An output, of a long one its beginning and end. A blob that cannot be read is told by its preview."""
        if message.blob and HANDLE.fullmatch(message.blob):
            if self._names is None:
                self._names = _names(self._folder)
            try:
                for name in (name for name in self._names if name.startswith(message.blob)):
                    return _ends_of_file(self._folder / name)
                for digest in (digest for digest in self._elsewhere if digest.startswith(message.blob)):
                    return _ends(self._elsewhere[digest]())
            except OSError:
                return shown_whole(message)
        return shown_whole(message)


def shown_whole(message: ToolMessage) -> str:
    """The output as the message holds it, of a long one its beginning and end."""
    return _ends(message.content)


def title_of(state: SessionState) -> str:
    """What a session is called: its name, else how the person began; empty where nobody has spoken yet."""
    return state.name or first_words(state.messages)


def turns_of(messages: Sequence[Message], output_of: Callable[[ToolMessage], str] = shown_whole) -> tuple[TurnDoc, ...]:
    """The messages that say something, in their order; `output_of` gives the whole output of a result."""
    results, silent = _paired(messages)
    turns: list[TurnDoc] = []
    for place, message in enumerate(messages):
        match message:
            case UserMessage():
                text = message.content if message.origin == "user" else ""
                turns.append(TurnDoc(message_id=message.id, role="user", created=message.created, text=text))
            case AssistantMessage():
                answered = [(call, results.get((place, n))) for n, call in enumerate(message.tool_calls)]
                text = _said(message.content, answered)
                commits = tuple(commit for call, result in answered if result for commit in _commits(call, result))
                turns.append(
                    TurnDoc(
                        message_id=message.id, role="assistant", created=message.created, text=text, commits=commits
                    )
                )
            case ToolMessage():
                output = "" if place in silent or message.name in SILENT else output_of(message)
                turns.append(
                    TurnDoc(message_id=message.id, role="tool", created=message.created, text="", output=output)
                )
            case SystemMessage():
                continue
            case _:
                assert_never(message)
    return tuple(turn for turn in turns if turn.text.strip() or turn.output.strip())


def searchable_text(message: Message) -> str:
    """What of a single message is worth finding, its calls with all their arguments."""
    match message:
        case UserMessage():
            return message.content if message.origin == "user" else ""
        case AssistantMessage():
            calls = [f"{call.name} {call.arguments}" for call in message.tool_calls if call.name != MEMORY_TOOL]
            return "\n".join([message.content, *calls]).strip()
        case ToolMessage():
            return message.content if message.name != MEMORY_TOOL else ""
        case SystemMessage():
            return ""
        case _:
            assert_never(message)


def _said(content: str, answered: Iterable[tuple[ToolCall, ToolMessage | None]]) -> str:
    lines = [content.strip(), *(call_line(call, result) for call, result in answered)]
    return "\n".join(line for line in lines if line)


def _commits(call: ToolCall, result: ToolMessage) -> tuple[Commit, ...]:
    """The commits a call made: as its tool noted them, else as git reported them."""
    deeds = deeds_of(call, result)
    return deeds.commits or (commits_in(result.content) if deeds.command and runs_commit(deeds.command) else ())


def _paired(messages: Sequence[Message]) -> tuple[dict[tuple[int, int], ToolMessage], set[int]]:
    """The result of each call by the call's place, and the places of results that belong to silent tools.

    Ids of calls may repeat in a session, as some servers count from 0 in every answer: a result is the last one's.
    """
    waiting: dict[str, _Open] = {}
    results: dict[tuple[int, int], ToolMessage] = {}
    silent: set[int] = set()
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            for number, call in enumerate(message.tool_calls):
                waiting[call.id] = _Open(place, number)
        elif isinstance(message, ToolMessage) and (call := waiting.get(message.tool_call_id)):
            results[call.message, call.call] = message
            asking = messages[call.message]
            if isinstance(asking, AssistantMessage) and asking.tool_calls[call.call].name in SILENT:
                silent.add(place)
    return results, silent


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []


def _ends(text: str) -> str:
    if len(text) <= 2 * OUTPUT_END_BYTES:
        return text
    return text[:OUTPUT_END_BYTES] + _LEFT_OUT + text[-OUTPUT_END_BYTES:]


def _ends_of_file(path: Path) -> str:
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size <= 2 * OUTPUT_END_BYTES:
            return file.read().decode("utf-8", "replace")
        head = file.read(OUTPUT_END_BYTES)
        file.seek(size - OUTPUT_END_BYTES)
        tail = file.read(OUTPUT_END_BYTES)
    return head.decode("utf-8", "ignore") + _LEFT_OUT + tail.decode("utf-8", "ignore")
