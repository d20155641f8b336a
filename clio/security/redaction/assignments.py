"""Recognize secrets by the name they are assigned to: `DB_PASSWORD=…`, `"api_key": "…"`, `--password …`. Pure."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import Struct

from clio.security.redaction.secret_patterns import (
    ANY_WORD,
    HALF_A_NAME,
    NAME_CHARS,
    NAME_END,
    QUOTE,
    WORDS,
    Span,
    can_be_secret_name,
    get_secret_kind,
    is_environment_name,
    is_name_start,
    is_random_value,
    is_secret_name,
)
from clio.security.redaction.secret_values import Style, is_secret_item, is_secret_value
from clio.text.lazy_regex import LazyRegex

# ruff: noqa: E501 - a table of expressions and frames reads better with one a line
# An example shows a text with a match; `…` is a secret value, `\n` a line break. Most patterns are matched at
# the word of `WORDS` in the name, such as `password`, not at the beginning of the name.
#
# Groups: `bare` is a value without quotation marks. A pattern with a literal has two alternatives for the value, `xv`
# (in quotation marks `xq`) and `xw` (in escaped quotation marks `xe`); for the rest of a concatenation `yv` and `yw`.

_RANK, _RANK_BESIDE = 300, 301
"""Ranks of the spans; see `Span`. A value that is only beside its name is the weaker evidence."""

_NAME = LazyRegex(rf"[{NAME_CHARS}]{{0,100}}")
_TYPE_NAME = (
    r"(?:str|string|String\??|&str|&'static str|Final|Final\[str\]|str \| None|Optional\[str\]|bytes|SecretStr|\[\]byte"
    r"|&'static \[u8\]|char\[\]|any)"
)
# A type between the name and the sign: `: str`, ` []`, ` As String`.
_TYPE_ANNOTATION = rf"(?:[ \t]?string[ \t](?==))?(?:\??:[ \t]{{0,2}}{_TYPE_NAME}[ \t]{{0,2}}(?==))?(?:[ \t]{{0,2}}\[\w{{0,16}}\][ \t]{{0,2}}(?==))?(?:[ \t]As[ \t]String[ \t]?(?==))?"
# A word between the sign and the value, as in `Authorization: Token …`.
_VALUE_PREFIX = r"(?:[Tt]oken|ApiKey|apikey|Key|!!str|&\w{1,20})[ \t]{1,4}"
# Functions that may be called with a literal secret. Any other call is a reference, not a secret.
_WRAPPING_CALL = (
    r"(?:(?:new[ \t])?(?:String|Some|SecretStr|SecretBytes|Secret|SecretString|Password|Buffer|bytes|str|Ok|pulumi\.secret|QStringLiteral|QLatin1String|base64\.b64decode|(?i:md5|sha1|sha2|password|crypt))"
    r"(?:(?:::|\.)(?:from|new|valueOf))?\(|\[\]byte\(|ConvertTo-SecureString[ \t](?:-String[ \t])?)?"
)
_LITERAL = (
    r"(?:(?P<{0}q>[\"'`])(?P<{0}v>(?:\\[^\n]|(?!(?P={0}q))[^\\\n]){{1,1024}})(?P={0}q)"
    r"|(?P<{0}e>\\{{1,3}}[\"'])(?P<{0}w>(?:(?!(?P={0}e))[^\n]){{1,1024}}?)(?P={0}e))"
)
# Another name with a separator ends a value: otherwise a text full of names would be scanned once for each name.
_NEXT_NAME_PATTERN = r"(?i:passw|secret|token|key|pwd)[\w-]{0,20}[=:]"
_BARE_VALUE = rf"\\{{0,2}}[\"'`]?(?!{_NEXT_NAME_PATTERN})(?P<bare>(?:[^\s\"'`\\]|(?<=[^\s\"'`\\])[\"'`](?=[^\s\"'`,;)\]}}])|\\(?![nrt\"'`\\])){{1,1024}})"
_VALUE = rf"(?:\([ \t]{{0,4}}(?:\r?\n[ \t]{{0,60}})?(?=[bfru]?[\"']))?(?:[@$]?[A-Za-z]{{0,2}}(?={QUOTE}))?(?:\"\"(?=\")|''(?='))?(?:{_WRAPPING_CALL}{_LITERAL.format('x')}|{_BARE_VALUE})"
_SEPARATOR = r"(?P<sep>:=|=>|==|!=|\?=|\|\|=|\+=|=|:(?!:))"
# Example: password = "…"
_ASSIGNMENT = LazyRegex(rf"{NAME_END}{_TYPE_ANNOTATION}{_SEPARATOR}[ \t]{{0,16}}(?:{_VALUE_PREFIX})?{_VALUE}")
# A literal on a line of its own, or a concatenation of several: the rest of the value.
_CONCATENATION = r"(?:[ \t]{0,8}(?:\+|\.{1,2}|&|\\|_)?[ \t]{0,8}\\?\r?\n?[ \t]{0,40}(?:\+|\.{1,2}|&)?[ \t]{0,8}|\.concat\([ \t]{0,4})[bfr]?"
_NEXT_LITERAL = LazyRegex(_CONCATENATION + _LITERAL.format("y"))
# Example: password =\n    "…"
_VALUE_ON_NEXT_LINE = LazyRegex(
    rf"{NAME_END}{_TYPE_ANNOTATION}(?::=|=>|=|:(?!:))[ \t]{{0,8}}[(\\]?[ \t]{{0,8}}\r?\n[ \t]{{0,60}}{_LITERAL.format('x')}"
)
# In calls and dictionaries of several languages, such as setProperty("password", "…").
# Example: define('DB_PASSWORD', '…')
_NAME_COMMA_VALUE = LazyRegex(rf"[{NAME_CHARS}]{{0,48}}{QUOTE}[ \t]{{0,4}},[ \t]{{0,8}}{_LITERAL.format('x')}")
# `name: DB_PASSWORD` with `value: …` on the next line or after a comma, as in lists of variables and forms.
_NAME_THEN_VALUE_KEY = rf"[{NAME_CHARS}]{{0,48}}(?:\\{{0,2}}[\"']){{0,2}},?(?:(?<=,)\s{{0,40}}|\s{{1,40}})\\{{0,2}}[\"']?(?:[A-Za-z]{{0,12}}[Vv]alue|v|val)\\{{0,2}}[\"']?[ \t]{{0,2}}[:=]"
# Example: name: DB_PASSWORD\n  value: …
_NAME_VALUE_PAIR = LazyRegex(rf"{_NAME_THEN_VALUE_KEY}[ \t]{{0,4}}{_VALUE}")
# Example: <password>…</password>
_XML_ELEMENT = LazyRegex(
    rf"[{NAME_CHARS}]{{0,48}}[\"']?(?:[ \t][^<>\n]{{0,120}})?>\s{{0,40}}(?:<[Vv]alue>[ \t]{{0,8}})?(?:<!\[CDATA\[)?"
    r"(?P<xv>[^<>\s](?:[^<>\n]{0,510}[^<>\s])?)\s{0,40}(?:\]\]>)?</"
)
# Example: <key>password</key><string>…</string>
PLIST = LazyRegex(
    rf"[{NAME_CHARS}]{{0,48}}</(?:key|[\w:-]{{0,30}}[Nn]ame)>\s{{0,40}}<(?:string|[\w:-]{{0,30}}[Vv]alue)>(?P<xv>[^<>\n]{{1,512}})</"
)
# Example: --password …
_OPTION = LazyRegex(r"[A-Za-z0-9_-]{0,48}[ \t]{1,4}(?P<bare>[^\s\"'`\\-][^\s\"'`\\]{0,1023})")
# Example: --password "…"
_QUOTED_OPTION = LazyRegex(rf"[A-Za-z0-9_-]{{0,48}}[ \t]{{1,4}}{_LITERAL.format('x')}")
# Name and value with only a blank between, as in `.netrc`. Only for random-looking values, because a sentence may
# continue the same way.
# Example: password …
BESIDE = r"[A-Za-z0-9_-]{0,48}[ \t]{1,4}[\"'`(]?(?=[^\s\"'`]{0,1024}[0-9])"
_VALUE_BESIDE_NAME = LazyRegex(rf"{BESIDE}(?P<bare>[^\s\"'`]{{8,1024}})")
# Example: ENV DB_PASSWORD …
_VALUE_AFTER_SETTER = LazyRegex(r"[A-Za-z0-9_.-]{0,48}[ \t]{1,4}[\"']?(?P<bare>[^\s\"'`=]{4,1024})")
# Example: ENV (before the name)
_SETTER_BEFORE_NAME = LazyRegex(
    r"(?:\A|\n)[ \t|0-9:+>→-]{0,16}(?:ENV|ARG|SetEnv|setenv|setx|set(?: -[a-zA-Z]{1,4})?|[a-z]+ configure set|config:set)[ \t]{1,4}\Z"
)
# Example: -u admin: (before the password)
LOGIN = r"-u(?:ser)?[ =]{0,2}[\"']?[^\s:\"'`$@/]{1,64}:"
# The patterns `_UNFINISHED_…` are for text that arrives in parts: does the text so far end within an assignment?
# A name at the end of a text. Matches more than the other patterns, so that a value is never split from its name.
_UNFINISHED_NAME = LazyRegex(
    rf"{NAME_END}(?:(?:\??:[ \t]{{0,2}}[A-Za-z&'\[\]| 8]{{0,20}})?(?:[ \t]{{0,2}}\[\][ \t]{{0,2}})?"
    rf"(?:[:=!>?|+]{{1,3}}[ \t]{{0,16}}(?:[A-Za-z]{{1,8}}[ \t]{{0,4}})?(?:(?:new[ \t])?[A-Za-z:.\[\]]{{1,24}}[( -][ \t]?(?:-String[ \t])?)?)?(?:[(\\][ \t]{{0,8}}(?:\r?\n[ \t]{{0,60}})?)?"
    r"|[ \t]{1,4}(?:A|As|As[ \t](?:S|St|Str|Stri|Strin|String)[ \t]{0,2}=?[ \t]{0,4})"
    r"|,?\s{1,40}(?:\\{0,2}[\"'])?(?:[Vv](?:a(?:l(?:ue?)?)?)?)?(?:\\{0,2}[\"'])?[ \t]{0,2}[:=]?[ \t]{0,4}"
    rf"|string[ \t]{{1,2}}(?:=[ \t]{{0,4}})?|(?:{QUOTE})?[ \t]{{0,4}},[ \t]{{0,8}})\Z"
)
_UNFINISHED_LITERAL_START = LazyRegex(
    rf"{NAME_END}{_TYPE_ANNOTATION}(?:(?::=|=>|\?=|=|:(?!:)|,|[ \t])[ \t]{{0,16}}[(\\]?(?:[ \t]{{0,8}}\r?\n[ \t]{{0,60}})?)?(?:{_VALUE_PREFIX})?[@$]?[A-Za-z]{{0,2}}"
    rf"{_WRAPPING_CALL}(?=[\"'`\\])"
)
_UNFINISHED_ELEMENT = LazyRegex(
    r"\A[^<\n]{0,60}</key>\s{0,40}(?:<(?:string>?)?[^<>\n]{0,512})?\Z|>[ \t]{0,8}<!\[CDATA\[[^<>\n]{0,512}\Z|</?k?e?y?\Z"
)
_UNFINISHED_CONCATENATION = LazyRegex(
    rf"(?:{_CONCATENATION})\Z|[ \t]{{0,8}}(?:\+|\.{{1,2}}|&|\\)?[ \t]{{0,8}}\\?\r?\n?[ \t]{{0,40}}\Z"
)
_INTRODUCING_WORDS = LazyRegex(rf"{ANY_WORD}|bearer|basic|-u(?:ser)?")
_FIRST_HALF_OF_NAME = LazyRegex(HALF_A_NAME)
_MAX_HALF_NAME_CHARS = 40
"""How far before a position the first word of a name of two words is searched, such as "api" of "api key"."""
_OPEN_WINDOW_CHARS = 1400
"""How far before a position, in characters, a name may begin whose value continues after it."""
_NEAR_WINDOW_CHARS = 240
"""How far before a position a name may end whose value has not begun yet."""
_MAX_UNFINISHED_NAMES = 6  # number of names before a position whose value may be incomplete there
_NEXT_NAME = LazyRegex(_NEXT_NAME_PATTERN)
# Where a value without quotation marks ends if code or another assignment may follow it.
_VALUE_END = LazyRegex(rf"[,;)\]}}<>|]|&(?=[\w.-]+=|\Z)|{_NEXT_NAME.pattern}")
# What may stand before a name that begins its line: a line number, `export`, `- `.
_LINE_START = LazyRegex(
    r"(?:[\w./@+-]{1,100}[:-]\d{1,6}[:-])?[ \t]*(?:\d+[|:→\t-][ \t]*)?(?:[-+>│|#;/*]{1,3}[ \t]+|\+)?(?:export|set|setx|ENV|ARG|let|var|const|local|declare(?: -x)?)?[ \t]*[\"']?(?:\$env:)?\Z"
)
# The end of a line, with a comment or without.
_REST_OF_LINE = LazyRegex(r"[ \t]*(?:[#;][^\n]*|//[^\n]*)?\r?(?:\n|\Z)")
_FIRST_LITERAL = LazyRegex(_LITERAL.format("y"))
_CONCATENATION_SIGN = LazyRegex(_CONCATENATION)
_SIGN_AFTER_NAME = LazyRegex(r"[\"'`\])\\]{0,4}\s{0,16}([^\s])")
_ASSIGNMENT_SIGNS = "=:!?|+,(<>{["
# Example: #define
_DEFINE_BEFORE_NAME = LazyRegex(r"#[ \t]*define[ \t]+\Z")
# Example: #define DB_PASSWORD "…"
_QUOTED_VALUE_AFTER_NAME = LazyRegex(rf"[A-Za-z0-9_]{{0,48}}[ \t]{{1,40}}[LuU]?{_LITERAL.format('x')}")
# Example: passwords: [
_STRUCTURE_START = LazyRegex(
    rf"{NAME_END}(?:(?::|=|=>)[ \t]{{0,8}})?(?:[|>][-+0-9]{{0,2}}[ \t]{{0,8}}\r?\n|\r?\n[ \t]{{0,40}}-[ \t]|\r?\n[ \t]{{1,40}}[\w\"'.-]{{1,60}}:[ \t]|\[|\{{)"
)
# Example: password: |\n  …
_BLOCK_TEXT = LazyRegex(
    rf"{NAME_END}:[ \t]{{0,8}}[|>][-+0-9]{{0,2}}[ \t]{{0,8}}\r?\n(?P<indent>[ \t]{{1,40}})(?P<lines>[^\s][^\n]{{0,1000}}(?:\n(?P=indent)[^\n]{{0,1000}}){{0,100}})"
)
_BLOCK_LINE = LazyRegex(r"[^\s](?:[^\n]*[^\s])?")
# Example: passwords:\n  - …
_DASH_LIST = LazyRegex(
    rf"{NAME_END}:[ \t]{{0,8}}\r?\n(?P<lines>(?:[ \t]{{0,40}}-[ \t][^\n]{{1,300}}(?:\n|\Z)){{1,50}})"
)
_DASH_ITEM = LazyRegex(r"-[ \t]{1,4}[\"']?(?P<v>[^\s\"',:{}\[\]]{4,300})[\"']?,?[ \t]*\r?(?=\n|\Z)")
# Example: passwords = ["…"]
_ARRAY = LazyRegex(rf"{NAME_END}(?::|=|=>|:=)[ \t]{{0,8}}(?:new[ \t]\w+)?\[(?P<items>[^\[\]{{}}]{{1,2000}})\]")
_ARRAY_ITEM = LazyRegex(r"\\{0,2}[\"'`](?P<v>[^\"'`\n\\]{4,500})\\{0,2}[\"'`]|(?P<b>[^\s\"'`,\[\]\\]{4,500})")
# Example: passwords = {admin: …}
MAPPING = LazyRegex(
    rf"{NAME_END}(?:(?::|=|=>)[ \t]{{0,8}}\{{(?P<items>[^{{}}]{{4,2000}})\}}|:[ \t]{{0,8}}\r?\n(?P<indent>[ \t]{{1,40}})(?P<lines>[\w\"'.-]{{1,60}}:[ \t][^\n]{{1,300}}(?:\n(?P=indent)[\w\"'.-][^\n]{{1,300}}){{0,12}}))"
)
# Example: admin: "…"
_MAPPING_ITEM = LazyRegex(
    r"[\w\"'.-]{1,60}[ \t]{0,2}(?::|=>?)[ \t]{0,4}[\"'`]?(?P<v>[^\s\"'`,{}\[\]]{8,300})[\"'`]?(?=[\s,}]|\Z)"
)
# Example: password = { default = "…" }
_NESTED_VALUE = LazyRegex(
    rf"{NAME_END}(?:[:=][ \t]{{0,4}})?\{{\s{{0,40}}(?:[^{{}}\n]{{0,120}}\n\s{{0,40}}){{0,4}}?[\"']?(?:value|default)[\"']?[ \t]{{0,8}}[:=][ \t]{{0,8}}[\"'](?P<v>[^\"'\n]{{4,1000}})[\"']"
)
_UNFINISHED_STRUCTURE = LazyRegex(
    rf"{NAME_END}(?:(?::|=|=>|:=)[ \t]{{0,8}})?(?:[|>][-+0-9]{{0,2}}[ \t]{{0,8}}(?:\r?\n(?:[ \t]{{1,40}}[^\n]{{0,1000}}(?:\n|\Z)|[ \t]*\Z){{0,100}})?"
    rf"|\r?(?:\n(?:[ \t]{{0,40}}-[ \t][^\n]{{0,300}}(?:\n|\Z)){{0,50}}[ \t]{{0,40}}-?)?|(?:new[ \t]\w+)?\[[^\[\]{{}}]{{0,2000}}"
    rf"|\{{\s{{0,40}}(?:[^{{}}\n]{{0,120}}\n\s{{0,40}}){{0,4}}?[^{{}}\n]{{0,120}})\Z"
)
# Example: std::string password("…")
_CONSTRUCTOR_CALL = LazyRegex(rf"[{NAME_CHARS}]{{0,48}}[({{]{_LITERAL.format('x')}[)}}]")
# Example: std::string
_STRING_TYPE_BEFORE_NAME = LazyRegex(r"(?:string|String|QString|char[ \t]*\*|auto|SecureString)[ \t]+\Z")
_TEXT_BEFORE = LazyRegex(r"(?:(?:\[?[\w.,:'/@+-]{1,60}\]?|[\w.-]{1,40}=[^\s()\[\]{}\"']{1,60})[ \t]{1,4}){0,40}[(\[]?")
_TEXT_WORD = LazyRegex(r"[A-Za-z]{2,}")
_TEXT_AFTER = LazyRegex(
    r"[,.;:!?)\]]{0,3}(?:[ \t]*\r?(?:\n|\Z)|(?P<tight>(?<=[,;])(?=\w+=))|[ \t]+(?:\w+=|-\s|(?P<word>[A-Za-z]{1,20}(?=[\s,.;!?]|\Z))))"
)


def find_name_places(lowered: str) -> list[tuple[int, str]]:
    """Return the positions in lower-case text of words that occur in names of secrets, each with the word."""
    found: list[tuple[int, str]] = []
    for word in WORDS:
        position = lowered.find(word)
        while position >= 0:
            found.append((position, word))
            position = lowered.find(word, position + len(word))
    return found


def find_named_spans(text: str, lowered: str = "", places: Iterable[tuple[int, str]] | None = None) -> Iterator[Span]:
    """Yield the spans of values whose names look like those of secrets.

    Args:
        lowered: the text in lower case, if known.
        places: the result of `find_name_places` for the text, if known.
    """
    lowered = lowered or lower_keeping_positions(text)
    tried: set[tuple[int, int]] = set()
    for position, word in find_name_places(lowered) if places is None else places:
        if is_name_start(lowered, position, word):
            for span in _iter_assigned_secrets(text, position):
                if (span.start, span.end) not in tried:
                    tried.add((span.start, span.end))
                    yield span


def find_open_name(text: str, end: int) -> int | None:
    """Return where a name begins whose value may begin or continue after `end`; None if there is no such name.

    For text that arrives in parts: what follows that position must not be shown before more text has arrived.
    """
    begin = max(0, end - _OPEN_WINDOW_CHARS)
    near = end - _NEAR_WINDOW_CHARS
    openers = [
        (start, position) for start, position in _find_introducing_words(text) if begin <= start and position <= end
    ]
    for number, (start, position) in enumerate(openers):
        if position >= near and _UNFINISHED_NAME.match(text, position, end):
            return start
        if number >= len(openers) - _MAX_UNFINISHED_NAMES and _may_value_continue(text, position, end, start):
            return start
    half = _FIRST_HALF_OF_NAME.search(lower_keeping_positions(text[max(0, end - _MAX_HALF_NAME_CHARS) : end]))
    return max(0, end - _MAX_HALF_NAME_CHARS) + half.start() if half else None


@lru_cache(maxsize=1)
def _find_introducing_words(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of words that may introduce a value. Cached: one text is examined at several positions."""
    lowered = lower_keeping_positions(text)  # takes a third of the time of a case-insensitive search
    return tuple(match.span() for match in _INTRODUCING_WORDS.finditer(lowered))


