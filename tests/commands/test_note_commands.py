"""/note on real files."""

from pathlib import Path

import pytest

from clio.commands.command import EditText
from clio.commands.registry import complete_command_line, run_command
from clio.ui.painter import count_cells
from clio.ui.tables import render_table
from tests.commands.harness import Harness, data, make_harness, ok
from tests.support.wording import mentions


def content(harness: Harness, key: str) -> str | None:
    note = harness.memory.store.get_note(key)
    return note.content if note else None


@pytest.mark.parametrize(
    ("words", "key", "text"),
    [
        ("plan first this\n  then that", "plan", "first this\n  then that"),
        ('"my key" some text', "my key", "some text"),
        ("'a/b ../c' x", "a/b ../c", "x"),
        ('empty ""', "empty", ""),
        ("zero 0", "zero", "0"),
        ("ключ 値 — ✓", "ключ", "値 — ✓"),
        ('quoted he said "no" twice', "quoted", 'he said "no" twice'),
        ("flags --all --json -x", "flags", "--all --json -x"),
    ],
)
def test_a_note_is_saved_with_its_key_and_text(harness: Harness, words: str, key: str, text: str) -> None:
    done = data(harness, f"/note set {words}")
    assert (done["new"], done["note"]["key"], done["note"]["content"]) == (True, key, text)
    assert content(harness, key) == text
    shown = ok(harness, f"/note show {key}")
    assert shown.verbatim == text
    assert data(harness, f'/note show "{key}"')["content"] == text
    ok(harness, f"/notes delete {key}")
    assert content(harness, key) is None


def test_setting_again_replaces_and_can_be_undone(harness: Harness) -> None:
    assert mentions(
        ok(harness, "/note set plan first").text, "project memory", "`plan`", "5 characters", "`/memory undo`"
    )
    again = ok(harness, "/note set plan second")
    assert mentions(again.text, "Replaced", "`plan`", "6 characters", "`/memory undo`")
    ok(harness, "/memory undo")
    assert content(harness, "plan") == "first"
    deleted = ok(harness, "/note delete plan")
    assert mentions(deleted.text, "Deleted", "`plan`", "`/memory undo`")
    ok(harness, "/memory undo")
    assert content(harness, "plan") == "first"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/note set", "A note needs a key and a text: write /note set KEY TEXT"),
        ("/note set plan", "A note needs a key and a text"),
        ('/note set "" text', "The key is empty"),
        (f"/note set {'k' * 1_001} text", "The key has 1,001 characters"),
        ("/note show", "Which note? Write /note show KEY; /note list shows the keys"),
        ("/note show deploi", "There is no note 'deploi'; did you mean 'deploy'?"),
        ("/note delete nothing like it", "There is no note 'nothing like it'; there is only deploy"),
        ("/note delete", "Which note? Write /note delete KEY"),
        ("/note edit", "Which note? Write /note edit KEY"),
        ("/note search", "Search for what? Write /note search WORDS"),
        ("/note list all", "/note list takes no argument; /note show all shows one note"),
        ("/note shw", "did you mean '/note show'?"),
    ],
)
def test_invalid_commands_are_reported(harness: Harness, line: str, message: str) -> None:
    ok(harness, "/note set deploy with make ship")
    result = run_command(harness, line)
    assert not result.ok
    assert message in result.text
    assert [note.key for note in harness.memory.store.notes()] == ["deploy"]


def test_a_missing_key_among_many_is_not_answered_with_all_of_them(harness: Harness) -> None:
    assert run_command(harness, "/note show x").text == "There is no note 'x', nor any other"
    for number in range(25):
        ok(harness, f"/note set topic-{number} text")
    assert mentions(run_command(harness, "/note show zzz").text, "no note", "'zzz'", "/note list")
    assert "did you mean 'topic-2" in run_command(harness, "/note show topik-24").text


