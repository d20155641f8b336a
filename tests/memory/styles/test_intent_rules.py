"""The rules in `situations.json`: every intent has cues, each is valid, and every part is used."""

import re
from pathlib import Path

import msgspec

import clio.memory.styles.selection
from clio.memory.preferences.rule_files import RuleSection

FILE = Path(clio.memory.styles.selection.__file__).with_name("situations.json")


def test_every_cue_compiles_and_every_part_is_used() -> None:
    rules = msgspec.json.decode(FILE.read_bytes(), type=RuleSection)
    for cues in rules.cue_patterns().values():
        assert cues
        for weight, cue in cues:
            assert weight > 0 and re.compile(cue.pattern, cue.flags)
    for name in rules.patterns:
        assert re.compile(rules.pattern(name).pattern, rules.pattern(name).flags)
    assert [name for name in rules.parts if f"{{{name}}}" not in FILE.read_text(encoding="utf-8")] == []
