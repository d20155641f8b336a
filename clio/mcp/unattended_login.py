"""Get tokens of MCP servers without the user: with clio's own credentials, or a token of its platform or a company.

The SDK's providers find the authorization server and exchange the credentials. Here are the rules for where these may
be sent, the files they are read from, and errors that say what to do. Tokens are kept in memory only.
"""

import asyncio
import time
import uuid
import warnings
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec
from msgspec import Struct

from clio.config.loaded import IdentityProvider, McpServer, OAuthClient
from clio.mcp.bound_tokens import TokenProofs
from clio.mcp.oauth import LoginFailed, clean_reason, explain_unsafe_url, is_loopback
from clio.storage.files import read_regular
from clio.text.translation import tr

if TYPE_CHECKING:
    import httpx2

OpenClient = Callable[[str], "httpx2.AsyncClient"]
"""Returns an HTTP client for one address, with bounded answers and the rules for addresses of logins."""
_MAX_SECRET_BYTES = 65_536
_ASSERTION_S = 300
_EXCHANGE_S = 30.0
_TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ID_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:id_token"
_ID_JAG_TYPE = "urn:ietf:params:oauth:token-type:id-jag"
_RSA_ALGORITHMS = ("RS256", "PS256", "RS384", "PS384", "RS512", "PS512")
_CURVE_ALGORITHMS = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512", "secp256k1": "ES256K"}


def read_client_secret(oauth: OAuthClient | IdentityProvider) -> str:
    """Return the client's secret, from its file if it has one; "" if there is none. Raises LoginFailed."""
    return _read_secret(oauth.client_secret, oauth.client_secret_file, "client_secret_file")


def _read_secret(text: str, file: str, key: str) -> str:
    if not file:
        return text.strip()
    path = Path(file).expanduser()
    if not path.is_absolute():  # relative to a project, it would be a file of that project
        raise LoginFailed(tr("oauth.{key} must be an absolute path or begin with ~/, not {file!r}", key=key, file=file))
    try:
        found = read_regular(path, _MAX_SECRET_BYTES).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise LoginFailed(
            tr("oauth.{key}: {path} cannot be read: {cause}", key=key, path=str(path), cause=cause)
        ) from None
    if not found:
        raise LoginFailed(tr("oauth.{key}: {path} is empty", key=key, path=str(path)))
    return found


class _SigningKey(Struct, frozen=True):
    key: Any
    algorithms: tuple[str, ...]


def _load_key(pem: str) -> _SigningKey:
    """Return a private key and the algorithms it can sign with, the usual one first. Raises LoginFailed."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    # A key in an environment variable often has its line ends written as \n.
    data = pem.replace("\\n", "\n").encode()
    try:
        key = load_pem_private_key(data, password=None)
    except TypeError:
        raise LoginFailed(tr("the private key has a passphrase; clio needs a key without one")) from None
    except (ValueError, UnsupportedAlgorithm):
        raise LoginFailed(tr("the private key is not in PEM format (-----BEGIN PRIVATE KEY-----)")) from None
    algorithms: tuple[str, ...] = ()
    if isinstance(key, rsa.RSAPrivateKey):
        algorithms = _RSA_ALGORITHMS
    elif isinstance(key, ec.EllipticCurvePrivateKey):
        algorithms = tuple(filter(None, (_CURVE_ALGORITHMS.get(key.curve.name, ""),)))
    elif isinstance(key, ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey):
        algorithms = ("EdDSA",)
    if not algorithms:
        raise LoginFailed(tr("the private key is of a kind that cannot sign tokens; use an RSA or EC key"))
    return _SigningKey(key, algorithms)


def _sign_assertion(oauth: OAuthClient, pem: str, audience: str, accepted: list[str] | None) -> str:
    """Return the JWT that proves who clio is to the authorization server `audience` (RFC 7523)."""
    import jwt

    signing = _load_key(pem)
    algorithm = next((one for one in signing.algorithms if one in (accepted or ())), signing.algorithms[0])
    now = int(time.time())
    claims = {
        "iss": oauth.client_id,
        "sub": oauth.client_id,
        "aud": audience,
        "iat": now,
        "exp": now + _ASSERTION_S,
        "jti": str(uuid.uuid4()),
    }
    try:
        return jwt.encode(claims, signing.key, algorithm, headers={"kid": oauth.key_id} if oauth.key_id else None)
    except (jwt.PyJWTError, ValueError) as error:
        raise LoginFailed(tr("the private key cannot be used: {why}", why=clean_reason(str(error)))) from None


class _MemoryStorage:
    """The SDK's token storage: nothing is stored, since a new token costs one request."""

    def __init__(self, learn_secret: Callable[[str], None]) -> None:
        self._learn_secret = learn_secret
        self._tokens: Any = None

    async def get_tokens(self) -> Any:
        return self._tokens

    async def set_tokens(self, tokens: Any) -> None:
        tokens.refresh_token = None  # the credentials bring another token; a refresh would not be signed
        self._learn_secret(tokens.access_token)
        self._tokens = tokens

    async def get_client_info(self) -> Any:
        return None

    async def set_client_info(self, client_info: Any) -> None:
        pass


