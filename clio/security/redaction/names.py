"""Which names mean a secret: `DB_PASSWORD`, `apiKey`, `--token`, `OPENAI_KEY`. Pure."""

from collections.abc import Mapping

from clio.algorithms.late_pattern import LatePattern
from clio.security.redaction.looks import entropy, is_placeholder

WORDS = ("pass", "secret", "token", "credential", "pwd", "auth", "key", "sess", "_pat")
"""What stands in every such name, in small letters."""
_KEYS = ("api", "access", "private", "auth", "encryption", "signing", "account", "master", "license", "secret")
_JOINTS = 13  # as many dashes, underlines or blanks may part "api" and "key" in `is_begun`
BEHIND = r"(?=[\"'`\s:=>\\]|\Z)"
ANY_WORD = (
    rf"(?:pass|secret|token|credential|pwd|authorization|auth{BEHIND}|(?:{'|'.join(_KEYS)})[ _-]{{0,{_JOINTS}}}key"
    rf"|_key{BEHIND}|_pat{BEHIND}|sess(?:ion)?_?id{BEHIND})"
)
"""A word of such a name in a text of small letters; nothing a name has to have is missing."""
QUOTE = r"\\{0,2}[\"'`]"
NAME_END = r"[A-Za-z0-9_.-]{0,48}(?:\\{0,2}[\"'`\])]){0,2}[ \t]{0,16}"
HALF_A_NAME = rf"(?:{'|'.join(_KEYS)})(?=[ \t]*\Z)"
"""The first of two words that are a name together, at the end of a text."""

_ENDS = LatePattern(
    r"(?:password|passwd|passphrase|passwort|secrets?|token|apikey|accesskey|secretkey|secretkeybase|privatekey"
    r"|credentials?|pwd|(?:db|user|smtp|mail|admin|ftp|root|redis|mysql|pg)pass|\Apass"
    r"|authkey|encryptionkey|signingkey|accountkey"
    r"|masterkey|authorization|licensekey|(?:secret|token|password)value)\d{0,3}\Z"
)
_IN_CAPITALS = LatePattern(
    r"(?:\A|_)(?:PASSWORD|PASSWD|PASS|SECRET|TOKEN|API_?KEY)(?:_(?:PROD|DEV|STAGING|TEST|LIVE|V?\d+))?\Z"
)
_NOT_SECRET = LatePattern(
    r"(?:next|prev|previous|page|continuation|cursor|sync|stop|start|end|pad|eos|bos|unk|mask|cls|sep|num|max|min|total|n"
    r"|per|special|public|publickey|cancellation|last|current|first|this|skip|expected|syntax|string|name|number)token\d{0,3}",
    needs="token",
)
_MAYBE = LatePattern(
    r"[A-Z0-9_]+_(?:KEY|PAT|AUTH)\Z|_?auth\Z|(?:PHPSESS|JSESSION|SESSION|session)_?(?:ID|Id|id)\Z|connect\.sid\Z"
)
_OPEN_KEY = LatePattern(r"PUBLIC|PRIMARY|FOREIGN|PARTITION|SORT|CACHE|SITE|PUBLISHABLE|IDEMPOTENCY|HOT|REG|ROW|INDEX")


def is_begun(lowered: str, place: int, word: str) -> bool:
    """Whether a word of `WORDS`, found at a place of a text in small letters, may be part of a name that counts."""
    if word == "key":
        before = lowered[max(0, place - _JOINTS - 3) : place]
        return before.endswith("_") or before.rstrip("_- ").endswith(_KEYS)
    if word in ("auth", "_pat"):
        return (
            lowered.startswith("authorization", place)
            or not lowered[place + len(word) : place + len(word) + 1].isalpha()
        )
    return True


def is_secret_name(name: str) -> bool:
    """Whether the last words of a name mean a secret: `db_password`, `apiKey`, `SECRET_KEY_BASE`, `config.token`."""
    plain = name.rstrip(".-").rsplit(".", 1)[-1].replace("_", "").replace("-", "").replace(" ", "").lower()
    if _NOT_SECRET.fullmatch(plain):
        return False
    if _ENDS.search(plain):
        return True
    return in_capitals(name) and _IN_CAPITALS.search(name) is not None


def may_be_secret_name(name: str) -> bool:
    """Whether a name means a secret only where its value looks drawn by lot: `MY_KEY`, `auth`, a session's cookie."""
    return _MAYBE.search(name) is not None and _OPEN_KEY.search(name) is None


def in_capitals(name: str) -> bool:
    """Whether a name is written as those of an environment are, or as a flag's."""
    return name.isupper() or name.startswith("--")


def kind_of(name: str) -> str:
    """What the value of a name is called where it was."""
    lowered = name.lower()
    if "pass" in lowered or "pwd" in lowered:
        return "password"
    if "authorization" in lowered:
        return "authorization"
    return "token" if "token" in lowered else "secret"


def env_secrets(env: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables with secret-looking names, to be redacted wherever they appear; longest first.

    Values under 12 characters, paths, URLs and place-holders are left out: they would hide ordinary text.
    """
    found = {
        value
        for name, value in env.items()
        if is_secret_name(name)
        and len(value) >= 12
        and not value.startswith(("/", "~", "http://", "https://"))
        and not is_placeholder(value)
        and entropy(value) >= 2.5
    }
    return tuple(sorted(found, key=lambda value: (-len(value), value)))
