"""Tokenizer files of OpenAI's models ("encodings"): find them on disk, count tokens with one, download a missing one.

The counts calibrate `TokenEstimator` before the first request. Both the count and the download run in a child process,
so that neither loads tiktoken into clio nor delays a request.
"""

import asyncio
import hashlib
import os
import sys
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
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


class _BackgroundTask:
    """A task that is started at most once. delay_s: how long it waits, so that a short run starts no process."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start it, unless it has started before or is not needed. Returns at once; needs an event loop."""
        if self._task is None and self._is_needed():
            self._task = asyncio.create_task(self._run_later(), name=type(self).__name__)

    async def wait(self) -> None:
        """Wait until it has ended, however it ended; return at once if it was never started."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def stop(self) -> None:
        """Cancel it; its process ends within the next iterations of the event loop."""
        if self._task is not None:
            self._task.cancel()

    async def close(self) -> None:
        """Cancel it and wait for its end."""
        self.stop()
        await self.wait()

    async def _run_later(self) -> None:
        await asyncio.sleep(self._delay_s)
        if self._is_needed():
            await self._run()

    def _is_needed(self) -> bool:
        raise NotImplementedError

    async def _run(self) -> None:
        raise NotImplementedError


@asynccontextmanager
async def _start_child(*arguments: str, pipe: int) -> AsyncGenerator[asyncio.subprocess.Process | None]:
    """Start a child process, which is killed at the end if it still runs; None if no process can be started.

    pipe: what its standard input and output are.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            # By path and with -P: `-m` would search the current directory for modules, which is the project's.
            *(sys.executable, "-P", "-B", str(CHILD_SCRIPT), *arguments),
            stdin=pipe,
            stdout=pipe,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        yield None
        return
    try:
        yield process
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):  # it has just ended
                process.kill()
            await process.wait()


class Calibration(_BackgroundTask):
    """Counts the tokens of some texts in the background, and sets an estimator's ratio of tokens to text.

    It is not needed once a server has reported a token count.

    Args:
        path: file of the encoding; nothing is counted if its hash is wrong.
    """

    def __init__(
        self, estimator: TokenEstimator, texts: Sequence[str], encoding: Encoding, path: Path, *,
        delay_s: float = _COUNT_DELAY_S,
    ) -> None:  # fmt: skip
        super().__init__(delay_s)
        self._estimator = estimator
        self._texts = texts
        self._encoding = encoding
        self._path = path

    def _is_needed(self) -> bool:
        return not self._estimator.has_learned

    async def _run(self) -> None:
        token_count = await count_tokens("\n".join(self._texts), self._encoding, self._path)
        if token_count is not None:
            self._estimator.set_initial_ratio(sum(map(text_units, self._texts)), token_count)


async def count_tokens(text: str, encoding: Encoding, path: Path) -> int | None:
    """Return the number of tokens of a text; None on failure. Takes about half a second in a child process."""
    async with _start_child("count", str(path), encoding.sha256, encoding.name, pipe=asyncio.subprocess.PIPE) as child:
        if child is None:
            return None
        try:
            async with asyncio.timeout(_COUNT_TIME_LIMIT_S):
                output, _ = await child.communicate(text.encode("utf-8", "replace"))
        except TimeoutError:
            return None
    return int(output) if child.returncode == 0 else None


DOWNLOAD_TIME_LIMIT_S = 10.0
"""Time limit of a download."""
FAILED_SUFFIX = ".failed"
"""Suffix of an empty file beside the encoding; its modification time is the time of the last failed download."""
_RETRY_AFTER_S = 86_400.0
_FETCH_DELAY_S = 1.0  # so that a run of clio that ends sooner starts no process


class BackgroundFetch(_BackgroundTask):
    """Downloads an encoding in a child process. No request waits for it. After a failure it does nothing for a day.

    Args:
        home: clio's own directory.
        limit_s: time limit of the download.
    """

    def __init__(
        self, encoding: Encoding, home: Path, *, delay_s: float = _FETCH_DELAY_S, limit_s: float = DOWNLOAD_TIME_LIMIT_S
    ) -> None:
        super().__init__(delay_s)
        self._encoding = encoding
        self._path = home / FOLDER_NAME / encoding.file_name
        self._failure_marker = self._path.with_name(encoding.file_name + FAILED_SUFFIX)
        self._limit_s = limit_s

    def _is_needed(self) -> bool:
        try:
            return not 0 <= time.time() - self._failure_marker.stat().st_mtime < _RETRY_AFTER_S
        except OSError:
            return True

    async def _run(self) -> None:
        encoding = self._encoding
        arguments = ("fetch", encoding.url, encoding.sha256, str(self._path), str(self._limit_s))
        async with _start_child(*arguments, pipe=asyncio.subprocess.DEVNULL) as child:
            if child is not None and await child.wait() == 0:
                self._failure_marker.unlink(missing_ok=True)
            elif child is not None:
                with suppress(OSError):  # then the next run tries again
                    self._failure_marker.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    self._failure_marker.touch()
