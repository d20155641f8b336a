"""Secrets known by the function they are given to: `hmac.new(b"…")`, `jwt.sign(claims, "…")`, `.login("user", "…")`. Pure.

No name says that the argument is a secret; the function does. A value made of words is none here, for tests and
examples call these functions as well.
"""

# ruff: noqa: E501 - a table of expressions reads better with one a line

import re
from collections.abc import Iterator

from clio.algorithms.late_pattern import LatePattern
from clio.security.redaction.patterns import Span
from clio.security.redaction.value_shapes import (
    FILE_NAME,
    MEASURE,
    has_digit,
    is_passphrase,
    is_wordlike,
    may_be_secret,
)

_MAKER = r"(?:(?:key|secret|password)[ \t]?=[ \t]?)?(?:\[\]byte\(|(?:System\.Text\.)?Encoding\.\w{1,10}\.GetBytes\(|Buffer\.from\(|Some\(|new String\(|str\(|bytes\()?"
_LITERAL = rf"{_MAKER}[bNrf@$]?(?P<q>[\"'`])(?P<v>(?:\\[^\n]|(?!(?P=q))[^\\\n]){{4,512}})(?P=q)"
_ANY = r"(?:\{[^{}\n]{0,200}\}|[\"'][^\"'\n]{0,120}[\"']|[^,()\"'`\n]{1,80}(?:\([^()\n]{0,60}\))?)"
_FIRST = rf"\([ \t\n]{{0,40}}{_LITERAL}"
_SECOND = rf"\([ \t\n]{{0,40}}{_ANY},\s{{0,40}}{_LITERAL}"
_THIRD = rf"\([ \t\n]{{0,40}}{_ANY},\s{{0,40}}{_ANY},\s{{0,40}}{_LITERAL}"
_FIRST_OR_SECOND = rf"\([ \t\n]{{0,40}}(?:(?:sha\d+|md5)\.[nN]ew,\s{{0,8}})?{_LITERAL}"
PATTERNS = {
    "first": LatePattern(_FIRST),
    "hash": LatePattern(_FIRST_OR_SECOND, re.IGNORECASE),
    "second": LatePattern(_SECOND),
    "third": LatePattern(_THIRD),
    "pair": LatePattern(rf"\([ \t]{{0,4}}(?:{_ANY},[ \t]{{0,4}})?[\"'][\w.@+-]{{1,60}}:(?P<v>[^\s\"'@]{{4,120}})[\"'@]"),
}  # fmt: skip
CALLS: dict[str, tuple[tuple[str, str], ...]] = {
    "hmac": (
        ("hmac.new", "hash"), ("hmac.digest", "hash"), ("createhmac", "second"), ("hash_hmac", "third"),
    ),
    "createhmac": (("createhmac", "second"),),
    "hmacsha": (("hmacsha256", "second"), ("hmacsha512", "second"), ("hmacsha1", "second"), ("hmacsha256", "first"), ("hmacsha512", "first")),
    "hmacshakeyfor": (("hmacshakeyfor", "first"),),
    "jwt": tuple((f"jwt{joint}{verb}", "second") for joint in (".", "::") for verb in ("sign", "verify", "encode", "decode")),
    "fernet": (("fernet", "first"),),
    "urlsafeserializer": (("urlsafeserializer", "first"),),
    "urlsafetimedserializer": (("urlsafetimedserializer", "first"),),
    "cookieparser": (("cookieparser", "first"),),
    "newcookiestore": (("newcookiestore", "first"),),
    "signedstring": (("signedstring", "first"),),
    "signwith": (("signwith", "second"),),
    "secretkeyspec": (("secretkeyspec", "first"),),
    "pbekeyspec": (("pbekeyspec", "first"),),
    "symmetricsecuritykey": (("symmetricsecuritykey", "first"),),
    "createcipheriv": (("createcipheriv", "second"),),
    "createdecipheriv": (("createdecipheriv", "second"),),
    "scryptsync": (("scryptsync", "first"),),
    "cryptojs": (("aes.encrypt", "second"), ("aes.decrypt", "second")),
    "openssl": (("openssl_encrypt", "third"), ("openssl_decrypt", "third")),
    "bcrypt": (("bcrypt.hash", "first"), ("bcrypt.hashpw", "first"), ("bcrypt.hashsync", "first"), ("bcrypt.compare", "first"), ("bcrypt.comparesync", "first")),
    "generatefrompassword": (("generatefrompassword", "first"),),
    "password": (("make_password", "first"), ("generate_password_hash", "first"), ("password_hash", "first"), ("password_verify", "first"),
                 ("check_password", "second"), ("keyring.set_password", "third")),
    "bearer": (("bearer_auth", "first"),),
    "secret": (("secret::new", "first"), ("from_secret", "first")),
    "secretstring": (("secretstring::from", "first"),),
    "pgp": (("pgp_sym_encrypt", "second"), ("pgp_sym_decrypt", "second")),
    "encrypt": (("aes_encrypt", "second"),),
    "decrypt": (("aes_decrypt", "second"),),
    "crypt": (("crypt", "first"),),
    "login": ((".login", "second"),),
    "auth": ((".auth", "second"),),
    "username": (("username_pw_set", "second"),),
    "create": (("create_user", "third"), ("create_superuser", "third"), ("awsbasiccredentials.create", "second")),
    "ftp": (("ftplib.ftp", "third"), ("ftp", "third")),
    "plainauth": (("plainauth", "third"),),
    "userpassword": (("userpassword", "second"),),
    "credentials": (("credentials.basic", "second"),),
    "httpbasic": (("httpbasic", "second"),),
    "usernamepasswordauthenticationtoken": (("usernamepasswordauthenticationtoken", "second"),),
    "authenticationheadervalue": (("authenticationheadervalue", "second"),),
    "wifi": (("wifi.begin", "second"),),
    "sequelize": (("sequelize", "third"),),
    "connect": ((".connect", "third"),),
    "ldap": (("ldap_bind", "third"),),
    "sql": (("sql.open", "pair"),),
    "curlopt": (("curl_easy_setopt", "third"), ("curl_setopt", "third"), ("curlopt_userpwd", "pair")),
    "btoa": (("btoa", "pair"),),
    "stripe": (("stripe", "first"),),
}  # fmt: skip
"""By a word that a text with such a call has: what comes before the bracket, and which argument is the secret."""
_USER_AND_PASSWORD = LatePattern(r"CURLOPT_USERPWD,\s{0,8}[\"'][^\"':\n]{1,60}:(?P<v>[^\"'\n]{4,200})[\"']")


