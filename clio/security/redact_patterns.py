"""What secrets look like by themselves: keys with a known beginning, tokens, private keys, passwords in URLs. Pure.

Each pattern takes all characters a key may hold, so that no tail of it stays behind. No pattern crosses white space but
the private key block. All are linear in the length of the text. What makes ordinary text fast: a key is at least 16
letters long and holds a digit, so stretches of that form are found first, and only patterns whose literal stands near
one are tried.
"""

import math
import re
from collections.abc import Callable, Iterator
from functools import cache

from msgspec import Struct

MAX_BLOCK_CHARS = 8192
"""How long a private key block, or a run of text without white space, is looked at as one."""

MARKER = re.compile(r"\[REDACTED:[a-z0-9-]{1,40}\]")


class Span(Struct, frozen=True):
    """A secret's place in a text, its kind, and its rank where several claim the same place (lower wins)."""

    start: int
    end: int
    kind: str
    rank: int = 0


class TokenPattern(Struct, frozen=True):
    """One kind of key: the literals it needs, its expression, and a check of the matched text.

    begins: there is one literal, and the expression begins with it.
    """

    kind: str
    literals: tuple[str, ...]
    expression: str
    check: Callable[[str], bool]
    begins: bool = False

    @property
    def regex(self) -> re.Pattern[str]:
        """The expression, compiled when its literal is first seen: all fifty cost every start 5 ms."""
        return _compiled(self.expression)

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """As `regex.finditer`, and twenty times as fast where every key begins with the literal."""
        if not self.begins:
            yield from self.regex.finditer(text)
            return
        match, literal = self.regex.match, self.literals[0]
        place = text.find(literal)
        while place >= 0:
            found = match(text, place)
            if found:
                yield found
            place = text.find(literal, found.end() if found else place + 1)


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


def entropy(text: str) -> float:
    """Bits per character of a text by its own letter counts: 0 for "aaaa", about 4.5 for 40 random base64 letters.

    Source: Shannon 1948, "A Mathematical Theory of Communication".
    """
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in map(text.count, set(text))) if size else 0.0


def _digit(text: str) -> bool:
    return any(char.isdigit() and char.isascii() for char in text)


def _random(text: str) -> bool:
    """Whether a key's body looks drawn by lot and not like words: it holds a digit, and its letters vary."""
    return _digit(text) and entropy(text) >= 3.0


# A key may stand behind a slash, a dash or an underline, as in a path or a file's name, but not inside a word.
_LEFT = r"(?<![A-Za-z0-9])"
_FREE = r"(?<![A-Za-z0-9_+/-])"
_URLSAFE = r"[A-Za-z0-9_-]"
_ALNUM = r"[A-Za-z0-9]"


def _random_after_colon(text: str) -> bool:
    return _random(text[text.index(":") :])


def _token(kind: str, literals: str, body: str, check: Callable[[str], bool] = _random) -> TokenPattern:
    start = "" if body.startswith(("(?:(?<=", _FREE)) else _LEFT
    begins = body.removeprefix(_FREE).replace("\\", "").startswith(literals)
    return TokenPattern(kind, tuple(literals.split()), start + body, check, begins)


