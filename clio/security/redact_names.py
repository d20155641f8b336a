"""Secrets recognised by the name they are given: `DB_PASSWORD=…`, `"api_key": "…"`, `--password …`. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from clio.security.redact_looks import by_lot, character_kinds, entropy, is_placeholder, scrambled
from clio.security.redact_patterns import Span

_WORDS = ("passw", "passphrase", "secret", "token", "credential", "pwd", "_pass", "authorization", "key")
_KEYS = ("api", "access", "private", "auth", "encryption", "signing", "account", "master", "license", "secret")
_JOINTS = 13  # as many dashes and underlines may part "api" and "key" in `named_spans`
ANY_WORD = rf"(?:{'|'.join(_WORDS[:-1])}|(?:{'|'.join(_KEYS)})[_-]{{0,{_JOINTS}}}key)"
_ANY_WORD = re.compile(ANY_WORD, re.IGNORECASE)
_ENDS = re.compile(
    r"(?:password|passwd|passphrase|passwort|secrets?|token|apikey|accesskey|secretkey|secretkeybase|privatekey"
    r"|credentials?|pwd|(?:db|user|smtp|mail|admin|ftp|root|redis|mysql|pg)pass"
    r"|authkey|encryptionkey|signingkey|accountkey"
    r"|masterkey|authorization|licensekey|(?:secret|token|password)value)\d{0,3}\Z"
)
_IN_CAPITALS = re.compile(
    r"(?:\A|_)(?:PASSWORD|PASSWD|PASS|SECRET|TOKEN|API_?KEY)(?:_(?:PROD|DEV|STAGING|TEST|LIVE|V?\d+))?\Z"
)
_NOT_SECRET = re.compile(
    r"(?:next|prev|previous|page|continuation|cursor|sync|stop|start|end|pad|eos|bos|unk|mask|cls|sep|num|max|min|total|n"
    r"|per|special|public|cancellation|last|current|first|this|skip|expected|syntax|string|name|number)token\d{0,3}"
)
_NAME = re.compile(r"[A-Za-z0-9_.-]{0,100}")
_NAME_BACK = re.compile(r"[A-Za-z0-9_.-]{0,48}")
_QUOTE = r"\\{0,2}[\"'`]"
NAME_END = r"[A-Za-z0-9_.-]{0,48}(?:\\{0,2}[\"'`\])]){0,2}[ \t]{0,16}"
_TYPE_NAME = r"(?:str|string|String|&str|&'static str|Final|Final\[str\]|str \| None|Optional\[str\])"
_TYPE = rf"(?::[ \t]{{0,2}}{_TYPE_NAME}[ \t]{{0,2}}(?==))?"
_SCHEME = r"(?:[Tt]oken|ApiKey|apikey|Key)[ \t]{1,4}"
# A further name with a sign behind it ends a value; so texts full of names are not read over and over.
_NAMED = r"(?i:passw|secret|token|key|pwd)[\w-]{0,20}[=:]"
_AFTER = re.compile(
    rf"{NAME_END}{_TYPE}(?P<sep>:=|=>|==|!=|=|:(?!:))[ \t]{{0,16}}(?:{_SCHEME})?(?:[A-Za-z]{{1,2}}(?={_QUOTE}))?"
    rf"(?:(?P<quote>{_QUOTE})(?P<quoted>(?:(?!{_QUOTE})\S){{1,1024}})(?P=quote)"
    rf"|\\{{0,2}}[\"'`]?(?!{_NAMED})(?P<bare>(?:[^\s\"'`\\]|\\(?![nrt\"'`\\])){{1,1024}}))"
)
_FLAG = re.compile(r"[A-Za-z0-9_-]{0,48}[ \t]{1,4}[\"']?(?P<bare>[^\s\"'`\\-][^\s\"'`\\]{0,1023})")
# A name at the end of a text: more than what `_AFTER` and `_FLAG` take, so that no value is ever parted from its name.
_OPEN = re.compile(
    rf"{NAME_END}(?::[ \t]{{0,2}}[A-Za-z&'\[\]| ]{{0,20}})?"
    r"(?:[:=!>]{1,2}[ \t]{0,16}(?:[A-Za-z]{1,8}[ \t]{0,4})?)?\Z"
)
_OPENERS = re.compile(rf"{ANY_WORD}|bearer|basic")
_OPEN_WINDOW = 240
_CODE = re.compile(r"^x:\d+:\d+:|[()\[\]{}<>$|*\\]|\?\?|=>|::|->|^\.|^[@&!~^%/]|^--?[a-z]")
# Signs of code that a password may hold as well; in a value that looks drawn by lot they do not speak for code.
_CODE_FOR_SURE = re.compile(r"^x:\d+:\d+:|[()\[\]{}<>$|]|\?\?|=>|::|->|^--?[a-z]+=")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_]*\d?(?:[.:/-][A-Za-z_][A-Za-z_]*\d?)*[,;]?")
_ATTRIBUTE = re.compile(r"[a-z_]\w*(?:\.[A-Za-z_]\w*)+")
_NO_VALUE = ("http://", "https://", "./", "../", "/", "~/", "data:", "file:", "env:", "$")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_NEXT_NAME = re.compile(_NAMED)
_CUT = re.compile(rf"[,;)\]}}<>|]|&(?=[\w.-]+=|\Z)|{_NEXT_NAME.pattern}")


def named_spans(text: str) -> Iterator[Span]:
    """Values of secret-looking names that look like secrets themselves."""
    lowered = _lower(text)
    tried: set[int] = set()
    for word in _WORDS:
        place = lowered.find(word)
        while place >= 0:
            known = word != "key" or lowered[max(0, place - 16) : place].rstrip("_-").endswith(_KEYS)
            span = _value_at(text, place) if known else None
            if span is not None and span.start not in tried:
                tried.add(span.start)
                yield span
            place = lowered.find(word, place + len(word))


def open_name(text: str, end: int) -> int | None:
    """Where a name stands whose value may still come after `end`; None for nowhere."""
    begin = max(0, end - _OPEN_WINDOW)
    for match in _OPENERS.finditer(_lower(text[begin:end])):  # a third of the time ignoring case takes
        if _OPEN.match(text, begin + match.end(), end):
            return begin + match.start()
    return None


def env_secrets(env: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables with secret-looking names, to be redacted wherever they appear; longest first.

    Values under 12 characters, paths, URLs and place-holders are left out: they would hide ordinary text.
    """
    found = {
        value
        for name, value in env.items()
        if _is_secret_name(name)
        and len(value) >= 12
        and not value.startswith(("/", "~", "http://", "https://"))
        and not is_placeholder(value)
        and entropy(value) >= 2.5
    }
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def _lower(text: str) -> str:
    """The text in lower case with every character in its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _value_at(text: str, place: int) -> Span | None:
    """The secret given to the name that holds the word at this place."""
    left = _NAME_BACK.match(text[max(0, place - 48) : place][::-1])
    start = place - (left.end() if left else 0)
    if text.endswith("[REDACTED:", 0, start):
        return None  # the kind in a mark is no name
    name = _NAME.match(text, start)
    full = name[0] if name else ""
    match = _AFTER.match(text, place)
    if match is not None and match["quoted"] is not None:
        separator, quoted = match["sep"], match["quoted"]
        good = separator not in ("==", "!=") and _is_secret_name(full) and _looks_secret(quoted, full, "quoted")
        return Span(match.start("quoted"), match.end("quoted"), _kind(full), 300) if good else None
    separator = match["sep"] if match else "="
    if match is None and full.startswith("--"):
        match = _FLAG.match(text, place)
    if match is None or separator in ("==", "!=") or not _is_secret_name(full):
        return None
    tight = separator == "=" and _capitals(full) and text[start - 1 : start] not in ("?", "&")
    bare = match["bare"]
    cut = (_NEXT_NAME if tight else _CUT).search(bare)
    value = (bare[: cut.start()] if cut else bare).rstrip(",;)]}>" if tight else ".:")
    if not value or not _looks_secret(value, full, "tight" if tight else "bare"):
        return None
    return Span(match.start("bare"), match.start("bare") + len(value), _kind(full), 300)


def _capitals(name: str) -> bool:
    return name.isupper() or name.startswith("--")


def _kind(name: str) -> str:
    lowered = name.lower()
    if "pass" in lowered or "pwd" in lowered:
        return "password"
    if "authorization" in lowered:
        return "authorization"
    return "token" if "token" in lowered else "secret"


def _is_secret_name(name: str) -> bool:
    """Whether the last words of a name mean a secret: `db_password`, `apiKey`, `SECRET_KEY_BASE`, `config.token`."""
    plain = name.rstrip(".-").rsplit(".", 1)[-1].replace("_", "").replace("-", "").lower()
    if _NOT_SECRET.fullmatch(plain):
        return False
    if _ENDS.search(plain):
        return True
    return _capitals(name) and _IN_CAPITALS.search(name) is not None


def _looks_secret(value: str, name: str, style: Literal["quoted", "bare", "tight"]) -> bool:
    """Whether a value may be the secret itself and not a word, an expression, a path or a place-holder.

    style: in quotes; bare; or bare in the manner of a `.env` file, `NAME=value` without spaces.
    """
    if len(value) < (8 if (password := _kind(name) == "password") else 12):
        return False
    if is_placeholder(value) or "[REDACTED" in value or value.startswith(_NO_VALUE):
        return False
    lot = by_lot(value)
    if style != "quoted" and ((_CODE_FOR_SURE if lot else _CODE).search(value)):
        return False
    if style != "quoted" and _ATTRIBUTE.fullmatch(value) and not (lot and len(value) >= 30):
        return False
    if not any(char.isalpha() for char in value):
        return password and len(value) >= 12 and entropy(value) >= 2.5
    if _IDENTIFIER.fullmatch(value) and not scrambled(value):
        plain = value.isalpha() and style == "tight" and not _ANY_WORD.search(value)
        return plain and entropy(value) >= 2.5
    if _HEX.fullmatch(value):
        return len(value) >= 16 and entropy(value) >= 2.5
    return character_kinds(value) >= 2 and entropy(value) >= (2.5 if password else 3.0)
