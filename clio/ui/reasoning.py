"""What a model thinks aloud, line by line, faint and without any markup."""

from rich.text import Text

from clio.ui.painter import Part
from clio.ui.theme import Theme

_MAX_LINE = 2000


class ReasoningStream:
    """`StreamingMarkdown`'s little sister: lines are finished at their newline."""

    def __init__(self, theme: Theme) -> None:
        self._style = theme.reasoning
        self._partial = ""
        self._started = False
        self._gap = False

    def feed(self, text: str) -> list[Part]:
        """The lines that this text has finished."""
        *lines, self._partial = (self._partial + text).split("\n")
        while len(self._partial) > _MAX_LINE:
            lines.append(self._partial[:_MAX_LINE])
            self._partial = self._partial[_MAX_LINE:]
        return [part for line in lines if (part := self._line(line)) is not None]

    def finish(self) -> list[Part]:
        """The last line; the object can then take other reasoning."""
        last = self._line(self._partial)
        self._partial, self._started, self._gap = "", False, False
        return [last] if last is not None else []

    def tail(self) -> Part | None:
        """The line that has no end yet."""
        if not self._partial.strip():
            return None
        return Part(body=Text(self._partial.strip(), self._style), gap=self._gap and self._started)

    def _line(self, line: str) -> Part | None:
        if not line.strip():
            self._gap = True
            return None
        part = Part(body=Text(line.strip(), self._style), gap=self._gap and self._started)
        self._started, self._gap = True, False
        return part
