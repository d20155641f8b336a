"""The project knowledge file: what other programs wrote, what two processes add, what is broken."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.errors import CorruptDocument, NewerDocument
from clio.memory.long_term import LongTermMemory
from clio.memory.ltm_kinds import to_raw
from clio.memory.ltm_merge import confirm
from clio.memory.ltm_text import normal
from clio.memory.records import Added, Entry, Kind, Provenance

PERL = Path(__file__).parent.parent / "fixtures" / "perl"
NOW = 1_800_000_000.0
FROM = Provenance(session="s1", message="m1", asserted_by="user")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "project" / ".clio" / "ltm.json"


def ltm(path: Path, now: float = NOW) -> LongTermMemory:
    return LongTermMemory(path, project=path.parent.parent, clock=lambda: now)


def add(memory: LongTermMemory, kind: Kind, text: str, said: Provenance = FROM, **fields: Any) -> Added:
    return memory.add(Entry(kind=kind, text=text, **fields), said)


def read_json(path: Path) -> dict:  # type: ignore[type-arg]
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_missing_file_knows_nothing_and_is_not_made(path: Path) -> None:
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


def test_reading_gives_back_what_was_added(path: Path) -> None:
    memory = ltm(path)
    added = add(memory, "solution", "denied", solution="chown", examples=("a.py",))
    assert added == Added(entry=memory.read().solutions[0], new=True)
    assert added.entry == Entry(
        kind="solution",
        id=added.entry.id,
        text="denied",
        solution="chown",
        examples=("a.py",),
        created=NOW,
        confirmed=NOW,
        provenance=FROM,
    )
    assert added.entry.line == "denied → chown (e.g. a.py)"


def test_a_file_of_the_perl_clio_opens_and_keeps_everything(path: Path) -> None:
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
    assert knowledge.patterns[0].confirmed == 1795229650
    new = add(ltm(path), "discovery", "new", confidence=0.5).entry
    after = read_json(path)
    assert after["patterns"]["discoveries"].pop()["fact"] == "new"
    assert after["metadata"].pop("last_updated") == NOW
    before["metadata"].pop("last_updated")
    assert after == before
    assert ltm(path).read().entries == (*knowledge.entries[:2], new, *knowledge.entries[2:])


def test_unknown_fields_survive_everywhere(path: Path) -> None:
    path.parent.mkdir(parents=True)
    document = {
        "patterns": {"discoveries": [{"fact": "f", "mine": [1]}, "not an entry"], "ideas": [{"x": 1}]},
        "metadata": {"version": "1.0", "owner": "me"},
        "extra": {"deep": None},
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    found = add(ltm(path), "discovery", "F", confidence=0.7)
    assert not found.new
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
            "id": found.entry.id,
            "provenance": msgspec.to_builtins(FROM),
        },
        "not an entry",
    ]


def test_the_same_said_again_confirms(path: Path) -> None:
    assert add(ltm(path, NOW - 100), "discovery", "Config is YAML", confidence=0.9).new
    assert not add(ltm(path), "discovery", "  config  is yaml. ", confidence=0.4).new
    (entry,) = ltm(path).read().discoveries
    assert (entry.text, entry.confidence, entry.confirmed) == ("Config is YAML", 0.9, NOW)
    assert (entry.created, entry.times) == (NOW - 100, 2)


def test_another_solution_of_the_same_error_is_kept_beside_it_newest_first(path: Path) -> None:
    first = add(ltm(path, NOW - 9), "solution", "denied", solution="chown", examples=("a",)).entry
    second = add(ltm(path, NOW - 5), "solution", "denied", solution="run as root")
    assert (second.new, second.beside) == (True, (first,))
    again = add(ltm(path), "solution", "Denied", solution="chown.", examples=("a", "b"))
    assert (again.new, again.beside) == (False, (second.entry,))
    found = ltm(path).read().solutions
    assert [(entry.solution, entry.times, entry.examples) for entry in found] == [
        ("run as root", 1, ()),
        ("chown", 2, ("a", "b")),
    ]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_repetition_never_lowers_confidence(said: list[float]) -> None:
    raw = to_raw(Entry(kind="discovery", text="f", confidence=said[0]))
    for number, confidence in enumerate(said):
        confirm("discovery", raw, to_raw(Entry(kind="discovery", text="f", confidence=confidence)), float(number))
        assert raw["confidence"] == max(said[: number + 1])


@pytest.mark.parametrize(("one", "other"), [("port 8080", "port 8081"), ("use x", "do not use x"), ("a-b", "a b")])
def test_what_differs_stays_apart(one: str, other: str) -> None:
    assert normal(one) != normal(other)


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
def test_times_in_any_form(path: Path, written: object, meant: float) -> None:
    path.parent.mkdir(parents=True)
    entry = {"fact": "f", "timestamp": written, "confidence": "0.7"}
    path.write_text(json.dumps({"patterns": {"discoveries": [entry]}}), encoding="utf-8")
    (found,) = ltm(path).read().discoveries
    assert (found.confirmed, found.confidence) == (meant, 0.7)


@pytest.mark.parametrize(
    "broken", ["{", "[]", '{"patterns": []}', '{"patterns": {"discoveries": {}}}', "\xff", '{"metadata": 1}']
)
def test_a_broken_file_is_set_aside_and_the_next_add_works(path: Path, broken: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(broken, encoding="latin-1")
    with pytest.raises(CorruptDocument) as caught:
        add(ltm(path), "discovery", "f")
    assert caught.value.moved_to is not None
    assert caught.value.moved_to.read_text(encoding="latin-1") == broken
    assert add(ltm(path), "discovery", "f")


def test_a_newer_file_is_refused_and_untouched(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text('{"patterns": {}, "metadata": {"version": "2.0"}}', encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(NewerDocument):
        add(ltm(path), "discovery", "f")
    assert path.read_bytes() == before
