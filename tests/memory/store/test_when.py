"""Times as users write them, in local time."""

from datetime import datetime

import pytest

from clio.errors import UserError
from clio.time_expressions import parse_when

NOW = datetime(2026, 5, 14, 15, 30, 20).timestamp()


@pytest.mark.parametrize(
    ("text", "then"),
    [
        ("2026-05-01", (2026, 5, 1, 23, 59, 59)),
        ("2026-05-01 14:30", (2026, 5, 1, 14, 30, 0)),
        ("2026-05-01T14:30:05", (2026, 5, 1, 14, 30, 5)),
        ("30d", (2026, 4, 14, 15, 30, 20)),
        ("2w", (2026, 4, 30, 15, 30, 20)),
        ("2 weeks ago", (2026, 4, 30, 15, 30, 20)),
        ("3h", (2026, 5, 14, 12, 30, 20)),
        (" Yesterday ", (2026, 5, 13, 23, 59, 59)),
        ("today", (2026, 5, 14, 23, 59, 59)),
        ("now", (2026, 5, 14, 15, 30, 20)),
        ("last month", (2026, 4, 14, 15, 30, 20)),
        ("last week", (2026, 5, 7, 15, 30, 20)),
    ],
)
def test_a_time_is_parsed(text: str, then: tuple[int, ...]) -> None:
    assert datetime.fromtimestamp(parse_when(text, NOW)).timetuple()[:6] == then


@pytest.mark.parametrize("text", ["2026-05-01", "yesterday"])
def test_since_a_day_begins_at_its_first_second(text: str) -> None:
    begun = datetime.fromtimestamp(parse_when(text, NOW, starts=True))
    assert (begun.hour, begun.minute, begun.second) == (0, 0, 0)


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "99999y", "d", "-3d", "last night", "14:30", "2026-02-30"])
def test_an_invalid_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UserError, match="2026-05-01"):
        parse_when(text, NOW)
