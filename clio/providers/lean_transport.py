"""The HTTP transport on the standard library alone, and the choice of transport for an address."""

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Protocol
from urllib.parse import quote, urlsplit

import msgspec

from clio import __version__
from clio.providers.auth import Auth
from clio.providers.failure import Failure, TransportFailed, repair_error_body
from clio.providers.http1 import (
    ConnectionClosed,
    ConnectionCut,
    Connector,
    EventStream,
    EventTooLong,
    NotHttp,
    ResponseBody,
    ResponseHead,
    Streams,
    find_proxy,
    iter_decompressed,
    read_environment_proxies,
    read_response_head,
)
from clio.providers.urls import strip_login, url_host
from clio.text.translation import tr

CONNECT_TIMEOUT_S = 15.0
MAX_ANSWER_BYTES = 64_000_000
"""Maximum size of an answer that is one JSON object."""
MAX_ERROR_BYTES = 1_000_000
SILENCE_TIMEOUT_S = 600.0
"""Time without data after which a connection counts as dead. Reasoning models may send nothing for minutes."""


class Transport(Protocol):
    """Sends bytes and returns decoded JSON.

    It does not retry, which the loop does, and follows no redirects, because it would send the key to another server.
    """

    def events(self, path: str, body: bytes, is_finished: Callable[[], bool]) -> AsyncGenerator[list[object]]:
        """POST to a path below the base URL; yield the events of the stream, or the object of a JSON answer.

        Events that arrive together are yielded as one batch, which costs a fraction of the time with a fast server.
        Closing the iterator closes the connection. Raises TransportFailed.

        is_finished: called after each batch; if it returns True, no further events are read.
        """
        ...

    async def get(self, path: str, timeout_s: float) -> object:
        """GET a path below the base URL, or a complete URL on the same host. Raises TransportFailed."""
        ...

    async def close(self) -> None:
        """Close all connections; the next request opens new ones."""
        ...

    def warm_up(self) -> None:
        """Prepare the first request, such as imports and the TLS context. Blocking. Raises TransportFailed."""
        ...


def has_truststore() -> bool:
    """Whether the truststore package, for the certificates of macOS and Windows, is installed; does not import it."""
    from importlib.util import find_spec

    return find_spec("truststore") is not None


