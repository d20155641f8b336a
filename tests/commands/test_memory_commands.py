"""/memory on real files: listing, changing, pruning, undoing."""

import json
import shutil
import time
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from clio.commands.command import CommandResult, Confirm, EditText
from clio.commands.registry import complete_command_line, run_command
from clio.memory.store.record import PROJECT_KINDS, MemoryDraft, Provenance
from clio.memory.system import MemorySystem
from clio.sessions.session import Session
from clio.sessions.state import SessionState
from clio.ui.completer import LineCompleter
from clio.ui.painter import count_cells
from clio.ui.tables import render_table
from tests.commands.harness import Harness, data, make_harness, ok, refused
from tests.support.wording import mentions

PERL = Path(__file__).parent.parent / "fixtures" / "perl"
DAY_S = 86_400.0
BY_MODEL = Provenance(session="", asserted_by="model")


def add(harness: Harness, words: str) -> str:
    """Add a memory; return its id."""
    return data(harness, f"/memory add {words}")["entry"]["id"]


def rows(result: CommandResult) -> list[tuple[str, ...]]:
    assert result.table is not None
    return list(result.table.rows)


def learned_before(harness: Harness, days: float, *entries: MemoryDraft) -> None:
    """Add memories that the model saved this many days ago."""
    past = MemorySystem(
        harness.loaded.project, harness.store, incognito=False, ltm=True, clock=lambda: time.time() - days * DAY_S
    )
    for entry in entries:
        past.store.add(entry, BY_MODEL)


def some_of_each_kind(harness: Harness) -> dict[str, str]:
    (harness.loaded.project / "a.py").write_text("a = 1\n", encoding="utf-8")
    return {
        kind: add(harness, f"{kind} {words}")
        for kind, words in {
            "discovery": "We deploy with make ship",
            "solution": "ImportError: yaml => pip install pyyaml",
            "pattern": "All writes are atomic --example a.py --confidence 90%",
            "workflow": "release: make test -> make tag -> make ship",
            "failure": "parallel migrations => take the lock",
            "rule": "lib/core/: use strict",
        }.items()
    }


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ('discovery it\'s a "good" day', {"kind": "discovery", "text": 'it\'s a "good" day'}),
        ("facts x", {"kind": "discovery"}),
        ("problem_solutions E => S", {"kind": "solution", "text": "E", "solution": "S"}),
        ("solution E → S", {"text": "E", "solution": "S"}),
        ("solution E -> S", {"text": "E", "solution": "S"}),
        ("solution no a->b => S", {"text": "no a->b", "solution": "S"}),
        ("solution f() -> int fails => annotate", {"text": "f() -> int fails", "solution": "annotate"}),
        ("failure W => P", {"text": "W", "solution": "P"}),
        ("failure W", {"text": "W", "solution": ""}),
        # A shell needs quotes around each side and step; the text does not.
        ("solution 'E: no '\"'\"'x'\"'\"'' => \"it's S\"", {"text": "E: no 'x'", "solution": "it's S"}),
        ("solution 'a' and 'b' => S", {"text": "'a' and 'b'", "solution": "S"}),
        ("failure 'W w' => 'P p'", {"text": "W w", "solution": "P p"}),
        ("workflow 'make test' -> 'make ship'", {"steps": ["make test", "make ship"]}),
        ("workflow lint, type, test", {"steps": ["lint", "type", "test"], "text": "lint → type → test"}),
        ("workflow a -> b, c -> d", {"steps": ["a", "b, c", "d"]}),
        ("workflow ci: lint, test", {"text": "ci", "steps": ["lint", "test"]}),
        ("workflow git commit -m 'fix: x' -> git push", {"steps": ["git commit -m 'fix: x'", "git push"]}),
        ("rule lib/: use strict", {"context": "lib/", "text": "use strict"}),
        ("rule *.py: format it", {"context": "*.py", "text": "format it"}),
        ("rule src: no cycles", {"context": "src", "text": "no cycles"}),
        ("rule Note: be kind", {"context": "*", "text": "Note: be kind"}),
        ("rule never commit to main", {"context": "*", "text": "never commit to main"}),
        ("pattern x --confidence 0.25", {"confidence": 0.25}),
        ("pattern --example a.py x --example b.py", {"text": "x", "examples": ["a.py", "b.py"]}),
    ],
)
def test_added_text_is_parsed(harness: Harness, words: str, expected: dict[str, Any]) -> None:
    (harness.loaded.project / "src").mkdir()
    result = data(harness, f"/memory add {words}")
    assert {name: result["entry"][name] for name in expected} == expected
    assert result["new"] is True
    [stored] = harness.memory.store.records(PROJECT_KINDS)
    assert stored.id == result["entry"]["id"]
    assert stored.provenance == Provenance(session=harness.session.id, message="", asserted_by="user")


def test_one_line_reports_the_result_of_adding(harness: Harness) -> None:
    first = ok(harness, "/memory add solution ImportError: yaml => pip install pyyaml")
    [entry] = harness.memory.store.records(PROJECT_KINDS)
    assert mentions(first.text, "Saved to project memory", "`ImportError: yaml → pip install pyyaml`", "`/memory undo`")
    again = ok(harness, "/memory add solution ImportError:  yaml => Pip install pyyaml.")
    assert mentions(again.text, "Confirmed", "`ImportError: yaml → pip install pyyaml`", "2 times", "80%")
    other = ok(harness, "/memory add solution ImportError: yaml => use uv sync")
    assert mentions(other.text, "alongside", "`pip install pyyaml`", "`/memory undo`")
    ok(harness, f"/memory forget {entry.id}")
    back = ok(harness, "/memory add solution ImportError: yaml => pip install pyyaml")
    assert back.text.startswith("Restored to project memory: ")
    rule = ok(harness, "/memory add rule lib/core/: use strict")
    assert mentions(rule.text, "Saved to project memory", "`use strict`", "`lib/core/`")
    assert "`be kind`, everywhere" in ok(harness, "/memory add rule be kind").text


