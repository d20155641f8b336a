"""The menu below the line, looked up anew where the line has become another one meanwhile."""

import asyncio
from collections.abc import Callable, Iterable

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, DynamicCompleter
from prompt_toolkit.document import Document


class Menu(DynamicCompleter):
    """What a buffer offers; called in a thread.

    prompt_toolkit looks up one menu at a time, and what is asked for meanwhile afterwards, but only where letters were
    added: a line that was left and begun anew would stay without a menu until its next key.
    """

    def __init__(self, completer: Callable[[], Completer | None], wanted: Callable[[], bool]) -> None:
        super().__init__(completer)
        self._wanted = wanted
        self._asked = ""

    def of(self, buffer: Buffer) -> None:
        """See that this buffer's menu is the one of what stands there."""
        buffer.on_completions_changed += self._looked_up

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The completer's own."""
        self._asked = document.text_before_cursor
        return super().get_completions(document, complete_event)

    def _looked_up(self, buffer: Buffer) -> None:
        line = buffer.document.text_before_cursor
        if buffer.complete_state is None and line != self._asked and self._wanted():
            asyncio.get_running_loop().call_soon(buffer.start_completion)
