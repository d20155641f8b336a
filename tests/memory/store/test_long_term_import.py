"""Import of another ltm.json: new entries, known entries, and what an import may not claim."""

import json
from pathlib import Path

import pytest

from clio.errors import NewerDocument, UserError
from clio.memory.store.record import AssertedBy
from tests.memory.store.ltm_support import FROM, NOW, PERL, add, ltm, read_json, said_by


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "project" / ".clio" / "ltm.json"


def knowledge(*discoveries: object, **patterns: object) -> str:
    return json.dumps({"patterns": {"discoveries": discoveries, **patterns}})


def test_all_kinds_are_imported_with_their_history(path: Path) -> None:
    text = (PERL / "ltm_all_types.json").read_text(encoding="utf-8")
    assert ltm(path).import_(text, said_by("model")) == (8, 0)
    entries = ltm(path).read().entries
    assert [entry.line for entry in entries][-2:] == ["lib/core/: use strict", "lib/core/: POD required"]
    assert [entry.times for entry in entries] == [1, 1, 2, 1, 2, 2, 1, 1]
    assert entries[0].created == 1795229650
    assert {entry.provenance for entry in entries} == {said_by("model")}
    assert read_json(path)["patterns"]["discoveries"][0]["verified"] == 1


def test_importing_the_same_file_again_changes_nothing(path: Path) -> None:
    add(ltm(path), "failure", "changed api", solution="ask first")
    add(ltm(path), "workflow", "", steps=("read", "fix", "test"), success_rate=1.0)
    text = (PERL / "ltm_all_types.json").read_text(encoding="utf-8")
    assert ltm(path).import_(text, FROM) == (6, 2)
    before = path.read_bytes()
    assert ltm(path).import_(text, FROM) == (0, 0)
    assert path.read_bytes() == before
    failure = ltm(path).read().of("failure")[0]
    assert (failure.solution, failure.also, failure.impact) == ("grep first", ("ask first",), "Runtime errors")
    assert ltm(path).import_(ltm(path).export(), FROM) == (0, 0)


def test_other_impacts_of_a_known_failure_come_in_once(path: Path) -> None:
    add(ltm(path), "failure", "changed api", impact="builds break")
    theirs = {"what": "Changed API", "impact": "Builds break.", "other_impacts": ["users complain"], "updated": NOW}
    text = knowledge(failures=[theirs])
    assert ltm(path).import_(text, said_by("user")) == (0, 1)
    (failure,) = read_json(path)["patterns"]["failures"]
    assert (failure["impact"], failure["other_impacts"]) == ("builds break", ["users complain"])
    assert ltm(path).import_(text, said_by("user")) == (0, 0)


def test_a_known_entry_gets_the_higher_values_of_both(path: Path) -> None:
    mine = add(ltm(path, NOW - 50), "solution", "denied", solution="chown", confidence=0.6, examples=("a",)).record
    theirs = {
        "error": "Denied.",
        "solution": "chown",
        "confidence": 0.9,
        "solved_count": 4,
        "examples": ["b"],
        "timestamp": NOW - 900,
        "updated": NOW - 10,
    }
    assert ltm(path).import_(knowledge(problem_solutions=[theirs]), said_by("user")) == (0, 1)
    (both,) = ltm(path).read().entries
    assert (both.id, both.content, both.confidence, both.times) == (mine.id, "denied", 0.9, 4)
    assert (both.examples, both.created, both.updated) == (("a", "b"), NOW - 50, NOW - 10)


def test_an_export_is_imported_elsewhere_unchanged(path: Path, tmp_path: Path) -> None:
    for kind, fields in (
        ("discovery", {"text": "naïve 漢字"}),
        ("rule", {"text": "use strict", "context": "lib/"}),
        ("workflow", {"text": "release", "steps": ("test", "tag")}),
    ):
        add(ltm(path), kind, **fields)  # type: ignore[arg-type]
    other = tmp_path / "other" / ".clio" / "ltm.json"
    assert ltm(other).import_(ltm(path).export(), FROM) == (3, 0)
    assert ltm(other).read() == ltm(path).read()


