"""Every error in a configuration file, and its message."""

import os
from pathlib import Path

import pytest

from clio.config.schema import read_settings_file
from clio.config.yaml_edit import store_setting
from clio.config.yaml_file import MAX_CONFIG_BYTES, parse_yaml
from clio.errors import ConfigError
from tests.support.rows import each_row
from tests.support.wording import mentions

WRONG = {
    # keys
    "aprove: all": "config.yaml:1: unknown key 'aprove'; did you mean 'approve'?",
    "\n\n# why\nmax-steps: 3": "config.yaml:4: unknown key 'max-steps'; did you mean 'max_steps'?",
    "Model: x": "config.yaml:1: unknown key 'Model'; did you mean 'model'?",
    "3: x": "config.yaml:1: unknown key '3'; known: model, provider, base_url,",
    "<<: {model: x}": "config.yaml:1: unknown key '<<'; known:",
    "model: a\napprove: ask\nmodel: b": "config.yaml:3: 'model' is already set on line 1; keep one of them",
    "[a]: b": "config.yaml:1: a key must be a word, not a list",
    "models:\n  m:\n    contextwindow: 3": (
        "config.yaml:3: models.m: unknown key 'contextwindow'; did you mean 'context_window'?"
    ),
    # values of a wrong type
    "max_steps: many": "config.yaml:1: max_steps must be a whole number of at least 1, not 'many'",
    "max_steps: 0": "config.yaml:1: max_steps must be a whole number of at least 1, not '0'",
    "max_steps: -1": "config.yaml:1: max_steps must be a whole number of at least 1, not '-1'",
    "max_steps: 1.5": "config.yaml:1: max_steps must be a whole number of at least 1, not '1.5'",
    "max_steps: 1e3": "config.yaml:1: max_steps must be a whole number of at least 1, not '1e3'",
    f"max_steps: {'9' * 5000}": f"config.yaml:1: max_steps must be a whole number of at least 1, not '{'9' * 59}…'",
    "max_steps:": "config.yaml:1: max_steps has no value; it must be a whole number of at least 1",
    "max_steps: true": "config.yaml:1: max_steps must be a whole number of at least 1, not 'true'",
    "max_steps: [1]": "config.yaml:1: max_steps must be a whole number of at least 1, not a list",
    "approve: yes": "config.yaml:1: approve must be one of ask, edits, all, plan: YAML reads an unquoted yes as true",
    "approve: off": "config.yaml:1: approve must be one of ask, edits, all, plan: YAML reads an unquoted off as false",
    "approve: edit": "config.yaml:1: approve must be one of ask, edits, all, plan, not 'edit'; did you mean 'edits'?",
    "approve: [ask]": "config.yaml:1: approve must be one of ask, edits, all, plan, not a list",
    "approve:": "config.yaml:1: approve has no value; it must be one of ask, edits, all, plan",
    "provider: off": (
        "config.yaml:1: provider must be text that is not empty: YAML reads an unquoted off as false; put it in quotes"
    ),
    "model: {a: b}": "config.yaml:1: model must be text that is not empty, not a mapping",
    "model: ' '": "config.yaml:1: model must be text that is not empty, not ''",
    "redact: maybe": "config.yaml:1: redact must be true or false, not 'maybe'",
    "redact: 0": "config.yaml:1: redact must be true or false, not '0'",
    "redact: 'off'": "config.yaml:1: redact must be true or false, not 'off'",
    "allow: git log *": ("config.yaml:1: allow must be a list, each entry on its own line after '- ', not 'git log *'"),
    "allow: {a: b}": "config.yaml:1: allow must be a list, each entry on its own line after '- ', not a mapping",
    "allow:\n  - [a]": "config.yaml:1: allow must contain only text, not a list; quote text that contains ': '",
    "allow:\n  - a: b": "config.yaml:1: allow must contain only text, not a mapping; quote text that contains ': '",
    "allow:\n  -": "config.yaml:1: allow must contain only text, not nothing; quote text that contains ': '",
    "redact_patterns:\n  - 'a+'\n  - '('": (
        "config.yaml:3: the pattern '(' is ignored: it is not a valid regular expression: missing ), unterminated "
        "subpattern; correct or remove it"
    ),
    "models: [a]": "config.yaml:1: models must be a mapping from a model's name to its settings, not a list",
    "models:\n  m: 3": "config.yaml:2: models.m must be a mapping such as 'context_window: 32000', not '3'",
    "models:\n  m:\n    tools: some": "config.yaml:3: models.m.tools must be true or false, not 'some'",
    # no mapping at all
    "- a\n- b": "config.yaml:1: expected lines such as 'approve: ask', not a list",
    "hello": "config.yaml:1: expected lines such as 'approve: ask', not 'hello'",
    "\x1b[2J": "config.yaml:1: control characters are not allowed in YAML; remove them",
    '"\\e[2J"': r"config.yaml:1: expected lines such as 'approve: ask', not '\x1b[2J'",
    # broken YAML
    "approve: ask\nmodel: a: b": (
        "config.yaml:2: a colon too many, or a line indented too far; put a text that contains ': ' in quotes"
    ),
    "models:\n\tm: 1": "config.yaml:2: a tab at the start of the text; YAML is indented with spaces",
    "allow: [*]": "config.yaml:1: a text that starts with '*' or '&' must be in quotes",
    "model: @x": "config.yaml:1: a text that starts with '@' must be in quotes",
    "model: `x`": "config.yaml:1: a text that starts with '`' must be in quotes",
    'approve: ask\nmodel: "x\nallow: []': "config.yaml:2: a quotation mark or bracket that opens here is never closed",
    "\nallow: [a, b\nmodel: x\n": (
        "config.yaml:2: a comma or the closing bracket is missing after this opening bracket"
    ),
    "approve: ask\nmodel\n": "config.yaml:2: a key without a colon; write 'key: value'",
    "models:\n  a: {}\n b: {}": "config.yaml:3: the indentation of this line does not match the lines around it",
    "allow:\n  - a\n - b": "config.yaml:3: the indentation of this line does not match the lines around it",
    "model: a\n---\nmodel: b": "config.yaml:2: a second document begins here; keep one, without '---' between",
    "model: &a x\nprovider: *a": "config.yaml:2: aliases ('*name') are not used here; write the value out",
    "model: !secret x": "config.yaml:1: the tag '!secret' is not supported; remove it",
    "model: a\x00": "config.yaml:1: control characters are not allowed in YAML; remove them",
    "allow: " + "[" * 100_000: "config.yaml:1: too deeply nested",
}


