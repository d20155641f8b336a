"""Gives an estimator its start from a real tokeniser, where one lies on the disk and no bill has taught it yet."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from clio.context.builder import Prefix
from clio.context.encodings import Encoding
from clio.tokens import TokenEstimator, text_units

CHILD = Path(__file__).with_name("calibrate_child.py")
_START_DELAY_S = 0.2  # a run that is over by then starts no process
_TIME_LIMIT_S = 30.0


def prefix_texts(prefix: Prefix) -> list[str]:
    """What stands before the conversation in every request, as texts to be weighed and counted."""
    tools = (f"{spec.name}\n{spec.description}\n{bytes(spec.parameters).decode('utf-8')}" for spec in prefix.tools)
    return [prefix.system, *tools]


class Calibration:
    """One count in the background, for one estimator.

    path: the encoding's file; where it is not what its hash demands, nothing is counted.
    """

    def __init__(
        self, estimator: TokenEstimator, texts: Sequence[str], encoding: Encoding, path: Path, *,
        delay_s: float = _START_DELAY_S,
    ) -> None:  # fmt: skip
        self._estimator = estimator
        self._texts = texts
        self._encoding = encoding
        self._path = path
        self._delay_s = delay_s
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start counting unless that was done before or a bill has spoken; returns at once. Needs an event loop."""
        if self._task is None and not self._estimator.is_taught:
            self._task = asyncio.create_task(self._run(), name="calibrate")

    async def wait(self) -> None:
        """Until the count is over, however it ended; at once where it was never begun."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def stop(self) -> None:
        """Let go of a count that still runs; its process ends with the next rounds of the event loop."""
        if self._task is not None:
            self._task.cancel()

    async def close(self) -> None:
        """Stop a count that still runs, and wait for its end."""
        self.stop()
        await self.wait()

    async def _run(self) -> None:
        await asyncio.sleep(self._delay_s)
        if self._estimator.is_taught:
            return
        counted = await count_tokens("\n".join(self._texts), self._encoding, self._path)
        if counted is not None:
            self._estimator.start_from(sum(map(text_units, self._texts)), counted)


async def count_tokens(text: str, encoding: Encoding, path: Path) -> int | None:
    """Tokens of a text, counted in a child process; None where that cannot be done. Takes about half a second."""
    try:
        process = await asyncio.create_subprocess_exec(
            # By its file and with -P: `-m` would look for modules in the current folder, which is the project's.
            *(sys.executable, "-P", "-B", str(CHILD), str(path), encoding.sha256, encoding.name),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return None  # no process to be had: the estimate stays what it was
    try:
        async with asyncio.timeout(_TIME_LIMIT_S):
            output, _ = await process.communicate(text.encode("utf-8", "replace"))
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):  # it ended just now
                process.kill()
            await process.wait()
    return int(output) if process.returncode == 0 else None
