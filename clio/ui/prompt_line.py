"""The prompt line of a terminal with cursor control, and the completion menu below it."""

import io
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Always, Condition, has_completions, has_focus, vi_mode
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent, merge_key_bindings
from prompt_toolkit.key_binding.key_processor import KeyProcessor
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import BufferControl
from prompt_toolkit.output import Output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.renderer import print_formatted_text
from prompt_toolkit.styles import DummyStyle
from prompt_toolkit.utils import get_cwidth

from clio.context.message_parts import PendingInput
from clio.text.translation import mark, tr
from clio.ui.completer import LineCompleter, accept_completion, accepts_first_completion, find_open_mention
from clio.ui.history import LineHistory
from clio.ui.keyboard import (
    HeldTexts,
    OneKeyAnswer,
    pop_saved_text,
    prepare_input,
    render_waiting_texts,
    run_question,
)
from clio.ui.line_keys import SEARCH_HINT, ExtraLineKeys
from clio.ui.line_layout import CompletionMenu, LineLayout, keep_tmux_history_clean
from clio.ui.line_rules import (
    PastedTexts,
    describe_line_prefix,
    find_unfinished_part,
    fit_parts,
    fit_parts_counted,
    fit_placeholder,
)
from clio.ui.painter import FILL
from clio.ui.pipe_screen import ASCII_REPLACEMENTS
from clio.ui.printed_rows import PrintedRows
from clio.ui.terminal_handoff import is_terminal_handed_over
from clio.ui.terminal_text import wrap_text
from clio.ui.theme import Theme
from clio.ui.toolkit_style import get_toolkit_depth, make_toolkit_style

