"""The vendors' caching rules as the bench implements them, and sessions of a whole clio with them."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from bench.cache_rules import AnthropicCache, AutomaticCache, BreakpointCache, Refused
from bench.prompt_cache import CASES, make_project, measure

POINT = {"type": "ephemeral"}
LONG = "word " * 1_000  # about 1,250 tokens


def text(words: str, point: dict[str, str] | None = None) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": words}
    return block | {"cache_control": point} if point else block


def body(*blocks: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": list(blocks)}]} | options


def test_a_written_prefix_can_be_read_for_five_minutes() -> None:
    cache = AnthropicCache()
    first = cache.bill(body(text(LONG, POINT)), 0.0)
    assert (first.read, first.written) == (0, first.prompt)
    again = cache.bill(body(text(LONG, POINT)), 299.0)
    assert (again.read, again.written) == (first.prompt, 0)
    assert cache.bill(body(text(LONG, POINT)), 598.0).read == first.prompt  # the read renewed it
    assert cache.bill(body(text(LONG, POINT)), 1_000.0).read == 0


def test_a_one_hour_write_is_billed_separately() -> None:
    cache = AnthropicCache()
    hour = POINT | {"ttl": "1h"}
    first = cache.bill(body(text(LONG, hour)), 0.0)
    assert (first.written, first.written_1h) == (first.prompt, first.prompt)
    assert cache.bill(body(text(LONG, hour)), 3_500.0).read == first.prompt


def test_only_the_complete_prefix_is_read() -> None:
    cache = AnthropicCache()
    cache.bill(body(text(LONG), text("b", POINT)), 0.0)
    assert cache.bill(body(text(LONG), text("b"), text("c", POINT)), 1.0).read > 0
    assert cache.bill(body(text("x"), text(LONG), text("b", POINT)), 2.0).read == 0
    assert cache.bill(body(text(LONG), text("b", POINT), model="other"), 3.0).read == 0
    assert cache.bill(body(text(LONG), text("b", POINT), thinking={"type": "disabled"}), 4.0).read == 0


@pytest.mark.parametrize(("between", "is_read"), [(18, True), (19, False)])
def test_a_point_looks_back_over_twenty_places(between: int, is_read: bool) -> None:
    cache = AnthropicCache()
    cache.bill(body(text(LONG, POINT)), 0.0)
    more = [text(str(number)) for number in range(between)]
    assert (cache.bill(body(text(LONG), *more, text("end", POINT)), 1.0).read > 0) is is_read


def test_a_short_prefix_is_not_written() -> None:
    cache = AnthropicCache()
    short = body(text("word " * 700, POINT))
    assert cache.bill(short, 0.0).written == 0
    assert cache.bill(short, 1.0).read == 0


@pytest.mark.parametrize(
    "blocks",
    [
        [text(LONG, POINT)] * 5,
        [text("  ", POINT)],
        [{"type": "thinking", "thinking": "x", "signature": "s", "cache_control": POINT}],
        [text("a", POINT), text("b", POINT | {"ttl": "1h"})],
    ],
)
def test_points_at_invalid_places_are_refused(blocks: list[dict[str, Any]]) -> None:
    with pytest.raises(Refused):
        AnthropicCache().bill(body(*blocks), 0.0)


def chat(*words: str, key: str = "k") -> dict[str, Any]:
    return {
        "model": "m",
        "prompt_cache_key": key,
        "messages": [{"role": "user", "content": one} for one in words],
    }


def test_openai_reads_in_steps_of_128_and_writes_for_free() -> None:
    cache = AutomaticCache()
    cache.bill(chat(LONG), 0.0)
    billed = cache.bill(chat(LONG, "more"), 1.0)
    assert billed.read >= 1_024
    assert billed.read % 128 == 0
    assert billed.written == 0
    assert cache.bill(chat(LONG, "more", key="other"), 2.0).read == 0


def test_newer_openai_models_read_only_at_breakpoints() -> None:
    cache = BreakpointCache()
    first = cache.bill(chat(LONG), 0.0)
    assert (first.read, first.written) == (0, first.prompt)
    second = cache.bill(chat(LONG, "more"), 1.0)
    assert (second.read, second.read + second.written) == (first.prompt, second.prompt)
    assert cache.bill(chat(LONG + "changed"), 2.0).read == 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", [case for case in CASES if case.pause_s < 300], ids=lambda case: case.name)
def test_a_session_reads_what_it_sent_before(case: Any, tmp_path: Path) -> None:
    make_project(tmp_path / "project", 400)
    found = measure(case, tmp_path, 40, 36_000)
    assert found.trims >= 1
    assert found.rewrites <= found.trims
    assert found.read_share > 0.85  # a short session: most of it is written once
    assert found.cost < 0.4 * found.uncached


def test_a_longer_lifetime_survives_pauses(tmp_path: Path) -> None:
    make_project(tmp_path / "project", 400)
    hour = next(case for case in CASES if case.cache_ttl == "1h")
    minutes = measure(structs.replace(hour, name="5m", cache_ttl="5m"), tmp_path, 40, 200_000)
    longer = measure(hour, tmp_path, 40, 200_000)
    assert (minutes.rewrites, longer.rewrites) == (3, 0)
    assert longer.cost < minutes.cost
