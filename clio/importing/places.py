"""Where other agents keep their conversations, and which of them were held in this project."""

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.algorithms.json_data import decode_json
from clio.config.paths import clio_home, user_home
from clio.errors import UserError
from clio.importing import aider, claude, codex, own
from clio.importing.lines import records_of
from clio.importing.pieces import Agent, Json, Tally, mapping
from clio.sessions.listing import list_sessions
from clio.sessions.state import JOURNAL, is_session_id
from clio.storage.files import read_regular

_HEAD_RECORDS = 40
_SLUG_CHARS = 200
"""Claude Code cuts longer names of folders, and adds a hash."""


class SourceFile(Struct, frozen=True, kw_only=True):
    """A file with conversations.

    size: in bytes. modified: in nanoseconds since the epoch. ours: they were held in this project.
    """

    agent: Agent
    path: Path
    size: int
    modified: int
    ours: bool = True


class Found(Struct, frozen=True, kw_only=True):
    """What there is of one agent. unusable: files that are none, or cannot be looked at, each with the reason."""

    agent: Agent
    where: tuple[Path, ...]
    files: tuple[SourceFile, ...] = ()
    unusable: tuple[tuple[str, str], ...] = ()


class Looker:
    """Looks for conversations. project: whose count as its own, with those held in folders below it."""

    def __init__(self, project: Path, env: Mapping[str, str]) -> None:
        self._project = project.resolve()
        self._env = env
        self._unusable: list[tuple[str, str]] = []

    def look(self, agent: Agent, given: Path | None, *, every: bool = False) -> Found:
        """The files of an agent, the last changed first.

        given: a file, which is always meant, or a folder; None for where the agent keeps them. every: those of other
        projects count as this one's. Raises UserError where `given` is not there.
        """
        self._unusable = []
        if given is not None and not given.exists():
            raise UserError(f"There is nothing at {str(given)!r}; give a file or a folder of {agent}'s")
        where = (given,) if given else self.homes(agent)
        paths = [path for place in where for path in self._paths(agent, place)]
        always = every or (given is not None and (given.is_file() or agent in ("aider", "clio")))
        files = [file for path in dict.fromkeys(paths) if (file := self._file(agent, path, always))]
        files.sort(key=lambda file: (-file.modified, str(file.path)))
        return Found(agent=agent, where=where, files=tuple(files), unusable=tuple(self._unusable))

    def homes(self, agent: Agent) -> tuple[Path, ...]:
        """Where the agent keeps its files, as far as that is there."""
        home, env = user_home(self._env), self._env
        match agent:
            case "claude":
                named = env.get("CLAUDE_CONFIG_DIR", "")
                places = [Path(named)] if named else [home / ".claude", home / ".config" / "claude"]
            case "codex":
                places = [Path(env.get("CODEX_HOME") or home / ".codex")]
            case "gemini":
                places = [Path(env.get("GEMINI_CLI_HOME") or home) / ".gemini"]
            case "aider":
                places = [self._project]
            case "clio":
                places = [clio_home(env)]
        return tuple(place for place in places if place.is_dir())

    def is_ours(self, directory: str) -> bool:
        """Whether a conversation held there belongs to this project."""
        if not directory:
            return False
        try:
            return Path(directory).resolve().is_relative_to(self._project)
        except (OSError, ValueError, RuntimeError):
            return False

    def _paths(self, agent: Agent, place: Path) -> Iterator[Path]:
        if place.is_file():
            yield place
            return
        match agent:
            case "claude":
                root = place / "projects" if (place / "projects").is_dir() else place
                yield from self._below(root, lambda path: path.suffix == ".jsonl")
            case "codex":
                roots = [place / name for name in ("sessions", "archived_sessions") if (place / name).is_dir()]
                for root in roots or [place]:
                    yield from self._below(root, lambda path: path.name.startswith("rollout-") and _is_json(path))
            case "gemini":
                root = place / "tmp" if (place / "tmp").is_dir() else place
                yield from self._below(root, _is_gemini)
            case "aider":
                named = [place / name for name in (aider.HISTORY, aider.INPUTS)]
                yield from [path for path in named if path.is_file()][:1]
            case "clio":
                inside = (place / ".clio" / "sessions", place / "sessions", place)
                yield from _sessions_in(next(folder for folder in inside if folder.is_dir()))

    def _below(self, root: Path, wanted: Callable[[Path], bool]) -> Iterator[Path]:
        """The wanted files in a folder and in those below it; links to folders are not followed."""
        for folder, _, names in os.walk(root, onerror=self._cannot_look):
            yield from (path for name in names if wanted(path := Path(folder) / name))

    def _cannot_look(self, error: OSError) -> None:
        self._unusable.append((str(error.filename), error.strerror or str(error)))

    def _file(self, agent: Agent, path: Path, always: bool) -> SourceFile | None:
        try:
            looked = path.stat()
            if not stat.S_ISREG(looked.st_mode):
                self._unusable.append((str(path), "is no file"))
                return None
            ours = always or self._held_here(agent, path)
        except OSError as error:
            self._unusable.append((str(path), error.strerror or str(error)))
            return None
        return SourceFile(agent=agent, path=path, size=looked.st_size, modified=looked.st_mtime_ns, ours=ours)

    def _held_here(self, agent: Agent, path: Path) -> bool:
        match agent:
            case "claude":
                return self._is_claudes(path)
            case "codex":
                return self.is_ours(_directory(path, codex.directory_of))
            case "gemini":
                return self._is_geminis(path)
            case "aider":
                return True
            case "clio":
                files = own.files_of(path)
                infos = {info.id: info for info in list_sessions(files.folder)}
                return files.id in infos and self.is_ours(infos[files.id].working_directory)

    def _is_claudes(self, path: Path) -> bool:
        """By the folder's name first: it saves opening the files of all other projects."""
        ours = slug(self._project)[:_SLUG_CHARS]
        names = [parent.name for parent in path.parents]
        if "projects" in names and not any(name == ours or name.startswith(f"{ours}-") for name in names):
            return len(ours) == _SLUG_CHARS and any(name.startswith(ours) for name in names)
        directory = _directory(path, claude.directory_of)
        return self.is_ours(directory) if directory else ours in names

    def _is_geminis(self, path: Path) -> bool:
        folder = next((parent.parent for parent in path.parents if parent.name == "chats"), path.parent)
        root = folder / ".project_root"
        if root.is_file():
            return self.is_ours(root.read_text(encoding="utf-8", errors="replace").strip())
        if folder.name == hashlib.sha256(str(self._project).encode()).hexdigest():
            return True
        named = _json(folder.parent.parent / "projects.json")
        registered = mapping(named.get("projects"))
        return any(name == folder.name and self.is_ours(directory) for directory, name in registered.items())


