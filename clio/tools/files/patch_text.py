"""Parse the `*** Begin Patch` format, and apply its hunks to a file's text."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise

from msgspec import Struct

from clio.errors import WrongArguments
from clio.tools.files.edit_search import EditMatch, EditRefused, MatchKind, Replacement, match_edit
from clio.tools.files.text_file import find_main_ending, get_indent, get_line_number, split_lines, strip_ending
from clio.tools.files.text_match import fold_typography

_SECTION = re.compile(r"[ \t]*\*\*\* (Add|Update|Delete) File:\s*(.*?)\s*")
"""Indented ones count as in `_begins_section`, because a line of context may look the same."""
_MOVE = re.compile(r"\*\*\* Move to:\s*(.*?)\s*")
_LINE_NUMBERS = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@ ?")
_HEREDOC = re.compile(r"(?:(?:apply_patch|applypatch|cat)\b.*)?<<-?\s*['\"]?(\w+)['\"]?\s*")
_FENCE = re.compile(r"(?:```|~~~)\s*\w*\s*")
_END_OF_FILE = "*** End of File"
_NO_NEWLINE = "\\ No newline at end of file"


class PatchHunk(Struct, frozen=True, kw_only=True):
    """One change as lines without endings.

    headers: the texts of its `@@` lines, which precede it in the file, outermost first.
    """

    headers: tuple[str, ...] = ()
    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    at_end: bool = False


class AddFile(Struct, frozen=True, kw_only=True, tag="add"):
    """A new file with this content."""

    path: str
    content: str


class UpdateFile(Struct, frozen=True, kw_only=True, tag="update"):
    """Changes to an existing file, and its new path if it moves."""

    path: str
    hunks: tuple[PatchHunk, ...]
    move_to: str | None = None


class DeleteFile(Struct, frozen=True, kw_only=True, tag="delete"):
    """A file to delete."""

    path: str


PatchSection = AddFile | UpdateFile | DeleteFile


def parse_patch(text: str) -> tuple[PatchSection, ...]:
    """Return the sections of a patch in order. Raises WrongArguments, naming the line, if it is invalid."""
    lines = _unwrap(text.replace("\r\n", "\n").split("\n"))
    sections = tuple(_parse_sections(lines))
    if not sections:
        raise WrongArguments(
            "the patch names no file: after '*** Begin Patch' write '*** Update File: path', '*** Add File: path' or "
            "'*** Delete File: path'"
        )
    return sections


def _unwrap(lines: list[str]) -> list[str]:
    """Return the lines between Begin and End Patch, without code fences and heredocs; a missing end is accepted."""
    while lines and not lines[0].strip():
        lines = lines[1:]
    closers: list[str] = []
    while lines and (opener := _FENCE.fullmatch(lines[0].strip()) or _HEREDOC.fullmatch(lines[0].strip())):
        closers.append(opener[1] if opener.re is _HEREDOC else lines[0].strip()[:3])
        lines = lines[1:]
    begin = next((number for number, line in enumerate(lines) if line.strip() == "*** Begin Patch"), None)
    if begin is not None:
        lines = lines[begin + 1 :]
    end = next((number for number, line in enumerate(lines) if line.strip() == "*** End Patch"), None)
    if end is not None:
        return lines[:end]
    while lines and (not lines[-1].strip() or lines[-1].strip() in closers):
        lines = lines[:-1]
    return lines


def _parse_sections(lines: list[str]) -> Iterator[PatchSection]:
    """Yield the section of each file. Raises WrongArguments for an invalid section."""
    lines = textwrap.dedent("\n".join(lines)).split("\n")  # models indent a patch in a list or a here-document
    starts: list[int] = []
    for number in range(len(lines)):
        if _begins_section(lines, number, starts):
            starts.append(number)
    if starts and any(line.strip() for line in lines[: starts[0]]) and not _is_prose(lines[: starts[0]]):
        raise WrongArguments(f"the patch begins with {lines[0]!r}", "it must begin with '*** Begin Patch' and a file")
    for start, stop in pairwise([*starts, len(lines)]):
        match = _SECTION.fullmatch(lines[start])
        assert match  # `starts` contains only matching lines
        kind, path = match[1], match[2].strip("`\"'")
        if not path:
            raise WrongArguments(f"{lines[start]!r} names no path")
        content = lines[start + 1 : stop]
        if kind == "Add":
            yield AddFile(path=path, content=_parse_new_file(path, content))
        elif kind == "Delete":
            yield DeleteFile(path=path)
        else:
            yield _parse_update(path, content)


def _begins_section(lines: list[str], number: int, starts: list[int]) -> bool:
    """Whether a line names the next file. An indented one does, unless it may be context of the update before it."""
    line = lines[number]
    if not (match := _SECTION.fullmatch(line)):
        return False
    if line.startswith("***") or not starts:
        return True
    before = _SECTION.fullmatch(lines[starts[-1]])
    if before is not None and before[1] != "Update":
        return True
    following = lines[number + 1] if number + 1 < len(lines) else ""
    return match[1] == "Update" and following.lstrip().startswith("@@")


def _is_prose(lines: list[str]) -> bool:
    """Whether the lines before the first file contain no change that would be lost."""
    return not any(line.startswith(("+", "-", "@@", "*** ")) for line in lines)


def _parse_new_file(path: str, lines: list[str]) -> str:
    """Return the content of a new file; lines without any plus sign are accepted as they are."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    lines = [line for line in lines if line not in (_NO_NEWLINE, _END_OF_FILE)]
    if any(line.startswith("+") for line in lines):
        wrong = next((line for line in lines if line and not line.startswith("+")), None)
        if wrong is not None:
            raise WrongArguments(
                f"in '*** Add File: {path}' every line begins with +, and this one does not: {wrong!r}"
            )
        lines = [line[1:] for line in lines]
    return "".join(line + "\n" for line in lines)


