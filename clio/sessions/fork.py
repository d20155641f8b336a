"""A session branched off another: the same messages under a new id, and the way back to its parent."""

import shutil
from itertools import takewhile
from pathlib import Path

import msgspec

from clio.errors import UserError
from clio.messages import Message, blobs_of
from clio.sessions import snapshot
from clio.sessions.blobs import readers
from clio.sessions.loading import load
from clio.sessions.session_files import LoadedSession
from clio.sessions.state import SessionFiles, SessionState, Trim
from clio.storage.documents import keep_twin
from clio.storage.files import make_folder, read_regular, sync_folder, write_atomic


def branched(state: SessionState, new_id: str, now: float, *, upto: str | None = None) -> SessionState:
    """The session as it was right after the message `upto`, or as it is; unnamed, and nothing paid for yet. Pure.

    Trims made after that message are reversed, as if they had not been made. Raises UserError for an unknown message.
    """
    end = _place_after(state, upto)
    messages = state.messages[:end]
    kept = {message.id for message in messages}
    until = state.messages[end].created if end < len(state.messages) else float("inf")
    made = list(takewhile(lambda trim: trim.created < until, state.trims))
    reversed_ = {id for trim in state.trims[len(made) :] for id in trim.dropped}
    window = {*state.stm, *reversed_}
    return SessionState(
        id=new_id,
        created_at=now,
        updated_at=now,
        working_directory=state.working_directory,
        parent=state.id,
        model=state.model,
        server_alias=state.server_alias,
        efforts=dict(state.efforts),
        token_ratio=state.token_ratio,
        todos=state.todos,
        messages=messages,
        stm=[message.id for message in messages if message.id in window],
        trims=[_within(trim, kept) for trim in made],
        threads={name: left for name, ids in state.threads.items() if (left := [id for id in ids if id in kept])},
    )


def write_fork(source: SessionFiles, target: SessionFiles, now: float, *, upto: str | None, name: str | None) -> None:
    """Write the copy: its outputs first, then its snapshot, which alone makes it a session.

    Raises what `load` raises, UserError for an unknown message, and OSError; in all cases nothing is left of it.
    """
    loaded = load(source)
    state = branched(loaded.state, target.id, now, upto=upto)
    state.name = name
    remains = _remains(source, loaded, state)
    make_folder(target.folder)
    try:
        _copy_outputs(source, target, loaded, state.messages)
        write_atomic(target.snapshot, snapshot.encode(state, "", remains))
    except BaseException:
        shutil.rmtree(target.private, ignore_errors=True)
        raise


def _place_after(state: SessionState, upto: str | None) -> int:
    if upto is None:
        return len(state.messages)
    for place, message in enumerate(state.messages, 1):
        if message.id == upto:
            return place
    raise UserError(f"Session {state.id!r} has no message {upto!r}; `/context` and searches show the ids of messages.")


def _within(trim: Trim, kept: set[str]) -> Trim:
    """The trim as far as it is about messages that are there."""
    dropped = tuple(id for id in trim.dropped if id in kept)
    shrunk = {id: chars for id, chars in trim.shrunk.items() if {id, id.partition("#")[0]} & kept}
    return msgspec.structs.replace(trim, dropped=dropped, shrunk=shrunk)


def _remains(source: SessionFiles, loaded: LoadedSession, state: SessionState) -> snapshot.Remains:
    """What the source's file has that clio does not know, in its messages too."""
    if not loaded.clean:
        return snapshot.Remains()
    remains = snapshot.remains_of(read_regular(source.snapshot), loaded.clean)
    return msgspec.structs.replace(remains, messages=remains.messages[: len(state.messages)])


def _copy_outputs(source: SessionFiles, target: SessionFiles, loaded: LoadedSession, messages: list[Message]) -> None:
    """Give the copy the whole outputs its messages name; one whose file is gone stays the preview it is."""
    handles = {handle for message in messages for handle in blobs_of(message)}
    if not handles:
        return
    stored = {path.name: path for path in source.blobs.iterdir()} if source.blobs.is_dir() else {}
    wanted = {name: path for name, path in stored.items() if any(name.startswith(handle) for handle in handles)}
    for name, path in wanted.items():
        make_folder(target.blobs)
        keep_twin(path, target.blobs / name)
    for digest, read in readers(loaded.outputs).items():
        if digest not in wanted and any(digest.startswith(handle) for handle in handles):
            make_folder(target.blobs)
            write_atomic(target.blobs / digest, read().encode("utf-8"))
    if target.blobs.is_dir():
        _sync_up(target.blobs, target.folder)


def _sync_up(folder: Path, top: Path) -> None:
    """Make the names in a folder and in those above it durable, up to `top`."""
    while folder != top:
        sync_folder(folder)
        folder = folder.parent
