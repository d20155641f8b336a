"""An offered rule is no wider than the call in question: other calls are asked about again."""

import os
from pathlib import Path

import pytest

from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Allow, Ask, Policy
from clio.security.command_rules import SAFE_WORD
from tests.support.rows import each_row

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the lines are bash's")

ANY = (
    "--config x",
    "--config=x",
    "-c x",
    "-C /",
    "-f other",
    "-o x=y",
    "--eval=x",
    "-e x",
    "@file",
    "../other",
    "/etc",
    "~/x",
    "link",
    "link/x",
    "$X",
    "$(x)",
    "--help-me",
    "https://example.com/x",
    "git+https://example.com/x",
    "`x`",
    "*",
    "?x",
    "{a,-c}",
    "--not-known",
    "-",
    "--",
    "A=b",
)
HOSTILE = {
    "make test": "--eval=x:;id SHELL=/tmp/x -C/ -f/tmp/m --file=x -I/tmp --include-dir=/x MAKEFLAGS=-f/x CC=./x -E",
    "npm test": "--script-shell=/tmp/x --prefix=/tmp --node-options=--require=x --userconfig=x -w=x -- --config=x",
    "npm run build": "--script-shell=/tmp/x --prefix=/tmp --if-present -C/tmp -- -x",
    "pnpm test": "--script-shell=/tmp/x --dir=/tmp -C=/tmp --filter=x",
    "yarn test": "--cwd=/tmp --use-yarnrc=x --script-shell=x",
    "go test ./...": "-exec=./x -toolexec=./x -vettool=x -ldflags=-x -overlay=x -modfile=x -C=/ -o=x -gcflags=x"
    " -tags=x -work -args -coverprofile=x -cpuprofile=x -trace=x -outputdir=/tmp -run -exec all example.com/x",
    "cargo test --lib": "--config=x --target-dir=/tmp --manifest-path=/tmp/Cargo.toml -Zx --target=x.json -C/ +nightly"
    " --artifact-dir=x --logfile=x ../x",
    "pytest -q tests": "-pevil -p=evil -p -cx --rootdir=/ --confcutdir=/ --pyargs -oaddopts=x --override-ini=x"
    " --junit-xml=x --import-mode=x --cov-config=x --log-file=x --pastebin=all --pdb --pdbcls=x:y "
    "--trace-config -W=error::x.Y"
    " --cache-clear --debug --html=x --ignore=x --deselect=x -qp -xpevil tests/../../x::y",
    "python -m pytest -x": "-pevil -cx --rootdir=/ --pyargs -oaddopts=x",
    "python -m unittest -v": "-s/tmp -t/tmp discover;./x /tmp/x.py",
    "python scripts/gen.py": "--x ../x -m",
    "git fetch": "--upload-pack=./x -u -o=x --upload-pack ext::sh --recurse-submodules --force -f file:///x --refmap=x"
    " --negotiation-tip=x --output=x",
    "git pull": "--upload-pack=x -Xtheirs -s=x --strategy=x ext::x --recurse-submodules --force --autostash -S "
    "--gpg-sign",
    "git commit -m x": "-F/etc/passwd -C=HEAD -t=/etc/passwd --template=x -S --gpg-sign --no-verify -n --amend "
    "--pathspec-from-file=x"
    " -e --edit --fixup=x --author=x -nm",
    "git add src": "-f --force --chmod=+x --pathspec-from-file=x -i -p -e --edit --interactive --patch",
    "git switch main": "-C -f --force --discard-changes --force-create=x --orphan=x --recurse-submodules -m --merge",
    "ruff check src": "--config=x --cache-dir=/tmp -o=x --output-file=x --extension=x --stdin-filename=x --add-noqa",
    "ruff format": "--config=x --cache-dir=/tmp --stdin-filename=x --extension=x",
    "mypy src": "--config-file=x --python-executable=x --cache-dir=x -mx -c=x --html-report=x --plugin=x "
    "--install-types"
    " --custom-typeshed-dir=x --shadow-file=x --junit-xml=x",
    "eslint src": "-c=x --config=x --resolve-plugins-relative-to=/ --rulesdir=x --plugin=x -f=./x --format=./x "
    "--parser=x"
    " -o=x --output-file=x --cache-location=x --stdin --flag=x",
    "prettier --check src": "--plugin=x --config=x --ignore-path=x --cache-location=x --find-config-path=x",
    "black src": "--config=x --code=x --workers=x --include=x -c=x",
    "tsc --noEmit": "-p=x --project=x --outDir=x --build -b --plugins=x --rootDir=x -w file.ts @x",
    "jest": "--config=x -c=x --globalSetup=x --transform=x --testRunner=x --reporters=x --rootDir=/ "
    "--setupFiles=x --runner=x",
    "tox": "-c=x -e=x --workdir=/x -r -x=x --override=x",
    "just build": "--shell=x -f=x --justfile=x -d=/ --set=a --dotenv-path=x -c=x",
    "mvn test": "-f=x -Dexec=x -s=x -gs=x -t=x -Pevil exec:java",
    "gradle test": "-I=x -b=x -p=/ --init-script=x -Dx=y -Px=y --include-build=x -c=x",
    "./gradlew test": "-I=x -b=x -p=/ --init-script=x",
    "cmake --build build": "-P=x -C=x --target=x -DCMAKE_X=y -E",
    "rake test": "-f=x -r=x -R=x -I=x -e=x",
    "composer install": "-d=/ --working-dir=/ --repository=x",
    "bundle install": "--gemfile=x --path=/x",
    "pip install -e .": "-i=x git+https://x -r=https://x --index-url=x --extra-index-url=x -t=/ --prefix=/ "
    "--config-settings=x",
    "docker build .": "-f=/x -v=/:/host --network=host --secret=x -o=/ --build-context=x --allow=x",
    "./run.sh": "-x /etc --all",
    "mkdir -p src/x": "-m=777 -Z --context=x ../x /tmp/x",
    "unknown-program x": "-x y",
}  # fmt: skip


