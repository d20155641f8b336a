"""A vector store loses nothing saved, counts nothing twice, and may be damaged or deleted at any time."""

import multiprocessing
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from clio.memory.vectors.vector_store import BATCH, DATABASE_NAME, VectorItem, VectorStore
from clio.text.embedding import ROW_BYTES
from tests.memory.vectors.support import NAME, Counting, Failing, folder, vectors

ANIMALS = "zebra giraffe lion tiger walrus".split()


def item(number: int, text: str = "", group: str = "g") -> VectorItem:
    return VectorItem(id=f"{group}/{number}", group=group, text=text or f"{ANIMALS[number % 5]} number {number}")


def found(store: VectorStore, question: str, count: int = 3, **options: list[str]) -> list[str]:
    return [item.id for item, _ in store.search(question, count, **options)]


def database(project: Path) -> Path:
    return folder(project) / "vectors.db"


def run_sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@pytest.mark.usefixtures("engine")
def test_a_later_process_finds_what_was_put(tmp_path: Path) -> None:
    assert vectors(tmp_path).put([item(0), item(1)]) == 2
    again = vectors(tmp_path)
    assert again.exists
    assert found(again, "the giraffe", 1) == ["g/1"]
    assert len(again) == 2


def test_nothing_is_created_before_something_is_put(tmp_path: Path) -> None:
    store = vectors(tmp_path)
    assert not store.exists
    assert found(store, "zebra") == []
    assert store.groups() == set() and len(store) == 0
    assert list(tmp_path.iterdir()) == []


def test_an_existing_id_is_not_embedded_again(tmp_path: Path) -> None:
    embedder = Counting()
    store = VectorStore(tmp_path / "v", embedder)
    assert store.put([item(0)]) == 1
    assert VectorStore(tmp_path / "v", embedder).put([item(0), item(1)]) == 1
    assert embedder.texts == ["zebra number 0", "giraffe number 1"]


def test_a_text_without_words_is_near_to_nothing(tmp_path: Path) -> None:
    store = vectors(tmp_path)
    store.put([item(0, "…!?"), item(1)])
    assert [distance for _, distance in store.search("zebra", 2) if distance <= 1.0] == []
    assert found(store, "?!") == []


def test_groups_are_separate_and_an_id_is_ranked_by_its_best_piece(tmp_path: Path) -> None:
    store = vectors(tmp_path)
    mixed = [VectorItem(id="a/1", group="a", text=text) for text in ("a lion", "the zebra's stripes", "zebra zebra")]
    store.put([*mixed, item(0, "zebra", "b")])
    assert found(store, "zebra", groups=["b"]) == ["b/0"]
    assert found(store, "zebra", groups=[]) == []
    both = store.search("stripes of the zebra", 5)
    assert [(hit.id, hit.text) for hit, _ in both] == [("a/1", "the zebra's stripes"), ("b/0", "zebra")]


def test_enough_ids_are_found_however_many_pieces_the_nearest_have(tmp_path: Path) -> None:
    store = vectors(tmp_path)
    many = [VectorItem(id="a/1", group="a", text=f"zebra {number}") for number in range(300)]
    store.put([*many, item(1, "a zebra and a lion", "b"), item(2, "a zebra, a lion and a walrus", "c")])
    assert found(store, "zebra", 3) == ["a/1", "b/1", "c/2"]


def test_ids_can_be_excluded(tmp_path: Path) -> None:
    store = vectors(tmp_path)
    store.put([item(0), item(5)])
    assert [hit.id for hit, _ in store.search("zebra number 0", 1, without=frozenset({"g/0"}))] == ["g/5"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"garbage\n" + path.read_bytes()),
        lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
        lambda path: path.write_bytes(b"\xff" * path.stat().st_size),
        lambda path: path.write_bytes(path.read_bytes()[:4096] + b"\x41" * (path.stat().st_size - 4096)),
        lambda path: path.write_bytes(b""),
        lambda path: path.unlink(),
        lambda path: run_sql(path, "PRAGMA user_version = 9"),
        lambda path: run_sql(path, "PRAGMA user_version = 0"),
        lambda path: run_sql(path, "DROP TABLE marks"),
        lambda path: run_sql(path, "UPDATE pieces SET vector = x'00' WHERE row = 2"),
        lambda path: run_sql(path, "UPDATE pieces SET vector = zeroblob(4) || substr(vector, 5) WHERE row = 2"),
    ],
    ids="first-bytes half no-database pages empty none newer-version no-version no-table short-row wrong-row".split(),
)
@pytest.mark.usefixtures("engine")
def test_damaged_files_are_started_again(tmp_path: Path, damage: object) -> None:
    vectors(tmp_path).put([item(number) for number in range(3)])
    assert callable(damage)
    damage(database(tmp_path))
    reader = vectors(tmp_path)
    reader.search("zebra", 3)
    reader.marks()
    store = vectors(tmp_path)
    store.put([item(number) for number in range(3)])
    assert found(vectors(tmp_path), "lion number 2", 1) == ["g/2"]


