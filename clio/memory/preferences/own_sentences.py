"""Divide a message into the sentences that the user wrote, and these into words.

Code, quotations, logs and other pasted text are left out: each of their characters is replaced by a space, or by
`FILLER` inside a sentence. So no rule matches in it, and an offset in the masked text is the same offset in the
original. A request to remember several things at once, as a list below "Remember:" or in a line "remember two things: …
and …", becomes one request for each; `languages/lists.json` has the rules of seven languages.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct, field, structs

from clio.memory.preferences.rule_files import english_rules, load_rule_file
from clio.text.lazy_regex import LazyRegex
from clio.text.untrusted_text import PASTED_TEXT_TAG
from clio.text.vocabulary import NO_TITLE, WORD_TABLES, split_words, stem_word

_EN = english_rules("sentences")

FILLER = "¤"
MAX_CHARS = 8_000
"""A longer message is mostly pasted text: only its first and its last 4,000 characters are read."""
MAX_SENTENCE = 300
"""Characters; a longer sentence states no preference."""

_FENCED = LazyRegex(
    r"^[ \t]*(?P<fence>```+|~~~+|\"{3}|'{3}).*?(?:^[ \t]*(?P=fence)|\Z)",
    re.DOTALL | re.MULTILINE,
    needs="`` ~~ \"\"\" '''",
)
_PASTE_END = f"</{PASTED_TEXT_TAG}>"
_TAG = LazyRegex(r"<(?P<end>/?)(?P<name>[A-Za-z][\w-]*)(?: [^<>\n]*)?>", needs="<")
_QUOTE = LazyRegex(
    r"``[^`\n]+``|`[^`\n]+`|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|\"[^\"\n]*\""
    r"|(?<!\w)'[^'\n]{1,200}'(?!\w)|‘[^'\n]{1,200}'(?!\w)",
    needs="` “ „ « \" ' ‘",
)
_PASTED_LINE = LazyRegex(
    r"\s*>|\t| {4,}\S|[$%] \S|\S+@\S+[:~ ].*[$#] |\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|\[\d\d?:\d\d\] ?\S"
    r"|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|TRACE)\b|\w*(?:Error|Exception|Warning): |remote: |fatal: "
    r"|error(?:\[\w+\])?: |warning: |npm (?:ERR|WARN|notice|error|warn|http|info|verb)\b|E  |at \S+\("
    r"|(?:[Tt]he )?(?:[Ss]td(?:out|err)|[Oo]utput|[Ll]og|README(?:\.\w+)?|[Dd]ocstring|[Qq]uote): |\S+\.\w{1,5}:\d+:"
    r"|[Tt]he (?:error|message|commit message|issue title|output|log) (?:is|was|reads|says): |@[\w-]+: "
    r"|From (?:[A-Z]\w+ )?[A-Z]\w+: "
    r"|(?:SYSTEM|[Ss]ystem|USER|[Uu]ser|HUMAN|[Hh]uman|ASSISTANT|[Aa]ssistant): |<\||\[/?INST\]",  # lines of a chat
    needs=(
        *(">", "\t", "    ", "$ ", "% ", "@", "-", ":", "npm ", "e  ", "(", "<|", "["),
        *("error", "warn", "info", "debug", "fatal", "trace"),
    ),
)
_PASTED_TEXT_START = _EN.pattern("pasted_text_start")
"""Lines that begin pasted text that goes on to the end of the message: a document, diff, traceback or mail."""
_HEADING = LazyRegex(r"\s*#{1,6}\s+(?P<title>.*)", needs="#")
_COLON_AT_END = LazyRegex(r":\s*$", needs=":")
_INTRODUCES_OWN_LIST = _EN.pattern("own_list")
_INTRODUCES_PASTED_TEXT = _EN.pattern("handed_over")
_HANDED_OVER = _EN.word_set("handed_over")
_LIST_OF_OWN = _EN.word_set("list_of_own")
_ORDER_TAG = _EN.pattern("order_tag")
"""The end of an order that makes it a polite one, and no question: "never push to main, ok?"."""
_TAGGED_ORDER = _EN.pattern("tagged_order")
_OWN_HEADING = _EN.word_set("own_heading")
_OWN_INTRODUCTION = _EN.word_set("own_introduction")
_PASTED_THINGS = _EN.word_set("pasted_things")
_OF_OWN_DOCUMENT = frozenset(
    "guidelines policy some my our the a few general coding code style project team more here are please these"
    " follow".split()
)
"""Words of an introduction to guidelines of the user's own: "our coding guidelines:"."""
_BULLET = LazyRegex(r"\s*(?:[-*•–]|\d{1,2}[.)]|\[[ x]\]|\*\*)\s+")
_LIST_ITEM = LazyRegex(r"(?<=\s)(?=\d{1,2}[.)]\s+[A-Za-z])")
_SENTENCE_END = LazyRegex(
    rf"(?=[.!?…])(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?<!\bapprox)(?<![\s.]){NO_TITLE}[.!?…]+"
    r"(?!(?<=\s[A-Z]\.) [a-zß-ÿ])(?=\s|$)"
    r"|(?<=\s)[.!?…]+(?=\s*$)|;(?=\s|$)(?!\s+(?:is|are|was|were|has|does|takes|needs|lives|lies|listens|expects|requires|goes|comes|belongs"
    r"|means|depends|sits|gets|gives|keeps|makes|breaks|fails|contains|holds|returns|runs|prints|sets) )|\n",
    re.MULTILINE,
)
"""A semicolon before a verb without a subject belongs to code: "select 1; takes 40 s". Points after a blank are an
omission within a sentence: "SELECT … FOR UPDATE".
"""
_ENDS_SENTENCE = LazyRegex(rf"{_SENTENCE_END.pattern}|[。\uff01\uff1f]", re.MULTILINE)


