"""Values as a screen may show them: secrets masked, control characters escaped, long ones cut."""

import json
import re

from clio.algorithms.late_pattern import LatePattern

_PASSWORD = LatePattern(r"(?<=://)[^/@\s]*@")
_SECRET_QUERY = LatePattern(r"([?&][^=&#]*(?:key|token|secret|password|auth)[^=&#]*=)[^&#]+", re.IGNORECASE)
_MAX_CHARS = 200


def masked(name: str, value: str) -> str:
    """The text of a setting without its secret: of a key at most the last four characters stay."""
    if name == "api_key":
        return "…" + value[-4:] if len(value) >= 16 else "…"
    if name.rpartition(".")[2] == "api_key_command":
        return value.split(maxsplit=1)[0] + (" …" if len(value.split()) > 1 else "")
    if name in ("base_url", "embedding_base_url"):
        return _SECRET_QUERY.sub(r"\1…", _PASSWORD.sub("…@", value))
    return value


def shown_value(name: str, value: object) -> str:
    """One value on one line, in the way YAML writes it; text is quoted only where it must be."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return str(value)
    text = masked(name, value)
    text = text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 1] + "…"
    return text if text.isprintable() and text.strip() == text and text else json.dumps(text)
