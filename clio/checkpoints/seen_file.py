"""What was known of a workspace when it was last looked at, on disk: a cache, and where a killed clio stood."""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.checkpoints.scan import Seen
from clio.checkpoints.states import NOT_KEPT
from clio.ids import new_id
from clio.storage.files import make_folder, read_regular, write_atomic

SEEN_NAME = "seen.msgpack"
_VERSION = 1


class _Stored(Struct, kw_only=True):
    version: int
    id: str
    seen: Seen


class SeenFile:
    """The file of one workspace; whoever writes last wins, for it can be made anew. folder: None keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self.path = folder / SEEN_NAME if folder else None
        self._stored: _Stored | None = None

    def load(self) -> tuple[str, Seen]:
        """Its id and what was seen; an empty id where there is none that can be read."""
        stored = _read(self.path) if self.path else None
        if stored is None:
            return "", Seen()
        self._stored = stored
        return stored.id, stored.seen

    def vanished(self) -> bool:
        """Whether somebody deleted it since it was read or written, and with it perhaps copies it names; said once."""
        if self._stored is None or self.path is None or self.path.exists():
            return False
        self._stored = None
        return True

    def save(self, seen: Seen) -> str:
        """The id of the file that holds `seen`, which is written only where it differs. Raises OSError."""
        stored = self._stored
        if stored is None or stored.seen != seen:
            stored = self._stored = _Stored(version=_VERSION, id=new_id(), seen=seen)
            if self.path is not None:
                make_folder(self.path.parent)
                write_atomic(self.path, msgspec.msgpack.encode(stored), durable=False)
        return stored.id


def ids_seen(path: Path) -> Iterable[str]:
    """The objects that what was seen needs."""
    stored = _read(path)
    rows = stored.seen.rows.values() if stored else ()
    return (row.id for row in rows if row.id and not row.id.startswith(NOT_KEPT))


def _read(path: Path) -> _Stored | None:
    try:
        stored = msgspec.msgpack.decode(read_regular(path), type=_Stored)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None  # it is a cache
    return stored if stored.version == _VERSION else None
