"""Programs named in a repository's settings do not run when clio only looks at it."""

import asyncio
import subprocess
import time
from pathlib import Path

import pytest

from clio.checkpoints.git_source import git_tree
from clio.context.folder_instructions import FolderInstructions
from clio.context.recovery_notes import git_activity
from clio.context.workspace_state import describe_state
from clio.memory.team.ignoring import rule_in_the_way, uncommitted
from clio.repository.diffs import between, staged, unstaged
from clio.repository.state import read_state
from clio.security.actions import ReadFiles
from clio.security.path_policy import Workspace
from clio.tokens import TokenEstimator
from clio.tools.git import GitArgs, GitTool
from clio.tools.shell.jobs import JobTable
from clio.tools.shell.run_command import RunCommandArgs, RunCommandTool

READS: tuple[dict[str, object], ...] = (
    {"operation": "status"},
    {"operation": "diff"},
    {"operation": "diff", "staged": True},
    {"operation": "diff", "revision": "HEAD~1"},
    {"operation": "log"},
    {"operation": "show"},
    {"operation": "blame", "path": "a.x"},
    {"operation": "branch", "action": "list"},
    {"operation": "stash", "action": "list"},
)
SETTINGS = ("core.fsmonitor", "diff.external", "diff.trap.textconv", "diff.trap.command", "gpg.program", "core.pager")
HOOKS = ("post-index-change", "fsmonitor-watchman", "pre-auto-gc", "reference-transaction")


class Trap:
    """A repository full of traps, with a submodule like it. log: what each of them would add a line to."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.log = folder / "sprung"
        self.log.touch()
        self.trap = folder / "trap"
        self.trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.log}\ncat\n', encoding="utf-8")
        self.trap.chmod(0o755)
        self._make(folder / "part")
        self._make(self.root)
        self.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(folder / "part"), "part")
        self.git("commit", "--quiet", "--message", "part")
        self._sign()
        (self.root / "a.x").write_text("three\n", encoding="utf-8")
        (self.root / "part" / "a.x").write_text("three\n", encoding="utf-8")
        (self.root / "b.x").write_text("new\n", encoding="utf-8")
        self.git("add", "b.x")
        self._arm(self.root)
        self._arm(self.root / "part")
        for name in ("status.submoduleSummary", "log.showSignature", "diff.submodule"):
            self.git("config", name, "log" if name == "diff.submodule" else "true")
        self.log.write_text("", encoding="utf-8")

    def git(self, *words: str, folder: Path | None = None, given: bytes | None = None) -> str:
        named = ("-c", "user.name=A", "-c", "user.email=a@b.example")
        done = subprocess.run(["git", *named, *words], cwd=folder or self.root, input=given, capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode().strip()

    def sprung(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines()

    def _make(self, root: Path) -> None:
        root.mkdir()
        self.git("init", "--quiet", folder=root)
        (root / ".gitattributes").write_text("*.x diff=trap\n", encoding="utf-8")
        for text in ("one\n", "two\n"):
            (root / "a.x").write_text(text, encoding="utf-8")
            self.git("add", ".", folder=root)
            self.git("commit", "--quiet", "--message", text, folder=root)

    def _sign(self) -> None:
        """Give the newest commit a signature, which `log.showSignature` has a program check."""
        head, _, body = self.git("cat-file", "commit", "HEAD").partition("\n\n")
        block = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
        signed = f"{head}\n{block}\n\n{body}\n".encode()
        self.git("reset", "--quiet", self.git("hash-object", "-t", "commit", "-w", "--stdin", given=signed))

    def _arm(self, root: Path) -> None:
        for name in SETTINGS:
            self.git("config", name, str(self.trap), folder=root)
        hooks = Path(self.git("rev-parse", "--git-path", "hooks", folder=root))
        for name in HOOKS:
            (root / hooks).mkdir(exist_ok=True)
            (root / hooks / name).symlink_to(self.trap)


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Trap:
    return Trap(tmp_path_factory.mktemp("trap"))


@pytest.fixture(autouse=True)
def nothing_sprung(trap: Trap) -> None:
    trap.log.write_text("", encoding="utf-8")


def test_the_traps_are_set(trap: Trap) -> None:
    for words in (("status",), ("diff",), ("log", "-1"), ("blame", "a.x")):
        subprocess.run(["git", *words], cwd=trap.root, capture_output=True, check=False)
        assert trap.sprung(), words
        trap.log.write_text("", encoding="utf-8")


def test_the_models_looks_start_nothing(trap: Trap) -> None:
    tool = GitTool(Workspace(trap.root), 20)

    async def look() -> list[str]:
        return [(await tool.prepare(GitArgs(**call)).run(lambda line: None)).text for call in READS]  # type: ignore[arg-type]

    seen = asyncio.run(look())
    assert "three" in seen[1]
    assert trap.sprung() == []


def test_clios_own_looks_start_nothing(trap: Trap) -> None:
    root = trap.root
    assert "changed files" in asyncio.run(describe_state(root, time.time()))
    assert git_activity(root) is not None
    rule_in_the_way(root)
    uncommitted(root)
    tree = git_tree(root)
    assert tree is not None
    assert "a.x" in str(tree.changed())
    tree.tracked()
    (root / "deep").mkdir(exist_ok=True)
    (root / "deep" / "AGENTS.md").write_text("be kind\n", encoding="utf-8")
    below = FolderInstructions(
        root, root.parent, TokenEstimator(), start=root, clean=lambda text: text, window_tokens=100_000
    )
    assert "be kind" in below.note(ReadFiles(paths=(root / "deep" / "a",)))
    assert trap.sprung() == []


def test_looks_before_a_commit_start_nothing(trap: Trap) -> None:
    state = read_state(trap.root)
    staged(state)
    unstaged(state, state.open)
    between(trap.root, "HEAD~1", "HEAD")
    assert trap.sprung() == []


def test_finding_out_what_a_command_committed_starts_nothing(trap: Trap) -> None:
    tool = RunCommandTool(Workspace(trap.root), JobTable(), 20)
    line = "git -c core.fsmonitor=false -c core.hooksPath=/dev/null commit --quiet --dry-run b.x; true"

    async def go() -> None:
        await tool.prepare(RunCommandArgs(command=line)).run(lambda line: None)

    asyncio.run(go())
    assert trap.sprung() == []
