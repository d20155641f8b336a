"""Full tool outputs stored beside a session as content-addressed files, and those of the Perl original."""

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
    """No stored output has this handle. The message is one sentence for the model."""


class BlobStore:
    """The stored outputs of one session. Outputs that are not on disk yet are read from memory.

    Args:
        folder: directory of the stored outputs; None if there is none.
        writable: False keeps new outputs in memory only.
        external: functions that read outputs stored by another program, by full digest; `flush` copies these outputs
            to `folder`.
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
        """Queue a text and return its handle: the first 16 hex digits of the SHA-256 of its UTF-8 bytes.

        `flush` writes it to disk.
        """
        return self.add_data(replace_lone_surrogates(text).encode("utf-8"))

    def add_data(self, data: bytes) -> str:
        """Queue binary data, such as an image, and return its handle. See `add`."""
        digest = hashlib.sha256(data).hexdigest()
        self._waiting[digest] = data
        return digest[:HANDLE_CHARS]

    def read(self, handle: str) -> str:
        """Return the text with this handle (8 to 64 hex digits). Raises BlobNotFound, OSError."""
        return self.read_data(handle).decode("utf-8", errors="replace")

    def read_data(self, handle: str) -> bytes:
        """Return the bytes with this handle. Raises BlobNotFound, also for an ambiguous prefix, and OSError."""
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
        """Whether new outputs are queued for `flush`."""
        return bool(self._waiting)

    def flush(self) -> None:
        """Write the queued outputs. Raises OSError; outputs that could not be written stay queued."""
        if self._folder is None or not self._writable:
            return
        for digest in list(self._waiting):
            self._store(self._folder, digest, self._waiting[digest])
            del self._waiting[digest]
        for digest in list(self._elsewhere):
            try:
                text = self._elsewhere[digest]()
            except FileNotFoundError:
                pass  # deleted meanwhile, so there is nothing to store
            else:
                self._store(self._folder, digest, text.encode("utf-8"))
            del self._elsewhere[digest]

    def sync(self) -> None:
        """Flush the written outputs to the storage device (fsync), so that they survive a power failure.

        Raises OSError.
        """
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
    """One output stored by the Perl original. digest: SHA-256 of its repaired text in UTF-8; chars, lines: its size."""

    path: Path
    digest: str
    chars: int
    lines: int


def find_stored_outputs(folder: Path) -> dict[str, StoredOutput]:
    """Return the outputs in a `tool_results` directory by tool call id, without unreadable ones."""
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
    """Return, by digest, a function that reads each output."""
    return {output.digest: partial(read_stored_output, output.path) for output in outputs}


def read_stored_output(path: Path) -> str:
    """Return the text of an output file, with doubly encoded UTF-8 repaired. Raises OSError, also for a link."""
    if path.is_symlink():
        raise FileNotFoundError(f"{str(path)!r} is a link")
    return repair_double_utf8(read_regular(path).decode("utf-8", errors="replace"))


def attach_output(message: Message, outputs: Mapping[str, StoredOutput]) -> Message:
    """Return a tool message with the handle of its full output; any other message unchanged.

    The original's preview markers in its text are replaced by a note that names `read_output`.
    """
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
