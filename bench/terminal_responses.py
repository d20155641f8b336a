"""Measure keys in a session of 500 turns, an idle clio, and the list of sessions.

    python bench/terminal.py responses

A session of 500 turns is resumed in a terminal. Times are wall-clock milliseconds from sending a key to the first byte
that it draws; CPU is the time of the process. A process that only echoes keys is measured in the same run as the floor.
CLIO_BENCH_ROOT names another checkout to measure. Asserts nothing.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.measurements import percentile_95, read_cpu_s  # noqa: E402 the path must be set first
from clio.messages import AssistantMessage, UserMessage  # noqa: E402
from clio.sessions.store import SessionStore  # noqa: E402
from tests.support.own_sessions import own_store  # noqa: E402
from tests.support.pty_session import PtySession  # noqa: E402

MEASURED_ROOT = Path(os.environ.get("CLIO_BENCH_ROOT", ROOT))
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
            _wait_for(echo, b"ready")
            _report_keys("a process that only echoes", echo)
        _add_session(store, project, TURNS)
        with _start([sys.executable, "-m", "clio", "--provider", "offline", "-c"], project, home) as clio:
            _wait_for(clio, b"offline \xc2\xb7 ")
            _wait_for_silence(clio)
            _report_keys(f"clio at {TURNS} turns", clio)
            _report_idle(clio)
        for _ in range(SESSIONS - 1):
            _add_session(store, project, 1)
        _report_session_list(project, home)


def _add_session(store: SessionStore, project: Path, turns: int) -> None:
    session = store.new(project)
    for number in range(turns):
        session.append(UserMessage(content=f"what does step {number} of {session.id[-4:]} do?"))
        session.append(AssistantMessage(content="It retries the request, and **doubles** the delay. " * 8))
    session.close()


def _start(argv: list[str], project: Path, home: Path) -> PtySession:
    env = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    env |= {"HOME": str(home), "PYTHONPATH": str(MEASURED_ROOT), "PYTHONUTF8": "1"}
    return PtySession(argv, cwd=project, env=env, timeout_s=300, lines=40)


def _report_keys(label: str, shell: PtySession) -> None:
    """Print the times of the keys of a line, each sent when the previous one has been drawn."""
    times: list[float] = []
    cpu = _cpu_ms(shell.pid)
    for number in range(KEYS):
        times.append(_measure_key_ms(shell, "abcdefghij"[number % 10]))
    cpu = (_cpu_ms(shell.pid) - cpu) / KEYS
    print(f"{label:<44} key {median(times):6.2f} ms, p95 {percentile_95(times):6.2f}, CPU {cpu:5.2f} ms")


def _report_idle(shell: PtySession) -> None:
    _wait_for_silence(shell)
    before, cpu, at = _count_switches(shell.pid), _cpu_ms(shell.pid), len(shell.raw)
    time.sleep(IDLE_S)
    wake_ups = _count_switches(shell.pid) - before
    cpu = _cpu_ms(shell.pid) - cpu
    shell.take_raw(0.1)
    print(
        f"{'idle for ' + format(IDLE_S, 'g') + ' s':<44} wake-ups {wake_ups}, CPU {cpu:.2f} ms, "
        f"{len(shell.raw) - at} bytes written"
    )


def _report_session_list(project: Path, home: Path) -> None:
    started = time.perf_counter()
    with _start([sys.executable, "-m", "clio", "--provider", "offline", "-r"], project, home) as shell:
        _wait_for(shell, b"enter to choose")
        first_ms = (time.perf_counter() - started) * 1000
        cpu = _cpu_ms(shell.pid)
        _wait_for_silence(shell)
        print(
            f"{f'list of {SESSIONS:,} sessions, from the start':<44} first paint {first_ms:6.0f} ms, CPU {cpu:.0f} ms"
        )
        for label, keys in (("its filter, a key", ["s", "t", "e", "p", " "]), ("its arrows, a key", ["\x1b[B"] * 20)):
            cpu = _cpu_ms(shell.pid)
            times = [_measure_key_ms(shell, key) for key in keys]
            cpu = (_cpu_ms(shell.pid) - cpu) / len(keys)
            print(f"{label:<44} median {median(times):6.2f} ms, slowest {max(times):6.2f}, CPU {cpu:5.2f} ms")
        shell.send("\x03")


def _measure_key_ms(shell: PtySession, key: str) -> float:
    """Return the milliseconds from a key to the first byte that it draws, after reading all bytes that follow."""
    at, started = len(shell.raw), time.perf_counter()
    shell.send(key)
    while len(shell.raw) == at:
        shell.take_raw(0.5)
    milliseconds = (time.perf_counter() - started) * 1000
    _wait_for_silence(shell, _SILENCE_S)
    return milliseconds


def _wait_for_silence(shell: PtySession, silence_s: float = 1.5) -> None:
    last, at = time.perf_counter(), len(shell.raw)
    drawn = at
    while time.perf_counter() - last < silence_s:
        shell.take_raw(0.01)
        if len(shell.raw) > drawn:
            shell.draw(bytes(shell.raw[drawn:]))  # answers queries of the terminal
            last, drawn = time.perf_counter(), len(shell.raw)


def _wait_for(shell: PtySession, mark: bytes) -> None:
    drawn, end = 0, time.monotonic() + 120
    while mark not in shell.raw:
        shell.take_raw(0.02)
        shell.draw(bytes(shell.raw[drawn:]))
        drawn = len(shell.raw)
        if time.monotonic() > end:
            raise RuntimeError(f"{mark!r} did not appear; the screen:\n{shell.text}")


def _cpu_ms(pid: int) -> float:
    return read_cpu_s(pid) * 1000


def _count_switches(pid: int) -> int:
    """Return how often threads of the process went to sleep, and so were woken."""
    count = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        rows = (thread / "status").read_text(encoding="ascii").splitlines()
        count += int(next(row for row in rows if row.startswith("voluntary_ctxt_switches")).split()[1])
    return count


if __name__ == "__main__":
    report()