def settings(tmp_path: Path, text: str | bytes) -> dict[str, object]:
    path = tmp_path / "config.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found: dict[str, object] = {}
    for setting in read_settings_file(path, "config.yaml") or ():
        if setting.key[0] in ("allow", "deny", "redact_patterns"):
            found[setting.name] = (*found.get(setting.name, ()), setting.value)  # type: ignore[misc]
        else:
            found[setting.name] = setting.value
    return found


def error(tmp_path: Path, text: str | bytes) -> str:
    with pytest.raises(ConfigError) as caught:
        settings(tmp_path, text)
    return str(caught.value)


@each_row("text", list(WRONG), ids=lambda text: repr(text[:40]))
def test_errors_are_reported_with_their_line(tmp_path: Path, text: str) -> None:
    message = error(tmp_path, text)
    expected = WRONG[text]
    assert message.startswith(expected) if expected.endswith((",", "known:")) else message == expected
    assert "\n" not in message and message.isprintable()


@each_row("text", ["", "\n\n", "# nothing yet\n", "---\n", "--- # x\n...\n", "\ufeff", "~", "{}"])
def test_an_empty_file_sets_nothing(tmp_path: Path, text: str) -> None:
    assert settings(tmp_path, text) == {}


def test_a_missing_file_is_not_an_empty_one(tmp_path: Path) -> None:
    assert read_settings_file(tmp_path / "config.yaml", "config.yaml") is None
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert read_settings_file(tmp_path / "file" / "config.yaml", "config.yaml") is None


