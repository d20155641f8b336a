"""Which files checkpoints cover, which not, and that files not covered are named."""

import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from clio.checkpoints import workspace_scan
from clio.checkpoints.checkpoint_store import TurnRef
from clio.checkpoints.checkpoints import Checkpoints
from tests.checkpoints.support import SESSION, Place, list_all
from tests.support.harness import git
from tests.support.waiting import wait_for_later_file_times

FILES = {"a.txt": "one\n", ".gitignore": "build/\n"}


def test_ignored_files_are_left_out(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    place.run("t1", "mkdir build && echo x > build/out && echo y > a.txt")
    place.undo("t1")
    assert (place.root / "build/out").exists()
    assert place.read("a.txt") == "one\n"


def test_an_ignored_file_a_tool_writes_is_covered(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    place.edit("t1", ["build/out"], lambda: place.write("build/out", "x"))
    place.undo("t1")
    assert not (place.root / "build").exists()


@pytest.mark.parametrize("in_git", [True, False])
def test_too_large_files_are_named_and_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_git: bool
) -> None:
    monkeypatch.setattr(workspace_scan, "MAX_FILE_BYTES", 1000)
    place = Place(tmp_path, FILES, git=in_git)
    place.write("big.bin", "x" * 2000)
    place.run("t1", "echo more >> big.bin; echo two > a.txt")
    assert any("big.bin" in sentence and "too large" in sentence for sentence in place.checkpoints.pop_messages())
    assert place.verdicts("t1") == {"a.txt": "restorable", "big.bin": "lost"}
    place.undo("t1", force=True)
    assert place.read("big.bin") == "x" * 2000 + "more\n"
    assert place.read("a.txt") == "one\n"


def test_a_large_tracked_file_costs_no_copy(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES | {f"file{number}": "x" * 5000 + str(number) for number in range(20)})
    settled(place.root)
    place.run("t1", "echo two > a.txt")
    usage = place.checkpoints.measure_usage()
    assert usage is not None
    assert usage.objects == 2  # a.txt before and after


def settled(root: Path) -> None:
    """Make the index newer than the files, so that git can tell by their times that they are unchanged."""
    for path in root.rglob("*"):
        if ".git" not in path.parts and path.is_file():
            os.utime(path, (1_000_000_000, 1_000_000_000))
    git(root, "status", "--porcelain")


def test_line_endings_that_git_converts_are_restored_exactly(tmp_path: Path) -> None:
    place = Place(tmp_path, {".gitattributes": "*.txt text eol=crlf\n", "a.txt": "one\ntwo\n"})
    (place.root / "a.txt").unlink()
    git(place.root, "checkout", "a.txt")
    assert place.read("a.txt") == "one\r\ntwo\r\n"
    place.run("t1", "rm a.txt")
    place.undo("t1")
    assert place.read("a.txt") == "one\r\ntwo\r\n"


def test_files_with_a_filter_are_restored_exactly(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    git(place.root, "config", "filter.rot.clean", "tr a-z b-za")
    git(place.root, "config", "filter.rot.smudge", "tr b-za a-z")
    place.write(".gitattributes", "*.rot filter=rot\n")
    place.write("secret.rot", "hello\n")
    git(place.root, "add", "--all")
    later = time.time() + 2  # an index from the same second as the files proves nothing
    os.utime(place.root / ".git" / "index", (later, later))
    place.run("t1", "rm secret.rot")
    place.undo("t1")
    assert place.read("secret.rot") == "hello\n"


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_files_that_git_does_not_check_are_covered(tmp_path: Path, flag: str) -> None:
    place = Place(tmp_path, FILES)
    git(place.root, "update-index", flag, "a.txt")
    place.run("t1", "echo two > a.txt")
    place.undo("t1")
    assert place.read("a.txt") == "one\n"


def test_a_subfolder_of_a_repository_is_a_workspace(tmp_path: Path) -> None:
    place = Place(tmp_path, {"sub/a.txt": "one\n", "b.txt": "b\n"})
    place.root = place.root / "sub"
    place.checkpoints = place.open()
    place.run("t1", "echo two > a.txt; echo c > c.txt; echo bb > ../b.txt")
    assert set(place.verdicts("t1")) == {"a.txt", "c.txt"}
    place.undo("t1")
    assert place.tree() == {"a.txt": ("one\n", 0o644)}


def test_other_repositories_inside_are_named(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    place.write("inner/x", "x")
    git(place.root / "inner", "init", "--quiet")
    place.run("t1", "echo y > inner/x")
    assert any("inner/" in sentence for sentence in place.checkpoints.pop_messages())
    assert place.verdicts("t1") == {}


def test_clios_own_folder_is_not_covered(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    place.run("t1", "mkdir -p .clio/sessions && echo x > .clio/sessions/y.json; echo two > a.txt")
    assert set(place.verdicts("t1")) == {"a.txt"}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems allow no such names")
def test_a_file_name_that_is_not_text_does_no_harm(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    place.run("t1", r"""touch "$(printf 'bad\377name')"; echo two > a.txt""")
    assert place.verdicts("t1") == {"a.txt": "restorable"}


def test_a_link_in_the_path_prevents_a_restore(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES | {"sub/f.txt": "f\n"})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "f.txt").write_text("theirs", encoding="utf-8")
    place.run("t1", "rm -r sub")
    (place.root / "sub").symlink_to(elsewhere)
    assert place.verdicts("t1") == {"sub/f.txt": "blocked"}
    place.undo("t1", force=True)
    assert (elsewhere / "f.txt").read_text(encoding="utf-8") == "theirs"


def test_between_turns_changes_by_jobs_and_by_the_user_are_unsure(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    place.jobs = True
    place.run("t1", "echo first > job.txt")
    place.checkpoints.end_turn(TurnRef(session=SESSION, message="t1")).result()
    place.write("a.txt", "by the job, or by me\n")
    place.jobs = False
    assert place.verdicts("t1") == {"a.txt": "unsure", "job.txt": "restorable"}


def test_an_edit_by_a_tool_while_a_job_runs_is_no_conflict(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    place.jobs = True
    place.run("t1", "true")
    place.edit("t1", ["a.txt", "build/out"], lambda: (place.write("a.txt", "2"), place.write("build/out", "x")))
    place.jobs = False
    assert place.verdicts("t1") == {"a.txt": "restorable", "build/out": "restorable"}


def test_changes_after_the_end_of_a_command_are_unsure(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES, git=False)
    looking = threading.Event()
    looking.set()

    def list_slowly(root: Path) -> Sequence[str]:
        looking.wait()
        return list_all(root)

    place.checkpoints = Checkpoints(place.root, place.store, list_files=list_slowly)
    turn = TurnRef(session=SESSION, message="t1")
    place.checkpoints.before_command(turn).result()
    place.write("a.txt", "by the command\n")
    looking.clear()
    place.checkpoints.after()
    wait_for_later_file_times(tmp_path)
    place.write("b.txt", "by the person\n")
    looking.set()
    assert place.verdicts("t1") == {"a.txt": "restorable", "b.txt": "unsure"}


def test_edits_by_the_user_between_calls_do_not_belong_to_the_turn(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    place.run("t1", "echo x > x.txt")
    place.checkpoints = place.open()  # no recent listing is reused
    place.write("mine.txt", "mine")
    place.run("t1", "echo y > y.txt")
    assert set(place.verdicts("t1")) == {"x.txt", "y.txt"}