_NUMBERED_LINE = LazyRegex(r"^.*(?<!\S)1\. \S.*(?<!\S)2\. \S.*$", re.MULTILINE)
_IN_BRACKETS = LazyRegex(r"\([^()\n]*\)", needs="(")
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
    text, masked = mask_message(text, MAX_CHARS)
    return [
        WrittenSentence(text=text[start:end], masked=masked[start:end], is_question="?" in mark, mark=mark.strip())
        for start, end, mark, _ in find_sentences(masked)
        if end - start <= max_chars
    ]


def mask_message(text: str, max_chars: int, *, reads_lists: bool = False) -> tuple[str, str]:
    """Return a message with straight apostrophes, and of the same length what `mask_pasted_text` makes of it.

    Of a message longer than `max_chars`, both are its beginning and its end.
    """
    text = text.replace("\r\n", "\n").replace("’", "'")
    if len(text) <= max_chars:
        return text, mask_pasted_text(text, reads_lists=reads_lists)
    masked = mask_blocks(text)  # before the text is cut, since its ends may have only one of two marks
    text, masked = (f"{one[: max_chars // 2]}\n{one[-max_chars // 2 :]}" for one in (text, masked))
    return text, mask_pasted_text(masked, reads_lists=reads_lists)


def remove_pasted_text(text: str) -> str:
    """Return what the user wrote of a message, of which quotations and code within a line are a part."""
    text, masked = mask_message(text, MAX_CHARS)
    kept = (char if mask != " " or char == "\n" else " " for char, mask in zip(text, masked, strict=True))
    return "".join(kept).strip()


def find_sentences(masked: str, *, reads_lists: bool = False) -> Iterator[tuple[int, int, str, bool]]:
    """Yield start and end of each sentence of a masked text, its end mark, and whether it is an item of a list.

    reads_lists: the numbered items in one line are sentences: "1. lint 2. test".
    """
    ends = [found.span() for found in _SENTENCE_END.finditer(masked if reads_lists else _hide_numbering(masked))]
    if reads_lists:
        ends = sorted([*ends, *(found.span() for found in _LIST_ITEM.finditer(masked))])
    start = 0
    for stop, after in [*ends, (len(masked), len(masked))]:
        bullet = _BULLET.match(masked, start, stop)
        begin = bullet.end() if bullet else start
        sentence = masked[begin:stop]
        if sentence.strip():
            begin += len(sentence) - len(sentence.lstrip())
            sentence, mark = sentence.strip(), masked[stop:after]
            tag = _ORDER_TAG.search(sentence) if "?" in mark and _TAGGED_ORDER.match(sentence) else None
            if tag:
                sentence, mark = sentence[: tag.start()].rstrip(" ,"), mark.replace("?", "")
            yield begin, begin + len(sentence), mark, bullet is not None
        start = max(start, after)