def make_unattended_auth(
    server: McpServer,
    url: str,
    oauth: OAuthClient,
    *,
    open_client: OpenClient,
    learn_secret: Callable[[str], None],
    write_log: Callable[[str], None],
) -> "httpx2.Auth":
    """Return the authentication of a server whose token is got without the user. Call `client.load_sdk` before.

    A request that the server answers with 401 brings a new token, and is sent again once.

    Args:
        server: of the user's own file.
        url, oauth: with their variables replaced.
        learn_secret: called with credentials and tokens, so that they are redacted.

    Raises LoginFailed, also from the requests.
    """
    if why := explain_unsafe_url(url, url):
        raise LoginFailed(tr("a login needs an encrypted connection: {why}", why=why))
    if oauth.issuer and (why := explain_unsafe_url(oauth.issuer, url)):
        raise LoginFailed(tr("oauth.issuer cannot be used: {why}", why=why))
    if oauth.grant == "identity_assertion":
        return _make_identity_auth(server, url, oauth, open_client, learn_secret, write_log)
    return _make_credentials_auth(server, url, oauth, learn_secret, write_log)


def url_host(url: str) -> str:
    """Return the host of a URL; "" if there is none."""
    return urlsplit(url).hostname or ""


def _make_credentials_auth(
    server: McpServer,
    url: str,
    oauth: OAuthClient,
    learn_secret: Callable[[str], None],
    write_log: Callable[[str], None],
) -> "httpx2.Auth":
    """Return the authentication by a client's secret or key, or by a token of the platform."""
    import httpx2
    from mcp.client.auth import OAuthClientProvider
    from mcp.client.auth.extensions.client_credentials import (
        ClientCredentialsOAuthProvider,
        PrivateKeyJWTOAuthProvider,
    )
    from mcp.shared.auth import JWT_BEARER_GRANT_TYPE

    proofs = TokenProofs()

    class CarefulProvider(OAuthClientProvider):
        def _auth_flow(self, request: "httpx2.Request") -> "AsyncGenerator[httpx2.Request, httpx2.Response]":
            # A token is used until the server refuses it: without one, a server may answer with less, not with 401.
            self.context.token_expiry_time = None
            flow = proofs.follow(super()._auth_flow(request), request)
            return _follow_flow(flow, request, server, oauth, write_log)

        async def _perform_authorization(self) -> "httpx2.Request":
            metadata, client = self.context.oauth_metadata, self.context.client_info
            if not oauth.issuer:
                issuer = str(metadata.issuer) if metadata else self.context.get_authorization_base_url(url)
                for address in (issuer, self._get_token_endpoint()):
                    if not _is_same_host(address, url):
                        raise LoginFailed(
                            tr(
                                "{server!r} wants the client's credentials sent to another host, {host}; if that is "
                                "right, add issuer: {issuer} under oauth",
                                server=server.name,
                                host=clean_reason(url_host(address)),
                                issuer=clean_reason(issuer),
                            )
                        )
            methods = (metadata.token_endpoint_auth_methods_supported if metadata else None) or []
            if (
                client is not None
                and client.token_endpoint_auth_method == "client_secret_basic"
                and "client_secret_post" in methods
                and "client_secret_basic" not in methods
            ):
                client.token_endpoint_auth_method = "client_secret_post"
            if oauth.scope:
                self.context.client_metadata.scope = oauth.scope
            return await super()._perform_authorization()

    class SecretProvider(CarefulProvider, ClientCredentialsOAuthProvider):
        async def _exchange_token_client_credentials(self) -> "httpx2.Request":
            assert self.context.client_info
            self.context.client_info.client_secret = await asyncio.to_thread(read_client_secret, oauth)
            learn_secret(self.context.client_info.client_secret)
            return await super()._exchange_token_client_credentials()

    class KeyProvider(CarefulProvider, PrivateKeyJWTOAuthProvider):
        pass

    class WorkloadProvider(CarefulProvider, ClientCredentialsOAuthProvider):
        async def _exchange_token_client_credentials(self) -> "httpx2.Request":
            request = await super()._exchange_token_client_credentials()
            assertion = await asyncio.to_thread(_read_secret, oauth.assertion, oauth.assertion_file, "assertion_file")
            learn_secret(assertion)
            form = dict(parse_qsl(request.content.decode())) | {
                "grant_type": JWT_BEARER_GRANT_TYPE,
                "assertion": assertion,
                "client_id": oauth.client_id,
            }
            return httpx2.Request("POST", request.url, data=form)

    storage = _MemoryStorage(learn_secret)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the SDK warns of a missing issuer, which is checked above
        if oauth.grant == "workload_identity":
            return WorkloadProvider(url, storage, oauth.client_id, "", issuer=oauth.issuer or None)
        if not (oauth.private_key or oauth.private_key_file):
            return SecretProvider(url, storage, oauth.client_id, "", issuer=oauth.issuer or None)

        async def sign(audience: str) -> str:
            pem = await asyncio.to_thread(_read_secret, oauth.private_key, oauth.private_key_file, "private_key_file")
            learn_secret(pem)
            metadata = provider.context.oauth_metadata
            accepted = metadata.token_endpoint_auth_signing_alg_values_supported if metadata else None
            assertion = await asyncio.to_thread(_sign_assertion, oauth, pem, audience, accepted)
            learn_secret(assertion)
            return assertion

        provider = KeyProvider(url, storage, oauth.client_id, sign, issuer=oauth.issuer or None)
    return provider


