"""Measure the share of a session's input that is read from the providers' prompt caches, and the cost with and without.

    python -m bench.prompt_cache [--steps 200] [--cost]

clio runs 20 turns of ten steps with each protocol, with parallel calls (25 of them in every tenth step) and one trim. A
server on loopback bills the requests by the published rules (`bench.cache_rules`). A step takes 20 simulated seconds, a
pause between turns two minutes, or ten if the row says so. A rewrite is a request that reads less than 90 % of the
request before it from the cache: there must be one after a trim, and no other. --cost prints the output of `/cost` for
a short session instead.
"""

import argparse
import asyncio
import itertools
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.cache_rules import AnthropicCache, AutomaticCache, Billed, BreakpointCache, CacheRule, Refused
from clio.app import App
from clio.commands.registry import run_command
from clio.messages import Usage
from clio.providers.prices import PriceBook
from clio.text.formatting import format_money
from tests.support import messages_server
from tests.support.chat_server import DONE, ChatServer, Part, Recorded, Reply, chunk, error, sse
from tests.support.harness import Harness, make_repository

STEPS_PER_TURN = 10
STEP_S, PAUSE_S, LONG_PAUSE_S = 20.0, 120.0, 600.0
Call = tuple[str, dict[str, Any]]


class Case(Struct, frozen=True, kw_only=True):
    """One row of the table."""

    name: str
    provider: str
    api: str
    model: str
    rule: Callable[[], CacheRule]
    cache_ttl: str = "5m"
    pause_s: float = PAUSE_S
    restarts: bool = False


CASES = (
    Case(name="messages", provider="anthropic", api="messages", model="claude-sonnet-5-5", rule=AnthropicCache),
    Case(name="messages, budget", provider="anthropic", api="messages", model="claude-sonnet-4-5", rule=AnthropicCache),
    Case(
        name="messages, restarted twice",
        provider="anthropic",
        api="messages",
        model="claude-sonnet-5-5",
        rule=AnthropicCache,
        restarts=True,
    ),
    Case(name="responses", provider="openai", api="responses", model="gpt-6-sol", rule=BreakpointCache),
    Case(name="responses, GPT-5", provider="openai", api="responses", model="gpt-5", rule=AutomaticCache),
    Case(name="chat", provider="openai", api="chat", model="gpt-5.6-terra", rule=BreakpointCache),
    Case(name="chat, GPT-5", provider="openai", api="chat", model="gpt-5", rule=AutomaticCache),
    Case(
        name="messages, 10 min pauses",
        provider="anthropic",
        api="messages",
        model="claude-sonnet-5-5",
        rule=AnthropicCache,
        pause_s=LONG_PAUSE_S,
    ),
    Case(
        name="messages, 10 min pauses, 1h",
        provider="anthropic",
        api="messages",
        model="claude-sonnet-5-5",
        rule=AnthropicCache,
        cache_ttl="1h",
        pause_s=LONG_PAUSE_S,
    ),
)


class CacheServer(ChatServer):
    """Answers requests of all protocols from a list of steps, and bills them by a rule.

    steps: the calls of each answer; an answer without calls ends a turn. clock: the seconds at each request.
    """

    def __init__(self, rule: CacheRule, steps: list[list[Call]], clock: Iterator[float]) -> None:
        super().__init__()
        self._rule, self._steps, self._clock = rule, iter(steps), clock
        self.bills: list[Billed] = []
        self.paths: set[str] = set()

    def _choose(self, request: Recorded) -> Reply:
        if request.method != "POST":
            return super()._choose(request)
        self.paths.add(request.path)
        try:
            billed = self._rule.bill(request.body, next(self._clock))
        except Refused as refusal:
            return error(400, {"error": {"message": str(refusal), "type": "invalid_request_error"}})
        self.bills.append(billed)
        calls, number = next(self._steps, []), len(self.bills)
        if request.path.endswith("/messages"):
            return _answer_messages(billed, calls, number)
        if request.path.endswith("/responses"):
            return _answer_responses(billed, calls, number)
        return _answer_chat(billed, calls, number)


def _make_text(number: int) -> str:
    return f"Step {number}: I look at the next files to see where the value comes from and who uses it."


