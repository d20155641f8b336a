"""The interface of tools: a name, a struct of arguments, and `prepare`, which describes what a call will do."""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from clio.images import Picture
from clio.messages import MISSING_TOOLS, Fragment, SideEffects
from clio.providers.base import ToolSpec
from clio.security.actions import Action, FileChange
from clio.sessions.session import Session

_RESULT_SHARE = 0.2
"""Share of the free space that one result may take."""
_STEP_SHARE = 0.6
"""Share of the free space that all results of one step may take."""
_MIN_FREE_SHARE = 0.25
"""Share of the conversation's whole space that a trim before the next request frees at least."""
_MIN_RESULT_CHARS = 4_000  # less than a screenful of code would make the model read every file in many calls


class PageSize:
    """The number of characters a result may have, shared by the tools of a session and their runner.

    max_chars: upper limit.
    """

    def __init__(self, max_chars: int) -> None:
        self._most = max_chars
        self._chars = max_chars

    @property
    def chars(self) -> int:
        """Maximum number of characters of the next result."""
        return self._chars

    def fit_to_window(self, free: float, room: float, calls: int = 1) -> None:
        """Set the size for the calls of one step.

        Args:
            free: free space for the conversation, as a weight (about one per character).
            room: total space for the conversation, free or not.
            calls: number of calls that share it.
        """
        free = max(free, _MIN_FREE_SHARE * room)
        share = min(_RESULT_SHARE * free, _STEP_SHARE * free / max(calls, 1))
        self._chars = min(self._most, max(int(share), _MIN_RESULT_CHARS))


def as_page_size(size: "int | PageSize") -> PageSize:
    """Return a PageSize; a number becomes one that never changes."""
    return PageSize(size) if isinstance(size, int) else size


_MAX_NAMES = 20


