"""Sessions read from their files for the index: whole, or only what a journal grew by. Changes no file."""

from msgspec import structs

from clio.memory.recall.docs import SessionDoc
from clio.memory.recall.stamps import SessionStamp, words_only
from clio.memory.recall.transcripts import Outputs, shown_whole, title_of, turns_of
from clio.sessions import session_format
from clio.sessions.blobs import readers
from clio.sessions.loading import load
from clio.sessions.state import SessionFiles, SessionState
from clio.storage.files import open_regular
from clio.storage.jsonl import split_lines

_ANSWER = b',"message":{"role":"assistant",'
_RENAMED = b'{"type":"name",'


def read_whole(files: SessionFiles, stamp: SessionStamp, *, outputs: bool = True) -> SessionDoc:
    """A session, everything in it; or without the outputs of tools, and then stamped so if it has any.

    stamp: taken before, so that what is written meanwhile makes it differ.
    Raises SessionNotFound, NewerDocument, CorruptDocument (nothing is moved), OSError.
    """
    offset = _resume_at(_journal(files, 0, stamp), 0)
    loaded = load(files, outputs=outputs)
    state = loaded.state
    title = title_of(state)
    text = stamp.text(offset if title else None)  # without a title the next words give it one
    whole = Outputs(files.blobs, readers(loaded.outputs)) if outputs else shown_whole
    turns = turns_of(state.messages, whole)
    if not outputs and any(turn.output for turn in turns):
        turns, text = tuple(turn for turn in turns if not turn.output), words_only(text)
    return SessionDoc(id=files.id, title=title, updated=state.updated_at, stamp=text, turns=turns)


def read_outputs(files: SessionFiles, stamp: SessionStamp) -> SessionDoc:
    """What a session read without its outputs lacks. Raises what `read_whole` raises."""
    whole = read_whole(files, stamp)
    return structs.replace(whole, turns=tuple(turn for turn in whole.turns if turn.output))


def read_growth(files: SessionFiles, stamp: SessionStamp, offset: int) -> SessionDoc | None:
    """What the journal grew by since `offset`, without a title; None where the session must be read whole after all.

    The first turn may be known, and has news: the results of its calls. Raises OSError.
    """
    before = max(offset - 1, 0)
    data = _journal(files, before, stamp)
    if offset and not data.startswith(b"\n"):
        return None
    data = data[offset - before :]
    state = SessionState(id=files.id)
    lines = split_lines(data).lines
    if session_format.replay(lines, state).damaged or any(line.startswith(_RENAMED) for line in lines):
        return None
    return SessionDoc(
        id=files.id,
        title="",
        updated=stamp.modified / 1e9,
        stamp=stamp.text(_resume_at(data, offset)),
        turns=turns_of(state.messages, Outputs(files.blobs)),
    )


def _journal(files: SessionFiles, start: int, stamp: SessionStamp) -> bytes:
    """The journal from `start` to where it ended when it was stamped."""
    if not stamp.journal_bytes:
        return b""
    try:
        with open_regular(files.journal) as file:
            file.seek(start)
            return file.read(max(stamp.journal_bytes - start, 0))
    except FileNotFoundError:
        return b""


def _resume_at(data: bytes, start: int) -> int:
    """Where to go on reading a journal whose bytes from `start` are `data`: at the last answer of the model.

    Its calls may get their results later, and are then told anew.
    """
    end = data.rfind(b"\n") + 1
    answer = data.rfind(_ANSWER, 0, end)
    return start + (data.rfind(b"\n", 0, answer) + 1 if answer >= 0 else 0)
