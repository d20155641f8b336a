"""`clio sync` on the command line: what it asks, refuses and reports."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clio.sync.repository import normalize_address
from tests.sync.sync_support import git, make_remote, read_remote

TOKEN = "ghp_" + "a1B2" * 9


def clio(home: Path, project: Path, *words: str, code: int = 0, **env: str) -> str:
    """Run clio with the home folder and the project of one machine; return its output."""
    env = {**os.environ, "HOME": str(home), "CLIO_HOME": str(home / ".clio"), **env}
    command = [sys.executable, "-m", "clio", *words, "--cwd", str(project)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def places(tmp_path: Path) -> list[tuple[Path, Path]]:
    """Return home and project of two machines, whose project has one remote under two URLs."""
    found: list[tuple[Path, Path]] = []
    for number, address in enumerate(("git@example.org:me/app.git", "https://example.org/me/app")):
        home, project = tmp_path / f"home{number}", tmp_path / f"app{number}"
        home.mkdir()
        git(tmp_path, "init", "--quiet", str(project))
        git(project, "remote", "add", "origin", address)
        found.append((home, project))
    return found


def test_two_machines_from_init_to_off(tmp_path: Path, places: list[tuple[Path, Path]]) -> None:
    remote, (one, two) = make_remote(tmp_path), places
    clio(*one, "memory", "remember", f"the token of staging is {TOKEN} and rotates on Mondays")
    for place in places:
        assert "off" in clio(*place, "sync", "status")
        clio(*place, "sync", "init", str(remote), "--yes")
        clio(*place, "sync", "project")
    listed = clio(*two, "memory", "list")
    assert "the token of staging" in listed and "came with the repository" not in listed, "it is the user's own"
    assert "left out" not in clio(*two, "sync", "push")
    assert TOKEN not in "".join(read_remote(remote).values())
    status = json.loads(clio(*two, "sync", "status", "--json"))
    assert status["on"] and not status["error"] and not status["encrypted"]
    assert [one["identity"] for one in status["projects"].values()] == ["example.org/me/app"]
    clio(*two, "memory", "forget", "the token of staging", code=2)
    report = json.loads(clio(*two, "sync", "push", "--json"))
    assert (report["sent"], report["received"]) == (0, 0)
    clio(*two, "sync", "off")
    assert "off" in clio(*two, "sync", "status") and "the token of staging" in clio(*two, "memory", "list")


def test_synchronized_memory_is_not_wiped_because_it_would_come_back(
    tmp_path: Path, places: list[tuple[Path, Path]]
) -> None:
    clio(*places[0], "memory", "remember", "the build needs ten minutes")
    clio(*places[0], "prefs", "add", "always use tabs")
    clio(*places[0], "sync", "init", str(make_remote(tmp_path)), "--yes")
    assert "sync off" in clio(*places[0], "memory", "wipe", "--scope", "user", "--yes", code=2)
    clio(*places[0], "sync", "project")
    assert "sync project --off" in clio(*places[0], "memory", "wipe", "--scope", "project", "--yes", code=2)
    clio(*places[0], "sync", "off")
    clio(*places[0], "memory", "wipe", "--scope", "all", "--yes")
    assert "ten minutes" not in clio(*places[0], "memory", "list")


def test_init_asks_whether_the_remote_is_private(tmp_path: Path, places: list[tuple[Path, Path]]) -> None:
    remote = make_remote(tmp_path)
    assert "private" in clio(*places[0], "sync", "init", str(remote), code=2)
    assert "off" in clio(*places[0], "sync", "status")


def test_a_project_needs_a_remote_or_a_name_unless_only_user_memory_is_synchronized(
    tmp_path: Path, places: list[tuple[Path, Path]]
) -> None:
    home, _ = places[0]
    plain = tmp_path / "plain"
    (plain / ".clio").mkdir(parents=True)
    clio(home, plain, "sync", "project", code=2)
    clio(home, plain, "sync", "init", str(make_remote(tmp_path)), "--yes")
    assert "--as" in clio(home, plain, "sync", "project", code=2)
    clio(home, plain, "sync", "project", "--as", "../x", code=2)
    clio(home, plain, "sync", "project", "--as", "plain")
    clio(home, plain, "sync", "project", "--off")
    (plain / ".clio" / "ltm.json").write_text('{"patterns": {"discoveries": [{"fact": "x"}]}}', encoding="utf-8")
    assert "came with the project" in clio(home, plain, "sync", "project", "--as", "plain", code=2)


def test_encryption_works_on_machines_that_get_the_key(tmp_path: Path, places: list[tuple[Path, Path]]) -> None:
    pytest.importorskip("pyrage", reason="pyrage is not installed")
    remote, (one, two) = make_remote(tmp_path), places
    clio(*one, "prefs", "add", "always use tabs")
    clio(*one, "sync", "init", str(remote), "--encrypt", "--yes")
    assert "--key" in clio(*two, "sync", "init", str(remote), "--yes", code=2)
    assert "--key" in clio(*two, "sync", "init", str(remote), "--yes", "--encrypt", code=2), "with its own key"
    clio(*two, "sync", "init", str(remote), "--yes", "--key", str(one[0] / ".clio/sync/key.txt"))
    assert "always use tabs" in clio(*two, "memory", "list")
    assert "tabs" not in "".join(read_remote(remote).values())


@pytest.mark.parametrize(
    ("address", "identity"),
    (
        ("git@github.com:me/app.git", "github.com/me/app"),
        ("https://user:secret@GitHub.com/me/app/", "github.com/me/app"),
        ("ssh://git@example.org:2222/me/app.git", "example.org/me/app"),
        ("/srv/git/app.git", ""),
        ("file:///srv/git/app.git", ""),
        ("", ""),
    ),
)
def test_a_project_is_identified_by_host_and_path_of_its_remote(address: str, identity: str) -> None:
    assert normalize_address(address) == identity
