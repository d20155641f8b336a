"""The index follows the session files: changed ones are read, others are not, whatever happens in the folder."""

import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from clio.memory.transcripts.database import RecallIndexUnusable
from clio.memory.transcripts.index import RecallIndex
from clio.memory.transcripts.session_search import SessionRecall, SessionSync
from clio.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from clio.sessions.state import Trim
from clio.sessions.store import SessionStore
from tests.memory.transcripts.sessions import called, make_messages, saved


def saved_with_output(store: SessionStore, output: str) -> str:
    """Save a closed session with one result whose whole text is a blob; return its id."""
    session = store.new(Path("/project"))
    handle = session.write_blob(output)
    for message in (*make_messages("read it"), *called("read_file", '{"path":"zoo.txt"}', "begin … end", blob=handle)):
        session.append(message)
    session.close()
    return session.id


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / ".clio" / "sessions")


@pytest.fixture
def index(tmp_path: Path) -> RecallIndex:
    return RecallIndex(tmp_path / "recall.sqlite")


@pytest.fixture
def sync(store: SessionStore, index: RecallIndex) -> SessionSync:
    sync = SessionSync(store.folder)
    sync.begin(index)
    return sync


def caught_up(sync: SessionSync, index: RecallIndex, *, outputs: bool = False) -> int:
    """Return how many sessions had to be read."""
    sync.scan()
    sync.compare(index, outputs=outputs)
    read = 0
    while (step := sync.step(index, outputs=outputs)).left:
        read += step.read
    return read + step.read


def found(index: RecallIndex, query: str) -> list[str]:
    return [hit.session_id for hit in index.search(query)]


def test_only_changed_sessions_are_read(store: SessionStore, index: RecallIndex, sync: SessionSync) -> None:
    ids = [saved(store, make_messages(f"talk number {number}")) for number in range(5)]
    assert caught_up(sync, index) == 5
    assert caught_up(sync, index) == 0
    session = store.open(ids[2])
    session.append(UserMessage(content="something about a walrus"))
    session.close()
    saved(store, make_messages("a new one"))
    assert caught_up(sync, index) == 2
    assert found(index, "walrus") == [ids[2]]


def test_the_next_run_of_clio_reads_nothing_again(store: SessionStore, index: RecallIndex, sync: SessionSync) -> None:
    saved(store, make_messages("one"))
    caught_up(sync, index)
    later = SessionSync(store.folder)
    later.begin(index)
    assert caught_up(later, index) == 0


def test_sessions_indexed_by_another_clio_are_not_read_again(
    store: SessionStore, index: RecallIndex, sync: SessionSync
) -> None:
    other = SessionSync(store.folder)
    other.begin(index)
    saved(store, make_messages("one"))
    assert caught_up(other, index) == 1
    assert caught_up(sync, index) == 0


def test_deleted_sessions_are_removed_from_the_index(
    store: SessionStore, index: RecallIndex, sync: SessionSync
) -> None:
    first, second = saved(store, make_messages("an owl")), saved(store, make_messages("an owl"))
    caught_up(sync, index)
    store.delete(first)
    caught_up(sync, index)
    assert found(index, "owl") == [second]
    assert set(index.stamps()) == {second}
    shutil.rmtree(store.folder)
    caught_up(sync, index)
    assert index.stamps() == {}


def test_the_newest_sessions_are_read_first(store: SessionStore, index: RecallIndex, sync: SessionSync) -> None:
    ids = [saved(store, make_messages(f"talk number {number}")) for number in range(6)]
    for age, id in enumerate(ids):
        os.utime(store.folder / f"{id}.json", (1e9 - age, 1e9 - age))
    sync.scan()
    sync.compare(index)
    sync.step(index, chars=40)
    assert set(index.stamps()) == set(ids[: len(index.stamps())])
    assert 0 < len(index.stamps()) < 6