TOKENS: tuple[TokenPattern, ...] = (
    _token("anthropic-key", "sk-ant-", rf"sk-ant-{_URLSAFE}{{16,}}"),
    _token("openrouter-key", "sk-or-", rf"sk-or-{_URLSAFE}{{16,}}"),
    _token("openai-key", "sk-", rf"sk-(?:proj-|svcacct-|admin-)?{_URLSAFE}{{20,}}"),
    _token("groq-key", "gsk_", rf"gsk_{_ALNUM}{{20,}}"),
    _token("google-key", "AIza", rf"AIza{_URLSAFE}{{35}}(?!{_URLSAFE})"),
    _token("google-secret", "GOCSPX-", rf"GOCSPX-{_URLSAFE}{{20,}}"),
    _token("google-token", "ya29.", rf"ya29\.{_URLSAFE}{{20,}}"),
    _token("aws-key-id", "AKIA ASIA", r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])", _digit),
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"gh[pousr]_{_ALNUM}{{30,}}"),
    _token("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}"),
    _token("gitlab-token", "glpat- gldt- glrt- glcbt- glptt- glft- glsoat-", r"gl[a-z]{2,4}-[A-Za-z0-9_.-]{20,}"),
    _token("slack-token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{12,}"),
    _token("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,}"),
    _token(
        "slack-webhook",
        "hooks.slack.com/",
        r"(?:https://)?hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}",
    ),
    _token("stripe-key", "k_live_ k_test_", rf"[srp]k_(?:live|test)_{_ALNUM}{{16,}}"),
    _token("stripe-key", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}"),
    _token("huggingface-token", "hf_", rf"hf_{_ALNUM}{{30,}}"),
    _token("npm-token", "npm_", rf"npm_{_ALNUM}{{36,}}"),
    _token("pypi-token", "pypi-", rf"pypi-{_URLSAFE}{{50,}}"),
    _token("sendgrid-key", "SG.", rf"SG\.{_URLSAFE}{{16,}}\.{_URLSAFE}{{16,}}"),
    _token("twilio-key", "SK", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    _token(
        "telegram-token",
        ":AA",
        rf"(?:(?<=/bot)|(?<![A-Za-z0-9]))\d{{8,10}}:AA{_URLSAFE}{{33,}}",
        _random_after_colon,
    ),
    _token(
        "discord-webhook", "/api/webhooks/", rf"(?:https://)?discord(?:app)?\.com/api/webhooks/\d+/{_URLSAFE}{{20,}}"
    ),
    _token("digitalocean-token", "_v1_", r"do[opr]_v1_[a-f0-9]{32,}"),
    _token("replicate-token", "r8_", rf"r8_{_ALNUM}{{30,}}"),
    _token("xai-key", "xai-", rf"xai-{_ALNUM}{{40,}}"),
    _token("perplexity-key", "pplx-", rf"pplx-{_ALNUM}{{30,}}"),
    _token("nvidia-key", "nvapi-", rf"nvapi-{_URLSAFE}{{40,}}"),
    _token("cerebras-key", "csk-", rf"csk-{_ALNUM}{{30,}}"),
    _token("langsmith-key", "lsv2_", r"lsv2_[a-z]{2}_[a-f0-9_]{32,}"),
    _token("linear-key", "lin_api_", rf"lin_api_{_ALNUM}{{30,}}"),
    _token("notion-token", "ntn_", rf"ntn_{_ALNUM}{{40,}}"),
    _token("figma-token", "figd_", rf"figd_{_URLSAFE}{{30,}}"),
    _token("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32,}"),
    _token("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])"),
    _token("docker-token", "dckr_", rf"dckr_(?:pat|oat)_{_URLSAFE}{{20,}}"),
    _token("vault-token", "hvs. hvb.", rf"hv[sb]\.{_URLSAFE}{{20,}}"),
    _token("postman-key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{30,}"),
    _token("newrelic-key", "NRAK-", r"NRAK-[A-Z0-9]{27,}"),
    _token("grafana-token", "glsa_ glc_", r"gl(?:sa|c)_[A-Za-z0-9_+/=]{30,}"),
    _token("sentry-token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9_+/=]{40,}"),
    _token("tailscale-key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9-]{20,}"),
    _token("atlassian-token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{40,}"),
    _token("supabase-token", "sbp_", r"sbp_[a-f0-9]{40,}"),
    _token("rubygems-key", "rubygems_", r"rubygems_[a-f0-9]{40,}"),
    _token("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}", _digit),
    _token("mailgun-key", "key-", _FREE + r"key-[a-f0-9]{32}(?![A-Za-z0-9])"),
    _token("azure-key", "AccountKey= SharedAccessKey=", r"(?:Account|SharedAccess)Key=[A-Za-z0-9+/]{40,}={0,2}"),
    _token("azure-signature", "sig=", r"sig=[A-Za-z0-9%+/]{40,}={0,2}"),
    _token("jwt", "eyJ", rf"eyJ{_URLSAFE}{{8,}}\.{_URLSAFE}{{8,}}(?:\.{_URLSAFE}*){{1,3}}", _digit),
    _token("discord-token", ".", rf"[MNO]{_URLSAFE}{{23,27}}\.{_URLSAFE}{{6}}\.{_URLSAFE}{{27,}}", _random),
)
"""Keys recognised by their own form. Where two match, the longer span with the earlier entry's name stays."""

