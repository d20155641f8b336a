"""Measure Esc: the time until the screen shows "interrupted", and until all processes of the command have ended.

    python bench/terminal.py stop

Measured for everything that a step can wait for, in a terminal, several times in the same clio.
"""

import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from tests.entrypoints.repl_support import Place, make_place
from tests.support.chat_server import ChatServer, Pause, Reply, chunk, error, slow, stall, text, tool_calls
from tests.support.pty_session import PtySession

_MARK = b"CLIO_BENCH_STOP=1"
_WAIT_S = 20.0
RUNS = 15


class Case(Struct, frozen=True, kw_only=True):
    """What a step waits for. shows: what the screen then shows. asks: the user is asked, and does not answer."""

    name: str
    reply: Callable[[], Reply]
    shows: str
    asks_user: bool = False
    children: bool = False


_silent_socket = socket.socket()


def _get_silent_url() -> str:
    """Return an address that accepts connections and never answers."""
    if _silent_socket.getsockname()[1] == 0:
        _silent_socket.bind(("127.0.0.1", 0))
        _silent_socket.listen(100)
    return f"http://127.0.0.1:{_silent_socket.getsockname()[1]}/"


def _run(command: str) -> Callable[[], Reply]:
    return lambda: tool_calls([("run_command", {"command": command})])


def _flood() -> Reply:
    """Return an endless answer of 5,000 tokens per second."""

    def parts(_: object):
        yield chunk({"role": "assistant", "content": "Flowing on and on.\n\n"})
        for number in range(100_000):
            yield chunk({"content": f"word{number} " * 10 + ("\n\n" if number % 20 == 0 else "")})
            yield Pause(0.006)

    return Reply(parts)


_STUBBORN = (
    "import os,signal,time;signal.signal(signal.SIGTERM,signal.SIG_IGN);os.fork();"
    "print('deaf',flush=True);time.sleep(600)"
)
CASES = (
    Case(name="a stalled stream", reply=lambda: stall("I begin and wait for you"), shows="I begin and"),
    Case(name="a stream of 5,000 tokens/s", reply=_flood, shows="word50 "),
    Case(name="before the first byte", reply=lambda: slow(60, text("late")), shows="esc"),
    Case(name="a wait between retries", reply=lambda: error(429, headers={"Retry-After": "30"}), shows="again in"),
    Case(name="a command", reply=_run("sleep 600"), shows="sleep 600", children=True),
    Case(name="a command that ignores SIGTERM", reply=_run(f'{sys.executable} -c "{_STUBBORN}"'), shows="deaf",
         children=True),
    Case(name="a pipeline in the background of a shell", reply=_run("(sleep 600 & sleep 601 | cat) & wait"),
         shows="sleep 601", children=True),
    Case(name="a tool in a thread", reply=lambda: tool_calls([("web_fetch", {"url": _get_silent_url()})]),
         shows="fetch"),
    Case(name="a question", reply=_run("touch never"), shows="once", asks_user=True),
)  # fmt: skip


def report(runs: int = RUNS) -> None:
    """Print p50 and p95 of every case, in milliseconds."""
    print(f"{'a step waits for':<42} {'screen p50':>10} {'p95':>6} {'ended p50':>10} {'p95':>6}   of {runs} runs, ms")
    for case in CASES:
        screen_ms, gone_ms = measure(case, runs)
        columns = (
            f"{_percentile(gone_ms, 0.5):>10.0f} {_percentile(gone_ms, 0.95):>6.0f}"
            if gone_ms
            else f"{'–':>10} {'–':>6}"
        )
        print(
            f"{case.name:<42} {_percentile(screen_ms, 0.5):>10.0f} {_percentile(screen_ms, 0.95):>6.0f} {columns}",
            flush=True,
        )


def measure(case: Case, runs: int) -> tuple[list[float], list[float]]:
    """Return for each run the milliseconds from Esc to the word on the screen, and to the end of the last process."""
    screen_ms: list[float] = []
    gone_ms: list[float] = []
    with tempfile.TemporaryDirectory() as folder, ChatServer() as server:
        place = make_place(Path(folder), server)
        (place.home / ".clio" / "config.yaml").write_text("private_network: true\n", encoding="utf-8")
        mode = ("--approve", "ask" if case.asks_user else "all")
        with place.clio(*mode, CLIO_BENCH_STOP="1") as clio:
            clio.wait_for("test-model · ")
            for number in range(runs + 1):
                screen, processes = _stop_once(place, server, clio, case, number)
                if number:  # the first run warms up the caches
                    screen_ms.append(screen)
                    gone_ms += [processes] if case.children else []
    return screen_ms, gone_ms


def _stop_once(place: Place, server: ChatServer, clio: PtySession, case: Case, number: int) -> tuple[float, float]:
    server.replies[:] = [case.reply()]
    clio.raw.clear()
    clio.line(f"go {number}")
    _wait_until(
        clio,
        lambda: case.shows.encode() in clio.raw and bool(_find_command_processes() or not case.children),
        case.name,
    )
    reached = time.perf_counter()
    while time.perf_counter() < reached + 0.3:  # as a user does, not at the very moment it appears
        clio.take_raw(0.01)
    clio.draw(bytes(clio.raw))
    clio.raw.clear()
    pressed_at = time.perf_counter()
    clio.key("escape")
    shown_at = ended_at = 0.0
    while not (shown_at and (ended_at or not case.children)):
        clio.take_raw(0.001)
        now = time.perf_counter()
        shown_at = shown_at or (now if b"interrupted" in clio.raw else 0.0)
        ended_at = ended_at or (now if case.children and not _find_command_processes() else 0.0)
        assert now - pressed_at < _WAIT_S, f"{case.name}: not stopped; the screen:\n{clio.text}"
    clio.draw(bytes(clio.raw))
    _wait_until(clio, lambda: "❯".encode() in clio.raw, case.name)
    clio.take_in(0.1)
    return 1000 * (shown_at - pressed_at), 1000 * (ended_at - pressed_at)


def _find_command_processes() -> list[int]:
    """Return the running processes of the command: those with the mark and clio's variables for commands."""
    pids: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:  # the process has ended, or is a zombie
            continue
        if _MARK in environment and b"GIT_PAGER=cat" in environment:
            pids.append(int(entry.name))
    return pids


def _wait_until(clio: PtySession, condition: Callable[[], bool], label: str) -> None:
    end = time.monotonic() + _WAIT_S
    drawn = len(clio.raw)
    while not condition():
        clio.take_raw(0.02)
        if len(clio.raw) < drawn + 10_000:  # answers queries of the terminal; there are none in a large output
            clio.draw(bytes(clio.raw[drawn:]))
            drawn = len(clio.raw)
        assert time.monotonic() < end, f"{label}: timeout; the screen:\n{clio.text}"


def _percentile(samples: list[float], share: float) -> float:
    ordered = sorted(samples)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