@pytest.mark.parametrize(
    "line", ["We deploy with make ship", "'We deploy with make ship'", "fact We deploy with make ship"]
)
def test_a_text_without_a_kind_is_a_project_fact(harness: Harness, line: str) -> None:
    result = ok(harness, f"/memory add {line} --confidence 0.6")
    assert mentions(result.text, "Saved to project memory", "`We deploy with make ship`", "`/memory undo`")
    [entry] = harness.memory.store.records(PROJECT_KINDS)
    assert (entry.kind, entry.content, entry.confidence) == ("discovery", "We deploy with make ship", 0.6)
    ok(harness, "/memory undo")
    assert not harness.memory.store.records(PROJECT_KINDS)


@pytest.mark.parametrize("line", ["battery voltage is in mV", "-- battery cycles are limited", "factory resets"])
def test_a_fact_may_begin_with_a_word_like_a_kind(harness: Harness, line: str) -> None:
    ok(harness, f"/memory add {line}")
    [fact] = harness.memory.store.records(PROJECT_KINDS)
    assert (fact.kind, fact.content) == ("discovery", line.removeprefix("-- "))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/memory add", "Add what? Write /memory add TEXT, or /memory add with one of: fact TEXT, solution ERROR"),
        (
            "/memory add patern x",
            "There is no kind 'patern' of project memory; did you mean 'pattern'?",
        ),
        ("/memory add pattern", "A pattern needs a text: write /memory add pattern TEXT"),
        ("/memory add solution E", "A solution needs the error and its solution: write /memory add solution ERROR"),
        ("/memory add solution => S", "A solution needs the error and its solution"),
        ("/memory add failure => P", "A failure needs what failed"),
        ("/memory add workflow lint", "A workflow needs two steps or more"),
        ("/memory add pattern x --confidence 1.4", "--confidence takes a number from 0 to 1, not '1.4'"),
        ("/memory add pattern x --confidence", "--confidence needs a value"),
        ("/memory add discvery TEXT", "did you mean 'fact'? To save the text as a fact, write /memory add fact TEXT"),
        ("/memory list solu", "There is no kind 'solu' of memory; did you mean 'solution'?"),
        ("/memory list rules ptterns", "There is no kind 'ptterns' of memory"),
        ("/memory list --al", "There is no option '--al' here; did you mean '--all'?"),
        ("/memory show", "Which memory? Write /memory show ID"),
        ("/memory show d-nothing", "There is no memory 'd-nothing'"),
        ("/memory edit", "Which memory? Write /memory edit ID"),
        ("/memory forget", "Which memory? Write /memory forget ID"),
        ("/memory forget d-nothing --yes", "There is no memory 'd-nothing'"),
        ("/memory search", "Search for what? Write /memory search WORDS"),
        ("/memory stats now", "/memory stats (or count) takes no argument"),
        ("/memory prune now", "/memory prune: unknown argument 'now'"),
        ("/memory prune --days x", "--days takes a number from 0 to 100000, not 'x'"),
        ("/memory prune --below 2", "--below takes a number from 0 to 1, not '2'"),
        ("/memory prune --dyas 2", "did you mean '--days'?"),
        ("/memory undo 3", "/memory undo takes no argument"),
        ("/memory why not", "/memory why takes no argument"),
        ("/memory export a b", "/memory export takes one path"),
        ("/memory import", "Which file? Write /memory import PATH"),
        ("/memory lst", "did you mean '/memory list'?"),
    ],
)
def test_invalid_commands_are_reported(harness: Harness, line: str, said: str) -> None:
    assert said in refused(harness, line)
    assert harness.memory.store.records(PROJECT_KINDS) == ()


def test_an_id_may_be_shortened_and_similar_ones_are_suggested(harness: Harness) -> None:
    id = add(harness, "discovery We deploy with make ship")
    assert data(harness, f"/memory show {id[:4].upper()}")["id"] == id
    assert id in refused(harness, f"/memory show {id}0")


def test_the_list_is_grouped_by_kind(harness: Harness) -> None:
    ids = some_of_each_kind(harness)
    result = ok(harness, "/memory")
    assert result.text == "6 memories. Files: = unchanged."
    assert [(row[0], row[1]) for row in rows(result)] == [
        (id, "fact" if kind == "discovery" else kind) for kind, id in ids.items()
    ]
    assert rows(result)[2] == (ids["pattern"], "pattern", "All writes are atomic", "90%", "now", "=")
    (harness.loaded.project / "a.py").write_text("a = 2\n", encoding="utf-8")
    assert rows(ok(harness, "/memory list patterns"))[0][-1] == "≠"
    (harness.loaded.project / "a.py").unlink()
    listing = ok(harness, "/memory list code_patterns")
    assert (listing.text, rows(listing)[0][-1]) == ("1 memory. Files: ✗ missing.", "✗")
    assert data(harness, "/memory list pattern")["entries"][0]["freshness"] == "gone"
    run_command(harness, "/note set plan first this")
    assert rows(ok(harness, "/memory list"))[-1][:3] == ("plan", "keyed note", "first this")
    assert data(harness, "/memory list")["notes"] == 1


def test_an_empty_list_explains_how_to_begin(harness: Harness) -> None:
    assert ok(harness, "/memory").text.startswith("No memories yet; `/memory add TEXT`")
    assert mentions(ok(harness, "/memory list rules").text, "No rule", "`/memory add rule …`")
    assert mentions(ok(harness, "/memory list events").text, "No event", "`/memory remember TEXT --type event`")


def test_the_list_and_the_history_name_a_hard_limit_as_such(harness: Harness) -> None:
    ok(harness, "/prefs add our line length is 100 --score 0.5 --rule")
    [row] = rows(ok(harness, "/memory list"))
    assert row[2] == "our line length is 100 (hard limit)"
    assert "hard limit" in str(ok(harness, f"/memory history {row[0]}"))
    ok(harness, "/prefs add mocks --score 2")
    assert rows(ok(harness, "/memory list"))[0][2] == "mocks (disliked, 2 of 10)"
    ok(harness, "/prefs add always write tests")
    for command in ("/memory list", "/memory changes", f"/memory history {rows(ok(harness, '/memory list'))[0][0]}"):
        assert "always write tests (rule, 10 of 10)" in str(ok(harness, command).table), command


