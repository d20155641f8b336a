"""Which proxy of the environment a request goes through: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY."""

import ipaddress
import os
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

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
