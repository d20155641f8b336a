"""A run whose turns come as lines: `clio --input stream-json --output stream-json`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from clio.agent.events import EXIT_CODES, TurnFinished
from clio.app import App
from clio.entrypoints import garbage
from clio.entrypoints.report import InputRefused
from clio.entrypoints.stream_desk import StreamDesk
from clio.entrypoints.stream_input import Interrupt, Prompt, Reply, Said, Steer, image_bytes

WRONG_INPUT = 2


class StreamRun:
    """Takes the lines of one run: turns one after the other, everything else into the one that runs.

    run_turn: carries out one turn. refuse: tells the program of a line that means nothing here.
    """

    def __init__(
        self,
        app: App,
        desk: StreamDesk,
        run_turn: Callable[[str], Awaitable[TurnFinished]],
        refuse: Callable[[InputRefused], None],
    ) -> None:
        self._app = app
        self._desk = desk
        self._run_turn = run_turn
        self._tell = refuse
        self._waiting: asyncio.Queue[Prompt | None] = asyncio.Queue()
        self._running: asyncio.Task[TurnFinished] | None = None
        self._interrupted = False
        self._refused = 0

    async def run(self, first: str, said: AsyncIterator[Said]) -> int:
        """All turns until the input has ended and the last of them is over; the exit code of the last.

        first: the words of `-p`, "" for none.
        """
        if first:
            self._waiting.put_nowait(Prompt(text=first))
        listening = asyncio.create_task(self._listen(said))
        try:
            code = 0
            while prompt := await self._waiting.get():
                code = await self._turn(prompt)
                garbage.settle()
        finally:
            listening.cancel()
        return code or (WRONG_INPUT if self._refused else 0)

    def refuse(self, refused: InputRefused) -> None:
        """Tell of a line nobody understands, and remember it for the exit code."""
        self._refused += 1
        self._tell(refused)

    async def _listen(self, said: AsyncIterator[Said]) -> None:
        async for one in said:
            match one:
                case Prompt():
                    self._waiting.put_nowait(one)
                case Steer(text=text) if self._running is not None:
                    self._app.mailbox.put(text)
                case Steer(text=text):
                    self._waiting.put_nowait(Prompt(text=text))
                case Interrupt():
                    if self._running is not None:
                        self._interrupted = self._running.cancel()
                case Reply(id=id):
                    if not self._desk.answer(one):
                        self.refuse(InputRefused(line=0, error=f"no question waits for an answer to {id[:80]!r}"))
        self._waiting.put_nowait(None)
        self._desk.end()

    async def _turn(self, prompt: Prompt) -> int:
        numbers = [self._app.shelf.add_image(image_bytes(image)) for image in prompt.images]
        text = " ".join([prompt.text, *(f"@clipboard:{number}" for number in numbers)])
        self._interrupted = False
        self._running = asyncio.ensure_future(self._run_turn(text))
        try:
            code = (await self._running).exit_code
        except asyncio.CancelledError:
            if not self._interrupted:
                raise  # the whole run is to end, not this turn
            code = EXIT_CODES["interrupted"]
        finally:
            self._running = None
        for text in self._app.mailbox.take_all():  # said too late for the turn it was meant for
            self._waiting.put_nowait(Prompt(text=text))
        return code
