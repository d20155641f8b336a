"""What counts tokens exactly: which encodings are on disk and whole, and the one download clio knows."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from clio.config.paths import display, user_home
from clio.context.encoding_fetch import fetch_encoding
from clio.context.encodings import ENCODINGS, O200K, Encoding, encoding_folders, find_encoding, is_intact
from clio.entrypoints.doctor.finding import Finding, Ground, fix, note, ok
from clio.errors import ServerFailed

_FETCH = "clio doctor --fetch-encodings"


def check_encodings(ground: Ground) -> Iterator[Finding]:
    """Which there are. Changes nothing."""
    return _look(ground.home, ground.env, {})


def fetch_encodings(ground: Ground) -> Iterator[Finding]:
    """The same, after downloading the one clio needs where it is not there."""
    folders = encoding_folders(ground.env, ground.home)
    path = find_encoding(O200K, folders)
    if path is not None and _is_whole(path, O200K):
        return _look(ground.home, ground.env, {})
    try:
        fetched = fetch_encoding(O200K, ground.home)
    except (ServerFailed, OSError) as error:
        wrong, _, todo = str(error).partition("; ")
        return iter([fix("encodings", wrong, todo or f"try again: {_FETCH}")])
    return _look(ground.home, ground.env, {O200K.name: fetched})


def _look(home: Path, env: Mapping[str, str], fetched: Mapping[str, Path]) -> Iterator[Finding]:
    folders = encoding_folders(env, home)
    there = {encoding: path for encoding in ENCODINGS if (path := find_encoding(encoding, folders))}
    whole = {encoding.name: path for encoding, path in there.items() if _is_whole(path, encoding)} | dict(fetched)
    for encoding, path in there.items():
        if encoding.name not in whole:
            yield note(
                "encodings", f"{str(path)!r} is damaged or not readable, and not used", f"remove it, or: {_FETCH}"
            )
    if whole:
        shown = (f"{name} in {display(path.parent, project=None, user_home=user_home(env))}"
                 for name, path in whole.items())  # fmt: skip
        yield ok("encodings", ", ".join(shown))
    elif not there:
        yield note(
            "encodings",
            "none on disk, so tokens are guessed at first and learned from what is billed",
            f"to count them exactly: {_FETCH}",
        )


def _is_whole(path: Path, encoding: Encoding) -> bool:
    try:
        return is_intact(path, encoding)
    except OSError:
        return False
