"""The conversations, and the index they are found by."""

from collections.abc import Iterator
from pathlib import Path

from clio.entrypoints.doctor.finding import Finding, Ground, fix, note, ok, several
from clio.memory.recall.cache_file import FILE
from clio.memory.recall.database import VERSION
from clio.memory.recall.stamps import SessionFolder
from clio.sessions.listing import file_names, list_sessions
from clio.tools.files.text_file import size_text

_MAX_NAMED = 3


def check_sessions(ground: Ground) -> Iterator[Finding]:
    """How many there are, and which cannot be read."""
    folder = ground.owner / ".clio" / "sessions"
    infos = list_sessions(folder)
    unread = [info.id for info in infos if not info.messages and not info.created_at]
    if unread:
        names = ", ".join(unread[:_MAX_NAMED]) + (" …" if len(unread) > _MAX_NAMED else "")
        yield fix("sessions", f"{len(unread)} cannot be read: {names}",
                  "put a copy back, or: clio sessions delete ID")  # fmt: skip
    aside = [name for name in file_names(folder) if ".corrupt-" in name]
    if aside:
        names = ", ".join(aside[:_MAX_NAMED]) + (" …" if len(aside) > _MAX_NAMED else "")
        yield note("sessions", f"{several(len(aside), 'file')} set aside as damaged ({names})",
                   f"look at them in {ground.shown(folder)}")  # fmt: skip
    running = sum(1 for info in infos if info.running)
    more = f", {running} open now" if running else ""
    yield ok("sessions", f"{len(infos):,} of this project{more}" if infos else "none yet in this project")


def check_index(ground: Ground) -> Iterator[Finding]:
    """Whether the search index is sound, and how far it is behind; it catches up by itself."""
    path = ground.owner / ".clio" / "cache" / FILE
    if not path.is_file():
        yield ok("index", "none yet; it is made when earlier sessions are first searched")
        return
    import sqlite3

    try:
        kept = _kept(path)
    except sqlite3.Error as error:
        yield note("index", f"{ground.shown(path)} cannot be used ({error})", "nothing, it is made anew when needed")
        return
    if kept is None:
        yield note("index", "it is of another version of clio", "nothing, it is made anew when needed")
        return
    watched = SessionFolder(ground.owner / ".clio" / "sessions")
    watched.look()
    behind = sum(1 for id, stamp in watched.stamps.items() if id not in kept or not stamp.same_as(kept[id]))
    state = f"{several(behind, 'session')} behind, caught up with at the next search" if behind else "up to date"
    yield ok("index", f"{several(len(kept), 'session')}, {size_text(path.stat().st_size)}, {state}")


def _kept(path: Path) -> dict[str, str] | None:
    """The stamp of each session in the index; None where it is of another version. Raises sqlite3.Error.

    Opened as a file that never changes, so that not even a lock is taken.
    """
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            return None
        return {str(name): str(stamp) for name, stamp in connection.execute("SELECT name, stamp FROM sessions")}
