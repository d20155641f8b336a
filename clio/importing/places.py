"""Finds conversations and memory files of other agents and of other clios, and decides which belong to this project."""

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
from clio.importing import aider, claude, codex, specstory
from clio.importing.reading import (
    Agent,
    ImportedImage,
    ImportedMessage,
    Json,
    Piece,
    Progress,
    SessionAbout,
    Tally,
    as_mapping,
    read_records,
)
from clio.memory.store.ltm_codec import normalize_text
from clio.messages import AssistantMessage, Message, ToolMessage, UserMessage
from clio.sessions.listing import list_sessions
from clio.sessions.loading import load_session
from clio.sessions.session_files import BlobNotFound, BlobStore, output_readers
from clio.sessions.state import JOURNAL_SUFFIX, SNAPSHOT_SUFFIX, SessionFiles, is_session_id
from clio.storage.files import open_regular, read_beginning, read_regular
from clio.text.json_data import decode_json
from clio.text.translation import tr


def get_session_files(path: Path) -> SessionFiles:
    """Return the files of the session that this file belongs to."""
    return SessionFiles(path.parent, path.name.removesuffix(JOURNAL_SUFFIX).removesuffix(SNAPSHOT_SUFFIX))


def read_clio(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """Yield the session of a snapshot or journal. Raises OSError, and what `progress` raises."""
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
        yield _convert_message(state.id, message, blobs)


def _convert_message(key: str, message: Message, blobs: BlobStore) -> ImportedMessage:
    images: list[ImportedImage] = []
    whole: str | None = None
    if isinstance(message, UserMessage | ToolMessage) and message.blob:
        with suppress(BlobNotFound, OSError):
            whole = blobs.read(message.blob)
    if isinstance(message, UserMessage | ToolMessage):
        for part in message.images:
            with suppress(BlobNotFound, OSError):
                data = base64.b64encode(blobs.read_data(part.blob)).decode()
                images.append(ImportedImage(media_type=part.media_type, data=data, name=part.name))
        message = structs.replace(message, images=(), blob=None)
    elif isinstance(message, AssistantMessage):
        message = structs.replace(message, reasoning="", usage=None)
    return ImportedMessage(key=key, message=message, images=tuple(images), whole=whole)


_HEAD_RECORDS = 40
_MAX_SLUG_CHARS = 200
"""Claude Code cuts longer names of folders, and appends a hash."""


class SourceFile(Struct, frozen=True, kw_only=True):
    """A file with conversations.

    Attributes:
        size: in bytes.
        modified: in nanoseconds since the epoch.
        ours: whether the conversations belong to this project.
    """

    agent: Agent
    path: Path
    size: int
    modified: int
    ours: bool = True


class FoundFiles(Struct, frozen=True, kw_only=True):
    """The files of one agent. unusable: paths that cannot be read or are not files, with the reason."""

    agent: Agent
    where: tuple[Path, ...]
    files: tuple[SourceFile, ...] = ()
    unusable: tuple[tuple[str, str], ...] = ()


class SourceFinder:
    """Looks for conversations. project: the folder; conversations in folders below it belong to it as well."""

    def __init__(self, project: Path, env: Mapping[str, str]) -> None:
        self._project = project.resolve()
        self._env = env
        self._unusable: list[tuple[str, str]] = []

    def find_files(self, agent: Agent, given: Path | None, *, every: bool = False) -> FoundFiles:
        """Return the files of an agent, last changed first.

        Args:
            given: a file, which always belongs to the project, or a folder; None for the agent's usual folders.
            every: whether files of other projects count as this project's.

        Raises:
            UserError: if `given` does not exist.
        """
        self._unusable = []
        if given is not None and not given.exists():
            raise UserError(
                tr("{given!r} does not exist; name a file or a folder of {agent}", given=str(given), agent=agent)
            )
        where = (given,) if given else self.list_homes(agent)
        paths = [path for root_path in where for path in self._iter_paths(agent, root_path)]
        always = every or (given is not None and (given.is_file() or agent in ("aider", "specstory", "clio")))
        files = [file for path in dict.fromkeys(paths) if (file := self._examine_file(agent, path, always))]
        files.sort(key=lambda file: (-file.modified, str(file.path)))
        return FoundFiles(agent=agent, where=where, files=tuple(files), unusable=tuple(self._unusable))

    def list_homes(self, agent: Agent) -> tuple[Path, ...]:
        """Return the agent's folders that exist."""
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
            case "specstory":
                places = [self._project / specstory.FOLDER]
            case "clio":
                places = [clio_home(env)]
        return tuple(root_path for root_path in places if root_path.is_dir())

    def is_ours(self, directory: str) -> bool:
        """Whether a conversation with this working directory belongs to the project."""
        if not directory:
            return False
        try:
            return Path(directory).resolve().is_relative_to(self._project)
        except (OSError, ValueError, RuntimeError):
            return False

    def _iter_paths(self, agent: Agent, root_path: Path) -> Iterator[Path]:
        if root_path.is_file():
            yield root_path
            return
        match agent:
            case "claude":
                root = root_path / "projects" if (root_path / "projects").is_dir() else root_path
                yield from self._walk_files(root, lambda path: path.suffix == ".jsonl")
            case "codex":
                roots = [root_path / name for name in ("sessions", "archived_sessions") if (root_path / name).is_dir()]
                for root in roots or [root_path]:
                    yield from self._walk_files(
                        root, lambda path: path.name.startswith("rollout-") and _has_json_suffix(path)
                    )
            case "gemini":
                root = root_path / "tmp" if (root_path / "tmp").is_dir() else root_path
                yield from self._walk_files(root, _is_gemini_file)
            case "aider":
                named = [root_path / name for name in (aider.HISTORY, aider.INPUTS)]
                yield from [path for path in named if path.is_file()][:1]
            case "specstory":
                root = root_path / specstory.FOLDER if (root_path / specstory.FOLDER).is_dir() else root_path
                yield from self._walk_files(root, lambda path: path.suffix == ".md")
            case "clio":
                inside = (root_path / ".clio" / "sessions", root_path / "sessions", root_path)
                yield from _iter_session_files(next(folder for folder in inside if folder.is_dir()))

    def _walk_files(self, root: Path, wanted: Callable[[Path], bool]) -> Iterator[Path]:
        """Yield the matching files in a folder and below it; links to folders are not followed."""
        for folder, _, names in os.walk(root, onerror=self._add_unusable):
            yield from (path for name in names if wanted(path := Path(folder) / name))

    def _add_unusable(self, error: OSError) -> None:
        self._unusable.append((str(error.filename), error.strerror or str(error)))

    def _examine_file(self, agent: Agent, path: Path, always: bool) -> SourceFile | None:
        try:
            looked = path.stat()
            if not stat.S_ISREG(looked.st_mode):
                self._unusable.append((str(path), tr("not a file")))
                return None
            ours = always or self._belongs_here(agent, path)
        except OSError as error:
            self._unusable.append((str(path), error.strerror or str(error)))
            return None
        return SourceFile(agent=agent, path=path, size=looked.st_size, modified=looked.st_mtime_ns, ours=ours)

    def _belongs_here(self, agent: Agent, path: Path) -> bool:
        match agent:
            case "claude":
                return self._is_claude_file_ours(path)
            case "codex":
                return self.is_ours(_find_directory(path, codex.read_directory))
            case "gemini":
                return self._is_gemini_file_ours(path)
            case "aider" | "specstory":
                return True
            case "clio":
                files = get_session_files(path)
                infos = {info.id: info for info in list_sessions(files.folder)}
                return files.id in infos and self.is_ours(infos[files.id].working_directory)

    def _is_claude_file_ours(self, path: Path) -> bool:
        # The folder's name is compared first, which avoids opening the files of all other projects.
        ours = make_slug(self._project)[:_MAX_SLUG_CHARS]
        names = [parent.name for parent in path.parents]
        if "projects" in names and not any(name == ours or name.startswith(f"{ours}-") for name in names):
            return len(ours) == _MAX_SLUG_CHARS and any(name.startswith(ours) for name in names)
        directory = _find_directory(path, claude.read_directory)
        return self.is_ours(directory) if directory else ours in names

    def _is_gemini_file_ours(self, path: Path) -> bool:
        folder = next((parent.parent for parent in path.parents if parent.name == "chats"), path.parent)
        root = folder / ".project_root"
        if root.is_file():
            return self.is_ours(read_beginning(root, 65_536).decode("utf-8", "replace").strip())
        if folder.name == hashlib.sha256(str(self._project).encode()).hexdigest():
            return True
        named = _read_json_object(folder.parent.parent / "projects.json")
        registered = as_mapping(named.get("projects"))
        return any(name == folder.name and self.is_ours(directory) for directory, name in registered.items())


def make_slug(folder: Path) -> str:
    """Return a folder's name as Claude Code writes it: every character that is not a letter or digit is a dash."""
    return re.sub(r"[^A-Za-z0-9]", "-", str(folder))


def _find_directory(path: Path, of_line: Callable[[Path, Json], str]) -> str:
    """Return the working directory of a conversation, from its first lines; "" if they do not contain it."""
    if path.suffix == ".json":
        return _read_first_format(path)
    for number, (_, line) in enumerate(read_records(path, Tally(), lambda done: None)):
        if directory := of_line(path, line):
            return directory
        if number >= _HEAD_RECORDS:
            break
    return ""


def _read_first_format(path: Path) -> str:
    found = re.search(rb"(?:<cwd>|Current working directory: )([^<\\\n\"]+)", read_beginning(path, 200_000))
    return found[1].decode("utf-8", "replace").strip() if found else ""


def _read_json_object(path: Path) -> Json:
    try:
        return as_mapping(decode_json(read_regular(path)))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def _has_json_suffix(path: Path) -> bool:
    return path.suffix in (".json", ".jsonl")


def _is_gemini_file(path: Path) -> bool:
    if path.name == "logs.json" or (path.name.startswith("checkpoint") and path.suffix == ".json"):
        return True
    return _has_json_suffix(path) and "chats" in (path.parent.name, path.parent.parent.name)


def _iter_session_files(folder: Path) -> Iterator[Path]:
    """Yield one file of each session: its snapshot, or its journal if there is no snapshot yet."""
    for path in sorted(folder.iterdir()):
        journal = path.name.endswith(JOURNAL_SUFFIX)
        if journal and path.with_name(f"{path.name.removesuffix(JOURNAL_SUFFIX)}.json").exists():
            continue
        if journal or path.suffix == ".json":
            yield from [path] if is_session_id(get_session_files(path).id) else []


MAX_FILE_BYTES = 1_000_000
MAX_FACT_CHARS = 2_000
_MAX_SINGLE_MEMORY_CHARS = 800
_GEMINI_SECTION = "Gemini Added Memories"
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?=\S)")
_FRONT = re.compile(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_DESCRIPTION = re.compile(r"^description:\s*(.+)$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+\.md)\)")
_IMPORT = re.compile(r"@\S+\s*$")
_TITLE_ONLY = frozenset({"claude.md", "memory", "memory.md", "gemini.md", "auto memory", "project memory", ""})


class Fact(Struct, frozen=True, kw_only=True):
    """A fact that an agent stored. source: the file that contains it."""

    text: str
    source: Path
    agent: Agent

    @property
    def fingerprint(self) -> str:
        """A hash that identifies this fact in other files and at other times."""
        return hashlib.sha256(normalize_text(self.text).encode("utf-8", "replace")).hexdigest()[:16]


def find_facts(
    agent: Agent, finder: SourceFinder, project: Path, given: Path | None, redact: Callable[[str], str]
) -> tuple[list[Fact], list[tuple[str, str]]]:
    """Return the agent's facts about this project without duplicates, and the unreadable files with the reasons."""
    found: dict[str, Fact] = {}
    unreadable: list[tuple[str, str]] = []
    for path, section in _iter_memory_files(agent, finder, project, given):
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
    """Yield the items of a Markdown text.

    Args:
        section: only items below this heading; "" for all.
        beside: the file's folder. An item that only links to another file there is omitted, because that is read too.
    """
    text = _COMMENT.sub("", text.replace("\r\n", "\n"))
    if front := _FRONT.match(text):
        description = _DESCRIPTION.search(front[1])
        body = text[front.end() :].strip()
        if description and len(body) <= _MAX_SINGLE_MEMORY_CHARS:  # a file with a single memory
            about = description[1].strip("\"' ")
            yield body if about in body or not description[1] else f"{description[1].strip(chr(34))}\n{body}".strip()
            return
        text = body
    for heading, item in _iter_items(text):
        link = _LINK.search(item)
        if section and heading.casefold() != section.casefold():
            continue
        if _IMPORT.fullmatch(item) or (link and beside and (beside / link[1]).is_file()):
            continue
        is_title = heading.casefold() in _TITLE_ONLY or heading.casefold() == section.casefold()
        yield item if is_title else f"{heading}: {item}"


def _iter_items(text: str) -> Iterator[tuple[str, str]]:
    """Yield the nearest heading above each item, and the item."""
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
        if found or _begins_item(line, lines) or (not line.strip() and not _continues_item(lines)):
            if item := _join_item(lines):
                yield heading, item
            lines = [] if found or not line.strip() else [line]
            heading = found[2].strip("*_` ") if found else heading
        else:
            lines.append(line)


def _begins_item(line: str, lines: list[str]) -> bool:
    """Whether a line begins an item: a bullet that is not indented below the current bullet."""
    if not _BULLET.match(line):
        return False
    return not (lines and _BULLET.match(lines[0]) and _count_indent(line) > _count_indent(lines[0]))


def _count_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _continues_item(lines: list[str]) -> bool:
    """Whether the text after an empty line belongs to the item, such as code after "run this:"."""
    return bool(lines) and lines[-1].rstrip().endswith(":")


def _join_item(lines: list[str]) -> str:
    if not lines:
        return ""
    first = _BULLET.sub("", lines[0], count=1)
    return "\n".join(line.rstrip() for line in [first, *lines[1:]] if line.strip()).strip()


def _iter_memory_files(
    agent: Agent, finder: SourceFinder, project: Path, given: Path | None
) -> Iterator[tuple[Path, str]]:
    """Yield the memory files that exist, each with the heading of its facts."""
    if given is not None:
        if given.suffix == ".md" and agent not in ("aider", "specstory"):
            yield given, _GEMINI_SECTION if agent == "gemini" and given.name == "GEMINI.md" else ""
        elif given.is_dir():
            yield from ((path, "") for path in sorted(given.glob("memory/*.md")))
        return
    homes = finder.list_homes(agent)
    match agent:
        case "claude":
            named = [project / name for name in ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")]
            memory_folders = [home / "projects" / make_slug(project) / "memory" for home in homes]
            yield from _select_existing(named, "")
            yield from ((path, "") for folder in memory_folders for path in _list_markdown(folder))
        case "gemini":
            yield from _select_existing(
                [project / "GEMINI.md", *(home / "GEMINI.md" for home in homes)], _GEMINI_SECTION
            )
        case "codex":
            yield from _select_existing([home / "memories" / "MEMORY.md" for home in homes], "")
        case "aider" | "specstory" | "clio":
            return


def _select_existing(paths: Iterable[Path], section: str) -> Iterator[tuple[Path, str]]:
    return ((path, section) for path in paths if path.is_file())


def _list_markdown(folder: Path) -> list[Path]:
    """Return the Markdown files in a folder, the index first."""
    if not folder.is_dir():
        return []
    return sorted(folder.glob("*.md"), key=lambda path: (path.name != "MEMORY.md", path.name))
