"""Side effects of tool calls, read from a call's name, arguments and output."""

import re
from typing import Any, cast

import msgspec

from clio.messages import ChangedFile, Commit, SideEffects, ToolCall, ToolMessage
from clio.text.json_data import decode_json
from clio.text.lazy_regex import LazyRegex

_WORD = r"""(?:"[^"\n]*"|'[^'\n]*'|[^\s;&|"']+)"""
# The start of a command: at the start of the text, or after a separator or keyword; assignments may precede it.
_COMMIT_COMMAND = LazyRegex(
    rf"(?:^|[;&|(\n{{`]|\b(?:then|do|else|time|sudo|env)\s)\s*(?:\w+={_WORD}?\s+)*(?:\S*/)?git"
    rf"(?:\s+-[cC]\s+{_WORD}|\s+--?[a-zA-Z][^\s;&|]*)*\s+(?:commit|cherry-pick|revert)\b"
)
# "[main 1a2b3c4] subject", "[main (root-commit) 1a2b3c4] subject", "[detached HEAD 1a2b3c4] subject".
_COMMIT_LINE = LazyRegex(r"^\[[^\]\n]*\S (?P<hash>[0-9a-f]{7,64})\] (?P<subject>\S.*)$", re.M)


def runs_commit(command: str) -> bool:
    """Whether a shell command line runs `git commit`, `cherry-pick` or `revert`.

    A mention inside a line of quoted text does not count. The text is not parsed: a here-document or quoted text with
    such a command on a line of its own is a false positive.
    """
    return _COMMIT_COMMAND.search(command) is not None


def find_commit_lines(output: str) -> list[tuple[str, str]]:
    """Return the commits that git reports in the output of such a command, as (abbreviated hash, subject), in order."""
    return [(match["hash"], match["subject"].strip()) for match in _COMMIT_LINE.finditer(output)]


READ_TOOLS = frozenset({"read_file", "read", "view", "open_file", "open", "cat"})
_WRITE_TOOLS = frozenset(
    "write_file edit_file write edit create_file create str_replace insert multiedit notebookedit write_to_file "
    "replace_in_file append_file replace_string multi_replace_string insert_at_line undo_edit".split()
)
_DELETE_TOOLS = frozenset({"delete_file", "remove_file"})
_MOVE_TOOLS = frozenset({"rename_file", "move_file"})
_QUESTION_TOOLS = frozenset({"ask_user", "user_collaboration", "request_input", "askuserquestion"})
COMMAND_TOOLS = frozenset({"run_command", "bash", "shell", "exec", "execute"})
EDIT_TOOLS = _WRITE_TOOLS | _DELETE_TOOLS | _MOVE_TOOLS | {"apply_patch"}
"""Names, in lower case, of tools that change files; READ_TOOLS and COMMAND_TOOLS read files and run commands.

Tools of clio and of other agents whose sessions can be imported.
"""
_PATCH_PATH = LazyRegex(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b/)?)(\S.*?)\s*$", re.MULTILINE)
# Tools with several operations, and the argument that names the operation.
_OPERATION_ARGUMENT = {
    "file_operations": "operation",
    "terminal_operations": "operation",
    "version_control": "operation",
    "user_collaboration": "operation",
    "git": "operation",
    "str_replace_editor": "command",
}
_PATH_ARGUMENTS = ("path", "file_path", "notebook_path", "filename", "file", "old_path")
_TARGET_ARGUMENTS = ("new_path", "destination", "to")
_QUESTION_ARGUMENTS = ("question", "message")
_EXIT_CODE = LazyRegex(
    r"^\W{0,3}(?:(?:process|command|shell) )?exit(?:ed)?(?: with)?(?: code| status)?[:=]?\s*(?P<code>-?\d{1,3})\b", re.I
)


def find_side_effects(call: ToolCall, result: ToolMessage) -> SideEffects:
    """Return the side effects of one call: those the tool recorded, else those that are certain from its arguments.

    A failed call counts as without side effects, except for commands, which may have done something before failing.
    """
    if result.side_effects is not None:
        return result.side_effects
    arguments = decode_call_arguments(call)
    name = normalize_tool_name(call.name, arguments)
    if name in COMMAND_TOOLS:
        return _command_side_effects(_first_text(arguments, ("command",)), result)
    if not result.ok:
        return SideEffects()
    if name in _QUESTION_TOOLS:
        return SideEffects(question=_first_text(arguments, _QUESTION_ARGUMENTS), answer=result.content)
    if name == "commit":
        return SideEffects(commits=parse_commits(result.content))
    return _file_side_effects(name, arguments)


def normalize_tool_name(name: str, arguments: dict[str, Any]) -> str:
    """Return a tool's name in lower case; for a tool with several operations, the name of the operation."""
    name = name.casefold()
    return (
        (_first_text(arguments, (_OPERATION_ARGUMENT[name],)).casefold() or name)
        if name in _OPERATION_ARGUMENT
        else name
    )


def _file_side_effects(name: str, arguments: dict[str, Any]) -> SideEffects:
    path = _first_text(arguments, _PATH_ARGUMENTS)
    if not path:
        return SideEffects()
    if name in READ_TOOLS:
        return SideEffects(read=(path,))
    if name in _WRITE_TOOLS:
        return SideEffects(changed=(ChangedFile(path=path, kind="update"),))
    if name in _DELETE_TOOLS:
        return SideEffects(changed=(ChangedFile(path=path, kind="delete"),))
    if name in _MOVE_TOOLS:
        return SideEffects(
            changed=(ChangedFile(path=path, kind="move", moved_to=_first_text(arguments, _TARGET_ARGUMENTS)),)
        )
    return SideEffects()


def _command_side_effects(command: str, result: ToolMessage) -> SideEffects:
    if not command:
        return SideEffects()
    commits = parse_commits(result.content) if runs_commit(command) else ()
    return SideEffects(command=command, exit_code=_find_exit_code(result), commits=commits)


def _find_exit_code(result: ToolMessage) -> int:
    """Return the exit code in the result's summary, first or last line; else 0 for a successful result and 1."""
    text = result.content.strip()
    for line in (result.summary, text.partition("\n")[0], text.rpartition("\n")[2]):
        code = _EXIT_CODE.match(line.strip())
        if code:
            return int(code["code"])
    return 0 if result.ok else 1


def parse_commits(output: str) -> tuple[Commit, ...]:
    """Return the commits reported by the output of `git commit`, in lines such as `[main 1a2b3c4] fix: add adds`."""
    return tuple(Commit(hash=name, subject=subject) for name, subject in find_commit_lines(output))


def find_patched_paths(arguments: dict[str, Any]) -> list[str]:
    """Return the paths that a patch in the arguments changes, in order, without duplicates; [] without a patch."""
    texts = (arguments.get(key) for key in ("patch", "input", "diff"))
    found = (path for text in texts if isinstance(text, str) for path in _PATCH_PATH.findall(text))
    return list(dict.fromkeys(found))


def find_call_path(arguments: dict[str, Any]) -> str:
    """Return the file path in the arguments of a call; "" if there is none."""
    return _first_text(arguments, _PATH_ARGUMENTS)


def _first_text(arguments: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((arguments[name] for name in names if isinstance(arguments.get(name), str)), "")


def decode_call_arguments(call: ToolCall) -> dict[str, Any]:
    """Return the decoded arguments of a call; {} if they are not a JSON object."""
    try:
        arguments = decode_json(call.arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return {}  # such a call failed when it ran, and its result reports it
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
