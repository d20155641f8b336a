"""Find the sentences that a user wrote in a message, without code, quotations, logs and other pasted text.

What is left out is masked: each of its characters is replaced by a space, or by `FILLER` if it is inside a sentence.
So no rule matches in it, and an offset in the masked text is the same offset in the original.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator

from msgspec import Struct

from clio.memory.preferences.rule_files import english_rules
from clio.text.lazy_regex import LazyRegex

_EN = english_rules("sentences")

FILLER = "¤"
MAX_CHARS = 8_000
"""A longer message is mostly pasted text: only its first and its last 4,000 characters are read."""
MAX_SENTENCE = 300
"""Characters; a longer sentence states no preference."""

_FENCED = LazyRegex(r"^[ \t]*(?P<fence>```+|~~~+).*?(?:^[ \t]*(?P=fence)|\Z)", re.DOTALL | re.MULTILINE, needs="`` ~~")
_TAG = LazyRegex(r"<(?P<end>/?)(?P<name>[A-Za-z][\w-]*)(?: [^<>\n]*)?>", needs="<")
_QUOTE = LazyRegex(
    r"``[^`\n]+``|`[^`\n]+`|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|\"[^\"\n]*\""
    r"|(?<!\w)'[^'\n]{1,200}'(?!\w)|‘[^'\n]{1,200}'(?!\w)",
    needs="` “ „ « \" ' ‘",
)
_PASTED_LINE = LazyRegex(
    r"\s*>|\t| {4,}\S|[$%] \S|\S+@\S+[:~ ].*[$#] |\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d"
    r"|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|TRACE)\b|\w*(?:Error|Exception|Warning): |remote: |fatal: "
    r"|error(?:\[\w+\])?: |warning: |npm |E  |at \S+\("
    r"|(?:SYSTEM|[Ss]ystem|USER|[Uu]ser|HUMAN|[Hh]uman|ASSISTANT|[Aa]ssistant): |<\||\[/?INST\]",  # lines of a chat
    needs=(
        *(">", "\t", "    ", "$ ", "% ", "@", "-", ":", "npm ", "e  ", "(", "<|", "["),
        *("error", "warn", "info", "debug", "fatal", "trace"),
    ),
)
_PASTED_TEXT_START = LazyRegex(
    r"#{1,6} \S|diff --git |@@ |\+\+\+ |--- \S|Traceback |---+\s*$|From: |Subject: |Begin forwarded",
    needs="# diff @@ +++ -- traceback from: subject: forwarded",
)
"""Lines that begin pasted text that goes on to the end of the message: a document, diff, traceback or mail."""
_COLON_AT_END = LazyRegex(r":\s*$", needs=":")
_INTRODUCES_OWN_LIST = _EN.pattern("own_list")
_INTRODUCES_PASTED_TEXT = _EN.pattern("handed_over")
_BULLET = LazyRegex(r"\s*(?:[-*•–]|\d{1,2}[.)])\s+")
_SENTENCE_END = LazyRegex(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?<![\s.])[.!?…]+(?=\s|$)|(?<=\s)[.!?…]+(?=\s*$)|;(?=\s|$)|\n",
    re.MULTILINE,
)
"""Points after a blank are an omission within a sentence: "SELECT … FOR UPDATE"."""


_NUMBERED_LINE = LazyRegex(r"^.*(?<!\S)1\. \S.*(?<!\S)2\. \S.*$", re.MULTILINE)
_NUMBER_POINT = LazyRegex(r"(?<!\S)(\d{1,2})\.(?= \S)")


class WrittenSentence(Struct, frozen=True, kw_only=True):
    """One sentence without its end mark.

    Attributes:
        text: as written.
        masked: text of the same length, with `FILLER` in place of quotations and code.
        mark: the end mark, such as "?!"; empty at the end of a line.
    """

    text: str
    masked: str
    is_question: bool
    mark: str = ""


def read_own_sentences(text: str, max_chars: int = MAX_SENTENCE) -> list[WrittenSentence]:
    """Return the sentences that the user wrote, in order, without those longer than `max_chars` characters.

    In the text of the sentences, typographic apostrophes are replaced by straight ones.
    """
    if len(text) > MAX_CHARS:
        text = f"{text[: MAX_CHARS // 2]}\n{text[-MAX_CHARS // 2 :]}"
    text = text.replace("\r\n", "\n").replace("’", "'")
    return list(_split_sentences(text, _mask_pasted_text(text), max_chars))


def mask_blocks(text: str) -> str:
    """Return the text, of the same length, with spaces in place of fenced code and of text between tags.

    A tag that begins a line and is never closed ends with the text; elsewhere it is a placeholder: "X-Id: <uuid>".
    """
    return _mask_elements(_FENCED.sub(lambda block: _blank(block[0]), text))


def _mask_elements(text: str) -> str:
    tags = list(_TAG.finditer(text))
    ends: dict[str, list[int]] = {}
    for tag in tags:
        if tag["end"]:
            ends.setdefault(tag["name"], []).append(tag.end())
    pieces: list[str] = []
    done = 0
    for tag in tags:
        if tag["end"] or tag.start() < done:
            continue
        closing = ends.get(tag["name"], [])
        place = bisect_left(closing, tag.end())
        begins_line = not text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()].strip()
        if place == len(closing) and not begins_line:
            continue
        end = closing[place] if place < len(closing) else len(text)
        pieces += (text[done : tag.start()], _blank(text[tag.start() : end]))
        done = end
    return "".join((*pieces, text[done:]))


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def mask_quotes(text: str) -> str:
    """Return the text, of the same length, with `FILLER` in place of quotations and code within a line."""
    return _QUOTE.sub(lambda quote: re.sub(r"\S", FILLER, quote[0]), text)


def is_pasted_line(line: str) -> bool:
    """Whether a line is quoted, or copied from a log, a shell or another conversation."""
    return _PASTED_LINE.match(line) is not None


def _mask_pasted_text(text: str) -> str:
    """Return the text, of the same length, with everything masked that the user pasted or quoted.

    A line that ends with a colon introduces pasted text, unless it announces a list of the user's own points.
    """
    masked = mask_blocks(text)
    lines = masked.split("\n")
    for number, line in enumerate(lines):
        if _PASTED_TEXT_START.match(line):
            lines[number:] = [" " * len(rest) for rest in lines[number:]]
            break
        if is_pasted_line(line):
            lines[number] = " " * len(line)
        elif _COLON_AT_END.search(line) and not _introduces_own_list(line) and any(map(str.strip, lines[number + 1 :])):
            lines[number + 1 :] = [" " * len(rest) for rest in lines[number + 1 :]]
            break
    return mask_quotes("\n".join(lines))


def _introduces_own_list(introduction: str) -> bool:
    return bool(_INTRODUCES_OWN_LIST.search(introduction)) and not _INTRODUCES_PASTED_TEXT.search(introduction)


def _hide_numbering(masked: str) -> str:
    """Return the text, of the same length, without the points of a list in one line: "1. lint 2. test"."""
    if "1. " not in masked or "2. " not in masked:
        return masked
    return _NUMBERED_LINE.sub(lambda line: _NUMBER_POINT.sub(rf"\1{FILLER}", line[0]), masked)


def _split_sentences(text: str, masked: str, max_chars: int) -> Iterator[WrittenSentence]:
    start = 0
    for end in [*_SENTENCE_END.finditer(_hide_numbering(masked)), None]:
        stop = end.start() if end else len(masked)
        bullet = _BULLET.match(masked, start, stop)
        begin = bullet.end() if bullet else start
        begin += len(masked[begin:stop]) - len(masked[begin:stop].lstrip())
        stop -= len(masked[begin:stop]) - len(masked[begin:stop].rstrip())
        if begin < stop <= begin + max_chars and masked[begin:stop].strip():
            mark = end[0].strip() if end else ""
            yield WrittenSentence(text=text[begin:stop], masked=masked[begin:stop], is_question="?" in mark, mark=mark)
        start = end.end() if end else len(masked)
