"""The English rules in `languages/en.json`: each rule is valid and used, and each rule that a module uses exists."""

import re
from pathlib import Path

import msgspec
import pytest

from clio.memory.preferences.rule_files import RuleSection, english_rules, load_rule_file

MEMORY = Path(__file__).parents[3] / "clio" / "memory"
SECTIONS = sorted(load_rule_file("en", dict[str, msgspec.Raw]))
USED = re.compile(r"""(_[A-Z]+)\.(?:pattern\(|word_set\(|maps\[)"([a-z_]+)\"""")


def used_names() -> set[tuple[str, str]]:
    """Return section and name of every rule that a module uses."""
    found: set[tuple[str, str]] = set()
    for path in MEMORY.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        sections = dict(re.findall(r"""^(_[A-Z]+) = english_rules\("(\w+)"\)""", text, re.MULTILINE))
        found.update((sections[variable], name) for variable, name in USED.findall(text) if variable in sections)
        found.update(re.findall(r"""english_rules\("(\w+)"\)\.pattern\("(\w+)"\)""", text))
    return found


def test_every_rule_is_used_and_every_used_rule_exists() -> None:
    there = {
        (section, name)
        for section in SECTIONS
        for names in (english_rules(section).patterns, english_rules(section).words, english_rules(section).maps)
        for name in names
    }
    assert used_names() == there


@pytest.mark.parametrize("section", SECTIONS)
def test_every_regular_expression_compiles_and_every_part_is_used(section: str) -> None:
    rules = english_rules(section)
    for name in rules.patterns:
        pattern = rules.pattern(name)
        re.compile(pattern.pattern, pattern.flags)
    for cues in rules.cue_patterns().values():
        for _, cue in cues:
            re.compile(cue.pattern, cue.flags)
    written = msgspec.json.encode(rules).decode()
    assert [name for name in rules.parts if f"{{{name}}}" not in written] == []


def test_a_pattern_is_built_from_alternatives_sequences_and_parts() -> None:
    rules = msgspec.json.decode(
        b"""{
            "parts": {"thing": ["tab", "space"]},
            "flags": "i",
            "patterns": {
                "choice": ["a", "b c"],
                "sequence": {"all": ["use (?:{thing})s? ", ["now", {"open": "(?P<when>", "any": ["later", "never"]}]]},
                "exact": {"any": ["A", "B"], "flags": ""}
            }
        }""",
        type=RuleSection,
    )
    assert rules.pattern("choice").pattern == "a|b c"
    found = rules.pattern("sequence").match("Use tabs NEVER")
    assert found is not None
    assert found["when"] == "NEVER"
    assert rules.pattern("exact").match("a") is None


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"patterns": {"x": {"al": ["a"]}}}', type=RuleSection)
