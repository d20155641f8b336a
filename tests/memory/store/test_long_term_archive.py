"""Archived project knowledge: what is pruned, where it goes, and how it is restored."""

from pathlib import Path

import pytest
from msgspec import structs

from clio.errors import StorageError, UserError
from clio.memory.store import change_log, ltm_store
from clio.memory.store.change_log import LOG_NAME, ChangeLog
from clio.memory.store.ltm_codec import read_ltm
from clio.memory.store.record import ALL_KINDS, AssertedBy, HistogramBar
from clio.memory.store.versions import LtmArchive
from tests.memory.store.ltm_support import DAY, NOW, PERL, add, ltm, read_json, said_by, stats, write_json


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "project" / ".clio" / "ltm.json"


def texts(path: Path) -> list[str]:
    return [entry.content for entry in ltm(path).read().entries]


def test_forgetting_moves_to_the_archive(path: Path) -> None:
    one, two, three = (add(ltm(path), "discovery", text).record for text in ("one", "two", "three"))
    assert ltm(path).forget([two.id, one.id, two.id]) == (two, one)
    assert texts(path) == ["three"]
    assert ltm(path).archived() == (one, two)
    kept = LtmArchive(ChangeLog(path.with_name(LOG_NAME))).read(read_ltm(path))
    assert [(item.kind, item.archived, item.because) for item in kept] == [("discovery", NOW, "forgotten")] * 2
    assert ltm(path).forget([]) == ()
    assert ltm(path).forget([three.id[:4]]) == (three,)


def test_an_unknown_handle_forgets_nothing(path: Path) -> None:
    one = add(ltm(path), "discovery", "one").record
    with pytest.raises(UserError, match=r"no memory 'd-zzzzzz'"):
        ltm(path).forget([one.id, "d-zzzzzz"])
    assert texts(path) == ["one"]
    add(ltm(path), "discovery", "two")
    with pytest.raises(UserError, match=r"Several memories have an id that begins with 'd-': d-\w+, d-\w+; type more"):
        ltm(path).forget(["d-"])


def test_a_pruned_entry_is_restored_with_its_history(path: Path) -> None:
    first = add(ltm(path, NOW - 200 * DAY), "discovery", "f", said_by("model"), confidence=0.9, examples=("a",)).record
    assert [entry.id for entry in ltm(path).prune().removed] == [first.id]
    back = add(ltm(path), "discovery", "F.", said_by("model"), confidence=0.5)
    assert (back.action, back.record.id) == ("restored", first.id)
    assert (back.record.created, back.record.updated, back.record.times) == (NOW - 200 * DAY, NOW, 2)
    assert (back.record.confidence, back.record.examples) == (0.9, ("a",))
    assert ltm(path).archived() == ()


def test_a_forgotten_entry_stated_again_has_only_the_new_text(path: Path) -> None:
    first = add(ltm(path, NOW - DAY), "discovery", "f", said_by("user"), confidence=0.9).record
    ltm(path).forget([first.id])
    back = add(ltm(path), "discovery", "f", said_by("model"), confidence=0.5)
    assert (back.action, back.record.created, back.record.times) == ("restored", NOW - DAY, 2)
    assert (back.record.confidence, back.record.provenance) == (0.5, said_by("model"))


@pytest.mark.parametrize("leaves", ["forgotten", "pruned"])
def test_restoring_confirms_nothing_and_the_memory_is_kept(path: Path, leaves: str) -> None:
    first = add(ltm(path, NOW - 200 * DAY), "discovery", "f", said_by("model"), confidence=0.9, examples=("a",)).record
    if leaves == "pruned":
        assert ltm(path).prune().removed == (first,)
    else:
        ltm(path).forget([first.id])
    back = ltm(path).restore(first.id)
    assert back == structs.replace(first, since=NOW)
    assert back.times == 1 and back.updated == NOW - 200 * DAY
    assert ltm(path).archived() == ()
    assert ltm(path, NOW + DAY).prune().removed == (), "it was restored a day ago"
    assert ltm(path, NOW + 91 * DAY).prune().removed == (back,)


def test_an_entry_that_another_memory_repeats_is_not_restored(path: Path) -> None:
    first = add(ltm(path), "discovery", "f").record
    ltm(path).forget([first.id])
    document = read_json(path)
    document["patterns"]["discoveries"].append({"fact": "F.", "id": "d-111111"})
    write_json(path, document)
    with pytest.raises(UserError, match="d-111111 says the same; nothing was restored"):
        ltm(path).restore(first.id)


def test_a_handle_used_meanwhile_is_not_given_twice(path: Path) -> None:
    first = add(ltm(path), "discovery", "f").record
    ltm(path).forget([first.id])
    document = read_json(path)
    document["patterns"]["discoveries"].append({"fact": "other", "id": first.id})
    write_json(path, document)
    assert add(ltm(path), "discovery", "f").record.id != first.id


