"""Setting and removing one setting in a file of any layout without changing the rest."""

import pytest

from clio.config.yaml_edit import format_yaml_value, remove_yaml_path, set_yaml_path
from clio.errors import ConfigError

FILES = {
    "empty": "",
    "comment": "# mine\n",
    "no end": "approve: ask # often\nmax_steps: 5",
    "list": "allow:\n  - git log *\n  # why\n  - make\n# after\napprove: ask\n",
    "nested": "models:\n  gpt-4.1:\n    context_window: 1000\n    # small\n  qwen3:\n    effort: low\napprove: ask\n",
    "flow": "{approve: ask, allow: [make]}\n",
    "windows": "approve: ask\r\nmodels:\r\n  qwen3:\r\n    effort: low\r\n",
    "null": "models:\nkeys: ~\napprove:\n",
}
SETTINGS = [
    (("approve",), "edits"),
    (("max_steps",), 7),
    (("allow",), ("git status", "a: b", "off")),
    (("models", "gpt-4.1", "effort"), "high"),
    (("models", "qwen3", "effort"), "max"),
    (("models", "new", "context_window"), 2000),
    (("keys", "editor"), "c-e"),
    (("ltm",), False),
    (("scenario",), "on: yes # 'no'"),
]


def read(data: bytes) -> dict[tuple[str, ...], list[object]]:
    from clio.config.schema import iter_settings
    from clio.config.yaml_file import parse_yaml

    found: dict[tuple[str, ...], list[object]] = {}
    for setting in iter_settings(parse_yaml(data, "f"), "f"):
        found.setdefault(setting.key, []).append(setting.value)
    return found


@pytest.mark.parametrize("layout", FILES)
@pytest.mark.parametrize(("key", "value"), SETTINGS, ids=[".".join(key) for key, _ in SETTINGS])
def test_a_setting_is_set_and_everything_else_is_unchanged(layout: str, key: tuple[str, ...], value: object) -> None:
    before = FILES[layout].replace("approve:\n", "") if layout == "null" else FILES[layout]
    after = set_yaml_path(before.encode(), key, format_yaml_value(value), "f")
    expected = read(before.encode()) | {key: list(value) if isinstance(value, tuple) else [value]}
    assert read(after) == expected
    removed = [line for line in before.splitlines() if "#" in line and line.split("#")[1] not in after.decode()]
    assert removed == [] or key == ("allow",)
    assert ("\r\n" in before) == ("\r\n" in after.decode()) and after.count(b"\r\n") in (0, after.count(b"\n"))


@pytest.mark.parametrize("layout", ["no end", "list", "nested", "windows"])
def test_only_the_removed_setting_is_gone(layout: str) -> None:
    before = FILES[layout].encode()
    for key in read(before):
        after = remove_yaml_path(before, key, "f")
        assert read(after) == {other: value for other, value in read(before).items() if other != key}
    assert b"# small" in remove_yaml_path(FILES["nested"].encode(), ("models", "qwen3", "effort"), "f")


def test_a_layout_that_cannot_be_edited_is_reported_and_not_changed() -> None:
    with pytest.raises(ConfigError, match="by hand"):
        remove_yaml_path(FILES["flow"].encode(), ("approve",), "f")
    with pytest.raises(ConfigError, match="by hand"):
        set_yaml_path(b"theme: |\n  dark\n", ("theme",), "light", "f")
