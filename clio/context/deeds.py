"""What a tool call did, where the tool itself did not say: read from its name, its arguments and its output.

clio's own tools note their deeds in the result. Sessions of other tools and of older versions do not; from those only
what is certain is taken, so a hexadecimal word is no commit, and a file that was read is not a file that was written.
"""

import re
from typing import Any, cast

import msgspec

from clio.messages import Commit, Deeds, FileDeed, ToolCall, ToolMessage

_READERS = frozenset({"read_file", "read", "view", "open_file", "cat"})
_WRITERS = frozenset({"write_file", "edit_file", "write", "edit", "create_file", "str_replace", "multiedit"})
_ASKERS = frozenset({"ask_user", "user_collaboration", "askuserquestion"})
_RUNNERS = frozenset({"run_command", "bash", "shell", "terminal_operations", "execute"})
_PATHS = ("path", "file_path", "filename", "file")
_COMMITTED = re.compile(r"^\[(?:[^\]\n]*\s)?(?P<hash>[0-9a-f]{7,40})\] (?P<subject>.+)$", re.M)
_GIT_COMMIT = re.compile(r"\bgit\b[^\n;&|]*\bcommit\b")
_EXIT_CODE = re.compile(r"\bexit(?:ed with|\s+code|\s+status)?:?\s+(?:code\s+)?(?P<code>-?\d{1,3})\b", re.I)


def deeds_of(call: ToolCall, result: ToolMessage) -> Deeds:
    """The deeds of one call: its own account, else what can be told for certain. A failed call has done nothing."""
    if result.deeds is not None:
        return result.deeds
    arguments = _arguments(call)
    name = call.name.casefold()
    path = next((str(arguments[key]) for key in _PATHS if isinstance(arguments.get(key), str)), "")
    if name in _RUNNERS:
        return _of_command(str(arguments.get("command", "")), result)
    if name in _ASKERS:
        return Deeds(question=str(arguments.get("question", "")), answer=result.content) if result.ok else Deeds()
    if not (path and result.ok):
        return Deeds()
    if name in _WRITERS:
        return Deeds(changed=(FileDeed(path=path, kind="update"),))
    return Deeds(read=(path,)) if name in _READERS else Deeds()


def _of_command(command: str, result: ToolMessage) -> Deeds:
    code = _EXIT_CODE.search(result.summary) or _EXIT_CODE.search(result.content[-300:])
    exit_code = int(code["code"]) if code else 0 if result.ok else 1
    commits = commits_in(result.content) if _GIT_COMMIT.search(command) else ()
    return Deeds(command=command, exit_code=exit_code if command else None, commits=commits)


def commits_in(output: str) -> tuple[Commit, ...]:
    """The commits that the output of `git commit` reports: lines such as `[main 1a2b3c4] fix: add adds`."""
    return tuple(Commit(hash=match["hash"], subject=match["subject"].strip()) for match in _COMMITTED.finditer(output))


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = msgspec.json.decode(call.arguments)
    except msgspec.DecodeError:
        return {}  # the call itself failed for it, and its result says so
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
