"""The environment of commands that run without a question: no secrets, no pagers or prompts, nothing fetched."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from clio.security.git_safety import git_environment
from clio.security.redaction.names import is_secret_name, may_be_secret_name
from clio.security.redaction.redactor import Redactor
from clio.tools.shell.processes import command_environment

_SETTINGS = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GH_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "GH_PROMPT_DISABLED": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GOTOOLCHAIN": "local",
    "GOFLAGS": "-mod=readonly",
    "GOPROXY": "off",
    "CARGO_NET_OFFLINE": "true",
    "npm_config_offline": "true",
    "npm_config_ignore_scripts": "true",
    "npm_config_update_notifier": "false",
    "npm_config_logs_max": "0",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "NO_UPDATE_NOTIFIER": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "npm_config_fund": "false",
    "DEBUGINFOD_URLS": "",
    "HOMEBREW_NO_AUTO_UPDATE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONSAFEPATH": "1",
}
_OFFLINE = ("GOPROXY", "CARGO_NET_OFFLINE", "npm_config_offline")
_SOCKETS = (
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "TMUX",
    "STY",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "VSCODE_IPC_HOOK",
    "VSCODE_IPC_HOOK_CLI",
    "VSCODE_GIT_IPC_HANDLE",
    "NVIM",
    "NVIM_LISTEN_ADDRESS",
    "EMACS_SOCKET_NAME",
)
"""Variables that say where other programs listen."""
_RUN_BY_SHELLS = ("BASH_ENV", "ENV", "PROMPT_COMMAND")
"""Files that a shell reads first. A line is judged without them, and without functions that a shell hands down."""
_FUNCTION = "BASH_FUNC_"
_SECRET_WORDS = frozenset(
    "pass password passwd passphrase passcode pwd pw secret secrets token tokens credential credentials creds key keys"
    " apikey auth authorization cookie cookies pat pin dsn jwt bearer".split()
)
_OPEN_NAMES = frozenset({"PWD", "OLDPWD", *_SOCKETS})


def build_unasked_environment(
    env: Mapping[str, str], root: Path, *, network: bool = False, confined: bool = True
) -> dict[str, str]:
    """The environment of a command of the workspace `root` that runs without a question.

    Left out: what a shell would run first, what looks like a secret by name or value, where other programs listen.

    Args:
        env: clio's own environment.
        root: the workspace.
        network: the command reaches the network and the sockets of other programs, such as `docker ps`.
        confined: False where the user does not want such commands confined; they have the secrets and sockets then.
    """
    found = {
        name: value for name, value in env.items() if name not in _RUN_BY_SHELLS and not name.startswith(_FUNCTION)
    }
    for name in withheld_variables(found) if confined else ():
        del found[name]
    if confined and not network:
        found = {name: value for name, value in found.items() if name not in _SOCKETS}
    found = command_environment(found)
    found |= {name: value for name, value in _SETTINGS.items() if not network or name not in _OFFLINE}
    _speak_english(found)
    return found | git_environment(root, found)


def withheld_variables(env: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the variables that look like secrets, by their name or by their value."""
    return tuple(name for name, value in env.items() if _is_secret(name) or _holds_secret(name, value))


@lru_cache(1000)
def _holds_secret(name: str, value: str) -> bool:
    return bool(Redactor().redact(f"{name}={value}\n{value}").counts)


def _is_secret(name: str) -> bool:
    """Stricter than for text: a variable that is left out without need is seldom missed."""
    if name in _OPEN_NAMES:
        return False
    words = set(name.lower().replace("-", "_").split("_"))
    return bool(words & _SECRET_WORDS) or is_secret_name(name) or may_be_secret_name(name)


def _speak_english(env: dict[str, str]) -> None:
    """Have errors in English, which is how a refusal is recognized; the encoding stays."""
    if everything := env.pop("LC_ALL", ""):
        env["LC_CTYPE"] = everything
    env["LC_MESSAGES"] = "C"
