"""Find the limits that a message states ("never …", "we only use …", "nie …") by rules, without a model.

An English message is split into sentences (`own_sentences`), and these into clauses without introductory words. The
rules of `languages/en_limits.json` are in groups, one for each form of clause ("never …", "we use …", "… is off
limits"). The first rule of a group that applies decides for the group whether a clause is a limit and how binding it
is. How rules and their conditions are written is described in `rule_files`. Limits in other languages are read by
`foreign_statements`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Literal, cast

import msgspec
from msgspec import Raw, Struct, structs

from clio.memory.preferences.foreign_statements import (
    detect_language,
    is_own_english,
    list_foreign_texts,
    read_statements,
)
from clio.memory.preferences.own_sentences import (
    FILLER,
    OwnSentence,
    Word,
    is_interrogative,
    is_speaker,
    is_told_of_others,
    read_sentences,
    strip_asides,
)
from clio.memory.preferences.rule_files import (
    ConditionReader,
    Conditions,
    Definition,
    Node,
    RuleList,
    RuleSection,
    english_rules,
    load_rule_file,
)
from clio.memory.preferences.stated_preferences import JOKE, cut_order_behind, is_order, lower_first_letter

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
_HEDGES = _EN.pattern("hedges")
_HERE = _EN.pattern("here")
_IN_PROJECT = _EN.pattern("in_project")
_LASTING_WORDS = _EN.pattern("lasting_words")
_TASK_HEADING = _EN.pattern("task_heading")
_TASK_VERBS = _EN.word_set("task_verbs")
"""Verbs that begin a task, in addition to those of `stated_preferences.VERBS`."""
_PATH = _EN.pattern("path")
_DASHES = frozenset(("-", "--", "–", "—", "→", "=>"))
Strength = Literal["policy", "plain", "task"]


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
    return at < len(lows) and (is_order(lows[at]) is True or lows[at] in _TASK_VERBS) and lows[at] not in _NO_TASK


def split_clauses(words: Sequence[Word]) -> list[tuple[int, int]]:
    """Return the clauses of a sentence as (first, end) indexes of its words."""
    cuts = [0]
    lows = [word.low for word in words]
    for at in range(1, len(words)):
        mark = words[at - 1].mark
        if (mark and mark[-1] in ",;:!?….") or lows[at] in _DASHES or lows[at - 1] in _DASHES:
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
    return [(first, end) for first, end in spans if not all(low in _DASHES for low in lows[first:end])]


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
        ] in _DASHES:
            at += 1
        elif (scope := _SCOPE_LEAD.match(line)) and not re.search(r"^\w+ no\b|\b(?:where|which|who)\b", scope[0]):
            if place is None and scope["place"]:
                place = at
            at += len(scope[0].split())
        else:
            break
    line = " ".join(low for low in lows[at:end] if low not in _DASHES)
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
        in_project=bool(_IN_PROJECT.search(whole) or _IN_PROJECT.search(sentence.heading)) or has_path(text),
        in_rules=bool(_RULES_HEADING.search(sentence.heading)),
    )


def _is_demanding(lows: Sequence[str]) -> bool:
    """Whether the words before a clause call it a demand: "my only condition:"."""
    text = " ".join(low for low in lows if low not in _LEAD_WORDS and low not in _DASHES) + " "
    found = _DEMANDS.match(
        _DEMAND_HEADING.sub(
            r"the rule is ",
            text,
        )
    )
    return found is not None and found.end() >= len(text) - 8


def _is_standing_lead(lows: Sequence[str]) -> bool:
    """Whether the words before a clause only say that it applies permanently: "from now on:"."""
    text = " ".join(low for low in lows if low not in _LEAD_WORDS and low not in _DASHES) + " "
    found = _STANDING.match(text) or _LEADS.match(text)
    if found is None or len(text.split()) - len(found[0].split()) > 6:
        return False
    return bool(
        re.search(r"\b(?:future|rule|rules|principle|now on|next time|forward|henceforth|general)\b", found[0])
    ) and (found.end() >= len(text) or bool(re.match(r"(?:for|of|in|to) ", text[found.end() :])))


def is_lead(lows: Sequence[str]) -> bool:
    """Whether a clause consists of introductory words only."""
    text = " ".join(low for low in lows if low not in _LEAD_WORDS and low not in _DASHES) + " "
    found = _LEADS.match(text) or _STANDING.match(text)
    return not text.strip() or (found is not None and found.end() >= len(text))


def has_path(text: str) -> bool:
    """Whether a text contains the path of a file or directory."""
    return any(found[0].lower() not in _NO_PATH for found in _PATH.finditer(text))


def strength_of(clause: Clause) -> Strength:
    """Return "policy" if the words of a demand or the heading of its list say that it is permanent, else "plain"."""
    if _TASK_HEADING.search(clause.sentence.heading):
        return "plain"
    if clause.in_rules or clause.is_demanded:
        return "policy"
    return "policy" if clause.is_standing or _LASTING_WORDS.search(clause.line) else "plain"


def text_before(clause: Clause) -> str:
    """Return the words of the sentence before a clause, in lower case."""
    return " ".join(word.low for word in clause.sentence.words[: clause.first] if word.low not in _DASHES)


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


Term = Literal["lasting", "unclear", "task"]
Verdict = Literal["policy", "plain", "only plain", "task", "no limit", "lasting", "unclear"]


class LimitRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule, or several about clauses of one form.

    Attributes:
        example: a message about a clause of which this rule decides.
        when: regular expression for the beginning of the clause.
        of: the text that `when` is matched against, if not the clause.
        needs, unless: conditions.
        verdict: "policy": a permanent limit; "plain": one that may be for this task only, unless its words say more;
            "only plain": the same whatever its words say; "task": for this task only; "no limit": no limit at all. Of
            a rule about the term: "lasting", "unclear" or "task".
        policy_if: conditions on which a plain limit is a policy.
        content: the words that are stored, if others than those of the clause; "with last" adds the clause before it.
        rules: tried in order if this rule applies, which has no verdict then.
    """

    example: str = ""
    when: Node = ""
    of: str = "line"
    needs: Conditions = ()
    unless: Conditions = ()
    verdict: Verdict | None = None
    policy_if: Conditions = ()
    content: Literal["", "to start", "near start", "with last", "clause", "to end", "whole sentence", "next word"] = ""
    rules: "tuple[LimitRule, ...]" = ()


class LimitRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `en_limits.json`.

    Attributes:
        section: words and patterns of the rules.
        conditions: conditions with a name.
        terms: how long a limit is to hold.
        groups: by name, each a `LimitRule`, which is decoded when it is first needed. Their order and the words without
            which they cannot apply are in `en.json`.
    """

    section: RuleSection
    conditions: dict[str, Definition]
    terms: LimitRule
    groups: dict[str, Raw]


class _Texts:
    """The texts that conditions are about."""

    def __init__(self, clause: Clause, named: Mapping[str, str]) -> None:
        self.subject = clause
        self._named = dict(named)

    def __getitem__(self, name: str) -> str:
        if name not in self._named:
            self._named[name] = _TEXTS[name](self.subject)
        return self._named[name]

    def divide(self, found: re.Match[str]) -> "_Texts":
        """Return these texts, and the named groups of a match; "matched" is all of it."""
        groups = {name: text or "" for name, text in found.groupdict().items()}
        return _Texts(self.subject, {**self._named, **groups, "matched": found[0]})


def _first_word(text: str) -> str:
    return text.split(" ", 1)[0]


def _join_words(clause: Clause, first: int, end: int | None = None) -> str:
    return " ".join(word.low for word in clause.sentence.words[first:end])


_TEXTS: dict[str, Callable[[Clause], str]] = {
    "line": lambda clause: clause.line,
    "head": lambda clause: _first_word(clause.line),
    "second": lambda clause: _first_word(clause.line.partition(" ")[2]),
    "clause": lambda clause: _join_words(clause, clause.first, clause.end),
    "raw": lambda clause: clause.sentence.slice(clause.first, clause.end),
    "before": text_before,
    "before_head": lambda clause: _first_word(text_before(clause)),
    "behind": lambda clause: _join_words(clause, clause.end),
    "whole": lambda clause: _join_words(clause, 0),
    "sentence": lambda clause: clause.sentence.text,
    "condition": lambda clause: clause.condition,
    "heading": lambda clause: clause.sentence.heading,
    "opening": lambda clause: _join_words(clause, 0, clause.first + 6),
    "said": lambda clause: _join_words(clause, min(clause.first, clause.start), clause.end),
}
"""The clause without introductory words, and its first and second word; the clause with them, in lower case and as
written; the sentence before it and its first word, behind it, and as a whole, in lower case and as written; the
conditional clause before it; the heading of its list; the sentence up to its first words; and what is stored of it."""

_PROPERTIES: dict[str, Callable[[Clause], bool]] = {
    "in project": lambda clause: clause.in_project,
    "standing": lambda clause: clause.is_standing,
    "demanded": lambda clause: clause.is_demanded,
    "beside task": lambda clause: clause.is_beside_task,
    "reminded": lambda clause: clause.is_reminded,
    "contrast": lambda clause: clause.is_contrast,
    "conditional": lambda clause: clause.has_condition,
    "first clause": lambda clause: clause.first == 0,
    "before colon": lambda clause: clause.sentence.words[clause.end - 1].mark.endswith(":"),
    "after colon": lambda clause: clause.first > 0 and clause.sentence.words[clause.first - 1].mark.endswith(":"),
}

_NOUN_VERBS = frozenset("commit push change test file release merge log edit".split())
_BEFORE_NO_ORDER = frozenset("be should must is are to the a can will".split())


def _contains_order(text: str) -> bool:
    """Whether a verb that is not the first word begins an order: "you push run the tests"."""
    words = text.split()
    return any(
        is_order(word) is True and word not in _NOUN_VERBS and before not in _BEFORE_NO_ORDER
        for before, word in pairwise(words)
    )


_TESTS: dict[str, Callable[[str], bool]] = {
    "is order": lambda text: is_order(text) is True,
    "is unknown": lambda text: is_order(text) is None,
    "is no verb": lambda text: is_order(text) is False,
    "names artefact": has_artefact,
    "is artefact": lambda text: has_artefact(text.rpartition(" ")[2]),
    "names path": has_path,
    "names order": _contains_order,
}


@cache
def load_limit_rules() -> LimitRules:
    """Return the rules; their section has the words and patterns of the section of `en.json` as well. Cached."""
    rules, common = load_rule_file("en_limits", LimitRules), english_rules("limits")
    parts = {**common.parts, **common.patterns, **rules.section.parts, **rules.section.patterns}
    section = structs.replace(rules.section, parts=parts, words={**common.words, **rules.section.words})
    return structs.replace(rules, section=section)


@cache
def _reader() -> ConditionReader:
    rules = load_limit_rules()
    return ConditionReader(rules.section, _PROPERTIES, _TESTS, rules.conditions)


def load_group(name: str) -> LimitRule:
    """Return a group of rules."""
    return msgspec.json.decode(load_limit_rules().groups[name], type=LimitRule)


@cache
def _get_group(name: str) -> RuleList[LimitRule]:
    return RuleList([load_group(name)], _reader())


def find_limit_rule(group: str, clause: Clause) -> LimitRule | None:
    """Return the rule of a group that decides about a clause; None if no rule applies."""
    found = _get_group(group).find(_Texts(clause, {}))
    return found[0] if found is not None else None


def judge(group: str, clause: Clause) -> Strength | None:
    """Return how binding a clause is by a group of rules; None if it is no limit. Sets the words to store."""
    found = _get_group(group).find(_Texts(clause, {}))
    if found is None or found[0].verdict in ("no limit", None):
        return None
    rule, texts = found
    strength = _get_strength(rule, texts)
    _set_content(clause, rule.content)
    return strength


@cache
def _get_terms() -> RuleList[LimitRule]:
    return RuleList([load_limit_rules().terms], _reader())


def find_term(clause: Clause, strength: Strength) -> Term:
    """Return how long a limit is to hold: permanently, for this task only, or unclear, so that the user is asked."""
    found = _get_terms().find(_Texts(clause, {"strength": strength}))
    return cast("Term", found[0].verdict) if found is not None else "lasting"


def _get_strength(rule: LimitRule, texts: _Texts) -> Strength:
    if rule.policy_if and _reader().read(rule.policy_if)(texts):
        return "policy"
    match rule.verdict:
        case "policy" | "task":
            return rule.verdict
        case "plain":
            return strength_of(texts.subject)
        case _:
            return "plain"


_MAX_WORDS_BEFORE = 12
"""Maximum number of words before a clause that are stored with it by "near start"."""


def _set_content(clause: Clause, content: str) -> None:
    if content in ("to start", "whole sentence") or (
        content == "near start" and len(text_before(clause).split()) <= _MAX_WORDS_BEFORE
    ):
        clause.start = 0
    if content in ("to end", "whole sentence"):
        clause.end = len(clause.sentence.words)
    if content == "with last":
        marked = (number for number in range(clause.first - 1) if clause.sentence.words[number].mark)
        clause.start = max(marked, default=-1) + 1
    if content == "clause":
        clause.start = clause.first
    if content == "next word":
        clause.end += 1


_AFTER_PURPOSE = frozenset("that we it they the this i users nobody nothing".split())
_ASKS_WHY = _EN.pattern("asks_why")
_CONTENT_LEADS = _EN.word_set("content_leads")
_LASTING_REQUEST = _EN.pattern("lasting_request")
_MARKERS = _EN.word_set("markers")
"""Words of which every sentence with a limit contains one."""
_OF_ONE_PROJECT = _EN.pattern("of_one_project")
"""What only one project has: an environment or a branch at the start, or a part of its code with a name."""
_ORDER_HEADS = _EN.word_set("order_heads")
_PRONOUN = _EN.pattern("pronoun")
_REBUKE = _EN.pattern("rebuke")
_REPAIR = _EN.pattern("repair")
_REPAIR_PRONOUN = _EN.pattern("repair_pronoun")
_REPORT_TOPIC = _EN.pattern("report_topic")
_ONLY_SOME_MAY = re.compile(r"only [a-z]\S* (?:can|may|must|should)\b")
_TEAM = _EN.pattern("team")
_THANKS = _EN.pattern("thanks")
_GROUPS = {name: _EN.trigger(name) for name in _EN.triggers if ":" not in name and name != "demand"}
"""Groups of rules with their triggers, in the order in which they are tried."""
_DEMAND = _EN.trigger("demand")
"""Words that call what follows a demand, whatever it is: "my only condition:"."""
_WORD_PARTS = re.compile(r"[a-z]+|\w+")

LimitScope = Literal["project", "user"]
MAX_LASTING = 12
"""Maximum number of lasting limits in one message; with more, all apply to the current task only."""
MAX_CHARS = 240
MAX_CLAUSES = 30
"""Maximum number of clauses read in one sentence."""


class StatedLimit(Struct, frozen=True, kw_only=True):
    """One limit that the user stated.

    Attributes:
        content: the limit in the user's words, understandable without the rest of the message.
        quote: the sentence as written.
        term: "lasting": permanent; "unclear": the user must be asked; "task": for the current task only.
        scope: "project" if it names a path, this project or a team; otherwise "user".
    """

    content: str
    quote: str
    term: Term
    scope: LimitScope


def find_limits(text: str) -> tuple[StatedLimit, ...]:
    """Return the limits in a message, in its order and without repetitions. Takes time linear in its length."""
    language = detect_language(text)
    english = [one for one in _english_limits(text) if is_own_english(one.quote, text, language)]
    foreign = [limit for language, part in list_foreign_texts(text) for limit in _limits_in(part, language)]
    found: dict[str, StatedLimit] = {}
    for one in (*english, *foreign):
        found.setdefault(one.content.casefold(), one)
    return tuple(found.values())


def _limits_in(text: str, language: str) -> tuple[StatedLimit, ...]:
    """Return the limits of a message in another language, by the rules of its data file."""
    limits = [one for one in read_statements(text, language) if one.kind == "limit"]
    lasting = sum(one.term != "task" for one in limits) <= MAX_LASTING
    return tuple(
        StatedLimit(
            content=one.content[:MAX_CHARS],
            quote=one.quote[:MAX_CHARS],
            term=one.term if lasting else "task",
            scope="project" if one.in_project or has_path(one.content) else "user",
        )
        for one in limits
    )


def _english_limits(text: str) -> tuple[StatedLimit, ...]:
    sentences = list(read_sentences(text))
    judged = [_judge_sentence(sentence) for sentence in sentences]
    if not any(limits for limits, _ in judged):
        return ()
    found: dict[str, tuple[Clause, Strength, str]] = {}
    has_task = False
    for number, (sentence, (limits, asks)) in enumerate(zip(sentences, judged, strict=True)):
        if limits and number + 1 < len(sentences) and _is_repaired(limits, sentences[number + 1]):
            limits = []
        if _REBUKE.match(" ".join(word.low for word in sentence.words[:8])) or JOKE.search(sentence.text.lower()):
            continue
        has_task = has_task or asks or (not limits and len(sentence.words) > 2 and not _THANKS.match(sentence.text))
        for clause, strength in limits:
            content = _content(clause)
            found.setdefault(content.casefold(), (clause, strength, content))
    for clause, _, _ in found.values():
        clause.is_beside_task = has_task
    limits = [_make(clause, strength, content) for clause, strength, content in found.values()]
    if sum(one.term != "task" for one in limits) > MAX_LASTING:
        limits = [StatedLimit(content=one.content, quote=one.quote, term="task", scope=one.scope) for one in limits]
    return tuple(limits)


def _judge_sentence(sentence: OwnSentence) -> tuple[list[tuple[Clause, Strength]], bool]:
    """Return the limits in one sentence, and whether the sentence asks for work."""
    words = sentence.words
    lows = [word.low for word in words]
    asks = sentence.is_question or is_task(lows)
    vocabulary = _list_vocabulary(words)
    groups = [name for name, triggers in _GROUPS.items() if sentence.heading or triggers.occur_in(vocabulary)]
    is_possible = bool(groups) or _DEMAND.occur_in(vocabulary)
    if not sentence.heading and not (is_possible and _MARKERS.intersection(lows)):
        return [], asks
    if sentence.is_question and not _LASTING_REQUEST.search(" ".join(lows)):
        return [], True
    found: list[tuple[Clause, Strength]] = []
    spans = split_clauses(words)
    if len(spans) > MAX_CLAUSES:
        return [], True  # a list of data
    tasks: list[int] = []  # first words of the clauses that ask for work
    for number, (first, end) in enumerate(spans):
        before = words[first - 1] if first else None
        if (
            before is not None
            and ":" in before.mark
            and (
                is_told_of_others(words[:first])
                or _REPORT_TOPIC.match(" ".join(lows[:first]))
                or is_speaker(sentence.slice(0, first))
            )
        ):
            break
        if ":" in words[end - 1].mark and is_told_of_others(words[first:end]):
            break
        if number + 1 < len(spans) and is_lead(lows[first:end]):
            continue
        if tasks and lows[first] == "so" and lows[first + 1 : first + 2] and lows[first + 1] in _AFTER_PURPOSE:
            continue  # "add a check so we never divide by zero"
        clause = read_clause(sentence, first, end, spans[:number])
        if clause is None:
            if first == 0:
                tasks.append(0)
                break  # a question, a guess, a report: what follows belongs to it
            continue
        strength = _judge(clause, groups)
        if strength is not None and _is_problem(clause, spans[number + 1 :]):
            return found, True
        if strength is None:
            tasks += [first] if is_task(clause.line.split()) else []
            if number == 0 and _HEDGES.match(clause.line) and not clause.has_condition:
                break
            continue
        tasks = [task for task in tasks if task < clause.start]  # "use uv, not pip" is one limit
        if found and found[-1][0].end == first and not clause.is_standing and _joins(found[-1][0], clause):
            last, before_strength = found[-1]
            last.end = end
            found[-1] = (last, "policy" if "policy" in (before_strength, strength) else strength)
        else:
            found.append((clause, strength))
    return found, bool(tasks) or (sentence.is_question and not found)


def _is_problem(clause: Clause, later: Sequence[tuple[int, int]]) -> bool:
    """Whether a statement describes a problem, which the rest of the sentence asks to repair or explain."""
    head = clause.line.split()[0]
    if head in _ORDER_HEADS and (head not in ("no", "nobody", "nothing") or not later):
        return False
    if is_order(head) is True and not has_artefact(head):
        return False
    lows = [word.low for word in clause.sentence.words]
    for first, end in later:
        rest = " ".join(low for low in lows[first:end] if low not in _DASHES)
        if _REPAIR.match(rest) or _ASKS_WHY.match(rest):
            return True
    return False


def _is_repaired(limits: Sequence[tuple[Clause, Strength]], following: OwnSentence) -> bool:
    """Whether the next sentence asks to repair what they describe: "Our deploys take an hour. Make them faster." """
    lows = [word.low for word in following.words]
    if not _REPAIR_PRONOUN.match(" ".join(lows)):
        return False
    return all(
        re.match(r"(?:our|the|it|this|we|there|all|every|\w+s)\b", clause.line)
        and is_order(clause.line.split()[0]) is not True
        for clause, _ in limits
    )


def _joins(one: Clause, other: Clause) -> bool:
    """Whether two successive clauses form one limit: "no click, no typer", "we use uv, not pip"."""
    return (
        other.line.startswith(("no ", "not ", "never ", "nor "))
        or one.line.split(" ", 1)[0] == other.line.split(" ", 1)[0]
    )


def _judge(clause: Clause, groups: Sequence[str]) -> Strength | None:
    """Return the strength of a clause that is a limit; None for any other clause."""
    line = clause.line
    if not line:
        return None
    for group in groups:
        found = judge(group, clause)
        if found is not None:
            return found
    if clause.is_demanded and len(line.split()) > 1:
        return "policy"
    if clause.in_rules and not clause.has_condition and clause.first == 0 and len(line.split()) > 1:
        return strength_of(clause)
    return None


def _list_vocabulary(words: Sequence[Word]) -> frozenset[str]:
    """Return the words and the parts of compounds: "read-only" is also "read" and "only".

    ":" is in it if a word ends with it, and "." if a word may be a path or code that was masked.
    """
    found = {word.low for word in words}
    for low in [low for low in found if not low.isalpha()]:
        found.update(_WORD_PARTS.findall(low))
        if "." in low or "/" in low or FILLER in low:
            found.add(".")
    if any(":" in word.mark for word in words):
        found.add(":")
    return frozenset(found)


def _make(clause: Clause, strength: Strength, content: str) -> StatedLimit:
    quote = clause.sentence.text[clause.sentence.words[0].start :].strip()
    term = find_term(clause, strength)
    return StatedLimit(content=content, quote=quote[:MAX_CHARS], term=term, scope=_scope(clause, content))


def _scope(clause: Clause, content: str) -> LimitScope:
    line = " ".join(word.low for word in clause.sentence.words)
    if has_path(content) or clause.in_project or _HERE.search(line):
        return "project"
    if _TEAM.search(clause.line) or _OF_ONE_PROJECT.search(content):
        return "project"
    return "project" if _ONLY_SOME_MAY.match(clause.line) else "user"


def _content(clause: Clause) -> str:
    """Return the text of a limit in the user's words, without the rest of the sentence."""
    sentence = clause.sentence
    end = clause.end
    while end < len(sentence.words):
        mark = sentence.words[end - 1].mark
        following = sentence.words[end].low
        if following in ("and", "but", "so", "then", "also", "please") or (mark and mark[-1] in ".!?;"):
            break
        more = next(
            (
                at
                for at in range(end + 1, len(sentence.words))
                if sentence.words[at - 1].mark or sentence.words[at].low in _DASHES
            ),
            len(sentence.words),
        )
        if sentence.words[more - 1].end - sentence.words[clause.start].start > MAX_CHARS // 2:
            break
        end = more
    start = clause.start
    if (
        start
        and _PRONOUN.search(clause.line)
        and sentence.words[end - 1].end - sentence.words[0].start <= MAX_CHARS // 2
    ):
        start = 0
    while start < end - 1 and sentence.words[start].low in _CONTENT_LEADS:
        start += 1
    text = strip_asides(" ".join(sentence.slice(start, end).split()))
    text = cut_order_behind(text).rstrip(" .,;:!-–—")
    first = sentence.words[start].low
    is_name = first not in _MARKERS and is_order(first) is None  # "Serializer must not change"
    return text[:MAX_CHARS] if is_name else lower_first_letter(text[:MAX_CHARS])
