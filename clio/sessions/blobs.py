"""Whole tool outputs beside a session: stored once, named by their content; and those of the Perl original."""

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.messages import Message, ToolMessage
from clio.sessions.state import replace_lone_surrogates
from clio.storage.files import make_folder, read_regular, sync_folder, write_atomic
from clio.text.hidden_text import repair_double_utf8
from clio.text.lazy_regex import LazyRegex

HANDLE = LazyRegex(r"[0-9a-f]{8,64}")
HANDLE_CHARS = 16


class BlobNotFound(LookupError):
    """No stored output answers to the handle; the message says so in one sentence."""


class BlobStore:
    """The outputs of one session; those that are not written yet are readable from memory.

    folder: where stored ones are read from; None for none.
    writable: False keeps new ones in memory only.
    elsewhere: by whole digest, how to read those that another program stored; `flush` stores them here too.
    """

    def __init__(
        self, folder: Path | None, *, writable: bool = True, external: Mapping[str, Callable[[], str]] | None = None
    ) -> None:
        self._folder = folder
        self._writable = writable
        self._elsewhere = dict(external or {})
        self._waiting: dict[str, bytes] = {}
        self._not_durable: list[Path] = []

    def add(self, text: str) -> str:
        """Keep a text; returns its handle, the first 16 digits of the SHA-256 of its UTF-8. Call `flush` next."""
        return self.add_data(replace_lone_surrogates(text).encode("utf-8"))

    def add_data(self, data: bytes) -> str:
        """The same for bytes that are no text, such as a picture's."""
        digest = hashlib.sha256(data).hexdigest()
        self._waiting[digest] = data
        return digest[:HANDLE_CHARS]

    def read(self, handle: str) -> str:
        """The text behind a handle of at least 8 digits. Raises BlobNotFound; OSError where the disk fails."""
        return self.read_data(handle).decode("utf-8", errors="replace")

    def read_data(self, handle: str) -> bytes:
        """The same as bytes."""
        if HANDLE.fullmatch(handle):
            for digest, data in self._waiting.items():
                if digest.startswith(handle):
                    return data
            found = sorted(self._folder.glob(handle + "*")) if self._folder else []
            found = [path for path in found if HANDLE.fullmatch(path.name)]
            if len(found) == 1:
                return read_regular(found[0])
            for digest, read in self._elsewhere.items():
                if digest.startswith(handle):
                    with suppress(FileNotFoundError):
                        return read().encode("utf-8", errors="replace")
        raise BlobNotFound(
            f"No stored output has the handle {handle!r}; use the handle as the shortened output gave it."
        )

    @property
    def has_unwritten(self) -> bool:
        """Whether there are outputs `flush` would write."""
        return bool(self._waiting)

    def flush(self) -> None:
        """Write what waits. Raises OSError; what could not be written waits on."""
        if self._folder is None or not self._writable:
            return
        for digest in list(self._waiting):
            self._store(self._folder, digest, self._waiting[digest])
            del self._waiting[digest]
        for digest in list(self._elsewhere):
            try:
                text = self._elsewhere[digest]()
            except FileNotFoundError:
                pass  # deleted meanwhile: there is nothing to be stored
            else:
                self._store(self._folder, digest, text.encode("utf-8"))
            del self._elsewhere[digest]

    def sync(self) -> None:
        """Make what was written survive a power failure. Raises OSError."""
        if not self._not_durable:
            return
        while self._not_durable:
            path = self._not_durable.pop()
            if path.exists():
                fd = os.open(path, os.O_RDWR)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)
        if self._folder is not None and self._folder.is_dir():
            sync_folder(self._folder)

    def _store(self, folder: Path, digest: str, data: bytes) -> None:
        path = folder / digest
        if not path.exists():
            make_folder(folder)
            write_atomic(path, data, durable=False)
            self._not_durable.append(path)


_PREVIEW = LazyRegex(
    r"\[TOOL_RESULT_PREVIEW: First \d+ bytes shown\]\n\n(?P<shown>.*)\n\n"
    r"\[TOOL_RESULT_STORED: toolCallId=[^\n]*\]\n.*",
    re.DOTALL,
)


class StoredOutput(Struct, frozen=True, kw_only=True):
    """One stored output. digest: SHA-256 of its mended text in UTF-8. chars, lines: of that text."""

    path: Path
    digest: str
    chars: int
    lines: int


def find_stored_outputs(folder: Path) -> dict[str, StoredOutput]:
    """The outputs in a `tool_results` folder by the id of their call; those that cannot be read are left out."""
    try:
        paths = sorted(folder.glob("*.txt"))
    except OSError:
        return {}
    found: dict[str, StoredOutput] = {}
    for path in paths:
        try:
            text = read_stored_output(path)
        except OSError:
            continue
        digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
        found[path.stem] = StoredOutput(path=path, digest=digest, chars=len(text), lines=text.count("\n") + 1)
    return found


def output_readers(outputs: Iterable[StoredOutput]) -> dict[str, Callable[[], str]]:
    """How to read each of them, by its digest."""
    return {output.digest: partial(read_stored_output, output.path) for output in outputs}


def read_stored_output(path: Path) -> str:
    """The text of such a file, mended where it was encoded twice. Raises OSError; a link is not followed."""
    if path.is_symlink():
        raise FileNotFoundError(f"{str(path)!r} is a link")
    return repair_double_utf8(read_regular(path).decode("utf-8", errors="replace"))


def attach_output(message: Message, outputs: Mapping[str, StoredOutput]) -> Message:
    """The message with the handle of its whole output, and the way to it in clio's words; the same without one."""
    whole = outputs.get(message.tool_call_id) if isinstance(message, ToolMessage) else None
    if whole is None or not isinstance(message, ToolMessage) or message.blob:
        return message
    handle = whole.digest[:HANDLE_CHARS]
    match = _PREVIEW.fullmatch(message.content)
    if match is None:
        return msgspec.structs.replace(message, blob=handle)
    shown = repair_double_utf8(match["shown"])
    lines = shown.count("\n")
    notice = (
        f"[… {whole.lines - lines:,} lines, {max(whole.chars - len(shown), 0):,} characters left out; "
        f'go on with read_output(handle="{handle}", offset={lines + 1}) …]'
    )
    return msgspec.structs.replace(message, blob=handle, content=f"{shown}\n{notice}\n")
