"""search_text: lines that match a regular expression, found with ripgrep, or in Python without it."""

import asyncio
import base64
import contextlib
import errno
import os
import re
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.errors import ToolFailed, ToolRetry
from clio.security.actions import ReadFiles, Workspace
from clio.storage.files import read_beginning
from clio.text.regex_limits import BoundedPattern, PatternRefused, PatternTooSlow
from clio.text.translation import english, tr, tr_count
from clio.tools.base import PageSize, PreparedCall, Progress, ToolOutput, as_page_size
from clio.tools.files.file_index import (
    find_ripgrep,
    has_costly_rules,
    list_files,
    make_missing_path_error,
    make_path_matcher,
    make_path_sort_key,
    make_ripgrep_options,
    resolve_workspace_path,
)
from clio.tools.files.text_file import (
    MAX_EDIT_BYTES,
    NOTEBOOK_SUFFIX,
    NotText,
    decode_document,
    decode_file,
    path_exists,
    to_printable,
)
from clio.tools.schemas import MAX_ANSWER_CHARS, SearchTextArgs

_CHUNK = 1 << 16
_FILE_LIMIT_S = 2.0
"""Time limit for testing whether a pattern matches anywhere in the whole text of a file."""
_NEEDS_LINE_SEARCH = re.compile(r"\(\?[!<>]|\\[AZ]|[*+?}]\+")
"""Patterns that may match a line without matching the whole text; such files are searched line by line."""
_SPECIAL_CHARACTERS = re.compile(r"[\\.+*?()|\[\]{}^$]")


class SearchQuery(Struct, frozen=True, kw_only=True):
    """What to search for.

    Attributes:
        root, folder: the project, and the part of it to search; `file` names one file in `folder`.
        accepts: whether a path relative to `folder` is wanted.
        names: a glob that all wanted file names match; None if unknown.
        max_lines: number of matching lines after which matches are only counted.
    """

    pattern: str
    root: Path
    folder: Path
    file: str | None
    accepts: Callable[[str], bool]
    names: str | None
    ignore_case: bool
    context: int
    max_lines: int


class FoundLine(Struct, frozen=True, kw_only=True):
    """One line of a file. hit: it matches, otherwise it is context. start: where the match begins in it."""

    number: int
    text: str
    hit: bool
    start: int = 0


class FileHits(Struct, frozen=True, kw_only=True):
    """The lines to show of one file, in order; `path` is relative to the query's folder."""

    path: str
    lines: list[FoundLine]


class SearchResult(Struct, frozen=True, kw_only=True):
    """The first files in order of their paths, and the total numbers of matching lines and files."""

    files: list[FileHits]
    matching_lines: int
    matching_files: int


def escape_pattern(text: str) -> str:
    """Return the pattern that matches exactly this text, in both engines."""
    return _SPECIAL_CHARACTERS.sub(r"\\\g<0>", text)


def make_bad_pattern_error(pattern: str, cause: str) -> ToolRetry:
    """Return the error for an invalid pattern; its text tells how to search for the pattern literally."""
    problem = tr("{pattern!r} is not a valid regular expression: {cause}", pattern=pattern, cause=cause)
    return ToolRetry(problem, f"to find exactly this text, use pattern {escape_pattern(pattern)}", for_user=problem)


# --- ripgrep ---------------------------------------------------------------------------------------------------------


class _Text(Struct):
    text: str | None = None
    bytes: str | None = None

    def value(self) -> str:
        if self.text is not None:
            return self.text
        return base64.b64decode(self.bytes or "").decode("utf-8", "replace")


class _Submatch(Struct):
    start: int


class _Data(Struct):
    path: _Text | None = None
    lines: _Text | None = None
    line_number: int | None = None
    submatches: list[_Submatch] = []
    binary_offset: int | None = None


class _Record(Struct):
    type: str
    data: _Data


_RECORD = msgspec.json.Decoder(_Record)


async def search_with_ripgrep(program: str, query: SearchQuery) -> SearchResult:
    """Search with ripgrep. Raises ToolRetry for an invalid pattern, OSError if the program cannot be used.

    Notebooks are searched in Python, as the text of their cells: ripgrep would find lines of their JSON.
    """
    if query.file is not None and query.file.endswith(NOTEBOOK_SUFFIX):
        return await asyncio.to_thread(search_with_python, query)
    found = await _search_other_files(program, query)
    if query.file is not None or not _may_name_notebooks(query.names):
        return found
    notebooks = await _list_notebooks(program, query)
    if not notebooks:
        return found
    more = await asyncio.to_thread(search_with_python, query, notebooks)
    return SearchResult(
        files=sorted([*found.files, *more.files], key=lambda file: make_path_sort_key(file.path)),
        matching_lines=found.matching_lines + more.matching_lines,
        matching_files=found.matching_files + more.matching_files,
    )


