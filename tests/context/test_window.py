"""The window of a real session: when it is trimmed, what is reported, restored, and learned from refusals."""

import asyncio
from pathlib import Path

import pytest

from clio.context.request_builder import BuiltRequest
from clio.context.summary import ThreadSummary
from clio.context.window import ContextWindow
from clio.errors import ContextOverflow, UserError
from clio.messages import AssistantMessage, UserMessage
from clio.sessions.session import Session
from tests.context.histories import SYSTEM, make_window, own_count, store_in, tool_round, user

OUTPUT = "a line of a file that was read\n" * 20


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return store_in(tmp_path).new(tmp_path)


def work(session: Session, rounds: int, output: str = OUTPUT) -> None:
    """Add this many rounds of one tool call each."""
    first = len(session.messages)
    for number in range(first, first + rounds):
        for message in tool_round([f"tool{number}"], [output], [f"c{number}"]):
            session.append(message)


def say(session: Session, text: str) -> UserMessage:
    session.append(user(text))
    return session.messages[-1]  # type: ignore[return-value]


def ids(built: BuiltRequest) -> list[str]:
    return [message.id for message in built.request.messages]


def test_below_three_quarters_nothing_changes(session: Session) -> None:
    say(session, "begin")
    window = make_window(session, 8_192)
    work(session, 20)
    built = window.build()
    assert list(built.request.messages) == session.messages
    assert (built.trimmed, session.trims, built.request.system) == (None, [], SYSTEM)
    room = 8_192 - 1_024 - len(SYSTEM) / 4
    assert built.prompt_tokens < 0.75 * room + len(SYSTEM) / 4


def test_above_three_quarters_it_is_trimmed_to_half(session: Session) -> None:
    task = say(session, "begin")
    window = make_window(session, 8_192)
    for _ in range(200):
        work(session, 1)
        built = window.build()
        if built.trimmed:
            break
    room = 8_192 - 1_024 - len(SYSTEM) / 4
    conversation = built.conversation / 4
    assert 0.4 * room < conversation <= 0.5 * room
    summary, kept, *tail = built.request.messages
    assert summary.content.startswith("<thread_summary>")
    assert kept is task
    assert tail == session.messages[-len(tail) :]
    trim = session.trims[0]
    assert built.trimmed is not None
    assert (built.trimmed.handle, built.trimmed.stage, built.trimmed.messages) == ("t1", "proactive", len(trim.dropped))
    assert trim.dropped == tuple(message.id for message in session.messages[1 : 1 + len(trim.dropped)])
    assert trim.freed_tokens == built.trimmed.freed_tokens > 0.2 * room


def test_trims_are_rare(session: Session) -> None:
    say(session, "begin")
    window = make_window(session, 8_192)
    requests = 0
    for _ in range(200):
        work(session, 1)
        window.build()
        requests += 1
    assert 10 <= requests / len(session.trims) <= 40


def test_a_short_confirmation_does_not_replace_the_task(session: Session) -> None:
    task = say(session, "rewrite the parser")
    work(session, 60)
    say(session, "yes, go on")
    work(session, 60)
    window = make_window(session, 8_192)
    assert task.id in ids(window.build())
    later = say(session, "now the printer")
    work(session, 120)
    sent = ids(window.build())
    assert later.id in sent
    assert task.id not in sent


def test_a_long_task_does_not_cause_a_trim_at_every_request(session: Session) -> None:
    say(session, "words of a long task " * 750)  # four fifths of the space
    window = make_window(session, 8_192)
    for _ in range(40):
        work(session, 1, "short output")
        built = window.build()
        assert built.prompt_tokens <= 8_192 - 1_024
    assert len(session.trims) <= 10


def test_one_output_larger_than_the_window_is_cut(session: Session) -> None:
    say(session, "read it")
    work(session, 1, "a line of a large file\n" * 4_000)
    window = make_window(session, 8_192)
    built = window.build()
    assert built.trimmed is not None
    assert (built.trimmed.stage, built.trimmed.messages, built.trimmed.shrunk) == ("validation", 0, 1)
    shown = built.request.messages[-1].content
    assert shown.startswith("a line of a large file\n")
    assert f'from="{session.messages[-1].id}"' in shown
    assert len(session.messages[-1].content) == 23 * 4_000
    assert window.build().request.messages == built.request.messages


