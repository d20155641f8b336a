"""HTTP/1.1 connections, direct or through a proxy, and incremental parsers for answers and event streams."""

import asyncio
import base64
import ipaddress
import os
import re
import socket
import ssl
import sys
import threading
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from clio.providers.failure import Failure, TransportFailed
from clio.providers.urls import is_loopback, url_host
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr

MAX_LINE_BYTES = 65_536
MAX_HEAD_BYTES = 262_144
_MAX_INTERIM = 10
_STATUS_LINE = LazyRegex(r"HTTP/1\.([01]) ([1-9]\d\d)(?: (.*))?")


class NotHttp(Exception):
    """The received data is not a valid HTTP/1.1 answer; the message says why."""


class ConnectionCut(Exception):
    """The connection ended before the answer did."""


class ConnectionClosed(ConnectionCut):
    """The connection ended before the first byte of an answer."""


class ResponseHead(Struct, frozen=True, kw_only=True):
    """The status line and headers of an answer.

    headers: names in lower case, repeated ones joined by commas. keeps_alive: whether the server keeps the connection
    open after the answer.
    """

    status: int
    reason: str
    headers: dict[str, str]
    keeps_alive: bool

    @property
    def content_type(self) -> str:
        """The media type without parameters, in lower case; "" if there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_response_head(reader: asyncio.StreamReader) -> ResponseHead:
    """Read the head of the next answer, skipping interim answers (status 100 to 199).

    Raises NotHttp, ConnectionClosed, ConnectionCut or OSError.
    """
    first = await _read_line(reader)
    if not first:
        raise ConnectionClosed(tr("closed without an answer"))
    for _ in range(_MAX_INTERIM):
        head = await _read_rest(first, reader)
        if head.status >= 200:
            return head
        first = await _read_line(reader)
    raise NotHttp(tr("only interim answers"))


async def _read_rest(first: str, reader: asyncio.StreamReader) -> ResponseHead:
    found = _STATUS_LINE.fullmatch(first.rstrip())
    if found is None:
        raise NotHttp(tr("not HTTP but {first!r}", first=first[:40]))
    headers = await _read_headers(reader)
    connection = headers.get("connection", "").lower()
    keeps = "close" not in connection and (found[1] == "1" or "keep-alive" in connection)
    return ResponseHead(status=int(found[2]), reason=(found[3] or "").strip(), headers=headers, keeps_alive=keeps)


async def _read_headers(reader: asyncio.StreamReader) -> dict[str, str]:
    headers: dict[str, str] = {}
    name, size = "", 0
    while (line := await _read_line(reader)).rstrip("\r\n"):
        size += len(line)
        if size > MAX_HEAD_BYTES:
            raise NotHttp(tr("headers without an end"))
        if line[0] in " \t" and name:  # obsolete line folding (RFC 9112, section 5.2)
            headers[name] += f" {line.strip()}"
            continue
        name, colon, value = line.partition(":")
        name = name.strip().lower()
        if not colon:
            raise NotHttp(tr("not a header but {line!r}", line=line[:40]))
        headers[name] = f"{headers[name]}, {value.strip()}" if name in headers else value.strip()
    if not line:
        raise ConnectionCut(tr("the connection closed within the headers"))
    return headers


async def _read_line(reader: asyncio.StreamReader) -> str:
    """Return the next line with its line end; "" if the connection has ended."""
    try:
        return (await reader.readuntil(b"\n")).decode("latin-1")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise ConnectionCut(tr("the connection closed within a line")) from error
        return ""
    except asyncio.LimitOverrunError as error:
        raise NotHttp(tr("a line without an end")) from error


_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?\r?\n", re.DOTALL)


class ChunkedBody:
    """Decodes a body with chunked transfer encoding."""

    def __init__(self) -> None:
        self._left = 0  # bytes of a chunk that are still to come
        self._partial = b""  # an incomplete line of the framing
        self._ended_chunk = False
        self._trailer_bytes: int | None = None  # None before the last chunk
        self.is_over = False
        self.wrong = ""
        """Why the rest cannot be decoded, if the framing is invalid; the data before it has been returned."""
        self.surplus = False
        """Whether data followed the body: the connection is then in an unknown state and must not be reused."""

    def feed(self, piece: bytes) -> bytes:
        """Return the body data in the next bytes; b"" if they contain only framing."""
        if self._partial:
            piece, self._partial = self._partial + piece, b""
        found: list[bytes] = []
        position, size = 0, len(piece)
        while position < size and not self.is_over and not self.wrong:
            if self._left:
                data = piece[position : position + self._left]
                found.append(data)
                position += len(data)
                self._left -= len(data)
            else:
                end = piece.find(b"\n", position) + 1
                if not end:
                    break
                self._read_framing_line(piece[position:end])
                position = end
        self._partial = piece[position:]
        if self.is_over:
            self.surplus = bool(self._partial)
        elif len(self._partial) > MAX_LINE_BYTES:
            self.wrong = tr("a line without an end")
        return b"".join(found)

    def _read_framing_line(self, line: bytes) -> None:
        if self._trailer_bytes is not None:  # trailers are ignored
            self._trailer_bytes += len(line)
            if self._trailer_bytes > MAX_HEAD_BYTES:
                self.wrong = tr("trailers without an end")
            self.is_over = not line.strip(b"\r\n")
        elif self._ended_chunk:
            if line.strip():
                self.wrong = tr("a chunk longer than its stated size")
            self._ended_chunk = False
        elif size := _SIZE.fullmatch(line):
            self._left = int(size[1], 16)
            self._ended_chunk = self._left > 0
            self._trailer_bytes = None if self._left else 0
        else:
            self.wrong = tr("not a chunk but {line!r}", line=line[:40])


_PIECE_BYTES = 65_536


class ResponseBody:
    """The body of an answer. whole: whether its last byte was read."""

    def __init__(self, reader: asyncio.StreamReader, head: ResponseHead) -> None:
        self._reader = reader
        self._chunked, self._left = _find_framing(head)
        self.whole = self._left == 0

    @property
    def ends_with_connection(self) -> bool:
        """Whether only the end of the connection marks the end of the body."""
        return self._chunked is None and self._left is None

    @property
    def is_over(self) -> bool:
        """Whether the body was read to its end and the connection can be reused."""
        if self._chunked is not None and self._chunked.surplus:
            return False
        return self.whole and not self.ends_with_connection

    async def read(self) -> bytes:
        """Return the data received so far, up to 64 kB, or wait for more; b"" at the end.

        Raises ConnectionCut, NotHttp or OSError.
        """
        while not self.whole:
            if self._chunked is not None and self._chunked.wrong:
                raise NotHttp(self._chunked.wrong)
            piece = await self._reader.read(_PIECE_BYTES if self._left is None else min(self._left, _PIECE_BYTES))
            if not piece and not self.ends_with_connection:
                raise ConnectionCut(tr("the connection was closed"))
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


def _find_framing(head: ResponseHead) -> tuple[ChunkedBody | None, int | None]:
    """Return how the body ends: (decoder, None) if chunked, (None, bytes), or (None, None) for the connection's end.

    Raises NotHttp.
    """
    if head.status in (204, 304):
        return None, 0
    coding = head.headers.get("transfer-encoding", "").lower()
    if coding:
        if coding != "chunked":
            raise NotHttp(tr("unsupported transfer encoding {coding!r}", coding=coding))
        return ChunkedBody(), None
    length = head.headers.get("content-length")
    if length is None:
        return None, None
    values = {value.strip() for value in length.split(",")}
    value = values.pop()
    if values or not (value.isascii() and value.isdigit() and len(value) < 19):
        raise NotHttp(tr("invalid content length {length!r}", length=length))
    return None, int(value)


async def iter_decompressed(body: ResponseBody, coding: str) -> AsyncGenerator[bytes]:
    """Yield the pieces of the body, decompressed: some servers compress although the request asked them not to.

    A piece has at most 64 kB, whatever the compression ratio. Raises as `ResponseBody.read`; NotHttp for an unknown
    coding.
    """
    if coding in ("", "identity"):
        while piece := await body.read():
            yield piece
        return
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise NotHttp(tr("unsupported content encoding {coding!r}", coding=coding))
    import zlib

    unpacker = zlib.decompressobj(wbits=47)  # gzip or zlib, detected by its header
    try:
        while piece := await body.read():
            while piece:
                if found := unpacker.decompress(piece, _PIECE_BYTES):
                    yield found
                if unpacker.eof:  # the data may have several compressed members; zero padding between them is skipped
                    piece, unpacker = unpacker.unused_data.lstrip(b"\0"), zlib.decompressobj(wbits=47)
                else:
                    piece = unpacker.unconsumed_tail
        if found := unpacker.flush():
            yield found
    except zlib.error as error:
        raise NotHttp(tr("invalid compressed data ({error})", error=error)) from error


MAX_EVENT_BYTES = 32_000_000
"""Maximum size of one event, larger than any real answer; a larger one closes the stream."""
_BOM = b"\xef\xbb\xbf"


class EventTooLong(Exception):
    """An event of a stream is larger than MAX_EVENT_BYTES."""


class EventStream:
    """Parses server-sent events and returns their data; names, ids and retry times are ignored.

    Lines may end in LF, CR or CRLF.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._begun = False

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the data of the events completed by this piece. Raises EventTooLong."""
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
        """Return the data of a last event without the empty line that ends an event; b"" if there is none.

        The standard drops such an event. Some servers omit the empty line, so the caller uses it if it is valid JSON.
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