def _may_name_notebooks(names: str | None) -> bool:
    return names is None or names.endswith(NOTEBOOK_SUFFIX) or names[-1:] in ("*", "]", "}", "?")


async def _list_notebooks(program: str, query: SearchQuery) -> list[str]:
    options = make_ripgrep_options(query.root, query.folder, hidden=True)
    chosen = ["--type-add", f"notebook:*{NOTEBOOK_SUFFIX}", "--type=notebook"]
    async with contextlib.aclosing(
        _read_output_lines([program, "--files", *options, *chosen, "--", "./"], query)
    ) as output:
        paths = [_relative_path(os.fsdecode(row)) async for row in output]
    return sorted((path for path in paths if path and query.accepts(path)), key=make_path_sort_key)


async def _search_other_files(program: str, query: SearchQuery) -> SearchResult:
    files: list[FileHits] = []
    matched = file_matches = 0
    lines: list[FoundLine] = []
    async with contextlib.aclosing(
        # Sorted, ripgrep uses one thread, but its first files are then the same in every run and in both engines.
        _read_records(_build_command(program, query, "--json", "--sort=path"), query)
    ) as records:
        async for record in records:
            data = record.data
            if record.type == "begin":
                lines, file_matches = [], 0
            elif record.type in ("match", "context"):
                if file_matches < query.max_lines:
                    lines.append(_make_found_line(data, hit=record.type == "match"))
                file_matches += record.type == "match"
            # ripgrep finds out that a file is binary only after it has printed matches; it reports the offset at the
            # end.
            elif record.type == "end" and data.path is not None and data.binary_offset is None:
                path = _relative_path(data.path.value())
                if not query.accepts(path):
                    continue
                files.append(FileHits(path=path, lines=lines))
                matched += file_matches
                # The rest is only counted, by a second call that prints no lines and may use all threads.
                if matched >= query.max_lines:
                    break
    if matched < query.max_lines:
        return SearchResult(files=files, matching_lines=matched, matching_files=len(files))
    return await _count_totals(program, query, files)


async def _count_totals(program: str, query: SearchQuery, files: list[FileHits]) -> SearchResult:
    """Count the matches that were not collected, which ripgrep does without printing them."""
    total = total_files = 0
    async with contextlib.aclosing(
        _read_output_lines(_build_command(program, query, "--count", "--null"), query)
    ) as output:
        async for row in output:
            path, _, count = os.fsdecode(row).rpartition("\0")
            if path and query.accepts(_relative_path(path)):
                total += int(count)
                total_files += 1
    return SearchResult(files=files, matching_lines=total, matching_files=total_files)


def _build_command(program: str, query: SearchQuery, *mode: str) -> list[str]:
    # `auto` takes PCRE2 for look-around, which Python's engine has too; `--crlf` lets `$` match before "\r\n".
    command = [program, *mode, "--with-filename", "--engine=auto", "--crlf"]
    # A file that is named is searched whatever its size, as the model asked for exactly that one.
    if query.file is None:
        command.append(f"--max-filesize={MAX_EDIT_BYTES}")
    command += [*make_ripgrep_options(query.root, query.folder, hidden=True), f"--glob=!*{NOTEBOOK_SUFFIX}"]
    if query.ignore_case:
        command.append("--ignore-case")
    if query.context and "--json" in mode:
        command.append(f"--context={query.context}")
    if query.names is not None:
        command += ["--type-add", f"wanted:{query.names}", "--type=wanted"]
    return [*command, "--regexp", query.pattern, "--", f"./{query.file or ''}"]


async def _read_records(command: list[str], query: SearchQuery) -> AsyncGenerator[_Record, None]:
    async with contextlib.aclosing(_read_output_lines(command, query)) as output:
        async for row in output:
            yield _RECORD.decode(row)


