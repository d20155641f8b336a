"""Recognize secrets by themselves: keys by their form, names that denote a secret, values that look random. Pure."""

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from clio.security.data_tables import WordSet, load_tables
from clio.text.lazy_regex import LazyRegex

# ruff: noqa: E501 - an expression reads better on one line
# An example shows a text with a match; `…` is a secret value, `\n` a line break.


_CHARACTER_KINDS = tuple(map(LazyRegex, (r"\d", "[a-z]", "[A-Z]", "[^A-Za-z0-9]")))
# Example: abcdfgi
_CONSONANTS = LazyRegex(r"(?i)[b-df-hj-np-tv-xz]{5}")


def compute_entropy(text: str) -> float:
    """Return the Shannon entropy of a text in bits per character: 0 for "aaaa", about 4.5 for 40 random base64 letters.

    Source: Shannon 1948, "A Mathematical Theory of Communication".
    """
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in map(text.count, set(text))) if size else 0.0


def has_digit(text: str) -> bool:
    """Whether a text contains a digit from 0 to 9."""
    return _DIGIT.search(text) is not None


def is_random_key(text: str) -> bool:
    """Whether the body of a key looks random: it contains a digit, and its characters vary."""
    return has_digit(text) and compute_entropy(text) >= 3.0


def count_character_kinds(value: str) -> int:
    """Return how many of digits, lower-case letters, capitals and other characters a value contains: 0 to 4."""
    return sum(kind.search(value) is not None for kind in _CHARACTER_KINDS)


def is_random_value(value: str) -> bool:
    """Whether a value looks random, with any characters: long, varied, digits among letters of both cases."""
    return (
        len(value) >= 14
        and sum(kind.search(value) is not None for kind in _CHARACTER_KINDS[:3]) == 3
        and sum(char.isdigit() for char in value) >= 2
        and compute_entropy(value) >= 3.4
    )


def is_random_stretch(value: str) -> bool:
    """Whether a piece of text, such as half of a key, looks random, unlike words, numbers and dates."""
    turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(value) if a.isalnum() and b.isalnum())
    cases = all(kind.search(value) for kind in _CHARACTER_KINDS[:3])
    no_file = sum(map(str.isdigit, value)) >= 2 or "." not in value  # unlike README2.txt
    signs = sum(letter in "!#$%^&*?@" for letter in value[1:-1])  # words and paths do not contain these
    mixed = signs >= 1 and sum(bool(kind.search(value)) for kind in _CHARACTER_KINDS[:3]) >= 2
    return len(value) >= 8 and ((cases and no_file) or turns >= 3 or mixed) and compute_entropy(value) >= 2.5


def is_unpronounceable(value: str) -> bool:
    """Whether letters form no word of any language: five consonants in a row, or a change of case at every second one."""
    turns = sum(a.islower() != b.islower() for a, b in pairwise(value) if a.isalpha() and b.isalpha())
    return _CONSONANTS.search(value) is not None or turns * 2 >= len(value)


# How common each pair of letters is in words and identifiers, by first and second letter: 6 is chance level.
_PAIRS = (
    "36763461604867061878554341856575427538557516747223538354840761764394165862204075569543922633733664642340"
    "64785552312668364887254640735578319017348416567112507243946770165764187563124492339202804544833657610050"
    "66766560203769751677150405800483007054048400808360307435956281164565138652534083469332813733840366540170"
    "86449322813564781263620040737775836254346403785510315566355052477966086675632183448335704743761867622260"
    "50055335533643336663934350835594518045657406775430606263843771454466237973425073549427801533740776523261"
    "67656550600778470878100202834192328022436223534402108335843780461774377431412166768514702562480469220542"
    "6565655373267769058734525483349234803553740255303046"
)
_MAX_JUDGED_CHARS = 160
_DIGIT = LazyRegex(r"[0-9]")
_SEGMENTS = LazyRegex(r"[-_./: ]+")
_SEGMENT = LazyRegex(r"[A-Za-z]*\d{0,4}|\d+")
_RUNS = LazyRegex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def is_wordlike(value: str, *, digits: bool = False) -> bool:
    """Whether a value consists of words, as identifiers, labels and paths do.

    5 % of random strings of 8 lower-case letters pass; of those with digits among the letters, hardly any. A long value
    is judged by its beginning, since a line of n names separated by signs is a value for each of them.

    Args:
        digits: allow up to four digits at the end of each word; otherwise no digit is allowed.
    """
    return _is_wordlike(value[:_MAX_JUDGED_CHARS], digits)


