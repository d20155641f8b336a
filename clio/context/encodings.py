"""Tokenizer files of OpenAI's models ("encodings"): find them on disk, count tokens with one, download a missing one.

The counts calibrate `TokenEstimator` before the first request. Both the count and the download run in a child process,
so that neither loads tiktoken into clio nor delays a request.
"""

import asyncio
import hashlib
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from clio.context.request_builder import Prefix
from clio.providers.urls import url_host
from clio.tokens import TokenEstimator, text_units

FOLDER_NAME = "encodings"
_SERVER = "https://openaipublic.blob.core.windows.net/encodings"
_TEMP_FOLDERS = ("/tmp", "/var/tmp", "/usr/tmp") if os.name != "nt" else ()
_OLDER_MODELS = ("gpt-4-", "gpt-3.5", "text-embedding-3", "text-embedding-ada")


class Encoding(Struct, frozen=True, kw_only=True):
    """One tokenizer. sha256: hash of its file, from the source of tiktoken."""

    name: str
    url: str
    sha256: str

    @property
    def file_name(self) -> str:
        """Return the name tiktoken gives the file in its cache: the SHA-1 of the URL."""
        return hashlib.sha1(self.url.encode("utf-8"), usedforsecurity=False).hexdigest()


O200K = Encoding(
    name="o200k_base",
    url=f"{_SERVER}/o200k_base.tiktoken",
    sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
)
CL100K = Encoding(
    name="cl100k_base",
    url=f"{_SERVER}/cl100k_base.tiktoken",
    sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
)
ENCODINGS = (O200K, CL100K)


def get_encoding(model: str) -> Encoding:
    """Return the tokenizer for a model: its own if known, otherwise o200k_base as the closest guess."""
    name = model.rpartition("/")[2].lower()
    return CL100K if name == "gpt-4" or name.startswith(_OLDER_MODELS) else O200K


def is_hosted_openai(base_url: str) -> bool:
    """Whether OpenAI or Azure serves this address. Only for their models do these tokenizers count exactly."""
    host = url_host(base_url)
    return host == "api.openai.com" or host.endswith((".api.openai.com", ".openai.azure.com"))


