"""Judge calls of awk: only programs that compute and print, parsed like every common awk. Pure."""

import re
from typing import Literal

from msgspec import Struct

from clio.security.readonly.grammar import Judge, Judgement, UnknownWord, parse_call, read_grammar
from clio.security.shell.command_line import Word, word_set

_OPTIONS = """
    -F= -v= --csv --posix --traditional --sandbox --re-interval --characters-as-bytes
    --non-decimal-data --version --help
    ; path*
    """
# Limits of the parser, in characters and in levels of nesting; it is recursive, and the program may be generated.
_MAX_PROGRAM = 20_000
_MAX_DEPTH = 40

_BUILTINS = word_set("""
    length substr index split sub gsub match sprintf sin cos atan2 exp log sqrt int rand srand tolower toupper gensub
    strtonum asort asorti patsplit strftime mktime systime and or xor lshift rshift compl isarray typeof fflush close
    """)
_KEYWORDS = word_set("""
    BEGIN END BEGINFILE ENDFILE function func if else while for do break continue next nextfile exit return delete in
    print printf getline switch case default
    """)
_REFUSED_NAMES = {
    "system": "runs a command with system()",
    "getline": "reads with getline, from anywhere",
    "ENVIRON": "prints environment variables, including secrets",
    "PROCINFO": "uses PROCINFO",
    "SYMTAB": "uses SYMTAB, which reaches every variable",
    "FUNCTAB": "uses FUNCTAB",
    "ARGV": "uses ARGV, which names the files it reads",
    "ARGC": "uses ARGC",
    "func": "uses the old word 'func'",
    "switch": "uses 'switch', which clio does not read",
    "extension": "loads an extension",
    "fork": "starts a process",
    "exec": "starts a process",
}
_SORT_ORDERS = word_set("""
    "@ind_str_asc" "@ind_str_desc" "@ind_num_asc" "@ind_num_desc" "@val_str_asc" "@val_str_desc" "@val_num_asc"
    "@val_num_desc" "@val_type_asc" "@val_type_desc" "@unsorted"
    """)

_SPACE = re.compile(r"(?:[ \t]|(?<![\w\"/.$])\\\n)*", re.ASCII)
_COMMENT = re.compile(r"#[^\n]*")
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_STRING = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"')
_OPERATOR = re.compile(r"\*\*=|\+\+|--|&&|\|\||[-+*/%^<>!=]=|!~|\*\*|[-+*/%^<>!=~?:,;\n{}()\[\]$]")
_REGEX_ATOM = re.compile(r"[^/\\\n\[]|\\[^\n]|\[\^?\]?(?:\[:[a-z]+:\]|\\[^\n\[\]]|[^\[\]\\/\n])*\]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_HALF_CHARACTER = re.compile(r"[^\x00-\x7f][\\\[\]]")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)

_ASSIGNS = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "^=", "**="})
_BINARY = frozenset({"+", "-", "*", "/", "%", "^", "**", "<", "<=", "==", "!=", ">", ">=", "~", "!~", "&&", "||", "in"})
_BEFORE_DIVISION = frozenset({")", "]"})
_BEFORE_REGEX = frozenset(
    {"\n", ";", "{", "}", "(", ",", "!", "~", "!~", "&&", "||", "?", ":", "=", "==", "!=", "print", "return"}
)

Kind = Literal["name", "call", "number", "string", "regex", "operator", "end"]


class Token(Struct, frozen=True):
    """One token. leading: the blanks, continued lines and comments before it. kind "call": a name right before `(`."""

    kind: Kind
    text: str
    leading: str


class Node(Struct, frozen=True):
    """A rule, statement or expression: its tokens and child nodes in order."""

    kind: str
    parts: tuple["Node | Token", ...]

    def render(self) -> str:
        """Return the text of the node."""
        return "".join(part.leading + part.text if isinstance(part, Token) else part.render() for part in self.parts)


