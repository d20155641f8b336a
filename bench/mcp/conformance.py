"""clio's MCP client as the published conformance suite drives one: `conformance client --command "python THIS"`.

The suite appends the address of its server. Everything that is offered is called once, with arguments made from the
schemas; questions are answered with their defaults. Where the server wants a login, clio logs in as it does for a
user, and the place of the user and their browser is taken by a request that follows the page's redirect.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from clio.config.loaded import IdentityProvider, McpServer, OAuthClient
from clio.mcp.oauth import LoginFailed
from clio.mcp.servers import McpServers
from clio.mcp.values import CallFailed, ServerDown

_SAMPLES: dict[str, Any] = {"number": 2, "integer": 2, "boolean": True, "string": "x", "array": [], "object": {}}
_CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json"  # the suite knows no other
_MAX_LOGINS = 3


async def main(url: str) -> int:
    """Call everything the server offers; 0 where every call was answered."""

    async def take_default(question: str, options: tuple[str, ...]) -> str:
        return ""

    context = msgspec.json.decode(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    oauth = await _make_oauth(os.environ.get("MCP_CONFORMANCE_SCENARIO", ""), context, url)
    server = McpServer(
        name="suite", where="the command line", own=True, kind="http", url=url, timeout_s=20.0, oauth=oauth
    )
    with tempfile.TemporaryDirectory(prefix="clio-conformance-") as home:
        servers = McpServers(
            [server], [], project=Path.cwd(), env=os.environ, folder=None, home=Path(home), tell=print, ask=take_default
        )
        try:
            return await _use(servers)
        except (CallFailed, ServerDown, LoginFailed) as error:
            print(error, file=sys.stderr)
            return 1
        finally:
            await servers.close()


async def _make_oauth(scenario: str, context: dict[str, str], url: str) -> OAuthClient:
    """Return what a user would write in mcp.yaml for this scenario."""
    client_id, secret = context.get("client_id", _CLIENT_DOCUMENT), context.get("client_secret", "")
    if scenario.startswith("auth/client-credentials"):
        key = context.get("private_key_pem", "")
        return OAuthClient(grant="client_credentials", client_id=client_id, client_secret=secret, private_key=key)
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
    """Return the authorization server, which the suite does not tell and a user would know."""
    import httpx2

    async with httpx2.AsyncClient() as http:
        for place in ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"):
            response = await http.get(url.removesuffix("/mcp") + place)
            if response.status_code == 200:
                return response.json()["authorization_servers"][0]
    return ""


async def _use(servers: McpServers) -> int:
    try:
        status = await servers.start("suite")
    except ServerDown as error:
        if "clio mcp login" not in str(error):
            raise
        await _log_in(servers)
        status = await servers.start("suite")
    for tool in status.catalog.tools if status.catalog else ():
        schema = msgspec.json.decode(tool.schema)
        given = {name: _SAMPLES.get(field.get("type"), "x") for name, field in schema.get("properties", {}).items()}
        for remaining in reversed(range(_MAX_LOGINS)):
            try:
                print(tool.name, (await servers.call("suite", tool.name, given, print)).text[:200])
                break
            except CallFailed as error:
                if "clio mcp login" not in str(error) or not remaining:
                    raise
                await _log_in(servers)
                await servers.close()
    return 0


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