@pytest.mark.parametrize(
    ("claimed", "importer", "then"),
    [("user", "model", "model"), ("tool", "user", "tool"), ("user", "user", "user"), (None, "tool", "tool")],
)
def test_an_import_cannot_claim_more_trust_than_the_importer_has(
    path: Path, claimed: AssertedBy | None, importer: AssertedBy, then: AssertedBy
) -> None:
    source = {"provenance": {"session": "far", "asserted_by": claimed}} if claimed else {}
    ltm(path).import_(knowledge({"fact": "f"} | source), said_by(importer))
    (entry,) = ltm(path).read().entries
    assert entry.provenance is not None
    assert entry.provenance.asserted_by == then
    assert entry.provenance.session == ("far" if claimed else "s1")


def test_times_are_numbers_and_never_in_the_future(path: Path) -> None:
    facts = [
        {"fact": "a", "timestamp": "1970-01-01T00:01:00Z", "updated": 9e99},
        {"fact": "b", "timestamp": "soon"},
        {"fact": "c"},
    ]
    ltm(path).import_(knowledge(*facts), FROM)
    found = [(entry.created, entry.updated) for entry in ltm(path).read().entries]
    assert found == [(60.0, NOW), (0.0, 0.0), (NOW, NOW)]


def test_secrets_are_removed_from_every_text_and_hashes_are_not(path: Path) -> None:
    fact = {
        "fact": "is hunter2",
        "examples": ["hunter2.py", "a.py"],
        "example_hashes": {"a.py": "hunter2"},
        "deep": [{"x": "hunter2"}],
        "id": "d-1",
    }
    ltm(path).import_(knowledge(fact), FROM, lambda text: text.replace("hunter2", "[REDACTED]"))
    (raw,) = read_json(path)["patterns"]["discoveries"]
    assert raw["fact"] == "is [REDACTED]"
    assert raw["examples"] == ["[REDACTED].py", "a.py"]
    assert raw["deep"] == [{"x": "[REDACTED]"}]
    assert raw["example_hashes"] == {"a.py": "hunter2"}


def test_a_handle_in_use_is_replaced(path: Path) -> None:
    mine = add(ltm(path), "discovery", "mine").record
    ltm(path).import_(knowledge({"fact": "theirs", "id": mine.id}, {"fact": "own", "id": "d-own"}), FROM)
    ids = [entry.id for entry in ltm(path).read().entries]
    assert ids[0] == mine.id
    assert ids[2] == "d-own"
    assert len(set(ids)) == 3


def test_the_same_text_twice_in_a_document_is_one_entry(path: Path) -> None:
    twice = knowledge({"fact": "a", "confidence": 0.2}, {"fact": "A.", "confidence": 0.9})
    assert ltm(path).import_(twice, FROM) == (1, 0)
    assert [entry.confidence for entry in ltm(path).read().entries] == [0.9]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"patterns": []}', '{"patterns": {"discoveries": 1}}', "\ud800"])
def test_an_invalid_document_is_refused_and_nothing_changes(path: Path, text: str) -> None:
    add(ltm(path), "discovery", "f")
    before = path.read_bytes()
    with pytest.raises(UserError, match=r"This is not an ltm\.json \(.+\); nothing was imported"):
        ltm(path).import_(text, FROM)
    assert path.read_bytes() == before


def test_a_newer_document_is_refused(path: Path) -> None:
    with pytest.raises(NewerDocument, match=r"'the imported ltm\.json' has version 2"):
        ltm(path).import_('{"metadata": {"version": "2.0"}}', FROM)


def test_invalid_items_are_skipped(path: Path) -> None:
    assert ltm(path).import_(knowledge("text", {"fact": " "}, {"other": 1}, {"fact": 7}), FROM) == (0, 0)
    assert not path.exists()