def parse_program(text: str) -> Node:
    """Parse an awk program.

    Raises:
        UnknownWord: if it is not known to be harmless.
    """
    if len(text) > _MAX_PROGRAM:
        raise UnknownWord("the awk program is too long to check")
    if _CONTROL.search(text) or _HALF_CHARACTER.search(text):
        raise UnknownWord("the awk program has characters that awk may read in several ways")
    parser = _AwkParser(text)
    program = parser.parse_program()
    if program.render() != text:
        raise UnknownWord("the awk program is not understood as a whole")
    if unknown := sorted(parser.called - parser.defined):
        raise UnknownWord(f"the awk program calls {unknown[0]!r}, which it does not define")
    return program


class _AwkParser:
    """Reads one program from left to right with one token of lookahead.

    Attributes:
        called, defined: the program's own functions.
        parens, in_print: whether a `>` would redirect output.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.before = Token("operator", "\n", "")
        self.called: set[str] = set()
        self.defined: set[str] = set()
        self.parens = 0
        self.in_print = False
        self.depth = 0
        self.parts: list[Node | Token] = []
        self.token = self.read_token()

    # -- tokens

    def read_token(self) -> Token:
        """Return the next token."""
        begin = self.at
        self.take_match(_SPACE)
        if self.take_match(_COMMENT).endswith("\\"):
            raise UnknownWord("a comment of the awk program ends in a backslash")
        leading = self.text[begin : self.at]
        if self.at == len(self.text):
            return Token("end", "", leading)
        kind, found = self.match_token()
        if not found:
            raise UnknownWord(_describe_unreadable(self.text[self.at :]))
        return Token(kind, found, leading)

    def match_token(self) -> tuple[Kind, str]:
        """Return the kind and text of the token here; "" for none."""
        letter = self.text[self.at]
        if letter == '"':
            return "string", self.take_match(_STRING)
        if letter == "/" and not self.is_operand_end(self.before):
            if self.before.text not in _BEFORE_REGEX or self.before.kind in ("string", "regex"):
                raise UnknownWord("the awk program has a slash that is read in different ways")
            return "regex", self.match_regex()
        if number := self.take_match(_NUMBER):
            return "number", number
        if name := self.take_match(_NAME):
            self.check_name(name)
            call = self.text[self.at : self.at + 1] == "(" and name not in _KEYWORDS
            return "call" if call else "name", name
        return "operator", self.take_match(_OPERATOR)

    def is_operand_end(self, token: Token) -> bool:
        """Whether a slash after this token is a division."""
        if token.kind == "name":
            return token.text not in _KEYWORDS
        return token.kind == "number" or (token.kind == "operator" and token.text in _BEFORE_DIVISION)

    def check_name(self, name: str) -> None:
        """Refuse the names by which a program runs commands, reads the environment or other files."""
        rest = self.text[self.at :]
        if name in _REFUSED_NAMES and not (
            (name == "PROCINFO" and _is_sort_setting(rest)) or (name == "ARGV" and self.is_file_name_comparison(rest))
        ):
            raise UnknownWord(f"the awk program {_REFUSED_NAMES[name]}")
        if rest.startswith("::"):
            raise UnknownWord("the awk program uses a namespace")

    def is_file_name_comparison(self, rest: str) -> bool:
        """Whether the rest starts with `FILENAME == ARGV[1]`, which only compares the name."""
        compared = re.search(r"\bFILENAME *[!=]= *ARGV\Z", self.text[: self.at]) is not None
        return compared and re.match(r"\[\d\] *(?:[{});\n]|&&|\|\||\Z)", rest) is not None

    def match_regex(self) -> str:
        """Return a regular expression with its slashes. Refuses one that awk versions end at different slashes."""
        begin = self.at
        self.at += 1
        while self.take_match(_REGEX_ATOM):
            pass
        if self.text[self.at : self.at + 1] != "/":
            raise UnknownWord("a regular expression of the awk program is read in different ways")
        self.at += 1
        return self.text[begin : self.at]

    def take_match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def is_at(self, *texts: str) -> bool:
        """Whether the next token is one of these operators or keywords."""
        return self.token.kind in ("operator", "name") and self.token.text in texts

    def take_token(self) -> Token:
        """Consume and return the next token."""
        token = self.token
        self.parts.append(token)
        self.before = token
        self.token = self.read_token()
        return token

    def skip_token(self, *texts: str) -> bool:
        """Consume the next token if it is one of these operators or keywords; return whether it was."""
        found = self.is_at(*texts)
        if found:
            self.take_token()
        return found

    def expect_token(self, *texts: str) -> Token:
        if not self.is_at(*texts):
            found = self.token.text.replace("\n", "end of line") or "its end"
            raise UnknownWord(f"the awk program has {found!r} where {texts[0]!r} is expected")
        return self.take_token()

    def take_newlines(self, *more: str) -> None:
        while self.skip_token("\n", *more):
            pass

    def wrap_node(self, kind: str, begin: int) -> None:
        """Combine the parts from `begin` on into one node."""
        self.parts[begin:] = [Node(kind, tuple(self.parts[begin:]))]

    def enter_level(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise UnknownWord("the awk program is nested too deeply")

    # -- rules and statements

    def parse_program(self) -> Node:
        """Parse rules and functions up to the end."""
        self.take_newlines(";")
        while self.token.kind != "end":
            begin = len(self.parts)
            if self.is_at("function"):
                self.parse_function()
            else:
                self.parse_rule()
            self.wrap_node("rule", begin)
            self.take_newlines(";")
        self.parts.append(self.token)
        return Node("program", tuple(self.parts))

    def parse_function(self) -> None:
        """Parse `function name(parameters) { … }`."""
        self.take_token()
        name = self.token.text
        if self.token.kind not in ("name", "call") or name in _KEYWORDS | _BUILTINS:
            raise UnknownWord("the awk program has a function without a name of its own")
        self.defined.add(name)
        self.take_token()
        self.expect_token("(")
        while not self.is_at(")"):
            self.parse_plain_name()
            if not self.is_at(")"):
                self.expect_token(",")
                self.take_newlines()
        self.expect_token(")")
        self.take_newlines()
        self.parse_block()

    def parse_plain_name(self) -> None:
        """Parse a variable name without subscript, as in parameters and after `in`."""
        if self.token.kind != "name" or self.token.text in _KEYWORDS | _BUILTINS:
            raise UnknownWord("the awk program has no name where one is expected")
        self.take_token()

    def parse_rule(self) -> None:
        """Parse a pattern and the block after it, either of which may be missing."""
        if self.skip_token("BEGIN", "END", "BEGINFILE", "ENDFILE"):
            self.parse_block()
            return
        if not self.is_at("{"):
            self.parse_expression()
            if self.skip_token(","):
                self.take_newlines()
                self.parse_expression()
        if self.is_at("{"):
            self.parse_block()
        elif self.token.kind != "end":
            self.expect_token("\n", ";")

    def parse_block(self) -> None:
        """Parse statements in braces."""
        begin = len(self.parts)
        self.enter_level()
        self.expect_token("{")
        self.take_newlines(";")
        while not self.is_at("}"):
            self.parse_statement()
            self.take_newlines(";")
        self.expect_token("}")
        self.depth -= 1
        self.wrap_node("block", begin)

    def parse_statement(self) -> None:
        """Parse one statement with the separator after it."""
        begin = len(self.parts)
        self.enter_level()
        if self.is_at("{"):
            self.parse_block()
        elif self.is_at("if", "while", "for"):
            self.parse_branch_or_loop()
        elif self.skip_token("do"):
            self.take_newlines()
            self.parse_statement()
            self.take_newlines(";")
            self.expect_token("while")
            self.parse_condition()
            self.take_statement_end()
        else:
            self.parse_simple_statement()
            self.take_statement_end()
        self.depth -= 1
        self.wrap_node("statement", begin)

    def take_statement_end(self) -> None:
        if not self.is_at("}"):
            self.expect_token(";", "\n")

    def parse_branch_or_loop(self) -> None:
        """Parse `if`, `while`, `do` or `for`."""
        word = self.take_token().text
        if word == "for":
            self.parse_for_head()
        else:
            self.parse_condition()
        self.take_newlines()
        if word != "if" and self.is_at(";"):
            self.take_token()
            return
        self.parse_statement()
        if word == "if":
            self.parse_else()

    def parse_else(self) -> None:
        """Parse the `else` of an `if`, after newlines and at most one semicolon; without an `else` they count as
        blanks.
        """
        self.take_newlines(";")
        if self.skip_token("else"):
            self.take_newlines()
            self.parse_statement()

    def parse_condition(self) -> None:
        self.open_paren()
        self.parse_expression()
        self.close_paren()

    def parse_for_head(self) -> None:
        """Parse `(name in array)` or `(start; condition; step)`."""
        self.open_paren()
        if re.match(r"[ \t]*[A-Za-z_]\w*[ \t]+in[ \t]+[A-Za-z_]\w*[ \t]*\)", self.token.text + self.text[self.at :]):
            self.parse_plain_name()
            self.expect_token("in")
            self.parse_plain_name()
            self.close_paren()
            return
        for last in (";", ";", ")"):
            if not self.is_at(last):
                self.parse_simple_statement()
            if last == ";":
                self.expect_token(";")
                self.take_newlines()
        self.close_paren()

    def parse_simple_statement(self) -> None:
        """Parse a statement without a body of its own."""
        if self.is_at("print", "printf"):
            self.parse_print()
        elif self.skip_token("next", "nextfile", "break", "continue"):
            pass
        elif self.skip_token("exit", "return"):
            if not self.is_at("}", ";", "\n"):
                self.parse_expression()
        elif self.skip_token("delete"):
            self.parse_plain_name()
            if self.is_at("["):
                self.parse_subscript()
        else:
            self.parse_expression()

    def parse_print(self) -> None:
        """Parse the arguments of print. An unparenthesized `>` would redirect the output, and is refused."""
        word = self.take_token().text
        if self.parens:
            raise UnknownWord("the awk program prints in a place where that is read in different ways")
        self.in_print = True
        if not self.is_at("}", ";", "\n"):
            self.parse_expressions(groups=True)
        elif word == "printf":
            raise UnknownWord("the awk program has a printf without a format")
        self.in_print = False

    # -- expressions

    def parse_expressions(self, *, groups: bool = False) -> None:
        """Parse one or more expressions separated by commas.

        Args:
            groups: accept a parenthesized list as well.
        """
        self.parse_expression(groups=groups)
        while self.skip_token(","):
            self.take_newlines()
            self.parse_expression(groups=groups)

    def parse_expression(self, *, groups: bool = False) -> None:
        """Parse operands with operators between them, or none for concatenation."""
        begin = len(self.parts)
        self.enter_level()
        self.parse_operand(groups=groups)
        while True:
            if self.is_at(">") and self.in_print and not self.parens:
                raise UnknownWord("the awk program writes to a file with '>'")
            if self.skip_token("?"):
                self.parse_expression()
                self.expect_token(":")
                self.parse_expression()
            elif self.skip_token("in"):
                self.parse_plain_name()
            elif self.is_at(*_BINARY, *_ASSIGNS):
                if self.take_token().text in ("&&", "||"):
                    self.take_newlines()
                self.parse_operand()
            elif self.is_operand_start():
                self.parse_operand()
            else:
                break
        self.depth -= 1
        self.wrap_node("expression", begin)

    def is_operand_start(self) -> bool:
        """Whether another operand follows and is concatenated."""
        if self.token.kind == "name":
            return self.token.text not in _KEYWORDS
        return self.token.kind in ("number", "string", "call") or self.is_at("(", "$", "++", "--")

    def parse_operand(self, *, groups: bool = False) -> None:
        """Parse a value with its signs and `++` or `--` on either side."""
        while self.skip_token("!", "-", "+"):
            pass
        if self.skip_token("++", "--") and not (
            self.is_at("$") or (self.token.kind == "name" and self.token.text not in _KEYWORDS)
        ):
            raise UnknownWord("the awk program counts something that is no variable")
        if self.is_at("("):
            self.parse_group(groups=groups)
        elif self.skip_token("$"):
            if not (self.token.kind in ("number", "call", "name") or self.is_at("(", "$", "++", "--", "-", "+")):
                raise UnknownWord("the awk program has '$' before something that is no number")
            self.parse_operand()
            return
        elif self.token.kind == "call":
            self.parse_call()
        elif self.token.kind == "name":
            self.parse_variable()
        elif self.token.kind in ("number", "string", "regex"):
            self.take_token()
            return
        else:
            raise UnknownWord(_describe_unexpected(self.token))
        while self.skip_token("++", "--"):
            pass

    def parse_group(self, *, groups: bool) -> None:
        """Parse a parenthesized expression, or a list: the arguments of `print`, or the index before `in`."""
        self.open_paren()
        self.parse_expression()
        listed = self.is_at(",")
        while self.skip_token(","):
            self.take_newlines()
            self.parse_expression()
        self.close_paren()
        if listed and not groups and not self.is_at("in"):
            raise UnknownWord("the awk program has a list in parentheses where none is expected")

    def open_paren(self) -> None:
        self.expect_token("(")
        self.parens += 1

    def close_paren(self) -> None:
        self.expect_token(")")
        self.parens -= 1

    def parse_call(self) -> None:
        """Parse a call of a harmless built-in function, or of one the program defines."""
        name = self.take_token().text
        if name not in _BUILTINS:
            self.called.add(name)
        self.open_paren()
        commas = 0
        if not self.is_at(")"):
            self.parse_expression()
            while self.is_at(","):
                commas += 1
                self.take_token()
                self.take_newlines()
                self.parse_expression()
        self.close_paren()
        if name in ("asort", "asorti") and commas > 1:
            raise UnknownWord(f"the awk program gives {name}() the name of a function")

    def parse_variable(self) -> None:
        """Parse a variable, an array element, or `length` without parentheses."""
        if self.token.text in _KEYWORDS or (self.token.text in _BUILTINS and self.token.text != "length"):
            raise UnknownWord(_describe_unexpected(self.token))
        name = self.take_token().text
        if name == "length" and self.is_at("/", "(", "[", "/="):
            raise UnknownWord("the awk program uses 'length' in a way that is read differently")
        if self.is_at("["):
            self.parse_subscript()

    def parse_subscript(self) -> None:
        while self.skip_token("["):
            self.parse_expressions()
            self.expect_token("]")


def _is_sort_setting(rest: str) -> bool:
    """Whether the rest starts with `PROCINFO["sorted_in"] = "@ind_str_asc"`, which sets the order of loops."""
    match = re.match(r'\["sorted_in"\] *= *("@[a-z_]+") *(?=[;\n}]|\Z)', rest)
    return match is not None and match[1] in _SORT_ORDERS


def _describe_unexpected(token: Token) -> str:
    if token.text in (">", ">>"):
        return "the awk program writes to a file with '>'"
    shown = token.text.replace("\n", "end of line")
    return f"the awk program has {shown!r} where a value is expected" if shown else "the awk program is not complete"


def _describe_unreadable(rest: str) -> str:
    """Return why no token begins here."""
    if rest.startswith("|"):
        return "the awk program runs a command with '|'"
    if rest.startswith("@"):
        return "the awk program uses '@', which loads files or calls functions by name"
    return f"clio does not read {rest[:1]!r} in an awk program"


def _judge_awk(words: tuple[Word, ...]) -> Judgement:
    """Judge awk: known options, a program that only prints, and the files it reads."""
    try:
        call = parse_call(read_grammar(_OPTIONS, order="first"), words[1:])
    except UnknownWord:
        if any(word.text.startswith(("-f", "--file", "-E", "--exec")) for word in words[1:]):
            raise UnknownWord("awk reads its program from a file") from None
        raise
    if call.has_option("--version", "--help") and not call.operands:
        return Judgement()
    for value in call.values("-v"):
        _check_assignment(value)
    if not call.operands:
        raise UnknownWord("awk has no program")
    program, *operands = call.operands
    if program.glob:
        raise UnknownWord("the awk program is computed at run time")
    parse_program(program.text)
    paths: list[Word] = []
    for word in operands:
        if not word.glob and _ASSIGNMENT.match(word.text):
            _check_assignment(word.text)
        elif word.text.startswith("/inet"):
            raise UnknownWord(f"gawk opens the network for {word.text!r}")
        else:
            paths.append(word)
    return Judgement(paths=tuple(paths))


def _check_assignment(text: str) -> None:
    match = _ASSIGNMENT.match(text)
    if match is None or match[1] in _REFUSED_NAMES or match[1] in _KEYWORDS or match[1] in _BUILTINS:
        raise UnknownWord(f"awk is given {text!r}, which does not set a plain variable")


JUDGES: dict[str, Judge] = dict.fromkeys(("awk", "gawk", "mawk", "nawk", "original-awk"), _judge_awk)
