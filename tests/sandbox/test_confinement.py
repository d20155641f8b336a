"""Sandboxed commands that run without approval: what they can and cannot do, and what happens if they need more."""

import asyncio
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.agent.user_interface import Notice
from clio.config.layers import load_config
from clio.config.options import Options
from clio.errors import ApprovalNeeded
from clio.lsp.catalog import SERVERS
from clio.messages import ToolMessage
from clio.sandbox import backends
from clio.sandbox.denials import find_denied_action
from clio.sandbox.fence import SandboxLevel
from clio.sandbox.sandbox import FILE_NAME, Confinement
from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Allow, Answer, Deny, Policy
from clio.tools.shell.sandboxed_run import build_confined_environment, run_confined, start_confined
from tests.sandbox.range import AttackField
from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.harness import Harness, make_repository
from tests.support.waiting import wait_until
from tests.turns.conftest import MakeHarness, make_harness

__all__ = ["make_harness"]

LEVELS: tuple[SandboxLevel, ...] = ("bwrap", "landlock")
WHY_NOT = {level: backends.explain_unusable_confinement(level, os.environ, Path.home()) for level in LEVELS}
WORKS = any(not reason for reason in WHY_NOT.values())
NEEDS_ONE = pytest.mark.skipif(not WORKS, reason=f"nothing confines commands here: {WHY_NOT}")
SECRET = "correct-horse-battery-7391"


@pytest.fixture(params=LEVELS)
def confinement(request: pytest.FixtureRequest, field: AttackField) -> Confinement:
    if WHY_NOT[request.param]:
        pytest.skip(f"{request.param} does not work here: {WHY_NOT[request.param]}")
    made = Confinement(enabled=True, home=field.clio_home, user_home=field.home, env=os.environ)
    made.use(request.param)
    return made


@pytest.fixture(autouse=True)
def tidy(field: AttackField) -> None:
    field.tidy()


def run(confinement: Confinement, root: Path, command: str, *, network: bool = False) -> tuple[int | None, str, str]:
    """Return the exit code of a sandboxed command, its output, and what it was denied."""
    running = run_confined(command, root, confinement, None, network=network, timeout_s=20)
    process, _, _, refused = asyncio.run(running)
    return process.exit_code, process.output.text().strip(), refused


@pytest.mark.sampled(20)
@pytest.mark.parametrize(
    "command",
    [
        "echo x > new",
        "mkdir new",
        "ln -s a new",
        "mkfifo new",
        "mv kept moved",
        "rm kept",
        "echo x >> kept",
        "truncate -s 0 kept",
        "chmod 700 kept",
        "touch kept",
        "touch -d 2001-01-01 kept",
        "ln kept new",
        "git config user.name other",
        "git commit -q --allow-empty -m no",
        "git branch new",
        "git update-index --refresh; git add kept",
        "echo x > .git/hooks/pre-commit",
        "echo x > .git/config",
        "cd .git && echo x > new",
        "echo x > .clio/config.yaml",
        'echo x > "$HOME/new"',
        'echo x > "$HOME/.cache/new"',
        "echo x > ../outside/file",
        "echo x > /var/tmp/clio-confined-new",
        "echo x > /dev/shm/../../var/tmp/clio-confined-new",
        "python3 -c \"import os; os.utime('kept', (1, 1))\"",
        "python3 -c \"import os; os.setxattr('kept', 'user.a', b'1')\"",
        "setsid -f sh -c 'echo x > new'; sleep 0.1",
        "cat /proc/self/fd/1 > /dev/null; echo x > /proc/self/cwd/new",
    ],
)
def test_nothing_outside_can_be_written(confinement: Confinement, field: AttackField, command: str) -> None:
    kept = field.project / "kept"
    kept.write_text("safe\n", encoding="utf-8")
    field.git("config", "user.name", "A")

    def state() -> object:
        refs = subprocess.run(["git", "for-each-ref"], cwd=field.project, capture_output=True, check=True).stdout
        names = sorted(str(path) for path in field.top.rglob("*"))
        stat = kept.stat()
        return names, field.intact(), refs, kept.read_bytes(), stat.st_mode, stat.st_mtime_ns, os.listxattr(kept)

    os.environ["HOME"], home = str(field.home), os.environ["HOME"]
    try:
        before = state()
        run(confinement, field.project, command)
        assert state() == before
    finally:
        os.environ["HOME"] = home
    assert not Path("/var/tmp/clio-confined-new").exists()


