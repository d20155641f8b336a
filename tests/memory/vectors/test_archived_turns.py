"""Trimmed turns are embedded once, with their role, and found while they are out of the window."""

import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from clio.memory.transcripts.session_text import TurnDoc
from clio.memory.vectors import semantic_index
from clio.memory.vectors.semantic_index import MAX_PIECES, ArchivedTurns, SemanticIndex, split_turn
from clio.memory.vectors.vector_store import VectorStore
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from tests.memory.transcripts.sessions import called
from tests.memory.vectors.support import (
    Counting,
    Failing,
    a_session,
    drop,
    folder,
    make_messages,
    sessions,
    turns,
    vectors,
)

PORT = "the staging database listens on port 5433"
ASKED = "which port does staging listen on"


@pytest.mark.usefixtures("engine")
def test_a_trimmed_turn_is_found_with_its_role_and_ids(tmp_path: Path) -> None:
    session = a_session(tmp_path, make_messages("where is the zebra kept", f"noted: {PORT}"))
    found = turns(tmp_path)
    assert found.index(session) == 2
    [hit] = found.search(ASKED, sessions=[session.id])
    assert (hit.session, hit.message, hit.role) == (session.id, session.messages[1].id, "assistant")
    assert hit.text == f"noted: {PORT}" and 0.0 < hit.distance < 1.0
    [other] = found.search("the kept zebra", sessions=[session.id])
    assert other.role == "user"


@pytest.mark.usefixtures("engine")
def test_at_most_three_turns_are_found_nearest_first_and_strictly_below_the_limit(tmp_path: Path) -> None:
    words = ["zebra"] * 3 + ["the zebra eats", "a lion sleeps"]
    session = a_session(tmp_path, make_messages(*words))
    found = turns(tmp_path)
    found.index(session)
    hits = found.search("zebra", sessions=[session.id])
    assert [hit.message for hit in hits] == [message.id for message in session.messages[:3]]
    distances = [hit.distance for hit in found.search("zebra", sessions=[session.id], count=9, limit=2.0)]
    assert distances == sorted(distances) and len(distances) == 5
    limit = distances[3]
    assert len(found.search("zebra", sessions=[session.id], count=9, limit=limit)) == 3


def test_messages_in_the_window_are_not_embedded(tmp_path: Path) -> None:
    session = a_session(tmp_path, make_messages("zebra", "giraffe", "lion", "tiger"), dropped=2)
    found = turns(tmp_path)
    assert found.index(session) == 2
    hits = found.search("lion tiger", sessions=[session.id], limit=2.0, count=9)
    assert {hit.text for hit in hits} == {"zebra", "giraffe"}


def test_a_session_without_trims_creates_no_file(tmp_path: Path) -> None:
    session = a_session(tmp_path, make_messages("zebra", "giraffe"), dropped=0)
    found = turns(tmp_path)
    assert found.index(session) == 0 and not found.have_any
    assert not (tmp_path / ".clio" / "cache").exists()


def test_nothing_is_embedded_twice_by_trims_resumes_or_undone_trims(tmp_path: Path) -> None:
    embedder = Counting()
    session = a_session(tmp_path, make_messages("zebra", "giraffe", "lion", "tiger"), dropped=2)

    def index() -> None:
        ArchivedTurns(VectorStore(tmp_path / "v", embedder)).index(session)

    index()
    index()
    session.undo_trim()
    index()
    drop(session, 4, "t2")
    index()
    session.close()
    session = sessions(tmp_path).open(session.id)
    index()
    assert embedder.texts == ["zebra", "giraffe", "lion", "tiger"]
    session.close()


def test_a_turn_back_in_the_window_is_not_recalled(tmp_path: Path) -> None:
    session = a_session(tmp_path, make_messages("zebra one", "giraffe", "zebra two"))
    found = turns(tmp_path)
    found.index(session)
    session.undo_trim()
    assert found.search("zebra", sessions=[session.id], session=session) == []
    drop(session, 1, "t2")
    assert [hit.text for hit in found.search("zebra", sessions=[session.id], session=session)] == ["zebra one"]


def test_sessions_are_separate_unless_requested(tmp_path: Path) -> None:
    one, two = (a_session(tmp_path, make_messages(f"the zebra of {name}")) for name in ("Anna", "Bob"))
    found = turns(tmp_path)
    found.index(one)
    found.index(two)
    assert [hit.session for hit in found.search("zebra", sessions=[two.id])] == [two.id]
    assert found.search("zebra", sessions=[]) == []
    assert {hit.session for hit in found.search("zebra", sessions=None)} == {one.id, two.id}


