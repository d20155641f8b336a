"""Counts what requests cost, refuses one over the limit, and notes each turn's cost in the ledger."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from clio.config.loaded import Loaded
from clio.errors import ConfigError, StorageError
from clio.messages import Usage
from clio.providers.base import Provider
from clio.providers.prices import Price, PriceBook, day_of, states_cost, unknown_price
from clio.sessions.ledger import FILE_NAME, Ledger, Spent, spent_of
from clio.sessions.session import Session
from clio.sessions.state import Bill
from clio.storage.locks import cause
from clio.text.formatting import MICROS, Cost, format_money

LEAST_ANSWER = 256
"""Tokens: for less no request is worth its price."""
_A_MILLION = 1_000_000


class TooDear(Exception):
    """The next request would cost more than the person allows; it was not sent."""


class Spending:
    """What one running clio has spent. cap: the most it may, in micro-dollars; None is no limit.

    problem: why prices are not known, such as a wrong file; "" where nothing is wrong.
    sharers: how many ask side by side by now: what is left is shared out among them, not all held by the first.
    """

    def __init__(self, book: PriceBook, ledger: Ledger | None = None, *, cap: int | None = None) -> None:
        self.book = book
        self.ledger = ledger or Ledger(None)
        self.cap = cap
        self.run = Cost()
        self.problem = ""
        self.sharers = 1
        self._assumed = 0  # micro-dollars no server has billed
        self._open: list[Reservation] = []  # of requests that were sent and are not billed yet
        self._waiting: list[asyncio.Future[None]] = []
        # Model, and the input tokens its server saw last, by conversation; "" is the newest of all.
        self._seen: dict[str, tuple[str, int]] = {}
        self._unbilled = ""  # why the limit cannot be kept any more
        self._session_id, self._bills, self._session_cost = "", 0, Cost()

    def check_start(self, provider: Provider) -> None:
        """Raise ConfigError where there is a limit and nobody knows what a request of this model costs."""
        if self.cap is None or states_cost(provider.name):
            return
        if self.book.price_of(provider.name, provider.model) is None:
            raise ConfigError(f"--max-cost cannot be kept: {unknown_price(provider.name, provider.model)}")

    async def reserve(
        self, provider: Provider, prompt_tokens: int, *, output_tokens: int, conversation: str = ""
    ) -> "Reservation":
        """Room for one request: what its input costs at least, and as long an answer as its share of the rest pays.

        output_tokens: the longest answer wanted. conversation: whose it is; what the server saw of it a moment ago
        counts as cached. Where only requests on their way stand between it and the limit, it waits for their bills.
        Raises TooDear where it must not be sent.
        """
        if self.cap is None:
            return Reservation(self, provider, conversation)
        while True:
            if self._unbilled:
                raise TooDear(self._unbilled)
            price = self._price(provider)
            rate = price.rate_for(prompt_tokens).output if price else 0
            least = self._least(price, provider.model, prompt_tokens, conversation)
            answer = _cost(min(LEAST_ANSWER, output_tokens), rate)
            free = self.cap - self._spent - sum(one.amount for one in self._open)
            if least + answer <= free:
                break
            if least + answer > self.cap - self._spent - sum(one.least for one in self._open) or not self._open:
                raise TooDear(
                    f"stopped by --max-cost {format_money(self.cap)}: {format_money(self._spent)} is spent, and the "
                    f"next request costs {format_money(least + answer)} or more; raise it, or ask for less"
                )
            await self._settled()
        share = max(free // max(self.sharers - len(self._open), 1) - least, answer)
        most = max(share * _A_MILLION // rate, 1) if rate else None
        if most is not None and most >= output_tokens:
            most, share = None, _cost(output_tokens, rate)
        held = Reservation(self, provider, conversation, least=least, answer=share if rate else 0, most_output=most)
        self._open.append(held)
        return held

    def count(self, held: "Reservation", usage: Usage, stated: int | None) -> int | None:
        """See `Reservation.bill`."""
        provider = held.provider
        self._seen[held.conversation] = self._seen[""] = (provider.model, usage.prompt_tokens)
        price = self._price(provider) if stated is None else None
        cost = stated if stated is not None else price.cost(usage) if price else None
        if cost is None:
            self.run += Cost(unpriced_tokens=usage.prompt_tokens + usage.completion_tokens)
            self._unbilled = f"--max-cost cannot be kept: {unknown_price(provider.name, provider.model)}"
        else:
            self.run += Cost(micro_dollars=cost)
        self.settle(held, 0)
        return cost

    def count_unbilled(self, held: "Reservation", usage: Usage) -> None:
        """See `Reservation.assume`."""
        price = self._price(held.provider) if self.cap is not None else None
        if price is None and self.cap is not None:
            self._unbilled = f"--max-cost cannot be kept: {held.provider.name} did not say what its answer cost"
        self.settle(held, price.cost(usage) if price else 0)

    def settle(self, held: "Reservation", assumed: int) -> None:
        """What a request held is free; so many micro-dollars no server has billed count from now on."""
        self._assumed += assumed
        if held in self._open:
            self._open.remove(held)
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)

    async def _settled(self) -> None:
        one = asyncio.get_running_loop().create_future()
        self._waiting.append(one)
        await one

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

    def _least(self, price: Price | None, model: str, prompt_tokens: int, conversation: str) -> int:
        """What the input costs at least: what the server saw a moment ago counts as cached."""
        if price is None:
            return 0
        of, tokens = self._seen.get(conversation) or self._seen.get("", ("", 0))
        seen = min(tokens, prompt_tokens) if of == model else 0
        written = prompt_tokens - seen  # where a maker charges for that, each request writes all that is new
        return price.cost(Usage(prompt_tokens=prompt_tokens, cached_tokens=seen, cache_write_tokens=written))

    def _price(self, provider: Provider) -> Price | None:
        try:
            price, self.problem = self.book.price_of(provider.name, provider.model), ""
        except ConfigError as error:
            price, self.problem = None, f"costs are not counted: {error}"
        return price


class Reservation:
    """One request on its way, as a context: it ends with a bill, with an estimate, or broken off.

    least, answer: micro-dollars held for its input and its answer. most_output: the longest answer they pay for, in
    tokens; None where that is no limit.
    """

    def __init__(
        self,
        spending: Spending,
        provider: Provider,
        conversation: str,
        *,
        least: int = 0,
        answer: int = 0,
        most_output: int | None = None,
    ) -> None:
        self.provider = provider
        self.conversation = conversation
        self.least = least
        self.amount = least + answer
        self.most_output = most_output
        self._spending = spending
        self._is_open = True

    def bill(self, usage: Usage, stated: int | None) -> int | None:
        """Count it: what the server says it cost, else by price; None where neither is known."""
        self._is_open = False
        return self._spending.count(self, usage, stated)

    def assume(self, prompt_tokens: int, answer_tokens: int) -> None:
        """Count it towards the limit by estimate, where the server sent no bill."""
        self._is_open = False
        self._spending.count_unbilled(self, Usage(prompt_tokens=prompt_tokens, completion_tokens=answer_tokens))

    def __enter__(self) -> "Reservation":
        return self

    def __exit__(self, *_: object) -> None:
        """One that broke off counts as the least it must have cost."""
        if self._is_open:
            self._is_open = False
            self._spending.settle(self, self.least)


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


class SpendingNotes:
    """Keeps the ledger. What is wrong with it, or with the prices, is said once in a run."""

    def __init__(self, spending: Spending, project: Path) -> None:
        self._spending = spending
        self._project = str(project)
        self._told: set[str] = set()

    def note(self, session: Session, bills: list[Bill]) -> list[str]:
        """Write down these bills of the session; gives the sentences to say. May be called in a thread."""
        spent = spent_of(bills, project=self._project, session=session.id, day_of=day_of)
        said = [self._spending.problem, *self._unpriced(spent)]
        try:
            self._spending.ledger.add(spent)
        except (StorageError, OSError, TimeoutError) as error:
            said.append(f"what this turn cost is not in /cost days: {cause(error)}; /cost rebuild counts it later")
        new = [sentence for sentence in dict.fromkeys(said) if sentence and sentence not in self._told]
        self._told.update(new)
        return new

    def _unpriced(self, spent: list[Spent]) -> Iterator[str]:
        """A model without a price is told once, for ever: the ledger shows whether it had come before."""
        models = {(one.server, one.model) for one in spent if one.unpriced_tokens}
        if not models or self._spending.problem:
            return
        try:
            known = {(one.server, one.model) for one in self._spending.ledger.read().spent if one.unpriced_tokens}
        except (StorageError, OSError):
            known = set[tuple[str, str]]()
        for server, model in sorted(models - known):
            yield unknown_price(server, model)
