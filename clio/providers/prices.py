"""What models cost, by the user's own price file and the one clio comes with."""

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from clio.config.yaml_file import Entry, Scalar, Table, describe_node, parse_yaml, read_config_bytes
from clio.errors import ConfigError
from clio.messages import Usage
from clio.providers.base import OFFLINE
from clio.providers.profiles import find_preset
from clio.providers.urls import is_local_host, url_host
from clio.text.formatting import dollars_to_micros, format_stored_time
from clio.text.lazy_regex import LazyRegex

SHOWN_PRICES_PATH = "~/.clio/prices.yaml"
"""The user's own file, as it is named to them."""
OLD_DAYS = 180
"""A price nobody has looked up for so long is told to be old."""
_STATES_COST = frozenset(("openrouter",))


def states_cost(server: str) -> bool:
    """Whether the server says with each answer what it cost."""
    return server in _STATES_COST


def explain_unknown_price(server: str, model: str) -> str:
    """What to do about a model without a price, as the rest of a sentence."""
    return (
        f"the price of {model} at {server} is not known: add it to {SHOWN_PRICES_PATH}, such as "
        f'"{server}": {{"{model}": {{input: 1, cached: 0.1, output: 5}}}}, in dollars a million tokens'
    )


def format_day(seconds: float) -> str:
    """The local day of a moment, as "2026-11-05"."""
    return format_stored_time("%Y-%m-%d", seconds)


ANY_SERVER = "*"
_A_MILLION = 1_000_000
_DATE = LazyRegex(r"\d{4}-\d\d-\d\d")
# What may stand behind a model's name without making another model of it: a date, a build, "latest".
_SAME_MODEL = LazyRegex(r"(?:-latest|-preview|[-@]\d{8}|[-@]\d{6}|-\d{4}-\d\d-\d\d|-\d{3,4})?")


class Rate(Struct, frozen=True, kw_only=True):
    """Micro-dollars a million tokens.

    cached: of input that is read from the server's prompt cache. write, write_1h: of input that is written to it, for
    minutes or for an hour; None where that costs as much as other input.
    """

    input: int
    cached: int
    output: int
    write: int | None = None
    write_1h: int | None = None

    def input_cost(self, usage: Usage) -> int:
        """What a request's input costs, in millionths of a micro-dollar."""
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        written = min(usage.cache_write_tokens, usage.prompt_tokens - cached)
        for_an_hour = min(usage.cache_write_1h_tokens, written)
        write = self.input if self.write is None else self.write
        return (
            (usage.prompt_tokens - cached - written) * self.input
            + cached * self.cached
            + (written - for_an_hour) * write
            + for_an_hour * (write if self.write_1h is None else self.write_1h)
        )


FREE_RATE = Rate(input=0, cached=0, output=0)


