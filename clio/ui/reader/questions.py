"""Small questions for somebody who hears them: said once with what each key means, answered by a key or a line."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app_session
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from clio.ui.asking.questions import Questions
from clio.ui.early_input import keep_early_keys
from clio.ui.line.echo import EchoedLine, EchoOutput
from clio.ui.output import Output
from clio.ui.pager import Page
from clio.ui.reader.spoken import broken, spoken

_SPELLED = {
    "once": "yes, once",
    "this session": "yes, for this session",
    "edit": "edit in your editor",
    "by hunks": "hunk by hunk",
    "show all": "read all of it",
}


class ReaderQuestions(Questions):
    """`Questions` that print nothing but lines. size: the terminal's columns and rows."""

    def __init__(self, stream: TextIO, size: Callable[[], tuple[int, int]], *, keyboard: Input | None = None) -> None:
        output = Output(stream)
        super().__init__(stream, live=False, keyboard=keyboard, display=EchoOutput(output, size))
        self._output = output
        self._size = size
        self._choices = ""
        self._alone = asyncio.Lock()

    def keep_early_input(self) -> None:
        """See `Questions.keep_early_input`."""
        keep_early_keys(self._keyboard or get_app_session().input)

    async def key(
        self,
        choices: Mapping[str, str],
        *,
        guarded: bool = False,
        page: Page | None = None,
        above: int = 0,
        after_end: frozenset[str] = frozenset(),
    ) -> str | None:
        """Which of the one-letter choices was pressed; None for Esc, Ctrl-C and the end of the input.

        Any other key lets the choices be said again. See `Questions.key`.
        """
        async with self._alone:
            self._choices = said_choices(choices)
            self._say()
            return await self._press(choices, guarded, None, 0)

    async def line(self, prompt: str) -> str | None:
        """A line of text; None for Esc, Ctrl-C and the end of the input."""
        async with self._alone:
            return await self._typed(f"{spoken(prompt)} ")

    def _bind_others(self, keys: KeyBindings) -> None:
        @keys.add(Keys.Any)
        def _(event: KeyPressEvent) -> None:
            if event.key_sequence[0].key != Keys.CPRResponse:
                self._say()

    def _say(self) -> None:
        self._output.write(f"{broken(self._choices, self._size()[0] - 1)}\n")

    async def _typed(self, lead: str) -> str | None:
        keys = KeyBindings()

        @keys.add("escape")
        def _(event: KeyPressEvent) -> None:
            event.app.exit(exception=KeyboardInterrupt)

        echo = EchoedLine(self._output.write, lambda: self._size()[0])
        session: PromptSession[str] = PromptSession(key_bindings=keys, input=self._keyboard, output=self._display)
        buffer = session.default_buffer

        def shown(_: object) -> None:
            echo.show(lead, buffer.text, buffer.cursor_position)

        session.app.after_render += shown
        session.app.ttimeoutlen = 0.025
        session.app.timeoutlen = 0.1  # long enough for Alt and a key
        try:
            return await session.prompt_async("", handle_sigint=False)
        except (KeyboardInterrupt, EOFError):
            return None
        finally:
            echo.end()


def said_choices(choices: Mapping[str, str]) -> str:
    """ "keys: y once, n no, or Escape"."""
    words = (f"{letter} {_SPELLED.get(meaning, spoken(meaning))}" for letter, meaning in choices.items())
    return f"keys: {', '.join(words)}, or Escape"
