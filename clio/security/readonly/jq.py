"""Judge calls of jq: only filters that compute from their input, parsed like jq 1.5 to 1.8. Pure."""

import re
from typing import Literal

from msgspec import Struct

from clio.security.readonly.grammar import Judge, Judgement, UnknownWord
from clio.security.shell.command_line import Word, word_set

_FLAGS = frozenset("nrcseSaMCjhVR")
_LONG_FLAGS = word_set("""
    --null-input --raw-output --raw-output0 --compact-output --slurp --exit-status --sort-keys --ascii-output --tab
    --monochrome-output --color-output --join-output --raw-input --stream --stream-errors --seq --unbuffered --help
    --version --args --jsonargs
    """)
_VALUES = {
    "--arg": ("text", "text"),
    "--argjson": ("text", "text"),
    "--slurpfile": ("text", "path"),
    "--rawfile": ("text", "path"),
    "--indent": ("text",),
}
# Limits of the parser, in characters and in levels of nesting; it is recursive, and the filter may be generated.
_MAX_FILTER = 20_000
_MAX_DEPTH = 40

_FUNCTIONS = word_set("""
    GROUP_BY IN INDEX UNIQUE_BY abs acos acosh add all any arrays ascii ascii_downcase ascii_upcase asin asinh atan
    atan2 atanh booleans bsearch builtins capture cbrt ceil combinations contains copysign cos cosh date dateadd
    datesub debug del delpaths drem empty endswith erf error exp exp10 exp2 explode expm1 fabs false fdim finites
    first flatten floor fma fmax fmin fmod frexp from_entries fromdate fromdateiso8601 fromjson fromstream gamma
    getpath gmtime group_by gsub halt halt_error has have_decnum have_literal_numbers hypot implode in index indices
    infinite input input_filename input_line_number inputs inside isempty isfinite isinfinite isnan isnormal isvalid
    iterables j0 j1 jn join keys keys_unsorted last ldexp leaf_paths length lgamma lgamma_r limit localtime log
    log10 log1p log2 logb ltrim ltrimstr map map_values match max max_by min min_by mktime modf nan nearbyint
    nextafter nexttoward normals not now nth null nulls numbers objects path paths pick pow pow10 range recurse
    recurse_down remainder repeat reverse rindex rint round rtrim rtrimstr scalars scalb scalbln scan select setpath
    significand sin sinh skip sort sort_by split splits sqrt startswith stderr strflocaltime strftime strings
    strptime sub sum tan tanh test tgamma to_entries toarray toboolean todate todateiso8601 tojson tonumber tostream
    tostring transpose trim trimstr true trunc truncate_stream type unique unique_by until utf8bytelength values
    walk while with_entries y0 y1 yn
    """)
_KEYWORDS = word_set("""
    def reduce foreach if then elif else end try catch label break import include as and or module
    """)
_REFUSED_NAMES = {
    "env": "prints environment variables, including secrets",
    "$ENV": "prints environment variables, including secrets",
    "import": "loads a module",
    "include": "loads a module",
    "module": "is a module",
    "modulemeta": "reads a module",
    "get_search_list": "shows where modules are looked for",
}

