"""/model asks the server for its models, over real HTTP."""

import asyncio
import json

import pytest

from clio.commands.command import Choose, CommandResult, WaitFor
from clio.commands.registry import complete_command_line, run_command
from clio.commands.settings_commands import MAX_SHOWN_MODELS, SERVED
from tests.support.chat_server import error
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness


@pytest.fixture(autouse=True)
def forget() -> None:
    SERVED.clear()


def listed(harness: Harness) -> CommandResult:
    step = run_command(harness.app, "/model").follow_up
    assert isinstance(step, WaitFor)

    async def ask() -> CommandResult:
        try:
            return await step.work()
        finally:
            await harness.app.close()

    return asyncio.run(ask())


def test_the_models_of_the_server_are_listed_with_window_and_price(make_harness: MakeHarness) -> None:
    models = [{"id": "test-model", "max_model_len": 32_768}, {"id": "big"}, {"id": "Alpha"}]
    harness = make_harness([], models=models)
    (harness.loaded.home / "prices.yaml").parent.mkdir(parents=True, exist_ok=True)
    name = harness.app.provider.name
    (harness.loaded.home / "prices.yaml").write_text(f"{name}:\n  big: {{input: 1.5, output: 6}}\n", encoding="utf-8")
    result = listed(harness)
    assert result.table is not None
    assert result.table.rows == (
        ("→", "test-model", "33k", "$0", "$0", "$0", "", ""),  # a server on this machine is free
        ("", "Alpha", "", "$0", "$0", "$0", "", ""),
        ("", "big", "", "$1.50", "$6.00", "$1.50", "", ""),
    )
    assert "`test-model` at" in result.text and "`/model NAME`" in result.text
    data = json.loads(json.dumps(result.data))
    assert [one["name"] for one in data] == ["test-model", "Alpha", "big"]
    assert (data[0]["window"], data[0]["running"], data[0]["effort"]) == (32_768, True, "auto")
    assert data[2]["dollars_per_million"] == {"input": 1.5, "output": 6.0, "cached": 1.5}
    assert [one.text for one, _ in complete_command_line(harness.app, "/model al")] == ["Alpha"]


def test_a_long_list_is_shortened_and_models_the_server_does_not_list_are_marked(make_harness: MakeHarness) -> None:
    harness = make_harness([], models=[{"id": f"m{number:04}"} for number in range(2 * MAX_SHOWN_MODELS)])
    result = listed(harness)
    assert result.table is not None and len(result.table.rows) == MAX_SHOWN_MODELS
    assert result.table.rows[0] == ("→", "test-model", "", "$0", "$0", "$0", "", "not listed")
    assert "101 more are not shown" in result.text


@pytest.mark.parametrize(("models", "message"), [(error(500), "did not list its models"), ([], "lists no models")])
def test_a_server_without_a_list_is_no_error(make_harness: MakeHarness, models: object, message: str) -> None:
    result = listed(make_harness([], models=models))
    assert result.ok and message in result.text
    assert "`test-model` at" in result.text


def test_inputs_of_each_model_are_shown_and_a_model_can_be_chosen(make_harness: MakeHarness) -> None:
    harness = make_harness([], models=[{"id": "gpt-5.1"}, {"id": "gpt-4o"}, {"id": "codestral"}])
    result = listed(harness)
    assert result.table is not None
    takes = {row[1]: row[6] for row in result.table.rows}
    assert takes == {"test-model": "", "gpt-5.1": "images, effort none–high", "gpt-4o": "images", "codestral": ""}
    choose = result.follow_up
    assert isinstance(choose, Choose)
    assert choose.values == tuple(row[1] for row in choose.table.rows) and choose.then == "/model"
