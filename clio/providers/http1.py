"""The heads of HTTP/1.1 answers as a client reads them, bounded, and what can be wrong with an answer.

Source: RFC 9112. Lenient where servers are sloppy: bare LF, folded headers.
"""

import asyncio

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern

MAX_LINE_BYTES = 65_536
MAX_HEAD_BYTES = 262_144
_MAX_INTERIM = 10
_STATUS_LINE = LatePattern(r"HTTP/1\.([01]) ([1-9]\d\d)(?: (.*))?")


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
