"""`clio mcp --http`: memory for other agents over streamable HTTP, behind a token, and read-only unless told otherwise.

The SDK speaks the protocol, and uvicorn HTTP. `Gate` examines each request first: it refuses a wrong host or origin (a
page in the user's browser could reach a server on loopback by a name of its own), a wrong token, and too many requests.
"""

import asyncio
import hashlib
import hmac
import os
import re
import secrets
import signal
import socket
import sys
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, structs

from clio.commands.arguments import join_arguments, parse_options
from clio.config.loaded import LoadedConfig
from clio.config.show import list_start_notes
from clio.config.trust import should_ask_for_trust
from clio.entrypoints.mcp_server import MemoryToolServer, ToolServer, make_server
from clio.entrypoints.subcommand import SubcommandContext
from clio.errors import ClioError, UsageError
from clio.storage.files import make_folder, read_regular, write_atomic
from clio.storage.locks import FileLock, format_os_error
from clio.text.translation import tr
from clio.ui.safe_text import clean
from clio.ui.terminal_text import print_error

DEFAULT_PORT = 7878
MCP_PATH = "/mcp"
MAX_REQUEST_BYTES = 1_000_000
REQUESTS_PER_S, REQUEST_BURST = 10.0, 60.0
"""Requests with one right token, of all its clients together."""
FAILURES_PER_S, FAILURE_BURST = 0.2, 10.0
"""Requests with a wrong token or none, of one address."""
_MAX_ADDRESSES = 1_000
_MAX_CONNECTIONS = 100
_SWITCH_INTERVAL_S = 0.0005
"""How long a thread may run Python before another one gets its turn; Python's own value is 5 ms."""
_MAX_KEY_CHARS = 200
_HEAD_TIMEOUT_S = 10.0
"""Time for the head of a request, from the beginning of the connection or the end of the answer before."""
_BODY_TIMEOUT_S = 30.0
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_LOOPBACK_NAMES = frozenset(("127.0.0.1", "localhost", "::1"))
_TOKEN = re.compile(rb"[A-Za-z0-9_-]{32,128}")
Headers = Iterable[tuple[bytes, bytes]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


class Caller(Struct, frozen=True, kw_only=True):
    """Who sent a request. key: the `Idempotency-Key` of the request; "" without one."""

    name: str = ""
    may_write: bool = True
    key: str = ""


CALLER: ContextVar[Caller] = ContextVar("caller")
"""The caller of the request that is being answered."""


class Tokens(Protocol):
    """The tokens that are accepted."""

    async def find(self, token: str) -> Caller | None:
        """Return who has the token; None for a wrong one. Raises ClioError if it cannot be known now."""
        ...


class OneToken:
    """The token of a project."""

    def __init__(self, token: str) -> None:
        self._digest = hashlib.sha256(token.encode()).digest()

    async def find(self, token: str) -> Caller | None:
        # Digests have one length, so that the comparison takes the same time for every token.
        digest = hashlib.sha256(token.encode()).digest()
        return Caller() if hmac.compare_digest(digest, self._digest) else None


class HttpOptions(Struct, frozen=True, kw_only=True):
    """What the command line says. allowed_hosts: further names under which clients reach the server, as by a proxy.

    database: address of a team's memory in PostgreSQL; "" for the memory of this project.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    allowed_hosts: tuple[str, ...] = ()
    write: bool = False
    new_token: bool = False
    database: str = ""


def parse_http_options(words: Sequence[str]) -> HttpOptions:
    """Parse the words after `clio mcp`. Raises UsageError."""
    given = parse_options(
        join_arguments(words),
        switches=("--http", "--write", "--read-only", "--new-token"),
        valued=("--host", "--port", "--database"),
        repeated=("--allow-host",),
    )
    if given.words:
        raise UsageError(tr("clio mcp --http takes no argument {word!r}", word=given.words[0]))
    if "--write" in given.options and "--read-only" in given.options:
        raise UsageError(tr("--write and --read-only cannot be used together; use only one"))
    if "--new-token" in given.options and "--database" in given.options:
        raise UsageError(tr("each member of a team has a token: clio team-server token add NAME makes one"))
    port = given.options.get("--port", str(DEFAULT_PORT))
    if not (port.isascii() and port.isdecimal() and int(port) <= 65_535):
        raise UsageError(tr("--port must be a number up to 65535, not {port!r}", port=port))
    return HttpOptions(
        host=given.options.get("--host", "127.0.0.1").strip("[]"),
        port=int(port),
        allowed_hosts=given.repeated.get("--allow-host", ()),
        write="--write" in given.options,
        new_token="--new-token" in given.options,
        database=given.options.get("--database", ""),
    )


def run_http_server(loaded: LoadedConfig, options: HttpOptions) -> int:
    """Serve until Ctrl-C or SIGTERM; return 0. Raises UsageError in incognito mode, ClioError for a port in use."""
    if loaded.config.incognito:
        raise UsageError(tr("incognito mode has no memory to offer; start clio mcp without --incognito"))
    for sentence in list_start_notes(loaded) if should_ask_for_trust(loaded) else loaded.problems:
        print_error(clean(sentence))
    path = find_token_file(loaded.home, loaded.main_project)
    token = read_token(path, new=options.new_token)
    listener = open_socket(options)
    port = listener.getsockname()[1]
    host = f"[{options.host}]" if ":" in options.host else options.host
    rights = tr("read and write") if options.write else tr("read-only")
    print_error(
        clean(
            tr(
                "serving the memory of {project} at http://{host}:{port}{path} ({rights}); Ctrl-C to stop",
                project=str(loaded.project),
                host=host,
                port=port,
                path=MCP_PATH,
                rights=rights,
            )
        )
    )
    print_error(clean(tr("clients need the bearer token from {path}", path=str(path))))
    warn_about_network(options)
    ctx = SubcommandContext(loaded)
    try:
        serve_http(MemoryToolServer(ctx, read_only=not options.write), OneToken(token), options, listener)
    finally:
        ctx.close()
    return 0


def warn_about_network(options: HttpOptions) -> None:
    """Tell the user if other machines can reach the server."""
    if options.host not in _LOOPBACK_NAMES:
        print_error(
            clean(
                tr(
                    "warning: {host} can be reached from the network, and HTTP is not encrypted; put a TLS "
                    "proxy in front of it",
                    host=options.host,
                )
            )
        )


def serve_http(tools: ToolServer, tokens: Tokens, options: HttpOptions, listener: socket.socket) -> None:
    """Answer requests until Ctrl-C or SIGTERM."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        asyncio.run(_serve(tools, tokens, options, listener))
    except KeyboardInterrupt:
        pass  # the ordinary end
    finally:
        listener.close()


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def open_socket(options: HttpOptions) -> socket.socket:
    """Return a socket that listens. Raises ClioError for a port in use."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        listener = socket.create_server((options.host, options.port), family=family, backlog=_MAX_CONNECTIONS)
    except OSError as error:
        raise ClioError(
            tr(
                "port {port} of {host} cannot be used ({cause}); choose another with --port",
                port=options.port,
                host=options.host,
                cause=error.strerror or error,
            )
        ) from error
    # Accepted sockets inherit it. asyncio sets it only on sockets made with a protocol number, unlike these; without it
    # the text of an answer is sent when the client has confirmed its headers, 40 ms later.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


async def _serve(tools: ToolServer, tokens: Tokens, options: HttpOptions, listener: socket.socket) -> None:
    import uvicorn

    # Calls wait for a disk or a database; Python's own number of threads is six on two cores. A database has fewer
    # connections, for which calls wait in turn: those that write must not leave no thread to those that read.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_MAX_CONNECTIONS))
    # A call has a dozen moments at which it waits for the interpreter while another one computes.
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    gate = make_http_app(make_server(tools), tokens, allowed_hosts=(options.host, *options.allowed_hosts))
    config = uvicorn.Config(
        gate,
        http=_make_protocol(),
        ws="none",
        log_config=None,
        access_log=False,
        log_level="error",  # a client without a token could fill the log with warnings about its own requests
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MAX_CONNECTIONS,
        h11_max_incomplete_event_size=16_384,
        timeout_graceful_shutdown=2,
    )
    await uvicorn.Server(config).serve(sockets=[listener])


def _make_protocol() -> "type[asyncio.Protocol]":
    """Return uvicorn's protocol class, with a time limit for the head of each request.

    Without it, a client without the token could keep all connections busy for ever by sending nothing.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class TimedProtocol(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._limit_wait()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._limit_wait()

        def _limit_wait(self) -> None:
            asyncio.get_running_loop().call_later(_HEAD_TIMEOUT_S, self._close_unless_called, self.cycle)

        def _close_unless_called(self, cycle: object) -> None:
            # The same request as then: no other has begun. Its answer may still be in the making.
            if self.cycle is cycle and (not self.cycle or self.cycle.response_complete):
                self.transport.close()

    return TimedProtocol


def make_http_app(server: Any, tokens: Tokens, *, allowed_hosts: Iterable[str] = ()) -> "Gate":
    """Return the ASGI app of an SDK server behind a gate.

    Each request stands alone, so that a restart of clio ends no client's session.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    names = _LOOPBACK_NAMES | {name.lower() for name in allowed_hosts if name not in ("0.0.0.0", "::")}
    app = server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=MAX_REQUEST_BYTES,
        # The gate has checked host and origin.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    # Without sessions nothing would ever come over a stream that a client opens with GET.
    return Gate(app, tokens, names, methods=("POST",))


class Bucket:
    """A token bucket: `take` returns 0.0, or the seconds until it would."""

    def __init__(self, per_second: float, burst: float) -> None:
        self._per_second = per_second
        self._burst = burst
        self._level = burst
        self._filled_at = time.monotonic()

    def take(self) -> float:
        """Take one from the bucket if there is one."""
        now = time.monotonic()
        self._level = min(self._burst, self._level + (now - self._filled_at) * self._per_second)
        self._filled_at = now
        if self._level < 1.0:
            return (1.0 - self._level) / self._per_second
        self._level -= 1.0
        return 0.0


class Gate:
    """An ASGI app that passes to another one what is allowed to reach it.

    names: the host names, in lower case, under which the server may be called.
    """

    def __init__(self, app: App, tokens: Tokens, names: Iterable[str], methods: tuple[str, ...] = ("POST",)) -> None:
        self._app = app
        self._methods = methods
        self._tokens = tokens
        self._names = frozenset(name.strip("[]") for name in names)
        self._requests: dict[str, Bucket] = {}
        self._failures: OrderedDict[str, Bucket] = OrderedDict()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        judged = await self._judge(scope)
        if not isinstance(judged, Caller):
            await _send_refusal(send, *judged)
            return
        CALLER.set(judged)

        async def receive_in_time() -> dict[str, Any]:
            try:
                return await asyncio.wait_for(receive(), _BODY_TIMEOUT_S)
            except TimeoutError:
                return {"type": "http.disconnect"}

        is_body = scope["method"] == "POST"
        await self._app(scope, receive_in_time if is_body else receive, send)

    async def _judge(self, scope: dict[str, Any]) -> Caller | tuple[int, str, float]:
        """Return who calls; or status, sentence and seconds to wait of a refusal."""
        headers: Headers = scope["headers"]
        if _get_values(headers, b"transfer-encoding") and _get_values(headers, b"content-length"):
            # A proxy in front could take the other one for the end of this request, and what follows for another's.
            return 400, "A request has Transfer-Encoding or Content-Length, not both.", 0.0
        if not self._is_own_host(_get_values(headers, b"host")):
            return 421, "This server is not known by that name; --allow-host adds one.", 0.0
        if not self._is_own_origin(_get_values(headers, b"origin")):
            return 403, "Requests of web pages of other origins are refused.", 0.0
        try:
            caller = await self._find_caller(_get_values(headers, b"authorization"))
        except ClioError as error:
            return 503, error.for_model, 5.0
        if caller is None:
            wait_s = self._note_failure(scope)
            if wait_s:
                return 429, "Too many requests without the right token.", wait_s
            return 401, "The bearer token is missing or wrong.", 0.0
        if wait_s := self._requests.setdefault(caller.name, Bucket(REQUESTS_PER_S, REQUEST_BURST)).take():
            return 429, "Too many requests.", wait_s
        if scope["path"] != MCP_PATH:
            return 404, f"There is only {MCP_PATH}.", 0.0
        if scope["method"] not in self._methods:
            return 405, "This server has no sessions and no streams.", 0.0
        key = next(iter(_get_values(headers, b"idempotency-key")), "")
        if len(key) > _MAX_KEY_CHARS:
            return 400, f"An Idempotency-Key has up to {_MAX_KEY_CHARS} characters.", 0.0
        return structs.replace(caller, key=key)

    def _is_own_host(self, values: list[str]) -> bool:
        return len(values) == 1 and _parse_host(values[0]) in self._names

    def _is_own_origin(self, values: list[str]) -> bool:
        scheme, _, host = values[0].partition("://") if len(values) == 1 else ("", "", "")
        return not values or (scheme in ("http", "https") and _parse_host(host) in self._names)

    async def _find_caller(self, values: list[str]) -> Caller | None:
        scheme, _, given = values[0].partition(" ") if len(values) == 1 else ("", "", "")
        return await self._tokens.find(given.strip()) if scheme.lower() == "bearer" else None

    def _note_failure(self, scope: dict[str, Any]) -> float:
        address = (scope.get("client") or ("",))[0]
        bucket = self._failures.setdefault(address, Bucket(FAILURES_PER_S, FAILURE_BURST))
        self._failures.move_to_end(address)
        while len(self._failures) > _MAX_ADDRESSES:
            self._failures.popitem(last=False)
        return bucket.take()


def _get_values(headers: Headers, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]


def _parse_host(text: str) -> str:
    """Return the name in `name:port` in lower case; "" if it is not valid."""
    found = _HOST.fullmatch(text)
    return found[1].strip("[]").lower() if found else ""


async def _send_refusal(send: Send, status: int, sentence: str, wait_s: float) -> None:
    body = f"{sentence}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status == 400:
        headers.append((b"connection", b"close"))
    if status == 405:
        headers.append((b"allow", b"POST"))
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="clio"'))
    if wait_s:
        headers.append((b"retry-after", str(int(wait_s) + 1).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def find_token_file(home: Path, project: Path) -> Path:
    """Return the file of a project's token: each project has its own, so that a client of one cannot read another."""
    digest = hashlib.sha256(os.fsencode(project)).hexdigest()[:8]
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", project.name).strip("._") or "project"
    return home / "mcp-tokens" / f"{name[:60]}-{digest}"


def read_token(path: Path, *, new: bool = False) -> str:
    """Return the token in a file, which only the user can read; make it if there is none. Raises ClioError.

    new: replace the token, which locks out every client that has the old one.
    """
    try:
        make_folder(path.parent)
        with FileLock(path.with_name(path.name + ".lock")):
            if not new and path.exists():
                token = read_regular(path, 1_000).strip()
                if _TOKEN.fullmatch(token):
                    if sys.platform != "win32" and path.stat().st_mode & 0o077:
                        path.chmod(0o600)
                        print_error(
                            clean(tr("other users could read {path}; --new-token replaces the token", path=str(path)))
                        )
                    return token.decode()
                print_error(clean(tr("{path} contains no token; a new one is written", path=str(path))))
            token = secrets.token_urlsafe(32)
            write_atomic(path, token.encode() + b"\n")
            return token
    except OSError as error:
        raise ClioError(format_os_error(error)) from error
