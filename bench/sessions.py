"""Times what a session costs: one append at three lengths, opening, listing. `python -m bench.sessions`.

Its data is made here, in a temporary folder: messages of the mix a coding session has, about 1 KB each.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from clio.sessions.session import Session
from clio.sessions.store import SessionStore

APPENDS = 500


def messages(count: int) -> Iterator[Message]:
    """Turns of four messages: question, call, result, answer."""
    for number in range(count):
        match number % 4:
            case 0:
                yield UserMessage(content=f"question {number}: " + "why does the parser fail here? " * 5)
            case 1:
                call = ToolCall(id=f"call_{number}", name="read_file", arguments='{"path": "src/module.py"}')
                yield AssistantMessage(content="Let me look.", tool_calls=(call,))
            case 2:
                yield ToolMessage(tool_call_id=f"call_{number - 1}", content="def f(x):\n    return x\n" * 120)
            case _:
                yield AssistantMessage(content="It fails because the token is empty. " * 15)


def filled(store: SessionStore, count: int) -> Session:
    """A running session of `count` messages."""
    session = store.new(Path("/project"))
    for message in messages(count):
        session.append(message)
    return session


def time_append(store: SessionStore, count: int) -> float:
    """Microseconds of CPU for one append to a session of `count` messages; best of five rounds."""
    session = filled(store, count)
    best = float("inf")
    for _ in range(5):
        batch = list(messages(APPENDS // 5))
        start = time.process_time()
        for message in batch:
            session.append(message)
        best = min(best, (time.process_time() - start) / len(batch))
    session.close()
    return best * 1e6


def rss_mb() -> float:
    """Memory of this process now; its peak where there is no /proc."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text(encoding="ascii").split()[1]) * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def open_one(folder: str, session_id: str) -> None:
    """Run in a process of its own: opens a session and prints CPU milliseconds and memory."""
    before = rss_mb()
    start = time.process_time()
    session = SessionStore(Path(folder)).open(session_id)
    spent = time.process_time() - start
    after = rss_mb()
    print(f"{len(session.messages)} messages: {spent * 1e3:.1f} ms CPU, RSS {after:.0f} MB", end="")
    print(f" ({after - before:.0f} MB for the session)")


def report_open(store: SessionStore, label: str, session_id: str) -> None:
    """Print what opening costs in a fresh process."""
    command = [sys.executable, "-m", "bench.sessions", "open", str(store.folder), session_id]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    print(f"open, {label}: {done.stdout.strip()}")


def main() -> None:
    """Print all figures."""
    with tempfile.TemporaryDirectory() as folder:
        store = SessionStore(Path(folder) / ".clio" / "sessions")
        for count in (10, 2_000, 10_000):
            print(f"append at {count:6} messages: {time_append(store, count):5.1f} µs CPU")

        killed = filled(store, 2_000)
        start = time.perf_counter()
        killed.sync()
        print(f"sync (fsync of the journal): {(time.perf_counter() - start) * 1e3:.1f} ms")
        closed = filled(store, 2_000)
        start = time.process_time()
        closed.close()
        print(f"close of 2,000 messages: {(time.process_time() - start) * 1e3:.1f} ms CPU")
        report_open(store, "snapshot", closed.id)
        killed._disk.release()  # as a kill leaves it: a journal, no snapshot
        report_open(store, "journal only", killed.id)

        for _ in range(1_000):
            filled(store, 8).close()
        start = time.process_time()
        found = len(store.list())
        print(f"list of {found} sessions: {(time.process_time() - start) * 1e3:.1f} ms CPU")


if __name__ == "__main__":
    if sys.argv[1:2] == ["open"]:
        open_one(sys.argv[2], sys.argv[3])
    else:
        main()
