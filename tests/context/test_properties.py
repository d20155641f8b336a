"""Properties of every request of every conversation, however it was trimmed, refused, killed and resumed."""

from contextlib import suppress
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clio.context.message_views import split_units
from clio.context.window import ContextWindow
from clio.errors import ContextOverflow, UserError
from clio.messages import Message, UserMessage
from clio.providers.chat import ChatProtocol
from clio.sessions.session import Session
from tests.context.histories import (
    clean_rounds,
    fresh,
    history,
    make_window,
    newest_task,
    own_count,
    rounds,
    store_in,
    unpaired,
)

WINDOWS = st.sampled_from([1_500, 3_000, 8_192, 32_768])
QUICK = settings(suppress_health_check=list(HealthCheck))
DEEDS = ["build", "build", "build", "skip", "kill", "close", "refuse", "trim", "undo"]
REFUSED = ContextOverflow("too large")


def is_summary(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.origin == "recovery"


def check_request(window: ContextWindow, session: Session, size: int) -> bool:
    """Build a request and check it; return False if the user's own messages are too large for the window."""
    try:
        built = window.build()
    except ContextOverflow as error:
        task = newest_task(session.messages)
        assert task is not None
        assert error.sent_tokens is not None
        assert error.sent_tokens > size
        return False
    sent = built.request.messages
    assert own_count(window, built) <= built.prompt_tokens <= size
    assert unpaired(sent) == []
    task = newest_task(session.messages)
    assert task is None or any(task is message or task == message for message in sent)
    check_contiguous(session, sent)
    summaries = [message for message in sent if is_summary(message)]
    assert len(summaries) <= 1
    for summary in summaries:
        assert sent[0] is summary
        text = summary.content
        assert (text.count("<thread_summary>"), text.count("</thread_summary>")) == (1, 1)
        assert sum(line.startswith("Requests of the user:") for line in text.splitlines()) <= 1
    return True


def check_contiguous(session: Session, sent: tuple[Message, ...]) -> None:
    """Check that the request is the unbroken end of the conversation, after the summary and the task at the trim."""
    everything = [unit.first_id for unit in split_units(session.messages, lambda message: 1.0)]
    tail = [message for message in sent if message.id in everything]
    if [message.id for message in tail] != everything[len(everything) - len(tail) :]:
        assert isinstance(tail.pop(0), UserMessage)
    assert [message.id for message in tail] == everything[len(everything) - len(tail) :]


@QUICK
@given(turns=history(rounds()), size=WINDOWS, data=st.data())
def test_every_request_of_every_history(
    tmp_path: Path, turns: list[list[Message]], size: int, data: st.DataObject
) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    window = make_window(session, size)
    all_messages: list[Message] = []
    for turn in turns:
        for message in fresh(turn):
            session.append(message)
            all_messages.append(session.messages[-1])
        deed = data.draw(st.sampled_from(DEEDS))
        if deed in ("kill", "close"):
            assert session._disk is not None
            session._disk.release() if deed == "kill" else session.close()
            session = store.open(session.id)
            all_messages += session.messages[len(all_messages) :]  # open calls are answered when a session is opened
            window = make_window(session, size)
        elif deed == "trim":
            window.trim_now()
        elif deed == "undo":
            with suppress(UserError):
                window.undo_trim()
        if deed != "skip" and check_request(window, session, size) and deed == "refuse":
            refuse(window)
    assert session.messages == all_messages
    session.close()
    again = store.open(session.id)
    assert again.messages[: len(all_messages)] == all_messages
    assert again.trims == session.trims
    again.close()


def refuse(window: ContextWindow) -> None:
    """Simulate a server that refuses three times: each request must be smaller, or the failure clear."""
    built = window.build()
    for attempt in (1, 2, 3):
        try:
            smaller = window.build_smaller(attempt, built, REFUSED)
        except ContextOverflow as error:
            assert "smallest request" in str(error) or "too small" in str(error)
            return
        assert smaller.units < built.units
        assert unpaired(smaller.request.messages) == []
        built = smaller


@QUICK
@given(turns=history(clean_rounds()), size=WINDOWS)
def test_a_request_begins_with_the_bytes_of_the_one_before(
    tmp_path: Path, turns: list[list[Message]], size: int
) -> None:
    session = store_in(tmp_path).new(tmp_path)
    window = make_window(session, size)
    encoder, before, trims = ChatProtocol("m"), b"", -1
    for turn in turns:
        for message in fresh(turn):
            session.append(message)
        try:
            built = window.build()
        except ContextOverflow:
            continue
        body = encoder.encode(built.request).removesuffix(b"]}")
        if len(session.trims) == trims and built.trimmed is None:  # a message larger than the window is cut each time
            assert body.startswith(before.removesuffix(b'"}'))  # more user messages may join the last ones
        before, trims = body, len(session.trims)
    session.close()


@QUICK
@given(turns=history(rounds()), size=WINDOWS)
def test_a_resumed_session_sends_the_same_request(tmp_path: Path, turns: list[list[Message]], size: int) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    window = make_window(session, size)
    for turn in turns:
        for message in fresh(turn):
            session.append(message)
        try:
            window.build()
        except ContextOverflow:
            continue
    session.close()
    again = store.open(session.id)
    try:
        first = make_window(again, size).build()
    except ContextOverflow:
        again.close()
        return
    second = make_window(again, size).build()
    assert msgspec.json.encode(first.request.messages) == msgspec.json.encode(second.request.messages)
    if len(again.messages) == len(session.messages):
        assert first.request.messages == window.build().request.messages
    again.close()
