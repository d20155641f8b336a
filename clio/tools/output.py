"""Shorten long tool outputs with a hint how to read the rest; read_output pages through it."""

import difflib
from collections.abc import Iterable
from typing import Any

from clio.errors import ToolFailed, ToolRetry
from clio.security.actions import TouchOwnState
from clio.sessions.session import Session
from clio.sessions.session_files import BlobNotFound
from clio.storage.locks import error_cause
from clio.text.formatting import format_stored_time
from clio.text.translation import tr
from clio.tools.base import PageSize, PreparedCall, Progress, ToolOutput, as_page_size
from clio.tools.schemas import ReadOutputArgs

MAX_ROW_CHARS = 2_000
"""A longer line counts as several rows, so that paging by rows reaches every character."""

_HEAD_SHARE = 0.6


def split_rows(text: str) -> list[str]:
    """Split a text into lines, overlong ones into several rows; `read_output` counts these from 1."""
    found: list[str] = []
    for line in text.split("\n"):
        found.extend(line[at : at + MAX_ROW_CHARS] for at in range(0, max(len(line), 1), MAX_ROW_CHARS))
    if len(found) > 1 and found[-1] == "":
        found.pop()
    return found


def preview_output(text: str, max_chars: int, handle: str | None) -> str:
    """Return the text, or its beginning and end with a notice between, in at most `max_chars` characters.

    handle: of the stored whole text; the notice then names the call and the first row that is not shown whole.
    """
    if len(text) <= max_chars:
        return text
    all_rows = split_rows(text)
    room = max_chars - len(_notice(len(all_rows), len(text), len(all_rows), len(all_rows), handle))
    if room < 2:
        return text[: max(max_chars, 0)]
    head = text[: int(room * _HEAD_SHARE)]
    head = head[: head.rfind("\n") + 1] or head
    tail = text[-(room - len(head)) :] if room > len(head) else ""
    newline = tail.find("\n")
    tail = tail[newline + 1 :] if 0 <= newline < len(tail) // 2 else tail
    shown = len(split_rows(head)) if head.endswith("\n") else max(len(split_rows(head)) - 1, 0)
    tail_rows = len(split_rows(tail)) if tail else 0
    left_rows = max(len(all_rows) - shown - tail_rows, 1)
    return head + _notice(left_rows, len(text) - len(head) - len(tail), shown + 1, len(all_rows), handle) + tail


def _notice(left_rows: int, left_chars: int, offset: int, total: int, handle: str | None) -> str:
    which = f"lines {offset:,}-{offset + left_rows - 1:,} of {total:,}"
    call = f'read_output(handle="{handle}", offset={offset})'
    way = f"; go on with read_output for {which}: {call}" if handle else f": {which}"
    return f"\n[… {left_rows:,} lines, {left_chars:,} characters left out{way} …]\n"


def format_day(timestamp: float) -> str:
    """Return a date in local time."""
    return format_stored_time("%Y-%m-%d", timestamp, "undated") if timestamp else "undated"


def format_minute(timestamp: float) -> str:
    """Return date and time to the minute in local time."""
    return format_stored_time("%Y-%m-%d %H:%M", timestamp, "undated") if timestamp else "undated"


_MAX_NEAREST_NAMES = 5


def find_nearest_names(wanted: str, names: Iterable[str]) -> list[str]:
    """Return up to five names most similar to `wanted`, by letters or by containing one another; best first."""
    folded = {name.casefold(): name for name in names}
    low = wanted.casefold().strip()
    near = [folded[name] for name in difflib.get_close_matches(low, folded, n=_MAX_NEAREST_NAMES, cutoff=0.5)]
    inside = [name for key, name in folded.items() if low and (low in key or key in low) and name not in near]
    return [*near, *inside][:_MAX_NEAREST_NAMES]


PAGE_CHARS = 20_000
"""Below the runner's limit, so that a page is never shortened again."""
_NOTES_CHARS = 200


class ReadOutputTool:
    """The tool `read_output`: lines of a stored output."""

    name = "read_output"
    args = ReadOutputArgs
    read_only = True

    def __init__(self, session: Session, size: int | PageSize = PAGE_CHARS) -> None:
        self._session = session
        self._size = as_page_size(size)

    def prepare(self, args: Any) -> PreparedCall:
        """Prepare a call; an unknown handle is reported by `run` as ToolRetry."""
        call: ReadOutputArgs = args
        session = self._session

        async def go(progress: Progress) -> ToolOutput:
            try:
                text = session.read_blob(call.handle.strip())
            except BlobNotFound as error:
                raise ToolRetry(str(error)) from error
            except OSError as error:
                raise ToolFailed(
                    tr(
                        "the output {handle!r} cannot be read: {error_cause}",
                        handle=call.handle,
                        error_cause=error_cause(error),
                    )
                ) from error
            return page_output(text, call.offset, call.limit, min(PAGE_CHARS, self._size.chars - _NOTES_CHARS))

        title = tr("read output {handle} from line {offset}", handle=call.handle[:16], offset=call.offset)
        return PreparedCall(title=title, action=TouchOwnState(), run=go)


def page_output(text: str, offset: int, limit: int, max_chars: int = PAGE_CHARS) -> ToolOutput:
    """Return lines `offset` to `offset + limit - 1`, fewer if they are long. Raises ToolRetry after the end."""
    all_rows = split_rows(text)
    if offset > len(all_rows):
        raise ToolRetry(tr("the output has {count} lines", count=len(all_rows)), f"offset {offset} is behind its end")
    shown: list[str] = []
    room = max_chars
    for row in all_rows[offset - 1 : offset - 1 + limit]:
        if shown and room < len(row) + 1:
            break
        shown.append(row)
        room -= len(row) + 1
    last = offset + len(shown) - 1
    more = f"; continue with offset={last + 1}" if last < len(all_rows) else ", the end"
    head = f"[lines {offset}-{last} of {len(all_rows)}{more}]"
    return ToolOutput(
        text="\n".join([head, *shown]),
        summary=tr("lines {offset}-{last} of {count}", offset=offset, last=last, count=len(all_rows)),
    )