def test_a_folder_deleted_while_a_store_runs_is_filled_again(tmp_path: Path) -> None:
    store = vectors(tmp_path)
    store.put([item(0)])
    assert found(store, "zebra") == ["g/0"]
    shutil.rmtree(tmp_path / ".clio")
    assert found(store, "zebra") == [] and len(store) == 0
    assert store.put([item(0), item(1)]) == 2
    assert found(vectors(tmp_path), "zebra", 1) == ["g/0"]


def test_a_store_sees_additions_and_a_restart_by_another(tmp_path: Path) -> None:
    one, other = vectors(tmp_path), vectors(tmp_path)
    one.put([item(0)])
    assert found(one, "zebra") == ["g/0"]
    other.put([item(1)])
    assert found(one, "giraffe", 1) == ["g/1"]
    shutil.rmtree(tmp_path / ".clio")
    other.put([item(2), item(3)])
    assert found(one, "zebra giraffe lion tiger", 9) == found(other, "zebra giraffe lion tiger", 9)
    assert len(one) == 2


def test_a_removed_group_is_not_found_and_can_be_added_again(tmp_path: Path) -> None:
    store = vectors(tmp_path)
    store.put([item(0), item(0, "zebra", "other")])
    store.mark("g", "s1")
    assert store.remove(["g", "unknown"]) == 1
    for each in (store, vectors(tmp_path)):
        assert found(each, "zebra") == ["other/0"]
        assert each.marks() == {} and each.groups() == {"other"}
    assert store.put([item(0)]) == 1
    assert set(found(vectors(tmp_path), "zebra")) == {"g/0", "other/0"}


@pytest.mark.usefixtures("engine")
def test_the_text_of_a_wiped_group_is_in_no_file(tmp_path: Path) -> None:
    store = vectors(tmp_path)
    store.put([item(0, "a confidential zebra"), item(1, "a public giraffe", "other")])
    store.mark("other", "s1")
    watching = vectors(tmp_path)
    assert len(watching) == 2
    store.remove(["g"], wipe=True)
    assert b"confidential" not in b"".join(path.read_bytes() for path in folder(tmp_path).iterdir())
    assert found(watching, "zebra giraffe") == ["other/1"]
    assert vectors(tmp_path).marks() == {"other": "s1"}


@pytest.mark.usefixtures("engine")
def test_obsolete_files_are_deleted_in_time(tmp_path: Path) -> None:
    store = vectors(tmp_path)
    for _ in range(3):
        store.put([item(number) for number in range(600)])
        store.remove(["g"])
    store.put([item(0)])
    assert database(tmp_path).stat().st_size < 1_000 * ROW_BYTES
    assert found(vectors(tmp_path), "zebra") == ["g/0"]


@pytest.mark.usefixtures("engine")
def test_without_a_folder_everything_stays_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = VectorStore(None, Counting())
    assert store.put([item(0), item(1)]) == 2
    assert store.put([item(1)]) == 0
    assert found(store, "giraffe", 1) == ["g/1"]
    store.remove(["g"], wipe=True)
    assert found(store, "giraffe") == [] and len(store) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_folder_is_not_used(tmp_path: Path) -> None:
    vectors(tmp_path).put([item(0)])
    folder(tmp_path).chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        store = vectors(tmp_path)
        assert store.put([item(1)]) == 1
        assert found(store, "zebra giraffe") == ["g/0", "g/1"]
    finally:
        folder(tmp_path).chmod(stat.S_IRWXU)


def test_a_file_in_place_of_the_folder_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / NAME).write_text("in the way", encoding="utf-8")
    store = VectorStore(tmp_path / "v", Counting())
    assert store.put([item(0)]) == 1
    assert found(store, "zebra") == ["g/0"]


