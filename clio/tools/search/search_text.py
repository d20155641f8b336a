"""search_text: lines that match a regular expression."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from clio.errors import ToolFailed, ToolRetry
from clio.security.actions import ReadFiles
from clio.security.path_policy import Workspace
from clio.tools.base import Prepared, Progress, ToolOutput
from clio.tools.file_args import MAX_CHARS, SearchText
from clio.tools.files.paths import missing, resolve
from clio.tools.files.text_file import exists, shown
from clio.tools.page_size import PageSize, page_size
from clio.tools.search.file_index import ripgrep
from clio.tools.search.globs import matcher
from clio.tools.search.search_engines import (
    FileHits,
    Found,
    Line,
    Query,
    bad_pattern,
    search_with_python,
    search_with_ripgrep,
)

_MAX_LINES = 200
_NOTES_CHARS = 500
_MAX_LINE = 300
_LIMIT_S = 60.0
_LEAD = 80
"""Characters shown before a match that stands far out in a long line."""


class SearchTextTool:
    """Searches the project's text with ripgrep, or in Python where there is none."""

    name = "search_text"
    args = SearchText
    read_only = True

    def __init__(
        self,
        workspace: Workspace,
        rg: str | None = "auto",
        max_chars: int | PageSize = MAX_CHARS,
        limit_s: float = _LIMIT_S,
    ) -> None:
        self._workspace = workspace
        self._rg = rg
        self._limit_s = limit_s
        self._page = page_size(max_chars)

    def prepare(self, args: SearchText) -> Prepared:
        """A search. Raises ToolRetry for a pattern or a glob that cannot work."""
        if not args.pattern:
            raise ToolRetry("the pattern is empty; say what to search for")
        if "\n" in args.pattern or "\\n" in args.pattern.replace("\\\\", ""):
            raise bad_pattern(args.pattern, "a search goes line by line, and a line holds no newline")
        if "\0" in args.pattern:
            raise bad_pattern(args.pattern, "text holds no null character")
        path = resolve(self._workspace, args.path)
        accepts, names = _file_filter(args.glob, self._prefix(path))
        place = "" if path == self._workspace.root else f" in {self._workspace.display(path)}"

        async def run(progress: Progress) -> ToolOutput:
            if not exists(path, self._workspace.display(path)):
                raise missing(self._workspace, path)
            if not (path.is_file() or path.is_dir()):
                raise ToolFailed(f"{self._workspace.display(path)} is a device, pipe or socket; it cannot be searched")
            try:
                async with asyncio.timeout(self._limit_s):
                    found = await self._search(self._query(args, path, accepts, names))
            except TimeoutError:
                raise ToolFailed(
                    f"searching {self._workspace.display(path)} took more than {self._limit_s:.0f} s and was stopped; "
                    "search a smaller folder, or name the files with glob"
                ) from None
            return render(found, self._prefix(path), self._page.chars)

        shown = repr(args.pattern).replace("\\\\", "\\")  # what steers stays spelled out, a backslash is one
        return Prepared(title=f"search {shown}{place}", action=ReadFiles(paths=(path,)), run=run)

    def _query(self, args: SearchText, path: Path, accepts: Callable[[str], bool], names: str | None) -> Query:
        whole = path.is_dir()
        folder = path if whole else path.parent
        return Query(
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

    async def _search(self, query: Query) -> Found:
        program = ripgrep() if self._rg == "auto" else self._rg
        if program is not None:
            try:
                return await search_with_ripgrep(program, query)
            except OSError:  # it does not run here, or a file of the project would make it wait
                pass
        return await asyncio.to_thread(search_with_python, query)

    def _prefix(self, path: Path) -> str:
        """What to put before the engines' paths, so that they can be read from the project."""
        shown_path = self._workspace.display(path if path.is_dir() else path.parent)
        return "" if shown_path == "." else shown_path.rstrip("/") + "/"


def render(found: Found, prefix: str, max_chars: int = MAX_CHARS) -> ToolOutput:
    """Each path once, below it its lines as `number:text` and context as `number-text`; then what was left out."""
    limit = max_chars - _NOTES_CHARS
    if not found.files:
        return ToolOutput(text="no matches (ignored and binary files are not searched)", summary="no matches")
    rows: list[str] = []
    used = hits = 0
    for file in found.files:
        for row, hit in _rows(file, prefix, first=not rows):
            if hits >= _MAX_LINES or (used + len(row) > limit and rows):
                return _answer(rows, found, hits)
            rows.append(row)
            used += len(row) + 1
            hits += hit
    return _answer(rows, found, hits)


def _answer(rows: list[str], found: Found, hits: int) -> ToolOutput:
    lines, files = found.matching_lines, found.matching_files
    count = f"{lines:,} match{'' if lines == 1 else 'es'} in {files:,} file{'' if files == 1 else 's'}"
    if hits < lines:
        rows = [*rows, f"[{hits} of {count} shown; narrow the pattern, the path or the glob]"]
    return ToolOutput(text="\n".join(rows), summary=count)


def _rows(file: FileHits, prefix: str, *, first: bool) -> list[tuple[str, bool]]:
    """The rows of one file below its path, with a gap between stretches that do not touch where there is context."""
    rows: list[tuple[str, bool]] = []
    heading = ("" if first else "\n") + f"{prefix}{file.path}\n"
    before: int | None = None
    has_context = any(not line.hit for line in file.lines)
    for line in file.lines:
        if has_context and before is not None and line.number > before + 1:
            rows.append(("--", False))
        mark = ":" if line.hit else "-"
        rows.append((f"{heading}{line.number}{mark}{_cut(line)}".rstrip(), line.hit))
        heading = ""
        before = line.number
    return rows


def _cut(line: Line) -> str:
    """The text, or the part of a long one around the match."""
    text = shown(line.text)
    if len(text) <= _MAX_LINE:
        return text
    start = max(0, min(line.start, len(text)) - _LEAD) if line.start > _MAX_LINE - _LEAD else 0
    part = text[start : start + _MAX_LINE]
    tail = "…" if start + _MAX_LINE < len(text) else ""
    return f"{'…' if start else ''}{part}{tail} [line of {len(text):,} characters]"


def _file_filter(glob: str | None, prefix: str) -> tuple[Callable[[str], bool], str | None]:
    """Whether a path is wanted, and a glob of names that holds of every wanted one, for the engine to begin with.

    A path may answer as seen from the folder searched or, with `prefix` before it, from the project.
    """
    text = glob.strip() if glob else ""
    if not text:
        return (lambda name: True), None
    unwanted = text.startswith("!")
    matches = matcher(text.removeprefix("!"))
    name = text.rsplit("/", 1)[-1]
    plain = not unwanted and name and "**" not in name and not ("{" in text and "/" in text)
    return (lambda path: (matches(path) or matches(prefix + path)) is not unwanted), name if plain else None
