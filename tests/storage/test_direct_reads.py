"""Files that others may have created are opened only through functions that refuse pipes and devices."""

# pyright: reportPrivateUsage=false

import ast
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from clio.checks.turn_checks import _read_lines as read_checked_lines
from clio.config.project_links import WORKTREE_MARK, find_worktree_link
from clio.entrypoints.completions.listing import KINDS
from clio.entrypoints.doctor.data_checks import _read_head
from clio.git.repository import _hash_hook
from clio.readonly_git import describe_blocking_file
from clio.sandbox.fence import iter_git_folders
from clio.sandbox.file_guard import _read_state
from clio.security.readonly.developer_tools import _explain_database, iter_git_config_files
from clio.tools.files.edit_file import _read_lines
from clio.tools.files.search_text import _read_searchable_text
from tests.support.python_source import parse_source
from tests.support.waiting import happens_within

PACKAGE = Path(__file__).parents[2] / "clio"
POSIX = pytest.mark.skipif(os.name == "nt", reason="pipes have no names there")

READS_DIRECTLY = {
    "agent/mention_lookup.py": "examined before",
    "checkpoints/checkpoint_store.py": "clio's own objects",
    "checkpoints/workspace_scan.py": "examined before, in a scan of thousands of files",
    "checks/checkers.py": "examined before",
    "checks/diagnostics.py": "examined before",
    "commands/memory/portability.py": "a path that the user wrote, which may be a pipe of the shell",
    "commands/plugin_commands.py": "the copy of a plugin, which has regular files only",
    "commands/schedule_commands.py": "/proc",
    "config/installed_plugins.py": "the copy of a plugin, examined before",
    "context/encoding_child.py": "a download of clio's own",
    "context/encodings.py": "a download of clio's own",
    "entrypoints/first_paint.py": "without waiting",
    "entrypoints/headless_json.py": "a path that the user wrote, which may be a pipe of the shell",
    "entrypoints/setup_files.py": "part of clio",
    "entrypoints/completions/scripts.py": "part of clio",
    "entrypoints/upgrade.py": "part of clio",
    "export/html_page.py": "part of clio",
    "jobs/job_store.py": "opened to be written",
    "jobs/schedules.py": "a temporary file of clio's own",
    "lsp/language_server.py": "examined before, and /proc",
    "mcp/client.py": "a log of clio's own",
    "memory/portability/import_bundle.py": "the user's own styles",
    "memory/preferences/rule_files.py": "part of clio",
    "text/linear_model.py": "part of clio",
    "memory/store/typed_store.py": "its journal, opened to be changed",
    "memory/styles/feedback.py": "part of clio",
    "memory/styles/selection.py": "part of clio",
    "memory/statement_reader.py": "part of clio",
    "memory/team/folder.py": "without waiting",
    "memory/transcripts/query.py": "part of clio",
    "memory/vectors/model_embedders.py": "a model of the user's",
    "plugins/repositories.py": "examined before",
    "plugins/store.py": "opened to be written",
    "prompt_files.py": "part of clio",
    "providers/prices.py": "part of clio",
    "readonly_git.py": "examined before",
    "sandbox/backends.py": "a test file of clio's own",
    "sandbox/landlock_child.py": "/proc, and paths that are not read",
    "sandbox/sandbox.py": "a file in the user's home, and /proc",
    "security/data_tables.py": "part of clio",
    "security/deny_rules.py": "examined before",
    "security/git_safety.py": "examined before",
    "security/readonly/developer_tools.py": "examined before",
    "sessions/session_files.py": "opened to be synced",
    "skills/skills.py": "examined before",
    "storage/files.py": "these functions themselves",
    "storage/jsonl.py": "opened to be written",
    "storage/locks.py": "without waiting",
    "storage/sqlite_cache.py": "an index of clio's own",
    "sync/repository.py": "the clone of clio's own",
    "text/translation.py": "part of clio",
    "text/vocabulary.py": "part of clio",
    "threads.py": "/proc",
    "tools/files/edit_file.py": "examined before",
    "tools/files/read_file.py": "examined before",
    "tools/files/text_file.py": "examined before",
    "tools/shell/launcher.py": "the null device",
    "tools/shell/launcher_child.py": "/proc",
    "tools/shell/processes.py": "/proc",
    "ui/completer.py": "examined before",
    "ui/history.py": "a file in the user's home",
    "ui/pipe_screen.py": "the null device",
    "ui/terminal_handoff.py": "a temporary file of clio's own",
    "cli.py": "the null device",
    "config/memory_seal.py": "opened to be written",
    "entrypoints/acp/server.py": "the null device",
}
"""Modules that open files with Python's own functions, and why none of them can wait for a pipe."""


