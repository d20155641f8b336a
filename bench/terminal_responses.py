"""What is felt in a long session: a key until it is on the screen at 500 turns, an idle clio, the list of sessions.

    python bench/terminal.py responses

A session of 500 turns is resumed in a real terminal. Times are wall-clock milliseconds from the byte sent to the last
byte drawn, CPU is that of the process; each figure is beside a floor measured in the same run: a process that echoes
keys. CLIO_BENCH_ROOT names another checkout to measure. Asserts nothing.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from clio.messages import AssistantMessage, UserMessage  # noqa: E402 the path must be set first
from clio.sessions.store import SessionStore  # noqa: E402
from tests.support.own_sessions import own_store  # noqa: E402
from tests.support.pty_session import PtySession  # noqa: E402

MEASURED = Path(os.environ.get("CLIO_BENCH_ROOT", ROOT))
TURNS, SESSIONS, KEYS = 500, 5_000, 60
IDLE_S = 10.0
_SILENCE_S = 0.12
_ECHO = (
    "import os, tty; tty.setraw(0); os.write(1, b'ready')\nwhile (key := os.read(0, 1)) != b'\\x04': os.write(1, key)"
)


def report() -> None:
    """Measure and print."""
    if not Path("/proc/self/schedstat").exists():
        print("responses: needs Linux to read the CPU time of a running process")
        return
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder) / "home", Path(folder) / "project"
        (home / ".clio").mkdir(parents=True)
        (home / ".clio" / "history").touch()
        project.mkdir()
        store = own_store(project, home / ".clio")
        with _start([sys.executable, "-c", _ECHO], project, home) as echo:
            _until(echo, b"ready")
            _tell_keys("a process that only echoes", echo)
        _add_session(store, project, TURNS)
        with _start([sys.executable, "-m", "clio", "--provider", "offline", "-c"], project, home) as clio:
            _until(clio, b"offline \xc2\xb7 ")
            _rest(clio)
            _tell_keys(f"clio at {TURNS} turns", clio)
            _tell_idle(clio)
        for _ in range(SESSIONS - 1):
            _add_session(store, project, 1)
        _tell_picker(project, home)


def _add_session(store: SessionStore, project: Path, turns: int) -> None:
    session = store.new(project)
    for number in range(turns):
        session.append(UserMessage(content=f"what does step {number} of {session.id[-4:]} do?"))
        session.append(AssistantMessage(content="It retries the request, and **doubles** the delay. " * 8))
    session.close()


def _start(argv: list[str], project: Path, home: Path) -> PtySession:
    env = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    env |= {"HOME": str(home), "PYTHONPATH": str(MEASURED), "PYTHONUTF8": "1"}
    return PtySession(argv, cwd=project, env=env, timeout_s=300, lines=40)


def _tell_keys(what: str, shell: PtySession) -> None:
    """Keys of a line, one after the other, each as soon as the one before is drawn."""
    times: list[float] = []
    cpu = _cpu_ms(shell.pid)
    for number in range(KEYS):
        times.append(_answer_ms(shell, "abcdefghij"[number % 10]))
    cpu = (_cpu_ms(shell.pid) - cpu) / KEYS
    print(f"{what:<44} key {median(times):6.2f} ms, p95 {sorted(times)[int(0.95 * KEYS)]:6.2f}, CPU {cpu:5.2f} ms")


def _tell_idle(shell: PtySession) -> None:
    _rest(shell)
    before, cpu, at = _count_switches(shell.pid), _cpu_ms(shell.pid), len(shell.raw)
    time.sleep(IDLE_S)
    woken = _count_switches(shell.pid) - before
    cpu = _cpu_ms(shell.pid) - cpu
    shell.take_raw(0.1)
    print(
        f"{'idle for ' + format(IDLE_S, 'g') + ' s':<44} wake-ups {woken}, CPU {cpu:.2f} ms, "
        f"{len(shell.raw) - at} bytes written"
    )


def _tell_picker(project: Path, home: Path) -> None:
    begun = time.perf_counter()
    with _start([sys.executable, "-m", "clio", "--provider", "offline", "-r"], project, home) as shell:
        _until(shell, b"enter to choose")
        first = (time.perf_counter() - begun) * 1000
        cpu = _cpu_ms(shell.pid)
        _rest(shell)
        print(f"{f'list of {SESSIONS:,} sessions, from the start':<44} first paint {first:6.0f} ms, CPU {cpu:.0f} ms")
        for what, keys in (("its filter, a key", ["s", "t", "e", "p", " "]), ("its arrows, a key", ["\x1b[B"] * 20)):
            cpu = _cpu_ms(shell.pid)
            times = [_answer_ms(shell, key) for key in keys]
            cpu = (_cpu_ms(shell.pid) - cpu) / len(keys)
            print(f"{what:<44} median {median(times):6.2f} ms, slowest {max(times):6.2f}, CPU {cpu:5.2f} ms")
        shell.send("\x03")


def _answer_ms(shell: PtySession, key: str) -> float:
    """Milliseconds from a key until the first byte it draws; the bytes after it are taken in before the next key."""
    at, begun = len(shell.raw), time.perf_counter()
    shell.send(key)
    while len(shell.raw) == at:
        shell.take_raw(0.5)
    took = (time.perf_counter() - begun) * 1000
    _rest(shell, _SILENCE_S)
    return took


def _rest(shell: PtySession, silence_s: float = 1.5) -> None:
    last, at = time.perf_counter(), len(shell.raw)
    drawn = at
    while time.perf_counter() - last < silence_s:
        shell.take_raw(0.01)
        if len(shell.raw) > drawn:
            shell.draw(bytes(shell.raw[drawn:]))  # a query of the terminal wants its answer
            last, drawn = time.perf_counter(), len(shell.raw)


def _until(shell: PtySession, mark: bytes) -> None:
    drawn, end = 0, time.monotonic() + 120
    while mark not in shell.raw:
        shell.take_raw(0.02)
        shell.draw(bytes(shell.raw[drawn:]))
        drawn = len(shell.raw)
        if time.monotonic() > end:
            raise RuntimeError(f"{mark!r} did not come; the screen:\n{shell.text}")


def _sum_tasks(pid: int, read: Callable[[Path], float]) -> float:
    return sum(read(task) for task in Path(f"/proc/{pid}/task").iterdir())


def _cpu_ms(pid: int) -> float:
    return _sum_tasks(pid, lambda task: int((task / "schedstat").read_text(encoding="ascii").split()[0]) / 1e6)


def _count_switches(pid: int) -> int:
    """How often a thread of the process went to sleep, and so was woken."""
    return int(_sum_tasks(pid, _read_switches))


def _read_switches(task: Path) -> float:
    rows = (task / "status").read_text(encoding="ascii").splitlines()
    return float(next(row for row in rows if row.startswith("voluntary_ctxt_switches")).split()[1])


if __name__ == "__main__":
    report()
