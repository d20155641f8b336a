"""Commands about clio itself: leaving, the screen, themes, approvals, trust."""

from collections.abc import Iterable

from clio.commands.arguments import nearest
from clio.commands.command import (
    ClearScreen,
    Command,
    CommandResult,
    Confirm,
    GrantTrust,
    Quit,
    SetApproval,
    SetTheme,
    Shell,
    Suggestion,
    Table,
    code,
    refuse,
)
from clio.commands.pending_trust import list_waiting_for_trust, list_waiting_programs
from clio.config.schema import ApprovalMode
from clio.config.theme_names import THEMES, theme_names
from clio.config.trust import Trust


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


MODES: dict[ApprovalMode, str] = {
    "ask": "reads run, writes and commands ask",
    "edits": "writes inside the project run, commands ask",
    "all": "everything but the never-list runs",
    "plan": "only reads run; nothing is changed",
}


def leave(shell: Shell, argument: str) -> CommandResult:
    """Leave clio; the session is on disk already."""
    return CommandResult(follow_up=Quit())


def clear(shell: Shell, argument: str) -> CommandResult:
    """Empty the terminal and nothing else."""
    return CommandResult(follow_up=ClearScreen())


def approve(shell: Shell, argument: str) -> CommandResult:
    """Show who decides, or decide anew."""
    if not argument:
        rows = tuple(("→" if mode == shell.policy.mode else "", mode, what) for mode, what in MODES.items())
        return CommandResult(table=Table(columns=("", "mode", "what runs without asking"), rows=rows, wide=2))
    for mode, what in MODES.items():
        if mode == argument.lower():
            return CommandResult(text=f"Approval mode {code(mode)}: {what}.", follow_up=SetApproval(mode=mode))
    return refuse(f"There is no approval mode {argument!r}; {nearest(argument, MODES)}")


def modes(shell: Shell) -> Iterable[Suggestion]:
    """The approval modes."""
    return (Suggestion(text=mode, note=what) for mode, what in MODES.items())


def trust(shell: Shell, argument: str) -> CommandResult:
    """Show what this project may not set or bring yet, and let it."""
    brings = (*list_waiting_for_trust(shell.loaded), *list_waiting_programs(shell.loaded))
    withheld = (*shell.loaded.withheld, *brings)
    if not withheld:
        return CommandResult(text="Nothing of this project is withheld.")
    if shell.config.incognito:
        return refuse("An incognito clio stores nothing, trust neither; start without --incognito.")
    if argument == "--yes":
        if brings:
            Trust(shell.loaded.home).add_all(shell.loaded.owner, brings)
        return CommandResult(follow_up=GrantTrust())
    if argument:
        return refuse(f"/trust does not know {argument!r}; type /trust alone to see what would be granted")
    rows = tuple((value.key, value.value, value.where) for value in withheld)
    return CommandResult(
        text="This project asks for what widens what clio may do, or what the model is told to do:",
        table=Table(columns=("what", "value", "from"), rows=rows, wide=1),
        follow_up=Confirm(question="Trust this folder with them?", then="/trust --yes"),
    )


APPROVE = (
    Command(
        name="approve",
        argument="[MODE]",
        summary="who decides about writes and commands",
        handler=approve,
        suggest=modes,
    ),
)
GENERAL = (
    Command(name="trust", summary="let this project's withheld settings, skills and commands count", handler=trust),
    Command(name="clear", summary="empty the screen; the conversation stays", handler=clear),
    Command(name="exit", aliases=("quit",), summary="leave clio", handler=leave),
)
