"""Reasoning effort over real HTTP: configured, chosen with /effort, per model, by sub-agents."""

import asyncio
from typing import Any

import pytest

from clio.agent.model_choice import EffortChoices
from clio.agent.model_request import SideQuestion
from clio.agent.user_interface import Notice
from clio.commands.command import Choose
from clio.commands.registry import complete_command_line, run_command
from clio.config.schema import Config, ModelSettings
from tests.support.chat_server import error, text, tool_calls
from tests.support.harness import Harness
from tests.support.wording import mentions
from tests.turns.conftest import MakeHarness


def efforts(harness: Harness) -> list[Any]:
    return [request.body.get("reasoning_effort") for request in harness.server.requests]


def turns(harness: Harness, *steps: str) -> None:
    """Run turns, and the commands between them."""

    async def run() -> None:
        for step in steps:
            if step.startswith("/"):
                result = run_command(harness.app, step)
                assert result.ok, result.text
            else:
                await harness.turn(step)

    asyncio.run(run())


def test_no_effort_is_sent_unless_it_is_set(make_harness: MakeHarness) -> None:
    harness = make_harness([text("a"), text("b"), text("c"), text("d")])
    turns(harness, "one", "/effort high", "two", "/effort auto", "three", "/effort none", "four")
    assert efforts(harness) == [None, "high", None, "none"]


def configured(make_harness: MakeHarness, replies: list[Any], settings: str, **overrides: Any) -> Harness:
    """Return a harness whose user has these settings in the user configuration."""
    home = make_harness([]).loaded.home
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(settings, encoding="utf-8")
    return make_harness(replies, **overrides)


def test_the_configured_effort_and_that_of_a_single_model(make_harness: MakeHarness) -> None:
    settings = "effort: low\nmodels:\n  thinker: {effort: high}\n"
    harness = configured(make_harness, [text("a"), text("b"), text("c")], settings)
    turns(harness, "one")
    harness.app.set_model("thinker")
    turns(harness, "two", "/effort medium", "three")
    assert efforts(harness) == ["low", "high", "medium"]


def test_an_effort_given_for_this_run_applies_to_every_model() -> None:
    config = Config(effort="low", models={"thinker": ModelSettings(effort="high")})
    assert EffortChoices(config).get_effort("thinker") == "high"
    assert EffortChoices(config, is_from_flag=True).get_effort("thinker") == "low"


def test_a_choice_applies_to_the_current_model(make_harness: MakeHarness) -> None:
    harness = make_harness([text("a"), text("b"), text("c")])
    turns(harness, "/effort high", "one")
    harness.app.set_model("other-model")
    turns(harness, "two")
    harness.app.set_model("test-model")
    turns(harness, "three")
    assert efforts(harness) == ["high", None, "high"]


def test_a_sub_agent_uses_the_effort_of_its_model(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([("delegate", {"task": "look"})]), text("seen"), text("done")])
    turns(harness, "/effort medium", "go")
    assert efforts(harness) == ["medium"] * 3


def test_a_refused_effort_is_replaced_by_the_nearest_and_reported_once(make_harness: MakeHarness) -> None:
    refusal = error(
        400,
        "Unsupported value: 'reasoning_effort' does not support 'max' with this model. "
        "Supported values are: 'low', 'medium', and 'high'.",
    )
    harness = make_harness([refusal, text("a"), text("b")])
    turns(harness, "/effort max", "one", "two")
    assert efforts(harness) == ["max", "high", "high"]
    assert sum("'max'" in event.text for event in harness.seen(Notice)) <= 1
    shown = run_command(harness.app, "/effort")
    assert shown.table is not None
    assert [row[1] for row in shown.table.rows] == ["auto", "low", "medium", "high", "max"]


@pytest.mark.parametrize("word", ["hgh", "9", "high low"])
def test_an_unknown_level_is_refused(make_harness: MakeHarness, word: str) -> None:
    harness = make_harness([])
    result = run_command(harness.app, f"/effort {word}")
    assert not result.ok and repr(word) in result.text
    assert harness.app.efforts.get_effort("test-model") == "auto"


def test_the_levels_are_offered_with_the_current_one_first_and_selected(make_harness: MakeHarness) -> None:
    harness = configured(make_harness, [], "effort: medium\n", model="gpt-5.1")
    choose = run_command(harness.app, "/effort").follow_up
    assert isinstance(choose, Choose)
    assert choose.values == ("auto", "none", "low", "medium", "high")
    assert choose.values[choose.start] == "medium"
    assert [one.text for one, _ in complete_command_line(harness.app, "/effort m")] == ["medium"]
    assert "`medium`" in run_command(harness.app, "/effort").text


def test_a_model_without_effort_is_reported(make_harness: MakeHarness) -> None:
    harness = make_harness([], model="gpt-4o")
    assert mentions(run_command(harness.app, "/effort").text, "This model", "not", "accept", "effort")
    assert "no effort at all" in run_command(harness.app, "/effort high").text