@pytest.fixture
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def connects(port: int) -> str:
    return f"python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 5); print('there')\""


def test_the_network_is_unreachable(confinement: Confinement, field: AttackField, listener: int) -> None:
    code, output, refused = run(confinement, field.project, connects(listener))
    assert code != 0 and "there" not in output.splitlines()
    assert refused == "needs the network"
    code, output, _ = run(confinement, field.project, f"exec 3<>/dev/tcp/127.0.0.1/{listener} && echo there")
    assert code != 0 and "there" not in output.splitlines()
    assert run(confinement, field.project, connects(listener), network=True)[:2] == (0, "there")


def test_sockets_of_other_programs_are_unreachable(confinement: Confinement, field: AttackField) -> None:
    path = field.project / "s"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        program = "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('s'); print('there')\""
        code, output, _ = run(confinement, field.project, program)
        assert code != 0 and "there" not in output.splitlines()
        assert run(confinement, field.project, program, network=True)[:2] == (0, "there")


def test_with_network_access_files_stay_read_only(confinement: Confinement, field: AttackField) -> None:
    run(confinement, field.project, "echo x > new; echo x > .git/new", network=True)
    assert not (field.project / "new").exists() and not (field.project / ".git" / "new").exists()


@pytest.mark.fast
def test_secrets_are_invisible(confinement: Confinement, field: AttackField, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    parents = "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; done 2>/dev/null"
    child = subprocess.Popen(["sleep", "60"])  # its environment contains the secret, like clio's own
    try:
        _, output, _ = run(
            confinement, field.project, f"env; echo v=$GITHUB_TOKEN; {parents}; cat /proc/{child.pid}/mem"
        )
    finally:
        child.kill()
        child.wait()
    assert "v=" in output
    assert SECRET not in output


def test_ordinary_reading_works(confinement: Confinement, field: AttackField) -> None:
    (field.project / "a").write_text("b\na\n", encoding="utf-8")
    assert run(confinement, field.project, "sort a | head -1; cat a > /dev/null")[:2] == (0, "a")
    assert run(confinement, field.project, "git log --format=%s -1; git status --short")[:2] == (
        0,
        "begun\n?? .clio/\n?? a",
    )
    assert run(confinement, field.project, 'echo x > "$TMPDIR/own" && cat "$TMPDIR/own"')[:2] == (0, "x")
    assert run(confinement, field.project, 'ls -A "$TMPDIR"')[:2] == (0, "")  # each command has its own
    assert run(confinement, field.project, "exit 7") == (7, "", "")
    assert run(confinement, field.project, "diff <(echo 1) <(echo 1)") == (0, "", "")


def test_the_folder_for_temporary_files_is_empty_if_programs_and_the_project_are_in_tmp(
    confinement: Confinement, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(prefix="clio-command", dir="/tmp") as name:
        programs = Path(name) / "dev" / "bin"
        programs.mkdir(parents=True)
        (programs / "greet").write_text("#!/bin/sh\necho hello\n", encoding="utf-8")
        (programs / "greet").chmod(0o755)
        (Path(name) / "project").mkdir()
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        line = (
            'ls -A "$TMPDIR"; greet; made=$(mktemp) && ls "$TMPDIR" | wc -l; case $made in "$TMPDIR"/*) echo in;; esac'
        )
        assert run(confinement, Path(name) / "project", line)[:2] == (0, "hello\n1\nin")


def test_a_project_in_tmp_is_visible(confinement: Confinement, tmp_path: Path) -> None:
    make_repository(tmp_path / "main", {"a": "x\n"})
    subprocess.run(["git", "worktree", "add", "-q", "../tree"], cwd=tmp_path / "main", check=True, capture_output=True)
    for root in (tmp_path / "main", tmp_path / "tree"):
        assert run(confinement, root, "cat a; git status --short")[:2] == (0, "x")
        run(confinement, root, "echo x > b; git branch other")
        assert sorted(path.name for path in root.iterdir()) == [".git", "a"]


def test_the_folder_for_temporary_files_is_removed(
    field: AttackField, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if WHY_NOT["landlock"]:
        pytest.skip(WHY_NOT["landlock"])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    confinement = Confinement(enabled=True, home=field.clio_home, user_home=field.home, env=os.environ)
    confinement.use("landlock")
    assert run(confinement, field.project, 'echo x > "$TMPDIR/own"; ls "$TMPDIR"')[1] == "own"
    assert list(tmp_path.iterdir()) == []

    async def job() -> None:
        process, end = await start_confined("sleep 60", field.project, confinement, None, network=False)
        assert len(list(tmp_path.iterdir())) == 1
        await process.stop()
        end()

    asyncio.run(job())
    assert list(tmp_path.iterdir()) == []


def test_incognito_makes_no_folder_for_temporary_files(field: AttackField, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> str:
        raise AssertionError("a folder was made")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    for level in LEVELS:
        if not WHY_NOT[level]:
            assert backends.explain_unusable_confinement(level, os.environ, field.home) == ""
            confinement = Confinement(enabled=True, home=None, user_home=field.home, env=os.environ)
            confinement.use(level)
            assert run(confinement, field.project, "sort /dev/null; echo read")[:2] == (0, "read")


def test_a_command_ends_at_its_time_limit(confinement: Confinement, field: AttackField) -> None:
    began = time.monotonic()
    running = run_confined("setsid sleep 67 & sleep 68", field.project, confinement, None, network=False, timeout_s=0.3)
    _, late, _, refused = asyncio.run(running)
    assert late and refused == ""
    assert time.monotonic() - began < 10
    found = subprocess.run(["pgrep", "-f", "^sleep 6[78]$"], capture_output=True, text=True, check=False)
    assert found.stdout == ""


@pytest.mark.parametrize(
    "command",
    ["cat missing", "grep zzz kept", "false", "ls missing/more", "./kept", "cd kept", "diff kept /dev/null", "exit 9"],
)
def test_an_ordinary_failure_is_no_denial(confinement: Confinement, field: AttackField, command: str) -> None:
    (field.project / "kept").write_text("safe\n", encoding="utf-8")
    code, _, refused = run(confinement, field.project, command)
    assert code != 0
    assert refused == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads and writes everything")
def test_a_file_that_the_user_may_not_read_is_no_denial(confinement: Confinement, field: AttackField) -> None:
    secret = field.project / "closed"
    secret.write_text("x", encoding="utf-8")
    secret.chmod(0)
    assert run(confinement, field.project, "cat closed")[2] == ""
    assert run(confinement, field.project, "echo x > /etc/clio-new")[2] == ""


@pytest.mark.parametrize(
    ("command", "need"),
    [
        ("touch new", "needs to write 'new'"),
        ("git commit -q --allow-empty -m no", "needs to write"),
        ("echo x > new", "needs to write 'new'"),
        ("mkdir -p a/b", "needs to write"),
        ("python3 -c \"open('new', 'w')\"", "needs to write 'new'"),
    ],
)
def test_a_denied_write_is_reported(confinement: Confinement, field: AttackField, command: str, need: str) -> None:
    assert need in run(confinement, field.project, command)[2]


def test_denials_are_recognized_in_errors_of_many_programs(tmp_path: Path) -> None:
    def need(output: str, level: SandboxLevel = "bwrap", **options: object) -> str:
        return find_denied_action(output, level, root=tmp_path, network=False, **options)  # type: ignore[arg-type]

    assert need("npm ERR! EROFS: read-only file system, mkdir 'node_modules'") == "needs to write 'node_modules'"
    assert need("fatal: Unable to create '.git/index.lock': Read-only file system") == "needs to write files"
    assert need("curl: (6) Could not resolve host: example.com") == "needs the network"
    assert need("dial tcp: lookup proxy.golang.org: no such host") == "needs the network"
    assert need("grep: /nowhere: No such file or directory") == ""
    assert need("anything\n", "off") == ""
    gh = "populate the GH_TOKEN environment variable"
    assert (
        find_denied_action(gh, "bwrap", root=tmp_path, network=True, withheld=["GH_TOKEN"])
        == "needs the variable GH_TOKEN"
    )
    assert find_denied_action(gh, "bwrap", root=tmp_path, network=False, withheld=["GH_TOKEN"]) == ""


def test_the_environment_of_commands_without_approval(tmp_path: Path) -> None:
    secrets = {
        "GITHUB_TOKEN": "x", "DB_PASSWORD": "hunter2", "AWS_SECRET_ACCESS_KEY": "y", "STRIPE_KEY": "z",
        "PGPASSWORD": "p", "MY_SECRET_THING": "a", "npm_config__auth": "b", "SERVICE_CREDENTIALS": "{}",
        "SESSION_COOKIE": "c",
        "DATABASE_URL": "postgres://me:hunter2secret@db/x", "INNOCENT": "ghp_" + "Rz8Qm2Lw5Xc9Vb3Nt7Ky4Hd6Jf1Gs0Pa8UeQ",
    }  # fmt: skip
    sockets = {"SSH_AUTH_SOCK": "/x", "DBUS_SESSION_BUS_ADDRESS": "unix:/x", "DOCKER_HOST": "unix:///x", "TMUX": "/x"}
    plain = {
        "PATH": "/bin",
        "HOME": "/h",
        "LANG": "C.UTF-8",
        "EDITOR": "vi",
        "PWD": "/p",
        "CI": "true",
        "ENVIRONMENT": "x",
    }
    run_first = {"BASH_ENV": "/x", "ENV": "/x", "BASH_FUNC_ls%%": "() { evil; }"}
    env = build_confined_environment({**secrets, **sockets, **plain, **run_first, "LC_ALL": "de_DE.UTF-8"}, tmp_path)
    assert not set(env) & {*secrets, *sockets, *run_first, "LC_ALL"}
    assert {name: env[name] for name in plain} == plain
    assert (env["LC_CTYPE"], env["LC_MESSAGES"]) == ("de_DE.UTF-8", "C")
    assert (env["PAGER"], env["GIT_PAGER"], env["GIT_OPTIONAL_LOCKS"], env["GOTOOLCHAIN"]) == (
        "cat",
        "cat",
        "0",
        "local",
    )
    served = build_confined_environment({**secrets, **sockets, **plain}, tmp_path, network=True)
    assert set(sockets) <= set(served) and not set(served) & set(secrets)
    assert "CARGO_NET_OFFLINE" not in served
    off = build_confined_environment({**secrets, **sockets}, tmp_path, confined=False)
    assert {*secrets, *sockets} <= set(off)


def test_the_working_level_is_remembered_until_the_machine_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[SandboxLevel] = []

    def why_not(level: SandboxLevel, env: object, user_home: Path) -> str:
        tried.append(level)
        return "" if level == "landlock" else "not here"

    def level() -> SandboxLevel:
        return Confinement(enabled=True, home=tmp_path, user_home=tmp_path, env={}).level()

    monkeypatch.setattr(backends, "explain_unusable_confinement", why_not)
    monkeypatch.setattr("clio.sandbox.sandbox._machine", lambda: "this boot")
    assert (level(), level(), tried) == ("landlock", "landlock", ["bwrap", "landlock"])
    monkeypatch.setattr("clio.sandbox.sandbox._machine", lambda: "another boot")
    assert (level(), len(tried)) == ("landlock", 4)
    (tmp_path / FILE_NAME).write_text("[" * 5000, encoding="utf-8")
    assert (level(), len(tried)) == ("landlock", 6)
    (tmp_path / FILE_NAME).write_text(json.dumps({"machine": "another boot", "level": "off"}), encoding="utf-8")
    assert (level(), len(tried)) == ("landlock", 8)
    monkeypatch.setattr(backends, "explain_unusable_confinement", lambda level, env, user_home: "not here")
    (tmp_path / FILE_NAME).unlink()
    made = Confinement(enabled=True, home=tmp_path, user_home=tmp_path, env={})
    assert made.level() == "off"
    assert "can't be confined here (bwrap: not here" in made.describe()
    assert not (tmp_path / FILE_NAME).exists()


@pytest.mark.skipif(bool(WHY_NOT["bwrap"]), reason="bwrap does not work here")
def test_a_remembered_bwrap_that_stopped_working_is_probed_again(field: AttackField, tmp_path: Path) -> None:
    broken = tmp_path / "bin"
    broken.mkdir()
    (broken / "bwrap").write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied'\nexit 1\n")
    (broken / "bwrap").chmod(0o755)
    confinement = Confinement(enabled=True, home=field.clio_home, user_home=field.home, env=os.environ)
    confinement.use("bwrap")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{broken}:{os.environ['PATH']}")
        assert run(confinement, field.project, "echo ran")[:2] == (0, "ran")
    assert confinement.level() == ("off" if WHY_NOT["landlock"] else "landlock")


def test_seatbelt_rules_permit_writing_only_to_the_own_folder() -> None:
    enclosed = backends.confine_with_seatbelt("/usr/bin/sandbox-exec", Path("/own"), ["ls"], network=False)
    rules = enclosed.argv[2].splitlines()
    assert '(allow file-write* (subpath "/own"))' in rules
    assert "(deny file-write*)" in rules and "(deny network*)" in rules
    assert [rule for rule in rules if rule.startswith("(allow file-write* (subpath")] == [rules[3]]


def test_the_policy_says_what_is_sandboxed(tmp_path: Path) -> None:
    policy = Policy(Workspace(tmp_path), "ask", allow=("git log *",))

    def confined(command: str) -> bool:
        verdict = policy.judge(RunCommand(command=command, cwd=tmp_path.resolve()))
        assert isinstance(verdict, Allow)
        return verdict.confined

    assert confined("ls") and confined("ls | wc -l")
    assert not confined("git log --oneline")  # a rule of the user
    policy.allow_for_session(RunCommand(command="ls", cwd=tmp_path.resolve()))
    assert not confined("ls")
    policy.mode = "plan"
    assert confined("ls") and confined("git log --oneline")
    assert isinstance(policy.judge_unconfined(RunCommand(command="ls", cwd=tmp_path), "needs the network"), Deny)
    policy.mode = "edits"
    assert confined("wc -l a")
    policy.mode = "all"
    assert not confined("wc -l a")


WRITER = "#!/bin/sh\necho made > made && echo done\n"
"""Stands for a program that the policy wrongly takes for read-only."""
COUNT = ("run_command", {"command": "wc -l calc.py"})


@pytest.fixture
def misjudged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "wc").write_text(WRITER, encoding="utf-8")
    (tmp_path / "bin" / "wc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")


def results(harness: Harness) -> list[ToolMessage]:
    return [message for message in harness.app.session.messages if isinstance(message, ToolMessage)]


@NEEDS_ONE
@pytest.mark.usefixtures("misjudged")
def test_the_user_is_asked_to_run_it_outside_the_sandbox(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([COUNT]), tool_calls([COUNT]), text("ok")])
    harness.user.approvals = [Answer(kind="session")]
    asyncio.run(harness.turn("count"))
    (asked,) = harness.user.asked  # the second time it is approved for the session
    assert "needs to" in asked.verdict.reason and "made" in asked.verdict.reason
    assert (harness.project / "made").exists()
    assert [result.ok for result in results(harness)] == [True, True]
    (notice,) = [event.text for event in harness.seen(Notice) if "without approval" in event.text]
    assert "confined" in notice


@NEEDS_ONE
@pytest.mark.usefixtures("misjudged")
@pytest.mark.parametrize(
    "line", ["wc -l calc.py | tail -1", "wc -l calc.py 2>&1 | tail -1", "wc -l calc.py || true", "wc calc.py; echo end"]
)
def test_the_user_is_asked_even_if_the_exit_code_hides_the_denial(make_harness: MakeHarness, line: str) -> None:
    harness = make_harness([tool_calls([("run_command", {"command": line})]), text("ok")])
    harness.user.approvals = [Answer(kind="once")]
    asyncio.run(harness.turn("count"))
    (asked,) = harness.user.asked
    assert "made" in asked.verdict.reason
    assert (harness.project / "made").exists()


@NEEDS_ONE
def test_a_text_about_denials_is_no_denial(make_harness: MakeHarness) -> None:
    notice = "app: cannot create x: Read-only file system\nfatal: Could not resolve host: a.example\nerror: EROFS\n"
    harness = make_harness([tool_calls([("run_command", {"command": "cat log | tail -5; grep -n . log"})]), text("ok")])
    (harness.project / "log").write_text(notice + "a.py:1: Permission denied: 'x'\n", encoding="utf-8")
    asyncio.run(harness.turn("look"))
    assert harness.user.asked == []
    assert results(harness)[0].ok


@NEEDS_ONE
@pytest.mark.usefixtures("misjudged")
@pytest.mark.parametrize("line", ["wc -l calc.py", "sleep 0.8; wc -l calc.py"])
def test_a_denied_background_command_is_offered_too(make_harness: MakeHarness, line: str) -> None:
    start = ("run_command", {"command": line, "background": True})
    look = ("job_output", {"job": "job1", "wait_s": 20})
    harness = make_harness([tool_calls([start]), tool_calls([look]), tool_calls([look]), text("ok")])
    harness.user.approvals = [Answer(kind="once")]
    asyncio.run(harness.turn("count"))
    (asked,) = harness.user.asked
    assert "made" in asked.verdict.reason
    assert asked.title.endswith("(background)")
    wait_until((harness.project / "made").exists)
    assert (harness.project / "made").exists()


@NEEDS_ONE
@pytest.mark.usefixtures("misjudged")
def test_declining_leaves_the_failure_and_the_reason(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([COUNT]), text("ok")])
    harness.user.approvals = [Answer(kind="no", reason="leave it")]
    asyncio.run(harness.turn("count"))
    assert not (harness.project / "made").exists()
    (result,) = results(harness)
    assert not result.ok
    assert "made" in result.content and "leave it" in result.content and "needs to" in result.content


@NEEDS_ONE
@pytest.mark.usefixtures("misjudged")
def test_plan_mode_runs_nothing_outside_the_sandbox(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([COUNT]), text("ok")], approve="plan")
    asyncio.run(harness.turn("count"))
    assert harness.user.asked == []
    assert not (harness.project / "made").exists()
    assert "plan mode" in results(harness)[0].content


