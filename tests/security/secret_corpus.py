"""More than sixty kinds of random credentials, generated when the tests run, in the contexts where secrets occur.

Nothing that looks like a key is written here: prefixes are joined from halves.
"""

import base64
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from clio.security.redaction.secret_patterns import MARKER
from tests.security.secrets_table import ALNUM, BASE64, HEX, URLSAFE

CAPITALS = string.ascii_uppercase + "234567"
DIGITS = string.digits
PASSWORD = ALNUM + "!#%^*_~?"
_TAIL = 8


class RandomLetters:
    """Random letters, at least one of each kind in the alphabet."""

    def __init__(self, seed: str) -> None:
        self.chance = random.Random(seed)

    def __call__(self, size: int, letters: str = ALNUM) -> str:
        sorts = [[c for c in letters if test(c)] for test in (str.isdigit, str.isupper, str.islower)]
        drawn = [self.chance.choice(sort) for sort in sorts if sort][:size]
        drawn += self.chance.choices(letters, k=size - len(drawn))
        self.chance.shuffle(drawn)
        return "".join(drawn)


Maker = Callable[[RandomLetters], str]


def _begins(first: str, second: str, size: int, letters: str = ALNUM) -> Maker:
    return lambda letters_of: first + second + letters_of(size, letters)


def _jwt(letters_of: RandomLetters) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(f'{{"sub":"{letters_of(12)}","iat":1700000000}}'.encode()).decode().rstrip("=")
    return f"{head}.{body}.{letters_of(43, URLSAFE)}"


def _block(name: str, lines: int = 8) -> Maker:
    def make(letters_of: RandomLetters) -> str:
        body = "\n".join(letters_of(64, BASE64) for _ in range(lines))
        return f"-----BEGIN {name}PRIVATE KEY-----\n{body}\n-----END {name}PRIVATE KEY-----"

    return make


