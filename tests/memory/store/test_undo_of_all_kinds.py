"""`/memory undo` across the files of a project and its user: in order, once, and of a change as a whole."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clio.memory.store import change_log
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import MemoryDraft, Provenance

USER = Provenance(asserted_by="user")


def open_store(folder: Path) -> MemoryStore:
    """Return the memories of the project in `folder`, as another process would open them."""
    return MemoryStore(folder / "project" / ".clio", folder / "home", redact=str)


def texts(folder: Path) -> set[str]:
    return {record.content for record in open_store(folder).records()}


def test_simultaneous_undos_undo_one_change_each(tmp_path: Path) -> None:
    for number in range(12):
        kind = "discovery" if number % 2 else "fact"
        draft = MemoryDraft(kind=kind, content=f"service {number} is written in language L{number}")
        open_store(tmp_path).add(draft, USER, scope="user" if number % 3 == 0 and kind == "fact" else "project")
    assert len(texts(tmp_path)) == 12
    with ThreadPoolExecutor(8) as pool:
        undone = list(pool.map(lambda _: open_store(tmp_path).undo(), range(8)))
    assert len(set(undone)) == 8
    assert len(texts(tmp_path)) == 4


def test_moving_a_memory_is_one_change(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    id = store.add(MemoryDraft(kind="fact", content="the api uses zstd"), USER).record.id
    store.move(id, "user")
    assert store.scope_of(id) == "user"
    store.undo()
    assert open_store(tmp_path).scope_of(id) == "project"
    assert open_store(tmp_path).count() == {"project": 1, "user": 0}
    store.undo()
    assert texts(tmp_path) == set()


def test_sharing_a_fact_never_leaves_it_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(tmp_path)
    id = store.add(MemoryDraft(kind="fact", content="the api uses zstd"), USER).record.id

    def die(*_: object) -> None:
        assert texts(tmp_path) == {"the api uses zstd"}
        raise KeyboardInterrupt

    monkeypatch.setattr(store.ltm, "add", die)
    with pytest.raises(KeyboardInterrupt):
        store.make_shareable(id)
    assert texts(tmp_path) == {"the api uses zstd"}
    monkeypatch.undo()
    open_store(tmp_path).make_shareable(id)
    assert [record.kind for record in open_store(tmp_path).records()] == ["discovery"]


def test_a_change_made_while_the_clock_was_ahead_does_not_stay_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = iter([f"{number:08x}-0000-7000-8000-000000000000" for number in (9, 3, 4, 5)])
    monkeypatch.setattr(change_log, "_next_id", lambda: next(ids))
    store = open_store(tmp_path)
    store.add(MemoryDraft(kind="fact", content="the api uses zstd"), USER)  # when the clock was ahead
    store.add(MemoryDraft(kind="fact", content="staging listens on 5433"), USER)
    store.add(MemoryDraft(kind="fact", content="my shell is fish"), USER, scope="user")
    store.add(MemoryDraft(kind="fact", content="tests run with tox"), USER)
    for expected in ("tests run", "my shell", "staging", "the api"):
        assert expected in store.undo()
    assert texts(tmp_path) == set()