@lru_cache(maxsize=1024)
def _is_wordlike(value: str, digits: bool) -> bool:
    if not digits and has_digit(value):
        return False
    runs: list[str] = []
    for segment in _SEGMENTS.split(value):
        if not _SEGMENT.fullmatch(segment):
            return False
        runs += _RUNS.findall(segment)
    letters = sum(map(len, runs))
    if len(runs) > 2 and len(runs) * 3.4 > letters and not value.islower() and not value.isupper():
        return False  # the case changes too often
    if letters >= 8 and "_" not in value and sum(_score_letter_pairs(run.lower()) for run in runs if len(run) > 2) < 0:
        return False
    return all(len(run) < 5 or _score_letter_pairs(run.lower()) >= 0 for run in runs)


def _score_letter_pairs(word: str) -> int:
    """Return how much more common than chance the letter pairs of a word are."""
    return sum(int(_PAIRS[26 * ord(a) + ord(b) - 2619]) - 6 for a, b in pairwise(word))


_NAME_WORDS_OF_PLACEHOLDERS = (
    "user my your the a new old db app api access auth client secret private public refresh id bearer some this confirm"
    " current login account admin pass password passwd passphrase passcode pwd pw secrets tokens token keys key"
    " credentials credential name value string text field type hash input basic digest jwt oauth2 oauth csrf xsrf session"
    " cookie header env var param arg grant code file path url data label placeholder prompt reset forgot change enter"
    " repeat show hide none null"
)
_NAME_WORD = rf"(?:{_NAME_WORDS_OF_PLACEHOLDERS.replace(' ', '|')})"
_PLACEHOLDER_LEADS = (
    "my your the a some new old fake dummy sample example test demo mock bad wrong invalid default insert enter add put"
    " replace change update"
)
_PLACEHOLDER_VALUES = (
    "pass password passwd passphrase pwd secret token key apikey api_key none null nil true false undefined todo tbd string"
    " str admin root guest postgres mysql foobar foo bar baz qux test testing unset empty missing hidden masked optional"
    " required yes no on off auto bytes abc xyz any all"
)
_PLACEHOLDER = LazyRegex(
    r"(?:x{3,}[-_x]*|\*{2,}|\.{2,}|-{2,}|_{2,}|•+|…+|#{3,}|0+|1+|<.*>|\[.*\]?|\$\{.*|\$\(?[A-Za-z_]\w*\)?|\$[0-9@*#?]|\{\{?.*"
    r"|%\w{0,40}%?|%[(<{].*|#\{.*|@.*@|:[a-z_]+|\?|[\w.-]*(?:\.{3}|…|\*{3,}|x{4,})[\w.-]*"
    rf"|(?:{_PLACEHOLDER_LEADS.replace(' ', '|')})(?:(?:[-_. ][A-Za-z]+)+|(?-i:(?:[A-Z][a-z]+)+))\d{{0,4}}"
    r"|[\w-]*(?:changeme|change_me|change-me|placeholder|redacted|example|dummy)[\w-]*"
    rf"|{_NAME_WORD}(?:[-_. ]?{_NAME_WORD}){{0,4}}:?\d{{0,4}}"
    rf"|(?:user)?(?:name)?(?:{_PLACEHOLDER_VALUES.replace(' ', '|')})\d{{0,4}})",
    re.IGNORECASE,
    starts="xxx ** .. -- __ • … ### 0 1 < [ $ { % #{ @ : ? "
    + f"{_PLACEHOLDER_LEADS} {_NAME_WORDS_OF_PLACEHOLDERS} {_PLACEHOLDER_VALUES}",
    needs="... … *** xxxx changeme change_me change-me placeholder redacted example dummy",
)
_REFERENCE = LazyRegex(
    r"\$\{|\$\(|\{\{|<%|%\(|\$env:|\$\w+\Z|`|(?:os\.)?(?:environ|getenv)\b|process\.env|import\.meta|System\.|Deno\.env"
    r"|ENV\[|ENV\.|env\.|env\(|!(?:Ref|Sub|GetAtt|secret|vault|env|ImportValue|Join)\b|(?:op|vault|keyring|secret|file|env|awssm"
    r"|ref\+\w+|gcpsm|azurekv)://?|arn:aws|ENC\[|ENC\(|\{cipher\}|var\.|local\.|data\.\w+\.|module\.|secrets\.|vars\."
    r"|https?://[^:@\s]+\Z|[.~]{0,2}/[\w./-]+\Z|data:|projects/[\w-]+/secrets/",
    needs="${ $( {{ <% %( $ ` environ getenv process.env import.meta system. deno.env env[ env. env( !ref !sub !getatt !secret"
    " !vault !env !importvalue !join / : arn:aws enc[ enc( {cipher} var. local. data. module. secrets. vars.",
)