def _parse_update(path: str, lines: list[str]) -> UpdateFile:
    """Return the new path and the hunks of one file."""
    move_to: str | None = None
    lines = [line for line in lines if line != _NO_NEWLINE]
    while lines and not lines[0].strip():
        lines = lines[1:]
    if lines and (match := _MOVE.fullmatch(lines[0])):
        move_to, lines = match[1].strip("`\"'"), lines[1:]
    if len(lines) > 1 and lines[0].startswith("--- ") and lines[1].startswith("+++ "):
        lines = lines[2:]
    hunks = tuple(_parse_hunks(path, lines))
    if not hunks and move_to is None:
        raise WrongArguments(f"'*** Update File: {path}' changes nothing: give lines that begin with - and +")
    return UpdateFile(path=path, hunks=hunks, move_to=move_to)


def _parse_hunks(path: str, lines: list[str]) -> Iterator[PatchHunk]:
    headers: list[str] = []
    block: list[str] = []
    for line in lines:
        if line.startswith("@@"):
            if any(block):
                yield _make_hunk(path, headers, block, at_end=False)
                headers, block = [], []
            header = _parse_header(line)
            if header:
                headers.append(header)
        elif line.strip() == _END_OF_FILE:
            yield _make_hunk(path, headers, block, at_end=True)
            headers, block = [], []
        elif line.startswith("*** "):
            raise WrongArguments(f"in '*** Update File: {path}' this line is not understood: {line!r}")
        else:
            block.append(line)
    if any(block):
        yield _make_hunk(path, headers, block, at_end=False)


def _parse_header(line: str) -> str:
    """Return the text of an `@@` line without line numbers, which are often wrong."""
    text = _LINE_NUMBERS.sub("", line) if _LINE_NUMBERS.match(line) else line[2:]
    return text.strip().removesuffix("@@").strip()


def _make_hunk(path: str, headers: list[str], block: list[str], *, at_end: bool) -> PatchHunk:
    old: list[str] = []
    new: list[str] = []
    while block and not block[-1]:  # an empty line before the next header separates the hunks
        block = block[:-1]
    for line in block:
        mark, text = line[:1], line[1:]
        if mark == "-":
            old.append(text)
        elif mark == "+":
            new.append(text)
        else:
            context = text if mark == " " else line
            old.append(context)
            new.append(context)
    if old == new:
        raise WrongArguments(
            f"a hunk of '*** Update File: {path}' changes nothing, so no file was changed: "
            "mark the lines to remove with - and the new ones with +, or leave the hunk out"
        )
    return PatchHunk(headers=tuple(headers), old=tuple(old), new=tuple(new), at_end=at_end)


class PatchedText(Struct, frozen=True, kw_only=True):
    """The text with all hunks applied, the match kinds other than "exact" they needed, and the changed ranges."""

    text: str
    match_kinds: tuple[MatchKind, ...]
    changed: tuple[tuple[int, int], ...] = ()