class Price(Struct, frozen=True, kw_only=True):
    """What one model costs at one server.

    model: its name; one that ends in "*" stands for all that begin so.
    above, long: a request with more input tokens than that costs the other rate, all of it.
    as_of: the day somebody looked, as "2026-11-05"; "" where the file does not say. until: the last day it holds.
    where: the file.
    """

    server: str
    model: str
    rate: Rate
    above: int = 0
    long: Rate | None = None
    as_of: str = ""
    until: str = ""
    where: str = ""

    def rate_for(self, prompt_tokens: int) -> Rate:
        """The rate of a request with so many input tokens."""
        return self.long if self.long is not None and prompt_tokens > self.above else self.rate

    def cost(self, usage: Usage) -> int:
        """What a request cost, in micro-dollars, rounded."""
        rate = self.rate_for(usage.prompt_tokens)
        sum_ = rate.input_cost(usage) + usage.completion_tokens * rate.output
        return (sum_ + _A_MILLION // 2) // _A_MILLION

    @property
    def is_free(self) -> bool:
        """Whether nothing is paid at all."""
        return self.rate == FREE_RATE and self.long in (None, FREE_RATE)

    def covers(self, server: str, model: str) -> bool:
        """Whether it is the price of that model there: the same name, with or without a date or "-latest"."""
        if self.server not in (ANY_SERVER, server.lower()):
            return False
        if self.model.endswith("*"):
            return any(name.startswith(self.model[:-1]) for name in _names(model))
        return any(
            name.startswith(self.model) and _SAME_MODEL.fullmatch(name[len(self.model) :]) for name in _names(model)
        )


def find_price(prices: Iterable[Price], server: str, model: str, today: str) -> Price | None:
    """The price that says most about the model: the longest name, of those the one for this very server.

    today: as "2026-11-05"; what held until an earlier day is no price any more.
    """
    fitting = [price for price in prices if price.covers(server, model) and not "" < price.until < today]
    return max(fitting, key=lambda price: (len(price.model), price.server != ANY_SERVER), default=None)


def read_prices(data: bytes, shown: str) -> tuple[Price, ...]:
    """The prices in a file of server, model, and dollars a million tokens. Raises ConfigError with file and line.

    openai:
      gpt-6-sol: {input: 2, cached: 0.20, output: 10, as_of: 2026-11-05, above: 272000, long_input: 4, ...}
    """
    table = parse_yaml(data, shown)
    found: list[Price] = []
    for server, entry in table.entries.items():
        if server == "currency":
            _check_currency(entry, shown)
            continue
        for model, priced in _table(entry, shown, f"models and their prices under {server!r}").entries.items():
            found.append(_price(server.lower(), model.lower(), priced, shown))
    return tuple(found)


def _price(server: str, model: str, entry: Entry, shown: str) -> Price:
    where = f"{shown}:{entry.line}"
    fields = _table(entry, shown, f"a price such as {{input: 2, cached: 0.2, output: 10}} for {model!r}").entries
    if unknown := next((name for name in fields if name not in _FIELDS), None):
        raise ConfigError(f"{where}: a price has no {unknown!r}; it has {', '.join(_FIELDS)}")
    rate = _rate(fields, "", where)
    above = _above(fields, where)
    return Price(
        server=server,
        model=model,
        rate=rate,
        above=above,
        long=_rate(fields, "long_", where) if above else None,
        as_of=_day(fields, "as_of", where),
        until=_day(fields, "until", where),
        where=shown,
    )


_AMOUNTS = ("input", "cached", "write", "write_1h", "output")
_FIELDS = (*_AMOUNTS, "as_of", "until", "above", *(f"long_{name}" for name in _AMOUNTS))


def _rate(fields: Mapping[str, Entry], prefix: str, where: str) -> Rate:
    amounts = {name: _amount(fields, prefix + name, where) for name in _AMOUNTS}
    full, output = amounts["input"], amounts["output"]
    if full is None or output is None:
        missing = prefix + ("input" if full is None else "output")
        raise ConfigError(f"{where}: the price lacks {missing!r}, in dollars a million tokens")
    cached = amounts["cached"]
    return Rate(
        input=full,
        cached=full if cached is None else cached,
        output=output,
        write=amounts["write"],
        write_1h=amounts["write_1h"],
    )


def _amount(fields: Mapping[str, Entry], name: str, where: str) -> int | None:
    if name not in fields:
        return None
    try:
        return dollars_to_micros(_text(fields[name]))
    except ValueError:
        raise ConfigError(
            f"{where}: {name!r} must be dollars a million tokens, such as 0.25, not {describe_node(fields[name].node)}"
        ) from None


def _above(fields: Mapping[str, Entry], where: str) -> int:
    if "above" not in fields:
        return 0
    text = _text(fields["above"]).replace("_", "")
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1_000_000_000):
        raise ConfigError(f"{where}: 'above' must be a number of tokens, not {describe_node(fields['above'].node)}")
    return int(text)


def _day(fields: Mapping[str, Entry], name: str, where: str) -> str:
    text = _text(fields[name]) if name in fields else ""
    if text and not _DATE.fullmatch(text):
        raise ConfigError(f"{where}: {name!r} must be a day such as 2026-11-05, not {text!r}")
    return text


def _text(entry: Entry) -> str:
    return entry.node.text.strip() if isinstance(entry.node, Scalar) else ""


def _table(entry: Entry, shown: str, wanted: str) -> Table:
    if not isinstance(entry.node, Table):
        raise ConfigError(f"{shown}:{entry.line}: expected {wanted}, not {describe_node(entry.node)}")
    return entry.node


