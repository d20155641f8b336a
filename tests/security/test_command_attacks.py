"""The command lines in `command_attacks.jsonl`: what a careful user expects of each, in every mode, and why."""

import os
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from clio.config.schema import ApprovalMode
from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Allow, Ask, Deny, Policy
from tests.security.command_fuzz import run_lines

CORPUS = Path(__file__).parent / "command_attacks.jsonl"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the lines are bash's, the paths are POSIX")


class Attack(Struct, frozen=True):
    """A line, and for each mode: run, no, or the risk named in the question."""

    line: str
    why: str
    ask: str
    edits: str
    all: str
    plan: str


ATTACKS = [msgspec.json.decode(row, type=Attack) for row in CORPUS.read_bytes().splitlines()]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a project with a link out of it, a folder that git takes for a repository, and names like options."""
    outside = tmp_path_factory.mktemp("outside")
    root = outside / "project"
    for folder in ("src", "sub", "dash", "bare/objects", "bare/refs", ".git", ".clio", "../elsewhere"):
        (root / folder).mkdir(parents=True)
    for name in ("README.md", "src/app.py", "dash/plain", "bare/HEAD", "bare/config", "../outside.txt"):
        (root / name).write_text("x", encoding="utf-8")
    (root / "dash" / "link").symlink_to(outside / "outside.txt")
    (root / "link").symlink_to(outside / "elsewhere")
    (outside / "elsewhere" / "secret.txt").write_text("x", encoding="utf-8")
    return Workspace(root)


def decided(workspace: Workspace, mode: ApprovalMode, line: str) -> str:
    """Return the decision on a line in a mode."""
    match Policy(workspace, mode).judge(RunCommand(command=line, cwd=workspace.root)):
        case Allow():
            return "run"
        case Deny():
            return "no"
        case Ask(risk=risk):
            return risk


def test_the_corpus_is_large_and_gives_reasons() -> None:
    assert len({attack.line for attack in ATTACKS}) == len(ATTACKS) >= 600
    assert all(attack.why for attack in ATTACKS)


def test_every_mode_decides_as_a_careful_user_would(workspace: Workspace) -> None:
    """One test for all, because setting up eight takes longer than judging."""
    wrong: list[tuple[Attack, tuple[str, ...]]] = []
    for attack in ATTACKS:
        found = tuple(decided(workspace, mode, attack.line) for mode in ("ask", "edits", "all", "plan"))
        if found != (attack.ask, attack.edits, attack.all, attack.plan):
            wrong.append((attack, found))
    assert not wrong


def test_names_like_options_are_not_given_to_a_reader(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "-oREADME.md").write_text("x", encoding="utf-8")
    assert decided(Workspace(tmp_path), "ask", "sort *") == "medium"
    assert decided(Workspace(tmp_path), "ask", "sort ./*") == "run"
    assert decided(workspace, "ask", "ls src/*") == "run"


@pytest.mark.parametrize(
    "line", ["numactl rm x", "xargs --replace rm {}", "coproc X { rm x; }", "! ! rm x", "/bin/r? x"]
)
def test_a_deny_rule_cannot_be_circumvented_in_mode_all(line: str, workspace: Workspace) -> None:
    verdict = Policy(workspace, "all", deny=("rm",)).judge(RunCommand(command=line, cwd=workspace.root))
    assert not isinstance(verdict, Allow)


def test_a_rule_does_not_cover_computed_arguments(workspace: Workspace) -> None:
    line = "for x in 'a[$(rm -rf src)]'; do echo $((x)); done"
    verdict = Policy(workspace, "ask", allow=("echo *",)).judge(RunCommand(command=line, cwd=workspace.root))
    assert isinstance(verdict, Ask)


def test_no_random_line_runs_anything_not_judged() -> None:
    """A small sample; `make fuzz-commands` runs as many as requested."""
    found, _ = run_lines(150, seed=7)
    assert found == []
