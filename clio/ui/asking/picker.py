"""A list to choose from: moved over with the arrow keys, narrowed by typing, taken with Enter."""

from collections.abc import Callable, Sequence

from msgspec import structs
from prompt_toolkit.application import Application, get_app_session
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import FormattedTextControl, Layout, Window
from prompt_toolkit.output import Output

from clio.commands.command import Table
from clio.ui.markup.table import table_lines
from clio.ui.plain import clean_line
from clio.ui.theme import Theme
from clio.ui.themes.toolkit import toolkit_depth, toolkit_style
from clio.ui.width import cells_of, crop

_ESCAPE_S = 0.025
_BESIDE = 5  # rows for title, heading, what was typed, the hint, and one to spare
_MOST_ROWS = 15
_HINTS = ("↑↓ to move · type to filter · enter to choose · esc to cancel", "enter to choose · esc to cancel", "")


class Picker:
    """One list on one screen.

    table: the list, a row for each of `values`. start: the row to begin on.
    """

    def __init__(
        self, title: str, table: Table, values: Sequence[str], start: int, size: Callable[[], tuple[int, int]]
    ) -> None:
        self._title = title
        self._table = table
        self._values = values
        self._size = size
        self._typed = ""
        self._place = min(max(start, 0), max(len(values) - 1, 0))
        self._top = 0

    def view(self) -> StyleAndTextTuples:
        """The rows to draw now."""
        columns, rows = self._size()
        shown = self._matching()
        heading, lines = fit_table(self._table, columns - 3)
        height = max(min(rows - _BESIDE, _MOST_ROWS), 3)
        self._top = min(max(self._top, self._place - height + 1), self._place)
        parts: StyleAndTextTuples = [("class:choice", crop(clean_line(self._title), columns - 1)), ("", "\n")]
        parts += [("class:hint", f"  {heading}\n")] if heading else []
        for place, number in list(enumerate(shown))[self._top : self._top + height]:
            here = place == self._place
            parts.append(("class:choice" if here else "", f"{'›' if here else ' '} {lines[number]}\n"))
        if not shown:
            parts.append(("", "  nothing matches\n"))
        if len(shown) > height:
            last = min(self._top + height, len(shown))
            parts.append(("class:hint", f"  {self._top + 1}-{last} of {len(shown):,}\n"))
        if self._typed:
            parts.append(("", crop(f"  filter: {self._typed}", columns - 1) + "\n"))
        parts.append(("class:hint", "  " + next(hint for hint in _HINTS if cells_of(hint) + 3 < columns)))
        return parts

    def move(self, rows: int) -> None:
        """Go down by so many rows, up where negative; not beyond the ends."""
        self._place = min(max(self._place + rows, 0), max(len(self._matching()) - 1, 0))

    def type(self, text: str) -> None:
        """Show only the rows that hold what was typed so far and this."""
        self._narrow(self._typed + "".join(char for char in text if char.isprintable()))

    def erase(self) -> None:
        """Take the last typed character back."""
        self._narrow(self._typed[:-1])

    def chosen(self) -> str | None:
        """The value of the row that is marked; None where no row matches."""
        shown = self._matching()
        return self._values[shown[self._place]] if shown else None

    async def run(self, theme: Theme, keyboard: Input | None, display: Output | None) -> str | None:
        """Draw the list until one is chosen; None for Esc, Ctrl-C and the end of the input."""
        app: Application[str | None] = Application(
            layout=Layout(Window(FormattedTextControl(self.view, show_cursor=False), wrap_lines=False)),
            key_bindings=self._keys(),
            erase_when_done=True,
            style=toolkit_style(theme),
            color_depth=toolkit_depth(theme),
            input=keyboard,
            output=display,
        )
        app.ttimeoutlen = _ESCAPE_S
        try:
            return await app.run_async(handle_sigint=False)
        except EOFError:
            return None

    def _narrow(self, typed: str) -> None:
        before = self.chosen()
        self._typed = typed
        shown = self._matching()
        at = next((place for place, number in enumerate(shown) if self._values[number] == before), 0)
        self._place, self._top = at, 0

    def _matching(self) -> list[int]:
        words = self._typed.lower().split()
        texts = (f"{value} {' '.join(row)}".lower() for value, row in zip(self._values, self._table.rows, strict=True))
        return [number for number, text in enumerate(texts) if all(word in text for word in words)]

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        def bind(act: Callable[[KeyPressEvent], None], *names: str) -> None:
            for name in names:
                keys.add(name)(act)

        page = _MOST_ROWS - 1
        bind(lambda event: self.move(-1), "up", "c-p")
        bind(lambda event: self.move(1), "down", "c-n")
        bind(lambda event: self.move(-page), "pageup")
        bind(lambda event: self.move(page), "pagedown")
        bind(lambda event: self.move(-len(self._values)), "home")
        bind(lambda event: self.move(len(self._values)), "end")
        bind(lambda event: self.erase(), "backspace")
        bind(lambda event: self.type(event.data), "<any>")
        bind(lambda event: self.type(event.data), Keys.BracketedPaste)

        def leave(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        def choose(event: KeyPressEvent) -> None:
            if (value := self.chosen()) is not None:
                event.app.exit(result=value)

        bind(leave, "c-c", "c-d")
        keys.add("escape", eager=True)(leave)
        bind(choose, "enter")
        return keys


def fit_table(table: Table, width: int) -> tuple[str, list[str]]:
    """Heading and rows of a table, one line for each row; the last columns are left out where there is no room."""
    table = structs.replace(table, cut=True)
    while True:
        heading, lines = table_lines(table, width)
        if heading and len(lines) == len(table.rows):
            return heading, lines
        if len(table.columns) == table.wide + 1:
            return "", [crop(clean_line(" ".join(row)), width) for row in table.rows]
        table = structs.replace(table, columns=table.columns[:-1], rows=tuple(row[:-1] for row in table.rows))


def terminal_columns_and_rows(display: Output | None) -> tuple[int, int]:
    """The size of the display; the real one where none is given."""
    now = (display or get_app_session().output).get_size()
    return now.columns, now.rows
