"""Base URLs as users paste them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.errors import ConfigError
from clio.providers.profiles import PRESETS
from clio.providers.urls import is_local_host, is_loopback, normalise_base_url, strip_login
from tests.support.rows import each_row


@each_row(
    ("pasted", "expected"),
    [
        ("https://api.openai.com", "https://api.openai.com/v1"),
        ("https://api.openai.com/", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
        ("https://api.openai.com//v1//", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/v1", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/chat/completions/", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/models", "https://api.openai.com/v1"),
        ("http://localhost:8080/chat/completions", "http://localhost:8080/v1"),
        ("api.openai.com/v1", "https://api.openai.com/v1"),
        ("localhost:11434", "http://localhost:11434/v1"),
        ("127.0.0.1:1234/v1", "http://127.0.0.1:1234/v1"),
        ("[::1]:8000", "http://[::1]:8000/v1"),
        ("192.168.1.20:8000", "http://192.168.1.20:8000/v1"),
        ("ollama:11434", "http://ollama:11434/v1"),
        ("https://api.groq.com/openai", "https://api.groq.com/openai/v1"),
        ("https://openrouter.ai/api", "https://openrouter.ai/api/v1"),
        (
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "https://generativelanguage.googleapis.com/v1beta/openai",
        ),
        ("https://open.bigmodel.cn/api/paas/v4", "https://open.bigmodel.cn/api/paas/v4"),
        ("https://models.github.ai/inference", "https://models.github.ai/inference"),
        ("https://models.github.ai/inference/chat/completions", "https://models.github.ai/inference"),
        ("https://name.openai.azure.com/openai/v1/", "https://name.openai.azure.com/openai/v1"),
        ("https://api.perplexity.ai", "https://api.perplexity.ai"),
        ("  'https://api.deepseek.com'\n", "https://api.deepseek.com/v1"),
        ("HTTPS://API.OpenAI.com/v1", "https://API.OpenAI.com/v1"),
        ("https://host/v1?key=1#part", "https://host/v1"),
    ],
)
def test_the_base_url_is_normalized(pasted: str, expected: str) -> None:
    assert normalise_base_url(pasted) == expected
    assert normalise_base_url(expected) == expected


@each_row(
    "pasted",
    [
        "",
        "   ",
        "ftp://host/v1",
        "http://",
        "https:///v1",
        "http://[::1",
        "http://a b/v1",
        "http://h:99999",
        "http://[v9.x]",
        "http://-a.b",
        "http://a..b",
        "a/b c",
        "http://h\u00f6st/v1",
    ],
)
def test_an_invalid_url_is_an_error(pasted: str) -> None:
    with pytest.raises(ConfigError, match="--base-url"):
        normalise_base_url(pasted)


@given(st.text(max_size=60))
def test_any_text_is_a_url_or_an_error(pasted: str) -> None:
    try:
        url = normalise_base_url(pasted)
    except ConfigError:
        return
    assert url.startswith(("http://", "https://"))
    assert normalise_base_url(url) == url


def test_presets_are_normalized() -> None:
    known = [preset.base_url for preset in PRESETS if preset.base_url]
    assert [normalise_base_url(url) for url in known] == known


@each_row("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1", "a.localhost"])
def test_urls_of_this_machine(host: str) -> None:
    assert is_loopback(host)
    assert is_local_host(host)


@each_row("host", ["10.0.0.8", "192.168.0.2", "gpu-box", "box.local", "host.docker.internal", "0.0.0.0"])
def test_urls_of_the_local_network(host: str) -> None:
    assert is_local_host(host)
    assert not is_loopback(host)


@pytest.mark.parametrize("host", ["", "api.openai.com", "8.8.8.8", "localhost.example.com"])
def test_other_urls(host: str) -> None:
    assert not is_local_host(host)


def test_passwords_are_not_shown() -> None:
    url = normalise_base_url("https://me:secret@host.example:8443/v1")
    assert url == "https://me:secret@host.example:8443/v1"
    assert strip_login(url) == "https://host.example:8443/v1"
