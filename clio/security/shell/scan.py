"""Words, quotes and substitutions of bash, read by hand: the lower half of `outline`. Pure.

Reads less than bash does, on purpose: what it does not know for certain it gives up on.
"""

import re

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.security.shell import words as shell_words
from clio.security.shell.moves import Paths
from clio.security.shell.words import Word

MAX_DEPTH = 40
_BLANKS = LatePattern(r"(?:[ \t]|\\\n)*")
_RUN = LatePattern(r"[^ \t\n\\'\"$`;&|<>()]+")
_IN_DOUBLE = LatePattern(r"[^\\\"$`]+")
_IN_TEXT = LatePattern(r"[^\\$`]+")
_IN_BRACES = LatePattern(r"[^\\\"'$`{}\n<>]+")
_IN_SUM = LatePattern(r"[\w \t+*/%<>=!&|?:,^~.#\[\]-]+", re.ASCII)
_NAME = LatePattern(r"[A-Za-z_]\w*|[@*#?$!\d-]", re.ASCII)
_PARAMETER = LatePattern(r"[!#]?(?:[A-Za-z_]\w*(?:\[(?:\w+|[@*])\])?|[@*#?$!-]|\d+)", re.ASCII)
_ANSI = LatePattern(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_TWICE = LatePattern(r"\\[$`\\\"\n]|\\$")
_GOES_ON = LatePattern(r"(?<!\\)(?:\\\\)*\\\n")
_DELIMITER = LatePattern(r"[\w!.+-]+", re.ASCII)
_END_OF_WORD = frozenset(" \t\n;&|()")


class Lost(Exception):
    """The reader does not know what bash makes of this."""


class Here(Struct, frozen=True):
    """A here-document whose text has not come yet; place: of its delimiter; folders: where its command runs."""

    place: int
    delimiter: str
    quoted: bool
    tabs: bool
    folders: Paths


def decoded(text: str) -> str:
    """Text of a line, of which a character is a byte."""
    return text.encode("latin-1").decode("utf-8", "surrogatepass")


def _has_braces(raw: str) -> bool:
    """Whether unquoted text may make several words of one; what it is given is long, so nothing is read twice."""
    inside = raw[raw.find("{") + 1 : max(0, raw.rfind("}"))] if "{" in raw else ""
    return "," in inside or ".." in inside


class Scanner:
    """A place in a text, and the ways forward from it.

    text: of a line, a byte a character, so that places are those of the other reader.
    here: where the line is by now. waiting: the here-documents whose text begins behind the end of this line.
    documents: the texts of those that were read, "" where something is substituted in one.
    """

    def __init__(self, text: str, here: Paths) -> None:
        self.text = text
        self.here = here
        self.at: int = 0
        self.end: int = len(text)
        self.depth: int = 0
        self.waiting: list[Here] = []
        self.documents: dict[int, str] = {}

    def commands(self, closing: str) -> None:
        """Read the commands inside a substitution up to its end, which is not read."""
        raise NotImplementedError

    def peek(self, size: int = 1) -> str:
        """What comes next; shorter at the end."""
        return self.text[self.at : min(self.at + size, self.end)]

    def skip(self, pattern: LatePattern) -> str:
        """Go over what a pattern finds here, and give it."""
        match = pattern.match(self.text, self.at, self.end)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def take(self, sign: str) -> None:
        """Go over a sign that must stand here."""
        if self.peek(len(sign)) != sign:
            raise Lost(f"{sign!r} is missing")
        self.at += len(sign)

    def blanks(self) -> None:
        """Go over blanks, and over a comment up to the end of its line."""
        over = self.skip(_BLANKS)
        if self.waiting and "\n" in over:
            raise Lost("a line goes on before a here-document")
        if self.peek() == "#":
            end = self.text.find("\n", self.at, self.end)
            self.at = self.end if end < 0 else end

    def gap(self) -> None:
        """Go over blanks, comments and ends of lines, with the here-documents that follow those."""
        self.blanks()
        while self.peek() == "\n":
            self.at += 1
            waiting, self.waiting = self.waiting, []
            for here in waiting:
                self.document(here)
            self.blanks()

    def document(self, here: Here) -> None:
        """Go over the text of a here-document, which begins here, and into what it substitutes."""
        begin = stop = self.at
        while True:
            if stop >= self.end:
                raise Lost("a here-document has no end")
            end = self.text.find("\n", stop, self.end)
            end = self.end if end < 0 else end
            line = self.text[stop:end]
            if (line.lstrip("\t") if here.tabs else line) == here.delimiter:
                break
            stop = end + 1
        text = self.text[begin:stop]
        fixed = here.quoted or not ("$" in text or "`" in text)
        self.documents[here.place] = decoded(text) if fixed else ""
        if not here.quoted:
            if _GOES_ON.search(text):
                raise Lost("a line of a here-document goes on")
            limit, place, self.end, self.at, self.here = self.end, self.here, stop, begin, here.folders
            while self.at < self.end:
                self.skip(_IN_TEXT)
                self.expansion()
            self.end, self.here = limit, place
        self.at = min(end, self.end)
        if self.at < self.end:  # the end of the line that ends it
            self.at += 1

    def delimiter(self, *, tabs: bool) -> Here:
        """The word behind `<<`."""
        begin = self.at
        word = self.word()
        raw = self.text[begin : self.at]
        if word.dynamic or "$" in raw or _DELIMITER.fullmatch(word.text) is None:
            raise Lost("the end of a here-document is a strange one")
        return Here(begin, word.text, quoted=any(mark in raw for mark in "'\"\\"), tabs=tabs, folders=self.here)

    def word(self) -> Word:
        """One word; an empty one where none begins."""
        begin = self.at
        parts, bare, dynamic = list[str](), list[str](), False
        while self.at < self.end:
            if run := self.skip(_RUN):
                parts.append(run)
                bare.append(run)
                continue
            sign, two = self.peek(), self.peek(2)
            if sign in _END_OF_WORD or (sign in "<>" and two[1:] != "("):
                break
            bare.append("x")
            if sign in "<>":
                self.at += 2
                self.nested(")")
                known = None
            else:
                known = self.piece(sign)
            dynamic = dynamic or known is None
            parts.append(known or "")
        if self.waiting and "\n" in self.text[begin : self.at]:
            raise Lost("a line goes on before a here-document")
        raw = "".join(bare)
        return Word(decoded("".join(parts)), dynamic or _has_braces(raw), any(mark in raw for mark in "*?["))

    def piece(self, sign: str) -> str | None:
        """A quoted or substituted piece of a word; None for one only the run can tell."""
        match sign:
            case "\\":
                two = self.peek(2)
                if len(two) < 2:
                    raise Lost("a backslash ends it")
                self.at += 2
                return "" if two[1] == "\n" else two[1]
            case "'":
                end = self.text.find("'", self.at + 1, self.end)
                if end < 0:
                    raise Lost("a quote has no end")
                inside, self.at = self.text[self.at + 1 : end], end + 1
                return inside
            case '"':
                return self.double()
            case "$":
                return self.dollar(quoted=False)
            case _:
                self.backquote(quoted=False)
                return None

    def double(self) -> str | None:
        """A text in double quotes; None where something is substituted in it."""
        self.take('"')
        parts, known = list[str](), True
        while True:
            parts.append(self.skip(_IN_DOUBLE))
            sign = self.peek()
            if sign == '"':
                self.at += 1
                return "".join(parts) if known else None
            if sign == "":
                raise Lost("a quote has no end")
            piece = self.expansion()
            known = known and piece is not None
            parts.append(piece or "")

    def expansion(self) -> str | None:
        """A backslash, a dollar or a backquote as a text in double quotes has it; "" where there is none."""
        sign, two = self.peek(), self.peek(2)
        if sign == "$":
            return self.dollar(quoted=True)
        if sign == "`":
            self.backquote(quoted=True)
            return None
        if sign == "\\":
            self.at += len(two)
            return {'\\"': '"', "\\$": "$", "\\`": "`", "\\\\": "\\", "\\\n": ""}.get(two, two)
        return ""

    def dollar(self, *, quoted: bool) -> str | None:
        """What stands behind a `$`: the text it is, None for one only the run can tell."""
        self.at += 1
        sign, two = self.peek(), self.peek(2)
        if two == "((":
            self.at += 2
            self.sum()
        elif sign == "(":
            self.at += 1
            self.nested(")")
        elif sign == "{":
            self.at += 1
            self.parameter(quoted=quoted)
        elif sign == "[" or two == "\\\n":
            raise Lost("a $ stands before what few know")
        elif sign == "'" and not quoted:
            inside = self.skip(_ANSI)
            if not inside or shell_words.strange_ansi(inside[1:-1]):
                raise Lost("a text in $'' is a strange one")
            return shell_words.in_ansi_quotes(inside[1:-1]).encode("utf-8", "surrogatepass").decode("latin-1")
        elif sign == '"' and not quoted:
            self.double()
        elif not self.skip(_NAME):
            return "$"
        return None

    def sum(self, *, parted: bool = False) -> None:
        """Go over arithmetic up to its `))`; parted: it has three parts, as in `for ((;;))`."""
        depth = 0
        while True:
            self.skip(_IN_SUM)
            sign = self.peek()
            if sign == "$":
                self.dollar(quoted=True)
            elif sign == "(":
                depth, self.at = depth + 1, self.at + 1
            elif sign == ")" and depth:
                depth, self.at = depth - 1, self.at + 1
            elif sign == ";" and parted:
                self.at += 1
            else:
                return self.take("))")

    def parameter(self, *, quoted: bool) -> None:
        """Go over `${…}`, whose brace is read, and into what it substitutes."""
        if not self.skip(_PARAMETER):
            raise Lost("a parameter has a strange name")
        while True:
            self.skip(_IN_BRACES)
            sign, two = self.peek(), self.peek(2)
            if sign == "}":
                self.at += 1
                return
            if sign == '"' and not quoted:
                self.double()
            elif sign in "<>" and sign and two[1:] != "(":
                self.at += 1
            elif sign in "$`\\" and sign and two != "\\\n":
                self.expansion()
            else:
                raise Lost("quotes or braces stand inside ${ }")

    def backquote(self, *, quoted: bool) -> None:
        """Go over a substitution in backquotes."""
        close = self.text.find("`", self.at + 1, self.end)
        inside = self.text[self.at + 1 : close]
        if close < 0 or _TWICE.search(inside) or (quoted and '"' in inside):
            raise Lost("backquotes hold quotes")
        limit, self.end, self.at = self.end, close, self.at + 1
        self.nested("")
        if self.at != close:
            raise Lost("backquotes end too early")
        self.end, self.at = limit, close + 1

    def nested(self, closing: str) -> None:
        """Go over the commands of a substitution, and over the sign that ends it."""
        if self.depth > MAX_DEPTH:
            raise Lost("it is nested too deeply")
        begin, outer, self.waiting = self.at, self.waiting, []
        self.depth += 1
        self.commands(closing)
        self.depth -= 1
        if self.waiting or (outer and "\n" in self.text[begin : self.at]):
            raise Lost("a here-document begins in a substitution, or before one")
        self.waiting = outer
        self.take(closing)
