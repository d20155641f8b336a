"""`/hooks`: which commands run at which event, and which wait for the folder to be trusted."""

from clio.commands.command import Command, Shell
from clio.commands.result import CommandResult, refuse
from clio.commands.tables import Table

_EMPTY = (
    "No hooks: commands that run at clio's events go into ~/.clio/hooks.yaml, a project's into .clio/hooks.yaml; "
    "write `stop:` and below it `- run: COMMAND`."
)


def show(shell: Shell, argument: str) -> CommandResult:
    """The hooks in the order in which they run."""
    if argument:
        return refuse(f"/hooks takes nothing, not {argument!r}; change ~/.clio/hooks.yaml or .clio/hooks.yaml")
    loaded = shell.loaded
    state = "runs" if shell.config.hooks else "off (--no-hooks)"
    rows = [
        (hook.event + (f" for {'|'.join(hook.match)}" if hook.match else ""), hook.run, hook.where, state)
        for hook in loaded.hooks
    ]
    rows += [
        (value.key.removeprefix("hooks."), value.value, value.where, "waits for clio config trust")
        for value in loaded.withheld
        if value.key.startswith("hooks.")
    ]
    if not rows:
        return CommandResult(text=_EMPTY)
    return CommandResult(table=Table(columns=("event", "command", "from", ""), rows=tuple(rows), wide=1))


HOOKS: tuple[Command, ...] = (
    Command(name="hooks", summary="commands of yours that run at clio's events", handler=show),
)
