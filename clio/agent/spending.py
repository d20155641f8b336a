"""Count the cost of requests, refuse those over the limit, and record the cost of each turn in the ledger."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

from clio.config.loaded import LoadedConfig
from clio.errors import ConfigError, StorageError
from clio.messages import Usage
from clio.providers.base import Provider
from clio.providers.prices import Price, PriceBook, explain_unknown_price, format_day, states_cost
from clio.sessions.ledger import LEDGER_NAME, Ledger, LedgerEntry, make_ledger_entries
from clio.sessions.session import Session
from clio.sessions.state import Bill
from clio.storage.locks import error_cause
from clio.text.formatting import MICROS_PER_DOLLAR, Cost, format_money
from clio.text.translation import tr

MIN_ANSWER_TOKENS = 256
"""A request is not sent if the money left pays only for a shorter answer than this."""
_TOKENS_PER_PRICE = 1_000_000


class SpendingLimitReached(Exception):
    """The next request could exceed the spending limit; it was not sent."""


class Spending:
    """Counts what one clio process has spent, and enforces the spending limit.

    Attributes:
        cap: spending limit in micro-dollars; None for no limit.
        problem: why prices are not known, such as an invalid file; "" if they are.
        sharer_count: number of conversations that send requests concurrently. They share what is left, so that the
            first request does not reserve all of it.
        background_count: number of further conversations, which work in the background.
        on_cost: called with the known cost of each request, in micro-dollars.
    """

    def __init__(self, book: PriceBook, ledger: Ledger | None = None, *, cap: int | None = None) -> None:
        self.book = book
        self.ledger = ledger or Ledger(None)
        self.cap = cap
        self.run_cost = Cost()
        self.problem = ""
        self.sharer_count = 1
        self.background_count = 0
        self.on_cost: Callable[[Provider, int], None] | None = None
        self._estimated_micros = 0  # micro-dollars of requests without a bill, estimated
        self._active: list[Reservation] = []  # requests that were sent and are not billed yet
        self._waiters: list[asyncio.Future[None]] = []
        # Model and input tokens of the last request, by conversation; "" is the newest of all conversations.
        self._last_inputs: dict[str, tuple[str, int]] = {}
        self._limit_problem = ""  # why the limit can no longer be enforced
        self._session_id, self._bill_count, self._session_cost = "", 0, Cost()

    def check_price_known(self, provider: Provider) -> None:
        """Raise ConfigError if spending is limited and the price of this model is unknown."""
        if self.cap is None or states_cost(provider.name):
            return
        if self.book.find_price(provider.name, provider.model) is None:
            raise ConfigError(
                tr(
                    "--max-cost cannot be enforced: {reason}",
                    reason=explain_unknown_price(provider.name, provider.model),
                )
            )

    async def reserve(
        self, provider: Provider, prompt_tokens: int, *, output_tokens: int, conversation: str = ""
    ) -> "Reservation":
        """Reserve money for one request: the minimum cost of its input, and this conversation's share for its answer.

        If the request would fit once the requests in progress are billed, wait for their bills.

        Args:
            output_tokens: the longest answer to pay for.
            conversation: id of the conversation. The input of its last request is assumed to be cached by the server.

        Raises:
            SpendingLimitReached: the request must not be sent.
        """
        if self.cap is None:
            return Reservation(self, provider, conversation)
        while True:
            if self._limit_problem:
                raise SpendingLimitReached(self._limit_problem)
            price = self._find_price(provider)
            output_rate = price.rate_for(prompt_tokens).output if price else 0
            min_cost = self._compute_min_cost(price, provider.model, prompt_tokens, conversation)
            min_answer_cost = _compute_cost(min(MIN_ANSWER_TOKENS, output_tokens), output_rate)
            unreserved = self.cap - self._spent - sum(other.amount for other in self._active)
            if min_cost + min_answer_cost <= unreserved:
                break
            # Not even the cheapest outcome of the requests in progress would leave enough: waiting cannot help.
            if (
                min_cost + min_answer_cost > self.cap - self._spent - sum(other.min_cost for other in self._active)
                or not self._active
            ):
                raise SpendingLimitReached(
                    tr(
                        "stopped by --max-cost {money}: {money2} has been spent, and the next request costs "
                        "{money3} or more; raise the limit, or ask for less",
                        money=format_money(self.cap),
                        money2=format_money(self._spent),
                        money3=format_money(min_cost + min_answer_cost),
                    )
                )
            await self._wait_for_bill()
        sharers = self.sharer_count + self.background_count
        # Active requests have reserved their share already; the rest is divided among the other conversations.
        answer_budget = max(unreserved // max(sharers - len(self._active), 1) - min_cost, min_answer_cost)
        max_output = max(answer_budget * _TOKENS_PER_PRICE // output_rate, 1) if output_rate else None
        if max_output is not None and max_output >= output_tokens:
            max_output, answer_budget = None, _compute_cost(output_tokens, output_rate)
        reservation = Reservation(
            self,
            provider,
            conversation,
            min_cost=min_cost,
            answer_micros=answer_budget if output_rate else 0,
            max_output_tokens=max_output,
        )
        self._active.append(reservation)
        return reservation

    def count_bill(self, reservation: "Reservation", usage: Usage, stated_cost: int | None) -> int | None:
        """See `Reservation.count_bill`."""
        provider = reservation.provider
        self._last_inputs[reservation.conversation] = self._last_inputs[""] = (provider.model, usage.prompt_tokens)
        price = self._find_price(provider) if stated_cost is None else None
        cost = stated_cost if stated_cost is not None else price.cost(usage) if price else None
        if stated_cost is None and cost is not None:
            # Searches without a known price are counted as free; /cost names them.
            cost += self.book.find_search_cost(provider.name, usage.searches) or 0
        if cost is None:
            self.run_cost += Cost(unpriced_tokens=usage.prompt_tokens + usage.completion_tokens)
            self._limit_problem = (
                f"--max-cost cannot be enforced: {explain_unknown_price(provider.name, provider.model)}"
            )
        else:
            self.run_cost += Cost(micro_dollars=cost)
            if self.on_cost is not None:
                self.on_cost(provider, cost)
        self.settle(reservation, 0)
        return cost

    def count_estimate(self, reservation: "Reservation", usage: Usage) -> None:
        """See `Reservation.count_estimate`."""
        price = self._find_price(reservation.provider) if self.cap is not None else None
        if price is None and self.cap is not None:
            self._limit_problem = (
                f"--max-cost cannot be enforced: {reservation.provider.name} did not report the cost of its answer"
            )
        self.settle(reservation, price.cost(usage) if price else 0)

    def settle(self, reservation: "Reservation", estimated_micros: int) -> None:
        """Release the money a request reserved, count `estimated_micros` as spent, and wake waiting requests."""
        self._estimated_micros += estimated_micros
        if reservation in self._active:
            self._active.remove(reservation)
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def _wait_for_bill(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    def get_session_cost(self, session: Session) -> Cost | None:
        """Return what the session has cost so far; None before its first bill.

        The sum is cached: a call adds only the bills since the last call.
        """
        bills = session.bills
        if session.id != self._session_id or len(bills) < self._bill_count:
            self._session_id, self._bill_count, self._session_cost = session.id, 0, Cost()
        for bill in bills[self._bill_count :]:
            self._session_cost += bill.cost_sum
        self._bill_count = len(bills)
        return self._session_cost if bills else None

    @property
    def _spent(self) -> int:
        return self.run_cost.micro_dollars + self._estimated_micros

    def _compute_min_cost(self, price: Price | None, model: str, prompt_tokens: int, conversation: str) -> int:
        """Return the minimum cost of the input, in micro-dollars; 0 if the price is unknown."""
        if price is None:
            return 0
        last_model, last_tokens = self._last_inputs.get(conversation) or self._last_inputs.get("", ("", 0))
        # The last request's input counts as cached: a higher estimate would stop work that can be paid for.
        cached_tokens = min(last_tokens, prompt_tokens) if last_model == model else 0
        # Providers that charge for cache writes charge for all tokens that are not cached yet.
        new_tokens = prompt_tokens - cached_tokens
        return price.cost(
            Usage(prompt_tokens=prompt_tokens, cached_tokens=cached_tokens, cache_write_tokens=new_tokens)
        )

    def _find_price(self, provider: Provider) -> Price | None:
        try:
            price, self.problem = self.book.find_price(provider.name, provider.model), ""
        except ConfigError as error:
            price, self.problem = None, tr("costs are not counted: {error}", error=error)
        return price


class Reservation:
    """One request in progress, as a context manager.

    Call `count_bill` or `count_estimate` when the request ends. Without either, leaving the context counts `min_cost`.

    Attributes:
        min_cost: minimum cost of the input, in micro-dollars.
        amount: micro-dollars reserved for input and answer.
        max_output_tokens: the longest answer that the reservation pays for, in tokens; None for no limit.
    """

    def __init__(
        self,
        spending: Spending,
        provider: Provider,
        conversation: str,
        *,
        min_cost: int = 0,
        answer_micros: int = 0,
        max_output_tokens: int | None = None,
    ) -> None:
        self.provider = provider
        self.conversation = conversation
        self.min_cost = min_cost
        self.amount = min_cost + answer_micros
        self.max_output_tokens = max_output_tokens
        self._spending = spending
        self._is_open = True

    def count_bill(self, usage: Usage, stated_cost: int | None) -> int | None:
        """Count the cost of the request and return it, in micro-dollars; None if it is unknown.

        Args:
            stated_cost: the cost that the server reported; None to compute it from the price of the model.
        """
        self._is_open = False
        return self._spending.count_bill(self, usage, stated_cost)

    def count_estimate(self, prompt_tokens: int, answer_tokens: int) -> None:
        """Count an estimated cost towards the limit, because the server sent no bill."""
        self._is_open = False
        self._spending.count_estimate(self, Usage(prompt_tokens=prompt_tokens, completion_tokens=answer_tokens))

    def __enter__(self) -> "Reservation":
        return self

    def __exit__(self, *_: object) -> None:
        """Count a request that failed or was cancelled as the minimum it must have cost."""
        if self._is_open:
            self._is_open = False
            self._spending.settle(self, self.min_cost)


def open_spending(loaded: LoadedConfig) -> Spending:
    """Return the `Spending` for a configuration. Reads no file yet; an incognito run writes no ledger."""
    config = loaded.config
    return Spending(
        PriceBook(loaded.home),
        Ledger(None if config.incognito else loaded.home / LEDGER_NAME),
        cap=round(config.max_cost * MICROS_PER_DOLLAR) if config.max_cost else None,
    )


def _compute_cost(tokens: int, rate: int) -> int:
    return tokens * rate // _TOKENS_PER_PRICE


class LedgerWriter:
    """Adds bills to the ledger. Each problem with the ledger or the prices is reported once per run."""

    def __init__(self, spending: Spending, project: Path) -> None:
        self._spending = spending
        self._project = str(project)
        self._reported: set[str] = set()

    def write_bills(self, session: Session, bills: list[Bill]) -> list[str]:
        """Add these bills of the session to the ledger; return the sentences to show. May be called in a thread."""
        entries = make_ledger_entries(bills, project=self._project, session=session.id, day_of=format_day)
        sentences = [self._spending.problem, *self._explain_new_unpriced_models(entries)]
        try:
            self._spending.ledger.add(entries)
        except (StorageError, OSError, TimeoutError) as error:
            sentences.append(
                tr(
                    "the cost of this turn is missing from /cost days: {error_cause}; /cost rebuild adds it later",
                    error_cause=error_cause(error),
                )
            )
        unreported = [sentence for sentence in dict.fromkeys(sentences) if sentence and sentence not in self._reported]
        self._reported.update(unreported)
        return unreported

    def _explain_new_unpriced_models(self, entries: list[LedgerEntry]) -> Iterator[str]:
        """Yield a sentence for each unpriced model that the ledger does not contain, so each is reported only once."""
        models = {(entry.server, entry.model) for entry in entries if entry.unpriced_tokens}
        if not models or self._spending.problem:
            return
        try:
            reported = {
                (entry.server, entry.model) for entry in self._spending.ledger.read().entries if entry.unpriced_tokens
            }
        except (StorageError, OSError):
            reported = set[tuple[str, str]]()
        for server, model in sorted(models - reported):
            yield explain_unknown_price(server, model)
