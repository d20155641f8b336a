"""Measure streaming in a terminal: an answer of 5,000 tokens per second, and an answer of a megabyte.

    python bench/terminal.py stream

Prints the duration of the turn and of the server's answer, clio's CPU time as a share of one core, frames, bytes
written, the time until a key pressed meanwhile is visible, and the memory of the process.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.measurements import read_cpu_s, read_memory_mb  # noqa: E402 the path must be set first
from tests.support.pty_session import PtySession  # noqa: E402

RATE = 5_000  # tokens a second
TOKEN_CHARS = 4
BATCH_S = 0.01
FRAME = b"\x1b[?2026h"
BLOCK = """## Step {n}: what was looked at

The **retry policy** stands in `clio/agent/loop.py`; it asks again after 0.5, 1 and 2 seconds, see
[the docs](https://docs.example/retry) for why. It is *not* asked again where the server refuses for good.

- first a look at the file, number {n}
- then the tests of it

| case | waits | asks again |
|------|------:|:----------:|
| the server is busy | {n} s | yes |
| the key is wrong | 0 s | no |

```python
def wait(attempt: int) -> float:
    \"\"\"Seconds before attempt number {n}.\"\"\"
    return min(0.5 * 2**attempt, 30.0)  # half a second first
```

"""


def report() -> None:
    """Measure and print."""
    if not Path("/proc/self/schedstat").exists():
        print("stream: needs Linux to read the CPU time of a running process")
        return
    print(f"stream: {RATE:,} tokens a second for 10 s")
    _print_run(Run(tokens=10 * RATE, rate=RATE, keys=True))
    print("stream: an answer of 1 MB, as fast as the server can")
    _print_run(Run(tokens=1_000_000 // TOKEN_CHARS, rate=0, keys=False))


class Run:
    """The figures of one turn in a terminal of 80×24. rate: tokens per second, 0 for as fast as possible."""

    def __init__(self, *, tokens: int, rate: int, keys: bool) -> None:
        self.latencies: list[float] = []
        self.sent_s = tokens / rate if rate else 0.0
        with tempfile.TemporaryDirectory() as folder:
            server = subprocess.Popen(
                [sys.executable, __file__, str(tokens), str(rate)],
                cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ,
            )  # fmt: skip
            assert server.stdin is not None and server.stdout is not None
            url = server.stdout.readline().strip()
            try:
                self._turn(Path(folder), url, keys=keys)
            finally:
                server.stdin.close()
                server.wait(timeout=10)

    def _turn(self, folder: Path, url: str, *, keys: bool) -> None:
        (folder / ".clio").mkdir()
        (folder / ".clio" / "history").touch()
        env = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        env |= {"HOME": str(folder), "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "OPENAI_API_KEY": "none"}
        env |= {"OPENAI_BASE_URL": url, "CLIO_MODEL": "test-model", "CLIO_CONTEXT_WINDOW": "1000000"}
        with PtySession([sys.executable, "-m", "clio", "--new"], cwd=folder, env=env, timeout_s=300) as shell:
            _wait_for(shell, b"test-model")
            time.sleep(2)  # until the imports in the background have ended
            shell.take_in(0.1)
            self.rss_before = read_memory_mb(shell.pid)
            cpu, at, started = read_cpu_s(shell.pid), len(shell.raw), time.monotonic()
            shell.line("go")
            self._watch(shell, at, keys=keys)
            self.wall_s, self.cpu_s = time.monotonic() - started, read_cpu_s(shell.pid) - cpu
            written = bytes(shell.raw[at:])
            self.rss_after, self.bytes, self.frames = read_memory_mb(shell.pid), len(written), written.count(FRAME)

    def _watch(self, shell: PtySession, at: int, *, keys: bool) -> None:
        """Read the output until the turn ends, without drawing it, and press keys if `keys`."""
        pressed_at = time.monotonic() + 1  # the first key when the turn accepts input
        pending_key = ""
        letters = iter("abcdefghijklmnopqrstuvwxyz" * 100)
        typed = ""
        while b"1 request" not in shell.raw[max(at, len(shell.raw) - 4000) :]:
            _read_available(shell)
            now = time.monotonic()
            if pending_key and f"› {typed}".encode() in shell.raw[-6000:]:
                self.latencies.append(now - pressed_at)
                pending_key = ""
            if keys and not pending_key and now - pressed_at > 0.25:
                pending_key = next(letters)
                typed += pending_key
                pressed_at = now
                shell.send(pending_key)


def _read_available(shell: PtySession) -> None:
    """Read available bytes without drawing them, so that the emulator's time is not measured."""
    import select

    descriptor = shell._child.child_fd  # pyright: ignore[reportPrivateUsage]
    if select.select([descriptor], [], [], 0.001)[0]:
        shell.raw += os.read(descriptor, 1 << 20)


def _wait_for(shell: PtySession, mark: bytes) -> None:
    end = time.monotonic() + 20
    while mark not in shell.raw:
        shell.take_in(0.02)
        if time.monotonic() > end:
            raise RuntimeError(f"clio did not start; the last output: {bytes(shell.raw[-300:])!r}")


def _print_run(run: Run) -> None:
    sent = f", sent in {run.sent_s:.1f} s" if run.sent_s else ""
    print(f"  turn {run.wall_s:.1f} s{sent}; CPU {run.cpu_s:.1f} s, {100 * run.cpu_s / run.wall_s:.0f} % of one core")
    print(f"  frames {run.frames:,} ({run.frames / run.wall_s:.1f} per second), {run.bytes:,} bytes written")
    print(f"  memory {run.rss_before:.0f} MB before, {run.rss_after:.0f} MB after")
    if run.latencies:
        ordered = sorted(run.latencies)
        p95 = ordered[int(0.95 * (len(ordered) - 1))]
        print(
            f"  a key is visible after {1000 * median(ordered):.0f} ms, p95 {1000 * p95:.0f} ms ({len(ordered)} keys)"
        )


def _answer(tokens: int) -> Iterator[str]:
    text, number = "", 0
    for _ in range(tokens):
        while len(text) < TOKEN_CHARS:
            number += 1
            text += BLOCK.format(n=number)
        yield text[:TOKEN_CHARS]
        text = text[TOKEN_CHARS:]


def _serve(tokens: int, rate: int) -> None:
    """Serve one answer over HTTP, a chunk for each token, at `rate` tokens per second."""
    import socket
    import threading

    def chunk(piece: str) -> bytes:
        choice = {"index": 0, "delta": {"content": piece}, "finish_reason": None}
        head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "test-model"}
        return b"data: " + json.dumps(head | {"choices": [choice]}, separators=(",", ":")).encode() + b"\n\n"

    chunks = [chunk(piece) for piece in _answer(tokens)]
    end_of_answer = b'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"test-model",'
    end_of_answer += b'"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", flush=True)

    def answer(connection: socket.socket) -> None:
        with connection:
            request = b""
            while b"\r\n\r\n" not in request:
                request += connection.recv(1 << 16)
            if b"/chat/completions" not in request.split(b"\r\n", 1)[0]:
                connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            head, _, body = request.partition(b"\r\n\r\n")
            length = int(next(row for row in head.lower().split(b"\r\n") if row.startswith(b"content-length"))[15:])
            while len(body) < length:
                body += connection.recv(1 << 16)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
            size = max(int(rate * BATCH_S), 1) if rate else 500
            started = time.monotonic()
            for number, at in enumerate(range(0, len(chunks), size), 1):
                connection.sendall(b"".join(chunks[at : at + size]))
                if rate:
                    time.sleep(max(started + number * size / rate - time.monotonic(), 0))
            connection.sendall(end_of_answer)

    def accept() -> None:
        while True:
            threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    _serve(int(sys.argv[1]), int(sys.argv[2]))
