"""Taking changes back: exactly, once, and never over what someone did since."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from clio.errors import StorageError, UserError
from clio.memory.store import ltm_store
from clio.memory.store import undo_log as undo
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.record import MemoryDraft
from clio.memory.store.undo_log import Change, UndoLog, new_change
from tests.memory.store.ltm_support import DAY, FROM, NOW, PERL, add, ltm, read_json, said_by


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The original's file, with all kinds in it."""
    path = tmp_path / "project" / ".clio" / "ltm.json"
    path.parent.mkdir(parents=True)
    path.write_bytes((PERL / "ltm_all_types.json").read_bytes())
    return path


def log(path: Path) -> UndoLog:
    return UndoLog(path.with_name("memory.undo.jsonl"))


def last(path: Path) -> Change:
    change = log(path).last()
    assert change is not None
    return change


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


def test_every_kind_of_change_is_taken_back_exactly(path: Path) -> None:
    before = [state(path)]
    add_each_kind(path)
    entries = ltm(path).read().entries
    assert len(log(path).all()) == 10
    ltm(path).update(entries[0].id, content="changed", confidence=0.1)
    ltm(path).forget([entries[1].id, entries[3].id, entries[-1].id])
    ltm(path, NOW + 900 * DAY).prune(min_confidence=0.85)
    ltm(path).import_((PERL / "ltm.json").read_text(encoding="utf-8"), FROM)
    assert len(log(path).all()) == 14
    states: list[tuple[object, object]] = []
    while (change := log(path).last()) is not None:
        states.append(state(path))
        ltm(path).revert(change)
        log(path).take(change.id)
    assert len(states) == 14
    assert all(one != other for one, other in itertools.pairwise(states))
    assert [state(path)] == before
    assert ltm(path).archived() == ()


def test_taking_back_says_what_is_there_again(path: Path) -> None:
    added = add(ltm(path), "discovery", "new").record
    assert last(path).what == "added the discovery “new”"
    assert last(path).key == added.id
    assert ltm(path).revert(last(path)) is None
    known = ltm(path).read().entries[0]
    ltm(path).forget([known.id])
    assert last(path).what == "forgot the discovery “Config is YAML – naïve”"
    assert ltm(path).revert(last(path)) == known
    ltm(path).forget([entry.id for entry in ltm(path).read().entries])
    assert last(path).what == "forgot 8 entries"
    assert ltm(path).revert(last(path)) is None


def test_what_came_back_from_the_archive_goes_there_again(path: Path) -> None:
    known = ltm(path).read().entries[0]
    ltm(path).forget([known.id])
    before = read_json(path.with_name("ltm.archive.json")), state(path)
    assert add(ltm(path), "discovery", known.content).action == "restored"
    ltm(path).revert(last(path))
    assert (read_json(path.with_name("ltm.archive.json")), state(path)) == before


def test_a_change_since_is_never_undone_over(path: Path) -> None:
    entry = add(ltm(path), "discovery", "new").record
    change = last(path)
    ltm(path).update(entry.id, confidence=0.1)
    before = path.read_bytes()
    with pytest.raises(UserError, match=f"“added the discovery “new”” is not undone.*{entry.id}.*changed since"):
        ltm(path).revert(change)
    assert path.read_bytes() == before
    add(ltm(path), "discovery", "another thing altogether")  # of another entry: no hindrance
    ltm(path).forget([entry.id])
    ltm(path).revert(last(path))


def test_to_take_back_twice_changes_nothing(path: Path) -> None:
    known = ltm(path).read().entries[0]
    ltm(path).forget([known.id])
    change, before = last(path), None
    for _ in range(2):
        ltm(path).revert(change)
        assert before in (None, path.read_bytes())
        before = path.read_bytes()
    assert ltm(path).archived() == ()


def test_a_change_of_another_store_is_refused(path: Path) -> None:
    with pytest.raises(UserError, match="no change of the project knowledge"):
        ltm(path).revert(new_change("note", "stored a note", at=NOW, before={"a": 1}))
    with pytest.raises(UserError, match="cannot be taken back"):
        ltm(path).revert(new_change("ltm", "odd", at=NOW, before={"a": 1}))