def read_environment_proxies() -> dict[str, str]:
    """Return the proxies in the environment by "http", "https", "all" and "no"; lower-case variables take precedence.

    On macOS and Windows, the system's settings are used if the environment has none.
    """
    if sys.platform in ("darwin", "win32"):
        from urllib.request import getproxies

        return getproxies()
    found: dict[str, str] = {}
    for kind in ("http", "https", "all", "no"):
        for name in (f"{kind}_proxy", f"{kind}_proxy".upper()):
            if name in os.environ:  # an empty variable disables the upper-case one
                found[kind] = os.environ[name].strip()
                break
    return found


def find_proxy(url: str, proxies: Mapping[str, str]) -> str:
    """Return the URL of the proxy for a URL; "" for none. Loopback addresses never use a proxy.

    proxies: the result of `read_environment_proxies`.
    """
    host, scheme = url_host(url), urlsplit(url).scheme
    proxy = proxies.get(scheme) or proxies.get("all") or ""
    if (
        not proxy
        or is_loopback(host)
        or any(_matches_no_proxy(entry, url, host) for entry in proxies.get("no", "").split(","))
    ):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _matches_no_proxy(entry: str, url: str, host: str) -> bool:
    """Whether an entry of NO_PROXY matches this host: "*", a domain with its subdomains, an address, or a network."""
    entry = entry.strip().lower()
    if not entry or entry == "*":
        return bool(entry)
    if "://" in entry:
        scheme, _, entry = entry.partition("://")
        if scheme not in ("all", urlsplit(url).scheme):
            return False
    try:
        address = ipaddress.ip_address(host)
        return address in ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        pass  # at least one of them is a name
    name, _, port = entry.partition(":")
    if port and port != str(urlsplit(url).port or {"http": 80, "https": 443}[urlsplit(url).scheme]):
        return False
    if name.startswith(("*.", ".")):
        return host.endswith(name.lstrip("*"))
    return host == name or host.endswith(f".{name}")


