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
# the word of `WORDS` in the name, such as `password`.


_NAME = LazyRegex(rf"[{NAME_CHARS}]{{0,100}}")
_TYPE_NAME = (
    r"(?:str|string|String\??|&str|&'static str|Final|Final\[str\]|str \| None|Optional\[str\]|bytes|SecretStr|\[\]byte"
    r"|&'static \[u8\]|char\[\]|any)"
)
_TYPE = rf"(?:[ \t]?string[ \t](?==))?(?:\??:[ \t]{{0,2}}{_TYPE_NAME}[ \t]{{0,2}}(?==))?(?:[ \t]{{0,2}}\[\w{{0,16}}\][ \t]{{0,2}}(?==))?(?:[ \t]As[ \t]String[ \t]?(?==))?"
_SCHEME = r"(?:[Tt]oken|ApiKey|apikey|Key|!!str|&\w{1,20})[ \t]{1,4}"
# Functions that may be called with a literal secret. Any other call is a reference, not a secret.
_WRAPPER = (
    r"(?:(?:new[ \t])?(?:String|Some|SecretStr|SecretBytes|Secret|SecretString|Password|Buffer|bytes|str|Ok|pulumi\.secret|QStringLiteral|QLatin1String|base64\.b64decode|(?i:md5|sha1|sha2|password|crypt))"
    r"(?:(?:::|\.)(?:from|new|valueOf))?\(|\[\]byte\(|ConvertTo-SecureString[ \t](?:-String[ \t])?)?"
)
_LITERAL = (
    r"(?:(?P<{0}q>[\"'`])(?P<{0}v>(?:\\[^\n]|(?!(?P={0}q))[^\\\n]){{1,1024}})(?P={0}q)"
    r"|(?P<{0}e>\\{{1,3}}[\"'])(?P<{0}w>(?:(?!(?P={0}e))[^\n]){{1,1024}}?)(?P={0}e))"
)
# Another name with a separator ends a value. Otherwise a text full of names would be scanned once for each name.
_NAMED = r"(?i:passw|secret|token|key|pwd)[\w-]{0,20}[=:]"
_BARE = rf"\\{{0,2}}[\"'`]?(?!{_NAMED})(?P<bare>(?:[^\s\"'`\\]|(?<=[^\s\"'`\\])[\"'`](?=[^\s\"'`,;)\]}}])|\\(?![nrt\"'`\\])){{1,1024}})"
_GIVEN = rf"(?:\([ \t]{{0,4}}(?:\r?\n[ \t]{{0,60}})?(?=[bfru]?[\"']))?(?:[@$]?[A-Za-z]{{0,2}}(?={QUOTE}))?(?:\"\"(?=\")|''(?='))?(?:{_WRAPPER}{_LITERAL.format('x')}|{_BARE})"
_SEPARATOR = r"(?P<sep>:=|=>|==|!=|\?=|\|\|=|\+=|=|:(?!:))"
# Example: password = "…"
_AFTER = LazyRegex(rf"{NAME_END}{_TYPE}{_SEPARATOR}[ \t]{{0,16}}(?:{_SCHEME})?{_GIVEN}")
# A literal on a line of its own, or a concatenation of several: the rest of the value.
_JOINT = r"(?:[ \t]{0,8}(?:\+|\.{1,2}|&|\\|_)?[ \t]{0,8}\\?\r?\n?[ \t]{0,40}(?:\+|\.{1,2}|&)?[ \t]{0,8}|\.concat\([ \t]{0,4})[bfr]?"
_NEXT_LITERAL = LazyRegex(_JOINT + _LITERAL.format("y"))
# Example: password =\n    "…"
_NEXT_LINE = LazyRegex(
    rf"{NAME_END}{_TYPE}(?::=|=>|=|:(?!:))[ \t]{{0,8}}[(\\]?[ \t]{{0,8}}\r?\n[ \t]{{0,60}}{_LITERAL.format('x')}"
)
# As in calls and dictionaries of several languages: define('DB_PASSWORD', 'v'), setProperty("password", "v").
# Example: define('DB_PASSWORD', '…')
_COMMA = LazyRegex(rf"[{NAME_CHARS}]{{0,48}}{QUOTE}[ \t]{{0,4}},[ \t]{{0,8}}{_LITERAL.format('x')}")
# `name: DB_PASSWORD` with `value: …` on the next line or after a comma, as in lists of variables and forms.
_BETWEEN = rf"[{NAME_CHARS}]{{0,48}}(?:\\{{0,2}}[\"']){{0,2}},?(?:(?<=,)\s{{0,40}}|\s{{1,40}})\\{{0,2}}[\"']?(?:[A-Za-z]{{0,12}}[Vv]alue|v|val)\\{{0,2}}[\"']?[ \t]{{0,2}}[:=]"
# Example: name: DB_PASSWORD\n  value: …
_PAIR = LazyRegex(rf"{_BETWEEN}[ \t]{{0,4}}{_GIVEN}")
# Example: <password>…</password>
_ELEMENT = LazyRegex(
    rf"[{NAME_CHARS}]{{0,48}}[\"']?(?:[ \t][^<>\n]{{0,120}})?>\s{{0,40}}(?:<[Vv]alue>[ \t]{{0,8}})?(?:<!\[CDATA\[)?"
    r"(?P<xv>[^<>\s](?:[^<>\n]{0,510}[^<>\s])?)\s{0,40}(?:\]\]>)?</"
)
# Example: <key>password</key><string>…</string>
PLIST = LazyRegex(
    rf"[{NAME_CHARS}]{{0,48}}</(?:key|[\w:-]{{0,30}}[Nn]ame)>\s{{0,40}}<(?:string|[\w:-]{{0,30}}[Vv]alue)>(?P<xv>[^<>\n]{{1,512}})</"
)
# Example: --password …
_FLAG = LazyRegex(r"[A-Za-z0-9_-]{0,48}[ \t]{1,4}(?P<bare>[^\s\"'`\\-][^\s\"'`\\]{0,1023})")
# Example: --password "…"
_QUOTED_FLAG = LazyRegex(rf"[A-Za-z0-9_-]{{0,48}}[ \t]{{1,4}}{_LITERAL.format('x')}")
# As in `.netrc` and in `ENV` of a Dockerfile: only for random-looking values, because any sentence may continue this
# way.
BESIDE = r"[A-Za-z0-9_-]{0,48}[ \t]{1,4}[\"'`(]?(?=[^\s\"'`]{0,1024}[0-9])"
_BESIDE = LazyRegex(rf"{BESIDE}(?P<bare>[^\s\"'`]{{8,1024}})")
# Example: ENV DB_PASSWORD …
_SET = LazyRegex(r"[A-Za-z0-9_.-]{0,48}[ \t]{1,4}[\"']?(?P<bare>[^\s\"'`=]{4,1024})")
# Example: ENV
_SETTER = LazyRegex(
    r"(?:\A|\n)[ \t|0-9:+>→-]{0,16}(?:ENV|ARG|SetEnv|setenv|setx|set(?: -[a-zA-Z]{1,4})?|[a-z]+ configure set|config:set)[ \t]{1,4}\Z"
)
LOGIN = r"-u(?:ser)?[ =]{0,2}[\"']?[^\s:\"'`$@/]{1,64}:"
# Example: curl -u admin:…
_LOGIN = LazyRegex(rf"{LOGIN}(?P<bare>[^\s\"'`]{{8,256}})")
# A name at the end of a text. Matches more than the other patterns, so that a value is never split from its name.
_OPEN = LazyRegex(
    rf"{NAME_END}(?:(?:\??:[ \t]{{0,2}}[A-Za-z&'\[\]| 8]{{0,20}})?(?:[ \t]{{0,2}}\[\][ \t]{{0,2}})?"
    rf"(?:[:=!>?|+]{{1,3}}[ \t]{{0,16}}(?:[A-Za-z]{{1,8}}[ \t]{{0,4}})?(?:(?:new[ \t])?[A-Za-z:.\[\]]{{1,24}}[( -][ \t]?(?:-String[ \t])?)?)?(?:[(\\][ \t]{{0,8}}(?:\r?\n[ \t]{{0,60}})?)?"
    r"|[ \t]{1,4}(?:A|As|As[ \t](?:S|St|Str|Stri|Strin|String)[ \t]{0,2}=?[ \t]{0,4})"
    r"|,?\s{1,40}(?:\\{0,2}[\"'])?(?:[Vv](?:a(?:l(?:ue?)?)?)?)?(?:\\{0,2}[\"'])?[ \t]{0,2}[:=]?[ \t]{0,4}"
    rf"|string[ \t]{{1,2}}(?:=[ \t]{{0,4}})?|(?:{QUOTE})?[ \t]{{0,4}},[ \t]{{0,8}})\Z"
)
_OPEN_LITERAL = LazyRegex(
    rf"{NAME_END}{_TYPE}(?:(?::=|=>|\?=|=|:(?!:)|,|[ \t])[ \t]{{0,16}}[(\\]?(?:[ \t]{{0,8}}\r?\n[ \t]{{0,60}})?)?(?:{_SCHEME})?[@$]?[A-Za-z]{{0,2}}"
    rf"{_WRAPPER}(?=[\"'`\\])"
)
_OPEN_ELEMENT = LazyRegex(
    r"\A[^<\n]{0,60}</key>\s{0,40}(?:<(?:string>?)?[^<>\n]{0,512})?\Z|>[ \t]{0,8}<!\[CDATA\[[^<>\n]{0,512}\Z|</?k?e?y?\Z"
)
_OPEN_JOINT = LazyRegex(rf"(?:{_JOINT})\Z|[ \t]{{0,8}}(?:\+|\.{{1,2}}|&|\\)?[ \t]{{0,8}}\\?\r?\n?[ \t]{{0,40}}\Z")
_OPENERS = LazyRegex(rf"{ANY_WORD}|bearer|basic|-u(?:ser)?")
_HALF_A_NAME = LazyRegex(HALF_A_NAME)
_HALF_CHARS = 40
_OPEN_WINDOW = 1400
"""How far before a position, in characters, a name may begin whose value continues after it."""
_NEAR_WINDOW = 240
_NEAREST = 6  # number of names before a position whose value may be incomplete there
_CALL = LazyRegex(
    r"[!:][A-Za-z_]|\d+\*[A-Za-z(]|[A-Za-z_][\w.:]*(?:\(|\[|<|!\()|[(\[{<$|]|\?\?|\w+::|->|await\b|new\b|lambda\b|=>|[\w.]+\?\."
)
# Example: getenv(name)
_CODE = LazyRegex(r"^x:\d+:\d+:|[()\[\]{}<>$|*\\]|\?\?|=>|::|->|^\.|^[@&!~^%/]|^--?[a-z]")
# Signs of code that passwords contain as well. In a random-looking value they are no evidence of code.
_CODE_FOR_SURE = LazyRegex(r"^x:\d+:\d+:|[()\[\]{}<>$|]|\?\?|=>|::|->|^--?[a-z]+=")
# Example: config.db.password
_ATTRIBUTE = LazyRegex(r"[&*]?[A-Za-z_$]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+")
# Example: db_password
_SNAKE = LazyRegex(r"_*[a-z]+(?:_[a-z]+)+_*|[A-Z]+(?:_[A-Z]+)+")
# Example: Optional[str]
_GENERIC_TYPE = LazyRegex(r"[A-Za-z_][A-Za-z_.]*\[[A-Za-z_., \[\]|]*\]")
# Example: #ff8800
_COLOUR = LazyRegex(r"#[0-9a-fA-F]{3,8}")
# Example: 1_000ms
_NUMBER = LazyRegex(r"[-+]?(?:\d[\d_,.]*(?:[eE][-+]?\d+)?|0x[0-9a-fA-F]+)[a-zA-Z%]{0,3}")
# Example: rsa.PrivateKey
_TYPE_OF_KEY = LazyRegex(r"[\w.]*(?:Private|Public|Secret|Api)Key[A-Z]?[A-Za-z]*")
_NEXT_NAME = LazyRegex(_NAMED)
_CUT = LazyRegex(rf"[,;)\]}}<>|]|&(?=[\w.-]+=|\Z)|{_NEXT_NAME.pattern}")
_LINE_START = LazyRegex(
    r"(?:[\w./@+-]{1,100}[:-]\d{1,6}[:-])?[ \t]*(?:\d+[|:→\t-][ \t]*)?(?:[-+>│|#;/*]{1,3}[ \t]+|\+)?(?:export|set|setx|ENV|ARG|let|var|const|local|declare(?: -x)?)?[ \t]*[\"']?(?:\$env:)?\Z"
)
_REST = LazyRegex(r"[ \t]*(?:[#;][^\n]*|//[^\n]*)?\r?(?:\n|\Z)")
_ALGORITHMS = LazyRegex(
    r"(?i:(?:sha|md|base|utf|u?int|rsa|aes|hs|rs|es|ps|ecdsa|hmac|oauth|openid|rfc|pbkdf|bcrypt|argon|v|py|http|tls|ssl|ipv|p|ed|"
    r"blake|sha3|i|u|f|float|latin|cp|win|x|iso|id|arg|str|tok|t|s|k|pw|user|key|val|var|col|row|line|test|step|part|item|opt)[-_]?"
    r"\d{1,5})|nvarchar\(?\d*\)?|varchar\(?\d*\)?"
)
_STOP = frozenset(
    "the is are must be your enter please to of for not with in and or a an this that at by from has was if you should can"
    " will invalid required wrong no new old on it as when which cannot may use used using match matches required empty"
    " incorrect forgot reset change confirm create repeat type show hide missing failed error".split()
)
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