class OmittedTools(Struct, frozen=True, kw_only=True):
    """Names of tools that were left out because the window is too small: clio's own, and those of MCP servers.

    offered: number of all tools of the servers.
    """

    own: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    offered: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all omitted tools."""
        return self.own + self.servers

    @property
    def description(self) -> str:
        """A sentence for the user: which tools, why, and what to do about it."""
        parts: list[str] = []
        if self.own:
            parts.append(f"tools left out, as the model's window is small: {_format_names(self.own)}")
        if self.servers:
            parts.append(
                f"{len(self.servers)} of {self.offered} tools of MCP servers are left out, as all of them take more "
                f"than a quarter of the window: {_format_names(self.servers)}; name those you need under `tools:` of "
                "their servers"
            )
        return "; ".join(parts)

    def fragments(self) -> list[Fragment]:
        """Return the part of the prompt that lists the omitted tools; empty if there are none."""
        if not self.names:
            return []
        text = f"Left out, because the window is too small: {_format_names(self.names)}. Do without them, or say so."
        return [
            Fragment(
                name=MISSING_TOOLS, text=text, source="clio", reason="tools the window has no space for", whole=True
            )
        ]


def _format_names(names: tuple[str, ...]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


class ReadLog:
    """Remembers what the model last saw of each file, by absolute path with links resolved, during one session."""

    def __init__(self) -> None:
        self._seen: dict[Path, bytes] = {}
        self._shown: dict[Path, dict[int, tuple[int, str]]] = {}

    def record_seen(self, path: Path, data: bytes) -> None:
        """Record that the model has read or written exactly these bytes."""
        self._seen[path] = _fingerprint(data)

    def has_seen(self, path: Path) -> bool:
        """Whether the model has seen the file."""
        return path in self._seen

    def has_changed(self, path: Path, data: bytes) -> bool:
        """Whether the file was seen and its bytes are different now. False for a file that was never seen."""
        seen = self._seen.get(path)
        return seen is not None and seen != _fingerprint(data)

    def forget(self, path: Path) -> None:
        """Forget a file that was deleted or moved."""
        self._seen.pop(path, None)
        self._shown.pop(path, None)

    def record_shown(self, path: Path, first: int, lines: Sequence[str], message_id: str) -> None:
        """Record that a message shows these whole lines; the first is line `first` of the file."""
        shown = self._shown.setdefault(path, {})
        # Hashes, because the lines themselves would keep every file that was read in memory.
        shown.update((number, (hash(line), message_id)) for number, line in enumerate(lines, first))

    def find_messages_showing(self, path: Path, first: int, lines: Sequence[str]) -> frozenset[str]:
        """Return the ids of the messages that show exactly these lines with these numbers.

        Empty unless all of the lines are shown.
        """
        shown = self._shown.get(path, {})
        found = [shown.get(number, (None, "")) for number in range(first, first + len(lines))]
        if any(known != hash(line) for (known, _), line in zip(found, lines, strict=True)):
            return frozenset()
        return frozenset(message_id for _, message_id in found)


def is_whole_in_window(session: Session, message_ids: frozenset[str]) -> bool:
    """Whether the next request contains all these messages, none of them shortened by a trim."""
    return message_ids <= set(session.window_ids) and not any(
        message_ids & trim.shrunk.keys() for trim in session.trims
    )


def _fingerprint(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


Progress = Callable[[str], None]
"""Called with the last lines of output, or one line of progress, while a tool runs; from any thread."""


class ToolOutput(Struct, frozen=True, kw_only=True):
    """The result of a call.

    Attributes:
        text: for the model, complete; the runner redacts and shortens it.
        summary: for the user, one line: "120 lines", "exit 1 in 2.3 s", "+12 -3".
        for_user: what the user is shown instead of the text; "" for the text.
        output: what a command printed, of which the screen shows some lines; None for a tool without output.
        images: pictures of the result; the text describes them too, because not every model receives them.
        ok: False for a valid result that is not a success, such as a command's non-zero exit code.
        changed: files that were changed, for the session's record.
        side_effects: what else the call did, for the summary of the session.
        denied_need: what a confined command needed and was denied, such as "needs the network"; "" for nothing.
        unconfined_call: the call to offer unconfined in that case; None for the call itself.
        on_stored: called with the id of the message that contains the complete text, if one does.
    """

    text: str
    summary: str
    for_user: str = ""
    output: str | None = None
    images: tuple[Picture, ...] = ()
    ok: bool = True
    changed: tuple[FileChange, ...] = ()
    side_effects: SideEffects | None = None
    denied_need: str = ""
    unconfined_call: "PreparedCall | None" = None
    on_stored: Callable[[str], None] | None = None


class ConfinedRun(Struct, frozen=True, kw_only=True):
    """How to confine a call that runs without approval.

    network: allow the network and the sockets of other programs.
    """

    network: bool = False


class PreparedCall(Struct, frozen=True, kw_only=True):
    """A call whose arguments were interpreted and that has not run yet.

    Attributes:
        title: for the user, one line: "read clio/app.py:10-40", "run pytest -q".
        action: what the policy judges and the user sees as a diff; `run` does exactly this or raises.
        revise: returns the call with other changes to the same files, if the user accepts only some of them or
            edits the text. Runs in a worker thread; raises ToolError. None for a call that changes no files.
        run_confined: like `run`, for a call that the policy allows without approval only because it changes nothing;
            None for a call that is not confined.
    """

    title: str
    action: Action
    run: Callable[[Progress], Awaitable[ToolOutput]]
    revise: "Callable[[tuple[FileChange, ...]], PreparedCall] | None" = None
    run_confined: Callable[[Progress, ConfinedRun], Awaitable[ToolOutput]] | None = None


class FreeArguments(Struct, frozen=True):
    """Arguments of a tool that is not clio's: any JSON object, checked by the tool's server."""

    values: dict[str, Any] = {}


class Tool(Protocol):
    """One tool. Its description for the model is `prompts/tools/<name>.md`.

    A line of three dashes in that file separates a second, shorter description for small windows.
    """

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
        ...

    @property
    def args(self) -> type[Struct]:
        """The struct of its arguments, whose JSON Schema is sent to the model."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether its calls may run concurrently with other read-only calls of a step."""
        ...

    def prepare(self, args: Any) -> PreparedCall:
        """Interpret a call without changing anything; runs in a worker thread. `args` is an instance of `self.args`.

        Raises:
            ToolRetry: the arguments cannot be right.
            ToolFailed: it cannot be done.
        """
        ...


@runtime_checkable
class ExternalTool(Protocol):
    """A tool that is not clio's and provides its own description. Its arguments are FreeArguments."""

    def spec(self, *, compact: bool) -> ToolSpec:
        """Return its entry in a request. compact: for a small window."""
        ...
