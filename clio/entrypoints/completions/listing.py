"""`clio __complete KIND`: prints the candidates of one kind for the shell's completion, one per line.

It runs while the user types, so it imports only what the kind needs, reads only clio's own files, and changes nothing.
Candidates that a shell could split or expand are left out.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from clio.config.paths import clio_home, project_folder, user_home
from clio.config.project_links import WORKTREE_MARK, find_worktree_link
from clio.storage.files import read_beginning, read_regular
from clio.text.formatting import truncate
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr

MAX_LISTED = 200
NOTE_CHARS = 60
_PLAIN_WORD = LazyRegex(r"[A-Za-z0-9_@%+][\w@%+=:,./-]*", re.ASCII)
_INVISIBLE = LazyRegex(
    r"[^\x20-\x7e\u00a1-\u2027\u202f-\uffff]+|[\xad\u061c\u115f\u180e\u200b-\u200f\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\uffff]+"
)

Rows = Iterable[tuple[str, str]]


def list_completions(words: Sequence[str], env: Mapping[str, str]) -> int:
    """Print each candidate with a tab and a short note. No error is reported: a completing shell shows none."""
    from clio.errors import ClioError

    listed = KINDS.get(words[0] if words else "")
    if listed is None:
        return 0
    try:
        home, home_folder = clio_home(env), user_home(env)
        project = project_folder(_get_memory_folder(Path.cwd()), clio_home=home, user_home=home_folder)
        lines = [_format_line(word, note) for word, note in listed(project, home) if _PLAIN_WORD.fullmatch(word)][
            :MAX_LISTED
        ]
    except (ClioError, OSError, ValueError, RecursionError):  # the last two: a damaged file
        return 0
    sys.stdout.write("".join(lines))
    return 0


def _get_memory_folder(folder: Path) -> Path:
    """The folder; in a worktree made by clio, its counterpart in the main checkout, which has sessions and memory."""
    link = find_worktree_link(folder)
    return link.get_main_path(folder.resolve()) if link else folder


def _format_line(word: str, note: str) -> str:
    note = " ".join(_INVISIBLE.sub(" ", note).split())
    return f"{word}\t{truncate(note, NOTE_CHARS)}\n"


def _list_sessions(project: Path, home: Path) -> Rows:
    """Return the unique start of each session id, with its title and a mark for foreign ones; newest first."""
    from clio.commands.session_table import compute_unique_id_length, format_title
    from clio.sessions.listing import list_sessions
    from clio.sessions.store import OwnSessions

    infos = [info for info in list_sessions(project / ".clio" / "sessions") if info.is_conversation]
    length = compute_unique_id_length(info.id for info in infos)
    own = OwnSessions(project, home).filter_own({info.id for info in infos})
    mark = {False: tr("from the repository: "), True: ""}
    return [(info.id[:length], mark[info.id in own] + format_title(info)) for info in infos]


def _list_models(project: Path, home: Path) -> Rows:
    """Return configured models and models with a known price, with their server; no server is asked."""
    from clio.providers.prices import PriceBook
    from clio.providers.profiles import PRESETS

    known = [(name, "configured") for name in _list_configured_models(project, home)]
    known += [(preset.default_model, preset.name) for preset in PRESETS if preset.default_model]
    known += [(price.model, "" if price.server == "*" else price.server) for price in PriceBook(home).list_prices()]
    found: dict[str, str] = {}
    for name, server in known:
        if not name.endswith("*"):
            found.setdefault(name, server)
    return list(found.items())


def _list_configured_models(project: Path, home: Path) -> list[str]:
    """Return the names below `models:` in the configuration files that can be read."""
    from clio.config.paths import home_config, project_config
    from clio.config.schema import read_settings_file
    from clio.errors import ClioError

    found: list[str] = []
    for path, root in ((home_config(home), None), (project_config(project), project)):
        with suppress(ClioError):
            settings = read_settings_file(path, path.name, root=root) or ()
            found += [setting.key[1] for setting in settings if setting.key[0] == "models"]
    return list(dict.fromkeys(found))


def _list_notes(project: Path, home: Path) -> Rows:
    from clio.memory.store.notes import Notes

    return [(note.key, note.content) for note in Notes(project / ".clio" / "memory").newest_first()]


def _list_memories(project: Path, home: Path) -> Rows:
    """Return the ids of the project's memory entries as `clio memory list` shows them, without typed memories."""
    from clio.memory.store.ltm_codec import decode_ltm

    path = project / ".clio" / "ltm.json"
    if not path.is_file():
        return []
    document = decode_ltm(read_regular(path))
    return [(entry.id, entry.content) for entry in document.knowledge().entries]


