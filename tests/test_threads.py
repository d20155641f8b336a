"""Daemon threads: results and errors reach who waits, and a hanging call does not hold up the end of the process."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clio.threads import BackgroundCall, start_daemon_thread


def test_the_result_may_be_asked_for_twice_and_from_several_threads() -> None:
    go_on = threading.Event()
    call = BackgroundCall(lambda: go_on.wait(10) and threading.current_thread().name, "the-name")
    with ThreadPoolExecutor(2) as waiting:
        answers = [waiting.submit(call.wait, 10) for _ in range(2)]
        go_on.set()
        assert [answer.result() for answer in answers] == ["the-name"] * 2
    assert call.wait() == "the-name"


def test_the_error_of_the_call_is_raised_at_each_wait() -> None:
    call: BackgroundCall[None] = BackgroundCall(lambda: (_ for _ in ()).throw(ValueError("broken")), "fails")
    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            call.wait(10)


def test_a_call_that_takes_too_long_can_be_waited_for_again() -> None:
    go_on = threading.Event()
    call = BackgroundCall(lambda: go_on.wait(10), "slow")
    with pytest.raises(TimeoutError, match=r"0\.05 seconds"):
        call.wait(0.05)
    with pytest.raises(TimeoutError):
        call.wait(0)
    go_on.set()
    assert call.wait(10)


def test_waiting_ends_when_the_caller_gives_up() -> None:
    go_on, asked = threading.Event(), list[float]()
    call = BackgroundCall(lambda: go_on.wait(10), "slow")

    def give_up() -> bool:
        asked.append(time.monotonic())
        return len(asked) == 3

    with pytest.raises(TimeoutError):
        call.wait(give_up=give_up, poll_s=0.01)
    assert len(asked) == 3
    go_on.set()
    assert call.wait(10, give_up=lambda: False, poll_s=0.01)


def test_what_an_unwatched_thread_raises_reaches_the_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[type[BaseException], str]] = []

    def note(given: threading.ExceptHookArgs) -> None:
        seen.append((given.exc_type, given.thread.name if given.thread else ""))

    monkeypatch.setattr(threading, "excepthook", note)
    start_daemon_thread(lambda: 1 / 0, "divides").join(10)
    assert seen == [(ZeroDivisionError, "divides")]


@pytest.mark.parametrize("start", ["start_daemon_thread", "BackgroundCall"])
def test_a_call_that_never_returns_does_not_hold_up_the_exit(start: str, tmp_path: Path) -> None:
    code = f"import time; from clio import threads; threads.{start}(lambda: time.sleep(600), 'hangs'); print('ready')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, cwd=tmp_path, check=True
    )
    assert done.stdout == "ready\n"
