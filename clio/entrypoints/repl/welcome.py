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
from clio.providers.base import AUTO, CONNECT_MODEL, NO_MODEL, OFFLINE
from clio.providers.profiles import find_preset
from clio.storage.files import make_folder
from clio.text.formatting import format_ago
from clio.text.translation import mark, tr, tr_count
from clio.ui.footer import read_branch

if TYPE_CHECKING:
    from clio.app import App

NAME = f"clio {__version__}"
HINTS = mark("/help for commands · @ for files · # to remember")
_TITLE_CHARS = 40


def describe_start(
    loaded: LoadedConfig, env: Mapping[str, str], *, model: str, server: str, user_home: Path
) -> tuple[str, str, str, str]:
    """Return the lines of the first start. model, server: names of the model and its server."""
    return (
        NAME,
        describe_model(loaded, env, model=model, server=server),
        describe_project(loaded.project, user_home),
        tr(HINTS),
    )


def describe_later_start(app: "App", branch: str, *, user_home: Path, now: float) -> tuple[str, ...]:
    """Return the lines of a later start: the name, the model, the folder, what memory holds, and hints.

    Reads files, so call it in a thread. branch: "" if there is none.
    """
    effort = app.efforts.get_effort(app.provider.model)
    model = (
        _describe_no_model(app.loaded)
        if app.provider.name == OFFLINE
        else " · ".join([app.provider.model, *([effort] if effort != AUTO else []), app.policy.mode])
    )
    folder = " · ".join(filter(None, (_display_folder(app.project, user_home), branch)))
    return (NAME, model, folder, *filter(None, (_describe_memory(app, now),)), tr(HINTS))


def note_greeting(home: Path) -> None:
    """Create the history file, whose absence marks a first start; a plain terminal writes none itself."""
    with suppress(OSError):  # the first entered line reports why it cannot be saved
        make_folder(home)
        (home / "history").touch(mode=0o600)


def describe_model(loaded: LoadedConfig, env: Mapping[str, str], *, model: str, server: str) -> str:
    """Return the model, its server and the source of the key; without a model, how to connect one."""
    if server == OFFLINE:
        return _describe_no_model(loaded)
    key = _find_key_origin(loaded, env, server)
    return tr(
        "{model} at {server} · {value}",
        model=model,
        server=server,
        value=tr("key from {key}", key=key) if key else tr("no key needed"),
    )


def _describe_no_model(loaded: LoadedConfig) -> str:
    is_asked = (loaded.config.provider or "").lower() == OFFLINE
    return f"{tr('offline, as configured') if is_asked else tr(NO_MODEL)} · {tr(CONNECT_MODEL)}"


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
        parts.append(tr_count(count, "memory") if count else tr("no memories yet"))
    with suppress(ClioError, OSError):
        if (info := app.store.last_conversation()) is not None:
            ago, title = format_ago(now - info.updated_at), format_short_title(info, _TITLE_CHARS)
            parts.append(tr("last session {ago}: {title}", ago=ago, title=title))
    return " · ".join(parts)


def _find_key_origin(loaded: LoadedConfig, env: Mapping[str, str], server: str) -> str:
    """Return the variable or file that the key is from; "" if there is none."""
    if loaded.config.api_key:
        return loaded.variables.get("api_key") or loaded.origins.get("api_key", tr("the configuration"))
    if loaded.config.api_key_command:
        return "api_key_command"
    preset = find_preset(server)
    variable, key = preset.find_key(env) if preset else ("OPENAI_API_KEY", env.get("OPENAI_API_KEY", "").strip())
    return variable if key else ""


def _describe_git(project: Path) -> str:
    branch = read_branch(project)
    if not branch:
        return tr("no git – run `git init`")
    return branch if shutil.which("git") else tr("{branch}, but git is not installed", branch=branch)


def _name_clio_folder(project: Path) -> tuple[str, ...]:
    return (f"{FOLDER_NAME}/",) if (project / FOLDER_NAME).is_dir() else ()


def _describe_instructions(project: Path) -> str:
    found = find_instructions(project, user_home=project).files
    if found:
        return found[0].source
    own = f"{FOLDER_NAME}/{OWN_FILE.name}"
    return tr("{own} is still empty", own=own) if (project / own).is_file() else tr("no instructions – run `clio init`")


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
        yield tr("screen reader mode: Enter on an empty line reads the status, /help keys lists the keys")
    if loaded.config.incognito and not loaded.is_folder_blocked:
        yield tr("incognito: nothing is written or remembered")
    if (loaded.home / "jobs").is_dir():
        from clio.jobs.job_store import list_jobs

        for job in list_jobs(loaded.home):
            if job.state == "needs you":
                yield tr("job {id} needs you: /jobs show {id}", id=job.record.id)
    yield from _list_agent_worktrees(loaded)
    if loaded.withheld or loaded.problems:
        from clio.config.show import list_start_notes

        yield from list_start_notes(loaded)


def _list_agent_worktrees(loaded: LoadedConfig) -> Iterator[str]:
    """Yield a line for each worktree that a background agent of an earlier session has left."""
    folders = loaded.main_project.parent.glob(f"{loaded.main_project.name}-agent-*")
    if not any(True for _ in folders):
        return
    from clio.git.agent_worktrees import list_agent_worktrees

    with suppress(ClioError, OSError):  # no repository, or no git
        for number, worktree in list_agent_worktrees(loaded.project):
            yield tr(
                "agent{number} left changes in {path}: /agents diff {number}, then merge or discard",
                number=number,
                path=worktree.path,
            )
