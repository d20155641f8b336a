"""A page of text in a few rows of a prompt_toolkit application, moved with the keys of `less`."""

from collections.abc import Callable

from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import AnyContainer, ConditionalContainer, FormattedTextControl, Window

from clio.ui.pager import Page
from clio.ui.width import cells_of, crop

_MIN_HEIGHT = 3
_HINTS = ("j k space b g G scroll", "j k scroll")


class PageRegion:
    """The rows of the page and one below that says where it is.

    size: the terminal's columns and rows. beside: rows that other things take.
    """

    def __init__(self, page: Page, size: Callable[[], tuple[int, int]], beside: Callable[[], int]) -> None:
        self._page = page
        self._size = size
        self._beside = beside
        text = FormattedTextControl(lambda: ANSI("\n".join(page.view(self.height))))
        self.windows: list[AnyContainer] = [
            Window(text, dont_extend_height=True, wrap_lines=False),
            ConditionalContainer(
                Window(FormattedTextControl(self._where), height=1, dont_extend_height=True),
                Condition(lambda: not page.fits(self.height)),
            ),
        ]

    @property
    def height(self) -> int:
        """Rows of the page now."""
        return max(self._size()[1] - self._beside() - 2, _MIN_HEIGHT)

    def bind(self, keys: KeyBindings) -> None:
        """Give the page its keys; none of them is a letter that means an answer."""

        def down(event: KeyPressEvent) -> None:
            self._page.scroll(1, self.height)

        def up(event: KeyPressEvent) -> None:
            self._page.scroll(-1, self.height)

        def page_down(event: KeyPressEvent) -> None:
            self._page.scroll(max(self.height - 1, 1), self.height)

        def page_up(event: KeyPressEvent) -> None:
            self._page.scroll(-max(self.height - 1, 1), self.height)

        def home(event: KeyPressEvent) -> None:
            self._page.home()

        def end(event: KeyPressEvent) -> None:
            self._page.end(self.height)

        for names, act in (
            (("j", "down"), down),
            (("k", "up"), up),
            ((" ", "pagedown"), page_down),
            (("b", "pageup"), page_up),
            (("g", "home"), home),
            (("G", "end"), end),
        ):
            for name in names:
                keys.add(name)(act)

    def _where(self) -> StyleAndTextTuples:
        known, columns = self._page.where(self.height), self._size()[0]
        hints = (f"{known} · {hint}" for hint in _HINTS)
        shown = next((text for text in hints if cells_of(text) + 3 < columns), known)
        return [("class:hint", "  " + crop(shown, columns - 3))]
