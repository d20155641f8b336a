"""Server-sent events parsed from bytes split anywhere."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clio.providers import http1
from clio.providers.http1 import EventStream, EventTooLong

LINES = st.sampled_from(
    [b"data: a", b"data:b", b"data", b"data:  c", b": hm", b"event: x", b"id: 1", "data: 漢".encode(), b"", b""]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


def by_the_standard(lines: list[bytes]) -> list[bytes]:
    """Return the events of complete lines, by the wording of the standard."""
    found: list[bytes] = []
    data = b""
    for line in lines:
        if not line:
            if data:
                found.append(data[:-1])
            data = b""
        elif line == b"data" or line.startswith(b"data:"):
            value = line[5:]
            data += (value[1:] if value.startswith(b" ") else value) + b"\n"
    return [event for event in found if event]


@given(lines=st.lists(st.tuples(LINES, ENDS), max_size=12), cuts=st.lists(st.integers(0, 120), max_size=8))
def test_where_the_bytes_are_split_makes_no_difference(lines: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    # a line ending in CR before an empty one ending in LF would be a single line break
    assume(not any(end == b"\r" and after == (b"", b"\n") for (_, end), after in pairwise(lines)))
    whole = b"".join(line + end for line, end in lines)
    stream = EventStream()
    found: list[bytes] = []
    at = 0
    for cut in [*sorted(cut for cut in cuts if cut < len(whole)), len(whole)]:
        found += stream.feed(whole[at:cut])
        at = cut
    assert found == by_the_standard([line for line, _ in lines])


def test_the_end_of_the_stream_ends_the_last_event() -> None:
    stream = EventStream()
    assert stream.feed(b"data: a\n\ndata: b\ndata: c") == [b"a"]
    assert stream.end() == b"b\nc"
    assert stream.end() == b""


def test_a_stream_without_line_breaks_has_a_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http1, "MAX_EVENT_BYTES", 10)
    stream = EventStream()
    assert stream.feed(b"data: 123\n\ndata: 45\n\n") == [b"123", b"45"]
    with pytest.raises(EventTooLong):
        stream.feed(b"data: 123456")
