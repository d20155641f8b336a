"""Secrets known by the name they are given: `DB_PASSWORD=…`, `"api_key": "…"`, `--password …`, `<token>…`. Pure."""

import re
from collections.abc import Iterator
from typing import Literal

from clio.algorithms.late_pattern import LatePattern
from clio.security.redaction.looks import by_lot, character_kinds, entropy, is_placeholder, scrambled
from clio.security.redaction.names import (
    ANY_WORD,
    HALF_A_NAME,
    NAME_END,
    QUOTE,
    WORDS,
    in_capitals,
    is_begun,
    is_secret_name,
    kind_of,
    may_be_secret_name,
)
from clio.security.redaction.patterns import Span

_ANY_WORD = LatePattern(ANY_WORD, re.IGNORECASE)
_NAME = LatePattern(r"[A-Za-z0-9_.-]{0,100}")
_NAME_BACK = LatePattern(r"[A-Za-z0-9_.-]{0,48}")
_TYPE_NAME = r"(?:str|string|String|&str|&'static str|Final|Final\[str\]|str \| None|Optional\[str\])"
_TYPE = rf"(?::[ \t]{{0,2}}{_TYPE_NAME}[ \t]{{0,2}}(?==))?"
_SCHEME = r"(?:[Tt]oken|ApiKey|apikey|Key)[ \t]{1,4}"
# A further name with a sign behind it ends a value; so texts full of names are not read over and over.
_NAMED = r"(?i:passw|secret|token|key|pwd)[\w-]{0,20}[=:]"
_GIVEN = (
    rf"(?:(?P<quote>{QUOTE})(?P<quoted>(?:(?!{QUOTE})\S){{1,1024}})(?P=quote)"
    rf"|\\{{0,2}}[\"'`]?(?!{_NAMED})(?P<bare>(?:[^\s\"'`\\]|\\(?![nrt\"'`\\])){{1,1024}}))"
)
_AFTER = LatePattern(
    rf"{NAME_END}{_TYPE}(?P<sep>:=|=>|==|!=|=|:(?!:))[ \t]{{0,16}}(?:{_SCHEME})?(?:[A-Za-z]{{1,2}}(?={QUOTE}))?{_GIVEN}"
)
# `name: DB_PASSWORD` and `value: …` on the next line or behind a comma, as lists of variables and forms have it.
_BETWEEN = r"[A-Za-z0-9_.-]{0,48}(?:\\{0,2}[\"']){0,2},?\s{1,40}\\{0,2}[\"']?[Vv]alue\\{0,2}[\"']?[:=]"
_PAIR = LatePattern(rf"{_BETWEEN}[ \t]{{0,4}}{_GIVEN}")
_ELEMENT = LatePattern(r"[A-Za-z0-9_.-]{0,48}>(?=[^<>\s]{0,1024}[0-9@:=])(?P<quoted>[^<>\s]{1,1024})</")
_FLAG = LatePattern(r"[A-Za-z0-9_-]{0,48}[ \t]{1,4}[\"']?(?P<bare>[^\s\"'`\\-][^\s\"'`\\]{0,1023})")
# As `.netrc` and the `ENV` of a Dockerfile have it: only what looks drawn by lot, for any sentence may go on so.
BESIDE = r"[A-Za-z0-9_-]{0,48}[ \t]{1,4}[\"'`]?(?=[^\s\"'`]{0,1024}[0-9])"
_BESIDE = LatePattern(rf"{BESIDE}(?P<bare>[^\s\"'`]{{10,1024}})")
LOGIN = r"-u(?:ser)?[ =]{0,2}[\"']?[^\s:\"'`$@/]{1,64}:"
_LOGIN = LatePattern(rf"{LOGIN}(?P<bare>[^\s\"'`]{{8,256}})")
# A name at the end of a text: more than what the others take, so that no value is ever parted from its name.
_OPEN = LatePattern(
    rf"{NAME_END}(?:(?::[ \t]{{0,2}}[A-Za-z&'\[\]| ]{{0,20}})?"
    r"(?:[:=!>]{1,2}[ \t]{0,16}(?:[A-Za-z]{1,8}[ \t]{0,4})?)?"
    r"|,?\s{1,40}(?:\\{0,2}[\"'])?(?:[Vv](?:a(?:l(?:ue?)?)?)?)?(?:\\{0,2}[\"'])?[:=]?[ \t]{0,4})\Z"
)
_OPENERS = LatePattern(rf"{ANY_WORD}|{HALF_A_NAME}|bearer|basic|-u(?:ser)?")
_OPEN_WINDOW = 240
_CODE = LatePattern(r"^x:\d+:\d+:|[()\[\]{}<>$|*\\]|\?\?|=>|::|->|^\.|^[@&!~^%/]|^--?[a-z]")
# Signs of code that a password may hold as well; in a value that looks drawn by lot they do not speak for code.
_CODE_FOR_SURE = LatePattern(r"^x:\d+:\d+:|[()\[\]{}<>$|]|\?\?|=>|::|->|^--?[a-z]+=")
_IDENTIFIER = LatePattern(r"[A-Za-z_][A-Za-z_]*\d?(?:[.:/-][A-Za-z_][A-Za-z_]*\d?)*[,;]?")
_ATTRIBUTE = LatePattern(r"[a-z_]\w*(?:\.[A-Za-z_]\w*)+")
_NO_VALUE = ("http://", "https://", "./", "../", "/", "~/", "data:", "file:", "env:", "$")
_TYPE_OF_KEY = LatePattern(r"[\w.]*(?:Private|Public|Secret|Api)Key[A-Z]?[A-Za-z]*")
_HEX = LatePattern(r"(?:0x)?[0-9a-fA-F]+")
_NEXT_NAME = LatePattern(_NAMED)
_CUT = LatePattern(rf"[,;)\]}}<>|]|&(?=[\w.-]+=|\Z)|{_NEXT_NAME.pattern}")

