"""Splits `<think>…</think>`, which some servers leave inside the text of an answer, off into reasoning. Pure."""

OPEN, CLOSE = "<think>", "</think>"
_FENCES = "`~"
_MOST_FENCE = 200  # characters of a line that are kept to see whether it opens or closes a code block
_MOST_HELD = 32_000  # characters of a later block; a longer one is ordinary text


class ThinkSplitter:
    """Reads the text of one answer in order, cut anywhere.

    A block counts where it begins the answer, or begins a line outside a code block and is closed. At the beginning
    of an answer it is passed on at once and may stay open; later ones are held back until they are closed, and are
    ordinary text if that never happens.
    """

    def __init__(self) -> None:
        self._held = ""  # what cannot be told yet: the beginning of a tag, or a later block that is still open
        self._inside = False  # in a block that is passed on
        self._began = False  # whether the answer has had text other than white space
        self._blank = True  # whether the present line has only white space so far
        self._line = ""  # the present line, where it may open or close a code block
        self._fence = ""  # what opened the present code block

    def feed(self, text: str) -> tuple[str, str]:
        """The text and the reasoning that are certain now."""
        if not (self._held or self._inside or self._blank or self._line or "\n" in text):
            return text, ""  # nearly every piece of an answer
        data, self._held = self._held + text, ""
        said: list[str] = []
        thought: list[str] = []
        while data:
            data = self._think(data, thought) if self._inside else self._say(data, said, thought)
        return "".join(said), "".join(thought)

    def end(self) -> tuple[str, str]:
        """What was held back, now that nothing follows."""
        held, self._held = self._held, ""
        return ("", held) if self._inside else (held, "")

    def _think(self, data: str, thought: list[str]) -> str:
        """Pass on reasoning; returns what follows it."""
        before, closed, after = data.partition(CLOSE)
        if closed:
            thought.append(before)
            self._inside, self._blank, self._line = False, True, ""
            return after
        keep = _overlap(data, CLOSE)
        thought.append(data[: len(data) - keep])
        self._held = data[len(data) - keep :]
        return ""

    def _say(self, data: str, said: list[str], thought: list[str]) -> str:
        """Pass on text to the end of the line at most; returns what follows it."""
        line, newline, rest = data.partition("\n")
        if self._blank:
            bare = line.lstrip()
            if bare and not self._fence:
                space = line[: len(line) - len(bare)]
                if bare.startswith(OPEN):
                    said.append(space)
                    return self._open(data[len(space) :], said, thought)
                if not newline and OPEN.startswith(bare):
                    said.append(space)
                    self._held = bare
                    return ""
            self._blank = not bare
            self._line = bare if bare[:1] and bare[0] in _FENCES else ""
        elif self._line:
            self._line = (self._line + line)[:_MOST_FENCE]
        self._began = self._began or not self._blank
        said.append(line + newline)
        if newline:
            self._end_line()
        return rest

    def _open(self, data: str, said: list[str], thought: list[str]) -> str:
        """Begin a block; returns what is to be read next."""
        if not self._began:
            self._inside = True
            return data[len(OPEN) :]
        end = data.find(CLOSE, 0, _MOST_HELD)
        if end >= 0:
            thought.append(data[len(OPEN) : end])
            return data[end + len(CLOSE) :]
        if len(data) < _MOST_HELD:
            self._held = data
            return ""
        said.append(OPEN)
        self._blank = False
        return data[len(OPEN) :]

    def _end_line(self) -> None:
        line, self._line, self._blank = self._line.rstrip(), "", True
        run = line[: len(line) - len(line.lstrip(line[:1]))] if line else ""
        if len(run) < 3:
            return
        if not self._fence:
            self._fence = run
        elif run == line and run.startswith(self._fence):
            self._fence = ""


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of the text may be the beginning of the tag."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if tag.startswith(text[-size:])), 0)
