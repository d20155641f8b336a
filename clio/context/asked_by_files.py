"""What files ask of agents, found for one loop, without secrets: for its prompt, and for the folders it comes to."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, structs

from clio.config.schema import Config
from clio.context.folder_instructions import FolderInstructions
from clio.context.instructions import find_instructions, instruction_fragments, left_out
from clio.fragments import Fragment
from clio.providers.base import Limits
from clio.tokens import TokenEstimator


class AskedByFiles(Struct, frozen=True, kw_only=True):
    """The files of one running clio, read anew for each loop; none where the setting `instructions` is off.

    start: the folder in the project where clio was started. home: clio's own folder. person: the user's home folder.
    clean: replaces secrets. links: the places outside of the project that its links may lead to.
    """

    project: Path
    start: Path
    home: Path
    person: Path
    clean: Callable[[str], str]
    links: tuple[Path, ...] = ()

    def for_prompt(self, config: Config, limits: Limits, estimator: TokenEstimator) -> tuple[list[Fragment], list[str]]:
        """What holds in the whole session, and sentences on what was left out."""
        if not config.instructions:
            return [], []
        found = find_instructions(self.project, home=self.home, person=self.person, start=self.start, links=self.links)
        fragments = instruction_fragments(found, limits.context_window, estimator.text)
        clean = [structs.replace(part, text=self.clean(part.text)) for part in fragments]
        return clean, [*found.problems, *left_out(found, fragments)]

    def for_folders(self, config: Config, limits: Limits, estimator: TokenEstimator) -> FolderInstructions | None:
        """What single folders ask, to be told when work reaches them; None where nothing of it is told."""
        if not config.instructions:
            return None
        return FolderInstructions(
            self.project,
            self.person,
            estimator,
            start=self.start,
            clean=self.clean,
            window_tokens=limits.context_window,
            links=self.links,
        )
