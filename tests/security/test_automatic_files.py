"""Mode `edits` asks before it writes files that other programs run or obey automatically; mode `all` does not."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from clio.config.schema import ApprovalMode
from clio.security.actions import ChangeFiles, FileChange, RunCommand, Workspace
from clio.security.approval import Allow, Ask, Policy
from tests.support.rows import each_row

AUTOMATIC = """
.envrc .vscode/tasks.json .vscode/settings.json .vscode/launch.json .vscode/deep/x.json .idea/workspace.xml
.idea/x/y.xml .husky/pre-commit .husky/_/husky.sh .githooks/pre-push .github/workflows/ci.yml
.github/workflows/deep/x.yaml .github/actions/x/action.yml .gitlab-ci.yml .gitlab/ci/x.yml .circleci/config.yml
Jenkinsfile azure-pipelines.yml azure-pipelines.release.yml .travis.yml .drone.yml .buildkite/pipeline.yml
.claude/settings.json .claude/hooks/x.sh .cursor/rules/x.mdc .cursor/mcp.json .cursorrules .windsurf/x
.windsurfrules .gemini/settings.json .codex/config.toml .mcp.json .devcontainer/devcontainer.json .devcontainer.json
.devcontainer/Dockerfile .pre-commit-config.yaml lefthook.yml lefthook-local.yml .lintstagedrc.json .gitattributes
.gitmodules .gitconfig .git/config .git/hooks/x .npmrc .yarnrc .yarnrc.yml .yarn/releases/yarn.cjs .pnpmfile.cjs
.bazelrc .cargo/config.toml .cargo/config rust-toolchain rust-toolchain.toml pip.conf sitecustomize.py
usercustomize.py x.pth .lldbinit .gdbinit .vimrc .exrc .nvim.lua .dir-locals.el .tool-versions .mise.toml mise.toml
.mise.local.toml .config/mise/config.toml .bashrc .zshrc .profile .bash_profile .inputrc x.code-workspace
.gitpod.yml .mvn/extensions.xml gradle/wrapper/gradle-wrapper.properties .curlrc .netrc .Rprofile .zed/tasks.json
.fleet/run.json .kiro/x .aider.conf.yml .goosehints .gitlab-ci.local.yml
""".split()
ORDINARY = """
README.md src/app.py conftest.py tests/conftest.py Makefile package.json pyproject.toml setup.py Cargo.toml go.mod
.gitignore .gitkeep .env.example Dockerfile docker-compose.yml tox.ini justfile CMakeLists.txt build.gradle pom.xml
.editorconfig .prettierrc .eslintrc.json tsconfig.json AGENTS.md CLAUDE.md docs/index.md .dockerignore
.github/ISSUE_TEMPLATE/bug.md .github/pull_request_template.md .github/CODEOWNERS .vscode/extensions.json
src/github/workflows.py envrc vscode/tasks.json github/workflows/ci.yml scripts/husky.sh config.toml
cargo/config.toml .clio/instructions.md src/.env.ts Gemfile requirements.txt .flake8 .pylintrc .ruff.toml
.markdownlint.json .nvmrc .python-version
""".split()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "sub").mkdir(parents=True)
    return root


def writes(project: Path, name: str, mode: ApprovalMode, *, session: bool = False) -> str:
    judge = Policy(Workspace(project), mode)
    if session:
        judge.allow_for_session(ChangeFiles(changes=(FileChange(path=project / "x.py", kind="add", after="x"),)))
    path = Path(os.path.realpath(project / name))
    match judge.judge(ChangeFiles(changes=(FileChange(path=path, kind="add", after="x"),))):
        case Allow():
            return "run"
        case Ask(risk=risk, reason=reason):
            assert reason
            return risk
        case _:
            return "no"


def runs(project: Path, line: str, mode: ApprovalMode, *allow: str) -> bool:
    return isinstance(Policy(Workspace(project), mode, allow=allow).judge(RunCommand(command=line, cwd=project)), Allow)


@each_row("name", AUTOMATIC)
def test_edits_asks_for_files_that_run_automatically(name: str, project: Path) -> None:
    for variant in (name, f"sub/{name}", name.upper(), name.title(), f"sub/deep/{name}"):
        assert writes(project, variant, "edits") == "high", variant
        assert writes(project, variant, "ask", session=True) == "high", variant
    decides = name in (".mcp.json", ".git/config", ".git/hooks/x")
    assert decides or writes(project, name, "all") == "run"


@pytest.mark.skipif(os.name == "nt", reason="the lines are bash's")
@each_row("name", AUTOMATIC)
def test_a_shell_command_that_writes_one_needs_approval_too(name: str, project: Path) -> None:
    lines = [
        f"echo x > {name}",
        f"echo x >> ./{name}",
        f"echo x > sub/../{name}",
        f"cd sub && echo x > ../{name}",
        f"cat x > {name.upper()}",
    ]
    lines += [
        f"touch {name}",
        f"cp x {name}",
        f"mv x {name}",
        f"ln -s x {name}",
        f"tee {name}",
        f"install x {name}",
        f"sed -i s/a/b/ {name}",
    ]
    rules = ("touch *", "touch <safe>", "cp *", "mv *", "ln *", "tee *", "install *", "sed *", "cd *")
    assert [line for line in lines if runs(project, line, "edits", *rules)] == []
    assert runs(project, "echo x > notes.txt", "edits")


RESPELLED = [
    lambda name: name + "\u200c",
    lambda name: name[:2] + "\u2064" + name[2:],
    lambda name: "\ufeff" + name,
    lambda name: name + ".",
    lambda name: name + ". . ",
    lambda name: name + "::$DATA",
    lambda name: name + "::$INDEX_ALLOCATION",
    lambda name: name + ":x",
    lambda name: name.replace(".", "\uff0e", 1),
    lambda name: name.replace("i", "\uff29").replace("s", "\u017f"),
    lambda name: name.upper() + "\U000e0041",
    lambda name: name + "\xad.",
    lambda name: name + "\x01",
]


@each_row("respell", RESPELLED)
@each_row(
    "name", [".git/config", ".git/hooks/pre-commit", ".vscode/tasks.json", ".envrc", ".husky/x", ".clio/config.yaml"]
)
def test_a_name_equal_to_one_on_some_file_systems_needs_approval(
    respell: Callable[[str], str], name: str, project: Path
) -> None:
    first, slash, rest = name.partition("/")
    for variant in (f"{respell(first)}{slash}{rest}", f"sub/{respell(first)}{slash}{rest}"):
        assert writes(project, variant, "edits") == "high", ascii(variant)
    if rest:
        assert writes(project, f"{first}/{respell(rest)}", "edits") == "high"


@pytest.mark.parametrize(
    "name", ["git~1/config", "GIT~1/hooks/x", "VSCODE~1/tasks.json", "sub/ENVRC~1", "PRE-CO~1.YAM"]
)
def test_a_short_windows_name_needs_approval(name: str, project: Path) -> None:
    assert writes(project, name, "edits") == "high"


@pytest.mark.skipif(os.name == "nt", reason="a backslash divides names there")
def test_a_backslash_is_read_as_on_windows(project: Path) -> None:
    assert writes(project, ".git\\config", "edits") == "high"


@each_row("name", ["zu\u200cgit.py", "na\xefve.py", "\u65e5\u672c.txt", "caf\u00e9/x.md", "a~b.txt", "x.py~"])
def test_names_in_other_scripts_are_ordinary(name: str, project: Path) -> None:
    assert writes(project, name, "edits") == "run"


@each_row("name", ORDINARY)
def test_files_that_a_user_must_start_need_no_approval(name: str, project: Path) -> None:
    assert writes(project, name, "edits") == "run"
    assert writes(project, f"sub/{name}", "edits") == "run"


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_links_do_not_circumvent_it(project: Path) -> None:
    (project / ".vscode").mkdir()
    (project / "plain").symlink_to(project / ".envrc")
    (project / "folder").symlink_to(project / ".vscode")
    assert writes(project, "plain", "edits") == "high"
    assert writes(project, "folder/tasks.json", "edits") == "high"
    assert not runs(project, "echo x > plain", "edits")
    assert not runs(project, "echo x > folder/tasks.json", "edits")
    (project / "env.sh").write_text("x", encoding="utf-8")
    (project / "hooks").mkdir()
    assert writes(project, "env.sh", "edits") == "run"
    (project / ".bashrc").symlink_to("env.sh")
    (project / ".husky").symlink_to("hooks")
    assert writes(project, "env.sh", "edits") == "high"
    assert writes(project, ".bashrc", "edits") == "high"
    assert writes(project, "hooks/pre-commit", "edits") == "high"
    assert not runs(project, "echo x > env.sh", "edits")
