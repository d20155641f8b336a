"""hooks.yaml: the hooks of a user and of a project, and which of a project's need trust."""

from pathlib import Path

import pytest

from clio.config.extension_files import find_hooks, read_hooks
from clio.config.loaded import HOOK_EVENTS, TrustRequest
from clio.config.trust import trust_project
from clio.errors import ConfigError
from tests.config.harness import Harness
from tests.support.rows import each_row

GUARD = """\
before_tool:
  - match: edit_file|mcp_*
    run: ./guard.sh
    timeout_s: 2.5
  - run: echo all
session_end:
  - run: echo bye
"""


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "hooks.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_each_hook_is_read_with_its_line(tmp_path: Path) -> None:
    hooks = list(read_hooks(write(tmp_path, GUARD), "hooks.yaml"))
    assert [(hook.event, hook.run, hook.where, hook.timeout_s) for hook in hooks] == [
        ("before_tool", "./guard.sh", "hooks.yaml:2", 2.5),
        ("before_tool", "echo all", "hooks.yaml:5", 10.0),
        ("session_end", "echo bye", "hooks.yaml:7", 10.0),
    ]
    guard, all_tools, _ = hooks
    assert [guard.matches_tool(name) for name in ("edit_file", "mcp_x_y", "edit_files", "read_file")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert all_tools.matches_tool("read_file")


def test_a_missing_hooks_file_has_no_hooks(tmp_path: Path) -> None:
    assert list(read_hooks(tmp_path / "hooks.yaml", "hooks.yaml")) == []


@each_row(
    ("text", "message"),
    [
        ("before_tol:\n  - run: x\n", "hooks.yaml:1: unknown event 'before_tol'; did you mean 'before_tool'"),
        ("stop: x\n", "hooks.yaml:1: stop needs a list of hooks"),
        ("stop:\n  - x\n", "hooks.yaml:2: a hook is written as 'run: COMMAND', not 'x'"),
        ("stop:\n  - match: edit_file\n    run: x\n", "hooks.yaml:2: match selects tools, and stop has none"),
        ("stop:\n  - run: ' '\n", "hooks.yaml:2: the hook has no command"),
        ("stop:\n  - run: [x]\n", "hooks.yaml:2: run must be text, not a list"),
        ("stop:\n  - run: x\n    timeout: 3\n", "hooks.yaml:3: unknown key 'timeout'; did you mean 'timeout_s'"),
        ("stop:\n  - run: x\n    timeout_s: 0\n", "hooks.yaml:2: timeout_s must be a number above 0 and at most 600"),
        ("stop:\n  - run: x\n    timeout_s: nan\n", "hooks.yaml:2: timeout_s must be a number"),
    ],
)
def test_errors_are_reported_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        list(read_hooks(write(tmp_path, text), "hooks.yaml"))
    assert str(caught.value).startswith(message)


def test_every_event_can_have_a_hook(tmp_path: Path) -> None:
    text = "".join(f"{event}:\n  - run: echo\n" for event in HOOK_EVENTS)
    assert [hook.event for hook in read_hooks(write(tmp_path, text), "hooks.yaml")] == list(HOOK_EVENTS)


def test_a_projects_hooks_need_trust_and_the_users_do_not(harness: Harness) -> None:
    write(harness.home, "stop:\n  - run: mine\n")
    write(harness.project / ".clio", "stop:\n  - run: theirs\n    timeout_s: 3\n")
    loaded = harness.load()
    assert [hook.run for hook in loaded.hooks] == ["mine"]
    assert [(value.key, value.value, value.where) for value in loaded.withheld] == [
        ("hooks.stop", "theirs", ".clio/hooks.yaml:2")
    ]
    trust_project(loaded)
    assert [hook.run for hook in harness.load().hooks] == ["mine", "theirs"]
    write(harness.project / ".clio", "stop:\n  - run: theirs && rm -rf /\n")
    assert [hook.run for hook in harness.load().hooks] == ["mine"]


def test_trust_in_a_hook_includes_its_event_and_tools(tmp_path: Path) -> None:
    seen: list[TrustRequest] = []

    def keep(value: TrustRequest) -> bool:
        seen.append(value)
        return False

    for match in ("match: git\n    ", ""):
        write(tmp_path / "shop" / ".clio", f"before_tool:\n  - {match}run: echo\n")
        find_hooks(tmp_path / "home", tmp_path / "shop", keep)
    assert seen[0].value == "echo (for git)"
    assert seen[0].fingerprint != seen[1].fingerprint