class HunkFailed(Exception):
    """A hunk does not apply, or applies in several places; the message says which hunk and why.

    Attributes:
        old: the hunk's old lines, which were searched for.
        similarity: similarity of the closest lines in the file, 0.0 to 1.0.
    """

    def __init__(self, message: str, *, old: str = "", similarity: float = 1.0) -> None:
        super().__init__(message)
        self.old = old
        self.similarity = similarity


def apply_patch_hunks(text: str, hunks: Sequence[PatchHunk]) -> PatchedText:
    """Apply hunks, which must have the same order as their places in the file.

    Each is searched after the previous one: first in the block below its `@@` line, then in the rest, then from the
    last line that the previous hunk changes. All are matched to the unchanged text, so that line numbers in messages
    are those of the file. Raises HunkFailed if a hunk does not match in exactly one place.
    """
    lacks_ending = bool(text) and not text.endswith(("\n", "\r"))
    ending = find_main_ending(text)
    work = text + ending if lacks_ending else text  # hunks are whole lines, so the last line needs an ending
    spans: list[Replacement] = []
    match_kinds: list[MatchKind] = []
    end = changed_to = 0
    for number, hunk in enumerate(hunks, 1):
        outcome = _locate_hunk(work, hunk, end)
        if isinstance(outcome, EditRefused) and changed_to < end and hunk.old:
            second_outcome = _locate_hunk(
                work, hunk, changed_to
            )  # its first lines may be the last lines of the previous hunk
            outcome = second_outcome if isinstance(second_outcome, EditMatch) else outcome
        if isinstance(outcome, EditRefused):
            which = f"hunk {number} of {len(hunks)}" if len(hunks) > 1 else "the hunk"
            message = f"{which} does not apply: {outcome.message}"
            raise HunkFailed(message, old="\n".join(hunk.old), similarity=outcome.similarity)
        full_span = outcome.spans[0]
        span = _trim_unchanged_lines(work, full_span)
        end, changed_to = max(end, full_span.end), max(changed_to, span.end)
        spans.append(span)
        if outcome.match_kind != "exact" and outcome.match_kind not in match_kinds:
            match_kinds.append(outcome.match_kind)
    patched = EditMatch(match_kind="exact", spans=tuple(spans)).apply(work)
    return PatchedText(
        text=patched.removesuffix(ending) if lacks_ending else patched,
        match_kinds=tuple(match_kinds),
        changed=tuple(list_new_ranges(spans)),
    )


