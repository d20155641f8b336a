"""A deny rule applies however a call is written: options, names, aliases, wrappers, and words known at run time."""

import os
import shutil
from itertools import product
from pathlib import Path

import pytest

from clio.config.schema import ApprovalMode
from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Allow, Ask, Deny, Policy
from clio.security.deny_rules import GLOBAL_OPTIONS, KNOWN_SUBCOMMANDS
from tests.support.rows import each_row

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the lines are bash's")
MODES: tuple[ApprovalMode, ...] = ("ask", "edits", "all", "plan")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with its own aliases, and a user with some more."""
    home, root = tmp_path / "home", tmp_path / "project"
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "CARGO_HOME"):
        monkeypatch.delenv(name, raising=False)
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (root / ".git" / "config").write_text(
        '[core]\n\tbare = false\n[Alias]\n\tpp = push\n\tq = "!git push" # sends\n\tst = status -sb\n'
        "\tdeep = pp --tags\n[include]\n\tpath = more\n",
        encoding="utf-8",
    )
    (root / ".git" / "more").write_text("[alias]\n included = \\\n   push\n", encoding="utf-8")
    (root / ".cargo").mkdir()
    (root / ".cargo" / "config.toml").write_text(
        '[alias]\nship = ["publish", "--locked"]\nx = "test -q"\n', encoding="utf-8"
    )
    home.mkdir()
    (home / ".gitconfig").write_text("[alias]\n\tup = push -u\n\tlg = log --oneline\n", encoding="utf-8")
    return root


def decide(project: Path, line: str, *deny: str, mode: ApprovalMode = "all", allow: tuple[str, ...] = ()) -> str:
    policy = Policy(Workspace(project), mode, allow=allow, deny=deny)
    match policy.judge(RunCommand(command=line, cwd=project)):
        case Allow():
            return "run"
        case Ask():
            return "ask"
        case Deny(reason=reason):
            return "denied" if "deny:" in reason else "refused"


SUBCOMMANDS = {
    "git": "push",
    "docker": "push",
    "podman": "push",
    "kubectl": "delete",
    "helm": "uninstall",
    "npm": "publish",
    "pnpm": "publish",
    "yarn": "publish",
    "bun": "publish",
    "cargo": "publish",
    "gh": "release",
    "pip": "install",
    "terraform": "apply",
    "aws": "s3",
    "gcloud": "compute",
    "az": "vm",
    "systemctl": "restart",
    "uv": "publish",
    "poetry": "publish",
    "go": "generate",
    "make": "deploy",
    "brew": "uninstall",
    "apt": "remove",
    "apt-get": "remove",
    "twine": "upload",
}


def spellings(program: str, sub: str) -> list[str]:
    """Yield every global option before the subcommand, attached and separate, and every name of the program."""
    known = GLOBAL_OPTIONS[program]
    lines = [f"{program} {flag} {sub}" for flag in sorted(known.flags)]
    for option in sorted(known.valued):
        lines += [f"{program} {option} value {sub} x", f"{program} {option}=value {sub}"]
        if not option.startswith("--"):
            lines.append(f"{program} {option}value {sub}")
    lines += [f"{program} --not-known {sub}", f"{program} --not-known value {sub}", f"{program} -- {sub}"]
    for named in (
        f"/usr/bin/{program}",
        f"./{program}",
        f"../bin/{program}",
        f"command {program}",
        f"env {program}",
        f"env -i A=1 {program}",
        f"\\{program}",
        f"'{program}'",
        f"{program[:1]}'{program[1:]}'",
        f"timeout 5 {program}",
        f"nice -n 5 nohup {program}",
        f"sudo {program}",
        f"busybox {program}",
        f"exec {program}",
        f"time {program}",
        f"echo x | xargs {program}",
        f"find . -name x -exec {program}",
        f"mise x -- {program}",
        f"npx cross-env A=1 {program}",
    ):
        end = " {} ;" if named.startswith("find") else ""
        lines.append(f"{named} {sub}{end.replace(';', chr(92) + ';')}")
    lines += [
        f"sh -c '{program} {sub}'",
        f'bash -ec "cd x; {program} {sub}"',
        f"eval {program} {sub}",
        f"$({program} {sub})",
    ]
    lines += [f"$X {sub}", "$X", f"$E {program} {sub}", f"X={program}; $X {sub}", f"{program} $(echo {sub})"]
    lines += [
        f"{program} $X",
        f'{program} "$X" y',
        f"{program} {{{sub},}}",
        f"{program[:-1]}? {sub}",
        f"echo {sub} | xargs {program}",
    ]
    lines += [f'f() {{ {program} "$@"; }}; f {sub}', f"{program} \\\n {sub}", f"true && ({program} {sub} &)"]
    return lines


@pytest.mark.sampled(10)
@pytest.mark.parametrize("program", SUBCOMMANDS)
def test_no_spelling_escapes(program: str, project: Path) -> None:
    sub = SUBCOMMANDS[program]
    lines = spellings(program, sub)
    unasked = [line for line in lines if decide(project, line, f"{program} {sub}") == "run"]
    assert len(lines) > 30
    assert not unasked
    certain = [line for line in lines if "X" not in line and "npx" not in line and "busybox" not in line]
    assert [line for line in certain if decide(project, line, f"{program} {sub}") == "ask"] == []


@each_row("program", SUBCOMMANDS)
def test_other_subcommands_are_not_refused(program: str, project: Path) -> None:
    known = GLOBAL_OPTIONS[program]
    other = {"git": "status", "cargo": "test", "gh": "pr"}.get(program, "other")
    sub = SUBCOMMANDS[program]
    lines = [f"{program} {other}", f"{program} {other} {sub}", f"/usr/bin/{program} {other} '{program} {sub}'"]
    lines += [f"{program} {option} {sub} {other}" for option in known.valued if program != "git" or option != "-c"]
    lines += [f"{program} {flag} {other}" for flag in known.flags]
    lines += [f"echo {program} {sub}", f"grep -r '{program} {sub}' .", f"cat {program}/{sub}"]
    assert [line for line in lines if decide(project, line, f"{program} {sub}") == "denied"] == []


@each_row(
    "line",
    [
        "git -C . push",
        "git -p push",
        "git -c user.name=x push",
        "git --git-dir=.git push",
        "git --git-dir .git push",
        "git -c alias.p=push p",
        "git -c alias.p='!git push' p",
        "git -c ALIAS.P=push p",
        "git pp",
        "git q origin",
        "git deep",
        "git included",
        "git up",
        "cd sub; git pp",
        "git -C sub pp",
        "/usr/lib/git-core/git-push origin",
        "git-push",
        "git config alias.zz push && git zz",
        "git config alias.st push; git st",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.st GIT_CONFIG_VALUE_0=push git st",
        "export GIT_CONFIG_COUNT=1; git st",
        "HOME=/tmp git st",
        "git --config-env=alias.st=X st",
        "git -c include.path=/tmp/x st",
        "printf '[alias]\\nst=push' >> .git/config; git st",
        "git pus",
        "git $(echo push)",
        "git `echo push`",
        "$X push",
        "git {push,}",
        "git pus?",
        "git submodule foreach 'git push'",
        "git rebase -x 'git push' main",
        "git -c alias.a=b -c alias.b=push a",
    ],
)
@each_row("mode", MODES)
def test_git_push_is_refused_in_every_mode(line: str, mode: ApprovalMode, project: Path) -> None:
    assert decide(project, line, "git push", mode=mode, allow=("git *", "git push *")) in ("denied", "refused")


@each_row(
    "line",
    [
        "git st",
        "git lg",
        "git status",
        "git log --grep push",
        "git commit -m 'git push'",
        "git stash push",
        "git -C push st",
        "git add push",
        "git checkout push",
        'git diff "$X"',
        'git commit -m "$MSG"',
        "echo $(git status)",
        'python "$F"',
    ],
)
def test_calls_that_are_no_push_are_not_refused(line: str, project: Path) -> None:
    assert decide(project, line, "git push") == "run"


@each_row(
    ("rule", "line"),
    [
        ("git push --force", "git push -f"),
        ("git push --force", "git push origin --force main"),
        ("git push --force", "git -C x push origin +main"),
        ("git push --force", "git push -uf origin main"),
        ("git push -f", "git push origin --force"),
        ("git commit --no-verify", "git commit -am x -n"),
        ("git commit --no-verify", "git commit --no-veri -m x"),
        ("rm -rf *", "rm -r -f x"),
        ("rm -rf *", "rm -fr x"),
        ("rm -rf *", "rm --recursive --force x"),
        ("rm -rf *", "rm -Rf x"),
        ("rm -rf *", "rm x -rf"),
        ("rm -rf *", "rm -vfR x"),
        ("rm -rf *", "rm --rec --for x"),
        ("rm -r", "rm -R x"),
        ("rm --recursive", "find . -exec rm -fr {} +"),
        ("npm publish", "npm --prefix x publish"),
        ("npm publish", "npm pub"),
        ("npm publish", "npm publi --tag x"),
        ("npm install", "npm i x"),
        ("npm install", "npm add x"),
        ("npm install", "npm install-test"),
        ("npm install", "npm it"),
        ("npm install", "npm isntall x"),
        ("npm i", "npm install x"),
        ("npm run deploy", "npm rum deploy"),
        ("npm run deploy", "npm run-script deploy"),
        ("npm run deploy", "npm -s run --silent deploy"),
        ("npm run test", "npm t"),
        ("npm test", "npm run test"),
        ("yarn run deploy", "yarn deploy"),
        ("yarn deploy", "yarn run deploy"),
        ("pnpm run deploy", "pnpm deploy"),
        ("npm install -g *", "npm i --global x"),
        ("npm exec", "npx x"),
        ("npx", "npx x"),
        ("npx", "npm exec x"),
        ("cargo build", "cargo b"),
        ("cargo build", "cargo +nightly build"),
        ("cargo run", "cargo --config x=1 r"),
        ("cargo publish", "cargo ship"),
        ("cargo publish", "cargo --config 'alias.zz=\"publish\"' zz"),
        ("cargo publish", "CARGO_ALIAS_X=publish cargo x"),
        ("pip install", "python -m pip install x"),
        ("pip install", "pip3.12 --proxy http://x install y"),
        ("pip install", "python3 -I -m pip install y"),
        ("docker push", "docker image push x"),
        ("docker run", "docker -H tcp://x container run y"),
        ("docker compose push", "docker-compose push"),
        ("docker-compose push", "docker compose -f x push"),
        ("docker run --privileged", "docker run -it --privileged x"),
        ("docker run -v", "docker run --volume /:/host x"),
        ("kubectl delete", "kubectl -n ns --context c delete pod x"),
        ("gh pr merge", "gh -R a/b pr -R c/d merge 5"),
        ("gh pr merge", "gh pr $(echo merge)"),
        ("terraform apply", "terraform -chdir=x apply"),
        ("make deploy", "gmake -C x deploy"),
        ("sudo", "env sudo ls"),
        ("sudo", "sudo sh -c ls"),
        ("bash", "bash -c ls"),
        ("./deploy.sh", "bash ./deploy.sh"),
        ("deploy.sh", "./bin/deploy.sh x"),
        ("curl", "CURL -s x"),
        ("curl -d *", "curl --data=x y"),
        ("git*", "git status"),
        ("*", "ls"),
    ],
)
def test_a_rule_means_what_the_program_takes_it_for(rule: str, line: str, project: Path) -> None:
    assert decide(project, line, rule) == "denied"


@each_row(
    ("rule", "line"),
    [
        ("git push --force", "git push origin main"),
        ("git push --force", "git push --force-with-lease"),
        ("rm -rf *", "rm -f x"),
        ("rm -rf *", "rm x"),
        ("npm publish", "npm pack"),
        ("npm install", "npm run install-hooks"),
        ("npm run deploy", "npm run build"),
        ("npm run deploy", "npm test"),
        ("cargo publish", "cargo x"),
        ("docker push", "docker build -t push ."),
        ("kubectl delete", "kubectl -n delete get pods"),
        ("make deploy", "make -C deploy test"),
        ("pip install", "python -m pytest"),
        ("find -delete", "find . -depth"),
        ("sudo", "man sudo"),
    ],
)
def test_a_rule_means_no_more(rule: str, line: str, project: Path) -> None:
    assert decide(project, line, rule) == "run"


@each_row(
    ("rule", "line"),
    [
        ("git push --force", 'git push "$X"'),
        ("rm -rf *", 'for f in a b; do rm "$f"; done'),
        ("git push", "git -C $(cat x) status"),
        ("git push", "hyperfine 'git push'"),
    ],
)
def test_what_an_argument_decides_needs_approval_even_in_mode_all(rule: str, line: str, project: Path) -> None:
    assert decide(project, line, rule) == "ask"
    assert decide(project, line, rule, mode="ask", allow=("git push *", "rm *", "git *")) == "ask"
    assert decide(project, line) == "run"


HIDDEN = (
    "env -S 'git push'",
    "env -S'git push origin main'",
    "env --split-string='git push'",
    "env -vS 'git push'",
    "env -S 'A=1 git push'",
    "env -S 'git\\_push'",
    "alias g='git push'; g",
    "alias g=git; g push",
    "shopt -s expand_aliases; alias x=ls g='git push'\ng",
    'alias g="$X"; g',
    "{git,push}",
    "{git,push} origin",
    "g?t push",
    "[g]it push",
    "gi* push",
    "/usr/bin/g?t push",
    "echo 'git push' | sh",
    "printf 'git push' | bash",
    "cat x | sh",
    "curl x | sh",
    "./x.sh | sh",
    "base64 -d x | bash -s",
    "source <(echo git push)",
    ". /dev/stdin <<< 'git push'",
    'bash <<< "$X"',
    'eval "$X"',
    "eval $(echo git push)",
    'bash -c "$X"',
    'sh -c "git $X"',
    "sh -c 'git push'",
    "xargs -I{} sh -c '{}' < f",
    "xargs -I% sh -c 'git %' < f",
    "flock -c 'git push' f",
    "flock f -c 'git push'",
    "script -c 'git push' x",
    "tmux new -d 'git push'",
    "parallel ::: 'git push'",
    "zsh -c 'git push'",
    "hash -p /usr/bin/git foo; foo push",
    "enable -f ./x.so foo; foo",
    "git PUSH",
)


@each_row("line", HIDDEN)
@each_row("mode", MODES)
def test_a_program_known_only_at_run_time_is_refused(line: str, mode: ApprovalMode, project: Path) -> None:
    assert decide(project, line, "git push *", mode=mode) == "denied"


@pytest.mark.parametrize("line", ("echo x | sh", "$X", "{a,b}", 'eval "$X"', "cat x | bash"))
def test_a_rule_about_no_command_refuses_no_program(line: str, project: Path) -> None:
    assert decide(project, line, "fetch example.org", "mcp_github_*") != "denied"


@each_row(
    ("rule", "line"),
    [
        ("npm publish", "npm PUBLISH"),
        ("cargo publish", "cargo Publish"),
        ("rm -rf *", "rm --interactive=never -r x"),
        ("rm -rf *", "rm --inter=never -R x"),
        ("rm -rf *", "rm -r --interactive=none x"),
        ("git push --force", "git push --mirror x"),
    ],
)
def test_another_spelling_of_the_same_call_is_refused(rule: str, line: str, project: Path) -> None:
    assert decide(project, line, rule) == "denied"


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("cargo publish", "cargo release"),
        ("cargo publish", "cargo workspaces publish"),
        ("rm -rf *", "rm -r x"),
        ("rm -rf *", "rm --interactive=always -r x"),
        ("git push", "sh < x.sh"),
    ],
)
def test_another_call_is_not_refused(rule: str, line: str, project: Path) -> None:
    assert decide(project, line, rule) == "run"


@pytest.mark.parametrize(
    "line", ("env -S 'ls -l'", "alias ll='ls -l'; ls", "flock -c 'make x' f", 'sh -c "cd $D && make"')
)
def test_a_text_that_names_other_programs_needs_approval(line: str, project: Path) -> None:
    assert decide(project, line, "git push *") == "ask"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_every_subcommand_of_the_installed_git_is_known() -> None:
    """A missing one would be taken for an alias, and refused."""
    import subprocess

    listed = subprocess.run(["git", "--list-cmds=main"], capture_output=True, text=True, check=True, timeout=20).stdout
    assert not {name for name in listed.split() if name.islower()} - KNOWN_SUBCOMMANDS["git"] - {"scalar"}


def test_a_program_of_the_user_is_no_alias(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "bin" / "git-tidy"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    assert decide(project, "git tidy", "git push") == "run"


def test_every_pair_of_options_before_a_push(project: Path) -> None:
    known = GLOBAL_OPTIONS["git"]
    given = [*sorted(known.flags), *(f"{option} v" for option in sorted(known.valued))]
    lines = [f"git {first} {second} push" for first, second in product(given, repeat=2)]
    assert len(lines) > 700
    assert {decide(project, line, "git push") for line in lines} == {"denied"}


@each_row(
    ("rule", "line"),
    [
        ("npm publish", "npm exec npm publish"),
        ("npm publish", "npm x -- npm publish"),
        ("npm publish", "npm explore x -- npm publish"),
        ("npm publish", "npm run env -- npm publish"),
        ("npm publish", "npx npm@latest publish"),
        ("npm publish", "npx -p npm@9 npm publish"),
        ("cargo publish", "cargo watch -x publish"),
        ("cargo publish", "cargo watch -x 'publish --dry-run'"),
        ("pip install", "python3 -m pip._internal install x"),
        ("pip install", "python3 -mpip.__main__ install x"),
        ("pip install", "pipx runpip tool install x"),
        ("rm -rf *", "grm -r --force x"),
        ("git push", "git PUSH origin"),
        ("git push", "git send-pack origin main"),
        ("git push", "git http-push"),
        ("git push", "git for-each-repo --config=x push"),
        ("git push", "git subtree push --prefix x origin y"),
        ("rm", "git -c core.pager='rm x' log"),
        ("rm", "git -c core.editor='rm x' commit"),
        ("rm", "git -c sequence.editor='rm x' rebase -i main"),
        ("rm", "git -c core.fsmonitor='rm x' status"),
        ("rm", "git -c diff.external='rm x' diff"),
        ("rm", "git -c core.sshCommand='rm x' fetch"),
        ("rm", "GIT_EDITOR='rm x' git commit"),
        ("rm", "GIT_EDITOR=rm git commit"),
        ("rm", "GIT_EXTERNAL_DIFF=rm git diff"),
        ("rm", "GIT_SSH_COMMAND='rm x' git fetch"),
        ("rm", "GIT_PAGER='rm x' git -p log"),
        ("rm", "PAGER='rm x' man ls"),
        ("rm", "EDITOR='rm x' crontab -e"),
        ("rm", "export VISUAL='rm x'; git commit"),
        ("rm", "git difftool -x rm"),
        ("rm", "git grep -O'rm x' y"),
        ("rm", "git fetch --upload-pack='rm x' ."),
        ("rm", "git filter-branch --tree-filter 'rm x'"),
        ("rm", "git filter-branch --tree-filter='rm x'"),
        ("rm", "git submodule foreach 'rm x'"),
        ("rm", "git submodule foreach rm x"),
        ("rm", "/lib64/ld-linux-x86-64.so.2 /bin/rm x"),
        ("rm", "setpriv --no-new-privs rm x"),
        ("rm", "pkexec rm x"),
        ("rm", "i386 rm x"),
        ("rm", "arch -x86_64 rm x"),
        ("rm", "uclampset -m 0 rm x"),
        ("rm", "daemonize /bin/rm x"),
        ("rm", "rustup run stable rm x"),
        ("rm", "cmake -E env rm x"),
        ("rm", "cmake -E time rm x"),
        ("rm", "meson devenv rm x"),
        ("rm", "meson devenv -C b rm x"),
        ("rm", "dotenv rm x"),
        ("rm", "coreutils --coreutils-prog=rm x"),
        ("rm", "socat EXEC:'rm x' -"),
        ("rm", "exec -a rm busybox cat -rf x"),
        ("git push", "exec -a git-push git log origin"),
        ("pkill", "exec -a pkill pgrep ."),
        ("rm", "exec -larm busybox cat x"),
        ("rm", "exec -cla rm busybox cat x"),
        ("rm", "env --argv0=rm busybox cat x"),
        ("rm", "env -a rm busybox cat x"),
        ("rm", "env -arm busybox x"),
        ("rm", "echo 'rm x' | at now"),
        ("rm", "crontab - <<< '* * * * * rm x'"),
        ("rm", "make -f- <<< 'a:; rm x'"),
        ("rm", "printf 'a:\\n\\trm x' | make -f -"),
        ("rm", "BASH_ENV=<(echo rm x) bash -c :"),
        ("rm", "sed '1e rm x' f"),
        ("rm", "awk 'BEGIN{system(\"rm x\")}'"),
        ("rm", "tar -I 'rm x' -cf y z"),
        ("rm", "tar -xf y --to-command 'rm x'"),
        ("rm", "tar -xf y --to-command='rm x'"),
        ("rm", "rsync -e 'rm x' a b:c"),
        ("rm", "ssh -o ProxyCommand='rm x' h"),
        ("rm", "sqlite3 x '.shell rm x'"),
        ("rm", "vim -c '!rm x'"),
        ("rm", "ln -s /bin/rm z; ./z x"),
        ("rm", "sort --compress-program=rm f"),
        ("rm", "split --filter='rm x' f"),
        ("rm", "python -c 'import os; os.system(\"rm x\")'"),
        ("rm", "python - <<< 'import os; os.system(\"rm x\")'"),
        ("rm", "perl -e 'unlink; `rm x`'"),
        ("git push", 'python3 -c \'import subprocess; subprocess.run(["git","push"])\''),
        ("rm", "script -c 'rm x'"),
        ("rm", "docker run a rm x"),
        ("rm", "kubectl exec p -- rm x"),
        ("rm", "uv run rm x"),
        ("rm", "zip -T -TT 'rm x' a b"),
        ("rm", "cp /bin/rm z; ./z x"),
        ("rm", "man -P 'rm x' ls"),
        ("rm", "nohupx rm x"),
        ("rm", "entr rm x"),
        ("rm", "make SHELL=rm"),
        ("rm", "make CC='rm x'"),
        ("rm", "yarn exec rm x"),
        ("rm", "pnpm exec rm x"),
        ("rm", "cargo run -- rm x"),
        ("rm", "gdb -ex '!rm x'"),
        ("rm", "LESSOPEN='|rm x' less f"),
        ("rm", "sudo -u x rm y"),
        ("rm", "doas rm y"),
        ("rm", "ssh h rm x"),
    ],
)
def test_a_denied_program_in_a_text_that_may_run_never_runs_without_approval(
    rule: str, line: str, project: Path
) -> None:
    assert decide(project, line, rule) in ("denied", "refused", "ask")
    assert decide(project, line, rule, mode="ask", allow=("*",)) != "run"


@each_row(
    ("rule", "line"),
    [
        ("rm", "git commit -m 'rm old files'"),
        ("rm", "echo rm"),
        ("rm", "grep -r rm ."),
        ("rm", "npm run rm"),
        ("rm", "git rm x"),
        ("rm", "docker rm x"),
        ("rm", "npm rm lodash"),
        ("rm", "git commit -am 'rm x'"),
        ("rm", "git log --grep 'rm x'"),
        ("git push", "for t in a b; do git $t; done"),
        ("git push", "git lfs ls-files"),
        ("cargo publish", "cargo watch -x 'test -q'"),
        ("npm publish", "npx create-x@latest app"),
        ("pip install", "python3 -m pip._internal list"),
        ("pip install", "pipx runpip tool list"),
        ("rm -rf *", "grm x"),
        ("git push", "git absorb"),
        ("rm", "printf 'rm x' > y.sh"),
        ("rm", "mkdir rm"),
        ("rm", "git checkout -b rm"),
        ("rm", "git push origin rm"),
        ("rm", "pytest -k rm"),
        ("rm", "git add rm"),
        ("rm", "gh pr create --title 'rm old'"),
        ("rm", "make rm"),
        ("rm", "cargo rm serde"),
        ("rm", "git mv a rm"),
        ("git push", "npm run push"),
        ("git push", "git commit -m 'git push later'"),
        ("rm", "msg='rm old'; git commit -m \"$msg\""),
        ("rm", "ls rm"),
        ("rm", "pip install rm"),
        ("rm", "python x.py rm"),
        ("rm", "cargo test rm"),
        ("rm", "docker compose rm"),
        ("git push", "docker push x"),
        ("npm publish", "npm install npm"),
        ("npm publish", "npm run publish"),
        ("rm", "awk '/rm x/ {print}' f"),
    ],
)
def test_a_denied_name_that_starts_nothing_is_no_obstacle(rule: str, line: str, project: Path) -> None:
    assert decide(project, line, rule) == "run"


@each_row(
    ("rule", "line"),
    [
        ("rm", "for c in gcc clang; do $c --version; done"),
        ("git push", "for c in gcc clang; do $c --version; done"),
        ("rm", "${CC:-gcc} x.c"),
        ("git push", "${CC:-gcc} x.c"),
        ("git push", "$(which python3) x.py"),
        ("git push", "$(command -v python3) x.py"),
        ("rm", "cat > x.sh <<< 'rm y'"),
        ("rm", "sed -i 's/rm x/y/' f"),
    ],
)
def test_a_program_named_in_the_line_is_not_refused(rule: str, line: str, project: Path) -> None:
    """Other checks may still ask, because some programs run texts and a computed program is not known for certain."""
    assert decide(project, line, rule) in ("ask", "run")


@each_row(
    ("rule", "line"),
    [
        ("npm publish", "npm exec npm publish"),
        ("npm publish", "npm run env -- npm publish"),
        ("git push", "git send-pack origin main"),
        ("git push", "git for-each-repo --config=x push"),
        ("git push", "for c in status push; do git $c; done"),
        ("rm", "for c in ls rm; do $c x; done"),
        ("rm", "setpriv --no-new-privs rm x"),
        ("rm", "/lib64/ld-linux-x86-64.so.2 --argv0 x /bin/rm y"),
        ("rm", "cmake -E env A=1 rm x"),
        ("rm", "exec -cla rm busybox cat x"),
        ("rm", "env --argv0=rm busybox cat x"),
        ("rm", "coreutils --coreutils-prog=rm x"),
        ("rm", "rustup run stable rm x"),
    ],
)
def test_a_denied_program_that_is_started_directly_is_refused(rule: str, line: str, project: Path) -> None:
    assert decide(project, line, rule) == "denied"
