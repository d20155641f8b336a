"""Chunked bodies, split anywhere."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from clio.providers.http1 import ChunkedBody
from tests.support.rows import each_row

BODY = [b"data: {}\n\n", b"x", b"0\r\n\r\n" * 5]


def framed(parts: list[bytes], end: bytes = b"0\r\n\r\n") -> bytes:
    return b"".join(b"%x;a=b\r\n%b\r\n" % (len(part), part) for part in parts) + end


@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=6), st.lists(st.integers(0, 300), max_size=12), st.booleans()
)
def test_a_body_split_anywhere_is_read(parts: list[bytes], cuts: list[int], trailers: bool) -> None:
    wire = framed(parts, b"0\r\nA: b\r\nC: d\r\n\r\n" if trailers else b"0\n\n")
    edges = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    body = ChunkedBody()
    found = b""
    for begin, end in pairwise(edges):
        assert not body.is_over or begin == end == len(wire)
        found += body.feed(wire[begin:end])
    assert (found, body.is_over, body.surplus, body.wrong) == (b"".join(parts), True, False, "")


def test_bytes_after_the_body_are_not_part_of_it() -> None:
    body = ChunkedBody()
    assert body.feed(framed(BODY) + b"HTTP/1.1 200 OK\r\n") == b"".join(BODY)
    assert body.is_over
    assert body.surplus


@each_row(
    ("wire", "wrong"),
    [
        (b"zz\r\n", "not a chunk but b'zz\\r\\n'"),
        (b"-5\r\nhello\r\n", "not a chunk but b'-5\\r\\n'"),
        (b"2\r\nabc\r\n", "a chunk longer than its stated size"),
        (b"1" * 70_000, "a line without an end"),
        (b"0\r\n" + b"A: b\r\n" * 50_000, "trailers without an end"),
    ],
)
def test_invalid_chunks_are_an_error(wire: bytes, wrong: str) -> None:
    body = ChunkedBody()
    assert body.feed(framed(BODY, end=b"") + wire).startswith(b"".join(BODY))  # what came before is valid
    assert body.wrong == wrong
    assert not body.is_over
