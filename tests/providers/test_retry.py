"""When requests are retried."""

import random
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.providers.failure import (
    BASE_S,
    CAP_S,
    LONGEST_WAIT_S,
    MAX_RETRIES,
    find_wait_s,
    read_retry_after,
    reconnect_delay,
    retry_delay,
)
from tests.support.rows import each_row

NOW = 1_800_000_000.0


@given(st.integers(1, 60), st.integers())
def test_back_off_is_limited(attempt: int, seed: int) -> None:
    delay_s = retry_delay(attempt, None, random.Random(seed))
    assert 0 <= delay_s <= min(CAP_S, BASE_S * 2 ** (attempt - 1))


def test_back_off_grows_and_is_reproducible() -> None:
    def mean(attempt: int) -> float:
        rng = random.Random(7)
        return sum(retry_delay(attempt, None, rng) for _ in range(2000)) / 2000

    means = [mean(attempt) for attempt in range(1, MAX_RETRIES + 1)]
    assert means == pytest.approx([0.25, 0.5, 1.0, 2.0], rel=0.1)
    assert retry_delay(3, None, random.Random(1)) == retry_delay(3, None, random.Random(1))


@given(st.floats(-10, 1e6))
def test_the_wait_requested_by_the_server_is_respected_within_limits(asked_s: float) -> None:
    assert retry_delay(1, asked_s, random.Random(0)) == min(max(asked_s, 0.0), LONGEST_WAIT_S)


@each_row(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": formatdate(NOW + 20, usegmt=True)}, 20.0),
        ({"retry-after": formatdate(NOW - 20, usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "x", "retry-after": "3"}, 3.0),
    ],
)
def test_retry_headers_are_read(headers: dict[str, str], seconds: float | None) -> None:
    assert read_retry_after(headers, NOW) == seconds


@each_row(
    ("words", "seconds"),
    [
        ("Please try again in 20s.", 20.0),
        ("Please try again in 6m0.5s. Visit", 360.5),
        ("try again in 350ms", 0.35),
        ("Please retry after 14 seconds", 14.0),
        ("Please retry in 39.7s.", 39.7),
        ("slow down", None),
    ],
)
def test_waits_in_messages_are_read(words: str, seconds: float | None) -> None:
    assert find_wait_s(words) == (None if seconds is None else pytest.approx(seconds))


def test_a_restarting_server_has_time_to_load_its_model() -> None:
    assert [reconnect_delay(attempt) for attempt in range(1, MAX_RETRIES + 1)] == [0.5, 2.0, 8.0, 30.0]
