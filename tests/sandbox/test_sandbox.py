"""What the sandbox permits, how commands end in it, which level is chosen, and what is reported."""

import asyncio
import os
import shlex
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from clio.config.schema import Config
from clio.errors import ToolFailed
from clio.sandbox import backends
from clio.sandbox.denials import describe_denial
from clio.sandbox.fence import PRIVATE_TMP_NOTE, PRIVATE_TMP_WARNING, Fence, list_tmp_program_folders, make_fence
from clio.sandbox.file_guard import FileGuard
from clio.sandbox.sandbox import Sandbox
from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Allow, Ask, Deny, Policy
from clio.tools.git import GitArgs, GitTool
from clio.tools.shell.jobs import JobTable
from clio.tools.shell.run_command import RunCommandArgs, RunCommandTool, SandboxedCommandArgs
from clio.tools.shell.sandboxed_run import run_sandboxed
from clio.ui.footer import StatusValues
from tests.sandbox.range import REASONS, AttackField
from tests.support.rows import each_row
from tests.support.waiting import wait_until, wait_until_async
from tests.support.wording import mentions

NEEDS_BWRAP = pytest.mark.skipif(bool(REASONS["bwrap"]), reason=f"bwrap does not work here: {REASONS['bwrap']}")


@pytest.fixture(autouse=True)
def tidy(field: AttackField) -> None:
    field.tidy()


def text(working_sandbox: Sandbox, field: AttackField, command: str) -> str:
    process, _, _ = field.run(working_sandbox, command)
    return process.output.text().strip()


def test_ordinary_work_is_possible(working_sandbox: Sandbox, field: AttackField) -> None:
    assert text(working_sandbox, field, "mkdir -p src; echo one > src/a; ln src/a b; mv b src/c; cat src/c") == "one"
    assert (
        text(working_sandbox, field, "git add src && git commit -qm first --allow-empty && git log --format=%s -1")
        == "first"
    )
    assert text(working_sandbox, field, f"cat {field.outside}/file") == "safe"
    assert text(working_sandbox, field, f"echo x > {field.home}/.cache/a && cat {field.home}/.cache/a") == "x"
    assert (
        text(working_sandbox, field, "echo x > $(mktemp -p ${TMPDIR:-/tmp} held-XXXX) && echo made; rm -f /tmp/held-*")
        == "made"
    )
    assert (
        text(
            working_sandbox, field, "echo | sh -c 'exit 3'; echo $?; exec 2>/dev/null; echo x > /dev/null && echo null"
        )
        == "3\nnull"
    )
    assert (
        text(working_sandbox, field, "yes | head -1; seq 100000 | head -1") == "y\n1"
    )  # each ends when its reader does
    process, _, note = field.run(working_sandbox, "exit 7")
    assert (process.exit_code, note, process.left_behind) == (7, "", False)


@NEEDS_BWRAP
def test_bwrap_provides_a_separate_tmp_for_the_lifetime_of_clio(field: AttackField) -> None:
    sandbox = field.sandbox("bwrap")
    text(sandbox, field, "echo kept > /tmp/clio-own-tmp")
    assert text(sandbox, field, "cat /tmp/clio-own-tmp") == "kept"
    assert not Path("/tmp/clio-own-tmp").exists()
    tmp = sandbox.fence(field.project).tmp
    sandbox.close()
    assert not tmp.exists()


@NEEDS_BWRAP
def test_only_programs_of_the_user_in_tmp_are_visible_there(field: AttackField) -> None:
    with tempfile.TemporaryDirectory(prefix="clio-venv-", dir="/tmp") as name:
        venv = Path(name) / "venv"
        (venv / "bin").mkdir(parents=True)
        (venv / "pyvenv.cfg").touch()
        (Path(name) / "secret").touch()
        tool = venv / "bin" / "a-tool-of-mine"
        tool.write_text(f"#!/bin/sh\nls {venv} {name}\necho x > {venv}/written || echo held\n", encoding="utf-8")
        tool.chmod(0o755)
        env = {**os.environ, "PATH": f"{venv}/bin:{os.environ['PATH']}"}
        sandbox = Sandbox("bwrap", home=field.clio_home, user_home=field.home, env=env)
        output = text(sandbox, field, f"PATH={venv}/bin:$PATH; a-tool-of-mine 2>/dev/null")
        sandbox.close()
        assert output.split() == [f"{name}:", "venv", f"{venv}:", "bin", "pyvenv.cfg", "held"]
        assert not (venv / "written").exists()


