"""A project of an earlier clio that had four files instead of the change log: it opens, works and can be undone.

`tests/fixtures/persisted/memory-v1` was written by that version.
"""

import shutil
from pathlib import Path

import pytest

from clio.errors import UserError
from clio.memory.store.change_log import LOG_NAME, undo_last
from clio.memory.store.record import TYPED_KINDS, MemoryDraft
from clio.memory.store.versions import records_at
from tests.memory.store.versions_support import DAY, Time, by

PERSISTED = Path(__file__).parents[2] / "fixtures" / "persisted" / "memory-v1"
EARLIER = ("memory.undo.jsonl", "ltm.archive.json", "ltm.history.jsonl", "memories.archive.jsonl")


@pytest.fixture
def time(tmp_path: Path) -> Time:
    shutil.copytree(PERSISTED / "project", tmp_path / ".clio")
    shutil.copytree(PERSISTED / "home", tmp_path / "home")
    time = Time(tmp_path)
    time.now += 100 * DAY
    return time


@pytest.fixture
def earlier(time: Time, tmp_path: Path) -> dict[Path, bytes]:
    paths = [folder / name for folder in (tmp_path / ".clio", time.home) for name in EARLIER]
    return {path: path.read_bytes() for path in paths if path.exists()}


def unchanged(earlier: dict[Path, bytes]) -> bool:
    return {path: path.read_bytes() for path in earlier} == earlier


def undo(time: Time) -> str:
    return undo_last(time.logs, time.memories.revert)


def live_texts(time: Time) -> set[str]:
    return {entry.content for entry in time.ltm.read().entries} | {
        one.content for one in time.memories.records(TYPED_KINDS)
    }


LIVE = {
    "Config is TOML",
    "Tests run on Python 3.11",
    "no tabs",
    "the dev server listens on port 8081",
    "releases happen on Tuesdays",
    "short commit subjects",
    "user works in Berlin",
}


def test_live_archived_and_stated_memories_are_read(time: Time, earlier: dict[Path, bytes]) -> None:
    assert live_texts(time) == LIVE
    assert [entry.content for entry in time.ltm.archived()] == ["Logs go to stderr"]
    assert [record.content for record in time.memories.project.archived()] == ["the office has a giraffe"]
    first = time.now - 97 * DAY
    assert {entry.content for entry in records_at(time.ltm.versions(), first)} >= {
        "Config is YAML",
        "Logs go to stderr",
    }
    contents = {version.record.content for version in time.memories.versions(TYPED_KINDS)}
    assert contents >= {"the office has a zebra", "the office has a giraffe", "short commit messages"}
    assert records_at(time.memories.versions(TYPED_KINDS), time.now)
    assert unchanged(earlier) and not (time.ltm_path.with_name(LOG_NAME)).exists(), "reading writes nothing"


def test_every_earlier_change_is_undone_and_the_earlier_files_are_kept(time: Time, earlier: dict[Path, bytes]) -> None:
    assert undo(time).startswith("Undone: the sleep of Monday, 3 changes")
    assert live_texts(time) == LIVE - {"no tabs", "releases happen on Tuesdays", "user works in Berlin"}
    reports: list[str] = []
    with pytest.raises(UserError, match="nothing to undo"):
        while True:
            reports.append(undo(time))
    assert len(reports) == 15
    assert live_texts(time) == set()
    assert time.ltm.archived() == ()
    assert unchanged(earlier)


def test_undoing_a_restore_archives_the_memory_again(time: Time, earlier: dict[Path, bytes]) -> None:
    while "brought back the discovery" not in undo(time):
        pass
    assert [entry.content for entry in time.ltm.archived()] == ["Tests run on Python 3.11", "Logs go to stderr"]
    undo(time)
    assert [entry.content for entry in time.ltm.archived()] == ["Logs go to stderr"]
    assert "Tests run on Python 3.11" in live_texts(time)
    assert unchanged(earlier)


def test_an_archived_memory_can_be_restored_and_forgotten_again(time: Time, earlier: dict[Path, bytes]) -> None:
    back = time.ltm.add(MemoryDraft(kind="discovery", content="Logs go to stderr"), by("user"))
    assert (back.action, time.ltm.archived()) == ("restored", ())
    time.ltm.update(back.record.id, content="Logs go to a file")
    assert time.ltm.archived() == ()
    time.ltm.forget([back.record.id])
    assert [entry.content for entry in time.ltm.archived()] == ["Logs go to a file"]
    assert time.memories.project.restore(time.memories.project.archived()[0].id).content == "the office has a giraffe"
    for _ in range(4):
        undo(time)
    assert live_texts(time) == LIVE
    assert [entry.content for entry in time.ltm.archived()] == ["Logs go to stderr"]
    assert unchanged(earlier)


def test_deleting_the_log_returns_to_the_state_of_the_earlier_version(
    time: Time, earlier: dict[Path, bytes], tmp_path: Path
) -> None:
    versions, archived = len(time.ltm.versions()), time.ltm.archived()
    time.ltm.add(MemoryDraft(kind="discovery", content="new"), by("user"))
    undo(time)
    for log in (time.logs.project.path, time.logs.user.path):
        log.unlink(missing_ok=True)
    again = Time(tmp_path)
    assert (live_texts(again), len(again.ltm.versions()), again.ltm.archived()) == (LIVE, versions, archived)
    assert unchanged(earlier)


def test_an_archived_memory_without_a_handle_can_be_restored(time: Time) -> None:
    path = time.ltm_path.with_name("ltm.archive.json")
    path.write_bytes(path.read_bytes().replace(b'"id"', b'"unknown"'))
    back = time.ltm.add(MemoryDraft(kind="discovery", content="Logs go to stderr"), by("user"))
    assert (back.action, back.record.id[:2], time.ltm.archived()) == ("restored", "d-", ())
