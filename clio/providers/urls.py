"""Addresses of servers in any form in which users paste them."""

import ipaddress
import re
from urllib.parse import urlsplit, urlunsplit

from clio.errors import ConfigError
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr

_ENDPOINT = LazyRegex(r"/(chat/completions|completions|models|responses|messages|embeddings)$")
_VERSION = LazyRegex(r"v\d+[a-z0-9]*")  # v1, v4, v1beta
_SCHEME = LazyRegex(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HOST_NAME = LazyRegex(
    r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?", re.IGNORECASE | re.ASCII
)
# The last segments of paths that lack only the version, as users copy them from dashboards.
_SEGMENTS_BEFORE_VERSION = ("", "api", "openai", "anthropic")
_HOSTS_WITHOUT_VERSION = frozenset({"api.perplexity.ai"})


def normalise_base_url(text: str) -> str:
    """Return the base URL of the endpoints, without a trailing slash: `localhost:8080` → `http://localhost:8080/v1`.

    A scheme is added (http for hosts on this machine or network, else https), a pasted endpoint is removed, `/v1` is
    added if the path has no version, and doubled versions become one. Other paths are unchanged. Raises ConfigError if
    there is no host, or the scheme is neither http nor https.
    """
    url = text.strip().strip("'\"").strip()
    try:
        if not _SCHEME.match(url):
            url = f"{'http' if is_local_host(url_host(f'//{url}')) else 'https'}://{url}"
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise _make_address_error(text) from error
    bracketed = "[" in parts.netloc and not _is_address(host)
    if parts.scheme not in ("http", "https") or not _is_host(host) or bracketed or re.search(r"[\s\x00-\x1f\x7f]", url):
        raise _make_address_error(text)
    path = _add_version(re.sub(r"/+", "/", parts.path), host)
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _is_host(host: str) -> bool:
    return _is_address(host) if ":" in host else bool(_HOST_NAME.fullmatch(host))


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def strip_login(url: str) -> str:
    """Return the address without a user name and password, for display."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _make_address_error(text: str) -> ConfigError:
    return ConfigError(
        tr(
            "{text!r} is not the address of a server: set --base-url to an address such as http://host:8000/v1",
            text=text,
        )
    )


def _add_version(path: str, host: str) -> str:
    bare, cut = _ENDPOINT.subn("", path.rstrip("/"))
    segments = [segment for segment in bare.split("/") if segment]
    while len(segments) > 1 and segments[-1] == segments[-2] and _VERSION.fullmatch(segments[-1]):
        segments.pop()
    last = segments[-1] if segments else ""
    # The version before "anthropic" is the gateway's own; Messages below it have another one.
    versioned = any(_VERSION.fullmatch(segment) for segment in segments) and last != "anthropic"
    # A pasted endpoint below a path is exact: the user's server may have no version in its paths.
    exact = bool(cut) and bool(segments)
    if not versioned and not exact and last in _SEGMENTS_BEFORE_VERSION and host not in _HOSTS_WITHOUT_VERSION:
        segments.append("v1")
    return "".join(f"/{segment}" for segment in segments)


def is_version(segment: str) -> bool:
    """Whether one segment of a path is a version, such as v1."""
    return bool(_VERSION.fullmatch(segment))


def url_host(url: str) -> str:
    """Return the host's name in lower case; "" if there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether the host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_local_host(host: str) -> bool:
    """Whether the host is this machine or on its network, judged by the name alone, without a DNS query."""
    if is_loopback(host):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        # A name without a dot belongs to a container or a machine on the local network.
        return bool(host) and ("." not in host or host.endswith((".local", ".lan", ".internal", ".home.arpa")))
    return address.is_private or address.is_unspecified
