"""Decide by the rules of `languages/en_limits.json` whether a clause states a limit, and how binding it is.

The rules are in groups, one for each form of clause ("never …", "we use …", "… is off limits"). The rules of a group
are tried in order, and the first one that applies decides for the group, even if it says that the clause is no limit.

A rule applies if `when` matches the beginning of the clause, all conditions of `needs` are true and none of `unless`.
In `needs`, a list in place of a condition is true if one of its conditions is; in `unless`, if all of them are:

    in project                  one of `_PROPERTIES`, or a condition that the file defines
    verb is order               a word that begins an order; or "unknown": perhaps one; "no verb"; "empty": no word
    verb in idle                a word of this list
    subject names artefact      has a noun that developers have rules about; or "path": the path of a file or directory
    rest has …, rest begins …   has a match of a regular expression, or begins with one
    modal equals …              matches a regular expression as a whole
    not …                       the opposite

The first word names a text: one of `_TEXTS`, or a named group of the `when` of this rule or of one that contains it.
In a regular expression, "{name}" is the pattern with that name.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

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
from clio.memory.preferences.stated_preferences import is_order
from clio.text.lazy_regex import LazyRegex

Conditions: TypeAlias = tuple[str | tuple[str, ...], ...]


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule, or several about clauses of one form.

    Attributes:
        example: a message about a clause of which this rule decides.
        when: regular expression for the beginning of the clause.
        of: the text that `when` is matched against, if not the clause.
        needs, unless: conditions.
        verdict: "policy": a permanent limit; "plain": one that may be for this task only, unless its words say more;
            "only plain": the same whatever its words say; "task": for this task only; "no limit": no limit at all.
        policy_if: conditions on which a plain limit is a policy.
        content: the words that are stored, if others than those of the clause.
        rules: tried in order if this rule applies, which has no verdict then.
    """

    example: str = ""
    when: Node = ""
    of: str = "line"
    needs: Conditions = ()
    unless: Conditions = ()
    verdict: Literal["policy", "plain", "only plain", "task", "no limit"] | None = None
    policy_if: Conditions = ()
    content: Literal["", "to start", "near start", "clause", "to end", "whole sentence", "next word"] = ""
    rules: "tuple[Rule, ...]" = ()


class Definition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A condition that several rules have."""

    needs: Conditions = ()
    unless: Conditions = ()


class LimitRules(RuleSection, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `en_limits.json`.

    Attributes:
        conditions: conditions with a name.
        groups: by name, each a `Rule`, which is decoded when it is first needed. Their order and the words without
            which they cannot apply are in `en.json`.
    """

    conditions: dict[str, Definition]
    groups: dict[str, Raw]


class _Texts:
    """The texts that conditions are about."""

    def __init__(self, clause: Clause, named: Mapping[str, str]) -> None:
        self.clause = clause
        self._named = dict(named)

    def __getitem__(self, name: str) -> str:
        if name not in self._named:
            self._named[name] = _TEXTS[name](self.clause)
        return self._named[name]

    def with_groups(self, found: re.Match[str]) -> "_Texts":
        """Return these texts, and the named groups of a match; "matched" is all of it."""
        groups = {name: text or "" for name, text in found.groupdict().items()}
        return _Texts(self.clause, {**self._named, **groups, "matched": found[0]})


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
}
"""The clause without introductory words, and its first and second word; the clause with them, in lower case and as
written; the sentence before it and its first word, behind it, and as a whole, in lower case and as written; the
conditional clause before it."""

_PROPERTIES: dict[str, Callable[[Clause], bool]] = {
    "in project": lambda clause: clause.in_project,
    "standing": lambda clause: clause.is_standing,
    "demanded": lambda clause: clause.is_demanded,
    "reminded": lambda clause: clause.is_reminded,
    "contrast": lambda clause: clause.is_contrast,
    "conditional": lambda clause: clause.has_condition,
    "first clause": lambda clause: clause.first == 0,
    "before colon": lambda clause: clause.sentence.words[clause.end - 1].mark.endswith(":"),
    "after colon": lambda clause: clause.first > 0 and clause.sentence.words[clause.first - 1].mark.endswith(":"),
}

_Condition: TypeAlias = Callable[[_Texts], bool]
_CONDITION = re.compile(r"(?P<text>\w+) (?P<test>has|begins|equals|in|is|names) (?P<what>.+)", re.DOTALL)
_LITERALS = re.compile(r"[\w ',/|¤-]+")
_NOUN_VERBS = frozenset("commit push change test file release merge log edit".split())
_BEFORE_NO_ORDER = frozenset("be should must is are to the a can will".split())


def _contains_order(text: str) -> bool:
    """Whether a verb that is not the first word begins an order: "you push run the tests"."""
    words = text.split()
    return any(
        is_order(word) is True and word not in _NOUN_VERBS and before not in _BEFORE_NO_ORDER
        for before, word in pairwise(words)
    )


_WORD_TESTS: dict[str, Callable[[str], bool]] = {
    "is order": lambda text: is_order(text) is True,
    "is unknown": lambda text: is_order(text) is None,
    "is no verb": lambda text: is_order(text) is False,
    "is empty": lambda text: not text,
    "names artefact": has_artefact,
    "names path": has_path,
    "names order": _contains_order,
}