def _may_value_continue(text: str, position: int, end: int, start: int) -> bool:
    """Whether a value may continue after `end`.

    Args:
        position: where the word ends that introduces the value.
        start: where that word begins.
    """
    if _UNFINISHED_STRUCTURE.match(text, position, end):
        name, _ = find_name(text, position - 1)
        return is_secret_name(name) or is_secret_name(name.rstrip("sS"))
    if text.rfind("<", max(0, start - 60), start) > text.rfind(">", max(0, start - 60), start):
        rest = text[position:end]
        if len(rest) < 700 and (("<" not in rest and "\n" not in rest) or _UNFINISHED_ELEMENT.search(rest)):
            return True
    match = _UNFINISHED_LITERAL_START.match(text, position, end)
    if match and match.end() < end and end - match.end() <= 1024:
        literal_start = literal_end = match.end()
        literal = _FIRST_LITERAL.match(text, literal_end, end)
        while literal and literal.end() < end:
            literal_end = literal.end()
            if _UNFINISHED_CONCATENATION.match(text, literal_end, end):
                return "\n\n" not in text[literal_end:end]
            literal = _NEXT_LITERAL.match(text, literal_end, end)
        if literal:
            return True
        sign = _CONCATENATION_SIGN.match(text, literal_end, end)
        return (
            "\n"
            not in text[literal_start if literal_end == literal_start else sign.end() if sign else literal_end : end]
        )
    assignment = _ASSIGNMENT.match(text, position, end)
    if assignment and assignment["bare"] and "\n" not in text[assignment.start("bare") : end]:
        # A value that would be a secret if it were the only one on its line, so the text after it decides.
        return (
            assignment["sep"] in (":", "=", ":=")
            and end - assignment.end() <= _NEAR_WINDOW_CHARS
            and any(True for _ in _iter_unquoted_secrets(text, assignment, position, end))
        )
    return False


