"""Server-sent events out of bytes that arrive cut anywhere. Pure.

Source: WHATWG HTML, "Server-sent events", section 9.2.6.
"""

MAX_EVENT_BYTES = 32_000_000
"""More than any answer holds; a stream that never ends a line is let go of here."""
_BOM = b"\xef\xbb\xbf"


class EventTooLong(Exception):
    """A stream without an end of its events."""


class EventStream:
    """The data of each event, in order; lines may end in LF, CR or CRLF. Names, ids and waits are not for us."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._begun = False

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of the events that are whole with this piece. Raises EventTooLong."""
        if self._after_cr and piece.startswith(b"\n"):  # the second half of a CRLF
            piece = piece[1:]
            self._after_cr = False
        if not piece:
            return []
        self._after_cr = piece.endswith(b"\r")
        lines = piece.splitlines()  # of bytes: at LF, CR and CRLF alone
        rest = b"" if piece.endswith((b"\r", b"\n")) else lines.pop()
        found: list[bytes] = []
        for line in lines:
            self._take(bytes(self._line) + line if self._line else line, found)
            self._line.clear()
        self._line += rest
        if self._size + len(self._line) > MAX_EVENT_BYTES:
            raise EventTooLong
        return found

    def end(self) -> bytes:
        """What stood last without the empty line that should have ended it; b"" where nothing did.

        The standard drops it. Some servers forget the line, so the caller takes what proves to be whole.
        """
        found: list[bytes] = []
        self._take(bytes(self._line), found)
        self._line.clear()
        self._take(b"", found)
        return found[0] if found else b""

    def _take(self, line: bytes, found: list[bytes]) -> None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_BOM)
        if line:
            field, _, value = line.partition(b":")  # of a comment, the field is empty
            if field == b"data":
                self._data.append(value.removeprefix(b" "))
                self._size += len(value)
        elif self._data:
            data = b"\n".join(self._data)
            self._data.clear()
            self._size = 0
            if data:
                found.append(data)
