"""A text stream that a reader may close and whose encoding may be narrow; neither makes writing fail."""

import errno
import os
from collections.abc import Callable
from typing import TextIO

# What clio itself prints, for terminals that are not UTF-8; anything else becomes a question mark.
PLAIN_SIGNS = str.maketrans({
    "●": "*", "…": "...", "·": "-", "•": "*", "─": "-", "━": "-", "▌": "|", "↻": "~", "✗": "x", "›": ">",
    "█": "#", "▓": "%", "▒": "+", "≡": "=", "■": "@", "░": ":", "▰": "#", "▱": "-", "↑": "^", "↵": "|",
})  # fmt: skip
# A closed pipe, a closed connection, a terminal whose window was closed.
_GONE = (errno.EPIPE, errno.ECONNRESET, errno.EIO)


class Output:
    """Writes to a stream until its reader goes away; then everything else is dropped quietly.

    on_broken is called once when that happens, so that work nobody will see can stop.
    """

    def __init__(self, stream: TextIO, on_broken: Callable[[], None] | None = None) -> None:
        self._stream = stream
        self._on_broken = on_broken
        self.broken = False
        self.at_line_start = True

    def write(self, text: str) -> None:
        """Write and flush."""
        if self.broken or not text:
            return
        try:
            self._stream.write(self._encodable(text))
            self._stream.flush()
        except OSError as error:
            if error.errno not in _GONE:
                raise
            self._break()
        self.at_line_start = text.endswith("\n")

    def end_line(self) -> None:
        """Begin a new line unless one has just begun."""
        if not self.at_line_start:
            self.write("\n")

    def _encodable(self, text: str) -> str:
        encoding = self._stream.encoding or "utf-8"
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            return text.translate(PLAIN_SIGNS).encode(encoding, "replace").decode(encoding)
        return text

    def _break(self) -> None:
        self.broken = True
        self._silence()
        if self._on_broken is not None:
            self._on_broken()

    def _silence(self) -> None:
        """Lead the descriptor to nowhere: the interpreter flushes it again at exit and would complain."""
        try:
            descriptor = self._stream.fileno()
        except (OSError, ValueError):
            return  # a stream without a descriptor, such as one in memory
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
