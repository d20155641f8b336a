"""The way to a server on the standard library alone, and which transport an address gets."""

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

CONNECT_TIMEOUT_S = 15.0
MAX_ANSWER_BYTES = 64_000_000
"""Of an answer that is one JSON object."""
MAX_ERROR_BYTES = 1_000_000
SILENCE_TIMEOUT_S = 600.0
"""Reasoning models may say nothing for minutes; longer than this the connection counts as dead."""


class Transport(Protocol):
    """Sends bytes, hands back decoded JSON. No retries (the loop does them), no redirects (the key would follow)."""

    def events(self, path: str, body: bytes, is_finished: Callable[[], bool]) -> AsyncGenerator[list[object]]:
        """POST to a path below the base URL: the events of the stream, or the one object of an answer that is none.

        Those that came together are given together: what a fast server sends then costs a fraction. Closing the
        iterator closes the connection. Raises TransportFailed.

        is_finished: asked after each batch; where it is true, no further event is waited for.
        """
        ...

    async def get(self, path: str, timeout_s: float) -> object:
        """GET below the base URL, or of a whole URL on the same host. Raises TransportFailed."""
        ...

    async def close(self) -> None:
        """Let go of all connections; the next request opens new ones."""
        ...

    def warm_up(self) -> None:
        """Do in advance, blocking, what the first request would otherwise wait for. Raises TransportFailed."""
        ...


def has_truststore() -> bool:
    """Whether the package is installed that lets macOS and Windows check certificates; it is not imported for that."""
    from importlib.util import find_spec

    return find_spec("truststore") is not None


