"""Token estimates, and how usage improves them."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from clio.tokens import DEFAULT_RATIO, MAX_RATIO, MIN_RATIO, TokenEstimator, message_units, text_units
from tests.support.rows import each_row

PROSE = "The parser reads a line, looks for the first colon, and takes what stands before it as the key. " * 20
CODE = "def total(prices, discount):\n    for price in prices:\n        amount += price * (100 - discount)\n" * 20
JSON = json.dumps([{"id": n, "name": f"item{n}", "tags": ["a", "b"], "price": n * 3} for n in range(60)])
BASE64 = base64.b64encode(bytes(range(256)) * 8).decode()
CHINESE = "解析器读取一行，寻找第一个冒号，并将其前面的内容作为键。" * 20


@each_row(
    ("text", "chars_a_token"),
    [(PROSE, 4.2), (CODE, 4.3), (JSON, 2.31), (BASE64, 1.47), (CHINESE, 1.41)],
    ids=["prose", "code", "json", "base64", "chinese"],
)
def test_estimates_of_kinds_of_text_are_within_a_quarter_of_measurements(text: str, chars_a_token: float) -> None:
    measured = len(text) / chars_a_token
    assert TokenEstimator().estimate_text(text) == pytest.approx(measured, rel=0.25)


@pytest.mark.parametrize("chars_a_token", [2.0, 3.0, 4.0, 6.0])
def test_five_usages_are_sufficient(chars_a_token: float) -> None:
    estimator = TokenEstimator()
    history = [PROSE[:400]]
    for turn in range(5):
        history.append((PROSE + CODE + JSON)[turn * 300 :][:900])
        units = sum(map(text_units, history))
        assert estimator.learn_from_bill(units, round(sum(map(len, history)) / chars_a_token))
    history.append(CODE)
    billed = sum(map(len, history)) / chars_a_token
    assert estimator.convert_units(sum(map(text_units, history))) == pytest.approx(billed, rel=0.10)


@pytest.mark.parametrize("prompt_tokens", [0, -5, 1, 10**9])
def test_absurd_usage_teaches_nothing(prompt_tokens: int) -> None:
    estimator = TokenEstimator()
    assert not estimator.learn_from_bill(4_000.0, prompt_tokens)
    assert estimator.ratio == DEFAULT_RATIO


def test_a_learned_ratio_changes_slowly() -> None:
    estimator = TokenEstimator(3.0)
    estimator.learn_from_bill(5_000.0, 1_000)
    assert estimator.ratio == pytest.approx(0.8 * 3.0 + 0.2 * 5.0)


@given(st.lists(st.tuples(st.floats(1, 1e7), st.integers(-10, 10**7)), max_size=30))
def test_the_ratio_stays_in_its_range(bills: list[tuple[float, int]]) -> None:
    estimator = TokenEstimator()
    for units, tokens in bills:
        estimator.learn_from_bill(units, tokens)
    assert MIN_RATIO <= estimator.ratio <= MAX_RATIO


@given(st.text(), st.text())
def test_more_text_never_counts_less_than_its_longest_half(a: str, b: str) -> None:
    assert text_units(a + b) >= 0.3 * max(text_units(a), text_units(b))


def test_everything_that_is_sent_counts() -> None:
    call = ToolCall(id="c", name="read_file", arguments='{"path": "a"}')
    plain = message_units(AssistantMessage(content="x"))
    assert message_units(AssistantMessage(content="x", tool_calls=(call,))) > plain + len(call.arguments)
    assert message_units(UserMessage(content="x", context="y" * 50)) >= message_units(UserMessage(content="x")) + 50
    assert message_units(ToolMessage(tool_call_id="c", content="x" * 10)) > 10
    assert message_units(AssistantMessage(content="x", reasoning="y" * 99)) == plain  # reasoning is not sent back


def test_the_last_usage_is_compared_with_the_estimate_before_it() -> None:
    estimator = TokenEstimator()
    assert estimator.last is None
    estimator.learn_from_bill(4_000.0, 0)
    assert estimator.last is None
    estimator.learn_from_bill(4_000.0, 2_000)
    assert estimator.last is not None
    assert (estimator.last.estimated, estimator.last.billed, estimator.last.error) == (1_000, 2_000, -0.5)
    estimator.learn_from_bill(4_000.0, 1_600)
    assert estimator.last.error == pytest.approx(0.25)


def test_a_request_is_estimated_from_the_usage_of_the_one_before() -> None:
    estimator = TokenEstimator()
    assert estimator.estimate_request(4_000.0) == 1_000
    estimator.learn_from_bill(4_000.0, 2_000)
    estimator.learn_from_bill(8_000.0, 2_000)  # the answer was billed as nothing, whatever its size
    assert estimator.ratio == 3.0
    assert estimator.estimate_request(8_000.0) == 2_000
    assert estimator.estimate_request(8_300.0) == 2_100
    assert estimator.estimate_request(7_700.0) == 1_900
    assert estimator.estimate_request(3_000.0) == 1_000  # after a trim little is left of what was billed


@given(st.lists(st.tuples(st.floats(1, 1e7), st.integers(1, 10**7)), max_size=9), st.floats(1, 1e7))
def test_every_estimate_of_a_request_is_a_count(bills: list[tuple[float, int]], units: float) -> None:
    estimator = TokenEstimator()
    for weight, tokens in bills:
        estimator.learn_from_bill(weight, tokens)
    assert estimator.estimate_request(units) >= 1


@each_row("chars_a_token", [2.0, 3.0, 6.0])
@each_row("grown", ["x", "解", "{"], ids=["dense", "chinese", "punctuation"])
def test_a_wrong_ratio_for_a_server_is_within_a_tenth_after_five_usages(chars_a_token: float, grown: str) -> None:
    """The server counts characters only; every message is of a kind that clio weights differently."""
    estimator = TokenEstimator()
    history = [(PROSE + CODE) * 3]
    for _ in range(5):
        history.append(grown * 2_000)
        estimator.learn_from_bill(sum(map(text_units, history)), round(sum(map(len, history)) / chars_a_token))
    history.append(grown * 2_000)
    billed = sum(map(len, history)) / chars_a_token
    assert estimator.estimate_request(sum(map(text_units, history))) == pytest.approx(billed, rel=0.10)
