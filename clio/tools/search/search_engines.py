"""Two engines that find the same lines: ripgrep, and Python where there is none."""

import asyncio
import base64
import contextlib
import errno
import os
import re
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.algorithms.bounded_pattern import BoundedPattern, PatternRefused, TooSlow
from clio.algorithms.late_pattern import LatePattern
from clio.errors import ToolFailed, ToolRetry
from clio.tools.files.text_file import MAX_EDIT_BYTES, NotText, decode
from clio.tools.search.file_index import has_costly_rules, list_files, path_key, ripgrep_options

_CHUNK = 1 << 16
_FILE_LIMIT_S = 2.0
"""For looking whether a pattern is anywhere in a file, which is read as one text."""
_LINE_MATTERS = LatePattern(r"\(\?[!<>]|\\[AZ]|[*+?}]\+")
"""Patterns that may match a line and yet not the text it stands in: such a text has to be looked at line by line."""
_META = LatePattern(r"[\\.+*?()|\[\]{}^$]")


class Query(Struct, frozen=True, kw_only=True):
    """What to look for.

    root, folder: the project and the part of it to search; `file` names one file in `folder` instead of all.
    accepts: whether a path relative to `folder` is wanted; `names` a glob for file names known to hold of all that are.
    max_lines: matching lines after which an engine stops collecting and only counts.
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


class Line(Struct, frozen=True, kw_only=True):
    """One line of a file. `hit` tells a matching line from its context; `start` is where the match begins in it."""

    number: int
    text: str
    hit: bool
    start: int = 0


class FileHits(Struct, frozen=True, kw_only=True):
    """The lines to show of one file, in order; `path` is relative to the query's folder."""

    path: str
    lines: list[Line]


class Found(Struct, frozen=True, kw_only=True):
    """The first files in the order of their paths, and how many lines in how many files match in all."""

    files: list[FileHits]
    matching_lines: int
    matching_files: int


def literal(text: str) -> str:
    """The pattern that finds this very text, in either engine."""
    return _META.sub(r"\\\g<0>", text)


def bad_pattern(pattern: str, cause: str) -> ToolRetry:
    """The error for a pattern no engine can read, with the way to search for it as it stands."""
    way_out = f"to find this very text, use pattern {literal(pattern)}"
    return ToolRetry(f"{pattern!r} is not a valid regular expression: {cause}; {way_out}")


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


async def search_with_ripgrep(program: str, query: Query) -> Found:
    """Search with ripgrep. Raises ToolRetry for a bad pattern, OSError where the program cannot be used."""
    files: list[FileHits] = []
    matched = here = 0
    lines: list[Line] = []
    async with contextlib.aclosing(_records(_command(program, query, "--json", "--sort=path"), query)) as records:
        async for record in records:
            data = record.data
            if record.type == "begin":
                lines, here = [], 0
            elif record.type in ("match", "context"):
                if here < query.max_lines:
                    lines.append(_line(data, hit=record.type == "match"))
                here += record.type == "match"
            elif record.type == "end" and data.path is not None and data.binary_offset is None:
                path = _relative(data.path.value())
                if not query.accepts(path):
                    continue
                files.append(FileHits(path=path, lines=lines))
                matched += here
                if matched >= query.max_lines:
                    break
    if matched < query.max_lines:
        return Found(files=files, matching_lines=matched, matching_files=len(files))
    return await _with_totals(program, query, files)


async def _with_totals(program: str, query: Query, files: list[FileHits]) -> Found:
    """Count what was not collected, which ripgrep does without printing it."""
    total = total_files = 0
    async with contextlib.aclosing(_output(_command(program, query, "--count", "--null"), query)) as output:
        async for row in output:
            path, _, count = os.fsdecode(row).rpartition("\0")
            if path and query.accepts(_relative(path)):
                total += int(count)
                total_files += 1
    return Found(files=files, matching_lines=total, matching_files=total_files)


def _command(program: str, query: Query, *mode: str) -> list[str]:
    command = [program, *mode, "--with-filename", "--engine=auto", "--crlf"]
    if query.file is None:
        command.append(f"--max-filesize={MAX_EDIT_BYTES}")
    command += ripgrep_options(query.root, query.folder, hidden=True)
    if query.ignore_case:
        command.append("--ignore-case")
    if query.context and "--json" in mode:
        command.append(f"--context={query.context}")
    if query.names is not None:
        command += ["--type-add", f"wanted:{query.names}", "--type=wanted"]
    return [*command, "--regexp", query.pattern, "--", f"./{query.file or ''}"]


async def _records(command: list[str], query: Query) -> AsyncGenerator[_Record, None]:
    async with contextlib.aclosing(_output(command, query)) as output:
        async for row in output:
            yield _RECORD.decode(row)


