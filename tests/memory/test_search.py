"""Finding: notes and knowledge together, and what was said in earlier sessions."""

from pathlib import Path

import pytest

from clio.memory.ranking import rank
from clio.memory.records import Entry, Knowledge, Note
from clio.memory.session_search import SNIPPET_CHARS, search_sessions
from clio.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from clio.sessions.store import SessionStore


def entry(text: str, confirmed: float = 0.0) -> Entry:
    return Entry(kind="discovery", text=text, confirmed=confirmed)


def keys(query: str, *entries: Entry, notes: tuple[Note, ...] = (), limit: int = 10) -> list[str]:
    hits = rank(query, Knowledge(entries=entries), notes, limit)
    return [hit.key or hit.text for hit in hits]


def test_notes_and_knowledge_are_ranked_together() -> None:
    note = Note(key="auth_bug", content="token refresh loses its result")
    assert keys("token refresh bug", entry("tokens are counted"), notes=(note,)) == ["auth_bug", "tokens are counted"]


def test_a_word_counts_whole_and_in_any_form() -> None:
    assert keys("test", entry("the latest contest"), entry("testing is quick")) == ["testing is quick"]


def test_the_order_of_words_does_not_matter_but_the_phrase_wins() -> None:
    scattered = entry("writes that are atomic, always atomic writes later")
    assert keys("writes atomic", entry("atomic writes")) == ["atomic writes"]
    exact, other = entry("use atomic writes"), entry("writes are atomic")
    assert keys("atomic writes", other, exact) == [exact.text, other.text]
    assert keys("atomic writes", scattered) == [scattered.text]


def test_rare_words_weigh_more() -> None:
    common = [entry(f"the session number {number}") for number in range(5)]
    assert keys("session lock", *common, entry("a lock"))[0] == "a lock"


def test_newest_first_on_ties_and_never_more_than_asked() -> None:
    assert keys("lock", entry("lock a", 1.0), entry("lock b", 3.0), entry("lock c", 2.0), limit=2) == [
        "lock b",
        "lock c",
    ]


def test_nothing_in_common_is_no_answer() -> None:
    assert keys("quantum", entry("the latest"), notes=(Note(key="k", content="c"),)) == []
    assert keys("", entry("x")) == []


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / ".clio" / "sessions")


def write(store: SessionStore, *messages: Message, name: str | None = None) -> str:
    session = store.new(Path("/project"), name=name)
    for message in messages:
        session.append(message)
    session.close()
    return session.id


def said(content: str, created: float = 1.0) -> UserMessage:
    return UserMessage(content=content, created=created)


def found(
    store: SessionStore, query: str, exclude: str | None = None, sessions: int = 50, results: int = 5
) -> list[str]:
    recall = search_sessions(store, query, exclude=exclude, max_sessions=sessions, max_results=results)
    return [passage.snippet for passage in recall.passages]


def test_an_earlier_session_is_found_with_all_its_particulars(store: SessionStore) -> None:
    message = AssistantMessage(content="We chose atomic writes because a kill may tear a file.", created=7.0)
    session_id = write(store, said("why?"), message, name="storage")
    (passage,) = search_sessions(store, "atomic writing", exclude=None, max_sessions=9, max_results=9).passages
    assert passage.session_id == session_id
    assert passage.session_name == "storage"
    assert passage.message_id == message.id
    assert (passage.role, passage.created) == ("assistant", 7.0)
    assert passage.snippet == message.content


def test_the_asking_session_is_left_out(store: SessionStore) -> None:
    current = write(store, said("atomic writes"))
    assert found(store, "atomic writes", exclude=current) == []
    assert found(store, "atomic writes") == ["atomic writes"]


def test_exact_phrase_then_rare_words_then_newest(store: SessionStore) -> None:
    write(store, *(said(f"session {number}") for number in range(8)))
    write(store, said("the lock is stolen", 3.0), said("a stale lock", 2.0), said("lock of the session file", 1.0))
    assert found(store, "session lock", results=2)[0] == "lock of the session file"
    assert found(store, "lock is stolen", results=1) == ["the lock is stolen"]
    assert found(store, "lock", results=2) == ["the lock is stolen", "a stale lock"]


