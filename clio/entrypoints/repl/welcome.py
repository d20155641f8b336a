"""The lines above the first prompt: clio's name, the model, the project, what memory holds, and what is unusual.

Imported once the app is loaded: the prompt appears before.
"""

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from clio import __version__
from clio.commands.session_table import format_short_title
from clio.config.loaded import LoadedConfig
from clio.config.paths import FOLDER_NAME, display_path
from clio.context.instructions import OWN_FILE, find_instructions
from clio.errors import ClioError
from clio.providers.base import AUTO, OFFLINE
from clio.providers.profiles import find_preset
from clio.storage.files import make_folder
from clio.text.formatting import format_ago, format_count
from clio.ui.footer import read_branch

if TYPE_CHECKING:
    from clio.app import App

CONNECT = "export OPENAI_API_KEY=… or start Ollama"
NAME = f"clio {__version__}"
HINTS = "/help for commands · @file adds a file · #text is remembered"
_TITLE_CHARS = 40


def describe_start(
    loaded: LoadedConfig, env: Mapping[str, str], *, model: str, server: str, user_home: Path
) -> tuple[str, str, str, str]:
    """Return the lines of the first start. model, server: names of the model and its server."""
    return (
        NAME,
        describe_model(loaded, env, model=model, server=server),
        describe_project(loaded.project, user_home),
        HINTS,
    )


def describe_later_start(app: "App", branch: str, *, user_home: Path, now: float) -> tuple[str, ...]:
    """Return the lines of a later start: the name, the model, the folder, what memory holds, and hints.

    Reads files, so call it in a thread. branch: "" if there is none.
    """
    effort = app.efforts.get_effort(app.provider.model)
    model = (
        f"no model: {CONNECT}"
        if app.provider.name == OFFLINE
        else " · ".join([app.provider.model, *([effort] if effort != AUTO else []), app.policy.mode])
    )
    folder = " · ".join(filter(None, (_display_folder(app.project, user_home), branch)))
    return (NAME, model, folder, *filter(None, (_describe_memory(app, now),)), HINTS)


def note_greeting(home: Path) -> None:
    """Create the history file, whose absence marks a first start; a plain terminal writes none itself."""
    with suppress(OSError):  # the first entered line reports why it cannot be saved
        make_folder(home)
        (home / "history").touch(mode=0o600)


def describe_model(loaded: LoadedConfig, env: Mapping[str, str], *, model: str, server: str) -> str:
    """Return the model, its server and the source of the key; without a model, how to connect one."""
    if server == OFFLINE:
        asked = (loaded.config.provider or "").lower() == OFFLINE
        return f"offline{' as configured' if asked else ': no key, no local server'} · {CONNECT}"
    key = _find_key_origin(loaded, env, server)
    return f"{model} at {server} · {f'key from {key}' if key else 'no key needed'}"


def describe_project(project: Path, user_home: Path) -> str:
    """Return the directory, its branch and its instructions; for what is missing, the command that creates it."""
    folder = _display_folder(project, user_home)
    return " · ".join([folder, _describe_git(project), *_name_clio_folder(project), _describe_instructions(project)])


def _display_folder(project: Path, user_home: Path) -> str:
    return str(project) if project == user_home else display_path(project, project=None, user_home=user_home)


def _describe_memory(app: "App", now: float) -> str:
    """Return how many memories there are, and which session was the last one; "" while memory is off."""
    if app.memory.is_silent:
        return ""
    parts: list[str] = []
    with suppress(ClioError, OSError):  # the first turn reports what is wrong with the files
        count = len(app.memory.store.records())
        parts.append(format_count(count, "memory") if count else "no memories yet")
    with suppress(ClioError, OSError):
        if (info := app.store.last_conversation()) is not None:
            ago, title = format_ago(now - info.updated_at), format_short_title(info, _TITLE_CHARS)
            parts.append(f"last session {ago}: {title}")
    return " · ".join(parts)


def _find_key_origin(loaded: LoadedConfig, env: Mapping[str, str], server: str) -> str:
    """Return the variable or file that the key is from; "" if there is none."""
    if loaded.config.api_key:
        return loaded.origins.get("api_key", "the configuration").removeprefix("environment ")
    if loaded.config.api_key_command:
        return "api_key_command"
    preset = find_preset(server)
    variable, key = preset.find_key(env) if preset else ("OPENAI_API_KEY", env.get("OPENAI_API_KEY", "").strip())
    return variable if key else ""


def _describe_git(project: Path) -> str:
    branch = read_branch(project)
    if not branch:
        return "no git – run `git init`"
    return f"git {branch}" if shutil.which("git") else f"git {branch}, but git is not installed"


def _name_clio_folder(project: Path) -> tuple[str, ...]:
    return (f"{FOLDER_NAME}/",) if (project / FOLDER_NAME).is_dir() else ()


def _describe_instructions(project: Path) -> str:
    found = find_instructions(project, user_home=project).files
    if found:
        return found[0].source
    own = f"{FOLDER_NAME}/{OWN_FILE.name}"
    return f"{own} is still empty" if (project / own).is_file() else "no instructions – run `clio init`"


def render_welcome(app: "App", *, first: bool, with_header: bool, user_home: Path) -> tuple[list[str], list[str]]:
    """Return the lines of the header, and the lines about what is unusual. Reads files, so call it in a thread.

    Args:
        first: this is the very first start.
        with_header: there is a header at later starts, too.
    """
    loaded = app.loaded
    header: tuple[str, ...] = ()
    if first:
        header = describe_start(
            loaded, os.environ, model=app.provider.model, server=app.provider.name, user_home=user_home
        )
        note_greeting(loaded.home)
    elif with_header:
        header = describe_later_start(app, read_branch(app.project), user_home=user_home, now=time.time())
    return list(header), list(_list_notes(loaded))


def _list_notes(loaded: LoadedConfig) -> Iterator[str]:
    if loaded.config.screen_reader:
        yield "screen reader mode: Enter on an empty line reads the status, /help keys lists the keys"
    if loaded.config.incognito and not loaded.is_folder_blocked:
        yield "incognito: nothing is written or remembered"
    if loaded.withheld or loaded.problems:
        from clio.config.show import list_start_notes

        yield from list_start_notes(loaded)