def _make_identity_auth(
    server: McpServer,
    url: str,
    oauth: OAuthClient,
    open_client: OpenClient,
    learn_secret: Callable[[str], None],
    write_log: Callable[[str], None],
) -> "httpx2.Auth":
    """Return the authentication of the grant identity_assertion: an ID token becomes an assertion, and that a token."""
    from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider

    proofs = TokenProofs()

    class IdentityProviderAuth(IdentityAssertionOAuthProvider):
        def _auth_flow(self, request: "httpx2.Request") -> "AsyncGenerator[httpx2.Request, httpx2.Response]":
            self._expiry = None  # as in CarefulProvider
            flow = proofs.follow(super()._auth_flow(request), request)
            return _follow_flow(flow, request, server, oauth, write_log)

        async def use_secret(self) -> None:
            self._client.client_secret = await asyncio.to_thread(read_client_secret, oauth)
            learn_secret(self._client.client_secret)

    async def exchange(audience: str, resource: str) -> str:
        assert oauth.identity_provider
        await auth.use_secret()
        return await _exchange_id_token(oauth, oauth.identity_provider, audience, resource, open_client, learn_secret)

    auth = IdentityProviderAuth(
        url,
        _MemoryStorage(learn_secret),
        oauth.client_id,
        "read for each token",
        oauth.issuer,
        exchange,
        scope=oauth.scope or None,
        token_endpoint_auth_method="client_secret_basic",
    )
    return auth


