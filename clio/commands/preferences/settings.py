"""/prefs config: how preferences fade; kept in the person's own configuration file."""

from collections.abc import Mapping
from pathlib import Path

from clio.commands.arguments import read
from clio.commands.command import Shell, Suggestion
from clio.commands.memory.access import remembers
from clio.commands.result import CommandResult, refuse
from clio.commands.tables import Table
from clio.config.paths import home_config
from clio.config.yaml_value import set_value
from clio.memory.preferences.book import Fading

_SETTINGS = {"set-half-life": "preference_half_life_days", "set-floor": "preference_floor"}


@remembers
def config(shell: Shell, argument: str) -> CommandResult:
    """Show how preferences fade, or set it."""
    words = read(argument).words
    match [words[0].lower(), *words[1:]] if words else ["show"]:
        case ["show"]:
            return _shown(shell, "")
        case [("set-half-life" | "set-floor") as verb, value]:
            return _set(shell, _SETTINGS[verb], value)
        case _:
            return refuse("/prefs config takes show, set-half-life DAYS or set-floor SHARE")


def suggest_config(shell: Shell) -> list[Suggestion]:
    """The forms of the argument."""
    return [
        Suggestion(text="show", note="how preferences fade"),
        Suggestion(text="set-half-life ", note="days, above 0"),
        Suggestion(text="set-floor ", note="from 0 to below 1"),
    ]


def _set(shell: Shell, name: str, value: str) -> CommandResult:
    path = home_config(shell.loaded.home)
    set_value(path, name, value)
    origin = _origin(shell, name)
    elsewhere = origin != "default" and Path(origin.rpartition(":")[0]).expanduser() != path
    preferences = shell.memory.preferences
    before = preferences.fading
    days = float(value) if name == "preference_half_life_days" else before.half_life_days
    floor = float(value) if name == "preference_floor" else before.floor
    if elsewhere:
        return _shown(shell, f"Written to {path}, but {origin} says otherwise and counts.")
    preferences.fading = Fading(half_life_days=days, floor=floor)
    return _shown(shell, f"Written to {path}.", {name: str(path)})


def _shown(shell: Shell, text: str, said_by: Mapping[str, str] | None = None) -> CommandResult:
    fading = shell.memory.preferences.fading
    said = {name: _origin(shell, name) for name in _SETTINGS.values()} | dict(said_by or {})
    rows = (
        ("half-life", f"{fading.half_life_days:g} days", said["preference_half_life_days"]),
        ("floor", f"{fading.floor:g}", said["preference_floor"]),
    )
    data = {"half_life_days": fading.half_life_days, "floor": fading.floor}
    return CommandResult(text=text, table=Table(columns=("", "value", "said by"), rows=rows, wide=2), data=data)


def _origin(shell: Shell, name: str) -> str:
    return shell.loaded.origins.get(name, "default")
