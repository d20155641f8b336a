"""Sessions in words for people: their titles, ages and sizes, as a table, and as completions."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from clio.algorithms.late_pattern import LatePattern
from clio.commands.command import Shell, Suggestion
from clio.commands.tables import Table

if TYPE_CHECKING:
    from clio.sessions.state import SessionInfo

_ID_LENGTHS = (8, 13, 18, 23, 36)  # a UUID's dashes; sessions begun within the same minute share the first eight
_MAX_SUGGESTED = 50
_NO_FILE_NAME = LatePattern(r"[^\w.-]+")


def session_table(
    sessions: "Iterable[SessionInfo]", *, running: str | None, now: float, newest: int | None = None
) -> Table:
    """Sessions as a person chooses among them. `running` is marked; `now` is in seconds since the epoch.

    newest: how many are shown; None for all. Their ids are told apart from all the others'.
    Where some came with the repository, or were written by other programs or by sub-agents, a column says so.
    """
    infos = list(sessions)
    length = id_length(info.id for info in infos)
    rows = tuple(
        (str(number), title_of(info), last_used(info, running, now), str(info.messages), info.id[:length])
        for number, info in enumerate(infos[:newest], start=1)
    )
    columns = ("#", "session", "last used", "messages", "id")
    if any(origin_of(info) for info in infos[:newest]):
        columns = (*columns, "from")
        rows = tuple((*row, origin_of(info)) for row, info in zip(rows, infos, strict=False))
    return Table(columns=columns, rows=rows, wide=1, cut=True)


def origin_of(info: "SessionInfo") -> str:
    """The repository, the program that wrote it, or the sub-agent that worked; "" for a talk with clio."""
    if info.came_with_project:
        return "the repository"
    if info.delegated is not None:
        return f"sub-agent {info.delegated}"
    return info.imported.agent if info.imported else ""


def id_length(ids: Iterable[str]) -> int:
    """How many characters tell these ids apart: 8, unless some were made within the same minute."""
    known = set(ids)
    return next((length for length in _ID_LENGTHS if len({id[:length] for id in known}) == len(known)), _ID_LENGTHS[-1])


def title_of(info: "SessionInfo") -> str:
    """A session's name, or the first words said in it, on one line."""
    return " ".join((info.name or info.first_words or "(no words yet)").split())


def short_title(info: "SessionInfo", chars: int) -> str:
    """The same in at most so many characters."""
    return shortened(title_of(info), chars)


def shortened(title: str, chars: int) -> str:
    """A title of at most so many characters, the last an ellipsis where something is missing."""
    return title if len(title) <= chars else title[: chars - 1].rstrip() + "…"


def last_used(info: "SessionInfo", running: str | None, now: float) -> str:
    """When somebody last said something in it."""
    return "this one" if info.id == running else "in use" if info.running else age(now - info.updated_at)


def file_stem(title: str) -> str:
    """A session's title as the name of a file, without its ending."""
    return _NO_FILE_NAME.sub("-", title)[:60].strip("-. ").lower() or "session"


def count_messages(count: int) -> str:
    """The number with its noun."""
    return f"{count} message" if count == 1 else f"{count} messages"


def age(seconds: float) -> str:
    """How long ago that is, in words a list has room for."""
    for limit, unit_s, unit in ((60, 0, ""), (3600, 60, "min"), (86400, 3600, "h")):
        if seconds < limit:
            return f"{int(seconds // unit_s)} {unit} ago" if unit_s else "just now"
    days = int(seconds // 86400)
    for limit, unit_days, unit in ((2 * 30, 1, "day"), (2 * 365, 30, "month")):
        if days < limit:
            return f"{days // unit_days} {unit}{'' if days // unit_days == 1 else 's'} ago"
    return f"{days // 365} years ago"


def suggest_sessions(shell: Shell) -> Iterable[Suggestion]:
    """The stored sessions but the running one: by name where they have one, else by the start of their id."""
    infos = shell.store.list()
    length = id_length(info.id for info in infos)
    for info in infos[:_MAX_SUGGESTED]:
        if info.id != shell.session.id:
            origin = f", from {origin_of(info)}" if info.came_with_project else ""
            note = f"{title_of(info)}, {count_messages(info.messages)}{origin}"
            yield Suggestion(text=info.name or info.id[:length], note=note)
