"""No pattern takes longer than its limit on any text, and harmless ones find what Python's engine finds."""

import contextlib
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clio.text.regex_limits import TIME_LIMIT_S, BoundedPattern, PatternRefused, PatternTooSlow
from tests.support.rows import each_row

_PARTS = st.recursive(
    st.sampled_from(["a", "b", "[ab]", ".", r"\w", "^", "$", r"\b"]),
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+", "?", "{1,3}", "{0,9}", "{2,}", "*?", "{5}"])),
    ),
    max_leaves=8,
)


@each_row("pattern", ["(a+)+$", "((a*)b?)*c", r"(\w+\s?)+$", "(a+){10}y", "(((a{1000}){1000}){1000})"])
def test_patterns_that_may_never_finish_are_refused_with_a_reason(pattern: str) -> None:
    with pytest.raises(PatternRefused, match=r"repeat|repetition"):
        BoundedPattern(pattern)


@each_row(
    "pattern", [r"ACME-[0-9]{6}", r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}", r"sk-\w{20,}", r"(?<!x)A-\d+", r"(a)\1", "A.*B.*C"]
)
def test_ordinary_patterns_find_the_same_as_before(pattern: str) -> None:
    text = "ACME-123456 at 10.0.0.1 with sk-" + "äb1" * 9 + " xA-1 A-22 aa A b B c C"
    assert list(BoundedPattern(pattern).find_spans(text)) == [found.span() for found in re.finditer(pattern, text)]


@settings(deadline=None, max_examples=60)
@given(_PARTS, st.sampled_from(["a" * 900, "ab" * 400 + "!", "a" * 5000 + "!"]))
def test_no_pattern_takes_much_longer_than_its_limit(pattern: str, text: str) -> None:
    try:
        bounded = BoundedPattern(pattern, refuse_nested=False)
        list(bounded.find_spans("a"))  # the first use loads an engine
    except PatternRefused:
        return
    began = time.process_time()
    with contextlib.suppress(PatternTooSlow):
        list(bounded.find_spans(text))
    assert time.process_time() - began < TIME_LIMIT_S + 2
