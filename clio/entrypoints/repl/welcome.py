"""The lines above the first prompt: model, project and commands at the very first start, later what is unusual.

Imported once the app is loaded: the prompt appears before.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from clio import __version__
from clio.config.loaded import LoadedConfig
from clio.config.paths import FOLDER_NAME, display_path
from clio.context.instructions import OWN_FILE, find_instructions
from clio.providers.profiles import find_preset
from clio.providers.registry import OFFLINE
from clio.storage.files import make_folder
from clio.ui.footer import read_branch

CONNECT = "export OPENAI_API_KEY=… or start Ollama"


def describe_start(
    loaded: LoadedConfig, env: Mapping[str, str], *, model: str, server: str, user_home: Path
) -> tuple[str, str, str]:
    """Return the three lines of the first start. model, server: names of the model and its server."""
    return (
        describe_model(loaded, env, model=model, server=server),
        describe_project(loaded.project, user_home),
        f"clio {__version__} · /help for commands",
    )


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
    folder = str(project) if project == user_home else display_path(project, project=None, user_home=user_home)
    return " · ".join([folder, _describe_git(project), *_name_clio_folder(project), _describe_instructions(project)])


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


def render_welcome(loaded: LoadedConfig, *, model: str, server: str, first: bool, user_home: Path) -> Iterator[str]:
    """Yield the lines before the first prompt: three at the very first start, later only what is unusual."""
    if first:
        yield from describe_start(loaded, os.environ, model=model, server=server, user_home=user_home)
        note_greeting(loaded.home)
    if loaded.config.screen_reader:
        yield "screen reader mode: Enter on an empty line reads the status, /help keys lists the keys"
    if loaded.config.incognito and not loaded.is_folder_blocked:
        yield "incognito: nothing is written or remembered"
    if loaded.withheld or loaded.problems:
        from clio.config.show import list_start_notes

        yield from list_start_notes(loaded)
