"""What a model thinks aloud: line by line, faint and without any markup; or folded into how long it took."""

from rich.text import Text

from clio.config.schema import ShowReasoning
from clio.ui.footer.status import format_seconds
from clio.ui.painter import Part
from clio.ui.theme import Theme

_MAX_LINE = 2000
_TOLD_S = 1.0


class ReasoningStream:
    """`StreamingMarkdown`'s little sister: lines are finished at their newline.

    show: "fold" keeps the words back until `toggle`, and leaves one line if it took a second; "hide" leaves none.
    """

    def __init__(self, theme: Theme, show: ShowReasoning = "show") -> None:
        self.show: ShowReasoning = show
        self._theme = theme
        self._style = theme.reasoning
        self._held: list[str] = []
        self._partial = ""
        self._started = False
        self._gap = False

    def toggle(self) -> list[Part]:
        """Unfold what is folded, from its beginning, or fold what comes from now on; the lines to print."""
        if self.show == "show":
            self.show = "fold"
            part, self._partial = self._line(self._partial), ""
            return [part] if part is not None else []
        self.show = "show"
        held, self._held = "".join(self._held), []
        return self.feed(held)

    def feed(self, text: str) -> list[Part]:
        """The lines that this text has finished."""
        if self.show != "show":
            self._held.append(text)
            return []
        *lines, self._partial = (self._partial + text).split("\n")
        while len(self._partial) > _MAX_LINE:
            lines.append(self._partial[:_MAX_LINE])
            self._partial = self._partial[_MAX_LINE:]
        return [part for line in lines if (part := self._line(line)) is not None]

    def finish(self, seconds: float = 0.0) -> list[Part]:
        """The last line; the object can then take other reasoning. seconds: how long the thinking took."""
        parts = [part for part in (self._line(self._partial),) if part is not None]
        if self.show == "fold" and seconds >= _TOLD_S and any(text.strip() for text in self._held):
            parts.append(Part(body=Text(f"thought for {format_seconds(seconds)}", self._theme.faint)))
        self._held, self._partial, self._started, self._gap = [], "", False, False
        return parts

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
