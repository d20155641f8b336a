"""What a tool call is about to do, said before it is done, so that policy can judge it and a person can see it."""

from pathlib import Path
from typing import Literal

from msgspec import Struct

ChangeKind = Literal["add", "update", "delete", "move"]


class FileChange(Struct, frozen=True, kw_only=True):
    """One file before and after. `before` is None for a new file, `after` for a deleted one.

    moved_to: the new path of a moved file. Paths are absolute with links resolved.
    """

    path: Path
    kind: ChangeKind
    before: str | None = None
    after: str | None = None
    moved_to: Path | None = None


class ReadFiles(Struct, frozen=True, kw_only=True, tag="read"):
    """Read these files or folders; paths are absolute with links resolved."""

    paths: tuple[Path, ...]


class ChangeFiles(Struct, frozen=True, kw_only=True, tag="change"):
    """Write, move or delete these files, all or none."""

    changes: tuple[FileChange, ...]


class RunCommand(Struct, frozen=True, kw_only=True, tag="command"):
    """Run one line in the shell, in `cwd`. outside: not in the sandbox that holds the other commands.

    note: what a person who is asked must know of where it runs; "" for nothing.
    """

    command: str
    cwd: Path
    outside: bool = False
    note: str = ""


class FetchUrl(Struct, frozen=True, kw_only=True, tag="fetch"):
    """Ask a server on the network for a page."""

    url: str


class Internal(Struct, frozen=True, kw_only=True, tag="internal"):
    """Touches nothing but clio's own todo list, memory, output store, jobs or the person at the keyboard.

    writes_memory: it stores something that lasts; plan mode and incognito refuse it. ends_work: it ends something that
    runs; plan mode refuses it.
    """

    writes_memory: bool = False
    ends_work: bool = False


class CallServer(Struct, frozen=True, kw_only=True, tag="server"):
    """Call a tool of another program, an MCP server, which does with it what it likes.

    name: by which the model and the rules call the tool. reads: it changes nothing, by the user's own word.
    arguments: as JSON, for the person who is asked.
    """

    name: str
    server: str
    tool: str
    arguments: str = ""
    reads: bool = False


Action = ReadFiles | ChangeFiles | RunCommand | FetchUrl | Internal | CallServer