@NEEDS_ONE
@pytest.mark.usefixtures("misjudged")
def test_without_a_user_to_ask_the_approval_is_missing(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([COUNT]), text("I could not.")])

    async def nobody(request: object) -> Answer:
        raise ApprovalNeeded("wc needs approval and nobody is here")

    harness.user.ask = nobody  # type: ignore[method-assign]
    finished = asyncio.run(harness.turn("count"))
    assert (finished.status, finished.exit_code) == ("approval_needed", 4)
    assert "needs to" in results(harness)[0].content
    assert not (harness.project / "made").exists()


@pytest.mark.usefixtures("misjudged")
def test_sandbox_off_runs_it_directly(make_harness: MakeHarness, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.yaml").write_text("confine_unasked: off\n", encoding="utf-8")
    harness = make_harness([tool_calls([COUNT]), text("ok")])
    asyncio.run(harness.turn("count"))
    assert (harness.project / "made").exists()
    assert harness.user.asked == []


@NEEDS_ONE
@pytest.mark.usefixtures("misjudged")
def test_a_one_shot_run_exits_with_four(tmp_path: Path) -> None:
    make_repository(tmp_path / "project", {"calc.py": "x\n"})
    with ChatServer([tool_calls([COUNT]), text("I could not.")]) as server:
        done = subprocess.run(
            [sys.executable, "-m", "clio", "-p", "go", "--base-url", server.url, "--model", "m"],
            cwd=tmp_path / "project",
            env={**os.environ, "HOME": str(tmp_path), "CLIO_HOME": str(tmp_path / "home"), "OPENAI_API_KEY": "k"},
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        (result,) = [row["content"] for row in server.requests[-1].body["messages"] if row["role"] == "tool"]
    assert done.returncode == 4, done.stderr
    assert "needs to" in result and "made" in result
    assert not (tmp_path / "project" / "made").exists()


def test_a_project_file_cannot_switch_the_sandbox_off(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".clio").mkdir(parents=True)
    (project / ".clio" / "config.yaml").write_text("confine_unasked: off\n", encoding="utf-8")
    loaded = load_config(Options(cwd=project), {"CLIO_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)})
    assert loaded.config.confine_unasked == "auto"
    assert [one.key for one in loaded.withheld] == ["confine_unasked"]


def test_the_file_whose_time_pylsp_changes_exists(confinement: Confinement, field: AttackField) -> None:
    """Parso, used by pylsp, fails if it cannot change the time of a file that is missing or a day old."""
    shell = next(spec.confined_shell for spec in SERVERS if spec.name == "pylsp")
    lock = "os.environ['XDG_CACHE_HOME'] + '/jedi/PARSO-CACHE-LOCK'"
    code = f"import os, time; print(time.time() - os.path.getmtime({lock}) < 60)"
    line = f'export XDG_CACHE_HOME="$TMPDIR/cache"; {shell}'
    assert run(confinement, field.project, shlex.join(["sh", "-c", line, "sh", "python3", "-c", code]))[1] == "True"
