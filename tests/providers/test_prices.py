"""Prices of models: which price applies, the price file, and what is free."""

from datetime import date
from pathlib import Path

import pytest

from clio.errors import ConfigError
from clio.messages import Usage
from clio.providers.prices import Price, PriceBook, find_price, read_prices
from clio.providers.profiles import PRESETS
from tests.support.rows import each_row

DAY = "2026-11-20"
NOON = 1_795_176_000.0  # on that day in every time zone


def prices(text: str) -> tuple[Price, ...]:
    return read_prices(text.encode(), "prices.yaml")


def home_with(folder: Path, text: str) -> Path:
    (folder / "prices.yaml").write_text(text, encoding="utf-8")
    return folder


@each_row(
    ("model", "covered"),
    [
        ("gpt-6", True), ("GPT-6", True), ("gpt-6-2026-09-22", True), ("gpt-6-latest", True), ("gpt-6-20260922", True),
        ("openai/gpt-6", True), ("gpt-6-mini", False), ("gpt-6-pro", False), ("gpt-6.1", False), ("gpt-60", False),
        ("my-gpt-6", False),
    ],
)  # fmt: skip
def test_a_name_includes_its_dated_builds_and_no_other_model(model: str, covered: bool) -> None:
    (price,) = prices("openai:\n  gpt-6: {input: 2, output: 10}")
    assert price.covers("openai", model) is covered
    assert not price.covers("elsewhere.example", model)


def test_the_longest_name_takes_precedence_then_the_server() -> None:
    table = prices('"*":\n  "gpt*": {input: 1, output: 1}\n  gpt-6: {input: 2, output: 2}\n'
                   "openai:\n  gpt-6: {input: 3, output: 3}")  # fmt: skip
    found = [find_price(table, server, model, DAY) for server, model in
             [("openai", "gpt-6"), ("other", "gpt-6"), ("other", "gpt-7"), ("other", "llama")]]  # fmt: skip
    assert [price.rate.input // 1_000_000 if price else None for price in found] == [3, 2, 1, None]


def test_cached_tokens_cost_their_own_price_to_the_micro_dollar() -> None:
    (price,) = prices("openai:\n  m: {input: 2, cached: 0.0028, output: 10.5}")
    usage = Usage(prompt_tokens=10_000, cached_tokens=8_000, completion_tokens=300)
    assert price.cost(usage) == 2_000 * 2 + 22 + 3_150  # 22.4 rounded


def test_without_a_price_for_cached_tokens_they_cost_as_much_as_others() -> None:
    (price,) = prices("groq:\n  m: {input: 0.15, output: 0.60}")
    assert price.cost(Usage(prompt_tokens=1_000, cached_tokens=900)) == 150


def test_a_long_request_is_charged_the_long_price_completely() -> None:
    (price,) = prices(
        "openai:\n  m: {input: 2, cached: 0.2, output: 10, above: 272000, long_input: 4, long_cached: 0.4, "
        "long_output: 15}"
    )
    at, over = (price.cost(Usage(prompt_tokens=tokens, completion_tokens=100)) for tokens in (272_000, 272_001))
    assert (at, over) == (544_000 + 1_000, 1_088_004 + 1_500)


def test_an_expired_price_is_unknown() -> None:
    table = prices("gemini:\n  m: {input: 1, output: 1, until: 2026-12-31}")
    assert find_price(table, "gemini", "m", "2026-12-31") is not None
    assert find_price(table, "gemini", "m", "2027-01-01") is None


@each_row(
    ("text", "message"),
    [
        ("openai:\n  m: {input: 2}", "prices.yaml:2: the price has no 'output'"),
        ("openai:\n  m: {input: cheap, output: 1}", "prices.yaml:2: 'input' must be dollars per 1M tokens"),
        ("openai:\n  m: {input: -1, output: 1}", "'input' must be dollars"),
        ("openai:\n  m: {in: 2, output: 1}", "unknown field 'in'"),
        ("openai:\n  m: 2", "prices.yaml:2: expected a price such as"),
        ("openai: cheap", "prices.yaml:1: expected models and their prices"),
        ("currency: EUR", "only USD is supported"),
        ("openai:\n  m: {input: 2, output: 1, as_of: May}", "'as_of' must be a date"),
        ("openai:\n  m: {input: 2, output: 1, above: 1000}", "no 'long_input'"),
        ("openai:\n  m: {input: 2, output: 1, above: many}", "'above' must be a number of tokens"),
    ],
)
def test_an_invalid_file_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        prices(text)
    assert message in str(caught.value)


def test_the_users_file_takes_precedence_and_is_read_again_when_it_changed(tmp_path: Path) -> None:
    price_book = PriceBook(tmp_path, lambda: NOON)
    shipped = price_book.find_price("openai", "gpt-6-sol")
    assert shipped is not None
    home_with(tmp_path, "openai:\n  gpt-6-sol: {input: 77, output: 1}\n  new: {input: 1, output: 1}\n")
    own = price_book.find_price("openai", "gpt-6-sol")
    assert own is not None
    assert (own.rate.input, own.where) == (77_000_000, "~/.clio/prices.yaml")
    assert price_book.find_price("openai", "new") is not None


def test_an_invalid_file_of_the_user_is_reported_every_time(tmp_path: Path) -> None:
    price_book = PriceBook(home_with(tmp_path, "openai: cheap\n"), lambda: NOON)
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"prices\.yaml:1"):
            price_book.find_price("openai", "gpt-6-sol")


