"""The sentences a user wrote in a message, without code, quotations, logs and other pasted text.

Quotations and code inside a sentence are replaced by `FILLER`, character by character, so that no rule matches inside
them and every offset in the masked sentence is the same offset in the original.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from clio.memory.preferences.rule_files import english_rules
from clio.text.lazy_regex import LazyRegex

_EN = english_rules("sentences")

FILLER = "¤"
MAX_CHARS = 8_000
"""A longer message is mostly pasted: only half as much of its beginning and of its end is read."""
MAX_SENTENCE = 300

_BLOCKS = LazyRegex(
    r"^[ \t]*(?P<fence>```+|~~~+).*?(?:^[ \t]*(?P=fence)|\Z)"  # code between fences
    r"|<(?P<tag>[A-Za-z][\w-]*)(?: [^<>\n]*)?>.*?(?:</(?P=tag)>|\Z)",  # what is between tags
    re.DOTALL | re.MULTILINE,
    needs="`` ~~ <",
)
_QUOTES = LazyRegex(
    r"``[^`\n]+``|`[^`\n]+`|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|\"[^\"\n]*\""
    r"|(?<!\w)'[^'\n]{1,200}'(?!\w)|‘[^'\n]{1,200}'(?!\w)",
    needs="` “ „ « \" ' ‘",
)
_PASTED_LINE = LazyRegex(
    r"\s*>|\t| {4,}\S|[$%] \S|\S+@\S+[:~ ].*[$#] |\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d"
    r"|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|TRACE)\b|\w*(?:Error|Exception|Warning): |remote: |fatal: "
    r"|error(?:\[\w+\])?: |warning: |npm |E  |at \S+\("
    r"|(?:SYSTEM|[Ss]ystem|USER|[Uu]ser|HUMAN|[Hh]uman|ASSISTANT|[Aa]ssistant): |<\||\[/?INST\]",  # of a chat
    needs=(
        *(">", "\t", "    ", "$ ", "% ", "@", "-", ":", "npm ", "e  ", "(", "<|", "["),
        *("error", "warn", "info", "debug", "fatal", "trace"),
    ),
)
_PASTED_REST = LazyRegex(
    r"#{1,6} \S|diff --git |@@ |\+\+\+ |--- \S|Traceback |---+\s*$|From: |Subject: |Begin forwarded",
    needs="# diff @@ +++ -- traceback from: subject: forwarded",
)
_INTRODUCTION = LazyRegex(r":\s*$", needs=":")
_OWN_LIST = _EN.pattern("own_list")
_HANDED_OVER = _EN.pattern("handed_over")
_BULLET = LazyRegex(r"\s*(?:[-*•–]|\d{1,2}[.)])\s+")
_ENDS = LazyRegex(r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)[.!?…]+(?=\s|$)|;(?=\s|$)|\n")


class Said(Struct, frozen=True, kw_only=True):
    """One sentence without its end mark.

    Attributes:
        text: as written.
        masked: of the same length, with `FILLER` in place of quoted text.
        mark: the end mark, such as "?!"; empty at the end of a line.
    """

    text: str
    masked: str
    is_question: bool
    mark: str = ""


def own_sentences(text: str, longest: int = MAX_SENTENCE) -> list[Said]:
    """Return the sentences that the user wrote, in order, without those longer than `longest` characters."""
    if len(text) > MAX_CHARS:
        text = f"{text[: MAX_CHARS // 2]}\n{text[-MAX_CHARS // 2 :]}"
    text = text.replace("\r\n", "\n").replace("’", "'")
    return list(_sentences(text, _mask_pasted_text(text), longest))


def mask_blocks(text: str) -> str:
    """Return the text, of the same length, with spaces in place of fenced code and of text between tags."""
    return _BLOCKS.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)


def mask_quotes(text: str) -> str:
    """Return the text, of the same length, with `FILLER` in place of quotations and code within a line."""
    return _QUOTES.sub(lambda quote: re.sub(r"\S", FILLER, quote[0]), text)


def is_pasted_line(line: str) -> bool:
    """Whether a line is quoted, or copied from a log, a shell or another conversation."""
    return _PASTED_LINE.match(line) is not None


def _mask_pasted_text(text: str) -> str:
    masked = mask_blocks(text)
    lines = masked.split("\n")
    for number, line in enumerate(lines):
        if _PASTED_REST.match(line):
            lines[number:] = [" " * len(rest) for rest in lines[number:]]
            break
        if is_pasted_line(line):
            lines[number] = " " * len(line)
        elif _INTRODUCTION.search(line) and not _introduces_own_list(line) and any(map(str.strip, lines[number + 1 :])):
            lines[number + 1 :] = [" " * len(rest) for rest in lines[number + 1 :]]
            break
    return mask_quotes("\n".join(lines))


def _introduces_own_list(introduction: str) -> bool:
    return bool(_OWN_LIST.search(introduction)) and not _HANDED_OVER.search(introduction)


def _sentences(text: str, masked: str, longest: int) -> Iterator[Said]:
    start = 0
    for end in [*_ENDS.finditer(masked), None]:
        stop = end.start() if end else len(masked)
        bullet = _BULLET.match(masked, start, stop)
        begin = bullet.end() if bullet else start
        begin += len(masked[begin:stop]) - len(masked[begin:stop].lstrip())
        stop -= len(masked[begin:stop]) - len(masked[begin:stop].rstrip())
        if begin < stop <= begin + longest and masked[begin:stop].strip():
            mark = end[0].strip() if end else ""
            yield Said(text=text[begin:stop], masked=masked[begin:stop], is_question="?" in mark, mark=mark)
        start = end.end() if end else len(masked)