_LITERALS = tuple((literal, rank) for rank, pattern in enumerate(TOKENS) for literal in pattern.literals)
_SIGNS = "-_.:/="
# The literals by the first sign in them: base64 holds hardly any, and need not be searched for all of them.
_BY_SIGN = tuple(
    (sign, tuple(each for each in _LITERALS if next((c for c in each[0] if c in _SIGNS), "") == sign))
    for sign in ("", *_SIGNS)
)

_HEADER = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
# Lines of a block stand behind numbers, bars and names of files where they are shown. No backtick: it ends a mention.
_BODY = r"(?:[A-Za-z0-9+/=,:.\s\"'\\>#()@;<_|│→]|-(?!----BEGIN))"
MARGIN = r"[ \t]{0,40}(?:[A-Za-z0-9_./-]{1,120}[:-])?(?:[0-9]{1,7}[|│→:>\t -])?[ \t|│>+-]{0,8}"
_SHOWN_LINE = rf"[ \t|│]{{0,8}}\n{MARGIN}[A-Za-z0-9+/=]"
PRIVATE_KEY = re.compile(
    rf"{_HEADER}(?:{_BODY}{{24,{MAX_BLOCK_CHARS}}}?-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----"
    rf"|(?:\\[nr]|[A-Za-z0-9+/=\s]){{40,{MAX_BLOCK_CHARS}}}"
    rf"|{_SHOWN_LINE}{{40,160}}(?:{_SHOWN_LINE}{{1,160}}){{0,40}})"
)
_BEGUN = re.compile(_HEADER)
_OPEN_PRIVATE_KEY = re.compile(
    rf"-----BEGIN(?: [A-Z0-9 ]{{0,60}})?-{{0,5}}\Z|{_HEADER}{_BODY}{{0,{MAX_BLOCK_CHARS + 80}}}\Z"
)

URL_PASSWORD = re.compile(r"://[^\s/:@\"'<>`]{0,256}:([^\s/\"'<>`]{1,512})@")
BEARER = re.compile(r"(?<![A-Za-z0-9])(?:[Bb]earer|BEARER|[Bb]asic|BASIC)[ \t]{1,4}([A-Za-z0-9._~+/-]{12,}={0,2})")


_STRETCH_MAP = bytes(
    120 if chr(code).isascii() and (chr(code).isalnum() or chr(code) in "_-+/=%.") else 32 for code in range(256)
)
_SIXTEEN = b"x" * 16
_STRETCH_END = re.compile(rb"x*")
_DIGIT = re.compile("[0-9]")
_REACH = 24


def has_stretch(text: str) -> bool:
    """Whether any stretch is as long as a key's: where there is none, `token_spans` gives nothing."""
    return _SIXTEEN in text.encode("latin-1", "replace").translate(_STRETCH_MAP)


