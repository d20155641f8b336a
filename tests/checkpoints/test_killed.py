"""A killed clio leaves nothing half done: calls are reported, restores finished, and two clios lose nothing."""

import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from clio.checkpoints.checkpoint_store import ChangeRecord
from clio.checkpoints.checkpoints import StoreLimits
from clio.checkpoints.store_limits import shrink_store
from clio.storage.locks import FileLock
from tests.checkpoints.support import SESSION, Place

FILES = {"a.txt": "one\n", "b.txt": "b\n"}
ROOT = Path(__file__).parent.parent.parent


def killed(place: Place, body: str) -> None:
    """Run this code in a separate process, which must kill itself; it can use `checkpoints`, `turn` and `root`."""
    code = f"""
import os, signal
from pathlib import Path
from clio.checkpoints.checkpoints import Checkpoints
from clio.checkpoints.checkpoint_store import TurnRef
from tests.checkpoints.support import list_all
root = Path({str(place.root)!r})
checkpoints = Checkpoints(root, Path({str(place.store)!r}), list_files=list_all)
turn = TurnRef(session={SESSION!r}, message="t1")
def die():
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code + textwrap.dedent(body)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL


def test_an_interrupted_command_is_reported_and_can_be_undone_by_force(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    killed(place, "checkpoints.before_command(turn).result(); (root / 'a.txt').write_text('half'); die()")
    place.checkpoints.recover()
    assert any("a.txt" in sentence for sentence in place.checkpoints.pop_messages())
    assert place.verdicts("t1") == {"a.txt": "unsure"}
    place.undo("t1", force=True)
    assert place.read("a.txt") == "one\n"


def test_an_interrupted_edit_is_reported(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    killed(place, "checkpoints.before_files(turn, [root / 'a.txt']).result(); (root / 'a.txt').unlink(); die()")
    place.checkpoints.recover()
    assert place.verdicts("t1") == {"a.txt": "unsure"}
    place.checkpoints.recover()
    assert len(place.checkpoints.list_turns()) == 1


def test_only_the_temporary_files_of_an_interrupted_edit_are_deleted(tmp_path: Path) -> None:
    half, made, written = "a.txt.0123456789ab.tmp", "c.txt.0123456789ab.tmp", "b.txt.0123456789ab.tmp"
    place = Place(tmp_path, FILES | {half: "ha", made: "of somebody else", written: "by another clio"})
    for name in (half, made, written):
        os.utime(place.root / name, (1.0, 1.0))
    killed(place, "checkpoints.before_files(turn, [root / 'a.txt', root / 'b.txt']).result(); die()")
    lock = FileLock(place.root / written)
    assert lock.acquire()
    os.utime(place.root / written, (1.0, 1.0))
    place.checkpoints.recover()
    left = {path.name for path in place.root.iterdir()} - set(FILES)
    lock.release()
    assert left == {".git", made, written}


def test_a_living_clio_is_not_taken_for_a_killed_one(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    other = place.open()
    place.edit("t1", ["a.txt"], lambda: (place.write("a.txt", "2"), other.recover()))
    assert place.verdicts("t1") == {"a.txt": "restorable"}


def test_an_interrupted_restore_is_finished(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    place.run("t1", "rm a.txt; echo bb > b.txt; echo n > n.txt")
    killed(
        place,
        """
        import clio.checkpoints.checkpoints as restore
        real = restore._write_state
        def once(*given):
            real(*given)
            die()
        restore._write_state = once
        checkpoints.carry_out(checkpoints.plan_undo({"t1"}, "undo"), "session")
        """,
    )
    assert place.tree().keys() != {"a.txt", "b.txt"}
    place.checkpoints.recover()
    assert any("finished" in sentence for sentence in place.checkpoints.pop_messages())
    assert place.tree() == {"a.txt": ("one\n", 0o644), "b.txt": ("b\n", 0o644)}
    assert place.checkpoints.list_undone_turns() == {"t1"}
    place.redo()
    assert place.read("n.txt") == "n\n"


def test_a_file_edited_after_the_kill_is_not_restored(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    place.run("t1", "echo aa > a.txt; echo bb > b.txt")
    killed(
        place,
        """
        import clio.checkpoints.checkpoints as restore
        restore.restore_files = lambda *given: die()
        checkpoints.carry_out(checkpoints.plan_undo({"t1"}, "undo"), "session")
        """,
    )
    place.write("b.txt", "mine\n")
    place.checkpoints.recover()
    assert (place.read("a.txt"), place.read("b.txt")) == ("one\n", "mine\n")
    assert any("'b.txt' was left" in sentence for sentence in place.checkpoints.pop_messages())


def test_two_clios_write_one_log(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    code = """
import sys
from pathlib import Path
from clio.checkpoints.checkpoints import Checkpoints
from clio.checkpoints.checkpoint_store import TurnRef
from tests.checkpoints.support import list_all
root, store, name = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
checkpoints = Checkpoints(root, store, list_files=list_all)
for number in range(15):
    file = root / f"{name}{number}"
    checkpoints.before_files(TurnRef(session="s", message=file.name), [file]).result()
    file.write_text("same text for all")
    checkpoints.after().result()
