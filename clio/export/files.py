"""The door of this room: a stored session as one text to hand to somebody, in HTML, Markdown or JSON."""

from collections.abc import Callable
from typing import Literal, assert_never

import msgspec

from clio.errors import SessionNotFound
from clio.export.cleaning import Cleaner
from clio.export.collect import Limits, collect
from clio.export.markdown import markdown
from clio.export.page import page
from clio.export.text import escape_unseen
from clio.sessions.blobs import BlobStore, readers
from clio.sessions.loading import load
from clio.sessions.state import SessionFiles, is_session_id
from clio.sessions.store import SessionStore

Form = Literal["html", "md", "json"]
SUFFIXES: dict[str, Form] = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json"}
"""The form a file's name asks for."""

# People read the first lines of an output; a machine may want all of it.
_FOR_PEOPLE = Limits(output=200_000, all_outputs=30_000_000, later=4_000)
_FOR_MACHINES = Limits(output=20_000_000, all_outputs=400_000_000, later=200_000)


def export_session(
    store: SessionStore, session_id: str, form: Form, *, redact: Callable[[str], str], now: float
) -> str:
    """A session as one text, whole, running or not; no file of it is opened for writing.

    session_id: a full id, as `SessionStore.find` gives it. redact: takes the secrets out of a text. now: when this
    is, in seconds since the epoch; but for it the same session gives the same text.
    Raises SessionNotFound, NewerDocument, CorruptDocument (nothing is moved), OSError.
    """
    if not is_session_id(session_id):
        raise SessionNotFound(f"There is no session {session_id!r}; `/session list` shows those there are.")
    files = SessionFiles(store.folder, session_id)
    loaded = load(files)
    blobs = BlobStore(files.blobs, writable=False, elsewhere=readers(loaded.outputs))
    cleaner = Cleaner(redact, spell_out=form != "json")
    export = collect(loaded.state, blobs.read, cleaner, _FOR_MACHINES if form == "json" else _FOR_PEOPLE, now=now)
    match form:
        case "html":
            return page(export)
        case "md":
            return markdown(export)
        case "json":
            text = msgspec.json.format(msgspec.json.encode(export), indent=2).decode("utf-8")
            return escape_unseen(text) + "\n"
        case _:
            assert_never(form)
