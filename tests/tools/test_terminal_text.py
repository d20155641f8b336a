from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from clio.tools.shell.processes import BoundedText, TerminalText
from tests.support.rows import each_row


def clean(*pieces: bytes) -> str:
    terminal = TerminalText()
    return "".join(terminal.feed(piece) for piece in pieces) + terminal.finish()


@each_row(
    ("raw", "text"),
    [
        (b"\x1b[31mred\x1b[0m\n", "red\n"),
        (b"\x1b]0;title\x07x\x1b]8;;http://a\x1b\\y\n", "xy\n"),
        (b"10%\r20%\r100%\ndone\n", "100%\ndone\n"),
        (b"10%\r\x1b[K20%\r\x1b[Kdone", "done"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"abc\x08\x08xy\n", "axy\n"),
        (b"bell\x07 nul\x00\n", "bell nul\n"),
        ("é漢字 \ttab\n".encode(), "é漢字 \ttab\n"),
        (b"bad \xff byte\n", "bad \ufffd byte\n"),
        (b"\x1b(B\x1b[mplain\x1b=\n", "plain\n"),
        (b"torn \x1b[3", "torn "),
    ],
)
def test_text_as_a_terminal_would_show_it(raw: bytes, text: str) -> None:
    assert clean(raw) == text


pieces = st.sampled_from([b"a", b"\xc3\xa9", b"\r", b"\n", b"\x1b[1;31m", b"\x1b[K", b"\x1b]0;t\x07", b"50%", b"\r\n"])


@given(st.lists(pieces, max_size=30).map(b"".join), st.lists(st.integers(0, 60), max_size=8))
def test_pieces_do_not_matter(raw: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    assert clean(*(raw[a:b] for a, b in pairwise(edges))) == clean(raw)


def test_an_endless_line_is_passed_on_in_pieces() -> None:
    terminal = TerminalText()
    text = "".join(terminal.feed(b"x" * 50_000) for _ in range(10))
    assert len(text) >= 400_000
    assert len(text + terminal.finish()) == 500_000


def test_endless_progress_output_is_not_kept() -> None:
    terminal = TerminalText()
    for number in range(100_000):
        assert terminal.feed(b"%d%%\r" % number) == ""
    assert terminal.finish() == "99999%"


@given(st.lists(st.text(max_size=50), max_size=40), st.integers(2, 60), st.integers(0, 400))
def test_limited_text_keeps_both_ends(parts: list[str], max_chars: int, offset: int) -> None:
    bounded = BoundedText(max_chars)
    for part in parts:
        bounded.add(part)
    whole, half = "".join(parts), max_chars // 2
    assert bounded.total_chars == len(whole)
    if len(whole) <= 2 * half:
        assert bounded.text_from(offset) == whole[offset:]
        return
    left = len(whole) - 2 * half
    assert bounded.text() == f"{whole[:half]}\n[… {left:,} characters are not kept …]\n{whole[-half:]}"
    assert bounded.text_from(len(whole) - half + 1) == whole[len(whole) - half + 1 :]
