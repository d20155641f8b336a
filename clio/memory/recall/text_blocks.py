"""Where the texts of turns are kept: packed together by session, for what is said again packs small beside the first.

A text cannot be changed in its place; what is put instead stands behind, and the old one goes with its session.
"""

import zlib
from collections.abc import Iterable

from msgspec import Struct

from clio.memory.recall.database import Database

BLOCK_BYTES = {"text": 6_144, "output": 32_768}
"""How much goes into one block, by kind. A search unpacks a whole block for one text of it; outputs are read seldom."""


class Ref(Struct, frozen=True):
    """Where a text stands: in which block, from which byte on, how many bytes."""

    block: int = 0
    start: int = 0
    size: int = 0


NOTHING = Ref()
"""Where the empty text stands."""


class TextBlocks:
    """The texts of the index. Blocks once unpacked are kept: use one for one change or one search."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._unpacked: dict[int, bytes] = {}

    def append(self, session: int, kind: str, texts: Iterable[str]) -> list[Ref]:
        """Put texts behind those of a session, of kind "text" or "output"; where each stands then."""
        last = self._database.rows(
            "SELECT id FROM blocks WHERE session = ? AND kind = ? ORDER BY id DESC LIMIT 1", (session, kind)
        )
        block = int(str(last[0][0])) if last else self._next()
        data = bytearray(self._block(block)) if last else bytearray()
        written, refs = len(data), list[Ref]()
        for text in texts:
            encoded = text.encode("utf-8")
            if encoded and len(data) >= BLOCK_BYTES[kind]:
                self._save(block, session, kind, data, written)
                data, written, block = bytearray(), 0, self._next()
            refs.append(Ref(block, len(data), len(encoded)) if encoded else NOTHING)
            data += encoded
        self._save(block, session, kind, data, written)
        return refs

    def text(self, ref: Ref) -> str:
        """The text that stands there."""
        if not ref.size:
            return ""
        return self._block(ref.block)[ref.start : ref.start + ref.size].decode("utf-8")

    def remove(self, session: int) -> None:
        """Take all texts of a session out."""
        self._database.run("DELETE FROM blocks WHERE session = ?", (session,))

    def _block(self, block: int) -> bytes:
        if block not in self._unpacked:
            ((data,),) = self._database.rows("SELECT data FROM blocks WHERE id = ?", (block,))
            self._unpacked[block] = zlib.decompress(data) if isinstance(data, bytes) else b""
        return self._unpacked[block]

    def _next(self) -> int:
        ((last,),) = self._database.rows("SELECT max(id) FROM blocks")
        return int(str(last or 0)) + 1

    def _save(self, block: int, session: int, kind: str, data: bytearray, written: int) -> None:
        if len(data) > written:
            self._unpacked[block] = bytes(data)
            self._database.run(
                "INSERT OR REPLACE INTO blocks (id, session, kind, data) VALUES (?, ?, ?, ?)",
                (block, session, kind, zlib.compress(data)),
            )
