"""clio's MCP client as the published conformance suite drives one: `conformance client --command "python THIS"`.

The suite appends the address of its server. Everything that is offered is called once, with arguments made from the
schemas; questions are answered with their defaults.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from clio.config.loaded import McpServer
from clio.mcp.servers import McpServers
from clio.mcp.values import CallFailed, ServerDown

_SAMPLES: dict[str, Any] = {"number": 2, "integer": 2, "boolean": True, "string": "x", "array": [], "object": {}}


async def main(url: str) -> int:
    """0 where every call was answered."""

    async def take_default(question: str, options: tuple[str, ...]) -> str:
        return ""

    server = McpServer(name="suite", where="the command line", own=True, kind="http", url=url, timeout_s=20.0)
    servers = McpServers([server], [], project=Path.cwd(), env=os.environ, folder=None, tell=print, ask=take_default)
    try:
        standing = await servers.start("suite")
        for tool in standing.catalog.tools if standing.catalog else ():
            schema = msgspec.json.decode(tool.schema)
            given = {name: _SAMPLES.get(field.get("type"), "x") for name, field in schema.get("properties", {}).items()}
            print(tool.name, (await servers.call("suite", tool.name, given, print)).text[:200])
    except (CallFailed, ServerDown) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        await servers.close()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[-1])))
