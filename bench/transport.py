"""What a request and an event cost over clio's own client and over the openai package, the server's part included.

python bench/transport.py [lean|openai]
"""

import asyncio
import resource
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from clio.providers.lean_transport import LeanTransport, Transport
from clio.providers.openai_transport import OpenAITransport
from tests.support.byte_server import GONE, SSE, ByteServer, chunk

EVENT = (
    b'data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"hello wor"},"finish_reason":null}]}\n\n'
)
END = chunk(b"data: [DONE]\n\n") + chunk(b"")
EVENTS, REQUESTS = 20_000, 1_000


async def stream(transport: Transport, most: int = EVENTS) -> None:
    """One answer, or its first events."""
    seen = 0
    async with aclosing(transport.events("/chat/completions", b"{}", lambda: False)) as events:
        async for together in events:
            seen += len(together)
            if seen >= most:
                break


async def measure(kind: str) -> None:
    """Print one row."""
    script = [[SSE + chunk(EVENT) * EVENTS + END]] * 6 + [[SSE + chunk(EVENT) * 3 + END]] * REQUESTS
    async with ByteServer([*script, *[[SSE + chunk(EVENT) * 3, GONE]] * REQUESTS]) as server:
        transport: Transport = (LeanTransport if kind == "lean" else OpenAITransport)(server.url, "key")
        await stream(transport)
        begun = time.process_time()
        for _ in range(5):
            await stream(transport)
        event_us = (time.process_time() - begun) / 5 / EVENTS * 1e6
        begun = time.process_time()
        for _ in range(REQUESTS):
            await stream(transport)
        request_ms = (time.process_time() - begun) / REQUESTS * 1e3
        for _ in range(REQUESTS):  # each broken off by the client
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