_ESCAPE_S = 0.05
"""Seconds. An arrow key arrives in one write, over a slow line nearly so; an Esc alone for longer was the Esc key."""
_ALT_S = 0.05  # seconds between Esc and the key that Alt sends with it
_SEQUENCE_S = 1.0  # seconds to wait for the second key of Ctrl-X or vi's `g`
_UNFINISHED_HINTS = {
    "```": mark("open ``` block · close it, or enter two empty lines"),
    "\\": mark("continued on the next line"),
}
_MAX_REMEMBERED_CHARS = 20_000  # a larger paste is stored in the history as its placeholder
_EXIT_HINT = mark("Ctrl-D to exit")
HELD_HINT = mark("Enter to send these · ↑ to edit the last")


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
        own_status: returns the line of the user's own command, which replaces `status`, in SGR; "" for none.
        printed: what is printed above the line, for its menu.
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
        own_status: Callable[[], str] = lambda: "",
        printed: PrintedRows | None = None,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self.prompt = self._text = text
        self._theme = theme or Theme()
        # the caller chose a prompt the terminal can display, so its character set shows what else it can
        self._dot = "-" if text.isascii() else "·"
        self._status = status
        self._own_status = own_status
        self._line_hint = line_hint
        self._held = held
        self._hint = ""
        self._erased_line = ""
        self._vi = vi
        self.pastes = history.pastes if isinstance(history, LineHistory) else PastedTexts()
        self._extras = ExtraLineKeys(
            completer=completer,
            history=history,
            pastes=self.pastes,
            hint=self._show_hint,
            project=project,
            pending_input=pending_input,
            look_up=look_up,
        )
        self._files = completer.files if isinstance(completer, LineCompleter) else None
        if self._files is not None:
            self._files.on_changed = self._on_files_changed
        self._on_ready: Callable[[], None] | None = None
        self._has_default = False
        self._sent_row = ""  # as it was drawn last
        self._keys = self._make_bindings()
        self._menu = menu = CompletionMenu(self._extras.get_completer, self._wants_menu)
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
        keep_tmux_history_clean(app.output)
        self._printed = printed or PrintedRows(self._get_size)
        self._layout = LineLayout(
            app, self._printed, lambda buffer: self._extras.is_searching or accepts_first_completion(buffer)
        )
        app.before_render += self._reserve_menu_rows
        app.after_render += self._after_render
        app.ttimeoutlen = _ESCAPE_S
        app.key_processor.after_key_press += self._shorten_escape
        self._session.default_buffer.on_text_changed += self._update_hint
        menu.watch_buffer(self._session.default_buffer)
        if isinstance(control := app.layout.current_control, BufferControl):
            control.menu_position = lambda: menu.find_start(self._session.default_buffer)

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
        self._has_default, self._sent_row = bool(default), ""
        self._reserve_menu_rows()
        if on_start:
            self._session.app.pre_run_callables.append(on_start)
        line = await self._session.prompt_async(
            self._render_prompt, default=default, set_exception_handler=False, handle_sigint=False
        )
        self._printed.add(self._sent_row)
        return self.pastes.expand_message(line.rstrip())

    def _render_sent_row(self) -> str:
        """Return the row that a sent line leaves on the screen."""
        app, stream = self._session.app, io.StringIO()
        display = Vt100_Output(stream, app.output.get_size, term=os.environ.get("TERM"))
        style = "class:accepted"
        line = self._session.default_buffer.text
        row: StyleAndTextTuples = [
            (f"class:accepted.prompt {style}", self._text),
            (style, f"{line} "),
            (f"{style} [ZeroWidthEscape]", FILL),
        ]
        print_formatted_text(display, row, app.style or DummyStyle(), color_depth=app.color_depth)
        display.flush()
        return stream.getvalue() + "\n"

    async def confirm(self, question: str, word: str = "") -> bool:
        """Ask yes or no in place of the next line; if a word is given, only that word means yes."""
        app = self._session.app
        if word:
            return await ask_for_word(question, word, input=app.input, output=app.output, printed=self._printed)
        return await ask_yes_no(question, input=app.input, output=app.output, printed=self._printed)

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

    def bind_key(
        self, key: str, act: Callable[[], None], *, in_menu: bool = True, when: Callable[[], bool] | None = None
    ) -> None:
        """Bind a key, by prompt_toolkit's name such as "c-o", while a line is read.

        in_menu: also while completions are displayed, for which the key may have a meaning of its own.
        when: whether the key has this meaning now.
        """
        is_meant = has_focus(DEFAULT_BUFFER) & (Always() if in_menu else ~has_completions)

        @self._keys.add(key, filter=is_meant & Condition(when) if when else is_meant)
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
            self._layout.close()
            version = self._printed.version
            try:
                show()
                if self._printed.version != version and not self._printed.ends_with_blank:
                    app.output.write_raw("\r\n")  # the line has a blank row above it, as it had
                    app.output.flush()
                    self._printed.add("\n")
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

    def stop_reading(self, error: BaseException, *, erase: bool = False) -> str:
        """End the running `read` with this error and return what was typed; does nothing if none runs.

        erase: remove the line from the screen even if text was typed.
        """
        app, typed = self._session.app, self._session.default_buffer.text
        if not app.is_running or app.is_done:
            return ""
        app.erase_when_done = erase or not typed
        app.exit(exception=error)
        return typed

    def _reserve_menu_rows(self, _: object = None) -> None:
        """Make room for the open menu's rows, and for none if there is no menu."""
        buffer = self._session.default_buffer
        state = buffer.complete_state
        count = len(state.completions) if state is not None else 0
        if self._session.app.is_done:
            count = 0
        elif not count and self._wants_menu() and self._menu.is_computing(buffer):
            count = self._layout.menu_count  # what is drawn a moment later has as many, probably
        self._session.reserve_space_for_menu = 0
        text = buffer.text
        is_low = "\n" not in text and get_cwidth(self._text + text) < self._get_size()[0] - 1
        is_low = is_low and not self._extras.mention_labels
        below = self._layout.make_room(count, 2 + len(self._render_held_rows()), is_low=is_low)
        self._session.reserve_space_for_menu = below + 1 if below else 0

    def _get_size(self) -> tuple[int, int]:
        size = self._session.app.output.get_size()
        return size.columns, size.rows

    def _after_render(self, _: object) -> None:
        self._layout.note_drawn()
        if self._is_accepted and not self._session.app.erase_when_done:
            self._sent_row = self._render_sent_row()
        ready, self._on_ready = self._on_ready, None
        if ready:
            ready()
        if self._has_default:
            self._has_default = False
            if self._wants_menu():  # typed while a turn ended
                self._session.default_buffer.start_completion(select_first=False)

    def _render_prompt(self) -> StyleAndTextTuples:
        """Return the prompt; above it, until the line is sent, the texts held back since a turn was stopped."""
        prompt: StyleAndTextTuples = [(f"class:{'accepted.' * self._is_accepted}prompt", self._text)]
        lines = self._render_held_rows()
        return [*(("class:bottom-toolbar.text nobold", self._to_displayable(line) + "\n") for line in lines), *prompt]

    def _render_held_rows(self) -> list[str]:
        waiting = self._held.list_waiting() if self._held is not None and not self._session.app.is_done else ()
        if not waiting:
            return []
        columns, lines = self._get_size()
        return [*render_waiting_texts(waiting, columns - 1, lines), fit_parts((tr(HELD_HINT),), columns)]

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
        return [("class:placeholder", self._to_displayable(fit_placeholder(room)))]

    def _render_continuation(self, width: int, line_number: int, wrap_count: int) -> StyleAndTextTuples:
        style = f"class:{'accepted.' * self._is_accepted}continuation"
        return [(style, self._dot.rjust(width - 1) + " " if not wrap_count else " " * width)]

    def render_status_line(self) -> StyleAndTextTuples:
        """Return the status line."""
        width = self._session.app.output.get_size().columns
        mode = self._extras.get_vi_mode(self._session.app) if self._vi else ""
        own = self._own_status()
        line = self._to_displayable(fit_parts((self._hint, mode, *(() if own else self._status())), width))
        chips = self._to_displayable(fit_parts_counted(self._extras.mention_labels, width))
        named: StyleAndTextTuples = [("class:bottom-toolbar.chips", f"{chips}\n")] if chips else []
        values = self._render_own_status(own, width - get_cwidth(line), bool(line)) if own else []
        return [*named, ("class:bottom-toolbar.text", line), *values]

    def _render_own_status(self, own: str, room: int, follows: bool) -> StyleAndTextTuples:
        """Return the user's own line with its colours, as much of it as fits."""
        text = f" {self._dot} {own}" if follows else own
        rendered: StyleAndTextTuples = []
        for style, character, *_ in to_formatted_text(ANSI(self._to_displayable(text))):
            room -= get_cwidth(character)
            if room < 0:
                break
            rendered.append((f"class:bottom-toolbar.text {style}", character))
        return rendered

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
        self._show_hint(tr(_UNFINISHED_HINTS.get(unfinished, f"open {unfinished} · Enter on an empty line to send")))

    def _add_to_history(self, line: str) -> None:
        """Add the line to the history with its pastes expanded, unless they are too large to edit on a line."""
        self.pastes.expand_message(line.rstrip())  # the history stores what was pasted with marks
        whole = self.pastes.expand(line)
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
            self._show_hint(tr(_EXIT_HINT))

    def _update_hint(self, buffer: Buffer) -> None:
        self._hint = tr(SEARCH_HINT) if self._extras.is_searching else self._line_hint(buffer.text)
        self._extras.update_labels(buffer.text, buffer)

    def _show_hint(self, text: str) -> None:
        self._hint = text
        self.redraw()

    def _make_further_bindings(self) -> Sequence[KeyBindings]:
        """Return key bindings that take precedence over all others, for subclasses."""
        return ()

    def _measure_paste_before_cursor(self) -> int:
        return self.pastes.measure_final_placeholder(self._session.default_buffer.document.text_before_cursor)

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

        @bindings.add("escape", filter=typing & has_completions & ~vi_mode)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.cancel_completion()

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


