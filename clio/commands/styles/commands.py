"""/style: how answers are worded, and what clio has learned about that; the table of its subcommands."""

from clio.commands.command import Command
from clio.commands.memory.access import suggest_options
from clio.commands.styles.changes import choose_again, delete, export, reset, turn_off, turn_on, use
from clio.commands.styles.looks import list_styles, show, state, suggest_own_styles, suggest_styles, why

STYLE = (
    Command(
        name="style",
        aliases=("styles",),
        summary="how answers are worded: chosen, and learned from your ratings",
        handler=state,
        subcommands=(
            Command(name="on", summary="let clio choose the style of each answer", handler=turn_on),
            Command(name="off", summary="no styles; what was learned stays", handler=turn_off),
            Command(name="list", summary="the styles, and what each earned", handler=list_styles),
            Command(
                name="use", argument="NAME", summary="give every answer one style", handler=use, suggest=suggest_styles
            ),
            Command(name="auto", summary="choose for each answer again", handler=choose_again),
            Command(name="why", summary="how the last answer's style was chosen", handler=why),
            Command(name="show", argument="NAME", summary="one whole", handler=show, suggest=suggest_styles),
            Command(
                name="reset",
                argument="[NAME]",
                summary="forget what was learned, of one or of all",
                handler=reset,
                suggest=suggest_styles,
            ),
            Command(
                name="export",
                argument="[PATH] [--force]",
                summary="what was learned, and your own styles, as JSON",
                handler=export,
                suggest_word=suggest_options(("--force", "replace the file that is there")),
            ),
            Command(
                name="delete",
                argument="NAME",
                summary="delete a style of your own",
                handler=delete,
                suggest=suggest_own_styles,
            ),
        ),
    ),
)
