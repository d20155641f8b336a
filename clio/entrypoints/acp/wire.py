"""Standard input and output as the way to an editor: one JSON object a line, and nothing else ever.

Whatever else writes to standard output, in this process or in a child, then writes to standard error; children find
nothing on standard input. Both ends are served by threads, so files and pipes of every kind will do, and a reader that
does not read stops nothing but the updates that wait for it.
"""

import asyncio
import contextlib
import json
import os
import queue
import sys
import threading
from typing import Any, BinaryIO

MAX_LINE_BYTES = 64_000_000
"""A longer line is refused; pictures come within a line."""
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
_Waiting = tuple[bytes, "asyncio.Future[None]"]


class StdioTransport:
    """Messages by the line. Made and used on the event loop's thread; takes standard input and output over at once.

    What is no message is answered with an error, as JSON-RPC has it, and the next line is read.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._incoming: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._outgoing: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        source, sink = take_over()
        threading.Thread(target=self._read, args=(source,), name="acp-in", daemon=True).start()
        self._writer = threading.Thread(target=self._write, args=(sink,), name="acp-out", daemon=True)
        self._writer.start()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None where the editor has closed its end."""
        return await self._incoming.get()

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message. Returns when it is written; messages keep the order of the calls.

        Raises ConnectionError where nobody reads any more.
        """
        written = self._loop.create_future()
        self._outgoing.put((_encode(message), written))
        await written

    async def close(self) -> None:
        """Write what waits, and no more."""
        self._outgoing.put(None)
        await asyncio.to_thread(self._writer.join, 1.0)

    def _read(self, source: int) -> None:
        kept = bytearray()
        too_long = False
        while data := _some(source):
            start = len(kept)
            kept += data
            while (end := kept.find(b"\n", start)) >= 0:
                line, start = bytes(kept[:end]), 0
                del kept[: end + 1]
                if too_long or line.strip():
                    self._tell(self._take, b"" if too_long else line)
                too_long = False
            if len(kept) > MAX_LINE_BYTES:
                kept.clear()
                too_long = True
        self._tell(self._incoming.put_nowait, None)

    def _take(self, line: bytes) -> None:
        try:
            message: object = json.loads(line)
        except (ValueError, RecursionError):
            self._refuse(PARSE_ERROR, "Parse error: the line is no JSON")
            return
        if isinstance(message, dict):
            self._incoming.put_nowait(message)  # pyright: ignore[reportUnknownArgumentType]
        else:
            self._refuse(INVALID_REQUEST, "Invalid request: a message is one JSON object")

    def _refuse(self, code: int, text: str) -> None:
        answer = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}}
        self._outgoing.put((_encode(answer), self._loop.create_future()))

    def _write(self, sink: BinaryIO) -> None:
        broken: OSError | None = None
        while (waiting := self._outgoing.get()) is not None:
            data, written = waiting
            try:
                if broken is None:
                    sink.write(data)
                    sink.flush()
            except OSError as error:
                broken = error
                self._tell(self._incoming.put_nowait, None)  # who does not read has gone
            self._tell(_settle, written, broken)

    def _tell(self, act: Any, *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(act, *arguments)


def take_over() -> tuple[int, BinaryIO]:
    """The real standard input and output, which from now on nobody else reads or writes by accident."""
    source = os.dup(sys.stdin.fileno())
    sys.stdout.flush()
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return source, sink


def _some(source: int) -> bytes:
    """The next bytes; none at the end, or where it is closed under our hands."""
    try:
        return os.read(source, 1 << 16)
    except OSError:
        return b""


def _encode(message: dict[str, Any]) -> bytes:
    """One line. What JSON cannot say, such as an error among an error's data, is said as text."""
    return json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n"


def _settle(written: "asyncio.Future[None]", error: OSError | None) -> None:
    if written.done():
        return
    if error is None:
        written.set_result(None)
    else:
        written.set_exception(ConnectionError("the editor does not read any more"))
        written.exception()  # nobody may be waiting for it
