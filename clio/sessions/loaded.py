"""A session as it was read."""

from msgspec import Struct

from clio.sessions.legacy_outputs import WholeOutput
from clio.sessions.state import SessionState


class Loaded(Struct, frozen=True, kw_only=True):
    """A session as its files tell it.

    journal: id of the journal to go on with; None where there is none, or it must not be added to.
    clean: how many of the first messages stand in the snapshot in clio's own form.
    foreign: the snapshot is not in clio's form and must be kept when it is rewritten.
    corrupt: the snapshot does not parse and must be set aside before anything replaces it.
    merged: the journal is in the snapshot already: clio died between writing one and deleting the other.
    damaged: the journal has lines nobody understands; it must be set aside, not deleted.
    outputs: whole outputs another program stored beside the session; the messages have their handles.
    """

    state: SessionState
    journal: str | None = None
    clean: int = 0
    foreign: bool = False
    corrupt: bool = False
    merged: bool = False
    damaged: bool = False
    outputs: tuple[WholeOutput, ...] = ()
    warnings: tuple[str, ...] = ()
