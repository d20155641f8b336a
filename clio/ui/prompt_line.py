"""The prompt line of a terminal with cursor control, and the completion menu below it."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, DynamicCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Always, Condition, has_completions, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent, merge_key_bindings
from prompt_toolkit.key_binding.key_processor import KeyProcessor
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import HSplit, Window
from prompt_toolkit.output import Output
from prompt_toolkit.utils import get_cwidth

from clio.context.message_parts import PendingInput
from clio.ui.completer import LineCompleter, accept_completion, find_open_mention
from clio.ui.keyboard import (
    HeldTexts,
    pop_saved_text,
    prepare_input,
    render_waiting_texts,
    run_question,
    save_key_presses,
)
from clio.ui.line_keys import SEARCH_HINT, ExtraLineKeys
from clio.ui.line_rules import (
    PLACEHOLDER,
    PastedTexts,
    describe_line_prefix,
    find_unfinished_part,
    fit_parts,
    fit_parts_counted,
)
from clio.ui.painter import truncate_to_cells
from clio.ui.pipe_screen import ASCII_REPLACEMENTS
from clio.ui.prompt_io import get_toolkit_depth, make_toolkit_style
from clio.ui.terminal_handoff import is_terminal_handed_over
from clio.ui.theme import Theme


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

    def _on_completions_changed(self, buffer: Buffer) -> None:
        line = buffer.document.text_before_cursor
        if buffer.complete_state is None and line != self._completed_text and self._wants_menu():
            asyncio.get_running_loop().call_soon(buffer.start_completion)


def _use_needed_rows_only(app: Application[str]) -> None:
    """Draw the status line directly below the input line, and never ask the terminal where the cursor is.

    prompt_toolkit asks for the cursor's row, and then spreads the input line down to the bottom of the screen. Over a
    slow line the reply arrives after more was printed and is wrong; and the status line would stand far below.
    """
    app.output.get_rows_below_cursor_position = lambda: 1
    app.layout.current_window.dont_extend_height = Always()
    if isinstance(app.layout.container, HSplit):
        app.layout.container.children.append(Window())  # takes what rows are left, which are none


_MENU_ROWS = 8  # rows reserved for completions; four rows of the screen stay free for the line
_ESCAPE_S = 0.05
"""Seconds. An arrow key arrives in one write, over a slow line nearly so; an Esc alone for longer was the Esc key."""
_ALT_S = 0.05  # seconds between Esc and the key that Alt sends with it
_SEQUENCE_S = 1.0  # seconds to wait for the second key of Ctrl-X or vi's `g`
_UNFINISHED_HINTS = {
    "```": "open ``` · close it, or leave two lines empty",
    "\\": "continued on the next line",
}
_MAX_REMEMBERED_CHARS = 20_000  # a larger paste is stored in the history as its placeholder
_EXIT_HINT = "Ctrl-D to exit"
HELD_HINT = "Enter to send these · ↑ to edit the last"


def _no_line_hint(text: str) -> str:
    return ""


class PromptLine:
    """Reads one message after another; used for the whole run, because it has the history and the undo steps.

    Args:
        text: the prompt before the line.
        status: returns the parts of the status line, most important first; called at every drawing, so it must be
            cheap.
        line_hint: returns the hint for what Enter will do with a text that is not a message, "" for a message; called
            at every key.
        vi: use vi keys.
        project, pending_input, look_up: see `ExtraLineKeys`.
        input, output: for tests; by default those of the process.
    """

    _can_erase = True
    """Whether the terminal can erase a line that was sent."""

    def __init__(
        self,
        *,
        text: str,
        history: History,
        completer: Completer,
        status: Callable[[], Sequence[str]],
        line_hint: Callable[[str], str] = _no_line_hint,
        held: HeldTexts | None = None,
        theme: Theme | None = None,
        vi: bool = False,
        project: Path | None = None,
        pending_input: PendingInput | None = None,
        look_up: Callable[[str], Awaitable[bool]] | None = None,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self.prompt = self._text = text
        self._theme = theme or Theme()
        # the caller chose a prompt the terminal can display, so its character set shows what else it can
        self._dot = "-" if text.isascii() else "·"
        self._status = status
        self._line_hint = line_hint
        self._held = held
        self._hint = ""
        self._erased_line = ""
        self._vi = vi
        self._pastes = PastedTexts()
        self._extras = ExtraLineKeys(
            completer=completer,
            history=history,
            pastes=self._pastes,
            hint=self._show_hint,
            project=project,
            pending_input=pending_input,
            look_up=look_up,
        )
        self._files = completer.files if isinstance(completer, LineCompleter) else None
        if self._files is not None:
            self._files.on_changed = self._on_files_changed
        self._on_ready: Callable[[], None] | None = None
        self._keys = self._make_bindings()
        menu = CompletionMenu(self._extras.get_completer, self._wants_menu)
        self._session: PromptSession[str] = PromptSession(
            history=history,
            completer=menu,
            complete_in_thread=True,
            vi_mode=vi,
            complete_while_typing=Condition(self._wants_menu),
            multiline=True,
            enable_suspend=True,
            prompt_continuation=self._render_continuation,
            bottom_toolbar=self.render_status_line,
            placeholder=self._render_placeholder,
            key_bindings=merge_key_bindings([self._keys, self._extras.make_bindings(), *self._make_further_bindings()]),
            style=make_toolkit_style(self._theme),
            include_default_pygments_style=False,
            color_depth=get_toolkit_depth(self._theme),
            input=input,
            output=output,
        )
        app = self._session.app
        if sys.platform != "win32":
            # a resize arrives as a signal; polling would wake an idle process
            app.terminal_size_polling_interval = None
        # would print a warning, although only the status line is missing then
        app.renderer.cpr_not_supported_callback = None
        prepare_input(app.input)
        _use_needed_rows_only(app)
        app.before_render += self._reserve_menu_rows
        app.after_render += self._after_render
        app.ttimeoutlen = _ESCAPE_S
        app.key_processor.after_key_press += self._shorten_escape
        self._session.default_buffer.on_text_changed += self._update_hint
        menu.watch_buffer(self._session.default_buffer)

    async def read(
        self,
        *,
        default: str = "",
        on_start: Callable[[], None] | None = None,
        on_ready: Callable[[], None] | None = None,
    ) -> str:
        """Return the next message with its pastes in full; "" if held texts were released instead.

        Raises EOFError at Ctrl-D.

        Args:
            default: the initial text of the line.
            on_start: called just before the terminal is put into raw mode.
            on_ready: called once the line is drawn and accepts input.
        """
        default += pop_saved_text()
        self._hint = self._line_hint(default)
        self._extras.update_labels(default)
        self._session.app.erase_when_done = False
        self._erased_line = ""
        self._on_ready = on_ready
        self._reserve_menu_rows()
        if on_start:
            self._session.app.pre_run_callables.append(on_start)
        line = await self._session.prompt_async(
            self._render_prompt, default=default, set_exception_handler=False, handle_sigint=False
        )
        return self._pastes.expand(line.rstrip())

    async def confirm(self, question: str, word: str = "") -> bool:
        """Ask yes or no in place of the next line; if a word is given, only that word means yes."""
        app = self._session.app
        if word:
            return await ask_for_word(question, word, input=app.input, output=app.output)
        return await ask_yes_no(question, input=app.input, output=app.output)

    def _shorten_escape(self, processor: KeyProcessor) -> None:
        """Let Esc wait for a second key only as long as Alt needs to send one; Ctrl-X and vi's `g` still wait
        longer.
        """
        pending = processor.key_buffer
        self._session.app.timeoutlen = _ALT_S if pending and pending[-1].key == Keys.Escape else _SEQUENCE_S

    def pop_erased_line(self) -> str:
        """Return the last line, if it was erased when it was sent because it needs several rows; else "".

        The caller prints it as a message of the conversation. Pastes are placeholders in it.
        """
        line, self._erased_line = self._erased_line, ""
        return line

    @property
    def keyboard(self) -> Input:
        """The input that the line is read from; questions read it too."""
        return self._session.app.input

    @property
    def is_reading(self) -> bool:
        """Whether a line is being typed."""
        return self._session.app.is_running

    def bind_key(self, key: str, act: Callable[[], None], *, in_menu: bool = True) -> None:
        """Bind a key, by prompt_toolkit's name such as "c-o", while a line is read.

        in_menu: also while completions are displayed, for which the key may have a meaning of its own.
        """

        @self._keys.add(key, filter=has_focus(DEFAULT_BUFFER) & (Always() if in_menu else ~has_completions))
        def _(event: KeyPressEvent) -> None:
            act()

    async def print_above(self, show: Callable[[], None], *, in_thread: bool = False) -> None:
        """Call `show`, which prints, while the line is open: the line is erased and drawn again below the output.

        in_thread: `show` takes long, such as a pager.
        """
        app = self._session.app
        if not app.is_running:
            show()
        elif in_thread or is_terminal_handed_over():
            await run_in_terminal(show, in_executor=in_thread)
        else:
            # `run_in_terminal` leaves raw mode meanwhile: keys typed in that moment would be echoed, and the terminal
            # itself would act on Ctrl-R and Ctrl-W.
            app.renderer.erase()
            try:
                show()
            finally:
                app.renderer.reset()
                app.invalidate()

    def announce_change(self, text: str) -> None:
        """Redraw the line, because a value of the status line has changed.

        text: the new value as a sentence, printed where there is no status line.
        """
        self.redraw()

    def redraw(self) -> None:
        """Draw the line again, for example because the model is known now, or the colours have changed."""
        self._session.color_depth = get_toolkit_depth(self._theme)
        self._session.app.invalidate()

    def watch_keys(self, on_key: Callable[[], None]) -> None:
        """Call `on_key` for each key pressed while a line is read, before the key takes effect."""

        def pressed(_: object) -> None:
            on_key()

        self._session.app.key_processor.before_key_press += pressed

    def list_completions(self) -> list[str]:
        """The texts in the open completion menu."""
        state = self._session.default_buffer.complete_state
        return [completion.text for completion in state.completions] if state else []

    def prepare_completions(self) -> None:
        """Prepare the completions in advance; for a thread."""
        if self._files is not None:
            self._files.list_in_advance()

    def _on_files_changed(self) -> None:
        """Refresh an open "@" menu unless an entry is selected; called in another thread when the list of files has
        changed.
        """

        def reopen_menu() -> None:
            buffer = self._session.default_buffer
            is_selected = buffer.complete_state is not None and buffer.complete_state.complete_index is not None
            if (
                self.is_reading
                and not is_selected
                and find_open_mention(buffer.document.text_before_cursor) is not None
            ):
                buffer.complete_state = None  # prompt_toolkit starts no completion while one is active
                buffer.start_completion(select_first=False)

        if (loop := self._session.app.loop) is not None:
            with suppress(RuntimeError):  # the event loop was closed meanwhile
                loop.call_soon_threadsafe(reopen_menu)

    def stop_reading(self, error: BaseException) -> None:
        """End the running `read` with this error; does nothing if none runs."""
        if self._session.app.is_running and not self._session.app.is_done:
            self._session.app.exit(exception=error)

    def _reserve_menu_rows(self, _: object = None) -> None:
        """Make room for the open menu's rows below the line, and for none if there is no menu."""
        state = self._session.default_buffer.complete_state
        rows = min(_MENU_ROWS, self._session.app.output.get_size().rows - 4)
        count = len(state.completions) + 1 if state is not None and state.completions else 0
        self._session.reserve_space_for_menu = max(0, min(count, rows))

    def _after_render(self, _: object) -> None:
        ready, self._on_ready = self._on_ready, None
        if ready:
            ready()

    def _render_prompt(self) -> StyleAndTextTuples:
        """Return the prompt; above it, until the line is sent, the texts held back since a turn was stopped."""
        prompt: StyleAndTextTuples = [(f"class:{'accepted.' * self._is_accepted}prompt", self._text)]
        waiting = self._held.list_waiting() if self._held is not None and not self._session.app.is_done else ()
        if not waiting:
            return prompt
        size = self._session.app.output.get_size()
        lines = [*render_waiting_texts(waiting, size.columns - 1, size.rows), fit_parts((HELD_HINT,), size.columns)]
        return [*(("class:bottom-toolbar.text nobold", self._to_displayable(line) + "\n") for line in lines), *prompt]

    @property
    def _is_accepted(self) -> bool:
        """Whether the line has been sent, so that it has the background of the user's messages."""
        return self._session.app.exit_style == "class:accepted"

    def _can_edit_held_text(self) -> bool:
        return self._held is not None and not self._session.default_buffer.text and bool(self._held.list_waiting())

    def _wants_menu(self) -> bool:
        before = self._session.default_buffer.document.text_before_cursor
        return self._extras.is_searching or before.startswith("/") or find_open_mention(before) is not None

    def _render_placeholder(self) -> StyleAndTextTuples:
        if self._session.app.is_done:
            return []  # an empty line that was entered stays in the scrollback
        room = self._session.app.output.get_size().columns - len(self._text) - 1
        return [("class:placeholder", truncate_to_cells(self._to_displayable(PLACEHOLDER), room))]

    def _render_continuation(self, width: int, line_number: int, wrap_count: int) -> StyleAndTextTuples:
        style = f"class:{'accepted.' * self._is_accepted}continuation"
        return [(style, self._dot.rjust(width - 1) + " " if not wrap_count else " " * width)]

    def render_status_line(self) -> StyleAndTextTuples:
        """Return the status line."""
        width = self._session.app.output.get_size().columns
        mode = self._extras.get_vi_mode(self._session.app) if self._vi else ""
        line = self._to_displayable(fit_parts((self._hint, mode, *self._status()), width))
        chips = self._to_displayable(fit_parts_counted(self._extras.mention_labels, width))
        named: StyleAndTextTuples = [("class:bottom-toolbar.chips", f"{chips}\n")] if chips else []
        return [*named, ("class:bottom-toolbar.text", line)]

    def _to_displayable(self, line: str) -> str:
        return line.translate(ASCII_REPLACEMENTS) if self._text.isascii() else line

    def _handle_enter(self, buffer: Buffer, app: Application[str]) -> None:
        if accept_completion(buffer):
            return  # this Enter accepted a completion; the next one sends the line
        if not buffer.text.strip():
            buffer.reset()
            if self._held is not None and self._held.release_all():
                app.erase_when_done = True  # an empty line leaves nothing in the scrollback
                app.exit(result="")
            return
        unfinished = find_unfinished_part(buffer.text)
        if not unfinished:
            if not self._line_hint(buffer.text) or describe_line_prefix(buffer.text):
                self._add_to_history(buffer.text)
            is_one_row = get_cwidth(self._text + buffer.text) < app.output.get_size().columns
            if self._can_erase and ("\n" in buffer.text or not is_one_row):
                app.erase_when_done = True  # the terminal would break words
                self._erased_line = buffer.text
            app.exit(result=buffer.text, style="class:accepted")
            return
        if unfinished == "\\" and buffer.document.is_cursor_at_the_end:
            buffer.delete_before_cursor()
        buffer.insert_text("\n")
        self._show_hint(_UNFINISHED_HINTS.get(unfinished, f"open {unfinished} · Enter on an empty line to send"))

    def _add_to_history(self, line: str) -> None:
        """Add the line to the history with its pastes expanded, unless they are too large to edit on a line."""
        whole = self._pastes.expand(line)
        entry = whole if len(whole) <= _MAX_REMEMBERED_CHARS else line
        earlier = self._session.history.get_strings()
        if not earlier or earlier[-1] != entry:
            self._session.history.append_string(entry)

    def handle_interrupt(self) -> None:
        """Handle Ctrl-C: clear the line; if it is empty, show how to exit."""
        buffer = self._session.default_buffer
        if buffer.text:
            buffer.text = ""  # not `reset`, which would clear the undo steps: Ctrl-_ restores the line
        else:
            self._show_hint(_EXIT_HINT)

    def _update_hint(self, buffer: Buffer) -> None:
        self._hint = SEARCH_HINT if self._extras.is_searching else self._line_hint(buffer.text)
        self._extras.update_labels(buffer.text, buffer)

    def _show_hint(self, text: str) -> None:
        self._hint = text
        self.redraw()

    def _make_further_bindings(self) -> Sequence[KeyBindings]:
        """Return key bindings that take precedence over all others, for subclasses."""
        return ()

    def _measure_paste_before_cursor(self) -> int:
        return self._pastes.measure_final_placeholder(self._session.default_buffer.document.text_before_cursor)

    def _make_bindings(self) -> KeyBindings:
        bindings = KeyBindings()
        typing = has_focus(DEFAULT_BUFFER)

        @bindings.add("enter", filter=typing)
        def _(event: KeyPressEvent) -> None:
            self._handle_enter(event.current_buffer, event.app)

        @bindings.add("escape", "enter", filter=typing)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @bindings.add("c-c", filter=typing)
        def _(event: KeyPressEvent) -> None:
            self.handle_interrupt()

        @bindings.add(Keys.BracketedPaste, filter=typing)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text(self._extras.convert_paste(event.data))

        @bindings.add("backspace", filter=typing & Condition(lambda: self._measure_paste_before_cursor() > 0))
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.delete_before_cursor(self._measure_paste_before_cursor())

        @bindings.add(
            "escape", filter=typing & Condition(lambda: self._held is not None and self._held.has_just_stopped())
        )
        def _(event: KeyPressEvent) -> None:
            pass  # ignore an impatient second Esc, which would leave vi's insert mode

        @bindings.add("up", filter=typing & Condition(self._can_edit_held_text))
        def _(event: KeyPressEvent) -> None:
            if self._held is not None:
                event.current_buffer.insert_text(self._held.pop_newest())

        return bindings