def _opens_directly(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id="open"):
            return True
        case ast.Attribute(value=ast.Name(id="os"), attr="open"):
            return True
        case ast.Attribute(attr="read_text" | "read_bytes"):
            return True
        case ast.Attribute(attr="open"):
            return any(isinstance(one, ast.Constant) and one.value in ("r", "rb") for one in call.args) or any(
                one.arg == "encoding" for one in call.keywords
            )
        case _:
            return False


def test_every_module_that_opens_files_itself_gives_the_reason() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(
            isinstance(node, ast.Call) and _opens_directly(node)
            for node in ast.walk(parse_source(path.read_text(encoding="utf-8")))
        )
    }
    assert found == set(READS_DIRECTLY)


def _make_hostile(folder: Path) -> Path:
    """Make a folder as unpacked from an archive: pipes in place of files that clio reads automatically."""
    data = folder / "data"
    data.mkdir()
    (folder / ".git").write_text("gitdir: data\n", encoding="utf-8")
    (data / WORKTREE_MARK).write_text("x\n", encoding="utf-8")
    (data / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    os.mkfifo(data / "gitdir")
    os.mkfifo(data / "commondir")
    os.mkfifo(folder / "pipe.db")
    return folder


READERS: dict[str, Callable[[Path], object]] = {
    "the link of a worktree": find_worktree_link,
    "the folders that a sandbox protects": lambda root: list(iter_git_folders(root)),
    "a file that a sandbox restores": lambda root: _read_state(root / "pipe.db"),
    "git's settings in an approval": lambda root: list(iter_git_config_files(root)),
    "a database in an approval": lambda root: _explain_database(root / "pipe.db"),
    "a search without ripgrep": lambda root: _read_searchable_text(str(root / "pipe.db")),
    "the place of a text that an edit did not find": lambda root: _read_lines(root / "pipe.db"),
    "a path that a checker printed": lambda root: read_checked_lines(root / "pipe.db"),
    "a device that a checker printed": lambda root: read_checked_lines(Path("/dev/zero")),
    "a settings file for the doctor": lambda root: _read_head(root / "pipe.db"),
    "a hook": lambda root: _hash_hook(root / "pipe.db"),
    "what git would read": describe_blocking_file,
}


@POSIX
@pytest.mark.parametrize("name", READERS)
def test_a_pipe_in_place_of_a_file_does_not_block_clio(tmp_path: Path, name: str) -> None:
    root = _make_hostile(tmp_path)
    # A separate process, because one that waits for a pipe cannot be interrupted in a thread.
    child = os.fork()
    if child == 0:
        try:
            READERS[name](root)
            os._exit(0)
        except OSError:
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert _wait(child) == 0


def _wait(child: int) -> int:
    """Return the exit code of a process; -1 if it had to be killed."""
    found: list[int] = []

    def has_ended() -> bool:
        done, status = os.waitpid(child, os.WNOHANG)
        found.extend([os.waitstatus_to_exitcode(status)] if done else [])
        return bool(done)

    if happens_within(30.0, has_ended):
        return found[0]
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


@POSIX
@pytest.mark.parametrize("name", ["gitdir", "commondir", "HEAD", "config"])
def test_git_is_not_called_if_a_linked_folder_contains_a_pipe(tmp_path: Path, name: str) -> None:
    (tmp_path / ".git").write_text("gitdir: data\n", encoding="utf-8")
    data = tmp_path / "data"
    subprocess.run(["git", "init", "-q", "--bare", str(data)], check=True)
    assert describe_blocking_file(tmp_path) is None
    place = data / "worktrees" / "w" / name if name == "gitdir" else data / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    assert str(place) in (describe_blocking_file(tmp_path) or "")


@POSIX
def test_completions_skip_a_pipe(tmp_path: Path) -> None:
    marks = tmp_path / ".git" / "worktrees"
    for name in ("a", "b"):
        (marks / name).mkdir(parents=True)
    os.mkfifo(marks / "a" / WORKTREE_MARK)
    (marks / "b" / WORKTREE_MARK).write_text("fix-login\n", encoding="utf-8")
    assert list(KINDS["worktrees"](tmp_path, tmp_path)) == [("fix-login", "")]


def test_an_apparently_endless_file_is_not_read_completely(tmp_path: Path) -> None:
    with (tmp_path / ".git").open("wb") as file:
        file.truncate(1 << 40)  # a sparse file, as an archive can contain
    assert find_worktree_link(tmp_path) is None
    assert list(iter_git_folders(tmp_path)) == []


def test_a_changed_large_hook_counts_as_another_one(tmp_path: Path) -> None:
    hook = tmp_path / "post-checkout"
    hook.write_bytes(b"x" * 2_000_000)
    before = _hash_hook(hook)
    hook.write_bytes(b"x" * 1_999_999 + b"y")
    assert _hash_hook(hook) not in ("", before)