# Recognized by their own form anywhere.
FORMS: dict[str, Maker] = {
    "openai": _begins("sk", "-", 48),
    "openai-project": _begins("sk", "-proj-", 120, URLSAFE),
    "openai-service": _begins("sk", "-svcacct-", 80, URLSAFE),
    "anthropic": _begins("sk-", "ant-api03-", 93, URLSAFE),
    "openrouter": _begins("sk-", "or-v1-", 64, HEX),
    "groq": _begins("gs", "k_", 52),
    "google": _begins("AI", "za", 35),
    "google-oauth": _begins("GOC", "SPX-", 28),
    "google-access": _begins("ya", "29.", 120, URLSAFE),
    "aws-id": _begins("AK", "IA", 16, CAPITALS),
    "aws-session-id": _begins("AS", "IA", 16, CAPITALS),
    "github": _begins("gh", "p_", 36),
    "github-oauth": _begins("gh", "o_", 36),
    "github-server": _begins("gh", "s_", 36),
    "github-fine": lambda letters_of: "github" + "_pat_" + letters_of(22) + "_" + letters_of(59),
    "gitlab": _begins("gl", "pat-", 20),
    "slack-bot": lambda letters_of: (
        "xo" + "xb-" + letters_of(12, DIGITS) + "-" + letters_of(12, DIGITS) + "-" + letters_of(24)
    ),
    "slack-app": lambda letters_of: (
        "xa" + "pp-1-A" + letters_of(10, CAPITALS) + "-" + letters_of(13, DIGITS) + "-" + letters_of(64, HEX)
    ),
    "slack-hook": lambda letters_of: (
        "https://hooks."
        + "slack.com/services/T"
        + letters_of(8, CAPITALS)
        + "/B"
        + letters_of(8, CAPITALS)
        + "/"
        + letters_of(24)
    ),
    "stripe": _begins("sk", "_live_", 24),
    "stripe-restricted": _begins("rk", "_live_", 24),
    "stripe-hook": _begins("wh", "sec_", 32),
    "huggingface": _begins("hf", "_", 34),
    "npm": _begins("np", "m_", 36),
    "pypi": _begins("py", "pi-", 160, URLSAFE),
    "sendgrid": lambda letters_of: "S" + "G." + letters_of(22, URLSAFE) + "." + letters_of(43, URLSAFE),
    "twilio": _begins("S", "K", 32, HEX),
    "telegram": lambda letters_of: letters_of(10, "123456789") + ":A" + "A" + letters_of(33, URLSAFE),
    "discord": lambda letters_of: "M" + letters_of(25) + "." + letters_of(6) + "." + letters_of(38, URLSAFE),
    "discord-hook": lambda letters_of: (
        "https://dis" + "cord.com/api/webhooks/" + letters_of(18, "123456789") + "/" + letters_of(68, URLSAFE)
    ),
    "digitalocean": _begins("do", "p_v1_", 64, HEX),
    "replicate": _begins("r8", "_", 37),
    "xai": _begins("xa", "i-", 80),
    "perplexity": _begins("pp", "lx-", 48),
    "nvidia": _begins("nv", "api-", 64, URLSAFE),
    "databricks": _begins("da", "pi", 32, HEX),
    "docker": _begins("dckr", "_pat_", 27, URLSAFE),
    "vault": _begins("hv", "s.", 90, URLSAFE),
    "shopify": _begins("shp", "at_", 32, HEX),
    "linear": _begins("lin", "_api_", 40),
    "notion": _begins("nt", "n_", 46),
    "figma": _begins("fi", "gd_", 40, URLSAFE),
    "postman": lambda letters_of: "PM" + "AK-" + letters_of(24, HEX) + "-" + letters_of(34, HEX),
    "newrelic": _begins("NR", "AK-", 27, CAPITALS),
    "grafana": lambda letters_of: "gl" + "sa_" + letters_of(32) + "_" + letters_of(8, HEX),
    "sentry": _begins("snt", "rys_", 80),
    "tailscale": lambda letters_of: "ts" + "key-auth-" + letters_of(12) + "-" + letters_of(32),
    "atlassian": _begins("AT", "ATT3", 180, URLSAFE),
    "supabase": _begins("sb", "p_", 40, HEX),
    "rubygems": _begins("ruby", "gems_", 48, HEX),
    "age": _begins("AGE-SECRET", "-KEY-1", 58, CAPITALS),
    "mailgun": _begins("ke", "y-", 32, HEX),
    "bitbucket": _begins("AT", "BB", 32),
    "trello": _begins("AT", "TA", 64, HEX),
    "gitlab-runner": _begins("GR13", "48941", 20, URLSAFE),
    "onepassword": lambda letters_of: "A" + "3-" + "-".join(letters_of(n, CAPITALS) for n in (6, 6, 5, 5, 5, 5)),
    "adobe": _begins("p8", "e-", 32),
    "airtable": lambda letters_of: "pa" + "t" + letters_of(14) + "." + letters_of(64, HEX),
    "alibaba": _begins("LT", "AI", 20),
    "artifactory": _begins("AK", "Cp", 69),
    "bedrock": _begins("AB", "SK", 128),
    "azure-app": lambda letters_of: letters_of(3) + letters_of(1, DIGITS) + "Q" + "~" + letters_of(34, URLSAFE),
    "braintree": lambda letters_of: "access_" + "token$production$" + letters_of(16, HEX) + "$" + letters_of(32, HEX),
    "buildkite": _begins("bk", "ua_", 40, HEX),
    "circleci": lambda letters_of: "CCI" + "PAT_" + letters_of(22) + "_" + letters_of(40, HEX),
    "clickhouse": _begins("4b", "1d", 38),
    "cloudflare": lambda letters_of: "v1" + ".0-" + letters_of(24, HEX) + "-" + letters_of(146, HEX),
    "contentful": _begins("CF", "PAT-", 43, URLSAFE),
    "deno": _begins("dd", "p_", 36),
    "doppler": _begins("dp", ".pt.", 43),
    "dropbox": _begins("s", "l.u.", 140, URLSAFE),
    "duffel": _begins("duf", "fel_live_", 43, URLSAFE),
    "dynatrace": lambda letters_of: "dt" + "0c01." + letters_of(24, CAPITALS) + "." + letters_of(64, CAPITALS),
    "easypost": _begins("EZ", "AK", 54),
    "elevenlabs": _begins("s", "k_", 48, HEX),
    "facebook": _begins("EA", "A", 160),
    "fireworks": _begins("f", "w_", 24),
    "flutterwave": lambda letters_of: "FLW" + "SECK-" + letters_of(32, HEX) + "-X",
    "fly": _begins("fo", "1_", 43, URLSAFE),
    "google-refresh": _begins("1/", "/0", 60, URLSAFE),
    "harness": lambda letters_of: (
        "pa" + "t." + letters_of(22, URLSAFE) + "." + letters_of(24, HEX) + "." + letters_of(20)
    ),
    "heroku": _begins("HR", "KU-AA", 58, URLSAFE),
    "hubspot": lambda letters_of: "pa" + "t-na1-" + "-".join(letters_of(n, HEX) for n in (8, 4, 4, 4, 12)),
    "infracost": _begins("ic", "o-", 32),
    "jina": lambda letters_of: "ji" + "na_" + letters_of(32, HEX) + letters_of(28, URLSAFE),
    "launchdarkly": lambda letters_of: "sd" + "k-" + "-".join(letters_of(n, HEX) for n in (8, 4, 4, 4, 12)),
    "mailchimp": lambda letters_of: letters_of(32, HEX) + "-u" + "s12",
    "mapbox": lambda letters_of: "s" + "k.ey" + "J" + letters_of(60) + "." + letters_of(22),
    "maxmind": lambda letters_of: letters_of(6) + "_" + letters_of(29) + "_m" + "mk",
    "neon": _begins("na", "pi_", 64, string.ascii_lowercase + DIGITS),
    "netlify": _begins("nf", "p_", 36),
    "nuget": _begins("oy", "2", 43, string.ascii_lowercase + DIGITS),
    "octopus": _begins("AP", "I-", 26, CAPITALS),
    "openshift": _begins("sha", "256~", 43, URLSAFE),
    "bcrypt": _begins("$2", "b$12$", 53),
    "sha-crypt": lambda letters_of: "$" + "6$" + letters_of(16) + "$" + letters_of(86),
    "argon2": lambda letters_of: "$ar" + "gon2id$v=19$m=65536,t=3,p=4$" + letters_of(22) + "$" + letters_of(43),
    "pinecone": lambda letters_of: "pc" + "sk_" + letters_of(6) + "_" + letters_of(63),
    "plaid": lambda letters_of: "access" + "-production-" + "-".join(letters_of(n, HEX) for n in (8, 4, 4, 4, 12)),
    "planetscale": _begins("psc", "ale_tkn_", 43, URLSAFE),
    "prefect": _begins("pn", "u_", 36),
    "pulumi": _begins("pu", "l-", 40, HEX),
    "readme": _begins("rd", "me_", 70, string.ascii_lowercase + DIGITS),
    "render": _begins("rn", "d_", 32),
    "resend": lambda letters_of: "r" + "e_" + letters_of(8) + "_" + letters_of(24),
    "sendinblue": lambda letters_of: "xkey" + "sib-" + letters_of(64, HEX) + "-" + letters_of(16),
    "sonar": _begins("sq", "u_", 40, HEX),
    "sourcegraph": _begins("sg", "p_", 40, HEX),
    "square": _begins("sq", "0atp-", 22, URLSAFE),
    "supabase-secret": _begins("sb", "_secret_", 31, URLSAFE),
    "tavily": _begins("tv", "ly-", 32),
    "terraform": lambda letters_of: letters_of(14) + ".at" + "lasv1." + letters_of(67, URLSAFE),
    "typeform": _begins("tf", "p_", 59, URLSAFE),
    "voyage": _begins("p", "a-", 43, URLSAFE),
    "woocommerce": _begins("c", "k_", 40, HEX),
    "yandex": _begins("AQ", "VN", 36, URLSAFE),
    "jwt": _jwt,
    "rsa-key": _block("RSA "),
    "openssh-key": _block("OPENSSH "),
    "pkcs8-key": _block(""),
    "encrypted-key": _block("ENCRYPTED "),
    "ec-key": _block("EC ", 3),
}
# Recognized by their name.
NAMED: dict[str, tuple[str, Maker]] = {
    "password": ("DB_PASSWORD", lambda letters_of: letters_of(16, PASSWORD)),
    "aws-secret": ("AWS_SECRET_ACCESS_KEY", lambda letters_of: letters_of(40, BASE64)),
    "azure-secret": ("AZURE_CLIENT_SECRET", lambda letters_of: letters_of(40, ALNUM + "~_.-")),
    "api-key": ("MISTRAL_API_KEY", lambda letters_of: letters_of(32)),
    "django-key": ("SECRET_KEY", lambda letters_of: letters_of(50, ALNUM + "!@%^*-_=+")),
    "rails-key": ("SECRET_KEY_BASE", lambda letters_of: letters_of(128, HEX)),
    "auth-token": ("TWILIO_AUTH_TOKEN", lambda letters_of: letters_of(32, HEX)),
    "access-token": ("ACCESS_TOKEN", lambda letters_of: letters_of(64, URLSAFE)),
    "heroku-key": ("HEROKU_API_KEY", lambda letters_of: "-".join(letters_of(n, HEX) for n in (8, 4, 4, 4, 12))),
    "backslashes": ("secret_key", lambda letters_of: letters_of(3, "abc") + "\\" + letters_of(24)),
}
KINDS = (*FORMS, *NAMED, "url-password", "basic-header", "bearer-header", "storage-string", "login", "other names")

