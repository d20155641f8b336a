"""Session titles, ages and sizes as a table and as completions; and the arguments of an export."""

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
    """Return a table of sessions to choose from. `running` is marked; `now` is in seconds since the epoch.

    newest: how many are shown; None for all. The ids are long enough to be unique among all sessions.
    If some came with the repository, or were written by other programs or by sub-agents, a column tells which.
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
    """Return the repository, the program or the sub-agent that wrote a session; "" for the user's own."""
    if info.came_with_project:
        return "the repository"
    if info.delegated is not None:
        return f"sub-agent {info.delegated}"
    return info.imported.agent if info.imported else ""


def unique_id_length(ids: Iterable[str]) -> int:
    """Return how many characters make these ids unique: 8, unless some were created within the same minute."""
    known = set(ids)
    return next((length for length in _ID_LENGTHS if len({id[:length] for id in known}) == len(known)), _ID_LENGTHS[-1])


def format_title(info: "SessionInfo") -> str:
    """Return a session's name, or the first words of its first message, on one line."""
    return " ".join((info.name or info.first_words or "(no messages yet)").split())


def format_short_title(info: "SessionInfo", chars: int) -> str:
    """Return the title in at most `chars` characters."""
    return truncate(format_title(info), chars)


def preview_session(info: "SessionInfo") -> str:
    """Return more about a session than its row: its first words, its length and its folder."""
    first = f"first message: {info.first_words}\n" if info.name and info.first_words else ""
    return f"{first}{format_count(info.messages, 'message')} · {info.working_directory or 'folder unknown'}"


def format_last_used(info: "SessionInfo", running: str | None, now: float) -> str:
    """Return how long ago a session was last used."""
    return "this one" if info.id == running else "in use" if info.running else format_ago(now - info.updated_at)


def make_file_stem(title: str) -> str:
    """Return a session's title as a file name without a suffix."""
    return _NO_FILE_NAME.sub("-", title)[:60].strip("-. ").lower() or "session"


def suggest_sessions(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete the stored sessions except the running one: by name, else by the start of the id."""
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
_NOTES = {"--format": "html, md or json", "--force": "replace an existing file"}


def export_running(ctx: CommandContext, argument: str) -> CommandResult:
    """Write the running session to a file, with all its messages up to now."""
    given = _parse_export_options(argument)
    if not given.words:
        return make_refusal(
            f"Export to which file? Write /session export PATH {OPTIONS}; the suffix selects the format"
        )
    if not ctx.session.is_persistent:
        return make_refusal("An incognito session is not on disk, so it cannot be exported; start without --incognito.")
    if not ctx.session.messages:
        return make_refusal("This session has no messages yet, so there is nothing to export.")
    return _make_export_result(ctx.session.id, given.text, given)


def export_stored(ctx: CommandContext, argument: str) -> CommandResult:
    """Write a stored session to a file."""
    given = _parse_export_options(argument)
    if len(given.words) != 2:
        return make_refusal(
            f"Which session, and to which file? Write clio sessions export ID PATH {OPTIONS}; PATH - prints it"
        )
    return _make_export_result(ctx.store.find(given.words[0]), given.words[1], given)


def suggest_export(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    """Complete folders to export to, the options, and the formats after `--format`."""
    before, _, word = argument.rpartition(" ")
    if before.endswith("--format"):
        return [Suggestion(text=form) for form in FORMS]
    if word.startswith("-"):
        return [Suggestion(text=option, note=note) for option, note in _NOTES.items() if option not in before]
    return [] if before else suggest_paths(word)


def suggest_paths(typed: str) -> list[Suggestion]:
    """Complete a path from the disk, folders with a final slash; "~" is the home folder."""
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


def _parse_export_options(argument: str) -> ParsedArguments:
    return parse_options(argument, switches=("--force",), valued=("--format",))


def _make_export_result(session_id: str, path: str, given: ParsedArguments) -> CommandResult:
    return CommandResult(
        follow_up=ExportSession(
            session_id=session_id, path=path, form=_parse_export_form(given), force="--force" in given.options
        )
    )


def _parse_export_form(given: ParsedArguments) -> ExportForm | None:
    name = given.options.get("--format")
    if name is None:
        return None
    wanted = {"markdown": "md", "htm": "html"}.get(name.lower(), name.lower())
    for form in FORMS:
        if form == wanted:
            return form
    raise UsageError(f"There is no export format {name!r}; {suggest_name(name, FORMS)}")
