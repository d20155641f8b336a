"""How hard the model thinks: configured, chosen with /effort, per model, by sub-agents; over real HTTP."""

import asyncio
from typing import Any

import pytest

from clio.agent.model_choice import EffortChoices
from clio.agent.model_request import SideQuestion
from clio.agent.user_interface import Notice
from clio.commands.command import Choose
from clio.commands.registry import complete, run_command
from clio.config.schema import Config, ModelSettings
from tests.support.chat_server import error, text, tool_calls
from tests.support.desk import Desk
from tests.turns.conftest import MakeDesk


def efforts(desk: Desk) -> list[Any]:
    return [request.body.get("reasoning_effort") for request in desk.server.requests]


def turns(desk: Desk, *steps: str) -> None:
    """Run turns, and the commands between them."""

    async def run() -> None:
        for step in steps:
            if step.startswith("/"):
                result = run_command(desk.app, step)
                assert result.ok, result.text
            else:
                await desk.turn(step)

    asyncio.run(run())


def test_nothing_is_asked_for_unless_it_is_set(make_desk: MakeDesk) -> None:
    desk = make_desk([text("a"), text("b"), text("c"), text("d")])
    turns(desk, "one", "/effort high", "two", "/effort auto", "three", "/effort none", "four")
    assert efforts(desk) == [None, "high", None, "none"]


def configured(make_desk: MakeDesk, replies: list[Any], settings: str, **overrides: Any) -> Desk:
    """A desk whose user has these settings in their own configuration."""
    home = make_desk([]).loaded.home
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(settings, encoding="utf-8")
    return make_desk(replies, **overrides)


def test_the_configured_effort_and_the_one_of_a_single_model(make_desk: MakeDesk) -> None:
    settings = "effort: low\nmodels:\n  thinker: {effort: high}\n"
    desk = configured(make_desk, [text("a"), text("b"), text("c")], settings)
    turns(desk, "one")
    desk.app.set_model("thinker")
    turns(desk, "two", "/effort medium", "three")
    assert efforts(desk) == ["low", "high", "medium"]


def test_an_effort_given_for_this_run_counts_for_every_model() -> None:
    config = Config(effort="low", models={"thinker": ModelSettings(effort="high")})
    assert EffortChoices(config).effort_of("thinker") == "high"
    assert EffortChoices(config, asked=True).effort_of("thinker") == "low"


def test_a_choice_is_for_the_model_that_runs(make_desk: MakeDesk) -> None:
    desk = make_desk([text("a"), text("b"), text("c")])
    turns(desk, "/effort high", "one")
    desk.app.set_model("other-model")
    turns(desk, "two")
    desk.app.set_model("test-model")
    turns(desk, "three")
    assert efforts(desk) == ["high", None, "high"]


def test_a_sub_agent_is_asked_with_the_effort_of_its_model(make_desk: MakeDesk) -> None:
    desk = make_desk([tool_calls([("delegate", {"task": "look"})]), text("seen"), text("done")])
    turns(desk, "/effort medium", "go")
    assert efforts(desk) == ["medium"] * 3


def test_a_refused_effort_is_replaced_by_the_nearest_and_said_once(make_desk: MakeDesk) -> None:
    refusal = error(
        400,
        "Unsupported value: 'reasoning_effort' does not support 'max' with this model. "
        "Supported values are: 'low', 'medium', and 'high'.",
    )
    desk = make_desk([refusal, text("a"), text("b")])
    turns(desk, "/effort max", "one", "two")
    assert efforts(desk) == ["max", "high", "high"]
    assert sum("'max'" in event.text for event in desk.seen(Notice)) <= 1
    shown = run_command(desk.app, "/effort")
    assert shown.table is not None
    assert [row[1] for row in shown.table.rows] == ["auto", "low", "medium", "high", "max"]


@pytest.mark.parametrize("word", ["hgh", "9", "high low"])
def test_a_level_that_is_none_is_refused(make_desk: MakeDesk, word: str) -> None:
    desk = make_desk([])
    result = run_command(desk.app, f"/effort {word}")
    assert not result.ok and repr(word) in result.text
    assert desk.app.efforts.effort_of("test-model") == "auto"


def test_the_levels_are_offered_with_the_present_one_first_under_the_cursor(make_desk: MakeDesk) -> None:
    desk = configured(make_desk, [], "effort: medium\n", model="gpt-5.1")
    choose = run_command(desk.app, "/effort").follow_up
    assert isinstance(choose, Choose)
    assert choose.values == ("auto", "none", "low", "medium", "high")
    assert choose.values[choose.start] == "medium"
    assert [one.text for one, _ in complete(desk.app, "/effort m")] == ["medium"]
    assert "`medium`" in run_command(desk.app, "/effort").text


def test_a_model_that_takes_no_effort_is_said_to(make_desk: MakeDesk) -> None:
    desk = make_desk([], model="gpt-4o")
    assert "takes no effort" in run_command(desk.app, "/effort").text
    assert "no effort at all" in run_command(desk.app, "/effort high").text


