"""Secrets in base64, a private key or lines such as `NAME=secret`: decoded, looked into, and replaced whole. Pure."""

import base64
import binascii
import re
from collections.abc import Iterator

from clio.algorithms.late_pattern import LatePattern
from clio.security.redaction.assignments import named_spans
from clio.security.redaction.patterns import MAX_BLOCK_CHARS, Span

_SHORTEST = 20
_MAP = bytes(120 if chr(code).isascii() and (chr(code).isalnum() or chr(code) in "+/") else 32 for code in range(256))
_RUN = b"x" * _SHORTEST
_END = re.compile(rb"x*")
_PRINTABLE = re.compile(rb"[\t\n\r\x20-\x7e]*\Z")
_KEY_HEAD = "LS0tLS1CRUdJTi"
_MORE_LINES = LatePattern(r"(?:\r?\n[ \t]{0,40}[A-Za-z0-9+/]{2,120}(?![A-Za-z0-9+/:_.-]))*={0,2}")
_OPEN_LINES = LatePattern(r"LS0tLS1CRUdJTi[A-Za-z0-9+/\s]*={0,2}\s?\Z")


def encoded_spans(text: str) -> Iterator[Span]:
    """Runs of base64 with a secret in them."""
    shape = text.encode("latin-1", "replace").translate(_MAP)
    place = shape.find(_RUN)
    done = 0
    while place >= 0:
        match = _END.match(shape, place)
        end = match.end() if match else place + 1
        if place >= done and _begins_readable(text[place : place + 24]):
            last = end
            if text.startswith(_KEY_HEAD, place) and (more := _MORE_LINES.match(text, end, place + MAX_BLOCK_CHARS)):
                last = more.end()
            while last < len(text) and text[last] == "=" and last < end + 2:
                last += 1
            if _holds_secret("".join(text[place:last].split())):
                yield Span(place, last, "encoded-secret", 190)
                done = last
        place = shape.find(_RUN, end)


def open_encoded(text: str, end: int) -> int | None:
    """Where a private key in base64 begins that goes on over several lines; None for nowhere."""
    place = text.rfind(_KEY_HEAD, max(0, end - MAX_BLOCK_CHARS), end)
    return place if place >= 0 and _OPEN_LINES.match(text, place, end) else None


def _begins_readable(head: str) -> bool:
    try:
        start = base64.b64decode(head[: len(head) // 4 * 4])
    except (binascii.Error, ValueError):
        return False
    return _PRINTABLE.match(start) is not None


def _holds_secret(run: str) -> bool:
    bare = run.rstrip("=")[:MAX_BLOCK_CHARS]
    try:
        decoded = base64.b64decode(bare[: len(bare) // 4 * 4] if len(bare) % 4 == 1 else bare + "=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return False
    if _PRINTABLE.match(decoded) is None:
        return False
    plain = decoded.decode("ascii")
    if "PRIVATE KEY-----" in plain:
        return True
    return next(named_spans(plain), None) is not None