def test_a_message_too_long_for_the_window_is_an_error_with_the_numbers(session: Session) -> None:
    work(session, 5)
    say(session, "words " * 8_000)
    window = make_window(session, 8_192)
    with pytest.raises(ContextOverflow, match=r"8,192 tokens is too small.*1,024") as caught:
        window.build()
    assert caught.value.exit_code == 3
    assert session.trims == []  # nothing was dropped for an impossible request


@pytest.mark.parametrize("words", [1_100, 1_200, 1_300, 1_310])
def test_the_summary_is_shortened_before_user_messages(session: Session, words: int) -> None:
    say(session, "begin")
    work(session, 60)
    window = make_window(session, 2_048)
    window.build()
    message = say(session, "word " * words)
    built = window.build()
    assert built.request.messages[-1] is message
    assert own_count(window, built) <= 2_048 - 256


def test_a_smaller_prompt_is_used_before_user_messages_are_cut(session: Session) -> None:
    words = say(session, "word " * 700)
    window = make_window(session, 1_100, prefixes=3)
    built = window.build()
    assert built.request.messages[-1] is words
    assert len(built.request.system) < len(SYSTEM)
    assert own_count(window, built) <= 1_100


def test_the_error_of_very_small_windows_lists_what_takes_the_space(session: Session) -> None:
    say(session, "hello")
    work(session, 30)
    window = make_window(session, 8_192)
    window.build()
    use = window.measure_usage()
    assert (use.window, use.reserve, use.tools, use.memory) == (8_192, 1_024, 0, 0)
    assert use.system == len(SYSTEM) / 4
    assert use.free == 8_192 - 1_024 - use.system - use.summary - use.history
    assert use.history > 0


def test_undo_restores_the_trimmed_messages(session: Session) -> None:
    say(session, "begin")
    work(session, 24)
    window = make_window(session, 8_192)
    before = window.build()
    assert before.trimmed is None
    trimmed = window.trim_now()
    assert trimmed is not None
    assert trimmed.stage == "manual"
    assert len(window.build().request.messages) < len(before.request.messages)
    assert window.undo_trim().handle == "t1"
    assert window.build().request.messages == before.request.messages
    assert session.trims == []
    with pytest.raises(UserError, match="nothing was trimmed"):
        window.undo_trim()


def test_after_undo_the_window_may_fill_up(session: Session) -> None:
    say(session, "begin")
    window = make_window(session, 8_192)
    while not session.trims:
        work(session, 1)
        window.build()
    window.undo_trim()
    assert window.build().trimmed is None  # above three quarters, as requested
    work(session, 20)
    assert window.build().trimmed is not None
    assert own_count(window, window.build()) <= 8_192


def test_messages_that_do_not_fit_stay_in_the_archive(session: Session) -> None:
    say(session, "begin")
    work(session, 150)
    window = make_window(session, 8_192)
    window.build()
    stm = list(session.window_ids)
    with pytest.raises(UserError, match=r"t1 does not fit: it needs [\d,]+ tokens"):
        window.undo_trim()
    assert (session.window_ids, len(session.trims)) == (stm, 1)


def test_expand_restores_one_span_until_the_next_trim(session: Session) -> None:
    say(session, "begin")
    window = make_window(session, 32_768)
    for _ in range(3):
        work(session, 20)
        window.trim_now()
    first = session.trims[0]
    with pytest.raises(UserError, match=r"no trim 't9'.*t1, t2, t3"):
        window.expand_trim("t9")
    assert window.expand_trim("T1") is first
    sent = ids(window.build())
    assert set(first.dropped) <= set(sent)
    assert not set(session.trims[1].dropped) & set(sent)
    window.trim_now()
    assert not set(first.dropped) & set(ids(window.build()))


def test_listeners_are_called_before_a_trim(session: Session) -> None:
    reported: list[tuple[ThreadSummary, str, int]] = []
    say(session, "fix the parser")
    work(session, 60)
    window = make_window(session, 8_192)
    window._before_trim = lambda summary, task: reported.append((summary, task, len(session.trims)))
    window.build()
    ((summary, task, trims),) = reported
    assert (task, trims, sum(summary.tools.values())) == ("fix the parser", 0, 60)


def refused(window: ContextWindow, attempt: int, built: BuiltRequest, **numbers: int) -> BuiltRequest:
    return window.build_smaller(attempt, built, ContextOverflow("too large", **numbers))  # type: ignore[arg-type]