def test_text_of_clio_recalled_text_and_tool_outputs_are_never_embedded(tmp_path: Path) -> None:
    session = a_session(
        tmp_path,
        [
            UserMessage(content="zebra", context="<memories>giraffe</memories>"),
            UserMessage(content="go on with the giraffe", origin="continue"),
            *called("memory_operations", '{"operation":"recall_sessions","query":"q"}', "giraffe"),
            *called("read_file", '{"path":"zoo.py"}', "giraffe"),
        ],
    )
    turns(tmp_path).index(session)
    stored = (folder(tmp_path) / "vectors.db").read_bytes().decode("latin-1")
    assert "giraffe" not in stored
    assert "zebra" in stored and "zoo.py" in stored  # a call is represented by its line


def test_a_long_turn_is_found_by_any_of_its_parts(tmp_path: Path) -> None:
    filler = " ".join(f"Sentence number {number} speaks of other matters and things." for number in range(60))
    session = a_session(tmp_path, make_messages(f"{filler}\n{PORT}\n{filler}"))
    found = turns(tmp_path)
    found.index(session)
    [hit] = found.search(ASKED, sessions=[session.id])
    before, _, after = hit.text.partition(PORT)
    assert hit.piece > 10 and len(before.split()) > 10 and len(after.split()) > 10
    assert PORT in hit.text and "of other matters" in hit.text and 40 < len(hit.text.split()) <= 60


def test_pieces_end_at_the_end_of_sentences() -> None:
    assert split_turn("One two. Three four five.\nSix", 3) == ["One two.", "Three four five.", "Six"]
    assert split_turn("Short. Also short. This one is longer than eight words are, really. And more.", 24) == [
        "Short. Also short. This one is longer than eight words are, really.",
        "And more.",
    ]
    assert split_turn("a b c d e", 2) == ["a b", "c d", "e"]
    assert split_turn(" \n ", 24) == []
    assert len(split_turn("word " * 40_000, 24)) == MAX_PIECES


def test_vectors_survive_a_restart(tmp_path: Path) -> None:
    session = a_session(tmp_path, make_messages(PORT))
    turns(tmp_path).index(session)
    code = (
        "import sys; from pathlib import Path; from tests.memory.vectors.support import turns\n"
        f"print(*[hit.text for hit in turns(Path(sys.argv[1])).search({ASKED!r}, sessions=[sys.argv[2]])])"
    )
    root = Path(__file__).parents[3]
    out = subprocess.check_output([sys.executable, "-c", code, str(tmp_path), session.id], text=True, cwd=root)
    assert out.strip() == PORT


def test_a_deleted_folder_is_rebuilt_from_the_archive(tmp_path: Path) -> None:
    one = a_session(tmp_path, make_messages(PORT, "noted", "and now?"), dropped=2)
    two = a_session(tmp_path, make_messages("a lion", "noted"))
    found = turns(tmp_path)
    found.index(one)
    found.index(two)
    before = {(hit.message, hit.distance) for hit in found.search(ASKED, sessions=None)}
    two.close()
    shutil.rmtree(tmp_path / ".clio" / "cache")
    assert turns(tmp_path).rebuild(sessions(tmp_path)) == 2  # one of them is running
    again = turns(tmp_path)
    assert {(hit.message, hit.distance) for hit in again.search(ASKED, sessions=None)} == before
    assert len(vectors(tmp_path)) == 4
    assert again.rebuild(sessions(tmp_path)) == 0
    one.append(UserMessage(content="more"))
    assert turns(tmp_path).rebuild(sessions(tmp_path)) == 1
    one.close()


@pytest.mark.parametrize("model", [True, False], ids=["a model", "the hashed embedder"])
def test_a_model_also_embeds_turns_still_in_the_window(tmp_path: Path, model: bool) -> None:
    a_session(tmp_path, make_messages(PORT, "noted"), dropped=0).close()
    with_model = Failing(answers=100)
    with_model.remote = False
    index = SemanticIndex(
        tmp_path, with_model if model else None, persist=True, redact=lambda text: text, clock=lambda: 0.0
    )
    index.refresh(sessions(tmp_path), all_sessions=not model)
    requests_left = with_model.answers
    index.refresh(sessions(tmp_path), all_sessions=not model)
    assert with_model.answers == requests_left
    found = index.archived_turns.search(ASKED, sessions=None)
    index.close()
    assert [hit.text for hit in found] == ([PORT] if model else [])


