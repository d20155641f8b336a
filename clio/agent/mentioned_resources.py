"""Which resource of an MCP server a mention names: `@server:uri`, where the server is a configured one."""

from clio.context.mentions import Mention, readings
from clio.mcp.servers import Servers


def resource_of(mention: Mention, servers: Servers | None) -> tuple[str, str] | None:
    """The server and the URI; None where the mention is no such thing.

    Of the readings without the sentence's punctuation the one that the server has listed counts, else the shortest.
    """
    if servers is None or ":" not in mention.label:
        return None
    names = {server.name for server in servers.enabled}
    server = mention.label.partition(":")[0]
    if server not in names:
        return None
    uris = [uri for reading in readings(mention) if (uri := reading.label.partition(":")[2])]
    known = {one.uri for _, one in servers.resources(server)}
    listed = [uri for uri in uris if uri in known]
    return (server, (listed or uris[-1:])[0]) if uris else None
