"""What of a session's messages is searchable: their text, and one line for each tool call. Pure."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, assert_never, cast

import msgspec
from msgspec import Struct

from clio.memory.transcripts.transcript_records import TurnDoc
from clio.messages import (
    AssistantMessage,
    Commit,
    Message,
    SideEffects,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from clio.sessions.session_files import BLOB_HANDLE
from clio.sessions.side_effects import find_side_effects, parse_commits, runs_commit
from clio.sessions.state import SessionState, find_first_words
from clio.storage.files import open_regular
from clio.text.formatting import truncate_line
from clio.text.json_data import decode_json

SILENT = frozenset({"memory_operations", "read_output"})
"""Tools without a line, whose results are not kept either: they only repeat what stands somewhere else."""

LINE_CHARS = 300
_ARGUMENT_CHARS = 160
_OUTCOME_CHARS = 120
_FILES = 8

_VERBS = {
    "read_file": "read",
    "read": "read",
    "view": "read",
    "write_file": "wrote",
    "write": "wrote",
    "create": "wrote",
    "create_file": "wrote",
    "edit_file": "edited",
    "edit": "edited",
    "multiedit": "edited",
    "str_replace": "edited",
    "replace_string": "edited",
    "insert": "edited",
    "apply_patch": "patched",
    "delete_file": "deleted",
    "rename_file": "moved",
    "move_file": "moved",
    "run_command": "ran",
    "bash": "ran",
    "shell": "ran",
    "exec": "ran",
    "execute": "ran",
    "search_text": "searched",
    "grep_search": "searched",
    "semantic_search": "searched",
    "grep": "searched",
    "find_files": "looked for files",
    "file_search": "looked for files",
    "glob": "looked for files",
    "list_files": "listed",
    "list_dir": "listed",
    "web_fetch": "fetched",
    "webfetch": "fetched",
    "fetch_url": "fetched",
    "ask_user": "asked",
    "request_input": "asked",
    "askuserquestion": "asked",
    "todo_operations": "planned",
    "commit": "committed",
}
# Tools that are several in one: what they do stands in an argument.
_FAMILIES = {
    "file_operations": "operation",
    "terminal_operations": "operation",
    "version_control": "operation",
    "user_collaboration": "operation",
    "web_operations": "operation",
    "str_replace_editor": "command",
}
_MAIN = (
    "command",
    "pattern",
    "query",
    "regex",
    "path",
    "file_path",
    "notebook_path",
    "filename",
    "old_path",
    "new_path",
    "url",
    "revision",
    "question",
    "message",
    "name",
)
_QUOTED = frozenset({"pattern", "query", "regex", "question", "message"})
_PLAIN_SUCCESS = frozenset({"read", "wrote", "edited", "deleted", "moved", "listed", "planned"})
_CHANGES = {"add": "added", "update": "edited", "delete": "deleted", "move": "moved"}
_EXIT = re.compile(r"\bexit(?:ed)?(?: with)?(?: code| status)?[:=]?\s*(?P<code>-?\d{1,3})\b", re.I)


def call_line(call: ToolCall, result: ToolMessage | None) -> str:
    """What a call did, on one line of at most 300 characters; empty for a tool in `SILENT`.

    result: None where there is none yet. A failure is told by the line that says why.
    """
    if call.name in SILENT:
        return ""
    arguments = _arguments(call.arguments)
    name = call.name.casefold()
    if name in _FAMILIES:
        name = str(arguments.get(_FAMILIES[name], "")).casefold() or name
        arguments.pop(_FAMILIES[call.name.casefold()], None)
    verb = _VERBS.get(name, "")
    deeds = (result.side_effects if result else None) or SideEffects()
    done = _changed(deeds) or " ".join(filter(None, (verb or name.replace("_", " "), *_told(arguments))))
    outcome = _outcome(verb, deeds, result) if result else ""
    return truncate_line(
        f"{truncate_line(done, LINE_CHARS - _OUTCOME_CHARS)}{' → ' if outcome else ''}{outcome}", LINE_CHARS
    )


def _changed(deeds: SideEffects) -> str:
    parts: list[str] = []
    for deed in deeds.changed[:_FILES]:
        parts.append(f"{_CHANGES[deed.kind]} {deed.path}" + (f" to {deed.moved_to}" if deed.moved_to else ""))
    more = len(deeds.changed) - len(parts)
    return ", ".join(parts) + (f" and {more} more" if more else "")


def _told(arguments: dict[str, Any]) -> Iterator[str]:
    """The arguments that say what a call is about; of a call of an unknown kind its first texts."""
    named = [name for name in _MAIN if isinstance(arguments.get(name), str)]
    for name in named or [name for name, value in arguments.items() if isinstance(value, str)][:3]:
        text = truncate_line(str(arguments[name]), _ARGUMENT_CHARS)
        yield f"{text!r}" if text and name in _QUOTED else text
    if isinstance(todos := arguments.get("todos"), list):
        entries = [cast("dict[str, Any]", entry) for entry in cast("list[Any]", todos) if isinstance(entry, dict)]
        yield "; ".join(str(entry["title"]) for entry in entries if "title" in entry)


def _outcome(verb: str, deeds: SideEffects, result: ToolMessage) -> str:
    if verb == "asked" and (answer := deeds.answer or result.content if result.ok else ""):
        return repr(truncate_line(answer, _ARGUMENT_CHARS))
    if deeds.commits:
        return ", ".join(f"{commit.hash} {commit.subject}" for commit in deeds.commits[:_FILES])
    if verb == "ran":
        return _exit(deeds, result)
    if not result.ok:
        why = result.summary or _first_line(result.content)
        return truncate_line(f"failed: {why}" if why else "failed", _OUTCOME_CHARS)
    return "" if verb in _PLAIN_SUCCESS else truncate_line(result.summary, _OUTCOME_CHARS)


def _exit(deeds: SideEffects, result: ToolMessage) -> str:
    """How a command ended; of one that failed also its last line, where programs say why."""
    code = deeds.exit_code
    lines = result.content.strip().splitlines()
    if code is None:
        places = (result.summary, *lines[:1], *lines[-1:])
        found = next((match for place in places if (match := _EXIT.search(place))), None)
        code = int(found["code"]) if found else None
    if code is None:
        return truncate_line(result.summary, _OUTCOME_CHARS) or ("" if result.ok else "failed")
    said = lines[-1].strip() if code and len(lines) > 1 else ""
    return truncate_line(f"exit {code}{': ' if said else ''}{said}", _OUTCOME_CHARS)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _arguments(text: str) -> dict[str, Any]:
    try:
        arguments = decode_json(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return {}  # the call itself failed for it, and its result says so
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}


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
        if message.blob and BLOB_HANDLE.fullmatch(message.blob):
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
    """What a session is called: its name, else how the user began; empty without a message."""
    return state.name or find_first_words(state.messages)


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
    deeds = find_side_effects(call, result)
    return deeds.commits or (parse_commits(result.content) if deeds.command and runs_commit(deeds.command) else ())


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
