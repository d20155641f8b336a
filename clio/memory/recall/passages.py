"""A long text cut into the pieces that are found one by one. Pure."""

import re

PASSAGE_CHARS = 700
MAX_PASSAGES = 120
_BREAK = re.compile(r"\n\s*\n|\n|(?<=[.!?])\s")


def passages(text: str) -> list[str]:
    """The text in pieces of up to 700 characters, cut where a paragraph, a line or a sentence ends; none is empty.

    Put together they are the text, but for empty lines. One that would give more than 120 pieces is cut into
    longer ones.
    """
    size = max(PASSAGE_CHARS, -(-len(text) // MAX_PASSAGES) * 2)
    if len(text) <= size:
        return [text] if text.strip() else []
    pieces: list[str] = []
    start = 0
    while len(text) - start > size:
        end = start + size
        breaks = [found.end() for found in _BREAK.finditer(text, start + size // 2, end)]
        end = breaks[-1] if breaks else end
        pieces.append(text[start:end])
        start = end
    pieces.append(text[start:])
    return [piece for piece in pieces if piece.strip()]
