"""read_file, list_files and find_files: a file's lines page by page, and which files exist."""

import asyncio
import stat
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, structs

from clio.errors import ToolFailed, ToolRetry
from clio.images import MAX_TOOL_IMAGE_BYTES, NotAPicture, Picture, detect_media_type, read_picture
from clio.messages import UNCHANGED, SideEffects
from clio.security.actions import ReadFiles, Workspace
from clio.sessions.session import Session
from clio.text.formatting import format_bytes, format_count
from clio.text.translation import english, tr, tr_count
from clio.tools.base import PageSize, PreparedCall, Progress, ReadLog, ToolOutput, as_page_size, is_whole_in_window
from clio.tools.files.file_index import (
    is_glob,
    list_files,
    make_missing_path_error,
    make_path_matcher,
    resolve_workspace_path,
)
from clio.tools.files.text_file import (
    MAX_EDIT_BYTES,
    PDF_START,
    NotText,
    TextFile,
    check_regular,
    decode_document,
    extract_pdf_text,
    looks_binary,
    make_file_error,
    number_lines,
    path_exists,
    read_open_file,
    to_printable,
)
from clio.tools.schemas import MAX_ANSWER_CHARS, FindFilesArgs, ListFilesArgs, ReadFileArgs

_MAX_ROWS = 200  # about 2,000 tokens of file names
_DEPTHS = (3, 2, 1)
"""Depths tried, if the model gives none, until the listing is short enough."""


class ListFilesTool:
    """Lists a folder as a tree of readable size."""

    name = "list_files"
    args = ListFilesArgs
    read_only = True

    def __init__(self, workspace: Workspace, rg: str | None = "auto") -> None:
        self._workspace = workspace
        self._rg = rg

    def prepare(self, args: ListFilesArgs) -> PreparedCall:
        """Prepare a listing of one folder."""
        path = resolve_workspace_path(self._workspace, args.path)

        async def run(progress: Progress) -> ToolOutput:
            return await asyncio.to_thread(list_folder, self._workspace, path, args.depth, self._rg)

        return PreparedCall(
            title=tr("list {display}", display=self._workspace.display(path)), action=ReadFiles(paths=(path,)), run=run
        )


class FindFilesTool:
    """Finds files of the project by name."""

    name = "find_files"
    args = FindFilesArgs
    read_only = True

    def __init__(self, workspace: Workspace, rg: str | None = "auto") -> None:
        self._workspace = workspace
        self._rg = rg

    def prepare(self, args: FindFilesArgs) -> PreparedCall:
        """Prepare a search by name."""
        pattern = args.pattern.strip()
        matches = make_path_matcher(pattern) if is_glob(pattern) else None

        async def run(progress: Progress) -> ToolOutput:
            known = await asyncio.to_thread(list_files, self._workspace.root, hidden=True, rg=self._rg)
            if matches is not None:
                return _make_find_result([name for name in known if matches(name)], pattern, known)
            return _make_find_result(_find_names_containing(pattern, known), pattern, known)

        return PreparedCall(
            title=tr("find {pattern}", pattern=pattern), action=ReadFiles(paths=(self._workspace.root,)), run=run
        )


def list_folder(workspace: Workspace, folder: Path, depth: int | None, rg: str | None = "auto") -> ToolOutput:
    """Return the tree of a folder to `depth` levels, or as many as fit. Raises ToolRetry if it is not a folder."""
    shown = workspace.display(folder)
    if not path_exists(folder, shown):
        raise make_missing_path_error(workspace, folder)
    if not folder.is_dir():
        return ToolOutput(text=f"{shown} is a file; read it with read_file", summary="a file", ok=False)
    inside = workspace.contains(folder)
    root = workspace.root if inside else folder
    prefix = "" if folder == root else folder.relative_to(root).as_posix() + "/"
    names = [name[len(prefix) :] for name in list_files(root, folder, hidden=True, rg=rg)]
    if not names:
        return ToolOutput(text=f"{shown}: no files (ignored ones are not listed)", summary=tr("no files"))
    rows: list[str] = []
    # A tree of several thousand rows would fill the window; fewer levels show the layout as well.
    for levels in (depth,) if depth else _DEPTHS:
        rows = _render_tree(names, levels)
        if len(rows) <= _MAX_ROWS:
            break
    left = len(rows) - _MAX_ROWS
    tail = [f"[{left:,} more rows; list a folder, or find_files]"] if left > 0 else []
    count = tr_count(len(names), "file")
    return ToolOutput(text="\n".join([f"{shown}/ ({english(count)})", *rows[:_MAX_ROWS], *tail]), summary=count)


