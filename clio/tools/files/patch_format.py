"""The `*** Begin Patch` format, read from text.

    *** Begin Patch
    *** Add File: path            every line begins with +
    *** Update File: path
    *** Move to: path             optional
    @@ def name(                  optional: a line that stands before the change
     context                      begins with a space
    -removed
    +added
    *** End of File               optional: the change is at the end
    *** Delete File: path
    *** End Patch

Read with patience for what models write: no End Patch, code fences or a shell heredoc around it, context lines that
lost their space, `@@ -1,2 +1,3 @@` headers.
"""

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.errors import ToolRetry

_SECTION = LatePattern(r"\*\*\* (Add|Update|Delete) File:\s*(.*?)\s*")
_MOVE = LatePattern(r"\*\*\* Move to:\s*(.*?)\s*")
_LINE_NUMBERS = LatePattern(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@ ?")
_HEREDOC = LatePattern(r"(?:(?:apply_patch|applypatch|cat)\b.*)?<<-?\s*['\"]?(\w+)['\"]?\s*")
_FENCE = LatePattern(r"(?:```|~~~)\s*\w*\s*")
_END_OF_FILE = "*** End of File"
_NO_NEWLINE = "\\ No newline at end of file"


class Hunk(Struct, frozen=True, kw_only=True):
    """One change: lines without endings. `headers` are lines that stand before it, outermost first."""

    headers: tuple[str, ...] = ()
    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    at_end: bool = False


class AddFile(Struct, frozen=True, kw_only=True, tag="add"):
    """A new file with this content."""

    path: str
    content: str


class UpdateFile(Struct, frozen=True, kw_only=True, tag="update"):
    """Changes to a file that exists, and its new path where it moves."""

    path: str
    hunks: tuple[Hunk, ...]
    move_to: str | None = None


class DeleteFile(Struct, frozen=True, kw_only=True, tag="delete"):
    """A file to delete."""

    path: str


Section = AddFile | UpdateFile | DeleteFile


def parse_patch(text: str) -> tuple[Section, ...]:
    """The sections of a patch, in order. Raises ToolRetry, naming the line, where it cannot be read."""
    lines = _unwrapped(text.replace("\r\n", "\n").split("\n"))
    sections = tuple(_sections(lines))
    if not sections:
        raise ToolRetry(
            "the patch names no file: after '*** Begin Patch' write '*** Update File: path', '*** Add File: path' or "
            "'*** Delete File: path'"
        )
    return sections


def _unwrapped(lines: list[str]) -> list[str]:
    """The lines between Begin and End Patch, without fences and heredocs; an end that is missing is taken as said."""
    while lines and not lines[0].strip():
        lines = lines[1:]
    closers: list[str] = []
    while lines and (opener := _FENCE.fullmatch(lines[0].strip()) or _HEREDOC.fullmatch(lines[0].strip())):
        closers.append(opener[1] if opener.re is _HEREDOC else lines[0].strip()[:3])
        lines = lines[1:]
    begin = next((number for number, line in enumerate(lines) if line.strip() == "*** Begin Patch"), None)
    if begin is not None:
        lines = lines[begin + 1 :]
    end = next((number for number, line in enumerate(lines) if line.strip() == "*** End Patch"), None)
    if end is not None:
        return lines[:end]
    while lines and (not lines[-1].strip() or lines[-1].strip() in closers):
        lines = lines[:-1]
    return lines


def _sections(lines: list[str]) -> Iterator[Section]:
    """Each section with its lines."""
    starts = [number for number, line in enumerate(lines) if _SECTION.fullmatch(line)]
    if starts and any(line.strip() for line in lines[: starts[0]]) and not _is_prose(lines[: starts[0]]):
        raise ToolRetry(f"the patch begins with {lines[0]!r}; it must begin with '*** Begin Patch' and a file")
    for start, stop in pairwise([*starts, len(lines)]):
        match = _SECTION.fullmatch(lines[start])
        assert match  # `starts` holds nothing else
        kind, path = match[1], match[2].strip("`\"'")
        if not path:
            raise ToolRetry(f"{lines[start]!r} names no path")
        content = lines[start + 1 : stop]
        if kind == "Add":
            yield AddFile(path=path, content=_added(path, content))
        elif kind == "Delete":
            yield DeleteFile(path=path)
        else:
            yield _update(path, content)


def _is_prose(lines: list[str]) -> bool:
    """Whether the lines before the first file hold no change that would be lost."""
    return not any(line.startswith(("+", "-", "@@", "*** ")) for line in lines)


def _added(path: str, lines: list[str]) -> str:
    """The content of a new file; lines without any plus sign at all are taken as they are."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    lines = [line for line in lines if line not in (_NO_NEWLINE, _END_OF_FILE)]
    if any(line.startswith("+") for line in lines):
        wrong = next((line for line in lines if line and not line.startswith("+")), None)
        if wrong is not None:
            raise ToolRetry(f"in '*** Add File: {path}' every line begins with +, and this one does not: {wrong!r}")
        lines = [line[1:] for line in lines]
    return "".join(line + "\n" for line in lines)


def _update(path: str, lines: list[str]) -> UpdateFile:
    """The move and the hunks of one file."""
    move_to: str | None = None
    lines = [line for line in lines if line != _NO_NEWLINE]
    while lines and not lines[0].strip():
        lines = lines[1:]
    if lines and (match := _MOVE.fullmatch(lines[0])):
        move_to, lines = match[1].strip("`\"'"), lines[1:]
    if len(lines) > 1 and lines[0].startswith("--- ") and lines[1].startswith("+++ "):
        lines = lines[2:]
    hunks = tuple(_hunks(path, lines))
    if not hunks and move_to is None:
        raise ToolRetry(f"'*** Update File: {path}' changes nothing: give lines that begin with - and +")
    return UpdateFile(path=path, hunks=hunks, move_to=move_to)


def _hunks(path: str, lines: list[str]) -> Iterator[Hunk]:
    headers: list[str] = []
    block: list[str] = []
    for line in lines:
        if line.startswith("@@"):
            if any(block):
                yield _hunk(path, headers, block, at_end=False)
                headers, block = [], []
            header = _header(line)
            if header:
                headers.append(header)
        elif line.strip() == _END_OF_FILE:
            yield _hunk(path, headers, block, at_end=True)
            headers, block = [], []
        elif line.startswith("*** "):
            raise ToolRetry(f"in '*** Update File: {path}' this line is not understood: {line!r}")
        else:
            block.append(line)
    if any(block):
        yield _hunk(path, headers, block, at_end=False)


def _header(line: str) -> str:
    """The text of an `@@` line; line numbers in it are not trusted."""
    text = _LINE_NUMBERS.sub("", line) if _LINE_NUMBERS.match(line) else line[2:]
    return text.strip().removesuffix("@@").strip()


def _hunk(path: str, headers: list[str], block: list[str], *, at_end: bool) -> Hunk:
    old: list[str] = []
    new: list[str] = []
    while block and not block[-1]:  # an empty line before the next header sets them apart
        block = block[:-1]
    for line in block:
        mark, text = line[:1], line[1:]
        if mark == "-":
            old.append(text)
        elif mark == "+":
            new.append(text)
        else:
            kept = text if mark == " " else line
            old.append(kept)
            new.append(kept)
    if old == new:
        raise ToolRetry(f"a hunk of '*** Update File: {path}' changes nothing: mark lines with - and +")
    return Hunk(headers=tuple(headers), old=tuple(old), new=tuple(new), at_end=at_end)