def test_the_list_has_every_kind_and_can_be_filtered_by_kind_and_scope(harness: Harness) -> None:
    ok(harness, "/memory add tests run with make test")
    ok(harness, "/memory add rule be kind")
    ok(harness, "/memory remember the office cat is called Miso")
    ok(harness, "/memory remember staging listens on 5433 --type fact")
    ok(harness, "/memory remember released on Friday --type event --scope user")
    ok(harness, "/memory remember I prefer tabs --type preference")
    ok(harness, "/note set plan ## Steps: first this")
    listed = ok(harness, "/memory")
    assert listed.text.startswith("7 memories.")
    assert listed.table is not None and listed.table.columns[:4] == ("id", "kind", "what", "scope")
    assert [(row[1], row[2], row[3]) for row in rows(listed)] == [
        ("fact", "staging listens on 5433", "project"),
        ("fact", "tests run with make test", "project"),
        ("rule", "be kind", "project"),
        ("preference", "I prefer tabs (liked, 9 of 10)", "user"),
        ("event", "released on Friday", "user"),
        ("note", "the office cat is called Miso", "project"),
        ("keyed note", "Steps: first this", "project"),
    ]
    found = data(harness, "/memory list")
    assert (len(found["entries"]), found["memories"], found["notes"]) == (2, 4, 1)
    for words, kinds in (
        ("fact", ["fact", "fact"]),
        ("discoveries", ["fact"]),
        ("notes", ["note", "keyed note"]),
        ("keyed note", ["keyed note"]),
        ("preferences", ["preference"]),
        ("--scope user", ["preference", "event"]),
        ("fact --scope project", ["fact", "fact"]),
        ("--kind rule", ["rule"]),
        ("rule event", ["rule", "event"]),
        ("--type fact", ["fact", "fact"]),
    ):
        assert [row[1] for row in rows(ok(harness, f"/memory list {words}"))] == kinds, words
    assert [one["content"] for one in data(harness, "/memory list events")["typed"]] == ["released on Friday"]
    assert "project or user, not 'team'" in refused(harness, "/memory list --scope team")


def test_a_long_list_shows_some_of_each_kind_and_says_so(harness: Harness) -> None:
    facts = [MemoryDraft(kind="discovery", content=f"fact number {number}") for number in range(60)]
    learned_before(harness, 1, *facts, MemoryDraft(kind="rule", content="be kind"))
    result = ok(harness, "/memory list")
    assert [row[1] for row in rows(result)] == ["fact"] * 39 + ["rule"]
    assert mentions(result.text, "61 memories", "40 shown", "39 of each kind", "`/memory list --all`")
    assert len(data(harness, "/memory list")["entries"]) == 61
    assert len(rows(ok(harness, "/memory list --all"))) == 61
    one = ok(harness, "/memory list discoveries")
    assert (len(rows(one)), "`/memory list discoveries --all`" in one.text) == (40, True)


def test_a_long_list_shows_as_many_of_each_kind_as_fit(harness: Harness) -> None:
    facts = [MemoryDraft(kind="discovery", content=f"fact number {number}") for number in range(30)]
    rules = [MemoryDraft(kind="rule", content=f"rule number {number}") for number in range(30)]
    learned_before(harness, 1, *facts, *rules, MemoryDraft(kind="pattern", content="names are nouns"))
    result = ok(harness, "/memory list")
    assert [row[1] for row in rows(result)] == ["fact"] * 19 + ["pattern"] + ["rule"] * 19
    assert "at most 19 of each kind" in result.text


def test_no_line_is_wider_than_the_terminal(harness: Harness) -> None:
    some_of_each_kind(harness)
    learned_before(
        harness,
        200,
        *(MemoryDraft(kind="discovery", content=f"{number} 漢字 " * 30, confidence=0.5) for number in range(120)),
    )
    harness.memory.prefix_fragments()
    for command in ("/memory list", "/memory stats", "/memory prune --dry-run", "/memory why"):
        table = ok(harness, command).table
        assert table is not None
        for width in (40, 80, 120):
            heading, lines = render_table(table, width)
            assert lines
            assert max(map(count_cells, [heading, *lines])) <= width, command
            if command == "/memory stats":
                assert all(line.count("█") < 10 and not line.startswith(" ·") for line in lines)
                assert "kind        fact        121  █████████" in lines


def test_the_bars_of_the_statistics_have_a_scale_per_group(harness: Harness) -> None:
    some_of_each_kind(harness)
    learned_before(
        harness,
        10,
        MemoryDraft(kind="discovery", content="learned before"),
        MemoryDraft(kind="discovery", content="too"),
    )
    harness.memory.store.add(MemoryDraft(content="The port is 8080", kind="fact"))
    harness.memory.store.add(MemoryDraft(key="plan", content="first the lexer"))
    result = ok(harness, "/memory stats")
    shown = {row[1]: row[2:] for row in rows(result)}
    assert shown["fact"] == ("4", "█████████")
    assert shown["keyed note"] == ("1", "██▎")
    assert shown["rule"] == ("1", "██▎")
    assert shown["a day"] == ("8", "█████████")
    assert shown["a week"] == ("0", "")
    assert shown["a month"] == ("2", "██▎")
    assert shown["80–100%"][0] == "9"
    assert shown["unchanged"][0] == "1"
    assert shown["you"][0] == "6"
    assert (shown["the model"][0], shown["unknown"][0]) == ("2", "1")
    assert mentions(result.text, "10 memories", "just now", "10 days ago")
    stats = data(harness, "/memory stats")
    assert (stats["total"], stats["counts"]["discovery"], stats["notes"]) == (10, 3, 1)
    assert (stats["all_counts"]["discovery"], stats["all_counts"]["fact"]) == (3, 1)
    assert ok(harness, "/memory stats").table is not None


