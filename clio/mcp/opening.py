"""From the configuration to the servers of one running clio."""

from collections.abc import Callable, Mapping

from clio.config.loaded import Loaded
from clio.config.mcp_trust import configured
from clio.config.server import HANDED, Server
from clio.mcp.servers import Ask, Servers


def open_servers(
    loaded: Loaded,
    env: Mapping[str, str],
    *,
    clean: Callable[[str], str],
    tell: Callable[[str], None] = lambda line: None,
    ask: Ask | None = None,
) -> Servers:
    """Every configured server, none of them started. See `Servers`."""
    folder = None if loaded.config.incognito else loaded.owner / ".clio" / "cache"

    handed = tuple(server for server in loaded.servers if server.where == HANDED)

    def read_again() -> tuple[tuple[Server, ...], tuple[str, ...]]:
        found = configured(loaded.home, loaded.owner)
        named = {server.name for server in found.servers}
        return (*found.servers, *(server for server in handed if server.name not in named)), found.problems

    return Servers(
        loaded.servers,
        loaded.server_problems,
        project=loaded.project,
        env=env,
        folder=folder,
        tell=tell,
        ask=ask,
        clean=clean,
        read_again=read_again,
    )
