"""Diffs as HTML: each line is told by its mark and its colour, and the words that changed stand out."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from html import escape

MAX_LINES = 4_000
"""A longer diff is shown without colours."""
_MAX_WORDS, _MAX_PAIRS = 160, 400  # beyond these, lines are coloured whole
_LEAST_ALIKE = 0.35
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_HUNK = re.compile(r"^@@ .*@@|^@@")
_FILE_LINES = ("diff --git ", "index ", "--- ", "+++ ", "*** ", "rename ", "similarity ", "new file ", "deleted file ")


def is_diff(text: str) -> bool:
    """Whether a tool's output is a unified diff from its beginning or soon after."""
    head = text[:4_000]
    return head.startswith(("diff --git ", "--- ")) or ("\ndiff --git " in head and "\n@@ " in head)


def diff_html(text: str) -> str:
    """A unified diff, or a patch in clio's own form, line by line."""
    lines = text.removesuffix("\n").split("\n")
    if len(lines) > MAX_LINES:
        return escape(text)
    return "".join(_lines(lines))


def _lines(lines: list[str]) -> Iterator[str]:
    at, pairs = 0, _MAX_PAIRS
    while at < len(lines):
        old = _run(lines, at, "-")
        new = _run(lines, at + len(old), "+")
        if old and len(old) == len(new) and pairs >= len(old):
            pairs -= len(old)
            marked = [_marked(before[1:], after[1:]) for before, after in zip(old, new, strict=True)]
            yield from (_line("del", "-" + before) for before, _ in marked)
            yield from (_line("ins", "+" + after) for _, after in marked)
            at += 2 * len(old)
        elif old or new:
            yield from (_line("del", escape(line)) for line in old)
            yield from (_line("ins", escape(line)) for line in new)
            at += len(old) + len(new)
        else:
            yield _line(_kind(lines[at]), escape(lines[at]))
            at += 1


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


def _line(kind: str, inner: str) -> str:
    """An element of its own each line, its newline inside, so that copied text has its lines."""
    return f'<span class="l {kind}">{inner}\n</span>' if kind else f'<span class="l">{inner}\n</span>'


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