def test_search_ranks_entries_and_notes(harness: Harness) -> None:
    ids = some_of_each_kind(harness)
    run_command(harness, "/note set deploying " + "padding " * 60 + "then we deploy " + "padding " * 60)
    result = ok(harness, "/memory search how do we deploy")
    assert {row[0] for row in rows(result)} >= {ids["discovery"], "deploying"}
    [note] = [row for row in rows(result) if row[1] == "note"]
    assert "then we deploy" in note[2]
    assert "`/session search how do we deploy`" in result.text
    hits = data(harness, "/memory search deploy")["hits"]
    assert [(hit["id"], hit["key"]) for hit in hits if hit["kind"] == "note"] == [("", "deploying")]
    assert data(harness, '/memory search "make ship"')["query"] == "make ship"
    for command in ("/memory search", "/note search"):
        assert "'--strict'" in refused(harness, f"{command} deploy --strict")
        assert ok(harness, f"{command} -- deploy --strict")
    for query in ("-- deploy --strict", '"deploy --strict"'):
        assert data(harness, f"/memory search {query}")["query"] == "deploy --strict"
    none = ok(harness, "/memory search zebra")
    assert none.table is None
    assert none.text.startswith("No memory matches `zebra`.")


def test_show_names_the_source_of_an_entry(harness: Harness) -> None:
    harness.talk("the import of yaml fails")
    harness.session.rename("yaml trouble")
    first = add(harness, "solution ImportError: yaml => pip install pyyaml --example a.py --example b.py")
    before = harness.session.id
    harness.start()
    second = add(harness, "solution ImportError: yaml => use uv sync")
    shown = dict(rows(ok(harness, f"/memory show {first}")))
    assert (shown["error"], shown["solution"]) == ("ImportError: yaml", "pip install pyyaml")
    assert shown["stated by"] == "you"
    assert shown["session"].startswith("“yaml trouble” (") and shown["session"].endswith(before)
    assert shown["other solution"] == f"{second}: use uv sync"
    assert [row[1] for row in rows(ok(harness, f"/memory show {first}")) if row[0] == "example"] == ["a.py", "b.py"]
    assert dict(rows(ok(harness, f"/memory show {second}")))["session"] == "this session"
    ok(harness, f"/memory forget {first}")
    assert data(harness, f"/memory show {second}")["archived"][0]["id"] == first
    assert "pip install pyyaml" in dict(rows(ok(harness, f"/memory show {second}")))["in the archive"]
    harness.store.delete(before)
    ok(harness, "/memory undo")
    assert dict(rows(ok(harness, f"/memory show {first}")))["session"] == f"{before}, which is no longer stored"


def test_show_of_each_kind_lists_its_fields(harness: Harness) -> None:
    ids = some_of_each_kind(harness)
    shown = {kind: rows(ok(harness, f"/memory show {id}")) for kind, id in ids.items()}
    assert ("text", "We deploy with make ship") in shown["discovery"]
    assert shown["workflow"][:4] == [
        ("name", "release"),
        ("step 1", "make test"),
        ("step 2", "make tag"),
        ("step 3", "make ship"),
    ]
    assert shown["failure"][:2] == [("failed", "parallel migrations"), ("prevention", "take the lock")]
    assert shown["rule"][:2] == [("rule", "use strict"), ("applies to", "lib/core/")]
    assert shown["pattern"][1:2] == [("example", "a.py (unchanged)")]


@pytest.mark.parametrize(
    ("kind", "words", "expected"),
    [
        ("discovery", "We ship on Fridays", {"text": "We ship on Fridays"}),
        ("solution", "=> use uv sync", {"text": "ImportError: yaml", "solution": "use uv sync"}),
        ("solution", "ModuleNotFoundError", {"text": "ModuleNotFoundError", "solution": "pip install pyyaml"}),
        ("solution", "E => S", {"text": "E", "solution": "S"}),
        ("failure", "=> lock first", {"text": "parallel migrations", "solution": "lock first"}),
        ("rule", "lib/: be strict", {"context": "lib/", "text": "be strict"}),
        ("rule", "be strict", {"context": "lib/core/", "text": "be strict"}),
        ("workflow", "lint, test", {"text": "lint → test", "steps": ["lint", "test"]}),
        ("pattern", "--confidence 0.4", {"text": "All writes are atomic", "confidence": 0.4, "examples": ["a.py"]}),
        ("pattern", "--example b.py", {"examples": ["b.py"]}),
    ],
)
def test_edit_with_a_text_changes_the_main_field(
    harness: Harness, kind: str, words: str, expected: dict[str, Any]
) -> None:
    ids = some_of_each_kind(harness)
    before = harness.memory.store.get(ids[kind])
    result = data(harness, f"/memory edit {ids[kind]} {words}")
    assert result["entry"]["id"] == result["before"]["id"] == ids[kind]
    assert {name: result["entry"][name] for name in expected} == expected
    ok(harness, "/memory undo")
    assert harness.memory.store.get(ids[kind]) == before


def test_an_edited_entry_counts_as_stated_by_the_user(harness: Harness) -> None:
    learned_before(harness, 1, MemoryDraft(kind="discovery", content="We deploy by hand"))
    [entry] = harness.memory.store.records(PROJECT_KINDS)
    ok(harness, f"/memory edit {entry.id} We deploy with make ship")
    changed = harness.memory.store.get(entry.id)
    assert changed.provenance is not None
    assert changed.provenance.asserted_by == "user"
    assert changed.updated > entry.updated


def editing(result: CommandResult) -> EditText:
    assert isinstance(result.follow_up, EditText)
    return result.follow_up


def test_edit_without_a_text_opens_the_editor_and_loses_nothing(harness: Harness) -> None:
    id = some_of_each_kind(harness)["pattern"]
    opened = editing(ok(harness, f"/memory edit {id}"))
    wrong = opened.text.replace("atomic", "atomic and synced").replace("confidence: 0.9", "confidence: very")
    result = opened.then(wrong)
    assert not result.ok
    assert mentions(result.text, id, "not changed", "line 4", "confidence", "0 to 1", "'very'")
    assert result.verbatim == wrong
    again = editing(result)
    assert again.text.startswith("# ") and mentions(again.text, "NOT SAVED", "line 4", "confidence", "number")
    assert again.text.splitlines()[1:] == wrong.splitlines()[1:]
    assert harness.memory.store.get(id).content == "All writes are atomic"
    done = again.then(again.text.replace("very", "50%"))
    assert done.ok, done.text
    entry = harness.memory.store.get(id)
    assert (entry.content, entry.confidence) == ("All writes are atomic and synced", 0.5)
    assert opened.then(opened.text + "\n\n").ok