def lower_keeping_positions(text: str) -> str:
    """Return the text in lower case, with every character at the same position."""
    return text.replace("\u0130", "i").lower()  # the only letter whose lower case has two characters


class _NamePlace(Struct, frozen=True):
    """A name in a text whose value may follow.

    Attributes:
        position: that of the word of `WORDS` in the name.
        start: where the name begins.
        sign: the first character after it.
        is_certain: see `is_secret_value`.
        is_plural: it is the plural of such a name, so that its value is a list.
    """

    text: str
    position: int
    start: int
    name: str
    sign: str
    is_certain: bool
    is_plural: bool

    def match(self, pattern: LazyRegex) -> re.Match[str] | None:
        """Match a pattern at the word in the name."""
        return pattern.match(self.text, self.position)

    def follows(self, pattern: LazyRegex, chars: int) -> bool:
        """Whether a pattern is found in at most so many characters before the name."""
        return pattern.search(self.text, max(0, self.start - chars), self.start) is not None

    def find_value(self, match: re.Match[str], group: str, style: "Style", *, strip: str = "") -> list[Span]:
        """Return the span of the group if it is a secret. strip: characters that do not belong to its end."""
        value = match[group].rstrip(strip) if strip else match[group]
        if not is_secret_value(value, self.name, style, self.is_certain):
            return []
        start = match.start(group)
        return [Span(start, start + len(value), get_secret_kind(self.name), _RANK)]


