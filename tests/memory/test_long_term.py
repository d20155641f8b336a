"""The project knowledge file: what other programs wrote, what two processes add, what is broken."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.errors import CorruptDocument, NewerDocument
from clio.memory.long_term import LongTermMemory, merge_entry, normal
from clio.memory.records import Entry, Provenance

DATA = Path(__file__).parent / "data"
NOW = 1_800_000_000.0
FROM = Provenance(session="s1", message="m1", asserted_by="user")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "project" / ".clio" / "ltm.json"


def ltm(path: Path) -> LongTermMemory:
    return LongTermMemory(path, lambda: NOW)


def read_json(path: Path) -> dict:  # type: ignore[type-arg]
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_missing_file_knows_nothing_and_is_not_made(path: Path) -> None:
    assert ltm(path).read().entries == ()
    assert not path.parent.exists()


def test_the_layout_of_a_new_file(path: Path) -> None:
    assert ltm(path).add_discovery("Config is YAML", 0.9, FROM)
    assert ltm(path).add_solution("denied", "chown", ("a.py",), FROM)
    assert ltm(path).add_pattern("atomic writes", 0.95, ("b.py",), FROM)
    source = {"session": "s1", "message": "m1", "asserted_by": "user"}
    assert read_json(path) == {
        "patterns": {
            "discoveries": [{"fact": "Config is YAML", "confidence": 0.9, "provenance": source, "timestamp": NOW}],
            "problem_solutions": [
                {
                    "error": "denied",
                    "solution": "chown",
                    "examples": ["a.py"],
                    "solved_count": 1,
                    "provenance": source,
                    "timestamp": NOW,
                }
            ],
            "code_patterns": [
                {
                    "pattern": "atomic writes",
                    "confidence": 0.95,
                    "examples": ["b.py"],
                    "provenance": source,
                    "timestamp": NOW,
                }
            ],
            "workflows": [],
            "failures": [],
            "context_rules": {},
        },
        "metadata": {"created": NOW, "version": "1.0", "last_updated": NOW},
    }
    assert path.stat().st_mode & 0o777 == 0o600


def test_reading_gives_back_what_was_added(path: Path) -> None:
    memory = ltm(path)
    memory.add_solution("denied", "chown", ("a.py",), FROM)
    assert memory.read().solutions == (
        Entry(kind="solution", text="denied", solution="chown", examples=("a.py",), confirmed=NOW, provenance=FROM),
    )
    assert memory.read().solutions[0].line == "denied → chown (e.g. a.py)"


def test_a_file_of_the_perl_clio_opens_and_keeps_everything(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes((DATA / "perl_ltm.json").read_bytes())
    before = read_json(path)
    knowledge = ltm(path).read()
    assert [entry.text for entry in knowledge.discoveries] == ["Config is YAML – naïve", "dup"]
    assert (knowledge.solutions[0].times, knowledge.solutions[0].examples) == (2, ("a.py", "b.py"))
    assert knowledge.patterns[0].confirmed == 1795229650
    ltm(path).add_discovery("new", 0.5, FROM)
    after = read_json(path)
    assert after["patterns"]["discoveries"].pop()["fact"] == "new"
    assert after["metadata"].pop("last_updated") == NOW
    before["metadata"].pop("last_updated")
    assert after == before


def test_unknown_fields_survive_everywhere(path: Path) -> None:
    path.parent.mkdir(parents=True)
    document = {
        "patterns": {"discoveries": [{"fact": "f", "mine": [1]}, "not an entry"], "ideas": [{"x": 1}]},
        "metadata": {"version": "1.0", "owner": "me"},
        "extra": {"deep": None},
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    assert not ltm(path).add_discovery("F", 0.7, FROM)
    after = read_json(path)
    assert after["extra"] == {"deep": None}
    assert after["metadata"]["owner"] == "me"
    assert after["patterns"]["ideas"] == [{"x": 1}]
    assert after["patterns"]["discoveries"] == [
        {"fact": "f", "mine": [1], "updated": NOW, "confidence": 0.7},
        "not an entry",
    ]


def test_the_same_said_again_confirms(path: Path) -> None:
    first = LongTermMemory(path, lambda: NOW - 100)
    assert first.add_discovery("Config is YAML", 0.9, FROM)
    assert not ltm(path).add_discovery("  config  is yaml. ", 0.4, FROM)
    (entry,) = ltm(path).read().discoveries
    assert (entry.text, entry.confidence, entry.confirmed) == ("Config is YAML", 0.9, NOW)
    assert read_json(path)["patterns"]["discoveries"][0]["timestamp"] == NOW - 100


def test_another_solution_of_the_same_error_is_kept_beside_it(path: Path) -> None:
    memory = ltm(path)
    assert memory.add_solution("denied", "chown", ("a",), FROM)
    assert memory.add_solution("denied", "run as root", (), FROM)
    assert not memory.add_solution("Denied", "chown.", ("a", "b"), FROM)
    found = memory.read().solutions
    assert [(entry.solution, entry.times, entry.examples) for entry in found] == [
        ("chown", 2, ("a", "b")),
        ("run as root", 1, ()),
    ]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_repetition_never_lowers_confidence(said: list[float]) -> None:
    entries: list[object] = []
    for number, confidence in enumerate(said):
        merge_entry(entries, {"fact": "f", "confidence": confidence}, ("fact",), float(number))
        assert entries[0]["confidence"] == max(said[: number + 1])  # type: ignore[index]
    assert len(entries) == 1


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
        ltm(path).add_discovery("f", 0.5, FROM)
    assert caught.value.moved_to is not None
    assert caught.value.moved_to.read_text(encoding="latin-1") == broken
    assert ltm(path).add_discovery("f", 0.5, FROM)


def test_a_newer_file_is_refused_and_untouched(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text('{"patterns": {}, "metadata": {"version": "2.0"}}', encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(NewerDocument):
        ltm(path).add_discovery("f", 0.5, FROM)
    assert path.read_bytes() == before


def test_two_processes_add_a_hundred_each(path: Path) -> None:
    script = """
import sys
from pathlib import Path
from clio.memory.long_term import LongTermMemory
from clio.memory.records import Provenance
for number in range(100):
    LongTermMemory(Path(sys.argv[1])).add_discovery(f"fact {sys.argv[2]} {number}", 0.5, Provenance())
"""
    running = [subprocess.Popen([sys.executable, "-c", script, str(path), name]) for name in ("a", "b")]
    assert [process.wait(60) for process in running] == [0, 0]
    facts = {entry.text for entry in ltm(path).read().discoveries}
    assert facts == {f"fact {name} {number}" for name in ("a", "b") for number in range(100)}
    assert [other.name for other in path.parent.iterdir() if other.name != "ltm.json"] == [".gitignore"]
