"""Lays out tables, bars and the task list as lines that fit the terminal."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from clio.commands.command import Bar, BarPart, Table
from clio.sessions.state import Todo, TodoStatus
from clio.text.translation import mark, tr
from clio.ui.painter import assemble_text, count_cells, truncate_to_cells
from clio.ui.safe_text import clean, clean_line
from clio.ui.terminal_text import wrap_text
from clio.ui.theme import Theme

if TYPE_CHECKING:
    from rich.text import Text

StyledRow = list[tuple[str, str]]
"""Pieces of one line, each with its style name."""
_BAR_STYLES = ("bar_1", "bar_2", "bar_3", "bar_4", "bar_5")  # then faint, for amounts that are only reserved
_MAX_BAR_CELLS = 72


def render_bar(bar: Bar, width: int, faint: str = "") -> list[StyledRow]:
    """Return bar and legend, no line wider than `width` (at least 24).

    The parts can be told apart without colour too.
    """
    width = max(width, 24)
    cells = divide_cells([part.amount for part in bar.parts], min(width, _MAX_BAR_CELLS))
    styles = [_BAR_STYLES[number] if number < len(_BAR_STYLES) else faint for number in range(len(bar.parts))]
    line = [(part.mark * count, style) for part, count, style in zip(bar.parts, cells, styles, strict=True)]
    legend = render_legend(bar.parts, width - 2)
    named = [[(part.mark, style), (f" {row}", "")] for part, style, row in zip(bar.parts, styles, legend, strict=True)]
    return [line, *named]


def divide_cells(amounts: Sequence[int], width: int) -> list[int]:
    """Return how many of `width` cells each amount gets: in proportion, at least one for every amount above zero.

    They add up to `width`, unless all amounts are zero or less, or there are more amounts than half the cells.
    """
    whole = sum(amount for amount in amounts if amount > 0)
    if not whole:
        return [0] * len(amounts)
    cells = [max(1, amount * width // whole) if amount > 0 else 0 for amount in amounts]
    largest = max(range(len(amounts)), key=lambda number: amounts[number])
    cells[largest] = max(cells[largest] + width - sum(cells), 1)
    return cells


def render_legend(parts: Sequence[BarPart], width: int) -> list[str]:
    """Return name, amount and share of each part in columns; long names are truncated."""
    whole = sum(part.amount for part in parts if part.amount > 0)
    amounts = [f"{part.amount:,}" for part in parts]
    shares = [f"{100 * max(part.amount, 0) / whole:.1f} %" if whole else "" for part in parts]
    amount_size, share_size = max(map(len, amounts)), max(map(len, shares))
    names = [clean_line(part.name) for part in parts]
    name_size = min(max(map(len, names)), max(width - amount_size - share_size - 4, 1))
    return [
        f"{name[:name_size]:<{name_size}}  {amount:>{amount_size}}  {share:>{share_size}}"
        for name, amount, share in zip(names, amounts, shares, strict=True)
    ]


_GAP = "  "
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_BLANKS = re.compile(rf"[^\S{_NO_BREAK_SPACE}]+")
_MIN_COLUMN_CELLS = 16  # minimum cells of the wide column, else the rows are stacked
_FORM_COLUMNS_FROM, _FORM_INDENT = 60, 4
_MAX_STACKED_ROWS = 2  # of the wide cell in a paragraph, if it would be truncated in a table
_MAX_WORD_CELLS = 40  # longer ones, such as addresses, are broken rather than stack the rows of the whole table


def render_table(table: Table, width: int) -> tuple[str, list[str]]:
    """Return the heading and the rows, no line wider than `width` (at least 8); the heading is "" if it does not fit.

    The wide column is wrapped between words, or truncated if the table requests that. If it is too narrow for that,
    each row becomes a short paragraph. Columns without any text are left out, and numbers are aligned at their ends.
    """
    width, table = max(width, 8), _leave_out_empty_columns(table)
    # The headings too: that of a memory's own page is its id, which may come from a file of others.
    table = structs.replace(table, columns=tuple(map(clean_line, table.columns)))
    rows = [tuple(map(clean_line, row)) for row in table.rows]
    widths = [max(map(count_cells, column)) for column in zip(table.columns, *rows, strict=True)]
    if table.has_forms and widths[0] + len(_GAP) + min(widths[1], _MAX_WORD_CELLS) > width:
        return _render_forms(table.columns, rows, width)
    others = sum(size for index, size in enumerate(widths) if index != table.wide_column) + len(_GAP) * (
        len(widths) - 1
    )
    wide_cells = width - others
    longest_word = 0
    if not table.is_truncated:
        words = (count_cells(word) for row in rows for word in row[table.wide_column].split())
        longest_word = max((cells for cells in words if cells <= _MAX_WORD_CELLS), default=0)
    if wide_cells < min(widths[table.wide_column], max(_MIN_COLUMN_CELLS, longest_word)):
        if table.is_truncated:
            room, wide = _MAX_STACKED_ROWS * width, table.wide_column
            rows = [(*row[:wide], truncate_to_cells(row[wide], room), *row[wide + 1 :]) for row in rows]
        return "", [line for row in rows for line in _stack_row(table.columns, row, width)]
    widths[table.wide_column] = min(widths[table.wide_column], wide_cells)
    numbers = _find_number_columns(table)
    lines = [line for row in rows for line in _render_row(row, widths, table, numbers)]
    heading = _render_row(table.columns, widths, table, numbers)[0] if any(table.columns) else ""
    return heading, lines


class TableRows:
    """The rows of a table as one line each, for a list of thousands: a line is laid out when it is displayed.

    Columns that do not fit are left out from the right; beside the wide column alone, rows become plain text.
    heading: "" if the columns have none, or did not fit.
    """

    def __init__(self, table: Table, width: int) -> None:
        width, table = max(width, 8), _leave_out_empty_columns(table)
        table = structs.replace(table, columns=tuple(map(clean_line, table.columns)))
        sizes = [_measure_column((name, *cells)) for name, *cells in zip(table.columns, *table.rows, strict=True)]
        wide = table.wide_column
        count = len(sizes)
        while (rest := _measure_rest(sizes[:count], wide, width)) < min(sizes[wide], _MIN_COLUMN_CELLS):
            count -= 1
            if count == wide:
                break
        self._table = structs.replace(table, columns=table.columns[:count], is_truncated=True)
        self._numbers = _find_number_columns(table)
        self._width = width
        self._sizes = [min(size, rest) if place == wide else size for place, size in enumerate(sizes[:count])]
        # The name of a single column would only repeat the title.
        has_heading = count > wide and sum(map(bool, self._table.columns)) > 1
        columns = self._table.columns
        self.heading = _render_row(columns, self._sizes, self._table, self._numbers)[0] if has_heading else ""

    def __getitem__(self, number: int) -> str:
        cells = tuple(map(clean_line, self._table.rows[number]))
        if not self._sizes[self._table.wide_column :]:
            return truncate_to_cells(" ".join(cells[: self._table.wide_column + 1]), self._width)
        return _render_row(cells[: len(self._sizes)], self._sizes, self._table, self._numbers)[0]


def _leave_out_empty_columns(table: Table) -> Table:
    """Return the table without the columns that have no text in any row; the wide one stays."""
    kept = [
        place
        for place in range(len(table.columns))
        if place == table.wide_column or not table.rows or any(row[place] for row in table.rows)
    ]
    if table.has_forms or len(kept) == len(table.columns):
        return table
    return structs.replace(
        table,
        columns=tuple(table.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in table.rows),
        wide_column=kept.index(table.wide_column),
    )


# Longer rows of digits are ids: large numbers have commas.
_NUMBER = re.compile(r"[$€]?(?:\d{1,6}|\d{1,3}(?:,\d{3})+)(?:\.\d+)?[kMG]?%?(?: [a-z]+)?|<1%|")
_MAX_EXAMINED_ROWS = 200


def _find_number_columns(table: Table) -> frozenset[int]:
    """Return the columns of numbers, such as "1,204", "$0.52", "87%" or "5.4k in"; not the wide one, nor a count."""
    rows = table.rows[:_MAX_EXAMINED_ROWS]
    units = [{row[place].partition(" ")[2] for row in rows if row[place]} for place in range(len(table.columns))]
    return frozenset(
        place
        for place in range(len(table.columns))
        if place != table.wide_column
        and table.columns[place] != "#"
        and len(units[place]) == 1
        and all(_NUMBER.fullmatch(row[place]) for row in rows)
    )


def _measure_column(cells: Sequence[str]) -> int:
    """Return the columns of the widest cell. Text of printable ASCII is as wide as it is long."""
    together = "".join(cells)
    if together.isascii() and together.isprintable():
        return max(map(len, cells))
    return max(count_cells(clean_line(cell)) for cell in cells)


def _measure_rest(sizes: Sequence[int], wide: int, width: int) -> int:
    """Return how many cells the other columns leave for the wide one."""
    return width - sum(sizes) + sum(sizes[wide : wide + 1]) - len(_GAP) * (len(sizes) - 1)


def _render_forms(columns: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> tuple[str, list[str]]:
    """Return the heading and the rows; what a long form means is below it, in the column of the other meanings."""
    has_columns = width >= _FORM_COLUMNS_FROM
    indent = min(max(count_cells(form) for form, _ in rows), width // 3) + len(_GAP) if has_columns else _FORM_INDENT
    lines: list[str] = []
    for form, meaning in rows:
        meanings = [" " * indent + line for line in wrap_cells(meaning, max(width - indent, 1))]
        if count_cells(form) + len(_GAP) <= indent:
            lines += [f"{form}{meanings[0][count_cells(form) :]}", *meanings[1:]]
        else:
            lines += [*wrap_text(form, width, hanging_indent=2 * _FORM_INDENT).split("\n"), *meanings]
    return f"{columns[0]:<{indent}}{columns[1]}" if has_columns and columns[0] else "", lines


def _render_row(cells: Sequence[str], widths: Sequence[int], table: Table, numbers: frozenset[int]) -> list[str]:
    """Return the lines of one row: one for each line of the wide cell. numbers: the columns aligned at their ends."""
    size = widths[table.wide_column]
    wide = cells[table.wide_column]
    parts = [truncate_to_cells(wide, size)] if table.is_truncated else wrap_cells(wide, size)
    lines: list[str] = []
    for number, part in enumerate(parts):
        row_cells = [part if index == table.wide_column else "" if number else cell for index, cell in enumerate(cells)]
        blanks = [" " * (size - count_cells(cell)) for cell, size in zip(row_cells, widths, strict=True)]
        padded = [
            blank + cell if place in numbers else cell + blank
            for place, (cell, blank) in enumerate(zip(row_cells, blanks, strict=True))
        ]
        lines.append(_GAP.join(padded).rstrip())
    return lines


def _stack_row(columns: Sequence[str], row: Sequence[str], width: int) -> list[str]:
    """Return a row as a paragraph with indented continuation lines.

    Numbers get their heading as a noun, and so do several prices.
    """
    prices = [cell for cell in row if cell.startswith("$")]
    cells = [
        f"{cell} {column.removeprefix('$ ')}" if cell in prices and len(prices) > 1 else _add_unit(column, cell)
        for column, cell in zip(columns, row, strict=True)
        if cell.strip()
    ]
    first, *rest = wrap_cells(" · ".join(cells), width - 2)
    return [first, *(f"  {line}" for line in rest)]


def _add_unit(column: str, cell: str) -> str:
    """Return a number with the heading, such as "messages", as its noun."""
    if not (column.isalpha() and column.endswith("s") and cell.replace(",", "").isdecimal()):
        return cell
    return f"{cell} {column[:-1] if cell == '1' else column}"


_MIN_LISTED, _WHOLE_PART_CELLS = 2, 24


def wrap_cells(text: str, width: int) -> list[str]:
    """Wrap the text at `width` cells; longer words are broken. No line begins with a "·".

    In a list of three or more parts, those of up to two thirds of a line, or 24 columns, stay whole.
    """
    parts = text.split(" · ")
    if len(parts) > _MIN_LISTED:
        least = min(width, _WHOLE_PART_CELLS)
        text = " · ".join(
            part.replace(" ", _NO_BREAK_SPACE) if count_cells(part) <= max(2 * width // 3, least) else part
            for part in parts
        )
    return [
        line.replace(_NO_BREAK_SPACE, " ") for line in _wrap_words(text.replace(" · ", f"{_NO_BREAK_SPACE}· "), width)
    ]


def _wrap_words(text: str, width: int) -> list[str]:
    if count_cells(text) == len(text):
        return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    lines: list[str] = []
    line = ""
    for word in filter(None, _BLANKS.split(text)):
        while count_cells(joined := f"{line} {word}".lstrip()) > width:
            if line:
                lines.append(line)
                line = ""
                continue
            head = _take_fitting(word, width)
            lines.append(head)
            word = word[len(head) :]  # the rest of the word goes on the next line
        line = joined
    return [*lines, line] if line or not lines else lines


def _take_fitting(word: str, width: int) -> str:
    """Return as many characters of a word as fit, at least one."""
    end = 1
    while end < len(word) and count_cells(word[: end + 1]) <= width:
        end += 1
    return word[:end]


STATUS_WORDS: dict[TodoStatus, str] = {
    "pending": "",
    "in_progress": mark("in progress"),
    "completed": "done",
    "blocked": "blocked",
}
_MAX_OPEN = 15  # open items displayed in a folded list; items in progress or blocked are always displayed
_MAX_DONE = 3  # done items displayed in a folded list: the last ones


def count_done(todos: tuple[Todo, ...]) -> str:
    """Return how many are done: "2 of 5 done"."""
    return tr("{done} of {count} done", done=sum(todo.status == "completed" for todo in todos), count=len(todos))


def render_plain_todos(todos: tuple[Todo, ...], *, fold: bool = True) -> Iterator[str]:
    """Yield the task list for a pipe or a screen reader: the status as a word instead of a mark, no wrapping."""
    for part in fold_todos(todos) if fold else todos:
        if isinstance(part, str):
            yield part
            continue
        word = tr(STATUS_WORDS[part.status])
        note = f" ({clean_line(part.note)})" if part.note else ""
        yield f"{part.id}. {f'{word}: ' if word else ''}{clean_line(part.title)}{note}"


def fold_todos(todos: tuple[Todo, ...]) -> Iterable[Todo | str]:
    """Return the items to display, with a sentence in place of each run of hidden ones."""
    done_ids = [todo.id for todo in todos if todo.status == "completed"]
    open_ids = [todo.id for todo in todos if todo.status != "completed"]
    hidden = set(done_ids[: max(len(done_ids) - _MAX_DONE, 0)]) if len(done_ids) > _MAX_DONE + 1 else set[int]()
    active = {todo.id for todo in todos if todo.status in ("in_progress", "blocked")}
    if len(open_ids) > _MAX_OPEN + 1:
        hidden |= set(open_ids[_MAX_OPEN:]) - active
    run: list[Todo] = []
    for todo in todos:
        if todo.id in hidden:
            run.append(todo)
            continue
        yield from _describe_hidden(run)
        run = []
        yield todo
    yield from _describe_hidden(run)


def _describe_hidden(run: list[Todo]) -> Iterator[str]:
    if run:
        done = sum(todo.status == "completed" for todo in run)
        parts = [tr("{done} done", done=done)] * bool(done) + [tr("{count} open", count=len(run) - done)] * bool(
            len(run) - done
        )
        yield tr("… {parts} hidden · /todo all to show", parts=tr(" and ").join(parts))


STATUS_MARKS: dict[TodoStatus, str] = {"pending": "☐", "in_progress": "▸", "completed": "☑", "blocked": "!"}
_ACTIVE_CELLS = 16  # leaves room for the other parts of a running turn's status line in 90 columns
_MIN_TODO_CELLS = 8
_NARROWEST_LIST = 20


def describe_active_todo(todos: tuple[Todo, ...]) -> str:
    """Return the task in progress and its position for the status line: `2/5 write tests`; "" if there is none."""
    active = next((todo for todo in todos if todo.status == "in_progress"), None)
    if active is None:
        return ""
    done = sum(todo.status == "completed" for todo in todos)
    return truncate_to_cells(f"{done + 1}/{len(todos)} {clean_line(active.title)}", _ACTIVE_CELLS)


_PINNED_ROWS = 5


def render_pinned_todos(todos: tuple[Todo, ...], width: int, theme: Theme) -> "Iterator[Text]":
    """Yield the task list in at most five rows, around the task in progress or the last one."""
    active = next((place for place, todo in enumerate(todos) if todo.status != "completed"), len(todos))
    hides = len(todos) > _PINNED_ROWS
    shown = _PINNED_ROWS - 1 if hides else len(todos)  # the last row then counts the hidden ones
    first = min(max(active - 1, 0), len(todos) - shown)
    for todo in todos[first : first + shown]:
        mark_style, style = _choose_todo_styles(todo.status, theme)
        title = truncate_to_cells(clean_line(todo.title), max(width - 4, _MIN_TODO_CELLS))
        yield assemble_text("  ", (STATUS_MARKS[todo.status], mark_style), " ", (title, style))
    if hides:
        yield assemble_text(tr("    {done} · /todo", done=count_done(todos)), style=theme.faint)


def render_todos(todos: tuple[Todo, ...], width: int, theme: Theme, *, fold: bool = True) -> "Iterator[Text]":
    """Yield the task list, no row wider than `width` (at least 20): mark, number, title, and the note below it.

    fold: show only the last done items and the first open ones, and count the others in a row.
    """
    width = max(width, _NARROWEST_LIST)
    numbers = max((len(str(todo.id)) for todo in todos), default=1)
    for part in fold_todos(todos) if fold else todos:
        if isinstance(part, str):
            yield assemble_text(f"  {truncate_to_cells(part, width - 2)}", style=theme.faint)
        else:
            yield from _render_todo_rows(part, numbers, width, theme)


def _choose_todo_styles(status: TodoStatus, theme: Theme) -> tuple[str, str]:
    """Return the styles of an item's mark and title."""
    mark_style = {"completed": theme.good, "in_progress": theme.accent, "blocked": theme.warning}.get(status, "")
    return mark_style, {"completed": theme.faint, "in_progress": theme.strong}.get(status, "")


def _render_todo_rows(todo: Todo, numbers: int, width: int, theme: Theme) -> "Iterator[Text]":
    mark, number = STATUS_MARKS[todo.status], str(todo.id).rjust(numbers)
    mark_style, style = _choose_todo_styles(todo.status, theme)
    head = 2 + 1 + 1 + numbers + 2  # margin, mark, blank, number, blanks
    room = max(width - head, _MIN_TODO_CELLS)
    for line_number, line in enumerate(wrap_cells(clean_line(todo.title), room)):
        if line_number == 0:
            yield assemble_text("  ", (mark, mark_style), (f" {number}  ", theme.faint), (line, style))
        else:
            yield assemble_text(" " * head, (line, style))
    for note in clean(todo.note).splitlines():
        yield from (assemble_text(" " * head, (line, theme.faint)) for line in wrap_cells(note.strip(), room))