def _iter_assigned_secrets(text: str, position: int) -> Iterable[Span]:
    """Return the secrets assigned to the name that contains the word at this position."""
    place = _find_name_place(text, position)
    if place is not None:
        for read_form in _FORMS:
            if (spans := read_form(place)) is not None:
                return spans
    return ()


def _find_name_place(text: str, position: int) -> _NamePlace | None:
    """Return the name that contains the word at this position; None if it cannot have a secret value."""
    name, start = find_name(text, position)
    tail = _SIGN_AFTER_NAME.match(
        text, start + len(name) if " " not in name else position + len(name.rpartition(" ")[2])
    )
    if tail is None or (tail[1] not in _ASSIGNMENT_SIGNS and tail[0] == tail[1]):
        return None
    is_certain = is_secret_name(name)
    is_plural = not is_certain and is_secret_name(name.rstrip("sS"))
    if not (is_certain or is_plural or can_be_secret_name(name)):
        return None
    if text.endswith(("[REDACTED:", ":secret:"), 0, start):
        return None  # the kind inside a redaction mark is not a name
    if name.startswith("secret") and text.endswith(":", 0, start) and "arn:" in text[max(0, start - 80) : start]:
        return None
    return _NamePlace(text, position, start, name, tail[1], is_certain, is_plural)