def _render_tree(names: list[str], depth: int) -> list[str]:
    """Return one row per folder and file to `depth` levels; closed folders show how many files they contain."""
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


def _find_names_containing(part: str, known: list[str]) -> list[str]:
    """Return the paths that contain this text; those with exactly this name first."""
    lower = part.lower()
    hits = [name for name in known if lower in name.lower()]
    return sorted(hits, key=lambda name: (name.rsplit("/", 1)[-1].lower() != lower, lower not in name.rsplit("/")[-1]))


def _make_find_result(names: list[str], pattern: str, known: list[str]) -> ToolOutput:
    if not names:
        offers = get_close_matches(pattern, {name.rsplit("/", 1)[-1] for name in known}, n=3)
        hint = f"; the nearest names are {', '.join(sorted(offers))}" if offers else ""
        return ToolOutput(text=f"no file matches {pattern!r}{hint} (ignored files are not searched)", summary="none")
    left = len(names) - _MAX_ROWS
    tail = [f"[{left:,} more; narrow the pattern]"] if left > 0 else []
    count = tr_count(len(names), "file")
    return ToolOutput(text="\n".join([*names[:_MAX_ROWS], *tail]), summary=count)


DEFAULT_LINES = 2_000
_NOTES_CHARS = 500
"""Characters reserved for the notes after the lines, which tell how to continue."""
_MIN_REFERENCE_CHARS = 400
"""Minimum length at which lines that the window already shows are replaced by a reference to them."""
_MAX_LINE = 2_000  # characters shown of a line; minified code has lines of megabytes
_CHUNK = 1 << 20


class _Window(Struct, frozen=True, kw_only=True):
    """Lines from number `first` on; `total` is None if the file was not read to its end."""

    first: int
    lines: list[str]
    total: int | None


