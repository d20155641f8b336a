"""What a model thinks aloud, as lines to be read out, or as how long it took."""

from clio.config.schema import ShowReasoning
from clio.ui.reader.spoken import spoken_seconds, undrawn
from clio.ui.reasoning import ReasoningStream
from clio.ui.theme import Theme

_TOLD_S = 1.0


class SpokenThoughts:
    """`ReasoningStream` in words. show: as the setting `reasoning`."""

    def __init__(self, show: ShowReasoning) -> None:
        self._stream = ReasoningStream(Theme(colour=False, escapes=False), show)
        self._begun = False

    @property
    def shows(self) -> bool:
        """Whether the words are read out."""
        return self._stream.show == "show"

    def toggle(self) -> list[str]:
        """Read out from the beginning of what is kept back, or keep back what comes from now on."""
        return self._lines([str(part.body) for part in self._stream.toggle()])

    def feed(self, text: str) -> list[str]:
        """The lines that this text has finished."""
        return self._lines([str(part.body) for part in self._stream.feed(text)])

    def finish(self, seconds: float) -> list[str]:
        """The last line; where the words were kept back, how long they took."""
        folded = self._stream.show == "fold"
        lines = [str(part.body) for part in self._stream.finish(0.0)]
        said = self._lines(lines)
        self._begun = False
        return [*said, f"thought for {spoken_seconds(seconds)}"] if folded and seconds >= _TOLD_S else said

    def _lines(self, lines: list[str]) -> list[str]:
        said = [f"{'' if self._begun or number else 'thinking: '}{undrawn(line)}" for number, line in enumerate(lines)]
        self._begun = self._begun or bool(lines)
        return said
