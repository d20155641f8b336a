"""What an answer of 100 KB costs from the socket to the screen's events, and how much of it is redaction.

python -m bench.answer [--runs 9]

A server in a process of its own sends it over HTTP in events of 24 letters: as fast as it can, a thousand a second
(more than today's fastest models), each by itself. Redaction knows the values of 20 environment variables; what it
takes is measured around its calls, in the same runs. A process that sleeps between two events finds its caches cold:
then all of it costs ten times as much.
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

from bench.redaction import ENVIRONMENT, PIECE_CHARS, samples
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
    """Answer one connection at a time. pace: events a second; 0 for as fast as it goes."""
    text = samples()[kind]
    pieces = [text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS)]
    sent = [_chunk({"content": piece}, None) for piece in pieces] + [_chunk({}, "stop")]
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        while True:
            connection, _ = server.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while _asked(connection):
                    connection.sendall(HEAD)
                    if pace:
                        _paced(connection, sent, pace)
                    else:
                        connection.sendall(b"".join(sent))
                    connection.sendall(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")


def _paced(connection: socket.socket, sent: list[bytes], pace: int) -> None:
    begun = time.perf_counter()
    for number, part in enumerate(sent):
        time.sleep(max(0.0, begun + number / pace - time.perf_counter()))
        connection.sendall(part)


def _asked(connection: socket.socket) -> bool:
    got = b""
    while b"\r\n\r\n" not in got:
        more = connection.recv(65_536)
        if not more:
            return False
        got += more
    head, _, body = got.partition(b"\r\n\r\n")
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
    """A stream redactor that counts its own milliseconds of the processor."""

    def __init__(self, stream: StreamRedactor) -> None:
        self._stream = stream
        self.spent = 0.0
        self.pieces = 0

    def feed(self, text: str) -> str:
        """See `StreamRedactor`."""
        begun = time.perf_counter()
        found = self._stream.feed(text)
        self.spent += time.perf_counter() - begun
        self.pieces += bool(text)
        return found

    def finish(self) -> str:
        """See `StreamRedactor`."""
        return self._stream.finish()


class TimedRedactor(Redactor):
    """Keeps the streams it gave."""

    def __init__(self) -> None:
        super().__init__(env_secrets=ENVIRONMENT)
        self.streams: list[TimedStream] = []

    def stream(self) -> StreamRedactor:
        """See `Redactor`."""
        self.streams.append(TimedStream(super().stream()))
        return cast("StreamRedactor", self.streams[-1])


async def answered(provider: Provider) -> tuple[float, float, int]:
    """Milliseconds of the processor for one answer, those of redaction among them, and the pieces it was given."""
    redactor = TimedRedactor()
    begun = time.process_time()
    await receive_answer(provider, REQUEST, ModelAnswer(), AnswerDisplay(lambda _: None), redactor)
    whole = time.process_time() - begun
    return whole * 1_000, sum(each.spent for each in redactor.streams) * 1_000, sum(s.pieces for s in redactor.streams)


async def measure(port: int, runs: int) -> str:
    """One row: the best of the runs."""
    config = Config(base_url=f"http://127.0.0.1:{port}/v1", model="some-model")
    provider = make_provider(config, {"OPENAI_API_KEY": "sk-x"})
    await answered(provider)
    found = [await answered(provider) for _ in range(runs)]
    await provider.close()
    whole, spent, pieces = (min(row[column] for row in found) for column in range(3))
    return f"{whole:7.1f} ms in all, {spent:5.1f} of them redaction ({spent / whole:.0%}), in {pieces:,.0f} pieces"


def main() -> None:
    """Print the table."""
    reader = argparse.ArgumentParser()
    reader.add_argument("--runs", type=int, default=9)
    reader.add_argument("--serve", nargs=2)
    given = reader.parse_args()
    if given.serve:
        serve(given.serve[0], int(given.serve[1]))
        return
    for pace, events in PACES.items():
        for kind in samples():
            command = [sys.executable, "-m", "bench.answer", "--serve", kind, str(events)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as server:
                assert server.stdout is not None
                try:
                    runs = given.runs if not events else min(given.runs, 3)
                    row = asyncio.run(measure(int(server.stdout.readline()), runs))
                    print(f"{pace:<15} {kind:<13} {row}")
                finally:
                    server.terminate()


if __name__ == "__main__":
    main()
