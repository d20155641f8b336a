"""The preference rules in `languages/en_preferences.json`: each is valid and matches its own example."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from clio.memory.preferences.rule_files import RuleList
from clio.memory.preferences.stated_preferences import SCORES, StatementRule, find_preferences, load_preference_rules

GROUPS = sorted(load_preference_rules().groups)


def list_rules(rules: tuple[StatementRule, ...]) -> Iterator[StatementRule]:
    """Return the rules that produce a statement."""
    for rule in rules:
        yield from list_rules(rule.rules) if rule.rules else (rule,)


@pytest.mark.parametrize("group", GROUPS)
def test_each_rule_matches_its_example(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    decided: list[StatementRule | None] = []
    find = RuleList[StatementRule].find

    def record(rules: RuleList[StatementRule], texts: Any) -> Any:
        found = find(rules, texts)
        decided.append(found[0] if found else None)
        return found

    monkeypatch.setattr(RuleList, "find", record)
    for rule in list_rules(load_preference_rules().groups[group]):
        decided.clear()
        [stated] = find_preferences(rule.example)
        assert (stated.kind, stated.score) == (rule.kind, SCORES[rule.score])
        assert next(one for one in decided if one is not None) == rule


def test_every_condition_and_pattern_is_used() -> None:
    rules = load_preference_rules()
    text = msgspec.json.encode((rules.groups, rules.conditions, rules.section.patterns)).decode()
    used = set(re.findall(r'"(?:not )?([a-z ]+)"(?!:)', text))
    assert set(rules.conditions) <= used
    assert [name for name in rules.section.patterns if f"{{{name}}}" not in text] == []


@pytest.mark.parametrize("text", ["I love thanks", "I hate in general", "despise anymore"])
def test_words_at_the_end_of_a_sentence_are_no_preference(text: str) -> None:
    assert find_preferences(text) == ()
