"""Sessions of another clio, and of the Perl original: read as clio reads its own, with the whole outputs beside them.

A session which that clio had itself imported is left out: it is to be had where it came from.
"""

import base64
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import structs

from clio.errors import ClioError
from clio.importing.reading import About, Picture, Piece, Progress, Said, Tally
from clio.messages import AssistantMessage, Message, ToolMessage, UserMessage
from clio.sessions.blobs import BlobNotFound, BlobStore, readers
from clio.sessions.loading import load
from clio.sessions.state import JOURNAL, SNAPSHOT, SessionFiles


def files_of(path: Path) -> SessionFiles:
    """The files of the session that this one belongs to."""
    return SessionFiles(path.parent, path.name.removesuffix(JOURNAL).removesuffix(SNAPSHOT))


def read(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """The session that a snapshot or a journal belongs to. Raises OSError, and what `progress` raises."""
    files = files_of(path)
    try:
        loaded = load(files)
    except ClioError as error:
        tally.unreadable.append((str(path), str(error)))
        return
    state = loaded.state
    if state.imported is not None:
        return
    tally.kinds["damaged"] += len(loaded.warnings)
    blobs = BlobStore(files.blobs, writable=False, elsewhere=readers(loaded.outputs))
    yield About(key=state.id, title=state.name or "", directory=state.working_directory)
    size = path.stat().st_size
    for number, message in enumerate(state.messages, 1):
        progress(size * number // len(state.messages))
        yield _said(state.id, message, blobs)


def _said(key: str, message: Message, blobs: BlobStore) -> Said:
    pictures: list[Picture] = []
    whole: str | None = None
    if isinstance(message, UserMessage | ToolMessage) and message.blob:
        with suppress(BlobNotFound, OSError):
            whole = blobs.read(message.blob)
    if isinstance(message, UserMessage | ToolMessage):
        for part in message.images:
            with suppress(BlobNotFound, OSError):
                data = base64.b64encode(blobs.read_data(part.blob)).decode()
                pictures.append(Picture(media_type=part.media_type, data=data, name=part.name))
        message = structs.replace(message, images=(), blob=None)
    elif isinstance(message, AssistantMessage):
        message = structs.replace(message, reasoning="", usage=None)
    return Said(key=key, message=message, pictures=tuple(pictures), whole=whole)
