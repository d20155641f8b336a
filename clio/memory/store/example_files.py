"""Whether the files that a memory names as examples have changed since it was stored."""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from clio.memory.store.record import Freshness

MAX_FILE_BYTES = 2_000_000
MAX_FILES = 20
"""Of one memory; further examples get no hash."""
_LINES = re.compile(r"(.+?):\d+(?:[-:]\d+)?")
_HASH_CHARS = 32


class ExampleFiles:
    """The files of one project. A file is read again only if its size or modification time has changed."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._known: dict[tuple[str, int, int, int], str] = {}

    def hashes(self, examples: Iterable[str]) -> dict[str, str]:
        """Return a hash for each example that is a file of the project of at most 2 MB: half a SHA-256, in hexadecimal.

        Links that lead out of the project, folders, pipes and unreadable files have none.
        """
        root = self._project.resolve()
        found: dict[str, str] = {}
        for example in list(dict.fromkeys(examples))[:MAX_FILES]:
            path = _path(root, example)
            if path and (digest := self._hash(path)):
                found[example] = digest
        return found

    def freshness(self, bound: Iterable[Mapping[str, str]]) -> list[Freshness]:
        """Return for each mapping of examples to hashes whether the files have changed. Each file is read once."""
        root, now = self._project.resolve(), dict[str, str | None]()
        found: list[Freshness] = []
        for row in bound:
            for example in row:
                if example not in now:
                    path = _path(root, example)
                    now[example] = self._hash(path) if path else None
            found.append(_freshness([(now[example], digest) for example, digest in row.items()]))
        return found

    def _hash(self, path: Path) -> str:
        """Return the hash of a regular file; "" if it has none."""
        try:
            # A pipe that took the file's place between the look and the opening must not make clio wait.
            fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        except OSError:
            return ""
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_FILE_BYTES:
                return ""
            key = (str(path), info.st_ino, info.st_size, info.st_mtime_ns)
            if key not in self._known:
                with os.fdopen(os.dup(fd), "rb") as file:
                    self._known[key] = hashlib.sha256(file.read(MAX_FILE_BYTES)).hexdigest()[:_HASH_CHARS]
            return self._known[key]
        except OSError:
            return ""
        finally:
            os.close(fd)


def _freshness(pairs: Sequence[tuple[str | None, str]]) -> Freshness:
    """Return the state from pairs of present and stored hash; None is a missing file."""
    if not pairs:
        return "unbound"
    if all(now is None for now, _ in pairs):
        return "gone"
    return "fresh" if all(now == digest for now, digest in pairs) else "drifted"


def _path(root: Path, example: str) -> Path | None:
    """Return the file that an example names, also as `path:12` or `path:12-20`; None if there is none."""
    for name in (example, *(match[1] for match in [_LINES.fullmatch(example)] if match)):
        try:
            path = (root / name).resolve()
            if path.is_relative_to(root) and path.is_file():
                return path
        except (OSError, ValueError, RuntimeError):
            continue  # a name no file can have, a circle of links
    return None


def stored_hashes(raw: Mapping[str, Any]) -> dict[str, str]:
    """Return the hashes that an object of the file stores for its examples."""
    hashes, examples = raw.get("example_hashes"), raw.get("examples")
    if not isinstance(hashes, dict) or not isinstance(examples, list):
        return {}
    named = {item for item in cast(list[Any], examples) if isinstance(item, str)}
    pairs = cast(dict[str, Any], hashes).items()
    return {name: digest for name, digest in pairs if name in named and isinstance(digest, str)}
