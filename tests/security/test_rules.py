"""Rules cover what they say and no more; the offered one is the narrowest useful one."""

import pytest

from clio.security.actions import read_rule
from clio.security.command_risk import assess_command
from clio.security.command_rules import is_allowed_by_rule, suggest_rule
from clio.security.deny_rules import match_deny
from clio.security.shell.parser import parse_command_line
from tests.support.rows import each_row


def covered(rule: str, line: str) -> bool:
    commands = parse_command_line(line).commands
    return all(is_allowed_by_rule(read_rule(rule), command, assess_command(command).level) for command in commands)


@each_row(
    ("rule", "line"),
    [
        ("git log *", "git log"),
        ("git log *", "git log --oneline -5"),
        ("git log *", "git --no-pager log"),
        ("git log *", "/usr/bin/git log"),
        ("pytest", "pytest"),
        ("pytest *", "LANG=C pytest -q"),
        ("pytest *", "timeout 60 pytest -q"),
        ("uv run pytest *", "uv run pytest -q"),
        ("npm run test *", "npm run test -- --watch"),
        ("npm run test:*", "npm run test:unit"),
        ("make * build", "make -j4 build"),
        ("git *", "git commit -m x"),
        ("git push *", "git push origin main"),
        ("rm -rf build", "rm -rf build"),
        ("python -m pytest *", "python -m pytest -x tests"),
        ("pytest *", "pytest $ARGS"),
        ("pytest *", "PYTHONPATH=. pytest"),
        ("*", "make all"),
    ],
)
def test_lines_that_a_rule_covers(rule: str, line: str) -> None:
    assert covered(rule, line)


@each_row(
    ("rule", "line"),
    [
        ("git log *", "git push"),
        ("git log *", "git log --output=x"),
        ("git log *", "git -c core.pager=x log"),
        ("git log *", "./git log"),
        ("git log *", "git $X"),
        ("git *", "git push"),
        ("git *", "git reset --hard"),
        ("pytest", "pytest -q"),
        ("pytest *", "PYTHONPATH=../x pytest"),
        ("ruff *", "PYTHONPATH=. ruff check"),
        ("pytest *", "FOO=1 pytest"),
        ("pytest *", "env LD_PRELOAD=x pytest"),
        ("pytest *", "sudo pytest"),
        ("pytest *", "uv run pytest -q"),
        ("pytest <safe>", "dotenv run pytest"),
        ("uv run pytest <safe>", "poetry run pytest -q"),
        ("pytest *", "py.test"),
        ("npm run test *", "npm run deploy"),
        ("npm run test:*", "npm run test:unit extra"),
        ("rm -rf build", "rm -rf build src"),
        ("rm *", "rm -rf build"),
        ("*", "rm -rf build"),
        ("*", "$CMD x"),
        ("", "ls"),
        ("ls", "ls *.py"),
    ],
)
def test_lines_that_a_rule_does_not_cover(rule: str, line: str) -> None:
    assert not covered(rule, line)


@each_row(
    ("rule", "line"),
    [
        ("git push", "git push --force"),
        ("git push *", "git --no-pager push"),
        ("git push *", "/usr/bin/git push"),
        ("sudo", "sudo ls"),
        ("rm", "timeout 5 rm x"),
        ("rm", "xargs rm"),
        ("rm", "./bin/rm x"),
        ("curl *", "ls; curl x | sh"),
        ("npm publish", "npm publish --tag next"),
        ("rm", "bash -c 'x=1; rm $x'"),
    ],
)
def test_lines_that_a_deny_rule_refuses(rule: str, line: str) -> None:
    assert any(match_deny(read_rule(rule), command) == "yes" for command in parse_command_line(line).commands)


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("git push", "git log push"),
        ("rm", "ls rm"),
        ("fetch x.org", "fetch x.org"),
        ("rm", "bash -c 'x=1; echo b'"),
    ],
)
def test_lines_that_a_deny_rule_does_not_refuse(rule: str, line: str) -> None:
    assert all(match_deny(read_rule(rule), command) == "no" for command in parse_command_line(line).commands)


@each_row(
    ("line", "rule"),
    [
        ("git commit -m x", "git commit <safe>"),
        ("git stash push", "git stash push"),
        ("npm run test -- x", "npm run test -- x"),
        ("npm install left-pad", "npm install left-pad"),
        ("cargo test --lib", "cargo test <safe>"),
        ("make", "make"),
        ("make test", "make test"),
        ("pytest -q tests", "pytest <safe>"),
        ("uv run pytest -q", "uv run pytest <safe>"),
        ("bundle exec rspec spec", "bundle exec rspec spec"),
        ("python -m pytest -x", "python -m pytest <safe>"),
        ("python scripts/gen.py --all", "python scripts/gen.py --all"),
        ("./run.sh now", "./run.sh now"),
        ("go test ./...", "go test <safe>"),
        (".venv/bin/python -m pytest -x", ".venv/bin/python -m pytest <safe>"),
        ("./gradlew test", "./gradlew test"),
        ("bin/npm run test x", "bin/npm run test x"),
        ("PYTHONPATH=src pytest -q", "pytest <safe>"),
        ("source .venv/bin/activate", "source .venv/bin/activate"),
        ("source $X", None),
        (".venv/bin/python -c 'print(1)'", None),
        ("/usr/bin/python3 -c 'print(1)'", None),
        ("python -c 'print(1)'", None),
        ("python3 -", None),
        ("node -e 1", None),
        ("bash script.sh", None),
        ("rm x", None),
        ("sudo ls", None),
        ("curl https://example.com", None),
        ("git push", None),
        ("git -C ../x commit", "git -C ../x commit"),
        ("FOO=1 make", None),
        ("make -j4 test", "make -j4 test"),
        ("$CMD", None),
        ("cp a b", None),
        ("npx thing", None),
    ],
)
def test_the_suggested_rule(line: str, rule: str | None) -> None:
    (command,) = parse_command_line(line).commands
    assert suggest_rule(command, assess_command(command).level) == rule


@each_row("line", ["git commit -m x", "npm run test", "pytest -q", "python -m pytest", "make test"])
def test_a_suggested_rule_covers_its_line(line: str) -> None:
    (command,) = parse_command_line(line).commands
    level = assess_command(command).level
    assert is_allowed_by_rule(read_rule(suggest_rule(command, level) or ""), command, level)
