"""Tokens of MCP servers without a user, over real HTTP: what is sent to whom, what is refused, and the errors."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from clio.config.loaded import IdentityProvider, McpServer, OAuthClient
from clio.errors import ClioError
from clio.mcp.oauth import LoginFailed
from clio.mcp.servers import McpServers
from clio.mcp.values import CallFailed, ServerDown
from tests.support.oauth_peer import OAuthPeer
from tests.support.rows import each_row

JWT_BEARER = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


@pytest.fixture
def peer() -> Iterator[OAuthPeer]:
    server = OAuthPeer()
    yield server
    server.close()


def make_servers(peer: OAuthPeer, home: Path, learned: list[str] | None = None, **fields: Any) -> McpServers:
    oauth = structs.replace(OAuthClient(grant="client_credentials", client_id="robot"), **fields)
    server = McpServer(name="web", where="mcp.yaml:1", own=True, kind="http", url=peer.url, oauth=oauth)
    learn = learned.append if learned is not None else list[str]().append
    env = {**os.environ, "ROBOT_SECRET": "pa:ss word", "ROBOT_ID": "robot"}
    return McpServers([server], [], project=home, env=env, folder=None, home=home, learn_secret=learn)


async def add(servers: McpServers) -> str:
    return (await servers.call("web", "add", {"a": 2, "b": 2}, lambda line: None)).text


def run(servers: McpServers, work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            try:
                await work()
            finally:
                await servers.close()

    asyncio.run(bounded())


def fail(servers: McpServers) -> str:
    """Return the reason why the server cannot be used."""
    found: list[str] = []

    async def work() -> None:
        with pytest.raises((ServerDown, CallFailed)) as caught:
            await add(servers)
        found.append(str(caught.value))

    run(servers, work)
    return found[0]


def make_key(kind: str = "ec") -> tuple[str, Any]:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key: Any = (
        rsa.generate_private_key(65_537, 2_048)
        if kind == "rsa"
        else ed25519.Ed25519PrivateKey.generate()
        if kind == "ed"
        else ec.generate_private_key(ec.SECP384R1() if kind == "ec384" else ec.SECP256R1())
    )
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return pem, key.public_key()


def test_a_client_secret_gets_tokens_without_a_login_and_nothing_is_saved(peer: OAuthPeer, tmp_path: Path) -> None:
    learned: list[str] = []
    servers = make_servers(peer, tmp_path, learned, client_id="${ROBOT_ID}", client_secret="${ROBOT_SECRET}")

    async def work() -> None:
        assert await add(servers) == "4"
        # The server invalidates the token early: the same credentials get another, with no refresh token.
        peer.access = "another"
        assert await add(servers) == "4"
        assert await add(servers) == "4"

    run(servers, work)
    assert [form["grant_type"] for form in peer.forms] == ["client_credentials"] * 2
    assert peer.forms[0]["resource"] == peer.url
    assert set(peer.authorizations) == {"Basic cm9ib3Q6cGElM0FzcyUyMHdvcmQ="}  # robot and pa:ss word, each quoted
    assert {"pa:ss word", peer.access} <= set(learned)
    assert not any(path in ("/register", "/authorize") for _, path in peer.heard)
    assert not (tmp_path / "mcp-logins.json").exists()


@pytest.mark.parametrize("nonce", ["", "n-1"])
def test_a_token_without_a_user_may_be_bound_to_a_key(peer: OAuthPeer, tmp_path: Path, nonce: str) -> None:
    peer.binds, peer.nonce = True, nonce
    servers = make_servers(peer, tmp_path, client_secret="secret")

    async def work() -> None:
        assert await add(servers) == "4"
        peer.access = "another"  # the token has expired: another is requested with the same key
        assert await add(servers) == "4"

    run(servers, work)
    assert len(peer.forms) == 2
    assert {proof["jkt"] for proof in peer.proofs} == {peer.key_of_token}


def test_the_secret_is_in_the_form_if_the_server_requires_it(peer: OAuthPeer, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("from-a-file\n", encoding="utf-8")
    peer.metadata = {
        "token_endpoint_auth_methods_supported": ["client_secret_post"],
        "scopes_supported": ["everything"],
    }
    servers = make_servers(peer, tmp_path, client_secret_file=str(tmp_path / "secret"), scope="read")

    async def work() -> None:
        assert await add(servers) == "4"
        (tmp_path / "secret").write_text("the-next-one", encoding="utf-8")
        peer.access = "another"
        assert await add(servers) == "4"

    run(servers, work)
    assert [form["client_secret"] for form in peer.forms] == ["from-a-file", "the-next-one"]
    assert {form["client_id"] for form in peer.forms} == {"robot"}
    assert {form["scope"] for form in peer.forms} == {"read"}  # the user's and not what the server suggests
    assert set(peer.authorizations) == {""}


@each_row(
    "kind, accepted, algorithm",
    (
        ("ec", None, "ES256"),
        ("ec384", ["RS256"], "ES384"),
        ("rsa", None, "RS256"),
        ("rsa", ["PS256"], "PS256"),
        ("ed", ["EdDSA"], "EdDSA"),
    ),
)
def test_a_key_signs_an_assertion_for_the_issuer(
    peer: OAuthPeer, tmp_path: Path, kind: str, accepted: list[str] | None, algorithm: str
) -> None:
    import jwt

    pem, public = make_key(kind)
    peer.forms.clear()
    peer.metadata = {"token_endpoint_auth_signing_alg_values_supported": accepted} if accepted else {}
    (tmp_path / "key.pem").write_text(pem, encoding="utf-8")
    # In a variable, line breaks are often written as \n.
    given: dict[str, Any] = (
        {"private_key": pem.replace("\n", "\\n")} if kind == "ec" else {"private_key_file": f"{tmp_path}/key.pem"}
    )
    servers = make_servers(peer, tmp_path, key_id="key-7", issuer=peer.base, **given)

    async def work() -> None:
        assert await add(servers) == "4"
        peer.access = "another"
        assert await add(servers) == "4"

    run(servers, work)
    assertions = [form["client_assertion"] for form in peer.forms]
    assert jwt.get_unverified_header(assertions[0]) == {"alg": algorithm, "kid": "key-7", "typ": "JWT"}
    first, second = (
        jwt.decode(assertion, public, algorithms=[algorithm], audience=peer.base) for assertion in assertions
    )
    assert (first["iss"], first["sub"]) == ("robot", "robot")
    assert 0 < first["exp"] - first["iat"] <= 300
    assert first["jti"] != second["jti"]
    assert all(form["client_assertion_type"] == JWT_BEARER and "client_secret" not in form for form in peer.forms)


def test_a_token_of_the_platform_is_sufficient(peer: OAuthPeer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("of-the-job-1\n", encoding="utf-8")
    learned: list[str] = []
    fields: dict[str, Any] = {"grant": "workload_identity", "assertion_file": str(token), "scope": "read"}
    servers = make_servers(peer, tmp_path, learned, **fields)

    async def work() -> None:
        assert await add(servers) == "4"
        token.write_text("of-the-job-2\n", encoding="utf-8")
        peer.access = "another"
        assert await add(servers) == "4"

    run(servers, work)
    assert [form["assertion"] for form in peer.forms] == ["of-the-job-1", "of-the-job-2"]
    assert {form["grant_type"] for form in peer.forms} == {"urn:ietf:params:oauth:grant-type:jwt-bearer"}
    assert {(form["client_id"], form["resource"], form["scope"]) for form in peer.forms} == {
        ("robot", peer.url, "read")
    }
    assert set(peer.authorizations) == {""}
    assert {"of-the-job-1", "of-the-job-2"} <= set(learned)
    # It is not sent again after a refusal.
    peer.forms.clear()
    peer.access, peer.error = "another", {"error": "invalid_grant"}
    assert "invalid_grant" in fail(make_servers(peer, tmp_path, **fields))
    assert len(peer.forms) == 1


def test_credentials_go_to_another_host_only_if_it_is_configured(peer: OAuthPeer, tmp_path: Path) -> None:
    other = OAuthPeer()
    peer.metadata = {"token_endpoint": "https://tokens.example/t"}
    try:
        why = fail(make_servers(peer, tmp_path, client_secret="quiet"))
        assert "tokens.example" in why and f"issuer: {peer.base}" in why
        # With an issuer that the server does not name, nothing is sent either.
        peer.metadata = {}
        why = fail(make_servers(peer, tmp_path, client_secret="quiet", issuer=other.base))
        assert "issuer" in why and "mcp.yaml:1" in why
        why = fail(make_servers(peer, tmp_path, client_secret="quiet", issuer="http://issuer.example"))
        assert "http://issuer.example" in why
    finally:
        other.close()
    assert peer.forms == other.forms == []


def test_errors_explain_what_to_do(peer: OAuthPeer, tmp_path: Path) -> None:
    peer.error = {"error": "invalid_client", "error_description": "no\x1b[31m"}
    why = fail(make_servers(peer, tmp_path, client_secret="wrong"))
    assert "'robot'" in why and "invalid_client" in why and "mcp.yaml:1" in why and "\x1b" not in why
    peer.error = {}
    peer.access = "never given"
    assert "oauth.client_secret_file" in fail(make_servers(peer, tmp_path, client_secret_file=f"{tmp_path}/none"))
    assert "absolute" in fail(make_servers(peer, tmp_path, client_secret_file="secrets/robot"))
    assert "NO_SUCH_VARIABLE" in fail(make_servers(peer, tmp_path, client_secret="${NO_SUCH_VARIABLE}"))
    assert "PEM" in fail(make_servers(peer, tmp_path, private_key="nothing of the kind"))


def test_an_unreachable_authorization_server_is_named(peer: OAuthPeer, tmp_path: Path) -> None:
    stopped_peer = OAuthPeer()
    stopped_peer.close()
    peer.metadata = {"token_endpoint": f"{stopped_peer.base}/token"}
    why = fail(make_servers(peer, tmp_path, client_secret="quiet"))
    assert stopped_peer.base in why


def test_a_call_without_permission_fails_and_requests_none(peer: OAuthPeer, tmp_path: Path) -> None:
    peer.forbidden_tool = True
    servers = make_servers(peer, tmp_path, client_secret="quiet")

    async def work() -> None:
        for _ in range(2):
            with pytest.raises(CallFailed, match=r"oauth\.scope in mcp\.yaml:1"):
                await add(servers)

    run(servers, work)
    assert len(peer.forms) == 1


def test_no_manual_login_is_needed(peer: OAuthPeer, tmp_path: Path) -> None:
    async def never(address: str) -> None:
        raise AssertionError(address)

    async def work() -> None:
        with pytest.raises(LoginFailed, match="clio mcp test web"):
            await servers.log_in("web", never)

    servers = make_servers(peer, tmp_path, client_secret="quiet")
    run(servers, work)
    assert peer.heard == []


def test_an_entry_of_a_project_gets_no_token(peer: OAuthPeer, tmp_path: Path) -> None:
    oauth = OAuthClient(grant="client_credentials", client_id="robot", client_secret="quiet")
    server = McpServer(name="web", where=".mcp.json", own=False, kind="http", url=peer.url, oauth=oauth)
    servers = McpServers([server], [], project=tmp_path, env=os.environ, folder=None, home=tmp_path)
    fail(servers)
    assert peer.forms == []


def test_an_id_token_is_exchanged_at_the_identity_provider(peer: OAuthPeer, tmp_path: Path) -> None:
    company = OAuthPeer()
    (tmp_path / "id-token").write_text("id-token-1", encoding="utf-8")
    learned: list[str] = []
    fields: dict[str, Any] = {
        "grant": "identity_assertion",
        "client_secret": "${ROBOT_SECRET}",
        "issuer": peer.base,
        "identity_provider": IdentityProvider(
            token_endpoint=f"{company.base}{company.token_endpoint}",
            client_id="at-the-company",
            client_secret="other",
            id_token_file=f"{tmp_path}/id-token",
        ),
    }
    servers = make_servers(peer, tmp_path, learned, **fields)

    async def work() -> None:
        assert await add(servers) == "4"
        (tmp_path / "id-token").write_text("id-token-2", encoding="utf-8")
        peer.access = "another"
        assert await add(servers) == "4"

    try:
        run(servers, work)
        company.error = {"error": "invalid_grant", "error_description": "it has ended"}
        why = fail(make_servers(peer, tmp_path, **fields))
    finally:
        company.close()
    first, second, _ = company.forms
    assert (first["subject_token"], second["subject_token"]) == ("id-token-1", "id-token-2")
    assert (first["audience"], first["resource"], first["client_id"]) == (peer.base, peer.url, "at-the-company")
    assert first["requested_token_type"] == "urn:ietf:params:oauth:token-type:id-jag"
    assert company.authorizations[0] == "Basic YXQtdGhlLWNvbXBhbnk6b3RoZXI="
    assert [form["assertion"] for form in peer.forms] == ["the-assertion"] * 2
    assert set(peer.authorizations) == {"Basic cm9ib3Q6cGElM0FzcyUyMHdvcmQ="}
    assert "it has ended" in why and "log in to your company" in why
    assert {"id-token-1", "the-assertion", "other"} <= set(learned)
    assert issubclass(LoginFailed, ClioError)