FULL = """
import resource, sys
from pathlib import Path
from tests.memory.vectors.support import vectors
from tests.memory.vectors.test_store import found, item
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
store = vectors(Path(sys.argv[1]))
print(store.put([item(0), item(1)]), *found(store, "the giraffe", 1))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="it has no limit of the size of files")
@pytest.mark.parametrize("size", [0, 512, 4_096, 8_192, 32_768])
def test_a_disk_full_before_the_tables_are_created_is_not_used(tmp_path: Path, size: int) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path), str(size)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.stdout, process.stderr) == ("2 g/1\n", "")
    assert vectors(tmp_path).put([item(0)]) == 1


def test_vectors_of_different_embedders_are_separate(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "v", Failing(answers=9))
    store.put([item(0)])
    assert not VectorStore(tmp_path / "v", Counting()).exists
    assert VectorStore(tmp_path / "v", Failing(answers=9)).exists


def test_a_failing_embedder_is_replaced_and_the_reason_given(tmp_path: Path) -> None:
    VectorStore(tmp_path / "v", Failing(answers=1)).put([item(0)])
    store = VectorStore(tmp_path / "v", Failing(answers=0))
    assert store.put([item(0), item(1)]) == 2
    assert store.trouble == "the server of vectors is gone"
    assert store.embedder.name == NAME
    assert found(store, "giraffe", 1) == ["g/1"]
    assert len(VectorStore(tmp_path / "v", Failing(answers=0))) == 1  # its vectors are kept for later


def test_a_query_that_cannot_be_embedded_uses_the_fallback_embedder(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "v", Failing(answers=1))
    store.put([item(0)])
    assert found(store, "zebra") == []
    assert store.trouble
    store.put([item(0)])
    assert found(store, "zebra") == ["g/0"]


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    vectors(tmp_path).put([item(0)])
    elsewhere = tmp_path / "precious.txt"
    elsewhere.write_text("precious", encoding="utf-8")
    path = database(tmp_path)
    path.unlink()
    path.symlink_to(elsewhere)
    store = vectors(tmp_path)
    store.put([item(number) for number in range(5)])
    assert elsewhere.read_text(encoding="utf-8") == "precious"
    assert len(found(store, "zebra giraffe lion", 9)) == 5


def test_files_of_earlier_versions_are_deleted(tmp_path: Path) -> None:
    folder(tmp_path).mkdir(parents=True)
    for name in ("items.jsonl", "items.lock", "vectors-0a1b2c.f32", "graph-0a1b2c-9-1"):
        (folder(tmp_path) / name).write_text("a confidential zebra", encoding="utf-8")
    vectors(tmp_path).put([item(1)])
    assert {path.name for path in folder(tmp_path).iterdir()} <= {"vectors.db", "vectors.db-journal"}


def test_only_the_user_may_read_the_file(tmp_path: Path) -> None:
    vectors(tmp_path).put([item(0)])
    assert stat.S_IMODE(database(tmp_path).stat().st_mode) == 0o600


def test_git_does_not_see_the_vectors(tmp_path: Path) -> None:
    (tmp_path / ".clio").mkdir()
    vectors(tmp_path).put([item(0)])
    assert (tmp_path / ".clio" / "cache" / ".gitignore").read_text(encoding="utf-8") == "*\n"


def put_many(project: str, group: str, first: int, last: int) -> None:
    store = vectors(Path(project))
    for number in range(first, last):
        store.put([item(number, group=group)])


def test_several_processes_add_at_the_same_time_and_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=put_many, args=(str(tmp_path), group, first, first + 20))
        for group, first in (("a", 0), ("a", 10), ("b", 0))
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    store = vectors(tmp_path)
    assert len(store) == 30 + 20
    for number in range(30):
        [(hit, distance)] = store.search(f"{ANIMALS[number % 5]} number {number}", 1, groups=["a"])
        assert (hit.id, round(distance, 3)) == (f"a/{number}", 0.0)


def test_threads_share_a_store(tmp_path: Path) -> None:
    store = vectors(tmp_path)

    def add(group: str) -> None:
        for number in range(15):
            store.put([item(number, group=group)])
            store.search("zebra", 3)

    threads = [threading.Thread(target=add, args=(group,)) for group in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store) == len(vectors(tmp_path)) == 45


def test_saved_vectors_survive_kills_at_any_time(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.memory.vectors.test_store import item; "
        "from tests.memory.vectors.support import vectors\n"
        "store = vectors(Path(sys.argv[1])); first = len(store)\n"
        "for number in range(first, first + 10_000):\n"
        "    store.put([item(number)]); print(number, flush=True)\n"
    )
    confirmed = -1
    for round in range(8):
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        assert child.stdout is not None
        for _ in range(3 + round):
            confirmed = int(child.stdout.readline())
        os.kill(child.pid, signal.SIGKILL)
        confirmed = max([confirmed, *map(int, child.stdout.read().split())])
        child.wait()
        store = vectors(tmp_path)
        assert confirmed < len(store) <= confirmed + 2
        for number in range(len(store)):
            text = f"{ANIMALS[number % 5]} number {number}"
            assert [hit.text for hit, distance in store.search(text, 1) if distance < 1e-3] == [text]


def test_many_items_are_put_in_steps_and_all_pieces_of_an_id_in_the_same_step(tmp_path: Path) -> None:
    embedder = Counting()
    store = VectorStore(tmp_path / "v", embedder)
    pieces = [
        VectorItem(id=f"g/{number}", group="g", text=f"{number} {part}")
        for number in range(9)
        for part in "abcdefghijkl"
    ]
    assert store.put(pieces) == len(pieces) == 108 > BATCH
    assert [len(store.pieces_of(f"g/{number}")) for number in range(9)] == [12] * 9


def test_a_graph_is_saved_next_to_the_rows_and_reused(tmp_path: Path) -> None:
    pytest.importorskip("usearch")

    def store() -> VectorStore:
        return VectorStore(tmp_path / "v", Counting(), graph_from=200)

    first = store()
    first.put([item(number) for number in range(300)])
    while not list((tmp_path / "v" / NAME).glob("graph-*")):
        assert found(first, "zebra number 5", 1) == ["g/5"]  # exact, while the graph is built in the background
    first.close()
    again = store()
    assert found(again, "lion number 7", 1) == ["g/7"] and not again.describe_slow_search()
    (tmp_path / "v" / NAME / DATABASE_NAME).write_bytes(b"damaged" * 1_000)
    assert found(again, "lion number 7", 1) == []
    assert list((tmp_path / "v" / NAME).glob("graph-*")) == []
