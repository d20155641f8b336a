"""The interface of transcript search: results for any state of the sessions and the index."""

import os
import random
import shutil
import sqlite3
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from clio.memory.transcripts.session_search import SessionRecall
from clio.memory.transcripts.session_text import Recall
from clio.messages import UserMessage
from clio.sessions.store import SessionStore
from tests.memory.transcripts.sessions import make_messages, saved
from tests.support.perl_tree import LONG, TRIMMED, lay_out_perl_tree


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / ".clio" / "sessions")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / ".clio" / "cache"


def found(recall: Recall) -> list[str]:
    return [hit.session_id for hit in recall.sessions]


def test_a_session_is_found_by_its_text(store: SessionStore, cache: Path) -> None:
    wanted = saved(store, make_messages("why does the parser fail on empty input?"), name="parser")
    saved(store, make_messages("write a poem about ferns"))
    answer = SessionRecall(store, cache).search("parser empty")
    assert found(answer) == [wanted]
    assert answer.sessions[0].session_name == "parser"
    assert answer.passages[0].message_id == store.read(wanted)[0].id
    assert (answer.unsearched, answer.unreadable) == (0, ())


def test_without_a_common_word_there_is_no_result(store: SessionStore, cache: Path) -> None:
    saved(store, make_messages("an owl"))
    recall = SessionRecall(store, cache)
    assert recall.search("quantum") == recall.search("") == Recall()


def test_the_current_session_is_left_out_or_marked(store: SessionStore, cache: Path) -> None:
    other = saved(store, make_messages("an owl"))
    current = saved(store, make_messages("an owl"))
    recall = SessionRecall(store, cache)
    assert found(recall.search("owl", current=current)) == [other]
    answer = recall.search("owl", current=current, include_current=True)
    assert {hit.session_id: hit.current for hit in answer.sessions} == {other: False, current: True}


def test_indexing_the_running_session_waits_for_no_lock(store: SessionStore, cache: Path) -> None:
    session = store.new(Path("/project"))
    session.append(UserMessage(content="an owl"))
    answer = SessionRecall(store, cache).search("owl", current=session.id)
    assert answer == Recall()
    session.close()


def test_the_limits_apply_to_sessions_and_to_all_passages(store: SessionStore, cache: Path) -> None:
    for _ in range(4):
        saved(store, make_messages(*(f"{word} owl {word}" for word in ("snow", "barn", "horned", "tawny", "little"))))
    recall = SessionRecall(store, cache)
    answer = recall.search("owl", max_sessions=3, max_results=50)
    assert len(answer.sessions) == 3
    answer = recall.search("owl", max_sessions=3, max_results=2)
    assert [len(hit.passages) for hit in answer.sessions] == [1, 1]
    answer = recall.search("owl", max_sessions=0)
    assert answer.sessions == ()
    answer = recall.search("owl", max_results=0)
    assert answer.sessions == ()


def test_each_session_gets_its_best_passage_before_any_gets_a_second(store: SessionStore, cache: Path) -> None:
    filler = make_messages(*(f"about {number} other things" for number in range(12)))
    for _ in range(3):
        saved(store, [*make_messages("the snow owl hunts"), *filler, *make_messages("an owl in the barn")])
    answer = SessionRecall(store, cache).search("owl", max_sessions=3, max_results=4)
    assert [len(hit.passages) for hit in answer.sessions] == [2, 1, 1]


