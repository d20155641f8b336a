"""Sharing is turned on and off, and statements are repeated, while other clios read and write."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from os import stat_result
from pathlib import Path
from typing import Any

import pytest

from clio.config.project_links import trust_team
from clio.errors import UserError
from clio.memory.store.ltm_codec import LtmDocument
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.team import folder as team_folder
from clio.memory.team.share import Sharing
from tests.memory.store.ltm_support import add, read_json
from tests.memory.team.team_support import NOW, Member
from tests.support.waiting import wait_for_later_file_times

SAID = ["Config is YAML", "The port is 8080", "atomic writes", "no tabs"]


def add_entries(member: Member) -> None:
    """Add entries of three kinds."""
    for kind, text in zip(("discovery", "discovery", "pattern", "rule"), SAID, strict=True):
        add(member.memory, kind, text)


def other_sharing(member: Member) -> Sharing:
    """Return the sharing as another clio has it."""
    return Sharing(member.ltm, project=member.project, home=member.home, clock=lambda: NOW, redact=str)


def once(work: Callable[[], object]) -> Callable[[], None]:
    """Return a function that does the work at the first call and nothing at later ones."""
    waiting = [work]

    def run() -> None:
        if waiting:
            waiting.pop()()

    return run


@pytest.mark.parametrize("kind", ["discovery", "solution", "pattern", "rule"])
def test_a_reader_sees_all_entries_while_sharing_is_turned_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    member = Member(tmp_path / "project")
    add_entries(member)
    real, turn_off = team_folder._files, once(other_sharing(member).turn_off)

    def slow(folder: Path, problems: list[Any]) -> Iterator[tuple[str, stat_result]]:
        if folder.name == kind:
            turn_off()
        return real(folder, problems)

    monkeypatch.setattr(team_folder, "_files", slow)
    assert sorted(entry.content for entry in member.other_process().read().entries) == sorted(SAID)
    assert not member.folder.exists()


def test_a_statement_repeated_while_someone_reads_exists_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    member = Member(tmp_path / "project")
    add_entries(member)
    last = max(member.memory.read().entries[:2], key=lambda entry: entry.id)
    real = team_folder._files
    say = once(lambda: member.other_process().update(last.id, content="Config is TOML"))

    def slow(folder: Path, problems: list[Any]) -> Iterator[tuple[str, stat_result]]:
        for number, found in enumerate(real(folder, problems)):
            if folder.name == "discovery" and number == 0:
                say()
            yield found

    reader = member.other_process()
    wait_for_later_file_times(tmp_path)
    monkeypatch.setattr(team_folder, "_files", slow)
    found = sorted(entry.content for entry in reader.read().entries)
    assert found == sorted(["Config is TOML", *(text for text in SAID if text != last.content)])


def test_knowledge_read_without_sharing_is_written_without_sharing(tmp_path: Path) -> None:
    """Sharing begins, and is trusted, while another clio is about to write."""
    member = Member(tmp_path / "project", trusts=False, begun=False)
    add_entries(member)
    store = LongTermMemory(member.ltm, project=member.project, home=member.home)
    with store.changing() as (document, now):
        trust_team(member.project, member.home)
        member.folder.create()
        store.put(document, now)
    assert list(member.files()) == ["format.json"]
    assert len(read_json(member.ltm)["patterns"]["discoveries"]) == 2
    assert member.texts() == sorted(SAID)
    assert member.sharing.turn_on() == len(SAID)
    assert member.texts() == sorted(SAID)


def test_knowledge_read_from_a_folder_deleted_since_is_kept_in_the_file(tmp_path: Path) -> None:
    """Another branch has no such folder."""
    member = Member(tmp_path / "project")
    add_entries(member)
    store = LongTermMemory(member.ltm, project=member.project, home=member.home)
    with store.changing() as (document, now):
        shutil.rmtree(member.folder.path)
        store.put(document, now)
    assert member.texts() == sorted(SAID)
    assert not member.folder.path.exists()


def first(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> None:
    """Have another clio do this just before the next one gets the lock."""
    real, before = LongTermMemory.changing, once(work)

    def changing(self: LongTermMemory) -> AbstractContextManager[tuple[LtmDocument, float]]:
        before()
        return real(self)

    monkeypatch.setattr(LongTermMemory, "changing", changing)


def test_sharing_turned_off_by_two_at_the_same_time_is_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    member = Member(tmp_path / "project")
    add_entries(member)
    first(monkeypatch, other_sharing(member).turn_off)
    with pytest.raises(UserError, match="just turned it off"):
        member.sharing.turn_off()
    assert member.texts() == sorted(SAID)


def test_sharing_turned_on_while_another_turns_it_off_is_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    member = Member(tmp_path / "project")
    add_entries(member)
    first(monkeypatch, other_sharing(member).turn_off)
    assert member.sharing.turn_on() == len(SAID)
    assert member.folder.exists()
    assert member.texts() == sorted(SAID)
    assert read_json(member.ltm)["patterns"]["discoveries"] == []
