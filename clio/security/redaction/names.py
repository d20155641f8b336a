"""Which names mean a secret: `DB_PASSWORD`, `apiKey`, `--token`, `OPENAI_KEY`, `mot_de_passe`. Pure."""

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

from clio.algorithms.late_pattern import LatePattern
from clio.security.redaction.value_shapes import entropy, is_placeholder

WORDS = (
    *("pass", "secret", "token", "credential", "pwd", "auth", "key", "sess", "_pat"),
    *("pw", "psk", "kennwort", "contrase", "geheim", "senha", "wachtwoord", "pin"),
)
"""What is part of every such name, in small letters."""
_KEYS = (
    "api",
    "access",
    "private",
    "auth",
    "encryption",
    "signing",
    "account",
    "master",
    "license",
    "secret",
    "hmac",
    "jwt",
    "cipher",
    "cookie",
    "session",
    "storage",
    "shared",
    "webhook",
)
_JOINTS = 13  # as many dashes, underlines or blanks may part "api" and "key" in `is_begun`
BEHIND = r"(?=[\"'`\s:=>\])\\]|\Z)"
_PIN = r"(?:[_-]pin|pin[_-]?code)"
ANY_WORD = (
    rf"(?:pass|secret|token|credential|pwd|authorization|auth{BEHIND}|(?:{'|'.join(_KEYS)})[ _-]{{0,{_JOINTS}}}key"
    rf"|[_-]key{BEHIND}|key-data{BEHIND}|_pat{BEHIND}|sess(?:ion)?_?id{BEHIND}"
    rf"|pw{BEHIND}|psk{BEHIND}|kennwort|contrase|geheim|senha{BEHIND}|wachtwoord|{_PIN}{BEHIND})"
)
"""A word of such a name in a text of small letters; nothing a name has to have is missing."""
QUOTE = r"\\{0,2}[\"'`]"
NAME_CHARS = r"A-Za-z0-9_.ñÑ-"
NAME_END = rf"[{NAME_CHARS}]{{0,48}}(?:\\{{0,2}}[\"'`\])}}]){{0,2}}[ \t]{{0,16}}"
HALF_A_NAME = rf"(?:{'|'.join(_KEYS)})(?=[ \t]*\Z)"
"""The first of two words that are a name together, at the end of a text."""

_ENDS = LatePattern(
    r"(?:password|passwd|passphrase|passcode|passwort|motdepasse|kennwort|contraseña|contrasena|senha|wachtwoord|geheimnis"
    r"|secrets?|token|apikey|accesskey|secretkey|secretkeybase|privatekey"
    r"|credentials?|pwd|(?:db|user|smtp|mail|admin|ftp|root|redis|mysql|pg|ssh|become|sudo|login|ldap|bind|http|proxy|wifi"
    r"|key|store|truststore|keystore|rabbitmq|mongo|postgres|vault|imap|pop3?|remote|auth|sasl|jdbc|sql|vpn|ipmi|bmc|sip|mqtt"
    r"|amqp|kafka|elastic|jenkins|git|svn|svc|service|cert|pfx|account|socks|sftp|cifs|smb|web|default|initial|temp|router"
    r"|archive|ap|sa|su|net|app|api|backup|require|client|session|secret|proxyuser)pass|\Apass|pw|psk|presharedkey|subscriptionkey|secret(?:id|string|answer)|authtok"
    r"|authkey|encryptionkey|signingkey|accountkey|clientkeydata|keydata|pincode"
    r"|masterkey|authorization|licensekey|(?:secret|token|password)value)"
    r"(?:prod|production|dev|staging|test|live|old|new|primary|secondary|confirm|confirmation|repeat|v?\d{1,3})?\Z"
)
_IN_CAPITALS = LatePattern(
    r"(?:\A|_)(?:PASSWORD|PASSWD|PASS|SECRET|TOKEN|API_?KEY)(?:_(?:PROD|DEV|STAGING|TEST|LIVE|V?\d+))?\Z"
)
_PLACES = (
    "next prev previous page continuation pagination cursor sync stop start end pad eos bos unk mask num max min total"
    " special public cancellation last current first skip expected syntax line n iterator resume lookahead peek lock"
)
_OF_PLACES = frozenset(_PLACES.split())
"""What a token is called that marks a place in a text or a list."""
_NOT_SECRET = LatePattern(
    rf"(?:(?:{'|'.join(_PLACES.split())})+|per|cls|sep|this|string|name|number|publickey)token\d{{0,3}}"
    r"|.*public(?:access|api|encryption|signing)key|.*enc?pwd|oldpwd",
    needs="token pwd public",
)
_NAME_WORDS = LatePattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MAYBE = LatePattern(
    r"[A-Z0-9_]+_(?:KEY|PAT|AUTH|PASS|PIN)\Z|(?:\A|[_.-])auth\Z|(?:PHPSESS|JSESSION|SESSION|session)_?(?:ID|Id|id)\Z|connect\.sid\Z"
    r"|[A-Za-z0-9]_[Pp]ass\Z|[a-z]Pass\Z|(?:hmac|jwt|aes|crypt|cipher|cookie|session|storage|shared|consumer|subscription|deploy|webhook"
    r"|service|admin|app|application|stripe|openai|client)_?-?[Kk]ey\Z|[A-Za-z0-9_-]*(?:[Tt]okens|_TOKENS|[Pp]asswords|PASSWORDS"
    r"|[Kk]eys|_KEYS|_pin)\Z"
)
_OPEN_KEY = LatePattern(r"PUBLIC|PRIMARY|FOREIGN|PARTITION|SORT|CACHE|SITE|PUBLISHABLE|IDEMPOTENCY|HOT|REG|ROW|INDEX")
_PASSWORD_WORDS = ("pass", "pwd", "kennwort", "contrase", "senha", "wachtwoord", "psk")
# Names that grammars, parsers and messages use for other things as well.
_GENERIC = frozenset("token secret secrets credential credentials authorization privatekey".split())


