"""Renders diffs with line numbers and marked words, and describes proposed actions for approval."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal, assert_never, overload

from msgspec import Struct
from rich.cells import get_character_cell_size
from rich.text import Text

from clio.security.actions import (
    Action,
    CallServer,
    ChangeFiles,
    FetchUrl,
    FileChange,
    ReadFiles,
    RunCommand,
    TouchOwnState,
)
from clio.security.shell.parser import parse_command_line
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import mark, tr, tr_count
from clio.tools.files.diff import diff_change
from clio.ui.hanging_text import HangingText
from clio.ui.markdown import CodeHighlighter, guess_language
from clio.ui.painter import truncate_line
from clio.ui.safe_text import escape_controls, spell_out_line, spell_out_lines, spell_out_non_ascii
from clio.ui.theme import Theme

RowKind = Literal["file", "hunk", "context", "added", "removed", "note"]

_HUNK = LazyRegex(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_LINE_PREFIXES = ("+", "-", " ", "")
"""Prefixes of a hunk's lines; an empty context line may have lost its blank."""

_NO_FILE = "/dev/null"
# Some programs treat these as line ends, which would make one line of a diff look like two.
_UNICODE_LINE_BREAKS = (("\u2028", "\\u2028"), ("\u2029", "\\u2029"))


class DiffRow(Struct, frozen=True, gc=False):
    """One row of a diff.

    Attributes:
        text: without its prefix; for a file, its names.
        number: its line in the file, the old one for a removed line; 0 for none.
        block: which run of removed and added rows it belongs to; -1 for none.
    """

    kind: RowKind
    text: str
    number: int = 0
    block: int = -1


class DiffBlock(Struct, kw_only=True):
    """A run of removed rows and the added ones after it, by their indexes."""

    removed: list[int]
    added: list[int]


class ParsedDiff(Struct, kw_only=True):
    """All rows of a diff and its runs of changes. counts: added and removed lines of each file, by its row."""

    rows: list[DiffRow]
    blocks: list[DiffBlock]
    counts: dict[int, tuple[int, int]]


def parse_diff(text: str) -> ParsedDiff:
    """Parse a diff of one or several files. Text that is not a diff becomes notes; control characters are spelled out.

    A hunk declares how many lines it has: within them "--- x" is a removed line and not a file name.
    """
    text = escape_controls(text)
    for char, name in _UNICODE_LINE_BREAKS:
        text = text.replace(char, name)
    reader = _DiffParser(text.removesuffix("\n").split("\n") if text else [])
    return reader.parse()


