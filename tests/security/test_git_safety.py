"""Calls of git that need no approval start no program of the repository, in whatever way it is named."""

import asyncio
import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from clio.context.summary_text import read_git_activity
from clio.errors import ToolFailed
from clio.git.commits import read_template, read_text
from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Allow, Ask, Policy
from clio.security.git_safety import build_git_environment, find_risky_entries
from clio.security.readonly.git_grammar import READING_SUBCOMMANDS
from clio.tools.git import GitArgs, GitTool
from tests.security.git_fuzz import run_calls
from tests.support.examples import sample
from tests.support.git_tricks import CALLS, SETTINGS, Tricks, find_running_program, run, run_in_terminal
from tests.support.repositories import git, make, write

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")
CORPUS = (Path(__file__).parent / "git_calls.txt").read_text(encoding="utf-8").split("\n# asked")
EVERYDAY = [line for line in CORPUS[0].splitlines()[1:] if line]
ASKED = [line for line in CORPUS[1].splitlines()[1:] if line]

TRICKS: dict[str, tuple[Callable[[Tricks], Path], str]] = {
    "fsmonitor": (lambda t: t.setting("core.fsmonitor", "fsm"), "."),
    "diff.external": (lambda t: t.setting("diff.external", "ext"), "."),
    "textconv": (lambda t: t.setting("diff.trap.textconv", "conv"), "."),
    "diff command": (lambda t: t.setting("diff.trap.command", "cmd"), "."),
    "filter": (lambda t: t.setting("filter.trap.clean", "clean"), "."),
    "filter process": (lambda t: t.setting("filter.trap.process", "process"), "."),
    "include": (Tricks.included, "."),
    "includeIf": (Tricks.included_if, "."),
    "config.worktree": (Tricks.worktree_setting, "."),
    "git file": (Tricks.git_file, "."),
    "commondir": (Tricks.common_dir, "."),
    "bare docs": (lambda t: t.bare("docs"), "docs"),
    "bare a/b/c": (lambda t: t.bare("a/b/c"), "a/b/c"),
    "below a bare one": (lambda t: t.bare("x/y"), "x/y/deep"),
    "submodule": (Tricks.submodule, "."),
    "submodule filter": (lambda t: t.submodule("filter.trap.clean"), "."),
    "embedded repository": (lambda t: t.submodule(absorbed=False), "."),
    "split index": (Tricks.split_index_submodule, "."),
}
BY_JUDGEMENT_ALONE = {
    *("diff.external", "textconv", "diff command", "filter", "filter process", "includeIf", "commondir"),
    *("submodule filter", "split index"),
}
"""git has no option for these, so the environment alone does not prevent them."""


UNUSED = (
    *("core.pager", "core.editor", "core.sshCommand", "core.askPass", "sequence.editor", "credential.helper"),
    *("credential.https://x.helper", "gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand"),
    *("mergetool.x.cmd", "difftool.x.path", "difftool.x.cmd", "merge.trap.driver", "help.autocorrect"),
)
"""Keys that name programs, but none that a listed call starts."""


@pytest.fixture(scope="module")
def tricks(tmp_path_factory: pytest.TempPathFactory) -> Tricks:
    return Tricks(tmp_path_factory.mktemp("tricks"))


def judge(root: Path, line: str, cwd: Path | None = None) -> Allow | Ask:
    verdict = Policy(Workspace(root), "ask").judge(RunCommand(command=line, cwd=cwd or root))
    assert isinstance(verdict, Allow | Ask)
    return verdict


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", TRICKS)
def test_a_hostile_repository_causes_a_question_and_the_environment_prevents_its_program(
    name: str, tricks: Tricks
) -> None:
    make_root, folder = TRICKS[name]
    root, has_run = find_running_program(tricks, lambda: make_root(tricks), folder)
    assert has_run, "without protection the program runs"
    cwd = Path(os.path.normpath(root / folder))
    for call in (*CALLS[:3], *sample(CALLS[3:], 14, name)):
        line = shlex.join(("git", *call))
        verdict = judge(root, line, cwd)
        assert isinstance(verdict, Ask) and "reads " in verdict.reason, line
        if call in CALLS[:3]:
            assert isinstance(judge(root, f"cd {folder} && {line}"), Ask)
            assert isinstance(judge(root, shlex.join(("git", "-C", folder, *call))), Ask)
        if name not in BY_JUDGEMENT_ALONE:
            os.utime(root / "docs" / "b.txt")
            run(cwd, call, build_git_environment(root))
            assert not tricks.pop_has_run(), line


