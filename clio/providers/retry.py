"""How long to wait before a failed request is sent again."""

import random
import re
from collections.abc import Mapping

from clio.algorithms.late_pattern import LatePattern

MAX_RETRIES = 4
BASE_S = 0.5
CAP_S = 30.0
LONGEST_WAIT_S = 120.0
"""A server that asks for more than this is not waited for: nobody sits through it."""
_WAIT_WORDS = LatePattern(
    r"(?:(?:try again|retry|reset)s? (?:in|after)|\bwait)\s+(?:(\d+)m)?\s*([\d.]+)\s*(ms|s\b|sec|m\b|min|$)", re.I
)


def retry_delay(attempt: int, retry_after_s: float | None, rng: random.Random) -> float:
    """Seconds before attempt number `attempt` (1 for the first retry), at most `LONGEST_WAIT_S`.

    What the server asked for, else exponential back-off with full jitter: uniform in [0, min(30, 0.5 * 2^(n-1))].
    Source: Brooker 2015, "Exponential Backoff and Jitter".
    """
    if retry_after_s is not None:
        return min(max(retry_after_s, 0.0), LONGEST_WAIT_S)
    return rng.uniform(0.0, min(CAP_S, BASE_S * 2 ** (attempt - 1)))


def away_delay(attempt: int) -> float:
    """Seconds before the next try of a server that has answered and is away: 0.5, 2, 8 and 30.

    A local server that is started again has to load its model first; 40 seconds in all are enough for most.
    """
    return min(CAP_S, BASE_S * 4 ** (attempt - 1))


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds the server asks to wait, from `retry-after-ms`, or `retry-after` in seconds or as a date; else None."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    from email.utils import parsedate_to_datetime  # 2 ms, and hardly any server names a date

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except ValueError:
        return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None


def wait_in_words(message: str) -> float | None:
    """Seconds a sentence asks to wait, as in "Please try again in 1m6.5s"; None where it does not."""
    found = _WAIT_WORDS.search(message)
    if found is None:
        return None
    scale = {"ms": 0.001, "m": 60.0, "min": 60.0}.get(found[3].lower(), 1.0)
    amount = _number(found[2].rstrip("."))
    return None if amount is None else amount * scale + 60.0 * int(found[1] or 0)
