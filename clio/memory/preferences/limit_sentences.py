"""Splits a message into the user's own clauses, each as a list of words, for `limits` to judge one by one.

The words are lower case, with contractions joined ("do not" and "dont" are "don't") and frequent slips of the keyboard
corrected, so that the grammar of limits needs one spelling of each word.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from clio.memory.preferences.rule_files import english_rules
from clio.memory.preferences.sentences import is_pasted_line, mask_blocks, mask_quotes
from clio.text.lazy_regex import LazyRegex

_EN = english_rules("sentences")

MAX_CHARS = 200_000
"""Maximum length of a message; of a longer one only the beginning and the end are read."""
MAX_SENTENCE_WORDS = 90
"""Maximum number of words of a sentence; a longer one is split into pieces of this length."""

_ENDS = LazyRegex(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?<!\bapprox)[.!?…]+[)\]\"']*(?=\s|$)|;(?=\s|$)"
    r"|\n|(?<=\s)(?=\d{1,2}[.)]\s+[A-Za-z])"
)
_BULLET = LazyRegex(r"\s*(?:[-*•–+]|\d{1,2}[.)]|\[[ x]\]|\*\*)\s+")
_WORD = LazyRegex(r"\S+")
_WRAPPED = LazyRegex(r"(?<=[a-z,¤]{2})[ \t]*\n[ \t]*(?=[a-z])")
_HEADING = LazyRegex(r"\s*#{1,6}\s+(?P<title>.*)")
_REST_IS_PASTED = LazyRegex(
    r"diff --git |@@ |\+\+\+ |--- \S|Traceback |From: |Subject: |Begin forwarded|commit [0-9a-f]{7,40}\b"
)
_INTRODUCTION = LazyRegex(r":\s*$")

_OWN_HEADING = _EN.word_set("own_heading")
_OWN_INTRODUCTION = _EN.word_set("own_introduction")
_HANDED_OVER = _EN.word_set("handed_over")
_TEXT_TASKS = _EN.word_set("text_tasks")
_REPORTS = _EN.word_set("reports")
_QUESTION_WORDS = _EN.word_set("question_words")
_PAIRS = _EN.maps["pairs"]
_SPELLINGS = _EN.maps["spellings"]
_MISSPELT = ("never", "always", "please", "without", "avoid", "don't", "instead", "leave")
_ALIKE = _EN.word_set("alike")


class Word(Struct, frozen=True, gc=False):
    """One word. low: in lower case and corrected; start, end: its span in the sentence; mark: punctuation after it."""

    low: str
    start: int
    end: int
    mark: str


class OwnSentence(Struct, frozen=True, kw_only=True):
    """One sentence that the user wrote.

    Attributes:
        text: as written.
        words: of the masked text.
        is_question: whether it is a question.
        place: its number in the message, from 0.
        heading: for an item of a list, the heading or introductory line of the list.
    """

    text: str
    words: tuple[Word, ...]
    is_question: bool
    place: int
    heading: str = ""

    def slice(self, start: int, end: int) -> str:
        """Return the text from one word up to, but not including, another."""
        return self.text[self.words[start].start : self.words[end - 1].end] if start < end else ""


def read_sentences(text: str) -> Iterator[OwnSentence]:
    """Yield the sentences that the user wrote, in order, without code, quotations, logs and other pasted text."""
    if len(text) > MAX_CHARS:
        text = f"{text[: MAX_CHARS // 2]}\n{text[-MAX_CHARS // 2 :]}"
    text = text.replace("\r\n", "\n").replace("’", "'")
    masked = mask_quotes(_mask_pasted(mask_blocks(text)))
    masked = _WRAPPED.sub(lambda found: " " * len(found[0]), masked)
    place = 0
    heading = ""
    for start, stop, mark in _spans(masked):
        bullet = _BULLET.match(masked, start, stop)
        begin = bullet.end() if bullet else start
        words = read_words(masked[begin:stop])
        if not words:
            continue
        lows = [word.low for word in words]
        is_item = bullet is not None
        if not is_item and (
            words[-1].mark.endswith(":") or (len(words) <= 4 and _OWN_HEADING.intersection(lows) and "\n" in mark)
        ):
            heading = " ".join(lows)
        elif not is_item:
            heading = ""
        for at in range(0, len(words), MAX_SENTENCE_WORDS):
            part = words[at : at + MAX_SENTENCE_WORDS]
            asks = "?" in mark or is_interrogative([word.low for word in part[:3]])
            yield OwnSentence(
                text=text[begin:stop],
                words=tuple(part),
                is_question=asks,
                place=place,
                heading=heading if is_item else "",
            )
            place += 1


def is_interrogative(first: Sequence[str]) -> bool:
    """Whether a sentence that begins with these words is a question, even without a question mark."""
    if not first or first[:2] == ["how", "often"]:  # "how often do I have to say it: …"
        return False
    if first[0] in ("don't", "isn't", "aren't") and len(first) > 1 and first[1] in ("we", "you", "they", "i", "the"):
        return "dare" not in first
    if (
        first[0] == "do"
        and len(first) > 1
        and first[1] not in ("you", "we", "they", "i", "the", "these", "those", "any")
    ):
        return False
    if first[0] in ("must", "has", "have"):
        return len(first) > 1 and first[1] in (
            "i",
            "we",
            "you",
            "they",
            "he",
            "she",
            "it",
            "the",
            "this",
            "that",
            "any",
            "all",
            "there",
        )
    if first[0] in ("can", "could", "would", "will") and len(first) > 1 and first[1] == "you":
        return False  # a request, more often than not; `limits` looks at the rest of it
    return first[0] in _QUESTION_WORDS


def is_told_of_others(words: Sequence[Word]) -> bool:
    """Whether the words before a colon or "that" introduce a report of others, or a text to be written."""
    lows = [word.low for word in words]
    if lows[:1] in (["i"], ["i've"]):
        return False  # "I've told you before: …"
    if any(low in _REPORTS for low in lows):
        return True
    if not lows or lows[0] not in _TEXT_TASKS or lows[1:2] in (["messages"], ["message"], ["names"], ["titles"]):
        return False
    return lows[1:2] in (["a"], ["an"]) or not any(low in _OWN_INTRODUCTION for low in lows)


def read_words(masked: str) -> list[Word]:
    """Return the words of a masked sentence in lower case, with contractions joined and typing errors corrected."""
    words: list[Word] = []
    for found in _WORD.finditer(masked):
        raw = found[0]
        core = raw.strip("*_()[]{}\"'!?…") if raw not in ("-", "--", "–", "—") else raw
        mark = ""
        while core and core[-1] in ".,:;!?…":
            mark, core = core[-1] + mark, core[:-1]
        core = core.strip("*_()[]{}")
        if not core:
            if words and mark:
                words[-1] = _marked(words[-1], mark)
            continue
        low = _spelled(core.lower().replace("´", "'").replace("`", "'"))
        start = found.start() + raw.index(core[0])
        pair = _PAIRS.get(f"{words[-1].low} {low}") if words and not words[-1].mark else None
        if pair is not None:
            words[-1] = Word(pair, words[-1].start, start + len(core), mark)
        else:
            words.append(Word(low, start, start + len(core), mark))
    return words


def _marked(word: Word, mark: str) -> Word:
    return Word(word.low, word.start, word.end, word.mark + mark)


def _spelled(low: str) -> str:
    known = _SPELLINGS.get(low)
    if known is not None:
        return known
    if 4 <= len(low) <= 8 and low[0] in "napwdil" and low not in _ALIKE:
        for right in _MISSPELT:
            if right[0] == low[0] and low != right and abs(len(low) - len(right)) <= 1 and _is_one_slip(low, right):
                return right
    return low


def _is_one_slip(low: str, right: str) -> bool:
    """Whether two words differ by one omitted, doubled or transposed letter; a replaced letter does not count."""
    if len(low) == len(right):
        wrong = [place for place in range(len(low)) if low[place] != right[place]]
        return (
            len(wrong) == 2
            and wrong[1] == wrong[0] + 1
            and low[wrong[0]] == right[wrong[1]]
            and low[wrong[1]] == right[wrong[0]]
        )
    short, long = sorted((low, right), key=len)
    if long == low:  # one letter too many: only a doubled one
        return any(
            long[place] == long[place - 1] and long[:place] + long[place + 1 :] == short
            for place in range(1, len(long))
        )
    return any(long[:place] + long[place + 1 :] == short for place in range(1, len(long)))


def _spans(masked: str) -> Iterator[tuple[int, int, str]]:
    start = 0
    for end in _ENDS.finditer(masked):
        if masked[start : end.start()].strip():
            yield start, end.start(), end[0]
        start = end.end()
    if masked[start:].strip():
        yield start, len(masked), ""


def _mask_pasted(masked: str) -> str:
    """Return the text with pasted lines blanked: logs, diffs, quoted mails, documents, lists to process."""
    lines = masked.split("\n")
    hidden: list[str] = []
    mode = "own"  # "introduced": the next paragraph is pasted; "pasted": up to the next blank line; "rest": to the end
    seen_own_heading = False
    for number, line in enumerate(lines):
        if mode == "rest":
            hidden.append(" " * len(line))
            continue
        if mode in ("introduced", "pasted"):
            if line.strip():
                mode = "pasted"
                hidden.append(" " * len(line))
                continue
            if mode == "introduced":
                hidden.append(line)
                continue
            mode = "own"
        heading = _HEADING.match(line)
        if heading:
            title = {word.low for word in read_words(heading["title"])}
            seen_own_heading = seen_own_heading or bool(title & _OWN_HEADING)
            mode = "own" if seen_own_heading else "rest"
            hidden.append(line.replace("#", " ") if seen_own_heading else " " * len(line))
            continue
        if _REST_IS_PASTED.match(line):
            mode = "rest"
            hidden.append(" " * len(line))
            continue
        if is_pasted_line(line):
            hidden.append(" " * len(line))
            continue
        if _INTRODUCTION.search(line) and any(map(str.strip, lines[number + 1 :])):
            last = _ENDS.split(line.rstrip().rstrip(":"))[-1]
            words = [word.low for word in read_words(last)]
            if any(word in _HANDED_OVER - _OWN_DOCUMENTS for word in words) or (
                any(word in _OWN_DOCUMENTS for word in words) and not _OF_OWN_DOCUMENT.issuperset(words)
            ):
                is_handed_over = True
            else:
                is_handed_over = False
            if is_handed_over and not any(word in _LIST_OF_OWN for word in words):
                mode = "rest"
            elif not _is_own_introduction(words, lines[number + 1 :]):
                mode = "introduced"
        hidden.append(line)
    return "\n".join(hidden)


_LIST_OF_OWN = _EN.word_set("list_of_own")
_OWN_DOCUMENTS = frozenset(("guidelines", "policy"))
_OF_OWN_DOCUMENT = _OWN_DOCUMENTS | frozenset(
    "some my our the a few general coding code style project team more here are please these follow".split()
)
_PASTED_THINGS = _EN.word_set("pasted_things")


def _is_own_introduction(words: Sequence[str], following: Sequence[str]) -> bool:
    """Whether a line that ends with a colon introduces a list that the user wrote, not pasted text."""
    if any(word in _PASTED_THINGS for word in words):
        return False
    if any(word in _OWN_INTRODUCTION for word in words):
        return True
    first = next((line for line in following if line.strip()), "")
    return bool(_BULLET.match(first)) or bool(re.match(r"\S", first))
