"""Where a project and a person keep what is for agents: skills, commands, sub-agents. The first place counts."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct


class Place(Struct, frozen=True, kw_only=True):
    """A folder of such files. root: what a project's must lie in, links resolved; None for the person's own."""

    folder: Path
    root: Path | None = None


def places_of(names: Sequence[str], *, project: Path, home: Path, person: Path) -> tuple[Place, ...]:
    """The project's folders of these names, then the person's.

    names: below the project, in their order, the first in `.clio`; below the home folder `person` likewise, with
    clio's own folder, `home`, in the place of `.clio`.
    """
    root = project.resolve()
    own = (home / Path(names[0]).name, *(person / name for name in names[1:]))
    places = [*(Place(folder=project / name, root=root) for name in names), *(Place(folder=one) for one in own)]
    found: dict[Path, Place] = {}
    for place in places:
        if place.root is None or place.folder not in own:  # in the home folder both are one: the person's
            found.setdefault(place.folder, place)
    return tuple(found.values())
