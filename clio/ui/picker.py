"""A list to choose from."""

from collections.abc import Callable, Sequence
from typing import cast

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import AnyContainer, FormattedTextControl, HSplit, Layout, Window

from clio.commands.command import Table
from clio.text.translation import mark, tr
from clio.ui.painter import count_cells, truncate_to_cells
from clio.ui.question_terminal import QuestionTerminal
from clio.ui.safe_text import clean_line
from clio.ui.tables import TableRows, wrap_cells

_OTHER_ROWS = 5  # rows for the title, the heading, the filter text, the hint, and one spare
_MAX_LIST_ROWS = 15
_MAX_FULL_ROWS = 2  # of the text of a row that does not fit
_MAX_PREVIEW_ROWS, _PREVIEW_FROM_ROWS = 4, 20
_PICKER_HINTS = (
    mark("↑↓ to move · type to filter · enter to choose · esc to cancel"),
    mark("enter to choose · esc to cancel"),
    "",
)


class Picker:
    """A list to choose from, on one screen. Only rows on the screen are laid out, so moving costs the same in any list.

    Args:
        table: the list, with one row for each of `values`.
        start: the row selected at first.
        preview: returns a text about a value, shown below the list while its row is selected; or fragments.
    """

    def __init__(
        self,
        title: str,
        table: Table,
        values: Sequence[str],
        start: int,
        terminal: QuestionTerminal,
        preview: Callable[[str], object] | None = None,
    ) -> None:
        self._title = title
        self._table = table
        self._values = values
        self._terminal = terminal
        self._preview = preview
        self._filter = ""
        self._selected = min(max(start, 0), max(len(values) - 1, 0))
        self._top = 0
        self._fitted_width = terminal.get_size()[0]
        self._lines = TableRows(table, self._fitted_width - 3)
        rows = zip(values, table.rows, strict=True)
        self._searched_texts = [f"{value} {' '.join(row)}".lower() for value, row in rows]
        self._matching = list(range(len(values)))

    def render(self) -> StyleAndTextTuples:
        """Return the rows to draw now."""
        columns, rows = self._terminal.get_size()
        matching = self._matching
        if columns != self._fitted_width:
            self._fitted_width = columns
            self._lines = TableRows(self._table, columns - 3)
        lines = self._lines
        preview_rows = _MAX_PREVIEW_ROWS if self._preview is not None and rows >= _PREVIEW_FROM_ROWS else 0
        title = wrap_cells(clean_line(self._title), columns - 1)
        height = max(min(rows - _OTHER_ROWS - preview_rows - len(title) + 1 - _MAX_FULL_ROWS, _MAX_LIST_ROWS), 3)
        self._top = min(max(self._top, self._selected - height + 1), self._selected)
        parts: StyleAndTextTuples = [
            ("class:choice", "\n".join(title)),
            ("", "\n"),
        ]
        parts += [("class:hint", f"  {lines.heading}\n")] if lines.heading else []
        for place, number in enumerate(matching[self._top : self._top + height], start=self._top):
            is_selected = place == self._selected
            parts.append(("class:choice" if is_selected else "", f"{'›' if is_selected else ' '} {lines[number]}\n"))
        if not matching:
            parts.append(("", tr("  no matches\n")))
        if len(matching) > height:
            last = min(self._top + height, len(matching))
            parts.append(
                ("class:hint", tr("  {top}-{last} of {count:,}\n", top=self._top + 1, last=last, count=len(matching)))
            )
        if matching and lines[matching[self._selected]].endswith("…"):  # the selected row in full
            row = self._table.rows[matching[self._selected]]
            rest = wrap_cells(clean_line(row[self._table.wide_column]), columns - 5)[:_MAX_FULL_ROWS]
            parts += [("class:hint", f"  │ {line}\n") for line in rest]
        for line in self._render_preview(columns)[: preview_rows if matching else 0]:
            parts += [("class:hint", "  │ "), *line, ("", "\n")]
        if self._filter:
            parts.append(("", truncate_to_cells(tr("  filter: {filter}", filter=self._filter), columns - 1) + "\n"))
        parts.append(
            ("class:hint", "  " + next(hint for hint in map(tr, _PICKER_HINTS) if count_cells(hint) + 3 < columns))
        )
        return parts

    def move_selection(self, rows: int) -> None:
        """Move the selection down by so many rows, up if negative; stops at the ends."""
        self._selected = min(max(self._selected + rows, 0), max(len(self._matching) - 1, 0))

    def extend_filter(self, text: str) -> None:
        """Add text to the filter: only rows that contain it are displayed."""
        self._set_filter(self._filter + "".join(char for char in text if char.isprintable()))

    def shorten_filter(self) -> None:
        """Delete the last character of the filter."""
        self._set_filter(self._filter[:-1])

    def get_selected(self) -> str | None:
        """The value of the selected row; None if no row matches."""
        return self._values[self._matching[self._selected]] if self._matching else None

    async def ask(self) -> str | None:
        """Display the list until a row is chosen; None for Esc, Ctrl-C and the end of the input."""
        terminal = self._terminal
        rows: list[AnyContainer] = [Window(FormattedTextControl(self.render, show_cursor=False), wrap_lines=False)]
        if terminal.printed is not None and terminal.get_size()[1] >= _PREVIEW_FROM_ROWS:
            rows.insert(0, Window(height=1))  # below the command that asks
        return await terminal.run(terminal.make_application(Layout(HSplit(rows)), self._make_key_bindings()))

    def _set_filter(self, text: str) -> None:
        before, filter_before = self.get_selected(), self._filter
        self._filter = text
        words = text.lower().split()
        # A longer filter can only match what the shorter one did.
        numbers = self._matching if text.startswith(filter_before) else range(len(self._values))
        for word in words:
            numbers = [number for number in numbers if word in self._searched_texts[number]]
        self._matching = list(numbers)
        position = next((place for place, number in enumerate(self._matching) if self._values[number] == before), 0)
        self._selected, self._top = position, 0

    def _render_preview(self, columns: int) -> list[StyleAndTextTuples]:
        """Return the preview of the selected row as lines that fit below the list."""
        value = self.get_selected()
        if self._preview is None or value is None:
            return []
        shown = self._preview(value)
        if not isinstance(shown, str):
            return [cast(StyleAndTextTuples, shown)]
        number = self._matching[self._selected]
        # of the list, or shown whole below it
        told = f"{self._lines[number]}\n{clean_line(self._table.rows[number][self._table.wide_column])}"
        lines = [clean_line(line) for line in shown.splitlines() if line.strip() and clean_line(line) not in told]
        return [[("class:hint", row)] for line in lines for row in wrap_cells(line, columns - 5)]

    def _make_key_bindings(self) -> KeyBindings:
        keys = KeyBindings()

        def bind(act: Callable[[KeyPressEvent], None], *names: str) -> None:
            for name in names:
                keys.add(name)(act)

        page = _MAX_LIST_ROWS - 1
        bind(lambda event: self.move_selection(-1), "up", "c-p")
        bind(lambda event: self.move_selection(1), "down", "c-n")
        bind(lambda event: self.move_selection(-page), "pageup")
        bind(lambda event: self.move_selection(page), "pagedown")
        bind(lambda event: self.move_selection(-len(self._values)), "home")
        bind(lambda event: self.move_selection(len(self._values)), "end")
        bind(lambda event: self.shorten_filter(), "backspace")

        def type_letter(event: KeyPressEvent) -> None:
            if len(event.key_sequence[0].key) == 1:  # the bytes of other keys, such as ←, are no text
                self.extend_filter(event.data)

        bind(type_letter, "<any>")
        bind(lambda event: self.extend_filter(event.data), Keys.BracketedPaste)

        def cancel(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        def choose(event: KeyPressEvent) -> None:
            if (value := self.get_selected()) is not None:
                event.app.exit(result=value)

        bind(cancel, "c-c", "c-d")
        keys.add("escape", eager=True)(cancel)
        bind(choose, "enter")
        return keys
