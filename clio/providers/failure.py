"""A request that failed, as seen on the wire: limits of an answer, and how long to wait before a retry."""

import random
import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from clio.providers.base import Chunk
from clio.text.lazy_regex import LazyRegex

Kind = Literal[
    "status",
    "in_stream",
    "refused",
    "dns",
    "tls",
    "proxy",
    "connect_timeout",
    "timeout",
    "broken",
    "malformed",
    "endless",
    "key",
]


class Failure(Struct, frozen=True, kw_only=True):
    """A failed request, as seen on the wire.

    kind: "status" for an HTTP status of 300 or more; "in_stream" for an error object inside a 200 answer, with the
    status that is like it where the object itself names none.
    headers: names in lower case. body: as text, JSON or not. detail: what the network layer said.
    """

    kind: Kind
    status: int = 0
    headers: dict[str, str] = {}
    body: str = ""
    detail: str = ""


class TransportFailed(Exception):
    """A request failed; `failure` says how. Never leaves the providers."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind} {failure.status} {failure.detail}")
        self.failure = failure


KEY_COMMAND = "api_key_command"
"""The setting that names a command, as `Endpoint.key_variable`."""


class Endpoint(Struct, frozen=True, kw_only=True):
    """Whom a request was for.

    key_variable: the environment variable its key is expected in, or KEY_COMMAND where a command prints it.
    address_setting: what the user would change to reach another address. doubtful_address: whether it was made of a
    region that is not known, so that a host name without an address means a wrong region.
    """

    name: str
    base_url: str
    model: str
    key_variable: str = "OPENAI_API_KEY"
    has_key: bool = True
    address_setting: str = "--base-url"
    doubtful_address: bool = False


MAX_CHARS = 8_000_000
"""Of words, thoughts and arguments together; the longest answers of today's models have a tenth of it."""
MAX_CALLS = 500
MAX_EMPTY = 100_000
"""Events in a row that hold nothing."""
WITHOUT_WORDS_S = 1_800.0
"""Signs of life do not count: a server that sends nothing else would be waited for as long as it likes."""


class Bounds:
    """Counts one answer."""

    def __init__(self) -> None:
        self._chars = self._empty = 0

    def take(self, chunk: Chunk | None) -> None:
        """Count what an event held. Raises TransportFailed where it is more than an answer can be."""
        if chunk is None:
            self._empty += 1
            if self._empty > MAX_EMPTY:
                raise endless(f"{MAX_EMPTY:,} events in a row that hold nothing")
            return
        self._empty = 0
        self._chars += len(chunk.text) + len(chunk.reasoning)
        for call in chunk.tool_calls:
            self._chars += len(call.arguments)
            if call.index >= MAX_CALLS:
                raise endless(f"more than {MAX_CALLS:,} tool calls in one answer")
        if self._chars > MAX_CHARS:
            raise endless(f"more than {MAX_CHARS:,} characters in one answer")


def endless(what: str) -> TransportFailed:
    """The failure of an answer without an end. what: as in "sent …"."""
    return TransportFailed(Failure(kind="endless", detail=what))


MAX_RETRIES = 4
BASE_S = 0.5
CAP_S = 30.0
LONGEST_WAIT_S = 120.0
"""A server that asks for more than this is not waited for: nobody sits through it."""
_WAIT_WORDS = LazyRegex(
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
