"""What a server's refusal complains about: which field of a request, which of its values. Pure.

Makers agree on neither the shape of a refusal nor its words; the tests hold those of sixteen servers.
"""

import re

import msgspec

from clio.algorithms.json_data import decode_json
from clio.algorithms.late_pattern import LatePattern
from clio.providers.lenient import as_dict, as_list

_MAX_CHARS = 4_000
_ECHOES = frozenset(("input", "ctx", "url", "doc_url", "request", "request_id", "body", "received", "value"))
"""Fields of a refusal that quote the request, or lead elsewhere: what they hold is no complaint."""
_UNWANTED = LatePattern(
    r"unsupported|unrecogni[sz]ed|unknown|unexpected|extra_forbidden|cannot find field|additional propert"
    r"|no support for|invalid[_ ](?:value|enum|parameter|argument|field)|must be verified"
    r"|(?:not|isn't|n't|never) (?:be )?(?:currently )?"
    r"(?:supported|permitted|allowed|enabled|available|accepted|recogni[sz]ed|implemented|valid)"
    r"|(?:does not|doesn't|do not|cannot|can't) (?:support|accept|allow|take|recogni[sz]e)",
    2,
)
_ALTERNATIVES = LatePattern(
    r"expected one of|did you mean"
    r"|\b(?:supported|valid|allowed|accepted|known|permitted)(?: \w+)?(?: (?:are|is)\b|:)",
    2,
)
"""What begins a list of names that are not complained about."""


def complaint(body: str) -> str:
    """The words of a refusal without what it quotes of the request: messages, parameters, codes, one a line."""
    try:
        data: object = decode_json(body)
    except (msgspec.DecodeError, RecursionError):
        return body[:_MAX_CHARS]
    found: list[str] = []
    _collect(data, found, 0)
    return "\n".join(found)[:_MAX_CHARS]


def _collect(value: object, found: list[str], depth: int) -> None:
    if isinstance(value, str):
        text = value.strip()
        if text[:1] in ("{", "[") and depth < 6:  # a gateway quotes the refusal of the server behind it
            try:
                _collect(decode_json(text), found, depth + 1)
            except (msgspec.DecodeError, RecursionError):
                found.append(text)
        elif text:
            found.append(text)
        return
    if isinstance(value, list):
        items = as_list(value)  # pyright: ignore[reportUnknownArgumentType]
        path = [str(item) for item in items if isinstance(item, str | int)]
        if path and len(path) == len(items):  # where in the request: ["body", "reasoning", "effort"]
            found.append("." + ".".join(path))
            return
        for item in items[:50]:
            _collect(item, found, depth + 1)
        return
    for name, item in as_dict(value).items():
        if name not in _ECHOES and depth < 8:
            _collect(item, found, depth + 1)


def is_unwanted(text: str) -> bool:
    """Whether the words of a refusal say that something is not taken at all, rather than missing or too large."""
    return bool(_UNWANTED.search(text))


def names_field(text: str, field: str) -> bool:
    """Whether the words of a refusal are about this field of the request: "store", "reasoning.summary".

    Names are plain English words too, so one counts only where it is written as a name: quoted, at the end of a path,
    behind "parameter" and its like, or first of all. What is named as an alternative does not count.
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
