"""Large pastes: a short stand-in on the line, the whole text in the message."""

MAX_CHARS = 4_000
MAX_LINES = 40


class Pastes:
    """What was pasted into the lines of this run, by its stand-in."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def take(self, data: str) -> str:
        """What to put on the line for pasted text: the text, or its stand-in where it would fill the screen."""
        text = data.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + (not text.endswith("\n"))
        if len(text) <= MAX_CHARS and lines <= MAX_LINES:
            return text
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        stand_in = f"[pasted text {len(self._texts) + 1}: {size}]"
        self._texts[stand_in] = text
        return stand_in

    def expand(self, line: str) -> str:
        """The line with every stand-in replaced by what it stands for."""
        for stand_in, text in self._texts.items():
            line = line.replace(stand_in, text)
        return line

    def collapse(self, text: str) -> str:
        """The text with every paste that still stands in it as its stand-in again; the opposite of `expand`."""
        for stand_in, pasted in self._texts.items():
            text = text.replace(pasted.rstrip("\n") or pasted, stand_in)
        return text

    def ends_with(self, line: str) -> int:
        """How many characters at the end of the line are one stand-in; 0 where it ends with something else."""
        return next((len(stand_in) for stand_in in self._texts if line.endswith(stand_in)), 0)
