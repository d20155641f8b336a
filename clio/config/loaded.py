"""What loading the configuration gives: the values, where each comes from, and what a project may not set yet."""

from pathlib import Path

from msgspec import Struct

from clio.config.hook import Hook
from clio.config.schema import Config
from clio.config.server import Server


class Widening(Struct, frozen=True, kw_only=True):
    """Something a project brings that waits for trust: a value of its configuration, a hook, a server, a link.

    value: for a person to read before deciding; escaped, bounded, secrets masked.
    where: file and line. fingerprint: of key and real value; trust is remembered by it.
    """

    key: str
    value: str
    where: str
    fingerprint: str


class Loaded(Struct, frozen=True, kw_only=True):
    """The configuration of one start.

    origins: for each field (and `models.<name>.<field>`) that a layer set, who did: "~/.clio/config.yaml:3",
        "environment OPENAI_BASE_URL", "flag --model"; fields that are not in it have their default.
    withheld: values of the project's file that are not in force because the folder is not trusted with them.
    trusted: those that are in force because it is.
    hooks: the commands of both hooks.yaml that may run.
    files: the configuration files that were read, lowest layer first.
    servers: of the Model Context Protocol; a project's only where it is trusted with them.
    server_problems: sentences about those that are left out because their entry is wrong.
    start: the folder clio was started in, with links resolved; None where nobody said.
    main: the same project in the main checkout, where `project` is one of clio's worktrees of it.
    problems: sentences about what the project brings and clio passes over.
    links: the places outside of the project that its links may lead to, because it is trusted with them.
    is_closed: whether `.clio`, or something in it, is a link out of the project that is not trusted: clio then writes
        nothing there and uses no memory.
    has_foreign_memory: whether the memory in `.clio` came with the project, which is not trusted with it: it is the
        repository's statement, not what the user or clio remembered here.
    memory_doubt: which damaged file keeps clio from telling whether it wrote that memory itself; "" where none does.
    """

    config: Config
    origins: dict[str, str]
    project: Path
    home: Path
    withheld: tuple[Widening, ...] = ()
    trusted: tuple[Widening, ...] = ()
    files: tuple[Path, ...] = ()
    servers: tuple[Server, ...] = ()
    server_problems: tuple[str, ...] = ()
    start: Path | None = None
    hooks: tuple[Hook, ...] = ()
    main: Path | None = None
    problems: tuple[str, ...] = ()
    links: tuple[Path, ...] = ()
    is_closed: bool = False
    has_foreign_memory: bool = False
    memory_doubt: str = ""

    @property
    def owner(self) -> Path:
        """The folder whose `.clio` counts: settings, trust, memory and sessions are those of the main checkout."""
        return self.main or self.project
