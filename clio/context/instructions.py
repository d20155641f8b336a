"""Instruction files of the user and the project, for the prompt and for single directories."""

import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from msgspec import Struct, structs

from clio.config.paths import display_path
from clio.config.schema import Config
from clio.context.message_parts import find_mentions, list_readings
from clio.context.request_builder import render_fragment
from clio.messages import Fragment
from clio.prompt_files import fill_prompt
from clio.providers.base import ModelLimits
from clio.readonly_git import run_git
from clio.security.actions import Action, ChangeFiles, ReadFiles
from clio.storage.files import LeavesProject, NotAFile, read_project_file
from clio.text.translation import tr
from clio.tokens import TokenEstimator

OWN_FILE = Path(".clio/instructions.md")
_FOLDER_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
"""Only the first of these in a directory is read; the others usually repeat it."""
MAX_BYTES = 64_000
MAX_DEPTH = 5
"""Levels of nested imports."""
MAX_FILES = 30
_OWN_COMMENT = re.compile(r"\A\s*<!--.*?-->", re.DOTALL)  # as `clio init` writes it, for the user
_INLINE_CODE = re.compile(r"(?<!`)`[^`\n]+`(?!`)")


class InstructionFile(Struct, frozen=True, kw_only=True):
    """One instruction file.

    Attributes:
        source: its path as shown to the user.
        imported_by: the source of the importing file, or "".
        personal: it is the user's own, or imported by such a file.
    """

    path: Path
    source: str
    text: str
    imported_by: str = ""
    personal: bool = False


class InstructionReader:
    """Reads instruction files and what they import, each file once.

    Args:
        root: files and their imports must be in this directory; None allows any place, for the user's own files.
        project: sources below it are shown relative to it.
        user_home: the home directory.
        links: places outside `root` that links may lead to, because the user trusts the project with them.

    Attributes:
        problems: sentences about imports that were not read.
    """

    def __init__(self, root: Path | None, project: Path, user_home: Path, links: Sequence[Path] = ()) -> None:
        self._root = root.resolve() if root else None
        self._links = tuple(links)
        self._project = project
        self._user_home = user_home
        self._seen: set[Path] = set()
        self.problems: list[str] = []

    def read_own_file(self, path: Path) -> Iterator[InstructionFile]:
        """Yield an `instructions.md` of clio and its imports, without the comment at its top, which is for the user."""
        if (text := self._read(path)) is not None:
            yield from self._read_with_imports(path, _OWN_COMMENT.sub("", text).strip(), "", 0)

    def read_folder_file(self, folder: Path) -> Iterator[InstructionFile]:
        """Yield the instruction file of a directory and its imports; nothing if there is none."""
        for name in _FOLDER_FILES:
            path = folder / name
            if text := (self._read(path) or "").strip():
                yield from self._read_with_imports(path, text, "", 0)
                return

    def _read(self, path: Path) -> str | None:
        """Return at most 64 kB of a file; None if it is missing, not text, or skipped with a reported problem."""
        try:
            data = read_project_file(
                path, self._root or Path(path.anchor), MAX_BYTES, trusted=self._links, truncate=True
            )
        except LeavesProject:
            target = display_path(Path(os.path.realpath(path)), project=None, user_home=self._user_home)
            self.problems.append(
                tr(
                    "{source} was not read: it points outside the project, to {target}; import it in "
                    "~/.clio/instructions.md, or trust it with: clio config trust",
                    source=self._format_source(path),
                    target=target,
                )
            )
            return None
        except NotAFile:
            if not path.is_dir():
                self.problems.append(
                    tr("{source} was not read: it is a pipe or a device, not a file", source=self._format_source(path))
                )
            return None
        except (OSError, ValueError):
            return None
        return None if b"\0" in data else data.decode("utf-8-sig", "replace")

    def _read_with_imports(self, path: Path, text: str, importer: str, depth: int) -> Iterator[InstructionFile]:
        real = path.resolve()
        # Files that import each other would never end.
        if not text or real in self._seen:
            return
        if len(self._seen) >= MAX_FILES:
            self.problems.append(
                tr(
                    "{source} was not read: at most {max_files} instruction files are read",
                    source=self._format_source(path),
                    max_files=MAX_FILES,
                )
            )
            return
        self._seen.add(real)
        source = self._format_source(path)
        personal = self._root is None
        yield InstructionFile(path=path, source=source, text=text, imported_by=importer, personal=personal)
        for imported in self._imports(real, text, source):
            if depth == MAX_DEPTH:
                self.problems.append(
                    tr(
                        "{source} imports {imported}, nested more than {max_depth} levels deep: not read",
                        source=source,
                        imported=imported.name,
                        max_depth=MAX_DEPTH,
                    )
                )
            elif (inner := self._read(imported)) is None:
                self.problems.append(
                    tr(
                        "{source} imports {source2}, which is not text: not read",
                        source=source,
                        source2=self._format_source(imported),
                    )
                )
            else:
                yield from self._read_with_imports(imported, inner.strip(), source, depth + 1)

    def _imports(self, importer: Path, text: str, source: str) -> Iterator[Path]:
        """Yield the existing files that a text imports with "@".

        Other uses of "@", as in `@types/node`, are plain text.
        """
        # In code, "@" is part of an example.
        for mention in find_mentions(_INLINE_CODE.sub("", text)):
            if mention.kind != "path" or mention.lines is not None:
                continue
            for reading in list_readings(mention):
                path = self._resolve_import(importer.parent, reading.name)
                if path is None or not _is_file(path):
                    continue
                # A repository could import any file of the user's, whose text would be sent to the model.
                if self._root is not None and not self._may_read(path):
                    where = tr("import it in ~/.clio/instructions.md instead")
                    self.problems.append(
                        tr(
                            "{source} imports {reading}, which is outside the project; {where}",
                            source=source,
                            reading=reading.name,
                            where=where,
                        )
                    )
                else:
                    yield path
                break

    def _resolve_import(self, folder: Path, name: str) -> Path | None:
        try:
            if name.startswith("~/"):
                return (self._user_home / name[2:]).resolve()
            return (folder / name).resolve()
        except (OSError, ValueError, RuntimeError):  # a loop of links, or an impossible file name
            return None

    def _may_read(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in (self._root, *self._links) if folder is not None)

    def _format_source(self, path: Path) -> str:
        if self._root is not None and path.is_relative_to(self._root):
            return Path(os.path.relpath(path, self._project)).as_posix()
        return display_path(path, project=None, user_home=self._user_home)


