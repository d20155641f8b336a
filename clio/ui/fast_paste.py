"""Large pastes in time: prompt_toolkit looks through all of a paste again for each kilobyte that arrives."""

from collections.abc import Callable
from typing import Any, cast
from weakref import WeakSet

from prompt_toolkit.input import Input

READ_BYTES = 65_536
_END = "\x1b[201~"
_QUICK: WeakSet[object] = WeakSet()  # others may stand between the input and the parser too


def quicken(keyboard: Input) -> None:
    """Let an input read more at once, and its parser look at each piece of a paste once. Harmless for other inputs."""
    parser: Any = getattr(keyboard, "vt100_parser", None)
    reader: Any = getattr(keyboard, "stdin_reader", None)
    if parser is None or reader is None or parser in _QUICK:
        return
    _QUICK.add(parser)
    parser.feed = _Paste(parser).feed
    read = cast("Callable[[int], str]", reader.read)
    reader.read = lambda count=READ_BYTES: read(max(count, READ_BYTES))


class _Paste:
    """Holds the pieces of a paste back until its end has come."""

    def __init__(self, parser: Any) -> None:
        self._parser = parser
        self._feed = cast("Callable[[str], None]", parser.feed)
        self._pieces: list[str] = []
        self._seam = ""

    def feed(self, data: str) -> None:
        """In place of the parser's own."""
        if not getattr(self._parser, "_in_bracketed_paste", False):
            self._feed(data)
            return
        self._pieces.append(data)
        if _END not in self._seam + data:
            self._seam = (self._seam + data)[1 - len(_END) :]
            return
        whole, self._pieces, self._seam = "".join(self._pieces), [], ""
        self._feed(whole)
