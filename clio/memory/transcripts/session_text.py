"""Extract the searchable text of a session's messages: their content, and one summary line per tool call."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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

UNINDEXED_TOOLS = frozenset({"memory_operations", "read_output"})
"""Tools whose calls and outputs are not indexed, since they only repeat text that is indexed elsewhere."""

LINE_CHARS = 300
_MAX_ARGUMENT_CHARS = 160
_MAX_OUTCOME_CHARS = 120
_MAX_LISTED = 8
"""Number of files or commits that a summary line lists."""

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
# Tools with several operations, and the argument that names the operation.
_OPERATION_ARGUMENTS = {
    "file_operations": "operation",
    "terminal_operations": "operation",
    "version_control": "operation",
    "user_collaboration": "operation",
    "web_operations": "operation",
    "str_replace_editor": "command",
}
# Arguments that a summary line shows, in this order.
_MAIN_ARGUMENTS = (
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
_QUOTED_ARGUMENTS = frozenset({"pattern", "query", "regex", "question", "message"})
_VERBS_WITHOUT_OUTCOME = frozenset({"read", "wrote", "edited", "deleted", "moved", "listed", "planned"})
"""Verbs of calls whose success goes without saying: a summary line shows their result only if they failed."""
_CHANGE_VERBS = {"add": "added", "update": "edited", "delete": "deleted", "move": "moved"}
_EXIT = re.compile(r"\bexit(?:ed)?(?: with)?(?: code| status)?[:=]?\s*(?P<code>-?\d{1,3})\b", re.I)


def summarize_call(call: ToolCall, result: ToolMessage | None) -> str:
    """Return one line of at most 300 characters that says what a call did; empty for a tool in `UNINDEXED_TOOLS`.

    result: None if there is none yet. After a failure the line contains the reason.
    """
    if call.name in UNINDEXED_TOOLS:
        return ""
    arguments = _parse_arguments(call.arguments)
    name = call.name.casefold()
    if name in _OPERATION_ARGUMENTS:
        name = str(arguments.pop(_OPERATION_ARGUMENTS[name], "")).casefold() or name
    verb = _VERBS.get(name, "")
    effects = (result.side_effects if result else None) or SideEffects()
    action = _describe_changes(effects) or " ".join(
        filter(None, (verb or name.replace("_", " "), *_describe_arguments(arguments)))
    )
    outcome = _describe_outcome(verb, effects, result) if result else ""
    return truncate_line(
        f"{truncate_line(action, LINE_CHARS - _MAX_OUTCOME_CHARS)}{' → ' if outcome else ''}{outcome}", LINE_CHARS
    )


def _describe_changes(effects: SideEffects) -> str:
    parts: list[str] = []
    for change in effects.changed[:_MAX_LISTED]:
        parts.append(
            f"{_CHANGE_VERBS[change.kind]} {change.path}" + (f" to {change.moved_to}" if change.moved_to else "")
        )
    more = len(effects.changed) - len(parts)
    return ", ".join(parts) + (f" and {more} more" if more else "")


def _describe_arguments(arguments: dict[str, Any]) -> Iterator[str]:
    """Yield the main arguments of a call; if it has none of them, its first three strings."""
    named = [name for name in _MAIN_ARGUMENTS if isinstance(arguments.get(name), str)]
    for name in named or [name for name, value in arguments.items() if isinstance(value, str)][:3]:
        text = truncate_line(str(arguments[name]), _MAX_ARGUMENT_CHARS)
        yield f"{text!r}" if text and name in _QUOTED_ARGUMENTS else text
    if isinstance(todos := arguments.get("todos"), list):
        items = [cast("dict[str, Any]", item) for item in cast("list[Any]", todos) if isinstance(item, dict)]
        yield "; ".join(str(item["title"]) for item in items if "title" in item)


def _describe_outcome(verb: str, effects: SideEffects, result: ToolMessage) -> str:
    if verb == "asked" and (answer := effects.answer or result.content if result.ok else ""):
        return repr(truncate_line(answer, _MAX_ARGUMENT_CHARS))
    if effects.commits:
        return ", ".join(f"{commit.hash} {commit.subject}" for commit in effects.commits[:_MAX_LISTED])
    if verb == "ran":
        return _describe_exit(effects, result)
    if not result.ok:
        reason = result.summary or result.content.strip().partition("\n")[0]
        return truncate_line(f"failed: {reason}" if reason else "failed", _MAX_OUTCOME_CHARS)
    return "" if verb in _VERBS_WITHOUT_OUTCOME else truncate_line(result.summary, _MAX_OUTCOME_CHARS)


def _describe_exit(effects: SideEffects, result: ToolMessage) -> str:
    """Return a command's exit code; after a failure also its last line of output, which usually says why."""
    code = effects.exit_code
    lines = result.content.strip().splitlines()
    if code is None:
        # Imported sessions of other agents mention the code only in the text: in its first or its last line.
        candidates = (result.summary, *lines[:1], *lines[-1:])
        found = next((match for text in candidates if (match := _EXIT.search(text))), None)
        code = int(found["code"]) if found else None
    if code is None:
        return truncate_line(result.summary, _MAX_OUTCOME_CHARS) or ("" if result.ok else "failed")
    reason = lines[-1].strip() if code and len(lines) > 1 else ""
    return truncate_line(f"exit {code}{': ' if reason else ''}{reason}", _MAX_OUTCOME_CHARS)


def _parse_arguments(text: str) -> dict[str, Any]:
    try:
        arguments = decode_json(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return {}  # the call failed because of it, and its result says so
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}


