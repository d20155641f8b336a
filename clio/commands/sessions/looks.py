"""What one session is, and which there are."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import to_builtins

from clio.algorithms.stored_time import format_stored_time
from clio.commands.arguments import read
from clio.commands.command import Shell, Suggestion
from clio.commands.result import CommandResult, refuse
from clio.commands.sessions.table import session_table
from clio.commands.tables import Table

if TYPE_CHECKING:
    from clio.sessions.session import Session
    from clio.sessions.state import SessionInfo

NEWEST = 30
"""How many sessions a list shows if nobody asks for all."""


def show(shell: Shell, argument: str) -> CommandResult:
    """One session, the running one unless another is named: what it is called, how long it is, where it lies."""
    given = read(argument)
    session_id = shell.store.find(given.text) if given.words else shell.session.id
    if session_id == shell.session.id:
        return _shown(shell, shell.session, None)
    info = next((info for info in shell.store.list() if info.id == session_id), None)
    return _shown(shell, shell.store.open(session_id, persist=False), info)


def show_list(shell: Shell, argument: str) -> CommandResult:
    """The sessions of this project, newest first; the numbers serve `switch`, `delete` and `-r`."""
    given = read(argument, switches=("--all",))
    if given.words:
        return refuse(f"A list takes no words, and {given.words[0]!r} is one; to find a session write /session search")
    infos = shell.store.list()
    if not infos:
        return CommandResult(text="No sessions yet in this project; one is kept from its first message.", data=[])
    newest = None if "--all" in given.options or len(infos) <= NEWEST else NEWEST
    table = session_table(infos, running=shell.session.id, now=time.time(), newest=newest)
    text = (
        f"The {newest} newest of {len(infos):,} sessions; /session list --all shows the others too." if newest else ""
    )
    return CommandResult(text=text, table=table, data=[_info_data(info, shell) for info in infos])


def show_stored(shell: Shell, argument: str) -> CommandResult:
    """One stored session."""
    if not read(argument).words:
        return refuse("Which session? Write clio sessions show ID; clio sessions list shows them")
    return show(shell, argument)


def suggest_all(shell: Shell, argument: str) -> Iterable[Suggestion]:
    """The option of the list."""
    return (Suggestion(text="--all", note=f"not only the newest {NEWEST}"),)


def _shown(shell: Shell, session: "Session", info: "SessionInfo | None") -> CommandResult:
    """info: what the list knows of it; None for the running one."""
    used = sum(bill.prompt_tokens + bill.completion_tokens for bill in session.bills)
    open_todos = sum(todo.status != "completed" for todo in session.todos)
    rows = [
        ("id", session.id),
        ("name", session.name or "–"),
        ("started", _moment(session.created_at)),
        *([("last used", _moment(info.updated_at))] if info else []),
        ("messages", str(len(session.messages))),
        ("tokens billed", f"{used:,}"),
        *([("model", model)] if (model := session.model if info else shell.provider.model) else []),
        *([("effort", shell.efforts.effort_of(shell.provider.model))] if info is None else []),
        *([("open todos", str(open_todos))] if open_todos else []),
        *([("trims", str(len(session.trims)))] if session.trims else []),
        *([("copied from", session.parent)] if session.parent and not session.delegated else []),
        *([("work of", f"the sub-agent {session.delegated}, for {session.parent}")] if session.delegated else []),
        *_imported_rows(session),
        *([("from", "the repository: your clio did not write it")] if session.is_foreign else []),
        ("folder", str(session.working_directory)),
        ("on disk", _on_disk(shell) if info is None else "yes, in use" if info.running else "yes"),
    ]
    return CommandResult(
        table=Table(columns=("session", ""), rows=tuple(rows), wide=1),
        data={
            "id": session.id,
            "name": session.name,
            "created_at": session.created_at,
            "updated_at": info.updated_at if info else None,
            "messages": len(session.messages),
            "tokens_billed": used,
            "model": session.model,
            "open_todos": open_todos,
            "trims": len(session.trims),
            "parent": session.parent,
            "delegated": session.delegated,
            "came_with_repository": session.is_foreign,
            "imported": to_builtins(session.imported),
            "working_directory": str(session.working_directory),
            "running": info.running if info else True,
        },
    )


def _imported_rows(session: "Session") -> list[tuple[str, str]]:
    imported = session.imported
    if imported is None:
        return []
    within = [("part of", imported.within)] if imported.within else []
    return [("imported", f"{_moment(imported.at)} from {imported.agent}: {imported.source}"), *within]


def _info_data(info: "SessionInfo", shell: Shell) -> dict[str, object]:
    return {
        "id": info.id,
        "name": info.name,
        "first_words": info.first_words,
        "created_at": info.created_at,
        "updated_at": info.updated_at,
        "messages": info.messages,
        "working_directory": info.working_directory,
        "running": info.running or info.id == shell.session.id,
        "came_with_repository": info.came_with_project,
        "imported_from": info.imported.agent if info.imported else None,
    }


def _on_disk(shell: Shell) -> str:
    session = shell.session
    if not session.persistent:
        return "no, incognito"
    if session.unsaved:
        return f"NOT SAVED: {session.unsaved}"
    return "yes" if session.messages else "from its first message on"


def _moment(seconds: float) -> str:
    return format_stored_time("%Y-%m-%d %H:%M", seconds) if seconds else "–"
