"""Load the rules by which statements are read: `languages/<code>.json`, one file for each language.

The file of English has sections, because its grammar is read by several modules: word lists, maps and regular
expressions by name (`RuleSection`). The files of the other languages have the fields of `language_rules.LanguageRules`.

A regular expression is a string, or is divided so that each alternative is easy to find and to add:

    ["a", "b"]                           a|b; inside of another one (?:a|b)
    {"all": ["x ", ["a", "b"]]}          x (?:a|b)
    {"open": "(?P<what>", "any": ["a"]}  (?P<what>a)
    "{name}"                             the text of `parts` with that name

It also divides a message into the sentences that the user wrote (`read_own_sentences`), without code, quotations, logs
and other pasted text. What is left out is masked: each of its characters is replaced by a space, or by `FILLER` if it
is inside a sentence. So no rule matches in it, and an offset in the masked text is the same offset in the original.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from clio.text.lazy_regex import LazyRegex

_FOLDER = Path(__file__).with_name("languages")
_PART = re.compile(r"\{([a-z][a-z_]*)\}")
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
_T = TypeVar("_T")


class Pattern(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A regular expression of several pieces: `all` in sequence, or alternatives, in a group if `open` begins one.

    Attributes:
        needs: see `LazyRegex`.
        flags: of "i", "m" and "s"; None: those of the section.
    """

    all: "tuple[str | tuple[str | Pattern, ...] | Pattern, ...]" = ()
    any: "tuple[str | Pattern, ...]" = ()
    open: str = ""
    needs: str = ""
    flags: str | None = None


Node: TypeAlias = str | tuple[str | Pattern, ...] | Pattern


class RuleSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One section of `en.json`.

    Attributes:
        words: word lists; each string has several words.
        maps: words or phrases and what each is replaced by or belongs to.
        parts: pieces of regular expressions that several of them contain.
        flags: of the regular expressions of this section.
        cues: by name, regular expressions with weights.
        triggers: by name of a rule, groups of words without which the rule cannot apply; see `Triggers`.
    """

    words: dict[str, tuple[str, ...]] = {}
    maps: dict[str, dict[str, str]] = {}
    parts: dict[str, Node] = {}
    flags: str = ""
    patterns: dict[str, Node] = {}
    cues: dict[str, tuple[tuple[float, Node], ...]] = {}
    triggers: dict[str, tuple[tuple[str, ...], ...]] = {}

    def word_set(self, name: str) -> frozenset[str]:
        """Return a word list."""
        return frozenset(" ".join(self.words[name]).split())

    def trigger(self, name: str) -> "Triggers":
        """Return the words without which a rule cannot apply: those under its name and under "name:…"."""
        keys = [key for key in self.triggers if key == name or key.startswith(f"{name}:")]
        return Triggers(tuple(tuple(map(self._make_group, self.triggers[key])) for key in keys))

    def _make_group(self, lines: tuple[str, ...]) -> "_Group":
        items = " ".join(lines).split()
        for reference in [item for item in items if item.startswith("{")]:
            for word in self.word_set(reference[1:-1]):
                items += (word, f"{word}s", f"{word}es", f"{word[:-1]}ies")
        single = frozenset(item for item in items if "+" not in item)
        return single, tuple(frozenset(item.split("+")) for item in items if "+" in item)

    def pattern(self, name: str) -> LazyRegex:
        """Return a regular expression, which is compiled when it is first used."""
        return self._compile(self.patterns[name])

    def cue_patterns(self) -> dict[str, tuple[tuple[float, LazyRegex], ...]]:
        """Return the weights and regular expressions of all cues."""
        return {name: tuple((weight, self._compile(cue)) for weight, cue in cues) for name, cues in self.cues.items()}

    def _compile(self, node: Node) -> LazyRegex:
        flags, needs = (node.flags, node.needs) if isinstance(node, Pattern) else (None, "")
        combined = 0
        for letter in self.flags if flags is None else flags:
            combined |= _FLAGS[letter]
        return LazyRegex(self.text(node), combined, needs=needs)

    def text(self, node: Node) -> str:
        """Return the text of a regular expression with its parts."""
        text = _join(node)
        return _PART.sub(lambda found: self.text(self.parts[found[1]]), text) if self.parts else text


_Group: TypeAlias = tuple[frozenset[str], tuple[frozenset[str], ...]]
"""Single words, and sets of words that count only together."""


class Triggers(Struct, frozen=True):
    """The words without which a rule cannot apply: one of each group of at least one of the lists of groups.

    They are a fast test before the rule's regular expressions, whose compilation takes most of the time. In the file,
    "all+projects" stands for both words, and "{artefacts}" for the words of a list and their plurals.
    """

    lists: tuple[tuple[_Group, ...], ...]

    def occur_in(self, words: frozenset[str]) -> bool:
        """Whether a text with these words may be one that the rule applies to."""
        return any(
            all(
                not single.isdisjoint(words) or any(several <= words for several in combined)
                for single, combined in groups
            )
            for groups in self.lists
        )


def _join(node: Node, *, nested: bool = False) -> str:
    if isinstance(node, str):
        return node
    if isinstance(node, tuple):
        choices = "|".join(_join(one, nested=True) for one in node)
        return f"(?:{choices})" if nested else choices
    if node.all:
        return "".join(_join(one, nested=True) for one in node.all)
    choices = "|".join(_join(one, nested=True) for one in node.any)
    return f"{node.open}{choices})" if node.open else choices


@cache
def load_rule_file(code: str, type: type[_T]) -> _T:
    """Return the content of `languages/<code>.json`. Cached."""
    return msgspec.json.decode((_FOLDER / f"{code}.json").read_bytes(), type=type)


@cache
def english_rules(section: str) -> RuleSection:
    """Return a section of the English rules. Cached."""
    return msgspec.json.decode(load_rule_file("en", dict[str, msgspec.Raw])[section], type=RuleSection)


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