@pytest.mark.parametrize(
    ("model", "effort", "asked"),
    [("gpt-5.1", "high", "low"), ("gpt-5.1", "none", "none"), ("gpt-4o", "high", None), ("unheard-of", "high", None)],
)
def test_side_questions_use_low_effort_if_the_model_supports_it(
    make_harness: MakeHarness, model: str, effort: str, asked: str | None
) -> None:
    harness = configured(make_harness, [text("yes")], f"effort: {effort}\n", model=model)

    async def ask() -> str:
        loop = asyncio.get_running_loop()
        side = SideQuestion(lambda: harness.app.provider, loop, harness.app.spending, harness.app.efforts.get_effort)
        return await side.answer("are they the same?")

    assert asyncio.run(ask()) == "yes"
    assert efforts(harness) == [asked]


def test_the_cache_key_stays_the_same_in_a_session_and_after_resuming_and_names_nothing(
    make_harness: MakeHarness,
) -> None:
    keys: list[str] = []
    harness = make_harness([tool_calls([("delegate", {"task": "look"})]), text("seen"), text("done"), text("again")])

    def watch(harness: Harness) -> None:
        stream = harness.app.provider.stream

        def watched(request: Any) -> Any:
            keys.append(request.cache_key)
            return stream(request)

        harness.app.provider.stream = watched  # type: ignore[method-assign]

    watch(harness)
    turns(harness, "go")
    session_id = harness.app.session.id
    harness.app.session.close()
    harness.app = harness.build()
    harness.app.open_session(session_id)
    watch(harness)
    turns(harness, "more")
    first, child, second, resumed = keys
    assert first == second == resumed != child
    assert 0 < len(first) <= 64 and session_id not in first


def unasked(harness: Harness) -> Harness:
    """Return the harness as if its model were configured, not given for this run."""
    harness.take_model_as_configured()
    return harness


def resumed(make_harness: MakeHarness, *steps: str, **overrides: Any) -> tuple[Harness, Harness]:
    """Run these steps in a clio, then resume its session in a new one for another turn."""
    first = make_harness([text("a"), text("b"), text("c")])
    turns(first, *steps)
    first.app.session.close()
    second = make_harness([text("d"), text("e")], **overrides)
    second.app.open_session(first.app.session.id)
    turns(second, "go on")
    return first, second


def test_effort_and_model_of_a_session_are_restored(make_harness: MakeHarness) -> None:
    _, second = resumed(make_harness, "/effort high", "one", "/effort low", "two")
    assert efforts(second) == ["low"]


def test_the_effort_of_another_model_is_restored_with_that_model(make_harness: MakeHarness) -> None:
    first = make_harness([text("a"), text("b")])
    turns(first, "/effort high", "one")
    first.app.set_model("other-model")
    turns(first, "/effort low", "two")
    first.app.session.close()
    second = unasked(make_harness([text("c"), text("d")]))
    second.app.open_session(first.app.session.id)
    assert second.app.provider.model == "other-model"
    turns(second, "three")
    second.app.set_model("test-model")
    turns(second, "four")
    assert efforts(second) == ["low", "high"]


def test_auto_removes_a_saved_effort(make_harness: MakeHarness) -> None:
    _, second = resumed(make_harness, "/effort high", "one", "/effort auto", "two")
    assert efforts(second) == [None]


def test_a_new_session_of_the_same_run_keeps_the_choice_even_after_a_restart(make_harness: MakeHarness) -> None:
    first = make_harness([text("a"), text("b")])
    first.app.set_model("other-model")
    turns(first, "/effort high", "one")
    first.app.new_session()
    turns(first, "two")
    assert efforts(first) == ["high", "high"]
    begun = first.app.session.id
    first.app.session.close()
    second = unasked(make_harness([text("c")]))
    second.app.open_session(begun)
    turns(second, "three")
    assert efforts(second) == ["high"] and second.app.provider.model == "other-model"


def test_another_session_has_its_own_effort(make_harness: MakeHarness) -> None:
    first = make_harness([text("a"), text("b"), text("c")])
    turns(first, "one")
    plain = first.app.session.id
    first.app.new_session()
    turns(first, "/effort high", "two")
    first.app.open_session(plain)
    turns(first, "three")
    assert efforts(first) == [None, "high", None]


def test_a_fork_inherits_the_effort(make_harness: MakeHarness) -> None:
    harness = make_harness([text("a"), text("b")])
    turns(harness, "/effort high", "one")
    copy = harness.app.store.fork(harness.app.session.id)
    harness.app.open_session(copy)
    turns(harness, "two")
    assert efforts(harness) == ["high", "high"]


def test_a_row_of_the_printed_list_can_be_chosen_by_its_number(make_harness: MakeHarness) -> None:
    harness = make_harness([text("a"), text("b")])
    listed = run_command(harness.app, "/effort")
    assert listed.table is not None
    number = 1 + [cells[1] for cells in listed.table.rows].index("high")
    turns(harness, f"/effort {number}", "one")
    assert efforts(harness) == ["high"]
    assert not run_command(harness.app, "/effort 99").ok
    assert not run_command(harness.app, "/model 99").ok
