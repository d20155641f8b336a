"""Diffs as HTML: each line is told by its mark and its colour, and the words that changed stand out."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from html import escape
from itertools import groupby

from clio.algorithms.late_pattern import LatePattern

MAX_LINES = 4_000
"""A longer diff is shown without colours."""
MAX_ALL = 60_000
"""Lines coloured in one page."""
_MAX_WORDS, _MAX_PAIRS = 160, 400  # beyond these, lines are coloured whole
_LEAST_ALIKE = 0.5
_WORDS = LatePattern(r"\w+|\s+|[^\w\s]")
_HUNK = LatePattern(r"^@@ .*@@|^@@")
_FILE_LINES = ("diff --git ", "index ", "--- ", "+++ ", "*** ", "rename ", "similarity ", "new file ", "deleted file ")


def is_diff(text: str) -> bool:
    """Whether a tool's output is a unified diff from its beginning or soon after."""
    head = "\n" + text[:4_000]
    named = "\ndiff --git " in head or (head.startswith("\n--- ") and "\n+++ " in head)
    return named and "\n@@ " in head


class Diffs:
    """Colours the diffs of one page, within what one page can bear."""

    def __init__(self) -> None:
        self._left = MAX_ALL

    def html(self, text: str) -> str:
        """A unified diff, or a patch in clio's own form. Lines of one kind share an element."""
        lines = text.removesuffix("\n").split("\n")
        if len(lines) > min(MAX_LINES, self._left):
            return escape(text)
        self._left -= len(lines)
        return "".join(
            _element(kind, [line for _, line in group])
            for kind, group in groupby(_lines(lines), key=lambda line: line[0])
        )


def _lines(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Each line's kind and its HTML."""
    at, pairs = 0, _MAX_PAIRS
    while at < len(lines):
        old = _run(lines, at, "-")
        new = _run(lines, at + len(old), "+")
        if old or new:
            alike = min(len(old), len(new), pairs)
            pairs -= alike
            marked = [_marked(before[1:], after[1:]) for before, after in zip(old[:alike], new[:alike], strict=True)]
            yield from (("del", "-" + before) for before, _ in marked)
            yield from (("del", escape(line)) for line in old[alike:])
            yield from (("ins", "+" + after) for _, after in marked)
            yield from (("ins", escape(line)) for line in new[alike:])
            at += len(old) + len(new)
        else:
            yield _kind(lines[at]), escape(lines[at])
            at += 1


def _element(kind: str, lines: list[str]) -> str:
    """The newlines are inside, so that copied text has its lines."""
    text = "\n".join(lines) + "\n"
    return f'<span class="l {kind}">{text}</span>' if kind else text


def _run(lines: list[str], start: int, mark: str) -> list[str]:
    end = start
    while end < len(lines) and lines[end].startswith(mark) and not _is_file_line(lines, end):
        end += 1
    return lines[start:end]


def _is_file_line(lines: list[str], at: int) -> bool:
    """Whether `--- a` or `+++ b` names a file: such a pair stands before a hunk, a changed line does not."""
    if lines[at].startswith("--- "):
        return at + 1 < len(lines) and lines[at + 1].startswith("+++ ")
    return lines[at].startswith("+++ ") and at > 0 and lines[at - 1].startswith("--- ")


def _kind(line: str) -> str:
    if _HUNK.match(line):
        return "hunk"
    return "file" if line.startswith(_FILE_LINES) else ""


def _marked(before: str, after: str) -> tuple[str, str]:
    """Both lines with the words that differ marked; unmarked where too little is alike."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if max(len(old), len(new)) > _MAX_WORDS:
        return escape(before), escape(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < _LEAST_ALIKE:
        return escape(before), escape(after)
    left: list[str] = []
    right: list[str] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        gone, come = escape("".join(old[i1:i2])), escape("".join(new[j1:j2]))
        left.append(gone if tag == "equal" or not gone else f"<b>{gone}</b>")
        right.append(come if tag == "equal" or not come else f"<b>{come}</b>")
    return "".join(left), "".join(right)
