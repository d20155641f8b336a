"""/memory remember, recall, forget, history, move, count, compact, and the same on the command line."""

import json
import re
import subprocess
import time
from pathlib import Path

import pytest

from clio.commands.command import Confirm
from clio.commands.registry import complete_command_line
from clio.memory.store.record import MemoryDraft, Provenance
from clio.memory.system import MemorySystem
from tests.commands.harness import Harness, count_by_scope, data, make_harness, ok, refused
from tests.entrypoints.repl_support import Place, clio, make_place
from tests.support.wording import mentions

DAY_S = 86_400.0


def keep(harness: Harness, words: str) -> str:
    """Remember a text; return the end of its id."""
    return data(harness, f"/memory remember {words}")["memory"]["id"][-8:]


def list_actions(harness: Harness, line: str) -> list[str]:
    table = ok(harness, line).table
    return [row[3] for row in table.rows] if table else []


def test_a_memory_of_the_user_is_saved_as_theirs_and_found_again(harness: Harness) -> None:
    result = ok(harness, "/memory remember The staging database is called wombat --type fact --importance 90%")
    [hit] = data(harness, "/memory recall staging")
    assert mentions(result.text, "Saved to project memory", "`The staging database is called wombat`", "`/memory undo`")
    assert (hit["content"], hit["type"], hit["importance"], hit["scope"], hit["hits"]) == (
        "The staging database is called wombat", "fact", 0.9, "project", 1,
    )  # fmt: skip
    assert hit["provenance"] == {"session": harness.session.id, "message": "", "asserted_by": "user"}
    assert hit["explicit"] is False
    confirmed = ok(harness, "/memory remember the staging database is called wombat --type fact").text
    assert mentions(confirmed, "Confirmed", "`the staging database is called wombat`")
    again = data(harness, "/memory remember the staging database is called wombat. --type facts")
    assert (again["action"], again["memory"]["id"]) == ("merged", hit["id"])


def test_a_changed_value_replaces_and_undo_restores_the_old_one(harness: Harness) -> None:
    old = keep(harness, "The server listens on port 8080 --type fact")
    result = data(harness, "/memory remember The server listens on port 9090 --type fact")
    assert (result["action"], result["replaced"]["id"][-8:]) == ("superseded", old)
    assert list_actions(harness, "/memory recall port") == ["The server listens on port 9090"]
    table = ok(harness, f"/memory history {old}").table
    assert table is not None
    assert [(row[1], row[3]) for row in table.rows] == [
        ("The server listens on port 9090", ""),
        ("The server listens on port 8080", "replaced"),
    ]
    ok(harness, "/memory undo")
    assert list_actions(harness, "/memory recall port") == ["The server listens on port 8080"]
    replaced = ok(harness, "/memory remember The server listens on port 9090 --type fact").text
    assert mentions(
        replaced, "project memory", "9090` (instead of `The server listens on port 8080`)", "`/memory undo`"
    )
    yours = ok(harness, "/memory remember Wombats dig --scope user").text
    assert mentions(yours, "user memory", "`Wombats dig`", "`/memory undo`")


def test_a_preference_gets_a_score_like_one_of_prefs(harness: Harness) -> None:
    result = data(harness, "/memory remember never use tabs --type preference --keyword indent")
    assert (result["memory"]["scope"], result["memory"]["explicit"], result["memory"]["keywords"]) == (
        "user", True, ["indent"],
    )  # fmt: skip
    assert [limit.content for limit in harness.memory.preferences.hard_limits()] == ["never use tabs"]
    assert "score N" in refused(harness, "/memory remember tabs --type preference --example a.py")
    assert data(harness, "/memory remember tabs here --type preference --scope project")["memory"]["scope"] == "project"