_SECOND_ADDRESS_S = 0.25
"""Delay before the next address of a host is tried concurrently (RFC 8305)."""
_BUNDLES = (
    "/etc/ssl/cert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/cert.pem",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/ca-bundle.pem",
)
"""Certificate bundles of distributions, for a Python whose OpenSSL was built with other default paths."""

SYSTEM_STORES = ("darwin", "win32")
"""Systems that do not store their trusted certificates in files."""

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def make_tls_context(platform: str = sys.platform) -> ssl.SSLContext:
    """Return a TLS context that trusts the certificates in SSL_CERT_FILE or SSL_CERT_DIR, else those of the system.

    macOS and Windows do not store certificates in files: there the system verifies a server's certificate, through
    truststore. Takes 1 to 50 ms, depending on how the certificates are stored. Raises OSError for an invalid file,
    ImportError without truststore.
    """
    if named := os.environ.get("SSL_CERT_FILE"):
        return ssl.create_default_context(cafile=named)
    if named := os.environ.get("SSL_CERT_DIR"):
        return ssl.create_default_context(capath=named)
    if platform in SYSTEM_STORES:
        import truststore  # not in every installation, see `lean_transport.explain_package_need`

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    built_in = ssl.get_default_verify_paths()
    cafile = built_in.openssl_cafile if Path(built_in.openssl_cafile).is_file() else None
    capath = built_in.openssl_capath if _holds_certificates(built_in.openssl_capath) else None
    if not cafile and not capath:
        cafile = next((path for path in _BUNDLES if Path(path).is_file()), None)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if cafile or capath:
        context.load_verify_locations(cafile, capath)
    return context


