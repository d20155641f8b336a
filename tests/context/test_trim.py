"""What is kept when the window is trimmed."""

from hypothesis import given
from hypothesis import strategies as st

from clio.context.compaction import TrimGoal, plan_smaller_window, plan_trim, weigh_untrimmable
from clio.context.message_views import Unit, split_units
from clio.messages import AssistantMessage, Message, ToolMessage, UserMessage
from clio.tokens import message_units
from tests.context.histories import tool_round, user


def units_of(*messages: Message) -> list[Unit]:
    return split_units(messages, message_units)


def weight(units: list[Unit]) -> float:
    return sum(unit.weight for unit in units)


def reading(name: str, output: str, id: str) -> list[Message]:
    return tool_round([name], [output], [id])


def test_the_task_is_kept_before_the_tail() -> None:
    units = units_of(user("old"), user("the task"), *(AssistantMessage(content="x" * 100) for _ in range(10)))
    plan = plan_trim(units, 3 * units[-1].weight + units[1].weight)
    assert (plan.start, plan.task) == (len(units) - 3, 1)
    assert [unit.messages[0].content for unit in plan.select_kept(units)] == [
        "the task",
        "x" * 100,
        "x" * 100,
        "x" * 100,
    ]


def test_a_task_in_the_tail_is_not_kept_twice() -> None:
    units = units_of(AssistantMessage(content="x" * 500), user("the task"), AssistantMessage(content="y"))
    plan = plan_trim(units, units[1].weight + units[2].weight)
    assert (plan.start, plan.task) == (1, None)


def test_the_newest_unit_and_the_task_are_always_kept() -> None:
    units = units_of(user("task " * 500), AssistantMessage(content="x"), AssistantMessage(content="y" * 900))
    plan = plan_trim(units, 0)
    assert [unit.messages[0] for unit in plan.select_kept(units)] == [units[0].messages[0], units[2].messages[0]]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 300)), min_size=1, max_size=30), st.integers(0, 4_000))
def test_the_task_and_a_contiguous_tail_are_kept(sizes: list[tuple[bool, int]], keep: int) -> None:
    units = units_of(*(user("w" * n) if asks else AssistantMessage(content="a" * (n + 1)) for asks, n in sizes))
    plan = plan_trim(units, float(keep))
    kept = plan.select_kept(units)
    assert kept[-1] is units[-1]
    assert kept[len(kept) - (len(units) - plan.start) :] == units[plan.start :]
    assert weight(kept) <= keep or len(kept) <= 2
    if plan.start and (plan.task is None or plan.task < plan.start - 1):
        one_more = weight(units[plan.start - 1 :]) + (units[plan.task].weight if plan.task is not None else 0)
        assert one_more > keep or len(kept) <= 2


def smaller(units: list[Unit], keep: float, hard: float = 1e9, **more: object) -> tuple[list[Unit], dict[str, int]]:
    goal = TrimGoal(keep=keep, hard=hard, current_summary=0.0, max_summary=0.0, **more)  # type: ignore[arg-type]
    found = plan_smaller_window(units, goal, {})
    return found.kept, found.shrunk


def test_stale_outputs_are_shortened_before_any_dialogue() -> None:
    units = units_of(
        user("look"),
        *reading("read_file", "a\n" * 2_000, "1"),
        AssistantMessage(content="seen"),
        *reading("read_file", "a\n" * 2_000, "2"),
    )
    kept, shrunk = smaller(units, weight(units) * 0.6)
    assert len(kept) == len(units)
    assert shrunk == {units[1].messages[1].id: 0}
    assert weight(kept) < weight(units) * 0.6


def test_one_very_large_output_is_cut_and_user_messages_are_not() -> None:
    units = units_of(user("w " * 1_500), *reading("bash", "o " * 25_000, "1"))
    kept, shrunk = smaller(units, 4_000, 6_000)
    assert weight(kept) <= 6_000
    assert kept[0] is units[0]
    assert list(shrunk) == [units[1].messages[1].id]


def test_one_very_large_answer_or_argument_is_cut_too() -> None:
    write, _ = reading("write_file", "ok", "1")
    assert isinstance(write, AssistantMessage)
    call = write.tool_calls[0]
    units = units_of(
        user("w"),
        AssistantMessage(
            content="",
            tool_calls=(
                type(call)(id="1", name="write_file", arguments='{"path":"a","content":"' + "c" * 40_000 + '"}'),
            ),
        ),
        ToolMessage(tool_call_id="1", content="ok"),
        AssistantMessage(content="again " * 9_000),
    )
    for number in (1, 2):
        kept, _ = smaller([units[0], units[number]], 1_000, 2_000)
        assert weight(kept) <= 2_000


def test_a_unit_that_cannot_be_cut_is_dropped_as_a_whole() -> None:
    units = units_of(user("go"), *tool_round(["t"] * 300, ["ok"] * 300, [str(n) for n in range(300)]))
    kept, shrunk = smaller(units, 500, 1_000)
    assert ([unit.messages[0].content for unit in kept], shrunk) == (["go"], {})


def test_the_minimum_is_the_task_and_the_newest_unit() -> None:
    units = units_of(user("task"), AssistantMessage(content="a"), *reading("bash", "out", "1"))
    kept, _ = smaller(units, 1e9, is_minimal=True)
    assert kept == [units[0], units[2]]


def test_the_last_user_message_is_kept_even_if_it_has_no_content() -> None:
    units = units_of(user("the task"), AssistantMessage(content="done?"), UserMessage(content="yes"))
    assert weigh_untrimmable(units) == units[0].weight + units[2].weight
    assert weigh_untrimmable(units[:2]) == units[0].weight
    assert weigh_untrimmable([]) == 0