async def _read_output_lines(command: list[str], query: SearchQuery) -> AsyncGenerator[bytes, None]:
    """Yield the lines a command prints; it is killed when the caller stops reading.

    Raises OSError if ripgrep would block on an ignore file.
    """
    process = await asyncio.create_subprocess_exec(*command, cwd=query.folder, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    assert process.stdout and process.stderr
    # Read at the same time: a full pipe of errors would block ripgrep while clio waits for its output.
    errors = asyncio.create_task(process.stderr.read())
    rule_check = asyncio.create_task(_kill_if_costly(process, query.folder))
    try:
        pieces: list[bytes] = []  # of an incomplete row; joined once, because rows can have many megabytes
        while chunk := await process.stdout.read(_CHUNK):
            head, *rows = chunk.split(b"\n")
            pieces.append(head)
            for row in rows:
                yield b"".join(pieces)
                pieces = [row]
        await process.wait()
        if await rule_check:
            raise OSError(errno.EINVAL, "a file of rules is a pipe, a device or too large")
        if process.returncode == 2:
            _raise_for((await errors).decode("utf-8", "replace"), query)
    finally:
        errors.cancel()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.stdout.read()
            await process.wait()
        await rule_check


async def _kill_if_costly(process: asyncio.subprocess.Process, folder: Path) -> bool:
    """Kill ripgrep if it would block on an ignore file; return whether it was killed."""
    if not await asyncio.to_thread(has_costly_rules, folder, lambda: process.returncode is not None):
        return False
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    return True


def _raise_for(errors: str, query: SearchQuery) -> None:
    """Raise the error ripgrep reported; files it could not read are ignored."""
    causes = [line.strip().removeprefix("error: ") for line in errors.splitlines() if line.strip()]
    # Exit code 2 also stands for a folder without permission; only the text tells a wrong pattern apart.
    if any("regex" in line.lower() or "pcre2" in line.lower() for line in causes):
        cause = next((line for line in reversed(causes) if not line.startswith(("~", "^"))), "")
        raise make_bad_pattern_error(query.pattern, cause.removeprefix("rg: "))
    if causes:
        raise ToolFailed(tr("the search failed: {causes}", causes=causes[0]))


def _make_found_line(data: _Data, *, hit: bool) -> FoundLine:
    text = data.lines.value() if data.lines else ""
    start = data.submatches[0].start if data.submatches else 0
    return FoundLine(number=data.line_number or 0, text=text.rstrip("\r\n"), hit=hit, start=start)


def _relative_path(path: str) -> str:
    return path.replace(os.sep, "/").removeprefix("./")


# --- Python ----------------------------------------------------------------------------------------------------------


def search_with_python(query: SearchQuery, paths: Sequence[str] | None = None) -> SearchResult:
    """Search without ripgrep. Raises ToolRetry for an invalid pattern.

    paths: the files to search, relative to the query's folder; None for all that it wants.
    """
    flags = re.IGNORECASE if query.ignore_case else re.NOFLAG
    try:
        pattern = BoundedPattern(query.pattern, flags, refuse_nested=False)
        # One search over the whole text passes over most files; an empty pattern, which matches everywhere, switches
        # that off.
        whole = "" if _NEEDS_LINE_SEARCH.search(query.pattern) else query.pattern
        anywhere = BoundedPattern(whole, flags | re.MULTILINE, refuse_nested=False)
        return _search_files(query, pattern, anywhere, _list_candidates(query) if paths is None else paths)
    except PatternRefused as error:
        raise make_bad_pattern_error(query.pattern, str(error)) from None
    except PatternTooSlow:
        raise make_bad_pattern_error(query.pattern, "it takes too long; write it with fewer repetitions") from None


def _search_files(
    query: SearchQuery, pattern: BoundedPattern, anywhere: BoundedPattern, paths: Iterable[str]
) -> SearchResult:
    """Search all files. Raises PatternTooSlow."""
    files: list[FileHits] = []
    collected = total = total_files = 0
    for path in paths:
        text = _read_searchable_text(f"{query.folder}/{path}")
        if text is None or not anywhere.search(text, _FILE_LIMIT_S):
            continue
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        hits = [(number, found[0]) for number, line in enumerate(lines) if (found := pattern.search(line))]
        if not hits:
            continue
        total += len(hits)
        total_files += 1
        if collected < query.max_lines:
            files.append(FileHits(path=path, lines=_with_context(lines, hits, query.context)))
            collected += len(hits)
    return SearchResult(files=files, matching_lines=total, matching_files=total_files)


def _list_candidates(query: SearchQuery) -> Iterator[str]:
    if query.file is not None:
        yield query.file
        return
    prefix = "" if query.folder == query.root else query.folder.relative_to(query.root).as_posix() + "/"
    under = None if query.folder == query.root else query.folder
    for name in sorted(list_files(query.root, under, hidden=True, rg=None), key=make_path_sort_key):
        path = name[len(prefix) :]
        if query.accepts(path):
            yield path


def _read_searchable_text(path: str) -> str | None:
    """Return a file's text; None if it is binary, too large or not readable, which ripgrep skips too."""
    try:
        data = read_beginning(path, MAX_EDIT_BYTES + 1)
    except OSError:
        return None
    if path.endswith(NOTEBOOK_SUFFIX) and len(data) <= MAX_EDIT_BYTES:
        try:
            return decode_document(Path(path), data).text.replace("\r\n", "\n")
        except NotText:
            return None
    # UTF-16 text is full of NUL bytes; its byte order mark tells it from a binary file.
    if len(data) > MAX_EDIT_BYTES or (b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff"))):
        return None
    try:
        # Most files are ASCII, for which the detection of encodings can be skipped.
        return data.decode("ascii").replace("\r\n", "\n")
    except UnicodeDecodeError:
        pass
    try:
        return decode_file(data).text.replace("\r\n", "\n")
    except NotText:
        return None


def _with_context(lines: list[str], hits: list[tuple[int, int]], context: int) -> list[FoundLine]:
    starts = dict(hits)
    indexes = sorted(
        {near for at, _ in hits for near in range(max(0, at - context), min(len(lines), at + context + 1))}
    )
    return [FoundLine(number=at + 1, text=lines[at], hit=at in starts, start=starts.get(at, 0)) for at in indexes]


_MAX_LINES = 200
_NOTES_CHARS = 500
_MAX_LINE = 300
_LIMIT_S = 60.0
_CHARS_BEFORE_MATCH = 80
"""Characters shown before a match far into a long line."""


class SearchTextTool:
    """Searches the project's text with ripgrep, or in Python without it."""

    name = "search_text"
    args = SearchTextArgs
    read_only = True

    def __init__(
        self,
        workspace: Workspace,
        rg: str | None = "auto",
        max_chars: int | PageSize = MAX_ANSWER_CHARS,
        limit_s: float = _LIMIT_S,
    ) -> None:
        self._workspace = workspace
        self._rg = rg
        self._limit_s = limit_s
        self._page = as_page_size(max_chars)

    def prepare(self, args: SearchTextArgs) -> PreparedCall:
        """Prepare a search. Raises ToolRetry for an invalid pattern or glob."""
        if not args.pattern:
            raise ToolRetry(tr("the pattern is empty"), "say what to search for")
        # ripgrep refuses a literal newline, and Python would match nothing: the answer must be the same.
        if "\n" in args.pattern or "\\n" in args.pattern.replace("\\\\", ""):
            raise make_bad_pattern_error(args.pattern, "a search goes line by line, and a line holds no newline")
        if "\0" in args.pattern:
            raise make_bad_pattern_error(args.pattern, "text holds no null character")
        path = resolve_workspace_path(self._workspace, args.path)
        accepts, names = _file_filter(args.glob, self._prefix(path))
        where = "" if path == self._workspace.root else f" in {self._workspace.display(path)}"

        async def run(progress: Progress) -> ToolOutput:
            if not path_exists(path, self._workspace.display(path)):
                raise make_missing_path_error(self._workspace, path)
            if not (path.is_file() or path.is_dir()):
                raise ToolFailed(
                    tr(
                        "{display} is a device, pipe or socket; it cannot be searched",
                        display=self._workspace.display(path),
                    )
                )
            try:
                async with asyncio.timeout(self._limit_s):
                    found = await self._search(self._query(args, path, accepts, names))
            # A search at the root of a file system or in a slow network folder would otherwise hold up the turn for
            # ever.
            except TimeoutError:
                raise ToolFailed(
                    tr(
                        "searching {display} took more than {limit_s:.0f} s and was stopped",
                        display=self._workspace.display(path),
                        limit_s=self._limit_s,
                    ),
                    "search a smaller folder, or name the files with glob",
                ) from None
            return render_search_result(found, self._prefix(path), self._page.chars)

        shown = repr(args.pattern).replace(
            "\\\\", "\\"
        )  # control characters stay escaped, but backslashes are shown once
        return PreparedCall(
            title=tr("search {shown}{where}", shown=shown, where=where), action=ReadFiles(paths=(path,)), run=run
        )

    def _query(
        self, args: SearchTextArgs, path: Path, accepts: Callable[[str], bool], names: str | None
    ) -> SearchQuery:
        whole = path.is_dir()
        folder = path if whole else path.parent
        return SearchQuery(
            pattern=args.pattern,
            root=self._workspace.root if self._workspace.contains(folder) else folder,
            folder=folder,
            file=None if whole else path.name,
            accepts=accepts,
            names=names,
            ignore_case=args.ignore_case,
            context=args.context,
            max_lines=_MAX_LINES,
        )

    async def _search(self, query: SearchQuery) -> SearchResult:
        program = find_ripgrep() if self._rg == "auto" else self._rg
        if program is not None:
            try:
                return await search_with_ripgrep(program, query)
            except OSError:  # it cannot run here, or an ignore file of the project would block it
                pass
        return await asyncio.to_thread(search_with_python, query)

    def _prefix(self, path: Path) -> str:
        """Return what to put before the engines' paths to make them relative to the project."""
        shown_path = self._workspace.display(path if path.is_dir() else path.parent)
        return "" if shown_path == "." else shown_path.rstrip("/") + "/"


def render_search_result(found: SearchResult, prefix: str, max_chars: int = MAX_ANSWER_CHARS) -> ToolOutput:
    """Return each path followed by its lines, and at the end a note on omitted matches.

    A match is shown as `number:text`, a line of context as `number-text`.
    """
    limit = max_chars - _NOTES_CHARS
    if not found.files:
        return ToolOutput(text="no matches (ignored and binary files are not searched)", summary=tr("no matches"))
    rows: list[str] = []
    used = hits = 0
    for file in found.files:
        for row, hit in _render_file_rows(file, prefix, first=not rows):
            if hits >= _MAX_LINES or (used + len(row) > limit and rows):
                return _render_answer(rows, found, hits)
            rows.append(row)
            used += len(row) + 1
            hits += hit
    return _render_answer(rows, found, hits)


def _render_answer(rows: list[str], found: SearchResult, hits: int) -> ToolOutput:
    lines, files = found.matching_lines, found.matching_files
    count = tr("{matches} in {files}", matches=tr_count(lines, "match"), files=tr_count(files, "file"))
    if hits < lines:
        rows = [*rows, f"[{hits} of {english(count)} shown; narrow the pattern, the path or the glob]"]
    return ToolOutput(text="\n".join(rows), summary=count)


def _render_file_rows(file: FileHits, prefix: str, *, first: bool) -> list[tuple[str, bool]]:
    """Return the rows of one file, with a gap between ranges that do not touch if context is shown."""
    rows: list[tuple[str, bool]] = []
    heading = ("" if first else "\n") + f"{prefix}{file.path}\n"
    before: int | None = None
    has_context = any(not line.hit for line in file.lines)
    for line in file.lines:
        if has_context and before is not None and line.number > before + 1:
            rows.append(("--", False))
        mark = ":" if line.hit else "-"
        rows.append((f"{heading}{line.number}{mark}{_cut_line(line)}".rstrip(), line.hit))
        heading = ""
        before = line.number
    return rows


def _cut_line(line: FoundLine) -> str:
    """Return the line, or the part of a long line around the match."""
    text = to_printable(line.text)
    if len(text) <= _MAX_LINE:
        return text
    start = (
        max(0, min(line.start, len(text)) - _CHARS_BEFORE_MATCH) if line.start > _MAX_LINE - _CHARS_BEFORE_MATCH else 0
    )
    part = text[start : start + _MAX_LINE]
    tail = "…" if start + _MAX_LINE < len(text) else ""
    return f"{'…' if start else ''}{part}{tail} [line of {len(text):,} characters]"


def _file_filter(glob: str | None, prefix: str) -> tuple[Callable[[str], bool], str | None]:
    """Return whether a path is wanted, and a glob that all wanted file names match, for the engine.

    A path may match relative to the searched folder or, with `prefix`, relative to the project.
    """
    text = glob.strip() if glob else ""
    if not text:
        return (lambda name: True), None
    unwanted = text.startswith("!")
    matches = make_path_matcher(text.removeprefix("!"))
    name = text.rsplit("/", 1)[-1]
    plain = not unwanted and name and "**" not in name and not ("{" in text and "/" in text)
    return (lambda path: (matches(path) or matches(prefix + path)) is not unwanted), name if plain else None
