"""What Esc costs: until the screen says "interrupted", and until no process of the stopped command lives.

For everything a step can be busy with, in real terminals, again and again in a clio that goes on running.
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
    """What a step is busy with. begun: what the screen shows then; asks: a person is asked, and says nothing."""

    name: str
    reply: Callable[[], Reply]
    begun: str
    asks: bool = False
    children: bool = False


_deaf = socket.socket()


def _deaf_server() -> str:
    """An address that takes connections and never answers."""
    if _deaf.getsockname()[1] == 0:
        _deaf.bind(("127.0.0.1", 0))
        _deaf.listen(100)
    return f"http://127.0.0.1:{_deaf.getsockname()[1]}/"


def _run(command: str) -> Callable[[], Reply]:
    return lambda: tool_calls([("run_command", {"command": command})])


def _flood() -> Reply:
    """An answer that goes on for ever, 5,000 tokens a second."""

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
    Case(name="a stalled stream", reply=lambda: stall("I begin and wait for you"), begun="I begin and"),
    Case(name="a stream of 5,000 tokens/s", reply=_flood, begun="word50 "),
    Case(name="before the first byte", reply=lambda: slow(60, text("late")), begun="esc"),
    Case(name="a wait between retries", reply=lambda: error(429, headers={"Retry-After": "30"}), begun="again in"),
    Case(name="a command", reply=_run("sleep 600"), begun="sleep 600", children=True),
    Case(name="a command that ignores SIGTERM", reply=_run(f'{sys.executable} -c "{_STUBBORN}"'), begun="deaf",
         children=True),
    Case(name="a pipeline in the background of a shell", reply=_run("(sleep 600 & sleep 601 | cat) & wait"),
         begun="sleep 601", children=True),
    Case(name="a tool in a thread", reply=lambda: tool_calls([("web_fetch", {"url": _deaf_server()})]), begun="fetch"),
    Case(name="a question", reply=_run("touch never"), begun="once", asks=True),
)  # fmt: skip


def report(runs: int = RUNS) -> None:
    """Print p50 and p95 of every case, in milliseconds."""
    print(f"{'a step busy with':<42} {'screen p50':>10} {'p95':>6} {'gone p50':>10} {'p95':>6}   of {runs} runs, ms")
    for case in CASES:
        screens, gone = measure(case, runs)
        ended = f"{_at(gone, 0.5):>10.0f} {_at(gone, 0.95):>6.0f}" if gone else f"{'–':>10} {'–':>6}"
        print(f"{case.name:<42} {_at(screens, 0.5):>10.0f} {_at(screens, 0.95):>6.0f} {ended}", flush=True)


def measure(case: Case, runs: int) -> tuple[list[float], list[float]]:
    """Milliseconds from Esc to the word on the screen, and to the end of the last process, of each run."""
    screens: list[float] = []
    gone: list[float] = []
    with tempfile.TemporaryDirectory() as folder, ChatServer() as server:
        place = make_place(Path(folder), server)
        (place.home / ".clio" / "config.yaml").write_text("private_network: true\n", encoding="utf-8")
        mode = ("--approve", "ask" if case.asks else "all")
        with place.clio(*mode, CLIO_BENCH_STOP="1") as clio:
            clio.wait_for("test-model · ")
            for number in range(runs + 1):
                first, last = _stop_once(place, server, clio, case, number)
                if number:  # the first one only warms up
                    screens.append(first)
                    gone += [last] if case.children else []
    return screens, gone


def _stop_once(place: Place, server: ChatServer, clio: PtySession, case: Case, number: int) -> tuple[float, float]:
    server.replies[:] = [case.reply()]
    clio.raw.clear()
    clio.line(f"go {number}")
    _until(clio, lambda: case.begun.encode() in clio.raw and bool(_children() or not case.children), case.name)
    seen = time.perf_counter()
    while time.perf_counter() < seen + 0.3:  # as a person would: not in the very moment it appears
        clio.take_raw(0.01)
    clio.draw(bytes(clio.raw))
    clio.raw.clear()
    pressed = time.perf_counter()
    clio.key("escape")
    shown = ended = 0.0
    while not (shown and (ended or not case.children)):
        clio.take_raw(0.001)
        now = time.perf_counter()
        shown = shown or (now if b"interrupted" in clio.raw else 0.0)
        ended = ended or (now if case.children and not _children() else 0.0)
        assert now - pressed < _WAIT_S, f"{case.name}: not stopped; the screen:\n{clio.text}"
    clio.draw(bytes(clio.raw))
    _until(clio, lambda: "❯".encode() in clio.raw, case.name)
    clio.take_in(0.1)
    return 1000 * (shown - pressed), 1000 * (ended - pressed)


def _children() -> list[int]:
    """The living processes of the command: those with the mark and with what clio sets for commands."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:  # gone meanwhile; a zombie has none to read
            continue
        if _MARK in environment and b"GIT_PAGER=cat" in environment:
            found.append(int(entry.name))
    return found


def _until(clio: PtySession, there: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + _WAIT_S
    drawn = len(clio.raw)
    while not there():
        clio.take_raw(0.02)
        if len(clio.raw) < drawn + 10_000:  # a query of the terminal wants its answer; a flood has none
            clio.draw(bytes(clio.raw[drawn:]))
            drawn = len(clio.raw)
        assert time.monotonic() < end, f"{what}: it did not get there; the screen:\n{clio.text}"


def _at(samples: list[float], share: float) -> float:
    ordered = sorted(samples)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
