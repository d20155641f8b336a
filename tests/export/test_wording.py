"""The text for calls, times and numbers in exports."""

from typing import Any

from clio.export.document import ExportedCall, format_call_title, format_minute, format_plain, format_span
from clio.text.formatting import format_count
from tests.support.rows import each_row


@each_row(
    ("arguments", "title"),
    [
        ({"path": "shop/prices.py", "offset": 3}, "shop/prices.py"),
        ({"operation": "diff", "path": "shop"}, "diff shop"),
        ({"operation": "status"}, "status"),
        ({"command": "pytest -q \\\n  tests"}, "pytest -q \\ tests"),
        ({"pattern": "def total", "path": ""}, "def total"),
        ({"anything": "else", "n": 3}, "else 3"),
        ({"paths": ["a.py", "b.py"]}, "a.py, b.py"),
        ({}, ""),
        ("{broken", "{broken"),
        ([1, 2], "[ 1, 2 ]"),
        ({"command": "x" * 200}, "x" * 99 + "…"),
        (
            {"path": "/home/dev/source/shop/packages/checkout/src/prices/rounding.py"},
            "…/shop/packages/checkout/src/prices/rounding.py",
        ),
        ({"path": "x" * 60}, "…" + "x" * 48),
    ],
)
def test_a_call_is_named_by_its_subject(arguments: Any, title: str) -> None:
    assert format_call_title(ExportedCall(id="c", name="n", arguments=arguments)) == title


@each_row(
    ("seconds", "words"),
    [(0.34, "0.3 s"), (59, "59.0 s"), (61, "1 min"), (3_600, "1 h"), (7_500, "2 h 5 min"), (1e6, "11 days")],
)
def test_durations_are_short(seconds: float, words: str) -> None:
    assert format_span(seconds) == words


def test_invalid_times_are_empty() -> None:
    assert format_minute(0) == format_minute(-5) == format_minute(1e30) == format_minute(float("nan")) == ""
    assert format_minute(1_760_000_000) == "2025-10-09 08:53"


def test_numbers_have_their_noun() -> None:
    assert (format_count(1, "call"), format_count(1_234, "call")) == ("1 call", "1,234 calls")


def test_values_are_formatted_for_readers() -> None:
    assert format_plain(["a", "b"]) == "a, b"
    assert format_plain(True) == "true"
    assert format_plain({"a": [1]}) == '{\n  "a": [\n    1\n  ]\n}'
