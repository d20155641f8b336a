"""An HTTP server in the test's own event loop that sends exactly the bytes a test gives it.

    async with ByteServer([[answer("hi")], [HEAD, b"5\\r\\nhel", CLOSE]]) as server:
        ...  # server.url ends in /v1; one list of parts answers one request, whichever connection it comes over

CLOSE closes the connection; GONE waits until the client has closed it.
"""

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

from tests.support.waiting import run_loop_once

CLOSE = "close"
GONE = "gone"
Part = bytes | str

SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
TO_THE_END = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """Return one chunk of a chunked body; an empty one is the last."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def sse(*lines: bytes) -> list[Part]:
    """Return a whole event stream of these lines, one chunk per line."""
    return [SSE, *(chunk(line) for line in lines), chunk(b"")]


def answer(body: bytes, status: str = "200 OK", *headers: str, kind: str = "application/json") -> bytes:
    """Return a complete response with a Content-Length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


class ByteServer:
    """See above. requests: received heads and bodies. heads_only: the body of a request is not read."""

    def __init__(
        self, script: Sequence[Sequence[Part]], *, tls: ssl.SSLContext | None = None, heads_only: bool = False
    ) -> None:
        self._script = [list(parts) for parts in script]
        self._tls = tls
        self._heads_only = heads_only
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests: list[bytes] = []
        self.connections = 0
        self.port = 0
        self.asked = asyncio.Event()
        self.gone = asyncio.Event()
        self.closed = asyncio.Event()

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls, limit=2**26)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._serve(reader, writer):
                pass
        self._tasks.discard(task)
        writer.close()
        self.closed.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        self.requests.append(head if self._heads_only else head + await reader.readexactly(length))
        self.asked.set()
        for part in self._script.pop(0):
            if part == CLOSE:
                return False
            if part == GONE:
                with suppress(OSError):
                    while await reader.read(2**16):
                        pass
                self.gone.set()
                return False
            assert isinstance(part, bytes)
            writer.write(part)
            await writer.drain()
            await run_loop_once(3)  # so that it is sent in a packet of its own
        return True
