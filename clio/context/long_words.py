"""Words of a person that are too long for the window: their two ends, and the whole kept beside them. Pure."""

from collections.abc import Callable

from msgspec import Struct

from clio.tokens import text_units

_HEAD_SHARE = 0.6
_NOTICE_TOKENS = 80


class Words(Struct, frozen=True, kw_only=True):
    """What is sent of a message. blob: the handle of all of it, where that is more."""

    text: str
    blob: str | None = None


def fit_words(text: str, window_tokens: int, ratio: float, keep: Callable[[str], str]) -> Words:
    """The words; of more than half a window a quarter, with a notice between head and tail that says how to read all.

    ratio: units a token, see `clio.tokens`. keep: stores a text and returns its handle.
    """
    tokens = text_units(text) / ratio
    if tokens <= window_tokens // 2:
        return Words(text=text)
    blob = keep(text)
    room = max(window_tokens // 4 - _NOTICE_TOKENS, 1)
    chars = max(int(len(text) * room / tokens), 2)
    head, tail = int(chars * _HEAD_SHARE), chars - int(chars * _HEAD_SHARE)
    first, last = _to_line_end(text[:head]), _from_line_start(text[-tail:])
    gone = len(text) - len(first) - len(last)
    notice = (
        f"[… {gone:,} of {len(text):,} characters of this message left out: it is longer than half of the window; "
        f'read_output("{blob}") gives all of it, page by page …]'
    )
    return Words(text=f"{first}\n{notice}\n{last}", blob=blob)


def _to_line_end(head: str) -> str:
    at = head.rfind("\n")
    return head[:at] if at > len(head) // 2 else head


def _from_line_start(tail: str) -> str:
    at = tail.find("\n") + 1
    return tail[at:] if 0 < at < len(tail) // 2 else tail