@cache
def load_limit_rules() -> LimitRules:
    """Return the rules; they have the words and patterns of the section of `en.json` as well. Cached."""
    rules, common = load_rule_file("en_limits", LimitRules), english_rules("limits")
    parts = {**common.parts, **common.patterns, **rules.parts, **rules.patterns}
    return structs.replace(rules, parts=parts, words={**common.words, **rules.words})


@cache
def _make_regex(text: str) -> LazyRegex:
    return LazyRegex(load_limit_rules().text(text))


@cache
def _read_condition(text: str) -> _Condition:
    if text.startswith("not "):
        opposite = _read_condition(text[4:])
        return lambda texts: not opposite(texts)
    if text in _PROPERTIES:
        has_property = _PROPERTIES[text]
        return lambda texts: has_property(texts.clause)
    if text in load_limit_rules().conditions:
        defined = load_limit_rules().conditions[text]
        return _read_conditions(defined.needs, defined.unless)
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise ValueError(f"not a condition: {text}")
    name, test, what = found.groups()
    if test in ("is", "names"):
        is_true = _WORD_TESTS[f"{test} {what}"]
        return lambda texts: is_true(texts[name])
    if test == "in":
        words = load_limit_rules().word_set(what)
        return lambda texts: texts[name] in words
    is_match = _read_literals(test, what) if _LITERALS.fullmatch(what) else _read_regex(test, what)
    return lambda texts: is_match(texts[name])


def _read_literals(test: str, what: str) -> Callable[[str], bool]:
    """Return a test for alternatives without special characters, which takes less time than to compile them."""
    choices = tuple(what.split("|"))
    if test == "has":
        return lambda text: any(choice in text for choice in choices)
    return (lambda text: text.startswith(choices)) if test == "begins" else (lambda text: text in choices)


def _read_regex(test: str, what: str) -> Callable[[str], bool]:
    regex = _make_regex(what)
    if test == "has":
        return lambda text: regex.search(text) is not None
    if test == "begins":
        return lambda text: regex.match(text) is not None
    return lambda text: regex.fullmatch(text) is not None


def _read_conditions(needs: Conditions, unless: Conditions = ()) -> _Condition:
    needed = [[_read_condition(one) for one in ((any_of,) if isinstance(any_of, str) else any_of)] for any_of in needs]
    denied = [[_read_condition(one) for one in ((all_of,) if isinstance(all_of, str) else all_of)] for all_of in unless]

    def are_met(texts: _Texts) -> bool:
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


class Decision(Struct, frozen=True):
    """The rule that decided about a clause, and the strength of the limit; None if it says that there is none."""

    rule: Rule
    strength: Strength | None


class _ReadyRule:
    """A rule with its regular expression and conditions, which are made when they are first needed."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._regex = LazyRegex(load_limit_rules().text(rule.when)) if rule.when else None
        self._is_simple = not (rule.needs or rule.unless or rule.rules or rule.policy_if)

    @cached_property
    def _are_met(self) -> _Condition:
        return _read_conditions(self._rule.needs, self._rule.unless)

    @cached_property
    def _is_policy(self) -> _Condition:
        return _read_conditions(self._rule.policy_if)

    @cached_property
    def _rules(self) -> "list[_ReadyRule]":
        return [_ReadyRule(rule) for rule in self._rule.rules]

    def decide(self, texts: _Texts) -> Decision | None:
        """Return what the rule says about a clause; None if it does not apply."""
        if self._regex is not None:
            found = self._regex.match(texts[self._rule.of])
            if found is None:
                return None
            if not self._is_simple:
                texts = texts.with_groups(found)
        if not self._are_met(texts):
            return None
        if not self._rule.rules:
            return Decision(self._rule, self._get_strength(texts))
        for rule in self._rules:
            decision = rule.decide(texts)
            if decision is not None:
                return decision
        return None

    def _get_strength(self, texts: _Texts) -> Strength | None:
        match self._rule.verdict:
            case "no limit" | None:
                return None
            case "plain" | "only plain" if self._rule.policy_if and self._is_policy(texts):
                return "policy"
            case "plain":
                return strength_of(texts.clause)
            case "only plain":
                return "plain"
            case verdict:
                return verdict


def load_group(name: str) -> Rule:
    """Return a group of rules."""
    return msgspec.json.decode(load_limit_rules().groups[name], type=Rule)


@cache
def _get_group(name: str) -> _ReadyRule:
    return _ReadyRule(load_group(name))


def decide(group: str, clause: Clause) -> Decision | None:
    """Return the decision of a group of rules about a clause; None if no rule applies."""
    return _get_group(group).decide(_Texts(clause, {}))


def judge(group: str, clause: Clause) -> Strength | None:
    """Return how binding a clause is by a group of rules; None if it is no limit. Sets the words to store."""
    decision = decide(group, clause)
    if decision is None or decision.strength is None:
        return None
    _set_content(clause, decision.rule.content)
    return decision.strength


MAX_WORDS_BEFORE = 12


def _set_content(clause: Clause, content: str) -> None:
    if content in ("to start", "whole sentence") or (
        content == "near start" and len(text_before(clause).split()) <= MAX_WORDS_BEFORE
    ):
        clause.start = 0
    if content in ("to end", "whole sentence"):
        clause.end = len(clause.sentence.words)
    if content == "clause":
        clause.start = clause.first
    if content == "next word":
        clause.end += 1
