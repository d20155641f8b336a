"""/memory wipe: what was learned is deleted for good, once the person has said of whom."""

from collections.abc import Sequence

from clio.commands.arguments import read
from clio.commands.command import Shell
from clio.commands.follow_ups import Confirm
from clio.commands.markdown_code import code
from clio.commands.matching import nearest
from clio.commands.memory.access import remembers
from clio.commands.memory.export import places_of
from clio.commands.memory.words import count, size
from clio.commands.result import CommandResult, refuse
from clio.commands.tables import Table
from clio.config.paths import display
from clio.errors import SessionLocked, SessionNotFound, UsageError
from clio.memory.control.hoards import WIPE_SCOPES, WipeScope, hoards_of
from clio.memory.control.survey import Doomed, survey
from clio.memory.control.wipe import wipe as delete
from clio.sessions.state import SessionInfo

SCOPES = {
    "project": "all that was learned in this project",
    "user": "your memories and preferences",
    "styles": "what was learned about styles",
    "all": "all three",
}
_SESSIONS_STAY = "the sessions, which --sessions deletes too"
_STAYS = {"user": "scenarios.yaml and config.yaml", "styles": "the style files you wrote"}


@remembers
def wipe(shell: Shell, argument: str) -> CommandResult:
    """Show what would go, and delete it once the person has typed whose it is."""
    given = read(argument, switches=("--yes", "--dry-run", "--sessions"), valued=("--scope",))
    named = given.options.get("--scope") or (given.words[0] if given.words else None)
    if named is None or len(given.words) > ("--scope" not in given.options):
        return refuse(f"Wipe what? Write /memory wipe --scope {'|'.join(SCOPES)}; it shows what would go, and asks")
    scope, scopes = _scopes(named)
    with_sessions = "--sessions" in given.options
    if with_sessions and "project" not in scopes:
        return refuse("Sessions are the project's: --sessions goes with --scope project or all")
    shell.memory.knowledge()  # refuses where memory is off
    hoards = hoards_of(places_of(shell), scopes)
    doomed = survey(places_of(shell), hoards)
    sessions = shell.store.list() if with_sessions else []
    data = {"scope": scope, "wiped": False, "parts": [_data(shell, one) for one in doomed], "sessions": len(sessions)}
    stays = _stays(scopes, with_sessions=with_sessions)
    if not doomed and not sessions:
        return CommandResult(text=f"There is nothing to wipe. {stays}", data=data)
    if "--dry-run" in given.options:
        return CommandResult(text=f"This would go for good. {stays}", table=_table(shell, doomed, sessions), data=data)
    if "--yes" not in given.options:
        then = f"/memory wipe --scope {scope} --yes{' --sessions' if with_sessions else ''}"
        return CommandResult(
            text=f"This goes for good, without an undo. {stays} `/memory export all.json` keeps a copy.",
            table=_table(shell, doomed, sessions),
            data=data,
            follow_up=Confirm(question="Delete all of it for good?", then=then, word=scope),
        )
    table = _table(shell, doomed, sessions)
    gone, left = _delete_sessions(shell, sessions)
    delete(places_of(shell), hoards)
    shell.memory.wiped()
    return CommandResult(
        text=f"Deleted for good. {stays}{_still_running(shell, left)}",
        table=table,
        data=data | {"wiped": True, "sessions": gone},
    )


def _scopes(name: str) -> tuple[str, tuple[WipeScope, ...]]:
    wanted = name.strip().lower()
    if wanted == "all":
        return wanted, WIPE_SCOPES
    for scope in WIPE_SCOPES:
        if wanted == scope:
            return wanted, (scope,)
    raise UsageError(f"There is no scope {name!r} to wipe; {nearest(wanted, SCOPES)}")


def _stays(scopes: Sequence[WipeScope], *, with_sessions: bool) -> str:
    """What is no part of it, and what would take the sessions along."""
    kept = [_SESSIONS_STAY] if "project" in scopes and not with_sessions else []
    kept += [_STAYS[scope] for scope in scopes if scope in _STAYS]
    return f"What stays: {'; '.join(kept)}." if kept else ""


def _table(shell: Shell, doomed: Sequence[Doomed], sessions: Sequence[SessionInfo]) -> Table:
    rows = [
        (one.hoard.what, "" if one.records is None else f"{one.records:,}", size(one.bytes), _where(shell, one))
        for one in doomed
    ]
    if sessions:
        rows.append(("sessions", f"{len(sessions):,}", "", ".clio/sessions"))
    return Table(columns=("what", "how many", "size", "where"), rows=tuple(rows))


def _where(shell: Shell, one: Doomed) -> str:
    hoard = one.hoard
    files = hoard.files()
    place = files[0] if len(files) == 1 else hoard.folder / hoard.names[0]
    shown = hoard.folder if hoard.names == ("*",) else place
    return display(shown, project=shell.loaded.project, user_home=shell.loaded.home.parent)


def _data(shell: Shell, one: Doomed) -> dict[str, object]:
    return {
        "what": one.hoard.kind,
        "records": one.records,
        "bytes": one.bytes,
        "files": [str(path) for path in one.hoard.files()],
    }


def _delete_sessions(shell: Shell, sessions: Sequence[SessionInfo]) -> tuple[int, int]:
    """How many were deleted, and how many are open somewhere and stay."""
    gone = left = 0
    for info in sessions:
        try:
            shell.store.delete(info.id)
            gone += 1
        except SessionLocked:
            left += 1
        except SessionNotFound:
            gone += 1  # somebody else was faster
    return gone, left


def _still_running(shell: Shell, left: int) -> str:
    """What a wipe cannot reach: conversations that go on."""
    others = sum(info.running for info in shell.store.list() if info.id != shell.session.id)
    parts = [f" {count(left, 'session is', 'sessions are')} open and stay."] if left else []
    if shell.session.messages:
        parts.append(f" This conversation keeps what it was given; {code('/session new')} starts without it.")
    if others:
        parts.append(f" {count(others, 'other conversation is', 'other conversations are')} open here and keep theirs.")
    return "".join(parts)