# Each of these functions reads one form of assignment, and returns the spans of its secrets; None if the text has
# another form. The first form that is read counts.


def _read_assignment(place: _NamePlace) -> Iterable[Span] | None:
    match = place.match(_ASSIGNMENT) if place.sign in "=:!?|+sA[" else None
    if match is None:
        return None
    if match["sep"] in ("==", "!="):
        return ()
    if match["bare"] is None:
        return _iter_quoted_secrets(place.text, match, place.name, place.is_certain)
    if match["bare"][0] in "[{|>-":
        return _iter_structure_secrets(place)
    return () if place.is_plural else _iter_unquoted_secrets(place.text, match, place.position, len(place.text))


def _read_next_line(place: _NamePlace) -> Iterable[Span] | None:
    match = place.match(_VALUE_ON_NEXT_LINE) if place.sign in "=:" else None
    return match and _iter_quoted_secrets(place.text, match, place.name, place.is_certain)


def _read_structure(place: _NamePlace) -> Iterable[Span] | None:
    return _iter_structure_secrets(place) if place.sign in "=:{" and place.match(_STRUCTURE_START) else None


def _read_call(place: _NamePlace) -> Iterable[Span] | None:
    match = (
        place.match(_CONSTRUCTOR_CALL) if place.sign in "({" and place.follows(_STRING_TYPE_BEFORE_NAME, 40) else None
    )
    if place.sign == "," and place.start > 1 and place.text[place.start - 2] == "(":
        match = place.match(_NAME_COMMA_VALUE)
    return match and _iter_quoted_secrets(place.text, match, place.name, place.is_certain, joined=False)