def test_a_file_that_cannot_be_written_notes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, document: object) -> None:
        raise OSError(28, "No space left on device")

    add(ltm(path), "discovery", "first")
    first = last(path)
    monkeypatch.setattr(ltm_store, "write_ltm", full)
    with pytest.raises(StorageError, match="No space left"):
        add(ltm(path), "discovery", "second")
    assert log(path).all() == (first,)


def test_a_log_that_cannot_be_written_changes_nothing(path: Path) -> None:
    log(path).path.mkdir()
    before = path.read_bytes()
    with pytest.raises(StorageError, match=r"was not changed.*\(Is a directory\)"):
        add(ltm(path), "discovery", "new")
    assert path.read_bytes() == before


def test_without_a_log_nothing_is_noted(path: Path) -> None:
    LongTermMemory(path, project=path.parent.parent).add(MemoryDraft(kind="discovery", content="new"), FROM)
    assert not log(path).path.exists()


def test_the_log_holds_the_last_changes_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo, "FOLD_BYTES", 2_000)
    monkeypatch.setattr(undo, "MAX_CHANGES", 20)
    log = UndoLog(tmp_path / ".clio" / "memory.undo.jsonl")
    assert log.last() is None
    log.take("nothing")
    made = [new_change("note", f"change {number}", at=float(number)) for number in range(60)]
    for change in made:
        log.record(change)
    assert log.all() == tuple(made[-20:])
    assert log.path.read_bytes().count(b"\n") < 45
    log.take(made[-1].id)
    assert log.last() == made[-2]
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_one_giant_change_pushes_the_others_out_but_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo, "FOLD_BYTES", 1_000)
    monkeypatch.setattr(undo, "MOST_BYTES", 2_000)
    log = UndoLog(tmp_path / "memory.undo.jsonl")
    log.record(new_change("note", "small", at=0.0))
    giant = new_change("note", "giant", at=1.0, before="x" * 5_000)
    log.record(giant)
    assert log.all() == (giant,)
    log.record(small := new_change("note", "small", at=2.0))
    assert log.all() == (small,)


def test_lines_no_one_understands_cost_one_undo_only(tmp_path: Path) -> None:
    log = UndoLog(tmp_path / "memory.undo.jsonl")
    log.record(first := new_change("note", "first", at=0.0))
    with log.path.open("ab") as file:
        file.write(b'{"id": 7}\nnot json\n{"id":"torn')
    log.record(second := new_change("note", "second", at=1.0))
    assert log.all() == (first, second)


def test_two_processes_note_without_losing_one(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from clio.memory.store.undo_log import UndoLog, new_change
log = UndoLog(Path(sys.argv[1]))
for number in range(60):
    log.record(new_change("note", f"{sys.argv[2]} {number}", at=0.0))
"""
    path = tmp_path / "memory.undo.jsonl"
    running = [subprocess.Popen([sys.executable, "-c", script, str(path), name]) for name in ("a", "b")]
    assert [process.wait(60) for process in running] == [0, 0]
    changes = UndoLog(path).all()
    assert {change.what for change in changes} == {f"{name} {number}" for name in ("a", "b") for number in range(60)}
    assert len({change.id for change in changes}) == 120
    assert list(tmp_path.iterdir()) == [path]


def test_a_noted_change_that_was_never_made_is_as_good_as_undone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(path: Path, document: object) -> None:
        raise SystemExit

    monkeypatch.setattr(ltm_store, "write_ltm", die)
    monkeypatch.setattr(UndoLog, "take", lambda self, id: None)  # a killed process tidies nothing
    with pytest.raises(SystemExit):
        add(ltm(path), "discovery", "new", said_by("model"))
    monkeypatch.undo()
    before = path.read_bytes()
    assert ltm(path).revert(last(path)) is None
    assert path.read_bytes() == before


def test_a_twin_of_an_archived_entry_has_a_handle_of_its_own(path: Path) -> None:
    one = add(ltm(path), "discovery", "new").record
    ltm(path).forget([one.id])
    kept = read_json(path.with_name("ltm.archive.json"))
    elsewhere = {"patterns": {"discoveries": [{"fact": "new", "id": one.id}]}}
    assert ltm(path).import_(json.dumps(elsewhere), FROM) == (1, 0)
    (twin,) = (entry for entry in ltm(path).read().entries if entry.content == "new")
    assert twin.id != one.id
    ltm(path).forget([twin.id])
    ltm(path).revert(last(path))
    assert read_json(path.with_name("ltm.archive.json")) == kept
