"""Logins to MCP servers: the whole flow over real HTTP, what is saved, and servers that misuse it."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from clio.config.loaded import McpServer, OAuthClient
from clio.mcp.client import load_sdk, open_http_client
from clio.mcp.oauth import LoginFailed, LoginStore, RedirectListener, check_auth_addresses, explain_unsafe_url
from clio.mcp.servers import McpServers
from clio.mcp.values import ServerDown
from tests.support.oauth_peer import OAuthPeer
from tests.support.rows import each_row


@pytest.fixture
def peer() -> Iterator[OAuthPeer]:
    server = OAuthPeer()
    yield server
    server.close()


def make_servers(peer: OAuthPeer, home: Path, **fields: Any) -> McpServers:
    server = McpServer(name="web", where="mcp.yaml:1", own=True, kind="http", url=peer.url, **fields)
    return McpServers([server], [], project=home, env=os.environ, folder=None, home=home, first_wait_s=30.0)


async def add(peer: OAuthPeer, home: Path) -> str:
    """Return the sum that a later process gets from the server."""
    servers = make_servers(peer, home)
    try:
        return (await servers.call("web", "add", {"a": 2, "b": 2}, lambda line: None)).text
    finally:
        await servers.close()


async def visit(address: str) -> None:
    """Act as the user's browser: open the page, follow its redirect to clio."""
    import httpx2

    async def follow() -> None:
        async with httpx2.AsyncClient(follow_redirects=True) as browser:
            await browser.get(address)

    _visits.append(asyncio.create_task(follow()))


_visits: list["asyncio.Task[None]"] = []


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await work()
            await asyncio.gather(*_visits)

    _visits.clear()
    asyncio.run(bounded())


def test_a_login_is_saved_privately_used_refreshed_and_revoked(peer: OAuthPeer, tmp_path: Path) -> None:
    async def work() -> None:
        await make_servers(peer, tmp_path).log_in("web", visit)
        path = tmp_path / "mcp-logins.json"
        if sys.platform != "win32":
            assert path.stat().st_mode & 0o777 == 0o600
        assert await add(peer, tmp_path) == "4"
        assert ("POST", "/register") in peer.heard
        # A later process, after the token has expired: it uses the saved URL, not a guessed one.
        document = json.loads(path.read_text(encoding="utf-8"))
        [login] = document["logins"].values()
        login["expires_at"] = 1.0
        path.write_text(json.dumps(document), encoding="utf-8")
        assert await add(peer, tmp_path) == "4"
        assert [form["grant_type"] for form in peer.forms] == ["authorization_code", "refresh_token"]
        # The server invalidates the token early: the 401 causes one refresh, whose result the next process uses.
        peer.access = "another"
        assert await add(peer, tmp_path) == "4"
        assert peer.count == 3
        assert await add(peer, tmp_path) == "4"
        assert peer.count == 3
        assert await make_servers(peer, tmp_path).log_out("web") == (1, True)
        assert peer.revoked == ["refresh-3-of-the-peer"]
        assert "of-the-peer" not in path.read_text(encoding="utf-8")

    run(work)


@pytest.mark.parametrize("nonce", ["", "n-1"])
def test_a_token_bound_to_a_key_is_used_with_a_proof_for_each_request(
    peer: OAuthPeer, tmp_path: Path, nonce: str
) -> None:
    peer.binds, peer.nonce = True, nonce

    async def work() -> None:
        await make_servers(peer, tmp_path).log_in("web", visit)
        assert await add(peer, tmp_path) == "4"
        [login] = json.loads((tmp_path / "mcp-logins.json").read_text(encoding="utf-8"))["logins"].values()
        assert "PRIVATE KEY" in login["proof_key"]
        # The refresh of a later process is signed with the same key, and so are the requests after it.
        peer.access, peer.nonce = "another", nonce and "n-2"
        assert await add(peer, tmp_path) == "4"

    run(work)
    assert peer.proofs[-1].get("nonce", "") == (nonce and "n-2")
    assert [form["grant_type"] for form in peer.forms] == ["authorization_code", "refresh_token"]
    assert {proof["jkt"] for proof in peer.proofs} == {peer.key_of_token}
    learned: list[str] = []
    login = LoginStore(tmp_path, learned.append).load("web", peer.url)
    assert login is not None and login.proof_key in learned


def test_only_a_server_that_wants_bound_tokens_sees_a_key(peer: OAuthPeer, tmp_path: Path) -> None:
    async def work() -> None:
        await make_servers(peer, tmp_path).log_in("web", visit)
        assert await add(peer, tmp_path) == "4"
        assert peer.proofs == []
        assert "PRIVATE KEY" not in (tmp_path / "mcp-logins.json").read_text(encoding="utf-8")
        peer.binds, peer.access = True, "another"  # the server changes to bound tokens: the refresh returns one
        assert await add(peer, tmp_path) == "4"

    run(work)
    assert {proof["jkt"] for proof in peer.proofs} == {peer.key_of_token}


