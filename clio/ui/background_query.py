"""Asks the terminal for its background colour, and takes the answer out of what is typed."""

import os
import re
import select
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from prompt_toolkit.input import Input

from clio.text.lazy_regex import LazyRegex
from clio.ui.palettes import Paper

_PARTS = LazyRegex(r"rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})(?:/[0-9a-f]{1,4})?", re.I)
_WHOLE = LazyRegex(r"#((?:[0-9a-f]{3}){1,4})", re.I)
_HALF = 0.179
"""The luminance whose contrast with black and with white is the same."""
_DARK_NUMBERS = frozenset((*range(7), 8))
_SILENT_TERMS = ("dumb", "unknown", "linux", "vt", "ansi", "cons", "eterm", "sun")


def paper_of(colour: str) -> Paper | None:
    """Of a colour as terminals write it, such as `rgb:1e1e/1e1e/1e1e`; None where it is none."""
    rgb = read_colour(colour)
    return None if rgb is None else "light" if luminance(rgb) > _HALF else "dark"


def read_colour(text: str) -> tuple[float, float, float] | None:
    """Red, green and blue, 0.0 to 1.0: of `rgb:RRRR/GGGG/BBBB` with one to four digits each, or of `#rrggbb`."""
    if match := _PARTS.fullmatch(text.strip()):
        parts = (match[1], match[2], match[3])
    elif match := _WHOLE.fullmatch(text.strip()):
        size = len(match[1]) // 3
        parts = (match[1][:size], match[1][size : 2 * size], match[1][2 * size :])
    else:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in parts)
    return red, green, blue


def luminance(rgb: tuple[float, float, float]) -> float:
    """Relative luminance, 0.0 to 1.0. Source: WCAG 2.1, "relative luminance"."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def paper_in_environment(env: Mapping[str, str]) -> Paper | None:
    """From COLORFGBG, such as "15;0", which some terminals set; None where it says nothing."""
    last = env.get("COLORFGBG", "").rpartition(";")[2]
    if not last.isascii() or not last.isdigit() or int(last) > 15:
        return None
    return "dark" if int(last) in _DARK_NUMBERS else "light"


def may_be_asked(env: Mapping[str, str]) -> bool:
    """Whether a terminal of this name takes the question for what it is, whether or not it answers."""
    term = env.get("TERM", "")
    return bool(term) and not term.startswith(_SILENT_TERMS) and not env.get("INSIDE_EMACS")


QUESTION = "\x1b]11;?\x1b\\\x1b[c"
_COLOUR = LazyRegex(r"\x1b\]11;([^\x07\x1b\x9c]{0,64})(?:\x07|\x1b\\|\x9c)")
_FENCE = LazyRegex(r"\x1b\[\?[0-9;]{0,64}c")
_OPEN_COLOUR = r"\](?:1(?:1(?:;[^\x07\x1b\x9c]{0,64}\x1b?)?)?)?"
_OPEN_FENCE = r"\[(?:\?[0-9;]{0,64})?"
_OPEN = LazyRegex(rf"\x1b(?:{_OPEN_COLOUR}|{_OPEN_FENCE})?\Z")
_OPEN_LATE = LazyRegex(rf"\x1b(?:{_OPEN_COLOUR})?\Z")
_A_KEY = 2
"""So long may be the beginning of a key: Esc, or Alt and a bracket."""


class Replies:
    """What comes from a keyboard goes through `feed`; when nothing follows for a moment, `flush` gives back what may
    have been a key after all.

    colour: the background as the terminal names it, "" before it has. fenced: no answer is to be waited for any more.
    """

    def __init__(self) -> None:
        self.colour = ""
        self.fenced = False
        self._held = ""
        self._given = 0  # so much of what is held was given back, as keys

    @property
    def over(self) -> bool:
        """Whether nothing can come any more."""
        return self.fenced and bool(self.colour)

    def feed(self, data: str) -> str:
        """What of it was typed."""
        text = self._held + data
        if self._given and not any(form.match(text) for form in (_COLOUR, _FENCE, self._open)):
            text = text[self._given :]  # those were keys indeed
            self._given = 0
        text = self._take_colour(text)
        if not self.fenced and (match := _FENCE.search(text)):
            text = text[: match.start()] + text[match.end() :]
            self.fenced, self._given = True, 0
        begun = None if self.over else self._open.search(text)
        at = begun.start() if begun else len(text)
        if at:
            self._given = 0
        text, self._held = text[:at], text[at:]
        return text

    def flush(self) -> str:
        """What was held back and, as nothing followed, was typed. The rest of an answer may still come."""
        if not 0 < len(self._held) <= _A_KEY:
            return ""
        text, self._given = self._held[self._given :], len(self._held)
        return text

    @property
    def _open(self) -> LazyRegex:
        return _OPEN_LATE if self.fenced else _OPEN

    def _take_colour(self, text: str) -> str:
        if self.colour or not (match := _COLOUR.search(text)):
            return text
        self.colour, self._given = match[1] or "?", 0
        return text[: match.start()] + text[match.end() :]


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