def mask_blocks(text: str) -> str:
    """Return the text, of the same length, with spaces in place of fenced code and of text between tags.

    A tag that begins a line and is never closed ends with the text; elsewhere it is a placeholder: "X-Id: <uuid>".
    Of a text that the user pasted, either tag may be missing, because the message was cut.
    """
    if _PASTE_END in text and f"<{PASTED_TEXT_TAG}>" not in text[: text.index(_PASTE_END)]:
        end = text.index(_PASTE_END) + len(_PASTE_END)
        text = _blank(text[:end]) + text[end:]
    return _FENCED.sub(lambda block: _blank(block[0]), _mask_elements(text))


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
        if place == len(closing) and not begins_line and tag["name"] != PASTED_TEXT_TAG:
            continue
        start, end = tag.start(), closing[place] if place < len(closing) else len(text)
        if tag["name"] == PASTED_TEXT_TAG:
            start, end = _find_broken_sentence(text, start, end)
        pieces += (text[done:start], _blank(text[max(start, done) : end]))
        done = end
    return "".join((*pieces, text[done:]))


def _find_broken_sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where the sentence begins and ends that contains a pasted text on its line.

    Without the pasted text, "never use <pasted_text>…" would forbid everything, and "forget that <pasted_text>…" would
    mean what was said before.
    """
    before = text[text.rfind("\n", 0, start) + 1 : start]
    behind = re.split(rf"\n|(?=<{PASTED_TEXT_TAG}>)", text[end:], maxsplit=1)[0]
    begun = max((match.end() for match in _ENDS_SENTENCE.finditer(before)), default=0)
    ended = _ENDS_SENTENCE.search(behind)
    return start - len(before) + begun, end + (ended.end() if ended else len(behind))


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def mask_quotes(text: str) -> str:
    """Return the text, of the same length, with `FILLER` in place of quotations and code within a line."""
    return _QUOTE.sub(lambda quote: re.sub(r"\S", FILLER, quote[0]), text)


def is_pasted_line(line: str) -> bool:
    """Whether a line is quoted, or copied from a log, a shell or another conversation."""
    return _PASTED_LINE.match(line) is not None


def mask_pasted_text(text: str, *, reads_lists: bool = False) -> str:
    """Return the text, of the same length, with everything masked that the user pasted or quoted.

    A line that ends with a colon introduces pasted text, unless it announces a list of the user's own points.

    reads_lists: the user's own documents ("## Constraints") and lists below any introduction are read, too, and pasted
        text ends with its paragraph. Used for limits, which are often written in such lists.
    """
    lines = mask_reports(mask_blocks(text).split("\n"))
    masked: list[str] = []
    mode = "own"  # "introduced": the next paragraph is pasted; "pasted": up to the next empty line; "rest": to the end
    has_own_heading = False
    for number, line in enumerate(lines):
        if mode == "pasted" and not line.strip():
            mode = "own"
        if mode == "rest" or (mode != "own" and line.strip()):
            mode = "rest" if mode == "rest" else "pasted"
            masked.append(" " * len(line))
            continue
        is_pasted = False
        if reads_lists and (heading := _HEADING.match(line)):
            has_own_heading = has_own_heading or not _OWN_HEADING.isdisjoint(_list_words(heading["title"]))
            mode = "own" if has_own_heading else "rest"
            is_pasted, line = not has_own_heading, line.replace("#", " ")
        elif _PASTED_TEXT_START.match(line):
            mode, is_pasted = "rest", True
        elif is_pasted_line(line):
            is_pasted = True
        elif _COLON_AT_END.search(line) and any(map(str.strip, lines[number + 1 :])):
            mode = _judge_introduction(line, lines[number + 1 :], reads_lists=reads_lists)
        masked.append(" " * len(line) if is_pasted else line)
    return mask_quotes("\n".join(masked))


def _judge_introduction(
    line: str, following: Sequence[str], *, reads_lists: bool
) -> Literal["own", "introduced", "rest"]:
    """Return what a line with a colon at its end introduces: own text, a pasted paragraph, or only pasted text."""
    if not reads_lists:
        return "own" if _INTRODUCES_OWN_LIST.search(line) and not _INTRODUCES_PASTED_TEXT.search(line) else "rest"
    words = _list_words(_SENTENCE_END.split(line.rstrip().rstrip(":"))[-1])
    is_handed_over = not _HANDED_OVER.isdisjoint(words) and not _OF_OWN_DOCUMENT.issuperset(words)
    if is_handed_over and _LIST_OF_OWN.isdisjoint(words):
        return "rest"
    if ends_with_report_label(line):
        return "own"  # `mask_reports` has masked the paragraph
    first = next((line for line in following if line.strip()), "")
    is_own = not _OWN_INTRODUCTION.isdisjoint(words) or _BULLET.match(first) or not first[:1].isspace()
    return "own" if is_own and _PASTED_THINGS.isdisjoint(words) else "introduced"


def _list_words(line: str) -> list[str]:
    return re.findall(r"[\w'-]+", line.lower())


class _LabelRules(Struct, frozen=True, kw_only=True):
    """The labels that introduce a quotation of another source, such as "the log says:".

    Attributes:
        own: matched at the start of a label; words that show that the user speaks for themselves.
        voice: words at the start of a sentence after a label, from which on the user speaks again.
        parts: pieces of the regular expressions.
        reported: by language, regular expressions for a whole label, ignoring case.
        names, roles: first names and roles of people who speak: "Anna: …", "my boss: …".
        topics: words that show that a label is a topic and no name, beside those of other word lists.
        topic_end: searched in a word; endings of nouns that are no names, such as "-tion".
        speakers_cjk: regular expression for Chinese and Japanese names and roles.
    """

    own: str
    voice: tuple[str, ...]
    parts: dict[str, str]
    reported: dict[str, tuple[str, ...]]
    names: tuple[str, ...]
    roles: tuple[str, ...]
    topics: tuple[str, ...]
    topic_end: str
    speakers_cjk: str


_LABEL = LazyRegex(
    r"(?:^|(?<=[.!?] )|(?<=[。！？]))[ *_-]*(?P<label>[^\s:：.!?。][^:：\n.!?。]{0,70}?|[A-Za-z][^:：\n]{0,70}?) ?"
    r"(?::(?=\s|$)|：)",
    needs=(":", "："),
)
_SHELL_PROMPT = LazyRegex(r"\s*(?:[$%] |>>> |\S+@\S+[:~ ].*[$#] )\S", needs=("$ ", "% ", ">>> ", "# "))
_NAME = r"@?[^\W\d_][\w.'-]{0,20}(?: [^\W\d_][\w.'-]{0,20}){0,2}"
_TIME = (
    r"[\[(]?(?:\d[\d./-]{5,9},? |(?:today|yesterday|heute|gestern),? (?:at |um )?)?"
    r"\d{1,2}[:h]\d\d(?::\d\d)?(?: ?[ap]\.?m\.?)?[\])]?"
)
_STAMPED_LINE = LazyRegex(
    rf"[\s*_-]*(?:{_TIME}[\s,|–—-]+<?{_NAME}>?[*_]*(?::|(?<=>)) *\S"
    rf"|(?P<name>{_NAME})[*_]*,?[\s·|–—-]+{_TIME}[*_]*(?:: *\S|(?P<header>:?\s*$)))",
    re.IGNORECASE,
    needs=(":", "h"),
)
"""A line of a chat with its time: "10:02 tom: …", "Anna (10:02): …", and "Anna Schmidt, 10:02" above a message."""
_NAMED_LINE = LazyRegex(
    rf"[\s*_-]*(?P<label>(?:(?:my|our|mein\w*|unser\w*|mon|ma|notre|mi|nuestr\w+|meu|minha) )?{_NAME}|\S{{2,6}}?)[*_]*"
    r"(?::\s|：)",
    re.IGNORECASE,
    needs=(":", "："),
)
_CHAT_LINE = LazyRegex(r"(?P<name>[A-Z][\w.-]{1,20}(?: [A-Z][\w.-]{1,20})?): \S", needs=": ")
_ABOUT_CHAT = _EN.pattern("about_chat")


@cache
def _report_patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of labels of others, of the user's own labels, and of where the user speaks again."""
    rules = load_rule_file("labels", _LabelRules)
    labels = "|".join(f"(?:{one})" for several in rules.reported.values() for one in several)
    for name, part in rules.parts.items():
        labels = labels.replace(f"{{{name}}}", part)
    voice = "|".join(rules.voice)
    return (
        re.compile(labels, re.IGNORECASE),
        re.compile(rules.own, re.IGNORECASE),
        re.compile(rf"(?<=[.!?])\s+(?=(?:{voice})\b)"),
    )


