"""`--max-cost` with parallel sub-agents over real HTTP: it stops when it must, and not before."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from clio.agent.spending import Spending, SpendingLimitReached
from clio.config.schema import Config
from clio.messages import Usage
from clio.providers.prices import PriceBook
from clio.providers.registry import make_provider
from clio.text.formatting import MICROS_PER_DOLLAR
from tests.support.chat_server import Part, Pause, Recorded, Reply, text, tool_calls
from tests.support.harness import Harness
from tests.support.waiting import run_loop_once
from tests.support.wording import mentions
from tests.turns.conftest import MakeHarness

PRICES = (
    "'*':\n  test-model: {input: 100, output: 1000}\n"  # dollars per million: an answer of 1,000 tokens is one dollar
)


class Together:
    """Answers this many sub-agents only when all of their requests have arrived."""

    def __init__(self, children: int) -> None:
        self.children = children
        self.asked: list[int] = []

    def __call__(self, body: dict[str, Any]) -> Reply:
        if "sub-agent of clio" in body["messages"][0]["content"]:
            self.asked.append(body.get("max_tokens") or body["max_completion_tokens"])
            return Reply(self._when_all_are_here)
        if body["messages"][-1]["role"] == "user":
            return tool_calls([("delegate", {"task": f"look {number}"}) for number in range(self.children)])
        return text("All looked.")

    def _when_all_are_here(self, request: Recorded) -> Iterator[Part]:
        for _ in range(500):
            if len(self.asked) == self.children:
                break
            yield Pause(0.01)
        yield from text("Looked.").render(request)


def begin(make_harness: MakeHarness, server: Any, cap: float) -> Harness:
    harness = make_harness(server, max_cost=str(cap))
    harness.app.home.mkdir(exist_ok=True)
    (harness.app.home / "prices.yaml").write_text(PRICES, encoding="utf-8")
    return harness


def test_the_rest_is_shared_and_all_agents_run_in_parallel(make_harness: MakeHarness) -> None:
    server = Together(4)
    harness = begin(make_harness, server, 12.0)
    finished = asyncio.run(harness.turn("go"))
    assert (finished.status, finished.text) == ("done", "All looked.")
    assert len(server.asked) == 4
    assert sum(server.asked) < 12_000  # together they can never write more than the rest
    assert max(server.asked) - min(server.asked) < 0.1 * max(server.asked)
    assert harness.app.spending.sharer_count == 1


class LimitHarness:
    """A limit and a price, without a server."""

    def __init__(self, tmp_path: Any, cap: float) -> None:
        (tmp_path / "prices.yaml").write_text(PRICES, encoding="utf-8")
        self.spending = Spending(PriceBook(tmp_path), cap=round(cap * MICROS_PER_DOLLAR))
        self.provider = make_provider(Config(base_url="http://127.0.0.1:9/v1", model="test-model"), {})

    async def reserve(self, prompt: int = 1_000, output: int = 100_000, of: str = "a") -> Any:
        return await self.spending.reserve(self.provider, prompt, output_tokens=output, conversation=of)


def test_a_bill_replaces_the_reservation(tmp_path: Any) -> None:
    """A request in progress counts once: as reserved, then as billed."""
    harness = LimitHarness(tmp_path, 2.0)

    async def run_turns() -> None:
        harness.spending.sharer_count = 2
        first, second = await harness.reserve(of="a"), await harness.reserve(of="b")
        assert first.min_cost == second.min_cost == 100_000
        assert first.amount + second.amount == 2 * MICROS_PER_DOLLAR
        first.count_bill(Usage(prompt_tokens=1_000, completion_tokens=100), None)
        second.count_bill(Usage(prompt_tokens=1_000, completion_tokens=100), None)
        harness.spending.sharer_count = 1
        assert harness.spending.run_cost.micro_dollars == 400_000
        last = await harness.reserve(of="c")
        assert last.amount == 2 * MICROS_PER_DOLLAR - 400_000  # all that is left, to the last micro-dollar

    asyncio.run(run_turns())


def test_a_request_waits_for_the_bills_of_others_and_continues_or_is_refused(tmp_path: Any) -> None:
    harness = LimitHarness(tmp_path, 1.0)

    async def run_turns(written: int) -> str:
        first = await harness.reserve(of="a")  # alone, it may use all that is left
        waiting = asyncio.create_task(harness.reserve(of="b"))
        await run_loop_once()
        assert not waiting.done()
        first.count_bill(Usage(prompt_tokens=1_000, completion_tokens=written), None)
        try:
            reservation = await asyncio.wait_for(waiting, 5)
        except SpendingLimitReached as error:
            return str(error)
        assert reservation.amount <= MICROS_PER_DOLLAR - harness.spending.run_cost.micro_dollars
        with reservation:
            pass
        return "went on"

    assert asyncio.run(run_turns(200)) == "went on"  # was interrupted: its input counts, $0.10
    assert mentions(asyncio.run(run_turns(200)), "$0.70", "$0.356")


def test_a_request_that_can_never_fit_does_not_wait(tmp_path: Any) -> None:
    harness = LimitHarness(tmp_path, 0.4)

    async def run_turns() -> None:
        with (
            await harness.reserve(),
            pytest.raises(SpendingLimitReached, match=r"the next request costs \$0\.456 or more"),
        ):
            await harness.reserve(2_000, of="b")

    asyncio.run(run_turns())


def test_a_request_cancelled_while_it_waits_reserves_nothing(tmp_path: Any) -> None:
    harness = LimitHarness(tmp_path, 1.0)

    async def run_turns() -> None:
        first = await harness.reserve()
        waiting = asyncio.create_task(harness.reserve(of="b"))
        await run_loop_once()
        waiting.cancel()
        first.count_bill(Usage(prompt_tokens=1_000, completion_tokens=0), None)
        assert (await harness.reserve(of="c")).amount == MICROS_PER_DOLLAR - 100_000

    asyncio.run(run_turns())


def test_an_interrupted_request_counts_as_its_input(tmp_path: Any) -> None:
    harness = LimitHarness(tmp_path, 1.0)

    async def run_turns() -> None:
        with pytest.raises(ConnectionError), await harness.reserve():
            raise ConnectionError
        assert (await harness.reserve()).amount == MICROS_PER_DOLLAR - 100_000

    asyncio.run(run_turns())


def test_tokens_reported_by_the_server_count_per_conversation(tmp_path: Any) -> None:
    harness = LimitHarness(tmp_path, 100.0)
    (tmp_path / "prices.yaml").write_text(PRICES.replace("input: 100,", "input: 100, cached: 10,"), encoding="utf-8")

    async def run_turns() -> list[int]:
        (await harness.reserve(50_000, of="a")).count_bill(Usage(prompt_tokens=50_000, completion_tokens=0), None)
        (await harness.reserve(10_000, of="b")).count_bill(Usage(prompt_tokens=10_000, completion_tokens=0), None)
        return [(await harness.reserve(60_000, 1, of=name)).min_cost for name in "abc"]

    assert asyncio.run(run_turns()) == [1_500_000, 5_100_000, 5_100_000]
