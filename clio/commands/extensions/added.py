"""Commands that are not built in: a person's and a project's files, and what servers offer.

They are asked for when a line with a slash is typed, completed or carried out, never at the start. Each is an ordinary
`Command`; its handler usually answers with `MakePrompt`. A built-in command of the same name wins,
except over one the person wrote themselves where it yields, as /review does.
"""

from collections.abc import Callable, Sequence

from clio.commands.command import Command

CommandSource = Callable[[], Sequence[Command]]
"""The commands there are now. Called at every key of a slash line, from any thread: remembers what is costly."""


class AddedCommands:
    """What all sources give, those added first winning. The order of each source is kept."""

    def __init__(self, *sources: CommandSource, problems: Callable[[], Sequence[str]] = tuple) -> None:
        """problems: sentences on what was meant as a command and is none."""
        self._sources = sources
        self.problems = problems

    def all(self) -> tuple[Command, ...]:
        """Every command once."""
        found: dict[str, Command] = {}
        for source in self._sources:
            for command in source():
                found.setdefault(command.name.lower(), command)
        return tuple(found.values())