def test_the_folders_with_the_users_programs(tmp_path: Path) -> None:
    for folder in ("venv/bin", "base/bin", "base/lib", "node/bin", "node/lib", "alone/bin", "bin", "lib", "tools/x"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    (tmp_path / "base" / "bin" / "python3").touch()
    (tmp_path / "venv" / "bin" / "python").symlink_to(tmp_path / "base" / "bin" / "python3")
    (tmp_path / "link").symlink_to(tmp_path / "node" / "bin")

    def shown(path: str, venv: str = "") -> set[str]:
        found = list_tmp_program_folders({"PATH": path, "VIRTUAL_ENV": venv}, tmp_path)
        return {place.relative_to(tmp_path).as_posix() for place in found}

    assert shown(f"/usr/bin:{tmp_path}/venv/bin") == {"venv", "base"}
    assert shown("/usr/bin", f"{tmp_path}/venv") == {"venv", "base"}
    assert shown(f"{tmp_path}/link:{tmp_path}/alone/bin:{tmp_path}/tools/x") == {"link", "node", "alone/bin", "tools/x"}
    assert shown(f"{tmp_path}/bin") == {"bin"}  # never all of it
    assert shown(f"{tmp_path}:{tmp_path}/missing::relative:{tmp_path}/tools/x/../../..") == set()


@NEEDS_BWRAP
@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("echo x > /tmp/a", True),
        ("ls /tmp", True),
        ("cp a '/tmp/b c'", True),
        ("cat {given}/a /tmp/b", True),
        ("cat {given}/../b", True),
        ("cat {given}/a", False),
        ("ls /var/tmp ./tmp/a src/tmp /tmpfs ~/tmp", False),
    ],
)
def test_whether_a_command_names_its_separate_tmp(field: AttackField, command: str, named: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="clio-given-", dir="/tmp") as given:
        sandbox = field.sandbox("bwrap", write=(given,))
        line = command.format(given=given)
        assert not sandbox.names_own_tmp(line, field.project)  # not probed yet
        sandbox._level = "bwrap"
        assert sandbox.names_own_tmp(line, field.project) is named
        sandbox.close()


@NEEDS_BWRAP
def test_a_separate_tmp_is_reported_to_the_user_each_time_and_to_the_model_once(field: AttackField) -> None:
    sandbox = field.sandbox("bwrap")
    tool = RunCommandTool(Workspace(field.project), JobTable(sandbox), 20)
    line = "echo x > /tmp/told && cat /tmp/told"

    def call(**arguments: object) -> tuple[str, list[str]]:
        prepared = tool.prepare(SandboxedCommandArgs(**arguments))  # type: ignore[arg-type]
        assert isinstance(prepared.action, RunCommand)
        return prepared.action.note, asyncio.run(prepared.run(lambda line: None)).text.splitlines()[1:]

    sandbox.level()
    assert call(command=line) == (PRIVATE_TMP_WARNING, ["x", PRIVATE_TMP_NOTE])
    assert call(command=line) == (PRIVATE_TMP_WARNING, ["x"])
    assert call(command="echo y") == ("", ["y"])
    assert call(command="echo /tmp", outside=True) == ("", ["/tmp"])
    sandbox.close()


def test_configured_folders_are_writable(working_sandbox: Sandbox, field: AttackField) -> None:
    level = working_sandbox.choice
    more = field.sandbox(level, write=(str(field.outside / "deep"),), caches=False)
    assert text(more, field, f"echo x > {field.outside}/deep/a && cat {field.outside}/deep/a") == "x"
    assert text(more, field, f"echo x > {field.home}/.cache/b && cat {field.home}/.cache/b") != "x"
    (field.outside / "deep" / "a").unlink()
    more.close()
    reached = field.sandbox(level, network=True)
    if working_sandbox.known == "bwrap":
        assert text(reached, field, "readlink /proc/self/ns/net") == str(Path("/proc/self/ns/net").readlink())
    else:
        assert text(reached, field, "/usr/bin/env python3 -S -c 'import socket; socket.socket(); print(1)'") == "1"
    reached.close()


def test_a_time_limit_leaves_time_for_cleanup(working_sandbox: Sandbox, field: AttackField) -> None:
    process, late, _ = field.run(
        working_sandbox, "trap 'echo cleaned; exit' TERM; echo ready; while :; do sleep 0.02; done", 0.4
    )
    assert late
    assert process.output.text().endswith("cleaned\n")


