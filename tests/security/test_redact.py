"""Secrets are removed completely; everything else is unchanged."""

import sysconfig
import time
from pathlib import Path

import pytest

from clio.errors import ConfigError
from clio.security.redaction.redactor import Redactor
from clio.security.redaction.secret_patterns import MARKER, list_env_secrets
from tests.security.secrets_table import HARMLESS, HEX, drawn, in_context, keys
from tests.support.rows import each_row

FRAMES = (
    "{}",
    "key {} end",
    'x = "{}"',
    "- `{}`",
    "({})",
    "{}\n",
    "a={}",
    "https://example.com/?x={}&y=1",
    "<b>{}</b>",
)


@each_row(("kind", "text"), keys(), ids=lambda value: value[:12])
def test_keys_are_removed_completely(kind: str, text: str) -> None:
    for frame in FRAMES:
        redacted = Redactor().redact(frame.format(text))
        assert redacted.text == frame.format(f"[REDACTED:{kind}]")
        assert redacted.counts == {kind: 1}


@each_row(("kind", "text", "secret"), in_context(), ids=lambda value: value[:24])
def test_secrets_are_recognized_by_their_context(kind: str, text: str, secret: str) -> None:
    redacted = Redactor().redact(text)
    assert redacted.counts == {kind: 1}
    assert MARKER.search(redacted.text)
    pieces = {secret[place : place + 6] for place in range(len(secret) - 5)}
    assert [piece for piece in pieces if piece in redacted.text] == []
    if kind != "private-key":
        assert redacted.text == text.replace(secret, f"[REDACTED:{kind}]", 1).replace("]==", "]")


@each_row("text", HARMLESS, ids=lambda text: text[:40])
def test_text_without_secrets_is_unchanged(text: str) -> None:
    assert Redactor().redact(text).text == text


def test_redacting_twice_changes_nothing_more() -> None:
    redactor = Redactor()
    texts = [text for _, text in keys()] + [text for _, text, _ in in_context()]
    for text in [*texts, "\n".join(texts), " ".join(texts), "".join(texts), *HARMLESS]:
        once = redactor.redact(text).text
        assert redactor.redact(once).text == once


def test_counts_are_summed() -> None:
    redactor = Redactor()
    redactor.redact(keys()[0][1] + " " + keys()[0][1])
    redactor.redact(in_context()[0][1])
    assert (redactor.total, redactor.counts) == (3, {"openai-key": 2, "password": 1})


def test_redaction_off_changes_nothing() -> None:
    redactor = Redactor(enabled=False)
    text = keys()[0][1]
    assert redactor.redact(text).text == text
    stream = redactor.stream()
    assert stream.feed(text) + stream.finish() == text


def test_patterns_of_the_user_are_redacted() -> None:
    redactor = Redactor(patterns=(r"ACME-\d+", r"\bproject \w+"))
    assert redactor.redact("ACME-12 and\nproject bluebird, ACME").text == (
        "[REDACTED:custom] and\n[REDACTED:custom], ACME"
    )
    assert redactor.redact("[REDACTED:custom]").text == "[REDACTED:custom]"
    with pytest.raises(ConfigError, match="ACME"):
        Redactor(patterns=("ACME-(",))


def test_values_from_the_environment_are_redacted() -> None:
    env = {
        "DEPLOY_TOKEN": "correct-horse-battery",
        "SERVICE_PASSWORD": "with a space 77",
        "SHORT_TOKEN": "abc123",
        "SSH_KEY_PATH": "/home/me/.ssh/id",
        "API_TOKEN": "changeme-changeme",
        "TOKEN_FILE": "some-file-of-tokens.txt",
        "PATH": "/usr/bin:/bin:/usr/local/bin",
    }
    values = list_env_secrets(env)
    assert values == ("correct-horse-battery", "with a space 77")
    redactor = Redactor(env_secrets=values)
    text = "go correct-horse-battery (with a space 77) abc123"
    assert redactor.redact(text).text == "go [REDACTED:environment] ([REDACTED:environment]) abc123"


def test_several_kinds_at_one_place_make_one_mark() -> None:
    key = keys()[0][1]
    assert Redactor().redact(f"OPENAI_API_KEY={key}").text == "OPENAI_API_KEY=[REDACTED:openai-key]"
    assert Redactor().redact(f"Authorization: Bearer {key}").text == "Authorization: Bearer [REDACTED:openai-key]"


def test_long_text_without_a_break_is_redacted() -> None:
    """Text that never breaks is cut at a place no key spans, and a key that never ends is removed completely."""
    redactor = Redactor()
    minified = ",".join(f'"k{number}":"{drawn(9, HEX, number)}"' for number in range(4000))
    secret = keys()[0][1]
    assert redactor.redact(minified).text == minified
    for place in (8_000, 8_150, 8_180, 8_190, 16_380):
        text = minified[:place] + f'","api":"{secret}","' + minified[place:]
        assert redactor.redact(text).text == text.replace(secret, "[REDACTED:openai-key]")
    endless = "sk" + "-" + drawn(40) * 1000
    assert redactor.redact(f"x {endless} y").text == "x [REDACTED:openai-key] y"


def test_the_standard_library_is_unchanged() -> None:
    """At most one file in 400 of real source may change.

    Passwords in URLs and Basic credentials have the form of secrets even in an example: they are not counted.
    """
    redactor = Redactor()
    root = Path(sysconfig.get_paths()["stdlib"])
    files = [path for path in sorted(root.rglob("*.py")) if "site-packages" not in path.parts][::4]
    touched = [
        path.name
        for path in files
        if redactor.redact(path.read_text(encoding="utf-8", errors="replace")).counts.keys()
        - {"url-password", "authorization"}
    ]
    print(f"false positives: {len(touched)} of {len(files)} files: {touched}")
    assert len(touched) <= max(1, len(files) // 400)


_HOSTILE_CHARS = 100_000
ADVERSARIAL = {  # the beginning of each text, and what is repeated after it
    "one letter": ("", "a"),
    "keys cut short": ("", "sk-"),
    "almost tokens": ("", "eyJaaaaaaaa."),
    "names": ("", "password"),
    "names with signs": ("", "token="),
    "names with quotes": ("", 'token="'),
    "names in lines": ("", "password: \n"),
    "block starts": ("", "-----BEGIN PRIVATE KEY-----"),
    "block starts in lines": ("", "-----BEGIN PRIVATE KEY-----\nabc\n"),
    "urls": ("", "://a:"),
    "urls in one": ("x://", "a:"),
    "backslashes": ("", "\\"),
    "bearers": ("", "Bearer "),
    "dots": ("M", "a."),
    "spaces": ("", " "),
    "capital dotted i": ("", "\u0130 token = "),
    "place-holders": ("", "token=" + "x" * 1000 + " "),
}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", sorted(ADVERSARIAL))
def test_hostile_texts_take_little_time(name: str) -> None:
    """A hundred thousand misleading letters take at most 3 s; an expression that backtracks takes a minute."""
    start, repeated = ADVERSARIAL[name]
    text = (start + repeated * (_HOSTILE_CHARS // len(repeated)))[:_HOSTILE_CHARS]
    redactor = Redactor(env_secrets=("correct-horse-battery",))
    before = time.process_time()  # CPU time, because the clock goes on while a busy machine does something else
    once = redactor.redact(text).text
    assert time.process_time() - before < 15
    assert len(once) <= len(text)
