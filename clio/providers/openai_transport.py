"""The HTTP transport on the `openai` package. No other module imports the package.

Importing it takes about 0.4 s of CPU time, and a TLS context about 50 ms more; `warm_up` does both in advance.
"""

import asyncio
import socket
import ssl
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from clio.providers.auth import Auth
from clio.providers.failure import Failure, TransportFailed, repair_error_body
from clio.providers.http1 import MAX_EVENT_BYTES
from clio.providers.lean_transport import CONNECT_TIMEOUT_S, MAX_ANSWER_BYTES, MAX_ERROR_BYTES, SILENCE_TIMEOUT_S
from clio.providers.urls import is_loopback, url_host
from clio.text.json_data import encode_json
from clio.text.translation import tr
from clio.threads import start_daemon_thread

if TYPE_CHECKING:
    from httpx2 import Response
    from openai import APIError, AsyncOpenAI, AsyncStream, Omit


def start_import() -> threading.Thread:
    """Start importing the openai package in a thread, before the configuration is loaded; return the thread."""
    return start_daemon_thread(_import_openai, "import-openai")


def _import_openai() -> None:
    import openai

    assert openai.AsyncOpenAI


class OpenAITransport:
    """The transport to one server with AsyncOpenAI; see `Transport`."""

    def __init__(self, base_url: str, auth: Auth) -> None:
        self._base_url = base_url
        self._auth = auth
        self._client: AsyncOpenAI | None = None
        self._lock = threading.Lock()

    def warm_up(self) -> None:
        """Import the package and create the client. Thread-safe. Raises TransportFailed if the address is invalid."""
        with self._lock:
            if self._client is None:
                self._client = self._build()

    def _build(self) -> "AsyncOpenAI":
        from httpx2 import InvalidURL

        try:
            return self._make_client()
        except InvalidURL as error:  # not detected by `normalise_base_url`: a host name in invalid Punycode
            raise TransportFailed(Failure(kind="dns", detail=str(error))) from error
        except ImportError as error:  # a SOCKS proxy in the environment without the package for it
            raise TransportFailed(Failure(kind="proxy", detail=str(error))) from error

    def _make_client(self) -> "AsyncOpenAI":
        from httpx2 import AsyncHTTPTransport
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Omit, Timeout

        host = url_host(self._base_url)
        # A proxy cannot reach this machine's loopback address; an explicit transport ignores the environment's proxies.
        # Without verify=False, plain HTTP would create a TLS context that is never used.
        direct = AsyncHTTPTransport(verify=not self._base_url.startswith("http://")) if is_loopback(host) else None
        http_client = DefaultAsyncHttpxClient(
            follow_redirects=False, transport=direct, event_hooks={"response": [_limit_body]}
        )
        # The package reads these headers from the environment; only OpenAI itself may receive them.
        private = {} if host.endswith("openai.com") else {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}
        return AsyncOpenAI(
            api_key=self._auth.key or "none",
            base_url=self._base_url,
            max_retries=0,
            timeout=Timeout(SILENCE_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            default_headers=cast("dict[str, str]", private),
            http_client=http_client,
        )

    async def _headers(self) -> "dict[str, str | Omit]":
        from openai import Omit

        headers = await self._auth.headers()
        return {"Authorization": Omit(), **headers}

    async def _get_client(self) -> "AsyncOpenAI":
        if self._client is None:
            await asyncio.to_thread(self.warm_up)
        return cast("AsyncOpenAI", self._client)

    async def events(self, path: str, body: bytes, is_finished: Callable[[], bool]) -> AsyncGenerator[list[object]]:
        """See `Transport`. Each batch has one event, as the package yields them."""
        client = await self._get_client()
        from httpx2 import HTTPError
        from openai import APIError, AsyncStream

        try:
            stream: AsyncStream[object] = await client.post(
                path,
                cast_to=object,
                content=body,
                options={"headers": await self._headers()},
                stream=True,
                stream_cls=AsyncStream[object],
            )
        except APIError as error:
            raise TransportFailed(_convert_error(error)) from error
        try:
            async for event in _iter_events(stream):
                yield [event]
                if is_finished():
                    break
        except APIError as error:
            raise TransportFailed(_convert_error(error, streaming=True)) from error
        except HTTPError as error:  # from a body read directly, without the package's stream
            raise TransportFailed(_read_connection(error, streaming=True)) from error
        except (ValueError, RecursionError) as error:  # incomplete, too deeply nested, or not JSON
            if said := repair_error_body(str(getattr(error, "doc", ""))):
                raise TransportFailed(Failure(kind="in_stream", body=said)) from error
            raise TransportFailed(Failure(kind="malformed", detail=tr("not JSON: {error}", error=error))) from error
        finally:
            await stream.close()

    async def get(self, path: str, timeout_s: float) -> object:
        """See `Transport`."""
        client = await self._get_client()
        from openai import APIError

        try:
            return await client.get(
                path, cast_to=object, options={"timeout": timeout_s, "headers": await self._headers()}
            )
        except APIError as error:
            raise TransportFailed(_convert_error(error)) from error
        except ValueError as error:
            raise TransportFailed(Failure(kind="malformed", detail=str(error))) from error

    async def close(self) -> None:
        """See `Transport`."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()


async def _limit_body(response: "Response") -> None:
    """Limit the size of the response's body, which the package would hold in memory without limit."""
    read = response.aiter_bytes

    def aiter_bytes(chunk_size: int | None = None) -> AsyncGenerator[bytes]:
        return _iter_limited(response, read(chunk_size))

    response.aiter_bytes = aiter_bytes


async def _iter_limited(response: "Response", pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Yield the pieces of a body up to its maximum size.

    An error's body is truncated; a JSON object or an event that is too large raises TransportFailed.
    """
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    whole = kind == "application/json" or response.status_code >= 300
    size = 0
    async for piece in pieces:
        yield piece
        size += len(piece)
        if response.status_code >= 300 and size > MAX_ERROR_BYTES:
            return
        if not whole and (end := max(piece.rfind(b"\n\n"), piece.rfind(b"\n\r\n"))) >= 0:
            size = len(piece) - end
        if size > (MAX_ANSWER_BYTES if whole else MAX_EVENT_BYTES):
            what = (
                tr("more than {max_answer_bytes:,} bytes", max_answer_bytes=MAX_ANSWER_BYTES)
                if whole
                else tr("an event without an end")
            )
            raise TransportFailed(Failure(kind="endless", detail=what))


async def _iter_events(stream: "AsyncStream[object]") -> AsyncGenerator[object]:
    if stream.response.headers.get("content-type", "").partition(";")[0].strip() == "application/json":
        await stream.response.aread()
        yield stream.response.json()
        return
    empty = True
    async for event in stream:
        empty = False
        yield event
    kind = stream.response.headers.get("content-type", "").partition(";")[0].strip()
    if empty and kind not in ("", "text/event-stream"):  # such as a login page
        raise TransportFailed(Failure(kind="malformed", detail=kind))


def _convert_error(error: "APIError", *, streaming: bool = False) -> Failure:
    """Convert an exception of the package to a Failure."""
    from openai import APIConnectionError, APIStatusError

    if isinstance(error, APIStatusError):
        headers = {name.lower(): value for name, value in error.response.headers.items()}
        return Failure(kind="status", status=error.status_code, headers=headers, body=error.response.text)
    if isinstance(error, APIConnectionError):
        return _read_connection(error, streaming=streaming)
    return Failure(kind="in_stream", body=_json_text(error.body), detail=error.message)


def _json_text(body: object) -> str:
    return body if isinstance(body, str) else encode_json(body).decode("utf-8")


def _read_connection(error: BaseException, *, streaming: bool) -> Failure:
    import httpx2

    # SSLWantReadError means that TLS waits for data; it is in the chain of every timeout and is no TLS failure.
    waits = (ssl.SSLWantReadError, ssl.SSLWantWriteError)
    chain = [cause for cause in _causes(error) if not isinstance(cause, waits)]
    detail = next((str(cause) for cause in reversed(chain) if str(cause)), tr("no reason given"))

    def caused_by(*kinds: type[BaseException]) -> bool:
        return any(isinstance(cause, kinds) for cause in chain)

    if caused_by(socket.gaierror):
        return Failure(kind="dns", detail=detail)
    if caused_by(ssl.SSLError):
        return Failure(kind="tls", detail=detail)
    if caused_by(httpx2.ProxyError):
        return Failure(kind="proxy", detail=detail)
    if caused_by(httpx2.ConnectTimeout, httpx2.PoolTimeout):
        return Failure(kind="connect_timeout", detail=detail)
    if caused_by(ConnectionRefusedError, httpx2.ConnectError):
        return Failure(kind="refused", detail=detail)
    if caused_by(httpx2.TimeoutException):
        return Failure(kind="timeout", detail=tr("no data for too long"))
    return Failure(kind="broken" if streaming else "timeout", detail=detail)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the exception and all its causes, including those in exception groups."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += [current.__context__, current.__cause__]
        if isinstance(current, BaseExceptionGroup):
            waiting += cast("tuple[Any, ...]", current.exceptions)