_LABEL_SIGNS = ("{", "%s", "%(", "${", "<", ">", "[", "(", "=", "→", "+")

Style = Literal["quoted", "element", "environment", "data", "inline", "text", "code", "flag", "beside"]


def find_name_places(lowered: str) -> list[tuple[int, str]]:
    """Return where words of secrets' names occur in lower-case text."""
    found: list[tuple[int, str]] = []
    for word in WORDS:
        place = lowered.find(word)
        while place >= 0:
            found.append((place, word))
            place = lowered.find(word, place + len(word))
    return found


def find_named_spans(text: str, lowered: str = "", places: Iterable[tuple[int, str]] | None = None) -> Iterator[Span]:
    """Yield the values of secret-looking names.

    Args:
        places: the result of `find_name_places` for the text, if known.
    """
    lowered = lowered or lower_keeping_positions(text)
    tried: set[tuple[int, int]] = set()
    for place, word in find_name_places(lowered) if places is None else places:
        if is_name_start(lowered, place, word):
            for span in _iter_assigned_secrets(text, place):
                if (span.start, span.end) not in tried:
                    tried.add((span.start, span.end))
                    yield span


def find_open_name(text: str, end: int) -> int | None:
    """Return where a name begins whose value may follow, or continue, after `end`; None for nowhere."""
    begin = max(0, end - _OPEN_WINDOW)
    near = end - _NEAR_WINDOW
    openers = [(start, place) for start, place in _find_openers(text) if begin <= start and place <= end]
    for number, (start, place) in enumerate(openers):
        if place >= near and _OPEN.match(text, place, end):
            return start
        if number >= len(openers) - _NEAREST and _is_open_value(text, place, end, start):
            return start
    half = _HALF_A_NAME.search(lower_keeping_positions(text[max(0, end - _HALF_CHARS) : end]))
    return max(0, end - _HALF_CHARS) + half.start() if half else None


