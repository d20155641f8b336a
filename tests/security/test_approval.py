"""Who may do what in which mode, and the effect of an answer."""

import os
from pathlib import Path

import pytest

from clio.config.schema import ApprovalMode
from clio.security.actions import (
    Action,
    ChangeFiles,
    FetchUrl,
    FileChange,
    ReadFiles,
    RunCommand,
    TouchOwnState,
    Workspace,
)
from clio.security.approval import Allow, Ask, Deny, Policy
from tests.support.rows import each_row


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / ".git" / "hooks").mkdir(parents=True)
    (project / ".clio").mkdir()
    (project / "app.py").write_text("pass\n", encoding="utf-8")
    (tmp_path / "outside.txt").write_text("x", encoding="utf-8")
    return project.resolve()


def policy(root: Path, mode: ApprovalMode = "ask", **settings: object) -> Policy:
    return Policy(Workspace(root), mode, **settings)  # type: ignore[arg-type]


def write(*paths: Path) -> ChangeFiles:
    return ChangeFiles(changes=tuple(FileChange(path=path, kind="update", before="a", after="b") for path in paths))


def kind(verdict: Allow | Ask | Deny) -> str:
    return type(verdict).__name__.lower()


def judged(root: Path, action: Action, **settings: object) -> dict[str, str]:
    """Return the kind of verdict in each mode."""
    modes: tuple[ApprovalMode, ...] = ("ask", "edits", "all", "plan")
    return {mode: kind(policy(root, mode, **settings).judge(action)) for mode in modes}


def test_reads_in_each_mode(root: Path) -> None:
    inside, outside = (
        ReadFiles(paths=(root / "app.py",)),
        ReadFiles(paths=(root / "app.py", root.parent / "outside.txt")),
    )
    assert judged(root, inside) == {"ask": "allow", "edits": "allow", "all": "allow", "plan": "allow"}
    assert judged(root, outside) == {"ask": "ask", "edits": "ask", "all": "allow", "plan": "ask"}


def test_writes_in_each_mode(root: Path) -> None:
    assert judged(root, write(root / "app.py")) == {"ask": "ask", "edits": "allow", "all": "allow", "plan": "deny"}


@pytest.mark.parametrize("name", [".git/config", ".git/hooks/pre-commit", "sub/.git/config", ".GIT/config"])
def test_writes_to_files_that_run_later(root: Path, name: str) -> None:
    expected = {"ask": "ask", "edits": "ask", "all": "allow", "plan": "deny"}
    assert written(root, name) == expected
    assert judged(root, RunCommand(command=f"echo x > {name}", cwd=root))["edits"] == "ask"


@pytest.mark.parametrize("name", [".clio/config.yaml", ".mcp.json", "sub/.clio/mcp.yaml", ".Claude/Skills/a/run.sh"])
def test_writes_to_clios_configuration_need_approval_in_every_mode(root: Path, name: str) -> None:
    expected = {"ask": "ask", "edits": "ask", "all": "ask", "plan": "deny"}
    assert written(root, name) == expected
    assert judged(root, RunCommand(command=f"echo x > {name}", cwd=root)) == expected
    every = policy(root, "all", allow=("echo *", "rm *"))
    line = RunCommand(command=f"rm {name}", cwd=root)
    assert kind(every.judge(line)) == "ask", "no rule covers it"
    every.allow_for_session(line)
    every.allow_for_session(write(root / name))
    assert (kind(every.judge(line)), kind(every.judge(write(root / name)))) == ("allow", "allow")
    assert kind(every.judge(write(root / ".clio" / "hooks.yaml"))) == "ask", "the question was about that one only"


def written(root: Path, name: str) -> dict[str, str]:
    """Return the verdicts on a write to it among others, and on a move to it, which are equal."""
    found = judged(root, write(root / "app.py", root / name))
    moved = FileChange(path=root / "app.py", kind="move", before="a", after="a", moved_to=root / name)
    assert judged(root, ChangeFiles(changes=(moved,))) == found
    return found


def test_writes_outside_and_to_the_users_own_files(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"ask": "ask", "edits": "ask", "plan": "deny"}
    assert judged(root, write(root.parent / "outside.txt")) == {**asked, "all": "allow"}
    assert judged(root, write(root / "home" / "styles.json"), clio_home=root / "home") == {**asked, "all": "ask"}
    home = root.parent / "home"
    assert judged(root, write(home / "hooks.yaml"), clio_home=home) == {**asked, "all": "ask"}
    assert judged(root, write(root.parent / ".claude" / "commands" / "x.md")) == {**asked, "all": "ask"}
    monkeypatch.setenv("AT", str(root.parent))
    for line in (f"cp x {home}", "echo x > $AT/home/hooks.yaml", 'echo x >> "${AT}/home/hooks.yaml"'):
        assert judged(root, RunCommand(command=line, cwd=root), clio_home=home)["all"] == "ask", line


def test_other_project_files_of_clio_are_ordinary(root: Path) -> None:
    assert judged(root, write(root / ".clio" / "instructions.md"))["edits"] == "allow"
    assert judged(root, write(root / ".gitignore"))["edits"] == "allow"


