"""Takes a terminal's answers out of what is typed: whole, in pieces, late, with keys before and behind them. All pure.

OSC 11 asks for the background. Not every terminal answers that, but all say what they are (DA1): once that answer is
there, the other one has been there or, but for rare multiplexers, will not come.
"""

from clio.text.lazy_regex import LazyRegex

QUESTION = "\x1b]11;?\x1b\\\x1b[c"
_COLOUR = LazyRegex(r"\x1b\]11;([^\x07\x1b\x9c]{0,64})(?:\x07|\x1b\\|\x9c)")
_FENCE = LazyRegex(r"\x1b\[\?[0-9;]{0,64}c")
_OPEN_COLOUR = r"\](?:1(?:1(?:;[^\x07\x1b\x9c]{0,64}\x1b?)?)?)?"
_OPEN_FENCE = r"\[(?:\?[0-9;]{0,64})?"
_OPEN = LazyRegex(rf"\x1b(?:{_OPEN_COLOUR}|{_OPEN_FENCE})?\Z")
_OPEN_LATE = LazyRegex(rf"\x1b(?:{_OPEN_COLOUR})?\Z")
_A_KEY = 2
"""So long may be the beginning of a key: Esc, or Alt and a bracket."""


class Replies:
    """What comes from a keyboard goes through `feed`; when nothing follows for a moment, `flush` gives back what may
    have been a key after all.

    colour: the background as the terminal names it, "" before it has. fenced: no answer is to be waited for any more.
    """

    def __init__(self) -> None:
        self.colour = ""
        self.fenced = False
        self._held = ""
        self._given = 0  # so much of what is held was given back, as keys

    @property
    def over(self) -> bool:
        """Whether nothing can come any more."""
        return self.fenced and bool(self.colour)

    def feed(self, data: str) -> str:
        """What of it was typed."""
        text = self._held + data
        if self._given and not any(form.match(text) for form in (_COLOUR, _FENCE, self._open)):
            text = text[self._given :]  # those were keys indeed
            self._given = 0
        text = self._take_colour(text)
        if not self.fenced and (match := _FENCE.search(text)):
            text = text[: match.start()] + text[match.end() :]
            self.fenced, self._given = True, 0
        begun = None if self.over else self._open.search(text)
        at = begun.start() if begun else len(text)
        if at:
            self._given = 0
        text, self._held = text[:at], text[at:]
        return text

    def flush(self) -> str:
        """What was held back and, as nothing followed, was typed. The rest of an answer may still come."""
        if not 0 < len(self._held) <= _A_KEY:
            return ""
        text, self._given = self._held[self._given :], len(self._held)
        return text

    @property
    def _open(self) -> LazyRegex:
        return _OPEN_LATE if self.fenced else _OPEN

    def _take_colour(self, text: str) -> str:
        if self.colour or not (match := _COLOUR.search(text)):
            return text
        self.colour, self._given = match[1] or "?", 0
        return text[: match.start()] + text[match.end() :]
