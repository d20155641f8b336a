"""What a tool is: a name, a struct of arguments, and `prepare`, which says what will happen and hands back how."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from clio.images import Picture
from clio.messages import Deeds
from clio.providers.base import ToolSpec
from clio.security.actions import Action, FileChange

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
    deeds: Deeds | None = None
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