def test_an_interrupt_ends_all_processes(working_sandbox: Sandbox, field: AttackField) -> None:
    mark = f"19.{os.getpid()}"

    async def go() -> None:
        running = asyncio.ensure_future(
            run_sandboxed(f"trap '' TERM; sleep {mark} & sleep {mark}", field.project, working_sandbox, timeout_s=20)
        )
        await wait_until_async(lambda: len(alive(mark)) >= 2)
        running.cancel()
        await asyncio.wait({running})

    asyncio.run(go())
    assert alive(mark) == []


def alive(mark: str) -> list[str]:
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        found += [str(path)] if words[:2] == [b"sleep", mark.encode()] else []
    return found


def test_processes_that_left_their_session_are_ended_too_and_reported(
    working_sandbox: Sandbox, field: AttackField
) -> None:
    mark = f"18.{os.getpid()}"
    assert "left running were stopped" in text(working_sandbox, field, f"setsid sleep {mark} & sleep 0.1; echo done")
    assert alive(mark) == []
    assert text(working_sandbox, field, "true & wait; echo done") == "done"


STUBBORN = {
    "a daemon": "(setsid sh -c '{loop}' > /dev/null 2>&1 &)",
    "one that a request to end does not move": '(setsid sh -c "trap : TERM; {loop}" > /dev/null 2>&1 &)',
    "a daemon of a daemon": "(setsid sh -c '(setsid sh -c \"{loop}\" &)' > /dev/null 2>&1 &)",
}


@pytest.mark.parametrize("line", STUBBORN.values(), ids=STUBBORN.keys())
def test_no_remaining_process_can_plant_a_hook(working_sandbox: Sandbox, field: AttackField, line: str) -> None:
    before, mark = field.intact(), f"16.{os.getpid()}"
    loop = (
        f"echo x > .git/hooks/post-merge; touch began; while :; do sleep {mark}; echo x > .git/hooks/post-merge; done"
    )
    line = line.format(loop=loop)
    process, _, _ = field.run(working_sandbox, f"{line}; until [ -e began ]; do sleep 0.01; done")
    assert process.exit_code == 0, process.output.text()
    assert alive(mark) == []
    assert field.intact() == before


def test_a_chain_of_short_lived_processes_is_ended_too(working_sandbox: Sandbox, field: AttackField) -> None:
    # Each of these processes lives for a millisecond and starts the next one.
    code = "import os, time\nwhile True:\n  time.sleep(0.001)\n  if os.fork(): os._exit(0)\n  os.setsid()"
    code += "\n  open('tail', 'a').write('x')"
    process, _, _ = field.run(
        working_sandbox, f"/usr/bin/env python3 -S -c {shlex.quote(code)} & until [ -s tail ]; do :; done"
    )
    assert process.exit_code == 0, process.output.text()
    size = (field.project / "tail").stat().st_size
    field.run(working_sandbox, "sleep 0.1")
    assert (field.project / "tail").stat().st_size == size


def test_a_signal_that_ends_a_command_is_reported_and_does_not_end_its_supervisor(field: AttackField) -> None:
    if REASONS["landlock"]:
        pytest.skip(REASONS["landlock"])
    sandbox, mark = field.sandbox("landlock"), f"15.{os.getpid()}"
    for line, code in (("kill -9 $$", -9), ("kill -TERM 0", -15), ("kill -SEGV $$", -11), ("kill -9 $PPID; exit 3", 3)):
        process, _, _ = field.run(sandbox, f"setsid sleep {mark} & {line}")
        assert process.exit_code == code, line
        assert alive(mark) == [], line
    sandbox.close()


def test_when_clio_ends_all_processes_end(working_sandbox: Sandbox, field: AttackField) -> None:
    mark = f"14.{os.getpid()}"
    argv = working_sandbox.enclose(["sh", "-c", f"setsid sleep {mark} & sleep {mark}"], field.project).command
    clio = subprocess.Popen(["sh", "-c", '"$@" & wait', "sh", *argv], cwd=field.project, stdin=subprocess.DEVNULL)
    try:
        wait_until(lambda: len(alive(mark)) == 2)
    finally:
        clio.kill()
        clio.wait()
    wait_until(lambda: not alive(mark))


def test_a_job_lasts_as_long_as_processes_that_left_its_session(working_sandbox: Sandbox, field: AttackField) -> None:
    mark = f"13.{os.getpid()}"

    async def go() -> None:
        jobs = JobTable(working_sandbox)
        job = await jobs.start(f"(setsid sleep {mark} > /dev/null 2>&1 &); echo begun", field.project)
        await wait_until_async(lambda: "begun" in job.process.output.text() and alive(mark))
        assert job.is_running
        await job.stop()
        assert alive(mark) == []

    asyncio.run(go())


