"""Load the rules by which statements are read (`languages/<code>.json`), decide by them, and divide a message.

The file of English has sections, because its grammar is read by several modules: word lists, maps and regular
expressions by name (`RuleSection`). The rules that use them are in `en_limits.json` and `en_preferences.json`. The
files of the other languages are read by `foreign_statements`.

A regular expression is a string, or is divided so that each alternative is easy to find and to add:

    ["a", "b"]                           a|b; inside of another one (?:a|b)
    {"all": ["x ", ["a", "b"]]}          x (?:a|b)
    {"open": "(?P<what>", "any": ["a"]}  (?P<what>a)
    "{name}"                             the text of `parts` with that name

Of a list of rules (`RuleList`) the first that applies decides. A rule applies if its regular expression `when` matches
the beginning of a text, all conditions of its `needs` are true and none of its `unless`. It may have rules itself,
which are tried in order then; if none of them applies, the next one of the list is tried. In `needs`, a list in place
of a condition is true if one of its conditions is; in `unless`, if all of them are. A condition is one of these:

    in project                  a property of what is judged, or a condition that the file defines
    verb is order               the text passes a test of the module that has the rules, or is "empty"
    verb in idle                the text is a word of this list
    rest has …, rest begins …   the text has a match of a regular expression, or begins with one
    modal equals …              the text matches a regular expression as a whole
    not …                       the opposite

The first word of the latter names a text: one that the module defines, or a named group of `when`, of this rule or one
that contains it.

A message is divided into the sentences that the user wrote (`read_own_sentences`), without code, quotations, logs
and other pasted text. What is left out is masked: each of its characters is replaced by a space, or by `FILLER` if it
is inside a sentence. So no rule matches in it, and an offset in the masked text is the same offset in the original.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, Self, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, structs

from clio.text.lazy_regex import LazyRegex
from clio.text.untrusted_text import PASTED_TEXT_TAG
from clio.text.vocabulary import WORD_TABLES, split_words, stem_word

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
        return self.make_regex(self.patterns[name])

    def cue_patterns(self) -> dict[str, tuple[tuple[float, LazyRegex], ...]]:
        """Return the weights and regular expressions of all cues."""
        return {name: tuple((weight, self.make_regex(cue)) for weight, cue in cues) for name, cues in self.cues.items()}

    def make_regex(self, node: Node) -> LazyRegex:
        """Return a regular expression with the flags of the section, which is compiled when it is first used."""
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


Conditions: TypeAlias = tuple[str | tuple[str, ...], ...]


class Definition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A condition that several rules have."""

    needs: Conditions = ()
    unless: Conditions = ()


class Texts(Protocol):
    """What is judged, and its texts by name."""

    @property
    def subject(self) -> Any:
        """What properties are about."""
        ...

    def __getitem__(self, name: str, /) -> str: ...

    def divide(self, found: re.Match[str]) -> Self:
        """Return these texts and those that depend on the match of a rule's `when`, such as its named groups."""
        ...


class Rule(Protocol):
    """What all rules have. of: the text that `when` is matched against."""

    @property
    def when(self) -> Node: ...
    @property
    def of(self) -> str: ...
    @property
    def needs(self) -> Conditions: ...
    @property
    def unless(self) -> Conditions: ...
    @property
    def rules(self) -> Sequence[Self]: ...


_Texts = TypeVar("_Texts", bound=Texts)
_R = TypeVar("_R", bound=Rule)
_FORM = re.compile(r"(?P<text>\w+) (?P<test>has|begins|equals|in|is|names) (?P<what>.+)", re.DOTALL)
_LITERALS = re.compile(r"[\w ',/|¤-]+")