def test_an_edit_that_duplicates_another_entry_is_shown_again(harness: Harness) -> None:
    first, second = add(harness, "discovery one thing"), add(harness, "discovery another thing")
    opened = editing(ok(harness, f"/memory edit {second}"))
    result = opened.then(opened.text.replace("another", "one"))
    assert not result.ok
    assert first in result.text
    assert "one thing" in editing(result).text


def test_forget_asks_only_for_several_and_can_be_undone(harness: Harness) -> None:
    ids = list(some_of_each_kind(harness).values())
    one = ok(harness, f"/memory forget {ids[0]}")
    assert mentions(one.text, "archive", "`We deploy with make ship`", "`/memory undo`")
    asked = ok(harness, f"/memory forget {ids[1]} {ids[2]} {ids[1]}")
    assert isinstance(asked.follow_up, Confirm)
    assert asked.follow_up.question.startswith("Move 2 memories to the archive? ")
    assert len(harness.memory.store.records(PROJECT_KINDS)) == 5
    done = data(harness, asked.follow_up.then)
    assert {entry["id"] for entry in done["forgotten"]} == {ids[1], ids[2]}
    assert len(harness.memory.store.records(PROJECT_KINDS)) == 3
    assert ok(harness, "/memory undo").text == "Undone: forgot 2 memories."
    ok(harness, "/memory undo")
    assert {entry.id for entry in harness.memory.store.records(PROJECT_KINDS)} == set(ids)


def test_the_archive_is_listed_with_the_command_that_restores(harness: Harness) -> None:
    assert mentions(ok(harness, "/memory list archive").text, "archive", "empty")
    id = add(harness, "discovery We deploy with make ship")
    ok(harness, f"/memory forget {id}")
    result = ok(harness, "/memory list archived")
    assert mentions(result.text, "1 memory", "archive")
    assert [row[:3] for row in rows(result)] == [(id, "fact", "We deploy with make ship")]
    assert [entry["id"] for entry in data(harness, "/memory list archive")["archived"]] == [id]
    assert data(harness, "/memory add discovery we deploy with make ship.")["restored"] is True
    assert data(harness, "/memory list archive")["archived"] == []


def test_undo_goes_back_to_the_beginning(harness: Harness) -> None:
    some_of_each_kind(harness)
    for left in (5, 4, 3, 2, 1, 0):
        ok(harness, "/memory undo")
        assert len(harness.memory.store.records(PROJECT_KINDS)) == left
    assert "undo" in refused(harness, "/memory undo")


def test_prune_lists_asks_and_removes(harness: Harness) -> None:
    learned_before(harness, 120, MemoryDraft(kind="discovery", content="an old fact"))
    learned_before(harness, 1, MemoryDraft(kind="pattern", content="a doubtful one", confidence=0.1))
    ids = some_of_each_kind(harness)
    dry = ok(harness, "/memory prune --dry-run")
    assert dry.follow_up is None
    assert mentions(dry.text, "2 memories", "90 days", "30%", "6")
    assert [(row[2], row[-1]) for row in rows(dry)] == [("an old fact", "old"), ("a doubtful one", "uncertain")]
    asked = ok(harness, "/memory prune")
    assert isinstance(asked.follow_up, Confirm)
    assert asked.follow_up.question == "Move 2 memories to the archive?"
    assert len(harness.memory.store.records(PROJECT_KINDS)) == 8
    assert run_command(harness, "/memory prune --dry-run --yes").table == dry.table
    done = data(harness, asked.follow_up.then)
    assert {entry["because"] for entry in done["removed"]} == {"old", "uncertain"}
    assert (done["kept"], done["dry_run"]) == (6, False)
    assert {entry.id for entry in harness.memory.store.records(PROJECT_KINDS)} == set(ids.values())
    assert ok(harness, "/memory prune").text.startswith(
        "Nothing to prune: none of 6 memories is unconfirmed for 90 days"
    )
    ok(harness, "/memory undo")
    assert len(harness.memory.store.records(PROJECT_KINDS)) == 8
    assert len(data(harness, "/memory prune --days 0.5 --below 5% --dry-run")["removed"]) == 2
    assert len(data(harness, "/memory prune --days 0.5 --below 5% --yes")["removed"]) == 2


def test_why_lists_what_the_model_got(harness: Harness) -> None:
    assert mentions(ok(harness, "/memory why").text, "No memories")
    ids = some_of_each_kind(harness)
    (harness.loaded.project / "lib" / "core").mkdir(parents=True)
    harness.memory.prefix_fragments()
    result = ok(harness, "/memory why")
    assert {row[0] for row in rows(result)} == set(ids.values())
    assert mentions(result.text, "`project_knowledge`", "`.clio/ltm.json`", "6 of 6")
    [given] = data(harness, "/memory why")
    assert given["left_out"] == 0
    assert {item["entry"]["id"] for item in given["items"]} == set(ids.values())
    learned_before(
        harness, 1, *(MemoryDraft(kind="discovery", content=f"fact number {number}") for number in range(40))
    )
    harness.memory.prefix_fragments()
    assert "; 26 left out." in ok(harness, "/memory why").text
    add(harness, "discovery something quite new")
    harness.memory.turn_fragments("go on")
    shown = rows(ok(harness, "/memory why"))
    assert "something quite new" in shown[0][2] and len(shown) <= 20, "the newest come first, on one screen"


def test_why_reports_that_project_memory_is_off(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, ltm=False)
    add(harness, "discovery We deploy with make ship")
    harness.memory.prefix_fragments()
    assert ok(harness, "/memory why").text.endswith("Project memory is off (--no-ltm).")
    harness.session.close()


