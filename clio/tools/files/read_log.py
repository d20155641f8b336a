"""What the model knows of the files: the hash of each as last read or written, and which message shows which lines."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from clio.sessions.session import Session


class ReadLog:
    """Remembers, per absolute path with links resolved, what the model last saw; lives as long as the session runs."""

    def __init__(self) -> None:
        self._seen: dict[Path, bytes] = {}
        self._shown: dict[Path, dict[int, tuple[int, str]]] = {}

    def saw(self, path: Path, data: bytes) -> None:
        """The model has now read or written exactly these bytes."""
        self._seen[path] = _fingerprint(data)

    def known(self, path: Path) -> bool:
        """Whether the model has ever seen the file."""
        return path in self._seen

    def changed_since(self, path: Path, data: bytes) -> bool:
        """Whether the file was seen and these bytes are not what was seen. A file never seen has not changed."""
        seen = self._seen.get(path)
        return seen is not None and seen != _fingerprint(data)

    def forget(self, path: Path) -> None:
        """The file is gone, deleted or moved away."""
        self._seen.pop(path, None)
        self._shown.pop(path, None)

    def showed(self, path: Path, first: int, lines: Sequence[str], message_id: str) -> None:
        """A message shows these lines whole, the first of which is line `first` of the file."""
        shown = self._shown.setdefault(path, {})
        shown.update((number, (hash(line), message_id)) for number, line in enumerate(lines, first))

    def messages_showing(self, path: Path, first: int, lines: Sequence[str]) -> frozenset[str]:
        """The ids of the messages that show these very lines under these numbers; empty where not all were shown."""
        shown = self._shown.get(path, {})
        found = [shown.get(number, (None, "")) for number in range(first, first + len(lines))]
        if any(known != hash(line) for (known, _), line in zip(found, lines, strict=True)):
            return frozenset()
        return frozenset(message_id for _, message_id in found)


def are_whole_in_window(session: Session, message_ids: frozenset[str]) -> bool:
    """Whether the next request holds all these messages, none of them shortened by a trim."""
    return message_ids <= set(session.stm) and not any(message_ids & trim.shrunk.keys() for trim in session.trims)


def _fingerprint(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