@pytest.mark.parametrize("path", [False, True])
def test_no_hook_of_a_repository_runs_in_a_call_without_approval(path: bool, tricks: Tricks) -> None:
    root, has_run = find_running_program(tricks, lambda: tricks.hook(path=path), ".")
    assert has_run, "without protection the hook runs"
    for call in CALLS:
        line = shlex.join(("git", *call))
        assert isinstance(judge(root, line), Allow), call
        for bare in ("env -i", "env -u GIT_CONFIG_COUNT", "exec -c", "env -i timeout 5"):
            assert isinstance(judge(root, f"{bare} {line}"), Ask), (bare, call)
        for locks in ({}, {"GIT_OPTIONAL_LOCKS": "1"}):  # a line may set this one
            os.utime(root / "docs" / "b.txt")
            run(root, call, build_git_environment(root) | locks)
            assert not tricks.pop_has_run(), call


@pytest.mark.parametrize("inside", [False, True])
def test_no_listed_call_starts_a_program_it_does_not_need(inside: bool, tricks: Tricks) -> None:
    """inside: the keys are a submodule's, where the settings in variables have no effect."""
    root = tricks.submodule("user.email") if inside else tricks.copy("unused")
    for key in UNUSED:
        file = next(root.glob(".git/modules/*/config")) if inside else root / ".git/config"
        value = "1" if key == "help.autocorrect" else str(tricks.canary)
        git(root, "config", "--file", str(file), key, value)
    tricks.pop_has_run()
    for call in CALLS:
        assert isinstance(judge(root, shlex.join(("git", *call))), Allow), call
        os.utime(root / "docs" / "b.txt")
        run(root, call, build_git_environment(root) | {"GIT_OPTIONAL_LOCKS": "1"})
        assert not tricks.pop_has_run(), call
    for call in (("log", "-1"), ("status",), ("diff", "--submodule=log"), ("branch", "--list")):
        run_in_terminal(root, call, build_git_environment(root))
        assert not tricks.pop_has_run(), call


@pytest.mark.parametrize(
    ("key", "value", "runs"),
    [
        ("filter.lfs.clean", "git-lfs clean -- %f", True),
        ("filter.lfs.smudge", "git-lfs smudge -- %f", True),
        ("filter.lfs.process", "git-lfs filter-process", True),
        ("filter.lfs.process", "git-lfs filter-process; x", False),
        ("filter.lfs.clean", "./git-lfs clean -- %f", False),
        ("filter.other.clean", "git-lfs clean -- %f", False),
        ("lfs.extension.x.clean", "x", False),
        ("branch.main.anything", "x", True),
        ("oh-my-zsh.hide-status", "1", True),
        ("annex.uuid", "1", True),
        ("annex.x.command", "x", False),
        ("hub.protocol", "ssh", True),
        ("github.x.y", "x", False),
    ],
)
def test_the_value_of_a_key_matters(key: str, value: str, runs: bool, tricks: Tricks) -> None:
    root = tricks.copy(f"value-{key}-{len(value)}")
    git(root, "config", key, value)
    assert isinstance(judge(root, "git status"), Allow) is runs


def lazy(root: Path, tricks: Tricks) -> None:
    """Remove a file of the first commit, so that git asks the remote, whose address is a program."""
    blob = git(root, "rev-parse", "HEAD~1:a.txt")
    (root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{tricks.canary} quit",
        "protocol.allow": "always",
    }.items():
        git(root, "config", key, value)


def sign(root: Path, tricks: Tricks) -> None:
    """Sign the newest commit, so that `log.showSignature` runs a program."""
    head, _, body = git(root, "cat-file", "commit", "HEAD").partition("\n\n")
    block = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    (root / "signed").write_bytes(f"{head}\n{block}\n\n{body}\n".encode())
    git(root, "reset", "--quiet", git(root, "hash-object", "-t", "commit", "-w", "signed"))
    git(root, "config", "log.showSignature", "true")
    git(root, "config", "gpg.program", str(tricks.canary))


def borrow(root: Path, tricks: Tricks) -> None:
    write(root / ".git/objects/info", {"alternates": f"{tricks.folder}/base/.git/objects\n"})
    git(root, "config", "core.alternateRefsCommand", str(tricks.canary))