def test_a_running_session_is_found_by_its_newest_text(
    store: SessionStore, index: RecallIndex, sync: SessionSync
) -> None:
    session = store.new(Path("/project"))
    for number in range(4):
        session.append(UserMessage(content=f"the animal of the hour is animal{number}"))
        assert caught_up(sync, index) == 1
        assert found(index, f"animal{number}") == [session.id]
    assert found(index, "animal0") == [session.id]
    session.close()


def test_of_a_growing_session_only_the_new_part_is_read(
    store: SessionStore, index: RecallIndex, sync: SessionSync
) -> None:
    session = store.new(Path("/project"))
    for message in make_messages("an owl", "hoots"):
        session.append(message)
    caught_up(sync, index)
    journal = store.folder / f"{session.id}.journal.jsonl"
    data = journal.read_bytes()
    journal.write_bytes(data.replace(b"an owl", b"a rat "))  # with the same inode and the same length
    session.append(UserMessage(content="a walrus"))
    caught_up(sync, index)
    assert found(index, "walrus") == [session.id]
    assert found(index, "owl") == [session.id]
    assert found(index, "rat") == []
    session.close()


def test_a_call_gets_its_outcome_when_the_result_arrives(
    store: SessionStore, index: RecallIndex, sync: SessionSync
) -> None:
    session = store.new(Path("/project"))
    session.append(UserMessage(content="run the tests"))
    session.append(AssistantMessage(tool_calls=(ToolCall(id="c", name="run_command", arguments='{"command":"tox"}'),)))
    caught_up(sync, index)
    assert found(index, "tox") == [session.id]
    session.append(ToolMessage(tool_call_id="c", name="run_command", content="[exit 3]\nboom zebra", ok=False))
    caught_up(sync, index)
    (hit,) = index.search("zebra")
    assert [passage.role for passage in hit.passages] == ["assistant"]
    (hit,) = index.search("tox")
    assert len(hit.passages) == 1
    session.close()


def test_a_closed_and_resumed_session_is_indexed_completely(
    store: SessionStore, index: RecallIndex, sync: SessionSync
) -> None:
    id = saved(store, make_messages("an owl", "hoots"))
    caught_up(sync, index)
    session = store.open(id)
    session.append(UserMessage(content="a walrus"))
    caught_up(sync, index)
    assert found(index, "walrus") == found(index, "owl") == [id]
    session.append(UserMessage(content="a newt"))
    session.close()
    caught_up(sync, index)
    assert found(index, "walrus") == found(index, "owl") == found(index, "newt") == [id]


def test_a_renamed_session_is_found_by_its_new_name(store: SessionStore, index: RecallIndex, sync: SessionSync) -> None:
    session = store.new(Path("/project"))
    session.append(UserMessage(content="an owl"))
    caught_up(sync, index)
    session.rename("birds of prey")
    caught_up(sync, index)
    assert index.search("owl")[0].session_name == "birds of prey"
    session.close()


def test_trimmed_messages_are_found(store: SessionStore, index: RecallIndex, sync: SessionSync) -> None:
    session = store.new(Path("/project"))
    for message in make_messages("an owl", "hoots", "a walrus", "dives"):
        session.append(message)
    session.add_trim(Trim(handle="t1", dropped=tuple(message.id for message in session.messages[:2])))
    session.close()
    caught_up(sync, index)
    assert found(index, "owl") == [session.id]


def test_a_long_session_is_indexed_in_parts_and_is_complete_in_the_end(
    store: SessionStore, index: RecallIndex, sync: SessionSync
) -> None:
    words = [f"word{number} " + "filler " * 20 for number in range(60)]
    id = saved(store, make_messages(*words))
    sync.scan()
    sync.compare(index)
    assert sync.step(index, chars=500).left == 1
    assert found(index, "word0") == [id]
    assert found(index, "word59") == []
    stopped = SessionSync(store.folder)  # as after a kill: the beginning is not taken for the whole
    stopped.begin(index)
    assert caught_up(stopped, index) == 1
    assert found(index, "word0") == found(index, "word59") == [id]
    assert caught_up(sync, index) == 0