def test_refusals_halve_quarter_and_reduce_to_the_minimum(session: Session) -> None:
    task = say(session, "begin")
    work(session, 60)
    window = make_window(session, 128_000)
    first = window.build()
    half = refused(window, 1, first)
    quarter = refused(window, 2, half)
    least = refused(window, 3, quarter)
    assert 0.4 <= half.conversation / first.conversation <= 0.5
    assert 0.15 <= quarter.conversation / first.conversation <= 0.25
    assert ids(least)[1:] == [task.id, session.messages[-2].id, session.messages[-1].id]
    assert [trim.handle for trim in session.trims] == ["t1", "t2", "t3"]


def test_a_refused_request_of_messages_only_cannot_be_reduced(session: Session) -> None:
    say(session, "only words")
    window = make_window(session, 128_000)
    built = window.build()
    with pytest.raises(ContextOverflow, match=r"the smallest request for this message has about [\d,]+ tokens"):
        refused(window, 1, built)
    assert session.trims == []


def test_the_limit_named_by_a_server_is_the_window_from_then_on(session: Session) -> None:
    say(session, "begin")
    work(session, 100)
    window = make_window(session, 128_000)
    built = refused(window, 1, window.build(), limit_tokens=8_192, sent_tokens=20_000)
    assert window.limits.context_window == 8_192
    assert own_count(window, built) <= 8_192 * 0.6
    for _ in range(50):
        work(session, 1)
        assert own_count(window, window.build()) <= 8_192


def test_a_number_that_is_no_window_size_teaches_nothing(session: Session) -> None:
    say(session, "begin")
    work(session, 20)
    window = make_window(session, 128_000)
    refused(window, 1, window.build(), limit_tokens=4)
    assert window.limits.context_window == 128_000


def test_a_refused_size_limits_the_window_after_something_was_accepted(session: Session) -> None:
    say(session, "begin")
    work(session, 100)
    window = make_window(session, 128_000)
    first = window.build()
    smaller = refused(window, 1, first)
    assert window.limits.context_window == 128_000  # the server may have failed for another reason
    window.learn_from_acceptance(smaller)
    assert window.limits.context_window == first.prompt_tokens
    window.learn_from_acceptance(window.build())
    assert window.limits.context_window == first.prompt_tokens


def test_usage_improves_the_estimate(session: Session) -> None:
    say(session, "begin")
    work(session, 40)
    window = make_window(session, 128_000)
    for _ in range(5):
        built = window.build()
        assert window.learn_from_acceptance(built, int(built.units / 2))
    built = window.build()
    assert built.prompt_tokens == pytest.approx(built.units / 2, rel=0.1)


def test_the_recovery_note_is_below_the_summary_until_the_next_trim(session: Session) -> None:
    asked: list[int] = []

    async def note(budget_tokens: int) -> str:
        asked.append(budget_tokens)
        return "<recovery>two files changed</recovery>"

    say(session, "begin")
    work(session, 100)
    window = make_window(session, 8_192)
    window._recovery = note
    window.build()
    asyncio.run(window.add_recovery_note())
    head = window.build().request.messages[0]
    assert head.content.startswith("<thread_summary>")
    assert head.content.endswith("<recovery>two files changed</recovery>")
    assert isinstance(head, UserMessage)
    assert head.origin == "recovery"
    assert 0 < asked[0] < 8_192 * 0.08
    window.trim_now()
    assert "<recovery>" not in window.build().request.messages[0].content


def test_a_window_that_lost_its_task_finds_it_in_the_archive(session: Session) -> None:
    task = say(session, "the task of an old file")
    work(session, 3)
    session.set_stm(tuple(message.id for message in session.messages[3:]))
    assert ids(make_window(session, 8_192).build())[:2] == [f"{session.id}-summary", task.id]


def test_stray_markup_is_not_sent(session: Session) -> None:
    say(session, "hello")
    session.append(AssistantMessage(content="<|im_start|>assistant\nHi<|im_end|>"))
    sent = make_window(session, 8_192).build().request.messages
    assert sent[-1].content == "Hi"
    assert "<|im_end|>" in session.messages[-1].content


def test_five_hundred_trims_leave_a_summary_of_at_most_eight_percent(session: Session) -> None:
    first = say(session, "the very first request: port the tool to Python")
    window = make_window(session, 8_192)
    for number in range(500):
        say(session, f"request number {number}: change file{number}.py")
        work(session, 1)
        window.trim_now()
        built = window.build()
    head = built.request.messages[0]
    assert len(session.trims) == 500
    assert own_count(window, built) <= 8_192
    assert len(head.content) / window.ratio <= 8_192 * 0.08
    assert "the very first request" in head.content
    assert "500" in head.content or "499" in head.content
    assert session.messages[0] is first