def test_a_job_continues_with_the_processes_it_started(working_sandbox: Sandbox, field: AttackField) -> None:
    mark = f"17.{os.getpid()}"

    async def go() -> None:
        jobs = JobTable(working_sandbox)
        job = await jobs.start(f"sleep {mark} & echo begun", field.project)
        await wait_until_async(lambda: "begun" in job.process.output.text() and alive(mark))
        assert job.is_running
        await job.stop()
        assert alive(mark) == []

    asyncio.run(go())


def test_the_tool_reports_what_the_sandbox_did_and_how_to_leave_it(
    working_sandbox: Sandbox, field: AttackField
) -> None:
    tool = RunCommandTool(Workspace(field.project), JobTable(working_sandbox), 20)
    assert tool.args is SandboxedCommandArgs

    async def call(**arguments: object) -> str:
        return (await tool.prepare(SandboxedCommandArgs(**arguments)).run(lambda line: None)).text  # type: ignore[arg-type]

    output = asyncio.run(call(command=f"echo x > {field.outside}/file"))
    assert f"[this may be the sandbox ({working_sandbox.known})" in output
    assert "outside=true" in output
    prepared = tool.prepare(SandboxedCommandArgs(command="true", outside=True))
    assert prepared.title == "run true (outside the sandbox)"
    assert prepared.action == RunCommand(command="true", cwd=field.project, outside=True)
    asyncio.run(call(command=f"echo x > {field.outside}/out", outside=True))
    assert (field.outside / "out").read_text(encoding="utf-8") == "x\n"
    (field.outside / "out").unlink()


def test_hooks_of_the_git_tool_are_sandboxed_and_a_push_is_not(working_sandbox: Sandbox, field: AttackField) -> None:
    hook = field.project / ".git" / "hooks" / "pre-commit"
    hook.write_text(f"#!/bin/sh\necho x > {field.outside}/hooked\n", encoding="utf-8")
    hook.chmod(0o755)
    (field.project / "new").write_text("x", encoding="utf-8")
    tool = GitTool(Workspace(field.project), 20, None, working_sandbox)
    prepared = tool.prepare(GitArgs(operation="commit", message="held", paths=("new",)))

    async def go() -> str:
        return (await prepared.run(lambda line: None)).text

    assert "sandbox" in asyncio.run(go())
    assert not (field.outside / "hooked").exists()
    hook.write_text("#!/bin/sh\n", encoding="utf-8")
    field.git("remote", "add", "origin", str(field.outside))
    push = tool.prepare(GitArgs(operation="push")).action
    field.git("remote", "remove", "origin")
    assert isinstance(push, RunCommand)
    assert push.outside


def test_a_worktree_can_commit_and_its_configuration_is_protected(working_sandbox: Sandbox, field: AttackField) -> None:
    tree = field.top / "tree"
    field.git("worktree", "add", "--quiet", "--detach", str(tree))
    try:
        process, _, note = asyncio.run(run_sandboxed(
            "echo x > t && git add t && git commit -qm tree && git log -1 --format=%s", tree, working_sandbox,
            timeout_s=20,
        ))  # fmt: skip
        assert (process.output.text(), note) == ("tree\n", "")
        before = field.intact(), (tree / ".git").read_bytes()
        for attack in (
            "git config core.fsmonitor evil",
            f"echo x > {field.project}/.git/hooks/update",
            "echo x > .git",
        ):
            asyncio.run(run_sandboxed(attack, tree, working_sandbox, timeout_s=20))
        assert (field.intact(), (tree / ".git").read_bytes()) == before
        (field.project / "claimed").mkdir()
        (field.project / "claimed" / ".git").write_text(f"gitdir: {field.home}\n", encoding="utf-8")
        assert fence(field, field.project / "claimed").write[0] == field.project / "claimed"
        assert field.home not in fence(field, field.project / "claimed").write
    finally:
        field.git("worktree", "remove", "--force", str(tree))


def fence(field: AttackField, root: Path) -> Fence:
    return make_fence(root, user_home=field.home, clio_home=field.clio_home, env={}, tmp=field.outside)


