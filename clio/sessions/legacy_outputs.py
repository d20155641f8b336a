"""Whole tool outputs of the Perl original: `<id>/tool_results/<call>.txt`, each beside a message with its beginning.

They are read where they lie, under the handle clio would give them; the first save stores them as clio's own.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.algorithms.double_encoding import mended
from clio.algorithms.late_pattern import LatePattern
from clio.messages import Message, ToolMessage
from clio.sessions.blobs import HANDLE_CHARS
from clio.storage.reading import read_regular

_PREVIEW = LatePattern(
    r"\[TOOL_RESULT_PREVIEW: First \d+ bytes shown\]\n\n(?P<shown>.*)\n\n"
    r"\[TOOL_RESULT_STORED: toolCallId=[^\n]*\]\n.*",
    re.DOTALL,
)


class WholeOutput(Struct, frozen=True, kw_only=True):
    """One stored output. digest: SHA-256 of its mended text in UTF-8. chars, lines: of that text."""

    path: Path
    digest: str
    chars: int
    lines: int


def stored_outputs(folder: Path) -> dict[str, WholeOutput]:
    """The outputs in a `tool_results` folder by the id of their call; those that cannot be read are left out."""
    try:
        paths = sorted(folder.glob("*.txt"))
    except OSError:
        return {}
    found: dict[str, WholeOutput] = {}
    for path in paths:
        try:
            text = read_output(path)
        except OSError:
            continue
        digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
        found[path.stem] = WholeOutput(path=path, digest=digest, chars=len(text), lines=text.count("\n") + 1)
    return found


def readers(outputs: Iterable[WholeOutput]) -> dict[str, Callable[[], str]]:
    """How to read each of them, by its digest."""
    return {output.digest: partial(read_output, output.path) for output in outputs}


def read_output(path: Path) -> str:
    """The text of such a file, mended where it was encoded twice. Raises OSError; a link is not followed."""
    if path.is_symlink():
        raise FileNotFoundError(f"{str(path)!r} is a link")
    return mended(read_regular(path).decode("utf-8", errors="replace"))


def with_output(message: Message, outputs: Mapping[str, WholeOutput]) -> Message:
    """The message with the handle of its whole output, and the way to it in clio's words; the same without one."""
    whole = outputs.get(message.tool_call_id) if isinstance(message, ToolMessage) else None
    if whole is None or not isinstance(message, ToolMessage) or message.blob:
        return message
    handle = whole.digest[:HANDLE_CHARS]
    match = _PREVIEW.fullmatch(message.content)
    if match is None:
        return msgspec.structs.replace(message, blob=handle)
    shown = mended(match["shown"])
    lines = shown.count("\n")
    notice = (
        f"[… {whole.lines - lines:,} lines, {max(whole.chars - len(shown), 0):,} characters left out; "
        f'go on with read_output(handle="{handle}", offset={lines + 1}) …]'
    )
    return msgspec.structs.replace(message, blob=handle, content=f"{shown}\n{notice}\n")