def slug(folder: Path) -> str:
    """A folder as Claude Code names it: every sign that is no letter or digit is a dash."""
    return re.sub(r"[^A-Za-z0-9]", "-", str(folder))


def _directory(path: Path, of_line: Callable[[Path, Json], str]) -> str:
    """Where a conversation was held, from its first lines; "" where they do not say."""
    if path.suffix == ".json":
        return _first_form(path)
    for number, (_, line) in enumerate(records_of(path, Tally(), lambda done: None)):
        if directory := of_line(path, line):
            return directory
        if number >= _HEAD_RECORDS:
            break
    return ""


def _first_form(path: Path) -> str:
    from_words = re.search(rb"(?:<cwd>|Current working directory: )([^<\\\n\"]+)", path.open("rb").read(200_000))
    return from_words[1].decode("utf-8", "replace").strip() if from_words else ""


def _json(path: Path) -> Json:
    try:
        return mapping(decode_json(read_regular(path)))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def _is_json(path: Path) -> bool:
    return path.suffix in (".json", ".jsonl")


def _is_gemini(path: Path) -> bool:
    if path.name == "logs.json" or (path.name.startswith("checkpoint") and path.suffix == ".json"):
        return True
    return _is_json(path) and "chats" in (path.parent.name, path.parent.parent.name)


def _sessions_in(folder: Path) -> Iterator[Path]:
    """One file of each session: its snapshot, or the journal where there is none yet."""
    for path in sorted(folder.iterdir()):
        journal = path.name.endswith(JOURNAL)
        if journal and path.with_name(f"{path.name.removesuffix(JOURNAL)}.json").exists():
            continue
        if journal or path.suffix == ".json":
            yield from [path] if is_session_id(own.files_of(path).id) else []
