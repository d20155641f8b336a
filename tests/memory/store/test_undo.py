"""Undo: exact, once, and never over a later change."""

import itertools
import json
from pathlib import Path

import pytest

from clio.errors import StorageError, UserError
from clio.memory.store import ltm_store
from clio.memory.store.change_log import LOG_NAME, Change, ChangeLog, new_change
from clio.memory.store.record import MemoryDraft
from tests.memory.store.ltm_support import DAY, FROM, NOW, PERL, add, ltm, read_json, said_by
from tests.support.wording import mentions


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the original's file, with all kinds in it."""
    path = tmp_path / "project" / ".clio" / "ltm.json"
    path.parent.mkdir(parents=True)
    path.write_bytes((PERL / "ltm_all_types.json").read_bytes())
    return path


def log(path: Path) -> ChangeLog:
    return ChangeLog(path.with_name(LOG_NAME))


def last(path: Path) -> Change:
    return log(path).undoable()[-1]


def state(path: Path) -> tuple[object, object]:
    document = read_json(path)
    return document["patterns"], document["metadata"].get("context_rule_details")


def add_each_kind(path: Path) -> None:
    for kind, fields in (
        ("discovery", {"content": "new"}),
        ("discovery", {"content": "dup", "confidence": 1.0}),
        ("solution", {"content": "err X", "solution": "fix Z"}),
        ("solution", {"content": "err X", "solution": "fix Y", "examples": ("z.py",)}),
        ("pattern", {"content": "atomic writes", "examples": ("z.py",)}),
        ("workflow", {"content": "", "steps": ("read", "fix", "test"), "success_rate": 1.0}),
        ("failure", {"content": "changed api", "solution": "ask"}),
        ("rule", {"content": "no tabs", "context": "lib/core"}),
        ("rule", {"content": "use strict", "context": "lib/core/"}),
        ("rule", {"content": "everywhere"}),
    ):
        ltm(path).add(MemoryDraft(kind=kind, **fields), FROM)  # type: ignore[arg-type]


def test_every_kind_of_change_is_undone_exactly(path: Path) -> None:
    before = [state(path)]
    add_each_kind(path)
    entries = ltm(path).read().entries
    assert len(log(path).undoable()) == 10
    ltm(path).update(entries[0].id, content="changed", confidence=0.1)
    ltm(path).forget([entries[1].id, entries[3].id, entries[-1].id])
    ltm(path, NOW + 900 * DAY).prune(min_confidence=0.85)
    ltm(path).import_((PERL / "ltm.json").read_text(encoding="utf-8"), FROM)
    assert len(log(path).undoable()) == 14
    states: list[tuple[object, object]] = []
    while found := log(path).undoable():
        states.append(state(path))
        ltm(path).revert(found[-1])
        log(path).mark([found[-1].id], is_undone=True)
    assert len(states) == 14
    assert all(one != other for one, other in itertools.pairwise(states))
    assert [state(path)] == before
    assert ltm(path).archived() == ()


def test_undo_reports_the_restored_text(path: Path) -> None:
    added = add(ltm(path), "discovery", "new").record
    assert last(path).what == "added the fact “new”"
    assert last(path).key == added.id
    assert ltm(path).revert(last(path)) is None
    known = ltm(path).read().entries[0]
    ltm(path).forget([known.id])
    assert mentions(last(path).what, "forgot", "fact", "“Config is YAML – naïve”")
    assert ltm(path).revert(last(path)) == known
    ltm(path).forget([entry.id for entry in ltm(path).read().entries])
    assert last(path).what == "forgot 8 memories"
    assert ltm(path).revert(last(path)) is None


def test_undoing_a_restore_archives_the_entry_again(path: Path) -> None:
    known = ltm(path).read().entries[0]
    ltm(path).forget([known.id])
    before = ltm(path).archived(), state(path)
    assert add(ltm(path), "discovery", known.content).action == "restored"
    ltm(path).revert(last(path))
    assert (ltm(path).archived(), state(path)) == before


def test_undo_never_overwrites_a_later_change(path: Path) -> None:
    entry = add(ltm(path), "discovery", "new").record
    change = last(path)
    ltm(path).update(entry.id, confidence=0.1)
    before = path.read_bytes()
    with pytest.raises(UserError, match=f"“added the fact “new”” was not undone.*{entry.id}.*changed since"):
        ltm(path).revert(change)
    assert path.read_bytes() == before
    add(ltm(path), "discovery", "another thing altogether")  # of another entry: does not prevent it
    ltm(path).forget([entry.id])
    ltm(path).revert(last(path))


def test_undoing_twice_changes_nothing(path: Path) -> None:
    known = ltm(path).read().entries[0]
    ltm(path).forget([known.id])
    change, before = last(path), None
    for _ in range(2):
        ltm(path).revert(change)
        assert before in (None, path.read_bytes())
        before = path.read_bytes()
    assert ltm(path).archived() == ()


def test_a_change_of_another_store_is_refused(path: Path) -> None:
    with pytest.raises(UserError, match="not a change of project memory"):
        ltm(path).revert(new_change("note", "stored a note", at=NOW, before={"a": 1}))
    with pytest.raises(UserError, match="cannot be undone"):
        ltm(path).revert(new_change("ltm", "odd", at=NOW, before={"a": 1}))


def test_nothing_is_logged_if_the_file_cannot_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, document: object) -> None:
        raise OSError(28, "No space left on device")

    add(ltm(path), "discovery", "first")
    first = last(path)
    monkeypatch.setattr(ltm_store, "write_ltm", full)
    with pytest.raises(StorageError, match="No space left"):
        add(ltm(path), "discovery", "second")
    assert log(path).undoable() == (first,)


def test_nothing_changes_if_the_log_cannot_be_written(path: Path) -> None:
    log(path).path.mkdir()
    before = path.read_bytes()
    with pytest.raises(StorageError, match=r"was not changed.*memory.log.jsonl.*not a file"):
        add(ltm(path), "discovery", "new")
    assert path.read_bytes() == before


def test_a_logged_change_that_was_never_made_counts_as_undone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(path: Path, document: object) -> None:
        raise SystemExit

    monkeypatch.setattr(ltm_store, "write_ltm", die)
    monkeypatch.setattr(ChangeLog, "mark", lambda self, ids: None)  # a killed process marks nothing
    with pytest.raises(SystemExit):
        add(ltm(path), "discovery", "new", said_by("model"))
    monkeypatch.undo()
    before = path.read_bytes()
    assert ltm(path).revert(last(path)) is None
    assert path.read_bytes() == before


def test_a_copy_of_an_archived_entry_gets_its_own_handle(path: Path) -> None:
    one = add(ltm(path), "discovery", "new").record
    ltm(path).forget([one.id])
    kept = ltm(path).archived()
    elsewhere = {"patterns": {"discoveries": [{"fact": "new", "id": one.id}]}}
    assert ltm(path).import_(json.dumps(elsewhere), FROM) == (1, 0)
    (twin,) = (entry for entry in ltm(path).read().entries if entry.content == "new")
    assert twin.id != one.id
    ltm(path).forget([twin.id])
    ltm(path).revert(last(path))
    assert ltm(path).archived() == kept
