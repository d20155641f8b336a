"""Setting one value in a file written by a user."""

import os
from pathlib import Path

import pytest

from clio.config.yaml_edit import set_yaml_value, store_setting
from clio.errors import ConfigError, UserError
from tests.config.harness import Harness

FLOOR = "preference_floor: 0.05"
EDITS = {
    "": f"{FLOOR}\n",
    "# mine": f"# mine\n{FLOOR}\n",
    "model: x  # why\n": f"model: x  # why\n{FLOOR}\n",
    "preference_floor: 0.2 # slow\nmodel: x\n": f"{FLOOR} # slow\nmodel: x\n",
    "preference_floor:    '0.3'\n": "preference_floor:    0.05\n",
    "{model: x}\n": f"{{model: x, {FLOOR}}}\n",
    "{}": f"{{{FLOOR}}}\n",
    "model: x\r\nltm: no\r\n": f"model: x\r\nltm: no\r\n{FLOOR}\r\n",
    "\ufeffmodel: x\n": f"\ufeffmodel: x\n{FLOOR}\n",
    "allow:\n  - ls\n  # tests\n  - make\n": f"allow:\n  - ls\n  # tests\n  - make\n{FLOOR}\n",
}


@pytest.mark.parametrize("before", EDITS)
def test_only_the_value_changes(before: str) -> None:
    assert set_yaml_value(before.encode(), "preference_floor", "0.05", "f").decode() == EDITS[before]
    again = set_yaml_value(EDITS[before].encode(), "preference_floor", "0.05", "f").decode()
    assert again == EDITS[before]


def test_a_value_that_would_need_other_changes_is_not_set() -> None:
    with pytest.raises(ConfigError, match="could not be set in f; add this line by hand"):
        set_yaml_value(b"model: x\n...\n", "preference_floor", "0.05", "f")
    with pytest.raises(ConfigError, match="f:1: unknown key 'modle'"):
        set_yaml_value(b"modle: x\n", "preference_floor", "0.05", "f")


def test_a_missing_file_is_created_and_read_back(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.write_home("model: x\n")
    path = harness.load({}).files[0]
    store_setting(path, "preference_half_life_days", "14")
    store_setting(path, "preference_floor", " 0 ")
    config = harness.load({}).config
    assert (config.preference_half_life_days, config.preference_floor, config.model) == (14.0, 0.0, "x")
    if os.name != "nt":
        new = tmp_path / "new" / "config.yaml"
        store_setting(new, "preference_floor", "0.5")
        assert new.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("preference_half_life_days", "0", "must be a number above 0, not '0'"),
        ("preference_half_life_days", "-3", "must be a number above 0, not '-3'"),
        ("preference_half_life_days", "nan", "must be a number above 0, not 'nan'"),
        ("preference_floor", "1", "must be a number from 0 to below 1, not '1'"),
        ("preference_floor", "1.5", "must be a number from 0 to below 1"),
        ("preference_floor", "-0.1", "must be a number from 0 to below 1"),
        ("preference_floor", "half", "must be a number from 0 to below 1, not 'half'"),
    ],
)
def test_numbers_have_limits(tmp_path: Path, name: str, value: str, message: str) -> None:
    with pytest.raises(UserError, match=f"{name} {message}"):
        store_setting(tmp_path / "config.yaml", name, value)
    harness = Harness(tmp_path)
    harness.write_home(f"{name}: {value}\n")
    with pytest.raises(ConfigError, match=f"config.yaml:1: {name} must be a number"):
        harness.load({})