def _count_output_tokens(calls: list[Call]) -> int:
    return 60 + len(json.dumps(calls)) // 4


def _answer_messages(billed: Billed, calls: list[Call], number: int) -> Reply:
    usage = {
        "input_tokens": billed.prompt - billed.read - billed.written,
        "cache_read_input_tokens": billed.read,
        "cache_creation_input_tokens": billed.written,
        "cache_creation": {
            "ephemeral_5m_input_tokens": billed.written - billed.written_1h,
            "ephemeral_1h_input_tokens": billed.written_1h,
        },
        "output_tokens": _count_output_tokens(calls),
        "output_tokens_details": {"thinking_tokens": 40},
    }
    thinking = messages_server.thinking(f"Thought {number}.", f"c2lnbmF0dXJl{number}")
    blocks = [messages_server.tool(name, **arguments) for name, arguments in calls]
    return messages_server.answer(thinking, _make_text(number), *blocks, usage=usage)


def _cache_details(billed: Billed) -> dict[str, int]:
    return {"cached_tokens": billed.read, "cache_write_tokens": billed.written}


def _answer_responses(billed: Billed, calls: list[Call], number: int) -> Reply:
    text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": _make_text(number)}]}
    items: list[dict[str, Any]] = [
        {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"secret{number}" * 20},
        text,
    ]
    for index, (name, arguments) in enumerate(calls):
        call_id = f"call_{number}_{index}"
        row = {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}
        items.append(row)
    usage = {
        "input_tokens": billed.prompt,
        "input_tokens_details": _cache_details(billed),
        "output_tokens": _count_output_tokens(calls),
        "output_tokens_details": {"reasoning_tokens": 40},
    }

    def render(_: Recorded) -> Iterator[Part]:
        for index, item in enumerate(items):
            yield sse({"type": "response.output_item.done", "output_index": index, "item": item})
        yield sse({"type": "response.completed", "response": {"status": "completed", "usage": usage}})

    return Reply(render)


def _answer_chat(billed: Billed, calls: list[Call], number: int) -> Reply:
    usage = {
        "prompt_tokens": billed.prompt,
        "prompt_tokens_details": _cache_details(billed),
        "completion_tokens": _count_output_tokens(calls),
        "completion_tokens_details": {"reasoning_tokens": 40},
    }

    def render(_: Recorded) -> Iterator[Part]:
        yield chunk({"role": "assistant", "content": _make_text(number)})
        for index, (name, arguments) in enumerate(calls):
            function = {"name": name, "arguments": json.dumps(arguments)}
            yield chunk({"tool_calls": [{"index": index, "id": f"call_{number}_{index}", "function": function}]})
        yield chunk({}, "tool_calls" if calls else "stop")
        yield chunk(None, usage=usage)
        yield DONE

    return Reply(render)


def plan_steps(steps: int) -> list[list[Call]]:
    """Return the calls of each step: one read, three reads, a search, 25 reads; none in the last step of a turn."""
    files = iter(range(10 * steps))

    def reads(count: int) -> list[Call]:
        return [("read_file", {"path": f"src/part_{next(files)}.py"}) for _ in range(count)]

    plan: list[list[Call]] = []
    for step in range(steps):
        index = step % STEPS_PER_TURN
        if index == STEPS_PER_TURN - 1:
            plan.append([])
        elif index == STEPS_PER_TURN - 2:
            plan.append(reads(25))
        elif index == 4:
            plan.append([("search_files", {"pattern": f"value_{step}\\b"})])
        else:
            plan.append(reads(3 if index % 2 else 1))
    return plan


def make_project(folder: Path, files: int) -> None:
    """Create a repository of small modules."""
    body = "".join(f"    total += value_{{0}} * {line}  # term {line} of the sum\n" for line in range(6))
    make_repository(
        folder,
        {
            f"src/part_{number}.py": f"value_{number} = {number}\n\n\ndef part_{number}(total):\n"
            + body.replace("{0}", str(number))
            + "    return total\n"
            for number in range(files)
        },
    )


class SessionResult(Struct, frozen=True, kw_only=True):
    """The figures of one session. cost, uncached: with and without the cache, in millionths of a dollar."""

    case: Case
    usage: Usage
    trims: int
    rewrites: int
    cost: int
    uncached: int

    @property
    def read_share(self) -> float:
        """The share of the input tokens that were read from the cache."""
        return self.usage.cached_tokens / self.usage.prompt_tokens


