"""The next trim does what /context announces."""

from pathlib import Path

import pytest

from clio.context.window import ContextWindow
from clio.sessions.session import Session
from tests.context.histories import make_window, store_in, tool_round, user

OUTPUT = "a line of a file that was read\n" * 20


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = store_in(tmp_path).new(tmp_path)
    session.append(user("begin with the parser"))
    return session


def work(session: Session, rounds: int) -> None:
    for number in range(len(session.messages), len(session.messages) + rounds):
        for message in tool_round([f"tool{number}"], [OUTPUT], [f"c{number}"]):
            session.append(message)


def trimmed(session: Session, window: ContextWindow) -> tuple[str, ...]:
    """Continue until the window is trimmed; return the trimmed messages."""
    while window.build().trimmed is None:
        work(session, 1)
    return session.trims[-1].dropped


@pytest.mark.parametrize("rounds", [2, 8, 14, 20])
def test_the_announced_messages_are_trimmed_and_no_others_of_today(session: Session, rounds: int) -> None:
    window = make_window(session, 8_192)
    work(session, rounds)
    today = [message.id for message in session.messages]
    seen = window.foresee_next_trim()
    trimmed_ids = [id for id in trimmed(session, window) if id in today]
    assert abs(seen.messages - len(trimmed_ids)) <= 2  # one round: where exactly the limit is crossed is chance
    assert seen.at_share == pytest.approx(0.75, abs=0.01)


def test_when_it_is_due_it_is_exact(session: Session) -> None:
    window = make_window(session, 8_192)
    work(session, 40)
    seen = window.foresee_next_trim()
    built = window.build()
    assert built.trimmed is not None
    assert (seen.left, seen.messages) == (0, built.trimmed.messages)


def test_every_message_brings_it_nearer(session: Session) -> None:
    window = make_window(session, 8_192)
    left: list[int] = []
    for _ in range(5):
        work(session, 1)
        left.append(window.foresee_next_trim().left)
    assert left == sorted(left, reverse=True)
    assert len(set(left)) == 5


def test_viewing_it_changes_nothing(session: Session) -> None:
    window = make_window(session, 8_192)
    work(session, 40)
    before = (len(session.messages), tuple(session.window_ids), tuple(session.trims))
    window.foresee_next_trim()
    assert (len(session.messages), tuple(session.window_ids), tuple(session.trims)) == before


def test_an_empty_session_has_nothing_to_trim(tmp_path: Path) -> None:
    window = make_window(store_in(tmp_path).new(tmp_path), 8_192)
    seen = window.foresee_next_trim()
    assert (seen.messages, seen.tokens, seen.shortened) == (0, 0, 0)
    assert seen.left > 4_000
