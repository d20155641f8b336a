"""Prices of models, from the user's file and the one shipped with clio."""

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
from clio.text.translation import tr

SHOWN_PRICES_PATH = "~/.clio/prices.yaml"
"""The user's file, as shown in messages."""
OLD_DAYS = 180
"""Days after which a price is called outdated."""
_STATES_COST = frozenset(("openrouter",))


def states_cost(server: str) -> bool:
    """Whether the server reports the cost of each answer."""
    return server in _STATES_COST


def explain_unknown_price(server: str, model: str) -> str:
    """Return what to do about a model without a price, as the end of a sentence."""
    return tr(
        'no price for {model} at {server}: add it to {shown_prices_path}, such as "{server}": '
        '{{"{model}": {{input: 1, cached: 0.1, output: 5}}}}, in dollars per 1M tokens',
        model=model,
        server=server,
        shown_prices_path=SHOWN_PRICES_PATH,
    )


def format_day(seconds: float) -> str:
    """Return the local date of a time, such as "2026-11-05"."""
    return format_stored_time("%Y-%m-%d", seconds)


ANY_SERVER = "*"
_SEARCHES = "searches"
"""The name under a server, among those of its models, of the price of its own searches."""
_MILLION = 1_000_000
_DATE = LazyRegex(r"\d{4}-\d\d-\d\d")
# Suffixes of a model's name that do not make it another model: a date, a build number, "latest".
_SAME_MODEL = LazyRegex(r"(?:-latest|-preview|[-@]\d{8}|[-@]\d{6}|-\d{4}-\d\d-\d\d|-\d{3,4})?")


class Rate(Struct, frozen=True, kw_only=True):
    """Micro-dollars per 1M tokens.

    Attributes:
        cached: for input read from the server's prompt cache.
        write, write_1h: for input written to the cache, for minutes or for an hour; None if the same as `input`.
    """

    input: int
    cached: int
    output: int
    write: int | None = None
    write_1h: int | None = None

    def input_cost(self, usage: Usage) -> int:
        """Return the cost of a request's input in millionths of a micro-dollar."""
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
    """The price of one model on one server.

    Attributes:
        model: its name; if it ends in "*", the start of its name.
        above, long: a request with more input tokens than `above` costs the rate `long`, including its first tokens.
        as_of: the date when the price was looked up, such as "2026-11-05"; "" if unknown.
        until: the last day on which it is valid; "" for no end.
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
        """Return the rate of a request with that many input tokens."""
        return self.long if self.long is not None and prompt_tokens > self.above else self.rate

    def cost(self, usage: Usage) -> int:
        """Return the cost of a request in micro-dollars, rounded."""
        rate = self.rate_for(usage.prompt_tokens)
        sum_ = rate.input_cost(usage) + usage.completion_tokens * rate.output
        return (sum_ + _MILLION // 2) // _MILLION

    @property
    def is_free(self) -> bool:
        """Whether all tokens are free."""
        return self.rate == FREE_RATE and self.long in (None, FREE_RATE)

    def covers(self, server: str, model: str) -> bool:
        """Whether this price applies to the model on that server. A date or "-latest" after the name is ignored."""
        if self.server not in (ANY_SERVER, server.lower()):
            return False
        if self.model.endswith("*"):
            return any(name.startswith(self.model[:-1]) for name in _list_names(model))
        return any(
            name.startswith(self.model) and _SAME_MODEL.fullmatch(name[len(self.model) :])
            for name in _list_names(model)
        )


def find_price(prices: Iterable[Price], server: str, model: str, today: str) -> Price | None:
    """Return the most specific price: the one with the longest name, and of these the one for this server.

    today: a date such as "2026-11-05"; prices that have ended before are ignored.
    """
    fitting = [price for price in prices if price.covers(server, model) and not "" < price.until < today]
    return max(fitting, key=lambda price: (len(price.model), price.server != ANY_SERVER), default=None)


def read_prices(data: bytes, shown: str) -> tuple[Price, ...]:
    """Return the prices in a file, in dollars per 1M tokens by server and model.

    openai:
      gpt-6-sol: {input: 2, cached: 0.20, output: 10, as_of: 2026-11-05, above: 272000, long_input: 4, ...}

    Raises ConfigError with the file and line.
    """
    table = parse_yaml(data, shown)
    prices: list[Price] = []
    for server, entry in table.entries.items():
        if server == "currency":
            _check_currency(entry, shown)
            continue
        for model, fields in _read_table(
            entry, shown, tr("models and their prices under {server!r}", server=server)
        ).entries.items():
            if model == _SEARCHES:
                continue
            prices.append(_read_price(server.lower(), model.lower(), fields, shown))
    return tuple(prices)


def read_search_prices(data: bytes, shown: str) -> dict[str, int]:
    """Return what 1,000 searches of a server's own cost, in micro-dollars by server, from a file of `read_prices`."""
    found: dict[str, int] = {}
    for server, entry in parse_yaml(data, shown).entries.items():
        fields = entry.node.entries if isinstance(entry.node, Table) else {}
        if _SEARCHES not in fields:
            continue
        try:
            found[server.lower()] = dollars_to_micros(_read_text(fields[_SEARCHES]))
        except ValueError:
            raise ConfigError(
                tr(
                    "{where}: {name!r} must be dollars per 1,000 searches, such as 10, not {node}",
                    where=f"{shown}:{fields[_SEARCHES].line}",
                    name=_SEARCHES,
                    node=describe_node(fields[_SEARCHES].node),
                )
            ) from None
    return found