# In each, {s} is the secret; in those for names, {n} and {N} are the name in lower and upper case.
PLACES: dict[str, str] = {
    "plain": "{s}",
    "prose": "Use {s} to sign in, please.\n",
    "code": 'client = Client("{s}", timeout=5)\n',
    "shell": "curl -H 'X-Auth: {s}' https://example.com\n",
    "log": "2024-05-01T12:00:00Z INFO auth: using {s} for user 7\n",
    "diff": "@@ -1,2 +1,2 @@\n-old = 1\n+key = '{s}'\n context\n",
    "url": "https://example.com/v1/x?k={s}&page=2\n",
    "path": "https://example.com/hooks/{s}/send\n",
    "file name": "keys/my-{s}.txt\n",
    "env file": "export FOO={s}\n",
    "json": '{{"id": 7, "value": "{s}", "last": true}}\n',
    "escaped json": '{{"body": "{{\\"value\\": \\"{s}\\"}}"}}\n',
    "yaml": "service:\n  value: {s}\n  port: 80\n",
    "header": "GET / HTTP/1.1\r\nX-Custom: {s}\r\nHost: x\r\n",
    "markdown": "| name | `{s}` |\n",
    "traceback": "ValueError: invalid value: '{s}'\n",
    "csv": "7,bob,{s},2024\n",
    "xml": "<value>{s}</value>\n",
}
_ONE_LINE = ("url", "path", "file name", "csv", "header", "shell", "log", "code", "json", "escaped json")
NAMED_PLACES: dict[str, str] = {
    "env file": "{N}={s}\n",
    "export": "export {N}='{s}'\n",
    "python": '{n} = "{s}"\n',
    "json": '{{"id": 7, "{n}": "{s}", "last": true}}\n',
    "escaped json": '{{"body": "{{\\"{n}\\": \\"{s}\\"}}"}}\n',
    "yaml": 'service:\n  {n}: "{s}"\n',
    "toml": "{n} = '{s}'\n",
    "diff": "-{N}=changeme\n+{N}={s}\n",
    "log": "INFO starting with {n}={s} on port 80\n",
    "keyword": 'connect(host="db", {n}="{s}")\n',
    "ini": "[db]\n{n}: {s}\n",
    "docker": "ENV {N}={s}\n",
    "docker, as once": "ENV {N} {s}\n",
    "element": "<settings><{n}>{s}</{n}></settings>\n",
    "json pair": '{{"env": [{{"name": "{N}", "value": "{s}"}}]}}\n',
    "yaml pair": "env:\n  - name: {N}\n    value: {s}\n",
    "xml pair": '<add key="{n}" value="{s}" />\n',
}


