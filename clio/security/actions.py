"""Actions that tool calls ask permission for, the workspace they apply to, and the syntax of permission rules."""

import os
import shlex
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from clio.text.translation import tr

MAX_PATH_CHARS = 4096
"""Longest path that Linux accepts; other systems accept less."""


class OpenFiles(Protocol):
    """An editor in which the user has files of the workspace open."""

    @property
    def can_save(self) -> bool:
        """Whether the editor saves a file on request."""
        ...

    def text(self, path: Path, disk: str) -> str | None:
        """Return the editor's unsaved text of a file; None if it equals `disk`, the text of the file, or is unknown.

        May block while the editor answers; call it from worker threads only.
        """
        ...


def resolve_links(path: str | Path) -> Path:
    """Return a path with its links resolved; "/" if one cannot be read, so that it counts as outside every project.

    The system may refuse to read a link, such as those of another user's process in /proc. The same holds for a path
    that is longer than the system accepts, or that it cannot encode.
    """
    if len(os.fspath(path)) > MAX_PATH_CHARS:
        return Path("/")
    try:
        return _follow_links(path)
    except (OSError, UnicodeEncodeError):
        return Path("/")


def _follow_links(path: str | Path) -> Path:
    """Return a path with its links resolved. Raises OSError if one cannot be read.

    From Python 3.13 on, `realpath` returns a link that it could not read as if it were no link.
    """
    real = Path(os.path.realpath(path))
    for place in (real, *real.parents):
        # False for what cannot be examined; `realpath` does not follow that either.
        if os.path.islink(place):  # noqa: PTH114
            place.readlink()  # works for a loop of links, which leads nowhere
    return real


class Workspace:
    """The project folder. Every path given to a tool is resolved against it before it is judged or opened.

    Attributes:
        open_files: the connected editor, if there is one; set it before the first tool runs.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.open_files: OpenFiles | None = None

    def resolve(self, text: str) -> Path:
        """Return the absolute path that the user or the model refers to, with `~`, `..` and every link resolved.

        The file need not exist.

        Raises:
            ValueError: if the path is empty, contains a NUL character, or has a link that cannot be read.
        """
        if not text.strip():
            raise ValueError(tr("the path is empty"))
        if "\0" in text:
            raise ValueError(tr("the path {text!r} contains a NUL character", text=text))
        path = Path(text).expanduser()
        try:
            return _follow_links(path if path.is_absolute() else self.root / path)
        except OSError as error:  # reading the target of a link can be denied, for example in /proc
            raise ValueError(
                tr("the path {text!r} cannot be resolved: {strerror}", text=text, strerror=error.strerror)
            ) from None

    def contains(self, path: Path) -> bool:
        """Whether a resolved path is the workspace or is inside it."""
        return path == self.root or self.root in path.parents

    def display(self, path: Path) -> str:
        """Return the path for display: relative with forward slashes inside the workspace, otherwise absolute."""
        return path.relative_to(self.root).as_posix() if self.contains(path) else str(path)


ChangeKind = Literal["add", "update", "delete", "move"]


class FileChange(Struct, frozen=True, kw_only=True):
    """One file before and after a change. Paths are absolute with links resolved.

    Attributes:
        before: the old text; None for a new file.
        after: the new text; None for a deleted file.
        moved_to: the new path of a moved file.
    """

    path: Path
    kind: ChangeKind
    before: str | None = None
    after: str | None = None
    moved_to: Path | None = None


class ReadFiles(Struct, frozen=True, kw_only=True, tag="read"):
    """Read these files or folders. Paths are absolute with links resolved."""

    paths: tuple[Path, ...]


class ChangeFiles(Struct, frozen=True, kw_only=True, tag="change"):
    """Write, move or delete these files: all of them or none."""

    changes: tuple[FileChange, ...]


class RunCommand(Struct, frozen=True, kw_only=True, tag="command"):
    """Run one shell command line in `cwd`.

    Attributes:
        outside: run outside the sandbox that confines the other commands.
        note: what the user must know about where it runs, shown with the approval request; "" for nothing.
    """

    command: str
    cwd: Path
    outside: bool = False
    note: str = ""


class FetchUrl(Struct, frozen=True, kw_only=True, tag="fetch"):
    """Fetch a page from a server on the network.

    Attributes:
        query: of a search, what is sent to the server; shown with the approval request.
        is_configured: the address is from the user's own configuration, and may be on this machine.
    """

    url: str
    query: str = ""
    is_configured: bool = False


class TouchOwnState(Struct, frozen=True, kw_only=True, tag="internal"):
    """Touch only clio's own state: the todo list, memory, output store, background jobs, or a question to the user.

    Attributes:
        writes_memory: it stores something permanent; refused in plan mode and in incognito sessions.
        ends_work: it ends something that runs; refused in plan mode.
    """

    writes_memory: bool = False
    ends_work: bool = False


class CallServer(Struct, frozen=True, kw_only=True, tag="server"):
    """Call a tool of an MCP server, a separate program whose side effects clio cannot see.

    Attributes:
        name: the name by which the model and the rules refer to the tool.
        arguments: JSON, shown to the user with the approval request.
        reads: the user has declared the tool read-only.
    """

    name: str
    server: str
    tool: str
    arguments: str = ""
    reads: bool = False


Action = ReadFiles | ChangeFiles | RunCommand | FetchUrl | TouchOwnState | CallServer


FETCH_RULE = "fetch"
"""First word of a rule about web pages. The second word is a host name, which may contain `*`."""


class Rule(Struct, frozen=True):
    """One parsed rule: its words in order. A lone `*` at the end matches any number of words, including none."""

    text: str
    words: tuple[str, ...]


def read_rule(text: str) -> Rule:
    """Parse a rule. An unbalanced quote counts as a plain character; an empty rule matches nothing."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    return Rule(text, tuple(words))


def is_host_covered(rule: Rule, host: str) -> bool:
    """Whether a rule of the form `fetch host` covers this host."""
    return len(rule.words) == 2 and rule.words[0] == FETCH_RULE and fnmatchcase(host.lower(), rule.words[1].lower())


def is_tool_covered(rule: Rule, name: str) -> bool:
    """Whether a rule covers this server tool, by full name (`mcp_github_get_issue`) or pattern (`mcp_github_*`)."""
    return len(rule.words) == 1 and rule.words[0].startswith("mcp_") and fnmatchcase(name, rule.words[0])


def is_command_rule(rule: Rule) -> bool:
    """Whether a rule is about commands, not about a web page or a tool of a server."""
    if not rule.words or (rule.words[0] == FETCH_RULE and len(rule.words) == 2):
        return False
    return not (len(rule.words) == 1 and rule.words[0].startswith("mcp_"))
