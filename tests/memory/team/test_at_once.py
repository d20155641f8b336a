"""Sharing is turned on and off, and things are said again, while other clios read and write."""

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
from tests.memory.team.team_support import NOW, Person
from tests.support.waiting import wait_for_later_file_times

SAID = ["Config is YAML", "The port is 8080", "atomic writes", "no tabs"]


def tell(person: Person) -> None:
    """Entries of three kinds."""
    for kind, text in zip(("discovery", "discovery", "pattern", "rule"), SAID, strict=True):
        add(person.memory, kind, text)


def another(person: Person) -> Sharing:
    """The sharing as another clio has it."""
    return Sharing(person.ltm, project=person.project, home=person.home, clock=lambda: NOW, redact=str)


def once(work: Callable[[], object]) -> Callable[[], None]:
    """The work at the first call, nothing at later ones."""
    waiting = [work]

    def run() -> None:
        if waiting:
            waiting.pop()()

    return run


@pytest.mark.parametrize("kind", ["discovery", "solution", "pattern", "rule"])
def test_all_is_there_for_who_reads_while_sharing_is_turned_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    person = Person(tmp_path / "project")
    tell(person)
    real, turn_off = team_folder._files, once(another(person).turn_off)

    def slow(folder: Path, problems: list[Any]) -> Iterator[tuple[str, stat_result]]:
        if folder.name == kind:
            turn_off()
        return real(folder, problems)

    monkeypatch.setattr(team_folder, "_files", slow)
    assert sorted(entry.content for entry in person.other_process().read().entries) == sorted(SAID)
    assert not person.folder.exists()


def test_what_is_said_again_while_someone_reads_is_there_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(tmp_path / "project")
    tell(person)
    last = max(person.memory.read().entries[:2], key=lambda entry: entry.id)
    real = team_folder._files
    say = once(lambda: person.other_process().update(last.id, content="Config is TOML"))

    def slow(folder: Path, problems: list[Any]) -> Iterator[tuple[str, stat_result]]:
        for number, found in enumerate(real(folder, problems)):
            if folder.name == "discovery" and number == 0:
                say()
            yield found

    reader = person.other_process()
    wait_for_later_file_times(tmp_path)
    monkeypatch.setattr(team_folder, "_files", slow)
    found = sorted(entry.content for entry in reader.read().entries)
    assert found == sorted(["Config is TOML", *(text for text in SAID if text != last.content)])


def test_what_was_read_alone_is_written_alone(tmp_path: Path) -> None:
    """Sharing begins, and is trusted, while another clio has what it will write in hand."""
    person = Person(tmp_path / "project", trusts=False, begun=False)
    tell(person)
    store = LongTermMemory(person.ltm, project=person.project, home=person.home)
    with store.changing() as (document, now):
        trust_team(person.project, person.home)
        person.folder.begin()
        store.put(document, now)
    assert list(person.files()) == ["format.json"]
    assert len(read_json(person.ltm)["patterns"]["discoveries"]) == 2
    assert person.texts() == sorted(SAID)
    assert person.sharing.turn_on() == len(SAID)
    assert person.texts() == sorted(SAID)


def test_what_was_read_with_a_folder_that_is_gone_is_kept_in_the_file(tmp_path: Path) -> None:
    """Another branch has no such folder."""
    person = Person(tmp_path / "project")
    tell(person)
    store = LongTermMemory(person.ltm, project=person.project, home=person.home)
    with store.changing() as (document, now):
        shutil.rmtree(person.folder.path)
        store.put(document, now)
    assert person.texts() == sorted(SAID)
    assert not person.folder.path.exists()


def first(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> None:
    """Have another clio do this just before the next one has the lock."""
    real, before = LongTermMemory.changing, once(work)

    def changing(self: LongTermMemory) -> AbstractContextManager[tuple[LtmDocument, float]]:
        before()
        return real(self)

    monkeypatch.setattr(LongTermMemory, "changing", changing)


def test_turned_off_by_two_it_is_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(tmp_path / "project")
    tell(person)
    first(monkeypatch, another(person).turn_off)
    with pytest.raises(UserError, match="just turned it off"):
        person.sharing.turn_off()
    assert person.texts() == sorted(SAID)


def test_turned_on_while_another_turns_it_off_it_is_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(tmp_path / "project")
    tell(person)
    first(monkeypatch, another(person).turn_off)
    assert person.sharing.turn_on() == len(SAID)
    assert person.folder.exists()
    assert person.texts() == sorted(SAID)
    assert read_json(person.ltm)["patterns"]["discoveries"] == []
