"""One JSON document piece by piece: its small fields, and the long lists in it element by element.

A chat of 200 MB is one object with one list in it; decoding it whole would take several times as much memory.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clio.importing.lines import BLOCK_BYTES, MAX_LINE_BYTES, Progress, decoded
from clio.importing.pieces import Tally
from clio.storage.files import open_regular

Element = tuple[str, Any]
"""The name of the field it stands in, "" for a document that is itself a list, and the value."""

_MARK = re.compile(rb'["{}\[\],:]')
_INSIDE = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_OPEN, _CLOSE = frozenset(b"{["), frozenset(b"}]")


def elements_of(path: Path, lists: frozenset[str], tally: Tally, progress: Progress) -> Iterator[Element]:
    """The document's fields in their order; of those named in `lists` each element by itself.

    What is cut off at its end gives what stands before the cut. Raises OSError, and what `progress` raises.
    """
    reader = _Elements(lists, tally)
    with open_regular(path, None) as file:
        done = 0
        while block := file.read(BLOCK_BYTES):
            done += len(block)
            progress(done)
            yield from reader.feed(block)
    if not reader.finished:
        tally.torn += 1


class _Elements:
    """Finds the ends of values by their brackets; a depth of 1 is inside of the document, 2 inside of one of `lists`.

    Places are in `_data`, which loses its beginning now and then. `_start`: of the value being read, -1 where it is too
    long to be kept; `_text_start`: of the text being read, -1 outside of texts; `_at`: up to where all was looked at.
    """

    def __init__(self, lists: frozenset[str], tally: Tally) -> None:
        self._lists = lists
        self._tally = tally
        self._data = bytearray()
        self._at = 0
        self._depth = 0
        self._start = 0
        self._field = ""
        self._named = False
        self._in_list = False
        self._is_object = False
        self._text_start = -1
        self.finished = False

    def feed(self, block: bytes) -> Iterator[Element]:
        """The values that end in this block."""
        self._data += block
        while self._at < len(self._data):
            if self._text_start >= 0:
                if not self._text_ends():
                    break
            elif match := _MARK.search(self._data, self._at):
                self._at = match.end()
                if match[0] == b'"':
                    self._text_start = match.start()
                else:
                    yield from self._punctuation(match[0][0], match.start())
            else:
                self._at = len(self._data)
        self._forget()

    def _text_ends(self) -> bool:
        """Go on to the end of the text that is being read; False where it has not come yet."""
        match = _INSIDE.match(self._data, self._at)
        self._at = match.end() if match else self._at
        if not self._data.startswith(b'"', self._at):
            return False
        self._at += 1
        if self._depth == 1 and self._is_object and not self._named:
            self._field = str(decoded(bytes(self._data[self._text_start : self._at]), self._tally) or "")
            self._named = True
        self._text_start = -1
        return True

    def _punctuation(self, mark: int, place: int) -> Iterator[Element]:
        if mark in _OPEN:
            self._depth += 1
            if self._depth == 1:
                self._is_object = mark == 0x7B
                self._in_list = not self._is_object
                self._start = place + 1
            elif self._depth == 2 and self._is_object and mark == 0x5B and self._field in self._lists:
                self._in_list, self._start = True, place + 1
        elif mark in _CLOSE:
            inside = 2 if self._is_object else 1
            if self._in_list and self._depth == inside:
                yield from self._value(place)
                self._in_list = False
                self._start = place + 1
            elif self._depth == 1:
                yield from self._value(place)
            self._depth -= 1
            self.finished = self._depth == 0
        elif mark == 0x2C and self._depth == (2 if self._in_list and self._is_object else 1):
            yield from self._value(place)
            self._start = place + 1
            if self._depth == 1:
                self._named = False
        elif mark == 0x3A and self._depth == 1 and self._is_object:
            self._start = place + 1

    def _value(self, end: int) -> Iterator[Element]:
        data = bytes(self._data[self._start : end]).strip() if self._start >= 0 else b""
        if self._start < 0:
            self._tally.large += 1
        if not data:
            return
        value = decoded(data, self._tally)
        if value is None and data != b"null":
            self._tally.kinds["no JSON"] += 1
        elif value is not None:
            yield self._field if self._is_object else "", value

    def _forget(self) -> None:
        """Let go of what is no longer needed; of a value longer than any message, all of it."""
        keep = self._start if self._start >= 0 else self._at
        if self._at - keep > MAX_LINE_BYTES:
            keep, self._start = self._at, -1
        if keep > BLOCK_BYTES or self._start < 0:
            del self._data[:keep]
            self._at -= keep
            self._text_start = max(self._text_start - keep, 0) if self._text_start >= 0 else -1
            if self._start >= 0:
                self._start -= keep