@pytest.mark.parametrize(
    ("model", "effort", "asked"),
    [("gpt-5.1", "high", "low"), ("gpt-5.1", "none", "none"), ("gpt-4o", "high", None), ("unheard-of", "high", None)],
)
def test_side_questions_ask_for_low_effort_where_the_model_takes_one(
    make_desk: MakeDesk, model: str, effort: str, asked: str | None
) -> None:
    desk = configured(make_desk, [text("yes")], f"effort: {effort}\n", model=model)

    async def ask() -> str:
        loop = asyncio.get_running_loop()
        side = SideQuestion(lambda: desk.app.provider, loop, desk.app.spending, desk.app.efforts.effort_of)
        return await side.answer("are they the same?")

    assert asyncio.run(ask()) == "yes"
    assert efforts(desk) == [asked]


def test_the_cache_key_is_the_same_in_a_session_and_after_resuming_and_names_nothing(make_desk: MakeDesk) -> None:
    keys: list[str] = []
    desk = make_desk([tool_calls([("delegate", {"task": "look"})]), text("seen"), text("done"), text("again")])

    def watch(desk: Desk) -> None:
        stream = desk.app.provider.stream

        def watched(request: Any) -> Any:
            keys.append(request.cache_key)
            return stream(request)

        desk.app.provider.stream = watched  # type: ignore[method-assign]

    watch(desk)
    turns(desk, "go")
    session_id = desk.app.session.id
    desk.app.session.close()
    desk.app = desk.build()
    desk.app.open_session(session_id)
    watch(desk)
    turns(desk, "more")
    first, child, second, resumed = keys
    assert first == second == resumed != child
    assert 0 < len(first) <= 64 and session_id not in first


def unasked(desk: Desk) -> Desk:
    """The desk as if its model were configured, rather than given for this run."""
    desk.app.loaded.origins["model"] = "config.yaml"
    return desk


def resumed(make_desk: MakeDesk, *steps: str, **overrides: Any) -> tuple[Desk, Desk]:
    """A clio that did these steps and ended, and the next one, which went on with its session for one more turn."""
    first = make_desk([text("a"), text("b"), text("c")])
    turns(first, *steps)
    first.app.session.close()
    second = make_desk([text("d"), text("e")], **overrides)
    second.app.open_session(first.app.session.id)
    turns(second, "go on")
    return first, second


def test_effort_and_model_of_a_session_are_there_again_after_a_restart(make_desk: MakeDesk) -> None:
    _, second = resumed(make_desk, "/effort high", "one", "/effort low", "two")
    assert efforts(second) == ["low"]


def test_the_effort_of_another_model_comes_back_with_that_model(make_desk: MakeDesk) -> None:
    first = make_desk([text("a"), text("b")])
    turns(first, "/effort high", "one")
    first.app.set_model("other-model")
    turns(first, "/effort low", "two")
    first.app.session.close()
    second = unasked(make_desk([text("c"), text("d")]))
    second.app.open_session(first.app.session.id)
    assert second.app.provider.model == "other-model"
    turns(second, "three")
    second.app.set_model("test-model")
    turns(second, "four")
    assert efforts(second) == ["low", "high"]


def test_auto_takes_a_stored_effort_back(make_desk: MakeDesk) -> None:
    _, second = resumed(make_desk, "/effort high", "one", "/effort auto", "two")
    assert efforts(second) == [None]


def test_a_new_session_of_the_same_run_keeps_what_was_chosen_also_after_a_restart(make_desk: MakeDesk) -> None:
    first = make_desk([text("a"), text("b")])
    first.app.set_model("other-model")
    turns(first, "/effort high", "one")
    first.app.new_session()
    turns(first, "two")
    assert efforts(first) == ["high", "high"]
    begun = first.app.session.id
    first.app.session.close()
    second = unasked(make_desk([text("c")]))
    second.app.open_session(begun)
    turns(second, "three")
    assert efforts(second) == ["high"] and second.app.provider.model == "other-model"


def test_another_session_has_its_own_effort(make_desk: MakeDesk) -> None:
    first = make_desk([text("a"), text("b"), text("c")])
    turns(first, "one")
    plain = first.app.session.id
    first.app.new_session()
    turns(first, "/effort high", "two")
    first.app.open_session(plain)
    turns(first, "three")
    assert efforts(first) == [None, "high", None]


def test_a_fork_has_the_effort_of_its_session(make_desk: MakeDesk) -> None:
    desk = make_desk([text("a"), text("b")])
    turns(desk, "/effort high", "one")
    copy = desk.app.store.fork(desk.app.session.id)
    desk.app.open_session(copy)
    turns(desk, "two")
    assert efforts(desk) == ["high", "high"]


def test_a_row_of_the_printed_list_is_chosen_by_its_number(make_desk: MakeDesk) -> None:
    desk = make_desk([text("a"), text("b")])
    listed = run_command(desk.app, "/effort")
    assert listed.table is not None
    number = 1 + [cells[1] for cells in listed.table.rows].index("high")
    turns(desk, f"/effort {number}", "one")
    assert efforts(desk) == ["high"]
    assert not run_command(desk.app, "/effort 99").ok
    assert not run_command(desk.app, "/model 99").ok