class _DiffParser:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._rows: list[DiffRow] = []
        self._blocks: list[DiffBlock] = []
        self._counts: dict[int, tuple[int, int]] = {}
        self._old = self._new = 0  # line numbers of the next row in the old and the new file
        self._old_left = self._new_left = 0  # lines of the hunk that have not been read yet
        self._file = -1
        self._added = self._removed = 0
        self._names: str | None = None
        self._in_block = False

    def parse(self) -> ParsedDiff:
        for index, line in enumerate(self._lines):
            if (
                line[:1] in _LINE_PREFIXES
                and (self._old_left > 0 or self._new_left > 0)
                and line[:4] not in ("--- ", "+++ ")
            ):
                self._parse_hunk_line(line)
            else:
                self._parse_line(line, index)
        self._end_file()
        return ParsedDiff(rows=self._rows, blocks=self._blocks, counts=self._counts)

    def _parse_line(self, line: str, index: int) -> None:
        if self._names is not None:
            self._begin_file(self._names, line.removeprefix("+++ "))
        elif found := _HUNK.match(line):
            self._begin_hunk(line, found)
        elif line.startswith("--- ") and self._is_before_file_names(self._lines[index + 1 : index + 3]):
            self._names = line[4:]
        elif line.startswith("\\"):
            self._add_row("note", line)
        elif line[:1] in _LINE_PREFIXES and (self._old_left > 0 or self._new_left > 0):
            self._parse_hunk_line(line)
        else:
            self._in_block = False
            self._add_row("note", line)

    def _is_before_file_names(self, following: list[str]) -> bool:
        """Whether file names begin here. Redacted secrets may have made a hunk shorter than it declares."""
        named = bool(following) and following[0].startswith("+++ ")
        if self._old_left <= 0 and self._new_left <= 0:
            return named
        hunk = named and len(following) > 1 and _HUNK.match(following[1]) is not None
        return hunk and (self._old_left, self._new_left) != (1, 1)

    def _begin_file(self, old: str, new: str) -> None:
        self._names = None
        self._old_left = self._new_left = 0
        self._in_block = False
        self._end_file()
        self._file = len(self._rows)
        self._add_row("file", _describe_file(old, new))

    def _begin_hunk(self, line: str, found: re.Match[str]) -> None:
        self._old, self._new = int(found[1]), int(found[3])
        self._old_left, self._new_left = int(found[2] or 1), int(found[4] or 1)
        self._in_block = False
        self._add_row("hunk", line)

    def _end_file(self) -> None:
        if self._file >= 0:
            self._counts[self._file] = (self._added, self._removed)
        self._added = self._removed = 0

    def _parse_hunk_line(self, line: str) -> None:
        """Handle a line of a hunk."""
        rows = self._rows
        if line[:1] == "+":
            self._current_block(begins=not self._in_block).added.append(len(rows))
            rows.append(DiffRow("added", line[1:], self._new, len(self._blocks) - 1))
            self._added += 1
            self._new += 1
            self._new_left -= 1
        elif line[:1] == "-":
            self._current_block(begins=not self._in_block or bool(self._blocks[-1].added)).removed.append(len(rows))
            rows.append(DiffRow("removed", line[1:], self._old, len(self._blocks) - 1))
            self._removed += 1
            self._old += 1
            self._old_left -= 1
        else:
            self._in_block = False
            rows.append(DiffRow("context", line[1:], self._new))
            self._old += 1
            self._new += 1
            self._old_left -= 1
            self._new_left -= 1

    def _current_block(self, *, begins: bool) -> DiffBlock:
        if begins:
            self._blocks.append(DiffBlock(removed=[], added=[]))
        self._in_block = True
        return self._blocks[-1]

    def _add_row(self, kind: RowKind, text: str) -> None:
        self._rows.append(DiffRow(kind, text))


def _describe_file(old: str, new: str) -> str:
    """Describe what happens to the file, in short; git's "a/" and "b/" are removed."""
    if old.startswith("a/") and new.startswith("b/") and old[2:] == new[2:]:
        return new[2:]
    if old == _NO_FILE or new == _NO_FILE:
        return tr("new {new}", new=new) if old == _NO_FILE else tr("delete {old}", old=old)
    return new if old == new else tr("move {old} → {new}", old=old, new=new)


Span = tuple[int, int]
"""Start and end (exclusive) of a range of characters."""

_WORD = LazyRegex(r"[\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff]|[^\W\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff]+|\s+|.")
_MAX_COMPARED_CHARS = 2_000  # longer lines are only compared by their common beginning and end
_MAX_CELLS = 10_000
"""Limit of old × new words, or lines, that are compared with each other."""
_MAX_PAIRS = 400  # removed × added lines; a larger block is paired by position, because comparing is quadratic
_MIN_SIMILARITY = 0.35
"""The share of a line that must be equal for its differences to be worth marking."""


