"""A hand-written parser for bash that finds what a line runs and where, to check the grammar-based parser. Pure.

It reads bytes, knows only the common syntax, and gives up on anything else. `parser` compares what both found.
"""

import re
from collections.abc import Callable

from msgspec import Struct

from clio.security.shell import command_line as syntax
from clio.security.shell.command_line import (
    CD_BUILTINS,
    DECLARATION_BUILTINS,
    STDIN_FROM_FILE,
    TRANSPARENT_PREFIXES,
    UNREDEFINABLE_NAMES,
    FoldersAfter,
    PossibleFolders,
    Word,
    merge_folders,
    resolve_cd,
    word_set,
)

MAX_DEPTH = 40
"""Levels of nesting; the parser is recursive."""
_BLANKS = re.compile(r"(?:[ \t]|\\\n)*")
_PLAIN_RUN = re.compile(r"[^ \t\n\\'\"$`;&|<>()]+")
_IN_DOUBLE_QUOTES = re.compile(r"[^\\\"$`]+")
_IN_HEREDOC = re.compile(r"[^\\$`]+")
_IN_BRACES = re.compile(r"[^\\\"'$`{}\n<>]+")
_IN_ARITHMETIC = re.compile(r"[\w \t+*/%<>=!&|?:,^~.#\[\]-]+", re.ASCII)
_DOLLAR_NAME = re.compile(r"[A-Za-z_]\w*|[@*#?$!\d-]", re.ASCII)
_PARAMETER = re.compile(r"[!#]?(?:[A-Za-z_]\w*(?:\[(?:\w+|[@*])\])?|[@*#?$!-]|\d+)", re.ASCII)
_ANSI_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ESCAPE_IN_BACKQUOTES = re.compile(r"\\[$`\\\"\n]|\\$")
_ESCAPED_NEWLINE = re.compile(r"(?<!\\)(?:\\\\)*\\\n")
_HEREDOC_DELIMITER = re.compile(r"[\w!.+-]+", re.ASCII)
_END_OF_WORD = frozenset(" \t\n;&|()")


class UnclearSyntax(Exception):
    """The parser does not know how bash interprets the text. The line then counts as not understood."""


class PendingHeredoc(Struct, frozen=True):
    """A here-document whose text has not been reached. place: of its delimiter. folders: where its command runs."""

    place: int
    delimiter: str
    quoted: bool
    tabs: bool
    folders: PossibleFolders


def decode_line(text: str) -> str:
    """Decode a part of the line, in which each character represents one byte."""
    return text.encode("latin-1").decode("utf-8", "surrogatepass")


def _has_braces(raw: str) -> bool:
    """Whether unquoted text may expand to several words. Linear in time, because the input can be long."""
    inside = raw[raw.find("{") + 1 : max(0, raw.rfind("}"))] if "{" in raw else ""
    return "," in inside or ".." in inside


