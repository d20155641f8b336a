"""What a trim leaves, measured over whole sessions: see bench/retention.py."""

import json
import statistics
from pathlib import Path

import pytest

from bench.retention import SessionMetrics, generate
from clio.context.window import ContextWindow
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage
from clio.sessions.session import Session
from tests.context.histories import SYSTEM, make_window, store_in, user

WINDOWS = [8_192, 16_384, 24_000, 32_768]
ROOM = (8_192 - 1_024) * 4 - len(SYSTEM)
"""The limit of summary and history in a window of 8,192 tokens."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> list[SessionMetrics]:
    found: list[SessionMetrics] = []
    for tokens in WINDOWS:
        for seed in (1, 2):
            for size in (0.4, 1.0):
                found.append(generate(seed, tokens, tmp_path_factory.mktemp("s"), turns=8, size=size))
    return [one for one in found if one.trims]


def test_no_result_of_the_last_three_steps_is_lost_that_would_have_fitted(measured: list[SessionMetrics]) -> None:
    assert sum(one.trims for one in measured) > 50
    assert sum(one.lost for one in measured) == 0


def test_nothing_is_read_again_because_it_was_trimmed_within_three_steps(measured: list[SessionMetrics]) -> None:
    assert sum(one.repeated for one in measured) == 0


def test_requests_after_the_first_trim_use_three_fifths_of_the_space(measured: list[SessionMetrics]) -> None:
    for tokens in WINDOWS:
        use = [share for one in measured if one.window == tokens for share in one.use]
        assert statistics.mean(use) >= 0.58, tokens
    assert statistics.mean(share for one in measured for share in one.use) >= 0.6
    assert max(share for one in measured for share in one.use) <= 1.0


def test_between_trims_a_request_repeats_the_one_before(measured: list[SessionMetrics]) -> None:
    assert min(statistics.mean(one.kept_prefix) for one in measured) >= 0.97
    shared = [share for one in measured if one.window >= 24_000 for share in one.shared]
    assert statistics.median(shared) >= 0.95


# Single steps


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = store_in(tmp_path).new(tmp_path)
    session.append(user("look at the files"))
    return session


def step(session: Session, *shares: float, name: str = "read_file", path: str = "") -> list[str]:
    """Add a step with parallel reads, each of a share of the space; return the ids of the results."""
    number = len(session.messages)
    lines = [f"{name} {number}.{place}: a line of words\n" for place in range(len(shares))]
    outputs = [line * max(int(share * ROOM / len(line)), 1) for line, share in zip(lines, shares, strict=True)]
    calls = [
        ToolCall(id=f"c{place}", name=name, arguments=json.dumps({"path": path or f"f{number}.{place}"}))
        for place in range(len(shares))
    ]
    session.append(AssistantMessage(content="", tool_calls=tuple(calls)))
    for call, output in zip(calls, outputs, strict=True):
        session.append(ToolMessage(tool_call_id=call.id, name=name, content=output))
    return [message.id for message in session.messages[-len(shares) :]]


def whole(window: ContextWindow, session: Session) -> set[str]:
    """Return ids of the results that are unchanged in the next request."""
    sent: tuple[Message, ...] = window.build().request.messages
    stored = {message.id: message.content for message in session.messages}
    return {
        message.id for message in sent if isinstance(message, ToolMessage) and message.content == stored[message.id]
    }


def test_three_steps_that_fit_are_unchanged(session: Session) -> None:
    window = make_window(session, 8_192)
    old = step(session, 0.3)
    recent = step(session, 0.2, 0.1) + step(session, 0.25) + step(session, 0.3)
    left = whole(window, session)
    assert set(recent) <= left
    assert not set(old) & left


def test_the_next_trim_keeps_its_own_three_steps(session: Session) -> None:
    window = make_window(session, 8_192)
    steps = [step(session, 0.3) for _ in range(3)]
    for _ in range(6):
        steps.append(step(session, 0.28))
        assert {id for ids in steps[-3:] for id in ids} <= whole(window, session)


def test_a_step_larger_than_the_space_is_cut_inside_and_small_ones_are_kept(session: Session) -> None:
    window = make_window(session, 8_192)
    small = step(session, 0.05)
    large = step(session, 0.1, 0.9, 0.8)
    left = whole(window, session)
    assert {*small, large[0]} <= left
    sent = {message.id for message in window.build().request.messages}
    assert set(large) <= sent
    again = step(session, 0.05)
    assert {*again, large[0]} <= whole(window, session)


def test_a_smaller_step_after_a_large_one_does_not_displace_it(session: Session) -> None:
    window = make_window(session, 8_192)
    large = step(session, 1.5)
    window.build()
    for _ in range(2):
        step(session, 0.02)
        sent = {message.id: message for message in window.build().request.messages}
        assert len(sent[large[0]].content) > 0.5 * ROOM


def test_worthless_results_are_dropped_before_any_unit(session: Session) -> None:
    window = make_window(session, 8_192)
    first = step(session, 0.5, path="same.py")
    for number in range(3):
        step(session, 0.02, path=f"other{number}.py")
    step(session, 0.4, path="same.py")
    built = window.build()
    assert built.trimmed is not None
    assert (built.trimmed.messages, built.trimmed.shrunk) == (0, 1)
    sent = {message.id: message.content for message in built.request.messages}
    assert sent[first[0]].count("\n") == 0
    assert f'from="{first[0]}"' in sent[first[0]]


def test_undo_restores_results_shortened_to_a_line(session: Session) -> None:
    window = make_window(session, 8_192)
    step(session, 0.2, path="same.py")
    for number in range(5):
        step(session, 0.05, path=f"other{number}.py")
    step(session, 0.2, path="same.py")
    before = window.build().request.messages
    assert window.trim_now() is not None
    assert window.build().request.messages != before
    window.undo_trim()
    assert window.build().request.messages == before


def test_a_resumed_session_shows_the_same_lines(session: Session, tmp_path: Path) -> None:
    window = make_window(session, 8_192)
    for number in range(30):
        step(session, 0.06, path=f"f{number % 4}.py")
        built = window.build()
    assert any(trim.shrunk for trim in session.trims)
    session.close()
    again = store_in(tmp_path).open(session.id)
    assert [message.content for message in make_window(again, 8_192).build().request.messages] == [
        message.content for message in built.request.messages
    ]
    again.close()
