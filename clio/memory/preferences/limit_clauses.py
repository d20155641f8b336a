"""Split a sentence into clauses, remove the introductory words of each, and determine what it refers to."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from clio.memory.preferences.rule_files import english_rules, find_sentences, mask_message
from clio.memory.preferences.stated_preferences import is_order
from clio.text.lazy_regex import LazyRegex

_SENTENCES = english_rules("sentences")
_ALIKE = _SENTENCES.word_set("alike")
_OWN_HEADING = _SENTENCES.word_set("own_heading")
_OWN_INTRODUCTION = _SENTENCES.word_set("own_introduction")
_PAIRS = _SENTENCES.maps["pairs"]
_QUESTION_WORDS = _SENTENCES.word_set("question_words")
_REPORTS = _SENTENCES.word_set("reports")
_SPELLINGS = _SENTENCES.maps["spellings"]
_TEXT_TASKS = _SENTENCES.word_set("text_tasks")
_EN = english_rules("limits")
_ARTEFACTS = _EN.word_set("artefacts")
_BEFORE_WE = _EN.word_set("before_we")
_CONDITION = _EN.pattern("condition")
_DEMANDS = _EN.pattern("demands")
_DEMAND_HEADING = _EN.pattern("demand_heading")
_LEADS = _EN.pattern("leads")
_LEAD_WORDS = _EN.word_set("lead_words")
_NOT_ARTEFACT = _EN.word_set("not_artefact")
"""Words of `_ARTEFACTS` that do not count after "the"."""
_NO_PATH = _EN.word_set("no_path")
_NO_TASK = _EN.word_set("no_task")
_REMINDER = _EN.pattern("reminder")
_REQUESTS = _EN.pattern("requests")
_RULES_HEADING = _EN.pattern("rules_heading")
_SCOPE_LEAD = _EN.pattern("scope_lead")
_SPLITTERS = _EN.word_set("splitters")
_STANDING = _EN.pattern("standing")
_STANDING_END = _EN.pattern("standing_end")
_STARTS = _EN.pattern("starts")
_WE_USE = _EN.pattern("we_use")
HEDGES = _EN.pattern("hedges")
HERE = _EN.pattern("here")
IN_PROJECT = _EN.pattern("in_project")
LASTING_WORDS = _EN.pattern("lasting_words")
TASK_HEADING = _EN.pattern("task_heading")
TASK_VERBS = _EN.word_set("task_verbs")
"""Verbs that begin a task, in addition to those of `stated_preferences.VERBS`."""

MAX_CHARS = 200_000
"""Maximum length of a message; of a longer one only the beginning and the end are read."""
MAX_SENTENCE_WORDS = 90
"""Maximum number of words of a sentence; a longer one is split into pieces of this length."""

_WORD = LazyRegex(r"\S+")
_WRAPPED = LazyRegex(r"(?<=[a-z,¤]{2})[ \t]*\n[ \t]*(?=[a-z])")
_MISSPELT = ("never", "always", "please", "without", "avoid", "don't", "instead", "leave")
_PATH = LazyRegex(
    r"(?<![\w/])(?:[\w.*@-]+/[\w./*@-]*|/[\w.-]+/[\w./*-]*|\.[a-z][\w.-]+|\*\.\w+"
    r"|[\w-]+\.(?:py|js|ts|tsx|jsx|go|rs|rb|java|kt|c|h|cpp|hpp|cs|php|sh|sql|md|rst|txt|json|ya?ml|toml|ini|cfg"
    r"|lock|xml"
    r"|html|css|scss|proto|graphql|env|gradle|tf|csv|conf|mod|sum|vue|svelte|lua|pl|ex|exs|swift|scala|bat|ps1)"
    r"|(?:Makefile|Dockerfile|LICENSE|CODEOWNERS|README|CHANGELOG|Jenkinsfile|Gemfile|Procfile))(?![\w])"
)
DASHES = frozenset(("-", "--", "–", "—", "→", "=>"))

Strength = Literal["policy", "plain", "task"]


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
    text, masked = mask_message(text, MAX_CHARS, reads_lists=True)
    masked = _WRAPPED.sub(lambda found: " " * len(found[0]), masked)
    place = 0
    heading = ""
    for begin, stop, mark, is_item in find_sentences(masked, reads_lists=True):
        words = read_words(masked[begin:stop])
        if not words:
            continue
        lows = [word.low for word in words]
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


class Clause(Struct, kw_only=True):
    """A clause to be examined.

    Attributes:
        first, end: indexes of its words in the sentence; `end` is exclusive.
        start: index of the word where its content begins, with the condition before it, if any.
        line: its normalized words, without introductory words such as "please note that".
        is_standing: whether the clause, or words before it, say that it applies permanently.
        is_contrast: whether it begins with "but", "and", "so" or "though".
        condition: the conditional clause right before it.
        in_project: whether the sentence or its heading names this project or a path.
        in_rules: whether it is in a list whose heading announces rules.
        is_demanded: whether words before it call it a demand ("my only condition:").
        is_reminded: whether the user asks to keep it in mind.
        is_beside_task: whether the message asks for work as well.
    """

    sentence: OwnSentence
    first: int
    end: int
    start: int
    line: str
    is_standing: bool = False
    is_contrast: bool = False
    has_condition: bool = False
    condition: str = ""
    in_project: bool = False
    in_rules: bool = False
    is_demanded: bool = False
    is_reminded: bool = False
    is_beside_task: bool = False


def is_task(lows: Sequence[str]) -> bool:
    """Whether the words ask for work: they begin with an imperative, or a polite form such as "could you"."""
    at = 0
    if lows[:1] == ["i"] and lows[1:2] not in (["want"], ["need"], ["would"], ["must"]):
        return False
    while at < len(lows) and (
        lows[at] in _LEAD_WORDS
        or lows[at] in ("can", "could", "would", "you", "i", "want", "need", "i'd", "like", "to", "let's", "we")
    ):
        at += 1
    return at < len(lows) and (is_order(lows[at]) is True or lows[at] in TASK_VERBS) and lows[at] not in _NO_TASK


def split_clauses(words: Sequence[Word]) -> list[tuple[int, int]]:
    """Return the clauses of a sentence as (first, end) indexes of its words."""
    cuts = [0]
    lows = [word.low for word in words]
    for at in range(1, len(words)):
        mark = words[at - 1].mark
        if (mark and mark[-1] in ",;:!?….") or lows[at] in DASHES or lows[at - 1] in DASHES:
            cuts.append(at)
        elif lows[at] in _SPLITTERS and not (
            lows[at] == "please" and lows[at - 1] in ("you", "to", "and", "but", "so")
        ):
            after = " ".join(lows[at + 1 : at + 12])
            if _STARTS.match(after):
                cuts.append(at)
        elif lows[at] == "we" and lows[at - 1] not in _BEFORE_WE and _WE_USE.match(" ".join(lows[at : at + 12])):
            cuts.append(at)
    spans = list(zip(cuts, [*cuts[1:], len(words)], strict=True))
    return [(first, end) for first, end in spans if not all(low in DASHES for low in lows[first:end])]


def read_clause(sentence: OwnSentence, first: int, end: int, earlier: Sequence[tuple[int, int]]) -> Clause | None:
    """Return the clause with these words, without introductory words; None for a question or a guess."""
    lows = [word.low for word in sentence.words]
    at = first
    is_standing = bool(first) and _is_standing_lead(lows[:first])
    is_demanded = bool(first) and _is_demanding(lows[:first])
    is_reminded = bool(_REMINDER.match(" ".join(lows[first:end])))
    is_contrast = first > 0 and lows[first] in ("but", "and", "so", "though")
    place: int | None = None
    while at < end:
        line = " ".join(lows[at:end]) + " "
        if found := _STANDING.match(line):
            is_standing = True
        elif (found := _DEMANDS.match(line) or _REQUESTS.match(line)) and found.end() < len(line):
            is_demanded = True
        else:
            found = _LEADS.match(line)
        if found and (found.end() < len(line) or is_standing):
            is_standing = is_standing or bool(re.search(r"\b(?:future|rule|rules|principle)\b", found[0]))
            at += len(found[0].split())
        elif (lows[at] in _LEAD_WORDS and (at + 1 < end or lows[at] in ("please", "so", "and", "but"))) or lows[
            at
        ] in DASHES:
            at += 1
        elif (scope := _SCOPE_LEAD.match(line)) and not re.search(r"^\w+ no\b|\b(?:where|which|who)\b", scope[0]):
            if place is None and scope["place"]:
                place = at
            at += len(scope[0].split())
        else:
            break
    line = " ".join(low for low in lows[at:end] if low not in DASHES)
    line = re.sub(r"(?: (?:please|thanks|thx|though|period|thank you|will you))+$", "", line)
    if line.startswith("be ") and lows[at - 1 : at] == ["please"]:
        return None
    if is_interrogative(lows[at : at + 3]):
        return None
    whole = " ".join(lows)
    standing_behind = bool(_STANDING_END.search(whole))
    condition = ""
    if earlier:
        last = " ".join(lows[earlier[-1][0] : earlier[-1][1]])
        lead = re.sub(r"^(?:and|but|so|also|please|well|ok) ", "", last)
        condition = lead if _CONDITION.match(lead) else ""
    start = earlier[-1][0] if condition else at if place is None else place
    text = sentence.slice(0, len(lows))
    return Clause(
        sentence=sentence,
        first=first,
        end=end,
        start=start,
        line=line,
        is_standing=is_standing or standing_behind,
        is_demanded=is_demanded,
        is_reminded=is_reminded or bool(first and _REMINDER.match(" ".join(lows[:first]))),
        is_contrast=is_contrast,
        has_condition=bool(condition),
        condition=condition,
        in_project=bool(IN_PROJECT.search(whole) or IN_PROJECT.search(sentence.heading)) or has_path(text),
        in_rules=bool(_RULES_HEADING.search(sentence.heading)),
    )


def _is_demanding(lows: Sequence[str]) -> bool:
    """Whether the words before a clause call it a demand: "my only condition:"."""
    text = " ".join(low for low in lows if low not in _LEAD_WORDS and low not in DASHES) + " "
    found = _DEMANDS.match(
        _DEMAND_HEADING.sub(
            r"the rule is ",
            text,
        )
    )
    return found is not None and found.end() >= len(text) - 8


def _is_standing_lead(lows: Sequence[str]) -> bool:
    """Whether the words before a clause only say that it applies permanently: "from now on:"."""
    text = " ".join(low for low in lows if low not in _LEAD_WORDS and low not in DASHES) + " "
    found = _STANDING.match(text) or _LEADS.match(text)
    if found is None or len(text.split()) - len(found[0].split()) > 6:
        return False
    return bool(
        re.search(r"\b(?:future|rule|rules|principle|now on|next time|forward|henceforth|general)\b", found[0])
    ) and (found.end() >= len(text) or bool(re.match(r"(?:for|of|in|to) ", text[found.end() :])))


def is_lead(lows: Sequence[str]) -> bool:
    """Whether a clause consists of introductory words only."""
    text = " ".join(low for low in lows if low not in _LEAD_WORDS and low not in DASHES) + " "
    found = _LEADS.match(text) or _STANDING.match(text)
    return not text.strip() or (found is not None and found.end() >= len(text))


def has_path(text: str) -> bool:
    """Whether a text contains the path of a file or directory."""
    return any(found[0].lower() not in _NO_PATH for found in _PATH.finditer(text))


def strength_of(clause: Clause) -> Strength:
    """Return "policy" if the words of a demand or the heading of its list say that it is permanent, else "plain"."""
    if TASK_HEADING.search(clause.sentence.heading):
        return "plain"
    if clause.in_rules or clause.is_demanded:
        return "policy"
    return "policy" if clause.is_standing or LASTING_WORDS.search(clause.line) else "plain"


def text_before(clause: Clause) -> str:
    """Return the words of the sentence before a clause, in lower case."""
    return " ".join(word.low for word in clause.sentence.words[: clause.first] if word.low not in DASHES)


def has_artefact(text: str) -> bool:
    """Whether a text contains a noun that developers have rules about: code, tests, commits."""
    words = text.split()
    definite = words[:1] == ["the"]
    for word in words:
        base = word.strip(".,`'")
        for form in (
            base,
            base[:-1] if base.endswith("s") else base,
            base[:-2] if base.endswith("es") else base,
            base[:-3] + "y" if base.endswith("ies") else base,
        ):
            if form in _ARTEFACTS and not (definite and form in _NOT_ARTEFACT):
                return True
    return False
