"""Commands about the model that answers."""

from collections.abc import Iterable

from clio.commands.base import Command, CommandResult, SetModel, Shell, Suggestion, code, refuse
from clio.providers.base import ListsModels

SERVED: dict[str, tuple[str, ...]] = {}
"""What the servers asked so far have listed, by the provider's name; for as long as the process lives."""


async def ask_server(shell: Shell) -> bool:
    """Ask the running provider's server for its models, once; whether anything new became known."""
    provider = shell.provider
    if provider.name in SERVED or not isinstance(provider, ListsModels):
        return False
    SERVED[provider.name] = ()
    SERVED[provider.name] = await provider.models()
    return bool(SERVED[provider.name])


def model(shell: Shell, argument: str) -> CommandResult:
    """Show the model, or talk to another one of the same server."""
    provider = shell.provider
    if not argument:
        others = [name for name in _known(shell) if name != provider.model]
        text = f"{code(provider.model)} at {code(provider.name)}."
        if others:
            text += " Also known: " + ", ".join(code(name) for name in others) + "."
        return CommandResult(text=text + " `/model NAME` switches.")
    if len(argument.split()) > 1:
        return refuse(f"A model's name has no spaces: {argument!r}; write /model NAME")
    if argument == provider.model:
        return CommandResult(text=f"{code(argument)} answers already.")
    return CommandResult(follow_up=SetModel(name=argument))


def _known(shell: Shell) -> list[str]:
    """Model names the person has written down somewhere, the running one, and those its server has listed."""
    listed = SERVED.get(shell.provider.name, ())
    names = [shell.config.model, shell.session.model, *shell.config.models, shell.provider.model, *listed]
    return sorted({name for name in names if name})


def suggest_models(shell: Shell) -> Iterable[Suggestion]:
    """The names known by now; whoever completes the line asks the server meanwhile."""
    for name in _known(shell):
        yield Suggestion(text=name, note="in use" if name == shell.provider.model else "")


MODEL = (
    Command(
        name="model",
        argument="[NAME]",
        summary="the model that answers",
        handler=model,
        suggest=suggest_models,
    ),
)