@pytest.mark.parametrize("type", ["preference", "auto"])
def test_a_limit_is_saved_in_the_scope_that_is_asked_for(harness: Harness, type: str) -> None:
    line = f"/memory remember never use the old valve --type {type} --scope"
    assert "hard limit" in ok(harness, f"{line} project").text
    assert [limit.content for limit in harness.memory.project_preferences.hard_limits()] == ["never use the old valve"]
    assert not harness.memory.preferences.hard_limits()
    assert "hard limit" in ok(harness, f"{line} user").text
    assert [limit.content for limit in harness.memory.preferences.hard_limits()] == ["never use the old valve"]
    assert "The hard limit" in ok(harness, "/prefs add the old valve --score 8").text


def test_recall_without_a_query_and_with_limits_and_types(harness: Harness) -> None:
    for number, word in enumerate("alpha beta gamma".split()):
        keep(harness, f"{word} is a letter --type fact --importance 0.{number + 1}")
    keep(harness, "I prefer tabs --type preference")
    keep(harness, "Deployed on Friday --type event")
    assert list_actions(harness, "/memory recall --limit 1 --type fact") == ["gamma is a letter"]
    assert len(list_actions(harness, "/memory recall --limit 100")) == 5
    assert (
        len(list_actions(harness, "/memory recall --limit -1"))
        == len(list_actions(harness, "/memory recall --limit=-1"))
        == 5
    )
    assert list_actions(harness, "/memory recall --type !fact --limit 1") == ["I prefer tabs"]
    assert mentions(ok(harness, "/memory recall zebra").text, "No fact, event, note or preference", "`zebra`")
    assert mentions(ok(harness, "/memory recall --type note").text, "No memory has that type")
    assert data(harness, "/memory recall zebra") == []
    assert mentions(ok(harness, "/memory count").text, "5 memories", "4 of the project", "1 of yours")
    assert count_by_scope(harness) == {"total": 5, "project": 4, "user": 1}


def test_forget_accepts_entries_and_memories_and_asks_for_several(harness: Harness) -> None:
    entry = data(harness, "/memory add discovery We deploy with make ship")["entry"]["id"]
    one, other = keep(harness, "Deployed on Friday --type event"), keep(harness, "Wombats dig --type fact")
    asked = ok(harness, f"/memory forget {entry} {one} {one}")
    assert isinstance(asked.follow_up, Confirm)
    assert mentions(
        asked.follow_up.question,
        "2 memories",
        "archive",
        entry,
        "We deploy with make ship",
        one,
        "Deployed on Friday",
    )
    assert count_by_scope(harness)["total"] == 3
    assert len(data(harness, asked.follow_up.then)["forgotten"]) == 2
    assert mentions(ok(harness, f"/memory forget {other}").text, "archive", "`Wombats dig`", "`/memory undo`")
    assert count_by_scope(harness)["total"] == 0
    ok(harness, "/memory undo")
    assert list_actions(harness, "/memory recall wombats") == ["Wombats dig"]
    assert "There is no memory 'ffff0000'" in refused(harness, f"/memory forget {other} ffff0000")
    assert count_by_scope(harness)["total"] == 1


def test_a_memory_moves_with_its_history(harness: Harness) -> None:
    keep(harness, "The server listens on port 8080 --type fact")
    id = keep(harness, "The server listens on port 9090 --type fact")
    assert mentions(ok(harness, f"/memory move {id} user").text, "user memory", "`The server listens on port 9090`")
    assert count_by_scope(harness) == {"total": 1, "project": 0, "user": 1}
    assert len(data(harness, f"/memory history {id}")) == 2
    assert "already in user memory" in refused(harness, f"/memory move {id} user")
    assert "project or user, not 'team'" in refused(harness, f"/memory move {id} team")


def test_one_undo_moves_a_memory_back_with_its_history(harness: Harness) -> None:
    keep(harness, "The server listens on port 8080 --type fact")
    id = keep(harness, "The server listens on port 9090 --type fact")
    assert "`/memory undo`" in ok(harness, f"/memory move {id} user").text
    assert mentions(ok(harness, "/memory undo").text, "moved", "port 9090", "user memory")
    assert count_by_scope(harness) == {"total": 1, "project": 1, "user": 0}
    assert [version["content"][-4:] for version in data(harness, f"/memory history {id}")] == ["9090", "8080"]
    ok(harness, f"/memory move {id} user")
    assert count_by_scope(harness) == {"total": 1, "project": 0, "user": 1}


