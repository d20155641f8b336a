"""Bodies in chunks, out of bytes that arrive cut anywhere. Pure.

Source: RFC 9112, section 7.1. Strict: a frame that is guessed wrongly would read one answer as the next.
"""

import re

from clio.providers.http1 import MAX_HEAD_BYTES, MAX_LINE_BYTES

_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?\r?\n", re.DOTALL)


class Chunked:
    """Takes the frames of the chunks away."""

    def __init__(self) -> None:
        self._left = 0  # bytes of a chunk that are still to come
        self._begun = b""  # a line of the frames that is not whole
        self._ended_chunk = False
        self._trailer_bytes: int | None = None  # None before the last chunk
        self.is_over = False
        self.wrong = ""
        """Why no more can be read of it, where a frame is none; what stood before it was given."""
        self.surplus = False
        """Whether more came than the body: then nobody knows what comes over this connection next."""

    def feed(self, piece: bytes) -> bytes:
        """What of the body stands in the next bytes; b"" where there are only frames."""
        if self._begun:
            piece, self._begun = self._begun + piece, b""
        found: list[bytes] = []
        at, size = 0, len(piece)
        while at < size and not self.is_over and not self.wrong:
            if self._left:
                data = piece[at : at + self._left]
                found.append(data)
                at += len(data)
                self._left -= len(data)
            else:
                end = piece.find(b"\n", at) + 1
                if not end:
                    break
                self._line(piece[at:end])
                at = end
        self._begun = piece[at:]
        if self.is_over:
            self.surplus = bool(self._begun)
        elif len(self._begun) > MAX_LINE_BYTES:
            self.wrong = "a line without an end"
        return b"".join(found)

    def _line(self, line: bytes) -> None:
        if self._trailer_bytes is not None:  # nobody needs them
            self._trailer_bytes += len(line)
            if self._trailer_bytes > MAX_HEAD_BYTES:
                self.wrong = "trailers without an end"
            self.is_over = not line.strip(b"\r\n")
        elif self._ended_chunk:
            if line.strip():
                self.wrong = "a chunk longer than it said"
            self._ended_chunk = False
        elif size := _SIZE.fullmatch(line):
            self._left = int(size[1], 16)
            self._ended_chunk = self._left > 0
            self._trailer_bytes = None if self._left else 0
        else:
            self.wrong = f"not a chunk but {line[:40]!r}"