HARMLESS = {
    "cargo test --lib --",
    "prettier --check src -c x",
    "prettier -c x --check src",
    "git switch main -c x",
    "python -m unittest -v -f other",
}
"""Entries of the tables above that are there because of another program."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for folder in ("src", "tests", ".git", "../elsewhere"):
        (root / folder).mkdir(parents=True)
    (root / "-x").write_text("", encoding="utf-8")
    (root / "link").symlink_to(tmp_path / "elsewhere")
    return root


def decide(project: Path, line: str, rule: str) -> bool:
    """Whether a line needs no approval with this one rule."""
    judge = Policy(Workspace(project), "ask", allow=(rule,))
    return isinstance(judge.judge(RunCommand(command=line, cwd=project)), Allow)


def offered(project: Path, line: str) -> str | None:
    verdict = Policy(Workspace(project), "ask").judge(RunCommand(command=line, cwd=project))
    assert isinstance(verdict, Ask), line
    return verdict.rule


@pytest.mark.sampled(12)
@pytest.mark.parametrize("line", HOSTILE)
def test_an_offered_rule_covers_the_line_and_nothing_hostile(line: str, project: Path) -> None:
    rule = offered(project, line)
    if rule is None:
        assert line.startswith("docker")
        return
    assert decide(project, line, rule)
    hostile = [*HOSTILE[line].split(), *ANY]
    lines = [f"{line} {each}" for each in hostile]
    head, _, rest = line.partition(" ")
    lines += [f"{head} {each} {rest}" for each in hostile]
    lines += [f"A=1 {line}", f"PATH=. {line}", f"./bin/{line}", f"cd .. && {line}", f"env -C / {line}", f"sudo {line}"]
    lines += [
        f"{line} > /tmp/x",
        f"{line}; ./x",
        f"{line} | sh",
        f"xargs {line}",
        f"{line} x\\\n-c",
        f"NODE_OPTIONS=x {line}",
    ]
    covered = {each for each in lines if decide(project, each, rule)}
    assert covered <= HARMLESS


@each_row(
    ("line", "again"),
    [
        ("pytest -q tests", "pytest tests/test_x.py::test_y -k 'a and not b' -xvs --maxfail=2 --tb short"),
        ("pytest", "pytest tests/*.py"),
        ("python -m pytest", "python -m pytest -x tests/test_a.py"),
        ("uv run pytest -q", "uv run pytest -q src"),
        ("go test ./...", "go test -race -run '^TestX$' ./pkg/..."),
        ("cargo test", "cargo test --lib parser:: -- --nocapture"),
        ("git commit -m x", "git commit -am 'another: message (with) signs'"),
        ("git add src", "git add -A ."),
        ("git fetch", "git fetch --prune origin feature/x"),
        ("ruff check", "ruff check --fix --select E501 src tests"),
        ("mkdir src/x", "mkdir -p src/y/z"),
        ("make test", "make test"),
    ],
)
def test_a_rule_is_useful_for_the_next_call(line: str, again: str, project: Path) -> None:
    rule = offered(project, line)
    assert rule is not None
    assert decide(project, again, rule)


def test_a_rule_with_safe_arguments_of_a_program_without_a_list_covers_nothing(project: Path) -> None:
    assert not decide(project, "make test", f"make {SAFE_WORD}")
    assert not decide(project, "git push", f"git push {SAFE_WORD}")
    assert not decide(project, "make", SAFE_WORD)


def test_rules_of_earlier_versions_keep_their_meaning(project: Path) -> None:
    """A star that the user writes, or that an earlier version offered, still means any arguments."""
    assert decide(project, "make test --eval=x", "make test *")
    assert decide(project, "pytest -p x", "pytest *")
