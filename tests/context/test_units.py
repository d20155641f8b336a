"""Messages that belong together: cases that servers refuse, and the iteration over units."""

from clio.context.message_views import Unit, find_tail_start, find_task_index, is_substantive, split_units
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage


def call(*ids: str, words: str = "") -> AssistantMessage:
    return AssistantMessage(content=words, tool_calls=tuple(ToolCall(id=id, name="t") for id in ids))


def result(id: str, content: str = "out") -> ToolMessage:
    return ToolMessage(tool_call_id=id, content=content)


def split(*messages: Message) -> list[tuple[Message, ...]]:
    return [unit.messages for unit in split_units(messages, lambda message: 1.0)]


def called(message: Message) -> list[str]:
    assert isinstance(message, AssistantMessage)
    return [each.id for each in message.tool_calls]


def test_empty_and_plain_messages() -> None:
    hello = UserMessage(content="hello")
    assert split() == []
    assert split(hello) == [(hello,)]


def test_a_call_with_its_result_is_one_unit() -> None:
    asking, answer = call("a"), result("a")
    assert split(asking, answer) == [(asking, answer)]


def test_a_call_without_a_result_is_dropped_and_its_text_kept() -> None:
    assert [unit[0].content for unit in split(call("a", words="let me look"))] == ["let me look"]
    assert called(split(call("a", words="let me look"))[0][0]) == []
    assert split(call("a")) == []


def test_a_result_without_a_call_is_dropped() -> None:
    assert split(result("a"), UserMessage(content="x"), result("b"))[0][0].content == "x"
    assert len(split(result("a"))) == 0


def test_of_two_calls_only_the_answered_one_is_kept() -> None:
    asking, answer = call("a", "b"), result("b")
    ((head, kept),) = split(asking, answer)
    assert (called(head), kept) == (["b"], answer)
    assert head.id == asking.id


def test_results_follow_the_order_of_the_calls_however_late() -> None:
    asking, one, two = call("a", "b"), result("a"), result("b")
    words = UserMessage(content="hurry")
    assert split(asking, two, words, one) == [(asking, one, two), (words,)]


def test_three_parallel_calls_are_one_unit() -> None:
    asking, results = call("a", "b", "c"), [result(id) for id in "abc"]
    assert split(asking, *results) == [(asking, *results)]


def test_repeated_ids_belong_to_the_newest_call() -> None:
    first, second = call("a"), call("a")
    one, two, three = result("a", "1"), result("a", "2"), result("a", "3")
    assert split(first, one, second, two, three) == [(first, one), (second, two)]


def test_one_message_with_a_repeated_id_has_one_call() -> None:
    ((head, *results),) = split(call("a", "a"), result("a", "1"), result("a", "2"))
    assert called(head) == ["a"]
    assert [each.content for each in results] == ["1"]


def test_an_answer_without_text_is_no_unit() -> None:
    empty_message = UserMessage(content="")
    assert split(AssistantMessage(content=" \n"), empty_message, AssistantMessage(content="")) == [(empty_message,)]


def weighed(*weights: float) -> list[Unit]:
    return [Unit(messages=(AssistantMessage(content="x"),), weight=weight) for weight in weights]


def test_the_tail_is_contiguous_and_never_empty() -> None:
    units = weighed(1, 100, 5, 5, 5)
    assert find_tail_start(units, 15) == 2
    assert find_tail_start(units, 14.9) == 3
    assert find_tail_start(units, 1_000) == 0
    assert find_tail_start(units, 0) == 4


def test_the_task_is_the_newest_message_with_content() -> None:
    messages = [
        UserMessage(content="fix the parser"),
        AssistantMessage(content="which one?"),
        UserMessage(content="add tests too"),
        UserMessage(content="yes, go on!"),
        UserMessage(content="Continue exactly where it stopped", origin="continue"),
        UserMessage(content="<thread_summary>…</thread_summary>", origin="recovery"),
    ]
    units = split_units(messages, lambda message: 1.0)
    assert find_task_index(units) == 2
    assert find_task_index(units[3:]) == 0  # there is no other message
    assert find_task_index(units[4:]) is None


def test_a_short_confirmation_is_no_task() -> None:
    nods = ["yes", "Go on.", "ok, thanks!", "", "continue", "y"]
    tasks = ["no, use tabs", "fix it in app.py", "1", "weiter", "ok now delete the tests"]
    assert [is_substantive(text) for text in nods] == [False] * len(nods)
    assert [is_substantive(text) for text in tasks] == [True] * len(tasks)
