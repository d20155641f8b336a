"""A change of one file, worked out to the byte and not yet made."""

from pathlib import Path

from msgspec import Struct

from clio.security.actions import FileChange

NEW_FILE_MODE = 0o666
"""Permissions of a new file, from which the user's umask takes its part."""


class PlannedChange(Struct, frozen=True, kw_only=True):
    """One change in bytes. `before` is None for a new file, `after` for a deleted one.

    mode: permission bits of the file as it is, or NEW_FILE_MODE.
    """

    change: FileChange
    before: bytes | None
    after: bytes | None
    mode: int

    @property
    def target(self) -> Path:
        """Where the file is afterwards, or was."""
        return self.change.moved_to or self.change.path
