"""One page over HTTP(S), bounded in bytes, redirects and time; every hop is checked and connected to as checked."""

import socket
import ssl
import zlib
from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin, urlsplit

from msgspec import Struct

from clio import __version__
from clio.errors import ToolFailed
from clio.security.url_policy import Target, UrlRefused, check_url

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

MAX_BYTES = 5_000_000
MAX_REDIRECTS = 5
TIMEOUT_S = 20.0
_PIECE = 65_536
_HEADERS = {
    "User-Agent": f"clio/{__version__}",
    "Accept": "text/html, text/plain, application/json, */*;q=0.1",
    "Accept-Encoding": "gzip",
    "Connection": "close",
}
_REDIRECTS = (301, 302, 303, 307, 308)
_URL_CHARS = "/%:=&?~+!$,;'@()*[]|"


class Page(Struct, frozen=True, kw_only=True):
    """What a server gave. `url` is the last hop; `charset` is empty where it named none; `cut`: there was more."""

    url: str
    content_type: str
    charset: str
    body: bytes
    cut: bool


class Fetch:
    """One fetch, to be run in a thread and stopped from another."""

    def __init__(self, url: str, *, allow_private: bool) -> None:
        self._url = url
        self._allow_private = allow_private
        self._connection: HTTPConnection | None = None
        self.stopped = False

    def stop(self) -> None:
        """Make `run` end soon: it raises ToolFailed, which nobody need hear."""
        self.stopped = True
        sock = self._connection.sock if self._connection else None
        if isinstance(sock, socket.socket):
            try:
                # Past SSLSocket.shutdown, which takes the connection apart under the thread that is reading from it.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
            except OSError:
                return  # it has just been closed by its own thread

    def run(self) -> Page:
        """The page after at most five redirects. Raises ToolFailed, in one sentence with the cause."""
        from http.client import HTTPException  # brings the package email with it, for which no start-up should wait

        url = self._url
        for _ in range(MAX_REDIRECTS + 1):
            try:
                target = check_url(url, self._allow_private)
                answer = self._ask(target)
            except UrlRefused as error:
                raise ToolFailed(f"{url!r} is not fetched: {error}" if url != self._url else str(error)) from error
            except ssl.SSLCertVerificationError as error:
                raise ToolFailed(f"the certificate of {url!r} is not valid: {error.verify_message}") from error
            except (OSError, HTTPException, zlib.error) as error:
                raise ToolFailed(f"{url!r} could not be fetched: {error or type(error).__name__}") from error
            if isinstance(answer, Page):
                return answer
            url = answer
        raise ToolFailed(f"{self._url!r} redirects more than {MAX_REDIRECTS} times")

    def _ask(self, target: Target) -> Page | str:
        """The page, or the URL it has moved to."""
        url = target.parts.url
        connection = _connection(target)
        self._connection = connection
        try:
            _connect(connection, target)
            connection.request("GET", _request_target(url), headers=_HEADERS)
            response = connection.getresponse()
            if response.status in _REDIRECTS and response.getheader("Location"):
                return urljoin(url, response.getheader("Location") or "")
            if not 200 <= response.status < 300:
                raise ToolFailed(f"the server answered {response.status} {response.reason} for {url!r}")
            body, cut = self._body(response)
            return Page(
                url=url,
                content_type=response.headers.get_content_type() if response.getheader("Content-Type") else "",
                charset=response.headers.get_content_charset() or "",
                body=body,
                cut=cut,
            )
        finally:
            connection.close()

    def _body(self, response: "HTTPResponse") -> tuple[bytes, bool]:
        """The body, unpacked, up to the bound: a small packed body may be a huge page."""
        coding = (response.getheader("Content-Encoding") or "identity").strip().lower()
        if coding not in ("identity", "gzip", "x-gzip", "deflate"):
            raise ToolFailed(f"the server packed the page as {coding!r}, which was not asked for and cannot be read")
        unpack = None if coding == "identity" else zlib.decompressobj(zlib.MAX_WBITS | 32)
        body = bytearray()
        while len(body) <= MAX_BYTES:
            piece = response.read1(_PIECE)
            if self.stopped:
                raise ToolFailed("the fetch was stopped")
            if not piece:
                return bytes(body), False
            body += unpack.decompress(piece, MAX_BYTES + 1 - len(body)) if unpack else piece
        return bytes(body[:MAX_BYTES]), True


def _connection(target: Target) -> "HTTPConnection":
    from http.client import HTTPConnection

    connection = HTTPConnection(target.parts.host, target.parts.port, timeout=TIMEOUT_S)
    connection.default_port = 443 if target.parts.scheme == "https" else 80
    return connection


def _connect(connection: "HTTPConnection", target: Target) -> None:
    """To the address that was checked, under the name that was asked for."""
    connection.sock = socket.create_connection((target.address, target.parts.port), timeout=TIMEOUT_S)
    if target.parts.scheme == "https":
        connection.sock = ssl.create_default_context().wrap_socket(connection.sock, server_hostname=target.parts.host)


def _request_target(url: str) -> str:
    parts = urlsplit(url)
    query = f"?{quote(parts.query, safe=_URL_CHARS)}" if parts.query else ""
    return quote(parts.path or "/", safe=_URL_CHARS) + query
