"""A process killed at any file system call while it changes memory: nothing is lost, shown twice, or stuck."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clio.errors import UserError
from clio.memory.store.change_log import undo_last
from clio.memory.store.record import TYPED_KINDS, MemoryDraft
from tests.memory.store.versions_support import Time, by

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes are forked")
MOST_PLACES = 40


def killed_at(work: Callable[[], object], place: int) -> bool:
    """Return whether a process that does the work was killed at that file system call, and had not finished before."""
    child = os.fork()
    if child == 0:
        left = place

        def count(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal left
            flags = arguments[2] if event == "open" and isinstance(arguments[2], int) else 0
            if event in ("os.remove", "os.rename") or flags & (os.O_WRONLY | os.O_RDWR):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.addaudithook(count)
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def undo(time: Time) -> str:
    return undo_last(time.logs, time.memories.revert)


def discover(time: Time, text: str) -> str:
    return time.ltm.add(MemoryDraft(kind="discovery", content=text), by("user")).record.id


def known(time: Time) -> tuple[list[str], list[str]]:
    """Return the texts of live and archived project knowledge."""
    return sorted(one.content for one in time.ltm.read().entries), sorted(one.content for one in time.ltm.archived())


def remembered(time: Time) -> list[str]:
    return sorted(record.content for record in time.memories.records(TYPED_KINDS))


def forget(time: Time) -> None:
    [id] = [entry.id for entry in time.ltm.read().entries if entry.content == "one"]
    time.ltm.forget([id])


def edit(time: Time) -> None:
    [id] = [entry.id for entry in time.ltm.read().entries if entry.content == "one"]
    time.ltm.update(id, content="another")


def bring_back(time: Time) -> None:
    discover(time, "away")


KNOWLEDGE = {
    "add": lambda time: discover(time, "new"),
    "edit": edit,
    "forget": forget,
    "bring back": bring_back,
    "undo": undo,
}


def with_knowledge(folder: Path) -> Time:
    time = Time(folder)
    time.ltm.forget([discover(time, "away")])
    discover(time, "one")
    time.ltm.add(MemoryDraft(kind="discovery", content="two"), by("user"))
    return time


@pytest.mark.sampled(2)
@pytest.mark.parametrize("what", KNOWLEDGE)
def test_a_killed_change_of_project_knowledge_is_complete_or_absent(tmp_path: Path, what: str) -> None:
    before = known(with_knowledge(tmp_path / "before"))
    done = with_knowledge(tmp_path / "done")
    KNOWLEDGE[what](done)
    after = known(done)
    for place in range(1, MOST_PLACES):
        folder = tmp_path / str(place)
        time = with_knowledge(folder)
        changes = len(time.logs.undoable())
        killed = killed_at(lambda time=time: KNOWLEDGE[what](time), place)
        again = Time(folder)
        assert known(again) in (before, after)
        assert known(again) == after or killed
        if what == "undo":
            undo(again)  # of the same change, or of the one before it
            assert "two" not in known(again)[0]
        elif len(again.logs.undoable()) > changes:
            undo(again)
            assert known(again) == before
        discover(again, "life goes on")
        assert "life goes on" in known(again)[0]
        if not killed:
            return
    pytest.fail("the change never came to its end")


MEMORIES: dict[str, Callable[[Time], object]] = {
    "remember": lambda time: time.memories.add(
        MemoryDraft(content="the cat is grey", kind="fact"), provenance=by("user")
    ),
    "supersede": lambda time: time.memories.add(
        MemoryDraft(content="the port is 8081", kind="fact"), provenance=by("user")
    ),
    "edit": lambda time: time.memories.update(time.memories.project.records()[0].id, content="the port is open"),
    "forget": lambda time: time.memories.forget(time.memories.project.records()[0].id),
    "restore": lambda time: time.memories.project.restore(time.memories.project.archived()[0].id),
    "move": lambda time: time.memories.move(time.memories.project.records()[0].id, "user"),
}


def with_memories(folder: Path) -> Time:
    time = Time(folder)
    time.memories.forget(
        time.memories.add(MemoryDraft(content="the dog is brown", kind="fact"), provenance=by("user")).record.id
    )
    time.memories.add(MemoryDraft(content="the port is 8080", kind="fact"), provenance=by("user"))
    return time


@pytest.mark.sampled(2)
@pytest.mark.parametrize("what", MEMORIES)
def test_a_killed_change_of_memories_is_complete_or_absent_and_can_be_undone(tmp_path: Path, what: str) -> None:
    before = remembered(with_memories(tmp_path / "before"))
    done = with_memories(tmp_path / "done")
    MEMORIES[what](done)
    after = remembered(done)
    for place in range(1, MOST_PLACES):
        folder = tmp_path / str(place)
        time = with_memories(folder)
        changes = len(time.logs.undoable())
        killed = killed_at(lambda time=time: MEMORIES[what](time), place)
        again = Time(folder)
        assert set(remembered(again)) in (set(before), set(after))
        while len(again.logs.undoable()) > changes:
            undo(again)
        assert remembered(again) == before
        again.memories.add(MemoryDraft(content="life goes on", kind="fact"), provenance=by("user"))
        assert "life goes on" in remembered(again)
        if not killed:
            return
    pytest.fail("the change never came to its end")


def test_a_change_that_was_never_made_does_not_hide_the_one_before_it(tmp_path: Path) -> None:
    time = with_memories(tmp_path)
    change = time.logs.last()
    assert change is not None
    place = 1
    while killed_at(lambda: MEMORIES["edit"](Time(tmp_path)), place) and time.logs.last() == change:
        place += 1
    assert time.logs.last() != change, "it was logged"
    assert remembered(time) == ["the port is 8080"]
    undo(time)
    assert remembered(time) == ["the port is 8080"]
    undo(time)
    assert remembered(time) == []
    with pytest.raises(UserError, match="nothing to undo"):
        while True:
            undo(time)