def test_compaction_archives_faded_memories(harness: Harness) -> None:
    past = MemorySystem(
        harness.loaded.project,
        harness.store,
        incognito=False,
        ltm=True,
        home=harness.loaded.home,
        clock=lambda: time.time() - 100 * DAY_S,
    )
    past.store.add(MemoryDraft(content="try the other branch", kind="note", importance=0.3))
    keep(harness, "Wombats dig --type fact")
    assert mentions(ok(harness, "/memory compact").text, "1 memory", "archive", "1 left", "`/memory undo`")
    assert data(harness, "/memory compact") == {"removed": 0, "remaining": 1, "merged": 0}


def test_files_of_a_fact_are_listed_and_sent_to_the_model(harness: Harness) -> None:
    (harness.loaded.project / "a.py").write_text("PORT = 1\n", encoding="utf-8")
    id = keep(harness, "The gateway port stands in the module --type fact --example a.py --example missing.py")
    listed = ok(harness, "/memory list")
    assert listed.table is not None
    assert (listed.table.rows[0][-1], "✗ missing" in listed.text) == ("✗", True)
    shown = ok(harness, f"/memory show {id}").table
    assert shown is not None
    assert ("example", "a.py") in shown.rows and ("example", "missing.py") in shown.rows
    assert ("examples", "unchanged") in shown.rows
    assert data(harness, "/memory stats")["freshness"]["fresh"] == 1
    assert data(harness, "/memory search gateway")["hits"][0]["text"].endswith("(e.g. a.py, missing.py)")
    (harness.loaded.project / "a.py").unlink()
    assert data(harness, f"/memory show {id}")["freshness"] == "gone"


def test_pruning_covers_facts_and_notes_and_keeps_what_the_user_set(harness: Harness) -> None:
    past = MemorySystem(
        harness.loaded.project,
        harness.store,
        incognito=False,
        ltm=True,
        home=harness.loaded.home,
        clock=lambda: time.time() - 120 * DAY_S,
    )
    past.store.add(MemoryDraft(content="the model saw a wombat", kind="fact"), Provenance(asserted_by="model"))
    past.store.add(MemoryDraft(content="deploys happen on Friday", kind="discovery"), Provenance(asserted_by="model"))
    past.store.add(MemoryDraft(content="the user saw a quokka", kind="fact"), Provenance(asserted_by="user"))
    past.store.add(MemoryDraft(content="a tool saw a numbat", kind="note", confidence=0.1), scope="user")
    ok(harness, "/note set plan first this")
    dry = data(harness, "/memory prune --dry-run")
    assert {one.get("content") or one["text"]: one["because"] for one in dry["removed"]} == {
        "the model saw a wombat": "old", "deploys happen on Friday": "old", "a tool saw a numbat": "uncertain",
    }  # fmt: skip
    assert dry["kept"] == 2
    assert mentions(ok(harness, "/memory prune --yes").text, "3 memories", "2 left")
    assert len(data(harness, "/memory list archive")["archived"]) == 3
    assert [one["because"] for one in data(harness, "/memory changes --kind archived")] == ["uncertain", "old", "old"]
    assert "pruned 3 memories" in ok(harness, "/memory undo").text
    assert count_by_scope(harness)["total"] == 5