class _ExchangeAnswer(Struct):
    access_token: str = ""
    issued_token_type: str = ""
    error: str = ""
    error_description: str = ""


async def _exchange_id_token(
    oauth: OAuthClient,
    provider: IdentityProvider,
    audience: str,
    resource: str,
    open_client: OpenClient,
    learn_secret: Callable[[str], None],
) -> str:
    """Return the assertion that the identity provider issues for one authorization server and one MCP server."""
    import httpx2

    id_token = await asyncio.to_thread(_read_secret, provider.id_token, provider.id_token_file, "id_token_file")
    secret = await asyncio.to_thread(read_client_secret, provider)
    form = {
        "grant_type": _TOKEN_EXCHANGE,
        "requested_token_type": _ID_JAG_TYPE,
        "audience": audience,
        "resource": resource,
        "subject_token": id_token,
        "subject_token_type": _ID_TOKEN_TYPE,
        "client_id": provider.client_id,
        **({"scope": oauth.scope} if oauth.scope else {}),
    }
    headers = {"Accept": "application/json"}
    if secret:
        pair = f"{quote(provider.client_id, safe='')}:{quote(secret, safe='')}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    for value in filter(None, (id_token, secret)):
        learn_secret(value)
    host = url_host(provider.token_endpoint)
    try:
        async with asyncio.timeout(_EXCHANGE_S), open_client(provider.token_endpoint) as http:
            response = await http.post(provider.token_endpoint, data=form, headers=headers)
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        why = clean_reason(str(error)) or tr("no answer within {seconds:g} s", seconds=_EXCHANGE_S)
        raise LoginFailed(tr("the identity provider {host} cannot be asked: {why}", host=host, why=why)) from None
    try:
        answer = msgspec.json.decode(response.content, type=_ExchangeAnswer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        answer = _ExchangeAnswer()
    if response.status_code != 200 or not answer.access_token or answer.issued_token_type != _ID_JAG_TYPE:
        why = clean_reason(" ".join(filter(None, (answer.error, answer.error_description))))
        raise LoginFailed(
            tr(
                "the identity provider {host} does not exchange the ID token ({why}); if it has ended, log in to your "
                "company again",
                host=host,
                why=why or f"HTTP {response.status_code}",
            )
        )
    learn_secret(answer.access_token)
    return answer.access_token


async def _follow_flow(
    flow: "AsyncGenerator[httpx2.Request, httpx2.Response]",
    request: "httpx2.Request",
    server: McpServer,
    oauth: OAuthClient,
    write_log: Callable[[str], None],
) -> "AsyncGenerator[httpx2.Request, httpx2.Response]":
    """Pass on the requests of the SDK's flow, and convert its errors to LoginFailed.

    Rights that a call lacks are not asked for: the user decides about them, with `scope`.
    """
    from mcp.client.auth.exceptions import OAuthFlowError
    from mcp.client.auth.utils import extract_scope_from_www_auth

    try:
        try:
            outgoing = await anext(flow)
            while True:
                response = yield outgoing
                if outgoing is request and response.status_code == 403:
                    if scope := extract_scope_from_www_auth(response):
                        write_log(f"clio: the request needs the scope {clean_reason(scope)}")
                    return
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        except (OAuthFlowError, ValueError) as error:
            raise LoginFailed(
                tr(
                    "client {client_id!r} got no token: {why}; check oauth in {where}",
                    client_id=oauth.client_id,
                    why=clean_reason(str(error)) or type(error).__name__,
                    where=server.where,
                )
            ) from None
    finally:
        await flow.aclose()


def _is_same_host(address: str, url: str) -> bool:
    found, wanted = url_host(address), url_host(url)
    return found == wanted or (is_loopback(found) and is_loopback(wanted))