def is_begun(lowered: str, place: int, word: str) -> bool:
    """Whether a word of `WORDS`, found at a place of a text in small letters, may be part of a name that counts."""
    end = place + len(word)
    if word == "key":
        before = lowered[max(0, place - _JOINTS - 3) : place]
        return before.endswith(("_", "-")) or before.rstrip("_- ").endswith(_KEYS)
    if word in ("auth", "_pat", "pw", "psk", "senha"):
        return lowered.startswith("authorization", place) or not lowered[end : end + 1].isalnum()
    if word == "pin":
        return lowered.startswith(("code", "_code", "-code"), end) or (
            lowered[place - 1 : place] in ("_", "-") and not lowered[end : end + 1].isalnum()
        )
    return True


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether the last words of a name mean a secret: `db_password`, `apiKey`, `SECRET_KEY_BASE`, `config.token`."""
    plain = _plain(name)
    if _NOT_SECRET.fullmatch(plain) or ("token" in plain and _marks_place(name)):
        return False
    if _ENDS.search(plain):
        return True
    return in_capitals(name) and _IN_CAPITALS.search(name) is not None


def may_be_secret_name(name: str) -> bool:
    """Whether a name means a secret only where its value looks random: `MY_KEY`, `auth`, a session's cookie."""
    return (
        _MAYBE.search(name) is not None
        and _OPEN_KEY.search(name) is None
        and not _NOT_SECRET.fullmatch(_plain(name))
        and not _marks_place(name)
    )


def is_generic(name: str) -> bool:
    """Whether a name by itself may mean other things than a secret, as the `token` of a grammar."""
    return _plain(name) in _GENERIC


def in_capitals(name: str) -> bool:
    """Whether a name is written as those of an environment are, or as a flag's."""
    return name.isupper() or name.startswith("--")


def kind_of(name: str) -> str:
    """What the value of a name is called where it was."""
    lowered = name.lower()
    if any(word in lowered for word in _PASSWORD_WORDS) or lowered.endswith("pw"):
        return "password"
    if "authorization" in lowered:
        return "authorization"
    return "token" if "token" in lowered else "secret"


def env_secrets(env: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables with secret-looking names, to be redacted wherever they appear; longest first.

    Values under 12 characters, paths, URLs and placeholders are left out: they would hide ordinary text.
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


def _marks_place(name: str) -> bool:
    """Whether a name is that of a token that marks a place: `nextPageToken`, `eos_token`."""
    words = [word.lower() for word in _NAME_WORDS.findall(name)]
    return any(after.startswith("token") and before in _OF_PLACES for before, after in pairwise(words))


def _plain(name: str) -> str:
    last = name.rstrip(".-").rsplit(".", 1)[-1]
    return last.replace("_", "").replace("-", "").replace(" ", "").lower()
