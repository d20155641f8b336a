"""/memory off and on: a part of a conversation that nothing is brought into and nothing is remembered of."""

from clio.commands.command import Shell
from clio.commands.memory.access import remembers
from clio.commands.result import CommandResult, refuse

_OUTSIDE = "Memory is turned off inside a conversation; `clio --incognito` starts one that has none from the beginning."


@remembers
def turn_off(shell: Shell, argument: str) -> CommandResult:
    """Bring nothing up and store nothing until it is turned on again, or clio is left."""
    if argument:
        return refuse("/memory off takes nothing")
    if not shell.session.id:
        return refuse(_OUTSIDE)
    shell.memory.is_off = True
    text = (
        "Memory is off: nothing more is brought up and nothing is remembered until `/memory on`. What the model was "
        "given before stays in this session; the session itself is still stored."
    )
    return CommandResult(text=text, data={"on": False})


@remembers
def turn_on(shell: Shell, argument: str) -> CommandResult:
    """Bring things up and store them again."""
    if argument:
        return refuse("/memory on takes nothing")
    if not shell.session.id:
        return refuse(_OUTSIDE)
    shell.memory.is_off = False
    return CommandResult(text="Memory is on.", data={"on": True})
