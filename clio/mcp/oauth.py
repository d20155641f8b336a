"""Log in to MCP servers with OAuth 2.1: the stored logins, the redirect of the browser, and the SDK's flow with limits.

The SDK does discovery, registration, PKCE, the checks of `state` and issuer, and the exchange of tokens. Here are the
file (or keyring) that keeps the result, the listener on loopback, and rules about the addresses a server may send clio
to. A conversation only uses and refreshes a stored login; `log_in` alone registers clio and asks the user.
"""

import asyncio
import contextlib
import hashlib
import hmac
import importlib
import ipaddress
import socket
import time
from base64 import b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, quote, urlsplit

import msgspec
from msgspec import Raw, Struct, structs

from clio import __version__
from clio.config.loaded import McpServer
from clio.errors import ClioError, ConfigError, StorageError
from clio.mcp.bound_tokens import TokenProofs
from clio.storage.documents import Document, DocumentFormat, load_document, update_document
from clio.storage.locks import FileLock
from clio.text.translation import tr

if TYPE_CHECKING:
    import httpx2
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import AuthorizationCodeResult

LOGIN_TIMEOUT_S = 300.0
"""Time the user has to log in on the server's page."""
LOGIN_ANSWERS_S = 60.0
"""Time that the servers have for all their answers before that, and again after it."""
MAX_AUTH_BYTES = 1_000_000
"""Maximum size of an answer of an authorization server."""
_KEYRING_SERVICE = "clio-mcp"
_CALLBACK_PATH = "/callback"
_MAX_REQUEST_BYTES = 16_384
_REFRESH_WAIT_S = 30.0
_REVOKE_S = 10.0
_RESOLVE_S = 10.0
_NOTHING = Raw(b"null")


class LoginFailed(ClioError):
    """A login was not completed; the message says why and what to do."""


