"""The rules of preferences in `languages/en_preferences.json`: each is valid and decides about its own example."""

from collections.abc import Iterator

import msgspec
import pytest

from clio.memory.preferences.stated_preferences import (
    Sentence,
    StatementRule,
    find_preferences,
    find_statement_rule,
    load_preference_rules,
)

GROUPS = sorted(load_preference_rules().groups)


def list_rules(rules: tuple[StatementRule, ...]) -> Iterator[StatementRule]:
    """The rules that state something."""
    for rule in rules:
        yield from list_rules(rule.rules) if rule.rules else (rule,)


@pytest.mark.parametrize("group", GROUPS)
def test_each_rule_decides_about_its_example(group: str) -> None:
    for rule in list_rules(load_preference_rules().groups[group]):
        found = find_statement_rule(group, Sentence(text=rule.example, masked=rule.example))
        assert found is not None
        assert found[0] == rule
        [stated] = find_preferences(rule.example)
        assert (stated.kind, stated.content, stated.score) == (rule.kind, found[1].content, rule.score)


def test_every_condition_and_pattern_is_used() -> None:
    rules = load_preference_rules()
    text = msgspec.json.encode((rules.groups, rules.patterns)).decode()
    assert [name for name in rules.conditions if f'"{name}"' not in text and f'"not {name}"' not in text] == []
    assert [name for name in rules.patterns if f"{{{name}}}" not in text] == []


@pytest.mark.parametrize("text", ["I love thanks", "I hate in general", "despise anymore"])
def test_words_at_the_end_of_a_sentence_are_no_preference(text: str) -> None:
    assert find_preferences(text) == ()
