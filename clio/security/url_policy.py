"""Decide which addresses a page may be fetched from. The fetch connects to exactly the address that was checked."""

import ipaddress
import socket
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from msgspec import Struct

from clio.text.translation import tr

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Lookup = Callable[[str, int], Iterable[str]]

_METADATA_HOSTS = frozenset({"metadata", "metadata.google.internal", "metadata.goog", "instance-data"})
_LOCAL_NAMES = (".localhost", ".local", ".internal", ".lan", ".home.arpa", ".intranet")
_CARRIER_NAT = ipaddress.ip_network("100.64.0.0/10")
"""Carrier-grade NAT (RFC 6598). `ipaddress` calls it neither private nor global."""
_NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
"""NAT64 prefixes (RFC 6052, RFC 8215), whose last 32 bits are an IPv4 address."""
_CLOUD_METADATA = frozenset(
    map(ipaddress.ip_address, ("169.254.169.254", "fd00:ec2::254", "168.63.129.16", "100.100.100.200"))
)
"""Addresses of cloud metadata services (AWS, Azure, Alibaba). They give credentials to any process that asks."""
_MAX_URL_CHARS = 4096


class UrlRefused(ValueError):
    """The URL must not be fetched. The message gives the model the reason."""


class UrlParts(Struct, frozen=True, kw_only=True):
    """The parts of a URL, before any DNS lookup. `host` is lower-case ASCII without brackets."""

    url: str
    scheme: str
    host: str
    port: int


class FetchTarget(Struct, frozen=True, kw_only=True):
    """A checked URL and the address to connect to. TLS and the Host header still use `parts.host`."""

    parts: UrlParts
    address: str


def read_url(url: str, *, allow_private: bool) -> UrlParts:
    """Parse a URL and reject it if its text alone shows that it must not be fetched. Pure.

    Raises:
        UrlRefused: if the URL is malformed, not http(s), or names a private host and `allow_private` is false.
    """
    if len(url) > _MAX_URL_CHARS or any(ord(char) <= 32 or ord(char) == 127 for char in url.strip()):
        raise UrlRefused(tr("the URL contains spaces or control characters or is too long; give one plain http(s) URL"))
    try:
        split = urlsplit(url.strip())
        port = split.port
    except ValueError as error:
        raise UrlRefused(
            tr("the URL {url!r} is not valid ({error}); give one plain http(s) URL", url=url[:200], error=error)
        ) from None
    if split.scheme not in ("http", "https"):
        raise UrlRefused(tr("the URL {url!r} is not http or https; only those are fetched", url=url[:200]))
    # Programs differ in which part of `http://a\@b` is the host; what was checked must be what is fetched.
    if "@" in split.netloc or "\\" in url:
        raise UrlRefused(tr("the URL contains a user name, a password or a backslash; fetch it without them"))
    host = _normalize_host(split.hostname or "")
    if not allow_private:
        if host in _METADATA_HOSTS or host == "localhost" or host.endswith(_LOCAL_NAMES):
            raise UrlRefused(
                tr("{host!r} is on this machine or a private network; set private_network to allow it", host=host)
            )
        # `http://2130706433` and `http://0x7f.1` are this machine, too.
        literal = read_address(host)
        if literal is not None and (why := explain_private_address(literal)):
            raise UrlRefused(tr("{host!r} is {why}; set private_network to allow it", host=host, why=why))
    return UrlParts(
        url=url.strip(), scheme=split.scheme, host=host, port=port or (443 if split.scheme == "https" else 80)
    )


def _normalize_host(name: str) -> str:
    """Return a host name in lower-case ASCII (IDNA) without a trailing dot."""
    name = name.rstrip(".").lower()
    if not name:
        raise UrlRefused(tr("the URL has no host; give one plain http(s) URL"))
    if name.isascii():
        return name
    try:
        return name.encode("idna").decode("ascii")
    except UnicodeError:
        raise UrlRefused(tr("the host {name!r} is not a valid name; check the URL", name=name)) from None


def read_address(host: str) -> Address | None:
    """Parse a numeric host in every spelling that resolvers accept (`127.1`, `0x7f000001`); None for a name."""
    bare = host.split("%", 1)[0]
    try:
        return ipaddress.ip_address(bare)
    except ValueError:
        pass
    if not bare or not (bare[0].isdigit() and set(bare) <= set("0123456789abcdefx.")):
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(bare))
    except (OSError, ValueError):
        return None


def explain_private_address(address: Address) -> str:
    """Why an address is not on the public internet, as the end of a sentence; "" if it is. Pure."""
    if isinstance(address, ipaddress.IPv6Address):
        # An IPv4 address inside an IPv6 one reaches the same machine.
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is None and any(address in network for network in _NAT64):
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is None and int(address) >> 32 == 0 and int(address) > 1:
            inner = ipaddress.IPv4Address(int(address))
        if inner is not None and (why := explain_private_address(inner)):
            return why
    if address in _CLOUD_METADATA:
        return tr("a cloud's metadata address")
    if address.is_loopback:
        return tr("this machine")
    if address.is_link_local:
        return tr("a link-local address")
    if address.is_multicast:
        return tr("a multicast address")
    if address in _CARRIER_NAT:
        return tr("an address of a provider's internal network")
    if address.is_unspecified or address.is_reserved:
        return tr("a reserved address")
    if address.is_private or not address.is_global:
        return tr("a private address")
    return ""


def choose_target(parts: UrlParts, addresses: Iterable[str], *, allow_private: bool) -> FetchTarget:
    """Return the address to connect to. Pure.

    Every address must be public, not only the chosen one: a host that also resolves to a private one is refused.

    Raises:
        UrlRefused: if the host has no address, or one that is private while `allow_private` is false.
    """
    found = list(addresses)
    if not found:
        raise UrlRefused(tr("{host!r} has no IP address; check the name", host=parts.host))
    for text in found:
        address = read_address(text)
        if address is None:
            raise UrlRefused(tr("{host!r} has the address {text!r}, which is not valid", host=parts.host, text=text))
        if not allow_private and (why := explain_private_address(address)):
            raise UrlRefused(
                tr(
                    "{host!r} resolves to {text}, {why}; set private_network to allow it",
                    host=parts.host,
                    text=text,
                    why=why,
                )
            )
    return FetchTarget(parts=parts, address=found[0])


def resolve_host(host: str, port: int) -> list[str]:
    """Return the addresses of a host in the system's order. Blocks.

    Raises:
        UrlRefused: if the host has none.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UrlRefused(
            tr("{host!r} was not found ({error}); check the name and the network", host=host, error=error)
        ) from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def check_url(url: str, allow_private: bool, lookup: Lookup = resolve_host) -> FetchTarget:
    """Return a URL with the one address to connect to. Blocks for the DNS lookup.

    Check every redirect again, and connect to `address` itself: a second lookup could return another address
    (DNS rebinding).

    Raises:
        UrlRefused: if the URL must not be fetched.
    """
    parts = read_url(url, allow_private=allow_private)
    literal = read_address(parts.host)
    addresses = [str(literal)] if literal is not None else lookup(parts.host, parts.port)
    return choose_target(parts, addresses, allow_private=allow_private)
