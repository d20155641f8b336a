"""Show an answer while it is written, and the tools that run, in a program with an event loop.

python docs/examples/stream_events.py path/to/project "what does this project do?"
"""

import asyncio
import sys

from clio import AsyncAgent, TextDelta, ToolStarted, Turn


async def main() -> None:
    """Run one turn and print its events."""
    async with AsyncAgent(sys.argv[1]) as agent:
        async for event in agent.stream(sys.argv[2]):
            match event:
                case TextDelta():
                    print(event.text, end="", flush=True)
                case ToolStarted():
                    print(f"\n[{event.title}]")
                case Turn():
                    print(f"\n{event.status}, {event.seconds:.1f} s")
                case _:
                    pass


asyncio.run(main())