def is_placeholder(value: str) -> bool:
    """Whether a value only marks where a secret belongs: `changeme`, `<your key>`, `${X}`, `xxxx`, `password123`."""
    if len(value) > 80:
        return value.startswith(("<", "${", "{{", "xxxxxxxx", "********"))
    return _PLACEHOLDER.fullmatch(value) is not None


def is_reference(value: str) -> bool:
    """Whether a value refers to a secret stored elsewhere: a variable, an expression, a path, the address of a store."""
    return _REFERENCE.match(value) is not None


def can_be_secret(value: str) -> bool:
    """Whether a value in the position of a secret is one: long enough, no placeholder, no reference, not redacted
    already.
    """
    return len(value) >= 4 and not is_placeholder(value) and not is_reference(value) and "[REDACTED" not in value


_ALGORITHM_PARTS = frozenset(
    (
        "hmac pkcs rsa aes sha md base utf ecdsa ecdh dsa des gcm cbc ecb ctr ccm cfb oaep pss mgf hs rs es ps ed oauth"
        " openid rfc pbkdf bcrypt scrypt argon hkdf kdf id tls ssl http https x x. chacha poly curve secp prime nist nistp p"
        " k r v latin unicode iso cp ucs blake crc whirlpool ripemd fips sp with and key wrap encryption hash token jwt jws"
        " jwe cert hex bit bits kw nopad padding url sum crypt"
    ).split()
)
_LONGEST_ALGORITHM_PART = max(map(len, _ALGORITHM_PARTS))
_AFTER_ALGORITHM_PART = LazyRegex(r"[-_/+.: ]?[\d_/]{0,8}[-_/+.:]?")
_MEASURE = LazyRegex(
    r"[-+<>=~]?\d[\d.,]*[a-z%]{0,5}|(?:sha|base|rfc|iso|utf|win32|unicode|latin)[-_]?\d+[-_:.,/][a-z:._,-]*"
    r"|v\d+(?:\.\w+)*|[\w-]*\d+-(?:bit|byte|char)\S*|python\d|py\d|u?int\d+|\w+\d+\(.*|id\d|s3|k8s|e2e|i18n|n/a|win32|.*'s"
    r"|.*n't|.*[()\[\]{}].*|[a-z_./?&:-]+=[^=].*",
    re.IGNORECASE,
    starts="- + < > = ~ 0 1 2 3 4 5 6 7 8 9 sha base rfc iso utf win32 unicode latin v python py uint int id s3 k8s e2e i18n"
    " n/a",
    needs="-bit -byte -char 's n't ( ) [ ] { } =",
)


def is_measure(word: str) -> bool:
    """Whether a word with digits is never a secret: a number with a unit, a version, the name of an algorithm, a call."""
    return _is_algorithm_name(word) or _MEASURE.fullmatch(word) is not None


def _is_algorithm_name(word: str) -> bool:
    """Whether a word is made of parts of names of algorithms, each with its digits: `HMAC-SHA256`, `aes_128_gcm`."""
    low = word.lower()
    place = 0
    while place < len(low):
        sizes = range(min(_LONGEST_ALGORITHM_PART, len(low) - place), 0, -1)
        size = next((size for size in sizes if low[place : place + size] in _ALGORITHM_PARTS), 0)
        if not size:
            break
        after = _AFTER_ALGORITHM_PART.match(low, place + size)
        assert after is not None  # it can be empty
        place = after.end()
    rest = low[place:]
    return place > 0 and (not rest or rest == "_" or (len(rest) == 1 and rest.isalnum()))


FILE_NAME = LazyRegex(
    r"\.(?:py|pyi|js|ts|tsx|jsx|c|h|cc|cpp|hpp|rs|go|rb|java|kt|php|sh|md|rst|txt|json|ya?ml|toml|html?|css|xml|log|sql|lua|pl|pm|swift|vue|cfg|ini)\Z"
)
# Example: 3*8DIGIT
REPETITION = LazyRegex(r"\d{0,3}\*\d{0,3}[A-Za-z-]+\Z")
CHAIN_STOP = frozenset(
    "case sensitive server side generated encrypted based specific only time date user client token password secret auto self pre post non".split()
)


