"""The one place where a long tool output becomes a short one, with a way to the rest of it."""

MAX_ROW_CHARS = 2_000
"""A longer line counts as several rows, so that paging by rows reaches every character."""

_HEAD_SHARE = 0.6


def rows(text: str) -> list[str]:
    """The lines of a text, overlong ones cut into several; what `read_output` counts from 1."""
    found: list[str] = []
    for line in text.split("\n"):
        found.extend(line[at : at + MAX_ROW_CHARS] for at in range(0, max(len(line), 1), MAX_ROW_CHARS))
    if len(found) > 1 and found[-1] == "":
        found.pop()
    return found


def preview(text: str, max_chars: int, handle: str | None) -> str:
    """At most `max_chars` of a text: unchanged if it fits, else its head, a notice, and its tail.

    handle: where the whole text is kept; the notice then names the call and the first row that is not shown whole.
    """
    if len(text) <= max_chars:
        return text
    all_rows = rows(text)
    room = max_chars - len(_notice(len(all_rows), len(text), len(all_rows), len(all_rows), handle))
    if room < 2:
        return text[: max(max_chars, 0)]
    head = text[: int(room * _HEAD_SHARE)]
    head = head[: head.rfind("\n") + 1] or head
    tail = text[-(room - len(head)) :] if room > len(head) else ""
    newline = tail.find("\n")
    tail = tail[newline + 1 :] if 0 <= newline < len(tail) // 2 else tail
    shown = len(rows(head)) if head.endswith("\n") else max(len(rows(head)) - 1, 0)
    tail_rows = len(rows(tail)) if tail else 0
    left_rows = max(len(all_rows) - shown - tail_rows, 1)
    return head + _notice(left_rows, len(text) - len(head) - len(tail), shown + 1, len(all_rows), handle) + tail


def _notice(left_rows: int, left_chars: int, offset: int, total: int, handle: str | None) -> str:
    which = f"lines {offset:,}-{offset + left_rows - 1:,} of {total:,}"
    call = f'read_output(handle="{handle}", offset={offset})'
    way = f"; go on with read_output for {which}: {call}" if handle else f": {which}"
    return f"\n[… {left_rows:,} lines, {left_chars:,} characters left out{way} …]\n"
