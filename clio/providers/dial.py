"""A connection to a server: straight or through a proxy of the environment, in the clear or with TLS."""

import asyncio
import base64
import ipaddress
import os
import re
import socket
import ssl
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from clio.providers.failure import Failure, TransportFailed
from clio.providers.http1 import MAX_LINE_BYTES, CutOff, NoHttp, read_head
from clio.providers.urls import host_of, is_loopback


def environment_proxies() -> dict[str, str]:
    """What is set, by "http", "https", "all" and "no"; lower-case variables win. Or else what the system says."""
    if sys.platform in ("darwin", "win32"):
        from urllib.request import getproxies

        return getproxies()
    found: dict[str, str] = {}
    for kind in ("http", "https", "all", "no"):
        for name in (f"{kind}_proxy", f"{kind}_proxy".upper()):
            if name in os.environ:  # one set to nothing takes the other away
                found[kind] = os.environ[name].strip()
                break
    return found


def proxy_for(url: str, proxies: Mapping[str, str]) -> str:
    """The proxy's URL, "" for none. This machine itself is never reached through one.

    proxies: as `environment_proxies` gives them.
    """
    host, scheme = host_of(url), urlsplit(url).scheme
    proxy = proxies.get(scheme) or proxies.get("all") or ""
    if not proxy or is_loopback(host) or any(_spares(entry, url, host) for entry in proxies.get("no", "").split(",")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _spares(entry: str, url: str, host: str) -> bool:
    """Whether an entry of NO_PROXY means this host: "*", a name with all below it, an address, a network."""
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
        pass  # a name on one side at least
    name, _, port = entry.partition(":")
    if port and port != str(urlsplit(url).port or {"http": 80, "https": 443}[urlsplit(url).scheme]):
        return False
    if name.startswith(("*.", ".")):
        return host.endswith(name.lstrip("*"))
    return host == name or host.endswith(f".{name}")


_SECOND_ADDRESS_S = 0.25
"""How long the first address of a name may take before the next is tried beside it (RFC 8305)."""
_BUNDLES = (
    "/etc/ssl/cert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/cert.pem",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/ca-bundle.pem",
)
"""Where distributions keep the certificates they trust, for a Python whose OpenSSL was built to look elsewhere."""

SYSTEM_STORES = ("darwin", "win32")
"""Systems whose certificates are not in files."""

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def trusting_context(platform: str = sys.platform) -> ssl.SSLContext:
    """A TLS context that trusts what the system trusts, or what SSL_CERT_FILE and SSL_CERT_DIR name.

    macOS and Windows keep their certificates elsewhere than in files: there the system itself checks those of a
    server. Takes 1 to 50 ms, by how the certificates are kept. Raises OSError for a file that is none.
    """
    if named := os.environ.get("SSL_CERT_FILE"):
        return ssl.create_default_context(cafile=named)
    if named := os.environ.get("SSL_CERT_DIR"):
        return ssl.create_default_context(capath=named)
    if platform in SYSTEM_STORES:
        import truststore  # not a part of every installation: see `transport.needs_package`

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


class Dialler:
    """Opens connections to the server of one URL. The proxy is the one the environment named at the beginning."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._secure = parts.scheme == "https"
        self._port = parts.port or (443 if self._secure else 80)
        self._proxy = proxy_for(url, environment_proxies())
        self._context: ssl.SSLContext | None = None
        self._lock = threading.Lock()

    @property
    def through_plain_proxy(self) -> bool:
        """Whether requests themselves are handed to a proxy, which then wants whole URLs in them."""
        return bool(self._proxy) and not self._secure

    @property
    def proxy_headers(self) -> list[str]:
        """The proxy's own credentials, for the requests it reads."""
        parts = urlsplit(self._proxy)
        if parts.username is None:
            return []
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return [f"Proxy-Authorization: Basic {base64.b64encode(login.encode()).decode()}"]

    def warm_up(self) -> None:
        """Make the TLS context, where one is needed; safe from any thread. Raises TransportFailed."""
        with self._lock:
            if self._secure and self._context is None:
                try:
                    self._context = trusting_context()
                except (OSError, ImportError) as error:
                    raise _failed("tls", f"no certificates could be read: {error}") from error

    async def open(self, timeout_s: float) -> Streams:
        """A new connection, its TLS agreed on. Raises TransportFailed."""
        if self._secure and self._context is None:
            await asyncio.to_thread(self.warm_up)
        try:
            async with asyncio.timeout(timeout_s):
                return await (self._tunnel() if self._proxy else self._straight())
        except TimeoutError as error:
            raise _failed("connect_timeout", "no connection in time") from error
        except (socket.gaierror, UnicodeError) as error:
            raise _failed("proxy" if self._proxy else "dns", str(error)) from error
        except ssl.SSLError as error:
            raise _failed("tls", str(error)) from error
        except OSError as error:
            raise _failed("proxy" if self._proxy else "refused", str(error)) from error

    async def _straight(self) -> Streams:
        if "xn--" in self._host:
            self._host.encode("ascii").decode("idna")  # raises UnicodeError for what can be no name
        return await _connect(self._host, self._port, self._context)

    async def _tunnel(self) -> Streams:
        parts = urlsplit(self._proxy)
        if parts.scheme != "http" or not parts.hostname:
            raise _failed("proxy", f"clio's own client cannot use {parts.scheme}:// proxies: set transport: openai")
        reader, writer = await _connect(parts.hostname, parts.port or 80, None)
        if not self._secure:
            return reader, writer
        place = f"[{self._host}]:{self._port}" if ":" in self._host else f"{self._host}:{self._port}"
        lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}", *self.proxy_headers]
        try:
            writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
            head = await read_head(reader)
            if not 200 <= head.status < 300:
                raise _failed("proxy", f"{head.status} {head.reason}")
            await writer.start_tls(_given(self._context), server_hostname=self._host)
        except (NoHttp, CutOff) as error:
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
    # A model that thinks for minutes sends nothing: routers forget such a connection, unless somebody knocks.
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return reader, writer


def _given(context: ssl.SSLContext | None) -> ssl.SSLContext:
    assert context is not None
    return context


def _failed(kind: str, detail: str) -> TransportFailed:
    return TransportFailed(Failure(kind=kind, detail=detail))  # type: ignore[arg-type]