def test_export_writes_once_and_redacts(harness: Harness, tmp_path: Path) -> None:
    some_of_each_kind(harness)
    stored = harness.loaded.project / ".clio" / "ltm.json"
    token = "ghp_" + "Zk3vQ9xW7rTb2LmN8pYd4HsJ6fGc1AuE5oBi"
    raw = json.loads(stored.read_text(encoding="utf-8"))
    raw["patterns"]["discoveries"][0]["fact"] = f'the "token" is \\ {token}'
    raw["patterns"]["unknown_section"] = [{"kept": token}]
    stored.write_text(json.dumps(raw), encoding="utf-8")
    shown = json.loads(ok(harness, "/memory export --what knowledge").verbatim)
    assert shown == data(harness, "/memory export --what knowledge")
    assert shown["patterns"]["problem_solutions"][0]["error"] == "ImportError: yaml"
    path = tmp_path / "to hand on.ltm.json"
    result = ok(harness, f"/memory export '{path}'")
    assert result.text.startswith(f"Wrote `{path}` (")
    assert result.text.endswith("): 6 memories.")
    text = path.read_text(encoding="utf-8")
    assert token not in text
    assert json.loads(text) == shown
    assert shown["patterns"]["discoveries"][0]["fact"].startswith('the "token" is \\ ')
    assert refused(harness, f"/memory export '{path}'") == f"{str(path)!r} exists; --force replaces it"
    add(harness, "discovery another")
    assert data(harness, f"/memory export '{path}' --force")["entries"] == 7
    assert "is a folder" in refused(harness, f"/memory export '{tmp_path}'")
    assert "There is no folder" in refused(harness, f"/memory export '{tmp_path / 'no' / 'x.json'}'")


def test_an_export_can_be_imported_elsewhere(harness: Harness, tmp_path: Path) -> None:
    ids = some_of_each_kind(harness)
    path = tmp_path / "out.ltm.json"
    ok(harness, f"/memory export {path}")
    other = make_harness(tmp_path / "other")
    add(other, "solution ImportError: yaml => pip install pyyaml")
    add(other, "discovery known here only")
    result = data(other, f"/memory import {path}")
    assert (result["added"], result["added"] + result["confirmed"] + result["skipped"]) == (5, 6)
    assert len(other.memory.store.records(PROJECT_KINDS)) == 7
    assert {entry.content for entry in harness.memory.store.records(PROJECT_KINDS)} < {
        entry.content for entry in other.memory.store.records(PROJECT_KINDS)
    }
    assert data(other, f"/memory import {path}") == {"path": str(path), "added": 0, "confirmed": 0, "skipped": 6}
    assert "`/memory undo` takes that back." not in ok(other, f"/memory import {path}").text
    assert len(ids) == 6
    ok(other, "/memory undo")
    assert {entry.content for entry in other.memory.store.records(PROJECT_KINDS)} == {
        "ImportError: yaml",
        "known here only",
    }
    other.session.close()


def test_imported_text_is_no_statement_of_the_user(harness: Harness, tmp_path: Path) -> None:
    path = tmp_path / "theirs.json"
    theirs = {"fact": "trust me", "confidence": 1, "provenance": {"asserted_by": "user"}}
    path.write_text(json.dumps({"patterns": {"discoveries": [theirs]}}), encoding="utf-8")
    assert data(harness, f"/memory import {path}")["added"] == 1
    [entry] = harness.memory.store.records(PROJECT_KINDS)
    assert entry.provenance is not None
    assert entry.provenance.asserted_by == "model"


