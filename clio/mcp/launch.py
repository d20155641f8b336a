"""What a server is really started with or asked at: variables replaced, an environment without clio's secrets. Pure."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.config.server import Server
from clio.errors import ConfigError

_VARIABLE = LatePattern(r"\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}")
# A server is a program of somebody else: it gets what programs need to run, and no key or token unless `env` names it.
_INHERITED = frozenset(
    """
    HOME USER LOGNAME USERNAME SHELL PATH TERM LANG LANGUAGE TZ TMPDIR TEMP TMP PWD DISPLAY WAYLAND_DISPLAY
    VIRTUAL_ENV CONDA_PREFIX PYTHONPATH PYTHONHOME NODE_PATH NVM_DIR NVM_BIN VOLTA_HOME PNPM_HOME BUN_INSTALL
    DENO_DIR CARGO_HOME RUSTUP_HOME GOPATH GOROOT GOBIN JAVA_HOME DOTNET_ROOT UV_CACHE_DIR PIP_CACHE_DIR
    SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS
    HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy
    npm_config_registry npm_config_cache NPM_CONFIG_REGISTRY NPM_CONFIG_CACHE PIP_INDEX_URL UV_INDEX_URL
    APPDATA LOCALAPPDATA HOMEDRIVE HOMEPATH USERPROFILE SYSTEMDRIVE SYSTEMROOT PROCESSOR_ARCHITECTURE PATHEXT COMSPEC
    PROGRAMFILES PROGRAMDATA
    """.split()
)
_FAMILIES = ("LC_", "XDG_")
_PASSWORD = LatePattern(r"://[^/@\s]*@")


class Launch(Struct, frozen=True, kw_only=True):
    """A server's command, folder and whole environment; or its address and headers."""

    command: tuple[str, ...] = ()
    cwd: Path = Path()
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}


def make_launch(server: Server, project: Path, env: Mapping[str, str]) -> Launch:
    """Replace `${NAME}` and `${NAME:-default}` by the environment's values. Raises ConfigError for one that lacks."""

    def filled(text: str) -> str:
        return _VARIABLE.sub(value, text)

    def value(match: re.Match[str]) -> str:
        found = env.get(match[1], "")
        if found or match[2] is not None:
            return found or match[2]
        raise ConfigError(
            f"{server.where}: the MCP server {server.name!r} needs the environment variable {match[1]}; "
            f"set it, or write ${{{match[1]}:-a default}}"
        )

    return Launch(
        command=tuple(map(filled, (server.command, *server.args))) if server.command else (),
        cwd=project / Path(filled(server.cwd)).expanduser(),
        env=inherited(env) | {name: filled(text) for name, text in server.env.items()},
        url=filled(server.url),
        headers={name: filled(text) for name, text in server.headers.items()},
    )


def inherited(env: Mapping[str, str]) -> dict[str, str]:
    """The variables every server gets. One whose value holds a password, such as a proxy's, is not among them."""
    upper = {name.upper() for name in _INHERITED} if os.name == "nt" else _INHERITED
    return {
        name: value
        for name, value in env.items()
        if (name.upper() if os.name == "nt" else name) in upper or name.startswith(_FAMILIES)
        if not _PASSWORD.search(value) and not value.startswith("()")
    }
