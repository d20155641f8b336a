"""The check of `clio doctor` on the token encodings, and the download of a missing one."""

import hashlib
import http.client
import queue
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from clio import __version__
from clio.config.paths import display_path, user_home
from clio.context.encodings import (
    ENCODINGS,
    FOLDER_NAME,
    O200K,
    Encoding,
    find_encoding,
    is_intact,
    list_encoding_folders,
)
from clio.entrypoints.doctor.findings import DoctorContext, Finding, make_note, make_ok, make_problem
from clio.errors import ServerFailed
from clio.storage.files import make_folder, write_atomic
from clio.text.translation import mark, tr
from clio.threads import start_daemon_thread

_FETCH = mark("clio doctor --fetch-encodings")


def check_encodings(context: DoctorContext) -> Iterator[Finding]:
    """Which token encodings are on disk. Changes nothing."""
    return _check_encoding_files(context.home, context.env, {})


def fetch_encodings(context: DoctorContext) -> Iterator[Finding]:
    """Check the encodings after downloading the one clio needs, if it is missing."""
    folders = list_encoding_folders(context.env, context.home)
    path = find_encoding(O200K, folders)
    if path is not None and _is_readable_and_intact(path, O200K):
        return _check_encoding_files(context.home, context.env, {})
    try:
        fetched = fetch_encoding(O200K, context.home)
    except (ServerFailed, OSError) as error:
        wrong, _, todo = str(error).partition("; ")
        return iter([make_problem("encodings", wrong, todo or tr("try again: {fetch}", fetch=_FETCH))])
    return _check_encoding_files(context.home, context.env, {O200K.name: fetched})


def _check_encoding_files(home: Path, env: Mapping[str, str], fetched: Mapping[str, Path]) -> Iterator[Finding]:
    folders = list_encoding_folders(env, home)
    on_disk = {encoding: path for encoding in ENCODINGS if (path := find_encoding(encoding, folders))}
    intact = {
        encoding.name: path for encoding, path in on_disk.items() if _is_readable_and_intact(path, encoding)
    } | dict(fetched)
    for encoding, path in on_disk.items():
        if encoding.name not in intact:
            yield make_note(
                "encodings",
                tr("{path!r} is damaged or unreadable and not used", path=str(path)),
                tr("remove it, or: {fetch}", fetch=_FETCH),
            )
    if intact:
        shown = (
            tr("{name} in {path}", name=name, path=display_path(path.parent, project=None, user_home=user_home(env)))
            for name, path in intact.items()
        )
        yield make_ok("encodings", ", ".join(shown))
    elif not on_disk:
        yield make_note(
            "encodings",
            tr("none on disk, so tokens are estimated and learned from the servers' usage figures"),
            tr("for exact counts: {fetch}", fetch=_FETCH),
        )


def _is_readable_and_intact(path: Path, encoding: Encoding) -> bool:
    try:
        return is_intact(path, encoding)
    except OSError:
        return False


DOWNLOAD_SILENCE_S = 10.0
DOWNLOAD_LIMIT_S = 60.0
MAX_DOWNLOAD_BYTES = 20_000_000


def fetch_encoding(
    encoding: Encoding, home: Path, *, silence_s: float = DOWNLOAD_SILENCE_S, limit_s: float = DOWNLOAD_LIMIT_S
) -> Path:
    """Download an encoding into clio's own directory and return its path.

    Args:
        silence_s: time limit for connecting and between two chunks.
        limit_s: time limit for everything, including the name lookup.

    Raises:
        ServerFailed: the file cannot be downloaded completely, or its hash is wrong.
        OSError: it cannot be written.
    """
    answers: queue.SimpleQueue[bytes | Exception] = queue.SimpleQueue()
    # A daemon thread: a name lookup cannot be interrupted and must not keep the process from exiting.
    start_daemon_thread(lambda: _download(encoding.url, silence_s, answers), "download-encoding")
    try:
        answer = answers.get(timeout=limit_s)
    except queue.Empty:
        answer = TimeoutError(tr("it took more than {limit_s:.0f} s", limit_s=limit_s))
    if isinstance(answer, Exception):
        raise ServerFailed(
            tr(
                "{encoding} could not be fetched from {url}: {download_error}; try again when that "
                "address can be reached, or set HTTPS_PROXY",
                encoding=encoding.name,
                url=encoding.url,
                download_error=_describe_download_error(answer),
            ),
            retryable=False,
        ) from answer
    if hashlib.sha256(answer).hexdigest() != encoding.sha256:
        raise ServerFailed(
            tr(
                "the file from {url} is not {encoding}: its hash does not match; it was discarded, try again "
                "from another network",
                url=encoding.url,
                encoding=encoding.name,
            ),
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
            answers.put(response.read(MAX_DOWNLOAD_BYTES))
    except (OSError, http.client.HTTPException, ValueError) as error:
        answers.put(error)


def _describe_download_error(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return tr("the server answered {code}", code=error.code)
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return (reason.strerror if isinstance(reason, OSError) else "") or str(reason) or type(reason).__name__
