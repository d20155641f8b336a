"""Recognize secrets by the name they are assigned to: `DB_PASSWORD=…`, `"api_key": "…"`, `--password …`. Pure."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal

from clio.security.redaction.secret_patterns import (
    ANY_WORD,
    HALF_A_NAME,
    NAME_CHARS,
    NAME_END,
    QUOTE,
    WORDS,
    Span,
    can_be_secret_name,
    compute_entropy,
    count_character_kinds,
    get_secret_kind,
    has_digit,
    is_environment_name,
    is_generic_name,
    is_measure,
    is_name_start,
    is_passphrase,
    is_placeholder,
    is_random_stretch,
    is_random_value,
    is_reference,
    is_secret_name,
    is_wordlike,
)
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
# Example: getenv(name)
_EXPRESSION_START = LazyRegex(
    r"[!:][A-Za-z_]|\d+\*[A-Za-z(]|[A-Za-z_][\w.:]*(?:\(|\[|<|!\()|[(\[{<$|]|\?\?|\w+::|->|await\b|new\b|lambda\b|=>|[\w.]+\?\."
)
# Characters that show that a value is source code or a path.
_CODE_SIGN = LazyRegex(r"^x:\d+:\d+:|[()\[\]{}<>$|*\\]|\?\?|=>|::|->|^\.|^[@&!~^%/]|^--?[a-z]")
# Signs of code that passwords contain as well. In a random-looking value they are no evidence of code.
_CERTAIN_CODE_SIGN = LazyRegex(r"^x:\d+:\d+:|[()\[\]{}<>$|]|\?\?|=>|::|->|^--?[a-z]+=")
# Example: config.db.password
_DOTTED_NAME = LazyRegex(r"[&*]?[A-Za-z_$]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+")
# Example: db_password
_SNAKE_CASE_NAME = LazyRegex(r"_*[a-z]+(?:_[a-z]+)+_*|[A-Z]+(?:_[A-Z]+)+")
# Example: Optional[str]
_GENERIC_TYPE = LazyRegex(r"[A-Za-z_][A-Za-z_.]*\[[A-Za-z_., \[\]|]*\]")
# Example: #ff8800
_COLOUR = LazyRegex(r"#[0-9a-fA-F]{3,8}")
# Example: 1_000ms
_NUMBER = LazyRegex(r"[-+]?(?:\d[\d_,.]*(?:[eE][-+]?\d+)?|0x[0-9a-fA-F]+)[a-zA-Z%]{0,3}")
# Example: rsa.PrivateKey
_KEY_TYPE_NAME = LazyRegex(r"[\w.]*(?:Private|Public|Secret|Api)Key[A-Z]?[A-Za-z]*")
_NEXT_NAME = LazyRegex(_NEXT_NAME_PATTERN)
# Where a value without quotation marks ends if code or another assignment may follow it.
_VALUE_END = LazyRegex(rf"[,;)\]}}<>|]|&(?=[\w.-]+=|\Z)|{_NEXT_NAME.pattern}")
# What may stand before a name that begins its line: a line number, `export`, `- `.
_LINE_START = LazyRegex(
    r"(?:[\w./@+-]{1,100}[:-]\d{1,6}[:-])?[ \t]*(?:\d+[|:→\t-][ \t]*)?(?:[-+>│|#;/*]{1,3}[ \t]+|\+)?(?:export|set|setx|ENV|ARG|let|var|const|local|declare(?: -x)?)?[ \t]*[\"']?(?:\$env:)?\Z"
)
# The end of a line, with a comment or without.
_REST_OF_LINE = LazyRegex(r"[ \t]*(?:[#;][^\n]*|//[^\n]*)?\r?(?:\n|\Z)")
# Example: sha256, user1
_ALGORITHM_OR_IDENTIFIER = LazyRegex(
    r"(?i:(?:sha|md|base|utf|u?int|rsa|aes|hs|rs|es|ps|ecdsa|hmac|oauth|openid|rfc|pbkdf|bcrypt|argon|v|py|http|tls|ssl|ipv|p|ed|"
    r"blake|sha3|i|u|f|float|latin|cp|win|x|iso|id|arg|str|tok|t|s|k|pw|user|key|val|var|col|row|line|test|step|part|item|opt)[-_]?"
    r"\d{1,5})|nvarchar\(?\d*\)?|varchar\(?\d*\)?"
)
# Words of sentences: a value that contains one is a message or a label, such as "enter your password".
_SENTENCE_WORDS = frozenset(
    "the is are must be your enter please to of for not with in and or a an this that at by from has was if you should can"
    " will invalid required wrong no new old on it as when which cannot may use used using match matches required empty"
    " incorrect forgot reset change confirm create repeat type show hide missing failed error".split()
)
# Words that occur as values of such names and are no secrets, such as types and states.
_PLAIN_WORDS = frozenset(
    "string text number integer boolean object array function required optional hashed hidden encrypted plain plaintext"
    " literal keyword identifier operator comment punctuation constant variable support storage entity default unknown value"
    " manual disabled enabled always never inherit ignore prompt random generate generated generic header cookie bearer basic"
    " digest kerberos account deprecated description varchar nvarchar binary undefined nullable unsigned private protected"
    " public static readonly sensitive masked newtype struct interface buffer wstring unicode charset bytearray username"
    " rtoken stoken expired revoked refresh access grant service system managed unused reserved failed failure success"
    " password invalid missing example sample option options flag argument parameter file filename stdin stdout"
    " expire expires external internal local remote crypt login logon simple complex strong".split()
)

# Signs of a template or a label.
_LABEL_SIGNS = ("{", "%s", "%(", "${", "<", ">", "[", "(", "=", "→", "+")

# How a value is written; see `is_secret_value`.
Style = Literal["quoted", "element", "environment", "data", "inline", "text", "code", "flag", "beside"]


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


_FIRST_LITERAL = LazyRegex(_LITERAL.format("y"))
_CONCATENATION_SIGN = LazyRegex(_CONCATENATION)


def lower_keeping_positions(text: str) -> str:
    """Return the text in lower case, with every character at the same position."""
    return text.replace("\u0130", "i").lower()  # the only letter whose lower case has two characters


def _iter_assigned_secrets(text: str, position: int) -> Iterator[Span]:
    """Yield the secrets assigned to the name that contains the word at this position."""
    name, start = find_name(text, position)
    tail = _SIGN_AFTER_NAME.match(
        text, start + len(name) if " " not in name else position + len(name.rpartition(" ")[2])
    )
    sign = tail[1] if tail else ""
    if not sign or not (tail and (sign in _ASSIGNMENT_SIGNS or tail[0] != sign)):
        return
    is_certain = is_secret_name(name)
    is_plural = not is_certain and is_secret_name(name.rstrip("sS"))
    if not (is_certain or is_plural or can_be_secret_name(name)) or text.endswith(("[REDACTED:", ":secret:"), 0, start):
        return  # the kind inside a redaction mark is not a name
    if (
        name.startswith("secret")
        and text[max(0, start - 1) : start] == ":"
        and "arn:" in text[max(0, start - 80) : start]
    ):
        return
    match: re.Match[str] | None
    if sign in "=:!?|+sA[" and (match := _ASSIGNMENT.match(text, position)):
        if match["sep"] in ("==", "!="):
            return
        if match["bare"] is None:
            yield from _iter_quoted_secrets(text, match, name, is_certain)
        elif match["bare"][0] in "[{|>-":
            yield from _iter_structure_secrets(text, position, name, is_certain or is_plural)
        elif not is_plural:
            yield from _iter_unquoted_secrets(text, match, position, len(text))
    elif sign in "=:" and (match := _VALUE_ON_NEXT_LINE.match(text, position)):
        yield from _iter_quoted_secrets(text, match, name, is_certain)
    elif sign in "=:{" and _STRUCTURE_START.match(text, position):
        yield from _iter_structure_secrets(text, position, name, is_certain or is_plural)
    elif (
        sign in "({"
        and (match := _CONSTRUCTOR_CALL.match(text, position))
        and _STRING_TYPE_BEFORE_NAME.search(text, max(0, start - 40), start)
    ) or (sign == "," and start > 1 and text[start - 2] == "(" and (match := _NAME_COMMA_VALUE.match(text, position))):
        yield from _iter_quoted_secrets(text, match, name, is_certain, joined=False)
    elif match := _NAME_VALUE_PAIR.match(text, position):
        if match["bare"] is None:
            yield from _iter_quoted_secrets(text, match, name, is_certain)
        else:
            value = match["bare"].rstrip(",;)]}>")
            if is_secret_value(value, name, "environment" if name.isupper() else "data", is_certain):
                yield Span(match.start("bare"), match.start("bare") + len(value), get_secret_kind(name), _RANK)
    elif sign == "<":
        match = PLIST.match(text, position)
        if match and is_secret_value(match["xv"], name, "element", is_certain):
            yield Span(match.start("xv"), match.end("xv"), get_secret_kind(name), _RANK)
    elif (match := _XML_ELEMENT.match(text, position)) and _is_in_tag(text, start, position):
        if is_secret_value(match["xv"], name, "element", is_certain):
            yield Span(match.start("xv"), match.end("xv"), get_secret_kind(name), _RANK)
    elif name.startswith("-"):
        if match := _QUOTED_OPTION.match(text, position):
            yield from _iter_quoted_secrets(text, match, name, is_certain)
        elif match := _OPTION.match(text, position):
            value = match["bare"].rstrip(",.)]:;")
            if is_secret_value(value, name, "flag", is_certain):
                yield Span(match.start("bare"), match.start("bare") + len(value), get_secret_kind(name), _RANK)
    elif (
        is_certain
        and (match := _QUOTED_VALUE_AFTER_NAME.match(text, position))
        and _DEFINE_BEFORE_NAME.search(text, max(0, start - 20), start)
    ):
        yield from _iter_quoted_secrets(text, match, name, is_certain, joined=False)
    elif (
        is_certain
        and (match := _VALUE_AFTER_SETTER.match(text, position))
        and _SETTER_BEFORE_NAME.search(text, max(0, start - 40), start)
    ):
        if is_secret_value(match["bare"], name, "environment", is_certain):
            yield Span(match.start("bare"), match.end("bare"), get_secret_kind(name), _RANK)
    elif match := _VALUE_BESIDE_NAME.match(text, position):
        value = match["bare"].rstrip(".,:;)]")
        if is_secret_value(value, name, "beside", is_certain and name.isupper() and "_" in name):
            yield Span(match.start("bare"), match.start("bare") + len(value), get_secret_kind(name), _RANK_BESIDE)


_SIGN_AFTER_NAME = LazyRegex(r"[\"'`\])\\]{0,4}\s{0,16}([^\s])")
_ASSIGNMENT_SIGNS = "=:!?|+,(<>{["
# Example: #define
_DEFINE_BEFORE_NAME = LazyRegex(r"#[ \t]*define[ \t]+\Z")
# Example: #define DB_PASSWORD "…"
_QUOTED_VALUE_AFTER_NAME = LazyRegex(rf"[A-Za-z0-9_]{{0,48}}[ \t]{{1,40}}[LuU]?{_LITERAL.format('x')}")


def _is_in_tag(text: str, start: int, position: int) -> bool:
    """Whether a position is inside an HTML or XML tag."""
    return text.rfind("<", max(0, start - 60), position) > text.rfind(">", max(0, start - 60), position)


def _iter_structure_secrets(text: str, position: int, name: str, is_certain: bool) -> Iterator[Span]:
    """Yield the secrets in a list, a block of lines or an object that is assigned to a name."""
    if not is_certain:
        return
    kind = get_secret_kind(name)
    if block := _BLOCK_TEXT.match(text, position):
        for line in _BLOCK_LINE.finditer(text, block.start("lines"), block.end("lines")):
            if is_secret_value(line[0], name, "quoted", is_certain) or _is_secret_item(line[0]):
                yield Span(line.start(), line.end(), kind, _RANK)
    elif items := _DASH_LIST.match(text, position):
        for item in _DASH_ITEM.finditer(text, items.start("lines"), items.end("lines")):
            if is_secret_value(item["v"], name, "flag", is_certain):
                yield Span(item.start("v"), item.end("v"), kind, _RANK)
    elif array := _ARRAY.match(text, position):
        for item in _ARRAY_ITEM.finditer(text, array.start("items"), array.end("items")):
            group = "v" if item["v"] else "b"
            if is_secret_value(item[group], name, "quoted" if group == "v" else "flag", is_certain):
                yield Span(item.start(group), item.end(group), kind, _RANK)
    elif mapping := MAPPING.match(text, position):
        for item in _MAPPING_ITEM.finditer(text, mapping.start(mapping.lastgroup or 0), mapping.end()):
            if _is_secret_item(item["v"]) and not (
                any(sign in item["v"] for sign in "/:.()") and not is_random_value(item["v"])
            ):
                yield Span(item.start("v"), item.end("v"), kind, _RANK)
    elif (nested := _NESTED_VALUE.match(text, position)) and is_secret_value(nested["v"], name, "quoted", is_certain):
        yield Span(nested.start("v"), nested.end("v"), kind, _RANK)


def _is_secret_item(value: str) -> bool:
    """Whether an item of a list looks random and is neither words nor a reference."""
    return (
        not any(char.isspace() for char in value)
        and _looks_random(value)
        and not is_wordlike(value, digits=True)
        and not is_reference(value)
    )


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


_BLANK = LazyRegex(r"\s")
_TEXT_BEFORE = LazyRegex(r"(?:(?:\[?[\w.,:'/@+-]{1,60}\]?|[\w.-]{1,40}=[^\s()\[\]{}\"']{1,60})[ \t]{1,4}){0,40}[(\[]?")
_TEXT_WORD = LazyRegex(r"[A-Za-z]{2,}")
_TEXT_AFTER = LazyRegex(
    r"[,.;:!?)\]]{0,3}(?:[ \t]*\r?(?:\n|\Z)|(?P<tight>(?<=[,;])(?=\w+=))|[ \t]+(?:\w+=|-\s|(?P<word>[A-Za-z]{1,20}(?=[\s,.;!?]|\Z))))"
)
_CODE_KEYWORDS = frozenset(
    "return if elif else and or not assert await yield lambda def in is with as case when raise for while import from new"
    " const let var val static public private protected final readonly pub mut async await class struct type interface enum"
    " fn func function override export default abstract declare namespace switch throw throws do end then begin print echo"
    " self this optional required virtual internal extern unsigned volatile inline where select param returns arg args".split()
)


def is_secret_value(value: str, name: str, style: Style, is_certain: bool) -> bool:
    """Whether the value of a name that denotes a secret is the secret itself.

    Args:
        style: how the value is written. "quoted": a literal in quotation marks; "element": the content of an XML
            element; "environment": `NAME=value`; "data": the only value on its line; "inline": `name=value` elsewhere;
            "text": in a sentence or log line; "code": where an expression may occur; "flag": after an option and a
            blank; "beside": after any other name and a blank.
        is_certain: whether the name alone shows that it denotes a secret; see `is_secret_name`.
    """
    if style in ("inline", "text", "flag", "code") and value[-1:] == "$" and has_digit(value):
        value = value.rstrip("$")  # a "$" at the end is no sign of code
    if len(value) < 4 or is_placeholder(value) or "[REDACTED" in value or is_reference(value):
        return False
    if (
        _normalize_letters(value) in _normalize_letters(name)
        or ("%s" in value and is_wordlike(value.replace("%s", "")))
        or (value[0] == "#" and _COLOUR.fullmatch(value))
    ):
        return False
    if "[" in value and _GENERIC_TYPE.fullmatch(value):
        return False
    if style != "quoted" and _is_variable_name(value) and not (style != "code" and is_passphrase(value)):
        return False
    if value.endswith(".*") and not has_digit(value):
        return False  # a pattern of dotted names
    if value[-1] in "=:" and is_wordlike(value.rstrip("=:\\"), digits=True):
        return False  # another name
    if _BLANK.search(value):
        return _is_spaced_secret(value, name, style, is_certain)
    is_password = get_secret_kind(name) == "password"
    if not any(char.isalpha() for char in value):
        if not has_digit(value):
            return False
        if value.isdigit():
            if style == "environment" or (is_password and style != "code"):
                return is_certain and len(value) >= 6
            return is_certain and len(value) >= 8 and style not in ("code", "beside") and not is_generic_name(name)
        return is_password and len(value) >= 8 and is_certain and style != "code" and _NUMBER.fullmatch(value) is None
    has_only_words = is_wordlike(value, digits=True)
    has_only_plain_words = is_wordlike(value)
    if style != "quoted" and _EXPRESSION_START.match(value) and style not in ("element", "flag"):
        return False
    if style == "beside":
        return (
            not has_only_words
            and _looks_random(value)
            and (is_random_value(value) or is_certain or (is_password and is_random_stretch(value)))
            and _CODE_SIGN.search(value) is None
        )
    if not is_certain:
        if style != "quoted" and _DOTTED_NAME.fullmatch(value) and not is_random_value(value):
            return False
        return (
            not has_only_words
            and _looks_random(value)
            and (style == "quoted" or _CODE_SIGN.search(value) is None or is_random_value(value))
        )
    if style != "quoted" and (
        _KEY_TYPE_NAME.fullmatch(value) or value.lower() in _PLAIN_WORDS or _ALGORITHM_OR_IDENTIFIER.fullmatch(value)
    ):
        return False
    if style in ("quoted", "element"):
        return _is_quoted_secret(value, name, has_only_words, has_only_plain_words)
    if _is_word_chain(value):
        return True
    if style == "environment":
        return len(value) >= 5 and not (
            has_only_plain_words and ("_" in value or "/" in value) and not is_passphrase(value, 2)
        )
    if style == "data":
        if _NUMBER.fullmatch(value) and not is_password:
            return False
        if not has_only_words:
            return (
                len(value) >= 5
                and (count_character_kinds(value) >= 2 or len(value) >= 6)
                and not (_CERTAIN_CODE_SIGN.search(value) and not is_random_value(value) and not is_password)
            )
        if has_only_plain_words:
            return is_passphrase(value) or (
                is_password and len(value) >= 6 and ("-" in value or (value.islower() and value.isalpha()))
            )
        return (
            len(value) >= 6
            and "." not in value
            and "/" not in value
            and ("_" not in value or value[-2:].isdigit() or (is_password and value[-1].isdigit()))
        )
    if style == "flag":
        if _CODE_SIGN.search(value) and not is_random_value(value):
            return False
        return (
            len(value) >= 5
            and (not has_only_plain_words or is_passphrase(value))
            and not _ALGORITHM_OR_IDENTIFIER.fullmatch(value)
        )
    if (_CERTAIN_CODE_SIGN if is_random_value(value) or (style == "inline" and is_password) else _CODE_SIGN).search(
        value
    ):
        return False
    if style == "text":
        return is_passphrase(value) or (
            len(value) >= 6
            and not has_only_plain_words
            and not is_measure(value)
            and (not has_only_words or (value.isalnum() and value[-1].isdigit() and (is_password or value.islower())))
        )
    if style == "inline":
        if has_only_plain_words:
            return is_passphrase(value) or (is_password and value.islower() and value.isalpha() and len(value) >= 6)
        return len(value) >= 6 and not (has_only_words and "." in value)
    # Source code: an identifier or a number refers to a value stored elsewhere.
    if (
        has_only_words
        or _NUMBER.fullmatch(value)
        or _SNAKE_CASE_NAME.fullmatch(value)
        or (not is_random_value(value) and _DOTTED_NAME.fullmatch(value))
    ):
        return False
    return _looks_random(value)


def _normalize_letters(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return "".join(filter(str.isalnum, text)).lower()


def _is_variable_name(value: str) -> bool:
    """Whether a value without quotation marks is an attribute, or a variable with the name of a secret."""
    if is_secret_name(value) and is_wordlike(value, digits=True):
        return True
    return (
        _DOTTED_NAME.fullmatch(value) is not None
        and not is_random_value(value)
        and (not has_digit(value) or "_" in value)
    )


def _is_word_chain(value: str) -> bool:
    """Whether a value is three or more words joined by dashes, as passphrase generators write them."""
    segments = value.split("-")
    return (
        len(segments) >= 3
        and all(each.isalpha() and each.islower() and len(each) >= 3 for each in segments)
        and not _SENTENCE_WORDS.intersection(segments)
        and not _TECHNICAL_WORD.search(value)
    )


_TECHNICAL_WORD = LazyRegex(
    r"secret|token|key|name|pass|auth|user|client|server|service|default|test|example|config|http|file|type|value|cluster"
)


def _is_quoted_secret(value: str, name: str, has_only_words: bool, has_only_plain_words: bool) -> bool:
    """Whether a value in quotation marks, without blanks, is a secret.

    Args:
        has_only_words: it consists of dictionary-like words, with digits or without.
        has_only_plain_words: it consists of such words without digits.
    """
    is_password = get_secret_kind(name) == "password"
    if value.startswith(("%", "http://", "https://", "{")) or (
        not value.isascii() and all(char.isalpha() for char in value)
    ):
        return False
    if _NUMBER.fullmatch(value):
        return is_password
    if not has_only_words:
        return (
            len(value) >= (5 if is_password else 6)
            and compute_entropy(value) >= 1.5
            and not value.startswith(("^", "."))
        )
    if has_only_plain_words:
        return (
            _is_word_chain(value)
            or is_passphrase(value, 2 if is_password else 3)
            or (
                (is_password or (not is_generic_name(name) and not name.lower().endswith("token") and len(value) >= 8))
                and value.islower()
                and value.isalpha()
                and len(value) >= 6
                and value not in _PLAIN_WORDS
            )
        )
    if "." in value or "/" in value or ("_" in value and not value[-1 if is_password else -2 :].isdigit()):
        return False
    return is_password or (
        (not is_generic_name(name) or name.isupper())
        and len(value) >= 6
        and not _ALGORITHM_OR_IDENTIFIER.fullmatch(value)
    )


def _is_spaced_secret(value: str, name: str, style: Style, is_certain: bool) -> bool:
    """Whether a value with blanks is a secret, as opposed to a label or message."""
    parts = value.split()
    small = [part.lower().strip(".,:;!?'\"()") for part in parts]
    if not is_certain or style not in ("quoted", "element") or len(parts) > 24:
        return False
    if (
        (
            len(parts) <= 4
            and get_secret_kind(name) == "password"
            and sum(not is_wordlike(part) and len(part) >= 6 for part in parts) >= 1
        )
        and not any(part[:1] in "%{<$(" for part in parts)
        and has_digit(value)
    ):
        return True
    if any(map(_is_word_chain, parts)):
        return True
    if _SENTENCE_WORDS.intersection(small) or any(sign in value for sign in _LABEL_SIGNS):
        return False
    if get_secret_kind(name) != "password":
        return len(parts) in (12, 15, 18, 21, 24) and all(part.isalpha() and part.islower() for part in parts)
    if any(has_digit(part) and not part.isdigit() for part in parts):
        return True
    lower = all(part.isalpha() and part.islower() for part in parts)
    return (lower and len(parts) >= 3) or (
        has_digit(value) and value.isascii() and value[:1].islower() and len(parts) <= 4
    )


def _looks_random(value: str) -> bool:
    """Whether a value has at least 8 characters, is varied enough to be random, and is no date, version or URL."""
    if len(value) < 8 or compute_entropy(value) < 2.3:
        return False
    return _DATE.search(value) is None and not value.startswith(("http:", "https:", "#"))


# Example: 2024-05-01
_DATE = LazyRegex(r"\A(?:v?\d+(?:\.\d+)+|\d{4}-\d\d-\d\d)")
