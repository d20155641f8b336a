"""Daemon threads: results and errors reach the waiting caller, and a hanging call does not delay the exit."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clio.threads import BackgroundCall, Worker, start_daemon_thread


def test_the_result_can_be_requested_twice_and_by_several_threads() -> None:
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


def test_a_call_that_timed_out_can_be_waited_for_again() -> None:
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


def test_errors_of_an_unwatched_thread_reach_the_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[type[BaseException], str]] = []

    def note(given: threading.ExceptHookArgs) -> None:
        seen.append((given.exc_type, given.thread.name if given.thread else ""))

    monkeypatch.setattr(threading, "excepthook", note)
    start_daemon_thread(lambda: 1 / 0, "divides").join(10)
    assert seen == [(ZeroDivisionError, "divides")]


@pytest.mark.parametrize("start", ["start_daemon_thread", "BackgroundCall", "submit"])
def test_a_call_that_never_returns_does_not_delay_the_exit(start: str, tmp_path: Path) -> None:
    # The call that never returns must still be running when the process exits.
    code = (
        "import time; from clio import threads\n"
        "def submit(work, name):\n"
        "    worker = threads.Worker(name)\n"
        "    worker.submit(work)\n"
        "    worker.submit(work)\n"
        "    assert not worker.wait(0.05)\n"
        f"{'submit' if start == 'submit' else f'threads.{start}'}(lambda: time.sleep(600), 'hangs'); print('ready')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, cwd=tmp_path, check=True
    )
    assert done.stdout == "ready\n"


def test_a_worker_runs_jobs_in_order_and_never_two_at_once() -> None:
    worker, lock, done, together = Worker("jobs"), threading.Lock(), list[tuple[int, int]](), list[int]()

    def job(submitter: int, number: int) -> None:
        if not lock.acquire(blocking=False):
            together.append(number)
            return
        time.sleep(0.0005)  # slow on purpose: a second job would find the lock held
        done.append((submitter, number))
        lock.release()

    def submit(submitter: int) -> None:
        for number in range(50):
            worker.submit(lambda number=number: job(submitter, number))

    submitters = [threading.Thread(target=submit, args=(submitter,)) for submitter in range(4)]
    for thread in submitters:
        thread.start()
    for thread in submitters:
        thread.join(10)
    assert worker.wait(30)
    assert together == []
    for submitter in range(4):
        assert [number for one, number in done if one == submitter] == list(range(50))


def test_submitting_to_a_hanging_worker_returns_at_once() -> None:
    worker, go_on, done = Worker("hangs"), threading.Event(), list[str]()
    began = time.monotonic()
    worker.submit(lambda: go_on.wait(20) and done.append("first"))
    worker.submit(lambda: done.append("second"))
    assert time.monotonic() - began < 5
    assert not worker.wait(0.05)
    assert done == []
    go_on.set()
    assert worker.wait(10)
    assert done == ["first", "second"]


def test_an_idle_worker_has_no_thread() -> None:
    worker = Worker("comes-and-goes")
    for _ in range(3):
        worker.submit(lambda: None)
        assert worker.wait(10)
    for thread in threading.enumerate():
        if thread.name == "comes-and-goes":
            thread.join(10)
            assert not thread.is_alive()
    assert Worker("never-used").wait(0)


@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_a_job_that_fails_is_reported_and_the_next_one_runs(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[type[BaseException], str]] = []

    def report(given: threading.ExceptHookArgs) -> None:
        seen.append((given.exc_type, given.thread.name if given.thread else ""))
        raise OSError("standard error is closed")

    def fail() -> None:
        raise error("broken")

    monkeypatch.setattr(threading, "excepthook", report)
    monkeypatch.setattr(sys, "excepthook", lambda *_: None)  # Python reports there what `threading.excepthook` raises
    worker, done = Worker("fails"), list[str]()
    worker.submit(fail)
    worker.submit(lambda: done.append("next"))
    assert worker.wait(10)
    assert done == ["next"]
    for thread in threading.enumerate():
        if thread.name == "fails":
            thread.join(10)
    assert seen == [(error, "fails")]