def test_forget_suggests_ids_for_a_wrong_one(harness: Harness) -> None:
    id = keep(harness, "The staging server listens on 8080 --type fact")
    entry = data(harness, "/memory add We deploy with make ship")["entry"]["id"]
    other = data(harness, "/memory add The linter is ruff")["entry"]["id"]
    ok(harness, '/note set "deploy plan" Friday')
    assert mentions(refused(harness, "/memory forget the staging server"), "is not an id", id, "listens on 8080")
    assert mentions(refused(harness, "/memory forget d-"), "matches 2 ids", entry, other, "The linter is ruff")
    assert mentions(refused(harness, f"/memory forget {entry[:-1]}x"), "did you mean", entry, "make ship")
    assert mentions(refused(harness, "/memory forget deploy"), "did you mean", "deploy plan")
    assert mentions(ok(harness, "/memory forget deploy plan").text, "Deleted the note", "deploy plan")
    assert mentions(ok(harness, f"/memory forget {id[:4]}").text, "Moved to the archive", "listens on 8080")
    for command in ("forget", "show", "edit"):
        again = refused(harness, f"/memory {command} {id}")
        assert mentions(again, "in the archive already", f"/memory restore {id}"), command
    assert mentions(refused(harness, f"/memory restore {entry}"), "not in the archive")
    assert len(harness.memory.store.records(("discovery",))) == 2
    ok(harness, f"/memory restore {id[:4]}")
    assert count_by_scope(harness)["total"] == 3


def test_a_memory_whose_file_has_changed_is_marked(harness: Harness) -> None:
    (harness.loaded.project / "a.py").write_text("PORT = 1\n", encoding="utf-8")
    keep(harness, "The port stands in a.py --type fact --example a.py")
    (harness.loaded.project / "a.py").write_text("PORT = 2\n", encoding="utf-8")
    result = ok(harness, "/memory recall port")
    assert result.table is not None
    assert result.table.rows[0][-1] == "≠"
    assert "changed" in result.text and "missing" not in result.text


def test_a_memory_whose_file_is_gone_is_marked_as_such(harness: Harness) -> None:
    (harness.loaded.project / "a.py").write_text("PORT = 1\n", encoding="utf-8")
    keep(harness, "The port stands in a.py --type fact --example a.py")
    (harness.loaded.project / "a.py").unlink()
    result = ok(harness, "/memory recall port")
    assert result.table is not None
    assert result.table.rows[0][-1] == "✗"
    assert "✗ missing" in result.text and "changed" not in result.text


def test_a_list_is_limited_to_the_newest_memories(harness: Harness) -> None:
    for number in range(6):
        keep(harness, f"server{number} listens on {8000 + number} --type {'event' if number % 2 else 'fact'}")
    ok(harness, "/note set deploy Friday")
    for line, shown in (
        ("/memory list --limit 3", 3),
        ("/memory list --limit 2 event", 2),
        ("/memory list --limit 99", 7),
    ):
        result = ok(harness, line)
        assert result.table is not None and len(result.table.rows) == shown
        listed = [*result.data["typed"], *result.data["entries"], *result.data["keyed_notes"]]
        assert len(listed) == shown
        assert ("--all" in result.text) == (shown < 7)
    newest = ok(harness, "/memory list --limit 2 event").data["typed"]
    assert sorted(one["content"] for one in newest) == ["server3 listens on 8003", "server5 listens on 8005"]
    assert "whole number" in refused(harness, "/memory list --limit none")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/memory remember", "Remember what?"),
        ("/memory remember '  '", "Remember what?"),
        ("/memory remember x --type opinion", "There is no type 'opinion' of memories; choose one of fact, preference"),
        ("/memory remember x --type evnt", "did you mean 'event'?"),
        ("/memory remember x --importance 7", "--importance takes a number from 0 to 1, not '7'"),
        ("/memory remember x --importance nan", "--importance takes a number from 0 to 1, not 'nan'"),
        ("/memory remember x --scope team", "project or user, not 'team'"),
        ("/memory recall x --limit many", "--limit takes a whole number of at least 1, not 'many'"),
        ("/memory recall x --limit 1.5", "--limit takes a whole number of at least 1, not '1.5'"),
        ("/memory recall x --limit 0", "--limit takes a whole number of at least 1, not '0'"),
        ("/memory recall x --limit -2", "--limit takes a whole number of at least 1, not '-2'"),
        ("/note set --key plan do it", "There is no option '--key' here; after -- everything is text"),
        ("/note set -k plan do it", "There is no option '-k' here"),
        ("/note show --raw plan", "There is no option '--raw' here"),
        ("/memory search x --limit 3", "There is no option '--limit' here"),
        ("/memory remember -t fact x", "There is no option '-t' here"),
        ("/memory add -x text", "write -- before the text"),
        ("/memory list zzz", "choose one of fact, solution, pattern"),
        ("/memory list fact zzz", "There is no kind 'zzz'"),
        ("/memory changes x", "takes --since WHEN, --kind K and --all, not 'x'"),
        ("/memory share on --days 3", "--days can only be used with /memory share tidy"),
        ("/memory forget --all", "there is only --yes"),
        ("/memory history", "Which memory?"),
        ("/memory history 0a1b2c3d", "There is no memory '0a1b2c3d'"),
        ("/memory forget xy", "There is no memory 'xy'; /memory list shows the ids"),
        ("/memory move 0a1b2c3d", "Move which memory, and where?"),
        ("/memory count x", "/memory stats (or count) takes no argument"),
        ("/memory compact x", "/memory compact takes no argument"),
    ],
)
def test_invalid_arguments_are_reported_with_the_valid_ones(harness: Harness, line: str, said: str) -> None:
    text = refused(harness, line)
    assert any(part in text for part in said.split("|")), text


