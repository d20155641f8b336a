"""Text as code in Markdown that nothing in the text can end."""

from clio.algorithms.late_pattern import LatePattern

_TICKS = LatePattern("`+")


def span(text: str) -> str:
    """Text on one line as code within a sentence; the blanks at its ends are those Markdown takes away."""
    ticks = "`" * (_longest(text) + 1)
    return f"{ticks} {text} {ticks}" if "`" in text or text != text.strip() else f"{ticks}{text}{ticks}"


def block(text: str, language: str = "") -> str:
    """Text of any lines, without its last line end, as a block of code."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)
