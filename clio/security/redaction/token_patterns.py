"""Recognize secrets by their own form: keys with a known prefix, private keys, passwords in URLs and headers. Pure."""

import re
from collections.abc import Callable, Iterator
from functools import cache

from msgspec import Struct

from clio.security.redaction.names_and_values import (
    compute_entropy,
    has_digit,
    is_placeholder,
    is_random_key,
    is_random_value,
)
from clio.text.lazy_regex import LazyRegex

# An example shows a text with a match; `…` is a secret value, `\n` a line break.


class TokenPattern(Struct, frozen=True):
    """One kind of key: the literals it contains, its expression, and a check of the matched text.

    Attributes:
        begins: there is one literal, and the expression begins with it.
        inside: the literal is not at the beginning of the key.
        middle: what else must be near the literal, if the literal alone is too common.
    """

    kind: str
    literals: tuple[str, ...]
    expression: str
    check: Callable[[str], bool]
    begins: bool = False
    inside: bool = False
    middle: str = ""

    def can_be_in(self, stretch: str) -> bool:
        """Whether a piece of text with a literal may contain a key, so that the whole expression must be matched."""
        return not self.middle or _compile(self.middle).search(stretch) is not None

    @property
    def regex(self) -> re.Pattern[str]:
        """The expression, compiled on first use: compiling fifty of them takes 5 ms, which every start would pay."""
        return _compile(self.expression)

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches that `regex.finditer` would. Twenty times as fast if every key begins with the literal."""
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
def _compile(expression: str) -> re.Pattern[str]:
    """Compile an expression once, however many patterns share it."""
    return re.compile(expression)


# A key may follow a slash, dash or underscore, as in a path or file name, but not begin inside a word.
_LEFT = r"(?<![A-Za-z0-9])"
_URLSAFE = r"[A-Za-z0-9_-]"
_ALNUM = r"[A-Za-z0-9]"
_UUID = r"[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}"


def _is_random_after_colon(text: str) -> bool:
    """Whether the part of a key after its first colon looks random."""
    return is_random_key(text[text.index(":") :])


def _is_varied(text: str) -> bool:
    """Whether the characters of a key vary as much as random ones do."""
    return compute_entropy(text) >= 5  # base64 of an executable is full of the letter A


def _make_prefixed_pattern(
    kind: str, literals: str, body: str, check: Callable[[str], bool] = is_random_key
) -> TokenPattern:
    """Create the pattern of keys that begin with one of the literals. A literal begins with two letters or digits."""
    begins = body.replace("\\", "").startswith(literals)
    return TokenPattern(kind, tuple(literals.split()), _LEFT + body, check, begins)


def _make_containing_pattern(
    kind: str, literals: str, body: str, check: Callable[[str], bool] = is_random_key, *, middle: str = ""
) -> TokenPattern:
    """Create the pattern of keys that contain one of the literals further in, or begin with a punctuation mark."""
    start = "" if body.startswith("(?:(?<=") else _LEFT
    return TokenPattern(kind, tuple(literals.split()), start + body, check, inside=True, middle=middle)


TOKENS: tuple[TokenPattern, ...] = (
    _make_prefixed_pattern("anthropic-key", "sk-ant-", rf"sk-ant-{_URLSAFE}{{16,}}"),
    _make_prefixed_pattern("openrouter-key", "sk-or-", rf"sk-or-{_URLSAFE}{{16,}}"),
    _make_prefixed_pattern("openai-key", "sk-", rf"sk-(?:proj-|svcacct-|admin-)?{_URLSAFE}{{20,}}"),
    _make_prefixed_pattern("groq-key", "gsk_", rf"gsk_{_ALNUM}{{20,}}"),
    _make_prefixed_pattern("google-key", "AIza", rf"AIza{_URLSAFE}{{35}}(?!{_URLSAFE})"),
    _make_prefixed_pattern("google-secret", "GOCSPX-", rf"GOCSPX-{_URLSAFE}{{20,}}"),
    _make_prefixed_pattern("google-token", "ya29.", rf"ya29\.{_URLSAFE}{{20,}}"),
    _make_prefixed_pattern(
        "aws-key-id", "AKIA ASIA ABIA ACCA", r"(?:A[KSB]IA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])", has_digit
    ),
    _make_prefixed_pattern("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"gh[pousr]_{_ALNUM}{{30,}}"),
    _make_prefixed_pattern("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}"),
    _make_prefixed_pattern(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glffct- glimt- glagent- gloas-",
        r"gl[a-z]{2,6}-[A-Za-z0-9_.-]{20,}",
    ),
    _make_prefixed_pattern("slack-token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{12,}"),
    _make_prefixed_pattern("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,}"),
    _make_prefixed_pattern(
        "slack-webhook",
        "hooks.slack.com/",
        r"(?:https://)?hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}",
    ),
    _make_containing_pattern("stripe-key", "k_live_ k_test_ k_prod_", rf"[srp]k_(?:live|test|prod)_{_ALNUM}{{16,}}"),
    _make_prefixed_pattern("stripe-key", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}"),
    _make_prefixed_pattern("huggingface-token", "hf_", rf"hf_{_ALNUM}{{30,}}"),
    _make_prefixed_pattern("npm-token", "npm_", rf"npm_{_ALNUM}{{36,}}"),
    _make_prefixed_pattern("pypi-token", "pypi-", rf"pypi-{_URLSAFE}{{50,}}"),
    _make_prefixed_pattern("sendgrid-key", "SG.", rf"SG\.{_URLSAFE}{{16,}}\.{_URLSAFE}{{16,}}"),
    _make_prefixed_pattern("twilio-key", "SK", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    _make_containing_pattern(
        "telegram-token",
        ":AA",
        rf"(?:(?<=/bot)|(?<![A-Za-z0-9]))\d{{8,10}}:AA{_URLSAFE}{{33,}}",
        _is_random_after_colon,
    ),
    _make_containing_pattern(
        "discord-webhook", "/api/webhooks/", rf"(?:https://)?discord(?:app)?\.com/api/webhooks/\d+/{_URLSAFE}{{20,}}"
    ),
    _make_prefixed_pattern("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{32,}"),
    _make_prefixed_pattern("replicate-token", "r8_", rf"r8_{_ALNUM}{{30,}}"),
    _make_prefixed_pattern("xai-key", "xai-", rf"xai-{_ALNUM}{{40,}}"),
    _make_prefixed_pattern("perplexity-key", "pplx-", rf"pplx-{_ALNUM}{{30,}}"),
    _make_prefixed_pattern("nvidia-key", "nvapi-", rf"nvapi-{_URLSAFE}{{40,}}"),
    _make_prefixed_pattern("cerebras-key", "csk-", rf"csk-{_ALNUM}{{30,}}"),
    _make_prefixed_pattern("langsmith-key", "lsv2_", r"lsv2_[a-z]{2}_[a-f0-9_]{32,}"),
    _make_prefixed_pattern("linear-key", "lin_api_ lin_oauth_", rf"lin_(?:api|oauth)_{_ALNUM}{{30,}}"),
    _make_prefixed_pattern("notion-token", "ntn_", rf"ntn_{_ALNUM}{{40,}}"),
    _make_prefixed_pattern("figma-token", "figd_", rf"figd_{_URLSAFE}{{30,}}"),
    _make_prefixed_pattern("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32,}"),
    _make_prefixed_pattern("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])"),
    _make_prefixed_pattern("docker-token", "dckr_", rf"dckr_(?:pat|oat)_{_URLSAFE}{{20,}}"),
    _make_prefixed_pattern("vault-token", "hvs. hvb.", rf"hv[sb]\.{_URLSAFE}{{20,}}"),
    _make_prefixed_pattern("postman-key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{30,}"),
    _make_prefixed_pattern("newrelic-key", "NRAK- NRII- NRJS- NRRA-", r"NR(?:AK|II|JS|RA)-[A-Za-z0-9-]{19,}"),
    _make_prefixed_pattern("grafana-token", "glsa_ glc_", r"gl(?:sa|c)_[A-Za-z0-9_+/=]{30,}"),
    _make_prefixed_pattern("sentry-token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9_+/=]{40,}"),
    _make_prefixed_pattern("tailscale-key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9-]{20,}"),
    _make_prefixed_pattern("atlassian-token", "ATATT3 ATCTT3", r"AT[AC]TT3[A-Za-z0-9_=-]{40,}"),
    _make_prefixed_pattern("supabase-token", "sbp_", r"sbp_[a-f0-9]{40,}"),
    _make_prefixed_pattern("rubygems-key", "rubygems_", r"rubygems_[a-f0-9]{40,}"),
    _make_prefixed_pattern("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}", has_digit),
    _make_prefixed_pattern("mailgun-key", "key-", r"key-[a-f0-9]{32}(?![A-Za-z0-9])"),
    _make_prefixed_pattern(
        "azure-key", "AccountKey= SharedAccessKey=", r"(?:Account|SharedAccess)Key=[A-Za-z0-9+/]{40,}={0,2}"
    ),
    _make_prefixed_pattern("azure-signature", "sig=", r"sig=[A-Za-z0-9%+/]{40,}={0,2}"),
    _make_prefixed_pattern("bitbucket-token", "ATBB", rf"ATBB{_ALNUM}{{24,}}"),
    _make_prefixed_pattern("trello-token", "ATTA", r"ATTA[a-f0-9]{60,}"),
    _make_prefixed_pattern("gitlab-token", "GR1348941", rf"GR1348941{_URLSAFE}{{20,}}"),
    _make_prefixed_pattern("huggingface-token", "api_org_", rf"api_org_{_ALNUM}{{30,}}"),
    _make_prefixed_pattern("onepassword-token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/_=-]{100,}"),
    _make_prefixed_pattern(
        "onepassword-key", "A3-", r"A3-[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}"
    ),
    _make_prefixed_pattern("adobe-secret", "p8e-", r"p8e-[A-Za-z0-9_-]{32,}"),
    _make_prefixed_pattern("airtable-token", "pat", rf"pat{_ALNUM}{{14}}\.[a-f0-9]{{64}}"),
    _make_prefixed_pattern("alibaba-key-id", "LTAI", rf"LTAI{_ALNUM}{{17,}}"),
    _make_prefixed_pattern("artifactory-key", "AKCp", rf"AKCp{_ALNUM}{{60,}}"),
    _make_prefixed_pattern("artifactory-token", "cmVmd", rf"cmVmd{_ALNUM}{{59}}(?!{_ALNUM})"),
    _make_prefixed_pattern("bedrock-key", "ABSK", r"ABSK[A-Za-z0-9+/]{100,}={0,2}"),
    _make_containing_pattern("azure-secret", "Q~", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    _make_containing_pattern("azure-key", "JQQJ9", rf"{_ALNUM}{{52}}JQQJ9{_ALNUM}{{27}}"),
    _make_containing_pattern("azure-token", "AZDO", rf"{_ALNUM}{{76}}AZDO{_ALNUM}{{4}}"),
    _make_containing_pattern(
        "braintree-token", "$production$ $sandbox$", r"access_token\$(?:production|sandbox)\$\w{16}\$[a-f0-9]{32}"
    ),
    _make_prefixed_pattern("buildkite-token", "bkua_ bkct_", r"bk(?:ua|ct)_[A-Za-z0-9]{32,}"),
    _make_prefixed_pattern("circleci-token", "CCIPAT_ CCIPRJ_", rf"CCI(?:PAT|PRJ)_{_ALNUM}{{16,}}_[a-f0-9]{{40}}"),
    _make_prefixed_pattern("clickhouse-key", "4b1d", rf"4b1d{_ALNUM}{{38}}(?!{_ALNUM})"),
    _make_prefixed_pattern("clojars-token", "CLOJARS_", r"CLOJARS_[a-z0-9]{60}"),
    _make_prefixed_pattern("cloudflare-key", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}"),
    _make_prefixed_pattern("contentful-token", "CFPAT-", rf"CFPAT-{_URLSAFE}{{40,}}"),
    _make_prefixed_pattern("cursor-key", "key_", r"key_[a-f0-9]{64}(?![A-Za-z0-9])"),
    _make_prefixed_pattern("deno-token", "ddp_ ddw_", rf"dd[pw]_{_ALNUM}{{36,}}"),
    _make_prefixed_pattern(
        "doppler-token", "dp.", rf"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{_ALNUM}{{40,}}"
    ),
    _make_prefixed_pattern("dropbox-token", "sl.", rf"sl\.(?:u\.)?{_URLSAFE}{{120,}}"),
    _make_prefixed_pattern("duffel-token", "duffel_", r"duffel_(?:test|live)_[A-Za-z0-9_=-]{40,}"),
    _make_prefixed_pattern("dynatrace-token", "dt0", r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _make_prefixed_pattern("easypost-key", "EZAK EZTK", rf"EZ[AT]K{_ALNUM}{{50,}}"),
    _make_prefixed_pattern("elevenlabs-key", "sk_", r"sk_[a-f0-9]{48}(?![A-Za-z0-9])"),
    _make_prefixed_pattern("facebook-token", "EAA", rf"EAA{_ALNUM}{{100,}}(?![A-Za-z0-9+=])", _is_varied),
    _make_containing_pattern("firebase-key", ":APA91b", rf"AAAA{_URLSAFE}{{7}}:APA91b{_URLSAFE}{{100,}}"),
    _make_prefixed_pattern("fireworks-key", "fw_", rf"fw_{_ALNUM}{{22,}}(?![A-Za-z0-9_])"),
    _make_prefixed_pattern("flutterwave-key", "FLWSECK", r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?"),
    _make_prefixed_pattern("fly-token", "fo1_ fm1 fm2_", r"f(?:o1|m1[ar]|m2)_[A-Za-z0-9+/_-]{40,}={0,3}"),
    _make_prefixed_pattern("frameio-token", "fio-u-", r"fio-u-[A-Za-z0-9_=-]{60,}"),
    _make_containing_pattern("google-token", "1//0", rf"1//0{_URLSAFE}{{40,}}"),
    _make_prefixed_pattern("grafana-token", "eyJrIjoi", r"eyJrIjoi[A-Za-z0-9]{60,}={0,2}"),
    _make_prefixed_pattern("harness-token", "pat. sat.", rf"[ps]at\.{_URLSAFE}{{22}}\.{_ALNUM}{{24}}\.{_ALNUM}{{20}}"),
    _make_prefixed_pattern("heroku-key", "HRKU-", rf"HRKU-{_URLSAFE}{{36,}}"),
    _make_prefixed_pattern("hubspot-token", "pat-", r"pat-(?:na|eu|ap)\d-[a-f0-9-]{36}"),
    _make_prefixed_pattern("infracost-key", "ico-", rf"ico-{_ALNUM}{{32}}(?!{_ALNUM})"),
    _make_prefixed_pattern("jina-key", "jina_", rf"jina_{_URLSAFE}{{50,}}"),
    _make_prefixed_pattern("jwt", "ZXlK", r"ZXlK[A-Za-z0-9+/_-]{60,}={0,2}"),
    _make_prefixed_pattern("launchdarkly-key", "sdk- mob-", rf"(?:sdk|mob)-{_UUID}"),
    _make_containing_pattern("mailchimp-key", "-us", r"[a-f0-9]{32}-us\d{1,2}(?!\d)"),
    _make_prefixed_pattern("mailersend-token", "mlsn.", r"mlsn\.[a-f0-9]{60,}"),
    _make_prefixed_pattern("mapbox-token", "sk.eyJ", rf"sk\.eyJ{_URLSAFE}{{20,}}\.{_URLSAFE}{{20,}}"),
    _make_containing_pattern("maxmind-key", "_mmk", rf"{_ALNUM}{{6}}_{_ALNUM}{{29}}_mmk"),
    _make_prefixed_pattern("neon-key", "napi_", r"napi_[a-z0-9]{50,}"),
    _make_prefixed_pattern("netlify-token", "nfp_", rf"nfp_{_ALNUM}{{36,}}"),
    _make_prefixed_pattern("nuget-key", "oy2", r"oy2[a-z0-9]{43}(?![A-Za-z0-9])"),
    _make_prefixed_pattern("octopus-key", "API-", r"API-[A-Z0-9]{26,32}(?![A-Za-z0-9])"),
    _make_prefixed_pattern("openshift-token", "sha256~", rf"sha256~{_URLSAFE}{{43}}(?!{_URLSAFE})"),
    _make_containing_pattern("password-hash", "$2a$ $2b$ $2y$", r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}"),
    _make_containing_pattern(
        "password-hash", "$1$ $5$ $6$ $apr1$", r"\$(?:[156]|apr1)\$(?:rounds=\d+\$)?[^\s$:]{1,16}\$[./A-Za-z0-9]{22,86}"
    ),
    _make_containing_pattern(
        "password-hash", "$y$ $gy$", r"\$g?y\$[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{1,86}\$[./A-Za-z0-9]{43}"
    ),
    _make_containing_pattern(
        "password-hash", ",p=", r"\$argon2i?d?\$v=\d+\$[a-z0-9=,]+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]{20,}"
    ),
    _make_prefixed_pattern("password-hash", "pbkdf2_sha", r"pbkdf2_sha\d+\$\d+\$[^\s$]{1,64}\$[A-Za-z0-9+/=]{20,}"),
    _make_prefixed_pattern("pinecone-key", "pcsk_", r"pcsk_[A-Za-z0-9_]{50,}"),
    _make_prefixed_pattern("plaid-token", "access-", rf"access-(?:sandbox|development|production)-{_UUID}"),
    _make_prefixed_pattern("planetscale-token", "pscale_", r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9=._-]{32,}"),
    _make_prefixed_pattern("posthog-key", "phx_", rf"phx_{_ALNUM}{{40,}}"),
    _make_prefixed_pattern("prefect-key", "pnu_ pnb_", rf"pn[ub]_{_ALNUM}{{36,}}"),
    _make_prefixed_pattern("pulumi-token", "pul-", r"pul-[a-f0-9]{40}(?![A-Za-z0-9])"),
    _make_prefixed_pattern("razorpay-key", "rzp_", rf"rzp_(?:live|test)_{_ALNUM}{{14,}}"),
    _make_prefixed_pattern("readme-key", "rdme_", r"rdme_[a-z0-9]{60,}"),
    _make_prefixed_pattern("render-key", "rnd_", rf"rnd_{_ALNUM}{{28,}}(?![A-Za-z0-9_])"),
    _make_prefixed_pattern("resend-key", "re_", rf"re_{_ALNUM}{{8}}_{_ALNUM}{{24}}(?![A-Za-z0-9_])"),
    _make_prefixed_pattern("scalingo-token", "tk-us-", rf"tk-us-{_URLSAFE}{{48}}"),
    _make_prefixed_pattern("sendinblue-key", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _make_prefixed_pattern("shippo-token", "shippo_", r"shippo_(?:live|test)_[a-fA-F0-9]{40}"),
    _make_prefixed_pattern("sonar-token", "squ_ sqp_ sqa_", r"sq[upa]_[a-f0-9]{40}(?![A-Za-z0-9])"),
    _make_prefixed_pattern("sourcegraph-token", "sgp_", r"sgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}"),
    _make_prefixed_pattern("square-token", "EAAA", rf"EAAA{_URLSAFE}{{60}}(?![A-Za-z0-9_+/=-])"),
    _make_prefixed_pattern("square-secret", "sq0", rf"sq0[a-z]{{3}}-{_URLSAFE}{{22,}}"),
    _make_prefixed_pattern("supabase-key", "sb_secret_", rf"sb_secret_{_URLSAFE}{{20,}}"),
    _make_prefixed_pattern("tavily-key", "tvly-", rf"tvly-(?:dev-|prod-)?{_URLSAFE}{{28,}}"),
    _make_containing_pattern(
        "teams-webhook", "/webhookb2/", r"[a-z0-9-]+\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/-]{60,}"
    ),
    _make_containing_pattern("terraform-token", ".atlasv1.", rf"{_ALNUM}{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{50,}}"),
    _make_prefixed_pattern("typeform-token", "tfp_", r"tfp_[A-Za-z0-9_.=-]{40,}"),
    _make_prefixed_pattern("voyage-key", "pa-", rf"pa-{_URLSAFE}{{43}}(?!{_URLSAFE})", is_random_value),
    _make_prefixed_pattern("wakatime-key", "waka_", rf"waka_(?:tok_)?(?:{_UUID}|{_ALNUM}{{60,}})"),
    _make_prefixed_pattern("wandb-key", "wandb_v1_", r"wandb_v1_[A-Za-z0-9_]{40,}"),
    _make_prefixed_pattern("woocommerce-key", "ck_ cs_", r"c[ks]_[a-f0-9]{40}(?![A-Za-z0-9])"),
    _make_prefixed_pattern("yandex-key", "AQVN", rf"AQVN{_URLSAFE}{{35,38}}(?!{_URLSAFE})"),
    _make_prefixed_pattern("yandex-token", "y0_", rf"y0_{_URLSAFE}{{50,}}"),
    _make_containing_pattern("zapier-webhook", "/hooks/catch/", r"hooks\.zapier\.com/hooks/catch/\d+/[A-Za-z0-9/]{6,}"),
    _make_prefixed_pattern("zuplo-key", "zpka_", r"zpka_[A-Za-z0-9_]{32,}"),
    _make_prefixed_pattern("jwt", "eyJ", rf"eyJ{_URLSAFE}{{8,}}\.{_URLSAFE}{{8,}}(?:\.{_URLSAFE}*){{1,3}}", has_digit),
    _make_containing_pattern(
        "discord-token",
        ".",
        rf"[MNO]{_URLSAFE}{{23,27}}\.{_URLSAFE}{{6}}\.{_URLSAFE}{{27,}}",
        middle=r"[\w-]{24}\.[\w-]{6}\.[\w-]{27}",
    ),
)
"""Keys recognized by their own form. If two match, the longer span wins, with the name of the earlier entry."""


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


_LITERALS = tuple((literal, rank) for rank, pattern in enumerate(TOKENS) for literal in pattern.literals)
# By the first two characters of a key: for most words no other test is needed.
_BY_HEAD: dict[str, list[tuple[str, int]]] = {}
for _literal, _rank in _LITERALS:
    if not TOKENS[_rank].inside:
        _BY_HEAD.setdefault(_literal[:2], []).append((_literal, _rank))
_HEADS = frozenset(_BY_HEAD)
_SIGNS = ("hook", "//", *"-_.:=$~", "")
# Literals further in, by the first of these characters they contain. Base64 has hardly any, so it is skipped fast.
_INSIDE: dict[str, list[tuple[str, int]]] = {}
for _literal, _rank in _LITERALS:
    if TOKENS[_rank].inside:
        _INSIDE.setdefault(next(sign for sign in _SIGNS if sign in _literal), []).append((_literal, _rank))
_BY_SIGN = tuple(_INSIDE.items())

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
_DIGIT = LazyRegex("[0-9]")
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
            for sign, literals in _BY_SIGN:
                if sign in window:
                    found.update(n for literal, n in literals if literal in window and TOKENS[n].can_be_in(window))
        place = shape.find(_SIXTEEN, end)
    return found


def find_token_spans(text: str) -> Iterator[Span]:
    """Yield keys and tokens recognized by their own form."""
    for rank in sorted(list_possible_tokens(text)):
        pattern = TOKENS[rank]
        for match in pattern.matches(text):
            if pattern.check(match[0]):
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
