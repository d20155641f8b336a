"""Judge whether the value of a name that denotes a secret is the secret itself. Pure."""

from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from clio.security.redaction.secret_patterns import (
    compute_entropy,
    count_character_kinds,
    get_secret_kind,
    has_digit,
    is_generic_name,
    is_measure,
    is_passphrase,
    is_placeholder,
    is_random_stretch,
    is_random_value,
    is_reference,
    is_secret_name,
    is_wordlike,
)
from clio.text.lazy_regex import LazyRegex

# ruff: noqa: E501 - a table of expressions reads better with one a line

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


_BLANK = LazyRegex(r"\s")


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
    if len(value) < 4 or _is_no_value(value, name, style):
        return False
    if _BLANK.search(value):
        return _is_spaced_secret(value, name, style, is_certain)
    is_password = get_secret_kind(name) == "password"
    if not any(char.isalpha() for char in value):
        return has_digit(value) and is_certain and _is_secret_number(value, name, style, is_password)
    if style not in ("quoted", "element", "flag") and _EXPRESSION_START.match(value):
        return False
    known = _Value(value, name, is_password, is_wordlike(value, digits=True), is_wordlike(value))
    if style == "beside":
        return (
            not known.has_only_words
            and _looks_random(value)
            and (is_random_value(value) or is_certain or (is_password and is_random_stretch(value)))
            and _CODE_SIGN.search(value) is None
        )
    if not is_certain:
        if style != "quoted" and _DOTTED_NAME.fullmatch(value) and not is_random_value(value):
            return False
        return (
            not known.has_only_words
            and _looks_random(value)
            and (style == "quoted" or _CODE_SIGN.search(value) is None or is_random_value(value))
        )
    if style != "quoted" and (
        _KEY_TYPE_NAME.fullmatch(value) or value.lower() in _PLAIN_WORDS or _ALGORITHM_OR_IDENTIFIER.fullmatch(value)
    ):
        return False
    if style in ("quoted", "element"):
        return _is_quoted_secret(known)
    return _is_word_chain(value) or _JUDGES[style](known)


class _Value(Struct, frozen=True):
    """A value without blanks, of a name that certainly denotes a secret.

    Attributes:
        has_only_words: it consists of dictionary-like words, with digits or without.
        has_only_plain_words: it consists of such words without digits.
    """

    text: str
    name: str
    is_password: bool
    has_only_words: bool
    has_only_plain_words: bool


def _is_no_value(value: str, name: str, style: Style) -> bool:
    """Whether a text is a placeholder, a reference, another name, or the like."""
    return (
        is_placeholder(value)
        or "[REDACTED" in value
        or is_reference(value)
        or _normalize_letters(value) in _normalize_letters(name)
        or ("%s" in value and is_wordlike(value.replace("%s", "")))
        or (value[0] == "#" and _COLOUR.fullmatch(value) is not None)
        or ("[" in value and _GENERIC_TYPE.fullmatch(value) is not None)
        or (style != "quoted" and _is_variable_name(value) and not (style != "code" and is_passphrase(value)))
        or (value.endswith(".*") and not has_digit(value))  # a pattern of dotted names
        or (value[-1] in "=:" and is_wordlike(value.rstrip("=:\\"), digits=True))
    )


def _is_secret_number(value: str, name: str, style: Style, is_password: bool) -> bool:
    """Whether a value of digits and signs is a secret."""
    if not value.isdigit():
        return is_password and len(value) >= 8 and style != "code" and _NUMBER.fullmatch(value) is None
    if style == "environment" or (is_password and style != "code"):
        return len(value) >= 6
    return len(value) >= 8 and style not in ("code", "beside") and not is_generic_name(name)


def _is_environment_secret(known: _Value) -> bool:
    value = known.text
    return len(value) >= 5 and not (
        known.has_only_plain_words and ("_" in value or "/" in value) and not is_passphrase(value, 2)
    )