@cache
def _topic_stems() -> frozenset[str]:
    """Return the stems of words that name topics and not people, from all word lists."""
    from clio.memory.statement_reader import ALTERNATIVES

    topics = load_rule_file("labels", _LabelRules).topics
    lists = [*structs.astuple(WORD_TABLES), WORD_TABLES.kind_members.values(), topics]
    for section in ("limits", "sentences"):
        lists += english_rules(section).words.values()
    return frozenset(map(stem_word, split_words(line for lines in lists for line in lines).union(*ALTERNATIVES)))


def is_speaker(label: str, *, is_known: bool = False) -> bool:
    """Whether a label before a colon names who speaks: "Anna", "tom", "My boss"; a topic such as "Docker" does not.

    is_known: whether a name must be a known one; otherwise any capitalized word that is no topic is a name.
    """
    words = label.strip(" *_@-").split()
    if not words:
        return False
    rules = load_rule_file("labels", _LabelRules)
    if not label.isascii() and re.fullmatch(rules.speakers_cjk, label.strip(" *_-")):
        return True
    names, roles = split_words(rules.names), split_words(rules.roles)
    lows = [word.casefold() for word in words]
    are_names = all(word[0].isupper() and not (word.isupper() and len(word) > 1) for word in words)
    is_topic = any(stem_word(low) in _topic_stems() or re.search(rules.topic_end, low) for low in lows)
    if lows[-1] in roles or (lows[0] in names and (are_names or (len(words) == 1 and not is_topic))):
        return True
    return not is_known and are_names and not is_topic