class StoredLogin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One login. client, tokens, metadata and resource are the SDK's values as JSON.

    Attributes:
        expires_at: when the access token ends, in seconds since the epoch; 0 if the server does not say.
        missing_scope: permissions a call needed and the token lacks; the next login asks for them.
        proof_key: the private key that the tokens are bound to; "" for bearer tokens.
        in_keyring: the rest is in the system's keyring and not in the file.
    """

    server: str = ""
    url: str = ""
    client: Raw = _NOTHING
    tokens: Raw = _NOTHING
    metadata: Raw = _NOTHING
    resource: Raw = _NOTHING
    expires_at: float = 0.0
    missing_scope: str = ""
    proof_key: str = ""
    in_keyring: bool = False


class _Secrets(Struct):
    access_token: str = ""
    refresh_token: str | None = None
    client_secret: str | None = None


class _Logins(Struct, frozen=True, kw_only=True):
    logins: dict[str, StoredLogin] = {}


_FORMAT = DocumentFormat(schema="clio.mcp_logins", version=1, type=_Logins)


class LoginStore:
    """The logins in `~/.clio/mcp-logins.json` (mode 0600), or in the keyring. A login belongs to a name and a URL."""

    def __init__(self, home: Path, learn_secret: Callable[[str], None] = lambda value: None) -> None:
        self.path = home / "mcp-logins.json"
        self.learn_secret = learn_secret

    def load(self, server: str, url: str) -> StoredLogin | None:
        """Return the login; None if there is none. Raises LoginFailed if it cannot be read."""
        document = self._read()
        login = document.value.logins.get(_make_key(server, url)) if document else None
        if login is not None and login.in_keyring:
            text = _run_keyring("get_password", _make_key(server, url))
            login = msgspec.json.decode(text, type=StoredLogin) if text else None
        if login is not None:
            self._learn(login)
        return login

    def _read(self) -> Document[_Logins] | None:
        try:
            return load_document(self.path, _FORMAT)
        except (StorageError, OSError) as error:
            raise LoginFailed(tr("the stored logins cannot be read: {error}", error=error)) from error

    def save(self, login: StoredLogin) -> None:
        """Store the login. Raises LoginFailed."""
        key, kept = _make_key(login.server, login.url), login
        self._learn(login)
        if login.in_keyring:
            _run_keyring("set_password", key, msgspec.json.encode(login).decode())
            kept = StoredLogin(server=login.server, url=login.url, in_keyring=True)
        self._change(lambda logins: logins | {key: kept})

    def _learn(self, login: StoredLogin) -> None:
        """Have tokens redacted: a server could send them back in its answers."""
        for part in (login.tokens, login.client):
            known = msgspec.json.decode(part, type=_Secrets | None) or _Secrets()
            for secret in (known.access_token, known.refresh_token, known.client_secret):
                if secret:
                    self.learn_secret(secret)
        if login.proof_key:
            self.learn_secret(login.proof_key)

    def delete(self, server: str) -> list[StoredLogin]:
        """Delete the logins of a server, at whatever URL, and return them."""
        deleted: list[StoredLogin] = []
        document = self._read()
        for entry in document.value.logins.values() if document else ():
            if entry.server == server:
                deleted.append((self.load(server, entry.url) if entry.in_keyring else entry) or entry)
                if entry.in_keyring:
                    _run_keyring("delete_password", _make_key(server, entry.url))
        if deleted:
            self._change(lambda logins: {key: login for key, login in logins.items() if login.server != server})
        return deleted

    @property
    def refresh_lock(self) -> FileLock:
        """The lock of one refresh: two processes must not use the same refresh token."""
        return FileLock(self.path.with_name(self.path.name + ".refresh.lock"))

    def _change(self, change: Callable[[dict[str, StoredLogin]], dict[str, StoredLogin]]) -> None:
        try:
            update_document(self.path, _FORMAT, lambda old: _Logins(logins=change(old.logins)))
        except (StorageError, OSError, TimeoutError) as error:
            raise LoginFailed(tr("the login cannot be stored: {error}", error=error)) from error


def _make_key(server: str, url: str) -> str:
    return hashlib.sha256(f"{server}\0{url}".encode()).hexdigest()[:24]


def _run_keyring(operation: str, key: str, *values: str) -> str | None:
    try:
        keyring = importlib.import_module("keyring")
    except ImportError:
        raise LoginFailed(
            tr("the Python package keyring is not installed; install it, or log in without --keyring")
        ) from None
    try:
        return getattr(keyring, operation)(_KEYRING_SERVICE, key, *values)
    except Exception as error:  # each backend has exceptions of its own
        raise LoginFailed(tr("the keyring cannot be used: {error}", error=error)) from error


def is_loopback(host: str) -> bool:
    """Whether a URL's host is this machine."""
    address = _parse_address(host)
    if address is None:
        name = host.lower().rstrip(".")
        return name == "localhost" or name.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _parse_address(host: str) -> "ipaddress.IPv4Address | ipaddress.IPv6Address | None":
    """Return the address that a URL's host is; None for a name.

    The system also connects to short, octal, hexadecimal and plain numbers, such as 127.1 and 2130706433.
    """
    text = host.strip("[]").rstrip(".").partition("%")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(text))
        except (OSError, UnicodeEncodeError):
            return None
    return address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address


def _is_internal(host: str) -> bool:
    """Whether the host is an address that only machines of this network reach, such as a cloud's metadata service."""
    address = _parse_address(host)
    return address is not None and not address.is_global