def _wrap_prompt(text: str, asking: PromptSession[str]) -> str:
    """Return the text of a question in rows of whole words, with a space for the answer behind it."""
    return f"{wrap_text(text.rstrip(), asking.app.output.get_size().columns - 1)} "


async def ask_yes_no(
    question: str, *, input: Input | None = None, output: Output | None = None, printed: PrintedRows | None = None
) -> bool:
    """Ask yes or no; one key answers, unless another follows at once: then a message is being typed, which means no.

    printed: notes the question, which stays.
    """
    bindings = KeyBindings()
    answer = OneKeyAnswer("no")

    @bindings.add("y")
    @bindings.add("Y")
    def _(event: KeyPressEvent) -> None:
        answer.choose(event, "yes")

    @bindings.add("n")
    @bindings.add("N")
    def _(event: KeyPressEvent) -> None:
        answer.choose(event, "no")

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:
        answer.finish(event.app)

    @bindings.add("c-c")
    @bindings.add("c-d")
    def _(event: KeyPressEvent) -> None:
        event.app.exit(result="no")

    @bindings.add("<any>")
    def _(event: KeyPressEvent) -> None:
        answer.type_on(event)

    asking: PromptSession[str] = PromptSession(
        key_bindings=bindings, include_default_pygments_style=False, input=input, output=output
    )
    prompt = _wrap_prompt(f"{question} [y/N]", asking)
    try:
        result = await run_question(
            asking.app, lambda: asking.prompt_async(prompt, set_exception_handler=False, handle_sigint=False)
        )
    finally:
        if printed is not None:
            printed.add(f"{prompt}\n")
    return result == "yes"


async def ask_for_word(
    question: str,
    word: str,
    *,
    input: Input | None = None,
    output: Output | None = None,
    printed: PrintedRows | None = None,
) -> bool:
    """Ask for a word on a line of its own. Any other answer means no. printed: notes the line, which stays."""
    asking: PromptSession[str] = PromptSession(include_default_pygments_style=False, input=input, output=output)
    prompt = _wrap_prompt(tr("{question} [type {word}] ", question=question, word=word), asking)
    try:
        answer = await run_question(
            asking.app, lambda: asking.prompt_async(prompt, set_exception_handler=False, handle_sigint=False)
        )
    except (KeyboardInterrupt, EOFError):
        return False
    finally:
        if printed is not None:
            printed.add(f"{prompt}{asking.default_buffer.text}\n")
    return answer.strip() == word
