"""One conversation under two keys: some agents copy all of it into a new file when it is resumed, under a new name.

What begins with the same words at the same moment is looked at message by message. The longer of the two stays.
"""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from clio.errors import ClioError
from clio.messages import AssistantMessage, Message, text_of
from clio.sessions.listing import list_sessions
from clio.sessions.store import SessionStore


def print_of(message: Message) -> bytes:
    """What two copies of a message have in common, whatever their ids."""
    calls = [call.id for call in message.tool_calls] if isinstance(message, AssistantMessage) else []
    told = (type(message).__name__, message.created, text_of(message)[:2_000], calls)
    return hashlib.sha256(msgspec.json.encode(told)).digest()[:12]


class Twins:
    """The imported sessions of a folder by how they begin."""

    def __init__(self, folder: Path) -> None:
        self._store = SessionStore(folder)
        self._by_opening: dict[str, set[str]] | None = None

    def holds(self, id: str, opening: str, prints: Iterable[bytes]) -> bool:
        """Whether another session that begins like this one has all of these messages."""
        wanted = set(prints)
        return any(wanted <= self._prints(other) for other in self._others(id, opening))

    def absorb(self, id: str, opening: str, prints: Iterable[bytes]) -> bool:
        """Delete the sessions this one has all messages of; whether there were any. One that is open stays."""
        wanted, gone = set(prints), False
        for other in self._others(id, opening):
            if self._prints(other) <= wanted:
                with suppress(ClioError, OSError):
                    self._store.delete(other)
                    self._known()[opening].discard(other)
                    gone = True
        self._known().setdefault(opening, set()).add(id)
        return gone

    def _others(self, id: str, opening: str) -> list[str]:
        return sorted(self._known().get(opening, set()) - {id}) if opening else []

    def _prints(self, id: str) -> set[bytes]:
        try:
            return {print_of(message) for message in self._store.read(id)}
        except (ClioError, OSError):
            return {b""}  # as none that is looked for

    def _known(self) -> dict[str, set[str]]:
        if self._by_opening is None:
            self._by_opening = {}
            for info in list_sessions(self._store.folder):
                if info.imported is not None and info.imported.opening:
                    self._by_opening.setdefault(info.imported.opening, set()).add(info.id)
        return self._by_opening