def find_changed_words(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """Return the changed ranges of two versions of a line; empty if they have too little in common."""
    if len(old) > _MAX_COMPARED_CHARS or len(new) > _MAX_COMPARED_CHARS:
        return _span_between_common_ends(old, new)
    ours, theirs = _WORD.findall(old), _WORD.findall(new)
    head = _count_common_items(ours, theirs)
    tail = _count_common_items(ours[head:][::-1], theirs[head:][::-1])
    a, b = ours[head : len(ours) - tail], theirs[head : len(theirs) - tail]
    if len(a) * len(b) > _MAX_CELLS:
        return _span_between_common_ends(old, new)
    before, after = _SpanCollector("".join(ours[:head])), _SpanCollector("".join(ours[:head]))
    same = _count_nonblank_characters(ours[:head]) + _count_nonblank_characters(ours[len(ours) - tail :])
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        equal = tag == "equal"
        same += _count_nonblank_characters(a[i1:i2]) if equal else 0
        before.add("".join(a[i1:i2]), equal)
        after.add("".join(b[j1:j2]), equal)
    if same < _MIN_SIMILARITY * max(_count_nonblank_characters(ours), _count_nonblank_characters(theirs)):
        return [], []
    return before.spans, after.spans


def pair_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Pair each removed line with the added line that replaced it, in order: by similarity, or else by position."""
    if len(old) * len(new) > _MAX_PAIRS:
        return list(zip(range(len(old)), range(len(new)), strict=True)) if len(old) == len(new) else []
    words = [[Counter(_WORD.findall(line[:_MAX_COMPARED_CHARS])) for line in side] for side in (old, new)]
    alike = [[_compare_words(ours, theirs) for theirs in words[1]] for ours in words[0]]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], alike[i][j] + best[i + 1][j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        if alike[i][j] and best[i][j] == alike[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


class _SpanCollector:
    """Collects the changed ranges of one side; ranges separated only by blanks are merged."""

    def __init__(self, head: str) -> None:
        self._position = len(head)
        self._is_after_blanks = False
        self.spans: list[Span] = []

    def add(self, text: str, equal: bool) -> None:
        start, self._position = self._position, self._position + len(text)
        if equal:
            self._is_after_blanks = text.isspace() and bool(self.spans) and self.spans[-1][1] == start
        elif text:
            joins = self._is_after_blanks and self.spans
            self.spans.append((self.spans.pop()[0] if joins else start, self._position))
            self._is_after_blanks = False


def _count_common_items(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """Count the items that both begin with."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(ours), len(theirs)))


def _count_common_characters(ours: str, theirs: str) -> int:
    """Count the characters that both begin with, faster than `_count_common_items`."""
    low, high = 0, min(len(ours), len(theirs))
    while low < high:
        middle = (low + high + 1) // 2
        if ours[low:middle] == theirs[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _span_between_common_ends(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """Return everything between the common beginning and the common end."""
    head = _count_common_characters(old, new)
    room = min(len(old), len(new)) - head
    tail = min(_count_common_characters(old[::-1], new[::-1]), room)
    if head + tail < _MIN_SIMILARITY * max(len(old), len(new)):
        return [], []
    sides = ((head, len(old) - tail), (head, len(new) - tail))
    before, after = ([span] if span[0] < span[1] else [] for span in sides)
    return before, after


def _count_nonblank_characters(words: Sequence[str]) -> int:
    return sum(len(word) for word in words if not word.isspace())


def _compare_words(ours: Counter[str], theirs: Counter[str]) -> float:
    """Return the similarity of two lines: 0, or from `_MIN_SIMILARITY` to 1."""
    total = max(sum(len(word) * count for word, count in side.items() if not word.isspace()) for side in (ours, theirs))
    shared = sum(len(word) * count for word, count in (ours & theirs).items() if not word.isspace())
    if not total:
        return 1.0 if ours == theirs else _MIN_SIMILARITY
    return shared / total if shared >= _MIN_SIMILARITY * total else 0.0


_MIN_TEXT_COLUMNS = 28
"""Lines are numbered if so many columns remain for their text, as in a terminal of 40 columns."""

_TAB_COLUMNS = 4
_MAX_LINE_CHARS = 20_000
"""Tabs of longer lines are expanded without regard to wide characters."""

_MARKS = {"added": "+", "removed": "-", "context": " "}
_CONTINUED_LINE = 2  # columns that the further rows of a long line are indented more than its text
_CHUNK_ROWS = 200  # rows that are highlighted together
_MAX_CHUNKS = 20  # highlighted chunks that are kept
_MAX_HIGHLIGHTED_CHARS = 2_000

StyledSpan = tuple[int, int, str]
"""Start and end (exclusive) of a range of characters, and the name of its style."""


class _CodeSpans:
    """Finds the syntax colours of a diff's lines, a chunk of rows at a time: a diff may have a hundred thousand.

    A comment or string that begins before the hunk or the chunk is not recognized.
    """

    def __init__(self, rows: Sequence[DiffRow], file_name: str) -> None:
        self._rows = rows
        self._file_name = file_name
        self._file_indexes = [index for index, row in enumerate(rows) if row.kind == "file"]
        self._chunks: dict[int, list[list[StyledSpan]]] = {}

    def find(self, index: int) -> list[StyledSpan]:
        """Return the coloured ranges of a row's text."""
        number = index // _CHUNK_ROWS
        if number not in self._chunks:
            if len(self._chunks) >= _MAX_CHUNKS:
                self._chunks.clear()
            self._chunks[number] = list(self._highlight_rows(number * _CHUNK_ROWS))
        return self._chunks[number][index % _CHUNK_ROWS]

    def _highlight_rows(self, first: int) -> Iterator[list[StyledSpan]]:
        language = self._find_language(first)
        old, new = CodeHighlighter(language), CodeHighlighter(language)
        for index, row in enumerate(self._rows[first : first + _CHUNK_ROWS], first):
            if row.kind in ("file", "hunk"):
                language = self._find_language(index)
                old, new = CodeHighlighter(language), CodeHighlighter(language)
            if row.kind in ("file", "hunk", "note"):
                yield []
                continue
            text = row.text[:_MAX_HIGHLIGHTED_CHARS].replace("\t", " ")  # as long as before
            if row.kind == "context":
                old.highlight_line(text)  # for the lines that follow in the old version
            line = (old if row.kind == "removed" else new).highlight_line(text)
            yield [(span.start, span.end, str(span.style)) for span in line.spans if span.style]

    def _find_language(self, index: int) -> str:
        """Return the language of the file that a row belongs to."""
        place = bisect_right(self._file_indexes, index)
        name = self._rows[self._file_indexes[place - 1]].text.rpartition(" ")[2] if place else self._file_name
        return guess_language(name.rpartition("/")[2]) if name else ""


class DiffRows(Sequence[Text]):
    """The rows of a diff. Each is rendered when it is accessed, so that a diff of any length opens at once.

    Args:
        width: available columns.
        names: whether files are named; None names them if there are several.
        max_chars: limit of a row; the row then ends with how much is missing.
        file_name: tells the language of a diff in which no file is named.
    """

    def __init__(
        self,
        diff: str,
        theme: Theme,
        width: int,
        *,
        names: bool | None = None,
        max_chars: int | None = None,
        file_name: str = "",
    ) -> None:
        self._parsed = parse_diff(diff)
        self._theme = theme
        self._max_chars = max_chars
        self._versions: dict[int, dict[int, int]] = {}
        has_file_names = len(self._parsed.counts) > 1 if names is None else names
        rows = self._parsed.rows
        self._row_indexes = [index for index, row in enumerate(rows) if has_file_names or row.kind != "file"]
        last = max((row.number for row in rows), default=0)
        gutter = len(str(last)) + 1 if last else 0
        self._gutter = gutter if width >= _MIN_TEXT_COLUMNS + gutter + len("  +") else 0
        self._code = _CodeSpans(rows, file_name)

    def with_max_chars(self, max_chars: int) -> "DiffRows":
        """Return the same rows, each limited to `max_chars` characters."""
        other = copy(self)
        other._max_chars = max_chars
        return other

    def __len__(self) -> int:
        return len(self._row_indexes)

    @overload
    def __getitem__(self, index: int) -> Text: ...
    @overload
    def __getitem__(self, index: slice) -> list[Text]: ...
    def __getitem__(self, index: int | slice) -> Text | list[Text]:
        if isinstance(index, slice):
            return [self._render_row(place) for place in self._row_indexes[index]]
        return self._render_row(self._row_indexes[index])

    def _render_row(self, index: int) -> Text:
        row, theme = self._parsed.rows[index], self._theme
        match row.kind:
            case "file":
                added, removed = self._parsed.counts[index]
                counts = [(f" +{added}", theme.added)] if added else []
                counts += [(f" −{removed}", theme.removed)] if removed else []
                return HangingText(hang=4).append("  " + row.text, theme.strong).append_text(Text.assemble(*counts))
            case "hunk":
                return Text("  " + row.text, theme.hunk)
            case "note":
                return self._truncate(Text("  " + " " * self._gutter + row.text.expandtabs(_TAB_COLUMNS), theme.faint))
            case _:
                return self._render_line(index, row)

    def _render_line(self, index: int, row: DiffRow) -> Text:
        theme = self._theme
        style = {"added": theme.added, "removed": theme.removed}.get(row.kind, theme.faint)
        # Where rows have backgrounds, these tell what is added, and the text can have the colours of code.
        has_backgrounds = theme.colour and bool(theme.current.palette.styles[theme.added_line].background)
        row_style = {"added": theme.added_line, "removed": theme.removed_line}.get(row.kind, "")
        line = HangingText(style=row_style if has_backgrounds else "")
        number = f"{row.number:>{self._gutter - 1}} " if self._gutter else ""
        line.append("  " + number, style if has_backgrounds else theme.faint).append(_MARKS[row.kind], style)
        limit = len(row.text) if self._max_chars is None else self._max_chars
        changed_style = theme.added_word if row.kind == "added" else theme.removed_word
        spans = self._code.find(index) if has_backgrounds else []
        spans = spans + [(*span, changed_style) for span in self._find_changed_spans(index, row)]
        text, spans = _expand_blanks(row.text[:limit], spans, marked=row.kind != "context")
        start = len(line)
        line.append(text, "" if has_backgrounds else style)
        for first, end, span_style in spans:
            line.stylize(span_style, start + first, start + end)
        if limit < len(row.text):
            line.append(tr(" … {count:,} more characters", count=len(row.text) - limit), theme.faint)
        line.hang = start + len(text) - len(text.lstrip(" ")) + _CONTINUED_LINE
        return line

    def _find_changed_spans(self, index: int, row: DiffRow) -> list[Span]:
        """Return the ranges of a row that differ from its other version."""
        if row.block < 0 or not self._theme.escapes:
            return []
        if row.block not in self._versions:
            self._versions[row.block] = self._pair_rows(row.block)
        other = self._versions[row.block].get(index)
        if other is None:
            return []
        rows = self._parsed.rows
        if row.kind == "removed":
            return find_changed_words(row.text, rows[other].text)[0]
        return find_changed_words(rows[other].text, row.text)[1]

    def _pair_rows(self, number: int) -> dict[int, int]:
        """Map each row of a block to its other version, in both directions."""
        block, rows = self._parsed.blocks[number], self._parsed.rows
        if not block.removed or not block.added:
            return {}
        texts = [[rows[index].text for index in side] for side in (block.removed, block.added)]
        pairs = [(block.removed[old], block.added[new]) for old, new in pair_lines(*texts)]
        return dict(pairs) | {new: old for old, new in pairs}

    def _truncate(self, row: Text) -> Text:
        return row if self._max_chars is None else truncate_line(row, self._max_chars, self._theme.faint)


def render_diff(diff_text: str, theme: Theme, width: int, max_rows: int, hint: str = "") -> Iterator[Text]:
    """Yield at most `max_rows` rows of a unified diff in colour; the last one reports how many are missing.

    File names are omitted if there is only one file.

    Args:
        width: available columns, which decides whether lines are numbered; 0 for unknown.
        hint: how to see the missing rows, for the last row.
    """
    rows = DiffRows(diff_text, theme, width, max_chars=max(width, 20) * 5 if max_rows < len(diff_text) else None)
    visible = len(rows) if len(rows) <= max_rows else max(max_rows - 1, 0)
    for index in range(visible):
        yield rows[index]
    if visible < len(rows):
        missing = len(rows) - visible
        yield Text(f"  … {tr_count(missing, 'more line')}{hint}", theme.faint)


def _expand_blanks(text: str, spans: list[StyledSpan], *, marked: bool) -> tuple[str, list[StyledSpan]]:
    """Expand tabs and, if `marked`, make trailing blanks visible; return the text and the adjusted spans."""
    end_of_text = len(text.rstrip(" \t")) if marked else len(text)
    if "\t" not in text:
        return text[:end_of_text] + "·" * (len(text) - end_of_text), spans
    if len(text) > _MAX_LINE_CHARS:
        return text.expandtabs(_TAB_COLUMNS), []
    pieces: list[str] = []
    starts: list[int] = []
    column = length = 0
    for index, char in enumerate(text):
        starts.append(length)
        piece = char
        if char == "\t":
            piece = ("→" if index >= end_of_text else " ") + " " * (_TAB_COLUMNS - column % _TAB_COLUMNS - 1)
        elif index >= end_of_text:
            piece = "·"
        pieces.append(piece)
        length += len(piece)
        column += get_character_cell_size(char) if char != "\t" else len(piece)
    starts.append(length)
    end = len(text)
    return "".join(pieces), [(starts[min(start, end)], starts[min(stop, end)], style) for start, stop, style in spans]


CommandFact = Literal["line", "in", "runs", "writes", "reads", "looks like another name", "not understood"]
FACT_LABELS: dict[CommandFact, str] = {
    "in": mark("in"),
    "runs": mark("runs"),
    "writes": mark("writes"),
    "reads": mark("reads"),
    "looks like another name": mark("looks like another name"),
    "not understood": mark("not understood"),
}
FormatPath = Callable[[Path], str]
"""Returns a path for display, relative to the workspace."""


def describe_action(
    action: Action, theme: Theme, width: int, format_path: FormatPath, *, named: bool = False, brief: bool = False
) -> Sequence[Text]:
    """Return all rows; those of a diff are rendered when they are accessed.

    named: see `describe_changes`. brief: see `list_command_facts`.
    """
    match action:
        case ChangeFiles(changes=changes):
            return describe_changes(changes, theme, width, format_path, named=named)
        case RunCommand(command=command, cwd=cwd, note=note):
            return [
                *_describe_command(command, format_path(cwd), theme, brief=brief),
                *([HangingText(f"    {note}", style=theme.warning, hang=4)] if note else []),
            ]
        case FetchUrl(url=url, query=query):
            return [HangingText(f"  {line}", hang=4) for text in (query, url) if text for line in spell_out_lines(text)]
        case ReadFiles(paths=paths):
            return [HangingText(f"  {spell_out_line(format_path(path))}", hang=4) for path in paths]
        case CallServer(arguments=arguments):
            return [HangingText(f"  {line}", hang=4) for line in spell_out_lines(arguments)]
        case TouchOwnState():
            return []
        case _:
            assert_never(action)


def describe_changes(
    changes: Iterable[FileChange], theme: Theme, width: int, format_path: FormatPath, *, named: bool = False
) -> Sequence[Text]:
    """Return the diff of all changes; a single file is named only if `named`: usually the title shows its name."""
    changes = tuple(changes)
    named = named or len(changes) > 1 or any(change.kind in ("delete", "move") for change in changes)

    def name(path: Path) -> str:
        return format_path(path).replace("\n", "\\n")  # a name with a line break could pass for a line of the diff

    return DiffRows("".join(diff_change(change, name).text for change in changes), theme, width, names=named)


_QUOTED_WORD = re.compile(r"""(?<!\S)(['"])(.*?)\1(?!\S)""", re.S)


def list_command_facts(command: str, cwd: str, *, brief: bool = False) -> Iterator[tuple[CommandFact, str]]:
    """Yield the facts about a command that matter for approval, with nothing hidden.

    They are its lines, its directory, the programs it runs, the files it reads and writes, and what was not understood.

    brief: leave out the programs if the command's lines name each of them as it is run, but for quotes.
    """
    for line in spell_out_lines(command):
        yield "line", line
    if cwd not in ("", "."):
        yield "in", spell_out_line(cwd)
    parsed = parse_command_line(command)
    runs = [" ".join(word.text for word in simple.words) for simple in parsed.commands if simple.words]
    if brief:
        is_told = all(run in command or _remove_quotes(run) in _remove_quotes(command) for run in runs)
    else:
        is_told = runs in ([], [command.strip()], [_QUOTED_WORD.sub(r"\2", command.strip())])
    if not is_told:
        for run in runs:
            yield "runs", spell_out_line(run)
    for program in dict.fromkeys(simple.words[0].text for simple in parsed.commands if simple.words):
        if not program.isascii():
            yield "looks like another name", spell_out_non_ascii(program)
    for redirect in parsed.redirects:
        if redirect.target.text != "/dev/null":
            kind: CommandFact = "writes" if redirect.writes else "reads"
            yield kind, spell_out_line(redirect.target.text)
    for unknown in parsed.unknown:
        yield "not understood", spell_out_line(unknown)


def _remove_quotes(text: str) -> str:
    return text.replace("'", "").replace('"', "")


def _describe_command(command: str, cwd: str, theme: Theme, *, brief: bool) -> Iterator[Text]:
    mark = "$"
    for kind, text in list_command_facts(command, cwd, brief=brief):
        match kind:
            case "line":
                yield HangingText(f"  {mark} {text}", style=theme.strong, hang=4)
                mark = " "
            case "in" | "runs":
                yield HangingText(f"    {tr(FACT_LABELS[kind])} {text}", style=theme.faint, hang=6)
            case "writes" | "reads":
                yield HangingText(f"    {tr(FACT_LABELS[kind])} {text}", style=theme.warning, hang=6)
            case "not understood" | "looks like another name":
                yield HangingText(f"    {tr(FACT_LABELS[kind])}: {text}", style=theme.warning, hang=6)