Style = Literal["quoted", "bare", "tight"]


def named_spans(text: str) -> Iterator[Span]:
    """Values of secret-looking names that look like secrets themselves."""
    lowered = _lower(text)
    tried: set[Span] = set()
    for word in WORDS:
        place = lowered.find(word)
        while place >= 0:
            span = _value_at(text, place) if is_begun(lowered, place, word) else None
            if span is not None and span not in tried:
                tried.add(span)
                yield span
            place = lowered.find(word, place + len(word))
    place = text.find("-u")
    while place >= 0:
        match = _LOGIN.match(text, place)
        if match and _looks_secret(match["bare"], "password", "quoted"):
            yield Span(match.start("bare"), match.end("bare"), "password", 300)
        place = text.find("-u", place + 2)


def open_name(text: str, end: int) -> int | None:
    """Where a name stands whose value may still come after `end`; None for nowhere."""
    begin = max(0, end - _OPEN_WINDOW)
    for match in _OPENERS.finditer(_lower(text[begin:end])):  # a third of the time ignoring case takes
        if _OPEN.match(text, begin + match.end(), end):
            return begin + match.start()
    return None


def _lower(text: str) -> str:
    """The text in lower case with every character in its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _value_at(text: str, place: int) -> Span | None:
    """The secret given to the name that holds the word at this place."""
    name, start = _name_at(text, place)
    sure = is_secret_name(name)
    if not (sure or may_be_secret_name(name)) or text.endswith("[REDACTED:", 0, start):
        return None  # the kind in a mark is no name
    match = _AFTER.match(text, place)
    separator = match["sep"] if match else "="
    if separator in ("==", "!="):
        return None
    if match is None and name.startswith("--"):
        match = _FLAG.match(text, place)
    match = match or _PAIR.match(text, place) or _ELEMENT.match(text, place)
    rank = 300
    if match is None:
        match, rank, sure = _BESIDE.match(text, place), 301, name.isupper() and "_" in name
    if match is None:
        return None
    given = match.groupdict()
    if quoted := given.get("quoted"):
        good = _looks_secret(quoted, name, "quoted") and (sure or _for_sure(quoted, name))
        return Span(match.start("quoted"), match.end("quoted"), kind_of(name), rank) if good else None
    tight = separator == "=" and in_capitals(name) and text[start - 1 : start] not in ("?", "&")
    bare = given["bare"]
    cut = (_NEXT_NAME if tight else _CUT).search(bare)
    value = (bare[: cut.start()] if cut else bare).rstrip(",;)]}>" if tight else ".:")
    if (
        not value
        or not _looks_secret(value, name, "tight" if tight else "bare")
        or not (sure or _for_sure(value, name))
    ):
        return None
    return Span(match.start("bare"), match.start("bare") + len(value), kind_of(name), rank)


def _name_at(text: str, place: int) -> tuple[str, int]:
    """The name a word at this place is part of, and where it begins; "api key" is one."""
    left = _NAME_BACK.match(text[max(0, place - 48) : place][::-1])
    start = place - (left.end() if left else 0)
    match = _NAME.match(text, start)
    name = match[0] if match else ""
    if (
        start == place
        and text[place : place + 3].lower() == "key"
        and (first := text[:place].rstrip(" ").rsplit(None, 1))
    ):
        return f"{first[-1]} {name}", start
    return name, start


def _for_sure(value: str, name: str) -> bool:
    """Whether a value is a secret although its name, or where it stands, may mean something else."""
    if by_lot(value):
        return True
    if kind_of(name) == "password":
        return len(value) >= 10 and character_kinds(value) >= 3 and not _CODE.search(value)
    return len(value) >= 16 and value.endswith("=") and character_kinds(value) >= 3


def _looks_secret(value: str, name: str, style: Style) -> bool:
    """Whether a value may be the secret itself and not a word, an expression, a path or a place-holder.

    style: in quotes; bare; or bare in the manner of a `.env` file, `NAME=value` without spaces.
    """
    if len(value) < (8 if (password := kind_of(name) == "password") else 12):
        return False
    if is_placeholder(value) or "[REDACTED" in value or value.startswith(_NO_VALUE):
        return False
    lot = by_lot(value)
    if style != "quoted" and _TYPE_OF_KEY.fullmatch(value):
        return False
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