@dataclass(frozen=True)
class Placed:
    """A secret in a text."""

    kind: str
    place: str
    text: str
    secret: str


def placed(seeds: range = range(3)) -> Iterator[Placed]:
    """Return every kind in every context, this many times with other letters."""
    for seed in seeds:
        for kind, make in FORMS.items():
            for place, frame in PLACES.items():
                secret = make(RandomLetters(f"{kind}/{place}/{seed}"))
                if "\n" in secret and place in _ONE_LINE:
                    secret = secret.replace("\n", "\\n")
                yield Placed(kind, place, frame.format(s=secret), secret)
        for kind, (name, make) in NAMED.items():
            for place, frame in NAMED_PLACES.items():
                secret = make(RandomLetters(f"{kind}/{place}/{seed}"))
                yield Placed(kind, place, frame.format(s=secret, N=name.upper(), n=name.lower()), secret)
        yield from _strings(seed)


def _strings(seed: int) -> Iterator[Placed]:
    """Return secrets inside longer strings."""
    letters_of = RandomLetters(f"strings/{seed}")
    for scheme in ("postgres", "mysql", "redis", "amqp", "mongodb+srv", "https", "ftp"):
        secret = letters_of(14, ALNUM + "!*_~")
        yield Placed("url-password", scheme, f"url = {scheme}://app:{secret}@db.example.com:5432/app\n", secret)
    for place, frame in {"curl": '-H "Authorization: {x} {s}"\n', "http": "authorization: {x} {s}\r\n"}.items():
        basic = base64.b64encode(f"user:{letters_of(14)}".encode()).decode()
        yield Placed("basic-header", place, frame.format(x="Basic", s=basic), basic.rstrip("="))
        bearer = letters_of(40, URLSAFE)
        yield Placed("bearer-header", place, frame.format(x="Bearer", s=bearer), bearer)
    secret = letters_of(14, ALNUM + "!*_~")
    yield Placed("login", "netrc", f"machine api.example.com login bob password {secret}\n", secret)
    yield Placed("login", "curl", f"curl -s -u bob:{secret} https://api.example.com/\n", secret)
    yield Placed("login", "docker", f'{{"auths": {{"r.example": {{"auth": "{basic}"}}}}}}\n', basic.rstrip("="))
    yield Placed("login", "npm", f"//registry.example/:_auth={basic}\n", basic.rstrip("="))
    for name in ("OPENAI_KEY", "EXT_PAT", "NPM_AUTH", "API Key", "PHPSESSID", "pass"):
        secret = letters_of(32)
        yield Placed("other names", name, f"{name}={secret}\n" if name != "API Key" else f"API Key: {secret}\n", secret)
    bot = FORMS["telegram"](letters_of)
    yield Placed("telegram", "address of the server", f"https://api.telegram.org/bot{bot}/sendMessage\n", bot)
    key = letters_of(86, BASE64)
    text = f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={key}==;EndpointSuffix=core.windows.net\n"
    yield Placed("storage-string", "connection string", text, key)


