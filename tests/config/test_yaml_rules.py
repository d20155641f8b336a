"""Adding a rule changes no other character of the file."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clio.config.schema import iter_settings
from clio.config.yaml_edit import add_yaml_rule, store_rule
from clio.config.yaml_file import parse_yaml
from clio.errors import ConfigError
from tests.support.rows import each_row

# before -> after, for the rule `git log *`
EDITS = {
    "": 'allow:\n  - "git log *"\n',
    "# mine\n": '# mine\nallow:\n  - "git log *"\n',
    "# mine": '# mine\nallow:\n  - "git log *"\n',
    "model: x  # why\n": 'model: x  # why\nallow:\n  - "git log *"\n',
    "allow:\n  - ls  # safe\nmodel: x\n": 'allow:\n  - ls  # safe\n  - "git log *"\nmodel: x\n',
    "allow:\n- ls\n# end": 'allow:\n- ls\n- "git log *"\n# end\n',
    "allow:\n    - ls": 'allow:\n    - ls\n    - "git log *"\n',
    "allow:\n  - ls\n\n  # tests\n  - make test\n\nmodel: x\n": (
        'allow:\n  - ls\n\n  # tests\n  - make test\n  - "git log *"\n\nmodel: x\n'
    ),
    "allow: [ls, 'make test']  # short\n": "allow: [ls, 'make test', \"git log *\"]  # short\n",
    "allow: [\n  ls, # a\n  make, # b\n]\n": 'allow: [\n  ls, # a\n  make, "git log *", # b\n]\n',
    "allow: []\n": 'allow: ["git log *"]\n',
    "allow: [  ]": 'allow: ["git log *"  ]\n',
    "allow:\nmodel: x\n": 'allow:\n  - "git log *"\nmodel: x\n',
    "allow:  # none yet\n  # - ls\n": 'allow:  # none yet\n  - "git log *"\n  # - ls\n',
    "allow: ~ # none\n": 'allow: ["git log *"] # none\n',
    "allow: null": 'allow: ["git log *"]\n',
    "{model: x}\n": '{model: x, allow: ["git log *"]}\n',
    "{}": '{allow: ["git log *"]}\n',
    "---\nmodel: x\n": '---\nmodel: x\nallow:\n  - "git log *"\n',
    "model: ü\r\nallow:\r\n  - ls\r\n": 'model: ü\r\nallow:\r\n  - ls\r\n  - "git log *"\r\n',
    "\ufeffmodel: x\n": '\ufeffmodel: x\nallow:\n  - "git log *"\n',
    "allow:\n  - git log *\n": "allow:\n  - git log *\n",
    "allow:\n  - >-\n    ls\n    -l\nmodel: x\n": 'allow:\n  - >-\n    ls\n    -l\n  - "git log *"\nmodel: x\n',
}


def rules(data: bytes) -> list[object]:
    return [setting.value for setting in iter_settings(parse_yaml(data, "x"), "x") if setting.name == "allow"]


@each_row("before", list(EDITS), ids=repr)
def test_the_rule_is_added_where_a_user_would_write_it(before: str) -> None:
    after = add_yaml_rule(before.encode(), "git log *", "config.yaml")
    assert after.decode() == EDITS[before]


@pytest.mark.parametrize("before", ["model: x\n...\n", "? allow\n: - ls\n"])
def test_a_file_that_cannot_be_edited_is_reported_and_not_changed(before: str) -> None:
    try:
        after = add_yaml_rule(before.encode(), "ls -l", "config.yaml")
    except ConfigError as error:
        assert "add it by hand under 'allow:'" in str(error)
    else:
        assert "ls -l" in rules(after)


# Rules of characters that YAML can represent, as commands are; others are refused, never changed.
commands = st.text(
    st.characters(exclude_categories=("Cs",)) | st.sampled_from("\"'#:*&!|>%@`{}[],\\ $"), min_size=1, max_size=30
).filter(lambda rule: rule == rule.strip())


@given(st.lists(commands, max_size=5, unique=True), st.sampled_from(list(EDITS)))
@example(["\x85", "a\u2028b", "\x07", "x: y # z", "- a"], "")
def test_any_rule_is_read_back_or_refused(new: list[str], before: str) -> None:
    data = before.encode()
    expected = rules(data)
    for rule in new:
        try:
            data = add_yaml_rule(data, rule, "config.yaml")
        except ConfigError as error:
            assert "add it by hand" in str(error)
        else:
            expected += [] if rule in expected else [rule]
        assert rules(data) == expected


def test_a_file_with_an_error_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("aprove: all\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="unknown key 'aprove'"):
        store_rule(path, "ls")
    assert path.read_text(encoding="utf-8") == "aprove: all\n"


def test_a_missing_file_and_folder_are_created_and_ignored_by_git(tmp_path: Path) -> None:
    path = tmp_path / ".clio" / "config.yaml"
    store_rule(path, "ls")
    assert path.read_text(encoding="utf-8") == 'allow:\n  - "ls"\n'
    assert sorted(entry.name for entry in path.parent.iterdir()) == [".gitignore", "config.yaml"]


@pytest.mark.skipif(os.name == "nt", reason="links and modes of POSIX")
def test_links_and_modes_are_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "config.yaml"
    real.write_text("model: x\n", encoding="utf-8")
    real.chmod(0o644)
    link.symlink_to(real)
    store_rule(link, "ls")
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == 'model: x\nallow:\n  - "ls"\n'
    assert stat.S_IMODE(real.stat().st_mode) == 0o644


def test_a_read_only_folder_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / ".clio").write_text("a file in the way", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"the rule 'ls' cannot be stored in .*config\.yaml: "):
        store_rule(tmp_path / ".clio" / "config.yaml", "ls")