def test_the_list_is_newest_first_and_fits_the_terminal(harness: Harness) -> None:
    assert mentions(ok(harness, "/note").text, "No notes", "`/note set KEY TEXT`")
    ok(harness, "/note set plan " + "long words and 漢字 " * 40)
    ok(harness, f"/note set {'k' * 300} text")
    ok(harness, '/note set empty ""')
    result = ok(harness, "/note list")
    assert result.text == "3 notes."
    assert result.table is not None
    shown = {row[0]: row[1] for row in result.table.rows}
    assert set(shown) == {"empty", "k" * 31 + "…", "plan"}
    assert shown["empty"] == "(empty)"
    for width in (40, 80, 120):
        heading, lines = render_table(result.table, width)
        assert max(map(count_cells, [heading, *lines])) <= width
    assert {note["key"] for note in data(harness, "/note list")} == {"empty", "k" * 300, "plan"}


def test_the_progress_note_is_a_note_too(harness: Harness) -> None:
    harness.memory.write_progress("# Progress\n\nhalf way")
    assert "half way" in ok(harness, "/note show session_progress").verbatim
    assert [row["key"] for row in data(harness, "/note list")] == ["session_progress"]


def test_search_finds_notes_only(harness: Harness) -> None:
    ok(harness, "/memory add discovery We deploy with make ship")
    ok(harness, "/note set plan " + "padding " * 60 + "first we deploy, then rest " + "padding " * 60)
    ok(harness, "/note set other nothing of it")
    result = ok(harness, "/note search deploy")
    assert result.table is not None
    [row] = result.table.rows
    assert row[0] == "plan"
    assert "first we deploy, then rest" in row[1]
    assert [hit["key"] for hit in data(harness, "/note search deploy")] == ["plan"]
    assert ok(harness, "/note search zebra").text.startswith("No note matches `zebra`")


def test_edit_opens_the_text_and_saves_the_result(harness: Harness) -> None:
    ok(harness, "/note set plan first")
    opened = ok(harness, "/note edit plan").follow_up
    assert isinstance(opened, EditText)
    assert (opened.text, opened.suffix) == ("first", ".md")
    assert opened.then("second\n").ok
    assert content(harness, "plan") == "second\n"
    begun = ok(harness, "/note edit a new one").follow_up
    assert isinstance(begun, EditText)
    assert begun.text == ""
    assert begun.then("words").ok
    assert content(harness, "a new one") == "words"


def test_a_text_that_cannot_be_saved_is_shown_again(harness: Harness) -> None:
    opened = ok(harness, f"/note edit {'k' * 1_001}").follow_up
    assert isinstance(opened, EditText)
    result = opened.then("an hour of writing")
    assert not result.ok
    assert "key has 1,001 characters" in result.text
    assert result.verbatim == "an hour of writing"
    assert isinstance(result.follow_up, EditText)


def test_secrets_are_not_saved(tmp_path: Path) -> None:
    harness = make_harness(tmp_path)
    harness.memory = type(harness.memory)(
        tmp_path, harness.store, incognito=False, ltm=True, redact=lambda text: harness.redactor.redact(text).text
    )
    token = "ghp_" + "Zk3vQ9xW7rTb2LmN8pYd4HsJ6fGc1AuE5oBi"
    done = ok(harness, f"/note set token {token}")
    assert token not in str(done)
    assert content(harness, "token") == "[REDACTED:github-token]"
    assert not any(token.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    harness.session.close()


def test_incognito_refuses(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, incognito=True)
    for line in ("", " list", " show x", " set x y", " edit x", " search x", " delete x"):
        result = run_command(harness, f"/note{line}")
        assert not result.ok
        assert "Memory is off with --incognito" in result.text
    assert list(tmp_path.rglob("*")) == []
    harness.session.close()


def test_keys_are_completed(harness: Harness) -> None:
    ok(harness, "/note set plan first this")
    ok(harness, "/note set 'place of work' here")
    found = {suggestion.text: suggestion.note for suggestion, _ in complete_command_line(harness, "/note show pla")}
    assert found == {"plan": "first this", "place of work": "here"}
    assert [suggestion.text for suggestion, _ in complete_command_line(harness, "/note d")] == ["delete"]
