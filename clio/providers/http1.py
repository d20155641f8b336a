"""Answers of HTTP/1.1 as a client reads them: heads and bodies, everything bounded.

Source: RFC 9112. Lenient where servers are sloppy (bare LF, folded headers), strict where the length of a body is at
stake: a wrong guess there would read one answer as the beginning of the next.
"""

import asyncio
import re
from collections.abc import AsyncGenerator

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern

MAX_LINE_BYTES = 65_536
_MAX_HEAD_BYTES = 262_144
_PIECE_BYTES = 65_536
_MAX_INTERIM = 10
_STATUS_LINE = LatePattern(r"HTTP/1\.([01]) ([1-9]\d\d)(?: (.*))?")
_CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?\r?\n", re.DOTALL)


class NoHttp(Exception):
    """What came is not an answer of HTTP/1.1; says why."""


class CutOff(Exception):
    """The connection ended in the middle of an answer."""


class HungUp(CutOff):
    """It ended before the first byte of an answer."""


class Head(Struct, frozen=True, kw_only=True):
    """The beginning of an answer. headers: names in lower case, repeated ones joined by commas.

    keeps: whether the server means to go on with the connection after it.
    """

    status: int
    reason: str
    headers: dict[str, str]
    keeps: bool

    @property
    def content_type(self) -> str:
        """The media type alone, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_head(reader: asyncio.StreamReader) -> Head:
    """The next answer's head, preliminary ones (100 to 199) passed over.

    Raises NoHttp, HungUp, CutOff or OSError.
    """
    first = await _line(reader)
    if not first:
        raise HungUp("hung up without an answer")
    for _ in range(_MAX_INTERIM):
        head = await _read_rest(first, reader)
        if head.status >= 200:
            return head
        first = await _line(reader)
    raise NoHttp("only preliminary answers")


async def _read_rest(first: str, reader: asyncio.StreamReader) -> Head:
    found = _STATUS_LINE.fullmatch(first.rstrip())
    if found is None:
        raise NoHttp(f"not HTTP but {first[:40]!r}")
    headers = await _read_headers(reader)
    connection = headers.get("connection", "").lower()
    keeps = "close" not in connection and (found[1] == "1" or "keep-alive" in connection)
    return Head(status=int(found[2]), reason=(found[3] or "").strip(), headers=headers, keeps=keeps)


async def _read_headers(reader: asyncio.StreamReader) -> dict[str, str]:
    headers: dict[str, str] = {}
    name, size = "", 0
    while (line := await _line(reader)).rstrip("\r\n"):
        size += len(line)
        if size > _MAX_HEAD_BYTES:
            raise NoHttp("a head without an end")
        if line[0] in " \t" and name:  # folded, as once was allowed
            headers[name] += f" {line.strip()}"
            continue
        name, colon, value = line.partition(":")
        name = name.strip().lower()
        if not colon:
            raise NoHttp(f"not a header but {line[:40]!r}")
        headers[name] = f"{headers[name]}, {value.strip()}" if name in headers else value.strip()
    if not line:
        raise CutOff("the answer broke off in its head")
    return headers


async def _line(reader: asyncio.StreamReader) -> str:
    """A line with its end, "" where the connection ended."""
    return (await _raw_line(reader)).decode("latin-1")


async def _raw_line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise CutOff("the answer broke off in a line") from error
        return b""
    except asyncio.LimitOverrunError as error:
        raise NoHttp("a line without an end") from error


class Body:
    """The bytes after a head, as they come. `whole` is set once the last was read."""

    def __init__(self, reader: asyncio.StreamReader, head: Head) -> None:
        self._reader = reader
        self._chunked, self._left = _framing(head)
        self._in_chunks = False
        self.whole = self._left == 0 and not self._chunked

    @property
    def ends_with_connection(self) -> bool:
        """Whether only the connection's end will tell where it is over."""
        return self._left is None

    @property
    def is_over(self) -> bool:
        """Whether all of it was read and the connection can carry another answer."""
        return self.whole and self._left is not None

    async def read(self) -> bytes:
        """The next piece, b"" at the end. Raises CutOff, NoHttp or OSError."""
        if self.whole:
            return b""
        if self._chunked and not self._left:
            await self._next_chunk()
            if self.whole:
                return b""
        piece = await self._reader.read(_PIECE_BYTES if self._left is None else min(self._left, _PIECE_BYTES))
        if not piece:
            if self._left is not None:
                raise CutOff("the connection was closed")
            self.whole = True
        if self._left is not None:
            self._left -= len(piece)
            self.whole = not self._left and not self._chunked
        return piece

    async def _next_chunk(self) -> None:
        if self._in_chunks and (await _raw_line(self._reader)).strip():
            raise NoHttp("a chunk longer than it said")
        line = await _raw_line(self._reader)
        if not line:
            raise CutOff("the connection was closed")
        found = _CHUNK_SIZE.fullmatch(line)
        if found is None:
            raise NoHttp(f"not a chunk but {line[:40]!r}")
        self._in_chunks = True
        self._left = int(found[1], 16)
        if not self._left:
            await _read_headers(self._reader)  # trailers, which nobody needs
            self.whole = True


def _framing(head: Head) -> tuple[bool, int | None]:
    """Whether the body comes in chunks, and else its length; None where it lasts as long as the connection."""
    if head.status in (204, 304):
        return False, 0
    coding = head.headers.get("transfer-encoding", "").lower()
    if coding:
        if coding != "chunked":
            raise NoHttp(f"a transfer encoding nobody asked for, {coding!r}")
        return True, 0
    length = head.headers.get("content-length")
    if length is None:
        return False, None
    values = {value.strip() for value in length.split(",")}
    value = values.pop()
    if values or not (value.isascii() and value.isdigit() and len(value) < 19):
        raise NoHttp(f"a length that is none, {length!r}")
    return False, int(value)


async def unpacked(body: Body, coding: str) -> AsyncGenerator[bytes]:
    """The pieces of the body, unpacked where a server packs though it was asked not to.

    A piece is at most 64 kB, however much stands in a few bytes. Raises as `Body.read`; NoHttp for other codings.
    """
    if coding in ("", "identity"):
        while piece := await body.read():
            yield piece
        return
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise NoHttp(f"a content encoding nobody asked for, {coding!r}")
    import zlib

    unpacker = zlib.decompressobj(wbits=47)  # gzip or zlib, by its head
    try:
        while piece := await body.read():
            while piece:
                if found := unpacker.decompress(piece, _PIECE_BYTES):
                    yield found
                if unpacker.eof:  # what was packed in parts begins anew; the tail of a part that is over never shrinks
                    piece, unpacker = unpacker.unused_data.lstrip(b"\0"), zlib.decompressobj(wbits=47)
                else:
                    piece = unpacker.unconsumed_tail
        if found := unpacker.flush():
            yield found
    except zlib.error as error:
        raise NoHttp(f"packed wrongly ({error})") from error
