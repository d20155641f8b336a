"""code_lookup: where a name is defined and used, and which names a file or the project defines.

The model names a symbol and a line, because models cannot count columns; the tool finds the column. A language server
answers, and where none can, the names that parsing finds.
"""

import asyncio
import re
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from clio.errors import ToolFailed, ToolRetry
from clio.lsp.catalog import find_project_suffixes
from clio.lsp.language_server import LanguageServer, Location, Symbol, read_source, split_source_lines
from clio.lsp.outline import can_outline, outline_file, search_outlines
from clio.lsp.rpc import ServerFailed
from clio.lsp.servers import LanguageServers
from clio.security.actions import ReadFiles, Workspace
from clio.text.formatting import format_count, truncate
from clio.text.translation import english, tr, tr_count
from clio.text.untrusted_text import strip_invisible
from clio.tools.base import PageSize, PreparedCall, Progress, ToolOutput, as_page_size
from clio.tools.files.file_index import list_files, make_missing_path_error, resolve_workspace_path
from clio.tools.schemas import MAX_ANSWER_CHARS, CodeLookupArgs

Operation = Literal["definition", "references", "symbols"]
OPERATION_ALIASES: dict[str, Operation] = {
    "definition": "definition",
    "go_to_definition": "definition",
    "goto_definition": "definition",
    "find_definition": "definition",
    "references": "references",
    "find_references": "references",
    "usages": "references",
    "symbols": "symbols",
    "outline": "symbols",
    "document_symbols": "symbols",
    "workspace_symbols": "symbols",
}
"""What models call the operations; the first name of each is in the schema."""
MAX_PLACES = 200
_MAX_LINE_CHARS = 200
_NEAR_LINES = 20
"""How far from the given line a symbol is looked for: lines move with edits."""
_QUALIFIERS = re.compile(r"::|->|[.#]")


class Position(Struct, frozen=True, kw_only=True):
    """Where a symbol is in a file: line and column from 0, the column in UTF-16 units as the protocol counts."""

    line: int
    column: int