_CHAIN_WORDS = LazyRegex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CHAIN = LazyRegex(
    r"[A-Za-z]{3,}(?:(?P<sign>[-_.])[A-Za-z]{3,}(?:(?P=sign)[A-Za-z]{3,})*)?(?:[-_.]?\d{1,4})?[!.]?|(?:[A-Z][a-z]{2,}){2,}\d{0,4}!?"
)
# Words common in identifiers, labels and program names. A passphrase contains none of them.
_TECHNICAL = frozenset(
    (
        "access account action active add address admin agent algorithm alias all allow and any api app application arg args"
        " argument array async attribute auth authentication authenticator authorization available aws azure back base basic"
        " bearer begin binary bind block body bool boolean bot bucket buffer build builder button bytes cache call callback"
        " cell certificate challenge change char check child class clear client close cloud cluster code collection column command"
        " comment common component con config configuration configured confirm connect connection console const constant"
        " container content context control controller cookie count create created creation credential credentials creds crypt"
        " current custom customer data database date debug declaration decode default define delete demo deploy deployment"
        " derive derived description detail details dev device dialog dict digest dir directory disable disabled display"
        " docker document domain edit element else email empty enable enabled encode encoded encrypt encrypted encryption"
        " end endpoint engine entity entry enum env environment err error event example exception execute expected expire"
        " expired expiration expiry explicit export expression extension external factory fail failed failure false fetch"
        " field file filter final find flag flow fold for form format from full func function generate generated"
        " generator generic get git github gitlab global google grant group handle handler handshake has hash header help hidden hook"
        " host html http https icon ident identifier identity impl import include index info init initial inner input insert"
        " instance int integer interface internal invalid issue item iterator job json jwt key keys keyword kind kube"
        " label last layer length level line link list listener literal load loader local location lock log logger"
        " login logout main make manager map mapping mask max member memory message metadata method min missing mock"
        " mode model modifier module multi mutation name namespace network new next node none not null number oauth object"
        " observer offset oidc old once only open operation operator option optional options order origin output override owner"
        " package page param parameter params parse parser part pass passcode passphrase passwd password path pattern payload"
        " permission phase pin pipeline placeholder plain plugin pod policy pool port post prefix previous primary private"
        " process production profile project prompt property protected protocol provider proxy public publish push query"
        " queue random read reader ready real record redirect ref reference refresh region register registry relation reload remote"
        " remove render replace repo repository request require required reset resolve resolver resource response result"
        " retrieve return revoke role root route router row rule run runtime sample save scheme schema scope script search secret"
        " secrets section secure security select selector self sender sequence serial server service session set setting"
        " settings setup shared show sign signature simple single size socket sort source spec split sql ssh staging start state"
        " statement static status step stop storage store string struct style sub subject submit subscription success suffix"
        " super supported symbol sync syntax system table tag target task temp template tenant test text this time timeout title"
        " tls token tokens tool total track transaction transfer trigger true trust type types undefined unique unit unknown"
        " update upload uri url usage use user username users using util utils valid validate validation validator value values"
        " var variable verification verify version view virtual volume web webhook widget with word worker"
        " workflow worst wrapper write writer wrong xml yaml your sensitive optional whitespace punctuation comment"
        " identifier keyword numeric delimiter bracket brace comma semicolon colon"
    ).split()
)
_TECHNICAL_PARTS = LazyRegex(
    r"secret|token|passw|passphrase|auth|credential|config|default|example|value|string|client|server|setting|invalid|required"
    r"|encrypt|param|attribute|identifier|variable|function|placeholder|change|apikey|refresh|access|public|private|session"
)
_ENGLISH_ENDS = LazyRegex(
    r"(?:ly|able|ible|ized|ised|izing|ising|ization|isation|ations?|ness|ments?|ility|ical|ating|ated)\Z"
)


def is_passphrase(value: str, least: int = 3) -> bool:
    """Whether a value is a chain of ordinary words: `CorrectHorseBattery`, `correct-horse-battery`,
    `correcthorsebattery`.

    Up to four digits or one "!" may follow. Words common in identifiers and labels are excluded.

    Args:
        least: words required if separators or capitals divide them; written together, at least 16 letters are
            required.
    """
    match = _CHAIN.fullmatch(value)
    if match is None:
        return False
    words = [word.lower() for word in _CHAIN_WORDS.findall(value)]
    if len(words) == 1:
        word = words[0]
        return (
            value[0].islower()
            and len(word) >= 16
            and _TECHNICAL_PARTS.search(word) is None
            and _ENGLISH_ENDS.search(word) is None
        )
    return (
        len(words) >= least
        and min(map(len, words)) >= 3
        and (match["sign"] is None or value.islower() or all(part[:1].isupper() for part in value.split(match["sign"])))
        and not any(word in _TECHNICAL or word.rstrip("s") in _TECHNICAL for word in words)
    )