class ReadFileTool:
    """Reads files and records what the model has seen of them."""

    name = "read_file"
    args = ReadFileArgs
    read_only = True

    def __init__(
        self,
        workspace: Workspace,
        read_log: ReadLog,
        max_chars: int | PageSize = MAX_ANSWER_CHARS,
        session: Session | None = None,
    ) -> None:
        self._workspace = workspace
        self._read_log = read_log
        self._page = as_page_size(max_chars)
        self._session = session

    @property
    def _max_chars(self) -> int:
        return max(1, self._page.chars - _NOTES_CHARS)

    def prepare(self, args: ReadFileArgs) -> PreparedCall:
        """Prepare a read of one file; whether it exists is checked when it runs, after the policy has allowed it."""
        path = resolve_workspace_path(self._workspace, args.path)
        first = args.offset or 1
        lines = "" if args.limit is None and first == 1 else f":{first}"
        if args.limit is not None:
            lines += f"-{first + args.limit - 1}"

        async def run(progress: Progress) -> ToolOutput:
            return await asyncio.to_thread(self._read, path, first, args.limit or DEFAULT_LINES)

        return PreparedCall(
            title=tr("read {display}{lines}", display=self._workspace.display(path), lines=lines),
            action=ReadFiles(paths=(path,)),
            run=run,
        )

    def _read(self, path: Path, first: int, limit: int) -> ToolOutput:
        name = self._workspace.display(path)
        try:
            status = path.stat()
            if stat.S_ISDIR(status.st_mode):
                return list_folder(self._workspace, path, None)
            check_regular(status, name)  # opening a pipe would wait for a writer for ever
            with path.open("rb") as file:
                if status.st_size > MAX_EDIT_BYTES:
                    return self._read_large(path, file, status.st_size, first, limit)
                data = file.read(MAX_EDIT_BYTES)
        except FileNotFoundError:
            raise make_missing_path_error(self._workspace, path) from None
        except OSError as error:
            raise make_file_error(error, name, "read") from error
        try:
            text = decode_document(path, data)
        except NotText:
            if data.startswith(PDF_START):
                return self._read_pdf(path, data, name, first, limit)
            return self._make_picture_result(path, data, name)
        # An editor's unsaved text takes precedence: the user is looking at that, not at the file.
        now = read_open_file(self._workspace, path, data)
        if now.unsaved:
            data, text = now.data, decode_document(path, now.data)
        self._read_log.record_seen(path, data)
        remarks = _describe_encoding(text) + (["as it is in the editor, not saved yet"] if now.unsaved else [])
        window = _select_lines(text.text, name, first, limit)
        result = self._make_result(path, window, remarks)
        if not text.is_notebook or result.summary == UNCHANGED:
            return result
        last = first + len(self._number_fitting_rows(window)) - 1
        return self._add_outputs(result, data, name, first, last)

    def _read_pdf(self, path: Path, data: bytes, name: str, first: int, limit: int) -> ToolOutput:
        try:
            text = extract_pdf_text(data, MAX_EDIT_BYTES)
        except NotText as error:
            raise ToolFailed(f"{name!r} is a PDF whose text cannot be read: {error}") from None
        return self._make_result(
            path, _select_lines(text, name, first, limit), ["the text of a PDF, which is read-only"]
        )

    def _add_outputs(self, result: ToolOutput, data: bytes, name: str, first: int, last: int) -> ToolOutput:
        """Return the result for a notebook, with the outputs of the cells of these lines as far as there is room."""
        from clio.tools.files.notebook import collect_outputs, describe_notebook

        outputs = collect_outputs(data, first, last)
        pictures: list[Picture] = []
        for image in outputs.images:
            with suppress(NotAPicture):
                pictures.append(read_picture(image, name))
        parts = [result.text, f"[{describe_notebook(data)}]"]
        if outputs.text and len(result.text) + len(outputs.text) <= self._max_chars:
            parts.append(outputs.text)
        elif outputs.text:
            parts.append("[there is no room for the outputs of these cells: read fewer lines, with limit]")
        return structs.replace(result, text="\n".join(parts), images=tuple(pictures))

    def _make_picture_result(self, path: Path, data: bytes, name: str) -> ToolOutput:
        """Return a picture for a model that accepts pictures. Raises ToolFailed for other files that are not text."""
        if not detect_media_type(data):
            raise ToolFailed(
                tr("{name!r} is a binary file ({bytes}), not text", name=name, bytes=format_bytes(len(data)))
            )
        try:
            picture = read_picture(data, name)
        except NotAPicture as error:
            text = f"{name!r} is a binary file ({format_bytes(len(data))}) that cannot be sent as a picture: it {error}"
            raise ToolFailed(text) from None
        self._read_log.record_seen(path, data)
        text = f"[picture {name}: {picture.description}]"
        return ToolOutput(
            text=text, summary=picture.description, images=(picture,), side_effects=SideEffects(read=(name,))
        )

    def _read_large(self, path: Path, file: BinaryIO, size: int, first: int, limit: int) -> ToolOutput:
        name = self._workspace.display(path)
        head = file.read(8_192)
        if looks_binary(head) and detect_media_type(head):
            raise ToolFailed(
                tr(
                    "{name!r} is an image of {size}; the limit is {limit}",
                    name=name,
                    size=format_bytes(size),
                    limit=format_bytes(MAX_TOOL_IMAGE_BYTES),
                ),
                "make a smaller copy and read that",
            )
        if looks_binary(head):
            raise ToolFailed(tr("{name!r} is a binary file ({bytes}), not text", name=name, bytes=format_bytes(size)))
        file.seek(0)
        passed = _skip_lines(file, first - 1)
        if passed < first - 1:
            raise ToolRetry(
                tr("{name!r} has {passed:,} lines; there is no line {first:,}", name=name, passed=passed, first=first)
            )
        lines = _take_lines(file, limit, self._max_chars)
        total = None if file.read(1) else first - 1 + len(lines)  # counting to the end could read gigabytes
        note = f"a large file of {format_bytes(size)}, read in parts; it cannot be edited with the file tools"
        return self._make_result(path, _Window(first=first, lines=lines, total=total), [note])

    def _make_result(self, path: Path, window: _Window, remarks: list[str]) -> ToolOutput:
        name = self._workspace.display(path)
        rows = self._number_fitting_rows(window)
        last = window.first + len(rows) - 1
        total = "" if window.total is None else f" of {window.total:,}"
        notes = list(remarks)
        if window.total is None or last < window.total:
            notes.append(f"lines {window.first}-{last}{total}; continue with offset={last + 1}")
        if not rows:
            notes.append("the file is empty")
        partial = window.first > 1 or window.total is None or last < window.total
        summary = (
            tr("lines {first}-{last}{total}", first=window.first, last=last, total=total)
            if partial
            else tr_count(len(rows), "line")
        )
        text = "\n".join([*rows, *(f"[{note}]" for note in notes)])
        lines = window.lines[: len(rows)]
        # The same lines a second time would push older messages out of the window.
        if len(text) > _MIN_REFERENCE_CHARS and self._is_shown(path, window.first, lines):
            notes[:0] = [
                f"unchanged: lines {window.first}-{last} of {name} are still as shown in an earlier result above"
            ]
            return ToolOutput(text="\n".join(f"[{note}]" for note in notes), summary=UNCHANGED)
        return ToolOutput(
            text=text,
            summary=summary,
            side_effects=SideEffects(read=(name,)),
            on_stored=lambda message_id: self._read_log.record_shown(path, window.first, lines, message_id),
        )

    def _number_fitting_rows(self, window: _Window) -> list[str]:
        rows = number_lines([to_printable(line) for line in window.lines], window.first, max_chars=_MAX_LINE)
        return rows[: _count_fitting_rows(rows, self._max_chars)]

    def _is_shown(self, path: Path, first: int, lines: list[str]) -> bool:
        """Whether the window already shows exactly these lines."""
        if self._session is None:
            return False
        messages = self._read_log.find_messages_showing(path, first, lines)
        return bool(messages) and is_whole_in_window(self._session, messages)


