"""Calls with their settings and redirects, read by hand: the middle of `outline`. Pure."""

import re

from clio.algorithms.late_pattern import LatePattern
from clio.security.shell.moves import MOVES, PLAINLY_STARTS, Exits, Paths, entered
from clio.security.shell.scan import Lost, Scanner
from clio.security.shell.state import DECLARES
from clio.security.shell.words import FROM_FILE, Word, names

COMPOUND = names("if while until for case function [[ {")
CLOSING = names("then do done fi else elif esac } ! select coproc")
_WORD_END = r"(?=[ \t\n;&|<>()]|\Z)"
_RESERVED = LatePattern(rf"(?:[{{}}!]|\[\[|[a-z]{{2,8}}){_WORD_END}")
PARENS = LatePattern(r"\([ \t]*\)")
_REDIRECT = LatePattern(r"\d*(?:<<<|<<-|<<|<&|<>|<(?!\()|>>|>&|>\||>(?!\())|&>>?")
_ASSIGNS = LatePattern(r"([A-Za-z_]\w*)(?:\[\d+\])?\+?=", re.ASCII)
_SUBSCRIPT = LatePattern(r"[A-Za-z_]\w*\[", re.ASCII)
_ELEMENT = LatePattern(r"\[(?!\d+\]=)")
_NUMBERED = LatePattern(r"\{\w+\}\Z")
_DESCRIPTOR = LatePattern(r"\d+-?")
_TIMES = frozenset({Word("time"), Word("-p"), Word("--")})
CLOSED = "\0\0"
"""What a call is fed whose input is another descriptor, or none."""


class Simple(Scanner):
    """A scanner that reads calls.

    calls, settings, redirects: what was found, by where each begins. places: where each word of them begins, and the
    folders the line may be in there. inputs: by calls, where the text each is fed stands in `documents`,
    or that text, or the sign of a file. fed: the same of the call that is being read.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text, ("",))
        self.calls: dict[int, tuple[Word, ...]] = {}
        self.settings: dict[int, tuple[str, Word]] = {}
        self.redirects: dict[int, tuple[str, Word]] = {}
        self.places: dict[int, Paths] = {}
        self.inputs: dict[int, int | str] = {}
        self.fed: int | str | None = None
        self.loops = 0
        self.moved = self.deferred = False

    def function(self, name: Word) -> Exits:
        """Read a function, whose name is read."""
        raise NotImplementedError

    def reserved(self, *words: str) -> str:
        """Which of these words stands here; "" for none."""
        match = _RESERVED.match(self.text, self.at, self.end)
        return match[0] if match and match[0] in words else ""

    def simple(self) -> Exits:
        """A call with its settings and redirects."""
        words, begin, first = list[Word](), self.at, -1
        plain, fed = True, None
        while True:
            self.blanks()
            self.fed = fed
            if self.redirect():
                plain, fed = False, self.fed
                continue
            if self.peek() in ("\n", ";", "&", "|", ")", ""):
                break
            if self.peek() == "(":
                if len(words) == 1 and plain and PARENS.match(self.text, self.at, self.end):
                    return self.function(words[0])
                raise Lost("a bracket stands inside a command")
            if self.setting(words):
                plain = False
                continue
            if words and _TIMES.issuperset(words) and self.reserved(*COMPOUND, *CLOSING):
                raise Lost("time stands before a compound command")
            at = self.at
            word = self.word()
            if self.at == at or (_NUMBERED.fullmatch(word.text) and self.peek() in ("<", ">")):
                raise Lost(f"it cannot go on at {self.peek(20)!r}")
            self.places[at] = self.here
            first = at if first < 0 else first
            words.append(word)
        if self.at == begin:
            raise Lost("a command is missing")
        if words:
            self.calls[first] = tuple(words)
            if fed is not None:
                self.inputs[first] = fed
        return self.moves(tuple(words))

    def moves(self, words: tuple[Word, ...]) -> Exits:
        while words and (words[0].text in PLAINLY_STARTS or words[0].text in ("-p", "--")):
            words = words[1:]
        if not words or words[0].text not in MOVES:
            return self.here, self.here
        self.moved = True
        self.deferred = self.deferred or self.loops > 0
        return entered(self.here, words), self.here

    def setting(self, words: list[Word]) -> bool:
        """Whether `name=value` stands here, before a call or behind `export` and its like; then it is read."""
        declares = bool(words) and words[0].text in DECLARES
        if words and not declares:
            return False
        begin = self.at
        match = _ASSIGNS.match(self.text, self.at, self.end)
        if match is None:
            if _SUBSCRIPT.match(self.text, self.at, self.end):
                raise Lost("a name may have a subscript")
            return False
        self.places[begin] = self.here
        self.at = match.end()
        if self.peek() == "(":
            self.at += 1
            self.array()
            value = Word("(", dynamic=True)
        else:
            value = self.word()
        if declares:
            words.append(Word(f"{match[1]}={value.text}", value.dynamic, value.glob))
        else:
            self.settings[begin] = (match[1], value)
        return True

    def array(self) -> None:
        """The elements of an array, up to the bracket behind them."""
        if self.waiting:
            raise Lost("an array stands before a here-document")
        self.gap()
        while self.peek() != ")":
            begin = self.at
            if _ELEMENT.match(self.text, self.at, self.end):
                raise Lost("an element has a subscript")
            self.word()
            if self.at == begin:
                raise Lost("an array has no end")
            self.gap()
        self.at += 1

    def redirect(self) -> bool:
        """Whether a redirect stands here; then it is read."""
        sign = self.skip(_REDIRECT)
        operator = sign.lstrip("0123456789")
        feeds = operator[:1] == "<" and sign[:1] in ("0", "<")
        fed, before = CLOSED, self.fed
        if not operator:
            return False
        self.blanks()
        begin = self.at
        if operator in ("<<", "<<-"):
            here = self.delimiter(tabs=operator == "<<-")
            self.waiting.append(here)
            fed = begin
        elif operator in (">&", "<&") and self.peek() == "-":
            self.at += 1
        else:
            word = self.word()
            if self.at == begin:
                raise Lost("a redirect leads nowhere")
            self.places[begin] = self.here
            closes = operator in (">&", "<&") and not word.dynamic and _DESCRIPTOR.fullmatch(word.text) is not None
            if operator == "<<<":
                fed = "" if word.dynamic else word.text
            elif not closes:
                self.redirects[begin] = (operator, word)
                fed = FROM_FILE
        self.fed = fed if feeds else before
        return True
