"""Session titles, ages and sizes as a table and as completions; and the arguments of an export."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from clio.commands.arguments import ParsedArguments, parse_options, suggest_name
from clio.commands.command import (
    CommandContext,
    CommandResult,
    Confirm,
    ExportFormat,
    ExportSession,
    Suggestion,
    Table,
    make_refusal,
)
from clio.config.paths import display_path
from clio.errors import UsageError, UserError
from clio.text.formatting import format_ago, truncate
from clio.text.translation import mark, tr, tr_count
from clio.threads import find_program

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
    length = compute_unique_id_length(info.id for info in infos)
    rows = tuple(
        (str(number), format_title(info), format_last_used(info, running, now), str(info.messages), info.id[:length])
        for number, info in enumerate(infos[:newest], start=1)
    )
    columns = ("#", tr("session"), tr("last used"), tr("messages"), tr("id"))
    if any(describe_origin(info) for info in infos[:newest]):
        columns = (*columns, tr("from"))
        rows = tuple((*row, describe_origin(info)) for row, info in zip(rows, infos, strict=False))
    return Table(columns=columns, rows=rows, wide_column=1, is_truncated=True)


def describe_origin(info: "SessionInfo") -> str:
    """Return the repository, the program or the sub-agent that wrote a session; "" for the user's own."""
    if info.came_with_project:
        return tr("the repository")
    if info.delegated is not None:
        return tr("sub-agent {delegated}", delegated=info.delegated)
    return info.imported.agent if info.imported else ""


def compute_unique_id_length(ids: Iterable[str]) -> int:
    """Return how many characters make these ids unique: 8, unless some were created within the same minute."""
    known = set(ids)
    return next((length for length in _ID_LENGTHS if len({id[:length] for id in known}) == len(known)), _ID_LENGTHS[-1])


def format_title(info: "SessionInfo") -> str:
    """Return a session's name, or the first words of its first message, on one line."""
    return " ".join((info.name or info.first_words or tr("(no messages yet)")).split())


def format_short_title(info: "SessionInfo", chars: int) -> str:
    """Return the title in at most `chars` characters."""
    return truncate(format_title(info), chars)


def preview_session(info: "SessionInfo") -> str:
    """Return more about a session than its row: its first words, its length and its folder."""
    first = tr("first message: {first_words}\n", first_words=info.first_words) if info.name and info.first_words else ""
    path = info.working_directory
    folder = display_path(Path(path), project=None, user_home=Path.home()) if path else tr("folder unknown")
    return f"{first}{tr_count(info.messages, 'message')} · {folder}"


def format_last_used(info: "SessionInfo", running: str | None, now: float) -> str:
    """Return how long ago a session was last used."""
    return tr("this one") if info.id == running else tr("in use") if info.running else format_ago(now - info.updated_at)


def make_file_stem(title: str) -> str:
    """Return a session's title as a file name without a suffix."""
    return _NO_FILE_NAME.sub("-", title)[:60].strip("-. ").lower() or "session"