def test_a_conversation_starts_no_login(peer: OAuthPeer, tmp_path: Path) -> None:
    async def work() -> None:
        servers = make_servers(peer, tmp_path)
        with pytest.raises(ServerDown, match="clio mcp login web"):
            await servers.call("web", "add", {"a": 1}, lambda line: None)
        await servers.close()
        # Nor does one whose login is no longer valid.
        await make_servers(peer, tmp_path).log_in("web", visit)
        peer.heard.clear()
        peer.access = peer.refresh = "another"
        servers = make_servers(peer, tmp_path)
        with pytest.raises(ServerDown, match="clio mcp login web"):
            await servers.call("web", "add", {"a": 1}, lambda line: None)
        await servers.close()
        assert {path for _, path in peer.heard} == {"/mcp", peer.token_endpoint}

    run(work)
    assert not any(path in ("/register", "/authorize") for _, path in peer.heard)


def test_a_server_that_refuses_the_older_handshake_still_names_the_login(peer: OAuthPeer, tmp_path: Path) -> None:
    peer.is_modern = True

    async def work() -> None:
        servers = make_servers(peer, tmp_path)
        with pytest.raises(ServerDown, match="clio mcp login web"):
            await servers.call("web", "add", {"a": 1}, lambda line: None)
        await servers.close()

    run(work)


def test_a_login_belongs_to_a_name_and_a_url(peer: OAuthPeer, tmp_path: Path) -> None:
    run(lambda: make_servers(peer, tmp_path).log_in("web", visit))
    store = LoginStore(tmp_path)
    assert store.load("web", peer.url)
    assert store.load("web", "https://elsewhere.example/mcp") is None
    assert store.load("other", peer.url) is None


def test_tokens_are_registered_as_secrets(peer: OAuthPeer, tmp_path: Path) -> None:
    run(lambda: make_servers(peer, tmp_path).log_in("web", visit))
    learned: list[str] = []
    LoginStore(tmp_path, learned.append).load("web", peer.url)
    assert {peer.access, peer.refresh} <= set(learned)


def test_hostile_urls_end_a_login(peer: OAuthPeer, tmp_path: Path) -> None:
    asked: list[str] = []

    async def never(address: str) -> None:
        asked.append(address)
        await visit(address)

    async def fails(**metadata: str) -> str:
        peer.metadata = metadata
        with pytest.raises(LoginFailed) as caught:
            await make_servers(peer, tmp_path).log_in("web", never)
        return str(caught.value)

    async def work() -> None:
        assert "http://token.example/t does not begin with https" in await fails(
            token_endpoint="http://token.example/t"
        )
        asked.clear()
        assert "http://page.example/a" in await fails(authorization_endpoint="http://page.example/a")
        assert "http://reg.example/r" in await fails(registration_endpoint="http://reg.example/r")
        assert "issuer" in await fails(issuer="https://other.example")
        assert asked == []
        peer.metadata = {}
        peer.redirects_to = "http://127.0.0.2:9/mcp"
        with pytest.raises(LoginFailed, match="without a login"):  # the redirect is not followed
            await make_servers(peer, tmp_path).log_in("web", never)

    run(work)
    assert not (tmp_path / "mcp-logins.json").exists()


def test_a_client_registered_by_the_user_is_not_registered_again(peer: OAuthPeer, tmp_path: Path) -> None:
    oauth = OAuthClient(client_id="mine", client_secret="${NO_SUCH:-quiet}", scope="read write")
    run(lambda: make_servers(peer, tmp_path, oauth=oauth).log_in("web", visit))
    assert ("POST", "/register") not in peer.heard
    assert peer.forms[0]["client_id"] == "mine"


def test_the_secret_of_a_login_may_be_in_a_file_of_the_user(peer: OAuthPeer, tmp_path: Path) -> None:
    oauth = OAuthClient(client_id="${NO_SUCH:-mine}", client_secret_file=str(tmp_path / "secret"))
    with pytest.raises(LoginFailed, match=r"oauth\.client_secret_file"):
        run(lambda: make_servers(peer, tmp_path, oauth=oauth).log_in("web", visit))
    (tmp_path / "secret").write_text("quiet\n", encoding="utf-8")
    run(lambda: make_servers(peer, tmp_path, oauth=oauth).log_in("web", visit))
    assert peer.forms[0]["client_id"] == "mine"
    assert peer.authorizations == ["Basic bWluZTpxdWlldA=="]


