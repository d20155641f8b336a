"""The text that takes the place of a match: the model's words in the file's own line endings and indentation."""

from difflib import SequenceMatcher

from clio.tools.files.edit_indent import any_shift
from clio.tools.files.edit_match import Match, fold
from clio.tools.files.text_lines import NEWLINE, body, ending, indent, split_lines

_OPENS = (":", "{", "(", "[", "=", "=>", "->", "\\")
_MAX_PAIRS = 4_000_000
"""Lines searched × lines of the replacement; beyond it only the ends that are equal are kept."""


def merged(text: str, match: Match, old: str, new: str) -> str:
    """What to put at the match. `old` and `new` have newlines only.

    Lines that `old` and `new` share are not the model's business: they stay as the file has them, byte for byte.
    """
    new = _indented_like_first(text, match, old, new)
    if not match.by_line:
        return _reflowed(text, match, old, new)
    if "\n" not in new and text[match.start : match.end] == old and "\n" not in old:
        return new  # a word in many places must not cost a comparison of lines in each
    ours, searched, wanted = split_lines(text[match.start : match.end]), split_lines(old), split_lines(new)
    local = _local_ending(text, match)
    bare_end = bool(ours) and old.endswith("\n") and not ending(ours[-1])
    if bare_end:  # the file's last line, which has no ending although the search has one
        ours[-1] += local
    if len(ours) != len(searched):  # the lines have no counterparts
        return NEWLINE.sub(local, new)
    pieces: list[str] = []
    for tag, i1, i2, j1, j2 in _opcodes(searched, wanted):
        if tag == "equal":
            pieces += ours[i1:i2]
            continue
        alike = i2 - i1 == j2 - j1
        for number in range(j1, j2):
            there = i1 + number - j1
            sample = ending(ours[there]) if there < i2 else ""
            line = wanted[number]
            if alike:
                line = _keep_characters(ours[there], searched[there], line)
            line = match.shift.apply(line) if match.shift and line == wanted[number] else line
            pieces.append(body(line) + (sample or local if line.endswith("\n") else ""))
    result = "".join(pieces)
    return result.removesuffix(local) if bare_end else result


def _indented_like_first(text: str, match: Match, old: str, new: str) -> str:
    """The replacement of one line that was searched without its indentation, the further lines indented as it is.

    They stay where they already are: each at least as deep as the line in the file, and the second one deeper where
    the first opens a block.
    """
    if "\n" not in new.rstrip("\n") or "\n" in old.rstrip("\n") or old[:1].isspace() or new[:1].isspace():
        return new
    line_start = max(text.rfind("\n", 0, match.start), text.rfind("\r", 0, match.start)) + 1
    before = text[line_start : match.start]
    if not before or before.strip(" \t"):
        return new
    first, *others = split_lines(new)
    depths = [len(indent(line).expandtabs(4)) for line in others if line.strip()]
    least = len(before.expandtabs(4)) + body(first).rstrip().endswith(_OPENS)
    if depths and depths[0] >= least and min(depths) >= len(before.expandtabs(4)):
        return new
    shift = any_shift([("", before)])
    return first + "".join(map(shift.apply, others))


def _opcodes(searched: list[str], wanted: list[str]) -> list[tuple[str, int, int, int, int]]:
    """As difflib's, cheap for large blocks with equal ends."""
    limit = min(len(searched), len(wanted))
    head = 0
    while head < limit and searched[head] == wanted[head]:
        head += 1
    tail = 0
    while tail < limit - head and searched[-1 - tail] == wanted[-1 - tail]:
        tail += 1
    left, right = searched[head : len(searched) - tail], wanted[head : len(wanted) - tail]
    middle: list[tuple[str, int, int, int, int]] = []
    if left or right:
        middle = [("replace", 0, len(left), 0, len(right))]
        if len(left) * len(right) <= _MAX_PAIRS:
            middle = list(SequenceMatcher(None, left, right, autojunk=False).get_opcodes())
    return [
        ("equal", 0, head, 0, head),
        *((tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in middle),
        ("equal", len(searched) - tail, len(searched), len(wanted) - tail, len(wanted)),
    ]


def _keep_characters(ours: str, searched: str, wanted: str) -> str:
    """The wanted line with the file's typographic characters where the searched line had their plain twins."""
    mine, theirs = body(ours), body(searched)
    if mine == theirs or len(mine) != len(theirs) or fold(mine) != fold(theirs):
        return wanted
    goal = body(wanted)
    pieces: list[str] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, theirs, goal, autojunk=False).get_opcodes():
        pieces.append(mine[i1:i2] if tag == "equal" else goal[j1:j2])
    return "".join(pieces) + wanted[len(goal) :]


def _reflowed(text: str, match: Match, old: str, new: str) -> str:
    """The replacement of a place whose lines break elsewhere than the search's: shifted like its first line."""
    core = new
    if old[:1].isspace():
        core = core.lstrip()
    if old[-1:].isspace():
        core = core.rstrip()
    line_start = max(text.rfind("\n", 0, match.start), text.rfind("\r", 0, match.start)) + 1
    before = text[line_start : match.start]
    if before.strip():
        return NEWLINE.sub(_local_ending(text, match), core)
    shift = any_shift([(indent(old.lstrip("\n")), before)])
    first, *others = split_lines(core) or [""]
    return NEWLINE.sub(_local_ending(text, match), first + "".join(shift.apply(line) for line in others))


def _local_ending(text: str, match: Match) -> str:
    """The line ending in use at a place: inside it, else at the end of its line, else of the line before."""
    near = NEWLINE.search(text, match.start, match.end) or NEWLINE.search(text, match.end)
    if near:
        return near[0]
    at = text.rfind("\n", 0, match.start)
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"