def test_a_long_session_indexed_by_two_clios_is_complete(
    store: SessionStore, index: RecallIndex, sync: SessionSync
) -> None:
    words = [f"word{number} " + "filler " * 20 for number in range(60)]
    id = saved(store, make_messages(*words))
    other = SessionSync(store.folder)
    other.begin(index)
    sync.scan()
    sync.compare(index)
    for _ in range(3):
        sync.step(index, chars=2_000)
    other.step(index, chars=500)  # replaces what is there, and then its process ends
    assert found(index, "word40") == []
    while sync.step(index, chars=2_000).left:
        pass
    assert all(found(index, f"word{number}") == [id] for number in (0, 20, 40, 59))


def test_unreadable_sessions_are_named_and_read_again_when_they_change(
    store: SessionStore, index: RecallIndex, sync: SessionSync
) -> None:
    good = saved(store, make_messages("an owl"))
    for name in ("broken", "newer"):
        (store.folder / f"{name}.json").write_text(
            '{"schema": "clio.session", "version": 99}' if name == "newer" else "{"
        )
    assert caught_up(sync, index) == 3
    assert sync.unreadable == ("broken", "newer")
    later = SessionSync(store.folder)
    later.begin(index)
    assert caught_up(later, index) == 0
    assert later.unreadable == ("broken", "newer")
    shutil.copyfile(store.folder / f"{good}.json", store.folder / "newer.json")
    assert caught_up(later, index) == 1
    assert later.unreadable == ("broken",)
    assert set(found(index, "owl")) == {good, "newer"}


def test_other_files_of_clio_next_to_sessions_are_no_sessions(
    store: SessionStore, index: RecallIndex, sync: SessionSync
) -> None:
    id = saved(store, make_messages("an owl"))
    for name in (
        f"{id}.json.original",
        f"{id}.json.corrupt-20250101-000000",
        f"{id}.json.abc.tmp",
        f"{id}.lock",
        "a b.json",
    ):
        shutil.copyfile(store.folder / f"{id}.json", store.folder / name)
    (store.folder / "folder.json").mkdir()
    caught_up(sync, index)
    assert found(index, "owl") == [id]


def test_a_journal_without_messages_is_skipped_without_an_error(
    store: SessionStore, index: RecallIndex, sync: SessionSync
) -> None:
    id = saved(store, make_messages("an owl"))
    lines = (store.folder / f"{id}.json").read_bytes()
    assert lines
    session = store.new(Path("/project"))
    session.append(UserMessage(content="first"))
    journal = store.folder / f"{session.id}.journal.jsonl"
    (store.folder / "begun.journal.jsonl").write_bytes(journal.read_bytes().partition(b"\n")[0] + b"\n")
    caught_up(sync, index)
    assert sync.unreadable == ()
    session.close()


def test_complete_outputs_are_found_in_searches_of_outputs(
    store: SessionStore, index: RecallIndex, sync: SessionSync
) -> None:
    id = saved_with_output(store, "begin " + "filler " * 5_000 + " platypus " + "filler " * 100)
    assert caught_up(sync, index, outputs=True) == 1
    assert sync.count_waiting(outputs=True) == 0
    assert found(index, "platypus") == []
    assert found(index, "platypus in:output") == [id]


def test_text_is_indexed_first_and_outputs_later(store: SessionStore, index: RecallIndex, sync: SessionSync) -> None:
    ids = [saved_with_output(store, f"a platypus named animal{number} " + "filler " * 2_000) for number in range(3)]
    plain = saved(store, make_messages("no call in it"))
    assert caught_up(sync, index) == 4
    assert (sync.count_waiting(), sync.count_waiting(outputs=True)) == (0, 3)
    assert set(found(index, "read it")) == set(ids)
    assert found(index, "call") == [plain]
    assert found(index, "platypus in:output") == []
    later = SessionSync(store.folder)  # the next run of clio knows what is missing
    later.begin(index)
    assert later.count_waiting(outputs=True) == 3
    assert later.step(index, chars=1, outputs=True).left == 2
    assert caught_up(later, index, outputs=True) == 0
    assert (later.count_waiting(outputs=True), sync.count_waiting(outputs=True)) == (0, 3)
    assert set(found(index, "platypus in:output")) == set(ids)
    assert caught_up(sync, index, outputs=True) == 0


