"""/memory export, import and wipe on real files: what they write, report, refuse, and ask."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.cli import main
from clio.commands.command import Confirm, EditText, LongWork, WorkControl
from clio.commands.registry import complete_command_line, run_command
from clio.config.memory_seal import has_foreign_memory
from clio.errors import UserError
from tests.commands.harness import Harness, count_by_scope, data, make_harness, ok, refused
from tests.entrypoints.repl_support import clio, make_place
from tests.memory.portability.home_support import find_files_with, tree
from tests.support.wording import mentions

MARK = "quokka"


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    harness = make_harness(tmp_path / "one")
    for line in (
        f"/memory add discovery the {MARK} smiles",
        f"/memory remember the {MARK} listens on 8080 --type fact",
        f"/note set plan {MARK} on Friday",
        f"/prefs add never wake the {MARK} --score 0",
    ):
        ok(harness, line)
    yield harness
    harness.session.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Harness]:
    harness = make_harness(tmp_path / "two")
    yield harness
    harness.session.close()


def offered(harness: Harness, typed: str) -> list[str]:
    return [suggestion.text for suggestion, _ in complete_command_line(harness, typed)]


def test_everything_is_exported_to_one_file(harness: Harness, tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    result = ok(harness, f"/memory export {path}")
    assert mentions(result.text, "2 project memories", "1 user memory", "1 keyed note")
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (document["schema"], document["version"], document["head"]["project"]) == ("clio.memory", 1, "one")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_named_ltm_json_gets_that_format_unless_another_is_requested(harness: Harness, tmp_path: Path) -> None:
    plain, whole, part = tmp_path / "ltm.json", tmp_path / "my.ltm.json", tmp_path / "part.json"
    ok(harness, f"/memory export {plain}")
    ok(harness, f"/memory export {whole} --what all")
    ok(harness, f"/memory export {part} --what knowledge")
    first = [next(iter(json.loads(path.read_text(encoding="utf-8")))) for path in (plain, whole, part)]
    assert first == ["patterns", "schema", "patterns"]


@pytest.mark.parametrize("path", ["", "-"])
def test_without_a_path_the_export_is_shown(harness: Harness, path: str) -> None:
    shown = json.loads(ok(harness, f"/memory export {path} --what notes").verbatim)
    assert [note["key"] for note in shown["notes"]] == ["plan"]
    assert shown["knowledge"] is None


def test_an_import_reports_the_result_of_each_part(harness: Harness, other: Harness, tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    ok(harness, f"/memory export {path}")
    counted = ok(other, f"/memory import {path} --dry-run")
    assert counted.text.startswith("Would change 4 items from ")
    assert "`/memory undo`" not in counted.text
    done = ok(other, f"/memory import {path}")
    assert done.text.startswith("Changed 4 items from ")
    assert mentions(done.text, "1 rule or hard limit", "every prompt")
    assert done.table == counted.table
    assert done.table is not None and done.table.columns == ("what", "new")
    assert len(done.table.rows) == 4
    assert ok(other, f"/memory import {path}").text.startswith("Nothing changed: all of ")
    assert ok(other, "/memory undo").text.startswith("Undone: the import of all.json")
    assert count_by_scope(other)["total"] == 0


def test_an_import_into_a_new_project_counts_as_the_users(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, project, home = tmp_path / "all.json", tmp_path / "new", tmp_path / "new home"
    ok(harness, f"/memory export {path}")
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("CLIO_HOME", str(home))
    assert main(["memory", "import", str(path)]) == 0
    assert not has_foreign_memory(project, home)
    capsys.readouterr()
    assert main(["memory", "list"]) == 0
    assert capsys.readouterr().out.startswith("4 memories.")


def test_a_note_is_listed_under_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLIO_HOME", str(tmp_path / "home"))
    token = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    assert main(["note", "set", f"deploy {token}", "on Friday"]) == 0
    shown = capsys.readouterr().out
    assert "deploy [REDACTED:" in shown and token not in shown


def test_an_import_reports_progress_and_can_be_stopped(harness: Harness, other: Harness, tmp_path: Path) -> None:
    for number in range(4):
        ok(harness, f"/memory remember the {MARK} number {number} listens on {9000 + number} --type fact")
    path = tmp_path / "all.json"
    ok(harness, f"/memory export {path}")
    step = run_command(other, f"/memory import {path}").follow_up
    assert isinstance(step, LongWork)
    progress: list[tuple[int, int]] = []
    track = WorkControl(
        is_stopped=lambda: len(progress) == 3, report_progress=lambda done, total: progress.append((done, total))
    )
    with pytest.raises(UserError, match=r"[Ii]mport the file again to add the rest"):
        step.work(track)
    assert progress == [(0, 6), (1, 6), (2, 6)]
    typed = other.memory.store.count()
    assert sum(typed.values()) == 0, "the part that was being merged is not written"
    assert ok(other, f"/memory import {path}").ok
    assert count_by_scope(other) == count_by_scope(harness)


def test_one_scope_can_be_imported_alone(harness: Harness, other: Harness, tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    ok(harness, f"/memory export {path}")
    assert [part["scope"] for part in data(other, f"/memory import {path} --scope user")["parts"]] == ["user"]
    assert count_by_scope(other) == {"total": 1, "project": 0, "user": 1}
    assert "project or user, not 'mine'" in refused(other, f"/memory import {path} --scope mine")
    ok(harness, f"/memory export {tmp_path / 'ltm.json'}")
    assert "leave out --scope user" in refused(other, f"/memory import {tmp_path / 'ltm.json'} --scope user")


@pytest.mark.parametrize(
    ("change", "message"),
    [({"version": 2}, "update clio to open it"), ({"memories": 3}, "is damaged (")],
)
def test_an_invalid_import_changes_nothing(
    harness: Harness, other: Harness, tmp_path: Path, change: dict[str, int], message: str
) -> None:
    path = tmp_path / "all.json"
    ok(harness, f"/memory export {path}")
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    before = tree(tmp_path / "two")
    assert message in refused(other, f"/memory import {path}")
    assert tree(tmp_path / "two") == before


def test_a_wipe_lists_what_it_removes_and_asks_for_the_scopes_name(harness: Harness, tmp_path: Path) -> None:
    before = tree(tmp_path)
    shown = ok(harness, "/memory wipe --scope project")
    assert shown.text.startswith(
        "This is deleted permanently and cannot be undone. Not deleted: the sessions, which --sessions "
    )
    assert shown.follow_up == Confirm(
        question="Delete all of it permanently?", then="/memory wipe --scope project --yes", required_word="project"
    )
    assert shown.table is not None
    assert [row[:2] for row in shown.table.rows] == [
        ("facts, events and notes of the project", "1"),
        ("facts, solutions and rules of the project", "1"),
        ("keyed notes", "1"),
        ("change log of the project", "3"),
    ]
    assert ok(harness, "/memory wipe --scope all --dry-run").follow_up is None
    assert tree(tmp_path) == before


def test_a_wipe_reports_what_it_removed_and_leaves_nothing(harness: Harness, tmp_path: Path) -> None:
    done = data(harness, "/memory wipe --scope all --yes")
    assert done["wiped"] is True
    assert {part["what"] for part in done["parts"]} == {"memories", "knowledge", "notes", "undo"}
    assert find_files_with(MARK, tmp_path) == []
    assert ok(harness, "/memory wipe --scope all --yes").text.startswith("There is nothing to wipe.")
    assert count_by_scope(harness)["total"] == 0
    assert mentions(refused(harness, "/memory undo"), "changed", "nothing to undo")


def test_the_running_conversation_does_not_save_it_again(harness: Harness, tmp_path: Path) -> None:
    harness.memory.begin(window_tokens=32_000, session=harness.session)
    assert harness.memory.prefix_fragments()
    harness.memory.turn_fragments(f"what of the {MARK}?")
    assert any("why.json" in path for path in find_files_with(MARK, tmp_path))
    ok(harness, "/memory wipe --scope all --yes")
    harness.memory.turn_fragments("and now?")
    assert find_files_with(MARK, tmp_path) == []


def test_sessions_are_wiped_only_on_request_and_never_open_ones(harness: Harness) -> None:
    harness.talk(f"the {MARK} again")
    first = harness.session.id
    harness.start()
    harness.talk("another")
    answer = ok(harness, "/memory wipe --scope project --yes").text
    assert mentions(answer, "This conversation still has", "`/session new`")
    assert len(harness.store.list()) == 2
    answer = ok(harness, "/memory wipe --scope project --sessions --yes").text
    assert "1 session is open and stay" in answer
    assert [info.id for info in harness.store.list()] == [harness.session.id] != [first]
    assert "needs --scope project or all" in refused(harness, "/memory wipe --scope user --sessions")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/memory wipe", "Wipe what? Write /memory wipe --scope project|user|styles|all"),
        ("/memory wipe --scope everything", "There is no scope 'everything' to wipe"),
        ("/memory wipe project user", "Wipe what?"),
        ("/memory export --what pictures", "There is no part 'pictures' to export"),
        ("/memory import a b", "Which file?"),
    ],
)
def test_invalid_arguments_are_reported(harness: Harness, line: str, message: str) -> None:
    assert refused(harness, line).startswith(message)


@pytest.mark.parametrize("line", ["export", "import all.json", "wipe --scope all --yes"])
def test_all_are_refused_while_memory_is_off(harness: Harness, tmp_path: Path, line: str) -> None:
    incognito = make_harness(tmp_path / "one", incognito=True)
    before = tree(tmp_path)
    assert "incognito" in refused(incognito, f"/memory {line}")
    ok(harness, "/memory off")
    assert "Memory is off" in refused(harness, f"/memory {line}")
    assert tree(tmp_path) == before


def test_options_are_completed(harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out.json").touch()
    assert offered(harness, "/memory wipe --scope ") == ["project", "user", "styles", "all"]
    assert offered(harness, "/memory wipe --d") == ["--dry-run"]
    assert "styles" in offered(harness, "/memory export all.json --what ")
    assert offered(harness, "/memory export --f") == ["--force"]
    assert offered(harness, "/memory import ou") == ["out.json"]
    assert offered(harness, "/memory import out.json --scope ") == ["project", "user"]


def test_a_wipe_from_the_command_line_needs_a_terminal_or_yes(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    assert clio(place, "memory", "remember", f"the {MARK} smiles").returncode == 0
    before = tree(tmp_path)
    asked = clio(place, "memory", "wipe", "--scope", "project")
    assert (asked.returncode, asked.stderr) == (
        2,
        "clio: delete all of it permanently? clio can't ask here; add --yes\n",
    )
    as_json = clio(place, "memory", "wipe", "--scope", "project", "--json")
    assert as_json.returncode == 2
    assert tree(tmp_path) == before
    done = clio(place, "memory", "wipe", "--scope", "project", "--yes")
    assert (done.returncode, find_files_with(MARK, tmp_path)) == (0, [])


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_in_a_terminal_only_the_scopes_name_confirms(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    with place.clio("--provider", "offline", columns=100, lines=40) as shell:
        shell.wait_for("offline · ask")
        shell.line(f"/memory remember the {MARK} smiles")
        shell.wait_for("Saved to project memory")
        shell.line("/memory wipe --scope project")
        shell.wait_for("Delete all of it permanently? [type project]")
        shell.line("y")
        shell.line("/memory count")
        shell.wait_for("1 memory: 1 of the project")
        shell.line("/memory wipe --scope project")
        shell.wait_for(r"(?s)1 memory: 1.*\[type project\]", regex=True)
        shell.line("project")
        shell.wait_for("Deleted permanently.")
    assert find_files_with(MARK, place.project) == []
    with place.clio("memory", "wipe", "--scope", "user", columns=100, lines=20) as door:
        door.wait_for("There is nothing to wipe.")
        assert door.wait_exit() == 0


def test_a_user_can_reword_their_own_memory(harness: Harness) -> None:
    id = data(harness, "/memory remember deploys take 5 minutes --type fact")["memory"]["id"]
    result = ok(harness, f"/memory edit {id} deploys take 6 minutes")
    assert mentions(result.text, "Changed in project memory", "`deploys take 6 minutes`", "`/memory undo`")
    record = harness.memory.store.get(id)
    assert (record.content, record.version) == ("deploys take 6 minutes", 2)
    assert record.provenance and record.provenance.asserted_by == "user"
    opened = ok(harness, f"/memory edit {id[-8:]}").follow_up
    assert isinstance(opened, EditText) and opened.text == "deploys take 6 minutes"
    assert opened.then("deploys take 6 minutes\n").text.endswith("is unchanged.")
    assert opened.then("deploys take 7 minutes\n").ok
    ok(harness, "/memory undo")
    assert harness.memory.store.get(id).content == "deploys take 6 minutes"
    assert data(harness, f"/memory edit {id} --confidence 0.5")["memory"]["confidence"] == 0.5
    [taste] = harness.memory.store.user.records()
    assert "write /prefs update" in refused(harness, f"/memory edit {taste.id} other")
