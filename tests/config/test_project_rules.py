"""An untrusted project can only reduce its own rights."""

from pathlib import Path

import pytest

from clio.config.project_rules import PROJECT_RULES
from clio.config.schema import CONFIG_FIELDS, MODEL_FIELDS, SECTIONS, Config, SettingField
from clio.config.trust import trust_project
from tests.config.harness import Harness

_MODES = ("plan", "ask", "edits", "all")
_HOMES = (
    "",
    "approve: all\nsandbox: auto\nsandbox_network: true\nprivate_network: true\nredact: off\nmax_cost: 2\n",
    "approve: plan\nhooks: off\nallow: [ls]\ndeny: [rm *]\nprovider: ollama\nmodel: mine\nsandbox_caches: no",
)


def values_of(field: SettingField) -> list[str]:
    """Return values for the field, each as a line of a YAML file."""
    match field.kind:
        case "choice":
            return [f"'{choice}'" for choice in field.choices]
        case "switch":
            return ["true", "false"]
        case "count":
            return ["1", "7", "999999999999"]
        case "number":
            return ["0.5", "0.001"]
        case "texts":
            return ["[x]", "['x *']", "['.*']", "[]"]
        case "models":
            return [f"{{mine: {{{name}: {values_of(one)[0]}}}}}" for name, one in MODEL_FIELDS.items()]
        case "keys":
            return ["{reasoning: f2}"]
        case "section":
            return [f"{{{name}: {values_of(one)[0]}}}" for name, one in SECTIONS[field.name].items()]
        case "text":
            return ["x", "offline", "/tmp/x"]


def is_narrower_or_equal(name: str, now: Config, before: Config) -> bool:
    """Whether one setting permits no more than before; written independently of the rules."""
    new, old = getattr(now, name), getattr(before, name)
    match name:
        case "approve":
            return _MODES.index(new) <= _MODES.index(old)
        case "deny":
            return set(new) >= set(old)
        case "sandbox":
            return new == old or old == "off"
        case "sandbox_caches" | "sandbox_network" | "private_network":
            return new is False or new == old
        case "background_approvals":
            return new in (old, "refuse")
        case "redact":
            return new is True or new == old
        case _:
            return new == old


def test_every_setting_has_a_decision_with_a_reason() -> None:
    assert set(PROJECT_RULES) == set(CONFIG_FIELDS)
    assert all(rule.why for rule in PROJECT_RULES.values())
    assert all((rule.narrower is None) == (rule.effect != "narrows") for rule in PROJECT_RULES.values())


@pytest.mark.parametrize("name", sorted(CONFIG_FIELDS))
@pytest.mark.parametrize("home", _HOMES)
def test_no_value_of_an_untrusted_project_gives_it_more(tmp_path: Path, home: str, name: str) -> None:
    harness = Harness(tmp_path)
    harness.write_home(home)
    before = harness.load().config
    field = CONFIG_FIELDS[name]
    for value in [*values_of(field), *(["null"] if field.optional else [])]:
        harness.write_project(f"{name}: {value}\n")
        loaded = harness.load()
        for other in CONFIG_FIELDS:
            assert is_narrower_or_equal(other, loaded.config, before), (name, value, other)
        changed = loaded.config != before
        named = {one.key.split(".")[0] for one in loaded.withheld} | {
            line.split(": ")[1].split()[0].split(".")[0] for line in loaded.problems
        }
        assert changed or name in named or is_same(before, name, value), (name, value)


def is_same(config: Config, name: str, value: str) -> bool:
    """Whether the project asks for what applies anyway."""
    now = getattr(config, name)
    words = {"true": True, "false": False, "null": None}
    plain = words.get(value, value.strip("'"))
    return value == "[]" or plain == now or str(now) == plain or (name == "models" and "tools: true" in value)


@pytest.mark.parametrize("line", ["checkpoint_mb: 1", "checkpoint_days: 1", "job_days: 1", "preference_floor: 0.9"])
def test_limits_of_shared_stores_are_the_users_even_with_trust(tmp_path: Path, line: str) -> None:
    harness = Harness(tmp_path)
    before = harness.load().config
    harness.write_project(f"approve: all\n{line}\n")
    trust_project(harness.load())
    loaded = harness.load()
    name = line.partition(":")[0]
    assert (loaded.config.approve, getattr(loaded.config, name)) == ("all", getattr(before, name))
    assert any(name in problem for problem in loaded.problems)