def test_no_file_is_created_without_a_cache_or_without_a_session(store: SessionStore, tmp_path: Path) -> None:
    assert SessionRecall(store, tmp_path / ".clio" / "cache").search("owl") == Recall()
    assert list(tmp_path.iterdir()) == []
    id = saved(store, make_messages("an owl"))
    before = sorted(tmp_path.rglob("*"))
    recall = SessionRecall(store, None)
    assert found(recall.search("owl")) == [id]
    assert recall.refresh() == 0
    recall.close()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_the_index_is_readable_only_by_its_owner_and_ignored_by_git(store: SessionStore, cache: Path) -> None:
    saved(store, make_messages("an owl"))
    SessionRecall(store, cache).search("owl")
    assert stat.S_IMODE((cache / "recall.sqlite").stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert (cache.parent / ".gitignore").read_text() == "*\n"


def truncated(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def emptied(file: Path) -> None:
    os.truncate(file, 0)


def garbage(file: Path) -> None:
    file.write_bytes(b"this is no database at all " * 1_000)


def other_version(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 9999")
    connection.close()


def another_database(file: Path) -> None:
    file.unlink()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE owls (name)")
    connection.close()


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()
    (file / "somebody's").write_text("file")


def vanished(file: Path) -> None:
    file.unlink()


def folder_vanished(file: Path) -> None:
    shutil.rmtree(file.parent)


def flipped_in_every_page(file: Path) -> None:
    data = bytearray(file.read_bytes())
    for at in range(4_096, len(data), 4_096):
        data[at] ^= 0xFF
    file.write_bytes(data)


def a_table_less(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE turns")
    connection.close()


DAMAGE = [
    truncated,
    emptied,
    garbage,
    other_version,
    another_database,
    folder,
    vanished,
    folder_vanished,
    flipped_in_every_page,
    a_table_less,
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("while_open", [False, True])
def test_results_are_correct_whatever_happens_to_the_index(
    store: SessionStore, cache: Path, damage: Callable[[Path], None], *, while_open: bool
) -> None:
    ids = [saved(store, make_messages(f"an owl called animal{number}", "hoots " * 400)) for number in range(12)]
    recall = SessionRecall(store, cache)
    recall.search("owl")
    if not while_open:
        recall.close()
        recall = SessionRecall(store, cache)
    damage(cache / "recall.sqlite")
    assert found(recall.search("animal7")) == [ids[7]]
    recall.close()
    later = SessionRecall(store, cache)
    assert found(later.search("animal3")) == [ids[3]]
    assert later.refresh() == 0
    later.close()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(40))
def test_flipped_bits_never_raise_an_error(store: SessionStore, cache: Path, seed: int) -> None:
    for number in range(6):
        saved(store, make_messages(f"an owl called animal{number}", "it hoots and flies " * 40))
    recall = SessionRecall(store, cache)
    recall.search("owl")
    recall.close()
    file, rng = cache / "recall.sqlite", random.Random(seed)
    data = bytearray(file.read_bytes())
    for _ in range(40):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(data)
    recall = SessionRecall(store, cache)
    for query in ("animal3", "owl hoots", "flies in:output"):
        recall.search(query)
    saved(store, make_messages("a walrus"))
    assert len(recall.search("walrus").sessions) == 1
    recall.close()


def test_a_file_or_folder_in_place_of_the_index_is_kept(store: SessionStore, cache: Path) -> None:
    saved(store, make_messages("an owl"))
    (cache / "recall.sqlite").mkdir(parents=True)
    (cache / "recall.sqlite" / "mine").write_text("file")
    SessionRecall(store, cache).search("owl")
    (aside,) = cache.glob("recall.sqlite.corrupt-*")
    assert (aside / "mine").read_text() == "file"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_the_index_is_not_written_through_a_link(store: SessionStore, cache: Path, tmp_path: Path) -> None:
    id = saved(store, make_messages("an owl"))
    cache.mkdir()
    (tmp_path / "target").write_text("precious")
    (cache / "recall.sqlite").symlink_to(tmp_path / "target")
    assert found(SessionRecall(store, cache).search("owl")) == [id]
    assert (tmp_path / "target").read_text() == "precious"


def test_results_are_the_same_if_nothing_can_be_written(store: SessionStore, tmp_path: Path) -> None:
    id = saved(store, make_messages("an owl"))
    (tmp_path / "file").write_text("")
    for cache in (tmp_path / "file" / "cache", Path("/proc/cache")):
        recall = SessionRecall(store, cache)
        assert found(recall.search("owl")) == [id]
        assert recall.refresh() == 0
        recall.close()


LIMITED = """
import resource, signal, sys
from pathlib import Path
from clio.memory.transcripts.session_search import SessionRecall
from clio.sessions.store import SessionStore
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
recall = SessionRecall(SessionStore(Path(sys.argv[1])), Path(sys.argv[2]))
print(len(recall.search("owl", max_sessions=50, max_results=50).sessions), recall.refresh())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files")
def test_a_full_disk_changes_no_result(store: SessionStore, cache: Path) -> None:
    import subprocess

    for number in range(20):
        saved(store, make_messages("an owl", " ".join(f"word{number}x{n}" for n in range(500))))
    command = [sys.executable, "-c", LIMITED, str(store.folder), str(cache)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("20 0\n", "")


def test_without_time_the_newest_sessions_are_searched_and_the_others_counted(store: SessionStore, cache: Path) -> None:
    ids = [saved(store, make_messages("an owl")) for _ in range(5)]
    recall = SessionRecall(store, cache)
    answer = recall.search("owl", deadline_s=0.0)
    assert answer.unsearched == 5
    assert answer.sessions == ()
    assert set(found(recall.search("owl"))) == set(ids)


def test_a_deleted_session_is_no_result_even_without_time(store: SessionStore, cache: Path) -> None:
    ids = [saved(store, make_messages("an owl")) for _ in range(2)]
    recall = SessionRecall(store, cache)
    recall.search("owl")
    store.delete(ids[0])
    assert found(recall.search("owl", deadline_s=0.0)) == [ids[1]]


def test_background_indexing_stops_between_steps_and_reports_its_progress(store: SessionStore, cache: Path) -> None:
    for number in range(30):
        saved(store, make_messages(f"animal{number}", "hoots " * 2_000))
    recall = SessionRecall(store, cache)
    seen: list[tuple[int, int]] = []
    stop = threading.Event()

    def progress(done: int, of: int) -> None:
        seen.append((done, of))
        if len(seen) == 3:
            stop.set()

    read = recall.refresh(stop.is_set, progress)
    assert len(seen) == 3
    assert 0 < read < 30
    assert all(of == 30 for _, of in seen)
    assert read + recall.refresh() == 30
    assert recall.refresh() == 0


def test_a_search_and_background_indexing_share_the_work(store: SessionStore, cache: Path) -> None:
    ids = [saved(store, make_messages(f"animal{number}", "hoots " * 2_000)) for number in range(40)]
    recall = SessionRecall(store, cache)
    counts: list[int] = []
    thread = threading.Thread(target=lambda: counts.append(recall.refresh()))
    thread.start()
    assert found(recall.search("animal0", deadline_s=60.0)) == [ids[0]]
    thread.join()
    assert counts[0] <= 40
    assert recall.refresh() == 0


def test_unreadable_sessions_are_named(store: SessionStore, cache: Path) -> None:
    id = saved(store, make_messages("an owl"))
    (store.folder / "broken.json").write_text("{")
    answer = SessionRecall(store, cache).search("owl")
    assert (found(answer), answer.unreadable) == ([id], ("broken",))


def test_sessions_of_the_original_are_found_completely(tmp_path: Path) -> None:
    store = SessionStore(lay_out_perl_tree(tmp_path / ".clio") / "sessions")
    recall = SessionRecall(store, tmp_path / ".clio" / "cache")
    window = {message.id for message in store.open(TRIMMED, persist=False).messages}
    assert window
    first = next(message for message in store.read(TRIMMED) if isinstance(message, UserMessage) and message.content)
    answer = recall.search(f'"{" ".join(first.content.split()[:6])}"', max_results=50)
    assert TRIMMED in found(answer)
    assert found(recall.search('"log line 4999" in:output')) == [LONG]
    assert found(recall.search("SYSTEM PROMPT REMOVED")) == []
    assert answer.unreadable == ()
