"""The limit rules in `languages/en_limits.json`: each is valid and matches its own example."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from clio.memory.preferences.limits import (
    Clause,
    LimitRule,
    find_limit_rule,
    find_limits,
    load_group,
    load_limit_rules,
    read_clause,
    split_clauses,
)
from clio.memory.preferences.own_sentences import read_sentences
from clio.memory.preferences.rule_files import Conditions, RuleList, english_rules

GROUPS = sorted(load_limit_rules().groups)


def list_clauses(text: str) -> Iterator[Clause]:
    for sentence in read_sentences(text):
        spans = split_clauses(sentence.words)
        for number, (first, end) in enumerate(spans):
            clause = read_clause(sentence, first, end, spans[:number])
            if clause is not None and clause.line:
                yield clause


def list_rules(rule: LimitRule) -> Iterator[LimitRule]:
    """Return a rule and the rules in it."""
    yield rule
    for one in rule.rules:
        yield from list_rules(one)


def list_conditions(conditions: Conditions) -> Iterator[str]:
    for one in conditions:
        yield from (one,) if isinstance(one, str) else one


def test_the_order_and_the_triggers_of_all_groups_are_known() -> None:
    triggers = english_rules("limits").triggers
    assert sorted({name.partition(":")[0] for name in triggers} - {"demand"}) == GROUPS


@pytest.mark.parametrize("group", GROUPS)
def test_each_rule_matches_its_example(group: str) -> None:
    wrong: list[str] = []
    for rule in list_rules(load_group(group)):
        if rule.rules:
            continue
        if rule not in [find_limit_rule(group, clause) for clause in list_clauses(rule.example)]:
            wrong.append(rule.example)
    assert wrong == []


def test_each_rule_about_duration_matches_its_example(monkeypatch: pytest.MonkeyPatch) -> None:
    decided: list[object] = []
    find = RuleList[LimitRule].find

    def record(rules: RuleList[LimitRule], texts: Any) -> Any:
        found = find(rules, texts)
        decided.append(found[0] if found else None)
        return found

    monkeypatch.setattr(RuleList, "find", record)
    for rule in list_rules(load_limit_rules().terms):
        if not rule.rules:
            assert rule.verdict in [one.term for one in find_limits(rule.example)]
            assert rule in decided


@pytest.mark.parametrize("group", GROUPS)
def test_examples_are_distinct_and_rules_with_subrules_have_none(group: str) -> None:
    rules = list(list_rules(load_group(group)))
    examples = [rule.example for rule in rules if not rule.rules]
    assert len(set(examples)) == len(examples)
    assert [rule.example for rule in rules if rule.rules and (rule.example or rule.verdict or rule.content)] == []
    assert [rule.example for rule in rules if not rule.rules and rule.verdict is None] == []
    assert [rule.example for rule in rules if rule.policy_if and rule.verdict not in ("plain", "only plain")] == []


def test_every_condition_word_list_and_pattern_is_used() -> None:
    rules = load_limit_rules()
    groups = [rules.terms, *map(load_group, GROUPS)]
    conditions = {
        condition.removeprefix("not ")
        for one in [*rules.conditions.values(), *(rule for group in groups for rule in list_rules(group))]
        for part in (one.needs, one.unless, one.policy_if if isinstance(one, LimitRule) else ())
        for condition in list_conditions(part)
    }
    text = msgspec.json.encode(groups).decode() + msgspec.json.encode(rules.conditions).decode()
    used = set(re.findall(r"\{([a-z][a-z_]*)\}", text + msgspec.json.encode(rules.section.patterns).decode()))
    common = english_rules("limits")
    assert set(rules.conditions) <= conditions
    assert set(rules.section.patterns) <= used
    assert {words for words in rules.section.words if words not in common.words} <= {
        condition.split(" in ", 1)[1] for condition in conditions if re.fullmatch(r"\w+ in \w+", condition)
    }


@pytest.mark.parametrize("group", GROUPS)
def test_every_regular_expression_compiles(group: str) -> None:
    rules = load_limit_rules()
    for rule in list_rules(load_group(group)):
        re.compile(rules.section.text(rule.when))
        for condition in list_conditions((*rule.needs, *rule.unless, *rule.policy_if)):
            if found := re.match(r"(?:not )?\w+ (?:has|begins|equals) (.*)", condition):
                re.compile(rules.section.text(found[1]))


@pytest.mark.parametrize(
    "text",
    [
        "can you stop?",
        "can you stop the server",
        "let's stop here",
        "it's not forbidden to edit the docs",
        "you can see that nothing works",
        "the button must be blue",
        "the user never sees it",
        "editors don't read it",
    ],
)
def test_no_limit_is_stated(text: str) -> None:
    assert find_limits(text) == ()


def test_what_a_file_must_not_contain_is_a_limit() -> None:
    [found] = find_limits("src/report.py must not contain SQL")
    assert (found.content, found.term, found.scope) == ("src/report.py must not contain SQL", "lasting", "project")


def test_a_name_that_begins_like_an_article_is_no_article() -> None:
    assert [one.term for one in find_limits("use asyncio for this project, not threads")] == ["lasting"]
    assert [one.term for one in find_limits("use a queue for this job, not a list")] == ["task"]
