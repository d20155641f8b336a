"""Commands about the model that answers."""

from collections.abc import Iterable
from contextlib import suppress

from clio.algorithms.counts import format_tokens
from clio.algorithms.money import format_money
from clio.commands.command import Command, Shell, Suggestion
from clio.commands.follow_ups import SetModel
from clio.commands.markdown_code import code
from clio.commands.result import CommandResult, WaitFor, refuse
from clio.commands.tables import Table
from clio.errors import ClioError
from clio.providers.base import OFFLINE, ListsModels
from clio.providers.limits import configured
from clio.providers.profiles import profile_of

MAX_SHOWN = 100
_CONNECT = (
    "To connect one, set `OPENAI_API_KEY`, start a local server such as Ollama, or give `--base-url` and `--model`; "
    "then start clio anew, with `-c` to go on here."
)
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
    """Show the models the server offers, or talk to another one of them."""
    provider = shell.provider
    if not argument:
        if not isinstance(provider, ListsModels):
            return CommandResult(text=_told(shell))
        server = provider
        return CommandResult(
            follow_up=WaitFor(saying=f"asking {provider.name} for its models", work=lambda: _listed(shell, server))
        )
    if len(argument.split()) > 1:
        return refuse(f"A model's name has no spaces: {argument!r}; write /model NAME")
    if argument == provider.model:
        return CommandResult(text=f"{code(argument)} answers already.")
    return CommandResult(follow_up=SetModel(name=argument))


async def _listed(shell: Shell, server: ListsModels) -> CommandResult:
    """What the server offers as a table; where it does not say, what is known without it, and why."""
    name = shell.provider.name
    try:
        offered = await server.offered()
    except ClioError as error:
        return CommandResult(text=f"{_told(shell)}\n\n{name} did not list its models: {error}")
    if not offered:
        return CommandResult(text=f"{_told(shell)}\n\n{name} lists no models.")
    SERVED[name] = tuple(one.name for one in offered)
    windows = {one.name: one.window for one in offered}
    own = [known for known in _known(shell) if known not in windows]
    names = [*own, *sorted(windows, key=str.lower)]
    running = shell.provider.model
    names.sort(key=lambda one: one != running)  # where there are too many to show, the one that answers is among them
    rows = [_row(shell, one, windows.get(one, 0)) for one in names[:MAX_SHOWN]]
    more = len(names) - len(rows)
    text = f"{code(running)} at {code(name)}. `/model NAME` switches."
    if more:
        text += f" {more:,} more are not shown; Tab behind `/model` and a few letters finds them."
    if own:
        text += " What you have named yourself and the server does not list is marked `not listed`."
    notes = ["→" if one == running else "" for one in names]
    table = Table(
        columns=("", "model", "window", "$ in", "$ out", ""),
        rows=tuple((note, *row, "not listed" if row[0] in own else "") for note, row in zip(notes, rows, strict=False)),
        wide=1,
        cut=True,
    )
    data = [{"name": one.name, "window": one.window or None, "running": one.name == running} for one in offered]
    return CommandResult(text=text, table=table, data=data)


def _row(shell: Shell, name: str, window: int) -> tuple[str, ...]:
    """A model with its window and its price for a million tokens, as far as they are known."""
    window = configured(shell.config, name)[0] or window or _profiled(name)
    price = None
    with suppress(ClioError):  # a prices file that is wrong is told by /cost prices
        price = shell.spending.book.price_of(shell.provider.name, name)
    money = (format_money(price.rate.input), format_money(price.rate.output)) if price else ("", "")
    return (name, format_tokens(window) if window else "", *money)


def _profiled(name: str) -> int:
    profile = profile_of(name)
    return profile.context_window if profile else 0


def _told(shell: Shell) -> str:
    provider = shell.provider
    if provider.name == OFFLINE:
        return f"No language model answers: clio is {code(OFFLINE)}. {_CONNECT}"
    text = f"{code(provider.model)} at {code(provider.name)}."
    if others := [name for name in _known(shell) if name != provider.model]:
        text += " Also known: " + ", ".join(code(name) for name in others[:MAX_SHOWN]) + "."
    return text + " `/model NAME` switches."


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
        summary="the models the server offers, or another one to answer",
        handler=model,
        suggest=suggest_models,
    ),
)
