"""Commands about sessions: the running one and those on disk."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from clio.commands.base import (
    Command,
    CommandResult,
    Confirm,
    NewSession,
    Shell,
    Suggestion,
    SwitchSession,
    Table,
    code,
    refuse,
)
from clio.commands.context_commands import trim_now

if TYPE_CHECKING:
    from clio.sessions.state import SessionInfo

_ID_LENGTHS = (8, 13, 18, 23, 36)  # a UUID's dashes; sessions begun within the same minute share the first eight
_MAX_SUGGESTED = 50


def show(shell: Shell, argument: str) -> CommandResult:
    """The running session: what it is called, how long it is, where it lies."""
    if argument:
        return refuse(f"/session does not know {argument!r}; see /help session")
    session = shell.session
    used = sum(bill.prompt_tokens + bill.completion_tokens for bill in session.bills)
    started = time.strftime("%Y-%m-%d %H:%M", time.localtime(session.created_at))
    rows = [
        ("id", session.id),
        ("name", session.name or "–"),
        ("started", started),
        ("messages", str(len(session.messages))),
        ("tokens billed", f"{used:,}"),
        ("folder", str(session.working_directory)),
        ("on disk", _on_disk(shell)),
    ]
    return CommandResult(table=Table(columns=("session", ""), rows=tuple(rows), wide=1))


def show_list(shell: Shell, argument: str) -> CommandResult:
    """All sessions of this project, newest first; the numbers serve `switch`, `delete` and `-r`."""
    table = session_table(shell.store.list(), running=shell.session.id, now=time.time())
    if not table.rows:
        return CommandResult(text="No sessions yet in this project; one is kept from its first message.")
    return CommandResult(table=table)


def switch(shell: Shell, argument: str) -> CommandResult:
    """Go on with another session."""
    if not argument:
        return refuse("Which session? Write /session switch with a number, an id or a name; /session list shows them")
    session_id = shell.store.find(argument)
    if session_id == shell.session.id:
        return CommandResult(text="That is the running session.")
    return CommandResult(follow_up=SwitchSession(session_id=session_id))


def name(shell: Shell, argument: str) -> CommandResult:
    """Call the running session something a person remembers."""
    if not argument:
        return refuse("A name needs words: write /session name TEXT")
    title = " ".join(shell.redactor.redact(argument).text.split())
    shell.session.rename(title)
    return CommandResult(text=f"This session is now {code(title)}.")


def new(shell: Shell, argument: str) -> CommandResult:
    """Start an empty session; the one before stays on disk."""
    return CommandResult(follow_up=NewSession(name=argument or None))


def delete(shell: Shell, argument: str) -> CommandResult:
    """Remove a stored session for good; asks unless `--yes` is given."""
    words = argument.split()
    sure = "--yes" in words
    selector = " ".join(word for word in words if word != "--yes")
    if not selector:
        return refuse("Which session? Write /session delete with a number, an id or a name; /session list shows them")
    if shell.config.incognito:
        return refuse("An incognito clio changes nothing on disk; start without --incognito to delete a session.")
    session_id = shell.store.find(selector)
    if session_id == shell.session.id:
        return refuse("The running session cannot be deleted; start another one with /session new first")
    info = next(info for info in shell.store.list() if info.id == session_id)
    called = f"{title_of(info)!r} ({count_messages(info.messages)})"
    if not sure:
        question = f"Delete the session {called} for good?"
        return CommandResult(follow_up=Confirm(question=question, then=f"/session delete {session_id} --yes"))
    shell.store.delete(session_id)
    return CommandResult(text=f"Deleted {code(called)}.")


def session_table(sessions: "Iterable[SessionInfo]", *, running: str | None, now: float) -> Table:
    """Sessions as a person chooses among them. `running` is marked; `now` is in seconds since the epoch."""
    infos = list(sessions)
    length = id_length(info.id for info in infos)
    rows = tuple(
        (
            str(number),
            title_of(info),
            "this one" if info.id == running else "in use" if info.running else age(now - info.updated_at),
            str(info.messages),
            info.id[:length],
        )
        for number, info in enumerate(infos, start=1)
    )
    return Table(columns=("#", "session", "last used", "messages", "id"), rows=rows, wide=1, cut=True)


def id_length(ids: Iterable[str]) -> int:
    """How many characters tell these ids apart: 8, unless some were made within the same minute."""
    known = set(ids)
    return next((length for length in _ID_LENGTHS if len({id[:length] for id in known}) == len(known)), _ID_LENGTHS[-1])


def title_of(info: "SessionInfo") -> str:
    """A session's name, or the first words said in it, on one line."""
    return " ".join((info.name or info.first_words or "(no words yet)").split())


def count_messages(count: int) -> str:
    """The number with its noun."""
    return f"{count} message" if count == 1 else f"{count} messages"


def age(seconds: float) -> str:
    """How long ago that is, in words a list has room for."""
    for limit, unit_s, unit in ((60, 0, ""), (3600, 60, "min"), (86400, 3600, "h")):
        if seconds < limit:
            return f"{int(seconds // unit_s)} {unit} ago" if unit_s else "just now"
    days = int(seconds // 86400)
    return "1 day ago" if days == 1 else f"{days} days ago"


def suggest_sessions(shell: Shell) -> Iterable[Suggestion]:
    """The stored sessions: by name where they have one, else by the start of their id."""
    infos = shell.store.list()
    length = id_length(info.id for info in infos)
    for info in infos[:_MAX_SUGGESTED]:
        if info.id != shell.session.id:
            note = f"{title_of(info)}, {count_messages(info.messages)}"
            yield Suggestion(text=info.name or info.id[:length], note=note)


def _on_disk(shell: Shell) -> str:
    session = shell.session
    if not session.persistent:
        return "no, incognito"
    if session.unsaved:
        return f"NOT SAVED: {session.unsaved}"
    return "yes" if session.messages else "from its first message on"


SESSION = (
    Command(
        name="session",
        summary="the running session and those before it",
        handler=show,
        subcommands=(
            Command(name="show", summary="the running session", handler=show),
            Command(name="list", summary="all sessions of this project, newest first", handler=show_list),
            Command(
                name="switch",
                argument="SESSION",
                summary="go on with another one: number, id, start of an id or name",
                handler=switch,
                suggest=suggest_sessions,
            ),
            Command(name="name", argument="TEXT", summary="name the running session", handler=name),
            Command(name="trim", summary="make room in the model's window now", handler=trim_now),
            Command(name="new", argument="[NAME]", summary="start an empty one", handler=new),
            Command(
                name="delete",
                argument="SESSION [--yes]",
                summary="remove one for good",
                handler=delete,
                suggest=suggest_sessions,
            ),
        ),
    ),
)