@each_row(
    ("line", "ask", "edits", "plan"),
    [
        ("git log --oneline", "allow", "allow", "allow"),
        ("pytest -q", "ask", "ask", "deny"),
        ("echo x > new.txt", "ask", "allow", "deny"),
        ("echo x > ../new.txt", "ask", "ask", "deny"),
        ("pytest -q > out.txt", "ask", "ask", "deny"),
        ("rm -rf /", "deny", "deny", "deny"),
    ],
)
def test_commands_in_each_mode(root: Path, line: str, ask: str, edits: str, plan: str) -> None:
    every = "deny" if ask == "deny" else "allow"
    expected = {"ask": ask, "edits": edits, "all": every, "plan": plan}
    assert judged(root, RunCommand(command=line, cwd=root)) == expected


def test_an_unreadable_link_counts_as_leading_outside(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system refuses to read some links, such as those of another user's process in /proc."""
    (root / "locked").symlink_to("elsewhere")
    read_link = os.readlink

    def refuse(path: str | Path) -> str:
        if os.fspath(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return read_link(path)

    monkeypatch.setattr(os, "readlink", refuse)
    for line in ("cat locked/a", "ls locked", "cp a locked/b", "rm -r locked/b", "echo > locked/b", "grep -R x ."):
        assert judged(root, RunCommand(command=line, cwd=root))["ask"] == "ask", line
    assert judged(root, RunCommand(command="rm -r locked/b", cwd=root))["all"] == "ask"


def test_the_reason_in_plan_mode_says_what_to_do(root: Path) -> None:
    verdict = policy(root, "plan").judge(write(root / "app.py"))
    assert isinstance(verdict, Deny)
    assert "plan" in verdict.reason


def test_a_command_started_outside_the_workspace_needs_approval(root: Path) -> None:
    assert kind(policy(root).judge(RunCommand(command="ls", cwd=root.parent))) == "ask"


@each_row(
    ("allow", "line", "expected"),
    [
        (("pytest *",), "pytest -q", "allow"),
        (("pytest *",), "pytest -q | tail -5", "allow"),
        (("pytest *",), "pytest -q && make", "ask"),
        (("pytest *", "make"), "pytest -q && make", "allow"),
        (("pytest *",), "pytest $(make)", "ask"),
        (("pytest *",), "pytest -q > out.txt", "ask"),
        (("pytest *",), "pytest 2>&1 >/dev/null", "allow"),
        (("echo *", "pytest *"), "echo `pytest`", "allow"),
        (("echo *",), "$CMD x", "ask"),
        (("*",), "$CMD x", "ask"),
        (("cat *",), "cat ../outside.txt", "ask"),
        (("cat ../outside.txt",), "cat ../outside.txt", "allow"),
        (("cp *",), "cp app.py b.py", "allow"),
        (("cp *",), "cp app.py ../b.py", "ask"),
        (("cp *",), "cp app.py .git/hooks/pre-commit", "ask"),
        (("*",), "rm -rf /", "deny"),
    ],
)
def test_allow_rules(root: Path, allow: tuple[str, ...], line: str, expected: str) -> None:
    assert kind(policy(root, allow=allow).judge(RunCommand(command=line, cwd=root))) == expected


@each_row("mode", ["ask", "edits", "all"])
@each_row(
    "line",
    ["git push", "ls; git push -f", "echo $(git push)", "timeout 5 git push", "bash -c 'git push'", "xargs git push"],
)
def test_deny_rules_take_precedence(root: Path, mode: ApprovalMode, line: str) -> None:
    judge = policy(root, mode, allow=("*", "git push *"), deny=("git push",))
    judge.allow_for_session(RunCommand(command=line, cwd=root))
    verdict = judge.judge(RunCommand(command=line, cwd=root))
    assert isinstance(verdict, Deny)
    assert "git push" in verdict.reason


def test_all_refuses_a_program_known_only_at_run_time_if_a_rule_may_forbid_it(root: Path) -> None:
    action = RunCommand(command="$CMD push", cwd=root)
    verdict = policy(root, "all", deny=("git push",)).judge(action)
    assert isinstance(verdict, Deny)
    assert "written literally" in verdict.reason
    assert kind(policy(root, "all").judge(action)) == "allow"


def test_all_asks_if_deny_rules_cannot_be_checked(root: Path) -> None:
    action = RunCommand(command='sh -c "cd $D && make"', cwd=root)
    assert kind(policy(root, "all", deny=("git push",)).judge(action)) == "ask"
    assert kind(policy(root, "all").judge(action)) == "allow"


def test_all_refuses_hidden_programs_if_a_deny_rule_exists(root: Path) -> None:
    action = RunCommand(command="cat x | sh", cwd=root)
    assert kind(policy(root, "all", deny=("git push",)).judge(action)) == "deny"
    assert kind(policy(root, "all").judge(action)) == "allow"


def test_the_reason_and_the_rule_of_a_question(root: Path) -> None:
    judge = policy(root)
    assert judge.judge(RunCommand(command="git commit -m x", cwd=root)) == Ask(
        "medium", "git commit changes the repository", "git commit <safe>"
    )
    assert judge.judge(RunCommand(command="pytest -q | tail", cwd=root)) == Ask(
        "medium", "pytest runs code of the project or of a package", "pytest <safe>"
    )
    two = judge.judge(RunCommand(command="make && pytest", cwd=root))
    assert isinstance(two, Ask)
    assert two.rule is None
    outside = judge.judge(RunCommand(command="cat ../outside.txt", cwd=root))
    assert isinstance(outside, Ask)
    assert outside.rule == "cat ../outside.txt"


def test_always_saves_a_rule(root: Path) -> None:
    judge = policy(root)
    judge.add_rule("git commit *")
    assert kind(judge.judge(RunCommand(command="git commit -am y", cwd=root))) == "allow"
    assert kind(judge.judge(RunCommand(command="git push", cwd=root))) == "ask"


def test_session_answers_for_commands(root: Path) -> None:
    judge = policy(root)
    judge.allow_for_session(RunCommand(command="pytest -q", cwd=root))
    assert kind(judge.judge(RunCommand(command="pytest -x tests", cwd=root))) == "allow"
    line = RunCommand(command="rm -rf build", cwd=root)
    judge.allow_for_session(line)
    assert kind(judge.judge(line)) == "allow"
    assert kind(judge.judge(RunCommand(command="rm -rf build src", cwd=root))) == "ask"
    judge.mode = "plan"
    assert kind(judge.judge(line)) == "deny"


def test_session_answers_for_files(root: Path) -> None:
    judge = policy(root)
    outside = root.parent / "outside.txt"
    judge.allow_for_session(ReadFiles(paths=(outside,)))
    assert kind(judge.judge(ReadFiles(paths=(outside,)))) == "allow"
    assert kind(judge.judge(ReadFiles(paths=(root.parent / "other.txt",)))) == "ask"
    assert kind(judge.judge(write(root / "app.py"))) == "ask"
    judge.allow_for_session(write(root / "app.py"))
    assert kind(judge.judge(write(root / "new.py"))) == "allow"
    assert kind(judge.judge(write(root / ".git" / "config"))) == "ask"
    judge.allow_for_session(write(root / ".git" / "config"))
    assert kind(judge.judge(write(root / ".git" / "config"))) == "allow"
    assert kind(judge.judge(write(root / ".git" / "hooks" / "x"))) == "ask"


def test_approval_to_read_a_folder_includes_its_content(root: Path) -> None:
    judge = policy(root)
    judge.allow_for_session(ReadFiles(paths=(root.parent / "docs",)))
    assert kind(judge.judge(ReadFiles(paths=(root.parent / "docs" / "a" / "b.md",)))) == "allow"
    assert kind(judge.judge(ReadFiles(paths=(root.parent / "docs2",)))) == "ask"


def test_fetching_pages_in_each_mode(root: Path) -> None:
    page = FetchUrl(url="https://docs.python.org/3/")
    assert judged(root, page) == {"ask": "ask", "edits": "ask", "all": "allow", "plan": "ask"}
    verdict = policy(root).judge(page)
    assert isinstance(verdict, Ask) and (verdict.risk, verdict.rule) == ("low", "fetch docs.python.org")
    assert "docs.python.org" in verdict.reason
    assert kind(policy(root, allow=("fetch docs.python.org",)).judge(page)) == "allow"
    assert kind(policy(root, allow=("fetch *.python.org",)).judge(page)) == "allow"
    assert kind(policy(root, allow=("fetch python.org",)).judge(page)) == "ask"
    assert kind(policy(root, "all", deny=("fetch *.python.org",)).judge(page)) == "deny"
    judge = policy(root)
    judge.allow_for_session(page)
    assert kind(judge.judge(FetchUrl(url="https://docs.python.org/other"))) == "allow"
    assert kind(judge.judge(FetchUrl(url="https://python.org/"))) == "ask"


def test_pages_that_are_refused(root: Path) -> None:
    for url in ("file:///etc/passwd", "http://127.0.0.1:8080/", "http://169.254.169.254/latest", "https://a:b@c.org/"):
        assert kind(policy(root, "all").judge(FetchUrl(url=url))) == "deny"
    assert kind(policy(root, "all", private_network=True).judge(FetchUrl(url="http://127.0.0.1:8080/"))) == "allow"


def test_memory_operations_in_each_mode(root: Path) -> None:
    stores = TouchOwnState(writes_memory=True)
    assert judged(root, stores) == {"ask": "allow", "edits": "allow", "all": "allow", "plan": "deny"}
    assert set(judged(root, stores, incognito=True).values()) == {"deny"}
    assert set(judged(root, TouchOwnState(), incognito=True).values()) == {"allow"}


def test_ending_running_commands_in_each_mode(root: Path) -> None:
    stops = TouchOwnState(ends_work=True)
    assert judged(root, stops) == {"ask": "allow", "edits": "allow", "all": "allow", "plan": "deny"}
    assert kind(policy(root, incognito=True).judge(stops)) == "allow"