_ADDRESSES = (
    ("https://a.example/t", "https://b.example/mcp", ""),
    ("http://a.example/t", "https://b.example/mcp", "https://"),
    ("http://127.0.0.1/t", "https://b.example/mcp", "this machine"),
    ("https://localhost/t", "https://b.example/mcp", "this machine"),
    ("http://[::1]:8/t", "http://127.0.0.1:9/mcp", ""),
    ("http://a.example/t", "http://localhost/mcp", "https://"),
    ("http://b.example/mcp", "http://b.example/mcp", "https://"),
    ("file:///etc/passwd", "https://b.example/mcp", "https://"),
    ("javascript:alert(1)", "https://b.example/mcp", "https://"),
    ("https://127.1/t", "https://b.example/mcp", "this machine"),
    ("https://2130706433/t", "https://b.example/mcp", "this machine"),
    ("https://0x7f.1/t", "https://b.example/mcp", "this machine"),
    ("https://[::ffff:127.0.0.1]/t", "https://b.example/mcp", "this machine"),
    ("https://0.0.0.0/t", "https://b.example/mcp", "this machine"),
    ("https://localhost./t", "https://b.example/mcp", "this machine"),
    ("https://a.localhost/t", "https://b.example/mcp", "this machine"),
    ("https://169.254.169.254/t", "https://b.example/mcp", "this machine's network"),
    ("https://10.0.0.7/t", "https://b.example/mcp", "this machine's network"),
    ("https://10.0.0.7/t", "https://10.0.0.8/mcp", ""),
    ("https://8.8.8.8/t", "https://b.example/mcp", ""),
    ("https://[::1/t", "https://b.example/mcp", "no address"),
)


@pytest.mark.fast
@each_row("url, server, why", _ADDRESSES)
def test_which_urls_a_login_may_use(url: str, server: str, why: str) -> None:
    found = explain_unsafe_url(url, server)
    assert why in found
    assert bool(found) == bool(why)


_NAMES = {
    "mcp.example": "203.0.113.7",
    "here.example": "127.0.0.1",
    "here6.example": "::1",
    "mapped.example": "::ffff:127.0.0.1",
    "any.example": "0.0.0.0",
    "cloud.example": "169.254.169.254",
    "link.example": "fe80::1%eth0",
    "company.example": "10.0.0.7",
    "dev.example": "127.0.0.1",
}


@pytest.mark.parametrize(
    "url, server, is_refused",
    [
        ("https://here.example/t", "https://mcp.example/mcp", True),
        ("https://here6.example/t", "https://mcp.example/mcp", True),
        ("https://mapped.example/t", "https://mcp.example/mcp", True),
        ("https://any.example/t", "https://mcp.example/mcp", True),
        ("https://cloud.example/t", "https://mcp.example/mcp", True),
        ("https://link.example/t", "https://mcp.example/mcp", True),
        ("https://company.example/t", "https://mcp.example/mcp", False),
        ("https://unknown.example/t", "https://mcp.example/mcp", False),
        ("https://here.example/t", "https://dev.example/mcp", False),
        ("https://dev.example/t", "https://dev.example/mcp", False),
    ],
)
def test_a_host_name_that_resolves_to_this_machine_ends_a_login(
    monkeypatch: pytest.MonkeyPatch, url: str, server: str, is_refused: bool
) -> None:
    def resolve(host: str, *more: object, **options: object) -> list[tuple[object, ...]]:
        if host not in _NAMES:
            raise OSError("unknown")
        return [(None, None, 0, "", ("203.0.113.9", 0)), (None, None, 0, "", (_NAMES[host], 0))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)

    async def work() -> None:
        await check_auth_addresses(url, server)

    if is_refused:
        with pytest.raises(LoginFailed, match="points to this machine"):
            run(work)
    else:
        run(work)


def test_a_request_of_a_login_is_not_sent_to_a_host_name_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    load_sdk()
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *more, **options: [(2, 1, 0, "", (_NAMES[host], 443))])

    async def work() -> None:
        async with open_http_client("https://mcp.example/mcp", {}, checks_addresses=True) as http:
            with pytest.raises(LoginFailed, match="points to this machine"):
                await http.get("https://here.example/.well-known/oauth-authorization-server")

    run(work)


