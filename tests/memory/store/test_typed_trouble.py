"""Several processes, kills, full disks and damaged files: no confirmed change is lost, none is there twice."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from clio.errors import CorruptDocument, NewerDocument
from clio.memory.store import typed_store as files
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.typed_store import TypedStore

ROOT = Path(__file__).parents[3]
KILLS = int(os.environ.get("CLIO_KILLS", "25"))
ADD_MANY = """
import sys
from pathlib import Path
from clio.memory.store import typed_store as files
from clio.memory.store.typed_store import TypedStore
files.FOLD_BYTES = 3_000
store = TypedStore(Path(sys.argv[1]))
for number in range(100):
    store.remember(f"{sys.argv[2]}{number}alpha {sys.argv[2]}{number}beta {sys.argv[2]}{number}gamma", "fact", 0.9)
    if number % 25 == 24:
        store.compact()
"""


def contents(store: TypedStore) -> list[str]:
    return [record.content for record in store.records()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".clio" / "memories.json"


def test_two_processes_lose_nothing_and_a_third_reads_everything(path: Path) -> None:
    watching = TypedStore(path)
    watching.remember("what was there before", "fact")
    running = [subprocess.Popen([sys.executable, "-c", ADD_MANY, str(path), name], cwd=ROOT) for name in ("a", "b")]
    assert [process.wait(60) for process in running] == [0, 0]
    assert watching.count() == 201
    watching.remember("what came after", "fact")
    assert TypedStore(path).count() == watching.count() == 202
    assert watching.damaged == 0


def test_a_kill_at_any_moment_loses_no_confirmed_change(path: Path) -> None:
    folder = path.parent.parent
    command = [sys.executable, "-m", "tests.memory.store.typed_crash", str(folder), str(KILLS), "3"]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=100).stdout
    there, doubtful = set[str](), set[str]()
    for line in output.splitlines():
        word, _, text = line.partition(" ")
        {"there": there.add, "begin": doubtful.add, "gone": there.discard}[word](text)
    store = TypedStore(path)
    live = contents(store)
    assert len(live) == len(set(live))
    assert there - doubtful <= set(live)
    versions = store.versions()
    assert doubtful <= {version.record.content for version in versions}, "the text before an edit is in the archive"
    assert sorted(live) == sorted(version.record.content for version in versions if version.until is None)
    assert store.damaged == 0
    store.remember("and it goes on", "fact")


def test_a_torn_last_line_is_dropped_and_the_next_change_is_complete(path: Path) -> None:
    store = TypedStore(path)
    store.remember("a zebra", "fact")
    with path.with_suffix(".journal.jsonl").open("ab") as journal:
        journal.write(b'{"put":[{"id":"x","type":"fact","con')
    again = TypedStore(path)
    assert contents(again) == ["a zebra"]
    again.remember("a giraffe", "fact")
    assert set(contents(store)) == set(contents(TypedStore(path))) == {"a zebra", "a giraffe"}
    assert again.damaged == 0


def test_damaged_lines_are_counted_and_the_others_are_read(path: Path) -> None:
    store = TypedStore(path)
    store.remember("a zebra", "fact")
    store.remember("a giraffe", "fact")
    journal = path.with_suffix(".journal.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[1] = b"\xff" + lines[1][1:]
    journal.write_bytes(b"".join(lines))
    again = TypedStore(path)
    with pytest.raises(CorruptDocument, match=r"journal\.jsonl' is damaged: a line of it .*journal\.jsonl\.corrupt-"):
        again.count()
    assert contents(again) == ["a giraffe"]
    assert again.damaged == 1


NULS = b"\0" * 4096


@pytest.mark.parametrize(
    ("damage", "left"),
    [
        (lambda data: NULS, []),
        (lambda data: data + NULS, ["a zebra", "a giraffe"]),
        (lambda data: data + b"<html>", ["a zebra", "a giraffe"]),
        (lambda data: data + b"[]\n", ["a zebra", "a giraffe"]),
        (lambda data: data[:5] + NULS + data[5:], ["a zebra", "a giraffe"]),
        (lambda data: b"null", []),
        (lambda data: b"", []),
    ],
)
def test_a_damaged_journal_is_reported_once_copied_and_repaired_by_the_next_change(
    path: Path, damage: Callable[[bytes], bytes], left: list[str]
) -> None:
    store = TypedStore(path)
    store.remember("a zebra", "fact")
    store.remember("a giraffe", "fact")
    journal = path.with_suffix(".journal.jsonl")
    damaged = damage(journal.read_bytes())
    journal.write_bytes(damaged)
    again = TypedStore(path)
    with pytest.raises(CorruptDocument, match=r"journal\.jsonl' is damaged"):
        again.count()
    assert contents(again) == left
    assert [copy.read_bytes() for copy in path.parent.glob("*.corrupt-*")] == [damaged]
    assert contents(TypedStore(path)) == left, "the same damage is reported once"
    again.remember("an okapi", "fact")
    repaired = TypedStore(path)
    assert contents(repaired) == [*left, "an okapi"]
    assert repaired.damaged == 0
    assert [copy.read_bytes() for copy in path.parent.glob("*.corrupt-*")] == [damaged]


def test_a_dangling_link_is_reported_and_never_replaced(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(path.parent / "nowhere" / "memories.json")
    store = TypedStore(path)
    for _ in range(2):
        with pytest.raises(OSError, match="broken link"):
            store.count()
        with pytest.raises(OSError, match="broken link"):
            store.remember("a zebra", "fact")
    assert path.is_symlink()
    assert not path.with_suffix(".journal.jsonl").exists()


def test_a_corrupt_snapshot_is_moved_aside_and_the_journal_is_still_read(path: Path) -> None:
    store = TypedStore(path)
    store.remember("folded away", "fact")
    store.compact()
    store.remember("still in the journal", "fact")
    path.write_bytes(b"{ not json")
    again = TypedStore(path)
    with pytest.raises(CorruptDocument, match=r"memories\.json\.corrupt-"):
        again.count()
    assert contents(again) == ["still in the journal"]
    again.remember("life goes on", "fact")
    assert contents(TypedStore(path)) == ["still in the journal", "life goes on"]
    assert [file.read_bytes() for file in path.parent.glob("*.corrupt-*")] == [b"{ not json"]


def test_a_newer_version_is_refused_and_not_changed(path: Path) -> None:
    path.parent.mkdir()
    data = b'{"schema": "clio.store", "version": 9, "records": []}'
    path.write_bytes(data)
    with pytest.raises(NewerDocument):
        TypedStore(path).remember("words")
    assert path.read_bytes() == data


def test_unknown_data_in_the_document_is_kept(path: Path) -> None:
    store = TypedStore(path)
    store.remember("a zebra", "fact")
    store.compact()
    document = msgspec.json.decode(path.read_bytes())
    path.write_bytes(msgspec.json.encode(document | {"colour": "blue"}))
    other = TypedStore(path)
    other.remember("a giraffe", "fact")
    other.compact()
    assert msgspec.json.decode(path.read_bytes())["colour"] == "blue"


def test_a_journal_folded_by_a_process_that_died_is_skipped(path: Path) -> None:
    store = TypedStore(path)
    store.remember("a zebra", "fact")
    journal = path.with_suffix(".journal.jsonl")
    old = journal.read_bytes()
    store.compact()
    journal.write_bytes(old)  # it died between writing the snapshot and beginning the next journal
    assert contents(TypedStore(path)) == ["a zebra"]
    again = TypedStore(path)
    again.remember("a giraffe", "fact")
    assert contents(TypedStore(path)) == ["a zebra", "a giraffe"]


def test_a_full_disk_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = TypedStore(path)
    store.remember("a zebra", "fact")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        store.remember("a giraffe", "fact")
    assert contents(store) == ["a zebra"]
    monkeypatch.undo()
    assert contents(TypedStore(path)) == ["a zebra"]
    store.remember("a giraffe", "fact")
    assert contents(TypedStore(path)) == ["a zebra", "a giraffe"]


def test_a_read_only_folder_can_still_be_read(path: Path) -> None:
    TypedStore(path).remember("a zebra", "fact")
    lock = path.with_name(path.name + ".lock")
    lock.mkdir()  # applies to root too
    memories = MemoryStore(path.parent, path.parent.parent / "home", redact=str)
    assert [hit.record.content for hit in memories.recall("zebra")] == ["a zebra"]
    store = TypedStore(path)
    assert [hit.record.content for hit in store.peek("zebra")] == ["a zebra"]
    with pytest.raises(OSError, match=r"memories\.json\.lock"):
        store.remember("a giraffe", "fact")