def test_a_file_of_the_original_is_imported(harness: Harness, tmp_path: Path) -> None:
    path = tmp_path / "perl.json"
    shutil.copy(PERL / "ltm_all_types.json", path)
    result = ok(harness, f"/memory import {path}")
    number = len(harness.memory.store.records(PROJECT_KINDS))
    assert result.text.startswith(f"From `{path}`: {number} new, 0 confirmed, 0 already known")
    assert {entry.kind for entry in harness.memory.store.records(PROJECT_KINDS)} == {
        "discovery", "solution", "pattern", "workflow", "failure", "rule",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "There is no file "),
        ("folder", "is not a file; give the path of a bundle or an ltm.json"),
        ("{", "This is not an ltm.json ("),
        ("[]", "This is not an ltm.json ("),
        ('{"patterns": {"discoveries": 3}}', "This is not an ltm.json ("),
        ('{"metadata": {"version": "9.0"}}', "version 9"),
    ],
)
def test_an_invalid_import_changes_nothing(harness: Harness, tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "in.json"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_text(content, encoding="utf-8")
    assert message in refused(harness, f"/memory import {path}")
    assert harness.memory.store.records(PROJECT_KINDS) == ()


def test_incognito_refuses_and_changes_nothing(tmp_path: Path) -> None:
    ordinary = make_harness(tmp_path)
    id = add(ordinary, "discovery We deploy with make ship")
    ordinary.session.close()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    harness = make_harness(tmp_path, incognito=True)
    for line in (
        "list", "search x", "show x", "add discovery x", f"edit {id}", f"forget {id}", "stats", "prune", "why",
        "undo", "export", "export x.json", "import x.json",
    ):  # fmt: skip
        assert "Memory is off with --incognito" in refused(harness, f"/memory {line}")
    assert list(complete_command_line(harness, "/memory show ")) == []
    harness.session.close()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def offered(harness: Harness, typed: str) -> list[str]:
    return [
        typed[: len(typed) - length] + suggestion.text for suggestion, length in complete_command_line(harness, typed)
    ]


def test_kinds_ids_options_and_paths_are_completed(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = some_of_each_kind(harness)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out.json").touch()
    assert "/memory stats" in offered(harness, "/memory s")
    assert offered(harness, "/memory list so") == ["/memory list solution"]
    assert offered(harness, "/memory add wo") == ["/memory add workflow "]
    assert offered(harness, f"/memory show {ids['rule'][:3]}") == [f"/memory show {ids['rule']}"]
    notes = {suggestion.text: suggestion.note for suggestion, _ in complete_command_line(harness, "/memory edit ")}
    assert notes[ids["rule"]] == "lib/core/: use strict"
    several = offered(harness, f"/memory forget {ids['rule']} ")
    assert f"/memory forget {ids['rule']} {ids['failure']}" in several
    assert f"/memory forget {ids['rule']} {ids['rule']}" not in several
    assert offered(harness, "/memory prune --days 3 --d") == ["/memory prune --days 3 --dry-run"]
    assert offered(harness, "/memory import o") == ["/memory import out.json"]
    assert cast(list[object], list(complete_command_line(None, "/memory show "))) == []


def test_a_damaged_file_is_reported_by_the_command_and_not_during_completion(harness: Harness) -> None:
    some_of_each_kind(harness)
    path = harness.loaded.project / ".clio" / "ltm.json"
    path.write_text("{ half", encoding="utf-8")
    assert list(complete_command_line(harness, "/memory show ")) == []
    path.write_text("{ half", encoding="utf-8")
    assert "ltm.json" in refused(harness, "/memory list")


def test_an_old_entry_among_many_is_completed_when_its_id_is_begun(harness: Harness) -> None:
    learned_before(
        harness, 1, *(MemoryDraft(kind="discovery", content=f"fact number {number}") for number in range(120))
    )
    oldest = min(harness.memory.store.records(PROJECT_KINDS), key=lambda entry: entry.updated).id
    assert len(offered(harness, "/memory show ")) == 60
    assert offered(harness, f"/memory show {oldest[:-1]}") == [f"/memory show {oldest}"]
    assert offered(harness, f"/memory edit {oldest} d") == []


def test_outside_a_conversation_why_lists_what_the_next_one_begins_with(harness: Harness) -> None:
    id = add(harness, "discovery We deploy with make ship")
    harness.session.close()
    harness.session = Session(SessionState(id="", working_directory=str(harness.loaded.project)), None)
    result = ok(harness, "/memory why")
    assert result.text.startswith("The next session would begin with:\n\n- `project_knowledge` from `.clio/ltm.json`")
    assert rows(result)[0][0] == id


LABEL = "This project's memory came with the repository"


def test_memory_that_came_with_the_project_is_labelled_wherever_it_is_shown(harness: Harness) -> None:
    ok(harness, "/memory add discovery the harbour is deep")
    ok(harness, "/memory remember the ships are red --type fact")
    ok(harness, "/note set mine the quay is long")
    entry = data(harness, "/memory list")["entries"][0]["id"]
    shown = (
        "/memory list", "/memory search harbour", "/memory search nothing-of-it", f"/memory show {entry}",
        "/memory list archive", "/memory recall ships", "/memory changes", f"/memory history {entry}", "/memory stats",
        "/note list", "/note show mine", "/note search quay", "/recall harbour",
    )  # fmt: skip
    for line in shown:
        assert LABEL not in ok(harness, line).text, line
    harness.loaded = msgspec.structs.replace(harness.loaded, has_foreign_memory=True)
    for line in shown:
        result = ok(harness, line)
        assert result.text.startswith(LABEL), line
        assert not isinstance(result.data, dict) or result.data["came_with_repository"] is True, line
    table = ok(harness, f"/memory show {entry}").table
    assert table is not None
    assert dict(row[:2] for row in table.rows)["stated by"] == "you, according to the repository"
    assert LABEL not in ok(harness, "/memory add discovery another").text


def test_show_and_search_include_every_kind(harness: Harness) -> None:
    ids = some_of_each_kind(harness)
    fact = data(harness, "/memory remember the staging API listens on port 9090 --type fact")["memory"]["id"]
    liking = harness.memory.preferences.add("prefer staging over production", "it breaks less", 9.0).record.id
    ok(harness, "/note set staging-notes ask Kim about staging")
    found = {row[0]: row[1] for row in rows(ok(harness, "/memory search staging"))}
    assert found == {fact[-8:]: "fact", liking[-8:]: "preference", "staging-notes": "note"}
    shown = {id: {row[0]: row[1] for row in rows(ok(harness, f"/memory show {id}"))} for id in found}
    assert shown[fact[-8:]]["text"] == "the staging API listens on port 9090" and shown[fact[-8:]]["scope"] == "project"
    assert shown[liking[-8:]]["score"] == "9, liked" and shown[liking[-8:]]["reason"] == "it breaks less"
    assert shown["staging-notes"]["text"] == "ask Kim about staging"
    assert data(harness, f"/memory show {fact}")["content"] == "the staging API listens on port 9090"
    assert ids["discovery"] in refused(harness, f"/memory show {ids['discovery']}0")
    for line in ("/memory show zzz-nothing", "/memory show ../../etc"):
        assert "There is no" in refused(harness, line) or "no memory" in refused(harness, line)


def test_a_memory_line_is_completed_from_saved_memories(harness: Harness) -> None:
    ok(harness, "/memory add discovery The staging API listens on port 9090")
    ok(harness, "/memory remember Kim owns the staging server --type fact")
    completer = LineCompleter(lambda: harness, list)

    def offered_for(text: str) -> list[str]:
        found = completer.get_completions(Document(text), CompleteEvent(text_inserted=True))
        return [text[: len(text) + one.start_position] + one.text for one in found]

    assert offered_for("#staging kim") == ["#Kim owns the staging server"]
    assert sorted(offered_for("# staging")) == [
        "#Kim owns the staging server", "#The staging API listens on port 9090",
    ]  # fmt: skip
    for text in ("#st", "#zebra", "##staging", "say #staging", "#file:staging"):
        assert not [one for one in offered_for(text) if "Kim" in one or "9090" in one]
    harness.memory.is_off = True
    assert offered_for("#staging kim") == []


@pytest.mark.parametrize("line", ["/memory add {text}", "/memory add solution {text} => wait", "/memory edit d {text}"])
def test_the_model_is_told_what_a_command_saved(harness: Harness, line: str) -> None:
    line = line.replace(" d ", f" {add(harness, 'the artifact cache lives elsewhere')} ")
    harness.talk("hello")
    harness.memory.begin(window_tokens=32_000, session=harness.session)
    harness.memory.prefix_fragments()
    ok(harness, line.format(text="the artifact cache lives in /srv/cache"))
    fragments = "\n".join(fragment.text for fragment in harness.memory.turn_fragments("thanks, go on"))
    assert "the artifact cache lives in /srv/cache" in fragments


def test_the_examples_of_the_documentation_work(harness: Harness) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "memory.md").read_text(encoding="utf-8")
    examples = [line for line in page.splitlines() if line.startswith("/memory add ")]
    assert len(examples) >= 5
    for example in examples:
        assert data(harness, example)["new"], example
    [solution] = harness.memory.store.records(("solution",))
    assert solution.solution == "uv sync --all-extras"


@pytest.mark.parametrize("line", ["/memory add uv sync --all-extras", "/memory add --all-extras", "/memory add -x y"])
def test_a_text_with_an_option_is_refused_with_the_correct_command(harness: Harness, line: str) -> None:
    said = refused(harness, line)
    assert "--confidence, --example" in said and "write -- before the text" in said


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("we deploy on Fridays", {"fact": ["we deploy on Fridays"]}),
        ("the API never returns null", {"fact": ["the API never returns null"]}),
        ("we deploy on Fridays only", {"fact": ["we deploy on Fridays only"]}),
        ("never push to main", {"preference": ["never push to main"]}),
        ("I prefer short functions", {"preference": ["prefer short functions"]}),
        ("don't touch tests/golden", {"preference": ["don't touch tests/golden"]}),
        (
            "the staging port is 9090, never use 8080",
            {"fact": ["the staging port is 9090, never use 8080"], "preference": ["never use 8080"]},
        ),
    ],
)
def test_a_text_of_any_kind_is_saved_as_stated(harness: Harness, text: str, kinds: dict[str, list[str]]) -> None:
    assert "Saved to" in ok(harness, f"/memory remember --type auto -- {text}").text
    found: dict[str, list[str]] = {}
    for record in harness.memory.store.records():
        found.setdefault(record.kind, []).append(record.content)
    assert found == kinds
    harness.memory.store.undo()
    assert harness.memory.store.records() == ()