checkpoints.close()
"""
    arguments = [sys.executable, "-c", code, str(place.root), str(place.store)]
    running = [subprocess.Popen([*arguments, name], cwd=ROOT) for name in ("x", "y")]
    assert [process.wait() for process in running] == [0, 0]
    assert {turn.message for turn in place.checkpoints.list_turns()} == {f"{n}{i}" for n in "xy" for i in range(15)}
    usage = place.checkpoints.measure_usage()
    assert usage is not None
    assert usage.objects == 1


def test_a_damaged_line_costs_nothing_else(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    place.run("t1", "echo aa > a.txt")
    (log,) = place.store.glob("projects/*/log.jsonl")
    with log.open("ab") as file:
        file.write(b'{"id": 5}\n{"torn')
    place.run("t2", "echo bb > b.txt")
    assert [turn.message for turn in place.checkpoints.list_turns()] == ["t1", "t2"]


def test_damaged_content_is_never_restored(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES, git=False)
    place.run("t1", "echo aa > a.txt")
    before = place.checkpoints.list_turns()[0].changes[0].before
    assert before is not None
    (place.store / "objects" / before.id[:2] / before.id[2:]).write_bytes(b"rdamage")
    restored = place.undo("t1")
    assert place.read("a.txt") == "aa\n"
    assert [path for path, _ in restored.skipped] == ["a.txt"]


def test_only_the_owner_can_read_the_store(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        place = Place(tmp_path, FILES, git=False)
        place.run("t1", "echo aa > a.txt")
        place.undo("t1")
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in place.store.rglob("*") if path.is_file()}
    folders = {stat.S_IMODE(path.stat().st_mode) for path in place.store.rglob("*") if path.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


def run_many(place: Place, count: int) -> None:
    for number in range(count):
        place.edit(f"t{number}", ["a.txt"], lambda number=number: place.write("a.txt", os.urandom(500).hex()))


def test_the_oldest_turns_are_deleted_when_the_store_is_full(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    run_many(place, 10)
    shrink_store(place.store, max_bytes=3_000, max_age_s=1e9, now=place.now(), min_object_age_s=-1)
    turns = [turn.message for turn in place.checkpoints.list_turns()]
    usage = place.checkpoints.measure_usage()
    assert usage is not None
    assert usage.bytes <= 3_000
    assert turns == [f"t{number}" for number in range(10 - len(turns), 10)]
    assert 2 <= len(turns) < 10
    place.undo(turns[-1])


def test_copies_removed_to_make_room_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path, FILES | {"c.txt": "c" * 900}, git=False)
    place.run("t1", "echo aa > a.txt")
    shrink_store(place.store, max_bytes=10, max_age_s=1e9, now=place.now(), min_object_age_s=-1)
    usage = place.checkpoints.measure_usage()
    assert usage is not None
    assert usage.bytes <= 10
    monkeypatch.setattr("clio.checkpoints.checkpoints._MAX_SCAN_AGE_S", 0.0)  # the last listing is too old to be reused
    place.run("t2", "rm c.txt")
    place.undo("t2")
    assert place.read("c.txt") == "c" * 900


def test_copies_leave_space_for_earlier_versions(tmp_path: Path) -> None:
    place = Place(tmp_path, {f"f{number}": str(number) * 1_000 for number in range(10)}, git=False)
    place.checkpoints = place.open(StoreLimits(max_bytes=8_000))
    place.run("t1", "rm f*")
    assert sorted(place.verdicts("t1").values()) == ["lost"] * 6 + ["restorable"] * 4
    assert any("6 files" in sentence for sentence in place.checkpoints.pop_messages())


def test_records_that_are_too_old_are_deleted(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    run_many(place, 2)
    place.clock += 1_000
    place.checkpoints = place.open(StoreLimits(max_age_s=500))
    run_many(place, 1)
    assert [turn.message for turn in place.checkpoints.list_turns()] == ["t0"]
    assert isinstance(place.checkpoints.list_turns()[0].records[0], ChangeRecord)
