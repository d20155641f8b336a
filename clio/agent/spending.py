"""Counts what requests cost, and says when the next one would cost more than the person allows.

A request that broke off is counted with the least it must have cost, and so is an answer the server did not bill.
"""

import time
from collections.abc import Callable

from clio.algorithms.money import MICROS, Cost, format_money
from clio.config.loaded import Loaded
from clio.errors import ConfigError
from clio.messages import Usage
from clio.providers.base import Provider
from clio.providers.price_book import PriceBook
from clio.providers.price_words import states_cost, unknown_price
from clio.providers.prices import Price
from clio.sessions.ledger import FILE_NAME, Ledger
from clio.sessions.session import Session

LEAST_ANSWER = 256
"""Tokens: for less no request is worth its price."""
_A_MILLION = 1_000_000


class Spending:
    """What one running clio has spent. cap: the most it may, in micro-dollars; None is no limit.

    problem: why prices are not known, such as a wrong file; "" where nothing is wrong.
    """

    def __init__(self, book: PriceBook, ledger: Ledger | None = None, *, cap: int | None = None) -> None:
        self.book = book
        self.ledger = ledger or Ledger(None)
        self.cap = cap
        self.run = Cost()
        self.problem = ""
        self._assumed = 0  # micro-dollars no server has billed
        self._pending = 0  # of the request that was sent last and is not billed yet
        self._seen: tuple[str, int] = ("", 0)  # model, and the input tokens its server saw last
        self._unbilled = ""  # why the limit cannot be kept any more
        self._session_id, self._bills, self._session_cost = "", 0, Cost()

    def check_start(self, provider: Provider) -> None:
        """Raise ConfigError where there is a limit and nobody knows what a request of this model costs."""
        if self.cap is None or states_cost(provider.name):
            return
        if self.book.price_of(provider.name, provider.model) is None:
            raise ConfigError(f"--max-cost cannot be kept: {unknown_price(provider.name, provider.model)}")

    def refusal(self, provider: Provider, prompt_tokens: int) -> str:
        """Why a request with so many input tokens must not be sent; "" where it may, and it counts as sent then."""
        if self.cap is None:
            return ""
        self._assumed += self._pending
        self._pending = 0
        if self._unbilled:
            return self._unbilled
        price = self._price(provider)
        least = self._least(price, provider.model, prompt_tokens)
        answer = _cost(LEAST_ANSWER, price.rate_for(prompt_tokens).output) if price else 0
        if self._spent + least + answer > self.cap:
            return (
                f"stopped by --max-cost {format_money(self.cap)}: {format_money(self._spent)} is spent, and the next "
                f"request costs {format_money(least + answer)} or more; raise it, or ask for less"
            )
        self._pending = least
        return ""

    def affordable_output(self, provider: Provider, prompt_tokens: int) -> int | None:
        """The longest answer what is left will pay for, in tokens; None where that is no limit."""
        price = self._price(provider) if self.cap is not None else None
        if self.cap is None or price is None or not (output := price.rate_for(prompt_tokens).output):
            return None
        left = self.cap - self._spent - self._least(price, provider.model, prompt_tokens)
        return max(left * _A_MILLION // output, 1)

    def bill(self, provider: Provider, usage: Usage, stated: int | None) -> int | None:
        """Count a request: what the server says it cost, else by price; None where neither is known."""
        self._pending = 0
        self._seen = (provider.model, usage.prompt_tokens)
        price = self._price(provider) if stated is None else None
        cost = stated if stated is not None else price.cost(usage) if price else None
        if cost is None:
            self.run += Cost(unpriced_tokens=usage.prompt_tokens + usage.completion_tokens)
            self._unbilled = f"--max-cost cannot be kept: {unknown_price(provider.name, provider.model)}"
        else:
            self.run += Cost(micro_dollars=cost)
        return cost

    def assume(self, provider: Provider, prompt_tokens: int, answer_tokens: int) -> None:
        """Count a request whose server sent no bill towards the limit, by estimate."""
        self._pending = 0
        price = self._price(provider) if self.cap is not None else None
        if price is not None:
            self._assumed += price.cost(Usage(prompt_tokens=prompt_tokens, completion_tokens=answer_tokens))
        elif self.cap is not None:
            self._unbilled = f"--max-cost cannot be kept: {provider.name} did not say what its answer cost"

    def of_session(self, session: Session) -> Cost | None:
        """What the session has cost so far; None before its first bill. Looks only at bills that came since."""
        bills = session.bills
        if session.id != self._session_id or len(bills) < self._bills:
            self._session_id, self._bills, self._session_cost = session.id, 0, Cost()
        for bill in bills[self._bills :]:
            self._session_cost += bill.money
        self._bills = len(bills)
        return self._session_cost if bills else None

    @property
    def _spent(self) -> int:
        return self.run.micro_dollars + self._assumed

    def _least(self, price: Price | None, model: str, prompt_tokens: int) -> int:
        """What the input costs at least: what the server saw a moment ago counts as cached."""
        if price is None:
            return 0
        seen = min(self._seen[1], prompt_tokens) if self._seen[0] == model else 0
        return price.cost(Usage(prompt_tokens=prompt_tokens, cached_tokens=seen))

    def _price(self, provider: Provider) -> Price | None:
        try:
            price, self.problem = self.book.price_of(provider.name, provider.model), ""
        except ConfigError as error:
            price, self.problem = None, f"costs are not counted: {error}"
        return price


def open_spending(loaded: Loaded, now: Callable[[], float] = time.time) -> Spending:
    """The counter for a configuration. Nothing is read yet; an incognito clio keeps no ledger."""
    config = loaded.config
    return Spending(
        PriceBook(loaded.home, now),
        Ledger(None if config.incognito else loaded.home / FILE_NAME),
        cap=round(config.max_cost * MICROS) if config.max_cost else None,
    )


def _cost(tokens: int, rate: int) -> int:
    return tokens * rate // _A_MILLION