def test_a_remembered_fact_gets_another_confidence_and_an_example(harness: Harness) -> None:
    (harness.loaded.project / "README.md").write_text("x\n", encoding="utf-8")
    id = data(harness, "/memory remember --type fact the mailer is called dove")["memory"]["id"][-8:]
    assert data(harness, f"/memory edit {id} --confidence 50%")["memory"]["confidence"] == 0.5
    changed = data(harness, f"/memory edit {id} --example README.md the mailer is called lark")["memory"]
    assert (changed["content"], changed["examples"]) == ("the mailer is called lark", ["README.md"])


def test_the_state_of_the_work_is_not_listed_among_memories(harness: Harness) -> None:
    harness.memory.store.add(MemoryDraft(key="session_progress", content="Goal: " + "words " * 60))
    harness.memory.store.add(MemoryDraft(key="plan", content="Friday: freeze"))
    result = ok(harness, "/memory list")
    assert [row[0] for row in rows(result)] == ["plan"]
    assert "1 memory" in result.text


def test_the_archive_is_listed_by_kind(harness: Harness) -> None:
    solution = add(harness, "solution E => S")
    fact = add(harness, "we deploy with make ship")
    ok(harness, f"/memory forget --yes {solution} {fact}")
    for words in ("archive solution", "solutions archive", "archive --kind solution"):
        assert [row[0] for row in rows(ok(harness, f"/memory list {words}"))] == [solution]
    assert "none of that kind" in ok(harness, "/memory list archive rules").text


@pytest.mark.parametrize("save", ["/memory add", "/memory remember --type fact"])
def test_a_replaced_memory_is_in_the_archive_and_in_the_history_however_it_was_saved(
    harness: Harness, save: str
) -> None:
    ok(harness, f"{save} staging listens on port 9090")
    ok(harness, f"{save} staging listens on port 9091")
    [new] = harness.memory.store.records()
    [old] = data(harness, "/memory list archive")["archived"]
    [archived] = harness.memory.store.archived()
    assert (old["id"], archived.content) == (archived.id, "staging listens on port 9090")
    for id in (new.id, old["id"]):
        assert [row[1] for row in rows(ok(harness, f"/memory history {id}"))] == [new.content, archived.content]
    ok(harness, f"/memory restore {old['id']}")
    assert not data(harness, "/memory list archive")["archived"]
    assert len(harness.memory.store.records()) == 2
    ok(harness, "/memory undo")
    assert len(data(harness, "/memory list archive")["archived"]) == 1
    ok(harness, "/memory undo")
    assert [one.content for one in harness.memory.store.records()] == ["staging listens on port 9090"]
    assert not data(harness, "/memory list archive")["archived"]


def test_a_preference_beside_a_hard_limit_says_that_the_limit_applies_before_the_undo(harness: Harness) -> None:
    ok(harness, "/memory remember --type auto never use tabs")
    shown = ok(harness, "/prefs add tabs --score 9").text
    assert shown.index("hard limit") < shown.index("/memory undo")
    limit = data(harness, "/memory list preference")["typed"]
    id = next(one["id"] for one in limit if one["score"] < 5)[-8:]
    assert ("score", "0.5, hard limit") in rows(ok(harness, f"/memory show {id}"))


@pytest.mark.parametrize("save", ["/memory add", "/memory remember --type fact"])
@pytest.mark.parametrize(
    ("text", "is_marked"),
    [
        ("the schema is in db/schema.sql", True),
        ("migrations are in db/migrations/", True),
        ("the tables are in db/tables.sql", False),
        ("the client/server split is in db", False),
        ("logs are in /var/log/app/x.log and lib/foo.py", False),
        ("see https://db.example.com/db/x.html", False),
    ],
)
def test_a_fact_that_names_a_missing_path_is_marked(harness: Harness, save: str, text: str, is_marked: bool) -> None:
    for folder in ("db", "client"):
        (harness.loaded.project / folder).mkdir()
    (harness.loaded.project / "db" / "tables.sql").touch()
    ok(harness, f"{save} {text}")
    [record] = harness.memory.store.records()
    assert (harness.memory.store.freshness([record])[record.id] == "gone") is is_marked
    assert ("there is no db/" in harness.memory.store.describe_drift(record)) is is_marked
    [hit] = harness.memory.retriever.search(text).hits
    assert ("there is no db/" in hit.label) is is_marked


def test_a_path_in_a_memory_of_all_projects_is_not_looked_for(harness: Harness) -> None:
    (harness.loaded.project / "db").mkdir()
    ok(harness, "/memory remember --type fact --scope user my schemas are in db/schema.sql")
    [record] = harness.memory.store.records()
    assert harness.memory.store.freshness([record]) == {record.id: "unbound"}
    assert not harness.memory.store.describe_drift(record)