def _read_pair(place: _NamePlace) -> Iterable[Span] | None:
    match = place.match(_NAME_VALUE_PAIR)
    if match is None:
        return None
    if match["bare"] is None:
        return _iter_quoted_secrets(place.text, match, place.name, place.is_certain)
    return place.find_value(match, "bare", "environment" if place.name.isupper() else "data", strip=",;)]}>")


def _read_plist(place: _NamePlace) -> Iterable[Span] | None:
    if place.sign != "<":
        return None
    match = place.match(PLIST)
    return place.find_value(match, "xv", "element") if match else ()


def _read_element(place: _NamePlace) -> Iterable[Span] | None:
    match = place.match(_XML_ELEMENT)
    if match is None or not _is_in_tag(place.text, place.start, place.position):
        return None
    return place.find_value(match, "xv", "element")


def _read_option(place: _NamePlace) -> Iterable[Span] | None:
    if not place.name.startswith("-"):
        return None
    if match := place.match(_QUOTED_OPTION):
        return _iter_quoted_secrets(place.text, match, place.name, place.is_certain)
    match = place.match(_OPTION)
    return place.find_value(match, "bare", "flag", strip=",.)]:;") if match else ()


def _read_define(place: _NamePlace) -> Iterable[Span] | None:
    match = (
        place.match(_QUOTED_VALUE_AFTER_NAME) if place.is_certain and place.follows(_DEFINE_BEFORE_NAME, 20) else None
    )
    return match and _iter_quoted_secrets(place.text, match, place.name, place.is_certain, joined=False)


