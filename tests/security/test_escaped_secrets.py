"""Secrets next to or within escape sequences: colours of a log, JSON and URL escapes, invisible characters."""

import json

import pytest

from clio.security.redaction.redactor import Redactor

KEY = "ghp_JBd0Kh8oOOL8dKLzdocJ2isAjIhKtJ0RlgLK"
PASSWORD = "ZWOz648JJnUfd7"


@pytest.mark.parametrize(
    "before",
    [
        *(
            "\x1b[32m",
            "\x1b[1;38;5;9m",
            "\x9b32m",
            "\x1b(B",
            "\\x1b[32m",
            "\\033[1m",
            "\\e[0m",
            "\\u001b[31m",
            "[32m",
            "[1;31m",
        ),
        *("\\n", "\\t", "\\r\\n", "\\u0022", "\\x22", "%3D", "%20", "%22"),
    ],
)
def test_a_key_after_an_escape_is_removed(before: str) -> None:
    assert KEY not in Redactor().redact(f"said {before}{KEY} and").text
    assert KEY not in Redactor().redact(f"said{before}{KEY} and").text
    assert Redactor().redact(f"said {before}{KEY} and").text.endswith(" and")


@pytest.mark.parametrize("within", ["\x1b[0m", "\x1b[m\x1b[K", "\u200b", "\u00ad", "\u2060", "\x1b]8;;http://x\x07"])
def test_a_key_with_an_escape_inside_is_removed_completely(within: str) -> None:
    cleaned = Redactor().redact(f"a {KEY[:12]}{within}{KEY[12:]} b").text
    assert KEY[12:] not in cleaned and KEY[:12] not in cleaned
    assert cleaned.startswith("a ") and cleaned.endswith(" b")


@pytest.mark.parametrize("name", ["DB_PASSWORD", "pass\u200bword", "api\x1b[0m_key"])
def test_a_coloured_name_still_identifies_its_value(name: str) -> None:
    text = f"\x1b[1m{name}\x1b[0m=\x1b[32m{PASSWORD}\x1b[0m\nnext"
    cleaned = Redactor().redact(text).text
    assert PASSWORD not in cleaned and cleaned.endswith("next")
    assert PASSWORD not in Redactor().redact(text.replace("\x1b", "")).text
    assert Redactor().redact(cleaned).text == cleaned


def test_a_key_in_a_long_line_of_json_is_removed() -> None:
    for lines in (3, 3_000):
        text = json.dumps({"log": "\n".join(["nothing to see"] * lines + [KEY, "\x1b[32m" + KEY])})
        assert KEY not in Redactor().redact(text).text
        assert KEY not in Redactor().message(text).text