def explain_package_need(base_url: str, env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> str:
    """Why clio's own client is not enough for this address, "" where it is: then the openai package's is used.

    env: what the package would read from the environment by itself.
    """
    parts = urlsplit(base_url)
    if parts.username is not None:
        return "a user name in the address"
    if env.get("OPENAI_CUSTOM_HEADERS"):
        return "OPENAI_CUSTOM_HEADERS is set"
    if url_host(base_url).endswith("openai.com") and (env.get("OPENAI_ORG_ID") or env.get("OPENAI_PROJECT_ID")):
        return "an organization or a project is named"
    own_certificates = env.get("SSL_CERT_FILE") or env.get("SSL_CERT_DIR")
    in_files = own_certificates or platform not in ("darwin", "win32")
    if parts.scheme == "https" and not in_files and not has_truststore():
        return "the certificates this system trusts are not in files, and the truststore package is missing"
    if find_proxy(base_url, read_environment_proxies()).partition("://")[0] not in ("", "http"):
        return "a proxy that is not reached by plain HTTP"
    return ""


_ERROR_BODY_S = 10.0
_AFTER_DONE_S = 0.1
"""How long the end of a stream is waited for after its last word, so that the connection can be used again."""
_KEPT = 4
_KEPT_S = 30.0
"""Routers forget a silent connection after minutes, and without a word: a request into one would wait for ever."""
_DROPS = (OSError, ConnectionCut, NotHttp, EventTooLong)


class _Connection:
    """An open connection. `used`: whether an answer came over it before."""

    def __init__(self, streams: Streams) -> None:
        self.reader, self.writer = streams
        self.loop = asyncio.get_running_loop()
        self.used = False
        self._since = 0.0
        self._watch: asyncio.Task[bytes] | None = None

    def rest(self) -> None:
        """Nothing may come until the next request; what does, an end included, is noticed at once."""
        self.used = True
        self._since = time.time()
        self._watch = asyncio.create_task(self.reader.read(1))
        self._watch.add_done_callback(self._noticed)

    def _noticed(self, watch: "asyncio.Task[bytes]") -> None:
        if not watch.cancelled():
            watch.exception()  # whatever it was, this connection is over
            self.drop()

    async def wake(self) -> bool:
        """Whether it can still be used; else it is dropped. The clock is the wall's: a laptop may have slept."""
        watch, self._watch = self._watch, None
        fresh = 0 <= time.time() - self._since <= _KEPT_S and self.loop is asyncio.get_running_loop()
        if watch is None or not fresh:
            self.drop()
            return False
        try:
            await asyncio.sleep(0)  # what has come in meanwhile is seen now
            watch.cancel()
            await asyncio.wait({watch})
        except BaseException:
            self.drop()
            raise
        return watch.cancelled()  # else something came, and `_noticed` has dropped it

    def drop(self) -> None:
        """Close it at once, without waiting for anything that is on its way."""
        if not self.loop.is_closed():
            if self._watch is not None:
                self._watch.cancel()
            self.writer.transport.abort()


class LeanTransport:
    """One server over HTTP/1.1; see `Transport`. Bounded in all it reads."""

    def __init__(self, base_url: str, auth: Auth) -> None:
        self._base_url = base_url
        self._auth = auth
        self._dialler: Connector | None = None
        self._resting: list[_Connection] = []
        self._age = 0

    def warm_up(self) -> None:
        """See `Transport`: the TLS context, the only thing that takes a while."""
        self._ready().warm_up()

    def _ready(self) -> Connector:
        if self._dialler is None:
            self._dialler = Connector(self._base_url)
        return self._dialler

    async def events(self, path: str, body: bytes, is_finished: Callable[[], bool]) -> AsyncGenerator[list[object]]:
        """See `Transport`."""
        async with self._asked("POST", path, body, SILENCE_TIMEOUT_S) as (head, answer, pieces):
            if head.content_type == "application/json":
                yield [_decoded(await _whole(pieces, streaming=True))]
                return
            stream, begun, done = EventStream(), False, False
            while not done and (piece := await _next(pieces)):
                found: list[object] = []
                try:
                    done = _take(stream, piece, found)
                except TransportFailed:
                    if found:  # what stood before it is good
                        yield found
                    raise
                begun = begun or done or bool(found)
                if found:
                    yield found
                    done = done or is_finished()
            if done:
                await _finish(answer)
                return
            with suppress(TransportFailed):  # what was cut in the middle is no event
                if (data := stream.end()) and not data.startswith(b"[DONE]"):
                    begun = True
                    yield [_decoded(data)]
            if not begun and head.content_type not in ("", "text/event-stream"):  # such as a page to log in
                raise TransportFailed(Failure(kind="malformed", detail=head.content_type))

    async def get(self, path: str, timeout_s: float) -> object:
        """See `Transport`."""
        try:
            async with asyncio.timeout(timeout_s), self._asked("GET", path, b"", timeout_s) as (head, _, pieces):
                data = await _whole(pieces, streaming=False)
        except TimeoutError as error:
            raise TransportFailed(Failure(kind="timeout", detail="no answer in time")) from error
        return _decoded(data) if head.content_type.endswith("json") else data.decode("utf-8", "replace")

    async def close(self) -> None:
        """See `Transport`."""
        self._age += 1
        resting, self._resting = self._resting, []
        for connection in resting:
            connection.drop()

    @asynccontextmanager
    async def _asked(
        self, method: str, path: str, body: bytes, silence_s: float
    ) -> AsyncGenerator[tuple[ResponseHead, ResponseBody, AsyncGenerator[bytes]]]:
        """A request sent, and the answer's head and body. The connection is kept where the body was read to its end.

        Raises TransportFailed, for every status but 200 to 299 with the body in it.
        """
        age = self._age
        request = self._head(method, path, len(body), await self._auth.headers()) + body
        connection, head = await self._send(request, silence_s)
        keeps = False
        try:
            try:
                answer = ResponseBody(connection.reader, head)
                async with aclosing(
                    iter_decompressed(answer, head.headers.get("content-encoding", "").lower())
                ) as pieces:
                    if 200 <= head.status < 300:
                        yield head, answer, pieces
                    else:
                        said = await _error_text(pieces)
                        keeps = head.keeps_alive and answer.is_over
                        raise TransportFailed(
                            Failure(kind="status", status=head.status, headers=head.headers, body=said)
                        )
            except NotHttp as error:
                raise TransportFailed(Failure(kind="malformed", detail=str(error))) from error
            keeps = head.keeps_alive and answer.is_over
        finally:
            if keeps and age == self._age:
                self._keep(connection)
            else:
                connection.drop()

    async def _send(self, request: bytes, silence_s: float) -> tuple[_Connection, ResponseHead]:
        """The request on its way, and the head of what comes back.

        A connection the server gave up meanwhile is replaced once: where not a byte came back over it, no answer had
        begun, and the loop itself would ask again.
        """
        while True:
            connection = await self._connection()
            try:
                # Not waited for: a server that refuses a large request answers before it has read all of it.
                connection.writer.write(request)
                async with asyncio.timeout(silence_s):
                    head = await read_response_head(connection.reader)
            except TimeoutError as error:
                connection.drop()
                raise TransportFailed(Failure(kind="timeout", detail="no data for too long")) from error
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
                if not (connection.used and head.status == 408):  # said as the server gave it up
                    return connection, head
                connection.drop()

    async def _connection(self) -> _Connection:
        while self._resting:
            connection = self._resting.pop()
            if await connection.wake():
                return connection
        return _Connection(await self._ready().open(CONNECT_TIMEOUT_S))

    def _keep(self, connection: _Connection) -> None:
        if len(self._resting) >= _KEPT:
            self._resting.pop(0).drop()
        connection.rest()
        self._resting.append(connection)

    def _head(self, method: str, path: str, length: int, auth: Mapping[str, str]) -> bytes:
        base = urlsplit(strip_login(self._base_url))
        wanted = urlsplit(path)
        where = wanted.path if wanted.netloc else base.path + wanted.path
        query = wanted.query or base.query
        target = quote(where, safe="/%:@!$&'()*+,;=-._~") + (f"?{query}" if query else "")
        dialler = self._ready()
        lines = [
            f"{method} {f'{base.scheme}://{base.netloc}' if dialler.through_plain_proxy else ''}{target} HTTP/1.1",
            f"Host: {_without_usual_port(base.scheme, base.netloc)}",
            "Accept: application/json",
            "Accept-Encoding: identity",
            "Connection: keep-alive",
            f"User-Agent: clio/{__version__}",
        ]
        lines += [f"{name}: {value}" for name, value in auth.items()]
        if method == "POST":
            lines += ["Content-Type: application/json", f"Content-Length: {length}"]
        if dialler.through_plain_proxy:
            lines += dialler.proxy_headers
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _without_usual_port(scheme: str, place: str) -> str:
    return re.sub(":443$" if scheme == "https" else ":80$", "", place)


async def _next(pieces: AsyncGenerator[bytes]) -> bytes:
    """The next piece of a body, b"" at its end. Raises TransportFailed, also for too long a silence."""
    try:
        async with asyncio.timeout(SILENCE_TIMEOUT_S):
            return await anext(pieces, b"")
    except TimeoutError as error:
        raise TransportFailed(Failure(kind="timeout", detail="no data for too long")) from error
    except (OSError, ConnectionCut) as error:  # one of TLS is an OSError too
        raise TransportFailed(Failure(kind="broken", detail=str(error))) from error


async def _whole(pieces: AsyncGenerator[bytes], *, streaming: bool) -> bytes:
    found = bytearray()
    try:
        while piece := await _next(pieces):
            found += piece
            if len(found) > MAX_ANSWER_BYTES:
                raise TransportFailed(Failure(kind="endless", detail=f"more than {MAX_ANSWER_BYTES:,} bytes"))
    except TransportFailed as error:
        if streaming or error.failure.kind != "broken":
            raise
        raise TransportFailed(Failure(kind="timeout", detail=error.failure.detail)) from error
    return bytes(found)


async def _error_text(pieces: AsyncGenerator[bytes]) -> str:
    """As much of an error's body as comes: the status already says that it is one."""
    found = bytearray()
    with suppress(*_DROPS):
        async with asyncio.timeout(_ERROR_BODY_S):
            async for piece in pieces:
                found += piece
                if len(found) > MAX_ERROR_BYTES:
                    break
    return found[:MAX_ERROR_BYTES].decode("utf-8", "replace")


async def _finish(answer: ResponseBody) -> None:
    """Read what belongs to the answer behind its last event, if it comes soon."""
    if answer.ends_with_connection:
        return
    with suppress(*_DROPS):
        async with asyncio.timeout(_AFTER_DONE_S):
            while await answer.read():
                pass


def _take(stream: EventStream, piece: bytes, found: list[object]) -> bool:
    """Add the events that are whole with this piece; whether the last has come. Raises TransportFailed."""
    try:
        events = stream.feed(piece)
    except EventTooLong as error:
        raise TransportFailed(Failure(kind="endless", detail="an event without an end")) from error
    for data in events:
        if data.startswith(b"[DONE]"):
            return True
        found.append(_decoded(data))
    return False


def _decoded(data: bytes) -> object:
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):  # DecodeError and UnicodeDecodeError are ValueErrors
        pass
    text = data.decode("utf-8", "replace")
    try:  # more patient: NaN, and letters torn apart
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if said := repair_error_body(text):
            raise TransportFailed(Failure(kind="in_stream", body=said)) from error
        raise TransportFailed(Failure(kind="malformed", detail=f"not JSON: {error}")) from error