def explain_unsafe_url(url: str, server_url: str) -> str:
    """Why a login must not use this address, as the end of a sentence; "" if it may.

    Plain http would send codes and tokens in the clear. Only a server on this machine may use it, and name addresses
    on this machine. A server elsewhere must not have clio ask machines that it cannot reach itself.
    """
    try:
        parts, server_host = urlsplit(url), urlsplit(server_url).hostname or ""
    except ValueError:
        return tr("{url} is no address", url=clean_reason(url)[:200])
    is_local_server = is_loopback(server_host)
    is_local = is_loopback(parts.hostname or "")
    if is_local and not is_local_server:
        return tr("{url} points to this machine", url=_shorten(url))
    if not is_local and _is_internal(parts.hostname or "") and not _is_internal(server_host):
        return tr("{url} points into this machine's network", url=_shorten(url))
    if parts.scheme == "https" or (parts.scheme == "http" and is_local):
        return ""
    return tr("{url} does not begin with https://", url=_shorten(url))


def _shorten(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"[:200]


def check_auth_request(url: str, server_url: str) -> None:
    """Raise LoginFailed for a request to an address that a login must not use."""
    if why := explain_unsafe_url(url, server_url):
        raise LoginFailed(tr("the login was stopped: {why}", why=why))


async def check_auth_addresses(url: str, server_url: str) -> None:
    """Raise LoginFailed if the host of a login's address is a name of this machine, or of a cloud's metadata service.

    A name that another machine's DNS gives an address of this network is allowed: a company's login page may be there.
    Such a name cannot be changed to one of this machine after this check, since the certificate must be valid for it.
    """
    host, server_host = urlsplit(url).hostname or "", urlsplit(server_url).hostname or ""
    if host == server_host or _parse_address(host) is not None or is_loopback(server_host):
        return
    if any(map(_is_own, await _resolve(host))) and not any(map(_is_own, await _resolve(server_host))):
        raise LoginFailed(tr("the login was stopped: {why}", why=tr("{url} points to this machine", url=_shorten(url))))


def _is_own(address: "ipaddress.IPv4Address | ipaddress.IPv6Address") -> bool:
    return address.is_loopback or address.is_unspecified or address.is_link_local or address.is_multicast


async def _resolve(host: str) -> "list[ipaddress.IPv4Address | ipaddress.IPv6Address]":
    """Return the addresses of a name; none if it cannot be resolved here, as behind a proxy."""
    try:
        async with asyncio.timeout(_RESOLVE_S):
            found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        return []
    return [address for one in found if (address := _parse_address(str(one[4][0]))) is not None]


class _Storage:
    """The SDK's token storage for one login. context: the SDK's state, which has the discovered endpoints."""

    def __init__(self, store: LoginStore, login: StoredLogin) -> None:
        self.store = store
        self.login = login
        self.context: Any = None
        self.proofs = TokenProofs(login.proof_key, self._is_proof_required)

    def _is_proof_required(self) -> bool:
        resource = self.context.protected_resource_metadata
        return bool(resource and resource.dpop_bound_access_tokens_required)

    async def reload(self) -> None:
        """Read the login again: another process may have refreshed it."""
        stored = await asyncio.to_thread(self.store.load, self.login.server, self.login.url)
        self.login = stored or structs.replace(self.login, tokens=_NOTHING)
        self.proofs.use_stored_key(self.login.proof_key)

    async def get_tokens(self) -> Any:
        from mcp.shared.auth import OAuthToken

        return _decode(self.login.tokens, OAuthToken)

    async def set_tokens(self, tokens: Any) -> None:
        self.login = structs.replace(
            self.login,
            tokens=_encode(tokens),
            metadata=_encode(self.context.oauth_metadata) if self.context.oauth_metadata else self.login.metadata,
            resource=(
                _encode(self.context.protected_resource_metadata)
                if self.context.protected_resource_metadata
                else self.login.resource
            ),
            expires_at=time.time() + tokens.expires_in if tokens.expires_in else 0.0,
            missing_scope="",
            proof_key=self.proofs.stored_key,
        )
        await asyncio.to_thread(self.store.save, self.login)

    async def get_client_info(self) -> Any:
        from mcp.shared.auth import OAuthClientInformationFull

        return _decode(self.login.client, OAuthClientInformationFull)

    async def set_client_info(self, client_info: Any) -> None:
        # Stored with the tokens: a registration without a login is of no use.
        self.login = structs.replace(self.login, client=_encode(client_info))


def _encode(model: Any) -> Raw:
    return Raw(model.model_dump_json(by_alias=True, exclude_none=True).encode())


def _decode(raw: Raw, model: Any) -> Any:
    return None if bytes(raw) == bytes(_NOTHING) else model.model_validate_json(bytes(raw))


def make_stored_login_auth(store: LoginStore, login: StoredLogin) -> "OAuthClientProvider":
    """Return the authentication of a stored login: it adds and refreshes the token, and starts no login.

    Without a valid token the server's 401 is the answer.
    """
    from mcp.client.auth import OAuthClientProvider
    from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth
    from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata

    storage = _Storage(store, login)

    class StoredLoginProvider(OAuthClientProvider):
        async def _initialize(self) -> None:
            await storage.reload()
            await super()._initialize()
            # The SDK keeps these for one process only; without them a refresh would go to a guessed address.
            self.context.token_expiry_time = storage.login.expires_at or None
            self.context.oauth_metadata = _decode(storage.login.metadata, OAuthMetadata)
            self.context.protected_resource_metadata = _decode(storage.login.resource, ProtectedResourceMetadata)

        def _auth_flow(self, request: "httpx2.Request") -> "AsyncGenerator[httpx2.Request, httpx2.Response]":
            return storage.proofs.follow(self._use_login(request), request)

        async def _use_login(self, request: "httpx2.Request") -> "AsyncGenerator[httpx2.Request, httpx2.Response]":
            if not self._initialized:
                await self._initialize()
            for is_retry in (False, True):
                must_refresh = not self.context.is_token_valid() and self.context.can_refresh_token()
                async with _hold(store.refresh_lock) if must_refresh else contextlib.nullcontext():
                    if must_refresh and not is_retry:
                        await self._initialize()
                    flow = super()._auth_flow(request)
                    try:
                        outgoing = await anext(flow)
                        while outgoing is not request:
                            outgoing = await flow.asend((yield outgoing))
                    finally:
                        await flow.aclose()
                response = yield request
                if response.status_code == 403 and (
                    extract_field_from_www_auth(response, "error") == "insufficient_scope"
                ):
                    await self._note_missing_scope(extract_scope_from_www_auth(response) or "")
                if response.status_code != 401 or must_refresh or not self.context.can_refresh_token():
                    return
                self.context.token_expiry_time = 1.0  # the server ended the token early

        async def _note_missing_scope(self, scope: str) -> None:
            if scope and scope != storage.login.missing_scope:
                storage.login = structs.replace(storage.login, missing_scope=scope[:1_000])
                await asyncio.to_thread(store.save, storage.login)

    provider = StoredLoginProvider(login.url, _make_client_metadata("http://127.0.0.1/callback"), storage)
    storage.context = provider.context
    return provider


@contextlib.asynccontextmanager
async def _hold(lock: FileLock) -> AsyncGenerator[None]:
    if not await asyncio.to_thread(lock.acquire, _REFRESH_WAIT_S):
        raise LoginFailed(tr("another clio process has been refreshing this login for 30 seconds"))
    try:
        yield
    finally:
        lock.release()


class RedirectListener:
    """Waits on 127.0.0.1 for the browser to come back from the login page.

    Only a request with the `state` of this login counts, so that no page the user has open can answer it. Use as an
    async context manager. port: 0 for any free one.
    """

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self._state = ""
        self._result: asyncio.Future[AuthorizationCodeResult] | None = None
        self._server: asyncio.Server | None = None

    @property
    def redirect_uri(self) -> str:
        """The address the login page sends the browser to."""
        return f"http://127.0.0.1:{self._port}{_CALLBACK_PATH}"

    async def __aenter__(self) -> "RedirectListener":
        self._result = asyncio.get_running_loop().create_future()
        try:
            self._server = await asyncio.start_server(
                self._answer, "127.0.0.1", self._port, limit=_MAX_REQUEST_BYTES, reuse_address=True
            )
        except OSError as error:
            raise LoginFailed(
                tr("port {port} cannot be used: {cause}", port=self._port, cause=error.strerror or error)
            ) from error
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server is not None
        self._server.close()

    def expect(self, authorization_url: str) -> None:
        """Note the `state` of the login that begins at this address."""
        self._state = parse_qs(urlsplit(authorization_url).query).get("state", [""])[0]

    async def wait(self, timeout_s: float) -> "AuthorizationCodeResult":
        """Return the code. Raises LoginFailed if the server refused it, or after `timeout_s`."""
        assert self._result is not None
        try:
            return await asyncio.wait_for(self._result, timeout_s)
        except TimeoutError:
            raise LoginFailed(tr("no login within {minutes:g} minutes; try again", minutes=timeout_s / 60)) from None

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            OSError, ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            async with asyncio.timeout(10):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                status, text = self._judge(head)
                body = f"<!doctype html><meta charset=utf-8><title>clio</title><p>{text}".encode()
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
                    "Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\n"
                    "Cache-Control: no-store\r\nConnection: close\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        writer.close()

    def _judge(self, head: str) -> tuple[str, str]:
        """Return the status and the text of the page for a request, and take its code if it has the right state."""
        from mcp.shared.auth import AuthorizationCodeResult

        request_line, *lines = head.split("\r\n")
        method, _, target = request_line.rpartition(" ")[0].partition(" ")
        hosts = [line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:")]
        parts = urlsplit(target)
        if method != "GET" or parts.path != _CALLBACK_PATH or hosts != [f"127.0.0.1:{self._port}"]:
            return "404 Not Found", "Not found."
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        assert self._result is not None
        given = query.get("state", "").encode()
        if not self._state or not hmac.compare_digest(given, self._state.encode()) or self._result.done():
            return "400 Bad Request", "This does not belong to a login that clio has begun."
        if "code" not in query:
            why = " ".join(filter(None, (query.get("error", "no code"), query.get("error_description"))))
            self._result.set_exception(LoginFailed(tr("the server refused the login: {why}", why=clean_reason(why))))
            return "200 OK", "The login was refused. You can close this page."
        self._result.set_result(AuthorizationCodeResult(code=query["code"], state=query["state"], iss=query.get("iss")))
        return "200 OK", "You are logged in to the server. You can close this page and go back to clio."


def clean_reason(text: str) -> str:
    """Return a server's text on one line, without control characters, at most 300 characters."""
    return "".join(char for char in " ".join(text.split()) if char.isprintable())[:300]


ShowPage = Callable[[str], Awaitable[None]]
"""Shows the user the address of the page to log in on."""


async def log_in(
    server: McpServer,
    url: str,
    client_secret: str,
    store: LoginStore,
    *,
    open_client: Callable[["OAuthClientProvider"], "httpx2.AsyncClient"],
    show_page: ShowPage,
    in_keyring: bool = False,
    timeout_s: float = LOGIN_TIMEOUT_S,
) -> None:
    """Log in to a server and store the login. Call `client.load_sdk` before.

    Args:
        url, client_secret: with their variables replaced.
        open_client: makes the HTTP client, whose requests are checked by `check_auth_request`.

    Raises:
        LoginFailed: nothing was stored.
    """
    from mcp.client.auth import OAuthClientProvider
    from mcp.client.auth.exceptions import OAuthFlowError

    if why := explain_unsafe_url(url, url):
        raise LoginFailed(tr("a login needs an encrypted connection: {why}", why=why))
    old = await asyncio.to_thread(store.load, server.name, url)
    login = StoredLogin(
        server=server.name,
        url=url,
        client=old.client if old else _NOTHING,
        in_keyring=in_keyring,
        missing_scope=old.missing_scope if old else "",
    )
    storage = _Storage(store, login)
    async with _open_listener(server.oauth.callback_port if server.oauth else 0, login) as listener:
        client_id = server.oauth.client_id if server.oauth else ""
        is_document = urlsplit(client_id).scheme == "https"
        if client_id and not is_document:
            client = _make_known_client(client_id, client_secret, listener.redirect_uri)
            storage.login = structs.replace(login, client=client)
        elif not _is_registered_for(login.client, listener.redirect_uri):
            storage.login = structs.replace(login, client=_NOTHING)

        async def go_to_page(address: str) -> None:
            if why := explain_unsafe_url(address, url):
                raise LoginFailed(tr("the login was stopped: {why}", why=why))
            await check_auth_addresses(address, url)
            listener.expect(address)
            await show_page(address)

        class LoginProvider(OAuthClientProvider):
            def _auth_flow(self, request: "httpx2.Request") -> "AsyncGenerator[httpx2.Request, httpx2.Response]":
                return storage.proofs.follow(super()._auth_flow(request), request)

            async def _perform_authorization_code_grant(self) -> tuple[str, str]:
                wanted = " ".join(filter(None, (server.oauth.scope if server.oauth else "", login.missing_scope)))
                scopes = [*(self.context.client_metadata.scope or "").split(), *wanted.split()]
                self.context.client_metadata.scope = " ".join(dict.fromkeys(scopes)) or None
                return await super()._perform_authorization_code_grant()

        async def wait_for_user() -> "AuthorizationCodeResult":
            limit.reschedule(None)
            code = await listener.wait(timeout_s)
            limit.reschedule(asyncio.get_running_loop().time() + LOGIN_ANSWERS_S)
            return code

        limit = asyncio.timeout(LOGIN_ANSWERS_S)
        provider = LoginProvider(
            url,
            _make_client_metadata(listener.redirect_uri),
            storage,
            redirect_handler=go_to_page,
            callback_handler=wait_for_user,
            client_metadata_url=client_id if is_document else None,
        )
        storage.context = provider.context
        try:
            async with limit, open_client(provider) as http:
                await _provoke_login(http, url, lambda: provider.context.current_tokens is not None)
        except LoginFailed:
            raise
        except TimeoutError:
            why = tr("no answer within {seconds:g} s", seconds=LOGIN_ANSWERS_S)
            raise LoginFailed(tr("the login failed: {why}", why=why)) from None
        except Exception as error:
            is_refusal = isinstance(error, OAuthFlowError | ValueError | OSError)
            if not (is_refusal or _is_http_error(error)):
                raise
            found = provider.context
            if is_refusal and found.protected_resource_metadata is None and found.oauth_metadata is None:
                raise LoginFailed(
                    tr(
                        "{server!r} names no page to log in on; if it wants a token, set its headers: {example}",
                        server=server.name,
                        example='headers: {Authorization: "Bearer ${NAME}"}',
                    )
                ) from None
            why = clean_reason(str(error)) or type(error).__name__
            raise LoginFailed(tr("the login failed: {why}", why=why)) from None
    if provider.context.current_tokens is None:
        raise LoginFailed(tr("{server!r} answers without a login", server=server.name))


@contextlib.asynccontextmanager
async def _open_listener(port: int, login: StoredLogin) -> AsyncGenerator[RedirectListener]:
    """Listen on the configured port; else on that of the last login, which the server knows; else on any."""
    from mcp.shared.auth import OAuthClientInformationFull

    known = _decode(login.client, OAuthClientInformationFull)
    last = urlsplit(str(known.redirect_uris[0])).port if known and known.redirect_uris else 0
    for candidate in dict.fromkeys((port,) if port else (last or 0, 0)):
        listener = RedirectListener(candidate)
        try:
            await listener.__aenter__()
        except LoginFailed:
            if not candidate or port:
                raise
            continue
        try:
            yield listener
        finally:
            await listener.__aexit__()
        return


def _is_registered_for(client: Raw, redirect_uri: str) -> bool:
    from mcp.shared.auth import OAuthClientInformationFull

    known = _decode(client, OAuthClientInformationFull)
    return known is not None and redirect_uri in map(str, known.redirect_uris or ())


def _make_known_client(client_id: str, client_secret: str, redirect_uri: str) -> Raw:
    from mcp.shared.auth import OAuthClientInformationFull

    return _encode(
        OAuthClientInformationFull(
            client_id=client_id,
            client_secret=client_secret or None,
            token_endpoint_auth_method="client_secret_basic" if client_secret else "none",
            redirect_uris=cast(Any, [redirect_uri]),
        )
    )


def _make_client_metadata(redirect_uri: str) -> Any:
    from mcp.shared.auth import OAuthClientMetadata

    return OAuthClientMetadata(
        client_name="clio",
        software_id="clio",
        software_version=__version__,
        redirect_uris=cast(Any, [redirect_uri]),
    )


async def _provoke_login(http: "httpx2.AsyncClient", url: str, is_logged_in: Callable[[], bool]) -> None:
    """Begin a session, list the tools and call one that does not exist: the first 401 starts the login.

    Some servers answer all but calls to anyone. Raises LoginFailed if the server refuses the new token.
    """
    start = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "clio", "version": __version__},
    }
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    messages: tuple[dict[str, Any], ...] = (
        {"id": 1, "method": "initialize", "params": start},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "tools/call", "params": {"name": "clio_login", "arguments": {}}},
    )
    try:
        for message in messages:
            if is_logged_in():
                return
            async with http.stream("POST", url, json={"jsonrpc": "2.0", **message}, headers=headers) as response:
                if response.status_code in (401, 403):
                    raise LoginFailed(
                        tr("the server rejects the token of the new login (HTTP {status})", status=response.status_code)
                    )
                if session := response.headers.get("mcp-session-id"):
                    headers["mcp-session-id"] = session
    finally:
        if "mcp-session-id" in headers:
            await http.delete(url, headers=headers)


