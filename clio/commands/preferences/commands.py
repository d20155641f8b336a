"""/prefs: the table of all its subcommands."""

from clio.commands.command import Command
from clio.commands.preferences.changes import add, apply, clear, remove, touch, update
from clio.commands.preferences.looks import info, keywords, recall, scenarios, show, top
from clio.commands.preferences.settings import config, suggest_config
from clio.commands.preferences.words import suggest_filters, suggest_items, suggest_prefs, suggest_several_prefs

_FIELDS = ("--score", "--reason", "--keywords", "--scenarios")
_FIELDS_FORM = "[--score X] [--reason TEXT] [--keywords a,b] [--scenarios a,b]"

PREFS = (
    Command(
        name="prefs",
        aliases=("preferences", "pref"),
        summary="what you like, dislike and forbid, in every project",
        handler=show,
        subcommands=(
            Command(
                name="add",
                argument=f"ITEM {_FIELDS_FORM} [--rule]",
                summary="note a preference; never … and always … are rules",
                handler=add,
                suggest_word=suggest_filters(*_FIELDS, "--rule"),
            ),
            Command(
                name="top",
                argument="[N] [--type BANDS] [--scenario NAME]",
                summary="the heaviest",
                handler=top,
                suggest_word=suggest_filters("--type", "--scenario"),
            ),
            Command(
                name="show",
                argument="[ID] [--format context]",
                summary="all of them, or one whole",
                handler=show,
                suggest=suggest_items,
                suggest_word=suggest_filters("--format"),
            ),
            Command(
                name="recall",
                argument="[QUERY] [--type BANDS] [--scenario NAME] [--min-score X] [--limit N] [--touch]",
                summary="look for words in them",
                handler=recall,
                suggest_word=suggest_filters("--type", "--scenario", "--min-score", "--limit", "--touch"),
            ),
            Command(
                name="update",
                argument=f"ID [--item TEXT] {_FIELDS_FORM}",
                summary="set what is given of one",
                handler=update,
                suggest_word=lambda shell, argument: (
                    *suggest_prefs(shell, argument),
                    *(suggest_filters("--item", *_FIELDS)(shell, argument) if " " in argument else ()),
                ),
            ),
            Command(
                name="apply",
                argument="ID…",
                summary="confirm those that were used",
                handler=apply,
                suggest_word=suggest_several_prefs,
            ),
            Command(
                name="touch", argument="ITEM", summary="confirm one by its words", handler=touch, suggest=suggest_items
            ),
            Command(
                name="remove",
                argument="ID",
                summary="put one into the archive",
                handler=remove,
                suggest=suggest_items,
                suggest_word=suggest_prefs,
            ),
            Command(name="keywords", summary="all keywords, how often each is used", handler=keywords),
            Command(name="scenarios", summary="the kinds of work, how many are for each", handler=scenarios),
            Command(name="info", summary="how many there are, where, how they fade", handler=info),
            Command(
                name="config",
                argument="[show|set-half-life DAYS|set-floor SHARE]",
                summary="how they fade",
                handler=config,
                suggest=suggest_config,
            ),
            Command(
                name="clear",
                argument="[--yes]",
                summary="put all of them into the archive",
                handler=clear,
                suggest_word=suggest_filters("--yes"),
            ),
        ),
    ),
)