def is_report_label(label: str) -> bool:
    """Whether a label before a colon says that a quotation of another source follows: "the log says"."""
    plain = " ".join(label.strip(" *_-").replace("`", "").split())
    reported, own, _ = _report_patterns()
    return own.match(plain) is None and reported.fullmatch(plain) is not None


def ends_with_report_label(line: str) -> bool:
    """Whether a line ends with such a label, so that `mask_reports` has masked the paragraph after it."""
    found = list(_LABEL.finditer(line))
    return bool(found) and not line[found[-1].end() :].strip() and is_report_label(found[-1]["label"])


def mask_reports(lines: Sequence[str]) -> list[str]:
    """Return the lines, of the same lengths, with spaces in place of what they only report.

    That is the rest of a line after a label such as "the log says:", up to a sentence in which the user speaks again,
    or the next paragraph if the label ends the line; the output below a command; and the lines of a chat.
    """
    masked: list[str] = []
    mode = "own"  # "introduced": the next paragraph is reported; "reported": up to the next empty line
    chat = _list_chat_lines(lines)
    for number, line in enumerate(lines):
        if mode != "own" and line.strip():
            mode = "reported"
            masked.append(" " * len(line))
            continue
        if mode == "reported":
            mode = "own"
        if number in chat or _SHELL_PROMPT.match(line):
            masked.append(" " * len(line))
            mode = mode if number in chat else "reported"
            continue
        if speaker := _find_speaker(line):
            masked.append(" " * len(line))
            mode = "introduced" if speaker == "header" else mode
            continue
        label = next((found for found in _LABEL.finditer(line) if is_report_label(found["label"])), None)
        if label is None:
            masked.append(line)
            continue
        rest = line[label.end() :]
        if not rest.strip():
            mode = "introduced"
            masked.append(line)
            continue
        again = _report_patterns()[2].search(rest)
        # With the mark that ends the sentence before, which belongs to a word.
        own = f"{FILLER}{rest[again.start() - 1 :]}" if again and again.start() > 1 else ""
        masked.append(line[: label.end()] + " " * (len(rest) - len(own)) + own)
    return masked