UNUSED_PROGRAMS = ("pager", "editor", "sequence editor", "credential helper", "askpass")
VARIABLES: dict[str, tuple[Callable[[Path, Tricks], object], str]] = {
    "pager": (lambda root, t: git(root, "config", "core.pager", str(t.canary)), "terminal: git log -1"),
    "pager of a command": (lambda root, t: git(root, "config", "pager.status", str(t.canary)), "terminal: git status"),
    "editor": (lambda root, t: git(root, "config", "core.editor", str(t.canary)), "git tag -a new"),
    "sequence editor": (lambda root, t: git(root, "config", "sequence.editor", str(t.canary)), "git rebase -i HEAD~1"),
    "credential helper": (
        lambda root, t: git(root, "config", "credential.helper", str(t.canary)),
        "git credential fill",
    ),
    "askpass": (lambda root, t: git(root, "config", "core.askPass", str(t.canary)), "git credential fill"),
    "signature": (sign, "git log -1"),
    "lazy fetch": (lazy, "git show HEAD~1:a.txt"),
    "alternate refs": (borrow, "git log --alternate-refs --oneline"),
}


@pytest.mark.parametrize("name", VARIABLES)
def test_each_variable_prevents_a_program(name: str, tricks: Tricks) -> None:
    change, line = VARIABLES[name]
    root = tricks.copy(f"variable-{name.replace(' ', '-')}")
    git(root, "checkout", "--quiet", "--force", ".")
    change(root, tricks)
    assert isinstance(judge(root, "git log -1"), Allow if name in UNUSED_PROGRAMS else Ask)
    call = tuple(line.removeprefix("terminal: ").split()[1:])
    for env, expected in (({}, True), (build_git_environment(root), False)):
        if line.startswith("terminal: "):
            run_in_terminal(root, call, env)
        else:
            run(root, call, env, given="protocol=https\nhost=localhost\n\n")
        assert tricks.pop_has_run() is expected


@pytest.mark.parametrize("key", [key for key in SETTINGS if key not in UNUSED])
def test_the_question_names_the_key_and_the_file(key: str, tricks: Tricks) -> None:
    root = tricks.setting(key, f"key-{SETTINGS.index(key)}")
    section, _, rest = key.partition(".")
    middle, dot, name = rest.rpartition(".")
    shown = f"{section.lower()}.{middle}{dot}{name.lower()}"
    verdict = judge(root, "git status")
    assert isinstance(verdict, Ask)
    assert f"reads {shown} from .git/config" in verdict.reason


def test_paths_that_lead_outside_cause_a_question(tricks: Tricks, tmp_path: Path) -> None:
    private = make(tmp_path / "private", {"secret.txt": "hidden\n"})
    (tmp_path / "private.txt").write_text("hidden\n", encoding="utf-8")
    cases: dict[str, Callable[[Path], object]] = {
        "worktree": lambda root: git(root, "config", "core.worktree", str(tmp_path)),
        "worktree above": lambda root: git(root, "config", "core.worktree", "../.."),
        "excludes": lambda root: git(root, "config", "core.excludesFile", str(tmp_path / "private.txt")),
        "blame": lambda root: git(root, "config", "blame.ignoreRevsFile", "~/x"),
        "include": lambda root: git(root, "config", "include.path", str(tmp_path / "private.txt")),
        "alternates": lambda root: write(root / ".git/objects/info", {"alternates": f"{private}/.git/objects\n"}),
        "link": lambda root: (root / ".git" / "BISECT_LOG").symlink_to(tmp_path / "private.txt"),
        "git file": lambda root: (shutil.rmtree(root / ".git"), write(root, {".git": f"gitdir: {private}/.git\n"})),
        "git link": lambda root: (shutil.rmtree(root / ".git"), (root / ".git").symlink_to(private / ".git")),
        "common directory": lambda root: write(root / ".git", {"commondir": f"{private}/.git\n"}),
        "helper": lambda root: git(root, "config", "remote.origin.url", "ext::sh -c x"),
        "pretty": lambda root: git(root, "config", "format.pretty", "%h %G?"),
        "sort": lambda root: git(root, "config", "branch.sort", "signature"),
        "shadow": lambda root: git(root, "config", "alias.whatchanged", "log --output=x"),
    }
    for name, change in cases.items():
        root = tricks.copy(f"outside-{name.replace(' ', '-')}")
        assert isinstance(judge(root, "git log -1"), Allow), name
        change(root)
        assert isinstance(judge(root, "git log -1"), Ask), name
        assert isinstance(judge(root, "git status"), Ask), name


