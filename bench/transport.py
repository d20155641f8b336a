"""Measure the CPU time of requests and events with clio's own HTTP client and with the openai package.

    python bench/transport.py [lean|openai]

The server runs in the same process and is included.
"""

import asyncio
import resource
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from clio.providers.auth import Auth
from clio.providers.lean_transport import LeanTransport, Transport
from clio.providers.openai_transport import OpenAITransport
from tests.support.byte_server import GONE, SSE, ByteServer, chunk

EVENT = (
    b'data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"hello wor"},"finish_reason":null}]}\n\n'
)
END = chunk(b"data: [DONE]\n\n") + chunk(b"")
EVENTS, REQUESTS = 20_000, 1_000


async def stream(transport: Transport, limit: int = EVENTS) -> None:
    """Read one answer, or its first `most` events."""
    count = 0
    async with aclosing(transport.events("/chat/completions", b"{}", lambda: False)) as events:
        async for batch in events:
            count += len(batch)
            if count >= limit:
                break


async def measure(kind: str) -> None:
    """Print one row."""
    script = [[SSE + chunk(EVENT) * EVENTS + END]] * 6 + [[SSE + chunk(EVENT) * 3 + END]] * REQUESTS
    async with ByteServer([*script, *[[SSE + chunk(EVENT) * 3, GONE]] * REQUESTS]) as server:
        transport: Transport = (LeanTransport if kind == "lean" else OpenAITransport)(server.url, Auth("key"))
        await stream(transport)
        started = time.process_time()
        for _ in range(5):
            await stream(transport)
        event_us = (time.process_time() - started) / 5 / EVENTS * 1e6
        started = time.process_time()
        for _ in range(REQUESTS):
            await stream(transport)
        request_ms = (time.process_time() - started) / REQUESTS * 1e3
        for _ in range(REQUESTS):  # each is cancelled by the client
            await stream(transport, 2)
        await transport.close()
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{kind:<8} {event_us:6.1f} us an event  {request_ms:6.2f} ms a request  {rss:5.0f} MiB at most")


if __name__ == "__main__":
    if sys.argv[1:]:
        asyncio.run(measure(sys.argv[1]))
    else:
        for name in ("lean", "openai"):
            subprocess.run([sys.executable, __file__, name], check=True)
