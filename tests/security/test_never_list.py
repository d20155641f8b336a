"""The never-list refuses every plainly written way to destroy a machine, and no ordinary line."""

import os
from pathlib import Path

import pytest

from clio.config.schema import ApprovalMode
from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Deny, Policy
from clio.security.never_list import explain_forbidden_command
from clio.security.shell.parser import parse_command_line
from tests.support.rows import each_row

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the lines are bash's, the paths are POSIX")
HERE = Path(__file__).parent


def lines_of(name: str) -> list[str]:
    text = (HERE / name).read_text(encoding="utf-8")
    return [line.replace("␤", "\n") for line in text.splitlines() if line and not line.startswith("#")]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project in a home folder, with a link to the root."""
    for name in ("NOT_SET_ANYWHERE", "BUILD_DIR", "D", "TMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", "/tmp")
    project = tmp_path / "project"
    project.mkdir()
    (project / "rootlink").symlink_to("/")
    return project


def refused(line: str, start: Path) -> str | None:
    """Return why a line is refused; only lines about the link need the folder to exist."""
    folder, home = (str(start), str(start.parent)) if "rootlink" in line else ("/home/someone/project", "/home/someone")
    return explain_forbidden_command(parse_command_line(line), line, folder, home)


def test_lines_that_no_mode_may_run(start: Path) -> None:
    lines = lines_of("never_lines.txt")
    assert len(set(lines)) == len(lines) >= 280
    assert [line for line in lines if refused(line, start) is None] == []


def test_ordinary_lines_are_not_refused(start: Path) -> None:
    lines = lines_of("never_ordinary.txt")
    assert len(set(lines)) == len(lines) >= 250
    assert [(line, why) for line in lines if (why := refused(line, start))] == []


def test_ordinary_lines_of_the_other_corpora_are_not_refused(start: Path) -> None:
    pieces = [line for line in lines_of("command_ordinary.txt") if not line.startswith("[")]
    pieces = [line for line in pieces if "«" not in line and "␠" not in line]
    assert len(pieces) > 250
    assert [(line, why) for line in pieces if (why := refused(line, start))] == []


ROOT_OF_PROCESS = "/proc/{}/root"
PROCESSES = ["self", "1", "self/task/1", "thread-self", "*", "$$", "$BASHPID", "${PPID}", "$!", "$pid"]


@each_row("process", PROCESSES)
@each_row("call", ["rm -rf {}/", "rm -rf {}/etc", "rm -rf {}/usr", "rm -rf {}/*", "dd if=x of={}/dev/sda"])
def test_the_root_of_a_process_is_the_root(process: str, call: str, start: Path) -> None:
    line = call.format(ROOT_OF_PROCESS.format(process))
    assert refused(line, start) is not None


@pytest.mark.parametrize("mode", ["ask", "edits", "all", "plan"])
def test_every_mode_refuses(mode: ApprovalMode, start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(start.parent))
    judge = Policy(Workspace(start), mode, allow=("*", "rm -rf *", "find / -delete"))
    action = RunCommand(command="find / -delete", cwd=start)
    judge.allow_for_session(action)
    assert isinstance(judge.judge(action), Deny)


WHOLE = (
    "/",
    "/*",
    "/usr",
    "/etc/",
    "/bin/*",
    "~",
    "~/",
    "~/*",
    "$HOME",
    '"$HOME"/',
    "/{usr,etc}",
    f"{ROOT_OF_PROCESS.format('self')}/",
    "/us?",
)
REMOVERS = (
    "rm -rf {}",
    "rm -r -- {}",
    "sudo rm -fr {}",
    "find {} -delete",
    "find {} -type f -exec rm {{}} +",
    "chmod -R 0 {}",
    "chown -R x {}",
    "mv {} /tmp/x",
    "rsync -a --delete x/ {}",
    'for d in {}; do rm -rf "$d"; done',
    "D={}; rm -rf $D",
    "ls -d {} | xargs rm -rf",
    'f() {{ rm -rf "$@"; }}; f {}',
    "sh -c 'rm -rf {}'",
    "rm -rf build {}",
    "cd sub; rm -rf {}",
    "true && (rm -rf {})",
    "rm -rf {} || true",
    "x=$(rm -rf {})",
)


@each_row("remover", REMOVERS)
def test_every_whole_folder_in_every_way(remover: str, start: Path) -> None:
    lines = [remover.format(path) for path in WHOLE]
    skipped = [
        line for line in lines if "D=" in line and ("*" in line or "{" in line or "?" in line)
    ]  # not expanded there
    assert [line for line in lines if line not in skipped and refused(line, start) is None] == []
