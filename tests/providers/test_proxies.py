"""Which proxy is used, and when the client of the openai package is needed."""

import pytest

from clio.config.schema import Config
from clio.providers.http1 import find_proxy, read_environment_proxies
from clio.providers.http_provider import HttpProvider
from clio.providers.lean_transport import explain_package_need
from clio.providers.registry import make_provider
from tests.support.rows import each_row


def test_proxies_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_environment_proxies() == {}
    monkeypatch.setenv("HTTPS_PROXY", "http://upper:1")
    monkeypatch.setenv("https_proxy", " http://lower:1 ")
    monkeypatch.setenv("ALL_PROXY", "all:1")
    monkeypatch.setenv("NO_PROXY", "a,b")
    assert read_environment_proxies() == {"https": "http://lower:1", "all": "all:1", "no": "a,b"}


@each_row(
    ("url", "no", "proxy"),
    [
        ("https://api.example.com/v1", "", "http://tls:1"),
        ("http://api.example.com/v1", "", "http://any:2"),
        ("https://localhost/v1", "", ""),
        ("https://127.0.0.2/v1", "", ""),
        ("https://[::1]:8/v1", "", ""),
        ("https://api.example.com/v1", "*", ""),
        ("https://api.example.com/v1", "x, example.com", ""),
        ("https://api.example.com/v1", ".example.com", ""),
        ("https://api.example.com/v1", "*.EXAMPLE.com", ""),
        ("https://example.com/v1", ".example.com", "http://tls:1"),
        ("https://myexample.com/v1", "example.com", "http://tls:1"),
        ("https://api.example.com/v1", "example.com:443", ""),
        ("https://api.example.com/v1", "example.com:8443", "http://tls:1"),
        ("https://api.example.com/v1", "http://example.com", "http://tls:1"),
        ("https://api.example.com/v1", "all://example.com", ""),
        ("https://10.1.2.3/v1", "10.0.0.0/8", ""),
        ("https://10.1.2.3/v1", "10.1.2.3", ""),
        ("https://11.1.2.3/v1", "10.0.0.0/8", "http://tls:1"),
        ("https://[fd00::1]/v1", "[fd00::1]", ""),
    ],
)
def test_which_proxy_is_used_for_a_host(url: str, no: str, proxy: str) -> None:
    assert find_proxy(url, {"https": "http://tls:1", "all": "any:2", "no": no}) == proxy


@each_row(
    ("url", "env", "platform", "why"),
    [
        ("https://api.openai.com/v1", {}, "linux", ""),
        ("http://gpu-box:8000/v1", {}, "win32", ""),
        ("https://me:pw@api.example.com/v1", {}, "linux", "a user name"),
        ("https://api.example.com/v1", {"OPENAI_CUSTOM_HEADERS": "X: y"}, "linux", "OPENAI_CUSTOM_HEADERS"),
        ("https://api.openai.com/v1", {"OPENAI_ORG_ID": "o"}, "linux", "organization"),
        ("https://api.example.com/v1", {"OPENAI_ORG_ID": "o"}, "linux", ""),
        ("https://api.example.com/v1", {}, "darwin", ""),
        ("https://api.example.com/v1", {"SSL_CERT_FILE": "f"}, "darwin", ""),
    ],
)
def test_when_the_package_is_needed(url: str, env: dict[str, str], platform: str, why: str) -> None:
    assert why in explain_package_need(url, env, platform)
    assert bool(explain_package_need(url, env, platform)) == bool(why)


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_system_certificates_need_it_if_truststore_is_missing(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clio.providers.lean_transport.has_truststore", lambda: False)
    assert "certificates" in explain_package_need("https://api.example.com/v1", {}, platform)
    assert explain_package_need("https://api.example.com/v1", {"SSL_CERT_FILE": "f"}, platform) == ""
    assert explain_package_need("http://gpu-box:8000/v1", {}, platform) == ""


@pytest.mark.parametrize(("proxy", "needed"), [("socks5://p:1", True), ("https://p:1", True), ("http://p:1", False)])
def test_proxies_that_need_it(proxy: str, needed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    assert bool(explain_package_need("https://api.example.com/v1", {}, "linux")) == needed


@pytest.mark.parametrize(
    ("transport", "url", "used"),
    [
        ("auto", "http://box:1", "LeanTransport"),
        ("auto", "http://me:pw@box:1", "OpenAITransport"),
        ("lean", "http://me:pw@box:1", "LeanTransport"),
        ("openai", "http://box:1", "OpenAITransport"),
    ],
)
def test_the_setting_selects_the_client(transport: str, url: str, used: str) -> None:
    provider = make_provider(Config(base_url=url, model="m", transport=transport), {})  # type: ignore[arg-type]
    assert isinstance(provider, HttpProvider)
    assert type(provider._transport).__name__ == used