def test_a_change_is_noticed_although_the_answer_was_cached(tricks: Tricks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clio.readonly_git._MTIME_GRANULARITY_S", -10.0)  # as if the files were old
    root = tricks.copy("kept")
    write(root, {"sub/x": "x\n", "later": ""})
    git(root, "config", "include.path", "../late.inc")
    sub = root / "sub"
    assert find_risky_entries(root, root) == find_risky_entries(root, root) == ()
    assert find_risky_entries(root, sub) == ()
    write(root, {"late.inc": f"[diff]\n\texternal = {tricks.canary}\n"})
    assert [found.name for found in find_risky_entries(root, root)] == ["diff.external"]
    (root / "late.inc").unlink()
    assert find_risky_entries(root, sub) == ()
    make(sub)
    git(sub, "config", "core.fsmonitor", str(tricks.canary))
    assert [found.name for found in find_risky_entries(root, sub)] == ["core.fsmonitor"]
    assert find_risky_entries(root, root) == ()
    git(root, "config", "extensions.worktreeConfig", "true")
    assert find_risky_entries(root, root) == ()
    git(root, "config", "--worktree", "diff.external", "x")
    assert [found.name for found in find_risky_entries(root, root)] == ["diff.external"]


def test_everyday_calls_need_no_approval(tricks: Tricks) -> None:
    root = tricks.copy("everyday")
    write(root, {"README.md": "x", "src/app.py": "x", "a.py": "x", "b.py": "x", "sub/x": "x", "a/b/x": "x"})
    assert len(EVERYDAY) >= 270
    assert [line for line in EVERYDAY if not isinstance(judge(root, line), Allow)] == []


def test_other_calls_need_approval(tricks: Tricks) -> None:
    root = tricks.copy("asked")
    assert len(ASKED) >= 120
    assert [line for line in ASKED if not isinstance(judge(root, line), Ask)] == []


def test_every_listed_subcommand_is_tried() -> None:
    tried = {call[0] for call in CALLS} | {line.split()[1] for line in EVERYDAY if " " in line}
    assert set() == READING_SUBCOMMANDS - tried - {"check-mailmap", "patch-id", "help"}


def test_everyday_repositories_cause_no_question(
    tricks: Tricks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for name in ("GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    own = {
        "filter.lfs.clean": "git-lfs clean -- %f",
        "filter.lfs.process": "git-lfs filter-process",
        "alias.lg": "!git log --graph",
        "core.pager": "delta",
        "diff.external": str(tricks.canary),
        "core.hooksPath": str(home / "hooks"),
        "credential.helper": "store",
        "gpg.program": "gpg2",
        "core.sshCommand": "ssh -v",
    }
    for key, value in own.items():
        git(tmp_path, "config", "--file", str(home / ".gitconfig"), key, value)
    origin = tricks.copy("origin")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(origin), str(clone))
    everyday = {
        "user.name": "A B", "branch.main.vscode-merge-base": "origin/main", "core.hooksPath": ".husky/_",
        "remote.origin.gh-resolved": "base", "pull.rebase": "true", "blame.ignoreRevsFile": ".git-blame-ignore-revs",
        "lfs.repositoryformatversion": "0", "core.fsmonitor": "true", "alias.st": "status",
        "http.https://x/.extraheader": "AUTHORIZATION: basic x", "pager.branch": "false",
        "url.git@github.com:.insteadOf": "https://github.com/",
    }  # fmt: skip
    for key, value in everyday.items():
        git(clone, "config", key, value)
    write(clone, {".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n"})
    linked = tmp_path / "linked"
    git(clone, "worktree", "add", "--quiet", "-b", "other", str(linked))
    parent = tricks.copy("with-submodule")
    git(parent, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(origin), "part")
    partial = tmp_path / "partial"
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", "--no-local", origin.as_uri(), str(partial))
    sparse = tmp_path / "sparse"
    git(tmp_path, "clone", "--quiet", str(origin), str(sparse))
    git(sparse, "sparse-checkout", "set", "docs")
    none = tmp_path / "none"
    none.mkdir()
    places = [clone, linked, parent, parent / "part", partial, sparse, none]
    for root, cwd in [*((place, place) for place in places), (clone / "docs", clone / "docs"), (clone, clone / "docs")]:
        assert find_risky_entries(root, cwd) == (), root
        for line in ("git status", "git diff", "git log -3", "git branch -a", "git show --stat"):
            assert isinstance(judge(root, line, cwd), Allow), (root, line)
    assert run(linked, ("status",), build_git_environment(linked)).returncode == 0
    assert run(clone / "docs", ("log", "-1"), build_git_environment(clone / "docs")).returncode == 0


def test_random_calls_without_approval_change_nothing(tmp_path: Path) -> None:
    """`python -m tests.security.git_fuzz 5000` tries more of them."""
    judged, ran, found = run_calls(tmp_path, 300, 7)
    assert ran > judged / 5
    assert found == []


def test_the_fuzzer_finds_calls_that_change_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Policy, "judge", lambda *_: Allow("anything"))
    assert run_calls(tmp_path, 300, 7)[2]


