"""Which files tell agents how to work in a folder, what they say, and what they import. Reads, never writes.

A project's file may import what lies in its repository; a person's own file, whatever the person may read.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.config.paths import display
from clio.context.mentions import find_mentions, readings
from clio.storage.reading import LeavesProject, NotAFile, read_project_file

OWN_FILE = Path(".clio/instructions.md")
_FOLDER_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
"""The first that a folder has speaks for it; the others usually repeat it."""
MAX_BYTES = 64_000
MAX_DEPTH = 5
"""Imports of imports of imports."""
MAX_FILES = 30
_OWN_COMMENT = LatePattern(r"\A\s*<!--.*?-->", re.DOTALL)  # as `clio init` writes it: words to the person
_INLINE_CODE = LatePattern(r"(?<!`)`[^`\n]+`(?!`)")


class InstructionFile(Struct, frozen=True, kw_only=True):
    """One file that says something. source: its path as people write it. imported_by: the source of another, or "".

    personal: it is the person's own, or imported by such a file.
    """

    path: Path
    source: str
    text: str
    imported_by: str = ""
    personal: bool = False


class Reader:
    """Reads instruction files and what they import, each file once.

    root: files found here, and what they import, lie in this folder; None: anywhere, as the user's own may.
    links: the places outside of `root` that links may lead to, because the user trusts the project with them.
    project: sources below it are shown relative to it. person: the home folder. problems: sentences about imports that
    were not read.
    """

    def __init__(self, root: Path | None, project: Path, person: Path, links: Sequence[Path] = ()) -> None:
        self._root = root.resolve() if root else None
        self._links = tuple(links)
        self._project = project
        self._person = person
        self._seen: set[Path] = set()
        self.problems: list[str] = []

    def own(self, path: Path) -> Iterator[InstructionFile]:
        """A file of clio's own name and its imports. The comment at its top speaks to the person and is left out."""
        if (text := self._read(path)) is not None:
            yield from self._with_imports(path, _OWN_COMMENT.sub("", text).strip(), "", 0)

    def of_folder(self, folder: Path) -> Iterator[InstructionFile]:
        """The file that speaks for a folder, and its imports; nothing where none does."""
        for name in _FOLDER_FILES:
            path = folder / name
            if text := (self._read(path) or "").strip():
                yield from self._with_imports(path, text, "", 0)
                return

    def _read(self, path: Path) -> str | None:
        """The text of at most 64 kB of a file; None where it is absent, not text, or passed over with a sentence."""
        try:
            data = read_project_file(path, self._root or Path(path.anchor), MAX_BYTES, trusted=self._links, cut=True)
        except LeavesProject:
            target = display(Path(os.path.realpath(path)), project=None, user_home=self._person)
            self.problems.append(
                f"{self._shown(path)} was not read: it leads out of the project, to {target}; import it in "
                "~/.clio/instructions.md, or trust it with: clio config trust"
            )
            return None
        except NotAFile:
            if not path.is_dir():
                self.problems.append(f"{self._shown(path)} was not read: it is a pipe or a device, not a file")
            return None
        except (OSError, ValueError):
            return None
        return None if b"\0" in data else data.decode("utf-8-sig", "replace")

    def _with_imports(self, path: Path, text: str, importer: str, depth: int) -> Iterator[InstructionFile]:
        real = path.resolve()
        if not text or real in self._seen:
            return
        if len(self._seen) >= MAX_FILES:
            self.problems.append(f"{self._shown(path)} was not read: {MAX_FILES} files of instructions are the most")
            return
        self._seen.add(real)
        source = self._shown(path)
        personal = self._root is None
        yield InstructionFile(path=path, source=source, text=text, imported_by=importer, personal=personal)
        for imported in self._imports(real, text, source):
            if depth == MAX_DEPTH:
                self.problems.append(f"{source} imports {imported.name} at a depth of more than {MAX_DEPTH}: not read")
            elif (inner := self._read(imported)) is None:
                self.problems.append(f"{source} imports {self._shown(imported)}, which is not text: not read")
            else:
                yield from self._with_imports(imported, inner.strip(), source, depth + 1)

    def _imports(self, importer: Path, text: str, source: str) -> Iterator[Path]:
        """The files a text names with "@" that are there; what names none, as `@types/node` does, is only words."""
        for mention in find_mentions(_INLINE_CODE.sub("", text)):
            if mention.kind != "path" or mention.lines is not None:
                continue
            for reading in readings(mention):
                path = self._resolved(importer.parent, reading.name)
                if path is None or not _is_file(path):
                    continue
                if self._root is not None and not self._may_read(path):
                    where = "import it in ~/.clio/instructions.md instead"
                    self.problems.append(f"{source} imports {reading.name}, which is outside of the project; {where}")
                else:
                    yield path
                break

    def _resolved(self, folder: Path, name: str) -> Path | None:
        try:
            if name.startswith("~/"):
                return (self._person / name[2:]).resolve()
            return (folder / name).resolve()
        except (OSError, ValueError, RuntimeError):  # a loop of links, a name no disk knows
            return None

    def _may_read(self, path: Path) -> bool:
        return any(path.is_relative_to(place) for place in (self._root, *self._links) if place is not None)

    def _shown(self, path: Path) -> str:
        if self._root is not None and path.is_relative_to(self._root):
            return Path(os.path.relpath(path, self._project)).as_posix()
        return display(path, project=None, user_home=self._person)


def folders_between(top: Path, bottom: Path) -> Sequence[Path]:
    """Both folders and those between, from the top down; only `bottom` where it is not below `top`."""
    if not bottom.is_relative_to(top):
        return (bottom,)
    return (*(folder for folder in reversed(bottom.parents) if folder.is_relative_to(top)), bottom)


def repository_above(folder: Path) -> Path:
    """The nearest folder from `folder` upwards that holds `.git`, else `folder` itself."""
    for one in (folder, *folder.parents):
        try:
            if (one / ".git").exists():
                return one
        except OSError:
            break  # a folder that may not be entered is not part of this
    return folder


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
