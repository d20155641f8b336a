"""One server of the Model Context Protocol, as it is configured."""

from typing import Literal

from msgspec import Struct

DEFAULT_TIMEOUT_S = 120.0
HANDED = "the editor"
"""`where` of a server that no file names: an editor handed it over for one session."""


class Server(Struct, frozen=True, kw_only=True):
    """How a server is reached, and what of it may be used. `${NAME}` in its texts is not yet replaced.

    where: file and line. own: from the user's file and not from a project's.
    cwd: of its process, relative to the project; "" for the project itself.
    timeout_s: how long a call may be silent. tools: those that are offered; None for all.
    read_only: tools that change nothing, by the user's own word; plan mode lets them run.
    """

    name: str
    where: str
    own: bool
    kind: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    enabled: bool = True
    timeout_s: float = DEFAULT_TIMEOUT_S
    tools: tuple[str, ...] | None = None
    read_only: tuple[str, ...] = ()
