"""Fetches the encoding of a hosted model once, behind the conversation, so that later estimates begin exact."""

import asyncio
import sys
import time
from contextlib import suppress
from pathlib import Path

from clio.context.encodings import FOLDER_NAME, Encoding

CHILD = Path(__file__).with_name("fetch_child.py")
LIMIT_S = 10.0
FAILED_SUFFIX = ".failed"
"""Of the empty file beside the encoding's whose date tells when the last download failed."""
_RETRY_AFTER_S = 86_400.0
_START_DELAY_S = 1.0  # a run that is over by then starts no process


class BackgroundFetch:
    """One download in a child process. It begins after an answer, and is never waited for by a request.

    home: clio's own folder. limit_s: for the download. What cannot be fetched is tried again a day later.
    """

    def __init__(
        self, encoding: Encoding, home: Path, *, delay_s: float = _START_DELAY_S, limit_s: float = LIMIT_S
    ) -> None:
        self._encoding = encoding
        self._path = home / FOLDER_NAME / encoding.file_name
        self._failed = self._path.with_name(encoding.file_name + FAILED_SUFFIX)
        self._delay_s = delay_s
        self._limit_s = limit_s
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start unless that was done before; returns at once. Needs an event loop."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="fetch encoding")

    async def wait(self) -> None:
        """Until it is over, however it ended; at once where it was never begun."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def stop(self) -> None:
        """Give it up; its process ends with the next rounds of the event loop."""
        if self._task is not None:
            self._task.cancel()

    async def close(self) -> None:
        """Give it up, and wait for its end."""
        self.stop()
        await self.wait()

    def _has_failed_lately(self) -> bool:
        try:
            return 0 <= time.time() - self._failed.stat().st_mtime < _RETRY_AFTER_S
        except OSError:
            return False

    def _note_failure(self) -> None:
        with suppress(OSError):  # then the next clio tries again
            self._failed.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._failed.touch()

    async def _run(self) -> None:
        await asyncio.sleep(self._delay_s)
        if self._has_failed_lately():
            return
        encoding = self._encoding
        try:
            process = await asyncio.create_subprocess_exec(
                # By its file and with -P: `-m` would look for modules in the current folder, which is the project's.
                *(sys.executable, "-P", "-B", str(CHILD), encoding.url, encoding.sha256, str(self._path)),
                str(self._limit_s),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except OSError:
            return  # no process to be had: estimates stay what they are
        try:
            if await process.wait() == 0:
                self._failed.unlink(missing_ok=True)
            else:
                self._note_failure()
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):  # it ended just now
                    process.kill()
                await process.wait()
