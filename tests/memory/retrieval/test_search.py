"""Notes and knowledge ranked together."""

from clio.memory.retrieval.retriever import search_project
from clio.memory.store.record import MemoryRecord

NOW = 10.0


def entry(text: str, confirmed: float = 0.0) -> MemoryRecord:
    return MemoryRecord(id=text, kind="discovery", content=text, updated=confirmed, confidence=0.8)


def keys(query: str, *entries: MemoryRecord, notes: tuple[MemoryRecord, ...] = (), limit: int = 10) -> list[str]:
    hits = search_project(query, (*entries, *notes), limit, NOW)
    return [hit.key or hit.text for hit in hits]


def test_notes_and_knowledge_are_ranked_together() -> None:
    note = MemoryRecord(id="auth_bug", key="auth_bug", kind="note", content="token refresh loses its result")
    assert keys("token refresh bug", entry("tokens are counted"), notes=(note,)) == ["auth_bug", "tokens are counted"]


def test_words_match_whole_and_in_any_form() -> None:
    assert keys("test", entry("the latest contest"), entry("testing is quick")) == ["testing is quick"]


def test_word_order_does_not_matter_but_the_exact_phrase_is_first() -> None:
    scattered = entry("writes that are atomic, always atomic writes later")
    assert keys("writes atomic", entry("atomic writes")) == ["atomic writes"]
    exact, other = entry("use atomic writes"), entry("writes are atomic in the journal")
    assert keys("atomic writes", other, exact) == [exact.content, other.content]
    assert keys("atomic writes", scattered) == [scattered.content]


def test_rare_words_count_more() -> None:
    common = [entry(f"the session number {number}") for number in range(5)]
    assert keys("session lock", *common, entry("a lock"))[0] == "a lock"


def test_ties_are_newest_first_and_the_limit_is_respected() -> None:
    assert keys("lock", entry("lock a", 1.0), entry("lock b", 3.0), entry("lock c", 2.0), limit=2) == [
        "lock b",
        "lock c",
    ]


def test_without_a_common_word_there_is_no_result() -> None:
    assert keys("quantum", entry("the latest"), notes=(MemoryRecord(id="k", key="k", kind="note", content="c"),)) == []
    assert keys("", entry("x")) == []
