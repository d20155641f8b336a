"""The table of /memory export, import and wipe: everything that was learned, to hand on or to be rid of."""

from collections.abc import Iterable

from clio.commands.command import Command, Shell, Suggestion
from clio.commands.memory.access import suggest_options
from clio.commands.memory.export import WHAT, export
from clio.commands.memory.imports import import_
from clio.commands.memory.wipe import SCOPES as WIPED
from clio.commands.memory.wipe import wipe
from clio.commands.sessions.export import suggest_paths
from clio.memory.memories import SCOPES

_OPTIONS = suggest_options(
    ("--what", "all, or only one part, such as knowledge"), ("--force", "replace the file that is there")
)
_IMPORT_OPTIONS = suggest_options(
    ("--scope", "only what is the project's, or the user's"), ("--dry-run", "only count what would change")
)

_WIPE_OPTIONS = suggest_options(
    ("--scope", "whose: the project's, the user's, styles, or all"),
    ("--sessions", "the project's conversations, too"),
    ("--dry-run", "only show what would go"),
)


def _suggest_export(shell: Shell, argument: str) -> Iterable[Suggestion]:
    before, _, word = argument.rpartition(" ")
    if before.endswith("--what"):
        return (Suggestion(text=name, note=note) for name, note in WHAT.items())
    return _OPTIONS(shell, argument) if word.startswith("-") else suggest_paths(word)


def _suggest_import(shell: Shell, argument: str) -> Iterable[Suggestion]:
    before, _, word = argument.rpartition(" ")
    if before.endswith("--scope"):
        return (Suggestion(text=name) for name in SCOPES)
    return _IMPORT_OPTIONS(shell, argument) if word.startswith("-") else suggest_paths(word)


def _suggest_wipe(shell: Shell, argument: str) -> Iterable[Suggestion]:
    before, _, word = argument.rpartition(" ")
    if before.endswith("--scope"):
        return (Suggestion(text=name, note=note) for name, note in WIPED.items())
    return _WIPE_OPTIONS(shell, argument) if not word or word.startswith("-") else ()


CONTROL_ROWS: tuple[Command, ...] = (
    Command(
        name="export",
        argument="[PATH] [--what PART] [--force]",
        summary="write everything that was learned into one file",
        handler=export,
        suggest_word=_suggest_export,
    ),
    Command(
        name="import",
        argument="PATH [--scope S] [--dry-run]",
        summary="take in what another clio exported, or an ltm.json",
        handler=import_,
        suggest_word=_suggest_import,
    ),
    Command(
        name="wipe",
        argument="--scope S [--sessions] [--dry-run] [--yes]",
        summary="delete for good what was learned, once you agreed",
        handler=wipe,
        suggest_word=_suggest_wipe,
    ),
)
