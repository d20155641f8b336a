"""The rows of the completion menu: one of them is marked, the one that a key would take."""

from collections.abc import Callable

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Point
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout import UIContent
from prompt_toolkit.layout.menus import CompletionsMenuControl
from prompt_toolkit.utils import get_cwidth

from clio.ui.line_rules import fit_parts

_MENU = "class:completion-menu"


class MenuRows(CompletionsMenuControl):
    """Draws a menu as prompt_toolkit does, but truncates with an ellipsis, and marks the first row if Enter takes it.

    takes_first: whether Enter would take the first completion while none is selected.
    """

    def __init__(self, takes_first: Callable[[Buffer], bool]) -> None:
        self._takes_first = takes_first

    def create_content(self, width: int, height: int) -> UIContent:
        """Return the rows for so many columns."""
        buffer = get_app().current_buffer
        state = buffer.complete_state
        if state is None:
            return UIContent()
        offers, selected = state.completions, state.complete_index
        marked = 0 if selected is None and self._takes_first(buffer) else selected
        name_cells = self._get_menu_width(width, state)
        note_cells = self._get_menu_meta_width(width - name_cells, state)

        def render_row(number: int) -> StyleAndTextTuples:
            offer, suffix = offers[number], ".current" * (number == marked)
            row: StyleAndTextTuples = [
                (f"{_MENU}.completion{suffix}", _fit_cell(offer.display_text, name_cells)),
            ]
            if note_cells:
                row.append((f"{_MENU}.meta.completion{suffix}", _fit_cell(offer.display_meta_text, note_cells)))
            return row

        return UIContent(get_line=render_row, line_count=len(offers), cursor_position=Point(0, selected or 0))


def _fit_cell(text: str, cells: int) -> str:
    """Return the text with a blank at each side, exactly so many columns wide."""
    text = fit_parts((text,), max(cells - 2, 1))
    return f" {text}{' ' * (cells - 1 - get_cwidth(text))}"
