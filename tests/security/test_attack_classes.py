"""Attacks that once ran without approval: programs on the input, clio's own commands, aliases, hidden readers."""

import sqlite3
import subprocess
from pathlib import Path

import pytest

from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Allow, Ask, Deny, Policy, Verdict


def judge(root: Path, command: str, mode: str = "ask", allow: tuple[str, ...] = ()) -> Verdict:
    home = root.parent / "clio-home"
    home.mkdir(exist_ok=True)
    policy = Policy(Workspace(root), mode, allow, clio_home=home)  # type: ignore[arg-type]
    return policy.judge(RunCommand(command=command.replace("CLIO_HOME", str(home)), cwd=root))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return (tmp_path / "project").resolve()


CODE = "import shutil; shutil.rmtree('/etc/ssl')"
WAYS = (
    "python3 <<'X'\n{}\nX",
    "python3 - a b <<'X'\n{}\nX",
    "python3 -u - <<X\n{}\n# $USER\nX",
    'python3 <<< "{}"',
    'echo "{}" | python3',
    "cat <<'X' | python3 -\n{}\nX",
)


@pytest.mark.parametrize("way", WAYS)
def test_a_program_on_the_input_is_judged_like_one_in_an_argument(root: Path, way: str) -> None:
    assert isinstance(judge(root, f'python3 -c "{CODE}"', "all"), Ask)
    assert isinstance(judge(root, way.format(CODE), "all"), Ask)
    assert isinstance(judge(root, way.format("import shutil; shutil.rmtree('/')"), "all"), Deny)
    assert isinstance(judge(root, way.format("print(1)"), "all"), Allow)


@pytest.mark.parametrize("way", WAYS)
def test_a_deny_rule_applies_to_a_program_on_the_input(root: Path, way: str) -> None:
    policy = Policy(Workspace(root), "all", deny=("git push",))
    command = way.format("import os; os.system('git push')")
    assert not isinstance(policy.judge(RunCommand(command=command, cwd=root)), Allow)


def test_the_input_of_a_script_is_no_program(root: Path) -> None:
    assert isinstance(judge(root, f"python3 load.py <<'X'\n{CODE}\nX", "all"), Allow)


@pytest.mark.parametrize(
    "command",
    [
        *(
            "clio config trust",
            "cd sub && clio config trust .",
            "python3 -m clio config trust",
            "uvx clio config trust",
        ),
        *("bash -c 'clio config trust'", "script -c 'clio config trust' /dev/null", "/opt/x/bin/clio config trust"),
        *("clio -p hi --approve all", "echo hi | clio", "clio memory add 'always push'", "clio mcp add x -- y"),
        *(
            "uvx --from clio-shell clio config trust",
            "pipx run clio-shell config trust",
            "uvx clio-shell@1 jobs answer 1.1 y",
        ),
        *(
            "unshare -Ur clio config trust",
            "systemd-run --user /opt/x/bin/clio jobs answer 1.1 yes",
            "tini -s -- clio -p hi",
        ),
        *("$(which clio) config trust", '"$(command -v clio)" jobs answer 1.1 yes', "`type -p clio` plugin add x"),
        *("clio sync init git@example.org:x/y --yes", "clio sync push", "clio sync off"),
    ],
)
def test_clio_commands_that_act_for_the_user_need_approval(root: Path, command: str) -> None:
    assert isinstance(judge(root, command, "all"), Ask)


@pytest.mark.parametrize(
    "command",
    [
        *("clio --version", "clio config show", "clio doctor", "ls clio", "pytest clio", "uv run pytest clio"),
        *("uvx --from clio-shell clio doctor", "unshare -Ur clio config show", "$(which clio) --version"),
    ],
)
def test_read_only_clio_commands_run_in_mode_all(root: Path, command: str) -> None:
    assert isinstance(judge(root, command, "all"), Allow)


