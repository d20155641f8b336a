"""The text of sessions as the transcript index stores it, and what a search of the index returns.

The text of a message is its content, and one summary line per tool call. Times are seconds since the epoch.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, assert_never, cast

import msgspec
from msgspec import Struct

from clio.memory.retrieval.scoring import Candidate
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

Role = Literal["user", "assistant", "tool"]


class TurnDoc(Struct, frozen=True, kw_only=True):
    """One message of a session, as the index stores it.

    Attributes:
        text: the message text; for an assistant also one summary line per tool call. It contains no system prompt, no
            text that clio inserted and no earlier search result.
        output: the whole output of a tool; only a query with `in:output` searches it.
        commits: the commits made by its tool calls.
    """

    message_id: str
    role: Role
    created: float
    text: str
    output: str = ""
    commits: tuple[Commit, ...] = ()


class SessionDoc(Struct, frozen=True, kw_only=True):
    """A session as the index stores it.

    Attributes:
        updated: time of the last change.
        stamp: changes whenever the session's files do, so that a session with an equal stamp need not be read again.
    """

    id: str
    title: str
    updated: float
    stamp: str
    turns: tuple[TurnDoc, ...]


class Signals(Struct, frozen=True, kw_only=True):
    """Points that explain to the user why a passage was found. The ranking does not use them.

    Attributes:
        exact: 3 if it contains the words of the query next to each other and in order.
        keywords: about one for each query word it contains, more for a rare word and less for a common one.
        density: up to 1.5 for the share of its words that are in the query.
        title: up to 0.5 for the share of the query in the session's title.
    """

    exact: float = 0.0
    keywords: float = 0.0
    density: float = 0.0
    title: float = 0.0


class MessageExcerpt(Struct, frozen=True, kw_only=True):
    """The beginning of a message that is near a passage, shown as context of the passage."""

    message_id: str
    role: str
    created: float
    text: str


class RecalledPassage(Struct, frozen=True, kw_only=True):
    """A passage of an earlier session: the text around the match, its session and its message.

    Attributes:
        snippet: the text around the match.
        asked: the user message that began its turn; None if the passage is that message.
        between: the assistant messages of its turn that are nearest to it.
        concluded: the last message of its turn; None if the passage is that message.
        is_older: whether a newer passage among the results is about the same subject.
    """

    session_id: str
    session_name: str
    message_id: str
    role: str
    created: float
    snippet: str
    score: float
    signals: Signals = Signals()
    asked: MessageExcerpt | None = None
    between: tuple[MessageExcerpt, ...] = ()
    concluded: MessageExcerpt | None = None
    is_older: bool = False


class SessionHit(Struct, frozen=True, kw_only=True):
    """A session that matches a query, with its best passages: highest score first, of equal scores the newest first.

    Attributes:
        current: whether it is the running session.
        handle: the end of its id, long enough to be unique.
        commits: commits made in it, oldest first; if there are many, those nearest in time to the passages.
        more_commits: the number of its commits that are not in `commits`.
    """

    session_id: str
    session_name: str
    updated: float
    score: float
    passages: tuple[RecalledPassage, ...]
    current: bool = False
    handle: str = ""
    commits: tuple[Commit, ...] = ()
    more_commits: int = 0


class Recall(Struct, frozen=True, kw_only=True):
    """The result of a search of earlier sessions, best first.

    Attributes:
        sessions: the sessions, if these were searched for; else `turns` has the messages.
        unreadable: ids of sessions that could not be read.
        unsearched: the number of sessions that were not indexed before the deadline; a later search includes them.
    """

    sessions: tuple[SessionHit, ...] = ()
    turns: tuple[Candidate, ...] = ()
    unreadable: tuple[str, ...] = ()
    unsearched: int = 0

    @property
    def passages(self) -> tuple[RecalledPassage, ...]:
        """Return the passages of all sessions, in the order of the sessions."""
        return tuple(passage for session in self.sessions for passage in session.passages)


UNINDEXED_TOOLS = frozenset({"memory_operations", "read_output"})
"""Tools whose calls and outputs are not indexed, since they only repeat text that is indexed elsewhere."""

LINE_CHARS = 300
_MAX_ARGUMENT_CHARS = 160
_MAX_OUTCOME_CHARS = 120
_MAX_LISTED = 8
"""Number of files or commits that a summary line lists."""

_VERBS = {
    name: verb
    for verb, names in {
        "read": "read_file read view",
        "wrote": "write_file write create create_file",
        "edited": "edit_file edit multiedit str_replace replace_string insert",
        "patched": "apply_patch",
        "deleted": "delete_file",
        "moved": "rename_file move_file",
        "ran": "run_command bash shell exec execute",
        "searched": "search_text grep_search semantic_search grep web_search",
        "looked up": "code_lookup",
        "looked for files": "find_files file_search glob",
        "listed": "list_files list_dir",
        "fetched": "web_fetch webfetch fetch_url",
        "asked": "ask_user request_input askuserquestion",
        "planned": "todo_operations",
        "committed": "commit",
    }.items()
    for name in names.split()
}
# Tools with several operations, and the argument that names the operation.
_OPERATION_ARGUMENTS = {
    **dict.fromkeys(
        "file_operations terminal_operations version_control user_collaboration web_operations".split(), "operation"
    ),
    "str_replace_editor": "command",
}
# Arguments that a summary line shows, in this order.
_MAIN_ARGUMENTS = (
    "command pattern query regex path file_path notebook_path filename old_path new_path url "
    "revision question message name"
).split()
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
    parts = [
        f"{_CHANGE_VERBS[change.kind]} {change.path}" + (f" to {change.moved_to}" if change.moved_to else "")
        for change in effects.changed[:_MAX_LISTED]
    ]
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
        role: Role = "user"
        text, output, commits = "", "", tuple[Commit, ...]()
        match message:
            case UserMessage():
                text = message.content if message.origin == "user" else ""
            case AssistantMessage():
                role = "assistant"
                answered = [(call, results.get((place, n))) for n, call in enumerate(message.tool_calls)]
                lines = [message.content.strip(), *(summarize_call(call, result) for call, result in answered)]
                text = "\n".join(line for line in lines if line)
                commits = tuple(commit for call, result in answered if result for commit in _find_commits(call, result))
            case ToolMessage():
                role = "tool"
                output = "" if place in unindexed or message.name in UNINDEXED_TOOLS else output_of(message)
            case SystemMessage():
                continue
            case _:
                assert_never(message)
        if text.strip() or output.strip():
            turns.append(
                TurnDoc(
                    message_id=message.id,
                    role=role,
                    created=message.created,
                    text=text,
                    output=output,
                    commits=commits,
                )
            )
    return tuple(turns)


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
    waiting: dict[str, tuple[int, int]] = {}
    results: dict[tuple[int, int], ToolMessage] = {}
    unindexed: set[int] = set()
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            waiting |= {call.id: (place, number) for number, call in enumerate(message.tool_calls)}
        elif isinstance(message, ToolMessage) and (call := waiting.get(message.tool_call_id)):
            results[call] = message
            caller = messages[call[0]]
            if isinstance(caller, AssistantMessage) and caller.tool_calls[call[1]].name in UNINDEXED_TOOLS:
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