def test_clios_own_calls_do_not_read_outside(tricks: Tricks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    private = make(tmp_path / "private", {"a.txt": "hidden\n", "message.txt": "hidden\n"})
    led = tricks.copy("own-worktree")
    git(led, "config", "core.worktree", str(private))
    assert read_git_activity(led) is None
    with pytest.raises(ToolFailed, match=r"core\.worktree"):
        asyncio.run(GitTool(Workspace(led), 20).prepare(GitArgs(operation="diff")).run(lambda _: None))
    moved = tricks.copy("own-file")
    shutil.rmtree(moved / ".git")
    write(moved, {".git": f"gitdir: {private}/.git\n"})
    assert read_git_activity(moved) is None
    root = tricks.copy("own-template")
    (root / "inside.txt").write_text("title: ", encoding="utf-8")
    git(root, "config", "commit.template", "inside.txt")
    assert read_template(root) == "title:"
    git(root, "config", "commit.template", str(private / "message.txt"))
    assert read_template(root) == ""
    (root / "pull_request_template.md").symlink_to(private / "message.txt")
    assert read_text(root / "pull_request_template.md", root) == ""
    (root / ".git" / "objects" / "info" / "alternates").write_text(f"{private}/.git/objects\n", encoding="utf-8")
    action = GitTool(Workspace(root), 20).prepare(GitArgs(operation="log")).action
    assert isinstance(Policy(Workspace(root), "ask").judge(action), Ask)
    plain = GitTool(Workspace(tricks.copy("own-plain")), 20).prepare(GitArgs(operation="log")).action
    assert isinstance(Policy(Workspace(tricks.folder / "own-plain"), "ask").judge(plain), Allow)


def test_objects_of_other_repositories_cause_a_question_however_they_are_named(tmp_path: Path) -> None:
    private = make(tmp_path / "private", {"secret.txt": "x\n"}) / ".git" / "objects"

    def judged(name: str, change: Callable[[Path], None]) -> object:
        root = make(tmp_path / name, {"a": "x\n"})
        change(root)
        return Policy(Workspace(root), "ask").judge(RunCommand(command="git log -1", cwd=root))

    def nested(root: Path) -> None:
        write(root / "store" / "info", {"alternates": f"{private}\n"})
        write(root / ".git/objects/info", {"alternates": f"{root}/store\n"})

    def quoted(root: Path) -> None:
        write(root / ".git/objects/info", {"alternates": '"\\056\\056/../../private/.git/objects"\n'})

    def own(root: Path) -> None:
        (root / "store").mkdir()
        write(root / ".git/objects/info", {"alternates": f"{root}/store\n"})

    def linked(root: Path) -> None:
        objects = root / ".git/objects"
        free = next(path for number in range(256) if not (path := objects / f"{number:02x}").exists())
        free.symlink_to(private)

    assert isinstance(judged("plain", lambda _: None), Allow)
    assert isinstance(judged("own", own), Allow)
    assert isinstance(judged("nested", nested), Ask)
    assert isinstance(judged("quoted", quoted), Ask)
    assert isinstance(judged("linked", linked), Ask)


def test_settings_from_the_environment_are_kept(tmp_path: Path) -> None:
    given = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Own Name"}
    root = make(tmp_path / "project", {"a": "x\n"})
    env = {**given, **build_git_environment(root, given)}
    assert run(root, ("config", "--global", "--list"), env).stdout == b""
    assert b"Own Name" in run(root, ("-c", "x.y=z", "config", "user.name"), env).stdout
    assert run(root, ("config", "core.fsmonitor"), env).stdout == b"false\n"