def _find_speaker(line: str) -> Literal["", "line", "header"]:
    """Return whether somebody else speaks in a line, or in the paragraph below it."""
    stamped = _STAMPED_LINE.match(line)
    if stamped is not None and (stamped["name"] is None or is_speaker(stamped["name"])):
        return "header" if stamped["header"] is not None else "line"
    named = _NAMED_LINE.match(line)
    if named is None or not is_speaker(named["label"], is_known=True):
        return ""
    said = line[named.end() :].split()
    is_value = len(said) < 3 or is_speaker(said[0].rstrip(",;"))  # "CTO: Anna Schmidt", "Reviewer: Omar, not Lena"
    return "" if line.isascii() and is_value else "line"


def _list_chat_lines(lines: Sequence[str]) -> frozenset[int]:
    """Return the indexes of lines such as "Ben: never on Fridays", if several speak and the user asks about it."""
    spoken = {number: found["name"] for number, line in enumerate(lines) if (found := _CHAT_LINE.match(line))}
    if len(set(spoken.values())) < 2:
        return frozenset()
    asked = any(number not in spoken and _ABOUT_CHAT.search(line) for number, line in enumerate(lines))
    return frozenset(spoken) if asked else frozenset()


def _hide_numbering(masked: str) -> str:
    """Return the text, of the same length, without the points of a list in one line: "1. lint 2. test".

    Semicolons in round brackets are hidden too: "for (i = 0; i < n; i++)".
    """
    if "; " in masked and "(" in masked:
        masked = _IN_BRACKETS.sub(lambda brackets: brackets[0].replace(";", FILLER), masked)
    if "1. " not in masked or "2. " not in masked:
        return masked
    return _NUMBERED_LINE.sub(lambda line: _NUMBER_POINT.sub(rf"\1{FILLER}", line[0]), masked)


CJK_END = LazyRegex(r"([。！？])(?=\S)")
_MAX_CHARS_WITH_LISTS = 20_000
"""Maximum length of a message; of a longer one only the beginning and the end are read."""
_WRAPPED = LazyRegex(r"(?<=[a-z,¤]{2})[ \t]*\n[ \t]*(?=[a-z])")


def read_listed_sentences(text: str) -> Iterator[WrittenSentence]:
    """Yield the sentences that the user wrote, also in their own documents and lists; see `mask_pasted_text`.

    A line that goes on in the next one is one sentence with it.
    """
    text, masked = mask_message(CJK_END.sub(r"\1\n", text), _MAX_CHARS_WITH_LISTS, reads_lists=True)
    masked = _WRAPPED.sub(lambda found: " " * len(found[0]), masked)
    for start, end, mark, _ in find_sentences(masked, reads_lists=True):
        if end - start <= MAX_SENTENCE:
            mark = mark.strip()
            yield WrittenSentence(text=text[start:end], masked=masked[start:end], is_question="?" in mark, mark=mark)


_ASIDE = _EN.pattern("aside")


def strip_asides(text: str) -> str:
    """Return a limit without words that only connect it with what was said before: "never push to main though"."""
    return _ASIDE.sub("", text)


class _ListRules(Struct, frozen=True, kw_only=True):
    """How users of a language ask to remember several things at once, as in "Remember:" above a list.

    Attributes:
        head: a request to remember without what is to be remembered. Its group `these` says that it follows, its group
            `count` how many things do; `{count}` stands for the numbers.
        order: the request to remember one thing.
        numbers: from one on.
    """

    head: str
    order: str
    and_: str = field(name="and")
    numbers: str


class ListedRequest(Struct, frozen=True, kw_only=True):
    """A request to remember one of several things, as if the user had written it in a sentence of its own.

    Attributes:
        language: its code, also "en".
        item: the thing as written.
    """

    language: str
    text: str
    item: str


_MAY_LIST = LazyRegex(
    r"remember|mind|memor|merk|behalt|reti?en|souvien|retenez|mémoris|tête|bien|recuerd|recorda|cuenta|lembr|guard|mente"
    r"|记|覚|記憶|メモ",
    re.I,
)
_REMEMBERED_ITEM = re.compile(r"[ \t　]*(?:[-*•·–+・●○]|\(?\d{1,2}[.)、．）]|[a-z]\))[ \t　]*(?P<item>\S.*)")
_MAX_ITEMS = 20


