"""What a tool is: a name, a struct of arguments, and `prepare`, which says what will happen, and how."""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from clio.images import Picture
from clio.messages import Fragment, SideEffects
from clio.providers.base import ToolSpec
from clio.security.actions import Action, FileChange
from clio.sessions.session import Session

_SHARE = 0.2
"""Of the free room, for one result."""
_STEP_SHARE = 0.6
"""Of the free room, for all results of one step."""
_ALWAYS_FREE = 0.25
"""Of the whole room: a trim before the next request makes at least this much."""
_LEAST_CHARS = 4_000


class PageSize:
    """Shared by the tools of one session and whoever runs them. most: never more characters than this."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._chars = most

    @property
    def chars(self) -> int:
        """The most characters the next result may have."""
        return self._chars

    def fit(self, free: float, room: float, calls: int = 1) -> None:
        """Set the size for the calls of one step.

        Args:
            free: what the conversation leaves of the window, as a weight: about one for each character.
            room: the same for an empty conversation.
            calls: how many calls share it.
        """
        free = max(free, _ALWAYS_FREE * room)
        share = min(_SHARE * free, _STEP_SHARE * free / max(calls, 1))
        self._chars = min(self._most, max(int(share), _LEAST_CHARS))


def page_size(size: "int | PageSize") -> PageSize:
    """A fixed size as one that nothing changes; a PageSize as it is."""
    return PageSize(size) if isinstance(size, int) else size


_MOST_NAMES = 20


class LeftOut(Struct, frozen=True, kw_only=True):
    """Names of clio's own tools and of those of MCP servers; offered: how many the servers have in all."""

    own: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    offered: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return self.own + self.servers

    @property
    def sentence(self) -> str:
        """For the user: which, why, and what can be done about it."""
        parts: list[str] = []
        if self.own:
            parts.append(f"tools left out, as the model's window is small: {_listed(self.own)}")
        if self.servers:
            parts.append(
                f"{len(self.servers)} of {self.offered} tools of MCP servers are left out, as all of them take more "
                f"than a quarter of the window: {_listed(self.servers)}; name those you need under `tools:` of their "
                "servers"
            )
        return "; ".join(parts)

    def fragments(self) -> list[Fragment]:
        """For the model, as a part of its prompt; empty where nothing was left out."""
        if not self.names:
            return []
        text = f"Left out, because the window is too small: {_listed(self.names)}. Do without them, or say so."
        return [
            Fragment(
                name="missing_tools", text=text, source="clio", reason="tools the window has no space for", whole=True
            )
        ]


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


class ReadLog:
    """Remembers, per absolute path with links resolved, what the model last saw; lives as long as the session runs."""

    def __init__(self) -> None:
        self._seen: dict[Path, bytes] = {}
        self._shown: dict[Path, dict[int, tuple[int, str]]] = {}

    def saw(self, path: Path, data: bytes) -> None:
        """The model has now read or written exactly these bytes."""
        self._seen[path] = _fingerprint(data)

    def known(self, path: Path) -> bool:
        """Whether the model has ever seen the file."""
        return path in self._seen

    def changed_since(self, path: Path, data: bytes) -> bool:
        """Whether the file was seen and these bytes are not what was seen. A file never seen has not changed."""
        seen = self._seen.get(path)
        return seen is not None and seen != _fingerprint(data)

    def forget(self, path: Path) -> None:
        """The file is gone, deleted or moved away."""
        self._seen.pop(path, None)
        self._shown.pop(path, None)

    def showed(self, path: Path, first: int, lines: Sequence[str], message_id: str) -> None:
        """A message shows these lines whole, the first of which is line `first` of the file."""
        shown = self._shown.setdefault(path, {})
        shown.update((number, (hash(line), message_id)) for number, line in enumerate(lines, first))

    def messages_showing(self, path: Path, first: int, lines: Sequence[str]) -> frozenset[str]:
        """The ids of the messages that show these very lines under these numbers; empty where not all were shown."""
        shown = self._shown.get(path, {})
        found = [shown.get(number, (None, "")) for number in range(first, first + len(lines))]
        if any(known != hash(line) for (known, _), line in zip(found, lines, strict=True)):
            return frozenset()
        return frozenset(message_id for _, message_id in found)


