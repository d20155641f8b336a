"""Removal of control characters and sequences from text of models and tools."""

import re

from hypothesis import given
from hypothesis import strategies as st

from clio.ui.safe_text import StreamCleaner, clean, clean_line, escape_controls, restore_full_line
from tests.support.examples import examples

PARTS = st.sampled_from([
    "a", "漢", "\n", "\t", "\r\n", "\r", "\x1b", "\x1b[", "[31m", "\x1b[0m", "\x1b]0;t", "\x07", "\x1b\\", "\x9b", "1m",
    "\x08", "\x7f", "\x85", "\u202e", "\u2066", "\ud800", "]", ";", " ", "\x1b(B", "\x1bc", "P", "\x1bP",
])  # fmt: skip
HARMFUL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@given(st.lists(PARTS, max_size=30))
@examples(100)
def test_no_harmful_sequence_remains_in_any_pieces(parts: list[str]) -> None:
    cleaner = StreamCleaner()
    streamed = "".join([cleaner.feed(part) for part in parts]) + cleaner.finish()
    assert not HARMFUL.search(streamed)
    assert not HARMFUL.search(clean("".join(parts)))
    assert not HARMFUL.search(escape_controls("".join(parts)))


def test_sequences_are_removed_and_text_is_kept() -> None:
    assert clean("a\x1b[1;31mb\x1b[0mc\x1b]8;;http://x\x1b\\link\x1b]8;;\x07d\te\r\nf\rg\x1bch") == "abclinkd\te\nf\ngh"
    assert clean("👩‍👩‍👧 é 漢字") == "👩‍👩‍👧 é 漢字"
    assert clean_line(" a\n  b\t c\x07 ") == "a b c"


def test_a_sequence_cut_in_two_is_recognized() -> None:
    cleaner = StreamCleaner()
    assert [cleaner.feed(part) for part in ("a\x1b", "[3", "1mb\r", "\nc")] == ["a", "", "b", "\nc"]


def test_an_unterminated_sequence_does_not_swallow_the_answer() -> None:
    cleaner = StreamCleaner()
    text = cleaner.feed("a\x1b]0;" + "title " * 200) + cleaner.feed("more") + cleaner.finish()
    assert text.startswith("a") and text.endswith("more") and "title" in text


def test_for_an_approval_everything_is_shown_as_escapes() -> None:
    assert escape_controls("ls\x1b]0;rm -rf ~\x07 \u202etxt") == "ls\\x1b]0;rm -rf ~\\x07 \\u202etxt"


def test_a_shortened_reason_is_shown_completely_if_the_lines_have_it() -> None:
    lines = ["first  the reason, which goes on", "the rest"]
    assert restore_full_line("first the rea…", lines) == "first the reason, which goes on"
    assert restore_full_line("first the reason", lines) == "first the reason"
    assert restore_full_line("another…", lines) == "another…"
