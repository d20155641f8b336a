"""read_file, list_files and find_files: the lines of a file a page at a time, and which files there are."""

import asyncio
import stat
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from clio.errors import ToolFailed, ToolRetry
from clio.images import MAX_TOOL_IMAGE_BYTES, NotAPicture, detect_media_type, read_picture
from clio.messages import UNCHANGED, SideEffects
from clio.security.actions import ReadFiles, Workspace
from clio.sessions.session import Session
from clio.text.formatting import format_bytes, format_count
from clio.tools.base import PageSize, Prepared, Progress, ReadLog, ToolOutput, are_whole_in_window, page_size
from clio.tools.files.file_index import is_glob, list_files, matcher, missing, resolve
from clio.tools.files.text_file import (
    MAX_EDIT_BYTES,
    NotText,
    TextFile,
    as_open,
    check_regular,
    decode,
    exists,
    explain,
    looks_binary,
    numbered,
    shown,
)
from clio.tools.schemas import MAX_CHARS, FindFiles, ListFiles, ReadFile

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
    count = f"{format_count(len(names), 'file')}"
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
            rows[-1] = f"{stem} ({format_count(closed[key], 'file')})"
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
    count = f"{format_count(len(names), 'file')}"
    return ToolOutput(text="\n".join([*names[:_MAX_ROWS], *tail]), summary=count)


DEFAULT_LINES = 2_000
_NOTES_CHARS = 500
"""Kept free of MAX_CHARS for the notes below the lines, which say how to go on."""
_WORTH_POINTING = 400
"""Characters of lines that are pointed at where the window shows them already, rather than shown again."""
_MAX_LINE = 2_000
_CHUNK = 1 << 20


class _Window(Struct, frozen=True, kw_only=True):
    """Lines from `first`; `total` is None where the file was not read to its end."""

    first: int
    lines: list[str]
    total: int | None


class ReadFileTool:
    """Reads files and remembers what the model has now seen of them."""

    name = "read_file"
    args = ReadFile
    read_only = True

    def __init__(
        self,
        workspace: Workspace,
        read_log: ReadLog,
        max_chars: int | PageSize = MAX_CHARS,
        session: Session | None = None,
    ) -> None:
        self._workspace = workspace
        self._read_log = read_log
        self._page = page_size(max_chars)
        self._session = session

    @property
    def _max_chars(self) -> int:
        return max(1, self._page.chars - _NOTES_CHARS)

    def prepare(self, args: ReadFile) -> Prepared:
        """A read of one file; whether it is there is seen only when it runs, after policy has agreed."""
        path = resolve(self._workspace, args.path)
        first = args.offset or 1
        lines = "" if args.limit is None and first == 1 else f":{first}"
        if args.limit is not None:
            lines += f"-{first + args.limit - 1}"

        async def run(progress: Progress) -> ToolOutput:
            return await asyncio.to_thread(self._read, path, first, args.limit or DEFAULT_LINES)

        return Prepared(title=f"read {self._workspace.display(path)}{lines}", action=ReadFiles(paths=(path,)), run=run)

    def _read(self, path: Path, first: int, limit: int) -> ToolOutput:
        name = self._workspace.display(path)
        try:
            status = path.stat()
            if stat.S_ISDIR(status.st_mode):
                return list_folder(self._workspace, path, None)
            check_regular(status, name)
            with path.open("rb") as file:
                if status.st_size > MAX_EDIT_BYTES:
                    return self._window_of_large(path, file, status.st_size, first, limit)
                data = file.read(MAX_EDIT_BYTES)
        except FileNotFoundError:
            raise missing(self._workspace, path) from None
        except OSError as error:
            raise explain(error, name, "read") from error
        try:
            text = decode(data)
        except NotText:
            return self._picture(path, data, name)
        now = as_open(self._workspace, path, data)
        if now.unsaved:
            data, text = now.data, decode(now.data)
        self._read_log.saw(path, data)
        remarks = _remarks(text) + (["as it is in the editor, not saved yet"] if now.unsaved else [])
        return self._answer(path, _window(text.text, name, first, limit), remarks)

    def _picture(self, path: Path, data: bytes, name: str) -> ToolOutput:
        """A picture, for a model that can see it. Raises ToolFailed for any other file that is no text."""
        if not detect_media_type(data):
            raise ToolFailed(f"{name!r} is a binary file ({format_bytes(len(data))}), not text")
        try:
            picture = read_picture(data, name)
        except NotAPicture as error:
            text = f"{name!r} is a binary file ({format_bytes(len(data))}) that cannot be sent as a picture: it {error}"
            raise ToolFailed(text) from None
        self._read_log.saw(path, data)
        text = f"[picture {name}: {picture.description}]"
        return ToolOutput(text=text, summary=picture.description, images=(picture,), deeds=SideEffects(read=(name,)))

    def _window_of_large(self, path: Path, file: BinaryIO, size: int, first: int, limit: int) -> ToolOutput:
        name = self._workspace.display(path)
        head = file.read(8_192)
        if looks_binary(head) and detect_media_type(head):
            raise ToolFailed(
                f"{name!r} is a picture of {format_bytes(size)}, and at most {format_bytes(MAX_TOOL_IMAGE_BYTES)} are "
                "sent; make a smaller copy and read that"
            )
        if looks_binary(head):
            raise ToolFailed(f"{name!r} is a binary file ({format_bytes(size)}), not text")
        file.seek(0)
        passed = _skip_lines(file, first - 1)
        if passed < first - 1:
            raise ToolRetry(f"{name!r} has {passed:,} lines; there is no line {first:,}")
        lines = _take_lines(file, limit, self._max_chars)
        total = None if file.read(1) else first - 1 + len(lines)
        note = f"a large file of {format_bytes(size)}, read in parts; it cannot be edited with the file tools"
        return self._answer(path, _Window(first=first, lines=lines, total=total), [note])

    def _answer(self, path: Path, window: _Window, remarks: list[str]) -> ToolOutput:
        name = self._workspace.display(path)
        rows = numbered([shown(line) for line in window.lines], window.first, max_chars=_MAX_LINE)
        rows = rows[: _fitting(rows, self._max_chars)]
        last = window.first + len(rows) - 1
        total = "" if window.total is None else f" of {window.total:,}"
        notes = list(remarks)
        if window.total is None or last < window.total:
            notes.append(f"lines {window.first}-{last}{total}; go on with offset={last + 1}")
        if not rows:
            notes.append("the file is empty")
        partial = window.first > 1 or window.total is None or last < window.total
        summary = f"lines {window.first}-{last}{total}" if partial else f"{format_count(len(rows), 'line')}"
        text = "\n".join([*rows, *(f"[{note}]" for note in notes)])
        lines = window.lines[: len(rows)]
        if len(text) > _WORTH_POINTING and self._is_shown(path, window.first, lines):
            notes[:0] = [f"unchanged: lines {window.first}-{last} of {name} are as an earlier result above shows them"]
            return ToolOutput(text="\n".join(f"[{note}]" for note in notes), summary=UNCHANGED)
        return ToolOutput(
            text=text,
            summary=summary,
            deeds=SideEffects(read=(name,)),
            kept_as=lambda message_id: self._read_log.showed(path, window.first, lines, message_id),
        )

    def _is_shown(self, path: Path, first: int, lines: list[str]) -> bool:
        """Whether the window shows these very lines already."""
        if self._session is None:
            return False
        messages = self._read_log.messages_showing(path, first, lines)
        return bool(messages) and are_whole_in_window(self._session, messages)


