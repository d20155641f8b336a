"""A failed request as received: the parsed error body, what it complains about, and the delay before a retry."""

import random
import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from clio.providers.base import Chunk
from clio.text.json_data import as_dict, as_list, as_text, decode_json
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr

FailureKind = Literal[
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
    """A failed request, as received.

    Attributes:
        kind: "status" for an HTTP status of 300 or more; "in_stream" for an error object inside an answer of status
            200; the others are failures of the connection, the answer's format or the key.
        status: HTTP status; 0 if there is none.
        headers: with names in lower case.
        body: the body as text, JSON or not.
        detail: the message of the network layer or the parser.
    """

    kind: FailureKind
    status: int = 0
    headers: dict[str, str] = {}
    body: str = ""
    detail: str = ""


class TransportFailed(Exception):
    """A request failed; `failure` says how. Never raised outside of clio.providers."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind} {failure.status} {failure.detail}")
        self.failure = failure


KEY_COMMAND = "api_key_command"
"""Value of `Endpoint.key_variable` if a command prints the key: the name of that setting."""


class Endpoint(Struct, frozen=True, kw_only=True):
    """The server and model of a request, for error messages.

    Attributes:
        key_variable: the environment variable that contains its key, or KEY_COMMAND if a command prints it.
        address_setting: the flag or variable that changes the address.
        doubtful_address: whether the address was built from an unknown region, so that an unresolvable host name
            means a wrong region.
    """

    name: str
    base_url: str
    model: str
    key_variable: str = "OPENAI_API_KEY"
    has_key: bool = True
    address_setting: str = "--base-url"
    doubtful_address: bool = False


MAX_CHARS = 8_000_000
"""Maximum of text, reasoning and tool arguments of one answer together, ten times the longest answers of models."""
MAX_CALLS = 500
MAX_EMPTY = 100_000
"""Maximum of consecutive events without content."""
MAX_SILENCE_S = 1_800.0
"""Maximum time without an event. Keep-alive comments do not count: a server could send them without end."""


class AnswerBounds:
    """Counts the content of one answer, to end one that would not stop."""

    def __init__(self) -> None:
        self._chars = self._empty = 0

    def count_chunks(self, chunks: Sequence[Chunk]) -> None:
        """Count the content of one event. Raises TransportFailed if the answer exceeds a maximum."""
        if not chunks:
            self._empty += 1
            if self._empty > MAX_EMPTY:
                raise make_endless_error(tr("{max_empty:,} events in a row without content", max_empty=MAX_EMPTY))
            return
        self._empty = 0
        for chunk in chunks:
            self._chars += len(chunk.text) + len(chunk.reasoning)
            for call in chunk.tool_calls:
                self._chars += len(call.arguments)
                if call.index >= MAX_CALLS:
                    raise make_endless_error(
                        tr("more than {max_calls:,} tool calls in one answer", max_calls=MAX_CALLS)
                    )
        if self._chars > MAX_CHARS:
            raise make_endless_error(tr("more than {max_chars:,} characters in one answer", max_chars=MAX_CHARS))


def make_endless_error(problem: str) -> TransportFailed:
    """Return the exception for an answer that exceeds a maximum. problem: the object of "<server> sent …"."""
    return TransportFailed(Failure(kind="endless", detail=problem))


MAX_RETRIES = 4
BASE_S = 0.5
CAP_S = 30.0
LONGEST_WAIT_S = 120.0
"""Longest wait before a retry; if a server asks for more, the turn fails with that time in its message."""
_WAIT_PHRASE = LazyRegex(
    r"(?:(?:try again|retry|reset)s? (?:in|after)|\bwait)\s+(?:(\d+)m)?\s*([\d.]+)\s*(ms|s\b|sec|m\b|min|$)", re.I
)


def retry_delay(attempt: int, retry_after_s: float | None, rng: random.Random) -> float:
    """Return the seconds before retry number `attempt`, from 1; at most `LONGEST_WAIT_S`.

    The server's `retry_after_s` if given, else exponential backoff with full jitter: uniform in
    [0, min(30, 0.5 * 2^(attempt - 1))].
    Source: Brooker 2015, "Exponential Backoff and Jitter".
    """
    if retry_after_s is not None:
        return min(max(retry_after_s, 0.0), LONGEST_WAIT_S)
    return rng.uniform(0.0, min(CAP_S, BASE_S * 2 ** (attempt - 1)))


def reconnect_delay(attempt: int) -> float:
    """Return the seconds before retry number `attempt` if a server has answered before and is now unreachable.

    0.5, 2, 8 and 30: 40 seconds in total, enough for most local servers to restart and load their model.
    """
    return min(CAP_S, BASE_S * 4 ** (attempt - 1))


def read_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds to wait from `retry-after-ms`, or `retry-after` in seconds or as a date; None without.

    now: seconds since the epoch.
    """
    milliseconds = _parse_number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    seconds = _parse_number(value)
    if seconds is not None or not value:
        return seconds
    from email.utils import parsedate_to_datetime  # takes 2 ms, and hardly any server sends a date

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except ValueError:
        return None


def _parse_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None


def find_wait_s(message: str) -> float | None:
    """Return the seconds to wait in an error message such as "Please try again in 1m6.5s"; None if it has none."""
    found = _WAIT_PHRASE.search(message)
    if found is None:
        return None
    scale = {"ms": 0.001, "m": 60.0, "min": 60.0}.get(found[3].lower(), 1.0)
    amount = _parse_number(found[2].rstrip("."))
    return None if amount is None else amount * scale + 60.0 * int(found[1] or 0)


_UNESCAPED_ERROR = LazyRegex(r'\s*\{\s*"error"\s*:\s*"(.+?)"?\s*\}?\s*', re.DOTALL)


def repair_error_body(text: str) -> str:
    """Return valid JSON for an error object whose message is not escaped; "" if the text is not such an object.

    `transformers serve` puts the text of any exception between quotes, without escaping quotes and line breaks in it.
    """
    found = _UNESCAPED_ERROR.fullmatch(text)
    return msgspec.json.encode({"error": found[1]}).decode("utf-8") if found else ""


# The HTTP status that corresponds to an error inside a stream: by its type or code, else by its message; first match.
_STATUS_BY_CODE = (
    ("rate_limit", 429),
    ("insufficient_quota", 429),
    ("resource_exhausted", 429),
    ("overloaded", 503),
    ("slow_down", 503),
    ("unavailable", 503),
    ("server_error", 500),
    ("api_error", 500),
    ("internal", 500),
    ("timeout", 504),
    ("authentication", 401),
    ("permission", 403),
    ("billing", 402),
    ("too_large", 413),
    ("not_found", 404),
    ("invalid", 400),
    ("bad_request", 400),
    ("unsupported", 400),
    ("image", 400),
    ("policy", 400),
    ("content_filter", 400),
)
_STATUS_BY_PHRASE = (
    ("rate limit", 429),
    ("rate-limit", 429),
    ("too many requests", 429),
    ("overloaded", 503),
    ("high demand", 503),
    ("over capacity", 503),
)


class ErrorBody:
    """The code, type and message in an error body: `{"error": {...}}`, `{"error": "…"}`, `[{...}]`, or plain text."""

    def __init__(self, body: str) -> None:
        self.raw = body
        try:
            data: object = decode_json(body) if body else None
        except msgspec.DecodeError:
            data = None
        outer = as_dict(next(iter(as_list(data)), data))
        outer = as_dict(outer.get("response")) or outer  # an event of Responses contains the whole answer
        inner = as_dict(outer.get("error")) or as_dict(outer.get("base_resp")) or outer
        nested = as_dict(inner.get("message")) or inner
        self.code = str(inner.get("code") or outer.get("code") or inner.get("status_code") or "")
        self.type = as_text(inner.get("type")) or as_text(inner.get("status"))
        self.message = (
            as_text(nested.get("message"))
            or as_text(outer.get("error"))
            or as_text(inner.get("msg"))
            or as_text(inner.get("status_msg"))  # MiniMax
            or as_text(outer.get("Message"))  # Amazon
            or _join_details(nested.get("detail"))
            or ("" if data is not None or body.lstrip().startswith("<") else body.strip())
        )
        if self.message == "Provider returned error":  # OpenRouter: the actual error is in `metadata`
            raw = as_text(as_dict(inner.get("metadata")).get("raw"))
            self.message = (ErrorBody(raw).message if raw != body else "") or self.message

    @property
    def status(self) -> int:
        """The HTTP status that an error inside a stream corresponds to; 0 if it is unknown."""
        if self.code.isdecimal() and 400 <= int(self.code) < 600:
            return int(self.code)
        codes = f"{self.type} {self.code}".lower()
        message = self.message.lower()
        by_code = (status for part, status in _STATUS_BY_CODE if part in codes)
        return next(by_code, next((status for phrase, status in _STATUS_BY_PHRASE if phrase in message), 0))

    def is_about_model(self, model: str) -> bool:
        """Whether the error says that the server does not offer the model, as opposed to the endpoint."""
        if self.message.startswith("model: "):  # Anthropic's whole message is "model: NAME"
            return True
        if "model_not_found" in self.raw or "model_not_available" in self.raw:
            return True
        if not re.search(r"\bmodels?\b", self.message, re.IGNORECASE):
            return False
        return bool(
            re.search(
                r"not found|not exist|no such|unknown|invalid|not a valid|not supported|unavailable|not available"
                r"|no (?:longer|endpoints)|not loaded|no models",
                self.message,
                re.IGNORECASE,
            )
        ) and (
            model.lower() in self.message.lower()
            or bool(re.search(r"model\W+(?:\S+\W+)?(?:is )?not|invalid model|unknown model", self.message, re.I))
        )


def _join_details(value: object) -> str:
    if isinstance(value, str):
        return value
    return "; ".join(as_text(as_dict(item).get("msg")) for item in as_list(value))


_MAX_CHARS = 4_000
_QUOTING_FIELDS = frozenset(("input", "ctx", "url", "doc_url", "request", "request_id", "body", "received", "value"))
"""Fields of an error body that quote the request or link to documentation, and are not part of the complaint."""
_UNWANTED = LazyRegex(
    r"unsupported|unrecogni[sz]ed|unknown|unexpected|extra_forbidden|cannot find field|additional propert"
    r"|no support for|invalid[_ ](?:value|enum|parameter|argument|field)|must be verified"
    r"|(?:not|isn't|n't|never) (?:be )?(?:currently )?"
    r"(?:supported|permitted|allowed|enabled|available|accepted|recogni[sz]ed|implemented|valid)"
    r"|(?:does not|doesn't|do not|cannot|can't) (?:support|accept|allow|take|recogni[sz]e)",
    2,
)
_ALTERNATIVES = LazyRegex(
    r"expected one of|did you mean"
    r"|\b(?:supported|valid|allowed|accepted|known|permitted)(?: \w+)?(?: (?:are|is)\b|:)",
    2,
)
"""Phrases before a list of valid names, which are not what the error complains about."""


def extract_complaint(body: str) -> str:
    """Return the messages, parameter names and codes in an error body, one per line, without quotes of the request.

    At most `_MAX_CHARS` characters.
    """
    try:
        data: object = decode_json(body)
    except (msgspec.DecodeError, RecursionError):
        return body[:_MAX_CHARS]
    found: list[str] = []
    _collect_texts(data, found, 0)
    return "\n".join(found)[:_MAX_CHARS]


def _collect_texts(value: object, found: list[str], depth: int) -> None:
    if isinstance(value, str):
        text = value.strip()
        if text[:1] in ("{", "[") and depth < 6:  # a gateway quotes the error of the server behind it as a JSON string
            try:
                _collect_texts(decode_json(text), found, depth + 1)
            except (msgspec.DecodeError, RecursionError):
                found.append(text)
        elif text:
            found.append(text)
        return
    if isinstance(value, list):
        items = as_list(value)  # pyright: ignore[reportUnknownArgumentType]
        path = [str(item) for item in items if isinstance(item, str | int)]
        if path and len(path) == len(items):  # a path in the request: ["body", "reasoning", "effort"]
            found.append("." + ".".join(path))
            return
        for item in items[:50]:
            _collect_texts(item, found, depth + 1)
        return
    for name, item in as_dict(value).items():
        if name not in _QUOTING_FIELDS and depth < 8:
            _collect_texts(item, found, depth + 1)


def says_unsupported(text: str) -> bool:
    """Whether an error text says that something is not supported, as opposed to missing or too large."""
    return bool(_UNWANTED.search(text))


def names_field(text: str, field: str) -> bool:
    """Whether an error text is about this field of the request, such as "store" or "reasoning.summary".

    Field names are English words too, so a name counts only if it is quoted, at the end of a path, after "parameter"
    or a similar word, or at the start of a line. Names in a list of alternatives do not count.
    """
    if (other := _ALTERNATIVES.search(text)) is not None:
        text = text[: other.start()]
    name = re.escape(field)
    return bool(
        re.search(
            rf"(?:[\"'`.\]]|(?:parameter|param|argument|supplied|field|key|property|properties|keyword)(?:\(?s\)?)?:?\s+[\"'`(]*"
            rf"|^|\n){name}(?![\w.\[])",
            text,
            re.IGNORECASE,
        )
    )
