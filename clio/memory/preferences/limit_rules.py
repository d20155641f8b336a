"""Decide by the rules of `languages/en_limits.json` whether a clause states a limit, and how binding it is.

The rules are in groups, one for each form of clause ("never …", "we use …", "… is off limits"). The first rule of a
group that applies decides for the group, even if it says that the clause is no limit. How rules and their conditions
are written is described in `rule_interpreter`.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from typing import Literal, cast

import msgspec
from msgspec import Raw, Struct, structs

from clio.memory.preferences.limit_clauses import (
    Clause,
    Strength,
    has_artefact,
    has_path,
    strength_of,
    text_before,
)
from clio.memory.preferences.rule_files import Node, RuleSection, english_rules, load_rule_file
from clio.memory.preferences.rule_interpreter import ConditionReader, Conditions, Definition, RuleList
from clio.memory.preferences.stated_preferences import is_order

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