WORDS = (
    *("pass", "secret", "token", "credential", "pwd", "auth", "key", "sess", "_pat"),
    *("pw", "psk", "kennwort", "contrase", "geheim", "senha", "wachtwoord", "pin"),
)
"""Literals of which every such name contains one, in lower case."""
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
_JOINTS = 13  # maximum number of dashes, underscores or blanks between "api" and "key" in `is_name_start`
NAME_SUFFIX = r"(?=[\"'`\s:=>\])\\]|\Z)"
_PIN = r"(?:[_-]pin|pin[_-]?code)"
ANY_WORD = (
    rf"(?:pass|secret|token|credential|pwd|authorization|auth{NAME_SUFFIX}|(?:{'|'.join(_KEYS)})[ _-]{{0,{_JOINTS}}}key"
    rf"|[_-]key{NAME_SUFFIX}|key-data{NAME_SUFFIX}|_pat{NAME_SUFFIX}|sess(?:ion)?_?id{NAME_SUFFIX}"
    rf"|pw{NAME_SUFFIX}|psk{NAME_SUFFIX}|kennwort|contrase|geheim|senha{NAME_SUFFIX}|wachtwoord|{_PIN}{NAME_SUFFIX})"
)
"""Matches in lower-case text a word that every such name contains."""
QUOTE = r"\\{0,2}[\"'`]"
NAME_CHARS = r"A-Za-z0-9_.ñÑ-"
NAME_END = rf"[{NAME_CHARS}]{{0,48}}(?:\\{{0,2}}[\"'`\])}}]){{0,2}}[ \t]{{0,16}}"
HALF_A_NAME = rf"(?:{'|'.join(_KEYS)})(?=[ \t]*\Z)"
"""The first of two words that form a name, at the end of a text."""

# Example: dbpassword
_ENDS = LazyRegex(
    r"(?:password|passwd|passphrase|passcode|passwort|motdepasse|kennwort|contraseña|contrasena|senha|wachtwoord|geheimnis"
    r"|secrets?|token|apikey|accesskey|secretkey|secretkeybase|privatekey"
    r"|credentials?|pwd|(?:db|user|smtp|mail|admin|ftp|root|redis|mysql|pg|ssh|become|sudo|login|ldap|bind|http|proxy|wifi"
    r"|key|store|truststore|keystore|rabbitmq|mongo|postgres|vault|imap|pop3?|remote|auth|sasl|jdbc|sql|vpn|ipmi|bmc|sip|mqtt"
    r"|amqp|kafka|elastic|jenkins|git|svn|svc|service|cert|pfx|account|socks|sftp|cifs|smb|web|default|initial|temp|router"
    r"|archive|ap|sa|su|net|app|api|backup|require|client|session|secret|proxyuser)pass|\Apass|pw|psk|presharedkey|subscriptionkey|secret(?:id|string|answer)|authtok"
    r"|authkey|encryptionkey|signingkey|accountkey|clientkeydata|keydata|pincode"
    r"|masterkey|authorization|licensekey|(?:secret|token|password)value)"
    r"(?:prod|production|dev|staging|test|live|old|new|primary|secondary|confirm|confirmation|repeat|v?\d{1,3})?\Z",
    needs="pass wachtwoord kennwort contrase senha geheimnis secret token key credential pwd pw psk authtok pincode authorization",
)
# Example: DB_PASSWORD_PROD
_IN_CAPITALS = LazyRegex(
    r"(?:\A|_)(?:PASSWORD|PASSWD|PASS|SECRET|TOKEN|API_?KEY)(?:_(?:PROD|DEV|STAGING|TEST|LIVE|V?\d+))?\Z"
)
_PLACES = (
    "next prev previous page continuation pagination cursor sync stop start end pad eos bos unk mask num max min total"
    " special public cancellation last current first skip expected syntax line n iterator resume lookahead peek lock"
)
_OF_PLACES = frozenset(_PLACES.split())
"""Attributes of a token that marks a position in a text or a list."""
# Example: nextpagetoken
_NOT_SECRET = LazyRegex(
    rf"(?:(?:{'|'.join(_PLACES.split())})+|per|cls|sep|this|string|name|number|publickey)token\d{{0,3}}"
    r"|.*public(?:access|api|encryption|signing)key|.*enc?pwd|oldpwd",
    needs="token pwd public",
)
_NAME_WORDS = LazyRegex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MAYBE = LazyRegex(
    r"[A-Z0-9_]+_(?:KEY|PAT|AUTH|PASS|PIN)\Z|(?:\A|[_.-])auth\Z|(?:PHPSESS|JSESSION|SESSION|session)_?(?:ID|Id|id)\Z|connect\.sid\Z"
    r"|[A-Za-z0-9]_[Pp]ass\Z|[a-z]Pass\Z|(?:hmac|jwt|aes|crypt|cipher|cookie|session|storage|shared|consumer|subscription|deploy|webhook"
    r"|service|admin|app|application|stripe|openai|client)_?-?[Kk]ey\Z|[A-Za-z0-9_-]*(?:[Tt]okens|_TOKENS|[Pp]asswords|PASSWORDS"
    r"|[Kk]eys|_KEYS|_pin)\Z"
)
_OPEN_KEY = LazyRegex(r"PUBLIC|PRIMARY|FOREIGN|PARTITION|SORT|CACHE|SITE|PUBLISHABLE|IDEMPOTENCY|HOT|REG|ROW|INDEX")
_PASSWORD_WORDS = ("pass", "pwd", "kennwort", "contrase", "senha", "wachtwoord", "psk")
# Names that grammars, parsers and messages also use for other things.
_GENERIC = frozenset("token secret secrets credential credentials authorization privatekey".split())


