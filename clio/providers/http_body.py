"""The bodies of HTTP/1.1 answers, as they come.

Source: RFC 9112. Strict where the length of a body is at stake: a wrong guess there would read one answer as the
beginning of the next.
"""

import asyncio
from collections.abc import AsyncGenerator

from clio.providers.chunked import Chunked
from clio.providers.http1 import CutOff, Head, NoHttp

_PIECE_BYTES = 65_536


class Body:
    """The bytes after a head. `whole` is set once the last was read."""

    def __init__(self, reader: asyncio.StreamReader, head: Head) -> None:
        self._reader = reader
        self._chunked, self._left = _framing(head)
        self.whole = self._left == 0

    @property
    def ends_with_connection(self) -> bool:
        """Whether only the connection's end will tell where it is over."""
        return self._chunked is None and self._left is None

    @property
    def is_over(self) -> bool:
        """Whether all of it was read and the connection can carry another answer."""
        if self._chunked is not None and self._chunked.surplus:
            return False
        return self.whole and not self.ends_with_connection

    async def read(self) -> bytes:
        """All that has come in meanwhile, up to 64 kB, else the next bytes that come; b"" at the end.

        Raises CutOff, NoHttp or OSError.
        """
        while not self.whole:
            if self._chunked is not None and self._chunked.wrong:
                raise NoHttp(self._chunked.wrong)
            piece = await self._reader.read(_PIECE_BYTES if self._left is None else min(self._left, _PIECE_BYTES))
            if not piece and not self.ends_with_connection:
                raise CutOff("the connection was closed")
            if self._chunked is not None:
                piece = self._chunked.feed(piece)
                self.whole = self._chunked.is_over
            elif self._left is not None:
                self._left -= len(piece)
                self.whole = not self._left
            else:
                self.whole = not piece
            if piece:
                return piece
        return b""


def _framing(head: Head) -> tuple[Chunked | None, int | None]:
    """How the end of the body is told: by its chunks, by its length in bytes, or by the connection's end."""
    if head.status in (204, 304):
        return None, 0
    coding = head.headers.get("transfer-encoding", "").lower()
    if coding:
        if coding != "chunked":
            raise NoHttp(f"a transfer encoding nobody asked for, {coding!r}")
        return Chunked(), None
    length = head.headers.get("content-length")
    if length is None:
        return None, None
    values = {value.strip() for value in length.split(",")}
    value = values.pop()
    if values or not (value.isascii() and value.isdigit() and len(value) < 19):
        raise NoHttp(f"a length that is none, {length!r}")
    return None, int(value)


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
