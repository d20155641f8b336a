"""Further keys of the prompt line: searching earlier lines, the person's own editor, pictures from the clipboard."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from prompt_toolkit.application import Application, get_app, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, emacs_insert_mode, has_focus, vi_insert_mode, vi_navigation_mode
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode

from clio.context.message_parts import Shelf
from clio.errors import UserError
from clio.storage.locks import cause
from clio.ui.editor import edit_text
from clio.ui.lent import lent
from clio.ui.line.chips import Chips
from clio.ui.line.clipboard import clipboard_image
from clio.ui.line.dropped import dropped_pictures
from clio.ui.line.history_search import HistorySearch
from clio.ui.line.pastes import Pastes

SEARCH_HINT = "earlier lines · Enter takes · Esc leaves"  # as wide as a narrow screen
_VI_MODES = {
    InputMode.INSERT: "vi insert",
    InputMode.INSERT_MULTIPLE: "vi insert",
    InputMode.NAVIGATION: "vi normal",
    InputMode.REPLACE: "vi replace",
    InputMode.REPLACE_SINGLE: "vi replace",
}


class LineExtras:
    """What one prompt line has besides typing and sending.

    project: for mentions and dropped files; None for a line without them. shelf: where pasted pictures go.
    hint: shows a few words below the line until the next key. look_up: called at every key of a command; finds out
    what it may be completed with, and says whether there is more to offer.
    """

    def __init__(
        self,
        *,
        completer: Completer,
        history: History,
        pastes: Pastes,
        hint: Callable[[str], None],
        project: Path | None = None,
        shelf: Shelf | None = None,
        look_up: Callable[[str], Awaitable[bool]] | None = None,
    ) -> None:
        self._look_up = look_up
        self._usual = completer
        self._search = HistorySearch(history)
        self._pastes = pastes
        self._hint = hint
        self._project = project
        self._shelf = shelf
        self._chips = Chips(project) if project is not None else None
        self._before: Document | None = None  # what stood on the line when the search began
        self.chips: list[str] = []

    @property
    def is_searching(self) -> bool:
        """Whether what is typed searches earlier lines."""
        return self._before is not None

    def completer(self) -> Completer:
        """What completes the line now."""
        return self._search if self.is_searching else self._usual

    def text_changed(self, text: str, buffer: Buffer | None = None) -> None:
        """Look at what the line names now. buffer: the one it is typed in, where that is open."""
        self.chips = self._chips.of(text) if self._chips is not None else []
        if buffer is not None and self._look_up is not None and text.startswith("/"):
            get_app().create_background_task(self._offer_more(text, buffer, self._look_up))

    async def _offer_more(self, text: str, buffer: Buffer, look_up: Callable[[str], Awaitable[bool]]) -> None:
        """Open the menu anew where more to offer has been found for what is still being typed."""
        if await look_up(text) and buffer.text.startswith(text):
            buffer.start_completion(select_first=False)

    def pasted(self, data: str) -> str:
        """What to put on the line for pasted text: the text, its stand-in, or the pictures whose paths it is."""
        dropped = dropped_pictures(data, self._project) if self._project is not None else ""
        return dropped or self._pastes.take(data)

    def mode(self, app: Application[str]) -> str:
        """Which mode of vi the line is in, for the words below it."""
        return _VI_MODES.get(app.vi_state.input_mode, "vi")

    def bindings(self) -> KeyBindings:
        """The keys."""
        bindings = KeyBindings()
        typing = has_focus(DEFAULT_BUFFER)
        searching = typing & Condition(lambda: self.is_searching)
        inserting = typing & (emacs_insert_mode | vi_insert_mode)

        @bindings.add("c-r", filter=typing & ~searching)
        def _(event: KeyPressEvent) -> None:
            self._begin_search(event.current_buffer)

        @bindings.add("c-r", filter=searching)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.complete_next()

        @bindings.add("enter", filter=searching)
        def _(event: KeyPressEvent) -> None:
            self._take(event.current_buffer)

        @bindings.add("escape", filter=searching, eager=True)
        @bindings.add("c-g", filter=searching)
        @bindings.add("c-c", filter=searching)
        def _(event: KeyPressEvent) -> None:
            self._leave(event.current_buffer)

        @bindings.add("c-x", "c-e", filter=typing & ~searching)
        @bindings.add("v", filter=typing & vi_navigation_mode)
        def _(event: KeyPressEvent) -> None:
            event.app.create_background_task(self._edit(event.current_buffer))

        @bindings.add("c-v", filter=inserting & ~searching)
        def _(event: KeyPressEvent) -> None:
            event.app.create_background_task(self._paste_picture(event.current_buffer))

        return bindings

    def _begin_search(self, buffer: Buffer) -> None:
        self._search.begin()
        self._before = buffer.document
        self._hint(SEARCH_HINT)
        buffer.start_completion(select_first=False)

    def _take(self, buffer: Buffer) -> None:
        """Put the chosen line, else the best one, on the line; a further Enter sends it."""
        state = buffer.complete_state
        chosen = state.current_completion if state else None
        found = None if chosen else next(iter(self._search.matches(buffer.text)), None)
        before, self._before = self._before, None
        buffer.complete_state = None
        text = chosen.text if chosen else found.text if found else before.text if before else ""
        buffer.document = Document(text)
        self._hint("")

    def _leave(self, buffer: Buffer) -> None:
        before, self._before = self._before, None
        buffer.complete_state = None
        buffer.document = before or Document()
        self._hint("")

    async def _edit(self, buffer: Buffer) -> None:
        """Hand the line to the person's editor, pastes whole."""
        text = self._pastes.expand(buffer.text)
        try:
            async with lent():
                edited = await run_in_terminal(lambda: edit_text(text), in_executor=True)
        except (UserError, OSError) as error:
            self._hint(cause(error))
            return
        if edited is not None:
            buffer.document = Document(self._pastes.collapse(edited.rstrip("\n")))

    async def _paste_picture(self, buffer: Buffer) -> None:
        if self._shelf is None:
            return
        try:
            data = await clipboard_image()
        except UserError as error:
            self._hint(str(error))
            return
        gap = "" if not buffer.document.text_before_cursor[-1:].strip() else " "
        buffer.insert_text(f"{gap}@clipboard:{self._shelf.add_image(data)} ")
