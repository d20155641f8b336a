"""Markdown cut into blocks while it streams: what is finished never changes again, only the last block is open.

The pieces depend on the text alone, not on how it was cut into deltas. The work for a delta is bounded by its own
length and `MAX_BLOCK`, never by the length of the answer.
"""

import re
from typing import Literal

from msgspec import Struct

from clio.text.lazy_regex import LazyRegex

MAX_BLOCK = 4000  # characters an open block may have before its beginning is called finished

_FENCE = LazyRegex(r"^( *)(`{3,}|~{3,})[ \t]*([^`\n]*?)[ \t]*$")
_HEADING = LazyRegex(r"^ {0,3}#{1,6}(?:[ \t]|$)")
_RULE = LazyRegex(r"^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_ITEM = LazyRegex(r"^( {0,3})([-*+]|\d{1,9}[.)])([ \t]+)(?=\S)")
_TABLE_RULE = LazyRegex(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")

Open = Literal["nothing", "paragraph", "table", "quote", "list", "code"]


class Piece(Struct, frozen=True, kw_only=True):
    """A part of the answer that is shown as one.

    kind: "prose" is Markdown; "code" is one line inside a fence, without its newline.
    joined: it continues the piece before it, with no blank line between.
    """

    kind: Literal["prose", "code"]
    text: str
    language: str = ""
    joined: bool = False


class _Fence(Struct, frozen=True):
    indent: int
    mark: str
    language: str

    def closes(self, line: str) -> bool:
        text = line.strip()
        return len(text) >= len(self.mark) and text == self.mark[0] * len(text)


class BlockSplitter:
    """Takes the answer's deltas, gives its finished pieces; `tail` is what is still open."""

    def __init__(self) -> None:
        self._partial = ""
        self._open: Open = "nothing"
        self._lines: list[str] = []
        self._chars = 0
        self._joined = False
        self._fence: _Fence | None = None
        self._item_indent = 0
        self._item_mark = ""
        self._gap = False
        self._out: list[Piece] = []

    def feed(self, text: str) -> list[Piece]:
        """The pieces that this text has finished."""
        rest = self._partial + text
        start = 0
        while (end := rest.find("\n", start)) >= 0 or len(rest) - start > MAX_BLOCK:
            if end < 0 or end - start > MAX_BLOCK:
                space = rest.rfind(" ", start + MAX_BLOCK // 2, start + MAX_BLOCK)
                end = space + 1 if space > 0 else start + MAX_BLOCK
                self._line(rest[start:end])
                self._overflow()
                start = end
            else:
                self._line(rest[start:end])
                start = end + 1
        self._partial = rest[start:]
        return self._take()

    def finish(self) -> list[Piece]:
        """The last pieces, at the end of the answer; the splitter is then as new."""
        if self._partial:
            self._line(self._partial)
        self._flush()
        pieces = self._take()
        self.__init__()
        return pieces

    @property
    def in_code(self) -> bool:
        """Whether a fence is open."""
        return self._open == "code"

    @property
    def tail(self) -> Piece | None:
        """What has come and is not finished, as it would look if the answer ended here."""
        if self._open == "code" and self._fence is not None:
            if not self._partial or self._fence.closes(self._partial + self._fence.mark[0] * 2):
                return None
            text = _dedent(self._partial, self._fence.indent)
            return Piece(kind="code", text=text, language=self._fence.language, joined=self._joined)
        lines = [*self._lines, self._partial] if self._partial.strip() else self._lines
        if not any(line.strip() for line in lines):
            return None
        return Piece(kind="prose", text="\n".join(lines), joined=self._joined)

    def _take(self) -> list[Piece]:
        pieces, self._out = self._out, []
        return pieces

    def _line(self, line: str) -> None:
        match self._open:
            case "code":
                self._code_line(line)
            case "list":
                if not self._list_line(line):
                    self._flush()
                    self._begin(line)
            case "nothing":
                self._begin(line)
            case "paragraph" | "table" | "quote":
                self._flow_line(line)
        if self._chars > MAX_BLOCK:
            self._overflow()

    def _begin(self, line: str) -> None:
        """The first line of a block."""
        if not line.strip():
            return
        if (fence := _fence(line)) is not None and fence.indent < 4:
            self._open, self._fence, self._joined = "code", fence, False
        elif _HEADING.match(line) or _RULE.match(line):
            self._add(line)
            self._flush()
        elif (item := _ITEM.match(line)) is not None:
            self._begin_item(line, item)
        else:
            self._open = "quote" if line.lstrip().startswith(">") else "paragraph"
            self._add(line)

    def _begin_item(self, line: str, item: re.Match[str]) -> None:
        self._open, self._gap, self._fence = "list", False, None
        self._item_mark = item[2][-1]
        self._item_indent = min(len(item[0]), len(item[1]) + len(item[2]) + 4)
        self._add(line)
        self._inner_fence(line[self._item_indent :])

    def _flow_line(self, line: str) -> None:
        """The next line of a paragraph, a table or a quotation."""
        if not line.strip():
            self._flush()
        elif self._interrupts(line):
            self._flush()
            self._begin(line)
        else:
            if len(self._lines) == 1 and "|" in self._lines[0] and _TABLE_RULE.match(line):
                self._open = "table"
            self._add(line)

    def _interrupts(self, line: str) -> bool:
        """Whether a line ends the paragraph before it without a blank line between."""
        if ((fence := _fence(line)) is not None and fence.indent < 4) or _HEADING.match(line):
            return True
        if self._open != "paragraph":
            return False
        item = _ITEM.match(line)
        is_item = item is not None and item[2] in ("-", "*", "+", "1.", "1)") and not _RULE.match(line)
        return is_item or line.startswith(">")

    def _list_line(self, line: str) -> bool:
        """Take a line into the list; False if the list ends before it."""
        if self._fence is not None:
            if self._fence.closes(line):
                self._fence = None
            self._add(line)
            return True
        if not line.strip():
            self._gap = True
            self._add("")
            return True
        indent = len(line) - len(line.lstrip())
        if indent >= min(self._item_indent, 2):
            self._inner_fence(line)
        elif (item := _ITEM.match(line)) is not None and not _RULE.match(line):
            same_list = item[2][-1] == self._item_mark
            self._flush()
            self._joined = same_list
            self._begin_item(line, item)
            return True
        elif self._gap or _fence(line) is not None or _HEADING.match(line) or _RULE.match(line):
            return False
        self._gap = False
        self._add(line)
        return True

    def _inner_fence(self, line: str) -> None:
        self._fence = _fence(line)

    def _code_line(self, line: str) -> None:
        fence = self._fence
        if fence is None or fence.closes(line):
            self._open, self._fence, self._joined = "nothing", None, False
            return
        text = _dedent(line, fence.indent)
        self._out.append(Piece(kind="code", text=text, language=fence.language, joined=self._joined))
        self._joined = True

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._chars += len(line) + 1

    def _flush(self) -> None:
        """End the open block and hand out what it holds."""
        self._hand_out()
        self._open, self._fence, self._joined, self._gap = "nothing", None, False, False

    def _hand_out(self) -> None:
        text = "\n".join(self._lines).strip("\n")
        if text.strip():
            self._out.append(Piece(kind="prose", text=text, joined=self._joined))
        self._lines, self._chars = [], 0

    def _overflow(self) -> None:
        """Hand out the beginning of a block that has become too long, and go on with the rest of it."""
        if self._open in ("nothing", "code"):
            return
        again: list[str] = []
        if self._open == "table":
            again = self._lines[:2]  # the heading, so that the rest is a table too
        elif self._open == "list" and self._fence is not None:
            again = [f"{self._fence.mark}{self._fence.language}"]
        self._hand_out()
        self._joined = True
        self._lines, self._chars = again, 0


def _fence(line: str) -> _Fence | None:
    found = _FENCE.match(line)
    return _Fence(len(found[1]), found[2], found[3].split(" ")[0]) if found else None


def _dedent(line: str, indent: int) -> str:
    """The line without as many leading spaces as its fence had."""
    return line[min(indent, len(line) - len(line.lstrip(" "))) :]
