"""Run clio's MCP client in the published conformance suite: `conformance client --command "python THIS"`.

The suite appends the address of its server. Each tool is called once, with arguments generated from its schema;
questions are answered with their defaults. If the server requires a login, clio logs in as it does for a user; a
request that follows the redirects of the page replaces the user's browser.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from clio.config.loaded import IdentityProvider, McpServer, OAuthClient
from clio.mcp.oauth import LoginFailed
from clio.mcp.servers import McpServers
from clio.mcp.values import CallFailed, ServerDown

_SAMPLES: dict[str, Any] = {"number": 2, "integer": 2, "boolean": True, "string": "x", "array": [], "object": {}}
_CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json"  # the only one that the suite accepts
_MAX_LOGINS = 2
T = TypeVar("T")


async def main(url: str) -> int:
    """Call all tools of the server. Return 0 if every call was answered, else 1."""

    async def take_default(question: str, options: tuple[str, ...]) -> str:
        return ""

    context = msgspec.json.decode(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    oauth = await _make_oauth(scenario, context, url)
    server = McpServer(
        name="suite", where="the command line", own=True, kind="http", url=url, timeout_s=20.0, oauth=oauth
    )
    with tempfile.TemporaryDirectory(prefix="clio-conformance-") as home:
        servers = McpServers(
            [server], [], project=Path.cwd(), env=os.environ, folder=None, home=Path(home), tell=print, ask=take_default
        )
        try:
            return await _use(servers, scenario, context)
        except (CallFailed, ServerDown, LoginFailed) as error:
            print(error, file=sys.stderr)
            return 1
        finally:
            await servers.close()


async def _make_oauth(scenario: str, context: dict[str, str], url: str) -> OAuthClient:
    """Return the settings that a user would write in mcp.yaml for this scenario."""
    client_id, secret = context.get("client_id", _CLIENT_DOCUMENT), context.get("client_secret", "")
    if scenario.startswith("auth/client-credentials"):
        key = context.get("private_key_pem", "")
        return OAuthClient(grant="client_credentials", client_id=client_id, client_secret=secret, private_key=key)
    if "valid_jwt" in context:
        return OAuthClient(grant="workload_identity", client_id=client_id, assertion=context["valid_jwt"])
    if "idp_token_endpoint" in context:
        provider = IdentityProvider(
            token_endpoint=context["idp_token_endpoint"],
            client_id=context["idp_client_id"],
            id_token=context["idp_id_token"],
        )
        return OAuthClient(
            grant="identity_assertion",
            client_id=client_id,
            client_secret=secret,
            issuer=await _find_issuer(url),
            identity_provider=provider,
        )
    return OAuthClient(client_id=client_id, client_secret=secret)


async def _find_issuer(url: str) -> str:
    """Return the authorization server, which a user would know and the suite does not name."""
    import httpx2

    async with httpx2.AsyncClient() as http:
        for path in ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"):
            response = await http.get(url.removesuffix("/mcp") + path)
            if response.status_code == 200:
                return response.json()["authorization_servers"][0]
    return ""


async def _use(servers: McpServers, scenario: str, context: dict[str, Any]) -> int:
    status = await _with_logins(servers, lambda: servers.start("suite"))
    tools = status.catalog.tools if status.catalog else ()
    schemas = {tool.name: msgspec.json.decode(tool.schema) for tool in tools}
    calls: list[tuple[str, dict[str, Any]]] = [
        (name, {key: _SAMPLES.get(field.get("type"), "x") for key, field in schema.get("properties", {}).items()})
        for name, schema in schemas.items()
    ]
    if "toolCalls" in context:  # the calls that a model would make
        calls = [(call["name"], call["arguments"]) for call in context["toolCalls"]]
    elif scenario == "json-schema-2020-12-preservation":  # the suite checks the schema as clio received it
        [first, echo] = schemas
        calls = [(first, {}), (echo, {"schema": schemas[first]})]
    elif scenario == "json-schema-ref-no-deref":  # its server has a tool that cannot be called
        calls = []
    for tool, arguments in calls:

        async def call(tool: str = tool, arguments: dict[str, Any] = arguments) -> None:
            print(tool, (await servers.call("suite", tool, arguments, print)).text[:200])

        await _with_logins(servers, call)
    return 0


async def _with_logins(servers: McpServers, work: Callable[[], Awaitable[T]]) -> T:
    """Return the result of `work`, after logging in as often as the server requires it."""
    for _ in range(_MAX_LOGINS):
        try:
            return await work()
        except (CallFailed, ServerDown) as error:
            if "clio mcp login" not in str(error):
                raise
        await _log_in(servers)
        await servers.close()
    return await work()


async def _log_in(servers: McpServers) -> None:
    import httpx2

    visits: list[asyncio.Task[None]] = []

    async def visit(address: str) -> None:
        async def follow() -> None:
            async with httpx2.AsyncClient(follow_redirects=True) as browser:
                await browser.get(address)

        visits.append(asyncio.create_task(follow()))

    await servers.log_in("suite", visit)
    await asyncio.gather(*visits)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[-1])))
