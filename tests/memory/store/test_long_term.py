"""The project knowledge file: content of other programs, additions of two processes, damage."""

import re
from pathlib import Path

import msgspec
import pytest

from clio.errors import CorruptDocument, NewerDocument, UserError
from clio.memory.store.record import PROJECT_KINDS, MemoryDraft, MemoryRecord, Saved
from tests.memory.store.ltm_support import FROM, NOW, PERL, add, ltm, read_json, write_json

ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "project" / ".clio" / "ltm.json"


def test_a_missing_file_is_empty_and_is_not_created(path: Path) -> None:
    assert ltm(path).read().entries == ()
    assert not path.parent.exists()


def test_the_layout_of_a_new_file(path: Path) -> None:
    memory = ltm(path)
    add(memory, "discovery", "Config is YAML", confidence=0.9)
    add(memory, "solution", "denied", solution="chown", examples=("a.py",))
    add(memory, "pattern", "atomic writes", confidence=0.95, examples=("b.py",))
    add(memory, "workflow", "", steps=("read", "fix", "test"), success_rate=1.0)
    add(memory, "failure", "Changed API", impact="Runtime errors", solution="grep first")
    add(memory, "rule", "use strict", context="lib/core/")
    document = read_json(path)
    source = {"session": "s1", "message": "m1", "asserted_by": "user"}
    patterns = document["patterns"]
    kept = {section: [dict(raw) for raw in raws] for section, raws in patterns.items() if section != "context_rules"}
    for raws in kept.values():
        for raw in raws:
            assert (raw.pop("provenance"), raw.pop("timestamp")) == (source, NOW)
            assert re.fullmatch(r"[dspwf]-[0-9a-f]{6}", raw.pop("id"))
    assert kept == {
        "discoveries": [{"fact": "Config is YAML", "confidence": 0.9, "count": 1}],
        "problem_solutions": [
            {"error": "denied", "solution": "chown", "confidence": 0.8, "examples": ["a.py"], "solved_count": 1}
        ],
        "code_patterns": [{"pattern": "atomic writes", "confidence": 0.95, "examples": ["b.py"], "count": 1}],
        "workflows": [{"sequence": ["read", "fix", "test"], "success_rate": 1.0, "confidence": 0.8, "count": 1}],
        "failures": [
            {
                "what": "Changed API",
                "impact": "Runtime errors",
                "prevention": "grep first",
                "confidence": 0.8,
                "occurrences": 1,
            }
        ],
    }
    assert patterns["context_rules"] == {"lib/core/": ["use strict"]}
    details = document["metadata"].pop("context_rule_details")["lib/core/"]["use strict"]
    assert details.pop("id").startswith("r-")
    assert details == {"confidence": 0.8, "count": 1, "provenance": source, "timestamp": NOW}
    assert document["metadata"] == {"created": NOW, "version": "1.0", "last_updated": NOW}
    assert path.stat().st_mode & 0o777 == 0o600


def test_added_entries_are_read_back(path: Path) -> None:
    memory = ltm(path)
    added = add(memory, "solution", "denied", solution="chown", examples=("a.py",))
    assert added == Saved(record=memory.read().of("solution")[0], action="new")
    assert added.record == MemoryRecord(
        kind="solution",
        id=added.record.id,
        content="denied",
        solution="chown",
        examples=("a.py",),
        created=NOW,
        updated=NOW,
        provenance=FROM,
        confidence=0.8,
    )
    assert added.record.line == "denied → chown (e.g. a.py)"


