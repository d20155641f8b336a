"""Files as the editor has them: text that is not saved yet is what clio reads, and is saved before clio changes it."""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from pathlib import Path

from clio.errors import ToolFailed
from clio.security.actions import ChangeFiles, Workspace
from clio.tools.files.text_file import as_open, plain, same_text, shown

PATIENCE_S = 5.0
"""An editor that takes longer to say what it shows is not waited for; the file on disk counts."""
Read = Callable[[str], Awaitable[str]]
"""Asks the editor for the text it shows of a file; raises OSError where it does not say."""
Write = Callable[[str, str], Awaitable[None]]
"""Has the editor put a text into a file and save it; raises OSError where it does not."""


class EditorFiles:
    """What one session's editor shows of files. read, write: None where it offers none.

    editor_path: a file's path as the editor knows it.
    """

    def __init__(
        self, workspace: Workspace, read: Read, write: Write | None, editor_path: Callable[[Path], str]
    ) -> None:
        self._workspace = workspace
        self._read = read
        self._write = write
        self._editor_path = editor_path
        self._loop = asyncio.get_running_loop()
        self._begun = time.time()
        self._agreed: dict[Path, bytes] = {}  # what stood on disk when the editor showed the same

    @property
    def can_save(self) -> bool:
        """Whether the editor saves a file when asked to."""
        return self._write is not None

    def text(self, path: Path, disk: str) -> str | None:
        """What the editor shows and has not saved; None where nothing is, or it does not say.

        An editor may also show less than is on disk, because it has not looked since a command changed the file. So
        what it shows counts only while the file is as it was when both agreed, or older than this session.
        """
        shown = self._shown(path) if self._workspace.contains(path) else None
        if shown is None:
            return None
        if same_text(shown, disk):
            self._agreed[path] = _print(disk)
            return None
        if path not in self._agreed:
            try:
                if path.stat().st_mtime >= self._begun:
                    return None
            except OSError:
                return None
            self._agreed[path] = _print(disk)
        return shown if self._agreed[path] == _print(disk) else None

    def _shown(self, path: Path) -> str | None:
        asked: Future[str] = asyncio.run_coroutine_threadsafe(self._ask(path), self._loop)
        try:
            return asked.result(PATIENCE_S)
        except (TimeoutError, CancelledError):
            asked.cancel()
            return None
        except (OSError, ValueError):  # it does not know the file, or has gone: what is on disk counts
            return None

    async def save_before(self, action: ChangeFiles) -> None:
        """Have the editor save what is not saved of these files, so that undo comes back to it.

        Raises ToolFailed where it does not.
        """
        for change in action.changes:
            if change.before is None or self._write is None:
                continue
            now = await asyncio.to_thread(as_open, self._workspace, change.path)
            if not now.unsaved or not same_text(shown(now.text), change.before):
                continue
            try:
                await self._write(self._editor_path(change.path), now.text)
            except (OSError, ValueError) as error:
                name = self._workspace.display(change.path)
                raise ToolFailed(
                    f"{name!r} has unsaved changes in the editor, which did not save them: {error}; "
                    "ask the user to save the file"
                ) from error

    async def _ask(self, path: Path) -> str:
        return await self._read(self._editor_path(path))


def _print(text: str) -> bytes:
    return hashlib.sha256(plain(text).encode("utf-8", "surrogatepass")).digest()