def suggest_sessions(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete the stored sessions except the running one: by name, else by the start of the id."""
    infos = ctx.store.list()
    length = compute_unique_id_length(info.id for info in infos)
    for info in infos[:_MAX_SUGGESTED]:
        if info.id != ctx.session.id:
            origin = tr(", from {origin}", origin=describe_origin(info)) if info.came_with_project else ""
            note = f"{format_title(info)}, {tr_count(info.messages, 'message')}{origin}"
            yield Suggestion(text=info.name or info.id[:length], note=note)


EXPORT_OPTIONS = mark("[--format html|md|json] [--force] [--gist]")
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
_MAX_SUGGESTED_FILES = 60
_EXPORT_OPTION_NOTES = {
    "--format": mark("html, md or json"),
    "--force": mark("replace an existing file"),
    "--gist": mark("share it as a secret gist, with gh"),
}


def export_running(ctx: CommandContext, argument: str) -> CommandResult:
    """Write the running session to a file, with all its messages up to now."""
    given = _parse_export_options(argument)
    if not given.words and "--gist" not in given.options:
        return make_refusal(
            tr(
                "Export to which file? Write /session export PATH {options}; the suffix selects the format",
                options=tr(EXPORT_OPTIONS),
            )
        )
    if not ctx.session.is_persistent:
        return make_refusal(
            tr("An incognito session is not on disk, so it cannot be exported; start without --incognito.")
        )
    if not ctx.session.messages:
        return make_refusal(tr("This session has no messages yet, so there is nothing to export."))
    if "--gist" in given.options:
        return _offer_gist(ctx, ctx.session.id, given, "/session export --gist --yes")
    return _make_export_result(ctx.session.id, given.text, given)


def export_stored(ctx: CommandContext, argument: str) -> CommandResult:
    """Write a stored session to a file."""
    given = _parse_export_options(argument)
    if "--gist" in given.options and len(given.words) == 1:
        session_id = ctx.store.find(given.words[0])
        return _offer_gist(ctx, session_id, given, f"/sessions export {session_id} --gist --yes")
    if len(given.words) != 2:
        return make_refusal(
            tr(
                "Which session, and to which file? Write clio sessions export ID PATH {options}; PATH - prints it",
                options=tr(EXPORT_OPTIONS),
            )
        )
    return _make_export_result(ctx.store.find(given.words[0]), given.words[1], given)


def suggest_export(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    """Complete folders to export to, the options, and the formats after `--format`."""
    before, _, word = argument.rpartition(" ")
    if before.endswith("--format"):
        return [Suggestion(text=form) for form in EXPORT_FORMATS]
    if word.startswith("-"):
        return [
            Suggestion(text=option, note=tr(note))
            for option, note in _EXPORT_OPTION_NOTES.items()
            if option not in before
        ]
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
    return parse_options(argument, switches=("--force", "--gist", "--yes"), valued=("--format",))


def _make_export_result(session_id: str, path: str, given: ParsedArguments) -> CommandResult:
    return CommandResult(
        follow_up=ExportSession(
            session_id=session_id, path=path, form=_parse_export_form(given), force="--force" in given.options
        )
    )


def _offer_gist(ctx: CommandContext, session_id: str, given: ParsedArguments, then: str) -> CommandResult:
    """Show what would be uploaded, and ask; upload it if the user has agreed."""
    form = _parse_export_form(given) or "html"
    if "--yes" in given.options:
        return CommandResult(follow_up=ExportSession(session_id=session_id, path="", form=form))
    find_gh()
    info = next((info for info in ctx.store.list() if info.id == session_id), None)
    rows = (
        (tr("session"), format_title(info) if info else session_id),
        (tr("messages"), str(info.messages if info else 0)),
        (tr("file"), f"{make_file_stem(format_title(info) if info else session_id)}.{form}"),
        (tr("to"), tr("a secret gist of your GitHub account; anyone with its address can read it")),
        (tr("contains"), tr("messages, tool calls and their output; secrets that clio recognizes are replaced")),
    )
    table = Table(columns=(tr("upload"), ""), rows=rows, wide_column=1)
    form_option = f" --format {form}" if form != "html" else ""
    return CommandResult(table=table, follow_up=Confirm(question=tr("Upload it?"), then=f"{then}{form_option}"))


def find_gh() -> str:
    """Return the path of GitHub's command line. Raises UserError if it is not installed."""
    program = find_program("gh")
    if program is None:
        raise UserError(tr("gh, GitHub's command line, is not installed: install it, then run gh auth login"))
    return program


def _parse_export_form(given: ParsedArguments) -> ExportFormat | None:
    name = given.options.get("--format")
    if name is None:
        return None
    wanted = {"markdown": "md", "htm": "html"}.get(name.lower(), name.lower())
    for form in EXPORT_FORMATS:
        if form == wanted:
            return form
    raise UsageError(
        tr(
            "There is no export format {name!r}; {suggest_name}",
            name=name,
            suggest_name=suggest_name(name, EXPORT_FORMATS),
        )
    )
