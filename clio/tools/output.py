"""Paging through outputs that were too long to be shown whole."""

from typing import Any

from clio.errors import ToolFailed, ToolRetry
from clio.security.actions import Internal
from clio.sessions.blobs import BlobNotFound
from clio.sessions.session import Session
from clio.storage.reasons import cause
from clio.tools.base import Prepared, Progress, ToolOutput
from clio.tools.page_size import PageSize, page_size
from clio.tools.truncate import rows
from clio.tools.work_args import ReadOutputArgs

PAGE_CHARS = 20_000
"""Below what the runner cuts, so that reading a page never makes another page necessary."""
_NOTES_CHARS = 200


class ReadOutputTool:
    """`read_output`: lines of a stored output."""

    name = "read_output"
    args = ReadOutputArgs
    read_only = True

    def __init__(self, session: Session, size: int | PageSize = PAGE_CHARS) -> None:
        self._session = session
        self._size = page_size(size)

    def prepare(self, args: Any) -> Prepared:
        """Nothing can be wrong yet; an unknown handle is told by `run`, as ToolRetry."""
        call: ReadOutputArgs = args
        session = self._session

        async def go(progress: Progress) -> ToolOutput:
            try:
                text = session.read_blob(call.handle.strip())
            except BlobNotFound as error:
                raise ToolRetry(str(error)) from error
            except OSError as error:
                raise ToolFailed(f"the output {call.handle!r} cannot be read: {cause(error)}") from error
            return page(text, call.offset, call.limit, min(PAGE_CHARS, self._size.chars - _NOTES_CHARS))

        title = f"read output {call.handle[:16]} from line {call.offset}"
        return Prepared(title=title, action=Internal(), run=go)


def page(text: str, offset: int, limit: int, max_chars: int = PAGE_CHARS) -> ToolOutput:
    """Lines `offset` to `offset + limit - 1`, fewer where they are long. Raises ToolRetry behind the end."""
    all_rows = rows(text)
    if offset > len(all_rows):
        raise ToolRetry(f"the output has {len(all_rows)} lines; offset {offset} is behind its end")
    shown: list[str] = []
    room = max_chars
    for row in all_rows[offset - 1 : offset - 1 + limit]:
        if shown and room < len(row) + 1:
            break
        shown.append(row)
        room -= len(row) + 1
    last = offset + len(shown) - 1
    more = f"; go on with offset={last + 1}" if last < len(all_rows) else ", the end"
    head = f"[lines {offset}-{last} of {len(all_rows)}{more}]"
    return ToolOutput(text="\n".join([head, *shown]), summary=f"lines {offset}-{last} of {len(all_rows)}")