async def revoke(login: StoredLogin, http: "httpx2.AsyncClient") -> bool:
    """Tell the authorization server that the tokens are no longer used; whether it took note. Needs its endpoint."""
    from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken

    metadata, tokens = _decode(login.metadata, OAuthMetadata), _decode(login.tokens, OAuthToken)
    client = _decode(login.client, OAuthClientInformationFull)
    if metadata is None or metadata.revocation_endpoint is None or tokens is None or client is None:
        return False
    form = {"token": tokens.refresh_token or tokens.access_token, "client_id": client.client_id}
    headers: dict[str, str] = {}
    if client.client_secret and client.token_endpoint_auth_method == "client_secret_basic":
        pair = f"{quote(client.client_id, safe='')}:{quote(client.client_secret, safe='')}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    elif client.client_secret:
        form["client_secret"] = client.client_secret
    try:
        async with asyncio.timeout(_REVOKE_S):
            response = await http.post(str(metadata.revocation_endpoint), data=form, headers=headers)
    except (LoginFailed, TimeoutError):
        return False
    except Exception as error:
        if not _is_http_error(error):
            raise
        return False
    return response.status_code == 200


def _is_http_error(error: Exception) -> bool:
    """Whether an exception is one of the HTTP client, whose types would have to be imported."""
    return type(error).__module__.partition(".")[0] == "httpx2"


def find_login(store: LoginStore | None, server: McpServer, url: str, headers: dict[str, str]) -> StoredLogin | None:
    """Return the stored login to use for a server; None if there is none, or the entry has its own header."""
    if store is None or server.kind == "stdio" or any(name.lower() == "authorization" for name in headers):
        return None
    if explain_unsafe_url(url, url):
        return None
    try:
        return store.load(server.name, url)
    except LoginFailed as error:
        raise ConfigError(str(error)) from error