def test_a_note_may_contain_options_after_two_dashes(harness: Harness) -> None:
    ok(harness, "/note set deploy make ship --fast")
    ok(harness, "/note set -- --fast skips the tests")
    assert ok(harness, "/note show deploy").verbatim == "make ship --fast"
    assert ok(harness, "/note show -- --fast").verbatim == "skips the tests"


def test_incognito_refuses(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, incognito=True)
    for line in (
        "remember x",
        "recall",
        "forget 0a1b2c3d",
        "history 0a1b2c3d",
        "move 0a1b2c3d user",
        "count",
        "compact",
    ):
        assert "Memory is off with --incognito" in refused(harness, f"/memory {line}")


def test_ids_and_options_are_completed(harness: Harness) -> None:
    id = keep(harness, "Deployed on Friday --type event")
    entry = data(harness, "/memory add discovery We deploy with make ship")["entry"]["id"]
    offered = {suggestion.text: suggestion.note for suggestion, _ in complete_command_line(harness, "/memory forget ")}
    assert offered[id] == "event: Deployed on Friday"
    assert entry in offered
    assert [one.text for one, _ in complete_command_line(harness, f"/memory history {id[:3]}")] == [id]
    assert "--importance" in [one.text for one, _ in complete_command_line(harness, "/memory remember x --imp")]


def run_memory(place: Place, *arguments: str) -> subprocess.CompletedProcess[str]:
    return clio(place, "memory", *arguments)


