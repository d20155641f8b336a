"""The way to a server: what every transport does, and which one an address gets."""

import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Protocol
from urllib.parse import urlsplit

from clio.providers.proxies import environment_proxies, proxy_for
from clio.providers.urls import host_of

CONNECT_TIMEOUT_S = 15.0
MAX_ANSWER_BYTES = 64_000_000
"""Of an answer that is one JSON object."""
MAX_ERROR_BYTES = 1_000_000
SILENCE_TIMEOUT_S = 600.0
"""Reasoning models may say nothing for minutes; longer than this the connection counts as dead."""


class Transport(Protocol):
    """Sends bytes, hands back decoded JSON. No retries (the loop does them), no redirects (the key would follow)."""

    def events(self, path: str, body: bytes, is_finished: Callable[[], bool]) -> AsyncGenerator[list[object]]:
        """POST to a path below the base URL: the events of the stream, or the one object of an answer that is none.

        Those that came together are given together: what a fast server sends then costs a fraction. Closing the
        iterator closes the connection. Raises TransportFailed.

        is_finished: asked after each batch; where it is true, no further event is waited for.
        """
        ...

    async def get(self, path: str, timeout_s: float) -> object:
        """GET below the base URL, or of a whole URL on the same host. Raises TransportFailed."""
        ...

    async def close(self) -> None:
        """Let go of all connections; the next request opens new ones."""
        ...

    def warm_up(self) -> None:
        """Do in advance, blocking, what the first request would otherwise wait for. Raises TransportFailed."""
        ...


def has_truststore() -> bool:
    """Whether the package is installed that lets macOS and Windows check certificates; it is not imported for that."""
    from importlib.util import find_spec

    return find_spec("truststore") is not None


def needs_package(base_url: str, env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> str:
    """Why clio's own client is not enough for this address, "" where it is: then the openai package's is used.

    env: what the package would read from the environment by itself.
    """
    parts = urlsplit(base_url)
    if parts.username is not None:
        return "a user name in the address"
    if env.get("OPENAI_CUSTOM_HEADERS"):
        return "OPENAI_CUSTOM_HEADERS is set"
    if host_of(base_url).endswith("openai.com") and (env.get("OPENAI_ORG_ID") or env.get("OPENAI_PROJECT_ID")):
        return "an organization or a project is named"
    own_certificates = env.get("SSL_CERT_FILE") or env.get("SSL_CERT_DIR")
    in_files = own_certificates or platform not in ("darwin", "win32")
    if parts.scheme == "https" and not in_files and not has_truststore():
        return "the certificates this system trusts are not in files, and the truststore package is missing"
    if proxy_for(base_url, environment_proxies()).partition("://")[0] not in ("", "http"):
        return "a proxy that is not reached by plain HTTP"
    return ""
