"""Reads the body of an error; there is little that servers agree on less."""

import re

import msgspec

from clio.algorithms.json_data import decode_json
from clio.algorithms.late_pattern import LatePattern
from clio.providers.lenient import as_dict, as_list, as_text

_TORN = LatePattern(r'\s*\{\s*"error"\s*:\s*"(.+?)"?\s*\}?\s*', re.DOTALL)


def torn_error(text: str) -> str:
    """The body of an error that is no JSON because its words stand in it as they are; "" where it is none.

    `transformers serve` writes any exception between quotes, those of its own and line breaks included.
    """
    found = _TORN.fullmatch(text)
    return msgspec.json.encode({"error": found[1]}).decode("utf-8") if found else ""


# What an error inside a stream is about, by its type or code, else by its sentence; first match wins.
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
_STATUS_BY_WORDS = (
    ("rate limit", 429),
    ("rate-limit", 429),
    ("too many requests", 429),
    ("overloaded", 503),
    ("high demand", 503),
    ("over capacity", 503),
)


class ErrorBody:
    """The parts of an error that servers agree on least: `{"error": {...}}`, `{"error": "…"}`, `[{...}]`, or text."""

    def __init__(self, body: str) -> None:
        self.raw = body
        try:
            data: object = decode_json(body) if body else None
        except msgspec.DecodeError:
            data = None
        outer = as_dict(next(iter(as_list(data)), data))
        outer = as_dict(outer.get("response")) or outer  # an event of Responses holds the whole answer
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
            or _details(nested.get("detail"))
            or ("" if data is not None or body.lstrip().startswith("<") else body.strip())
        )
        if self.message == "Provider returned error":  # OpenRouter, of a server behind it
            raw = as_text(as_dict(inner.get("metadata")).get("raw"))
            self.message = (ErrorBody(raw).message if raw != body else "") or self.message

    @property
    def status(self) -> int:
        """The HTTP status an error inside a stream would have had; 0 where it does not say."""
        if self.code.isdecimal() and 400 <= int(self.code) < 600:
            return int(self.code)
        words = f"{self.type} {self.code}".lower()
        said = self.message.lower()
        by_code = (status for word, status in _STATUS_BY_CODE if word in words)
        return next(by_code, next((status for word, status in _STATUS_BY_WORDS if word in said), 0))

    def is_about_model(self, model: str) -> bool:
        """Whether the server does not have the model, rather than not having the page."""
        if self.message.startswith("model: "):  # Anthropic names it and says no more
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


def _details(value: object) -> str:
    if isinstance(value, str):
        return value
    return "; ".join(as_text(as_dict(item).get("msg")) for item in as_list(value))
