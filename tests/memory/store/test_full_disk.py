"""A disk that is full at any write of a change: the change is made or not, and undo reports which."""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from clio.errors import StorageError
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import MemoryDraft, Provenance

USER = Provenance(session="s", asserted_by="user")
MAX_WRITES = 40


def open_store(folder: Path) -> MemoryStore:
    return MemoryStore(folder / "project" / ".clio", folder / "home", redact=lambda text: text)


def known(folder: Path) -> list[tuple[str, str]]:
    store = open_store(folder)
    of_user = [("user", record.content) for record in store.user.records()]
    return sorted([*of_user, *((record.kind, record.content) for record in store.records())])


def add(store: MemoryStore, kind: str, content: str, key: str | None = None) -> str:
    return store.add(MemoryDraft(kind=kind, content=content, key=key), USER).record.id  # pyright: ignore[reportArgumentType]


def find(store: MemoryStore, content: str) -> str:
    return next(record.id for record in store.records() if record.content == content)


CHANGES: dict[str, Callable[[MemoryStore], object]] = {
    "remember a fact": lambda store: add(store, "fact", "the cat is grey"),
    "replace a fact": lambda store: add(store, "fact", "the port is 8081"),
    "edit a fact": lambda store: store.update(find(store, "the port is 8080"), content="the port is open"),
    "forget a fact": lambda store: store.forget(find(store, "the port is 8080")),
    "add a discovery": lambda store: add(store, "discovery", "tests run with make test"),
    "edit a discovery": lambda store: store.update(find(store, "we deploy on Mondays"), content="we deploy at night"),
    "forget a discovery": lambda store: store.forget(find(store, "we deploy on Mondays")),
    "store a note": lambda store: add(store, "note", "buy milk", key="todo"),
    "replace a note": lambda store: add(store, "note", "call Ann", key="plan"),
    "move a fact": lambda store: store.move(find(store, "the port is 8080"), "user"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_that_is_not_in_the_file_is_not_reported_as_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    real, never_made = os.write, 0
    for place in range(1, MAX_WRITES):
        folder = tmp_path / str(place)
        store = open_store(folder)
        add(store, "fact", "the port is 8080")
        add(store, "discovery", "we deploy on Mondays")
        add(store, "note", "call Bob", key="plan")
        before, changes = known(folder), len(store.logs.undoable())
        writes = 0

        def write(fd: int, data: bytes, place: int = place) -> int:
            nonlocal writes
            writes += 1
            if writes >= place:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(fd, data)

        monkeypatch.setattr(os, "write", write)
        with suppress(StorageError, OSError):
            CHANGES[what](store)
        monkeypatch.setattr(os, "write", real)
        is_changed = known(folder) != before
        if len(open_store(folder).logs.undoable()) > changes:
            report = open_store(folder).undo()
            assert known(folder) == before
            assert report.startswith("Undone") == is_changed, report
            never_made += not is_changed
        else:
            assert not is_changed
        add(open_store(folder), "fact", "life goes on")
        if writes < place:
            assert never_made, "the disk was full between the log and the file"
            return
    pytest.fail("the change never came to its end")
