"""One line for a tool call: what was done and how it ended, in place of arguments and output. Pure.

Found by such a line, a session is found for what happened in it, not for every word of every file that was read.
"""

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from clio.messages import Deeds, ToolCall, ToolMessage
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
    deeds = (result.deeds if result else None) or Deeds()
    done = _changed(deeds) or " ".join(filter(None, (verb or name.replace("_", " "), *_told(arguments))))
    outcome = _outcome(verb, deeds, result) if result else ""
    return truncate_line(
        f"{truncate_line(done, LINE_CHARS - _OUTCOME_CHARS)}{' → ' if outcome else ''}{outcome}", LINE_CHARS
    )


def _changed(deeds: Deeds) -> str:
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


def _outcome(verb: str, deeds: Deeds, result: ToolMessage) -> str:
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


def _exit(deeds: Deeds, result: ToolMessage) -> str:
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
