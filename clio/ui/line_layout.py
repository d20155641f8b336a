"""Where the input line, its menu and the status line are on the screen."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, DynamicCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Always, Condition
from prompt_toolkit.layout import AnyContainer, ConditionalContainer, DynamicContainer, FloatContainer, HSplit, Window
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.margins import ConditionalMargin, ScrollbarMargin
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import Output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.renderer import CPR_Support

from clio.ui.line_rules import CLEAR_BELOW
from clio.ui.menu_rows import MenuRows
from clio.ui.printed_rows import PrintedRows, RowCover

_MENU_ROWS = 8  # rows for completions; four rows of the screen stay free for the line
_MIN_MENU_ROWS = 4  # for which the terminal may scroll
_ROW_WAIT_S = 0.3  # that the first menu waits for the terminal's reply


class CompletionMenu(DynamicCompleter):
    """The completions of a buffer; called in a thread.

    prompt_toolkit computes one menu at a time and repeats it afterwards only if letters were added meanwhile. A line
    that was cleared and begun again would have no menu until its next key.
    """

    def __init__(self, completer: Callable[[], Completer | None], wants_menu: Callable[[], bool]) -> None:
        super().__init__(completer)
        self._wants_menu = wants_menu
        self._completed_text = ""

    def watch_buffer(self, buffer: Buffer) -> None:
        """Make sure that this buffer's menu matches its current text."""
        buffer.on_completions_changed += self._on_completions_changed

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Delegate to the completer."""
        self._completed_text = document.text_before_cursor
        return super().get_completions(document, complete_event)

    def is_computing(self, buffer: Buffer) -> bool:
        """Whether the completions of the current text are not known yet."""
        return buffer.complete_state is not None or buffer.document.text_before_cursor != self._completed_text

    def find_start(self, buffer: Buffer) -> int | None:
        """Return the position in the text where the completed word begins; None if no menu is open.

        The menu stays there. prompt_toolkit's own menus follow the cursor as the word grows.
        """
        state = buffer.complete_state
        if state is None or not state.completions:
            return None
        return max(state.original_document.cursor_position + state.completions[0].start_position, 0)

    def _on_completions_changed(self, buffer: Buffer) -> None:
        line = buffer.document.text_before_cursor
        if buffer.complete_state is None and line != self._completed_text and self._wants_menu():
            asyncio.get_running_loop().call_soon(buffer.start_completion)


def keep_tmux_history_clean(output: Output) -> None:
    """Clear the row of the cursor by itself, then what is below it.

    tmux scrolls a screen that is cleared from its first cell into the history, where a start left its
    first prompt.
    """

    def erase_down() -> None:
        output.write_raw(CLEAR_BELOW)

    if isinstance(output, Vt100_Output):
        output.erase_down = erase_down


class _Measured(DynamicContainer):
    """A container that is measured once for each drawing."""

    def __init__(self, container: AnyContainer) -> None:
        super().__init__(lambda: container)
        self._measured: tuple[int, int] = (-1, 0)
        self._height = Dimension()

    def preferred_height(self, width: int, max_available_height: int) -> Dimension:
        """See `Container`."""
        measured = (get_app().render_counter, width)
        if measured != self._measured:
            self._measured, self._height = measured, super().preferred_height(width, max_available_height)
        return self._height

    def forget(self) -> None:
        """Measure it again."""
        self._measured = (-1, 0)


class LineLayout:
    """Puts the status line directly below the input line, and the menu below that one or above it, over printed rows.

    prompt_toolkit asks for the cursor's row to spread the input line down to the bottom of the screen. Here it is asked
    for only while it is not known, to find out whether a menu has room below the line. A menu that would open before
    the reply waits for it a moment.

    A line of several rows moves what is printed above it up. Where it is not known what that is, and there is no room
    below, the terminal scrolls for a low menu. Rows that are left when fewer are needed than before are above the
    line, if it is at the bottom of the screen; it does not move then.

    takes_first: see `MenuRows`.

    Attributes:
        menu_count: the entries of the open menu. menu_rows: its height.
    """

    def __init__(self, app: Application[str], printed: PrintedRows, takes_first: Callable[[Buffer], bool]) -> None:
        self._app = app
        self._takes_first = takes_first
        self._printed = printed
        self._cover = RowCover(app, printed)
        self._rows = 1  # of the last drawing, without the rows above the input line
        self.menu_rows = self.menu_count = 0
        self._is_menu_below = False
        self._measured: list[_Measured] = []
        self._clear, self._suspend = app.renderer.clear, app.suspend_to_background
        app.renderer.clear, app.suspend_to_background = self._clear_screen, self._suspend_to_background
        self._asked_version, self._waits_until = -1, 0.0
        self._count_rows_below = app.output.get_rows_below_cursor_position
        self._report_row = app.renderer.report_absolute_cursor_row
        self._wait_for_reports = app.renderer.wait_for_cpr_responses
        app.output.get_rows_below_cursor_position = lambda: 1  # questions are drawn on this output, too
        app.renderer.request_absolute_cursor_position = self._ask_for_row
        app.renderer.report_absolute_cursor_row = self._note_row
        app.renderer.wait_for_cpr_responses = self._wait_for_row
        app.layout.current_window.dont_extend_height = Always()
        self._above = Window(height=self._measure_above)
        container = app.layout.container
        if isinstance(container, HSplit):
            self._rebuild(container)

    def _rebuild(self, container: HSplit) -> None:
        """Keep of prompt_toolkit's containers only those that are used, and add the rows above and below them.

        Each is measured several times for each key.
        """
        line, status = container.children[0], container.children[-1]
        line = line.alternative_content if isinstance(line, ConditionalContainer) else line
        if not isinstance(line, FloatContainer) or not isinstance(line.content, HSplit):
            return
        menus = [one for one in line.floats if isinstance(one.content, CompletionsMenu)]
        for menu in (one.content for one in menus):
            if isinstance(menu, CompletionsMenu) and isinstance(menu.content, Window):
                is_cut = Condition(lambda: self.menu_count > self.menu_rows)
                menu.content.content = MenuRows(self._takes_first)
                menu.content.right_margins = [ConditionalMargin(ScrollbarMargin(), is_cut)]
        is_menu_open = Condition(lambda: self.menu_rows > 0)
        line.floats = menus
        for one in menus:
            one.content = ConditionalContainer(one.content, is_menu_open)
        held, text = line.content.children[:2]
        self._measured = [_Measured(one) for one in (held, text, status)]
        line.content = HSplit([self._above, *self._measured[:2]])
        searches = container.children[-3:-1] if self._app.editing_mode == EditingMode.VI else []
        below = Window(height=self._measure_below)
        container.children[:] = [line, *searches, self._measured[2], below]

    def make_room(self, count: int, low_rows: int, *, is_low: bool) -> int:
        """Make room for the line and a menu of `count` rows, 0 for none; return how many it needs below the line.

        Call it before each drawing.

        Args:
            low_rows: the rows of a line in one row and of what is always with it, for which the terminal may scroll.
            is_low: the line takes one row.
        """
        self.menu_count = count
        if count and not self.menu_rows and self._is_waiting_for_row():
            count = 0
        printed, lines = self._printed, self._app.output.get_size().rows
        count = min(count, _MENU_ROWS, max(lines - 4, 0))
        if not self._app.is_done:
            self._rows = low_rows if is_low else self._measure_rows()
            lacking = low_rows - printed.room
            if lacking > 0 and (count or not is_low):
                # Hidden rows would be missing in the scrollback if the terminal scrolled meanwhile.
                self._app.output.write_raw("\r\n" * lacking)
                self._app.output.cursor_up(lacking)
                printed.hold(low_rows)
        padding = printed.count_padding(self._rows)
        known = len(printed.list_rows()) if count or self.menu_rows or not is_low else 0
        free = printed.room - self._rows - padding
        if count and not self.menu_rows:
            above = known + padding
            self._is_menu_below = free >= _MENU_ROWS or above < max(free, _MIN_MENU_ROWS)
        elif self.menu_rows and not count and self._is_menu_below:
            self._app.renderer.erase()  # the rows below the line are given back
            self._is_menu_below = False
        if self._is_menu_below:
            count = min(count, max(free, _MIN_MENU_ROWS))
        self.menu_rows = count
        first = 0 if self._app.is_done else min(max(self._rows - max(printed.room, low_rows), 0), known)
        last = 0 if self._is_menu_below else min(max(count - padding, 0), known - first)
        self._cover.cover(first, last)
        rows = self._cover.rows + max(printed.count_padding(0), 1)
        self._app.renderer._min_available_height = rows  # pyright: ignore[reportPrivateUsage]
        return count if self._is_menu_below else 0

    def note_drawn(self) -> None:
        """Note the height of the drawing; call it after each one."""
        if (drawn := self._app.renderer.last_rendered_screen) is None or self._is_menu_below:
            return
        self._printed.hold(drawn.height - self._cover.rows)

    def close(self) -> None:
        """Show the hidden rows, before something is printed above the line."""
        self._app.renderer.erase()

    def _ask_for_row(self) -> None:
        """Ask the terminal for the row of the cursor, which is in the first row of the area, unless that is known."""
        if self._printed.is_exact:
            return
        self._asked_version = self._printed.version
        output, renderer = self._app.output, self._app.renderer
        try:
            row = output.get_size().rows - self._count_rows_below()
        except NotImplementedError:  # everywhere but in a Windows console
            answers = renderer.cpr_support
            if answers == CPR_Support.SUPPORTED or (answers == CPR_Support.UNKNOWN and not self._replies):
                loop = asyncio.get_running_loop()
                self._replies.append(loop.create_future())
                output.ask_for_cpr()
                self._waits_until = loop.time() + _ROW_WAIT_S
                loop.call_later(_ROW_WAIT_S, self._app.invalidate)
        else:
            self._printed.note_row(row, self._asked_version)

    def _note_row(self, row: int) -> None:
        self._report_row(row)
        if not self._replies:  # the last reply answers the last question
            self._printed.note_row(row - 1, self._asked_version)
            self._app.invalidate()

    async def _wait_for_row(self, timeout: int = 1) -> None:  # noqa: ASYNC109 as the method it replaces
        """Wait for a reply before the line ends: the next program that reads the keyboard would take it for keys."""
        renderer = self._app.renderer
        if self._replies:
            is_late = asyncio.get_running_loop().time() > self._waits_until + timeout
            await self._wait_for_reports(0 if is_late else timeout)
            if renderer.cpr_support == CPR_Support.UNKNOWN:
                renderer.cpr_support = CPR_Support.NOT_SUPPORTED  # not a second for each line

    @property
    def _replies(self) -> deque[asyncio.Future[None]]:
        """The replies that prompt_toolkit waits for before it gives the keyboard away."""
        return self._app.renderer._waiting_for_cpr_futures  # pyright: ignore[reportPrivateUsage]

    def _is_waiting_for_row(self) -> bool:
        return bool(self._replies) and asyncio.get_running_loop().time() < self._waits_until

    def _clear_screen(self) -> None:
        self._clear()
        self._printed.clear()

    def _suspend_to_background(self, suspend_group: bool = True) -> None:
        self.close()
        self._printed.forget()  # the shell prints, and so may whatever it starts
        self._suspend(suspend_group)

    def _measure_rows(self) -> int:
        """Return the rows that the line and the status line are going to need."""
        rows = self._cover.measure_height() - self._cover.last_rows
        for container in self._measured:
            container.forget()  # the line's height may be another once the menu is known
        return rows

    def _measure_above(self) -> Dimension:
        rows = self._cover.last_rows
        return Dimension(min=rows, preferred=rows, max=None if self._printed.is_at_bottom else rows)

    def _measure_below(self) -> Dimension:
        return Dimension(min=0, preferred=0, max=0 if self._printed.is_at_bottom else None)