def read_lists(text: str) -> tuple[str, list[ListedRequest]]:
    """Return a message without its requests to remember several things, and these requests.

    The things are the items or lines below such a request, or what follows it in its line: "remember two things: …".
    """
    if not _MAY_LIST.search(text):
        return text, []
    masked = mask_blocks(text)
    found: list[ListedRequest] = []
    blanked = text
    for line in re.finditer(r".+", masked):
        for code, head in _list_heads().items():
            asked = head.match(line[0])
            if asked is None or (not asked["these"] and not _names_things(asked, is_first=not line.start())):
                continue
            if asked["rest"]:
                end = line.end()
                items = _divide_line(asked["rest"], asked["count"] or "", code)
            else:
                items, end = _list_items(masked, line.end(), has_colon=asked["mark"] in (":", "："))
            order = _list_rules()[code].order
            if items:
                found += [ListedRequest(language=code, text=order.format(one), item=one) for one in items]
                start = line.start() + asked.start("head")
                blanked = blanked[:start] + re.sub(r"[^\n]", " ", blanked[start:end]) + blanked[end:]
            break
    return blanked, found


def _names_things(asked: re.Match[str], *, is_first: bool) -> bool:
    """Whether a request without "these" is about what follows it: "Remember: a; b", "覚えて。…" at the beginning."""
    if asked["rest"] and asked["mark"] in ("。", "."):
        return is_first and not asked.start("head") and asked["mark"] == "。"
    return asked["mark"] not in ("?", "？") and (not asked["rest"] or re.search("[;；]", asked["rest"]) is not None)


def _list_rules() -> dict[str, _ListRules]:
    return load_rule_file("lists", dict[str, _ListRules])


@cache
def _list_heads() -> dict[str, re.Pattern[str]]:
    """Return by language the pattern of a line that asks to remember what follows."""
    return {
        code: re.compile(
            rf"(?:.*[.!?。！？]\s*)??(?P<head>{rules.head.replace('{count}', '|'.join(rules.numbers.split()))})"
            rf"\s*(?P<mark>[:：.。?？]|(?=$))\s*(?P<rest>.*)$",
            re.I,
        )
        for code, rules in _list_rules().items()
    }


def _list_items(text: str, at: int, *, has_colon: bool) -> tuple[list[str], int]:
    """Return the items of a list that begins at a place, or the lines below it, and the end of the last one."""
    items: list[str] = []
    end, is_list = at, False
    for line in re.finditer(r"[^\n]*(?:\n|$)", text[at:].removeprefix("\n")):
        found = _REMEMBERED_ITEM.match(line[0])
        if not line[0].strip():
            if items and not is_list:
                break
            continue
        if found is None and is_list:
            if not line[0].startswith((" ", "\t")):
                break
            items[-1] = f"{items[-1]} {line[0].strip()}"
        elif found is None and not items and not has_colon:
            break
        else:
            is_list = is_list or found is not None
            items.append(found["item"].strip() if found else line[0].strip())
        end = at + 1 + line.end()
    items = [one.rstrip(" .。;；,，、") for one in items[:_MAX_ITEMS] if len(one.split()) > 1 or not one.isascii()]
    return items, min(end, len(text))


def _divide_line(rest: str, count: str, code: str) -> list[str]:
    """Return the things that one line names; all of it if it is not clear where one ends."""
    rules = _list_rules()[code]
    numbers = rules.numbers.split()
    wanted = (
        numbers.index(count.casefold()) + 1 if count.casefold() in numbers else int(count) if count.isdigit() else 0
    )
    both = rf"\s*[,，、]?\s*(?:{rules.and_})\s*" if code in ("zh", "ja") else rf",?\s+(?:{rules.and_})\s*(?<=\s|['’])"
    ends = re.compile(r"(?<=[.!。！])\s*(?<!\d\.)(?=\S)(?![\w/])|(?<=[!。！])\s*(?=\S)|(?<=[.!])\s+")
    first = ends.split(rest)[0]
    for separator, text in (
        (r"\s*[;；]\s*", rest),
        (r"(?:^|\s+)\d{1,2}[.)]\s+", rest),
        (both, first),
        (rf"{both}|\s*[,，、]\s+|[，、]", first),
        (ends.pattern, rest),
    ):
        parts = [one.strip(" .。;；,，") for one in re.split(separator, text) if one.strip(" .。")]
        if len(parts) == wanted or (not wanted and len(parts) > 1 and separator.startswith((r"\s*[;", "(?:^"))):
            return parts
    return [first.strip(" .。")]
