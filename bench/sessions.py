"""Measure sessions: appending at three lengths, opening and listing.

    python -m bench.sessions

The messages are generated, about 1 KB each.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measurements import read_memory_mb
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from clio.sessions.session import Session
from clio.sessions.store import SessionStore

APPENDS = 500


def make_messages(count: int) -> Iterator[Message]:
    """Yield `count` messages in turns of four: question, call, result, answer."""
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


def make_session(store: SessionStore, count: int) -> Session:
    """Make an open session of `count` messages."""
    session = store.new(Path("/project"))
    for message in make_messages(count):
        session.append(message)
    return session


def measure_append_us(store: SessionStore, count: int) -> float:
    """Return the CPU time of one append to a session of `count` messages in µs, the best of five rounds."""
    session = make_session(store, count)
    best = float("inf")
    for _ in range(5):
        batch = list(make_messages(APPENDS // 5))
        start = time.process_time()
        for message in batch:
            session.append(message)
        best = min(best, (time.process_time() - start) / len(batch))
    session.close()
    return best * 1e6


def measure_open(folder: str, session_id: str) -> None:
    """Open a session, and print the CPU time and the memory. To be run in its own process."""
    before = read_memory_mb()
    start = time.process_time()
    session = SessionStore(Path(folder)).open(session_id)
    seconds = time.process_time() - start
    after = read_memory_mb()
    print(f"{len(session.messages)} messages: {seconds * 1e3:.1f} ms CPU, RSS {after:.0f} MB", end="")
    print(f" ({after - before:.0f} MB for the session)")


def report_open(store: SessionStore, label: str, session_id: str) -> None:
    """Print the cost of opening a session in a new process."""
    command = [sys.executable, "-m", "bench.sessions", "open", str(store.folder), session_id]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    print(f"open, {label}: {done.stdout.strip()}")


def main() -> None:
    """Print all figures."""
    with tempfile.TemporaryDirectory() as folder:
        store = SessionStore(Path(folder) / ".clio" / "sessions")
        for count in (10, 2_000, 10_000):
            print(f"append at {count:6} messages: {measure_append_us(store, count):5.1f} µs CPU")

        unclosed = make_session(store, 2_000)
        start = time.perf_counter()
        unclosed.sync()
        print(f"sync (fsync of the journal): {(time.perf_counter() - start) * 1e3:.1f} ms")
        closed = make_session(store, 2_000)
        start = time.process_time()
        closed.close()
        print(f"close of 2,000 messages: {(time.process_time() - start) * 1e3:.1f} ms CPU")
        report_open(store, "snapshot", closed.id)
        unclosed._disk.release()  # like a killed process: leaves a journal and no snapshot
        report_open(store, "journal only", unclosed.id)

        for _ in range(1_000):
            make_session(store, 8).close()
        start = time.process_time()
        count = len(store.list())
        print(f"list of {count} sessions: {(time.process_time() - start) * 1e3:.1f} ms CPU")


if __name__ == "__main__":
    if sys.argv[1:2] == ["open"]:
        measure_open(sys.argv[2], sys.argv[3])
    else:
        main()