class LineScanner:
    """A position in a text, and methods that advance it: `peek_…` reads on, `take_…` and `read_…` consume.

    Attributes:
        text: of the line with one byte per character, so that positions equal those of the other parser.
        folders: the folders the line may be in at this point.
        pending_heredocs: those whose text begins after the end of this line.
        heredoc_texts: the texts of those already read, by the position of the delimiter; "" with a substitution in it.
    """

    def __init__(self, text: str, folders: PossibleFolders) -> None:
        self.text = text
        self.folders = folders
        self.at: int = 0
        self.end: int = len(text)
        self.depth: int = 0
        self.pending_heredocs: list[PendingHeredoc] = []
        self.heredoc_texts: dict[int, str] = {}

    def read_subshell(self, closing: str) -> None:
        """Read the commands inside a substitution up to its closing character, which is not consumed."""
        raise NotImplementedError

    def peek(self, size: int = 1) -> str:
        """Return the next characters; fewer at the end."""
        return self.text[self.at : min(self.at + size, self.end)]

    def take_match(self, pattern: re.Pattern[str]) -> str:
        """Consume and return what a pattern matches here."""
        match = pattern.match(self.text, self.at, self.end)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def take_operator(self, sign: str) -> None:
        """Consume an operator that must be here."""
        if self.peek(len(sign)) != sign:
            raise UnclearSyntax(f"{sign!r} is missing")
        self.at += len(sign)

    def skip_blanks(self) -> None:
        """Skip blanks, and a comment up to the end of its line."""
        over = self.take_match(_BLANKS)
        if self.pending_heredocs and "\n" in over:
            raise UnclearSyntax("a line continues before a here-document")
        if self.peek() == "#":
            end = self.text.find("\n", self.at, self.end)
            self.at = self.end if end < 0 else end

    def skip_blank_lines(self) -> None:
        """Skip blanks, comments and line ends, with the here-documents that follow them."""
        self.skip_blanks()
        while self.peek() == "\n":
            self.at += 1
            waiting, self.pending_heredocs = self.pending_heredocs, []
            for here in waiting:
                self.read_heredoc(here)
            self.skip_blanks()

    def read_heredoc(self, here: PendingHeredoc) -> None:
        """Read the text of a here-document, which begins here, and its substitutions."""
        begin = stop = self.at
        while True:
            if stop >= self.end:
                raise UnclearSyntax("a here-document has no end")
            end = self.text.find("\n", stop, self.end)
            end = self.end if end < 0 else end
            line = self.text[stop:end]
            if (line.lstrip("\t") if here.tabs else line) == here.delimiter:
                break
            stop = end + 1
        text = self.text[begin:stop]
        fixed = here.quoted or not ("$" in text or "`" in text)
        self.heredoc_texts[here.place] = decode_line(text) if fixed else ""
        if not here.quoted:
            if _ESCAPED_NEWLINE.search(text):
                raise UnclearSyntax("a line of a here-document continues on the next")
            limit, place, self.end, self.at, self.folders = self.end, self.folders, stop, begin, here.folders
            while self.at < self.end:
                self.take_match(_IN_HEREDOC)
                self.read_expansion()
            self.end, self.folders = limit, place
        self.at = min(end, self.end)
        if self.at < self.end:  # the line end after the delimiter
            self.at += 1

    def read_heredoc_delimiter(self, *, tabs: bool) -> PendingHeredoc:
        """Read the word after `<<`."""
        begin = self.at
        word = self.read_word()
        raw = self.text[begin : self.at]
        if word.dynamic or "$" in raw or _HEREDOC_DELIMITER.fullmatch(word.text) is None:
            raise UnclearSyntax("the delimiter of a here-document is unusual")
        return PendingHeredoc(
            begin, word.text, quoted=any(mark in raw for mark in "'\"\\"), tabs=tabs, folders=self.folders
        )

    def read_word(self) -> Word:
        """Read one word; an empty one if none begins here."""
        begin = self.at
        parts, bare, dynamic = list[str](), list[str](), False
        while self.at < self.end:
            if run := self.take_match(_PLAIN_RUN):
                parts.append(run)
                bare.append(run)
                continue
            sign, two = self.peek(), self.peek(2)
            if sign in _END_OF_WORD or (sign in "<>" and two[1:] != "("):
                break
            bare.append("x")
            if sign in "<>":
                self.at += 2
                self.read_substitution(")")
                known = None
            else:
                known = self.read_word_part(sign)
            dynamic = dynamic or known is None
            parts.append(known or "")
        if self.pending_heredocs and "\n" in self.text[begin : self.at]:
            raise UnclearSyntax("a line continues before a here-document")
        raw = "".join(bare)
        return Word(decode_line("".join(parts)), dynamic or _has_braces(raw), any(mark in raw for mark in "*?["))

    def read_word_part(self, sign: str) -> str | None:
        """Read a quoted or substituted part of a word; None for one that is only known at run time."""
        match sign:
            case "\\":
                two = self.peek(2)
                if len(two) < 2:
                    raise UnclearSyntax("a backslash ends it")
                self.at += 2
                return "" if two[1] == "\n" else two[1]
            case "'":
                end = self.text.find("'", self.at + 1, self.end)
                if end < 0:
                    raise UnclearSyntax("a quote has no end")
                inside, self.at = self.text[self.at + 1 : end], end + 1
                return inside
            case '"':
                return self.read_double_quoted()
            case "$":
                return self.read_dollar(quoted=False)
            case _:
                self.read_backquotes(quoted=False)
                return None

    def read_double_quoted(self) -> str | None:
        """Read a text in double quotes; None if it contains a substitution."""
        self.take_operator('"')
        parts, known = list[str](), True
        while True:
            parts.append(self.take_match(_IN_DOUBLE_QUOTES))
            sign = self.peek()
            if sign == '"':
                self.at += 1
                return "".join(parts) if known else None
            if sign == "":
                raise UnclearSyntax("a quote has no end")
            piece = self.read_expansion()
            known = known and piece is not None
            parts.append(piece or "")

    def read_expansion(self) -> str | None:
        """Read a backslash, dollar or backquote inside double quotes; "" if there is none."""
        sign, two = self.peek(), self.peek(2)
        if sign == "$":
            return self.read_dollar(quoted=True)
        if sign == "`":
            self.read_backquotes(quoted=True)
            return None
        if sign == "\\":
            self.at += len(two)
            return {'\\"': '"', "\\$": "$", "\\`": "`", "\\\\": "\\", "\\\n": ""}.get(two, two)
        return ""

    def read_dollar(self, *, quoted: bool) -> str | None:
        """Read what follows a `$`. Returns its text, None if it is only known at run time."""
        self.at += 1
        sign, two = self.peek(), self.peek(2)
        if two == "((":
            self.at += 2
            self.read_arithmetic()
        elif sign == "(":
            self.at += 1
            self.read_substitution(")")
        elif sign == "{":
            self.at += 1
            self.read_parameter(quoted=quoted)
        elif sign == "[" or two == "\\\n":
            raise UnclearSyntax("a $ precedes rarely used syntax")
        elif sign == "'" and not quoted:
            inside = self.take_match(_ANSI_QUOTED)
            if not inside or syntax.has_unportable_ansi_escape(inside[1:-1]):
                raise UnclearSyntax("a text in $'' has an unusual escape")
            return syntax.unquote_ansi_quoted(inside[1:-1]).encode("utf-8", "surrogatepass").decode("latin-1")
        elif sign == '"' and not quoted:
            self.read_double_quoted()
        elif not self.take_match(_DOLLAR_NAME):
            return "$"
        return None

    def read_arithmetic(self, *, parted: bool = False) -> None:
        """Read arithmetic up to its `))`. parted: it has three parts, as in `for ((;;))`."""
        depth = 0
        while True:
            self.take_match(_IN_ARITHMETIC)
            sign = self.peek()
            if sign == "$":
                self.read_dollar(quoted=True)
            elif sign == "(":
                depth, self.at = depth + 1, self.at + 1
            elif sign == ")" and depth:
                depth, self.at = depth - 1, self.at + 1
            elif sign == ";" and parted:
                self.at += 1
            else:
                return self.take_operator("))")

    def read_parameter(self, *, quoted: bool) -> None:
        """Read `${…}` after its opening brace, and the substitutions in it."""
        if not self.take_match(_PARAMETER):
            raise UnclearSyntax("a parameter has an unusual name")
        while True:
            self.take_match(_IN_BRACES)
            sign, two = self.peek(), self.peek(2)
            if sign == "}":
                self.at += 1
                return
            if sign == '"' and not quoted:
                self.read_double_quoted()
            elif sign in "<>" and sign and two[1:] != "(":
                self.at += 1
            elif sign in "$`\\" and sign and two != "\\\n":
                self.read_expansion()
            else:
                raise UnclearSyntax("${ } contains quotes or braces")

    def read_backquotes(self, *, quoted: bool) -> None:
        """Read a substitution in backquotes."""
        close = self.text.find("`", self.at + 1, self.end)
        inside = self.text[self.at + 1 : close]
        if close < 0 or _ESCAPE_IN_BACKQUOTES.search(inside) or (quoted and '"' in inside):
            raise UnclearSyntax("backquotes contain quotes")
        limit, self.end, self.at = self.end, close, self.at + 1
        self.read_substitution("")
        if self.at != close:
            raise UnclearSyntax("backquotes end too early")
        self.end, self.at = limit, close + 1

    def read_substitution(self, closing: str) -> None:
        """Read the commands of a substitution and its closing character."""
        if self.depth > MAX_DEPTH:
            raise UnclearSyntax("is nested too deeply")
        begin, outer, self.pending_heredocs = self.at, self.pending_heredocs, []
        self.depth += 1
        self.read_subshell(closing)
        self.depth -= 1
        if self.pending_heredocs or (outer and "\n" in self.text[begin : self.at]):
            raise UnclearSyntax("a here-document begins in a substitution, or before one")
        self.pending_heredocs = outer
        self.take_operator(closing)