def _read_setter(place: _NamePlace) -> Iterable[Span] | None:
    match = place.match(_VALUE_AFTER_SETTER) if place.is_certain and place.follows(_SETTER_BEFORE_NAME, 40) else None
    return place.find_value(match, "bare", "environment") if match else None


def _read_value_beside(place: _NamePlace) -> Iterable[Span] | None:
    match = place.match(_VALUE_BESIDE_NAME)
    if match is None:
        return None
    value, start = match["bare"].rstrip(".,:;)]"), match.start("bare")
    is_constant = place.is_certain and place.name.isupper() and "_" in place.name
    if not is_secret_value(value, place.name, "beside", is_constant):
        return ()
    return [Span(start, start + len(value), get_secret_kind(place.name), _RANK_BESIDE)]


_FORMS = (
    *(_read_assignment, _read_next_line, _read_structure, _read_call, _read_pair, _read_plist, _read_element),
    *(_read_option, _read_define, _read_setter, _read_value_beside),
)


def _is_in_tag(text: str, start: int, position: int) -> bool:
    """Whether a position is inside an HTML or XML tag."""
    return text.rfind("<", max(0, start - 60), position) > text.rfind(">", max(0, start - 60), position)


def _iter_structure_secrets(place: _NamePlace) -> Iterator[Span]:
    """Yield the secrets in a list, a block of lines or an object that is assigned to a name."""
    if not (place.is_certain or place.is_plural):
        return
    kind = get_secret_kind(place.name)
    for start, end in _iter_secret_items(place):
        yield Span(start, end, kind, _RANK)


def _iter_secret_items(place: _NamePlace) -> Iterator[tuple[int, int]]:
    """Yield where each secret item of a structure begins and ends."""
    text = place.text
    if block := place.match(_BLOCK_TEXT):
        for line in _BLOCK_LINE.finditer(text, block.start("lines"), block.end("lines")):
            if is_secret_value(line[0], place.name, "quoted", True) or is_secret_item(line[0]):
                yield line.span()
    elif items := place.match(_DASH_LIST):
        for item in _DASH_ITEM.finditer(text, items.start("lines"), items.end("lines")):
            if is_secret_value(item["v"], place.name, "flag", True):
                yield item.span("v")
    elif array := place.match(_ARRAY):
        for item in _ARRAY_ITEM.finditer(text, array.start("items"), array.end("items")):
            group: str = "v" if item["v"] else "b"
            if is_secret_value(item[group], place.name, "quoted" if group == "v" else "flag", True):
                yield item.span(group)
    elif mapping := place.match(MAPPING):
        for item in _MAPPING_ITEM.finditer(text, mapping.start(mapping.lastgroup or 0), mapping.end()):
            has_code = any(sign in item["v"] for sign in "/:.()") and not is_random_value(item["v"])
            if is_secret_item(item["v"]) and not has_code:
                yield item.span("v")
    elif (nested := place.match(_NESTED_VALUE)) and is_secret_value(nested["v"], place.name, "quoted", True):
        yield nested.span("v")


