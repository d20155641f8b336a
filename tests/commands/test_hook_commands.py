"""/hooks lists which hooks run when, and which need trust."""

from pathlib import Path

from msgspec import structs

from clio.commands.registry import run_command
from clio.config.loaded import Hook, TrustRequest
from tests.commands.harness import make_harness


def test_without_hooks_it_explains_how_to_write_one(tmp_path: Path) -> None:
    assert "hooks.yaml" in run_command(make_harness(tmp_path), "/hooks").text


def test_each_hook_is_listed_with_its_file_and_whether_it_runs(tmp_path: Path) -> None:
    harness = make_harness(tmp_path)
    mine = Hook(event="before_tool", run="./guard.sh", where="~/.clio/hooks.yaml:2", match=("edit_*", "git"))
    theirs = TrustRequest(key="hooks.stop", value="make test", where=".clio/hooks.yaml:2", fingerprint="f")
    other = TrustRequest(key="approve", value="all", where=".clio/config.yaml:1", fingerprint="g")
    harness.loaded = structs.replace(harness.loaded, hooks=(mine,), withheld=(theirs, other))
    table = run_command(harness, "/hooks").table
    assert table is not None
    assert list(table.rows) == [
        ("before_tool for edit_*|git", "./guard.sh", "~/.clio/hooks.yaml:2", "runs"),
        ("stop", "make test", ".clio/hooks.yaml:2", "not trusted yet (clio config trust)"),
    ]
    harness.config = structs.replace(harness.config, hooks=False)
    table = run_command(harness, "/hooks").table
    assert table is not None and table.rows[0][3] == "off (--no-hooks)"
    assert not run_command(harness, "/hooks stop").ok