def possible_tokens(text: str) -> set[int]:
    """The token patterns, by number, whose literal stands in or shortly before a stretch a key could be."""
    found: set[int] = set()
    shape = text.encode("latin-1", "replace").translate(_STRETCH_MAP)
    place = shape.find(_SIXTEEN)
    while place >= 0:
        match = _STRETCH_END.match(shape, place)
        end = match.end() if match else place
        if _DIGIT.search(text, place, end):
            window = text[max(0, place - _REACH) : end]
            for sign, literals in _BY_SIGN:
                if sign in window:
                    found.update(rank for literal, rank in literals if literal in window)
        place = shape.find(_SIXTEEN, end)
    return found


def token_spans(text: str) -> Iterator[Span]:
    """Keys and tokens by their own form."""
    for rank in sorted(possible_tokens(text)):
        pattern = TOKENS[rank]
        for match in pattern.matches(text):
            if pattern.check(match[0]):
                yield Span(match.start(), match.end(), pattern.kind, 1 + rank)


def block_spans(text: str) -> Iterator[Span]:
    """Private key blocks, whole or cut off."""
    if "PRIVATE KEY" in text:
        for match in PRIVATE_KEY.finditer(text):
            yield Span(match.start(), match.end(), "private-key", 0)


def open_block(text: str) -> int | None:
    """Where a private key block begins whose end may still come; None for nowhere."""
    if "-----BEGIN" not in text:
        return None
    closed = [match.end() for match in PRIVATE_KEY.finditer(text) if match[0].endswith("-----")]
    found = _OPEN_PRIVATE_KEY.search(text, closed[-1] if closed else 0)
    return found.start() if found else None


def in_block(text: str) -> bool:
    """Whether a text begins with the first line of a private key block."""
    return _BEGUN.match(text) is not None


def url_spans(text: str) -> Iterator[Span]:
    """The password part of URLs; the rest of the URL stays."""
    if "://" in text and "@" in text:
        for match in URL_PASSWORD.finditer(text):
            if not is_placeholder(match[1]) and not MARKER.fullmatch(match[1]):
                yield Span(match.start(1), match.end(1), "url-password", 200)


def bearer_spans(text: str) -> Iterator[Span]:
    """What follows `Bearer` or `Basic` in a header."""
    for word in ("earer", "asic", "EARER", "ASIC"):
        place = text.find(word)
        while place >= 0:
            match = BEARER.match(text, place - 1) if place else None
            if match and (_random(match[1]) or (match[1].endswith("=") and entropy(match[1]) >= 2.5)):
                yield Span(match.start(1), match.end(1), "authorization", 201)
            place = text.find(word, place + 1)


_PLACEHOLDER = re.compile(
    r"(?:x{3,}|\*{3,}|\.{3,}|-{3,}|_{3,}|<.*>|\[.*\]?|\$\{.*|\$\(?[A-Za-z_]\w*\)?|\{\{?.*|%\w{0,40}%?|%[(<{].*|#\{.*|@.*@"
    r"|(?:my|your|the|a|some|new|old|fake|dummy|sample|example|test|demo|mock|bad|wrong|invalid|default|insert|enter|add"
    r"|put|replace|change|update)(?:(?:[-_. ][A-Za-z]+)+|(?-i:(?:[A-Z][a-z]+)+))\d{0,4}"
    r"|[\w-]*(?:changeme|change_me|placeholder|redacted|example|dummy)[\w-]*"
    r"|(?:user)?(?:name)?(?:pass|password|passwd|passphrase|pwd|secret|token|key|apikey|api_key|hunter2|none|null|nil|true"
    r"|false|undefined|todo|tbd|string|str|admin|root|guest|postgres|mysql|foobar|foo|bar|baz|qwerty|letmein|test|testing"
    r"|unset|empty|missing|hidden|masked|optional|required)\d{0,4})",
    re.IGNORECASE,
)


def is_placeholder(value: str) -> bool:
    """Whether a value only holds the place of a secret: `changeme`, `<your key>`, `${X}`, `xxxx`, `password123`."""
    if len(value) > 80:
        return value.startswith(("<", "${", "{{", "xxxxxxxx", "********"))
    return _PLACEHOLDER.fullmatch(value) is not None