def are_whole_in_window(session: Session, message_ids: frozenset[str]) -> bool:
    """Whether the next request holds all these messages, none of them shortened by a trim."""
    return message_ids <= set(session.stm) and not any(message_ids & trim.shrunk.keys() for trim in session.trims)


def _fingerprint(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


Progress = Callable[[str], None]
"""Called with a short line of news while a tool runs; may be called from any thread."""


class ToolOutput(Struct, frozen=True, kw_only=True):
    """What a call gave.

    text: for the model, whole; the runner redacts and bounds it.
    summary: for the person, one line without a newline: "120 lines", "exit 1 in 2.3 s", "+12 -3".
    images: pictures that belong to it; the text says what they are, as not every model is shown them.
    ok: False for a result that is an answer but not a success, such as a command's non-zero exit.
    changed: files that are now different, for the session's record.
    deeds: what else it did, for whoever sums up the session; `changed` need not be repeated there.
    refused: what a confined command needs and was refused, such as "needs the network"; "" for nothing.
    again: the call to offer unconfined then; None for the one that gave this.
    kept_as: is told the id of the message that holds the whole text, where one does.
    """

    text: str
    summary: str
    images: tuple[Picture, ...] = ()
    ok: bool = True
    changed: tuple[FileChange, ...] = ()
    deeds: SideEffects | None = None
    refused: str = ""
    again: "Prepared | None" = None
    kept_as: Callable[[str], None] | None = None


class Unasked(Struct, frozen=True, kw_only=True):
    """How a call runs that was not asked about. network: it has the network and the sockets of other programs."""

    network: bool = False


class Prepared(Struct, frozen=True, kw_only=True):
    """A call that has been understood and not yet done.

    title: for the person, one line: "read clio/app.py:10-40", "run pytest -q".
    action: what policy judges; the diff a person is shown comes from it, and `run` does exactly it or raises.
    revise: the call with other changes in place of these, where a person wants only some of them or another text; they
        must be of the same files. Runs in a worker thread. Raises ToolError. None for a call that changes no files.
    run_confined: as `run`, for a call that the policy lets run without a question only because it reads; None for a
        call that is not confined.
    """

    title: str
    action: Action
    run: Callable[[Progress], Awaitable[ToolOutput]]
    revise: "Callable[[tuple[FileChange, ...]], Prepared] | None" = None
    run_confined: Callable[[Progress, Unasked], Awaitable[ToolOutput]] | None = None


class FreeArguments(Struct, frozen=True):
    """Arguments of a tool that is not clio's: whatever object the model gives, for others to check."""

    values: dict[str, Any] = {}


class Tool(Protocol):
    """One tool. Its text for the model is `prompts/tools/<name>.md`.

    A second, shorter text for small windows may stand after a line of three dashes in the same file.
    """

    @property
    def name(self) -> str:
        """The name the model calls."""
        ...

    @property
    def args(self) -> type[Struct]:
        """The struct of arguments; its JSON Schema is sent to the model."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether calls may run beside other read-only calls of the same step."""
        ...

    def prepare(self, args: Any) -> Prepared:
        """Understand a call: `args` is an instance of `self.args`. Runs in a worker thread; changes nothing.

        Raises ToolRetry where the arguments cannot be right, ToolFailed where it cannot be done.
        """
        ...


@runtime_checkable
class ForeignTool(Protocol):
    """A tool that is not clio's says itself how it is described to the model. Its arguments are FreeArguments."""

    def spec(self, *, compact: bool) -> ToolSpec:
        """The tool's entry in a request; compact: for a small window."""
        ...
