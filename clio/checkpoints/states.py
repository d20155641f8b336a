"""What is kept of a file and of what was done to it."""

from typing import Literal

from msgspec import Struct

Kind = Literal["turn", "undo", "redo", "rewind"]
NOT_KEPT = "~"
"""Begins the id of bytes that were not kept; what follows only tells whether the file changed."""


class FileState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file as it was at one time.

    mode: permission bits. size: in bytes. id: SHA-256 of its bytes, as the object store knows them.
    link: for a symbolic link where it points to, in place of bytes.
    """

    mode: int = 0o644
    size: int = 0
    id: str = ""
    link: str | None = None

    @property
    def kept(self) -> bool:
        """Whether its bytes were kept."""
        return self.link is not None or not self.id.startswith(NOT_KEPT)


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One file before and after. None where there was none.

    path: relative to the workspace with forward slashes; absolute for a file outside of it.
    unsure: somebody else may have changed it too, since nobody looked in time.
    """

    path: str
    before: FileState | None = None
    after: FileState | None = None
    unsure: bool = False


class TurnRef(Struct, frozen=True, kw_only=True):
    """Which turn something belongs to: its session, and the message it began with."""

    session: str
    message: str


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the log: what a call, or a restoring, did to files.

    at: seconds since the epoch. session, message: the turn it belongs to; a restoring has no message.
    of: the messages whose turns were taken back; of a redo the id of the record it takes back.
    made, gone: folders that were made and removed, outermost first.
    scanned: the whole workspace was looked at; what is ignored there, and what was too large, was not.
    """

    id: str
    kind: Kind
    at: float
    session: str
    message: str = ""
    changes: tuple[Change, ...] = ()
    of: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    scanned: bool = False