def list_folders_between(top: Path, bottom: Path) -> Sequence[Path]:
    """Return both directories and those between, from the top down; only `bottom` if it is not below `top`."""
    if not bottom.is_relative_to(top):
        return (bottom,)
    return (*(folder for folder in reversed(bottom.parents) if folder.is_relative_to(top)), bottom)


def find_repository_above(folder: Path) -> Path:
    """Return the nearest directory from `folder` upwards that contains `.git`, otherwise `folder` itself."""
    for candidate in (folder, *folder.parents):
        try:
            if (candidate / ".git").exists():
                return candidate
        except OSError:
            break  # a directory without permission to enter is not part of this project
    return folder


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


CAP_TOKENS = 4_000
"""Limit for one file."""
TOTAL_TOKENS = 10_000
"""Limit for all files together, on any window."""
WINDOW_SHARE = 12
"""All files together take at most 1 / WINDOW_SHARE of the window."""
_LEAST_TOKENS = 50


class Instructions(Struct, frozen=True, kw_only=True):
    """The files in reading order, the nearest last. problems: what was not read, and why."""

    files: tuple[InstructionFile, ...] = ()
    problems: tuple[str, ...] = ()


def find_instructions(
    project: Path,
    *,
    user_home: Path,
    home: Path | None = None,
    start: Path | None = None,
    links: Sequence[Path] = (),
) -> Instructions:
    """Find `~/.clio/instructions.md`, `.clio/instructions.md` and the files of the directories, each with its imports.

    The directories are those from the top of the repository down to where clio was started.

    Args:
        user_home: the user's home directory.
        home: clio's own directory; None leaves out the user's file.
        start: a directory in the project; None for the project.
        links: places outside the project that its links may lead to.
    """
    personal = InstructionReader(None, project, user_home)
    own_files = list(personal.read_own_file(home / OWN_FILE.name)) if home else []
    top = find_repository_above(project)
    reader = InstructionReader(top, project, user_home, links)
    files = [*own_files, *reader.read_own_file(project / OWN_FILE)]
    inside = start if start is not None and start.is_relative_to(project) else project
    # The nearest last, so that it has the last word where two files disagree.
    for folder in list_folders_between(top, inside):
        files.extend(reader.read_folder_file(folder))
    return Instructions(files=tuple(files), problems=(*personal.problems, *reader.problems))


