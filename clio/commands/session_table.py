"""Sessions as text: titles, ages and sizes as a table and as completions; and a session as one file."""

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, get_args

from clio.commands.arguments import ParsedArguments, parse_options, suggest_name
from clio.commands.command import (
    CommandContext,
    CommandResult,
    ExportForm,
    ExportSession,
    Suggestion,
    Table,
    make_refusal,
)
from clio.errors import UsageError
from clio.text.formatting import format_ago, format_count, truncate

if TYPE_CHECKING:
    from clio.sessions.state import SessionInfo


_ID_LENGTHS = (8, 13, 18, 23, 36)  # a UUID's dashes; sessions begun within the same minute share the first eight
_MAX_SUGGESTED = 50
_NO_FILE_NAME = re.compile(r"[^\w.-]+")


def make_session_table(
    sessions: "Iterable[SessionInfo]", *, running: str | None, now: float, newest: int | None = None
) -> Table:
    """Sessions as a person chooses among them. `running` is marked; `now` is in seconds since the epoch.

    newest: how many are shown; None for all. Their ids are told apart from all the others'.
    Where some came with the repository, or were written by other programs or by sub-agents, a column says so.
    """
    infos = list(sessions)
    length = unique_id_length(info.id for info in infos)
    rows = tuple(
        (str(number), format_title(info), format_last_used(info, running, now), str(info.messages), info.id[:length])
        for number, info in enumerate(infos[:newest], start=1)
    )
    columns = ("#", "session", "last used", "messages", "id")
    if any(describe_origin(info) for info in infos[:newest]):
        columns = (*columns, "from")
        rows = tuple((*row, describe_origin(info)) for row, info in zip(rows, infos, strict=False))
    return Table(columns=columns, rows=rows, wide_column=1, is_truncated=True)


def describe_origin(info: "SessionInfo") -> str:
    """The repository, the program that wrote it, or the sub-agent that worked; "" for a talk with clio."""
    if info.came_with_project:
        return "the repository"
    if info.delegated is not None:
        return f"sub-agent {info.delegated}"
    return info.imported.agent if info.imported else ""


def unique_id_length(ids: Iterable[str]) -> int:
    """How many characters tell these ids apart: 8, unless some were made within the same minute."""
    known = set(ids)
    return next((length for length in _ID_LENGTHS if len({id[:length] for id in known}) == len(known)), _ID_LENGTHS[-1])


def format_title(info: "SessionInfo") -> str:
    """A session's name, or the first words said in it, on one line."""
    return " ".join((info.name or info.first_words or "(no words yet)").split())


def format_short_title(info: "SessionInfo", chars: int) -> str:
    """The same in at most so many characters."""
    return truncate(format_title(info), chars)


def format_last_used(info: "SessionInfo", running: str | None, now: float) -> str:
    """When somebody last said something in it."""
    return "this one" if info.id == running else "in use" if info.running else format_ago(now - info.updated_at)


def make_file_stem(title: str) -> str:
    """A session's title as the name of a file, without its ending."""
    return _NO_FILE_NAME.sub("-", title)[:60].strip("-. ").lower() or "session"


def suggest_sessions(ctx: CommandContext) -> Iterable[Suggestion]:
    """The stored sessions but the running one: by name where they have one, else by the start of their id."""
    infos = ctx.store.list()
    length = unique_id_length(info.id for info in infos)
    for info in infos[:_MAX_SUGGESTED]:
        if info.id != ctx.session.id:
            origin = f", from {describe_origin(info)}" if info.came_with_project else ""
            note = f"{format_title(info)}, {format_count(info.messages, 'message')}{origin}"
            yield Suggestion(text=info.name or info.id[:length], note=note)


OPTIONS = "[--format html|md|json] [--force]"
FORMS: tuple[ExportForm, ...] = get_args(ExportForm)
_MAX_SUGGESTED_FILES = 60
_NOTES = {"--format": "html, md or json", "--force": "replace what is there"}


def export_running(ctx: CommandContext, argument: str) -> CommandResult:
    """Write the running session to a file, with all that was said up to now."""
    given = _read(argument)
    if not given.words:
        return make_refusal(f"Where to? Write /session export PATH {OPTIONS}; the path's ending names the form")
    if not ctx.session.is_persistent:
        return make_refusal(
            "An incognito session is nowhere on disk, so it cannot be exported; start without --incognito."
        )
    if not ctx.session.messages:
        return make_refusal("Nothing has been said in this session yet, so there is nothing to export.")
    return _to_file(ctx.session.id, given.text, given)


def export_stored(ctx: CommandContext, argument: str) -> CommandResult:
    """Write a stored session to a file."""
    given = _read(argument)
    if len(given.words) != 2:
        return make_refusal(
            f"Which session, and where to? Write clio sessions export ID PATH {OPTIONS}; PATH - prints it"
        )
    return _to_file(ctx.store.find(given.words[0]), given.words[1], given)


def suggest_export(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
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
    return [Suggestion(text=path) for path in found[:_MAX_SUGGESTED_FILES]]


def _read(argument: str) -> ParsedArguments:
    return parse_options(argument, switches=("--force",), valued=("--format",))


def _to_file(session_id: str, path: str, given: ParsedArguments) -> CommandResult:
    return CommandResult(
        follow_up=ExportSession(session_id=session_id, path=path, form=_form(given), force="--force" in given.options)
    )


def _form(given: ParsedArguments) -> ExportForm | None:
    name = given.options.get("--format")
    if name is None:
        return None
    wanted = {"markdown": "md", "htm": "html"}.get(name.lower(), name.lower())
    for form in FORMS:
        if form == wanted:
            return form
    raise UsageError(f"There is no form {name!r} of an export; {suggest_name(name, FORMS)}")
