"""Where other agents and other clios keep conversations and memory files, and which belong to this project."""

import base64
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from clio.config.paths import clio_home, user_home
from clio.errors import ClioError, UserError
from clio.importing import aider, claude, codex
from clio.importing.reading import (
    Agent,
    ImportedMessage,
    Json,
    Picture,
    Piece,
    Progress,
    SessionAbout,
    Tally,
    as_mapping,
    read_records,
)
from clio.memory.store.ltm_objects import normal
from clio.messages import AssistantMessage, Message, ToolMessage, UserMessage
from clio.sessions.listing import list_sessions
from clio.sessions.loading import load_session
from clio.sessions.session_files import BlobNotFound, BlobStore, output_readers
from clio.sessions.state import JOURNAL, SNAPSHOT, SessionFiles, is_session_id
from clio.storage.files import open_regular, read_regular
from clio.text.json_data import decode_json


def get_session_files(path: Path) -> SessionFiles:
    """The files of the session that this one belongs to."""
    return SessionFiles(path.parent, path.name.removesuffix(JOURNAL).removesuffix(SNAPSHOT))


def read_clio(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """The session that a snapshot or a journal belongs to. Raises OSError, and what `progress` raises."""
    files = get_session_files(path)
    try:
        loaded = load_session(files)
    except ClioError as error:
        tally.unreadable.append((str(path), str(error)))
        return
    state = loaded.state
    if state.imported is not None:
        return
    tally.kinds["damaged"] += len(loaded.warnings)
    blobs = BlobStore(files.blobs, writable=False, external=output_readers(loaded.outputs))
    yield SessionAbout(key=state.id, title=state.name or "", directory=state.working_directory)
    size = path.stat().st_size
    for number, message in enumerate(state.messages, 1):
        progress(size * number // len(state.messages))
        yield _said(state.id, message, blobs)


def _said(key: str, message: Message, blobs: BlobStore) -> ImportedMessage:
    pictures: list[Picture] = []
    whole: str | None = None
    if isinstance(message, UserMessage | ToolMessage) and message.blob:
        with suppress(BlobNotFound, OSError):
            whole = blobs.read(message.blob)
    if isinstance(message, UserMessage | ToolMessage):
        for part in message.images:
            with suppress(BlobNotFound, OSError):
                data = base64.b64encode(blobs.read_data(part.blob)).decode()
                pictures.append(Picture(media_type=part.media_type, data=data, name=part.name))
        message = structs.replace(message, images=(), blob=None)
    elif isinstance(message, AssistantMessage):
        message = structs.replace(message, reasoning="", usage=None)
    return ImportedMessage(key=key, message=message, pictures=tuple(pictures), whole=whole)


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


class FoundFiles(Struct, frozen=True, kw_only=True):
    """What there is of one agent. unusable: files that are none, or cannot be looked at, each with the reason."""

    agent: Agent
    where: tuple[Path, ...]
    files: tuple[SourceFile, ...] = ()
    unusable: tuple[tuple[str, str], ...] = ()


class SourceFinder:
    """Looks for conversations. project: whose count as its own, with those held in folders below it."""

    def __init__(self, project: Path, env: Mapping[str, str]) -> None:
        self._project = project.resolve()
        self._env = env
        self._unusable: list[tuple[str, str]] = []

    def find_files(self, agent: Agent, given: Path | None, *, every: bool = False) -> FoundFiles:
        """The files of an agent, the last changed first.

        given: a file, which is always meant, or a folder; None for where the agent keeps them. every: those of other
        projects count as this one's. Raises UserError where `given` is not there.
        """
        self._unusable = []
        if given is not None and not given.exists():
            raise UserError(f"There is nothing at {str(given)!r}; give a file or a folder of {agent}'s")
        where = (given,) if given else self.list_homes(agent)
        paths = [path for place in where for path in self._paths(agent, place)]
        always = every or (given is not None and (given.is_file() or agent in ("aider", "clio")))
        files = [file for path in dict.fromkeys(paths) if (file := self._file(agent, path, always))]
        files.sort(key=lambda file: (-file.modified, str(file.path)))
        return FoundFiles(agent=agent, where=where, files=tuple(files), unusable=tuple(self._unusable))

    def list_homes(self, agent: Agent) -> tuple[Path, ...]:
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
                return self.is_ours(_directory(path, codex.read_directory))
            case "gemini":
                return self._is_geminis(path)
            case "aider":
                return True
            case "clio":
                files = get_session_files(path)
                infos = {info.id: info for info in list_sessions(files.folder)}
                return files.id in infos and self.is_ours(infos[files.id].working_directory)

    def _is_claudes(self, path: Path) -> bool:
        """By the folder's name first: it saves opening the files of all other projects."""
        ours = make_slug(self._project)[:_SLUG_CHARS]
        names = [parent.name for parent in path.parents]
        if "projects" in names and not any(name == ours or name.startswith(f"{ours}-") for name in names):
            return len(ours) == _SLUG_CHARS and any(name.startswith(ours) for name in names)
        directory = _directory(path, claude.read_directory)
        return self.is_ours(directory) if directory else ours in names

    def _is_geminis(self, path: Path) -> bool:
        folder = next((parent.parent for parent in path.parents if parent.name == "chats"), path.parent)
        root = folder / ".project_root"
        if root.is_file():
            return self.is_ours(root.read_text(encoding="utf-8", errors="replace").strip())
        if folder.name == hashlib.sha256(str(self._project).encode()).hexdigest():
            return True
        named = _json(folder.parent.parent / "projects.json")
        registered = as_mapping(named.get("projects"))
        return any(name == folder.name and self.is_ours(directory) for directory, name in registered.items())


def make_slug(folder: Path) -> str:
    """A folder as Claude Code names it: every sign that is no letter or digit is a dash."""
    return re.sub(r"[^A-Za-z0-9]", "-", str(folder))


def _directory(path: Path, of_line: Callable[[Path, Json], str]) -> str:
    """Where a conversation was held, from its first lines; "" where they do not say."""
    if path.suffix == ".json":
        return _first_form(path)
    for number, (_, line) in enumerate(read_records(path, Tally(), lambda done: None)):
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
        return as_mapping(decode_json(read_regular(path)))
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
            yield from [path] if is_session_id(get_session_files(path).id) else []


MAX_FILE_BYTES = 1_000_000
MAX_FACT_CHARS = 2_000
_WHOLE_CHARS = 800
_GEMINIS = "Gemini Added Memories"
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?=\S)")
_FRONT = re.compile(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_SAID = re.compile(r"^description:\s*(.+)$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+\.md)\)")
_IMPORT = re.compile(r"@\S+\s*$")
_TITLE_ONLY = frozenset({"claude.md", "memory", "memory.md", "gemini.md", "auto memory", "project memory", ""})


class Fact(Struct, frozen=True, kw_only=True):
    """Something an agent wrote down, in one text. source: the file it stands in."""

    text: str
    source: Path
    agent: Agent

    @property
    def fingerprint(self) -> str:
        """Tells this fact from others, however often it is read."""
        return hashlib.sha256(normal(self.text).encode("utf-8", "replace")).hexdigest()[:16]


def find_facts(
    agent: Agent, looker: SourceFinder, project: Path, given: Path | None, redact: Callable[[str], str]
) -> tuple[list[Fact], list[tuple[str, str]]]:
    """The facts of an agent about this project, each once; and the files that cannot be read, with the reason."""
    found: dict[str, Fact] = {}
    unreadable: list[tuple[str, str]] = []
    for path, section in _files(agent, looker, project, given):
        try:
            with open_regular(path, None) as file:
                text = file.read(MAX_FILE_BYTES).decode("utf-8-sig", "replace")
        except OSError as error:
            unreadable.append((str(path), error.strerror or str(error)))
            continue
        for item in split_items(text, section=section, beside=path.parent):
            fact = Fact(text=redact(item)[:MAX_FACT_CHARS], source=path, agent=agent)
            found.setdefault(fact.fingerprint, fact)
    return list(found.values()), unreadable


def split_items(text: str, *, section: str = "", beside: Path | None = None) -> Iterator[str]:
    """The items of a text of Markdown, each on its own. section: the heading under which they must stand; "" for any.

    beside: the folder of the file; an item that only leads to another file there is left out, as that is read too.
    """
    text = _COMMENT.sub("", text.replace("\r\n", "\n"))
    if front := _FRONT.match(text):
        said = _SAID.search(front[1])
        body = text[front.end() :].strip()
        if said and len(body) <= _WHOLE_CHARS:  # one memory a file: its parts belong together
            yield body if said[1].strip("\"' ") in body or not said[1] else f"{said[1].strip(chr(34))}\n{body}".strip()
            return
        text = body
    for heading, item in _under_headings(text):
        leads = _LINK.search(item)
        if section and heading.casefold() != section.casefold():
            continue
        if _IMPORT.fullmatch(item) or (leads and beside and (beside / leads[1]).is_file()):
            continue
        named = heading.casefold() in _TITLE_ONLY or heading.casefold() == section.casefold()
        yield item if named else f"{heading}: {item}"


def _under_headings(text: str) -> Iterator[tuple[str, str]]:
    """The items with the nearest heading above each."""
    heading, lines, fence = "", list[str](), ""
    for line in [*text.split("\n"), "# "]:
        mark = line.strip()[:3]
        if fence:
            lines.append(line)
            fence = "" if mark == fence else fence
            continue
        if mark in ("```", "~~~"):
            fence = mark
            lines.append(line)
            continue
        found = _HEADING.match(line)
        if found or _begins(line, lines) or (not line.strip() and not _goes_on(lines)):
            if item := _joined(lines):
                yield heading, item
            lines = [] if found or not line.strip() else [line]
            heading = found[2].strip("*_` ") if found else heading
        else:
            lines.append(line)


def _begins(line: str, lines: list[str]) -> bool:
    """Whether a line begins an item: a bullet, unless it stands indented below the bullet being read."""
    if not _BULLET.match(line):
        return False
    return not (lines and _BULLET.match(lines[0]) and _indent(line) > _indent(lines[0]))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _goes_on(lines: list[str]) -> bool:
    """Whether what follows an empty line may still belong to the item: the code that "run this:" speaks of."""
    return bool(lines) and lines[-1].rstrip().endswith(":")


def _joined(lines: list[str]) -> str:
    if not lines:
        return ""
    first = _BULLET.sub("", lines[0], count=1)
    return "\n".join(line.rstrip() for line in [first, *lines[1:]] if line.strip()).strip()


def _files(agent: Agent, looker: SourceFinder, project: Path, given: Path | None) -> Iterator[tuple[Path, str]]:
    """The memory files that are there, each with the heading under which its facts stand."""
    if given is not None:
        if given.suffix == ".md" and agent != "aider":
            yield given, _GEMINIS if agent == "gemini" and given.name == "GEMINI.md" else ""
        elif given.is_dir():
            yield from ((path, "") for path in sorted(given.glob("memory/*.md")))
        return
    homes = looker.list_homes(agent)
    match agent:
        case "claude":
            named = [project / name for name in ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")]
            kept = [home / "projects" / make_slug(project) / "memory" for home in homes]
            yield from _there(named, "")
            yield from ((path, "") for folder in kept for path in _markdown(folder))
        case "gemini":
            yield from _there([project / "GEMINI.md", *(home / "GEMINI.md" for home in homes)], _GEMINIS)
        case "codex":
            yield from _there([home / "memories" / "MEMORY.md" for home in homes], "")
        case "aider" | "clio":
            return


def _there(paths: Iterable[Path], section: str) -> Iterator[tuple[Path, str]]:
    return ((path, section) for path in paths if path.is_file())


def _markdown(folder: Path) -> list[Path]:
    """The texts in a folder, the index first."""
    if not folder.is_dir():
        return []
    return sorted(folder.glob("*.md"), key=lambda path: (path.name != "MEMORY.md", path.name))
