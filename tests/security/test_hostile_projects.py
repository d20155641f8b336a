"""`clio -p` in an untrusted repository runs nothing of it, sends nothing from outside it, and continues."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.security.hostile_projects import ESCAPE, OWNED, SECRET, STATED, Fill, hostile_projects
from tests.support.chat_server import ChatServer, text
from tests.support.forked_clio import run_clio
from tests.support.harness import make_repository

PROJECTS = dict(hostile_projects())
# An invalid settings file is refused with a sentence, because it may contain what the user relies on.
REFUSED = 2


class HostileSetup:
    """A home folder, a project and a folder outside it, with a server that approves."""

    def __init__(self, root: Path, server: ChatServer) -> None:
        self.project, self.outside, self.home = root / "project", root / "outside", root / "home"
        self.server = server
        make_repository(self.project, {"a.py": "x = 1\n"})
        self.home.mkdir()
        (self.outside / "state" / "memory").mkdir(parents=True)
        (self.outside / "history").write_text(f"{SECRET}\n", encoding="utf-8")
        known = {"patterns": {"discoveries": [{"fact": SECRET, "confidence": 1.0}]}}
        (self.outside / "state" / "ltm.json").write_text(json.dumps(known), encoding="utf-8")
        (self.outside / "state" / "instructions.md").write_text(SECRET, encoding="utf-8")
        (self.outside / "state" / "memory" / "k.md").write_text(SECRET, encoding="utf-8")

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one clio."""
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "CLIO_HOME": str(self.home / ".clio"),
            "LANG": "C.UTF-8",
            "OPENAI_BASE_URL": self.server.url,
            "OPENAI_API_KEY": "test-key",
            "CLIO_MODEL": "test-model",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        return run_clio(words, self.project, env)

    @property
    def sent(self) -> str:
        """Everything that was sent to the server."""
        return json.dumps([request.body for request in self.server.requests], ensure_ascii=False)


@pytest.fixture
def setup(tmp_path: Path):
    with ChatServer([text("Yes.")] * 5) as server:
        yield HostileSetup(tmp_path, server)


@pytest.mark.sampled(40)
@pytest.mark.skipif(os.name == "nt", reason="pipes and devices have no names there")
@pytest.mark.parametrize("name", sorted(PROJECTS))
def test_nothing_is_gained_without_trust(setup: HostileSetup, name: str) -> None:
    fill: Fill = PROJECTS[name]
    fill(setup.project, setup.outside)
    outside = {path: path.read_bytes() for path in setup.outside.rglob("*") if path.is_file()}
    ended = setup.run("-p", "hello")
    assert ended.returncode in (0, REFUSED) and "Traceback" not in ended.stderr and "bug in clio" not in ended.stderr
    assert ended.returncode == 0 or ".clio/" in ended.stderr
    assert SECRET not in setup.sent and STATED not in setup.sent
    assert "\x1b" not in ended.stdout + ended.stderr and ESCAPE not in setup.sent
    assert not (setup.project / OWNED).exists()
    assert {path: path.read_bytes() for path in setup.outside.rglob("*") if path.is_file()} == outside


def test_a_file_behind_a_link_is_read_once_it_is_trusted(setup: HostileSetup) -> None:
    (setup.project / "AGENTS.md").symlink_to(setup.outside / "history")
    assert "link AGENTS.md" in setup.run("-p", "hello").stderr
    assert "link AGENTS.md" in setup.run("config", "trust").stdout
    assert setup.run("-p", "hello").returncode == 0
    first, second = setup.server.requests
    assert SECRET not in json.dumps(first.body) and SECRET in json.dumps(second.body)


def test_committed_memory_counts_as_the_repositorys_until_it_is_trusted(setup: HostileSetup) -> None:
    folder = setup.project / ".clio"
    folder.mkdir()
    known = {"patterns": {"discoveries": [{"fact": STATED, "confidence": 1.0}]}}
    (folder / "ltm.json").write_text(json.dumps(known), encoding="utf-8")
    assert "came with this project, or git tracks it" in setup.run("-p", "hello").stderr
    setup.run("-p", "again")  # being used here does not make it the user's
    setup.run("config", "trust")
    setup.run("-p", "hello")
    before, again, after = (json.dumps(request.body) for request in setup.server.requests)
    for sent in (before, again):
        assert STATED in sent and "<repository_statements" in sent and "<project_knowledge" not in sent
    assert "<project_knowledge" in after and "<repository_statements" not in after


def test_memory_saved_here_by_clio_needs_no_trust(setup: HostileSetup) -> None:
    assert setup.run("memory", "add", "discovery", STATED).returncode == 0
    ended = setup.run("-p", "hello")
    assert "not trusted" not in ended.stderr and "<project_knowledge" in setup.sent


def test_memory_tracked_by_git_needs_trust_although_clio_wrote_here(setup: HostileSetup) -> None:
    setup.run("memory", "add", "discovery", STATED)
    subprocess.run(["git", "add", "--force", ".clio/ltm.json"], cwd=setup.project, check=True)
    assert "came with this project, or git tracks it" in setup.run("-p", "hello").stderr
    assert "<repository_statements" in setup.sent


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", r"(\w+\s?)+$", ".*.*.*.*=.*x"])
def test_no_pattern_of_the_configuration_hangs(setup: HostileSetup, pattern: str) -> None:
    (setup.home / ".clio").mkdir()
    (setup.home / ".clio" / "config.yaml").write_text(f"redact_patterns:\n  - '{pattern}'\n", encoding="utf-8")
    ended = setup.run("-p", "a" * 5_000 + "!")
    assert ended.returncode == 0 or (ended.returncode == REFUSED and pattern in ended.stderr)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
@pytest.mark.parametrize("name", [".clio", ".clio/config.yaml"])
def test_a_link_to_itself_is_skipped_and_reported(setup: HostileSetup, name: str) -> None:
    PROJECTS[f"{name} is a link to itself"](setup.project, setup.outside)
    ended = setup.run("-p", "hello")
    assert ended.returncode == 0 and "points to itself" in ended.stderr


@pytest.mark.parametrize("words", [("-p", "/review {}"), ("-p", "see @{}"), ("-p", "/review @{}"), ("--cwd", "{}")])
def test_a_very_long_name_causes_no_error(setup: HostileSetup, words: tuple[str, ...]) -> None:
    ended = setup.run(*(word.format("README.md:" + "1" * 5_000) for word in words))
    assert "bug in clio" not in ended.stderr and "Traceback" not in ended.stderr