def _check_currency(entry: Entry, shown: str) -> None:
    if _text(entry).upper() != "USD":
        raise ConfigError(f"{shown}:{entry.line}: clio counts in USD only; give the prices in dollars")


def _names(model: str) -> tuple[str, ...]:
    """The name as it is, and without its maker: "openai/gpt-oss-120b", "gpt-oss-120b"."""
    whole = model.lower()
    return tuple(dict.fromkeys((whole, whole.rsplit("/", 1)[-1])))


PRICES_FILE_NAME = "prices.yaml"
_SHIPPED = Path(__file__).with_name(PRICES_FILE_NAME)
_DAY_S = 86_400.0


class PriceTableAge(Struct, frozen=True, kw_only=True):
    """The table clio comes with: its newest and its oldest day, and how many prices are older than `OLD_DAYS`."""

    newest: str
    oldest: str
    prices: int
    old: int


class PriceBook:
    """Prices by server and model. home: clio's own folder, where the user's file is; None reads no such file.

    The user's file is read again when it changed, so that a price can be added while clio runs.
    """

    def __init__(self, home: Path | None, now: Callable[[], float] = time.time) -> None:
        self._own = home / PRICES_FILE_NAME if home else None
        self._now = now
        self._shipped: tuple[Price, ...] | None = None
        self._users: tuple[Price, ...] = ()
        self._stamp: tuple[int, int] | None = None
        self._found: dict[tuple[str, str, str], Price | None] = {}

    def find_price(self, server: str, model: str) -> Price | None:
        """What the model costs there; None where nobody knows. Raises ConfigError for a wrong file of the user's.

        server: the provider's name. One on this machine or its network costs nothing unless the user's file says so.
        """
        self._refresh()
        key = (server, model, self.day())
        if key not in self._found:
            self._found[key] = self._look_up(*key)
        return self._found[key]

    def list_prices(self) -> tuple[Price, ...]:
        """The user's prices, then those clio comes with. Raises ConfigError as `find_price`."""
        self._refresh()
        return (*self._users, *self._all_shipped())

    def table_age(self) -> PriceTableAge:
        """How old the table is that clio comes with."""
        shipped = self._all_shipped()
        days = sorted(price.as_of for price in shipped if price.as_of)
        old = sum(1 for price in shipped if price.as_of and self.is_old(price))
        return PriceTableAge(newest=days[-1], oldest=days[0], prices=len(shipped), old=old)

    def is_old(self, price: Price) -> bool:
        """Whether the price was looked up more than `OLD_DAYS` ago; what has no date is the user's own business."""
        return "" < price.as_of < self.day(OLD_DAYS)

    def day(self, ago: int = 0) -> str:
        """Today by the local clock, or so many days ago, as "2026-11-05"."""
        return format_day(self._now() - ago * _DAY_S)

    def _look_up(self, server: str, model: str, today: str) -> Price | None:
        own = find_price(self._users, server, model, today)
        if own is not None:
            return own
        if is_free_server(server):
            return Price(server=server, model=model, rate=FREE_RATE)
        return find_price(self._all_shipped(), server, model, today)

    def _all_shipped(self) -> tuple[Price, ...]:
        if self._shipped is None:
            self._shipped = read_prices(_SHIPPED.read_bytes(), "clio's prices.yaml")
        return self._shipped

    def _refresh(self) -> None:
        if self._own is None:
            return
        try:
            status = self._own.stat()
            stamp = (status.st_mtime_ns, status.st_size)
        except OSError:
            stamp = None
        if stamp == self._stamp:
            return
        self._found.clear()
        self._users = ()
        data = read_config_bytes(self._own, SHOWN_PRICES_PATH)
        self._users = read_prices(data, SHOWN_PRICES_PATH) if data is not None else ()
        self._stamp = stamp  # only now: a wrong file is wrong at every look


def is_free_server(server: str) -> bool:
    """Whether nobody bills what is asked there: no model at all, or a server on this machine or its network."""
    preset = find_preset(server)
    if preset is not None:
        return not preset.key_required
    return server == OFFLINE or is_local_host(url_host(f"//{server}"))
