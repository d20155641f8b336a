"""What a tool call is about to do, the workspace it may touch, and the syntax of one permission rule."""

import os
import shlex
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct


class OpenFiles(Protocol):
    """An editor in which a person has files of the workspace open."""

    @property
    def can_save(self) -> bool:
        """Whether it saves a file when it is asked to."""
        ...

    def text(self, path: Path, disk: str) -> str | None:
        """What it shows of a file and has not saved; None where that is `disk`, the file's text, or is not known.

        May wait for the editor; for worker threads only.
        """
        ...


class Workspace:
    """The project folder; every path a tool is given is resolved against it before anything else looks at it.

    open_files: the editor its files are open in, where there is one; to be set before the first tool runs.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.open_files: OpenFiles | None = None

    def resolve(self, text: str) -> Path:
        """The absolute path a person or the model means, with `~`, `..` and every link resolved.

        The file need not exist. Raises ValueError for an empty path, one with a NUL character, and one with a link
        that may not be read.
        """
        if not text.strip():
            raise ValueError("the path is empty")
        if "\0" in text:
            raise ValueError(f"the path {text!r} holds a NUL character")
        path = Path(text).expanduser()
        try:
            return Path(os.path.realpath(path if path.is_absolute() else self.root / path))
        except OSError as error:  # a link whose target may not be read, as in /proc
            raise ValueError(f"the path {text!r} cannot be followed: {error.strerror}") from None

    def contains(self, path: Path) -> bool:
        """Whether a resolved path is the workspace or lies in it."""
        return path == self.root or self.root in path.parents

    def display(self, path: Path) -> str:
        """The path as it is shown: relative with forward slashes inside the workspace, else absolute."""
        return path.relative_to(self.root).as_posix() if self.contains(path) else str(path)


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


FETCH = "fetch"
"""First word of a rule about web pages; its second is a host name, which may hold `*`."""


class Rule(Struct, frozen=True):
    """One rule taken apart: its words in order. A lone `*` at the end stands for any number of words, also none."""

    text: str
    words: tuple[str, ...]


def read_rule(text: str) -> Rule:
    """The rule a text says. An unbalanced quote is taken as a plain character; an empty rule matches nothing."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    return Rule(text, tuple(words))


def host_matches(rule: Rule, host: str) -> bool:
    """Whether a rule of the form `fetch host` speaks of this host."""
    return len(rule.words) == 2 and rule.words[0] == FETCH and fnmatchcase(host.lower(), rule.words[1].lower())


def tool_matches(rule: Rule, name: str) -> bool:
    """Whether a rule speaks of this tool of a server: its whole name, `mcp_github_get_issue` or `mcp_github_*`."""
    return len(rule.words) == 1 and rule.words[0].startswith("mcp_") and fnmatchcase(name, rule.words[0])


def is_about_commands(rule: Rule) -> bool:
    """Whether a rule speaks of commands, and not of a web page or a tool of a server."""
    if not rule.words or (rule.words[0] == FETCH and len(rule.words) == 2):
        return False
    return not (len(rule.words) == 1 and rule.words[0].startswith("mcp_"))
