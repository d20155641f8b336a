"""Split a sentence into clauses, remove the introductory words of each, and determine what it refers to."""

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from clio.memory.preferences.limit_sentences import OwnSentence, Word, is_interrogative
from clio.memory.preferences.rule_files import english_rules
from clio.memory.preferences.stated_preferences import is_order
from clio.text.lazy_regex import LazyRegex

_EN = english_rules("limits")
_STANDING_END = _EN.pattern("standing_end")
_DEMAND_HEADING = _EN.pattern("demand_heading")
_TASK_NOUNS = _EN.word_set("task_nouns")
_COMPOUND_FIRSTS = _EN.word_set("compound_firsts")
_COMPOUND_SECONDS = _EN.word_set("compound_seconds")
_COMPOUND_NOUN = _EN.pattern("compound_noun")


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


Strength = Literal["policy", "plain", "task"]


_SPLITTERS = _EN.word_set("splitters")


DASHES = frozenset(("-", "--", "–", "—", "→", "=>"))


_STARTS = _EN.pattern("starts")
_WE_USE = _EN.pattern("we_use")
_LEAD_WORDS = _EN.word_set("lead_words")
_LEADS = _EN.pattern("leads")
_DEMANDS = _EN.pattern("demands")
_REQUESTS = _EN.pattern("requests")
_STANDING = _EN.pattern("standing")
_REMINDER = _EN.pattern("reminder")
IN_PROJECT = _EN.pattern("in_project")
HERE = _EN.pattern("here")
_RULES_HEADING = _EN.pattern("rules_heading")
TASK_HEADING = _EN.pattern("task_heading")
_SCOPE_LEAD = _EN.pattern("scope_lead")
_CONDITION = _EN.pattern("condition")
HEDGES = _EN.pattern("hedges")


_PATH = LazyRegex(
    r"(?<![\w/])(?:[\w.*@-]+/[\w./*@-]*|/[\w.-]+/[\w./*-]*|\.[a-z][\w.-]+|\*\.\w+"
    r"|[\w-]+\.(?:py|js|ts|tsx|jsx|go|rs|rb|java|kt|c|h|cpp|hpp|cs|php|sh|sql|md|rst|txt|json|ya?ml|toml|ini|cfg"
    r"|lock|xml"
    r"|html|css|scss|proto|graphql|env|gradle|tf|csv|conf|mod|sum|vue|svelte|lua|pl|ex|exs|swift|scala|bat|ps1)"
    r"|(?:Makefile|Dockerfile|LICENSE|CODEOWNERS|README|CHANGELOG|Jenkinsfile|Gemfile|Procfile))(?![\w])"
)


_NO_PATH = _EN.word_set("no_path")


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


_NO_TASK = _EN.word_set("no_task")


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


_BEFORE_WE = _EN.word_set("before_we")


def read_clause(sentence: OwnSentence, first: int, end: int, earlier: Sequence[tuple[int, int]]) -> Clause | None:
    """Return the clause with these words, without introductory words; None for a question or a guess."""
    lows = [word.low for word in sentence.words]
    at = first
    is_standing = bool(first) and _is_standing_lead(lows[:first])
    is_demanded = bool(first) and _is_demanding(lows[:first])
    is_reminded = bool(_REMINDER.match(" ".join(lows[first:end])))
    is_contrast = first > 0 and lows[first] in ("but", "and", "so", "though")
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
    standing_behind = bool(
        _STANDING_END.search(
            whole,
        )
    )
    condition = ""
    if earlier:
        last = " ".join(lows[earlier[-1][0] : earlier[-1][1]])
        lead = re.sub(r"^(?:and|but|so|also|please|well|ok) ", "", last)
        condition = lead if _CONDITION.match(lead) else ""
    start = earlier[-1][0] if condition else at
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


IDLE = _EN.word_set("idle")
"""Words that form no limit after "don't" or "never": idioms, states, actions of software."""
LASTING_WORDS = _EN.pattern("lasting_words")
DEFINITE = _EN.pattern("definite")
_ARTEFACTS = _EN.word_set("artefacts")
_NOT_ARTEFACT = _EN.word_set("not_artefact")
"""Words of `_ARTEFACTS` that do not count after "the"."""
UNTIL_TOLD = _EN.pattern("until_told")
TURN_VERBS = _EN.word_set("turn_verbs")
FINITE = _EN.pattern("finite")


def strength_of(clause: Clause, strength: Strength = "plain") -> Strength:
    """Return "policy" if the words of a demand or the heading of its list say that it is permanent, else `strength`."""
    if TASK_HEADING.search(clause.sentence.heading):
        return strength
    if clause.in_rules or clause.is_demanded:
        return "policy"
    return "policy" if clause.is_standing or LASTING_WORDS.search(clause.line) else strength


def text_before(clause: Clause) -> str:
    """Return the words of the sentence before a clause, in lower case."""
    return " ".join(word.low for word in clause.sentence.words[: clause.first] if word.low not in DASHES)


def is_generic(heads: Sequence[str]) -> bool:
    """Whether a subject means all things of a kind: "tests", "every function", "our commits"; not "the test"."""
    if heads[0] in ("the", "this", "that", "a", "an", "his", "her", "their", "its", "each", "every"):
        return heads[0] in ("every", "each")
    return True


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


TASK_VERBS = _EN.word_set("task_verbs")
"""Verbs that begin a task, in addition to those of `stated_preferences.VERBS`."""


def starts_task(clause: Clause) -> bool:
    """Whether a clause begins with an imperative that the rest belongs to: "check that no file is …"."""
    if re.match(r"\w+ (?:is|are|isn't|aren't|mustn't|must) (?:\w+ )*\w+", clause.line):
        return False
    noun = re.match(r"\w+ (?P<second>[\w-]+) (?:is|are|isn't|aren't) ", clause.line)
    if noun is not None and noun["second"] not in (
        "the",
        "a",
        "that",
        "if",
        "whether",
        "what",
        "which",
        "who",
        "this",
        "it",
    ):
        return False
    head = clause.line.split()[0]
    if head in _TASK_NOUNS:
        following = clause.line.split()[1:2]
        if head in _COMPOUND_FIRSTS and following and following[0] in _COMPOUND_SECONDS:
            return False
        if head.endswith("s"):
            return False
    return (is_order(head) is True or head in TASK_VERBS) and not _COMPOUND_NOUN.match(
        clause.line,
    )


def raw_text(clause: Clause) -> str:
    """Return the clause as the user wrote it."""
    return clause.sentence.slice(clause.first, clause.end)
