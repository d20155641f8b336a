"""A document as overlapping windows, and each window as pieces short enough for one vector. Pure.

A token is counted as up to six letters of a word, up to three digits, one character of a script without spaces, or one
other sign, which is a little more than tokenisers of chat models count in prose.
"""

from collections.abc import Iterator

from msgspec import Struct

from clio.text.embedding import is_worth_keeping, windows
from clio.text.lazy_regex import LazyRegex

_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = LazyRegex(rf"[{_UNSPACED}]|[^\W\d_{_UNSPACED}]{{1,6}}|\d{{1,3}}|[^\w\s]|_")
_LINE = LazyRegex(r"[^\n]*\n?")
_WORD = LazyRegex(r"\S+\s*")


class Piece(Struct, frozen=True, kw_only=True):
    """A part of a window, exactly as it stands in the document.

    window: from 0. line: where it begins, from 1.
    """

    window: int
    line: int
    text: str


def count_tokens(text: str) -> int:
    """About how many tokens a text is."""
    return sum(1 for _ in _TOKEN.finditer(text))


def pieces_of(text: str, piece_words: int) -> Iterator[Piece]:
    """The pieces of the windows (512 tokens, 128 of them shared, more than 50 characters) of a document.

    The pieces of a window, put together, are the window. piece_words: how many words one vector says well.
    """
    starts = [token.start() for token in _TOKEN.finditer(text)]
    line, counted = 1, 0
    for number, (first, last) in enumerate(windows(len(starts))):
        start = starts[first] if first else 0
        end = starts[last] if last < len(starts) else len(text)
        if not is_worth_keeping(text[start:end]):
            continue
        line += text.count("\n", counted, start)
        counted = start
        inside = 0
        for piece in _cut(text[start:end], piece_words):
            yield Piece(window=number, line=line + inside, text=piece)
            inside += piece.count("\n")


def _cut(window: str, piece_words: int) -> Iterator[str]:
    """In runs of whole lines of up to so many words; a longer line in runs of words."""
    held, words = "", 0
    for line in _LINE.findall(window):
        size = len(line.split())
        if words and words + size > piece_words:
            yield held
            held, words = "", 0
        if size <= piece_words:
            held, words = held + line, words + size
            continue
        parts = _WORD.findall(line)
        indent = line[: len(line) - len(line.lstrip())]
        for at in range(0, len(parts), piece_words):
            held += ("" if at else indent) + "".join(parts[at : at + piece_words])
            if at + piece_words < len(parts):
                yield held
                held = ""
        words = len(parts) % piece_words or piece_words
    if held.strip():
        yield held
