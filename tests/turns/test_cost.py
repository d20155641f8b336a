"""The cost of turns over real HTTP: by price, as reported by the server, with a limit, and in the saved ledger."""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clio.commands.registry import run_command
from clio.errors import ConfigError
from clio.providers.prices import PriceBook
from tests.support import messages_server, responses_script
from tests.support.chat_server import DONE, ChatServer, Part, Recorded, Reply, chunk, text, tool_calls
from tests.support.forked_clio import run_clio
from tests.support.harness import Harness, make_repository
from tests.support.wording import mentions
from tests.turns.conftest import MakeHarness

PRICES = '"*":\n  test-model: {input: 2, cached: 0.2, output: 10}\n'
READ = ("read_file", {"path": "calc.py"})


class Machine:
    """A project and a home folder."""

    def __init__(self, folder: Path) -> None:
        self.project, self.home = folder / "project", folder / "home" / ".clio"
        make_repository(self.project, {"calc.py": "def add(a, b):\n    return a + b\n"})
        self.home.mkdir(parents=True)

    def prices(self, written: str = PRICES) -> None:
        (self.home / "prices.yaml").write_text(written, encoding="utf-8")

    def clio(self, *words: str, server: ChatServer | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        own = {"HOME": str(self.home.parent), "CLIO_HOME": str(self.home)}
        if server is not None:
            own |= {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": server.url, "CLIO_MODEL": "test-model"}
        return run_clio(words, self.project, dict(os.environ) | own | env)

    def report(self, *words: str, server: ChatServer) -> dict[str, Any]:
        return json.loads(self.clio("-p", *words, "--output", "json", server=server).stdout)

    def ledger(self) -> list[dict[str, Any]]:
        lines = (self.home / "costs.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines[1:]]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def stating(words: str, **usage: object) -> Reply:
    """Return an answer with cost information in OpenRouter's format."""

    def render(request: Recorded) -> Iterator[Part]:
        yield chunk({"content": words})
        yield chunk({}, "stop")
        yield chunk(None, usage={"prompt_tokens": 1_000, "completion_tokens": 50, **usage})
        yield DONE

    return Reply(render)


def test_a_turn_costs_the_sum_of_its_requests_with_cached_tokens_separate(machine: Machine) -> None:
    machine.prices()
    script = [tool_calls([READ], usage=(5_000, 100)), text("It adds.", usage=(6_000, 50, 4_000))]
    with ChatServer(script) as server:
        report = machine.report("what does calc do?", server=server)
    cost = 5_000 * 2 + 100 * 10 + 2_000 * 2 + 800 + 50 * 10
    assert report["cost"] == {"micro_dollars": cost, "unpriced_tokens": 0}
    (line,) = machine.ledger()
    assert (line["micro_dollars"], line["requests"], line["cached_tokens"]) == (cost, 2, 4_000)
    assert (line["project"], line["session"]) == (str(machine.project), report["session_id"])


def test_the_cost_reported_by_the_server_takes_precedence_over_prices(machine: Machine) -> None:
    machine.prices()
    with ChatServer([stating("Hi.", cost=0.0421)]) as server:
        assert machine.report("hi", server=server)["cost"] == {"micro_dollars": 42_100, "unpriced_tokens": 0}


def test_with_the_users_own_key_the_upstream_cost_is_added(machine: Machine) -> None:
    with ChatServer([stating("Hi.", cost=0.001, is_byok=True, cost_details={"upstream_inference_cost": 0.02})]) as own:
        assert machine.report("hi", server=own)["cost"]["micro_dollars"] == 21_000


def test_a_server_on_this_machine_is_free(machine: Machine) -> None:
    with ChatServer([text("Hi.", usage=(5_000, 100))]) as server:
        done = machine.clio("-p", "hi", server=server)
    assert machine.ledger()[0].get("micro_dollars", 0) == machine.ledger()[0].get("unpriced_tokens", 0) == 0
    assert "price" not in done.stderr


def test_an_unknown_price_is_reported_only_once(machine: Machine) -> None:
    machine.prices('"*":\n  test-model: {input: 1, output: 1, until: 2020-01-01}\n')
    notices: list[str] = []
    for _ in range(2):
        with ChatServer([text("Hi.", usage=(700, 30))]) as server:
            named = {"OPENAI_BASE_URL": "", "CLIO_BASE_URL": server.url, "CLIO_PROVIDER": "groq", "GROQ_API_KEY": "k"}
            notices.append(machine.clio("-p", "hi", server=server, **named).stderr)
    assert mentions(notices[0], "no price", "test-model", "groq", "~/.clio/prices.yaml")
    assert "price" not in notices[1]
    assert [line["unpriced_tokens"] for line in machine.ledger()] == [730, 730]


def test_an_invalid_prices_file_is_reported_and_stops_no_turn(machine: Machine) -> None:
    machine.prices('"*":\n  test-model: cheap\n')
    with ChatServer([text("Hi.", usage=(700, 30))]) as server:
        done = machine.clio("-p", "hi", server=server)
    assert (done.returncode, done.stdout) == (0, "Hi.\n")
    assert mentions(done.stderr, "not counted", "~/.clio/prices.yaml:2")


def test_incognito_counts_and_saves_nothing(machine: Machine) -> None:
    machine.prices()
    with ChatServer([text("Hi.", usage=(5_000, 100))]) as server:
        report = machine.report("hi", "--incognito", server=server)
    assert report["cost"]["micro_dollars"] == 11_000
    assert sorted(path.name for path in machine.home.iterdir()) == ["prices.yaml"]


def test_the_limit_stops_before_the_request_that_would_exceed_it(machine: Machine) -> None:
    machine.prices()
    with ChatServer([tool_calls([READ], usage=(20_000, 100)), text("never sent")]) as server:
        done = machine.clio("-p", "what does calc do?", "--max-cost", "0.04", server=server)
        assert len(server.requests) == 1
    assert done.returncode == 5
    assert mentions(done.stderr, "--max-cost $0.04", "$0.041")


def test_within_the_limit_nothing_is_reported(machine: Machine) -> None:
    machine.prices()
    with ChatServer([tool_calls([READ], usage=(2_000, 100)), text("It adds.", usage=(2_000, 10))]) as server:
        done = machine.clio("-p", "what does calc do?", "--max-cost", "1", server=server)
        assert [request.body.get("max_tokens") for request in server.requests] == [None, None]
    assert (done.returncode, done.stdout) == (0, "It adds.\n")


def test_the_length_of_an_answer_is_limited_to_what_can_be_paid(machine: Machine) -> None:
    machine.prices('"*":\n  test-model: {input: 0, output: 10}\n')
    with ChatServer([text("Hi.", usage=(2_000, 10))]) as server:
        machine.clio("-p", "hi", "--max-cost", "0.01", server=server)
        asked = server.requests[0].body
    assert asked.get("max_tokens", asked.get("max_completion_tokens")) == 1_000


def test_a_limit_without_a_price_is_refused_at_the_start(machine: Machine) -> None:
    with ChatServer([text("never sent")]) as server:
        named = {"OPENAI_BASE_URL": "", "CLIO_BASE_URL": server.url, "CLIO_PROVIDER": "groq", "GROQ_API_KEY": "k"}
        done = machine.clio("-p", "hi", "--max-cost", "1", server=server, **named)
        assert not any(request.method == "POST" for request in server.requests)
    assert (done.returncode, done.stdout) == (2, "")
    assert mentions(done.stderr, "--max-cost", "no price", "test-model", "groq")
    assert "~/.clio/prices.yaml" in done.stderr


def test_a_request_without_a_bill_counts_by_estimate(machine: Machine) -> None:
    machine.prices('"*":\n  test-model: {input: 100, output: 100}\n')
    with ChatServer([tool_calls([READ], usage=None) for _ in range(9)]) as server:
        done = machine.clio("-p", "what does calc do?", "--max-cost", "1", "--context-window", "8192", server=server)
        assert 1 <= len(server.requests) < 9
    assert done.returncode == 5


def test_days_are_summed_without_a_session_and_can_be_counted_again(machine: Machine) -> None:
    machine.prices()
    for tokens in (1_000, 3_000):
        with ChatServer([text("Hi.", usage=(tokens, 100))]) as server:
            machine.clio("-p", "hi", server=server)
    (day,) = json.loads(machine.clio("cost", "days", "--json").stdout)
    assert (day["requests"], day["prompt_tokens"], day["micro_dollars"]) == (2, 4_000, 10_000)
    (machine.home / "costs.jsonl").unlink()
    assert mentions(machine.clio("cost").stdout, "No costs")
    again = machine.clio("cost", "rebuild").stdout
    assert again.startswith("Counted 2 requests of 2 sessions: $0.01.")
    assert json.loads(machine.clio("cost", "days", "--json").stdout) == [day]


def test_a_project_may_lower_the_limit_but_not_raise_it(machine: Machine) -> None:
    machine.prices()
    (machine.home / "config.yaml").write_text("max_cost: 0.01\n", encoding="utf-8")
    (machine.project / ".clio").mkdir()
    (machine.project / ".clio" / "config.yaml").write_text("max_cost: 100\n", encoding="utf-8")
    with ChatServer([tool_calls([READ], usage=(20_000, 100)), text("never sent")]) as server:
        assert machine.clio("-p", "what?", server=server).returncode == 5


SEARCH_PRICES = '"*":\n  searches: 10\n  test-model: {input: 2, output: 10}\n'
TOKENS = {"input_tokens": 1_000, "output_tokens": 100}
"""3,000 micro-dollars at these prices."""


def search_call(name: str, kind: str = "search", status: str = "completed") -> dict[str, Any]:
    return {"type": "web_search_call", "id": name, "status": status, "action": {"type": kind, "query": "x"}}


@pytest.mark.parametrize("streamed", [True, False])
def test_server_side_searches_are_paid_over_responses(
    make_harness: MakeHarness, tmp_path: Path, streamed: bool
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "prices.yaml").write_text(SEARCH_PRICES, encoding="utf-8")
    calls = [search_call("a"), search_call("b"), search_call("b", "open_page"), search_call("c", status="failed")]
    reply = responses_script.answer(*calls, responses_script.message("It is."), streamed=streamed, usage=TOKENS)
    harness = make_harness([reply], api="responses", web_search="model")
    finished = asyncio.run(harness.turn("what is it?"))
    assert finished.usage.searches == 2
    assert finished.cost is not None and finished.cost.micro_dollars == 3_000 + 2 * 10_000
    shown = run_command(harness.app, "/cost")
    assert "2 searches" in shown.text and "$0.02" in shown.text


def test_server_side_searches_are_paid_over_messages_and_named_without_a_price(tmp_path: Path) -> None:
    def reply(searches: int) -> Reply:
        counted = {"server_tool_use": {"web_search_requests": searches}}
        return messages_server.answer("It is.", usage=TOKENS | counted)

    async def whole() -> None:
        finished = await harness.turn("what is it?")
        assert finished.cost is not None and finished.cost.micro_dollars == 3_000 + 3 * 10_000
        prices.write_text(SEARCH_PRICES.replace("  searches: 10\n", ""), encoding="utf-8")
        finished = await harness.turn("and now?")
        assert finished.cost is not None and finished.cost.micro_dollars == 3_000
        text = run_command(harness.app, "/cost").text
        assert "4 searches" in text and "not included" in text
        await harness.app.close()

    project, home = tmp_path / "project", tmp_path / "home"
    make_repository(project, {"calc.py": "A = 1\n"})
    home.mkdir()
    prices = home / "prices.yaml"
    prices.write_text(SEARCH_PRICES, encoding="utf-8")
    (home / "config.yaml").write_text("api: messages\nweb_search: model\n", encoding="utf-8")
    with messages_server.MessagesServer([reply(3), reply(1)]) as server:
        harness = Harness(project, home, server, base_url=server.url, model="test-model")
        asyncio.run(whole())


def test_the_shipped_prices_include_searches(tmp_path: Path) -> None:
    price_book = PriceBook(tmp_path)
    assert [price_book.find_search_cost(name, 1_000) for name in ("openai", "anthropic", "groq")] == [
        10_000_000,
        10_000_000,
        None,
    ]
    (tmp_path / "prices.yaml").write_text("anthropic: {searches: 12}\n", encoding="utf-8")
    assert price_book.find_search_cost("anthropic", 1) == 12_000
    (tmp_path / "prices.yaml").write_text("anthropic:\n  searches: many\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"prices\.yaml:2"):
        price_book.find_search_cost("anthropic", 1)
