"""Run commands in the sandbox, or confined.

The sandbox limits what any command can write. A command that runs without approval is confined instead, which is
stricter: it can change nothing, and its environment contains no secrets.
"""

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path

from clio.sandbox.denials import describe_denial, find_denied_action
from clio.sandbox.fence import EnclosedCommand
from clio.sandbox.file_guard import FileGuard, restore_guarded_files
from clio.sandbox.sandbox import Confinement, Sandbox
from clio.security.git_safety import build_git_environment
from clio.security.redaction.redactor import Redactor
from clio.security.redaction.secret_patterns import can_be_secret_name, is_secret_name
from clio.tools.shell.processes import (
    RunningProcess,
    make_command_environment,
    make_shell_argv,
    run_process,
    start_command_process,
)

# They keep programs from opening a pager, asking a question, downloading, or writing files on the side.
_CONFINED_VARIABLES = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GH_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    # A program that asks for a password would never end, because no one can answer. `true` gives an empty answer.
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "GH_PROMPT_DISABLED": "1",
    # `git status` would rewrite the index, which is read-only here, and could disturb a git of the user's.
    "GIT_OPTIONAL_LOCKS": "0",
    # Build tools fetch and run other versions of themselves or of dependencies; a command that runs without a question
    # may do neither.
    "GOTOOLCHAIN": "local",
    "GOFLAGS": "-mod=readonly",
    "GOPROXY": "off",
    "CARGO_NET_OFFLINE": "true",
    "npm_config_offline": "true",
    "npm_config_ignore_scripts": "true",
    "npm_config_update_notifier": "false",
    # npm writes a log into the home directory at each call; the confinement would report that as a denied write.
    "npm_config_logs_max": "0",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "NO_UPDATE_NOTIFIER": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "npm_config_fund": "false",
    # With it, gdb and objdump ask a server for debug information before they print anything.
    "DEBUGINFOD_URLS": "",
    "HOMEBREW_NO_AUTO_UPDATE": "1",
    # The workspace is read-only, and a module of the project beside the script must not replace one of Python's.
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONSAFEPATH": "1",
}
_OFFLINE_VARIABLES = ("GOPROXY", "CARGO_NET_OFFLINE", "npm_config_offline")
_SOCKET_VARIABLES = (
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
"""Variables with the sockets of other programs."""
_SHELL_STARTUP_VARIABLES = ("BASH_ENV", "ENV", "PROMPT_COMMAND")
"""Variables that name code which a shell runs first; clio judges a command line without it."""
_EXPORTED_FUNCTION_PREFIX = "BASH_FUNC_"
_SECRET_WORDS = frozenset(
    "pass password passwd passphrase passcode pwd pw secret secrets token tokens credential credentials creds key keys"
    " apikey auth authorization cookie cookies pat pin dsn jwt bearer".split()
)
# "PWD" and "SSH_AUTH_SOCK" contain words of secrets but are a path and a socket; sockets have a list of their own.
_NEVER_SECRET = frozenset({"PWD", "OLDPWD", *_SOCKET_VARIABLES})


def build_confined_environment(
    env: Mapping[str, str], root: Path, *, network: bool = False, confined: bool = True
) -> dict[str, str]:
    """Return the environment of a command in the workspace `root` that runs without approval.

    It contains no code that a shell would run first, no variables that look like secrets by name or value, and no
    sockets of other programs.

    Args:
        env: clio's own environment.
        root: the workspace.
        network: the command may use the network and the sockets of other programs, such as `docker ps`.
        confined: False if the user does not want such commands confined; they then get secrets and sockets.
    """
    result = {
        name: value
        for name, value in env.items()
        if name not in _SHELL_STARTUP_VARIABLES and not name.startswith(_EXPORTED_FUNCTION_PREFIX)
    }
    for name in list_withheld_variables(result) if confined else ():
        del result[name]
    # A socket leads out of the confinement: that of Docker gives control over the whole machine.
    if confined and not network:
        result = {name: value for name, value in result.items() if name not in _SOCKET_VARIABLES}
    result = make_command_environment(result)
    result |= {
        name: value for name, value in _CONFINED_VARIABLES.items() if not network or name not in _OFFLINE_VARIABLES
    }
    _set_english_messages(result)
    return result | build_git_environment(root, result)


def list_withheld_variables(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the variables that look like secrets, by name or value."""
    return tuple(name for name, value in env.items() if _has_secret_name(name) or _contains_secret(name, value))


# The same environment is examined before each command; redaction looks at every value.
@lru_cache(1000)
def _contains_secret(name: str, value: str) -> bool:
    return bool(Redactor().redact(f"{name}={value}\n{value}").counts)


def _has_secret_name(name: str) -> bool:
    """Whether a variable's name looks like that of a secret.

    More names count than in text, because a command seldom needs a variable that was left out by mistake.
    """
    if name in _NEVER_SECRET:
        return False
    words = set(name.lower().replace("-", "_").split("_"))
    return bool(words & _SECRET_WORDS) or is_secret_name(name) or can_be_secret_name(name)


def _set_english_messages(env: dict[str, str]) -> None:
    """Set the language of messages to English, in which denials are recognized; the encoding is unchanged."""
    if locale := env.pop("LC_ALL", ""):
        env["LC_CTYPE"] = locale
    env["LC_MESSAGES"] = "C"


async def start_sandboxed(
    command: str, root: Path, sandbox: Sandbox | None, env: Mapping[str, str] | None = None
) -> RunningProcess:
    """Start a shell command line that runs in the background. Raises ToolFailed. sandbox: None for none.

    With a sandbox, files it cannot protect are watched from now on: call `sandbox.watches.end` when the command
    ends.
    """
    if sandbox is None or not sandbox.is_enabled:
        return await start_command_process(command, root, env)
    await asyncio.to_thread(
        sandbox.watch, root
    )  # first, because it undoes changes by other jobs, which the sandbox would otherwise protect
    try:
        enclosed = await asyncio.to_thread(sandbox.enclose, make_shell_argv(command), root, lingers=True)
        return await start_command_process(enclosed, root, env)
    except BaseException:
        sandbox.watches.end(root)
        raise


async def restore_files_changed_by_jobs(sandbox: Sandbox | None) -> str:
    """Undo changes that background jobs made to files they must not change; return a report, or ""."""
    if sandbox is None or not sandbox.is_enabled:
        return ""
    return "\n".join(await asyncio.to_thread(sandbox.watches.restore_and_report))


async def run_sandboxed(
    command: str | Sequence[str],
    root: Path,
    sandbox: Sandbox | None,
    *,
    timeout_s: float,
    on_progress: Callable[[str], None] = lambda line: None,
    env: Mapping[str, str] | None = None,
) -> tuple[RunningProcess, bool, str]:
    """Run a shell command line, or an argument list, to its end.

    Returns the process, whether it was stopped after `timeout_s`, and a note about the sandbox, or "". Raises
    ToolFailed.

    Args:
        sandbox: None for none.
        env: defaults to clio's own.
    """
    if sandbox is None or not sandbox.is_enabled:
        return *await run_process(command, root, timeout_s=timeout_s, on_progress=on_progress, env=env), ""
    # Before the files are remembered: a change by a background job would otherwise be what is restored after this
    # command.
    before = await restore_files_changed_by_jobs(sandbox)
    argv = make_shell_argv(command) if isinstance(command, str) else command
    enclosed, guard = await asyncio.to_thread(_enclose_and_guard, sandbox, argv, root)
    try:
        process, timed_out = await run_process(enclosed, root, timeout_s=timeout_s, on_progress=on_progress, env=env)
    finally:
        undone = restore_guarded_files(guard, root)  # also if cancelled; blocks only for a few small files
    notes = [before, undone]
    if process.exit_code != 0 and sandbox.known:
        # Programs report a denial in their own words, if at all, so the model is told what the sandbox forbids.
        notes.append(describe_denial(process.output.text(), sandbox.known, network=sandbox.network))
    return process, timed_out, "\n".join(filter(None, notes))


def _enclose_and_guard(sandbox: Sandbox, argv: Sequence[str], root: Path) -> tuple[EnclosedCommand, FileGuard]:
    return sandbox.enclose(argv, root), sandbox.guard(root)


async def run_confined(
    command: str,
    root: Path,
    confinement: Confinement,
    sandbox: Sandbox | None,
    *,
    network: bool,
    timeout_s: float,
    on_progress: Callable[[str], None] = lambda line: None,
) -> tuple[RunningProcess, bool, str, str]:
    """Run a shell command line that needs no approval to its end, confined if possible.

    Returns the values of `run_sandboxed`, and what the command needed and was denied, such as "needs the network", or
    "". Raises ToolFailed.

    Args:
        sandbox: used if the command cannot be confined.
    """
    # The stored test of the confinement may be out of date, as after a change of the system's settings; it is repeated
    # once.
    for attempt in (1, 2):  # again if bubblewrap itself failed, after testing which method works
        env, enclosed = await asyncio.to_thread(_confine, command, root, confinement, network=network)
        if enclosed is None:
            outcome = await run_sandboxed(command, root, sandbox, timeout_s=timeout_s, on_progress=on_progress, env=env)
            return *outcome, ""
        try:
            process, timed_out = await run_process(
                enclosed, root, timeout_s=timeout_s, on_progress=on_progress, env=env
            )
        finally:
            remove_private_tmp(enclosed)
        if attempt == 2 or not _bwrap_failed(enclosed, process):
            break
        await asyncio.to_thread(confinement.try_again)
    return process, timed_out, "", _find_denied_need(process, command, root, confinement, env, network=network)


def explain_job_failure(
    process: RunningProcess, command: str, root: Path, confinement: Confinement, *, network: bool
) -> str:
    """Return what a command started with `start_confined` was denied, or "", after it has ended.

    Blocks, so call it in a worker thread.
    """
    env = build_confined_environment(os.environ, root, network=network, confined=confinement.is_enabled)
    return _find_denied_need(process, command, root, confinement, env, network=network)


def _find_denied_need(
    process: RunningProcess,
    command: str,
    root: Path,
    confinement: Confinement,
    env: Mapping[str, str],
    *,
    network: bool,
) -> str:
    """Return what a command was denied, or "".

    Exit code 0 of several programs does not mean success, because it is that of the last program: `x | tail` gives 0.
    """
    output, level, speakers = process.output.text(), confinement.level(), None
    if process.exit_code == 0:
        from clio.security.readonly.system_programs import PROGRAMS
        from clio.security.shell.parser import parse_command_line

        programs = {parsed.program for parsed in parse_command_line(command).commands}
        if len(programs) < 2:
            return ""
        # Tools such as git begin errors with "fatal" or "error". If only filters ran, such words are data they printed.
        speakers = programs if programs <= PROGRAMS.keys() else programs | {"fatal", "error"}
    # "API_KEY is not set" in the output is a denial too if clio removed the variable.
    withheld = [name for name in os.environ if name not in env]
    return find_denied_action(output, level, root=root, network=network, withheld=withheld, speakers=speakers)


async def start_confined(
    command: str, root: Path, confinement: Confinement, sandbox: Sandbox | None, *, network: bool
) -> tuple[RunningProcess, Callable[[], None]]:
    """Start a confined command that runs in the background. Call the second value when it ends. Raises ToolFailed."""
    env, enclosed = await asyncio.to_thread(_confine, command, root, confinement, network=network, lingers=True)
    if enclosed is None:
        process = await start_sandboxed(command, root, sandbox, env)
        return process, partial(
            sandbox.watches.end, root
        ) if sandbox is not None and sandbox.is_enabled else lambda: None
    try:
        return await start_command_process(enclosed, root, env), partial(remove_private_tmp, enclosed)
    except BaseException:
        remove_private_tmp(enclosed)
        raise


def remove_private_tmp(enclosed: EnclosedCommand) -> None:
    """Remove the private folder for temporary files of a confined command."""
    if enclosed.tmp is not None:
        shutil.rmtree(enclosed.tmp, ignore_errors=True)


def _confine(
    command: str, root: Path, confinement: Confinement, *, network: bool, lingers: bool = False
) -> tuple[dict[str, str], EnclosedCommand | None]:
    env = build_confined_environment(os.environ, root, network=network, confined=confinement.is_enabled)
    return env, confinement.enclose(make_shell_argv(command), root, env, network=network, lingers=lingers)


def _bwrap_failed(enclosed: EnclosedCommand, process: RunningProcess) -> bool:
    """Whether bubblewrap itself failed to set up the confinement, so that the command did not run."""
    by_bwrap = Path(enclosed.argv[0]).name == "bwrap"
    return by_bwrap and process.exit_code == 1 and process.output.text().startswith("bwrap: ")
