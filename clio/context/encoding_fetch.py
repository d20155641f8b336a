"""Fetches an encoding's file when a person asks for it; nothing else in clio ever does."""

import hashlib
import http.client
import queue
import threading
import urllib.error
import urllib.request
from pathlib import Path

from clio import __version__
from clio.context.encodings import FOLDER_NAME, Encoding
from clio.errors import ServerFailed
from clio.storage.files import make_folder, write_atomic

SILENCE_LIMIT_S = 10.0
TIME_LIMIT_S = 60.0
MAX_BYTES = 20_000_000


def fetch_encoding(
    encoding: Encoding, home: Path, *, silence_s: float = SILENCE_LIMIT_S, limit_s: float = TIME_LIMIT_S
) -> Path:
    """Download an encoding into clio's own folder, and give its path.

    silence_s: for the connection and between two pieces. limit_s: for everything, looking up the name included.
    Raises ServerFailed where it cannot be had whole and unchanged; OSError where it cannot be written.
    """
    answers: queue.SimpleQueue[bytes | Exception] = queue.SimpleQueue()
    # A daemon: nothing can interrupt the looking up of a name, and it must not keep clio from leaving.
    threading.Thread(target=_download, args=(encoding.url, silence_s, answers), daemon=True).start()
    try:
        answer = answers.get(timeout=limit_s)
    except queue.Empty:
        answer = TimeoutError(f"it took more than {limit_s:.0f} s")
    if isinstance(answer, Exception):
        raise ServerFailed(
            f"{encoding.name} could not be fetched from {encoding.url}: {_cause(answer)}; try again when that address "
            "can be reached, or set HTTPS_PROXY",
            retryable=False,
        ) from answer
    if hashlib.sha256(answer).hexdigest() != encoding.sha256:
        raise ServerFailed(
            f"what {encoding.url} sent is not {encoding.name}: its hash is another one; nothing was kept, try again "
            "from another network",
            retryable=False,
        )
    path = home / FOLDER_NAME / encoding.file_name
    make_folder(path.parent)
    write_atomic(path, answer)
    return path


def _download(url: str, silence_s: float, answers: "queue.SimpleQueue[bytes | Exception]") -> None:
    request = urllib.request.Request(url, headers={"User-Agent": f"clio/{__version__}"})
    try:
        with urllib.request.urlopen(request, timeout=silence_s) as response:
            answers.put(response.read(MAX_BYTES))
    except (OSError, http.client.HTTPException, ValueError) as error:
        answers.put(error)


def _cause(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answered {error.code}"
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return (reason.strerror if isinstance(reason, OSError) else "") or str(reason) or type(reason).__name__