@lru_cache(maxsize=1)
def _find_openers(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of words that may introduce a value. Cached, because one text is examined at several positions."""
    lowered = lower_keeping_positions(text)  # takes a third of the time of a case-insensitive search
    return tuple(match.span() for match in _OPENERS.finditer(lowered))


def _is_open_value(text: str, place: int, end: int, start: int) -> bool:
    """Whether a value that begins after an opening sign may continue after `end`."""
    if _OPEN_STRUCTURE.match(text, place, end):
        name, _ = find_name(text, place - 1)
        return is_secret_name(name) or is_secret_name(name.rstrip("sS"))
    if text.rfind("<", max(0, start - 60), start) > text.rfind(">", max(0, start - 60), start):
        rest = text[place:end]
        if len(rest) < 700 and (("<" not in rest and "\n" not in rest) or _OPEN_ELEMENT.search(rest)):
            return True
    match = _OPEN_LITERAL.match(text, place, end)
    if match and match.end() < end and end - match.end() <= 1024:
        begun = at = match.end()
        literal = _FIRST_LITERAL.match(text, at, end)
        while literal and literal.end() < end:
            at = literal.end()
            if _OPEN_JOINT.match(text, at, end):
                return "\n\n" not in text[at:end]
            literal = _NEXT_LITERAL.match(text, at, end)
        if literal:
            return True
        joint = _JOINT_ONLY.match(text, at, end)
        return "\n" not in text[begun if at == begun else joint.end() if joint else at : end]
    given = _AFTER.match(text, place, end)
    if given and given["bare"] and "\n" not in text[given.start("bare") : end]:
        # A value that would be a secret if it were the only one on its line, so the text after it decides.
        return (
            given["sep"] in (":", "=", ":=")
            and end - given.end() <= _NEAR_WINDOW
            and any(True for _ in _iter_unquoted_secrets(text, given, place, end))
        )
    return False


_FIRST_LITERAL = LazyRegex(_LITERAL.format("y"))
_JOINT_ONLY = LazyRegex(_JOINT)


def lower_keeping_positions(text: str) -> str:
    """Return the text in lower case, with every character at the same position."""
    return text.replace("\u0130", "i").lower()  # the only letter whose lower case has two characters


def _iter_assigned_secrets(text: str, place: int) -> Iterator[Span]:
    """Yield the secrets assigned to the name that contains the word at this position."""
    name, start = find_name(text, place)
    tail = _TAIL.match(text, start + len(name) if " " not in name else place + len(name.rpartition(" ")[2]))
    sign = tail[1] if tail else ""
    if not sign or not (tail and (sign in _SIGNS or tail[0] != sign)):
        return
    sure = is_secret_name(name)
    listed = not sure and is_secret_name(name.rstrip("sS"))
    if not (sure or listed or can_be_secret_name(name)) or text.endswith(("[REDACTED:", ":secret:"), 0, start):
        return  # the kind inside a redaction mark is not a name
    if (
        name.startswith("secret")
        and text[max(0, start - 1) : start] == ":"
        and "arn:" in text[max(0, start - 80) : start]
    ):
        return
    match: re.Match[str] | None
    if sign in "=:!?|+sA[" and (match := _AFTER.match(text, place)):
        if match["sep"] in ("==", "!="):
            return
        if match["bare"] is None:
            yield from _iter_quoted_secrets(text, match, name, sure)
        elif match["bare"][0] in "[{|>-":
            yield from _iter_structure_secrets(text, place, name, sure or listed)
        elif not listed:
            yield from _iter_unquoted_secrets(text, match, place, len(text))
    elif sign in "=:" and (match := _NEXT_LINE.match(text, place)):
        yield from _iter_quoted_secrets(text, match, name, sure)
    elif sign in "=:{" and _STRUCTURE.match(text, place):
        yield from _iter_structure_secrets(text, place, name, sure or listed)
    elif (
        sign in "({"
        and (match := _CONSTRUCTED.match(text, place))
        and _STRING_TYPE.search(text, max(0, start - 40), start)
    ) or (sign == "," and start > 1 and text[start - 2] == "(" and (match := _COMMA.match(text, place))):
        yield from _iter_quoted_secrets(text, match, name, sure, joined=False)
    elif match := _PAIR.match(text, place):
        if match["bare"] is None:
            yield from _iter_quoted_secrets(text, match, name, sure)
        else:
            value = match["bare"].rstrip(",;)]}>")
            if is_secret_value(value, name, "environment" if name.isupper() else "data", sure):
                yield Span(match.start("bare"), match.start("bare") + len(value), get_secret_kind(name), 300)
    elif sign == "<":
        match = PLIST.match(text, place)
        if match and is_secret_value(match["xv"], name, "element", sure):
            yield Span(match.start("xv"), match.end("xv"), get_secret_kind(name), 300)
    elif (match := _ELEMENT.match(text, place)) and _is_in_tag(text, start, place):
        if is_secret_value(match["xv"], name, "element", sure):
            yield Span(match.start("xv"), match.end("xv"), get_secret_kind(name), 300)
    elif name.startswith("-"):
        if match := _QUOTED_FLAG.match(text, place):
            yield from _iter_quoted_secrets(text, match, name, sure)
        elif match := _FLAG.match(text, place):
            value = match["bare"].rstrip(",.)]:;")
            if is_secret_value(value, name, "flag", sure):
                yield Span(match.start("bare"), match.start("bare") + len(value), get_secret_kind(name), 300)
    elif sure and (match := _QUOTED_SET.match(text, place)) and _DEFINE.search(text, max(0, start - 20), start):
        yield from _iter_quoted_secrets(text, match, name, sure, joined=False)
    elif sure and (match := _SET.match(text, place)) and _SETTER.search(text, max(0, start - 40), start):
        if is_secret_value(match["bare"], name, "environment", sure):
            yield Span(match.start("bare"), match.end("bare"), get_secret_kind(name), 300)
    elif match := _BESIDE.match(text, place):
        value = match["bare"].rstrip(".,:;)]")
        if is_secret_value(value, name, "beside", sure and name.isupper() and "_" in name):
            yield Span(match.start("bare"), match.start("bare") + len(value), get_secret_kind(name), 301)


_TAIL = LazyRegex(r"[\"'`\])\\]{0,4}\s{0,16}([^\s])")
_SIGNS = "=:!?|+,(<>{["
# Example: #define
_DEFINE = LazyRegex(r"#[ \t]*define[ \t]+\Z")
# Example: #define DB_PASSWORD "…"
_QUOTED_SET = LazyRegex(rf"[A-Za-z0-9_]{{0,48}}[ \t]{{1,40}}[LuU]?{_LITERAL.format('x')}")


def _is_in_tag(text: str, start: int, place: int) -> bool:
    """Whether a position is inside an HTML or XML tag."""
    return text.rfind("<", max(0, start - 60), place) > text.rfind(">", max(0, start - 60), place)


def _iter_structure_secrets(text: str, place: int, name: str, sure: bool) -> Iterator[Span]:
    """Yield the secrets in a list, a block of lines, or an object with a `value`, that is assigned to a name."""
    if not sure:
        return
    kind = get_secret_kind(name)
    if block := _BLOCK.match(text, place):
        for line in _LINES.finditer(text, block.start("lines"), block.end("lines")):
            if is_secret_value(line[0], name, "quoted", sure) or _is_random_item(line[0]):
                yield Span(line.start(), line.end(), kind, 300)
    elif items := _ITEMS.match(text, place):
        for item in _ITEM_LINE.finditer(text, items.start("lines"), items.end("lines")):
            if is_secret_value(item["v"], name, "flag", sure):
                yield Span(item.start("v"), item.end("v"), kind, 300)
    elif array := _ARRAY.match(text, place):
        for item in _ARRAY_ITEM.finditer(text, array.start("items"), array.end("items")):
            group = "v" if item["v"] else "b"
            if is_secret_value(item[group], name, "quoted" if group == "v" else "flag", sure):
                yield Span(item.start(group), item.end(group), kind, 300)
    elif mapping := MAPPING.match(text, place):
        for item in _MAPPING_ITEM.finditer(text, mapping.start(mapping.lastgroup or 0), mapping.end()):
            if _is_random_item(item["v"]) and not (
                any(sign in item["v"] for sign in "/:.()") and not is_random_value(item["v"])
            ):
                yield Span(item.start("v"), item.end("v"), kind, 300)
    elif (nested := _NESTED.match(text, place)) and is_secret_value(nested["v"], name, "quoted", sure):
        yield Span(nested.start("v"), nested.end("v"), kind, 300)


def _is_random_item(value: str) -> bool:
    """Whether an item of a list looks random."""
    return (
        not any(char.isspace() for char in value)
        and _is_random(value, 8)
        and not is_wordlike(value, digits=True)
        and not is_reference(value)
    )


# Example: passwords: [
_STRUCTURE = LazyRegex(
    rf"{NAME_END}(?:(?::|=|=>)[ \t]{{0,8}})?(?:[|>][-+0-9]{{0,2}}[ \t]{{0,8}}\r?\n|\r?\n[ \t]{{0,40}}-[ \t]|\r?\n[ \t]{{1,40}}[\w\"'.-]{{1,60}}:[ \t]|\[|\{{)"
)
# Example: password: |\n  …
_BLOCK = LazyRegex(
    rf"{NAME_END}:[ \t]{{0,8}}[|>][-+0-9]{{0,2}}[ \t]{{0,8}}\r?\n(?P<indent>[ \t]{{1,40}})(?P<lines>[^\s][^\n]{{0,1000}}(?:\n(?P=indent)[^\n]{{0,1000}}){{0,100}})"
)
_LINES = LazyRegex(r"[^\s](?:[^\n]*[^\s])?")
# Example: passwords:\n  - …
_ITEMS = LazyRegex(rf"{NAME_END}:[ \t]{{0,8}}\r?\n(?P<lines>(?:[ \t]{{0,40}}-[ \t][^\n]{{1,300}}(?:\n|\Z)){{1,50}})")
_ITEM_LINE = LazyRegex(r"-[ \t]{1,4}[\"']?(?P<v>[^\s\"',:{}\[\]]{4,300})[\"']?,?[ \t]*\r?(?=\n|\Z)")
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
_NESTED = LazyRegex(
    rf"{NAME_END}(?:[:=][ \t]{{0,4}})?\{{\s{{0,40}}(?:[^{{}}\n]{{0,120}}\n\s{{0,40}}){{0,4}}?[\"']?(?:value|default)[\"']?[ \t]{{0,8}}[:=][ \t]{{0,8}}[\"'](?P<v>[^\"'\n]{{4,1000}})[\"']"
)
_OPEN_STRUCTURE = LazyRegex(
    rf"{NAME_END}(?:(?::|=|=>|:=)[ \t]{{0,8}})?(?:[|>][-+0-9]{{0,2}}[ \t]{{0,8}}(?:\r?\n(?:[ \t]{{1,40}}[^\n]{{0,1000}}(?:\n|\Z)|[ \t]*\Z){{0,100}})?"
    rf"|\r?(?:\n(?:[ \t]{{0,40}}-[ \t][^\n]{{0,300}}(?:\n|\Z)){{0,50}}[ \t]{{0,40}}-?)?|(?:new[ \t]\w+)?\[[^\[\]{{}}]{{0,2000}}"
    rf"|\{{\s{{0,40}}(?:[^{{}}\n]{{0,120}}\n\s{{0,40}}){{0,4}}?[^{{}}\n]{{0,120}})\Z"
)
# Example: std::string password("…")
_CONSTRUCTED = LazyRegex(rf"[{NAME_CHARS}]{{0,48}}[({{]{_LITERAL.format('x')}[)}}]")
# Example: std::string
_STRING_TYPE = LazyRegex(r"(?:string|String|QString|char[ \t]*\*|auto|SecureString)[ \t]+\Z")


def find_name(text: str, place: int) -> tuple[str, int]:
    """Return the name that contains the word at this position, and where it begins. "api key" counts as one name."""
    start = place
    while start > 0 and place - start < 48 and ((char := text[start - 1]).isalnum() or char in "_.-"):
        start -= 1
    match = _NAME.match(text, start)
    name = match[0] if match else ""
    if (
        start == place
        and text[place : place + 3].lower() == "key"
        and (first := text[max(0, place - 40) : place].rstrip(" ").rsplit(None, 1))
    ):
        return f"{first[-1]} {name}", start
    return name, start


def _iter_quoted_secrets(
    text: str, match: re.Match[str], name: str, sure: bool, *, joined: bool = True
) -> Iterator[Span]:
    """Yield the value in quotation marks and the literals concatenated to it, if together they are a secret."""
    parts = [_get_value_start(match, "x")]
    end = match.end()
    while joined and (more := _NEXT_LITERAL.match(text, end)) and len(parts) < 40:
        parts.append(_get_value_start(more, "y"))
        end = more.end()
    value = "".join(text[first:last] for first, last in parts)
    if is_secret_value(value, name, "quoted", sure):
        for first, last in parts:
            yield Span(first, last, get_secret_kind(name), 300)
    elif len(parts) > 1 and is_secret_value(text[parts[0][0] : parts[0][1]], name, "quoted", sure):
        yield Span(*parts[0], get_secret_kind(name), 300)


def _get_value_start(match: re.Match[str], group: str) -> tuple[int, int]:
    """Return where the value in one of a pattern's alternative groups begins and ends."""
    name = f"{group}v" if match[f"{group}v"] is not None else f"{group}w"
    return match.start(name), match.end(name)


def _iter_unquoted_secrets(text: str, match: re.Match[str], place: int, end: int) -> Iterator[Span]:
    """Yield the value without quotation marks if it is a secret.

    Args:
        match: a match of `_AFTER`.
        place: position of the word of `WORDS` in the name.
        end: position up to which the text is examined.
    """
    name, start = find_name(text, place)
    sure = is_secret_name(name)
    bare, at, separator = match["bare"], match.start("bare"), match["sep"]
    line = text.rfind("\n", max(0, start - 120), start) + 1
    opens = (line or start <= 120) and _LINE_START.fullmatch(text, line, start) is not None
    tight = (
        separator == "="
        and text[match.start("sep") - 1 : match.start("sep")] not in (" ", "\t")
        and at == match.end("sep")
    )
    capital = is_environment_name(name) and text[start - 1 : start] not in ("?", "&")
    if tight and capital:
        style: Style = "environment"
    elif "-" in name.strip("-") and separator == ":":
        style = "data"
    elif opens and _REST.match(text, match.end("bare"), end):
        style = (
            "data"
            if (separator in ("=", ":") or (capital and separator in (":=", "?=")))
            and not bare.endswith((",", ";", ")"))
            else "code"
        )
    else:
        style = "inline" if tight else "code"
    whole = style == "environment" or (style == "data" and sure)
    cut = (_NEXT_NAME if whole else _CUT).search(bare)
    value = (bare[: cut.start()] if cut else bare).rstrip(",;)]}>" if whole else ".:")
    if whole and style == "data":
        value = bare.rstrip(",")
    if style == "inline" and bare[len(value) : len(value) + 1] in (",", ")"):
        style = "code"
    if style == "code" and sure and separator in ("=", ":") and _is_in_sentence(text, line, start, at + len(value)):
        style = "text"
    if value and is_secret_value(value, name, style, sure):
        yield Span(at, at + len(value), get_secret_kind(name), 300)


def _is_in_sentence(text: str, line: int, start: int, end: int) -> bool:
    """Whether the text between two positions is part of a sentence or log line. line: where the line begins."""
    before = _TEXT_BEFORE.fullmatch(text, line, start)
    if before is None:
        return False
    words = _TEXT_WORD.findall(text, line, start)
    if not _CODE_WORDS.isdisjoint(words):
        return False
    opened = text[start - 1 : start] in ("(", "[")
    after = _TEXT_AFTER.match(text, end)
    if after is None or after["word"] is not None or after["tight"] is not None:
        return after is not None
    return after.end() == len(text) or (bool(words or opened) and "=" not in text[line:start])


_TEXT_BEFORE = LazyRegex(r"(?:(?:\[?[\w.,:'/@+-]{1,60}\]?|[\w.-]{1,40}=[^\s()\[\]{}\"']{1,60})[ \t]{1,4}){0,40}[(\[]?")
_TEXT_WORD = LazyRegex(r"[A-Za-z]{2,}")
_TEXT_AFTER = LazyRegex(
    r"[,.;:!?)\]]{0,3}(?:[ \t]*\r?(?:\n|\Z)|(?P<tight>(?<=[,;])(?=\w+=))|[ \t]+(?:\w+=|-\s|(?P<word>[A-Za-z]{1,20}(?=[\s,.;!?]|\Z))))"
)
_CODE_WORDS = frozenset(
    "return if elif else and or not assert await yield lambda def in is with as case when raise for while import from new"
    " const let var val static public private protected final readonly pub mut async await class struct type interface enum"
    " fn func function override export default abstract declare namespace switch throw throws do end then begin print echo"
    " self this optional required virtual internal extern unsigned volatile inline where select param returns arg args".split()
)


def is_secret_value(value: str, name: str, style: Style, sure: bool) -> bool:
    """Whether the value of a name that denotes a secret is the secret itself.

    Args:
        style: how the value is written. "quoted": a literal in quotation marks; "element": the content of an XML
            element; "environment": `NAME=value`; "data": the only value on its line; "inline": `name=value` elsewhere;
            "text": in a sentence or log line; "code": where an expression may occur; "flag": after an option and a
            blank; "beside": after any other name and a blank.
        sure: whether the name denotes a secret whatever its value looks like.
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
    if any(char.isspace() for char in value):
        return _is_spaced_secret(value, name, style, sure)
    password = get_secret_kind(name) == "password"
    if not any(char.isalpha() for char in value):
        if not has_digit(value):
            return False
        if value.isdigit():
            if style == "environment" or (password and style != "code"):
                return sure and len(value) >= 6
            return sure and len(value) >= 8 and style not in ("code", "beside") and not is_generic_name(name)
        return password and len(value) >= 8 and sure and style != "code" and _NUMBER.fullmatch(value) is None
    words = is_wordlike(value, digits=True)
    plain = is_wordlike(value)
    if style != "quoted" and _CALL.match(value) and style not in ("element", "flag"):
        return False
    if style == "beside":
        return (
            not words
            and _is_random(value, 8)
            and (is_random_value(value) or sure or (password and is_random_stretch(value)))
            and _CODE.search(value) is None
        )
    if not sure:
        if style != "quoted" and _ATTRIBUTE.fullmatch(value) and not is_random_value(value):
            return False
        return (
            not words
            and _is_random(value, 8)
            and (style == "quoted" or _CODE.search(value) is None or is_random_value(value))
        )
    if style != "quoted" and (
        _TYPE_OF_KEY.fullmatch(value) or value.lower() in _PLAIN_WORDS or _ALGORITHMS.fullmatch(value)
    ):
        return False
    if style in ("quoted", "element"):
        return _is_quoted_secret(value, name, words, plain)
    if _is_word_chain(value):
        return True
    if style == "environment":
        return len(value) >= 5 and not (plain and ("_" in value or "/" in value) and not is_passphrase(value, 2))
    if style == "data":
        if _NUMBER.fullmatch(value) and not password:
            return False
        if not words:
            return (
                len(value) >= 5
                and (count_character_kinds(value) >= 2 or len(value) >= 6)
                and not (_CODE_FOR_SURE.search(value) and not is_random_value(value) and not password)
            )
        if plain:
            return is_passphrase(value) or (
                password and len(value) >= 6 and ("-" in value or (value.islower() and value.isalpha()))
            )
        return (
            len(value) >= 6
            and "." not in value
            and "/" not in value
            and ("_" not in value or value[-2:].isdigit() or (password and value[-1].isdigit()))
        )
    if style == "flag":
        if _CODE.search(value) and not is_random_value(value):
            return False
        return len(value) >= 5 and (not plain or is_passphrase(value)) and not _ALGORITHMS.fullmatch(value)
    if (_CODE_FOR_SURE if is_random_value(value) or (style == "inline" and password) else _CODE).search(value):
        return False
    if style == "text":
        return is_passphrase(value) or (
            len(value) >= 6
            and not plain
            and not is_measure(value)
            and (not words or (value.isalnum() and value[-1].isdigit() and (password or value.islower())))
        )
    if style == "inline":
        if plain:
            return is_passphrase(value) or (password and value.islower() and value.isalpha() and len(value) >= 6)
        return len(value) >= 6 and not (words and "." in value)
    # Source code: an identifier or a number refers to a value stored elsewhere.
    if (
        words
        or _NUMBER.fullmatch(value)
        or _SNAKE.fullmatch(value)
        or (not is_random_value(value) and _ATTRIBUTE.fullmatch(value))
    ):
        return False
    return _is_random(value, 8)


def _normalize_letters(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return "".join(filter(str.isalnum, text)).lower()


def _is_variable_name(value: str) -> bool:
    """Whether a value without quotation marks is an attribute, or a variable with the name of a secret."""
    if is_secret_name(value) and is_wordlike(value, digits=True):
        return True
    return (
        _ATTRIBUTE.fullmatch(value) is not None
        and not is_random_value(value)
        and (not has_digit(value) or "_" in value)
    )


def _is_word_chain(value: str) -> bool:
    """Whether a value is three or more words joined by dashes, as passphrase generators write them."""
    segments = value.split("-")
    return (
        len(segments) >= 3
        and all(each.isalpha() and each.islower() and len(each) >= 3 for each in segments)
        and not _STOP.intersection(segments)
        and not _CHAIN_OF_NAMES.search(value)
    )


_CHAIN_OF_NAMES = LazyRegex(
    r"secret|token|key|name|pass|auth|user|client|server|service|default|test|example|config|http|file|type|value|cluster"
)


def _is_quoted_secret(value: str, name: str, words: bool, plain: bool) -> bool:
    """Whether a value in quotation marks, without blanks, is a secret. See `is_secret_value`."""
    password = get_secret_kind(name) == "password"
    if value.startswith(("%", "http://", "https://", "{")) or (
        not value.isascii() and all(char.isalpha() for char in value)
    ):
        return False
    if _NUMBER.fullmatch(value):
        return password
    if not words:
        return (
            len(value) >= (5 if password else 6) and compute_entropy(value) >= 1.5 and not value.startswith(("^", "."))
        )
    if plain:
        return (
            _is_word_chain(value)
            or is_passphrase(value, 2 if password else 3)
            or (
                (password or (not is_generic_name(name) and not name.lower().endswith("token") and len(value) >= 8))
                and value.islower()
                and value.isalpha()
                and len(value) >= 6
                and value not in _PLAIN_WORDS
            )
        )
    if "." in value or "/" in value or ("_" in value and not value[-1 if password else -2 :].isdigit()):
        return False
    return password or (
        (not is_generic_name(name) or name.isupper()) and len(value) >= 6 and not _ALGORITHMS.fullmatch(value)
    )


def _is_spaced_secret(value: str, name: str, style: Style, sure: bool) -> bool:
    """Whether a value with blanks is a secret, as opposed to a label or message."""
    parts = value.split()
    small = [part.lower().strip(".,:;!?'\"()") for part in parts]
    if not sure or style not in ("quoted", "element") or len(parts) > 24:
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
    if _STOP.intersection(small) or any(sign in value for sign in _LABEL_SIGNS):
        return False
    if get_secret_kind(name) != "password":
        return len(parts) in (12, 15, 18, 21, 24) and all(part.isalpha() and part.islower() for part in parts)
    if any(has_digit(part) and not part.isdigit() for part in parts):
        return True
    lower = all(part.isalpha() and part.islower() for part in parts)
    return (lower and len(parts) >= 3) or (
        has_digit(value) and value.isascii() and value[:1].islower() and len(parts) <= 4
    )


def _is_random(value: str, least: int) -> bool:
    """Whether a value is long and varied enough to be random."""
    if len(value) < least or compute_entropy(value) < 2.3:
        return False
    return _DATE.search(value) is None and not value.startswith(("http:", "https:", "#"))


# Example: 2024-05-01
_DATE = LazyRegex(r"\A(?:v?\d+(?:\.\d+)+|\d{4}-\d\d-\d\d)")
