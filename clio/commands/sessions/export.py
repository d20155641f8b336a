"""A session as one file to hand on: which session, where to, in which form. Writing it is the entrypoint's business."""

import os
from collections.abc import Iterable
from typing import get_args

from clio.commands.arguments import Given, read
from clio.commands.command import Shell, Suggestion
from clio.commands.follow_ups import ExportForm, ExportSession
from clio.commands.matching import nearest
from clio.commands.result import CommandResult, refuse
from clio.errors import UsageError

OPTIONS = "[--format html|md|json] [--force]"
FORMS: tuple[ExportForm, ...] = get_args(ExportForm)
_MAX_SUGGESTED = 60
_NOTES = {"--format": "html, md or json", "--force": "replace what is there"}


def export_running(shell: Shell, argument: str) -> CommandResult:
    """Write the running session to a file, with all that was said up to now."""
    given = _read(argument)
    if not given.words:
        return refuse(f"Where to? Write /session export PATH {OPTIONS}; the path's ending names the form")
    if not shell.session.persistent:
        return refuse("An incognito session is nowhere on disk, so it cannot be exported; start without --incognito.")
    if not shell.session.messages:
        return refuse("Nothing has been said in this session yet, so there is nothing to export.")
    return _to_file(shell.session.id, given.text, given)


def export_stored(shell: Shell, argument: str) -> CommandResult:
    """Write a stored session to a file."""
    given = _read(argument)
    if len(given.words) != 2:
        return refuse(f"Which session, and where to? Write clio sessions export ID PATH {OPTIONS}; PATH - prints it")
    return _to_file(shell.store.find(given.words[0]), given.words[1], given)


def suggest_export(shell: Shell, argument: str) -> Iterable[Suggestion]:
    """Folders to export to, the options, and the forms after `--format`."""
    before, _, word = argument.rpartition(" ")
    if before.endswith("--format"):
        return [Suggestion(text=form) for form in FORMS]
    if word.startswith("-"):
        return [Suggestion(text=option, note=note) for option, note in _NOTES.items() if option not in before]
    return [] if before else suggest_paths(word)


def suggest_paths(typed: str) -> list[Suggestion]:
    """What lies on disk under a path that is being typed, folders with a final slash; "~" is the home folder."""
    folder, slash, start = typed.rpartition("/")
    try:
        with os.scandir(os.path.expanduser(folder + slash) or ".") as entries:  # noqa: PTH111 Path would drop a "./"
            found = sorted(
                f"{folder}{slash}{entry.name}{'/' if entry.is_dir() else ''}"
                for entry in entries
                if entry.name.startswith(start) and (start or not entry.name.startswith("."))
            )
    except OSError:  # nothing can be listed there, so there is nothing to offer
        return []
    return [Suggestion(text=path) for path in found[:_MAX_SUGGESTED]]


def _read(argument: str) -> Given:
    return read(argument, switches=("--force",), valued=("--format",))


def _to_file(session_id: str, path: str, given: Given) -> CommandResult:
    return CommandResult(
        follow_up=ExportSession(session_id=session_id, path=path, form=_form(given), force="--force" in given.options)
    )


def _form(given: Given) -> ExportForm | None:
    name = given.options.get("--format")
    if name is None:
        return None
    wanted = {"markdown": "md", "htm": "html"}.get(name.lower(), name.lower())
    for form in FORMS:
        if form == wanted:
            return form
    raise UsageError(f"There is no form {name!r} of an export; {nearest(name, FORMS)}")
