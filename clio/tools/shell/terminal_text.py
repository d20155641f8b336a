"""What a command prints, made into plain text while it comes in: no control sequences, no overwritten progress."""

import codecs

from clio.algorithms.late_pattern import LatePattern

_ESCAPE = LatePattern(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement
    r"|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # OSC, DCS, SOS, PM, APC: titles, links
    r"|[ -/]*[0-~])"  # the two- and three-character ones
)
_OPEN_ESCAPE = LatePattern(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\n]*\x1b?|[ -/]*)\Z")
_ERASED = LatePattern(r"[^\x08\n]\x08")
_CONTROL = LatePattern(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")
_MAX_LINE = 64 * 1024
_MAX_ESCAPE = 4096


class TerminalText:
    """Turns raw output into text, piece by piece; the same result however the bytes are cut.

    Bytes that are not UTF-8 become U+FFFD. Of a line redrawn with carriage returns only the last drawing stays; a line
    without an end is passed on in pieces of 64 KiB.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._open = ""

    def feed(self, data: bytes) -> str:
        """The text that is certain so far: whole lines, and long pieces of a line that does not end."""
        text = self._open + self._decoder.decode(data)
        end = text.rfind("\n") + 1
        lines, self._open = text[:end], text[end:]
        if "\r" in self._open:
            whole = _whole_part(self._open)
            self._open = _last_drawing(_ESCAPE.sub("", self._open[:whole])) + self._open[whole:]
        if len(self._open) > _MAX_LINE:
            whole = _whole_part(self._open)
            lines, self._open = lines + self._open[:whole], self._open[whole:]
        return _clean(lines)

    def unfinished(self) -> str:
        """The line that has no end yet, such as a question or a bar of progress; it stays held back."""
        return _clean(self._open).rstrip("\r")

    def finish(self) -> str:
        """What was held back, at the end of the output."""
        text, self._open = self._open + self._decoder.decode(b"", final=True), ""
        return _clean(text[: _whole_part(text)])


def _whole_part(text: str) -> int:
    """Where a control sequence begins whose end has not come yet; else the length."""
    found = _OPEN_ESCAPE.search(text, max(0, len(text) - _MAX_ESCAPE))
    return found.start() if found else len(text)


def _last_drawing(line: str) -> str:
    """A line without the drawings that later ones replaced; a final carriage return is kept, it may end the line."""
    drawings = [part for part in line.split("\r") if part]
    return (drawings[-1] if drawings else "") + ("\r" if line.endswith("\r") else "")


def _clean(text: str) -> str:
    if not _CONTROL.search(text):
        return text
    text = _ESCAPE.sub("", text)
    if "\r" in text:
        text = "\n".join(_last_drawing(line).rstrip("\r") for line in text.split("\n"))
    while "\x08" in text:
        text, erased = _ERASED.subn("", text)
        if not erased:
            break
    return _CONTROL.sub("", text)
