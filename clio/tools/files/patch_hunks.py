"""The hunks of a patch, one after the other, down the edit ladder. Pure: a text in, the changed text out."""

from collections.abc import Sequence

from msgspec import Struct

from clio.tools.files.edit_ladder import Landed, Refused, Rung, Span, fit
from clio.tools.files.edit_match import fold
from clio.tools.files.patch_format import Hunk
from clio.tools.files.text_lines import body, indent, line_number, main_ending, split_lines


class Patched(Struct, frozen=True, kw_only=True):
    """The text with all hunks in it, and the rungs they needed other than the first."""

    text: str
    rungs: tuple[Rung, ...]


class HunkFailed(Exception):
    """One hunk has no place, or several; the message says which and why."""


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> Patched:
    """Apply hunks, which stand in the order of the file.

    Each is looked for behind the one before it: in the block under its `@@` line first, then in all the rest. Raises
    HunkFailed where a hunk does not fit in exactly one place.
    """
    bare = bool(text) and not text.endswith(("\n", "\r"))
    ending = main_ending(text)
    work = text + ending if bare else text  # hunks are whole lines, and so the last line has to be one
    cursor = 0
    rungs: list[Rung] = []
    for number, hunk in enumerate(hunks, 1):
        landed = _place(work, hunk, cursor)
        if isinstance(landed, Refused):
            which = f"hunk {number} of {len(hunks)}" if len(hunks) > 1 else "the hunk"
            raise HunkFailed(f"{which} does not fit: {landed.message}")
        span = landed.spans[0]
        work = landed.apply(work)
        cursor = span.start + len(span.text)
        if landed.rung != "exact" and landed.rung not in rungs:
            rungs.append(landed.rung)
    return Patched(text=work.removesuffix(ending) if bare else work, rungs=tuple(rungs))


def _place(text: str, hunk: Hunk, cursor: int) -> Landed | Refused:
    """Where one hunk goes."""
    block = _block_after(text, hunk.headers, cursor)
    if not hunk.old:
        return _insertion(text, hunk, block)
    regions = [(cursor, len(text))] if block is None else [block, (block[0], len(text))]
    if hunk.at_end:
        tail = _tail(text, len(hunk.old), cursor)
        regions = [(tail, len(text)), *regions]
    refused: Refused | None = None
    for start, end in regions:
        outcome = _fit(text, hunk, start, end)
        if isinstance(outcome, Landed) or outcome.reason != "nothing":
            return outcome
        refused = outcome
    everywhere = _fit(text, hunk, 0, len(text)) if cursor else refused
    if isinstance(everywhere, Landed):
        where = line_number(text, everywhere.spans[0].start)
        message = f"its lines stand on line {where}, before the hunk above it; put hunks in the order of the file"
        return Refused(reason="nothing", message=message)
    return everywhere or Refused(reason="nothing", message="there is no text to search")


def _fit(text: str, hunk: Hunk, start: int, end: int) -> Landed | Refused:
    """The ladder on a part of the text, in offsets of the whole."""
    old = "".join(line + "\n" for line in hunk.old)
    new = "".join(line + "\n" for line in hunk.new)
    part = text[start:end]
    outcome = fit(part, old, new, whole_lines=True, first_line=line_number(text, start))
    if isinstance(outcome, Refused):
        return outcome
    spans = tuple(Span(start=span.start + start, end=span.end + start, text=span.text) for span in outcome.spans)
    return Landed(rung=outcome.rung, spans=spans)


def _insertion(text: str, hunk: Hunk, block: tuple[int, int] | None) -> Landed | Refused:
    """A hunk that only adds goes right behind its `@@` line, or to the end of the file."""
    if hunk.headers and block is None:
        return Refused(reason="nothing", message=f"no line reads {hunk.headers[-1]!r}; add lines of context instead")
    at = len(text)
    if block is not None and not hunk.at_end:
        line = split_lines(text[block[0] : block[1]])[0]
        at = block[0] + len(line)
    ending = main_ending(text)
    added = "".join(line + ending for line in hunk.new)
    return Landed(rung="exact", spans=(Span(start=at, end=at, text=added),))


def _block_after(text: str, headers: Sequence[str], cursor: int) -> tuple[int, int] | None:
    """From the line the last header names to the end of the block it opens; None without a header, or if none is there.

    The block ends before the next line that is indented no deeper and begins with a letter or the like; a line of
    closing brackets is still part of it.
    """
    if not headers:
        return None
    lines = split_lines(text[cursor:])
    at = -1
    for header in headers:
        found = _line_like(lines, header, at + 1)
        if found is None:
            return None
        at = found
    depth = len(indent(lines[at]).expandtabs(4))
    stop = len(lines)
    for number in range(at + 1, len(lines)):
        content = lines[number].strip()
        shallow = len(indent(lines[number]).expandtabs(4)) <= depth
        if content and shallow and (content[0].isalnum() or content[0] in "_@#\"'"):
            stop = number
            break
    start = cursor + sum(map(len, lines[:at]))
    return start, start + sum(map(len, lines[at:stop]))


def _line_like(lines: list[str], header: str, start: int) -> int | None:
    """The first line that is the header, else the first that begins with it; blanks and typography aside."""
    goal = fold(header).strip()
    keys = [fold(body(line)).strip() for line in lines[start:]]
    for number, key in enumerate(keys):
        if key == goal:
            return start + number
    for number, key in enumerate(keys):
        if key.startswith(goal):
            return start + number
    return None


def _tail(text: str, count: int, cursor: int) -> int:
    """Where the last `count` lines begin, blank ones at the end not counted, but never before the cursor."""
    lines = split_lines(text)
    blank = 0
    while blank < len(lines) and not lines[-1 - blank].strip():
        blank += 1
    keep = min(len(lines), count + blank)
    return max(cursor, len(text) - sum(map(len, lines[len(lines) - keep :])))