@each_row("server", ["ollama", "offline", "127.0.0.1:8080", "localhost", "192.168.1.4", "box.local"])
def test_local_servers_are_free(server: str) -> None:
    price = PriceBook(None, lambda: NOON).find_price(server, "anything")
    assert price is not None
    assert price.is_free


def test_a_local_server_costs_what_the_user_says(tmp_path: Path) -> None:
    price_book = PriceBook(home_with(tmp_path, '"*":\n  "*": {input: 1, output: 1}\n'), lambda: NOON)
    price = price_book.find_price("127.0.0.1:8080", "m")
    assert price is not None
    assert not price.is_free


def test_a_hosted_model_without_a_listed_price_is_unknown() -> None:
    price_book = PriceBook(None, lambda: NOON)
    assert price_book.find_price("openai", "gpt-99") is None
    assert price_book.find_price("api.example.com", "gpt-6-sol") is None


def test_an_old_price_is_marked_as_old() -> None:
    (old, fresh, undated) = prices(
        "openai:\n  a: {input: 1, output: 1, as_of: 2026-05-23}\n  b: {input: 1, output: 1, as_of: 2026-05-24}\n"
        "  c: {input: 1, output: 1}\n"
    )
    price_book = PriceBook(None, lambda: NOON)
    assert [price_book.is_old(price) for price in (old, fresh, undated)] == [True, False, False]


def test_every_shipped_price_has_a_date_a_known_server_and_a_cheaper_cache() -> None:
    shipped = PriceBook(None).list_prices()
    assert {price.server for price in shipped} <= {preset.name for preset in PRESETS}
    for price in shipped:
        assert date.fromisoformat(price.as_of) <= date.fromisoformat("2026-12-31")
        assert 0 < price.rate.cached <= price.rate.input < price.rate.output
        assert price.long is None or price.long.input > price.rate.input


def test_writes_to_a_cache_have_their_own_price() -> None:
    price = read_prices(b"a:\n  m: {input: 2, cached: 0.2, write: 2.5, write_1h: 4, output: 10}\n", "p.yaml")[0]
    usage = Usage(
        prompt_tokens=1_000_000,
        cached_tokens=500_000,
        cache_write_tokens=300_000,
        cache_write_1h_tokens=100_000,
        completion_tokens=100_000,
    )
    # 0.2M × $2 + 0.5M × $0.20 + 0.2M × $2.50 + 0.1M × $4 + 0.1M × $10
    assert price.cost(usage) == 400_000 + 100_000 + 500_000 + 400_000 + 1_000_000


def test_a_write_without_a_price_costs_as_much_as_other_input() -> None:
    usage = Usage(prompt_tokens=1_000, cache_write_tokens=900, cache_write_1h_tokens=900)
    for fields in (b"input: 2, output: 10", b"input: 2, write: 2, output: 10"):
        assert read_prices(b"a:\n  m: {" + fields + b"}\n", "p.yaml")[0].cost(usage) == 2_000


def test_more_cache_writes_than_tokens_sent_are_not_billed() -> None:
    price = read_prices(b"a:\n  m: {input: 2, cached: 1, write: 4, output: 10}\n", "p.yaml")[0]
    assert price.cost(Usage(prompt_tokens=1_000, cached_tokens=600, cache_write_tokens=9_000)) == 600 + 1_600


def test_writes_at_anthropic_cost_a_quarter_more_or_twice_as_much() -> None:
    price_book = PriceBook(None)
    for price in price_book.list_prices():
        if price.server == "anthropic":
            for rate in filter(None, (price.rate, price.long)):
                assert (rate.write, rate.write_1h) == (rate.input * 5 // 4, rate.input * 2), price.model
