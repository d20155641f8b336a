"""HTTP/1.1 answers out of bytes that arrive cut anywhere: heads, bodies, chunks, server-sent events."""

import asyncio
import re
from collections.abc import AsyncGenerator

from msgspec import Struct

from clio.text.lazy_regex import LazyRegex

MAX_LINE_BYTES = 65_536
MAX_HEAD_BYTES = 262_144
_MAX_INTERIM = 10
_STATUS_LINE = LazyRegex(r"HTTP/1\.([01]) ([1-9]\d\d)(?: (.*))?")


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
        if size > MAX_HEAD_BYTES:
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
    try:
        return (await reader.readuntil(b"\n")).decode("latin-1")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise CutOff("the answer broke off in a line") from error
        return ""
    except asyncio.LimitOverrunError as error:
        raise NoHttp("a line without an end") from error


_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?\r?\n", re.DOTALL)


class Chunked:
    """Takes the frames of the chunks away."""

    def __init__(self) -> None:
        self._left = 0  # bytes of a chunk that are still to come
        self._begun = b""  # a line of the frames that is not whole
        self._ended_chunk = False
        self._trailer_bytes: int | None = None  # None before the last chunk
        self.is_over = False
        self.wrong = ""
        """Why no more can be read of it, where a frame is none; what stood before it was given."""
        self.surplus = False
        """Whether more came than the body: then nobody knows what comes over this connection next."""

    def feed(self, piece: bytes) -> bytes:
        """What of the body stands in the next bytes; b"" where there are only frames."""
        if self._begun:
            piece, self._begun = self._begun + piece, b""
        found: list[bytes] = []
        at, size = 0, len(piece)
        while at < size and not self.is_over and not self.wrong:
            if self._left:
                data = piece[at : at + self._left]
                found.append(data)
                at += len(data)
                self._left -= len(data)
            else:
                end = piece.find(b"\n", at) + 1
                if not end:
                    break
                self._line(piece[at:end])
                at = end
        self._begun = piece[at:]
        if self.is_over:
            self.surplus = bool(self._begun)
        elif len(self._begun) > MAX_LINE_BYTES:
            self.wrong = "a line without an end"
        return b"".join(found)

    def _line(self, line: bytes) -> None:
        if self._trailer_bytes is not None:  # nobody needs them
            self._trailer_bytes += len(line)
            if self._trailer_bytes > MAX_HEAD_BYTES:
                self.wrong = "trailers without an end"
            self.is_over = not line.strip(b"\r\n")
        elif self._ended_chunk:
            if line.strip():
                self.wrong = "a chunk longer than it said"
            self._ended_chunk = False
        elif size := _SIZE.fullmatch(line):
            self._left = int(size[1], 16)
            self._ended_chunk = self._left > 0
            self._trailer_bytes = None if self._left else 0
        else:
            self.wrong = f"not a chunk but {line[:40]!r}"


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


MAX_EVENT_BYTES = 32_000_000
"""More than any answer holds; a stream that never ends a line is let go of here."""
_BOM = b"\xef\xbb\xbf"


class EventTooLong(Exception):
    """A stream without an end of its events."""


class EventStream:
    """The data of each event, in order; lines may end in LF, CR or CRLF. Names, ids and waits are not for us."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._begun = False

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of the events that are whole with this piece. Raises EventTooLong."""
        if self._after_cr and piece.startswith(b"\n"):  # the second half of a CRLF
            piece = piece[1:]
            self._after_cr = False
        if not piece:
            return []
        self._after_cr = piece.endswith(b"\r")
        lines = piece.splitlines()  # of bytes: at LF, CR and CRLF alone
        rest = b"" if piece.endswith((b"\r", b"\n")) else lines.pop()
        found: list[bytes] = []
        for line in lines:
            self._take(bytes(self._line) + line if self._line else line, found)
            self._line.clear()
        self._line += rest
        if self._size + len(self._line) > MAX_EVENT_BYTES:
            raise EventTooLong
        return found

    def end(self) -> bytes:
        """What stood last without the empty line that should have ended it; b"" where nothing did.

        The standard drops it. Some servers forget the line, so the caller takes what proves to be whole.
        """
        found: list[bytes] = []
        self._take(bytes(self._line), found)
        self._line.clear()
        self._take(b"", found)
        return found[0] if found else b""

    def _take(self, line: bytes, found: list[bytes]) -> None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_BOM)
        if line:
            field, _, value = line.partition(b":")  # of a comment, the field is empty
            if field == b"data":
                self._data.append(value.removeprefix(b" "))
                self._size += len(value)
        elif self._data:
            data = b"\n".join(self._data)
            self._data.clear()
            self._size = 0
            if data:
                found.append(data)