def test_the_same_on_the_command_line(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    fact = "the token of staging is sk-proj-x7Kq2mVbT9wLr4NcZ8pHs3JdFg6Y and rotates on Mondays"
    kept = run_memory(place, "remember", fact, "--type", "fact", "--json")
    memory = json.loads(kept.stdout)["memory"]
    assert "x7Kq2mVb" not in memory["content"]
    assert memory["provenance"]["asserted_by"] == "user"
    run_memory(place, "remember", "I prefer tabs", "--type", "preference")
    assert any((place.home / ".clio").glob("memories*")), "a preference belongs to the user"
    found = json.loads(run_memory(place, "recall", "token", "--json").stdout)
    assert [hit["id"] for hit in found] == [memory["id"]]
    assert run_memory(place, "count").stdout.startswith("2 memories: 1 of the project, 1 of yours. Last confirmed")
    forgotten = run_memory(place, "forget", memory["id"])
    assert forgotten.stdout.endswith("· clio memory undo\n")
    wrong = run_memory(place, "history", "0a1b2c3d")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert mentions(wrong.stderr, "no memory", "'0a1b2c3d'", "clio memory list", "ids")


def test_a_forgotten_memory_of_any_kind_is_restored_from_the_archive(harness: Harness) -> None:
    fact = keep(harness, "The server listens on port 8080 --type fact")
    project = data(harness, "/memory add We deploy with make ship")["entry"]["id"]
    for id in (fact, project):
        ok(harness, f"/memory forget {id}")
    assert {entry["id"][-8:] for entry in data(harness, "/memory list archive")["archived"]} == {fact, project}
    assert mentions(ok(harness, f"/memory restore {fact}").text, "project memory", "port 8080", "`/memory undo`")
    assert mentions(ok(harness, f"/memory restore {project}").text, "project memory", "make ship")
    assert data(harness, "/memory list archive")["archived"] == []
    assert {record.content for record in harness.memory.store.records()} == {
        "The server listens on port 8080",
        "We deploy with make ship",
    }
    ok(harness, "/memory undo")
    ok(harness, "/memory undo")
    assert harness.memory.store.records() == ()
    assert "ffff0000" in refused(harness, "/memory restore ffff0000")
    assert "d-000000" in refused(harness, "/memory restore d-000000")


def test_memories_of_all_kinds_are_forgotten_and_restored_as_one_change(harness: Harness) -> None:
    fact = keep(harness, "The server listens on port 8080 --type fact")
    project = data(harness, "/memory add We deploy with make ship")["entry"]["id"]
    ok(harness, "/note set rota Ines looks after the gateway in May")
    before = harness.memory.store.records()
    assert len(before) == 3
    ok(harness, f"/memory forget {fact} {project} rota --yes")
    assert harness.memory.store.records() == ()
    ok(harness, "/memory undo")
    assert {(one.id, one.content) for one in harness.memory.store.records()} == {
        (one.id, one.content) for one in before
    }


def test_files_given_as_examples_are_reported_when_a_memory_is_saved(harness: Harness) -> None:
    result = ok(harness, "/memory remember We deploy with make ship --type fact --example Makefile")
    assert "Makefile" in result.text


@pytest.mark.parametrize("moved", [(), ("user",), ("user", "project")])
def test_a_memory_in_use_is_not_restored_again(harness: Harness, moved: tuple[str, ...]) -> None:
    id = keep(harness, "The server listens on port 8080 --type fact")
    ok(harness, f"/memory forget {id}")
    assert "Restored" in ok(harness, f"/memory restore {id}").text
    for scope in moved:
        ok(harness, f"/memory move {id} {scope}")
    assert data(harness, "/memory list archive")["archived"] == []
    assert "is not in the archive" in refused(harness, f"/memory restore {id}")


@pytest.mark.parametrize("kind", ["fact", "preference"])
def test_a_duplicate_of_a_saved_memory_is_not_restored(harness: Harness, kind: str) -> None:
    id = keep(harness, f"The team likes tabs --type {kind}")
    ok(harness, f"/memory forget {id}")
    again = keep(harness, f"the team likes tabs. --type {kind}")
    if again != id:
        assert mentions(refused(harness, f"/memory restore {id}"), again, "says the same")
    assert len(harness.memory.store.records()) == 1


def test_the_archive_names_the_scope_of_each_memory(harness: Harness) -> None:
    fact = keep(harness, "The server listens on port 8080 --type fact")
    preference = keep(harness, "likes tabs --type preference")
    ok(harness, f"/memory forget {fact} {preference} --yes")
    table = ok(harness, "/memory list archive").table
    assert table is not None
    assert {row[2]: row[3] for row in table.rows} == {
        "The server listens on port 8080": "project",
        "likes tabs (liked, 9 of 10)": "user",
    }
    [listed] = data(harness, "/memory list archive --scope user")["archived"]
    assert (listed["content"], listed["scope"]) == ("likes tabs", "user")


def test_missing_files_are_named_when_a_memory_is_saved_and_shown(harness: Harness) -> None:
    (harness.loaded.project / "README.md").write_text("hello\n", encoding="utf-8")
    (harness.loaded.project / "docs").mkdir()
    files = "--example README.md --example docs --example nope.md:3 --example https://example.com/a.md"
    for command in ("/memory remember --type fact", "/memory add"):
        saved = ok(harness, f"{command} {files} the host is {command[8:11]}").text
        assert "there is no `nope.md:3`" in saved and "no `README" not in saved and "no `docs" not in saved
        id = [record.id for record in harness.memory.store.records()][-1]
        shown = ok(harness, f"/memory show {id}").table
        assert shown is not None and ("missing", "✗ nope.md:3") in shown.rows
        assert sum(row[0] == "missing" for row in shown.rows) == 1
    assert "there is no" not in ok(harness, "/memory add --example README.md the port is 80").text


@pytest.mark.parametrize("command", ["/memory remember --type fact", "/memory add"])
def test_a_memory_whose_files_are_all_missing_is_marked_in_the_list(harness: Harness, command: str) -> None:
    ok(harness, f"{command} --example nope.md --example src/nope.py the port is 80")
    ok(harness, f"{command} --example https://example.com/a.md the host is alpha")
    listed = ok(harness, "/memory list")
    assert listed.table is not None and "✗ missing" in listed.text
    assert {row[2]: "✗" in row[-1] for row in listed.table.rows} == {"the port is 80": True, "the host is alpha": False}


@pytest.mark.parametrize("command", ["/memory remember --type fact", "/memory add"])
def test_a_memory_of_which_one_file_never_existed_is_not_marked_as_unchanged(harness: Harness, command: str) -> None:
    for name in ("README.md", "Makefile"):
        (harness.loaded.project / name).write_text("hello\n", encoding="utf-8")
    ok(harness, f"{command} --example README.md --example nope.md the port is 80")
    ok(harness, f"{command} --example README.md --example Makefile the host is alpha")
    listed = ok(harness, "/memory list")
    assert listed.table is not None
    marks = {row[2]: row[-1] for row in listed.table.rows}
    assert "✗" in marks["the port is 80"] and "=" in marks["the host is alpha"]


def test_a_note_is_called_a_note_when_it_is_saved(harness: Harness) -> None:
    saved = ok(harness, "/memory remember staging listens on port 5433").text
    assert saved.startswith("Saved to project memory: ") and "a note" in saved and "--type fact" in saved
    named = ok(harness, "/memory remember --type note the office has a wiki").text
    assert "a note" in named and "--type" not in named
    assert "note" not in ok(harness, "/memory remember --type fact the cache listens on port 6379").text
    assert "note" not in ok(harness, "/memory add the proxy listens on port 8081").text


def test_a_question_that_cannot_be_asked_and_the_advice_are_two_sentences(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    ids = [json.loads(run_memory(place, "add", text, "--json").stdout)["entry"]["id"] for text in ("a is 1", "b is 2")]
    error = run_memory(place, "forget", *ids).stderr
    assert re.search(r"b is 2\. clio can't ask here; add --yes", error), error


@pytest.mark.parametrize(
    ("given", "kind", "scope"),
    [
        ("event deployed v2", "event", "project"),
        ("note the box is slow", "note", "project"),
        ("--kind preference early returns", "preference", "user"),
        ("early returns --type preference", "preference", "user"),
        ("--scope user I work in Lisbon", "fact", "user"),
        ("--kind solution no yaml => pip install pyyaml", "solution", "project"),
        ("we ship on Fridays --scope project", "discovery", "project"),
        ("-- event horizon is a paper", "discovery", "project"),
    ],
)
def test_add_saves_a_memory_of_any_kind(harness: Harness, given: str, kind: str, scope: str) -> None:
    ok(harness, f"/memory add {given}")
    store = harness.memory.store
    [saved] = store.records()
    assert (saved.kind, store.scope_of(saved.id)) == (kind, scope)


@pytest.mark.parametrize("given", ["event", "--kind evnt deployed", "--kind note"])
def test_add_refuses_a_kind_without_a_text_and_an_unknown_one(harness: Harness, given: str) -> None:
    refused(harness, f"/memory add {given}")
    assert not list(harness.memory.store.records())
