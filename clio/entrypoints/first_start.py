"""What clio says at its very first start: who answers, where it is, and what to type; each with what to do if it lacks.

Nothing here asks a server or runs a program: who answers is known by then, the rest are a few looks at the disk.
"""

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from clio import __version__
from clio.config.loaded import Loaded
from clio.config.paths import FOLDER_NAME, display
from clio.context.instructions import OWN_FILE, find_instructions
from clio.providers.profiles import preset_named
from clio.providers.registry import OFFLINE
from clio.storage.files import make_folder
from clio.ui.footer.git_branch import read_branch

CONNECT = "export OPENAI_API_KEY=… or start Ollama"


def first_lines(
    loaded: Loaded, env: Mapping[str, str], *, model: str, server: str, user_home: Path
) -> tuple[str, str, str]:
    """The three lines of the first start. model, server: the provider's names."""
    return (
        who_answers(loaded, env, model=model, server=server),
        where(loaded.project, user_home),
        f"clio {__version__} · /help shows what can be typed here",
    )


def note_greeting(home: Path) -> None:
    """Begin the file of earlier lines, whose absence means a first start: a plain terminal writes none by itself."""
    with suppress(OSError):  # whoever types a line is told why it cannot be kept
        make_folder(home)
        (home / "history").touch(mode=0o600)


def who_answers(loaded: Loaded, env: Mapping[str, str], *, model: str, server: str) -> str:
    """The model, its server and the key's place; without a model, how to get one."""
    if server == OFFLINE:
        asked = (loaded.config.provider or "").lower() == OFFLINE
        return f"offline{' as asked' if asked else ': no key, no local server'} · {CONNECT}"
    key = _key_place(loaded, env, server)
    return f"{model} at {server} · {f'key from {key}' if key else 'no key needed'}"


def where(project: Path, user_home: Path) -> str:
    """The folder, its branch, and what the project tells agents; for what lacks, the command that mends it."""
    folder = str(project) if project == user_home else display(project, project=None, user_home=user_home)
    return " · ".join([folder, _git(project), *_own_folder(project), _instructions(project)])


def _key_place(loaded: Loaded, env: Mapping[str, str], server: str) -> str:
    """The variable or the file that the key is from, "" where there is none."""
    if loaded.config.api_key:
        return loaded.origins.get("api_key", "the configuration").removeprefix("environment ")
    if loaded.config.api_key_command:
        return "api_key_command"
    preset = preset_named(server)
    variable, key = preset.find_key(env) if preset else ("OPENAI_API_KEY", env.get("OPENAI_API_KEY", "").strip())
    return variable if key else ""


def _git(project: Path) -> str:
    branch = read_branch(project)
    if not branch:
        return "no git: git init"
    return f"git {branch}" if shutil.which("git") else f"git {branch}, but git is not installed"


def _own_folder(project: Path) -> tuple[str, ...]:
    return (f"{FOLDER_NAME}/",) if (project / FOLDER_NAME).is_dir() else ()


def _instructions(project: Path) -> str:
    found = find_instructions(project, person=project).files
    if found:
        return found[0].source
    own = f"{FOLDER_NAME}/{OWN_FILE.name}"
    return f"{own}: still to be filled in" if (project / own).is_file() else "no AGENTS.md: clio init"