def _window(text: str, name: str, first: int, limit: int) -> _Window:
    breaks = "\n" if "\n" in text else "\r"
    lines = text.split(breaks)
    if not lines[-1]:
        lines.pop()
    if first > max(1, len(lines)):
        count = f"{format_count(len(lines), 'line')}"
        raise ToolRetry(f"{name!r} has {count}; there is no line {first:,}")
    chosen = [line.removesuffix("\r") for line in lines[first - 1 : first - 1 + limit]]
    return _Window(first=first, lines=chosen, total=len(lines))


def _fitting(rows: list[str], max_chars: int) -> int:
    """How many rows fit, one at least."""
    used = 0
    for number, row in enumerate(rows):
        used += len(row) + 1
        if used > max_chars and number:
            return number
    return len(rows)


def _remarks(file: TextFile) -> list[str]:
    """What a reader of the text cannot see and should know."""
    remarks: list[str] = []
    if file.encoding != "utf-8":
        remarks.append(f"encoding {file.encoding}; edits keep it")
    broken = 0 if file.text.isascii() else sum("\udc80" <= char <= "\udcff" for char in file.text)
    if broken and file.encoding == "utf-8":
        remarks.append(f"{format_count(broken, 'byte')} not valid UTF-8, shown as \ufffd; edits keep them")
    return remarks


def _skip_lines(file: BinaryIO, count: int) -> int:
    """Move past this many lines in blocks; the number there were to pass, fewer where the file ends before."""
    passed = 0
    while passed < count:
        start = file.tell()
        chunk = file.read(_CHUNK)
        if not chunk:
            return passed
        here = chunk.count(b"\n")
        if passed + here < count:
            passed += here
            continue
        at = 0
        while passed < count:
            at = chunk.index(b"\n", at) + 1
            passed += 1
        file.seek(start + at)
    return passed


def _take_lines(file: BinaryIO, limit: int, max_chars: int) -> list[str]:
    """The next lines; of a line too long to show, its beginning and its length."""
    lines: list[str] = []
    used = 0
    while len(lines) < limit and used <= max_chars:
        head = file.readline(_MAX_LINE)
        if not head:
            break
        rest = 0
        tail = head
        while tail and not tail.endswith(b"\n"):
            tail = file.readline(_CHUNK)
            rest += len(tail)
        line = head.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")
        if rest:
            line = f"{line[: _MAX_LINE - 100]} [cut: this line has {len(head) + rest:,} bytes]"
        lines.append(line)
        used += len(line)
    return lines