async def _output(command: list[str], query: Query) -> AsyncGenerator[bytes, None]:
    """The lines a command prints; it is killed when the caller stops reading.

    Raises OSError where ripgrep would wait for a file of rules.
    """
    process = await asyncio.create_subprocess_exec(*command, cwd=query.folder, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    assert process.stdout and process.stderr
    errors = asyncio.create_task(process.stderr.read())
    looking = asyncio.create_task(_kill_if_costly(process, query.folder))
    try:
        pieces: list[bytes] = []  # of a row not yet complete; joined once, for rows can have many megabytes
        while chunk := await process.stdout.read(_CHUNK):
            head, *rows = chunk.split(b"\n")
            pieces.append(head)
            for row in rows:
                yield b"".join(pieces)
                pieces = [row]
        await process.wait()
        if await looking:
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
        await looking


async def _kill_if_costly(process: asyncio.subprocess.Process, folder: Path) -> bool:
    """End ripgrep where it would wait for a file of rules; whether that was so."""
    if not await asyncio.to_thread(has_costly_rules, folder, lambda: process.returncode is not None):
        return False
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    return True


def _raise_for(errors: str, query: Query) -> None:
    """Raise what ripgrep complained of; a file it could not read is passed over, as without --no-messages."""
    causes = [line.strip().removeprefix("error: ") for line in errors.splitlines() if line.strip()]
    if any("regex" in line.lower() or "pcre2" in line.lower() for line in causes):
        cause = next((line for line in reversed(causes) if not line.startswith(("~", "^"))), "")
        raise bad_pattern(query.pattern, cause.removeprefix("rg: "))
    if causes:
        raise ToolFailed(f"the search failed: {causes[0]}")


def _line(data: _Data, *, hit: bool) -> Line:
    text = data.lines.value() if data.lines else ""
    start = data.submatches[0].start if data.submatches else 0
    return Line(number=data.line_number or 0, text=text.rstrip("\r\n"), hit=hit, start=start)


def _relative(path: str) -> str:
    return path.replace(os.sep, "/").removeprefix("./")


# --- Python ----------------------------------------------------------------------------------------------------------


def search_with_python(query: Query) -> Found:
    """The same search without ripgrep. Raises ToolRetry for a bad pattern."""
    flags = re.IGNORECASE if query.ignore_case else re.NOFLAG
    try:
        pattern = BoundedPattern(query.pattern, flags, refuse_nested=False)
        whole = "" if _LINE_MATTERS.search(query.pattern) else query.pattern
        anywhere = BoundedPattern(whole, flags | re.MULTILINE, refuse_nested=False)
        return _search_files(query, pattern, anywhere)
    except PatternRefused as error:
        raise bad_pattern(query.pattern, str(error)) from None
    except TooSlow:
        raise bad_pattern(query.pattern, "it takes too long; write it with fewer repetitions") from None


def _search_files(query: Query, pattern: BoundedPattern, anywhere: BoundedPattern) -> Found:
    """Raises TooSlow."""
    files: list[FileHits] = []
    kept = total = total_files = 0
    for path in _candidates(query):
        text = _text(f"{query.folder}/{path}")
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
        if kept < query.max_lines:
            files.append(FileHits(path=path, lines=_with_context(lines, hits, query.context)))
            kept += len(hits)
    return Found(files=files, matching_lines=total, matching_files=total_files)


def _candidates(query: Query) -> Iterator[str]:
    if query.file is not None:
        yield query.file
        return
    prefix = "" if query.folder == query.root else query.folder.relative_to(query.root).as_posix() + "/"
    under = None if query.folder == query.root else query.folder
    for name in sorted(list_files(query.root, under, hidden=True, rg=None), key=path_key):
        path = name[len(prefix) :]
        if query.accepts(path):
            yield path


def _text(path: str) -> str | None:
    """A file's text; None where it is binary, too large or not readable, as ripgrep passes over it."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a Path for each of 20,000 files costs as much again
            data = file.read(MAX_EDIT_BYTES + 1)
    except OSError:
        return None
    if len(data) > MAX_EDIT_BYTES or (b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff"))):
        return None
    try:
        return data.decode("ascii").replace("\r\n", "\n")
    except UnicodeDecodeError:
        pass
    try:
        return decode(data).text.replace("\r\n", "\n")
    except NotText:
        return None


def _with_context(lines: list[str], hits: list[tuple[int, int]], context: int) -> list[Line]:
    starts = dict(hits)
    wanted = sorted({near for at, _ in hits for near in range(max(0, at - context), min(len(lines), at + context + 1))})
    return [Line(number=at + 1, text=lines[at], hit=at in starts, start=starts.get(at, 0)) for at in wanted]