def make_instruction_fragments(found: Instructions, window_tokens: int, count: Callable[[str], int]) -> list[Fragment]:
    """Return one fragment for each file; if there is not enough space, the farthest are cut or left out.

    The user's own file gets space first, so that no project displaces it; its imports come after the project's.

    Args:
        count: returns the tokens of a text.
    """
    left = min(TOTAL_TOKENS, window_tokens // WINDOW_SHARE)
    fragments: dict[int, Fragment] = {}
    nearest_first = sorted(range(len(found.files)), key=lambda index: (not _is_users_own(found.files[index]), -index))
    for index in nearest_first:
        cap = min(CAP_TOKENS, left)
        if cap < _LEAST_TOKENS:
            break
        file = found.files[index]
        fragments[index] = _fragment(file, cap)
        left -= min(count(file.text), cap)
    return [fragments[index] for index in sorted(fragments)]


def _is_users_own(file: InstructionFile) -> bool:
    return file.personal and not file.imported_by


def describe_left_out(found: Instructions, fragments: Sequence[Fragment]) -> list[str]:
    """Return a sentence for each file that did not fit."""
    included_sources = {part.source for part in fragments}
    return [
        tr(
            "{source} was left out: in a small context window, instructions may take at most "
            "{total_tokens:,} tokens, a twelfth of it",
            source=file.source,
            total_tokens=TOTAL_TOKENS,
        )
        for file in found.files
        if file.source not in included_sources
    ]


def _fragment(file: InstructionFile, cap_tokens: int) -> Fragment:
    reason = "your own instructions to agents" if file.personal else "the project's instructions to agents"
    return Fragment(
        name="user_instructions" if file.personal else "project_instructions",
        text=file.text,
        source=file.source,
        reason=f"imported by {file.imported_by}" if file.imported_by else reason,
        cap_tokens=cap_tokens,
    )


FOLDER_CAP_TOKENS = 2_000
"""Limit for the instructions shown after one call, all directories together."""
_THIRD_PARTY_FOLDERS = frozenset("node_modules site-packages .venv venv .git .clio".split())
"""Directories of third-party code, whose instructions are not meant for this project."""
_SAMPLE_FILE_NAME = "clio-any-file"
"""Name of a file that does not exist: if git would ignore it, git ignores everything in its directory."""
_GIT_TIMEOUT_S = 5
_TAG = "folder_instructions"
_REASON = "the folder's instructions to agents"


class FolderInstructions:
    """Shows the instructions of each directory once, except those already in the prompt (from project to `start`).

    Directories that git ignores and those of dependencies are skipped.

    Args:
        redact: replaces secrets.
        links: places outside the project that its links may lead to.
    """

    def __init__(
        self,
        project: Path,
        user_home: Path,
        estimator: TokenEstimator,
        *,
        start: Path | None = None,
        redact: Callable[[str], str] = str,
        window_tokens: int = WINDOW_SHARE * FOLDER_CAP_TOKENS,
        links: Sequence[Path] = (),
    ) -> None:
        self._links = links
        self._project = project
        self._top = find_repository_above(project)
        self._user_home = user_home
        self._estimator = estimator
        self._known = set(list_folders_between(project, start or project))
        self._redact = redact
        self._cap_tokens = min(FOLDER_CAP_TOKENS, window_tokens // WINDOW_SHARE)
        self._lock = threading.Lock()
        self._shown_folders: set[Path] = set()
        self._skipped_folders: set[Path] = set()

    def forget_shown(self) -> None:
        """Show instructions again after a trim, because they may have left the window."""
        self._shown_folders.clear()

    def render_for(self, action: Action) -> str:
        """Return the instructions to put below the result of this action; "" if it reaches no new directory.

        Reads files.
        """
        paths = _paths(action)
        folders = {folder for path in paths for folder in self._folders_of(path)} - self._known - self._skipped_folders
        if not folders:
            return ""
        with self._lock:  # read-only calls run concurrently
            files = [file for folder in sorted(folders - self._shown_folders) for file in self._read_new(folder)]
        # A call that reads the file itself shows it already.
        rendered = self._render_files([file for file in files if file.path not in paths])
        return "\n".join([fill_prompt("context/folder_instructions"), *rendered]) if rendered else ""

    def _read_new(self, folder: Path) -> list[InstructionFile]:
        files = list(InstructionReader(self._top, self._project, self._user_home, self._links).read_folder_file(folder))
        if not files or self._is_in_ignored_folder(files[0].path):
            self._skipped_folders.add(folder)
            return []
        self._shown_folders.add(folder)
        return files

    def _render_files(self, files: Sequence[InstructionFile]) -> list[str]:
        """Return the texts from the farthest to the nearest directory; the nearest get space first."""
        rendered: list[str] = []
        left = self._cap_tokens
        for file in reversed(files):
            if left > 0:
                text = self._redact(file.text)
                part = Fragment(name=_TAG, text=text, source=file.source, reason=_REASON, cap_tokens=left)
                rendered.append(render_fragment(part, self._estimator))
                left -= self._estimator.estimate_text(text)
            else:
                rendered.append(f"There was no room for {file.source}; read it before you work there.")
        return rendered[::-1]

    def _folders_of(self, path: Path) -> Iterator[Path]:
        """Yield the path, which may be a directory, and the directories below the project that contain it."""
        if path.is_relative_to(self._project) and not _THIRD_PARTY_FOLDERS & set(path.relative_to(self._project).parts):
            yield from takewhile(lambda folder: folder != self._project, (path, *path.parents))

    def _is_in_ignored_folder(self, path: Path) -> bool:
        """Whether git ignores the file together with everything else in its directory.

        If git ignores the file but not its directory, the user has written it and does not want to commit it, so it
        is shown. Without git nothing is ignored.
        """
        if not (self._top / ".git").exists():
            return False
        # git has no question for a whole folder; a name that does not exist stands for all others in it.
        paths = (str(path), str(path.with_name(_SAMPLE_FILE_NAME)))
        input_text = "".join(f"{path_text}\0" for path_text in paths)
        listed = (
            run_git(self._project, "check-ignore", "-z", "--stdin", timeout_s=_GIT_TIMEOUT_S, stdin=input_text) or ""
        )
        return listed.count("\0") == len(paths)


def _paths(action: Action) -> tuple[Path, ...]:
    match action:
        case ReadFiles(paths=paths):
            return paths
        case ChangeFiles(changes=changes):
            return tuple(change.path for change in changes)
        case _:
            return ()


class InstructionFiles(Struct, frozen=True, kw_only=True):
    """Instruction files for one clio process, read again for each loop; none if the setting `instructions` is off.

    Attributes:
        start: directory in the project where clio was started.
        home: clio's own directory.
        user_home: the user's home directory.
        redact: replaces secrets.
        links: places outside the project that its links may lead to.
    """

    project: Path
    start: Path
    home: Path
    user_home: Path
    redact: Callable[[str], str]
    links: tuple[Path, ...] = ()

    def load_for_prompt(
        self, config: Config, limits: ModelLimits, estimator: TokenEstimator
    ) -> tuple[list[Fragment], list[str]]:
        """Return the instructions for the whole session, and sentences about what was left out."""
        if not config.instructions:
            return [], []
        found = find_instructions(
            self.project, home=self.home, user_home=self.user_home, start=self.start, links=self.links
        )
        fragments = make_instruction_fragments(found, limits.context_window, estimator.estimate_text)
        redacted = [structs.replace(part, text=self.redact(part.text)) for part in fragments]
        return redacted, [*found.problems, *describe_left_out(found, fragments)]

    def make_folder_instructions(
        self, config: Config, limits: ModelLimits, estimator: TokenEstimator
    ) -> FolderInstructions | None:
        """Return the instructions of single directories, shown when work reaches them.

        None if they are switched off.
        """
        if not config.instructions:
            return None
        return FolderInstructions(
            self.project,
            self.user_home,
            estimator,
            start=self.start,
            redact=self.redact,
            window_tokens=limits.context_window,
            links=self.links,
        )