def _read_price(server: str, model: str, entry: Entry, shown: str) -> Price:
    where = f"{shown}:{entry.line}"
    fields = _read_table(
        entry, shown, tr("a price such as {{input: 2, cached: 0.2, output: 10}} for {model!r}", model=model)
    ).entries
    if unknown := next((name for name in fields if name not in _FIELDS), None):
        raise ConfigError(
            tr(
                "{where}: unknown field {unknown!r}; a price has {fields}",
                where=where,
                unknown=unknown,
                fields=", ".join(_FIELDS),
            )
        )
    rate = _read_rate(fields, "", where)
    above = _read_above(fields, where)
    return Price(
        server=server,
        model=model,
        rate=rate,
        above=above,
        long=_read_rate(fields, "long_", where) if above else None,
        as_of=_read_date(fields, "as_of", where),
        until=_read_date(fields, "until", where),
        where=shown,
    )


_AMOUNTS = ("input", "cached", "write", "write_1h", "output")
_FIELDS = (*_AMOUNTS, "as_of", "until", "above", *(f"long_{name}" for name in _AMOUNTS))


def _read_rate(fields: Mapping[str, Entry], prefix: str, where: str) -> Rate:
    amounts = {name: _read_amount(fields, prefix + name, where) for name in _AMOUNTS}
    full, output = amounts["input"], amounts["output"]
    if full is None or output is None:
        missing = prefix + ("input" if full is None else "output")
        raise ConfigError(
            tr("{where}: the price has no {missing!r} (dollars per 1M tokens)", where=where, missing=missing)
        )
    cached = amounts["cached"]
    return Rate(
        input=full,
        cached=full if cached is None else cached,
        output=output,
        write=amounts["write"],
        write_1h=amounts["write_1h"],
    )


def _read_amount(fields: Mapping[str, Entry], name: str, where: str) -> int | None:
    if name not in fields:
        return None
    try:
        return dollars_to_micros(_read_text(fields[name]))
    except ValueError:
        raise ConfigError(
            tr(
                "{where}: {name!r} must be dollars per 1M tokens, such as 0.25, not {node}",
                where=where,
                name=name,
                node=describe_node(fields[name].node),
            )
        ) from None


def _read_above(fields: Mapping[str, Entry], where: str) -> int:
    if "above" not in fields:
        return 0
    text = _read_text(fields["above"]).replace("_", "")
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1_000_000_000):
        raise ConfigError(
            tr(
                "{where}: 'above' must be a number of tokens, not {node}",
                where=where,
                node=describe_node(fields["above"].node),
            )
        )
    return int(text)


def _read_date(fields: Mapping[str, Entry], name: str, where: str) -> str:
    text = _read_text(fields[name]) if name in fields else ""
    if text and not _DATE.fullmatch(text):
        raise ConfigError(
            tr("{where}: {name!r} must be a date such as 2026-11-05, not {text!r}", where=where, name=name, text=text)
        )
    return text


def _read_text(entry: Entry) -> str:
    return entry.node.text.strip() if isinstance(entry.node, Scalar) else ""


def _read_table(entry: Entry, shown: str, expected: str) -> Table:
    if not isinstance(entry.node, Table):
        raise ConfigError(
            tr(
                "{shown}:{line}: expected {expected}, not {node}",
                shown=shown,
                line=entry.line,
                expected=expected,
                node=describe_node(entry.node),
            )
        )
    return entry.node


def _check_currency(entry: Entry, shown: str) -> None:
    if _read_text(entry).upper() != "USD":
        raise ConfigError(
            tr("{shown}:{line}: only USD is supported; enter the prices in dollars", shown=shown, line=entry.line)
        )