COMPOUND_WORDS = word_set("if while until for case function [[ {")
CLOSING_WORDS = word_set("then do done fi else elif esac } ! select coproc")
_WORD_END = r"(?=[ \t\n;&|<>()]|\Z)"
_RESERVED = re.compile(rf"(?:[{{}}!]|\[\[|[a-z]{{2,8}}){_WORD_END}")
EMPTY_PARENS = re.compile(r"\([ \t]*\)")
_REDIRECT = re.compile(r"\d*(?:<<<|<<-|<<|<&|<>|<(?!\()|>>|>&|>\||>(?!\())|&>>?")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[\d+\])?\+?=", re.ASCII)
_SUBSCRIPTED_NAME = re.compile(r"[A-Za-z_]\w*\[", re.ASCII)
_SUBSCRIPTED_ELEMENT = re.compile(r"\[(?!\d+\]=)")
_DESCRIPTOR_VARIABLE = re.compile(r"\{\w+\}\Z")
_DESCRIPTOR = re.compile(r"\d+-?")
# bash reads `time` as a reserved word: `time { …; }` is a compound command, which this parser does not follow.
_TIME_PREFIX = frozenset({Word("time"), Word("-p"), Word("--")})
INPUT_NOT_TEXT = "\0\0"
"""Marks the input of a call as another descriptor, or closed."""