def test_a_session_may_grow_before_its_outputs_are_indexed(
    store: SessionStore, index: RecallIndex, sync: SessionSync
) -> None:
    session = store.new(Path("/project"))
    for message in (
        *make_messages("read them"),
        *called("read_file", '{"path":"a"}', "an owl"),
        *make_messages("what is next?", "that"),
    ):
        session.append(message)
    caught_up(sync, index)
    for message in called("read_file", '{"path":"b"}', "a platypus"):
        session.append(message)
    caught_up(sync, index)
    assert found(index, "owl in:output") == []
    caught_up(sync, index, outputs=True)
    assert found(index, "owl in:output") == found(index, "platypus in:output") == [session.id]
    assert [turn.id for turn in index.search_turns("read")].count(session.messages[1].id) == 1
    session.close()


def _catch_up_alone(folder: str, file: str) -> None:
    recall = SessionRecall(SessionStore(Path(folder)), Path(file))
    recall.refresh()
    recall.close()


def test_two_clios_may_sync_at_the_same_time(store: SessionStore, tmp_path: Path) -> None:
    ids = [saved(store, make_messages(f"an owl and animal{number}", "hoots " * 200)) for number in range(60)]
    cache = tmp_path / ".clio" / "cache"
    spawn = multiprocessing.get_context("spawn")
    both = [spawn.Process(target=_catch_up_alone, args=(str(store.folder), str(cache))) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    recall = SessionRecall(store, cache)
    assert recall.refresh() == 0
    for number in (0, 30, 59):
        (hit,) = recall.search(f"animal{number}").sessions
        assert hit.session_id == ids[number]
        assert len(hit.passages) == 1
    recall.close()


KILLED = """
import sys
from pathlib import Path
from clio.memory.transcripts.session_search import SessionRecall
from clio.sessions.store import SessionStore

def progress(done, total):
    print(done, flush=True)

SessionRecall(SessionStore(Path(sys.argv[1])), Path(sys.argv[2])).refresh(progress=progress)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")
@pytest.mark.parametrize("after", [1, 4, 11])
def test_an_index_build_killed_at_any_moment_is_continued(store: SessionStore, tmp_path: Path, after: int) -> None:
    for number in range(40):
        saved(store, make_messages(f"animal{number}", "hoots " * 1_000))
    cache = tmp_path / ".clio" / "cache"
    command = [sys.executable, "-c", KILLED, str(store.folder), str(cache)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(after):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    recall = SessionRecall(store, cache)
    assert recall.refresh() <= 40
    assert all(len(recall.search(f"animal{number}").sessions) == 1 for number in range(40))
    recall.close()


def test_a_session_that_could_not_be_indexed_is_tried_again(
    store: SessionStore, tmp_path: Path, sync: SessionSync
) -> None:
    file = tmp_path / "other.sqlite"
    index = RecallIndex(file)
    ids = [saved(store, make_messages(f"animal{number}")) for number in range(3)]
    sync.begin(index)
    with sqlite3.connect(file, isolation_level=None) as writer:
        writer.execute("DROP TABLE sessions")
        with pytest.raises(RecallIndexUnusable):
            sync.step(index)
    writer.close()
    index.close()
    file.unlink()
    index = RecallIndex(file)
    assert sync.count_waiting() == 3
    assert sync.step(index).read == 3
    assert set(index.stamps()) == set(ids)
    assert sync.step(index).idle
    index.close()