def is_name_start(lowered: str, place: int, word: str) -> bool:
    """Whether a word of `WORDS`, found at a position in lower-case text, may be part of the name of a secret."""
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
    """Whether the last words of a name denote a secret: `db_password`, `apiKey`, `SECRET_KEY_BASE`, `config.token`."""
    plain = _normalize_name(name)
    if _NOT_SECRET.fullmatch(plain) or ("token" in plain and _is_position_token(name)):
        return False
    if _ENDS.search(plain):
        return True
    return is_environment_name(name) and _IN_CAPITALS.search(name) is not None


def can_be_secret_name(name: str) -> bool:
    """Whether a name denotes a secret only if its value looks random: `MY_KEY`, `auth`, a session cookie."""
    return (
        _MAYBE.search(name) is not None
        and _OPEN_KEY.search(name) is None
        and not _NOT_SECRET.fullmatch(_normalize_name(name))
        and not _is_position_token(name)
    )


def is_generic_name(name: str) -> bool:
    """Whether a name alone may mean other things than a secret, such as the `token` of a grammar."""
    return _normalize_name(name) in _GENERIC


def is_environment_name(name: str) -> bool:
    """Whether a name is written like an environment variable or a flag."""
    return name.isupper() or name.startswith("--")


def get_secret_kind(name: str) -> str:
    """Return the kind shown in place of the value of a name."""
    lowered = name.lower()
    if any(word in lowered for word in _PASSWORD_WORDS) or lowered.endswith("pw"):
        return "password"
    if "authorization" in lowered:
        return "authorization"
    return "token" if "token" in lowered else "secret"


