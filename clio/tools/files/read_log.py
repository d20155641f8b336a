"""What the model knows of the files: the hash of each as it last read or wrote it."""

import hashlib
from pathlib import Path


class ReadLog:
    """Remembers, per absolute path with links resolved, what the model last saw; lives as long as the session runs."""

    def __init__(self) -> None:
        self._seen: dict[Path, bytes] = {}

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


def _fingerprint(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