@dataclass(frozen=True)
class Halved:
    """A secret split between two messages."""

    kind: str
    place: str
    parts: tuple[str, str]
    secret: str
    rest: str


def halved(seeds: range = range(1)) -> Iterator[Halved]:
    """Return every kind in every context, cut in two: a job's output read twice, and the pages of a file."""
    for case in placed(seeds):
        chance = random.Random(case.text)
        if "PRIVATE KEY" in case.secret:
            rows = case.text.split("\n")
            if len(rows) > 6:
                cut = chance.randint(3, len(rows) - 3)
                for place, page in _PAGES.items():
                    parts = (page(rows[:cut], 1), page(rows[cut:], cut + 1))
                    yield Halved(case.kind, f"{case.place}, {place}", parts, case.secret, "")
            continue
        size = len(case.secret)
        cut = chance.randint(8, size - 8) if size > 16 else size // 2
        at = case.text.index(case.secret) + cut
        parts = (f"[job-1 runs since 5 s]\n{case.text[:at]}", f"[job-1 ended: exit 0 in 7 s]\n{case.text[at:]}")
        yield Halved(case.kind, case.place, parts, case.secret, case.secret[cut:])


_PAGES: dict[str, Callable[[list[str], int], str]] = {
    "two pages": lambda rows, first: "\n".join(
        [*(f"{number}|{row}" for number, row in enumerate(rows, first)), "[lines 1-9; continue with offset=10]"]
    ),
    "two reads": lambda rows, first: "\n".join(rows),
}


def leaves_a_tail(redacted: list[str], case: Halved) -> bool:
    """Whether the last eight letters of a secret are in the second message, or any of a key block in either."""
    if "PRIVATE KEY" in case.secret:
        return any(survives(text, Placed(case.kind, case.place, text, case.secret)) for text in redacted)
    return len(case.rest) >= _TAIL and case.rest[-_TAIL:] in MARKER.sub("", redacted[-1])


def survives(text: str, case: Placed) -> bool:
    """Whether any eight consecutive letters of a secret remain; of a key block by its lines."""
    body, text = case.secret, MARKER.sub("", text)
    for name in ("https://hooks." + "slack.com/services/", "https://dis" + "cord.com/api/webhooks/"):
        body = body.removeprefix(name)
    if "PRIVATE KEY" in body:
        body = "".join(body.replace("\\n", "\n").split("\n")[1:-1])
        return any(body[at : at + 16] in text for at in range(0, len(body) - 15, 4))
    return any(body[at : at + _TAIL] in text for at in range(max(1, len(body) - _TAIL + 1)))