MEMORY_TOOL = "memory_operations"
OUTPUT_END_BYTES = 65_536
"""Size of the part kept at each end of a long output: its first and its last 64 KiB."""

_OMISSION = "\n[…]\n"


class _PendingCall(Struct, frozen=True):
    """A call without a result so far: the index of its message, and its index in that message's calls."""

    message: int
    call: int


class OutputReader:
    """Reads whole tool outputs of one session: from the message, or from the blob of which it contains a preview.

    Args:
        folder: the session's blobs; it need not exist.
        other_readers: functions that read outputs stored elsewhere, by digest.
    """

    def __init__(self, folder: Path, other_readers: Mapping[str, Callable[[], str]] | None = None) -> None:
        self._folder = folder
        self._other_readers = other_readers or {}
        self._blob_names: list[str] | None = None

    def __call__(self, message: ToolMessage) -> str:
        """Return an output, of a long one its beginning and end; the preview if its blob cannot be read."""
        if message.blob and BLOB_HANDLE.fullmatch(message.blob):
            if self._blob_names is None:
                try:
                    self._blob_names = [path.name for path in self._folder.iterdir()]
                except OSError:
                    self._blob_names = []  # no output of this session was long enough for a blob
            try:
                # A message contains only the first digits of the digest that is the blob's name.
                for name in (name for name in self._blob_names if name.startswith(message.blob)):
                    return _read_ends(self._folder / name)
                for digest in (digest for digest in self._other_readers if digest.startswith(message.blob)):
                    return _keep_ends(self._other_readers[digest]())
            except OSError:
                return get_preview(message)
        return get_preview(message)


def get_preview(message: ToolMessage) -> str:
    """Return the output as the message contains it, of a long one its beginning and end."""
    return _keep_ends(message.content)


def make_session_title(state: SessionState) -> str:
    """Return a session's name, or else the beginning of its first user message; empty if it has no message."""
    return state.name or find_first_words(state.messages)


def extract_turns(
    messages: Sequence[Message], output_of: Callable[[ToolMessage], str] = get_preview
) -> tuple[TurnDoc, ...]:
    """Return the messages that have a text or an output, in order; `output_of` reads the whole output of a result."""
    results, unindexed = _pair_results(messages)
    turns: list[TurnDoc] = []
    for place, message in enumerate(messages):
        match message:
            case UserMessage():
                text = message.content if message.origin == "user" else ""
                turns.append(TurnDoc(message_id=message.id, role="user", created=message.created, text=text))
            case AssistantMessage():
                answered = [(call, results.get((place, n))) for n, call in enumerate(message.tool_calls)]
                lines = [message.content.strip(), *(summarize_call(call, result) for call, result in answered)]
                text = "\n".join(line for line in lines if line)
                commits = tuple(commit for call, result in answered if result for commit in _find_commits(call, result))
                turns.append(
                    TurnDoc(
                        message_id=message.id, role="assistant", created=message.created, text=text, commits=commits
                    )
                )
            case ToolMessage():
                output = "" if place in unindexed or message.name in UNINDEXED_TOOLS else output_of(message)
                turns.append(
                    TurnDoc(message_id=message.id, role="tool", created=message.created, text="", output=output)
                )
            case SystemMessage():
                continue
            case _:
                assert_never(message)
    return tuple(turn for turn in turns if turn.text.strip() or turn.output.strip())


def extract_searchable_text(message: Message) -> str:
    """Return the searchable text of a single message, including the arguments of its calls in full."""
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


def _find_commits(call: ToolCall, result: ToolMessage) -> tuple[Commit, ...]:
    """Return the commits a call made: as its tool recorded them, or else as git reported them in its output."""
    effects = find_side_effects(call, result)
    return effects.commits or (
        parse_commits(result.content) if effects.command and runs_commit(effects.command) else ()
    )


def _pair_results(messages: Sequence[Message]) -> tuple[dict[tuple[int, int], ToolMessage], set[int]]:
    """Return the result of each call, by (message index, call index), and the indices of results not to be indexed.

    Call ids may repeat in a session, because some servers count from 0 in every answer. A result belongs to the last
    call with its id.
    """
    waiting: dict[str, _PendingCall] = {}
    results: dict[tuple[int, int], ToolMessage] = {}
    unindexed: set[int] = set()
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            for number, call in enumerate(message.tool_calls):
                waiting[call.id] = _PendingCall(place, number)
        elif isinstance(message, ToolMessage) and (call := waiting.get(message.tool_call_id)):
            results[call.message, call.call] = message
            caller = messages[call.message]
            if isinstance(caller, AssistantMessage) and caller.tool_calls[call.call].name in UNINDEXED_TOOLS:
                unindexed.add(place)
    return results, unindexed


def _keep_ends(text: str) -> str:
    if len(text) <= 2 * OUTPUT_END_BYTES:
        return text
    return text[:OUTPUT_END_BYTES] + _OMISSION + text[-OUTPUT_END_BYTES:]


def _read_ends(path: Path) -> str:
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size <= 2 * OUTPUT_END_BYTES:
            return file.read().decode("utf-8", "replace")
        head = file.read(OUTPUT_END_BYTES)
        file.seek(size - OUTPUT_END_BYTES)
        tail = file.read(OUTPUT_END_BYTES)
    # "ignore": the cut may have split a character.
    return head.decode("utf-8", "ignore") + _OMISSION + tail.decode("utf-8", "ignore")