def find_name(text: str, position: int) -> tuple[str, int]:
    """Return the name that contains the word at this position, and where it begins. "api key" counts as one name."""
    start = position
    while start > 0 and position - start < 48 and ((char := text[start - 1]).isalnum() or char in "_.-"):
        start -= 1
    match = _NAME.match(text, start)
    name = match[0] if match else ""
    if (
        start == position
        and text[position : position + 3].lower() == "key"
        and (first := text[max(0, position - 40) : position].rstrip(" ").rsplit(None, 1))
    ):
        return f"{first[-1]} {name}", start
    return name, start


def _iter_quoted_secrets(
    text: str, match: re.Match[str], name: str, is_certain: bool, *, joined: bool = True
) -> Iterator[Span]:
    """Yield the value in quotation marks and the literals concatenated to it, if together they are a secret."""
    parts = [_get_value_span(match, "x")]
    end = match.end()
    while joined and (more := _NEXT_LITERAL.match(text, end)) and len(parts) < 40:
        parts.append(_get_value_span(more, "y"))
        end = more.end()
    value = "".join(text[first:last] for first, last in parts)
    if is_secret_value(value, name, "quoted", is_certain):
        for first, last in parts:
            yield Span(first, last, get_secret_kind(name), _RANK)
    elif len(parts) > 1 and is_secret_value(text[parts[0][0] : parts[0][1]], name, "quoted", is_certain):
        yield Span(*parts[0], get_secret_kind(name), _RANK)


def _get_value_span(match: re.Match[str], group: str) -> tuple[int, int]:
    """Return where the value of a literal begins and ends. group: "x" or "y", as in the patterns."""
    name = f"{group}v" if match[f"{group}v"] is not None else f"{group}w"
    return match.start(name), match.end(name)


def _iter_unquoted_secrets(text: str, match: re.Match[str], position: int, end: int) -> Iterator[Span]:
    """Yield the value without quotation marks if it is a secret.

    Args:
        match: a match of `_ASSIGNMENT`.
        position: position of the word of `WORDS` in the name.
        end: position up to which the text is examined.
    """
    name, start = find_name(text, position)
    is_certain = is_secret_name(name)
    bare, value_start, separator = match["bare"], match.start("bare"), match["sep"]
    line = text.rfind("\n", max(0, start - 120), start) + 1
    begins_line = (line or start <= 120) and _LINE_START.fullmatch(text, line, start) is not None
    has_no_blanks = (
        separator == "="
        and text[match.start("sep") - 1 : match.start("sep")] not in (" ", "\t")
        and value_start == match.end("sep")
    )
    is_environment = is_environment_name(name) and text[start - 1 : start] not in ("?", "&")
    if has_no_blanks and is_environment:
        style: Style = "environment"
    elif "-" in name.strip("-") and separator == ":":
        style = "data"
    elif begins_line and _REST_OF_LINE.match(text, match.end("bare"), end):
        style = (
            "data"
            if (separator in ("=", ":") or (is_environment and separator in (":=", "?=")))
            and not bare.endswith((",", ";", ")"))
            else "code"
        )
    else:
        style = "inline" if has_no_blanks else "code"
    takes_whole_value = style == "environment" or (style == "data" and is_certain)
    cut = (_NEXT_NAME if takes_whole_value else _VALUE_END).search(bare)
    value = (bare[: cut.start()] if cut else bare).rstrip(",;)]}>" if takes_whole_value else ".:")
    if takes_whole_value and style == "data":
        value = bare.rstrip(",")
    if style == "inline" and bare[len(value) : len(value) + 1] in (",", ")"):
        style = "code"
    if (
        style == "code"
        and is_certain
        and separator in ("=", ":")
        and _is_in_sentence(text, line, start, value_start + len(value))
    ):
        style = "text"
    if value and is_secret_value(value, name, style, is_certain):
        yield Span(value_start, value_start + len(value), get_secret_kind(name), _RANK)


def _is_in_sentence(text: str, line: int, start: int, end: int) -> bool:
    """Whether the text between two positions is part of a sentence or log line. line: where the line begins."""
    before = _TEXT_BEFORE.fullmatch(text, line, start)
    if before is None:
        return False
    words = _TEXT_WORD.findall(text, line, start)
    if not _CODE_KEYWORDS.isdisjoint(words):
        return False
    opened = text[start - 1 : start] in ("(", "[")
    after = _TEXT_AFTER.match(text, end)
    if after is None or after["word"] is not None or after["tight"] is not None:
        return after is not None
    return after.end() == len(text) or (bool(words or opened) and "=" not in text[line:start])


_CODE_KEYWORDS = frozenset(
    "return if elif else and or not assert await yield lambda def in is with as case when raise for while import from new"
    " const let var val static public private protected final readonly pub mut async await class struct type interface enum"
    " fn func function override export default abstract declare namespace switch throw throws do end then begin print echo"
    " self this optional required virtual internal extern unsigned volatile inline where select param returns arg args".split()
)