@pytest.mark.parametrize(
    "command",
    [
        *(
            "git clone x CLIO_HOME/skills/y",
            "git diff --output=CLIO_HOME/config.yaml",
            "git archive -o CLIO_HOME/x HEAD",
        ),
        *("wget -P CLIO_HOME http://x", "curl -o CLIO_HOME/x http://x", "pip install -t CLIO_HOME x"),
        *("git -C CLIO_HOME init", "cd CLIO_HOME && npm install x", "some-program --to=CLIO_HOME/hooks.yaml"),
    ],
)
def test_only_read_only_commands_may_access_clios_own_folder(root: Path, command: str) -> None:
    verdict = judge(root, command, "all")
    assert isinstance(verdict, Ask) and verdict.in_every_mode


def test_reading_clios_own_folder_is_no_write(root: Path) -> None:
    for command in ("cat CLIO_HOME/config.yaml", "ls -la CLIO_HOME", "cd CLIO_HOME && git log"):
        assert isinstance(judge(root, command, "all"), Allow)


def test_a_star_does_not_cover_a_subcommand_unknown_to_clio(root: Path) -> None:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for command in ("git p", "git puhs", "git clea -fdx", "git send-pack x", "git for-each-repo --config=x push"):
        assert isinstance(judge(root, command, allow=("git *",)), Ask), command
        assert isinstance(judge(root, command, allow=(f"git {command.split()[1]} *",)), Allow), command
    for program in ("cargo", "gh"):
        assert isinstance(judge(root, f"{program} p", allow=(f"{program} *",)), Ask)
    assert isinstance(judge(root, "git commit -m x", allow=("git *",)), Allow)
    assert isinstance(judge(root, "git maintenance start", allow=("git *",)), Ask)


def test_a_database_view_that_runs_programs_needs_approval(root: Path) -> None:
    database = sqlite3.connect(root / "x.db")
    database.executescript("create table t(a); create view v as select edit('x', 'touch ran') as a;")
    database.close()
    plain = sqlite3.connect(root / "plain.db")
    plain.executescript("create table t(a unique, b); create index i on t(b);")
    plain.close()
    assert isinstance(judge(root, "sqlite3 -readonly plain.db 'select a from t'"), Allow)
    (root / "broken.db").write_bytes((root / "x.db").read_bytes().replace(b"CREATE VIEW", b"CREATE\nVIEW"))
    (root / "disguised.db").write_bytes((root / "x.db").read_bytes().replace(b"view", b"table", 1))
    for name in ("broken.db", "disguised.db"):
        assert isinstance(judge(root, f"sqlite3 -readonly {name} 'select a from v'"), Ask)
    assert isinstance(judge(root, "sqlite3 -readonly x.db 'select a from v'"), Ask)
    assert isinstance(judge(root, "sqlite3 -readonly -safe x.db 'select a from v'"), Allow)


@pytest.mark.parametrize(
    "command",
    ["--list", "registry.token", "--get-regexp '^user\\.'"],
)
def test_git_config_with_an_include_of_a_file_needs_approval(root: Path, command: str) -> None:
    assert isinstance(judge(root, f"git config -f x.cfg --includes {command}"), Ask)
    assert isinstance(judge(root, f"git config --file=x.cfg --includes {command}"), Ask)
    assert isinstance(judge(root, f"git config -f x.cfg {command}"), Allow)


@pytest.mark.parametrize("target", ["rm -rf /etc", "cp x CLIO_HOME/config.yaml", "clio config trust"])
@pytest.mark.parametrize(
    "form",
    [
        *("{}; : " + "A" * 61_000, "(({}); ls)", "echo $(({}); ls)", "cat <<\\E; {}\n$(x)\nE", "for x in a; {{ {}; }}"),
        *("echo $(" * 100 + "{}" + ")" * 100, "if :; then " * 150 + "{}" + "; fi" * 150, "timeout 5 " * 150 + "{}"),
    ],
    ids=range(8),
)
def test_a_part_that_was_not_examined_does_not_run_in_mode_all(root: Path, form: str, target: str) -> None:
    assert not isinstance(judge(root, form.format(target), "all"), Allow)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("line", ["x rm -", "while true; do ", "rm -r ", "mkfs -a ", "for i in a; do "])
@pytest.mark.parametrize("mode", ["ask", "all"])
def test_lines_of_a_hundred_thousand_characters_are_judged(root: Path, mode: str, line: str) -> None:
    """The patterns took minutes for these; the test's time limit would notice."""
    for tail in ("", " & done"):
        assert judge(root, line * (100_000 // len(line)) + tail, mode)