async def ask_yes_no(question: str, *, input: Input | None = None, output: Output | None = None) -> bool:
    """Ask yes or no; one key answers. Every key but "y" means no."""
    bindings = KeyBindings()

    @bindings.add("y")
    @bindings.add("Y")
    def _(event: KeyPressEvent) -> None:
        event.app.exit(result="yes")

    @bindings.add("n")
    @bindings.add("N")
    @bindings.add("enter")
    @bindings.add("c-c")
    @bindings.add("c-d")
    def _(event: KeyPressEvent) -> None:
        event.app.exit(result="no")

    @bindings.add("<any>")
    def _(event: KeyPressEvent) -> None:
        save_key_presses(event.key_sequence)  # probably the first letter of the next message
        event.app.exit(result="no")

    asking: PromptSession[str] = PromptSession(
        key_bindings=bindings, include_default_pygments_style=False, input=input, output=output
    )
    prompt = f"{question} [y/N] "
    answer = await run_question(
        asking.app, lambda: asking.prompt_async(prompt, set_exception_handler=False, handle_sigint=False)
    )
    return answer == "yes"


async def ask_for_word(question: str, word: str, *, input: Input | None = None, output: Output | None = None) -> bool:
    """Ask for a word on a line of its own. Any other answer means no."""
    asking: PromptSession[str] = PromptSession(include_default_pygments_style=False, input=input, output=output)
    prompt = f"{question} [type {word}] "
    try:
        answer = await run_question(
            asking.app, lambda: asking.prompt_async(prompt, set_exception_handler=False, handle_sigint=False)
        )
    except (KeyboardInterrupt, EOFError):
        return False
    return answer.strip() == word