def test_a_file_of_the_perl_clio_opens_and_is_kept_completely(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes((PERL / "ltm_all_types.json").read_bytes())
    before = read_json(path)
    knowledge = ltm(path).read()
    assert [entry.line for entry in knowledge.entries] == [
        "Config is YAML – naïve",
        "dup",
        "err X → fix Y (e.g. a.py, b.py)",
        "atomic writes (e.g. a.py, c.py)",
        "read → fix → test (50% went well)",
        "Changed API – Runtime errors; prevented by: grep first",
        "lib/core/: use strict",
        "lib/core/: POD required",
    ]
    assert [entry.times for entry in knowledge.entries] == [1, 1, 2, 1, 2, 2, 1, 1]
    assert knowledge.of("pattern")[0].updated == 1795229650
    new = add(ltm(path), "discovery", "new", confidence=0.5).record
    after = read_json(path)
    assert after["patterns"]["discoveries"].pop()["fact"] == "new"
    assert after["metadata"].pop("last_updated") == NOW
    before["metadata"].pop("last_updated")
    assert after == before
    assert ltm(path).read().entries == (*knowledge.entries[:2], new, *knowledge.entries[2:])


def test_unknown_fields_are_kept_everywhere(path: Path) -> None:
    document = {
        "patterns": {"discoveries": [{"fact": "f", "mine": [1]}, "not an entry"], "ideas": [{"x": 1}]},
        "metadata": {"version": "1.0", "owner": "me"},
        "extra": {"deep": None},
    }
    write_json(path, document)
    found = add(ltm(path), "discovery", "F", confidence=0.7)
    assert not found.is_new
    after = read_json(path)
    assert after["extra"] == {"deep": None}
    assert after["metadata"]["owner"] == "me"
    assert after["patterns"]["ideas"] == [{"x": 1}]
    assert after["patterns"]["discoveries"] == [
        {
            "fact": "f",
            "mine": [1],
            "updated": NOW,
            "confidence": 0.7,
            "count": 2,
            "id": found.record.id,
            "provenance": msgspec.to_builtins(FROM),
            "version": 2,
            "since": NOW,
        },
        "not an entry",
    ]


def test_the_same_text_again_is_a_confirmation(path: Path) -> None:
    assert add(ltm(path, NOW - 100), "discovery", "Config is YAML", confidence=0.9).is_new
    assert not add(ltm(path), "discovery", "  config  is yaml. ", confidence=0.4).is_new
    (entry,) = ltm(path).read().of("discovery")
    assert (entry.content, entry.confidence, entry.updated) == ("Config is YAML", 0.9, NOW)
    assert (entry.created, entry.times) == (NOW - 100, 2)


def test_another_solution_of_the_same_error_is_kept_newest_first(path: Path) -> None:
    first = add(ltm(path, NOW - 9), "solution", "denied", solution="chown", examples=("a",)).record
    second = add(ltm(path, NOW - 5), "solution", "denied", solution="run as root")
    assert (second.is_new, second.beside) == (True, (first,))
    again = add(ltm(path), "solution", "Denied", solution="chown.", examples=("a", "b"))
    assert (again.is_new, again.beside) == (False, (second.record,))
    found = ltm(path).read().of("solution")
    assert [(entry.solution, entry.times, entry.examples) for entry in found] == [
        ("run as root", 1, ()),
        ("chown", 2, ("a", "b")),
    ]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (5, 5.0),
        ("5.5", 5.5),
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01", 0.0),
        ("soon", 0.0),
        (None, 0.0),
        ("nan", 0.0),
    ],
)
def test_times_are_read_in_any_format(path: Path, written: object, meant: float) -> None:
    entry = {"fact": "f", "timestamp": written, "confidence": "0.7"}
    write_json(path, {"patterns": {"discoveries": [entry]}})
    (found,) = ltm(path).read().of("discovery")
    assert (found.updated, found.confidence) == (meant, 0.7)


