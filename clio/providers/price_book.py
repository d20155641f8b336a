"""Looks prices up: in the user's own file, then in the one clio comes with. Nothing is read before it is asked for."""

import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from clio.config.yaml_file import read_bytes
from clio.providers.base import OFFLINE
from clio.providers.price_words import OLD_DAYS, SHOWN, day_of
from clio.providers.prices import FREE_RATE, Price, find_price, read_prices
from clio.providers.profiles import preset_named
from clio.providers.urls import host_of, is_local_host

FILE_NAME = "prices.yaml"
_SHIPPED = Path(__file__).with_name(FILE_NAME)
_DAY_S = 86_400.0


class Age(Struct, frozen=True, kw_only=True):
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
        self._own = home / FILE_NAME if home else None
        self._now = now
        self._shipped: tuple[Price, ...] | None = None
        self._users: tuple[Price, ...] = ()
        self._stamp: tuple[int, int] | None = None
        self._found: dict[tuple[str, str, str], Price | None] = {}

    def price_of(self, server: str, model: str) -> Price | None:
        """What the model costs there; None where nobody knows. Raises ConfigError for a wrong file of the user's.

        server: the provider's name. One on this machine or its network costs nothing unless the user's file says so.
        """
        self._refresh()
        key = (server, model, self.day())
        if key not in self._found:
            self._found[key] = self._look_up(*key)
        return self._found[key]

    def all_prices(self) -> tuple[Price, ...]:
        """The user's prices, then those clio comes with. Raises ConfigError as `price_of`."""
        self._refresh()
        return (*self._users, *self._all_shipped())

    def age(self) -> Age:
        """How old the table is that clio comes with."""
        shipped = self._all_shipped()
        days = sorted(price.as_of for price in shipped if price.as_of)
        old = sum(1 for price in shipped if price.as_of and self.is_old(price))
        return Age(newest=days[-1], oldest=days[0], prices=len(shipped), old=old)

    def is_old(self, price: Price) -> bool:
        """Whether the price was looked up more than `OLD_DAYS` ago; what has no date is the user's own business."""
        return "" < price.as_of < self.day(OLD_DAYS)

    def day(self, ago: int = 0) -> str:
        """Today by the local clock, or so many days ago, as "2026-11-05"."""
        return day_of(self._now() - ago * _DAY_S)

    def _look_up(self, server: str, model: str, today: str) -> Price | None:
        own = find_price(self._users, server, model, today)
        if own is not None:
            return own
        if is_free(server):
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
        data = read_bytes(self._own, SHOWN)
        self._users = read_prices(data, SHOWN) if data is not None else ()
        self._stamp = stamp  # only now: a wrong file is wrong at every look


def is_free(server: str) -> bool:
    """Whether nobody bills what is asked there: no model at all, or a server on this machine or its network."""
    preset = preset_named(server)
    if preset is not None:
        return not preset.key_required
    return server == OFFLINE or is_local_host(host_of(f"//{server}"))