class CallParser(LineScanner):
    """A scanner that reads calls.

    Attributes:
        calls, assignments, redirects: what was found, by start position.
        folders_at: for each word, the folders the line may be in there, by start position.
        inputs: for each call, the position of its text in `heredoc_texts`, the text itself, or STDIN_FROM_FILE.
        current_input: the same for the call being read.
        open_loops: number of loops around the current position.
        has_cd: whether the line changes its folder.
        has_later_code: whether a loop or function may run after such a change.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text, ("",))
        self.calls: dict[int, tuple[Word, ...]] = {}
        self.assignments: dict[int, tuple[str, Word]] = {}
        self.redirects: dict[int, tuple[str, Word]] = {}
        self.folders_at: dict[int, PossibleFolders] = {}
        self.inputs: dict[int, int | str] = {}
        self.current_input: int | str | None = None
        self.open_loops = 0
        self.has_cd = self.has_later_code = False

    def read_function(self, name: Word) -> FoldersAfter:
        """Read a function after its name."""
        raise NotImplementedError

    def peek_reserved(self, *words: str) -> str:
        """Return which of these words is here; "" for none."""
        match = _RESERVED.match(self.text, self.at, self.end)
        return match[0] if match and match[0] in words else ""

    def read_call(self) -> FoldersAfter:
        """Read a call with its assignments and redirects."""
        words, begin, first = list[Word](), self.at, -1
        plain, fed, only_time = True, None, True
        while True:
            self.skip_blanks()
            self.current_input = fed
            if self.read_redirect():
                plain, fed = False, self.current_input
                continue
            if self.peek() in ("\n", ";", "&", "|", ")", ""):
                break
            if self.peek() == "(":
                if len(words) == 1 and plain and EMPTY_PARENS.match(self.text, self.at, self.end):
                    return self.read_function(words[0])
                raise UnclearSyntax("a command contains a bracket")
            if self.read_assignment(words):
                plain = False
                continue
            if words and only_time and self.peek_reserved(*COMPOUND_WORDS, *CLOSING_WORDS):
                raise UnclearSyntax("time precedes a compound command")
            at = self.at
            word = self.read_word()
            if self.at == at or (_DESCRIPTOR_VARIABLE.fullmatch(word.text) and self.peek() in ("<", ">")):
                raise UnclearSyntax(f"unexpected {self.peek(20)!r}")
            self.folders_at[at] = self.folders
            first = at if first < 0 else first
            only_time = only_time and word in _TIME_PREFIX
            words.append(word)
        if self.at == begin:
            raise UnclearSyntax("a command is missing")
        if words:
            self.calls[first] = tuple(words)
            if fed is not None:
                self.inputs[first] = fed
        return self.follow_cd(tuple(words))

    def follow_cd(self, words: tuple[Word, ...]) -> FoldersAfter:
        """Return where the line may be after a call, if it is `cd` or a similar built-in."""
        while words and (words[0].text in TRANSPARENT_PREFIXES or words[0].text in ("-p", "--")):
            words = words[1:]
        if not words or words[0].text not in CD_BUILTINS:
            return self.folders, self.folders
        self.has_cd = True
        self.has_later_code = self.has_later_code or self.open_loops > 0
        return resolve_cd(self.folders, words), self.folders

    def read_assignment(self, words: list[Word]) -> bool:
        """Read `name=value` before a call or after `export` and similar built-ins; False if there is none here."""
        declares = bool(words) and words[0].text in DECLARATION_BUILTINS
        if words and not declares:
            return False
        begin = self.at
        match = _ASSIGNMENT.match(self.text, self.at, self.end)
        if match is None:
            if _SUBSCRIPTED_NAME.match(self.text, self.at, self.end):
                raise UnclearSyntax("a name may have a subscript")
            return False
        self.folders_at[begin] = self.folders
        self.at = match.end()
        if self.peek() == "(":
            self.at += 1
            self.read_array()
            value = Word("(", dynamic=True)
        else:
            value = self.read_word()
        if declares:
            words.append(Word(f"{match[1]}={value.text}", value.dynamic, value.glob))
        else:
            self.assignments[begin] = (match[1], value)
        return True

    def read_array(self) -> None:
        """Read the elements of an array up to its closing bracket."""
        if self.pending_heredocs:
            raise UnclearSyntax("an array precedes a here-document")
        self.skip_blank_lines()
        while self.peek() != ")":
            begin = self.at
            if _SUBSCRIPTED_ELEMENT.match(self.text, self.at, self.end):
                raise UnclearSyntax("an element has a subscript")
            self.read_word()
            if self.at == begin:
                raise UnclearSyntax("an array has no end")
            self.skip_blank_lines()
        self.at += 1

    def read_redirect(self) -> bool:
        """Read a redirect; False if there is none here."""
        sign = self.take_match(_REDIRECT)
        operator = sign.lstrip("0123456789")
        feeds = operator[:1] == "<" and sign[:1] in ("0", "<")
        fed, before = INPUT_NOT_TEXT, self.current_input
        if not operator:
            return False
        self.skip_blanks()
        begin = self.at
        if operator in ("<<", "<<-"):
            here = self.read_heredoc_delimiter(tabs=operator == "<<-")
            self.pending_heredocs.append(here)
            fed = begin
        elif operator in (">&", "<&") and self.peek() == "-":
            self.at += 1
        else:
            word = self.read_word()
            if self.at == begin:
                raise UnclearSyntax("a redirect has no target")
            self.folders_at[begin] = self.folders
            closes = operator in (">&", "<&") and not word.dynamic and _DESCRIPTOR.fullmatch(word.text) is not None
            if operator == "<<<":
                fed = "" if word.dynamic else word.text
            elif not closes:
                self.redirects[begin] = (operator, word)
                fed = STDIN_FROM_FILE
        self.current_input = fed if feeds else before
        return True


_FUNCTION_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_VARIABLE_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_TEST_OPERATOR = re.compile(r"&&|\|\||[()]|[<>](?!\()")
_OPERATOR_OVER_NEWLINE = re.compile(r"[;&|<>($]\\\n(?:\\\n)*[;&|<>({\[]")
_CASE_TERMINATOR = re.compile(r";;&|;;|;&")


class HandParser(CallParser):
    """Everything that one line runs; see `CallParser` for the attributes.

    Attributes:
        failure: why the line could not be parsed; "" if it could.
        plain: a shell with fewer features than bash reads it, in which the end of a pipe may move the line.
    """

    def __init__(self, source: bytes, *, plain: bool) -> None:
        super().__init__(source.decode("latin-1"))
        self.plain = plain
        self.failure = ""
        try:
            if _OPERATOR_OVER_NEWLINE.search(self.text):
                raise UnclearSyntax("an operator may continue on the next line")
            self.read_subshell("")
            if self.at < self.end or self.pending_heredocs:
                raise UnclearSyntax(f"unexpected {self.peek(20)!r}")
        except (UnclearSyntax, RecursionError) as error:
            self.failure = str(error) or "is nested too deeply"
        if self.has_cd and self.has_later_code:
            # A function, or the next iteration of a loop, runs wherever the line is by then.
            self.folders_at = dict.fromkeys(self.folders_at)

    def read_subshell(self, closing: str) -> None:
        """Read all statements up to the end or the closing character, in a subshell."""
        place = self.folders
        self.read_statements(closing)
        self.folders = place

    def read_statements(self, *closing: str) -> FoldersAfter:
        """Read statements up to one of these words or operators, which is not consumed. Returns where the last one
        leaves the line.
        """
        exits: FoldersAfter = (self.folders, self.folders)
        while True:
            self.skip_blank_lines()
            if self.at >= self.end or self.peek() == ")" or self.peek_reserved(*closing):
                return exits
            if "esac" in closing and self.peek(2) in (";;", ";&"):  # `a & ;;`
                return exits
            start = self.folders
            exits = self.read_and_or_list()
            self.folders = merge_folders(exits[1], exits[0])
            if self.peek() == "&" and self.peek(2) != "&&":
                # zsh runs all but the last pipeline of such a list in the current shell.
                self.folders = merge_folders(start, *exits) if self.plain else start
                exits = (self.folders, self.folders)
            elif "esac" in closing and self.peek(2) in (";;", ";&"):
                return exits
            elif self.peek() not in (";", "\n", ")", ""):
                raise UnclearSyntax(f"unexpected {self.peek(20)!r}")
            if self.peek() in (";", "&"):
                self.at += 1

    def read_and_or_list(self) -> FoldersAfter:
        """Read pipelines joined by `&&` and `||`."""
        worked, failed = self.read_pipeline()
        while (joint := self.peek(2)) in ("&&", "||"):
            self.at += 2
            self.skip_blank_lines()
            self.folders = worked if joint == "&&" else failed
            again = self.read_pipeline()
            worked, failed = (
                (again[0], merge_folders(failed, again[1]))
                if joint == "&&"
                else (merge_folders(worked, again[0]), again[1])
            )
        return worked, failed

    def read_pipeline(self) -> FoldersAfter:
        """Read one command, or several in a pipe, each in a subshell."""
        negated = self.peek_reserved("!")
        if negated:
            self.at += 1
            if self.peek() not in (" ", "\t"):
                raise UnclearSyntax("a ! has no blank after it")
            self.skip_blanks()
        start = self.folders
        exits = self.read_command()
        while self.peek() == "|" and self.peek(2) != "||":
            self.at += len("|&") if self.peek(2) == "|&" else 1
            self.folders = start
            self.skip_blank_lines()
            last = merge_folders(start, *self.read_command())
            exits = (last, last) if self.plain else (start, start)
        self.folders = start
        return (exits[1], exits[0]) if negated else exits

    def take_reserved(self, *words: str) -> str:
        """Consume one of these words and return it."""
        word = self.peek_reserved(*words)
        if not word:
            raise UnclearSyntax(f"{' or '.join(words)} is missing")
        self.at += len(word)
        return word

    def read_command(self) -> FoldersAfter:
        """Read a call or compound command, with its redirects and the blanks after it."""
        if self.peek_reserved(*CLOSING_WORDS):
            raise UnclearSyntax(f"unexpected {self.peek(20)!r}")
        start = self.folders
        word = self.peek_reserved(*COMPOUND_WORDS)
        if word or self.peek() == "(":
            self.folders_at[self.at] = start
            exits = self.read_compound(word)
            self.folders = start  # the folders its redirects are relative to
            self.skip_blanks()
            while self.read_redirect():
                self.skip_blanks()
        else:
            exits = self.read_call()
        return exits

    def read_compound(self, word: str) -> FoldersAfter:
        """Read a compound command that begins with this reserved word; "" for one in parentheses."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnclearSyntax("is nested too deeply")
        start = self.folders
        readers: dict[str, Callable[[], FoldersAfter]] = {
            "if": self.read_if,
            "while": self.read_while,
            "until": self.read_while,
            "for": self.read_for,
            "case": self.read_case,
            "[[": self.read_test,
        }
        self.at += len(word)
        if word in readers:
            exits = readers[word]()
        elif word == "{":
            exits = self.read_statements("}")
            self.take_reserved("}")
        elif word == "function":
            self.skip_blanks()
            exits = self.read_function(Word(self.take_match(_FUNCTION_NAME)))
        elif self.peek(2) == "((":
            self.at += 2
            self.read_arithmetic()
            exits = start, start
        else:
            self.take_operator("(")
            self.read_statements(")")
            self.take_operator(")")
            exits = start, start
        self.depth -= 1
        return exits

    def read_if(self) -> FoldersAfter:
        """Read `if … fi` after its first word."""
        ends = list[PossibleFolders]()
        worked, failed = self.read_statements("then")
        self.take_reserved("then")
        while True:
            self.folders = worked
            ends.append(merge_folders(*self.read_statements("elif", "else", "fi")))
            self.folders = failed
            match self.take_reserved("elif", "else", "fi"):
                case "elif":
                    worked, failed = self.read_statements("then")
                    self.take_reserved("then")
                    continue
                case "else":
                    ends.append(merge_folders(*self.read_statements("fi")))
                    self.take_reserved("fi")
                case _:
                    ends.append(failed)
            return merge_folders(*ends), merge_folders(*ends)

    def read_while(self) -> FoldersAfter:
        """Read `while … done` or `until … done` after its first word."""
        start = self.folders
        self.open_loops += 1
        before = merge_folders(*self.read_statements("do"))
        self.folders = before
        return self.read_loop_body(start, before)

    def read_for(self) -> FoldersAfter:
        """Read `for x in …` and `for ((…))`."""
        start = self.folders
        self.open_loops += 1
        self.skip_blanks()
        if self.peek(2) == "((":
            self.at += 2
            self.read_arithmetic(parted=True)
        else:
            if not self.take_match(_VARIABLE_NAME):
                raise UnclearSyntax("a loop has no name")
            self.skip_blank_lines()
            if self.peek_reserved("in"):
                self.at += 2
                self.read_words("\n;")
        self.skip_blanks()
        if self.peek() == ";":
            self.at += 1
        self.skip_blank_lines()
        return self.read_loop_body(start, start)

    def read_loop_body(self, start: PossibleFolders, before: PossibleFolders) -> FoldersAfter:
        """Read `do … done`.

        Args:
            start: where the loop begins.
            before: where its condition leaves the line.
        """
        self.take_reserved("do")
        after = merge_folders(start, before, *self.read_statements("done"))
        self.take_reserved("done")
        self.open_loops -= 1
        return after, after

    def read_words(self, ends: str) -> None:
        """Read words up to one of these operators."""
        self.skip_blanks()
        while self.at < self.end and self.peek() not in ends:
            begin = self.at
            self.read_word()
            if self.at == begin:
                raise UnclearSyntax(f"unexpected {self.peek(20)!r}")
            self.skip_blanks()

    def read_case(self) -> FoldersAfter:
        """Read `case … esac` after its first word."""
        self.skip_blanks()
        self.read_word()
        self.skip_blank_lines()
        self.take_reserved("in")
        place = self.folders
        self.skip_blank_lines()
        while not self.peek_reserved("esac"):
            if self.peek() == "(":
                self.at += 1
            self.skip_blanks()
            while True:
                begin = self.at
                self.read_word()
                if self.at == begin:
                    raise UnclearSyntax("a pattern is missing")
                self.skip_blanks()
                if self.peek() != "|":
                    break
                self.at += 1
                self.skip_blanks()
            self.take_operator(")")
            place = merge_folders(place, *self.read_statements("esac"))
            self.folders = place
            if not self.take_match(_CASE_TERMINATOR) and not self.peek_reserved("esac"):
                raise UnclearSyntax("a case has no end")
            self.skip_blank_lines()
        self.take_reserved("esac")
        return place, place

    def read_test(self) -> FoldersAfter:
        """Read `[[ … ]]`."""
        start, sought = self.folders, False
        while True:
            self.skip_blank_lines()
            if self.peek_reserved("]]") or self.peek(2) == "]]":
                break
            begin = self.at
            if not sought and self.take_match(_TEST_OPERATOR):
                continue
            word = self.read_word()
            while sought and self.peek() in ("(", ")", "|"):  # a pattern after =~
                self.at += 1
                self.read_word()
            if self.at == begin:
                raise UnclearSyntax("a test cannot be read")
            sought = word == Word("=~")
        self.take_operator("]]")
        return start, start

    def read_function(self, name: Word) -> FoldersAfter:
        """Read a function after its name."""
        start = self.folders
        self.skip_blanks()
        self.take_match(EMPTY_PARENS)
        self.skip_blank_lines()
        if _FUNCTION_NAME.fullmatch(name.text) is None or name.dynamic or name.text in UNREDEFINABLE_NAMES:
            raise UnclearSyntax("a function has an unusual name")
        if not self.peek_reserved(*COMPOUND_WORDS - {"function"}) and self.peek() != "(":
            raise UnclearSyntax("a function has no body")
        self.has_later_code = True
        self.read_command()
        return start, start
