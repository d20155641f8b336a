"""/theme: how everything is coloured. What a theme looks like is known to the screen, which carries this out."""

from collections.abc import Iterable

from clio.commands.command import Command, Shell, Suggestion
from clio.commands.follow_ups import SetTheme
from clio.commands.matching import nearest
from clio.commands.result import CommandResult, refuse
from clio.config.theme_names import THEMES, theme_names


def theme(shell: Shell, argument: str) -> CommandResult:
    """Show the themes, or use one from now on."""
    names = theme_names(shell.loaded.home)
    if argument and argument not in names:
        return refuse(f"There is no theme {argument!r}; {nearest(argument, names)}")
    return CommandResult(follow_up=SetTheme(name=argument))


def suggest_themes(shell: Shell) -> Iterable[Suggestion]:
    """The names, each with what it is for."""
    for name in theme_names(shell.loaded.home):
        yield Suggestion(text=name, note=THEMES.get(name, "your own"))


THEME = (
    Command(
        name="theme",
        aliases=("themes", "colors"),
        argument="[NAME]",
        summary="the colours: dark, light, high contrast, none, your own",
        handler=theme,
        suggest=suggest_themes,
    ),
)
