"""A hand-written parser for bash that finds what a line runs and where, to check the grammar-based parser. Pure."""

import re
from collections.abc import Callable

from msgspec import Struct

from clio.security.shell import command_line as shell_words
from clio.security.shell.command_line import (
    DECIDES_MOVES,
    DECLARES,
    FROM_FILE,
    MOVES,
    PLAINLY_STARTS,
    Exits,
    Paths,
    Word,
    merge_folders,
    resolve_cd,
    word_set,
)

MAX_DEPTH = 40
"""Levels of nesting; the parser is recursive."""
_BLANKS = re.compile(r"(?:[ \t]|\\\n)*")
_RUN = re.compile(r"[^ \t\n\\'\"$`;&|<>()]+")
_IN_DOUBLE = re.compile(r"[^\\\"$`]+")
_IN_TEXT = re.compile(r"[^\\$`]+")
_IN_BRACES = re.compile(r"[^\\\"'$`{}\n<>]+")
_IN_SUM = re.compile(r"[\w \t+*/%<>=!&|?:,^~.#\[\]-]+", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*|[@*#?$!\d-]", re.ASCII)
_PARAMETER = re.compile(r"[!#]?(?:[A-Za-z_]\w*(?:\[(?:\w+|[@*])\])?|[@*#?$!-]|\d+)", re.ASCII)
_ANSI = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_TWICE = re.compile(r"\\[$`\\\"\n]|\\$")
_GOES_ON = re.compile(r"(?<!\\)(?:\\\\)*\\\n")
_DELIMITER = re.compile(r"[\w!.+-]+", re.ASCII)
_END_OF_WORD = frozenset(" \t\n;&|()")


class Lost(Exception):
    """The parser does not know how bash interprets the text."""


class Here(Struct, frozen=True):
    """A here-document whose text has not been reached. place: of its delimiter. folders: where its command runs."""

    place: int
    delimiter: str
    quoted: bool
    tabs: bool
    folders: Paths


def decode_line(text: str) -> str:
    """Decode a part of the line, in which each character represents one byte."""
    return text.encode("latin-1").decode("utf-8", "surrogatepass")


def _has_braces(raw: str) -> bool:
    """Whether unquoted text may expand to several words. Linear in time, because the input can be long."""
    inside = raw[raw.find("{") + 1 : max(0, raw.rfind("}"))] if "{" in raw else ""
    return "," in inside or ".." in inside


class Scanner:
    """A position in a text, and the ways to advance.

    Attributes:
        text: of the line with one byte per character, so that positions equal those of the other parser.
        here: the folders the line may be in at this point.
        waiting: the here-documents whose text begins after the end of this line.
        documents: the texts of those already read, "" if one contains a substitution.
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
        """Read the commands inside a substitution up to its closing character, which is not consumed."""
        raise NotImplementedError

    def peek(self, size: int = 1) -> str:
        """Return the next characters; fewer at the end."""
        return self.text[self.at : min(self.at + size, self.end)]

    def skip(self, pattern: re.Pattern[str]) -> str:
        """Consume and return what a pattern matches here."""
        match = pattern.match(self.text, self.at, self.end)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def take(self, sign: str) -> None:
        """Consume an operator that must be here."""
        if self.peek(len(sign)) != sign:
            raise Lost(f"{sign!r} is missing")
        self.at += len(sign)

    def blanks(self) -> None:
        """Skip blanks, and a comment up to the end of its line."""
        over = self.skip(_BLANKS)
        if self.waiting and "\n" in over:
            raise Lost("a line goes on before a here-document")
        if self.peek() == "#":
            end = self.text.find("\n", self.at, self.end)
            self.at = self.end if end < 0 else end

    def gap(self) -> None:
        """Skip blanks, comments and line ends, with the here-documents that follow them."""
        self.blanks()
        while self.peek() == "\n":
            self.at += 1
            waiting, self.waiting = self.waiting, []
            for here in waiting:
                self.document(here)
            self.blanks()

    def document(self, here: Here) -> None:
        """Read the text of a here-document, which begins here, and its substitutions."""
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
        self.documents[here.place] = decode_line(text) if fixed else ""
        if not here.quoted:
            if _GOES_ON.search(text):
                raise Lost("a line of a here-document goes on")
            limit, place, self.end, self.at, self.here = self.end, self.here, stop, begin, here.folders
            while self.at < self.end:
                self.skip(_IN_TEXT)
                self.expansion()
            self.end, self.here = limit, place
        self.at = min(end, self.end)
        if self.at < self.end:  # the line end after the delimiter
            self.at += 1

    def delimiter(self, *, tabs: bool) -> Here:
        """Read the word after `<<`."""
        begin = self.at
        word = self.word()
        raw = self.text[begin : self.at]
        if word.dynamic or "$" in raw or _DELIMITER.fullmatch(word.text) is None:
            raise Lost("the end of a here-document is a strange one")
        return Here(begin, word.text, quoted=any(mark in raw for mark in "'\"\\"), tabs=tabs, folders=self.here)

    def word(self) -> Word:
        """Read one word; an empty one if none begins here."""
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
        return Word(decode_line("".join(parts)), dynamic or _has_braces(raw), any(mark in raw for mark in "*?["))

    def piece(self, sign: str) -> str | None:
        """Read a quoted or substituted part of a word; None for one that is only known at run time."""
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
        """Read a text in double quotes; None if it contains a substitution."""
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
        """Read a backslash, dollar or backquote inside double quotes; "" if there is none."""
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
        """Read what follows a `$`. Returns its text, None if it is only known at run time."""
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
            if not inside or shell_words.has_strange_ansi(inside[1:-1]):
                raise Lost("a text in $'' is a strange one")
            return shell_words.unquote_ansi_quoted(inside[1:-1]).encode("utf-8", "surrogatepass").decode("latin-1")
        elif sign == '"' and not quoted:
            self.double()
        elif not self.skip(_NAME):
            return "$"
        return None

    def sum(self, *, parted: bool = False) -> None:
        """Read arithmetic up to its `))`. parted: it has three parts, as in `for ((;;))`."""
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
        """Read `${…}` after its opening brace, and the substitutions in it."""
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
        """Read a substitution in backquotes."""
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
        """Read the commands of a substitution and its closing character."""
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


COMPOUND = word_set("if while until for case function [[ {")
CLOSING = word_set("then do done fi else elif esac } ! select coproc")
_WORD_END = r"(?=[ \t\n;&|<>()]|\Z)"
_RESERVED = re.compile(rf"(?:[{{}}!]|\[\[|[a-z]{{2,8}}){_WORD_END}")
PARENS = re.compile(r"\([ \t]*\)")
_REDIRECT = re.compile(r"\d*(?:<<<|<<-|<<|<&|<>|<(?!\()|>>|>&|>\||>(?!\())|&>>?")
_ASSIGNS = re.compile(r"([A-Za-z_]\w*)(?:\[\d+\])?\+?=", re.ASCII)
_SUBSCRIPT = re.compile(r"[A-Za-z_]\w*\[", re.ASCII)
_ELEMENT = re.compile(r"\[(?!\d+\]=)")
_NUMBERED = re.compile(r"\{\w+\}\Z")
_DESCRIPTOR = re.compile(r"\d+-?")
_TIMES = frozenset({Word("time"), Word("-p"), Word("--")})
CLOSED = "\0\0"
"""Marks the input of a call as another descriptor, or closed."""


class Simple(Scanner):
    """A scanner that reads calls.

    Attributes:
        calls, settings, redirects: what was found, by start position.
        places: for each word, the folders the line may be in there, by start position.
        inputs: for each call, where its input text is in `documents`, or the text itself, or the mark of a file.
        fed: the same for the call being read.
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
        """Read a function after its name."""
        raise NotImplementedError

    def reserved(self, *words: str) -> str:
        """Return which of these words is here; "" for none."""
        match = _RESERVED.match(self.text, self.at, self.end)
        return match[0] if match and match[0] in words else ""

    def simple(self) -> Exits:
        """Read a call with its assignments and redirects."""
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
        return resolve_cd(self.here, words), self.here

    def setting(self, words: list[Word]) -> bool:
        """Read `name=value` before a call or after `export` and similar built-ins; False if there is none here."""
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
        """Read the elements of an array up to its closing bracket."""
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
        """Read a redirect; False if there is none here."""
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


_FUNCTION = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_VARIABLE_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_IN_TEST = re.compile(r"&&|\|\||[()]|[<>](?!\()")
_SPLIT_SIGN = re.compile(r"[;&|<>($]\\\n(?:\\\n)*[;&|<>({\[]")
_CASE_END = re.compile(r";;&|;;|;&")


class Outline(Simple):
    """Everything that one line runs; see `Simple` for the attributes.

    Attributes:
        lost: why the line could not be parsed; "" if it could.
        plain: a shell with fewer features than bash reads it, in which the end of a pipe may move the line.
    """

    def __init__(self, source: bytes, *, plain: bool) -> None:
        super().__init__(source.decode("latin-1"))
        self.plain = plain
        self.lost = ""
        try:
            if _SPLIT_SIGN.search(self.text):
                raise Lost("a sign may go on over the end of a line")
            self.commands("")
            if self.at < self.end or self.waiting:
                raise Lost(f"it cannot go on at {self.peek(20)!r}")
        except (Lost, RecursionError) as error:
            self.lost = str(error) or "it is nested too deeply"
        if self.moved and self.deferred:
            # A function, or the next iteration of a loop, runs wherever the line is by then.
            self.places = dict.fromkeys(self.places)

    def commands(self, closing: str) -> None:
        """Read all statements up to the end or the closing character, in a subshell."""
        place = self.here
        self.statements(closing)
        self.here = place

    def statements(self, *closing: str) -> Exits:
        """Read statements up to one of these words or operators, which is not consumed. Returns where the last one
        leaves the line.
        """
        exits: Exits = (self.here, self.here)
        while True:
            self.gap()
            if self.at >= self.end or self.peek() == ")" or self.reserved(*closing):
                return exits
            if "esac" in closing and self.peek(2) in (";;", ";&"):  # `a & ;;`
                return exits
            start = self.here
            exits = self.chain()
            self.here = merge_folders(exits[1], exits[0])
            if self.peek() == "&" and self.peek(2) != "&&":
                # zsh runs all but the last pipeline of such a list in the current shell.
                self.here = merge_folders(start, *exits) if self.plain else start
                exits = (self.here, self.here)
            elif "esac" in closing and self.peek(2) in (";;", ";&"):
                return exits
            elif self.peek() not in (";", "\n", ")", ""):
                raise Lost(f"it cannot go on at {self.peek(20)!r}")
            if self.peek() in (";", "&"):
                self.at += 1

    def chain(self) -> Exits:
        """Read pipelines joined by `&&` and `||`."""
        worked, failed = self.pipeline()
        while (joint := self.peek(2)) in ("&&", "||"):
            self.at += 2
            self.gap()
            self.here = worked if joint == "&&" else failed
            again = self.pipeline()
            worked, failed = (
                (again[0], merge_folders(failed, again[1]))
                if joint == "&&"
                else (merge_folders(worked, again[0]), again[1])
            )
        return worked, failed

    def pipeline(self) -> Exits:
        """Read one command, or several in a pipe, each in a subshell."""
        negated = self.reserved("!")
        if negated:
            self.at += 1
            if self.peek() not in (" ", "\t"):
                raise Lost("a ! touches what is behind it")
            self.blanks()
        start = self.here
        exits = self.command()
        while self.peek() == "|" and self.peek(2) != "||":
            self.at += len("|&") if self.peek(2) == "|&" else 1
            self.here = start
            self.gap()
            last = merge_folders(start, *self.command())
            exits = (last, last) if self.plain else (start, start)
        self.here = start
        return (exits[1], exits[0]) if negated else exits

    def expect(self, *words: str) -> str:
        """Consume one of these words and return it."""
        word = self.reserved(*words)
        if not word:
            raise Lost(f"{' or '.join(words)} is missing")
        self.at += len(word)
        return word

    def command(self) -> Exits:
        """Read a call or compound command, with its redirects and the blanks after it."""
        if self.reserved(*CLOSING):
            raise Lost(f"it cannot go on at {self.peek(20)!r}")
        start = self.here
        word = self.reserved(*COMPOUND)
        if word or self.peek() == "(":
            self.places[self.at] = start
            exits = self.compound(word)
            self.here = start  # the folders its redirects are relative to
            self.blanks()
            while self.redirect():
                self.blanks()
        else:
            exits = self.simple()
        return exits

    def compound(self, word: str) -> Exits:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Lost("it is nested too deeply")
        start = self.here
        readers: dict[str, Callable[[], Exits]] = {
            "if": self.choice,
            "while": self.loop,
            "until": self.loop,
            "for": self.walk,
            "case": self.cases,
            "[[": self.test,
        }
        self.at += len(word)
        if word in readers:
            exits = readers[word]()
        elif word == "{":
            exits = self.statements("}")
            self.expect("}")
        elif word == "function":
            self.blanks()
            exits = self.function(Word(self.skip(_FUNCTION)))
        elif self.peek(2) == "((":
            self.at += 2
            self.sum()
            exits = start, start
        else:
            self.take("(")
            self.statements(")")
            self.take(")")
            exits = start, start
        self.depth -= 1
        return exits

    def choice(self) -> Exits:
        ends = list[Paths]()
        worked, failed = self.statements("then")
        self.expect("then")
        while True:
            self.here = worked
            ends.append(merge_folders(*self.statements("elif", "else", "fi")))
            self.here = failed
            match self.expect("elif", "else", "fi"):
                case "elif":
                    worked, failed = self.statements("then")
                    self.expect("then")
                    continue
                case "else":
                    ends.append(merge_folders(*self.statements("fi")))
                    self.expect("fi")
                case _:
                    ends.append(failed)
            return merge_folders(*ends), merge_folders(*ends)

    def loop(self) -> Exits:
        start = self.here
        self.loops += 1
        before = merge_folders(*self.statements("do"))
        self.here = before
        return self.body(start, before)

    def walk(self) -> Exits:
        """Read `for x in …` and `for ((…))`."""
        start = self.here
        self.loops += 1
        self.blanks()
        if self.peek(2) == "((":
            self.at += 2
            self.sum(parted=True)
        else:
            if not self.skip(_VARIABLE_NAME):
                raise Lost("a loop has no name")
            self.gap()
            if self.reserved("in"):
                self.at += 2
                self.words("\n;")
        self.blanks()
        if self.peek() == ";":
            self.at += 1
        self.gap()
        return self.body(start, start)

    def body(self, start: Paths, before: Paths) -> Exits:
        self.expect("do")
        after = merge_folders(start, before, *self.statements("done"))
        self.expect("done")
        self.loops -= 1
        return after, after

    def words(self, ends: str) -> None:
        """Read words up to one of these operators."""
        self.blanks()
        while self.at < self.end and self.peek() not in ends:
            begin = self.at
            self.word()
            if self.at == begin:
                raise Lost(f"it cannot go on at {self.peek(20)!r}")
            self.blanks()

    def cases(self) -> Exits:
        self.blanks()
        self.word()
        self.gap()
        self.expect("in")
        place = self.here
        self.gap()
        while not self.reserved("esac"):
            if self.peek() == "(":
                self.at += 1
            self.blanks()
            while True:
                begin = self.at
                self.word()
                if self.at == begin:
                    raise Lost("a pattern is missing")
                self.blanks()
                if self.peek() != "|":
                    break
                self.at += 1
                self.blanks()
            self.take(")")
            place = merge_folders(place, *self.statements("esac"))
            self.here = place
            if not self.skip(_CASE_END) and not self.reserved("esac"):
                raise Lost("a case has no end")
            self.gap()
        self.expect("esac")
        return place, place

    def test(self) -> Exits:
        """Read `[[ … ]]`."""
        start, sought = self.here, False
        while True:
            self.gap()
            if self.reserved("]]") or self.peek(2) == "]]":
                break
            begin = self.at
            if not sought and self.skip(_IN_TEST):
                continue
            word = self.word()
            while sought and self.peek() in ("(", ")", "|"):  # a pattern after =~
                self.at += 1
                self.word()
            if self.at == begin:
                raise Lost("a test cannot be read")
            sought = word == Word("=~")
        self.take("]]")
        return start, start

    def function(self, name: Word) -> Exits:
        """Read a function after its name."""
        start = self.here
        self.blanks()
        self.skip(PARENS)
        self.gap()
        if _FUNCTION.fullmatch(name.text) is None or name.dynamic or name.text in DECIDES_MOVES:
            raise Lost("a function has a strange name")
        if not self.reserved(*COMPOUND - {"function"}) and self.peek() != "(":
            raise Lost("a function has no body")
        self.deferred = True
        self.command()
        return start, start
