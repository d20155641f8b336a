"""Asks the terminal for its background while the prompt stands; nobody waits for the answer."""

import os
import select
import time
from collections.abc import Callable
from typing import Any, TextIO

from prompt_toolkit.input import Input

from clio.ui.themes.background import paper_of
from clio.ui.themes.palette import Paper
from clio.ui.themes.replies import QUESTION, Replies

_LEAVE_S = 0.1


class BackgroundQuestion:
    """One question. heard: told what the background is like, where the terminal says it; may never be called."""

    def __init__(self, heard: Callable[[Paper], None]) -> None:
        self._heard = heard
        self._replies = Replies()
        self._told = False
        self._asked = False

    def ask(self, keyboard: Input, stream: TextIO) -> None:
        """Ask, and take the answer out of what comes from this keyboard, whenever it comes.

        Nobody else may read the keys. Nothing is asked where the keyboard is not a terminal's.
        """
        parser: Any = getattr(keyboard, "vt100_parser", None)
        if parser is None:
            return
        feed, flush = parser.feed, parser.flush

        def fed(data: str) -> None:
            if typed := self._take(data):
                feed(typed)

        def flushed() -> None:
            if typed := self._replies.flush():
                feed(typed)
            flush()

        parser.feed, parser.flush = fed, flushed
        stream.write(QUESTION)
        stream.flush()
        self._asked = True

    def leave(self, keyboard: int = 0) -> None:
        """Wait a moment for an answer that is on its way: whoever reads the terminal next would take it for keys."""
        end = time.monotonic() + _LEAVE_S
        while self._asked and not self._replies.fenced and (left := end - time.monotonic()) > 0:
            try:
                if not select.select([keyboard], [], [], left)[0]:
                    return
                data = os.read(keyboard, 1024)
            except (OSError, ValueError):
                return
            if not data:
                return
            self._take(data.decode("ascii", "replace"))

    def _take(self, data: str) -> str:
        typed = self._replies.feed(data)
        if self._replies.colour and not self._told:
            self._told = True
            if paper := paper_of(self._replies.colour):
                self._heard(paper)
        return typed
