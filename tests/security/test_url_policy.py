"""Only the public internet is fetched from, and the checked address is the one that is used."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.security.url_policy import FetchTarget, UrlRefused, check_url, explain_private_address, read_address, read_url
from tests.support.rows import each_row


def looked_up(*addresses: str):  # type: ignore[no-untyped-def]
    return lambda host, port: list(addresses)


@each_row(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://example.com/",
        "javascript:alert(1)",
        "example.com",
        "//example.com",
        "http://",
        "https:///path",
        "http://user@example.com/",
        "http://user:pass@example.com/",
        "http://example.com\\@evil.org/",
        "http://exa mple.com/",
        "http://example.com/\r\nHost: x",
        "http://example.com:99999/",
        "http://[::1",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://api.localhost/",
        "http://printer.local/",
        "http://metadata.google.internal/",
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://0.0.0.0/",
        "http://10.1.2.3/",
        "http://172.16.0.1/",
        "http://192.168.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://100.64.0.1/",
        "http://100.100.100.200/",
        "http://168.63.129.16/",
        "http://224.0.0.1/",
        "http://255.255.255.255/",
        "http://[::1]/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[fe80::1]/",
        "http://[fe80::1%25eth0]/",
        "http://[fc00::1]/",
        "http://[fd00:ec2::254]/",
        "http://[ff02::1]/",
        "http://" + "a" * 5000 + "/",
    ],
)
def test_urls_refused_by_their_text_alone(url: str) -> None:
    with pytest.raises(UrlRefused):
        read_url(url, allow_private=False)


def test_the_parts_of_a_url() -> None:
    parts = read_url("HTTPS://Docs.Python.ORG./3/?q=1#x", allow_private=False)
    assert (parts.scheme, parts.host, parts.port) == ("https", "docs.python.org", 443)
    assert read_url("http://bücher.example/", allow_private=False).host == "xn--bcher-kva.example"
    assert read_url("http://example.com:8080/", allow_private=False).port == 8080


def test_the_checked_address_is_pinned() -> None:
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])
    target = check_url("https://example.com/", False, lambda host, port: next(answers))
    assert isinstance(target, FetchTarget)
    assert (target.parts.host, target.address) == ("example.com", "93.184.216.34")


@each_row("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:192.168.1.1", "fe80::1"])
def test_host_names_that_resolve_to_internal_addresses_are_refused(address: str) -> None:
    with pytest.raises(UrlRefused):
        check_url("https://rebind.example/", False, looked_up(address))
    with pytest.raises(UrlRefused):
        check_url("https://rebind.example/", False, looked_up("93.184.216.34", address))
    assert check_url("https://rebind.example/", True, looked_up(address)).address == address


def test_host_names_that_do_not_resolve_are_refused() -> None:
    with pytest.raises(UrlRefused):
        check_url("https://nowhere.example/", False, looked_up())
    with pytest.raises(UrlRefused):
        check_url("https://nowhere.example/", False, looked_up("not an address"))


def test_loopback_can_be_allowed() -> None:
    assert check_url("http://127.0.0.1:8000/", True).address == "127.0.0.1"
    assert check_url("http://localhost:8000/", True).address in ("127.0.0.1", "::1")


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"])
def test_public_addresses_are_accepted(address: str) -> None:
    assert explain_private_address(ipaddress.ip_address(address)) == ""


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_inside_ipv6_is_judged_as_itself(address: ipaddress.IPv4Address) -> None:
    inside = ipaddress.IPv6Address(f"::ffff:{address}")
    assert bool(explain_private_address(inside)) or not explain_private_address(address)


@given(st.ip_addresses())
def test_addresses_that_are_not_global_are_refused(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    if not address.is_global:
        assert explain_private_address(address)


@given(st.text(max_size=60))
def test_any_text_is_tolerated(text: str) -> None:
    try:
        read_url(text, allow_private=False)
    except UrlRefused as error:
        assert str(error)
    read_address(text)