def list_encoding_folders(env: Mapping[str, str], home: Path) -> Sequence[Path]:
    """Return the directories that may contain encodings: clio's own, then those tiktoken uses."""
    cache_folder = env.get("TIKTOKEN_CACHE_DIR") or env.get("DATA_GYM_CACHE_DIR")
    if cache_folder:
        return (home / FOLDER_NAME, Path(cache_folder))
    # Same order as tempfile.gettempdir, which would write a file to test the directory.
    temp_folders = (env.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    return (
        home / FOLDER_NAME,
        *(Path(folder, "data-gym-cache") for folder in (*temp_folders, *_TEMP_FOLDERS) if folder),
    )


def find_encoding(encoding: Encoding, folders: Sequence[Path]) -> Path | None:
    """Return the first file with the encoding's name, without reading it; None if there is none."""
    paths = (folder / encoding.file_name for folder in folders)
    return next((path for path in paths if _is_file(path)), None)


def is_intact(path: Path, encoding: Encoding) -> bool:
    """Whether the file has the encoding's hash. Reads the whole file (4 MB). Raises OSError."""
    return hashlib.sha256(path.read_bytes()).hexdigest() == encoding.sha256


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the directory is not readable, such as another user's cache in /tmp
        return False


CHILD_SCRIPT = Path(__file__).with_name("encoding_child.py")
"""Runs in the child processes that download an encoding or count tokens."""
_COUNT_DELAY_S = 0.2  # so that a run of clio that ends sooner starts no process
_COUNT_TIME_LIMIT_S = 30.0


def list_prefix_texts(prefix: Prefix) -> list[str]:
    """Return the texts that begin every request: the system prompt and the description of each tool."""
    tools = (f"{spec.name}\n{spec.description}\n{bytes(spec.parameters).decode('utf-8')}" for spec in prefix.tools)
    return [prefix.system, *tools]


class Calibration:
    """Counts the tokens of some texts in the background, and sets an estimator's ratio of tokens to text.

    Args:
        path: file of the encoding; nothing is counted if its hash is wrong.
    """

    def __init__(
        self, estimator: TokenEstimator, texts: Sequence[str], encoding: Encoding, path: Path, *,
        delay_s: float = _COUNT_DELAY_S,
    ) -> None:  # fmt: skip
        self._estimator = estimator
        self._texts = texts
        self._encoding = encoding
        self._path = path
        self._delay_s = delay_s
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start counting, unless it has started before or a server has already reported a token count.

        Returns at once; needs an event loop.
        """
        if self._task is None and not self._estimator.has_learned:
            self._task = asyncio.create_task(self._run(), name="calibrate")

    async def wait(self) -> None:
        """Wait until the count has ended, however it ended; return at once if it was never started."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def stop(self) -> None:
        """Cancel a running count; its process ends within the next iterations of the event loop."""
        if self._task is not None:
            self._task.cancel()

    async def close(self) -> None:
        """Cancel a running count and wait for its end."""
        self.stop()
        await self.wait()

    async def _run(self) -> None:
        await asyncio.sleep(self._delay_s)
        if self._estimator.has_learned:
            return
        token_count = await count_tokens("\n".join(self._texts), self._encoding, self._path)
        if token_count is not None:
            self._estimator.set_initial_ratio(sum(map(text_units, self._texts)), token_count)


async def count_tokens(text: str, encoding: Encoding, path: Path) -> int | None:
    """Return the number of tokens of a text; None on failure. Takes about half a second in a child process."""
    try:
        process = await asyncio.create_subprocess_exec(
            # By path and with -P: `-m` would search the current directory for modules, which is the project's.
            *(sys.executable, "-P", "-B", str(CHILD_SCRIPT), "count", str(path), encoding.sha256, encoding.name),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return None  # no process could be started: the estimate stays unchanged
    try:
        async with asyncio.timeout(_COUNT_TIME_LIMIT_S):
            output, _ = await process.communicate(text.encode("utf-8", "replace"))
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):  # it has just ended
                process.kill()
            await process.wait()
    return int(output) if process.returncode == 0 else None


DOWNLOAD_TIME_LIMIT_S = 10.0
"""Time limit of a download."""
FAILED_SUFFIX = ".failed"
"""Suffix of an empty file beside the encoding; its modification time is the time of the last failed download."""
_RETRY_AFTER_S = 86_400.0
_FETCH_DELAY_S = 1.0  # so that a run of clio that ends sooner starts no process


class BackgroundFetch:
    """Downloads an encoding in a child process. No request waits for it. After a failure it does nothing for a day.

    Args:
        home: clio's own directory.
        limit_s: time limit of the download.
    """

    def __init__(
        self, encoding: Encoding, home: Path, *, delay_s: float = _FETCH_DELAY_S, limit_s: float = DOWNLOAD_TIME_LIMIT_S
    ) -> None:
        self._encoding = encoding
        self._path = home / FOLDER_NAME / encoding.file_name
        self._failure_marker = self._path.with_name(encoding.file_name + FAILED_SUFFIX)
        self._delay_s = delay_s
        self._limit_s = limit_s
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start the download unless it has started before. Returns at once; needs an event loop."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="fetch encoding")

    async def wait(self) -> None:
        """Wait until it has ended, however it ended; return at once if it was never started."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def stop(self) -> None:
        """Cancel the download; its process ends within the next iterations of the event loop."""
        if self._task is not None:
            self._task.cancel()

    async def close(self) -> None:
        """Cancel the download and wait for its end."""
        self.stop()
        await self.wait()

    def _has_failed_recently(self) -> bool:
        try:
            return 0 <= time.time() - self._failure_marker.stat().st_mtime < _RETRY_AFTER_S
        except OSError:
            return False

    def _record_failure(self) -> None:
        with suppress(OSError):  # then the next run tries again
            self._failure_marker.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._failure_marker.touch()

    async def _run(self) -> None:
        await asyncio.sleep(self._delay_s)
        if self._has_failed_recently():
            return
        encoding = self._encoding
        try:
            process = await asyncio.create_subprocess_exec(
                # By path and with -P: `-m` would search the current directory for modules, which is the project's.
                *(
                    sys.executable,
                    "-P",
                    "-B",
                    str(CHILD_SCRIPT),
                    "fetch",
                    encoding.url,
                    encoding.sha256,
                    str(self._path),
                ),
                str(self._limit_s),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except OSError:
            return  # no process could be started: estimates stay unchanged
        try:
            if await process.wait() == 0:
                self._failure_marker.unlink(missing_ok=True)
            else:
                self._record_failure()
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):  # it has just ended
                    process.kill()
                await process.wait()