def call_spans(text: str, lowered: str, words: frozenset[str]) -> Iterator[Span]:
    """The secrets that functions are given. words: all runs of letters in the text, in small letters."""
    for word in words.intersection(CALLS):
        for call, argument in CALLS[word]:
            needle = call + "("
            place = lowered.find(needle)
            while place >= 0:
                glued = (
                    call[0].isalpha() and lowered[place - 1 : place].isalpha() and call in ("ftp", "crypt", "stripe")
                )
                match = None if glued else PATTERNS[argument].match(text, place + len(call), place + 1000)
                if match and _is_argument(match["v"]):
                    yield Span(match.start("v"), match.end("v"), "secret", 315)
                place = lowered.find(needle, place + len(needle))
    if "curlopt" in words:
        for match in _USER_AND_PASSWORD.finditer(text):
            if _is_argument(match["v"]):
                yield Span(match.start("v"), match.end("v"), "password", 310)


def _is_argument(value: str) -> bool:
    """Whether an argument is a secret: one word that no language has, and no name of a file, an algorithm or a user."""
    return (
        may_be_secret(value)
        and not any(char.isspace() for char in value)
        and (
            has_digit(value)
            or value.count("-") > 1
            or (value.isalnum() and not is_wordlike(value))
            or is_passphrase(value)
        )
        and (
            not is_wordlike(value, digits=True)
            or (value.isalnum() and len(value) >= 6)
            or value.count("-") > 1
            or is_passphrase(value)
        )
        and not MEASURE.fullmatch(value)
        and not FILE_NAME.search(value)
        and not value.startswith(("http", "/", "."))
        and "://" not in value
    )
