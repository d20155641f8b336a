"""Compare the three protocols: the CPU time of decoding an event, and of one question in a new process.

    python bench/protocols.py [ROUNDS]

Fails if an event takes more than 15 µs, or a question with Responses or Messages more than 1.05 times one with chat.
The server is on this machine and answers at once; CPU time is that of the clio process alone.
"""

import json
import os
import statistics
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from clio.providers.chat import ChatDecoder
from clio.providers.http1 import EventStream
from clio.providers.messages import MessagesDecoder
from clio.providers.responses import ResponsesDecoder

ROOT = Path(__file__).resolve().parent.parent
PIECES = 400
MAX_EVENT_US, MAX_RATIO = 15.0, 1.05
PATHS = {"chat": "/chat/completions", "responses": "/responses", "messages": "/messages"}
DECODERS: dict[str, Any] = {"chat": ChatDecoder, "responses": ResponsesDecoder, "messages": MessagesDecoder}


def make_stream(protocol: str, pieces: int = PIECES) -> bytes:
    """Return an answer of `pieces` pieces of text, as a server of this protocol sends it."""
    deltas = [f" word{number}" for number in range(pieces)]
    rows: list[dict[str, Any]]
    if protocol == "chat":
        head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        rows = [
            head | {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in deltas
        ]
        rows += [head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
        rows += [head | {"choices": [], "usage": {"prompt_tokens": 9_000, "completion_tokens": pieces}}]
        return b"".join(b"data: " + json.dumps(row).encode() + b"\n\n" for row in rows) + b"data: [DONE]\n\n"
    if protocol == "responses":
        at = {"item_id": "msg_1", "output_index": 0, "content_index": 0, "logprobs": []}
        part = {"type": "output_text", "text": "".join(deltas), "annotations": [], "logprobs": []}
        item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        usage = {"input_tokens": 9_000, "output_tokens": pieces, "total_tokens": 9_000 + pieces}
        done = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage}
        rows = [
            {"type": "response.created", "response": {"status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 0, "item": item | {"content": []}},
            *({"type": "response.output_text.delta", "delta": piece, **at} for piece in deltas),
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": done},
        ]
    else:
        delta = {"type": "content_block_delta", "index": 0}
        usage = {"input_tokens": 9_000, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
        rows = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *(delta | {"delta": {"type": "text_delta", "text": piece}} for piece in deltas),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": pieces}},
            {"type": "message_stop"},
        ]
    return b"".join(b"event: %b\ndata: %b\n\n" % (row["type"].encode(), json.dumps(row).encode()) for row in rows)


def measure_event_us(protocol: str) -> float:
    """Return the CPU time from the bytes of an event to its chunk in µs, the best of five runs."""
    body = make_stream(protocol, 20_000)
    best = float("inf")
    for _ in range(5):
        started = time.process_time()
        decoder, count = DECODERS[protocol](), 0
        for data in EventStream().feed(body):
            if not data.startswith(b"[DONE]"):
                decoder.take(json.loads(data))
                count += 1
        best = min(best, (time.process_time() - started) / count)
    return best * 1e6


STREAMS = {path: make_stream(protocol) for protocol, path in PATHS.items()}


class Server(BaseHTTPRequestHandler):
    """Answers each protocol with its stream."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = next(stream for path, stream in STREAMS.items() if self.path.endswith(path))
        self._send(body, "text/event-stream")

    def do_GET(self) -> None:
        self._send(json.dumps({"object": "list", "data": [{"id": "m"}]}).encode(), "application/json")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        return


def measure_question_s(protocol: str, url: str, folder: str) -> float:
    """Return the CPU seconds of one `clio -p` with a protocol."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("CLIO_", "OPENAI_"))}
    env |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k", "CLIO_MODEL": "m", "CLIO_API": protocol}
    env |= {"CLIO_HOME": f"{folder}/home", "PYTHONPATH": str(ROOT)}
    with Path(os.devnull).open("w", encoding="utf-8") as sink:
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "clio", "-p", "hi", "--cwd", folder],
            env,
            file_actions=[(os.POSIX_SPAWN_DUP2, sink.fileno(), 1), (os.POSIX_SPAWN_DUP2, sink.fileno(), 2)],
        )
        _, status, usage = os.wait4(pid, 0)
    assert status == 0, f"a question over {protocol} failed"
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    """Measure and print. Return 1 if a limit is exceeded."""
    rounds = int(sys.argv[1]) if sys.argv[1:] else 15
    event_us_by_protocol = {protocol: measure_event_us(protocol) for protocol in PATHS}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    seconds: dict[str, list[float]] = {protocol: [] for protocol in PATHS}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):
            for protocol in PATHS:
                cpu_s = measure_question_s(protocol, f"http://127.0.0.1:{server.server_port}/v1", folder)
                if number:  # the first round warms up the caches
                    seconds[protocol].append(cpu_s)
    server.shutdown()
    chat = statistics.median(seconds["chat"])
    ok = True
    for protocol in PATHS:
        median_s = statistics.median(seconds[protocol])
        ok = ok and event_us_by_protocol[protocol] <= MAX_EVENT_US and median_s <= MAX_RATIO * chat
        question = f"{median_s * 1e3:6.1f} ms per question   {median_s / chat:5.3f} x chat"
        print(f"{protocol:<10} {event_us_by_protocol[protocol]:5.1f} us per event   {question}")
    print("within the limits" if ok else "limits exceeded")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