def _is_data_secret(known: _Value) -> bool:
    value, is_password = known.text, known.is_password
    if _NUMBER.fullmatch(value) and not is_password:
        return False
    if not known.has_only_words:
        return (
            len(value) >= 5
            and (count_character_kinds(value) >= 2 or len(value) >= 6)
            and not (_CERTAIN_CODE_SIGN.search(value) and not is_random_value(value) and not is_password)
        )
    if known.has_only_plain_words:
        return is_passphrase(value) or (
            is_password and len(value) >= 6 and ("-" in value or (value.islower() and value.isalpha()))
        )
    return (
        len(value) >= 6
        and "." not in value
        and "/" not in value
        and ("_" not in value or value[-2:].isdigit() or (is_password and value[-1].isdigit()))
    )


def _is_flag_secret(known: _Value) -> bool:
    value = known.text
    if _CODE_SIGN.search(value) and not is_random_value(value):
        return False
    return (
        len(value) >= 5
        and (not known.has_only_plain_words or is_passphrase(value))
        and not _ALGORITHM_OR_IDENTIFIER.fullmatch(value)
    )


def _is_text_secret(known: _Value) -> bool:
    value = known.text
    if _has_code_sign(value):
        return False
    return is_passphrase(value) or (
        len(value) >= 6
        and not known.has_only_plain_words
        and not is_measure(value)
        and (
            not known.has_only_words
            or (value.isalnum() and value[-1].isdigit() and (known.is_password or value.islower()))
        )
    )


def _is_inline_secret(known: _Value) -> bool:
    value = known.text
    if _CERTAIN_CODE_SIGN.search(value) if known.is_password else _has_code_sign(value):
        return False
    if known.has_only_plain_words:
        return is_passphrase(value) or (known.is_password and value.islower() and value.isalpha() and len(value) >= 6)
    return len(value) >= 6 and not (known.has_only_words and "." in value)


def _is_code_secret(known: _Value) -> bool:
    """Whether a value in source code is a secret: an identifier or a number refers to a value stored elsewhere."""
    value = known.text
    return not (
        _has_code_sign(value)
        or known.has_only_words
        or _NUMBER.fullmatch(value)
        or _SNAKE_CASE_NAME.fullmatch(value)
        or (not is_random_value(value) and _DOTTED_NAME.fullmatch(value))
    ) and _looks_random(value)


_JUDGES: Mapping[Style, Callable[[_Value], bool]] = {
    "environment": _is_environment_secret,
    "data": _is_data_secret,
    "flag": _is_flag_secret,
    "text": _is_text_secret,
    "inline": _is_inline_secret,
    "code": _is_code_secret,
}


def _has_code_sign(value: str) -> bool:
    return (_CERTAIN_CODE_SIGN if is_random_value(value) else _CODE_SIGN).search(value) is not None


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


def _is_quoted_secret(known: _Value) -> bool:
    """Whether a value in quotation marks, without blanks, is a secret."""
    value, name, is_password = known.text, known.name, known.is_password
    if value.startswith(("%", "http://", "https://", "{")) or (
        not value.isascii() and all(char.isalpha() for char in value)
    ):
        return False
    if _NUMBER.fullmatch(value):
        return is_password
    if not known.has_only_words:
        return (
            len(value) >= (5 if is_password else 6)
            and compute_entropy(value) >= 1.5
            and not value.startswith(("^", "."))
        )
    if known.has_only_plain_words:
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


def is_secret_item(value: str) -> bool:
    """Whether an item of a list looks random and is neither words nor a reference."""
    return (
        not any(char.isspace() for char in value)
        and _looks_random(value)
        and not is_wordlike(value, digits=True)
        and not is_reference(value)
    )


def _looks_random(value: str) -> bool:
    """Whether a value has at least 8 characters, is varied enough to be random, and is no date, version or URL."""
    if len(value) < 8 or compute_entropy(value) < 2.3:
        return False
    return _DATE.search(value) is None and not value.startswith(("http:", "https:", "#"))


# Example: 2024-05-01
_DATE = LazyRegex(r"\A(?:v?\d+(?:\.\d+)+|\d{4}-\d\d-\d\d)")