def test_a_rebuild_can_be_stopped(tmp_path: Path) -> None:
    for _ in range(3):
        a_session(tmp_path, make_messages("zebra")).close()
    asked = iter([False, True])
    assert turns(tmp_path).rebuild(sessions(tmp_path), lambda: next(asked)) == 1
    assert turns(tmp_path).rebuild(sessions(tmp_path)) == 2


def test_a_damaged_session_does_not_stop_a_rebuild(tmp_path: Path) -> None:
    broken = a_session(tmp_path, make_messages("giraffe"))
    broken.close()
    a_session(tmp_path, make_messages("zebra")).close()
    (tmp_path / ".clio" / "sessions" / f"{broken.id}.json").write_text("{", encoding="utf-8")
    found = turns(tmp_path)
    assert found.rebuild(sessions(tmp_path)) == 1
    assert [hit.text for hit in found.search("zebra", sessions=None)] == ["zebra"]


def test_no_text_of_a_deleted_session_remains(tmp_path: Path) -> None:
    session = a_session(tmp_path, make_messages("the confidential zebra"))
    session.close()
    other = a_session(tmp_path, make_messages("giraffe"))
    other.close()
    found = turns(tmp_path)
    found.rebuild(sessions(tmp_path))
    sessions(tmp_path).delete(session.id)
    found.rebuild(sessions(tmp_path))
    assert [hit.text for hit in found.search("zebra giraffe", sessions=None)] == ["giraffe"]
    assert b"confidential" not in b"".join(path.read_bytes() for path in folder(tmp_path).iterdir())


def test_an_imported_session_with_a_smaller_window_counts_as_trimmed(tmp_path: Path) -> None:
    session = a_session(tmp_path, make_messages("zebra", "giraffe", "lion"), dropped=0)
    session.set_stm((session.messages[2].id,))
    assert turns(tmp_path).index(session) == 2


def test_an_embedding_server_is_queried_in_parallel_to_the_turn(tmp_path: Path) -> None:
    session = a_session(tmp_path, make_messages(PORT))
    found = ArchivedTurns(VectorStore(tmp_path / "v", Failing(answers=9)))
    assert found.index(session) == 0
    found.wait()
    assert [hit.text for hit in found.search(ASKED, sessions=[session.id])] == [PORT]


def test_a_failing_server_does_not_affect_the_turn(tmp_path: Path) -> None:
    session = a_session(tmp_path, make_messages(PORT))
    store = VectorStore(tmp_path / "v", Failing(answers=1))
    found = ArchivedTurns(store)
    found.index(session)
    found.wait()
    assert store.trouble == ""
    assert [hit.text for hit in found.search(ASKED, sessions=[session.id])] == [PORT]
    assert store.trouble


def test_a_call_without_text_or_result_is_no_turn(tmp_path: Path) -> None:
    call = ToolCall(id="c1", name="memory_operations", arguments="{}")
    session = a_session(tmp_path, [AssistantMessage(tool_calls=(call,)), ToolMessage(tool_call_id="c1", content="x")])
    assert turns(tmp_path).index(session) == 0


def test_a_trim_reads_only_the_trimmed_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = a_session(tmp_path, make_messages(*(f"zebra {number}" for number in range(40))), dropped=4)
    embedder = Counting()
    found = ArchivedTurns(VectorStore(tmp_path / "v", embedder))
    read: list[int] = []
    real = semantic_index._list_archived

    def counting(messages: Sequence[Message], window: Iterable[str]) -> list[TurnDoc]:
        read.append(len(messages))
        return real(messages, window)

    monkeypatch.setattr(semantic_index, "_list_archived", counting)
    for number in range(1, 10):
        found.index(session)
        drop(session, 4, f"t{number + 1}")
    assert embedder.texts == [f"zebra {number}" for number in range(36)]
    assert read == [40 - 4 * number for number in range(9)]


def test_another_session_is_read_from_its_beginning(tmp_path: Path) -> None:
    first = a_session(tmp_path, make_messages("zebra", "giraffe", "lion"), dropped=2)
    embedder = Counting()
    found = ArchivedTurns(VectorStore(tmp_path / "v", embedder))
    found.index(first)
    second = sessions(tmp_path).new(tmp_path)
    for message in make_messages("a tiger", "a wolf", "a bear"):
        second.append(message)
    drop(second, 2, "t1")
    found.index(second)
    assert embedder.texts == ["zebra", "giraffe", "a tiger", "a wolf"]
    drop(first, 1, "t2")
    found.index(first)
    assert embedder.texts[4:] == ["lion"]