@pytest.mark.fast
def test_only_a_browser_with_the_state_of_this_login_is_accepted(tmp_path: Path) -> None:
    async def ask(port: int, head: str) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{head}\r\n\r\n".encode())
        answer = (await reader.read()).decode()
        writer.close()
        return answer

    async def work() -> None:
        async with RedirectListener() as listener:
            port = urlsplit(listener.redirect_uri).port or 0
            own = f"Host: 127.0.0.1:{port}"
            assert " 400 " in await ask(port, f"GET /callback?code=x&state= HTTP/1.1\r\n{own}")
            listener.expect("https://login.example/authorize?state=right&x=1")
            assert " 400 " in await ask(port, f"GET /callback?code=stolen&state=wrong HTTP/1.1\r\n{own}")
            assert " 404 " in await ask(port, "GET /callback?code=stolen&state=right HTTP/1.1\r\nHost: evil.example")
            assert " 404 " in await ask(port, f"POST /callback?code=stolen&state=right HTTP/1.1\r\n{own}")
            assert " 404 " in await ask(port, f"GET /other?code=stolen&state=right HTTP/1.1\r\n{own}")
            page = await ask(port, f"GET /callback?code=good<b>&state=right HTTP/1.1\r\n{own}")
            assert " 200 " in page and "good" not in page
            assert " 400 " in await ask(port, f"GET /callback?code=late&state=right HTTP/1.1\r\n{own}")
            assert (await listener.wait(5)).code == "good<b>"
        async with RedirectListener() as listener:
            port = urlsplit(listener.redirect_uri).port or 0
            listener.expect("https://login.example/authorize?state=right")
            answer = "error=access_denied&error_description=no%1b[31m&state=right"
            await ask(port, f"GET /callback?{answer} HTTP/1.1\r\nHost: 127.0.0.1:{port}")
            with pytest.raises(LoginFailed, match=r"access_denied no\[31m"):
                await listener.wait(5)

    run(work)


def test_a_login_in_the_keyring_leaves_no_token_in_a_file(peer: OAuthPeer, tmp_path: Path) -> None:
    keyring = pytest.importorskip("keyring", reason="needs the package keyring")
    backend = pytest.importorskip("keyring.backend", reason="needs the package keyring")
    kept: dict[tuple[str, str], str] = {}
    broken: list[str] = []

    class Backend(backend.KeyringBackend):  # type: ignore[misc, name-defined]
        priority = 1

        def get_password(self, service: str, username: str) -> str | None:
            if broken:
                raise RuntimeError(broken[0])
            return kept.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            kept[service, username] = password

        def delete_password(self, service: str, username: str) -> None:
            del kept[service, username]

    async def work() -> None:
        path = tmp_path / "mcp-logins.json"
        await make_servers(peer, tmp_path).log_in("web", visit, in_keyring=True)
        assert await add(peer, tmp_path) == "4"
        # The server invalidates the token early: the refreshed one is saved in the keyring too.
        peer.access = "another"
        assert await add(peer, tmp_path) == "4"
        [stored] = kept.values()
        assert peer.access in stored and peer.refresh in stored
        assert "of-the-peer" not in path.read_text(encoding="utf-8")
        broken.append("the keyring is locked")
        with pytest.raises(ServerDown, match="the keyring is locked"):
            await add(peer, tmp_path)
        broken.clear()
        assert await make_servers(peer, tmp_path).log_out("web") == (1, True)
        assert kept == {} and peer.revoked == [f"refresh-{peer.count}-of-the-peer"]

    before = keyring.get_keyring()
    keyring.set_keyring(Backend())
    try:
        run(work)
    finally:
        keyring.set_keyring(before)


def test_endless_and_slow_answers_end_a_login(peer: OAuthPeer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clio.mcp.oauth.LOGIN_ANSWERS_S", 1.0)
    monkeypatch.setattr("clio.mcp.client.MAX_AUTH_BYTES", 10_000)

    async def fails() -> str:
        with pytest.raises(LoginFailed) as caught:
            await make_servers(peer, tmp_path).log_in("web", visit)
        return str(caught.value)

    async def work() -> None:
        # The SDK limits an event stream only if it is one: metadata of that type is read completely.
        peer.floods = "text/event-stream"
        assert "larger than" in await fails()
        peer.floods = ""
        peer.drips = True
        assert "no answer within 1 s" in await fails()
        peer.drips = False

    run(work)
    assert not (tmp_path / "mcp-logins.json").exists()


def test_a_redirect_of_metadata_is_not_followed(peer: OAuthPeer, tmp_path: Path) -> None:
    other = OAuthPeer()
    peer.metadata_is_at = f"{other.base}/.well-known/oauth-authorization-server"

    async def work() -> None:
        with pytest.raises(LoginFailed):
            await make_servers(peer, tmp_path).log_in("web", visit)

    try:
        run(work)
    finally:
        other.close()
    assert other.heard == []
    assert ("GET", "/.well-known/oauth-authorization-server") in peer.heard
    assert not (tmp_path / "mcp-logins.json").exists()


def test_a_server_without_a_login_is_named_with_the_next_step(peer: OAuthPeer, tmp_path: Path) -> None:
    peer.offers_no_login = True

    async def work() -> None:
        with pytest.raises(LoginFailed, match="set its headers"):
            await make_servers(peer, tmp_path).log_in("web", visit)

    run(work)