class ConditionReader:
    """Makes functions of conditions.

    Args:
        section: the words, patterns and flags.
        properties: by name, properties of what is judged.
        tests: by name ("is order"), tests of a text.
        definitions: by name, conditions that the file defines.
    """

    def __init__(
        self,
        section: RuleSection,
        properties: Mapping[str, Callable[[Any], bool]],
        tests: Mapping[str, Callable[[str], bool]],
        definitions: Mapping[str, Definition],
    ) -> None:
        self.section = section
        self._properties = properties
        self._tests: dict[str, Callable[[str], bool]] = {**tests, "is empty": lambda text: not text}
        self._definitions = definitions
        self._fold: Callable[[str], str] = str.lower if "i" in section.flags else str
        self._known: dict[str, Callable[[Texts], bool]] = {}

    def read(self, needs: Conditions, unless: Conditions = ()) -> Callable[[Texts], bool]:
        """Return a function that tells whether all conditions of `needs` are true and none of `unless`."""
        needed = [
            [self._read_one(one) for one in ([any_of] if isinstance(any_of, str) else any_of)] for any_of in needs
        ]
        denied = [
            [self._read_one(one) for one in ([all_of] if isinstance(all_of, str) else all_of)] for all_of in unless
        ]

        def are_met(texts: Texts) -> bool:
            for any_of in needed:
                for is_true in any_of:
                    if is_true(texts):
                        break
                else:
                    return False
            for all_of in denied:
                for is_true in all_of:
                    if not is_true(texts):
                        break
                else:
                    return False
            return True

        return are_met

    def _read_one(self, condition: str) -> Callable[[Texts], bool]:
        if condition not in self._known:
            self._known[condition] = self._make(condition)
        return self._known[condition]

    def _make(self, condition: str) -> Callable[[Texts], bool]:
        if condition.startswith("not "):
            opposite = self._read_one(condition[4:])
            return lambda texts: not opposite(texts)
        if condition in self._properties:
            has_property = self._properties[condition]
            return lambda texts: has_property(texts.subject)
        if condition in self._definitions:
            defined = self._definitions[condition]
            return self.read(defined.needs, defined.unless)
        found = _FORM.fullmatch(condition)
        if found is None:
            raise ValueError(f"not a condition: {condition}")
        name, test, what = found.groups()
        is_true = self._tests[f"{test} {what}"] if test in ("is", "names") else self._make_test(test, what)
        return lambda texts: is_true(texts[name])

    def _make_test(self, test: str, what: str) -> Callable[[str], bool]:
        fold = self._fold
        if test == "in":
            words = self.section.word_set(what)
            return lambda text: fold(text) in words
        if _LITERALS.fullmatch(what):  # no special characters: it takes less time than to compile it
            choices = tuple(what.split("|"))
            if test == "has":
                return lambda text: any(choice in fold(text) for choice in choices)
            if test == "begins":
                return lambda text: fold(text).startswith(choices)
            return lambda text: fold(text) in choices
        regex = self.section.make_regex(what)
        if test == "has":
            return lambda text: regex.search(text) is not None
        if test == "begins":
            return lambda text: regex.match(text) is not None
        return lambda text: regex.fullmatch(text) is not None


class RuleList(Generic[_R]):
    """Rules that are tried in order. Their regular expressions and conditions are made when they are first needed."""

    def __init__(self, rules: Sequence[_R], reader: ConditionReader) -> None:
        self._reader = reader
        self._ready = [_ReadyRule(rule, reader) for rule in rules]

    def find(self, texts: _Texts) -> tuple[_R, _Texts] | None:
        """Return the first rule without rules of its own that applies, with the texts it was found by, or None."""
        for ready in self._ready:
            found = ready.find(texts)
            if found is not None:
                return found
        return None


class _ReadyRule(Generic[_R]):
    def __init__(self, rule: _R, reader: ConditionReader) -> None:
        self._rule = rule
        self._reader = reader
        self._regex = reader.section.make_regex(rule.when) if rule.when else None
        self._are_met: Callable[[Texts], bool] | None = None
        self._rules: RuleList[_R] | None = None

    def find(self, texts: _Texts) -> tuple[_R, _Texts] | None:
        if self._regex is not None:
            found = self._regex.match(texts[self._rule.of])
            if found is None:
                return None
            texts = texts.divide(found)
        if self._are_met is None:
            self._are_met = self._reader.read(self._rule.needs, self._rule.unless)
        if not self._are_met(texts):
            return None
        if not self._rule.rules:
            return self._rule, texts
        if self._rules is None:
            self._rules = RuleList(self._rule.rules, self._reader)
        return self._rules.find(texts)


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
_PASTED_TEXT_START = LazyRegex(
    r"#{1,6} \S|diff --git |@@ |\+\+\+ |--- \S|Traceback |---+\s*$|From: |Subject: |Begin forwarded"
    r"|commit [0-9a-f]{7,40}\s*$|-{3,} ?BEGIN |={3,} ?\w|BEGIN [A-Z]"
    r"|-{3,} ?(?:Forwarded|Original|Weitergeleitete|Ursprüngliche) ",
    needs="# diff @@ +++ -- traceback from: subject: forwarded commit === begin",
)
"""Lines that begin pasted text that goes on to the end of the message: a document, diff, traceback or mail."""
_HEADING = LazyRegex(r"\s*#{1,6}\s+(?P<title>.*)", needs="#")
_COLON_AT_END = LazyRegex(r":\s*$", needs=":")
_INTRODUCES_OWN_LIST = _EN.pattern("own_list")
_INTRODUCES_PASTED_TEXT = _EN.pattern("handed_over")
_HANDED_OVER = _EN.word_set("handed_over")
_LIST_OF_OWN = _EN.word_set("list_of_own")
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
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?<!\bapprox)(?<![\s.])[.!?…]+(?=\s|$)|(?<=\s)[.!?…]+(?=\s*$)"
    r"|;(?=\s|$)(?!\s+(?:is|are|was|were|has|does|takes|needs|lives|lies|listens|expects|requires|goes|comes|belongs"
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
            yield begin, begin + len(sentence.strip()), masked[stop:after], bullet is not None
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
_ABOUT_CHAT = LazyRegex(
    r"\b(?:chat|conversation|thread|discussion|transcript|minutes|meeting|summar\w+|decide[ds]?|repl(?:y|ies)|they|who)\b",
    re.IGNORECASE,
)


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