_PATTERN = re.compile(r"[*?]|\[[!^]?.[^\]]*\]", re.DOTALL)
_SPACE = re.compile(r"(?:[ \t\n]|#[^\n\\]*(?=\n|\Z))*")
_NUMBER = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w])", re.ASCII)
_FIELD = re.compile(r"\.[A-Za-z_]\w*", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_VARIABLE = re.compile(r"\$[A-Za-z_]\w*", re.ASCII)
_FORMAT = re.compile(r"@(?:text|json|html|uri|urid|csv|tsv|sh|base64|base64d|base32|base32d)(?!\w)", re.ASCII)
_TEXT = re.compile(r'(?:[^"\\]|\\[^(])*')
_OPERATOR = re.compile(r"\?//=?|//=|\|=|[-+*/%]=|==|!=|<=|>=|//|\.\.|[-+*/%<>=|,.:;()\[\]{}?]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

_BINARY = frozenset("""| , // ?// //= |= += -= *= /= %= == != < <= > >= + - * / % = and or""".split())

Kind = Literal["name", "variable", "field", "number", "format", "string", "operator", "end"]


class Token(Struct, frozen=True):
    """One token. leading: the blanks and comments before it. The text of a string ends at its first interpolation."""

    kind: Kind
    text: str
    leading: str


def parse_filter(text: str) -> tuple[Token, ...]:
    """Parse a jq filter into tokens, whose joined texts are the filter.

    Raises:
        UnknownWord: if it is not known to be harmless.
    """
    if len(text) > _MAX_FILTER:
        raise UnknownWord("the jq filter is too long to check")
    if _CONTROL.search(text):
        raise UnknownWord("the jq filter has control characters")
    parser = _JqParser(text)
    parser.parse_program()
    if "".join(token.leading + token.text for token in parser.tokens) != text:
        raise UnknownWord("the jq filter is not understood as a whole")
    return tuple(parser.tokens)


class _JqParser:
    """Reads one filter from left to right with one token of lookahead. defined: functions and parameters it defines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.tokens: list[Token] = []
        self.called: set[str] = set()
        self.defined: set[str] = set()
        self.token = self.read_token()

    # -- tokens

    def read_token(self) -> Token:
        """Return the next token."""
        leading = self.take_match(_SPACE)
        if self.at == len(self.text):
            return Token("end", "", leading)
        kind, found = self.match_token()
        if not found:
            raise UnknownWord(f"clio does not read {self.text[self.at]!r} in a jq filter")
        return Token(kind, found, leading)

    def match_token(self) -> tuple[Kind, str]:
        """Return the kind and text of the token here; "" for none."""
        if self.text[self.at] == '"':
            self.at += 1
            return "string", '"'
        kinds: tuple[tuple[Kind, re.Pattern[str]], ...] = (
            ("field", _FIELD),
            ("number", _NUMBER),
            ("variable", _VARIABLE),
            ("name", _NAME),
            ("format", _FORMAT),
            ("operator", _OPERATOR),
        )
        for kind, pattern in kinds:
            if found := self.take_match(pattern):
                if self.text.startswith("::", self.at):
                    raise UnknownWord("the jq filter uses a module")
                return kind, found
        return "operator", ""

    def take_match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def is_at(self, *texts: str) -> bool:
        return self.token.kind in ("operator", "name") and self.token.text in texts

    def take_token(self) -> Token:
        token = self.token
        self.tokens.append(token)
        self.token = self.read_token()
        return token

    def skip_token(self, *texts: str) -> bool:
        """Consume the next token if it is one of these operators or keywords; return whether it was."""
        found = self.is_at(*texts)
        if found:
            self.take_token()
        return found

    def expect_token(self, *texts: str) -> None:
        if not self.is_at(*texts):
            raise UnknownWord(f"the jq filter has {self.token.text or 'its end'!r} where {texts[0]!r} is expected")
        self.take_token()

    def enter_level(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise UnknownWord("the jq filter is nested too deeply")

    # -- grammar

    def parse_program(self) -> None:
        """Parse definitions and one pipe up to the end."""
        if self.token.kind != "end":
            self.parse_definitions()
        if self.token.kind != "end":
            self.parse_pipe()
        if self.token.kind != "end":
            raise UnknownWord(f"the jq filter has {self.token.text!r} where it should end")
        self.tokens.append(self.token)
        if unknown := sorted(self.called - self.defined - _FUNCTIONS):
            raise UnknownWord(f"the jq filter calls {unknown[0]!r}, which is not known to be harmless")

    def parse_definitions(self) -> None:
        """Parse `def name(a; $b): body;`, any number of times."""
        while self.skip_token("def"):
            self.define_name()
            if self.skip_token("("):
                self.define_name()
                while self.skip_token(";"):
                    self.define_name()
                self.expect_token(")")
            self.expect_token(":")
            self.parse_pipe()
            self.expect_token(";")

    def define_name(self) -> None:
        """Register the name of a function or parameter."""
        if self.token.kind == "variable":
            self.parse_variable()
            return
        if self.token.kind != "name" or self.token.text in _KEYWORDS:
            raise UnknownWord("the jq filter has no name where one is defined")
        self.check_name()
        self.defined.add(self.take_token().text)

    def check_name(self) -> None:
        if why := _REFUSED_NAMES.get(self.token.text):
            raise UnknownWord(f"the jq filter uses {self.token.text!r}, which {why}")

    def parse_pipe(self) -> None:
        """Parse terms with operators between them, and `as`, which binds names for the rest."""
        self.enter_level()
        self.parse_definitions()
        if self.skip_token("label"):
            self.parse_variable()
        else:
            self.parse_operand()
        while self.is_at(*_BINARY) or self.is_at("as"):
            if self.take_token().text == "as":
                self.parse_patterns()
                self.expect_token("|")
            self.parse_definitions()
            if self.skip_token("label"):
                self.parse_variable()
            else:
                self.parse_operand()
        self.depth -= 1

    def parse_operand(self) -> None:
        """Parse a term with its signs."""
        while self.skip_token("-"):
            pass
        if self.skip_token("reduce", "foreach"):
            self.parse_postfix()
            self.expect_token("as")
            self.parse_patterns()
            self.parse_arguments()
        elif self.is_at("if"):
            self.parse_conditional()
        elif self.skip_token("try"):
            self.parse_operand()
            if self.skip_token("catch"):
                self.parse_operand()
            return
        else:
            self.parse_postfix()
            return
        self.parse_suffixes()

    def parse_conditional(self) -> None:
        """Parse `if … end` after its first word."""
        self.take_token()
        while True:
            self.parse_pipe()
            self.expect_token("then")
            self.parse_pipe()
            if not self.skip_token("elif"):
                break
        if self.skip_token("else"):
            self.parse_pipe()
        self.expect_token("end")

    def parse_postfix(self) -> None:
        """Parse a term and the selectors after it."""
        self.enter_level()
        kind = self.token.kind
        if kind == "field" or kind == "number":
            self.take_token()
        elif kind == "variable":
            self.parse_variable()
        elif kind == "string":
            self.parse_string()
        elif kind == "format":
            self.parse_format()
        elif self.skip_token("("):
            self.parse_pipe()
            self.expect_token(")")
        elif self.skip_token("["):
            if not self.is_at("]"):
                self.parse_pipe()
            self.expect_token("]")
        elif self.is_at("{"):
            self.parse_object()
        elif self.skip_token("."):
            if self.token.kind == "string":
                self.parse_string()
        elif self.skip_token(".."):
            pass
        elif self.skip_token("break"):
            self.parse_variable()
        elif kind == "name" and self.token.text not in _KEYWORDS:
            self.check_name()
            self.called.add(self.take_token().text)
            if self.is_at("("):
                self.parse_arguments()
        else:
            self.check_name()
            raise UnknownWord(f"the jq filter has {self.token.text or 'its end'!r} where a value is expected")
        self.parse_suffixes()
        self.depth -= 1

    def parse_suffixes(self) -> None:
        """Parse the selectors after a term: `.name`, `[…]`, `?`."""
        while True:
            if self.token.kind == "field" or self.is_at("?"):
                self.take_token()
            elif self.skip_token("."):
                if self.token.kind == "string":
                    self.parse_string()
                elif not self.is_at("["):
                    raise UnknownWord("the jq filter has a '.' without a name")
            elif self.skip_token("["):
                if self.skip_token(":"):
                    self.parse_pipe()
                elif not self.is_at("]"):
                    self.parse_pipe()
                    if self.skip_token(":") and not self.is_at("]"):
                        self.parse_pipe()
                self.expect_token("]")
            else:
                return

    def parse_arguments(self) -> None:
        """Parse the arguments of a function, separated by semicolons."""
        self.expect_token("(")
        self.parse_pipe()
        while self.skip_token(";"):
            self.parse_pipe()
        self.expect_token(")")

    def parse_variable(self) -> None:
        """Parse a variable, including `$__loc__`. `$ENV` and jq's other variables are refused."""
        self.check_name()
        text = self.token.text
        if self.token.kind != "variable" or (text.startswith("$__") and text != "$__loc__"):
            raise UnknownWord(f"the jq filter uses {text!r}, which clio does not know")
        self.take_token()

    def parse_format(self) -> None:
        """Parse `@base64`, or `@base64 "string with encoded interpolations"`."""
        self.take_token()
        if self.is_string():
            self.parse_string()

    def is_string(self) -> bool:
        return self.token.kind == "string"

    def parse_string(self) -> None:
        """Parse a string and the filters interpolated in it. Its opening quote is the next token."""
        self.enter_level()
        while True:
            # After the quote, or after the bracket that closes a filter, the input is text.
            text = self.take_match(_TEXT)
            opening = self.token
            end = self.text[self.at : self.at + 1]
            if end == '"':
                self.at += 1
                self.tokens.append(Token("string", f'{opening.text}{text}"', opening.leading))
                self.token = self.read_token()
                break
            if not self.text.startswith("\\(", self.at):
                raise UnknownWord("a string of the jq filter does not end")
            self.at += 2
            self.tokens.append(Token("string", f"{opening.text}{text}\\(", opening.leading))
            self.token = self.read_token()
            self.parse_pipe()
            if not self.is_at(")"):
                raise UnknownWord("a filter in a string of the jq filter does not end")
        self.depth -= 1

    def parse_object(self) -> None:
        """Parse an object: `{a, "b": 1, (k): v, $x, @base64 "t": 2}`."""
        self.take_token()
        while not self.is_at("}"):
            self.parse_key()
            if self.skip_token(":"):
                self.parse_object_value()
            if not self.is_at("}"):
                self.expect_token(",")
        self.take_token()

    def parse_key(self) -> None:
        """Parse the key of an object entry."""
        if self.token.kind == "variable":
            self.parse_variable()
        elif self.token.kind == "string":
            self.parse_string()
        elif self.token.kind == "format":
            self.parse_format()
        elif self.token.kind in ("name", "number"):
            self.take_token()
        elif self.skip_token("("):
            self.parse_pipe()
            self.expect_token(")")
        else:
            raise UnknownWord("the jq filter has an object without a key")

    def parse_object_value(self) -> None:
        """Parse terms with operators other than a comma between them."""
        self.parse_operand()
        while self.skip_token(*(_BINARY - {","})):
            self.parse_operand()

    def parse_patterns(self) -> None:
        self.parse_pattern()
        while self.skip_token("?//"):
            self.parse_pattern()

    def parse_pattern(self) -> None:
        """Parse the pattern of a binding: `$x`, `[$a, $b]`, `{a: $x, $y}`."""
        self.enter_level()
        if self.skip_token("["):
            self.parse_pattern()
            while self.skip_token(","):
                self.parse_pattern()
            self.expect_token("]")
        elif self.skip_token("{"):
            while not self.is_at("}"):
                self.parse_key()
                if self.skip_token(":"):
                    self.parse_pattern()
                if not self.is_at("}"):
                    self.expect_token(",")
            self.take_token()
        else:
            self.parse_variable()
        self.depth -= 1


def _judge_jq(words: tuple[Word, ...]) -> Judgement:
    """Judge the words of a call. Options may be anywhere; the first other word is the filter, the rest are files."""
    operands: list[Word] = []
    paths: list[Word] = []
    place, only_operands, positional = 1, False, False
    while place < len(words):
        word = words[place]
        place += 1
        text = word.text
        if word.dynamic:
            raise UnknownWord("has arguments computed at run time")
        if only_operands or not text.startswith("-") or text == "-":
            # `.a[].b` contains an empty bracket pair, which is not a shell pattern.
            if not operands and word.glob and _PATTERN.search(text):
                raise UnknownWord("the jq filter is computed at run time")
            if not operands or not positional:
                operands.append(word)
            continue
        if word.glob:
            raise UnknownWord(f"the option {text!r} contains an unquoted pattern")
        if text == "--":
            only_operands = True
        elif text in _VALUES:
            place = _take_values(words, place, text, paths)
        elif text in _LONG_FLAGS:
            positional = positional or text in ("--args", "--jsonargs")
        elif text.startswith("--") or not _FLAGS.issuperset(text[1:]):
            raise UnknownWord(_describe_option(text))
    if not operands:
        if len(words) == 2 and words[1].text in ("--version", "--help", "-h", "-V"):
            return Judgement()
        raise UnknownWord("jq has no filter")
    parse_filter(operands[0].text)
    return Judgement(paths=(*operands[1:], *paths))


def _take_values(words: tuple[Word, ...], place: int, option: str, paths: list[Word]) -> int:
    """Return the index after the values of an option; file values are added to `paths`."""
    for kind in _VALUES[option]:
        if place == len(words) or words[place].dynamic or words[place].glob:
            raise UnknownWord(f"the value of {option} is missing or computed at run time")
        if kind == "path":
            paths.append(words[place])
        place += 1
    return place


def _describe_option(text: str) -> str:
    if text == "--from-file" or (not text.startswith("--") and "f" in text):
        return "jq reads its filter from a file"
    if text.startswith(("-L", "--library-path")):
        return "jq loads modules from a directory"
    return f"the option {text!r} is not known to be harmless"


JUDGES: dict[str, Judge] = {"jq": _judge_jq}