@pytest.mark.parametrize(
    "broken", ["{", "[]", '{"patterns": []}', '{"patterns": {"discoveries": {}}}', "\xff", '{"metadata": 1}']
)
def test_a_corrupt_file_is_moved_aside_and_the_next_add_works(path: Path, broken: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(broken, encoding="latin-1")
    with pytest.raises(CorruptDocument) as caught:
        add(ltm(path), "discovery", "f")
    assert caught.value.moved_to is not None
    assert caught.value.moved_to.read_text(encoding="latin-1") == broken
    assert add(ltm(path), "discovery", "f")


def test_a_file_of_a_newer_version_is_refused_and_not_changed(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text('{"patterns": {}, "metadata": {"version": "2.0"}}', encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(NewerDocument):
        add(ltm(path), "discovery", "f")
    assert path.read_bytes() == before


def test_rules_are_written_in_the_format_of_the_original(path: Path) -> None:
    write_json(path, {"patterns": {"context_rules": {"lib/core/": ["use strict", 7], "odd": "one text", "empty": []}}})
    memory = ltm(path)
    assert [entry.line for entry in memory.read().of("rule")] == ["lib/core/: use strict", "odd: one text"]
    add(memory, "rule", "use warnings", context="./lib/core")
    add(memory, "rule", "no tabs")
    assert read_json(path)["patterns"]["context_rules"] == {
        "lib/core/": ["use strict", 7, "use warnings"],
        "odd": ["one text"],
        "empty": [],
        "*": ["no tabs"],
    }
    strict, *_ = memory.read().of("rule")
    memory.forget([strict.id])
    assert read_json(path)["patterns"]["context_rules"]["lib/core/"] == [7, "use warnings"]
    confirmed = add(ltm(path, NOW + 5), "rule", "Use warnings.", context="lib/core/")
    assert (confirmed.is_new, confirmed.record.times, confirmed.record.updated) == (False, 2, NOW + 5)


def test_rules_in_a_list_are_read_and_become_an_object(path: Path) -> None:
    listed = ["no tabs", {"path": "lib/", "rule": "use strict"}, {"unlike": "a rule"}]
    write_json(path, {"patterns": {"context_rules": listed}})
    assert [entry.line for entry in ltm(path).read().of("rule")] == ["no tabs", "lib/: use strict"]
    add(ltm(path), "discovery", "f")
    rules = read_json(path)["patterns"]["context_rules"]
    assert rules == {"*": ["no tabs", {"unlike": "a rule"}], "lib/": ["use strict"]}


def test_a_handle_is_valid_as_long_as_the_entry_exists(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes((PERL / "ltm_all_types.json").read_bytes())
    before = [entry.id for entry in ltm(path).read().entries]
    assert len(set(before)) == len(before) == 8
    assert [id[:2] for id in before] == ["d-", "d-", "s-", "p-", "w-", "f-", "r-", "r-"]
    for entry in ltm(path).read().entries:
        ltm(path).update(entry.id, confidence=0.75)
    assert [entry.id for entry in ltm(path).read().entries] == before
    ltm(path).update(before[0], content="Config is TOML now")
    assert [entry.id for entry in ltm(path).read().entries] == before


def test_handles_are_unique(path: Path) -> None:
    twins = [{"fact": "a", "id": "d-1"}, {"fact": "b", "id": "d-1"}, {"fact": "c", "id": 7}, {"fact": "c"}]
    write_json(path, {"patterns": {"discoveries": twins}})
    ids = [entry.id for entry in ltm(path).read().entries]
    assert len(set(ids)) == 4
    assert ids[0] == "d-1"
    ltm(path).update(ids[2], confidence=1.0)
    assert read_json(path)["patterns"]["discoveries"][2]["other_id"] == 7
    assert [entry.id for entry in ltm(path).read().entries] == ids


def test_an_update_changes_only_the_named_fields(path: Path) -> None:
    write_json(path, {"patterns": {"failures": [{"what": "Changed API", "prevention": "grep first", "mine": 1}]}})
    (entry,) = ltm(path).read().entries
    changed = ltm(path).update(entry.id, impact="errors", confidence=2.0)
    assert (changed.impact, changed.solution, changed.confidence, changed.updated) == ("errors", "grep first", 1, NOW)
    assert read_json(path)["patterns"]["failures"] == [
        {
            "what": "Changed API",
            "prevention": "grep first",
            "mine": 1,
            "impact": "errors",
            "confidence": 1.0,
            "updated": NOW,
            "id": entry.id,
            "version": 2,
            "since": NOW,
        }
    ]


def test_an_update_of_a_workflow_keeps_its_name_and_changes_its_steps(path: Path) -> None:
    named = add(ltm(path), "workflow", "release", steps=("test", "tag")).record
    plain = add(ltm(path), "workflow", "", steps=("read", "fix")).record
    assert ltm(path).update(named.id, steps=("test", "tag", "push")).line == "release: test → tag → push"
    assert ltm(path).update(plain.id, steps=("read", "fix", "test")).line == "read → fix → test"


def test_an_impossible_update_gives_the_reason(path: Path) -> None:
    one = add(ltm(path), "discovery", "one").record
    other = add(ltm(path), "discovery", "other").record
    before = path.read_bytes()
    for changes, why in (
        ({"content": "Other."}, f"{other.id} already says that"),
        ({"content": " "}, "The fact is empty"),
        ({"colour": "red"}, "colour cannot be changed; only content"),
    ):
        with pytest.raises(UserError, match=why):
            ltm(path).update(one.id, **changes)
    with pytest.raises(UserError, match=f"no memory 'x-000000'.*|did you mean {one.id}"):
        ltm(path).update("x-000000", content="x")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("draft", "why"),
    [
        (MemoryDraft(kind="discovery", content=" \n"), "The fact is empty"),
        (MemoryDraft(kind="workflow", content=""), "The workflow is empty"),
        (MemoryDraft(kind="solution", content="denied"), "The solution is empty"),
        (MemoryDraft(kind="rule", content="x" * 10_001), "has 10,001 characters, more than the 10,000 allowed"),
        (MemoryDraft(kind="pattern", content="p", examples=tuple(map(str, range(51)))), "51 examples are too many"),
    ],
)
def test_an_incomplete_draft_is_refused_and_nothing_is_written(path: Path, draft: MemoryDraft, why: str) -> None:
    with pytest.raises(UserError, match=why):
        ltm(path).add(draft, FROM)
    assert not path.exists()


def test_text_that_cannot_be_encoded_is_repaired(path: Path) -> None:
    added = add(ltm(path), "discovery", "a \ud800 b", confidence=float("nan"))
    assert (added.record.content, added.record.confidence) == ("a ? b", 0.8)
    assert ltm(path).read().entries == (added.record,)


def test_the_example_in_the_format_documentation_opens(path: Path) -> None:
    page = (ROOT / "docs" / "formats" / "ltm.md").read_text(encoding="utf-8")
    (whole,) = re.findall(r"```json\n(.*?)```", page, re.S)
    path.parent.mkdir(parents=True)
    path.write_text(whole, encoding="utf-8")
    assert [entry.kind for entry in ltm(path).read().entries] == [*PROJECT_KINDS, "rule"]
    for field in ("id", "other_id", "quoted", "other_preventions", "example_hashes", "context_rule_details"):
        assert f"{field}" in page