def explain_package_need(base_url: str, env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> str:
    """Return why this address needs the client of the openai package; "" if clio's own client is sufficient.

    env: the environment variables, some of which the openai package reads itself.
    """
    parts = urlsplit(base_url)
    if parts.username is not None:
        return tr("a user name in the address")
    if env.get("OPENAI_CUSTOM_HEADERS"):
        return tr("OPENAI_CUSTOM_HEADERS is set")
    if url_host(base_url).endswith("openai.com") and (env.get("OPENAI_ORG_ID") or env.get("OPENAI_PROJECT_ID")):
        return tr("an organization or a project is named")
    own_certificates = env.get("SSL_CERT_FILE") or env.get("SSL_CERT_DIR")
    in_files = own_certificates or platform not in ("darwin", "win32")
    if parts.scheme == "https" and not in_files and not has_truststore():
        return tr("the certificates this system trusts are not in files, and the truststore package is missing")
    if find_proxy(base_url, read_environment_proxies()).partition("://")[0] not in ("", "http"):
        return tr("a proxy that is not reached by plain HTTP")
    return ""


_ERROR_BODY_S = 10.0
_AFTER_DONE_S = 0.1
"""Time to wait for the end of the body after the last event, so that the connection can be reused."""
_MAX_IDLE = 4
_MAX_IDLE_S = 30.0
"""Maximum idle time of a reusable connection. Routers silently drop idle connections after some minutes, and a request
on a dropped connection would never be answered."""
_CONNECTION_ERRORS = (OSError, ConnectionCut, NotHttp, EventTooLong)


class _Connection:
    """An open connection. used: whether it has carried an answer before."""

    def __init__(self, streams: Streams) -> None:
        self.reader, self.writer = streams
        self.loop = asyncio.get_running_loop()
        self.used = False
        self._since = 0.0
        self._watch: asyncio.Task[bytes] | None = None

    def mark_idle(self) -> None:
        """Mark the connection as idle. Any data, or its end, closes it at once, since the server may not send now."""
        self.used = True
        self._since = time.time()
        self._watch = asyncio.create_task(self.reader.read(1))
        self._watch.add_done_callback(self._on_data)

    def _on_data(self, watch: "asyncio.Task[bytes]") -> None:
        if not watch.cancelled():
            watch.exception()  # any result or error: the connection cannot be reused
            self.drop()

    async def try_reuse(self) -> bool:
        """Return whether the idle connection can be reused; close it otherwise.

        Uses the wall clock, since a monotonic clock may not count the time a laptop was asleep.
        """
        watch, self._watch = self._watch, None
        fresh = 0 <= time.time() - self._since <= _MAX_IDLE_S and self.loop is asyncio.get_running_loop()
        if watch is None or not fresh:
            self.drop()
            return False
        try:
            await asyncio.sleep(0)  # let the reader see data that has arrived meanwhile
            watch.cancel()
            await asyncio.wait({watch})
        except BaseException:
            self.drop()
            raise
        return watch.cancelled()  # otherwise data arrived, and `_noticed` has closed the connection

    def drop(self) -> None:
        """Close the connection at once, discarding unsent data."""
        if not self.loop.is_closed():
            if self._watch is not None:
                self._watch.cancel()
            self.writer.transport.abort()


class LeanTransport:
    """The transport to one server over HTTP/1.1; see `Transport`. Everything it reads has a maximum size."""

    def __init__(self, base_url: str, auth: Auth) -> None:
        self._base_url = base_url
        self._auth = auth
        self._connector: Connector | None = None
        self._idle: list[_Connection] = []
        self._age = 0

    def warm_up(self) -> None:
        """See `Transport`: create the TLS context, the only slow part."""
        self._get_connector().warm_up()

    def _get_connector(self) -> Connector:
        if self._connector is None:
            self._connector = Connector(self._base_url)
        return self._connector

    async def events(self, path: str, body: bytes, is_finished: Callable[[], bool]) -> AsyncGenerator[list[object]]:
        """See `Transport`."""
        async with self._request("POST", path, body, SILENCE_TIMEOUT_S) as (head, answer, pieces):
            if head.content_type == "application/json":
                yield [_decode_event(await _read_whole(pieces, streaming=True))]
                return
            stream, begun, done = EventStream(), False, False
            while not done and (piece := await _next_piece(pieces)):
                found: list[object] = []
                try:
                    done = _take_events(stream, piece, found)
                except TransportFailed:
                    if found:  # the events before the error are valid
                        yield found
                    raise
                begun = begun or done or bool(found)
                if found:
                    yield found
                    done = done or is_finished()
            if done:
                await _read_rest(answer)
                return
            with suppress(TransportFailed):  # an incomplete last event is ignored
                if (data := stream.end()) and not data.startswith(b"[DONE]"):
                    begun = True
                    yield [_decode_event(data)]
            if not begun and head.content_type not in ("", "text/event-stream"):  # such as a login page
                raise TransportFailed(Failure(kind="malformed", detail=head.content_type))

    async def get(self, path: str, timeout_s: float) -> object:
        """See `Transport`."""
        try:
            async with asyncio.timeout(timeout_s), self._request("GET", path, b"", timeout_s) as (head, _, pieces):
                data = await _read_whole(pieces, streaming=False)
        except TimeoutError as error:
            raise TransportFailed(Failure(kind="timeout", detail=tr("no answer in time"))) from error
        return _decode_event(data) if head.content_type.endswith("json") else data.decode("utf-8", "replace")

    async def close(self) -> None:
        """See `Transport`."""
        self._age += 1
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.drop()

    @asynccontextmanager
    async def _request(
        self, method: str, path: str, body: bytes, silence_s: float
    ) -> AsyncGenerator[tuple[ResponseHead, ResponseBody, AsyncGenerator[bytes]]]:
        """Send a request; yield the answer's head, body and decompressed pieces.

        The connection is reused later if the body was read to its end. Raises TransportFailed; for a status outside
        of 200 to 299, its failure contains the body.
        """
        age = self._age
        request = self._encode_head(method, path, len(body), await self._auth.headers()) + body
        connection, head = await self._send(request, silence_s)
        is_reusable = False
        try:
            try:
                answer = ResponseBody(connection.reader, head)
                async with aclosing(
                    iter_decompressed(answer, head.headers.get("content-encoding", "").lower())
                ) as pieces:
                    if 200 <= head.status < 300:
                        yield head, answer, pieces
                    else:
                        text = await _read_error_text(pieces)
                        is_reusable = head.keeps_alive and answer.is_over
                        raise TransportFailed(
                            Failure(kind="status", status=head.status, headers=head.headers, body=text)
                        )
            except NotHttp as error:
                raise TransportFailed(Failure(kind="malformed", detail=str(error))) from error
            is_reusable = head.keeps_alive and answer.is_over
        finally:
            if is_reusable and age == self._age:
                self._store_idle(connection)
            else:
                connection.drop()

    async def _send(self, request: bytes, silence_s: float) -> tuple[_Connection, ResponseHead]:
        """Send a request; return its connection and the head of the answer.

        If the server has closed an idle connection meanwhile, the request is sent again on another one. That is safe:
        not one byte of an answer was received.
        """
        while True:
            connection = await self._get_connection()
            try:
                # No drain(): a server that rejects a large request answers before it has read all of it.
                connection.writer.write(request)
                async with asyncio.timeout(silence_s):
                    head = await read_response_head(connection.reader)
            except TimeoutError as error:
                connection.drop()
                raise TransportFailed(Failure(kind="timeout", detail=tr("no data for too long"))) from error
            except (OSError, ConnectionCut) as error:
                connection.drop()
                if not connection.used or not isinstance(error, (OSError, ConnectionClosed)):
                    raise TransportFailed(Failure(kind="timeout", detail=str(error))) from error
            except NotHttp as error:
                connection.drop()
                raise TransportFailed(Failure(kind="malformed", detail=str(error))) from error
            except BaseException:
                connection.drop()
                raise
            else:
                if not (connection.used and head.status == 408):  # sent when the server closed the idle connection
                    return connection, head
                connection.drop()

    async def _get_connection(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if await connection.try_reuse():
                return connection
        return _Connection(await self._get_connector().open(CONNECT_TIMEOUT_S))

    def _store_idle(self, connection: _Connection) -> None:
        if len(self._idle) >= _MAX_IDLE:
            self._idle.pop(0).drop()
        connection.mark_idle()
        self._idle.append(connection)

    def _encode_head(self, method: str, path: str, length: int, auth: Mapping[str, str]) -> bytes:
        base = urlsplit(strip_login(self._base_url))
        target_url = urlsplit(path)
        full_path = target_url.path if target_url.netloc else base.path + target_url.path
        query = target_url.query or base.query
        target = quote(full_path, safe="/%:@!$&'()*+,;=-._~") + (f"?{query}" if query else "")
        connector = self._get_connector()
        lines = [
            f"{method} {f'{base.scheme}://{base.netloc}' if connector.through_plain_proxy else ''}{target} HTTP/1.1",
            f"Host: {_strip_default_port(base.scheme, base.netloc)}",
            "Accept: application/json",
            "Accept-Encoding: identity",
            "Connection: keep-alive",
            f"User-Agent: clio/{__version__}",
        ]
        lines += [f"{name}: {value}" for name, value in auth.items()]
        if method == "POST":
            lines += ["Content-Type: application/json", f"Content-Length: {length}"]
        if connector.through_plain_proxy:
            lines += connector.proxy_headers
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _strip_default_port(scheme: str, place: str) -> str:
    return re.sub(":443$" if scheme == "https" else ":80$", "", place)


async def _next_piece(pieces: AsyncGenerator[bytes]) -> bytes:
    """Return the next piece of a body; b"" at its end. Raises TransportFailed, also after SILENCE_TIMEOUT_S."""
    try:
        async with asyncio.timeout(SILENCE_TIMEOUT_S):
            return await anext(pieces, b"")
    except TimeoutError as error:
        raise TransportFailed(Failure(kind="timeout", detail=tr("no data for too long"))) from error
    except (OSError, ConnectionCut) as error:  # TLS errors are OSErrors too
        raise TransportFailed(Failure(kind="broken", detail=str(error))) from error


async def _read_whole(pieces: AsyncGenerator[bytes], *, streaming: bool) -> bytes:
    found = bytearray()
    try:
        while piece := await _next_piece(pieces):
            found += piece
            if len(found) > MAX_ANSWER_BYTES:
                raise TransportFailed(
                    Failure(
                        kind="endless",
                        detail=tr("more than {max_answer_bytes:,} bytes", max_answer_bytes=MAX_ANSWER_BYTES),
                    )
                )
    except TransportFailed as error:
        if streaming or error.failure.kind != "broken":
            raise
        raise TransportFailed(Failure(kind="timeout", detail=error.failure.detail)) from error
    return bytes(found)


async def _read_error_text(pieces: AsyncGenerator[bytes]) -> str:
    """Return as much of an error's body as arrives; a broken connection is ignored, since the status is known."""
    found = bytearray()
    with suppress(*_CONNECTION_ERRORS):
        async with asyncio.timeout(_ERROR_BODY_S):
            async for piece in pieces:
                found += piece
                if len(found) > MAX_ERROR_BYTES:
                    break
    return found[:MAX_ERROR_BYTES].decode("utf-8", "replace")


async def _read_rest(answer: ResponseBody) -> None:
    """Read the rest of the body after the last event, for at most _AFTER_DONE_S, so that the connection is reusable."""
    if answer.ends_with_connection:
        return
    with suppress(*_CONNECTION_ERRORS):
        async with asyncio.timeout(_AFTER_DONE_S):
            while await answer.read():
                pass


def _take_events(stream: EventStream, piece: bytes, found: list[object]) -> bool:
    """Add the events completed by this piece to `found`; return whether "[DONE]" was received.

    Raises TransportFailed.
    """
    try:
        events = stream.feed(piece)
    except EventTooLong as error:
        raise TransportFailed(Failure(kind="endless", detail=tr("an event without an end"))) from error
    for data in events:
        if data.startswith(b"[DONE]"):
            return True
        found.append(_decode_event(data))
    return False


def _decode_event(data: bytes) -> object:
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):  # DecodeError and UnicodeDecodeError are ValueErrors
        pass
    text = data.decode("utf-8", "replace")
    try:  # accepts more than msgspec: NaN, and invalid UTF-8 replaced above
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if said := repair_error_body(text):
            raise TransportFailed(Failure(kind="in_stream", body=said)) from error
        raise TransportFailed(Failure(kind="malformed", detail=tr("not JSON: {error}", error=error))) from error
