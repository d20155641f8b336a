"""The lines in `everyday_lines.txt` only read and need no approval; those in `asked_lines.txt` always do."""

import os
from pathlib import Path

import pytest

from clio.config.schema import ApprovalMode
from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Allow, Policy
from clio.security.command_risk import is_harmless_variable
from clio.tools.shell.sandboxed_run import build_confined_environment

FOLDER = Path(__file__).parent


def read_lines(name: str) -> list[str]:
    """Return the lines of a table, without its comments."""
    rows = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [row.replace("␤", "\n") for row in rows if row and ("␤" in row or not row.startswith("# "))]


LINES = read_lines("everyday_lines.txt")
ASKED = read_lines("asked_lines.txt")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the lines are bash's, the paths are POSIX")


def make_project(root: Path) -> Path:
    """Make a project without special files."""
    for folder in ("src", "tests", "docs", "sub", ".git"):
        (root / folder).mkdir(parents=True)
    names = ("README.md", "src/app.py", "src/util.py", "tests/test_app.py", "docs/guide.md", ".gitignore")
    for name in names:
        (root / name).write_text("def main(): pass\n", encoding="utf-8")
    for name in ("package.json", "data.json"):
        (root / name).write_text('{"version": 1}', encoding="utf-8")
    return root


def test_the_tables_are_large() -> None:
    assert len(set(LINES)) == len(LINES) >= 400
    assert len(set(ASKED)) == len(ASKED) >= 400


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mode", ["ask", "edits", "plan"])
def test_no_line_that_does_more_than_read_runs_without_approval(mode: ApprovalMode, tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    (tmp_path / "outside.txt").write_text("x", encoding="utf-8")
    (root / "link").symlink_to(tmp_path / "outside.txt")
    policy = Policy(Workspace(root), mode)
    verdicts = {line: policy.judge(RunCommand(command=line, cwd=root)) for line in ASKED}
    ran = {line for line, verdict in verdicts.items() if isinstance(verdict, Allow)}
    writes = {line for line in ran if mode == "edits" and ">" in line}  # plain writes inside the project run there
    assert ran - writes == set()


def test_every_line_runs_without_approval(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    policy = Policy(Workspace(root), "ask")
    verdicts = {line: policy.judge(RunCommand(command=line, cwd=root)) for line in LINES}
    assert {line: verdict for line, verdict in verdicts.items() if not isinstance(verdict, Allow)} == {}


def test_a_project_that_decides_what_a_tool_runs_causes_a_question(tmp_path: Path) -> None:
    """The same calls, in projects whose files name programs or replace modules."""
    cases = {
        "python3 -m json.tool data.json": [("json.py", ""), ("argparse.py", ""), ("json/__init__.py", "")],
        "cargo --version": [
            ("rust-toolchain.toml", '[toolchain]\npath = "evil"\n'),
            (".cargo/config.toml", '[build]\nrustc-wrapper = "./evil"\n'),
            (".cargo/config", '[target.x86_64-unknown-linux-gnu]\nrunner = "./evil"\n'),
        ],
        "rustc --version": [("rust-toolchain", '[toolchain]\npath = "evil"\n')],
        "cargo tree": [("Cargo.toml", "[package]\n"), (".cargo/config.toml", '[alias]\ntree = "run"\n')],
        "npm ls": [(".npmrc", "node-options=--require ./evil.js\n"), (".npmrc", "script-shell = ./evil\n")],
    }
    for line, files in cases.items():
        for number, (name, text) in enumerate(files):
            root = make_project(tmp_path / f"{line.split()[0]}{number}{len(line)}")
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
            policy = Policy(Workspace(root), "ask")
            for each in (line, f"cd sub && {line}"):
                below = "json.tool" in line and each != line  # a module is searched only in this folder
                allowed = isinstance(policy.judge(RunCommand(command=each, cwd=root)), Allow)
                assert allowed == below, (each, name)


def test_folders_with_links_that_lead_outside_cause_a_question(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    (tmp_path / "outside.txt").write_text("x", encoding="utf-8")
    (root / "src" / "link").symlink_to(tmp_path / "outside.txt")
    policy = Policy(Workspace(root), "ask")
    lines = (
        "grep -R x src",
        "grep -R x .",
        "ls -LR src",
        "diff -r src tests",
        "diff src tests",
        "tree -l",
        "du -L src",
    )
    asked = (
        *lines,
        "rg -L x",
        "cat src/*",
        "cat src/link",
        "zcat src/link",
        "strings ./src/l*",
        "diff README.md src/link",
    )
    for line in (*asked, "for f in src/*; do cat $f; done", "cd src && cat l*", "cat < src/link"):
        assert not isinstance(policy.judge(RunCommand(command=line, cwd=root)), Allow), line
    for line in ("grep -r x src", "grep -R x docs", "diff -r docs tests", "ls -R", "du src", "rg x", "tree"):
        assert isinstance(policy.judge(RunCommand(command=line, cwd=root)), Allow), line


LISTING = (
    "wc -l $(find src -name '*')",
    "for f in $(find . -type f); do head -1 $f; done",
    'find src | while read -r f; do cat "$f"; done',
    "for f in $(find src); do wc -l < $f; done",
    "find src -type f | xargs head -1",
    "echo src/* | xargs cat",
)


def test_names_of_listed_files_are_checked(tmp_path: Path) -> None:
    """A name that is an option, splits into several words, is a pattern, or leads outside causes a question."""
    (tmp_path / "outside.txt").write_text("x", encoding="utf-8")
    plain = make_project(tmp_path / "plain")
    for line in LISTING:
        assert isinstance(Policy(Workspace(plain), "ask").judge(RunCommand(command=line, cwd=plain)), Allow), line
    for number, name in enumerate(("-x", "a /etc", "a -x", "a\nb", "link")):
        root = make_project(tmp_path / f"project{number}")
        if name == "link":
            (root / "src" / name).symlink_to(tmp_path / "outside.txt")
        else:
            (root / "src" / name).parent.mkdir(parents=True, exist_ok=True)
            (root / "src" / name).write_text("x", encoding="utf-8")
        policy = Policy(Workspace(root), "ask")
        for line in LISTING:
            assert not isinstance(policy.judge(RunCommand(command=line, cwd=root)), Allow), (line, name)
    root = make_project(tmp_path / "pattern")
    (root / "src" / "*").write_text("x", encoding="utf-8")
    for line in LISTING[:2]:
        assert not isinstance(Policy(Workspace(root), "ask").judge(RunCommand(command=line, cwd=root)), Allow), line


def test_a_name_in_capitals_from_the_environment_causes_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs get these variables; clio passes some of its own, too."""
    root = make_project(tmp_path / "project")
    policy = Policy(Workspace(root), "ask")
    handed_on = set(build_confined_environment({}, root)) | {"HANDED_ON"}
    assert isinstance(policy.judge(RunCommand(command="HANDED_ON=x; echo $HANDED_ON", cwd=root)), Allow)
    monkeypatch.setenv("HANDED_ON", "y")
    for name in sorted(handed_on):
        if not is_harmless_variable(name, "x"):
            verdict = policy.judge(RunCommand(command=f"{name}=x; echo ${name}", cwd=root))
            assert not isinstance(verdict, Allow), name


@pytest.mark.parametrize("form", ["unset {}; ls", "for {} in x; do ls; done", "read {} <<< x; ls", "{}=x; ls"])
def test_no_line_changes_variables_that_clio_sets_for_commands_without_approval(form: str, tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    policy = Policy(Workspace(root), "ask")
    given = build_confined_environment({}, root)
    names = [name for name in given if not name.startswith("LC_") and not is_harmless_variable(name, "x")]
    assert len(names) > 20
    ran = [name for name in names if isinstance(policy.judge(RunCommand(command=form.format(name), cwd=root)), Allow)]
    assert ran == []