def list_env_secrets(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables with secret-looking names, to be redacted wherever they occur; longest first.

    Values under 12 characters, paths, URLs and placeholders are left out, because ordinary text may contain them.
    """
    found = {
        value
        for name, value in env.items()
        if len(value) >= 12
        and not value.startswith(("/", "~", "http://", "https://"))
        and is_secret_name(name)
        and not is_placeholder(value)
        and compute_entropy(value) >= 2.5
    }
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def _is_position_token(name: str) -> bool:
    """Whether a name is that of a token that marks a position: `nextPageToken`, `eos_token`."""
    words = [word.lower() for word in _NAME_WORDS.findall(name)]
    return any(after.startswith("token") and before in _OF_PLACES for before, after in pairwise(words))


def _normalize_name(name: str) -> str:
    """Return the last part of a dotted name in lower case, without separators."""
    last = name.rstrip(".-").rsplit(".", 1)[-1]
    return last.replace("_", "").replace("-", "").replace(" ", "").lower()


class TokenPattern(Struct, frozen=True):
    """One kind of key: the literals it contains, the pattern of the whole key, and a check of the matched text.

    Attributes:
        literals: each begins with two letters or digits, and the key begins with one of them, unless `inside`.
        inside: the literal is further in, or begins with a punctuation mark.
        check: what must be true of the match besides.
        middle: pattern of what else must be near the literal, if the literal alone is too common.
    """

    kind: str
    literals: WordSet
    pattern: str
    inside: bool = False
    check: Literal["random key", "random value", "random after colon", "digit", "varied"] = "random key"
    middle: str = ""

    def can_be_in(self, stretch: str) -> bool:
        """Whether a piece of text with a literal may contain a key, so that the whole pattern must be matched."""
        return not self.middle or _compile(self.middle).search(stretch) is not None

    def find_keys(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in a text that pass the check. Twenty times as fast if every key begins with one literal."""
        # A key may follow a slash, dash or underscore, as in a path or file name, but not begin inside a word.
        left = "" if self.pattern.startswith("(?:(?<=") else r"(?<![A-Za-z0-9])"
        regex = _compile(left + self.pattern)
        (literal, *others) = self.literals
        if self.inside or others or not self.pattern.replace("\\", "").startswith(literal):
            yield from (match for match in regex.finditer(text) if self._passes(match[0]))
            return
        place = text.find(literal)
        while place >= 0:
            match = regex.match(text, place)
            if match and self._passes(match[0]):
                yield match
            place = text.find(literal, match.end() if match else place + 1)

    def _passes(self, key: str) -> bool:
        match self.check:
            case "random key":
                return is_random_key(key)
            case "random value":
                return is_random_value(key)
            case "random after colon":
                return is_random_key(key[key.index(":") :])
            case "digit":
                return has_digit(key)
            case "varied":
                return compute_entropy(key) >= 5  # base64 of an executable is full of the letter A


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use: compiling all takes 5 ms, which every start would pay."""
    return re.compile(pattern)


TOKENS = load_tables("token_patterns", tuple[TokenPattern, ...])
"""Keys recognized by their own form. If two match, the longer span wins, with the kind of the earlier entry."""


MAX_BLOCK_CHARS = 8192
"""Longest private key block, or run of text without white space, that is scanned as a whole. In characters."""

# Example: [REDACTED:password]
MARKER = LazyRegex(r"\[REDACTED:[a-z0-9-]{1,40}\]")


class Span(Struct, frozen=True):
    """The position of a secret in a text, its kind, and its rank if several overlap (the lowest wins)."""

    start: int
    end: int
    kind: str
    rank: int = 0


# The literals of the patterns and their ranks. Those at the beginning of a key are listed by its first two characters,
# so that most words need no other test; those further in by the first of `_SIGNS` they contain, of which base64 has
# hardly any.
_BY_HEAD: dict[str, list[tuple[str, int]]] = {}
_BY_SIGN: dict[str, list[tuple[str, int]]] = {}
_SIGNS = ("hook", "//", *"-_.:=$~", "")
for _rank, _pattern in enumerate(TOKENS):
    for _literal in _pattern.literals:
        if _pattern.inside:
            _BY_SIGN.setdefault(next(sign for sign in _SIGNS if sign in _literal), []).append((_literal, _rank))
        else:
            _BY_HEAD.setdefault(_literal[:2], []).append((_literal, _rank))
_HEADS = frozenset(_BY_HEAD)

_HEADER = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
# Lines of a block may follow line numbers, bars and file names of a listing. No backtick: it ends a quoted mention.
_BODY = r"(?:[A-Za-z0-9+/=,:.\s\"'\\>#()@;<_|│→]|-(?!----BEGIN))"
MARGIN = r"[ \t]{0,40}(?:[A-Za-z0-9_./-]{1,120}[:-])?(?:[0-9]{1,7}[|│→:>\t -])?[ \t|│>+-]{0,8}"
_SHOWN_LINE = rf"[ \t|│]{{0,8}}\n{MARGIN}[A-Za-z0-9+/=]"
PRIVATE_KEY = LazyRegex(
    rf"{_HEADER}(?:{_BODY}{{24,{MAX_BLOCK_CHARS}}}?-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----"
    rf"|(?:\\[nr]|[A-Za-z0-9+/=\s]){{40,{MAX_BLOCK_CHARS}}}"
    rf"|{_SHOWN_LINE}{{40,160}}(?:{_SHOWN_LINE}{{1,160}}){{0,40}})"
)
# Example: -----BEGIN RSA PRIVATE KEY-----
_BEGUN = LazyRegex(_HEADER)
_OPEN_PRIVATE_KEY = LazyRegex(
    rf"-----BEGIN(?: [A-Z0-9 ]{{0,60}})?-{{0,5}}\Z|{_HEADER}{_BODY}{{0,{MAX_BLOCK_CHARS + 80}}}\Z"
)

# Example: postgres://admin:…@host
URL_PASSWORD = LazyRegex(r"://[^\s/:@\"'<>`]{0,256}:([^\s/\"'<>`]{1,512})@")
# Example: Authorization: Bearer …
BEARER = LazyRegex(r"(?<![A-Za-z0-9])(?:[Bb]earer|BEARER|[Bb]asic|BASIC)[ \t]{1,4}([A-Za-z0-9._~+/-]{12,}={0,2})")


_STRETCH_MAP = bytes(
    120 if chr(code).isascii() and (chr(code).isalnum() or chr(code) in "_-+/=%.") else 32 for code in range(256)
)
SHORTEST_KEY = 16
"""Length of the shortest run of key characters, in characters, that a token pattern can match."""
_SIXTEEN = b"x" * SHORTEST_KEY
_STRETCH_END = re.compile(rb"x*")
_BEGINNINGS = LazyRegex("([A-Za-z0-9]{2})[A-Za-z0-9]*")
_REACH = 24


def has_key_length_run(text: str, chars: int = SHORTEST_KEY) -> bool:
    """Whether a run of key characters has at least this length. If none has, `find_token_spans` finds nothing."""
    return has_encoded_key_length_run(text.encode("latin-1", "replace"), chars)


def has_encoded_key_length_run(encoded: bytes, chars: int = SHORTEST_KEY) -> bool:
    """Return `has_key_length_run` for encoded text. The encoding must leave ASCII characters unchanged."""
    return (_SIXTEEN if chars == SHORTEST_KEY else b"x" * chars) in encoded.translate(_STRETCH_MAP)


def list_possible_tokens(text: str) -> set[int]:
    """Return the indexes of the token patterns whose literal is in or just before a run that may be a key."""
    found: set[int] = set()
    shape = text.encode("latin-1", "replace").translate(_STRETCH_MAP)
    place = shape.find(_SIXTEEN)
    while place >= 0:
        match = _STRETCH_END.match(shape, place)
        end = match.end() if match else place
        if _DIGIT.search(text, place, end):
            window = text[max(0, place - _REACH) : end]
            for head in _HEADS.intersection(_BEGINNINGS.findall(window)):
                found.update(rank for literal, rank in _BY_HEAD[head] if literal in window)
            for sign, literals in _BY_SIGN.items():
                if sign in window:
                    found.update(n for literal, n in literals if literal in window and TOKENS[n].can_be_in(window))
        place = shape.find(_SIXTEEN, end)
    return found


def find_token_spans(text: str) -> Iterator[Span]:
    """Yield keys and tokens recognized by their own form."""
    for rank in sorted(list_possible_tokens(text)):
        pattern = TOKENS[rank]
        for match in pattern.find_keys(text):
            yield Span(match.start(), match.end(), pattern.kind, 1 + rank)


def find_block_spans(text: str) -> Iterator[Span]:
    """Yield private key blocks, complete or truncated."""
    if "PRIVATE KEY" in text:
        for match in PRIVATE_KEY.finditer(text):
            yield Span(match.start(), match.end(), "private-key", 0)


def find_open_block(text: str) -> int | None:
    """Return where a private key block begins whose end may still follow; None for nowhere."""
    if "-----BEGIN" not in text:
        return None
    closed = [match.end() for match in PRIVATE_KEY.finditer(text) if match[0].endswith("-----")]
    found = _OPEN_PRIVATE_KEY.search(text, closed[-1] if closed else 0)
    return found.start() if found else None


def is_key_block_start(text: str) -> bool:
    """Whether a text begins with the first line of a private key block."""
    return _BEGUN.match(text) is not None


def find_url_spans(text: str) -> Iterator[Span]:
    """Yield the password part of URLs: `…` in `https://user:…@host`."""
    if "://" in text and "@" in text:
        for match in URL_PASSWORD.finditer(text):
            if not is_placeholder(match[1]) and not MARKER.fullmatch(match[1]):
                yield Span(match.start(1), match.end(1), "url-password", 200)


def find_bearer_spans(text: str) -> Iterator[Span]:
    """Yield the random-looking text after `Bearer` or `Basic`, as in an `Authorization` header."""
    for word in ("earer", "asic", "EARER", "ASIC"):
        place = text.find(word)
        while place >= 0:
            match = BEARER.match(text, place - 1) if place else None
            if match and (is_random_key(match[1]) or (match[1].endswith("=") and compute_entropy(match[1]) >= 2.5)):
                yield Span(match.start(1), match.end(1), "authorization", 201)
            place = text.find(word, place + 1)
