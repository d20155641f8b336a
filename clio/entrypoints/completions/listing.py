"""`clio __complete KIND`: what there is of one kind, a line for each, for the shell's completion.

Asked while somebody types, so it takes only what the kind needs, reads nothing but files of clio's own, and changes
nothing. What a shell could take for more than one plain word is left out.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from clio.config.paths import clio_home, project_folder, user_home
from clio.config.project_links import WORKTREE_MARK, find_worktree_link
from clio.storage.files import read_regular
from clio.text.formatting import truncate
from clio.text.lazy_regex import LazyRegex

MAX_LISTED = 200
NOTE_CHARS = 60
_PLAIN = LazyRegex(r"[A-Za-z0-9_@%+][\w@%+=:,./-]*", re.ASCII)
_UNSEEN = LazyRegex(
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
        project = project_folder(_decisive(Path.cwd()), clio_home=home, user_home=home_folder)
        lines = [_line(word, note) for word, note in listed(project, home) if _PLAIN.fullmatch(word)][:MAX_LISTED]
    except (ClioError, OSError, ValueError, RecursionError):  # the last two: a damaged file
        return 0
    sys.stdout.write("".join(lines))
    return 0


def _decisive(folder: Path) -> Path:
    """The folder; in a worktree made by clio, its counterpart in the main checkout, which has sessions and memory."""
    link = find_worktree_link(folder)
    return link.in_main(folder.resolve()) if link else folder


def _line(word: str, note: str) -> str:
    note = " ".join(_UNSEEN.sub(" ", note).split())
    return f"{word}\t{truncate(note, NOTE_CHARS)}\n"


def _sessions(project: Path, home: Path) -> Rows:
    """The unique start of each session id, with its title, marked if it came with the repository; newest first."""
    from clio.commands.session_table import format_title, unique_id_length
    from clio.sessions.listing import list_sessions
    from clio.sessions.store import OwnSessions

    infos = [info for info in list_sessions(project / ".clio" / "sessions") if info.is_conversation]
    length = unique_id_length(info.id for info in infos)
    own = OwnSessions(project, home).filter_own({info.id for info in infos})
    mark = {False: "from the repository: ", True: ""}
    return [(info.id[:length], mark[info.id in own] + format_title(info)) for info in infos]


def _models(project: Path, home: Path) -> Rows:
    """Configured models and models with a known price, with their server; servers are not asked."""
    from clio.providers.prices import PriceBook
    from clio.providers.profiles import PRESETS

    known = [(name, "configured") for name in _configured_models(project, home)]
    known += [(preset.default_model, preset.name) for preset in PRESETS if preset.default_model]
    known += [(price.model, "" if price.server == "*" else price.server) for price in PriceBook(home).list_prices()]
    found: dict[str, str] = {}
    for name, server in known:
        if not name.endswith("*"):
            found.setdefault(name, server)
    return list(found.items())


def _configured_models(project: Path, home: Path) -> list[str]:
    """The names below `models:` in the configuration files that can be read."""
    from clio.config.paths import home_config, project_config
    from clio.config.schema import read_settings_file
    from clio.errors import ClioError

    found: list[str] = []
    for path, root in ((home_config(home), None), (project_config(project), project)):
        with suppress(ClioError):
            settings = read_settings_file(path, path.name, root=root) or ()
            found += [setting.key[1] for setting in settings if setting.key[0] == "models"]
    return list(dict.fromkeys(found))


def _notes(project: Path, home: Path) -> Rows:
    from clio.memory.store.notes import Notes

    return [(note.key, note.content) for note in Notes(project / ".clio" / "memory").newest_first()]


def _entries(project: Path, home: Path) -> Rows:
    """The ids of the project's memory entries, as `clio memory list` shows them, without typed memories."""
    from clio.memory.store.ltm_codec import decode_ltm

    path = project / ".clio" / "ltm.json"
    if not path.is_file():
        return []
    document = decode_ltm(read_regular(path))
    return [(entry.id, entry.content) for entry in document.knowledge().entries]


def _servers(project: Path, home: Path) -> Rows:
    """MCP servers by name, also those that wait for trust."""
    from clio.config.extension_files import read_servers

    return [(server.name, server.where) for server in read_servers(home, project, lambda _: True).servers]


def _skills(project: Path, home: Path) -> Rows:
    """Skills by the names of their folders; their files are not read."""
    from clio.skills.skills import FILE_NAME, list_skill_folders

    folders = [place.folder for place in list_skill_folders(project, home, user_home(os.environ))]
    found = (path.name for folder in folders if folder.is_dir() for path in folder.iterdir()
             if (path / FILE_NAME).is_file())  # fmt: skip
    return [(name, "") for name in sorted(set(found))]


def _styles(project: Path, home: Path) -> Rows:
    from clio.prompt_files import prompt_names

    found = [name.partition("/")[2] for name in prompt_names("styles")]
    for folder in (home / "styles", project / ".clio" / "styles"):
        found += sorted(path.stem for path in folder.glob("*.md"))
    return [(name, "") for name in dict.fromkeys(found)]


def _scenarios(project: Path, home: Path) -> Rows:
    from clio.memory.preferences.task_types import read_scenarios

    return [(name, "") for name in read_scenarios(home).names]


def _worktrees(project: Path, home: Path) -> Rows:
    entries = sorted((project / ".git" / "worktrees").glob(f"*/{WORKTREE_MARK}"))
    return [(entry.read_text(encoding="utf-8").strip(), "") for entry in entries]


KINDS: Mapping[str, Callable[[Path, Path], Rows]] = {
    "entries": _entries,
    "models": _models,
    "notes": _notes,
    "scenarios": _scenarios,
    "servers": _servers,
    "sessions": _sessions,
    "skills": _skills,
    "styles": _styles,
    "worktrees": _worktrees,
}
