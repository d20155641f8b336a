"""/scenario: which kind of work is at hand, named by a person or told from each request."""

from collections.abc import Iterable

from clio.commands.command import Command, Shell, Suggestion
from clio.commands.markdown_code import code
from clio.commands.matching import nearest
from clio.commands.memory.access import remembers
from clio.commands.preferences.words import scenario_names
from clio.commands.result import CommandResult, refuse

AUTO = "auto"


@remembers
def scenario(shell: Shell, argument: str) -> CommandResult:
    """Show the scenario, name one, or leave it to be told from the words of each turn."""
    book = shell.memory.preferences.book
    wanted = argument.strip().lower()
    if wanted and wanted != AUTO:
        if not book.knows(wanted):
            return refuse(f"There is no scenario {argument.strip()!r}; {nearest(wanted, [*book.names, AUTO])}")
        shell.memory.scenario = book.resolve(wanted)
    elif wanted == AUTO:
        shell.memory.scenario = None
    named = shell.memory.scenario
    told = f"The scenario is {code(named)} until `/scenario auto`." if named else "The scenario is told from each turn."
    problem = f" {book.problem}." if book.problem else ""
    choice = "" if wanted else f" There are {', '.join(map(code, book.names))}; `/scenario NAME` names one."
    data = {"scenario": named, "names": list(book.names), "problem": book.problem}
    return CommandResult(text=f"{told}{choice}{problem}", data=data)


def _suggest(shell: Shell) -> Iterable[Suggestion]:
    yield from (Suggestion(text=name) for name in scenario_names(shell))
    yield Suggestion(text=AUTO, note="told from the words of each turn")


SCENARIO = (
    Command(
        name="scenario",
        argument="[NAME|auto]",
        summary="which kind of work is at hand, for the tastes that fit it",
        handler=scenario,
        suggest=_suggest,
    ),
)
