"""The terminal on which a question is drawn and answered, below the scrollback."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from prompt_toolkit.application import Application, get_app_session
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.bindings.cpr import load_cpr_bindings
from prompt_toolkit.layout import Layout
from prompt_toolkit.output import Output

from clio.ui.keyboard import run_question
from clio.ui.printed_rows import PrintedRows, RowCover
from clio.ui.theme import Theme
from clio.ui.toolkit_style import get_toolkit_depth, make_toolkit_style


class _QuestionApplication(Application[str | None]):
    """An application with its own keys only.

    prompt_toolkit's hundreds of keys for editing text, which no question needs, take 30 ms to merge at the first key.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._default_bindings = load_cpr_bindings()  # answers of the terminal about the cursor's position


ESCAPE_WAIT_S = 0.025  # the bytes of an arrow key arrive together, so an Esc without more is the Esc key
KEY_WAIT_S = 0.1  # Alt and a key arrive as Esc and the key


class QuestionTerminal(Struct, frozen=True):
    """Where a question is drawn and answered.

    Attributes:
        keyboard, display: None for those of the process.
        printed: rows that a question may hide until it is answered.
    """

    theme: Theme
    keyboard: Input | None = None
    display: Output | None = None
    printed: PrintedRows | None = None

    def get_size(self) -> tuple[int, int]:
        """Return the columns and rows of the display."""
        now = (self.display or get_app_session().output).get_size()
        return now.columns, now.rows

    def make_application(self, layout: Layout, keys: KeyBindings, *, edits_text: bool = False) -> Application[Any]:
        """Return an application for one question, erased when it is answered. edits_text: it has a line to type in."""
        app = (Application[Any] if edits_text else _QuestionApplication)(
            layout=layout,
            key_bindings=keys,
            erase_when_done=True,
            style=make_toolkit_style(self.theme),
            color_depth=get_toolkit_depth(self.theme),
            input=self.keyboard,
            output=self.display,
        )
        app.ttimeoutlen = ESCAPE_WAIT_S
        if edits_text:
            app.timeoutlen = KEY_WAIT_S
        return app

    async def run(
        self, app: Application[Any], *, guarded: bool = False, print_question: Callable[[], None] | None = None
    ) -> Any:
        """Return the answer of the application; None at the end of the input. For the arguments see `run_question`."""
        self.cover_printed_rows(app)
        try:
            return await run_question(
                app, lambda: app.run_async(handle_sigint=False), guarded=guarded, print_question=print_question
            )
        except EOFError:
            return None

    def cover_printed_rows(self, app: Application[Any]) -> None:
        """Let an application hide printed rows while it needs more than are left below them."""
        if self.printed is not None:
            cover = RowCover(app, self.printed)
            app.before_render += cover.fit
            app.after_render += cover.note_drawn
