"""Measure the CPU time of an answer of 100 KB from the socket to the display events, and the share of redaction.

    python -m bench.answer [--runs 9]

A server in its own process sends the answer over HTTP in events of 24 characters, as fast as it can or 1,000 per second
(more than today's fastest models). Redaction knows the values of 20 environment variables; its time is measured around
its calls, in the same runs. A process that sleeps between events has cold caches; then everything takes ten times as
long.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from typing import cast

from bench.redaction import ENVIRONMENT, PIECE_CHARS, make_samples
from clio.agent.model_request import AnswerDisplay, ModelAnswer, receive_answer
from clio.config.schema import Config
from clio.messages import UserMessage
from clio.providers.base import ChatRequest, Provider
from clio.providers.registry import make_provider
from clio.security.redaction.redactor import Redactor, StreamRedactor

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
REQUEST = ChatRequest(system="", messages=(UserMessage(content="go on"),))
PACES = {"at once": 0, "1,000 a second": 1_000}


def serve(kind: str, pace: int) -> None:
    """Answer one connection at a time. pace: events per second, 0 for as fast as possible."""
    text = make_samples()[kind]
    pieces = [text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS)]
    chunks = [_chunk({"content": piece}, None) for piece in pieces] + [_chunk({}, "stop")]
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        while True:
            connection, _ = server.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while _read_request(connection):
                    connection.sendall(HEAD)
                    if pace:
                        _send_at_pace(connection, chunks, pace)
                    else:
                        connection.sendall(b"".join(chunks))
                    connection.sendall(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")


def _send_at_pace(connection: socket.socket, chunks: list[bytes], pace: int) -> None:
    started = time.perf_counter()
    for number, part in enumerate(chunks):
        time.sleep(max(0.0, started + number / pace - time.perf_counter()))
        connection.sendall(part)


def _read_request(connection: socket.socket) -> bool:
    received = b""
    while b"\r\n\r\n" not in received:
        data = connection.recv(65_536)
        if not data:
            return False
        received += data
    head, _, body = received.partition(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        body += connection.recv(65_536)
    return True


def _chunk(delta: dict[str, str], reason: str | None) -> bytes:
    event = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "some-model",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
    }
    data = b"data: " + json.dumps(event).encode() + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(data), data)


class TimedStream:
    """A stream redactor that measures its own time in seconds."""

    def __init__(self, stream: StreamRedactor) -> None:
        self._stream = stream
        self.seconds = 0.0
        self.pieces = 0

    def feed(self, text: str) -> str:
        """See `StreamRedactor`."""
        started = time.perf_counter()
        redacted = self._stream.feed(text)
        self.seconds += time.perf_counter() - started
        self.pieces += bool(text)
        return redacted

    def finish(self) -> str:
        """See `StreamRedactor`."""
        return self._stream.finish()


class TimedRedactor(Redactor):
    """A redactor that records its streams."""

    def __init__(self) -> None:
        super().__init__(env_secrets=ENVIRONMENT)
        self.streams: list[TimedStream] = []

    def stream(self) -> StreamRedactor:
        """See `Redactor`."""
        self.streams.append(TimedStream(super().stream()))
        return cast("StreamRedactor", self.streams[-1])


async def measure_answer(provider: Provider) -> tuple[float, float, int]:
    """Return the CPU time of one answer and the time of redaction in milliseconds, and the number of pieces."""
    redactor = TimedRedactor()
    started = time.process_time()
    await receive_answer(provider, REQUEST, ModelAnswer(), AnswerDisplay(lambda _: None), redactor)
    total = time.process_time() - started
    return (
        total * 1_000,
        sum(each.seconds for each in redactor.streams) * 1_000,
        sum(s.pieces for s in redactor.streams),
    )


async def measure(port: int, runs: int) -> str:
    """Return one row: the best of the runs."""
    config = Config(base_url=f"http://127.0.0.1:{port}/v1", model="some-model")
    provider = make_provider(config, {"OPENAI_API_KEY": "sk-x"})
    await measure_answer(provider)
    rows = [await measure_answer(provider) for _ in range(runs)]
    await provider.close()
    total, seconds, pieces = (min(row[column] for row in rows) for column in range(3))
    return f"{total:7.1f} ms in total, redaction {seconds:5.1f} ms ({seconds / total:.0%}), {pieces:,.0f} pieces"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--serve", nargs=2)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve[0], int(arguments.serve[1]))
        return
    for pace, events in PACES.items():
        for kind in make_samples():
            command = [sys.executable, "-m", "bench.answer", "--serve", kind, str(events)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as server:
                assert server.stdout is not None
                try:
                    runs = arguments.runs if not events else min(arguments.runs, 3)
                    row = asyncio.run(measure(int(server.stdout.readline()), runs))
                    print(f"{pace:<15} {kind:<13} {row}")
                finally:
                    server.terminate()


if __name__ == "__main__":
    main()