def test_a_fitting_title_raises(store: SessionStore) -> None:
    write(store, said("we moved the code", 1.0), name="authentication refactor")
    write(store, said("we moved the code again", 2.0), name="other")
    assert found(store, "authentication code") == ["we moved the code", "we moved the code again"]


def test_no_hit_is_no_answer(store: SessionStore) -> None:
    write(store, said("something else"))
    assert found(store, "quantum") == []
    assert found(store, "") == []


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("retry policy", "two policies and one that retried"),
        ("写作", "原子写作很好"),
        ("naïve", "a NAÏVE parser"),
        ("write_atomic", "calls write_atomic(path)"),
        ("what was it", "ask what was it then"),
        ("a.b+c", "see a.b+c here"),
    ],
)
def test_forms_scripts_and_signs(store: SessionStore, query: str, text: str) -> None:
    write(store, said(text), said("unrelated talk of other things, 原野"))
    assert found(store, query) == [text]


def test_limits_are_obeyed(store: SessionStore) -> None:
    for number in range(4):
        write(store, said(f"lock one {number}"), said(f"lock two {number}"))
    assert len(found(store, "lock", results=3)) == 3
    assert len(found(store, "lock", sessions=2, results=50)) == 4
    assert found(store, "lock", sessions=0) == []


def test_system_text_recovery_text_and_earlier_recalls_are_not_found(store: SessionStore) -> None:
    recall = ToolCall(id="1", name="memory_operations", arguments='{"query": "zebra"}')
    write(
        store,
        SystemMessage(content="zebra"),
        UserMessage(content="zebra", origin="recovery"),
        UserMessage(content="hello", context="zebra"),
        AssistantMessage(tool_calls=(recall,)),
        ToolMessage(tool_call_id="1", name="memory_operations", content="zebra"),
    )
    assert found(store, "zebra") == []


def test_tool_calls_and_their_results_are_found(store: SessionStore) -> None:
    call = ToolCall(id="1", name="run_command", arguments='{"command": "make zebra"}')
    result = ToolMessage(tool_call_id="1", name="run_command", content="zebra built")
    write(store, said("go"), AssistantMessage(tool_calls=(call,)), result)
    recall = search_sessions(store, "zebra", exclude=None, max_sessions=5, max_results=5)
    assert {passage.role for passage in recall.passages} == {"assistant", "tool run_command"}


def test_the_snippet_lies_around_the_hit(store: SessionStore) -> None:
    text = "filler words " * 200 + "the zebra is striped " + "more filler " * 200
    write(store, said(text))
    (snippet,) = found(store, "striped zebra")
    assert "the zebra is striped" in snippet
    assert snippet.startswith("… ")
    assert snippet.endswith(" …")
    assert len(snippet) <= SNIPPET_CHARS + 4


def test_the_same_passage_twice_is_one_answer(store: SessionStore) -> None:
    write(store, said("zebra"))
    write(store, said("zebra"))
    assert found(store, "zebra") == ["zebra"]


def test_a_damaged_session_is_named_and_the_rest_is_found(store: SessionStore) -> None:
    broken = write(store, said("zebra one"))
    write(store, said("zebra two"))
    (store.folder / f"{broken}.json").write_text("{", encoding="utf-8")
    recall = search_sessions(store, "zebra", exclude=None, max_sessions=5, max_results=5)
    assert [passage.snippet for passage in recall.passages] == ["zebra two"]
    assert recall.unreadable == (broken,)


def test_searching_changes_nothing_on_disk(store: SessionStore) -> None:
    write(store, said("zebra"))
    before = {path: path.read_bytes() for path in store.folder.rglob("*") if path.is_file()}
    found(store, "zebra")
    assert {path: path.read_bytes() for path in store.folder.rglob("*") if path.is_file()} == before
