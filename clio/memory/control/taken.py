"""What taking in one part of a bundle did."""

from msgspec import Struct, structs

from clio.memory.control.bundle import Section
from clio.memory.typed.store import Scope


class Taken(Struct, frozen=True, kw_only=True):
    """How often what happened to one part; `what` is its name for people.

    new: was not here. changed: theirs is newer, and was taken. known: here already. kept: here it says otherwise,
    newer or by somebody trusted more, and stays. forgotten: was here once and was forgotten. unusable: no such thing.
    """

    section: Section
    scope: Scope
    what: str
    new: int = 0
    changed: int = 0
    known: int = 0
    kept: int = 0
    forgotten: int = 0
    unusable: int = 0

    @property
    def changes(self) -> int:
        """How many things here are other than before."""
        return self.new + self.changed

    def more(self, **counts: int) -> "Taken":
        """With these counts added."""
        return structs.replace(self, **{name: getattr(self, name) + number for name, number in counts.items()})