def _make_clock(pause_s: float) -> Iterator[float]:
    now, step = 0.0, 0
    while True:
        yield now
        step += 1
        now += STEP_S if step % STEPS_PER_TURN else pause_s


def measure(case: Case, folder: Path, steps: int, window: int) -> SessionResult:
    """Run a session of `steps` steps, and return its figures."""
    server, app = run_session(case, folder, plan_steps(steps), window)
    if len(server.bills) != steps:
        raise SystemExit(f"{case.name}: {len(server.bills)} requests of {steps}; the session did not go as planned")
    bills = server.bills
    rewrites = sum(bill.read < 0.9 * previous.prompt for previous, bill in itertools.pairwise(bills))
    usage, cost = Usage(), 0
    for bill in app.session.bills:
        cost += bill.cost or 0
        usage += Usage(**{name: getattr(bill, name) for name in Usage.__struct_fields__})
    price = PriceBook(None).find_price(case.provider, case.model)
    assert price is not None
    uncached = sum(
        price.cost(Usage(prompt_tokens=bill.prompt_tokens, completion_tokens=bill.completion_tokens))
        for bill in app.session.bills
    )
    trims = len(app.session.trims)
    return SessionResult(case=case, usage=usage, trims=trims, rewrites=rewrites, cost=cost, uncached=uncached)


def run_session(case: Case, folder: Path, plan: list[list[Call]], window: int) -> tuple[CacheServer, App]:
    """Run a session, whose last turn may be unfinished. folder: contains the home directories and `project`."""
    home = folder / f"home-{case.name}"
    home.mkdir()
    settings = {"api": case.api, "cache_ttl": case.cache_ttl, "context_window": window}
    (home / "config.yaml").write_text("".join(f"{key}: {value}\n" for key, value in settings.items()), encoding="utf-8")

    async def run_turns(harness: Harness, turns: int) -> None:
        for turn in range(turns):
            if case.restarts and turn in (5, 12):
                session = harness.app.session.id
                await harness.app.close()
                harness.app = harness.build()
                harness.app.open_session(session)
            finished = await harness.turn(f"Find out where value {turn} is made, and say who uses it.")
            if finished.status != "done":
                raise SystemExit(f"{case.name}: turn {turn} ended as {finished.status}: {finished.error}")
        await harness.app.close()

    with CacheServer(case.rule(), plan, _make_clock(case.pause_s)) as server:
        harness = Harness(folder / "project", home, server, provider=case.provider, model=case.model)
        asyncio.run(run_turns(harness, sum(not calls for calls in plan)))
    return server, harness.app


def print_table(rows: list[SessionResult]) -> None:
    """Print the table."""
    head = ("session", "input", "read", "written", "trims", "rewrites", "cost", "uncached")
    print("{:<28} {:>11} {:>7} {:>8} {:>6} {:>9} {:>8} {:>9}".format(*head))
    for row in rows:
        share, written = row.read_share, row.usage.cache_write_tokens / row.usage.prompt_tokens
        print(
            f"{row.case.name:<28} {row.usage.prompt_tokens:>11,} {share:>7.1%} {written:>8.1%} {row.trims:>6} "
            f"{row.rewrites:>9} {format_money(row.cost):>8} {format_money(row.uncached):>9}"
        )


def print_cost(folder: Path) -> None:
    """Print the output of `/cost` after three turns with Messages."""
    make_project(folder / "project", 300)
    _, app = run_session(CASES[0], folder, plan_steps(3 * STEPS_PER_TURN), 200_000)
    result = run_command(app, "/cost")
    assert result.table is not None
    print(result.text + "\n")
    rows = [result.table.columns, *result.table.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--window", type=int, default=160_000)
    parser.add_argument("--only", default="", help="the name of one session")
    parser.add_argument("--cost", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.cost:
            print_cost(folder)
            return
        make_project(folder / "project", 10 * options.steps)
        cases = [case for case in CASES if options.only in ("", case.name)]
        print_table([measure(case, folder, options.steps, options.window) for case in cases])


if __name__ == "__main__":
    main()