def _select_lines(text: str, name: str, first: int, limit: int) -> _Window:
    breaks = "\n" if "\n" in text else "\r"  # lone carriage returns end lines only in old Macintosh files
    lines = text.split(breaks)
    if not lines[-1]:
        lines.pop()
    if first > max(1, len(lines)):
        count = tr_count(len(lines), "line")
        raise ToolRetry(tr("{name!r} has {count}; there is no line {first:,}", name=name, count=count, first=first))
    chosen = [line.removesuffix("\r") for line in lines[first - 1 : first - 1 + limit]]
    return _Window(first=first, lines=chosen, total=len(lines))


def _count_fitting_rows(rows: list[str], max_chars: int) -> int:
    """Return how many rows fit, at least one."""
    used = 0
    for number, row in enumerate(rows):
        used += len(row) + 1
        # At least one row, or a page could not be continued.
        if used > max_chars and number:
            return number
    return len(rows)


def _describe_encoding(file: TextFile) -> list[str]:
    """Return properties that are not visible in the text and matter to the reader."""
    remarks: list[str] = []
    if file.encoding != "utf-8" and not file.is_notebook:
        remarks.append(f"encoding {file.encoding}; edits keep it")
    broken = 0 if file.text.isascii() else sum("\udc80" <= char <= "\udcff" for char in file.text)
    if broken and file.encoding == "utf-8":
        remarks.append(f"{format_count(broken, 'byte')} not valid UTF-8, shown as \ufffd; edits keep them")
    return remarks


def _skip_lines(file: BinaryIO, count: int) -> int:
    """Skip this many lines in blocks; return how many were skipped, fewer at the end of the file."""
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
    """Return the next lines; of a line too long to show, its beginning and length."""
    lines: list[str] = []
    used = 0
    while len(lines) < limit and used <= max_chars:
        # Bounded: a single line may be as long as the file.
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
