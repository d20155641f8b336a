"""The address of a server, however it was pasted."""

import ipaddress
import re
from urllib.parse import urlsplit, urlunsplit

from clio.errors import ConfigError
from clio.text.lazy_regex import LazyRegex

_ENDPOINT = LazyRegex(r"/(chat/completions|completions|models|responses|messages|embeddings)$")
_VERSION = LazyRegex(r"v\d+[a-z0-9]*")  # v1, v4, v1beta
_SCHEME = LazyRegex(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HOST_NAME = LazyRegex(
    r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?", re.IGNORECASE | re.ASCII
)
# Paths that stop one segment short of the version, as people copy them from dashboards.
_WANTS_VERSION = ("", "api", "openai", "anthropic")
_WITHOUT_VERSION = frozenset({"api.perplexity.ai"})


def normalise_base_url(text: str) -> str:
    """The base URL the endpoints hang on, without a trailing slash: `localhost:8080` gives `http://localhost:8080/v1`.

    A scheme is added (http for hosts on this machine or network, else https), a pasted endpoint is cut off, `/v1` is
    added where no version stands in the path and doubled versions become one; other paths are left as they are.
    Raises ConfigError where there is no host in it, or the scheme is not http or https.
    """
    url = text.strip().strip("'\"").strip()
    try:
        if not _SCHEME.match(url):
            url = f"{'http' if is_local_host(url_host(f'//{url}')) else 'https'}://{url}"
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise _no_address(text) from error
    bracketed = "[" in parts.netloc and not _is_address(host)
    if parts.scheme not in ("http", "https") or not _is_host(host) or bracketed or re.search(r"[\s\x00-\x1f\x7f]", url):
        raise _no_address(text)
    path = _with_version(re.sub(r"/+", "/", parts.path), host)
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
    """The address without a user name and password before the host, for the screen."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _no_address(text: str) -> ConfigError:
    return ConfigError(f"{text!r} is not the address of a server: give --base-url one such as http://host:8000/v1")


def _with_version(path: str, host: str) -> str:
    bare, cut = _ENDPOINT.subn("", path.rstrip("/"))
    segments = [segment for segment in bare.split("/") if segment]
    while len(segments) > 1 and segments[-1] == segments[-2] and _VERSION.fullmatch(segments[-1]):
        segments.pop()
    last = segments[-1] if segments else ""
    # A gateway's own version before "anthropic" is not the one of the Messages below it.
    versioned = any(_VERSION.fullmatch(segment) for segment in segments) and last != "anthropic"
    # Who pastes a whole endpoint below a path of its own has said exactly where it is.
    exact = bool(cut) and bool(segments)
    if not versioned and not exact and last in _WANTS_VERSION and host not in _WITHOUT_VERSION:
        segments.append("v1")
    return "".join(f"/{segment}" for segment in segments)


def is_version(segment: str) -> bool:
    """Whether one segment of a path is a version, such as v1."""
    return bool(_VERSION.fullmatch(segment))


def url_host(url: str) -> str:
    """The host's name in lower case, "" where there is none."""
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
    """Whether the host is this machine or on its own network, judged by the name alone; nothing is looked up."""
    if is_loopback(host):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        # A name without a dot is a container or a machine next door.
        return bool(host) and ("." not in host or host.endswith((".local", ".lan", ".internal", ".home.arpa")))
    return address.is_private or address.is_unspecified