def test_sandbox_off_runs_commands_directly(field: AttackField) -> None:
    sandbox = field.sandbox("off")
    assert (sandbox.is_enabled, sandbox.status_word, sandbox.level(), sandbox.describe_trouble()) == (
        False,
        "",
        "off",
        [],
    )
    assert RunCommandTool(Workspace(field.project), JobTable(sandbox), 20).args is RunCommandArgs
    assert Config().sandbox == "off"


def test_auto_chooses_a_working_level_and_detects_a_false_one(
    field: AttackField, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    liar = tmp_path / "bwrap"
    liar.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n', encoding="utf-8")
    liar.chmod(liar.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(
        ToolFailed,
        match=r"'bwrap' does not work here: a command could write outside the .*; .*--sandbox auto",
    ):
        field.sandbox("bwrap").level()
    auto = field.sandbox("auto")
    assert auto.level() == ("off" if REASONS["landlock"] else "landlock")
    liar.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2; exit 1\n", encoding="utf-8")
    broken = field.sandbox("bwrap")
    with pytest.raises(ToolFailed, match="fails to start: bwrap: No permissions"):
        broken.level()
    assert broken.status_word == "no sandbox, commands disabled"
    process_never = RunCommandTool(Workspace(field.project), JobTable(broken), 20).prepare(
        SandboxedCommandArgs(command="touch ran")
    )
    with pytest.raises(ToolFailed, match="does not work here"):
        asyncio.run(_run(process_never))
    assert not (field.project / "ran").exists()
    assert broken.describe_trouble()[0].startswith("no command will run: the sandbox 'bwrap'")
    assert broken.describe_trouble() == []


async def _run(prepared: object) -> object:
    return await prepared.run(lambda line: None)  # type: ignore[attr-defined]


def test_the_text_in_the_status_line(working_sandbox: Sandbox, field: AttackField) -> None:
    assert field.sandbox("auto").status_word == "sandbox"
    working_sandbox.level()
    assert (
        working_sandbox.status_word
        == {"bwrap": "sandbox bwrap", "landlock": "sandbox landlock (partial)"}[working_sandbox.choice]
    )


def test_leaving_the_sandbox_needs_approval_in_every_mode_and_no_rule_grants_it(tmp_path: Path) -> None:
    action = RunCommand(command="make", cwd=tmp_path, outside=True)
    for mode in ("ask", "edits", "all"):
        policy = Policy(Workspace(tmp_path), mode, allow=("make",))
        verdict = policy.judge(action)
        assert isinstance(verdict, Ask) and verdict.risk == "high" and "outside the sandbox" in verdict.reason
        policy.allow_for_session(action)
        assert isinstance(policy.judge(action), Allow)
        assert isinstance(policy.judge(RunCommand(command="make it", cwd=tmp_path, outside=True)), Ask)
    assert isinstance(Policy(Workspace(tmp_path), "plan").judge(action), Deny)
    denied = Policy(Workspace(tmp_path), "all", deny=("make",)).judge(action)
    assert isinstance(denied, Deny)
    working_sandbox = RunCommand(command="make", cwd=tmp_path)
    assert isinstance(Policy(Workspace(tmp_path), "ask").judge(working_sandbox), Ask), (
        "a sandbox makes no approval weaker"
    )


def test_files_that_a_guard_cannot_restore_are_not_lost(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("before", encoding="utf-8")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "large").write_bytes(b"x" * 1_000_001)
    guard = FileGuard([tmp_path / name for name in ("a", "link", "large", "missing")])
    assert guard.restore() == []
    (tmp_path / "a").write_text("after", encoding="utf-8")
    (tmp_path / "link").unlink()
    (tmp_path / "missing").write_text("made", encoding="utf-8")
    undone = dict(guard.restore())
    assert set(undone) == {tmp_path / "a", tmp_path / "link", tmp_path / "missing"}
    assert (tmp_path / "a").read_text(encoding="utf-8") == "before"
    aside = undone[tmp_path / "a"]
    assert aside is not None
    assert aside.read_text(encoding="utf-8") == "after"
    assert (tmp_path / "link").readlink() == Path("a")
    assert not (tmp_path / "missing").exists()
    assert guard.list_changed() == []


@each_row(
    ("output", "cause"),
    [
        ("sh: x: Read-only file system", "write only"),
        ("curl: (6) Could not resolve host: example.org", "no network"),
        ("curl: (7) Failed to connect to localhost port 3000: Connection refused", "network of its own"),
        ("cat: /tmp/a: No such file or directory", "/tmp of its own"),
        ("assertion failed", ""),
    ],
)
def test_failures_caused_by_the_sandbox_are_recognized(output: str, cause: str) -> None:
    hint = describe_denial(output, "bwrap", network=False)
    assert cause in hint
    assert bool(hint) == bool(cause)
    assert describe_denial(output, "off", network=False) == ""


def test_the_profile_for_macos(tmp_path: Path) -> None:
    """Only its text: there is no macOS to run it here."""
    root, home = tmp_path / 'a "b"', tmp_path / "home"
    for folder in (root / ".git" / "hooks", root / ".clio", home):
        folder.mkdir(parents=True)
    (root / ".git" / "config").touch()
    made = make_fence(root, user_home=home, clio_home=home / ".clio", env={}, tmp=tmp_path)
    lines = backends.render_seatbelt_profile(made).splitlines()
    shown = str(root.resolve()).replace('"', '\\"')
    assert lines[:4] == [
        "(version 1)",
        "(allow default)",
        "(deny file-write*)",
        f'(allow file-write* (subpath "{shown}"))',
    ]
    for sealed in (".git/config", ".git/hooks", ".clio", ".git/commondir"):
        assert lines.index(f'(deny file-write* (subpath "{shown}/{sealed}"))') > 3
    assert f'(deny file-write-unlink (literal "{shown}/.git"))' in lines
    # Of two matching rules, the later one applies.
    for first, then in (
        ("(deny network*)", '(allow network-bind network-inbound (local ip "localhost:*"))'),
        ("(deny network*)", '(allow network-outbound (remote ip "localhost:*"))'),
        ("(deny signal)", "(allow signal (target same-sandbox))"),
        ("(deny file-write*)", '(allow file-write* (literal "/dev/tty"))'),
    ):
        assert lines.index(first) < lines.index(then)
    assert {"(deny job-creation)", "(deny lsopen)", "(deny appleevent-send)"} < set(lines)
    written = [line for line in lines if "ttys" in line and line.startswith("(allow")]
    assert len(written) == 1 and '(extension "com.apple.sandbox.pty")' in written[0]
    assert not any("/private/tmp" in line or '"/tmp"' in line for line in lines)
    assert all(line.count("(") == line.count(")") for line in lines)
    argv = backends.enclose_with_seatbelt("/usr/bin/sandbox-exec", made, ["bash", "-c", "true"]).argv
    assert argv[:2] == ("/usr/bin/sandbox-exec", "-p")
    assert argv[-3:] == ("bash", "-c", "true")


def test_landlock_refuses_where_it_cannot_protect() -> None:
    from clio.sandbox import backends

    child = backends.enclose_with_landlock(Fence(root=Path("/"), write=(), tmp=Path("/tmp")), ["true"]).command
    broken = "import sys, runpy; sys.argv[0:1] = []; m = runpy.run_path(sys.argv[0]); f = m['main'].__globals__; "
    broken += "f['_CREATE_RULESET'] = 999; sys.exit(m['main'](sys.argv[1:]))"
    done = subprocess.run([child[0], "-c", broken, *child[4:]], capture_output=True, text=True, check=False)
    assert done.returncode == 126
    assert mentions(done.stderr, "not run", "sandbox landlock")


def test_links_in_place_of_protected_files_are_restored(working_sandbox: Sandbox, field: AttackField) -> None:
    linked = field.top / f"linked-{working_sandbox.choice}"
    (linked / "real").mkdir(parents=True)
    (linked / ".clio").symlink_to("real")
    _, _, note = asyncio.run(
        run_sandboxed("rm .clio; mkdir .clio; echo x > .clio/config.yaml", linked, working_sandbox, timeout_s=20)
    )
    assert (linked / ".clio").readlink() == Path("real")
    assert ".clio (moved to .clio.set-aside-" in note
    assert not (linked / "real" / "config.yaml").exists()


def test_the_whole_file_system_is_never_writable(field: AttackField) -> None:
    made = make_fence(
        Path("/"),
        user_home=field.home,
        clio_home=field.clio_home,
        env={},
        tmp=field.outside,
        more=("/", str(field.outside)),
    )
    assert made.write == (field.outside, field.home / ".cache")


def test_the_sandbox_is_after_the_mode_in_the_status_line() -> None:
    facts = StatusValues(model="m", mode="all", sandbox="sandbox bwrap", branch="main")
    assert facts.line_parts[:3] == ("m", "all", "sandbox bwrap")
    assert facts.spoken_parts == ("model m", "approval mode all", "sandbox bwrap", "branch main")
