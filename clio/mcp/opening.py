"""From the configuration to the servers of one running clio."""

from collections.abc import Callable, Mapping

from clio.config.loaded import Loaded
from clio.mcp.servers import Ask, Servers


def open_servers(
    loaded: Loaded, env: Mapping[str, str], *, tell: Callable[[str], None] = lambda line: None, ask: Ask | None = None
) -> Servers:
    """Every configured server, none of them started. tell: shows one line. ask: reaches the person."""
    folder = None if loaded.config.incognito else loaded.project / ".clio" / "cache"
    return Servers(
        loaded.servers, loaded.server_problems, project=loaded.project, env=env, folder=folder, tell=tell, ask=ask
    )
