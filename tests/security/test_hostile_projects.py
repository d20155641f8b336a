"""`clio -p` in an untrusted repository runs nothing of it, sends nothing from outside of it, and goes on."""

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
# A file of settings that is none is refused with a sentence, for it may hold what the user relies on.
REFUSED = 2


class Ground:
    """A home, a project and a folder outside of it, with a server that says yes."""

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
        """One clio."""
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
        """All that the server was told."""
        return json.dumps([request.body for request in self.server.requests], ensure_ascii=False)


@pytest.fixture
def ground(tmp_path: Path):
    with ChatServer([text("Yes.")] * 5) as server:
        yield Ground(tmp_path, server)


@pytest.mark.sampled(40)
@pytest.mark.skipif(os.name == "nt", reason="pipes and devices have no names there")
@pytest.mark.parametrize("name", sorted(PROJECTS))
def test_nothing_is_gained_without_trust(ground: Ground, name: str) -> None:
    fill: Fill = PROJECTS[name]
    fill(ground.project, ground.outside)
    outside = {path: path.read_bytes() for path in ground.outside.rglob("*") if path.is_file()}
    ended = ground.run("-p", "hello")
    assert ended.returncode in (0, REFUSED) and "Traceback" not in ended.stderr and "bug in clio" not in ended.stderr
    assert ended.returncode == 0 or ".clio/" in ended.stderr
    assert SECRET not in ground.sent and STATED not in ground.sent
    assert "\x1b" not in ended.stdout + ended.stderr and ESCAPE not in ground.sent
    assert not (ground.project / OWNED).exists()
    assert {path: path.read_bytes() for path in ground.outside.rglob("*") if path.is_file()} == outside


def test_what_is_behind_a_link_is_read_once_it_is_trusted(ground: Ground) -> None:
    (ground.project / "AGENTS.md").symlink_to(ground.outside / "history")
    assert "link AGENTS.md" in ground.run("-p", "hello").stderr
    assert "link AGENTS.md" in ground.run("config", "trust").stdout
    assert ground.run("-p", "hello").returncode == 0
    first, second = ground.server.requests
    assert SECRET not in json.dumps(first.body) and SECRET in json.dumps(second.body)


def test_committed_memory_is_the_repositorys_statement_until_it_is_trusted(ground: Ground) -> None:
    folder = ground.project / ".clio"
    folder.mkdir()
    known = {"patterns": {"discoveries": [{"fact": STATED, "confidence": 1.0}]}}
    (folder / "ltm.json").write_text(json.dumps(known), encoding="utf-8")
    assert "project memory" in ground.run("-p", "hello").stderr
    ground.run("-p", "again")  # having been here does not make it the user's
    ground.run("config", "trust")
    ground.run("-p", "hello")
    before, again, after = (json.dumps(request.body) for request in ground.server.requests)
    for sent in (before, again):
        assert STATED in sent and "<repository_statements" in sent and "<project_knowledge" not in sent
    assert "<project_knowledge" in after and "<repository_statements" not in after


def test_what_clio_remembered_here_itself_needs_no_trust(ground: Ground) -> None:
    assert ground.run("memory", "add", "discovery", STATED).returncode == 0
    ended = ground.run("-p", "hello")
    assert "not trusted" not in ended.stderr and "<project_knowledge" in ground.sent


def test_memory_that_git_tracks_is_asked_about_though_clio_wrote_here(ground: Ground) -> None:
    ground.run("memory", "add", "discovery", STATED)
    subprocess.run(["git", "add", "--force", ".clio/ltm.json"], cwd=ground.project, check=True)
    assert "project memory" in ground.run("-p", "hello").stderr
    assert "<repository_statements" in ground.sent


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", r"(\w+\s?)+$", ".*.*.*.*=.*x"])
def test_no_pattern_of_the_configuration_hangs(ground: Ground, pattern: str) -> None:
    (ground.home / ".clio").mkdir()
    (ground.home / ".clio" / "config.yaml").write_text(f"redact_patterns:\n  - '{pattern}'\n", encoding="utf-8")
    ended = ground.run("-p", "a" * 5_000 + "!")
    assert ended.returncode == 0 or (ended.returncode == REFUSED and pattern in ended.stderr)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
@pytest.mark.parametrize("name", [".clio", ".clio/config.yaml"])
def test_a_link_to_itself_is_passed_over_with_a_line(ground: Ground, name: str) -> None:
    PROJECTS[f"{name} is a link to itself"](ground.project, ground.outside)
    ended = ground.run("-p", "hello")
    assert ended.returncode == 0 and "points to itself" in ended.stderr


@pytest.mark.parametrize("words", [("-p", "/review {}"), ("-p", "see @{}"), ("-p", "/review @{}"), ("--cwd", "{}")])
def test_a_name_of_any_length_is_no_error_of_clio(ground: Ground, words: tuple[str, ...]) -> None:
    ended = ground.run(*(word.format("README.md:" + "1" * 5_000) for word in words))
    assert "bug in clio" not in ended.stderr and "Traceback" not in ended.stderr
