"""list_files and find_files: what there is, without what `.gitignore` leaves out."""

import asyncio
from difflib import get_close_matches
from pathlib import Path

from clio.security.actions import ReadFiles
from clio.security.path_policy import Workspace
from clio.tools.base import Prepared, Progress, ToolOutput
from clio.tools.file_args import FindFiles, ListFiles
from clio.tools.files.paths import missing, resolve
from clio.tools.files.text_file import exists
from clio.tools.search.file_index import list_files
from clio.tools.search.globs import is_glob, matcher

_MAX_ROWS = 200
_DEPTHS = (3, 2, 1)
"""Levels tried where the model asks for none, until the listing is short enough."""


class ListFilesTool:
    """Lists a folder as a tree that fits one reading."""

    name = "list_files"
    args = ListFiles
    read_only = True

    def __init__(self, workspace: Workspace, rg: str | None = "auto") -> None:
        self._workspace = workspace
        self._rg = rg

    def prepare(self, args: ListFiles) -> Prepared:
        """A listing of one folder."""
        path = resolve(self._workspace, args.path)

        async def run(progress: Progress) -> ToolOutput:
            return await asyncio.to_thread(list_folder, self._workspace, path, args.depth, self._rg)

        return Prepared(title=f"list {self._workspace.display(path)}", action=ReadFiles(paths=(path,)), run=run)


class FindFilesTool:
    """Finds files of the project by name."""

    name = "find_files"
    args = FindFiles
    read_only = True

    def __init__(self, workspace: Workspace, rg: str | None = "auto") -> None:
        self._workspace = workspace
        self._rg = rg

    def prepare(self, args: FindFiles) -> Prepared:
        """A search by name through the project."""
        pattern = args.pattern.strip()
        wanted = matcher(pattern) if is_glob(pattern) else None

        async def run(progress: Progress) -> ToolOutput:
            known = await asyncio.to_thread(list_files, self._workspace.root, hidden=True, rg=self._rg)
            if wanted is not None:
                return _found([name for name in known if wanted(name)], pattern, known)
            return _found(_containing(pattern, known), pattern, known)

        return Prepared(title=f"find {pattern}", action=ReadFiles(paths=(self._workspace.root,)), run=run)


def list_folder(workspace: Workspace, folder: Path, depth: int | None, rg: str | None = "auto") -> ToolOutput:
    """The tree of a folder, cut to `depth` levels, or to as many as fit. Raises ToolRetry where there is no folder."""
    shown = workspace.display(folder)
    if not exists(folder, shown):
        raise missing(workspace, folder)
    if not folder.is_dir():
        return ToolOutput(text=f"{shown} is a file; read it with read_file", summary="a file", ok=False)
    inside = workspace.contains(folder)
    root = workspace.root if inside else folder
    prefix = "" if folder == root else folder.relative_to(root).as_posix() + "/"
    names = [name[len(prefix) :] for name in list_files(root, folder, hidden=True, rg=rg)]
    if not names:
        return ToolOutput(text=f"{shown}: no files (ignored ones are not listed)", summary="no files")
    rows: list[str] = []
    for levels in (depth,) if depth else _DEPTHS:
        rows = _tree(names, levels)
        if len(rows) <= _MAX_ROWS:
            break
    left = len(rows) - _MAX_ROWS
    tail = [f"[{left:,} more rows; list a folder, or find_files]"] if left > 0 else []
    count = f"{len(names):,} file{'' if len(names) == 1 else 's'}"
    return ToolOutput(text="\n".join([f"{shown}/ ({count})", *rows[:_MAX_ROWS], *tail]), summary=count)


def _tree(names: list[str], depth: int) -> list[str]:
    """One row a folder and a file down to `depth` levels; folders that stay closed say how many files they hold."""
    rows: list[str] = []
    open_folders: list[str] = []
    closed: dict[str, int] = {}
    for name in names:
        *folders, file = name.split("/")
        common = 0
        while common < min(len(folders), len(open_folders), depth) and folders[common] == open_folders[common]:
            common += 1
        for level in range(common, min(len(folders), depth)):
            rows.append(f"{'  ' * (level + 1)}{folders[level]}/")
        open_folders = folders[:depth]
        if len(folders) < depth:
            rows.append(f"{'  ' * (len(folders) + 1)}{file}")
        else:
            key = "/".join(folders[:depth])
            closed[key] = closed.get(key, 0) + 1
            stem = f"{'  ' * depth}{folders[depth - 1]}/"
            rows[-1] = f"{stem} ({closed[key]} file{'' if closed[key] == 1 else 's'})"
    return rows


def _containing(part: str, known: list[str]) -> list[str]:
    """The paths with this text in them; those whose name it is come first."""
    lower = part.lower()
    hits = [name for name in known if lower in name.lower()]
    return sorted(hits, key=lambda name: (name.rsplit("/", 1)[-1].lower() != lower, lower not in name.rsplit("/")[-1]))


def _found(names: list[str], pattern: str, known: list[str]) -> ToolOutput:
    if not names:
        offers = get_close_matches(pattern, {name.rsplit("/", 1)[-1] for name in known}, n=3)
        hint = f"; the nearest names are {', '.join(sorted(offers))}" if offers else ""
        return ToolOutput(text=f"no file answers to {pattern!r}{hint} (ignored files are not searched)", summary="none")
    left = len(names) - _MAX_ROWS
    tail = [f"[{left:,} more; narrow the pattern]"] if left > 0 else []
    count = f"{len(names):,} file{'' if len(names) == 1 else 's'}"
    return ToolOutput(text="\n".join([*names[:_MAX_ROWS], *tail]), summary=count)