def _holds_certificates(folder: str) -> bool:
    try:
        return any(re.fullmatch(r"[0-9a-fA-F]{8}\.\d", path.name) for path in Path(folder).iterdir())
    except OSError:
        return False


class Connector:
    """Opens connections to the server of one URL. The proxy is read from the environment once, on creation."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._secure = parts.scheme == "https"
        self._port = parts.port or (443 if self._secure else 80)
        self._proxy = find_proxy(url, read_environment_proxies())
        self._context: ssl.SSLContext | None = None
        self._lock = threading.Lock()

    @property
    def through_plain_proxy(self) -> bool:
        """Whether requests are sent to a proxy in plain HTTP, and must contain complete URLs."""
        return bool(self._proxy) and not self._secure

    @property
    def proxy_headers(self) -> list[str]:
        """The header lines with the proxy's credentials; [] if there are none."""
        parts = urlsplit(self._proxy)
        if parts.username is None:
            return []
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return [f"Proxy-Authorization: Basic {base64.b64encode(login.encode()).decode()}"]

    def warm_up(self) -> None:
        """Create the TLS context if one is needed. Thread-safe. Raises TransportFailed."""
        with self._lock:
            if self._secure and self._context is None:
                try:
                    self._context = make_tls_context()
                except (OSError, ImportError) as error:
                    raise _failed("tls", tr("no certificates could be read: {error}", error=error)) from error

    async def open(self, timeout_s: float) -> Streams:
        """Open a connection, including the TLS handshake. Raises TransportFailed."""
        if self._secure and self._context is None:
            await asyncio.to_thread(self.warm_up)
        try:
            async with asyncio.timeout(timeout_s):
                return await (self._tunnel() if self._proxy else self._straight())
        except TimeoutError as error:
            raise _failed("connect_timeout", tr("no connection in time")) from error
        except (socket.gaierror, UnicodeError) as error:
            raise _failed("proxy" if self._proxy else "dns", str(error)) from error
        except ssl.SSLError as error:
            raise _failed("tls", str(error)) from error
        except OSError as error:
            raise _failed("proxy" if self._proxy else "refused", str(error)) from error

    async def _straight(self) -> Streams:
        if "xn--" in self._host:
            self._host.encode("ascii").decode("idna")  # raises UnicodeError for an invalid name
        return await _connect(self._host, self._port, self._context)

    async def _tunnel(self) -> Streams:
        parts = urlsplit(self._proxy)
        if parts.scheme != "http" or not parts.hostname:
            raise _failed(
                "proxy",
                tr("clio's own client cannot use {scheme}:// proxies: set transport: openai", scheme=parts.scheme),
            )
        reader, writer = await _connect(parts.hostname, parts.port or 80, None)
        if not self._secure:
            return reader, writer
        place = f"[{self._host}]:{self._port}" if ":" in self._host else f"{self._host}:{self._port}"
        lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}", *self.proxy_headers]
        try:
            writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
            head = await read_response_head(reader)
            if not 200 <= head.status < 300:
                raise _failed("proxy", f"{head.status} {head.reason}")
            await writer.start_tls(_require_context(self._context), server_hostname=self._host)
        except (NotHttp, ConnectionCut) as error:
            writer.transport.abort()
            raise _failed("proxy", str(error)) from error
        except BaseException:
            writer.transport.abort()
            raise
        return reader, writer


async def _connect(host: str, port: int, context: ssl.SSLContext | None) -> Streams:
    reader, writer = await asyncio.open_connection(
        host,
        port,
        ssl=context,
        limit=MAX_LINE_BYTES,
        happy_eyeballs_delay=_SECOND_ADDRESS_S,
    )
    # A reasoning model may send nothing for minutes; keep-alive packets stop routers from dropping the connection.
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return reader, writer


def _require_context(context: ssl.SSLContext | None) -> ssl.SSLContext:
    assert context is not None
    return context


def _failed(kind: str, detail: str) -> TransportFailed:
    return TransportFailed(Failure(kind=kind, detail=detail))  # type: ignore[arg-type]