@pytest.mark.parametrize(
    ("who", "confidence", "days", "why"),
    [
        ("model", 0.9, 91, "old"),
        ("model", 0.9, 89, None),
        ("model", 0.29, 1, "uncertain"),
        ("model", 0.3, 1, None),
        ("user", 0.5, 900, None),
        ("user", 0.49, 900, "old"),
        ("user", 0.1, 1, "uncertain"),
        ("tool", 0.9, 91, "old"),
    ],
)
def test_which_entries_are_pruned(path: Path, who: AssertedBy, confidence: float, days: float, why: str | None) -> None:
    entry = add(ltm(path, NOW - days * DAY), "discovery", "f", said_by(who), confidence=confidence).record
    dry = ltm(path).prune(dry_run=True)
    assert (dry.removed, dry.kept, dry.dry_run) == ((entry,) if why else (), 0 if why else 1, True)
    assert dry.why == ({entry.id: why} if why else {})
    assert ltm(path).read().entries == (entry,)
    done = ltm(path).prune()
    assert (done.removed, done.kept, done.why, done.dry_run) == (dry.removed, dry.kept, dry.why, False)
    assert ltm(path).archived() == done.removed
    assert stats(path).last_pruned == NOW


def test_age_counts_from_the_last_confirmation(path: Path) -> None:
    add(ltm(path, NOW - 400 * DAY), "discovery", "f", said_by("model"))
    add(ltm(path, NOW - 10 * DAY), "discovery", "f", said_by("model"))
    assert ltm(path).prune().removed == ()


def test_an_entry_without_a_date_has_no_age(path: Path) -> None:
    write_json(path, {"patterns": {"discoveries": [{"fact": "f"}], "context_rules": {"lib/": ["use strict"]}}})
    assert ltm(path).prune(max_age_days=0).removed == ()


@pytest.mark.parametrize("limits", [{"max_age_days": -1}, {"min_confidence": 1.1}, {"max_age_days": float("nan")}])
def test_invalid_limits_are_refused(path: Path, limits: dict[str, float]) -> None:
    with pytest.raises(UserError, match="give a number"):
        ltm(path).prune(**limits)  # type: ignore[arg-type]


def test_an_entry_that_could_not_be_archived_is_not_in_the_archive(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = add(ltm(path), "discovery", "f").record
    before = path.read_bytes()

    def full(path: Path, document: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ltm_store, "write_ltm", full)
    with pytest.raises(StorageError, match=r"was not changed: .*ltm.json.* \(No space left on device\)"):
        ltm(path).forget([entry.id])
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert (ltm(path).read().entries, ltm(path).archived()) == ((entry,), ())
    add(ltm(path, NOW + 5), "discovery", "f")
    ltm(path).update(entry.id, confidence=0.9)
    assert ltm(path).archived() == ()
    assert texts(path) == ["f"]


def test_an_entry_is_kept_if_the_log_cannot_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = add(ltm(path), "discovery", "f").record

    def full(path: Path, lines: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(change_log, "append_lines", full)
    with pytest.raises(StorageError, match="No space left"):
        ltm(path).forget([entry.id])
    assert ltm(path).read().entries == (entry,)


def test_stats_count_all_entries(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes((PERL / "ltm_all_types.json").read_bytes())
    (path.parent.parent / "a.py").write_text("x", encoding="utf-8")
    pruned = add(ltm(path, NOW - 400 * DAY), "discovery", "old", confidence=0.1).record
    add(ltm(path, NOW - 3 * DAY), "pattern", "p", said_by("model"), examples=("a.py",))
    ltm(path).forget([pruned.id])
    found = stats(path, 1795229650 + 5 * DAY)
    project = {"discovery": 2, "solution": 1, "pattern": 2, "workflow": 1, "failure": 1, "rule": 2}
    assert found.counts == dict.fromkeys(ALL_KINDS, 0) | project
    assert found.total == 9
    assert found.ages[:2] == (HistogramBar(label="within a day", count=1), HistogramBar(label="within a week", count=6))
    assert found.ages[-1] == HistogramBar(label="undated", count=2)
    assert sum(bar.count for bar in found.ages) == 9
    assert [bar.count for bar in found.confidences] == [0, 0, 0, 0, 9]
    assert [bar.label for bar in found.confidences][-1] == "0.8 to 1.0"
    assert found.asserted == {"model": 1, "unknown": 8}
    assert found.freshness == {"fresh": 1, "drifted": 0, "gone": 0, "unbound": 8}
    assert (found.archived, found.oldest, found.newest) == (1, 1795229650, NOW - 3 * DAY)
    assert found.file_bytes == path.stat().st_size
    assert found.archive_bytes == path.with_name(LOG_NAME).stat().st_size


def test_stats_of_an_empty_memory_are_zero_and_create_no_file(path: Path) -> None:
    found = stats(path)
    assert (found.total, found.archived, found.file_bytes, found.oldest, found.newest) == (0, 0, 0, 0.0, 0.0)
    assert not path.parent.exists()