def list_new_ranges(spans: Sequence[Replacement]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each replacement's text after all of them are applied."""
    moved = 0
    for span in spans:
        start = span.start + moved
        yield start, start + len(span.text)
        moved += len(span.text) - (span.end - span.start)


def _trim_unchanged_lines(text: str, span: Replacement) -> Replacement:
    """Return the replacement without unchanged lines at its ends."""
    before, after = split_lines(text[span.start : span.end]), split_lines(span.text)
    limit = min(len(before), len(after))
    head = 0
    while head < limit and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < limit - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    start = span.start + sum(map(len, before[:head]))
    end = span.end - sum(map(len, before[len(before) - tail :]))
    return Replacement(start=start, end=end, text="".join(after[head : len(after) - tail]))


def _locate_hunk(text: str, hunk: PatchHunk, cursor: int) -> EditMatch | EditRefused:
    """Return where one hunk applies."""
    block = _find_block(text, hunk.headers, cursor)
    if not hunk.old:
        return _locate_insertion(text, hunk, block, cursor)
    regions = [(cursor, len(text))] if block is None else [block, (block[0], len(text))]
    if hunk.at_end:
        tail = _find_tail(text, len(hunk.old), cursor)
        regions = [(tail, len(text)), *regions]
    refused: EditRefused | None = None
    for start, end in regions:
        outcome = _match_hunk(text, hunk, start, end)
        if isinstance(outcome, EditMatch) or outcome.reason != "not found":
            return outcome
        refused = outcome
    was_limited = cursor or (block is not None and block[0])
    everywhere = _match_hunk(text, hunk, 0, len(text)) if was_limited else refused
    if isinstance(everywhere, EditMatch):
        where = get_line_number(text, everywhere.spans[0].start)
        if not cursor:
            return EditRefused(
                reason="not found",
                message=f"its lines begin on line {where}, above {hunk.headers[-1]!r}; name a line above them, or none",
            )
        message = (
            f"its lines begin on line {where}, before the hunk above it; put hunks in the order of the file: "
            "move this one up"
        )
        return EditRefused(reason="not found", message=message)
    return everywhere or EditRefused(reason="not found", message="there is no text to search")


def _match_hunk(text: str, hunk: PatchHunk, start: int, end: int) -> EditMatch | EditRefused:
    """Match a hunk to a part of the text; offsets are those of the whole."""
    old = "".join(line + "\n" for line in hunk.old)
    new = "".join(line + "\n" for line in hunk.new)
    part = text[start:end]
    outcome = match_edit(part, old, new, whole_lines=True, first_line=get_line_number(text, start))
    if isinstance(outcome, EditRefused):
        return outcome
    spans = tuple(Replacement(start=span.start + start, end=span.end + start, text=span.text) for span in outcome.spans)
    return EditMatch(match_kind=outcome.match_kind, spans=spans)


def _locate_insertion(
    text: str, hunk: PatchHunk, block: tuple[int, int] | None, cursor: int
) -> EditMatch | EditRefused:
    """Return the place of a hunk without old lines: below its `@@` line, or at the end of the file."""
    if hunk.headers and block is None:
        return _refuse_missing_header(text, hunk, cursor)
    at = len(text)
    if block is not None and not hunk.at_end:
        line = split_lines(text[block[0] : block[1]])[0]
        at = block[0] + len(line)
    ending = find_main_ending(text)
    added = "".join(line + ending for line in hunk.new)
    return EditMatch(match_kind="exact", spans=(Replacement(start=at, end=at, text=added),))


def _refuse_missing_header(text: str, hunk: PatchHunk, cursor: int) -> EditRefused:
    """Return the refusal of an insertion below a line that does not exist, with the most similar lines."""
    header = hunk.headers[-1]
    if cursor and _find_block(text, hunk.headers, 0) is not None:
        message = f"{header!r} is before the hunk above it; put hunks in the order of the file: move this one up"
        return EditRefused(reason="not found", message=message)
    bodies = [strip_ending(line) for line in split_lines(text)]
    keys = {line.strip(): at for at, line in reversed(list(enumerate(bodies))) if line.strip()}
    near = get_close_matches(header, keys, n=3, cutoff=0.6)
    message = f"no line reads {header!r}; "
    if not near:
        return EditRefused(reason="not found", message=f"{message}add lines of context instead", similarity=0.0)
    rows = "\n".join(f"{keys[line] + 1}|{bodies[keys[line]]}" for line in near)
    return EditRefused(reason="not found", message=f"{message}copy the one you mean, or add lines of context:\n{rows}")


def _find_block(text: str, headers: Sequence[str], cursor: int) -> tuple[int, int] | None:
    """Return the range from the line of the last header to the end of the block it opens; None if not found.

    The block ends before the next line that is not indented deeper and begins with a letter or the like; closing
    brackets still belong to it.
    """
    if not headers:
        return None
    lines = split_lines(text[cursor:])
    at = -1
    for header in headers:
        found = _find_header_line(lines, header, at + 1)
        if found is None:
            return None
        at = found
    depth = len(get_indent(lines[at]).expandtabs(4))
    stop = len(lines)
    for number in range(at + 1, len(lines)):
        content = lines[number].strip()
        shallow = len(get_indent(lines[number]).expandtabs(4)) <= depth
        if content and shallow and (content[0].isalnum() or content[0] in "_@#\"'"):
            stop = number
            break
    start = cursor + sum(map(len, lines[:at]))
    return start, start + sum(map(len, lines[at:stop]))


def _find_header_line(lines: list[str], header: str, start: int) -> int | None:
    """Return the index of the first line equal to the header, otherwise of the first that begins with it.

    White space and typography are ignored. None if there is no such line.
    """
    goal = fold_typography(header).strip()
    keys = [fold_typography(strip_ending(line)).strip() for line in lines[start:]]
    for number, key in enumerate(keys):
        if key == goal:
            return start + number
    for number, key in enumerate(keys):
        if key.startswith(goal):
            return start + number
    return None


def _find_tail(text: str, count: int, cursor: int) -> int:
    """Return where the last `count` lines begin, ignoring blank lines at the end, but not before the cursor."""
    lines = split_lines(text)
    blank = 0
    while blank < len(lines) and not lines[-1 - blank].strip():
        blank += 1
    keep = min(len(lines), count + blank)
    return max(cursor, len(text) - sum(map(len, lines[len(lines) - keep :])))