def locate_symbol(lines: Sequence[str], symbol: str, line: int | None) -> Position | None:
    """Return the position of a symbol in a file; None if it is not there, or not near the given line.

    Args:
        symbol: a name, perhaps qualified (`Shape.area`) or with parentheses; its last part is what is looked for.
        line: counted from 1; None for the first place where the file has the name.
    """
    symbol = symbol.strip().removesuffix("()")
    name = next((part for part in reversed(_QUALIFIERS.split(symbol)) if part), symbol)
    if not name:
        return None
    order: Iterable[int] = range(len(lines))
    if line is not None:
        first, last = max(line - 1 - _NEAR_LINES, 0), min(line + _NEAR_LINES, len(lines))
        order = sorted(range(first, last), key=lambda index: abs(index - (line - 1)))
    for wanted in dict.fromkeys((symbol, name)):
        pattern = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)")
        for index in order:
            if match := pattern.search(lines[index]):
                start = match.end() - len(name)
                return Position(line=index, column=len(lines[index][:start].encode("utf-16-le")) // 2)
            if line is not None and wanted == symbol != name and index == line - 1:
                break  # the line itself has only the last part of the name, if anything
    return None


class CodeLookupTool:
    """The tool `code_lookup`.

    Args:
        open_servers: returns the language servers.
    """

    name = "code_lookup"
    args = CodeLookupArgs
    read_only = True

    def __init__(
        self,
        workspace: Workspace,
        open_servers: Callable[[], LanguageServers],
        max_chars: int | PageSize = MAX_ANSWER_CHARS,
    ) -> None:
        self._workspace = workspace
        self._open_servers = open_servers
        self._page = as_page_size(max_chars)

    def prepare(self, args: Any) -> PreparedCall:
        """Prepare a lookup. Raises ToolRetry if it is not clear what to look up."""
        call: CodeLookupArgs = args
        operation = OPERATION_ALIASES.get(str(call.operation).strip().lower())
        if operation is None:
            raise ToolRetry("operation must be one of: definition, references, symbols")
        symbol = " ".join(call.symbol.split())[:200]
        if not call.path and not symbol:
            raise ToolRetry("name a path, a symbol, or both")
        line = call.line if call.line and call.line > 0 else None
        root = self._workspace.root
        path = resolve_workspace_path(self._workspace, call.path) if call.path else None
        if path == root:
            path = None
        if path is not None and not self._workspace.contains(path):
            raise ToolRetry(f"{call.path!r} is outside the project, whose files alone are looked up; use search_text")
        if operation != "symbols" and (path is None or not symbol):
            raise ToolRetry(
                f"{operation} needs `path` and `symbol`, and `line` if the name occurs more than once in the file",
                "with operation `symbols` and `symbol` alone you find where a name is defined",
            )
        where = self._workspace.display(path) + (f":{line}" if line else "") if path is not None else ""

        async def run(progress: Progress) -> ToolOutput:
            if path is not None and not await asyncio.to_thread(path.is_file):
                raise make_missing_path_error(self._workspace, path)
            if path is None:
                return await self._search(symbol)
            if operation == "symbols":
                return await self._outline(path, symbol)
            return await self._follow(operation, path, symbol, line)

        return PreparedCall(
            title=_describe_lookup(operation, symbol, where), action=ReadFiles(paths=(path or root,)), run=run
        )

    async def _follow(
        self, operation: Literal["definition", "references"], path: Path, symbol: str, line: int | None
    ) -> ToolOutput:
        text = await asyncio.to_thread(read_source, path)
        if text is None:
            raise ToolFailed(f"{self._workspace.display(path)} is too large, or not text")
        lines = split_source_lines(text)
        position = locate_symbol(lines, symbol, line)
        if position is None:
            raise ToolRetry(_describe_absence(lines, symbol, line, self._workspace.display(path)))
        moved = line is not None and position.line != line - 1
        notes = [f"[{symbol} is not on line {line}; looked up from line {position.line + 1}]"] if moved else []
        try:
            server = await self._open_servers().open_for(path)
            with _naming(server):
                places = await server.find_locations(operation, path, position.line, position.column)
        except ServerFailed as error:
            if operation == "references" or not can_outline(path.suffix):
                raise ToolFailed(str(error), "search for the name with search_text") from None
            return await self._search_by_parsing(symbol, str(english(error)), exact=True)
        if not places:
            return ToolOutput(
                text="\n".join([*notes, f"{server.name} knows no {operation} of {symbol} here; use search_text"]),
                summary=tr("nothing"),
            )
        return await asyncio.to_thread(self._render, places, notes)

    async def _outline(self, path: Path, query: str) -> ToolOutput:
        notes: list[str] = []
        symbols: list[Symbol] | None = None
        try:
            server = await self._open_servers().open_for(path)
            with _naming(server):
                symbols = await server.list_symbols(path)
        except ServerFailed as error:
            if can_outline(path.suffix):
                symbols = await asyncio.to_thread(outline_file, path)
                notes.append(f"[found by parsing: {english(error)}]")
            else:
                raise ToolFailed(str(error), "read the file, or use search_text") from None
        if symbols is None:
            raise ToolFailed(f"{self._workspace.display(path)} cannot be parsed", "read it with read_file")
        if query:
            symbols = [symbol for symbol in symbols if query.casefold() in symbol.name.casefold()]
        if not symbols:
            return ToolOutput(text="\n".join([*notes, "no such symbols in this file"]), summary=tr("nothing"))
        places = [Location(path=path, line=symbol.line) for symbol in symbols]
        depths = {symbol.line: symbol.depth for symbol in reversed(symbols)}
        return await asyncio.to_thread(self._render, places, notes, depths)

    async def _search(self, query: str) -> ToolOutput:
        """Find names in the whole project: with the servers of its languages, and by parsing for the others."""
        servers = self._open_servers()
        suffixes = await asyncio.to_thread(find_project_suffixes, self._workspace.root)
        known = await asyncio.to_thread(list_files, self._workspace.root)
        found: list[Symbol] = []
        problems: list[str] = []
        asked: set[str] = set()
        for suffix in sorted(suffixes):
            spec = await asyncio.to_thread(servers.find_for, suffix)
            if spec is None or spec.spec.name in asked:
                continue
            asked.add(spec.spec.name)
            example = next((self._workspace.root / name for name in known if name.endswith(suffix)), None)
            try:
                server = await servers.open_for(example or self._workspace.root / f"any{suffix}")
                with _naming(server):
                    found += await server.search_symbols(query, example)
            except ServerFailed as error:
                problems.append(str(english(error)))
        if not found:
            return await self._search_by_parsing(query, "; ".join(problems))
        places = sorted({Location(path=symbol.path, line=symbol.line) for symbol in found})
        return await asyncio.to_thread(self._render, places, [f"[{problem}]" for problem in problems])

    async def _search_by_parsing(self, query: str, reason: str, *, exact: bool = False) -> ToolOutput:
        name = query
        if exact:
            name = next((part for part in reversed(_QUALIFIERS.split(query.removesuffix("()"))) if part), query)
        symbols, is_complete = await asyncio.to_thread(search_outlines, self._workspace.root, name, exact=exact)
        notes = [f"[found by parsing, by name alone{f': {reason}' if reason else ''}]"]
        if not is_complete:
            notes.append("[not all files were searched]")
        if not symbols:
            return ToolOutput(
                text="\n".join([*notes, f"nothing named {name} is defined in the project; use search_text"]),
                summary=tr("nothing"),
            )
        places = sorted({Location(path=symbol.path, line=symbol.line) for symbol in symbols})
        return await asyncio.to_thread(self._render, places, notes)

    def _render(
        self, places: Sequence[Location], notes: Sequence[str], depths: dict[int, int] | None = None
    ) -> ToolOutput:
        """Return the places, file by file, with the text of their lines. Blocks.

        depths: of the symbols in a single file, by line, to indent them.
        """
        root = self._workspace.root
        inside = [place for place in places if self._workspace.contains(place.path)]
        listed = {root / name for name in list_files(root, hidden=True)} if depths is None else {places[0].path}
        ignored = [place for place in inside if place.path not in listed]
        outside = [place for place in places if not self._workspace.contains(place.path)]
        shown = [place for place in inside if place.path in listed]
        rows: list[str] = []
        lines: list[str] = []
        path: Path | None = None
        left_chars, count = self._page.chars - 1_000, 0
        for place in shown[:MAX_PLACES]:
            if place.path != path:
                path, lines = place.path, split_source_lines(read_source(place.path) or "")
            text = strip_invisible(lines[place.line - 1]).strip() if place.line <= len(lines) else ""
            indent = "  " * min((depths or {}).get(place.line, 0), 10)
            row = f"{self._workspace.display(place.path)}:{place.line}: {indent}{truncate(text, _MAX_LINE_CHARS)}"
            left_chars -= len(row) + 1
            if left_chars < 0:
                break
            rows.append(row)
            count += 1
        if count < len(shown):
            files = len({place.path for place in shown[count:]})
            rest = format_count(len(shown) - count, "place")
            rows.append(f"[{rest} in {format_count(files, 'file')} left out; search_text with `path` narrows it]")
        for group, what in (
            (ignored, "in ignored files"),
            (outside, "outside the project; reading them may need the user's approval"),
        ):
            names = list(dict.fromkeys(f"{self._workspace.display(place.path)}:{place.line}" for place in group))
            if names:
                more = f" and {len(names) - 10} more" if len(names) > 10 else ""
                rows.append(f"[{what}: {strip_invisible(', '.join(names[:10]))}{more}]")
        files = len({place.path for place in places})
        summary = tr("{places} in {files}", places=tr_count(len(places), "place"), files=tr_count(files, "file"))
        return ToolOutput(text="\n".join([*notes, *rows]), summary=summary)


@contextmanager
def _naming(server: LanguageServer) -> Generator[None]:
    """Put the server's name before the reason for which it did not answer."""
    try:
        yield
    except ServerFailed as error:
        raise ServerFailed(tr("{name}: {reason}", name=server.name, reason=error)) from None


def _describe_lookup(operation: str, symbol: str, where: str) -> str:
    """Return the title of a lookup, whose first word is left out where several calls fold into one row."""
    if operation == "references":
        return tr("find references of {symbol} ({where})", symbol=symbol, where=where)
    if operation == "definition":
        return tr("find definition of {symbol} ({where})", symbol=symbol, where=where)
    if not symbol:
        return tr("list symbols of {where}", where=where)
    return tr("find symbol {symbol}", symbol=symbol) + (f" ({where})" if where else "")


def _describe_absence(lines: Sequence[str], symbol: str, line: int | None, shown_path: str) -> str:
    if line is None or locate_symbol(lines, symbol, None) is None:
        return f"{symbol} is not in {shown_path}"
    name = next((part for part in reversed(_QUALIFIERS.split(symbol.removesuffix("()"))) if part), symbol)
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    numbers = [str(number) for number, text in enumerate(lines, 1) if pattern.search(text)][:10]
    return f"{symbol} is not near line {line} of {shown_path}; it is on line {', '.join(numbers)}"