def _list_servers(project: Path, home: Path) -> Rows:
    """Return the names of the MCP servers, including those that wait for trust."""
    from clio.config.extension_files import read_servers

    return [(server.name, server.where) for server in read_servers(home, project, lambda _: True).servers]


def _list_plugins(project: Path, home: Path) -> Rows:
    """Return the names in the lock file with their sources; their files are not read."""
    from clio.config.installed_plugins import read_lock

    return [(name, locked.source) for name, locked in read_lock(home).plugins.items()]


def _list_skills(project: Path, home: Path) -> Rows:
    """Return the names of the skills' folders; their files are not read."""
    from clio.skills.skills import SKILL_FILE_NAME, list_skill_folders

    folders = [place.folder for place in list_skill_folders(project, home, user_home(os.environ))]
    found = (path.name for folder in folders if folder.is_dir() for path in folder.iterdir()
             if (path / SKILL_FILE_NAME).is_file())  # fmt: skip
    return [(name, "") for name in sorted(set(found))]


def _list_styles(project: Path, home: Path) -> Rows:
    from clio.prompt_files import list_prompt_names

    found = [name.partition("/")[2] for name in list_prompt_names("styles")]
    for folder in (home / "styles", project / ".clio" / "styles"):
        found += sorted(path.stem for path in folder.glob("*.md"))
    return [(name, "") for name in dict.fromkeys(found)]


def _list_task_types(project: Path, home: Path) -> Rows:
    from clio.memory.preferences.task_types import load_task_types

    return [(name, "") for name in load_task_types(home).names]


def _list_jobs(project: Path, home: Path) -> Rows:
    """Return the numbers of all jobs, the newest first."""
    from clio.jobs.job_store import STATE_NAMES, list_jobs

    return [
        (str(job.record.id), f"{tr(STATE_NAMES[job.state])}: {job.record.task}") for job in reversed(list_jobs(home))
    ]


def _list_questions(project: Path, home: Path) -> Rows:
    """Return the questions that jobs wait with."""
    from clio.jobs.job_store import list_jobs

    asked = [(job.record.id, job.open_question) for job in list_jobs(home)]
    return [(f"{number}.{question.question}", question.title) for number, question in asked if question is not None]


def _list_schedules(project: Path, home: Path) -> Rows:
    from clio.jobs.schedules import list_schedules

    return [(str(schedule.id), f"{schedule.when}: {schedule.job.task}") for schedule in list_schedules(home)]


def _list_worktrees(project: Path, home: Path) -> Rows:
    entries = sorted((project / ".git" / "worktrees").glob(f"*/{WORKTREE_MARK}"))
    return [
        (read_beginning(entry, 1_000).decode("utf-8", "replace").strip(), "") for entry in entries if entry.is_file()
    ]


KINDS: Mapping[str, Callable[[Path, Path], Rows]] = {
    "entries": _list_memories,
    "jobs": _list_jobs,
    "models": _list_models,
    "notes": _list_notes,
    "questions": _list_questions,
    "scenarios": _list_task_types,
    "schedules": _list_schedules,
    "servers": _list_servers,
    "sessions": _list_sessions,
    "skills": _list_skills,
    "styles": _list_styles,
    "plugins": _list_plugins,
    "worktrees": _list_worktrees,
}
