"""The words inside of the names of code: "fetchWithBackoff" says fetch and backoff, "uart2" says uart. Pure."""

from clio.algorithms.late_pattern import LatePattern

_NAME = LatePattern(r"[A-Za-z0-9]{4,80}")
_HUMP = LatePattern(r"[a-z][A-Z]|[A-Z][A-Z][a-z]|[A-Za-z]{3}\d")
_PART = LatePattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LEAST = 3


def parts(text: str) -> list[str]:
    """The parts of three letters or more of names that have several, folded; a plain word has none."""
    return [
        part.lower()
        for name in _NAME.findall(text)
        if _HUMP.search(name)
        for part in _PART.findall(name)
        if len(part) >= _LEAST
    ]