def test_all_kinds_of_values_are_read(tmp_path: Path) -> None:
    text = """\
        # a comment
        model: gpt-4.1      # text that looks like a number stays text
        provider: "on"
        api_key: 0123
        base_url:           # nothing: as if no layer below had set it
        max_steps: 1_000
        context_window: '32000'
        redact: off
        ltm: No
        allow:
          - git log *
          - "make: all"
          - 3
        deny: []
        redact_patterns:
        models:
          4.1:
            context_window: 8000
          "a b": {tools: false, max_output_tokens: 7}
          empty:
        """.replace("\n        ", "\n").strip()
    assert settings(tmp_path, text) == {
        "model": "gpt-4.1",
        "provider": "on",
        "api_key": "0123",
        "base_url": None,
        "max_steps": 1000,
        "context_window": 32000,
        "redact": False,
        "ltm": False,
        "allow": ("git log *", "make: all", "3"),
        "models.4.1.context_window": 8000,
        "models.a b.tools": False,
        "models.a b.max_output_tokens": 7,
    }


@each_row("newline", ["\r\n", "\r", "\n"])
@each_row("bom", ["", "\ufeff"])
def test_line_endings_and_byte_order_marks_are_accepted(tmp_path: Path, newline: str, bom: str) -> None:
    text = bom + newline.join(["model: ü", "allow:", "- a", "- b", ""])
    assert settings(tmp_path, text) == {"model": "ü", "allow": ("a", "b")}


def test_an_entry_of_a_list_knows_its_line(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("allow:\n  # why\n  - a\n\n  - b\n", encoding="utf-8")
    assert [(s.value, s.origin) for s in read_settings_file(path, "x") or ()] == [("a", "x:3"), ("b", "x:5")]


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    assert mentions(error(tmp_path, b"model: x\nprovider: \xff"), "config.yaml:2", "not UTF-8")
    assert mentions(error(tmp_path, b"#" * (MAX_CONFIG_BYTES + 1)), "config.yaml", "1,000,000 bytes")
    with pytest.raises(ConfigError, match="is not a file"):
        read_settings_file(tmp_path, "config.yaml")


@pytest.mark.skipif(os.name == "nt", reason="pipes and permissions of POSIX")
def test_a_pipe_is_not_waited_for_and_a_forbidden_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="is a named pipe, not a file"):
        read_settings_file(tmp_path / "pipe", "config.yaml")
    forbidden = tmp_path / "config.yaml"
    forbidden.symlink_to(forbidden)
    with pytest.raises(ConfigError, match=r"config\.yaml is a link.*not read"):
        read_settings_file(forbidden, "config.yaml")


@each_row("word", ["off", "Off", "OFF", "'off'", "no", "false"])
def test_a_choice_that_yaml_reads_as_a_boolean_is_the_choice(tmp_path: Path, word: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"notify: {word}\n", encoding="utf-8")
    (setting,) = read_settings_file(path, "config.yaml") or ()
    assert (setting.name, setting.value) == ("notify", "off")
    store_setting(path, "notify", "bell")
    store_setting(path, "notify", "off")
    assert path.read_text(encoding="utf-8") == "notify: off\n"


@pytest.mark.parametrize("word", ["on", "yes", "true"])
def test_a_boolean_unlike_any_choice_is_refused(tmp_path: Path, word: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"notify: {word}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=f"YAML reads an unquoted {word} as true"):
        read_settings_file(path, "config.yaml")


@pytest.mark.parametrize(
    ("name", "example"),
    [
        ("mcp.yaml", "mcpServers:"),
        ("hooks.yaml", "hooks:"),
        ("prices.yaml", "openai:"),
        ("config.yaml", "approve: ask"),
    ],
)
def test_the_example_is_for_the_named_file(name: str, example: str) -> None:
    with pytest.raises(ConfigError, match=f"^~/.clio/{name}:1: expected lines such as '{example}', not 'hello'$"):
        parse_yaml(b"hello", f"~/.clio/{name}")