def _list_names(model: str) -> tuple[str, ...]:
    """Return the name in lower case, with and without its maker: "openai/gpt-oss-120b", "gpt-oss-120b"."""
    whole = model.lower()
    return tuple(dict.fromkeys((whole, whole.rsplit("/", 1)[-1])))


PRICES_FILE_NAME = "prices.yaml"
_SHIPPED_PATH = Path(__file__).with_name(PRICES_FILE_NAME)
_DAY_S = 86_400.0


class PriceTableAge(Struct, frozen=True, kw_only=True):
    """The age of the shipped table: its newest and oldest date, and the number of prices older than `OLD_DAYS`."""

    newest: str
    oldest: str
    prices: int
    old: int


class PriceBook:
    """Prices by server and model.

    The user's file is read again when it has changed, so that prices can be added while clio runs.

    home: clio's own folder, with the user's file; None for none.
    """

    def __init__(self, home: Path | None, now: Callable[[], float] = time.time) -> None:
        self._user_path = home / PRICES_FILE_NAME if home else None
        self._now = now
        self._shipped: tuple[Price, ...] | None = None
        self._user_prices: tuple[Price, ...] = ()
        self._user_searches: dict[str, int] = {}
        self._shipped_searches: dict[str, int] | None = None
        self._stamp: tuple[int, int] | None = None
        self._found: dict[tuple[str, str, str], Price | None] = {}

    def find_price(self, server: str, model: str) -> Price | None:
        """Return the price of a model; None if unknown. Raises ConfigError if the user's file is invalid.

        server: the provider's name. A local server is free unless the user's file has a price for it.
        """
        self._refresh()
        key = (server, model, self.day())
        if key not in self._found:
            self._found[key] = self._look_up(*key)
        return self._found[key]

    def find_search_cost(self, server: str, searches: int) -> int | None:
        """Return what so many searches of a server's own cost, in micro-dollars; None if unknown.

        Raises ConfigError as `find_price`.
        """
        if not searches:
            return 0
        self._refresh()
        if self._shipped_searches is None:
            self._shipped_searches = read_search_prices(_SHIPPED_PATH.read_bytes(), tr("clio's prices.yaml"))
        known = self._shipped_searches | self._user_searches
        price = known.get(server.lower(), known.get(ANY_SERVER))
        return None if price is None else (searches * price + 500) // 1_000

    def list_prices(self) -> tuple[Price, ...]:
        """Return the user's prices, then the shipped ones. Raises ConfigError as `find_price`."""
        self._refresh()
        return (*self._user_prices, *self._read_shipped())

    def table_age(self) -> PriceTableAge:
        """Return the age of the shipped table."""
        shipped = self._read_shipped()
        days = sorted(price.as_of for price in shipped if price.as_of)
        old = sum(1 for price in shipped if price.as_of and self.is_old(price))
        return PriceTableAge(newest=days[-1], oldest=days[0], prices=len(shipped), old=old)

    def is_old(self, price: Price) -> bool:
        """Whether the price was looked up more than `OLD_DAYS` ago. A price without a date is never old."""
        return "" < price.as_of < self.day(OLD_DAYS)

    def day(self, ago: int = 0) -> str:
        """Return the local date, today or `ago` days ago, such as "2026-11-05"."""
        return format_day(self._now() - ago * _DAY_S)

    def _look_up(self, server: str, model: str, today: str) -> Price | None:
        user_price = find_price(self._user_prices, server, model, today)
        if user_price is not None:
            return user_price
        if is_free_server(server):
            return Price(server=server, model=model, rate=FREE_RATE)
        return find_price(self._read_shipped(), server, model, today)

    def _read_shipped(self) -> tuple[Price, ...]:
        if self._shipped is None:
            self._shipped = read_prices(_SHIPPED_PATH.read_bytes(), tr("clio's prices.yaml"))
        return self._shipped

    def _refresh(self) -> None:
        if self._user_path is None:
            return
        try:
            status = self._user_path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
        except OSError:
            stamp = None
        if stamp == self._stamp:
            return
        self._found.clear()
        self._user_prices, self._user_searches = (), {}
        data = read_config_bytes(self._user_path, SHOWN_PRICES_PATH)
        self._user_searches = read_search_prices(data, SHOWN_PRICES_PATH) if data is not None else {}
        self._user_prices = read_prices(data, SHOWN_PRICES_PATH) if data is not None else ()
        self._stamp = stamp  # only after success, so that an invalid file is reported every time


def is_free_server(server: str) -> bool:
    """Whether requests to this server cost nothing: the offline provider, or a server on the local network."""
    preset = find_preset(server)
    if preset is not None:
        return not preset.key_required
    return server == OFFLINE or is_local_host(url_host(f"//{server}"))
