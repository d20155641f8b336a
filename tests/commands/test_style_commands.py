"""/style on real files, and the same as `clio style`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.commands.command import Confirm
from clio.commands.registry import complete_command_line
from clio.ui.footer import format_style
from clio.ui.painter import count_cells
from clio.ui.tables import render_table
from tests.commands.answers import answer, bucket, make_answering_harness
from tests.commands.harness import Harness, data, ok, refused
from tests.entrypoints.repl_support import Place, clio, make_place
from tests.entrypoints.test_subcommand import as_json, printed
from tests.support.wording import mentions

OWN = "---\nid: haiku\nname: Haiku\nsummary: in seventeen syllables\nverbosity: 0.0\n---\nAnswer as a haiku.\n"


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    harness = make_answering_harness(tmp_path)
    yield harness
    harness.session.close()


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Write a style of the project."""
    path = tmp_path / ".clio" / "styles" / "haiku.md"
    path.parent.mkdir(parents=True)
    path.write_text(OWN, encoding="utf-8")
    return path


def ids(harness: Harness) -> list[str]:
    return [one["skill"]["id"] for one in data(harness, "/style list")]


def test_answers_use_a_style_only_between_on_and_off(harness: Harness) -> None:
    assert "styles are off" in ok(harness, "/style").text
    assert answer(harness, "why?") is None
    assert "from the next answer on" in ok(harness, "/style on").text
    assert answer(harness, "why?") is not None
    assert format_style(harness)
    ok(harness, "/style off")
    assert format_style(harness) == ""
    assert answer(harness, "why?") is None


def test_a_selected_style_is_used_until_auto(harness: Harness) -> None:
    assert ok(harness, "/style use Teaching").text.startswith("Every answer uses `teaching` from now on")
    for question in ("why?", "fix the bug", "hello"):
        given = answer(harness, question)
        assert given is not None
        assert given.source.endswith("teaching.md")
    assert data(harness, "/style")["pinned"] == "teaching"
    assert "you chose it" in ok(harness, "/style why").text
    ok(harness, "/style auto")
    assert data(harness, "/style")["pinned"] is None
    assert data(harness, "/style")["on"] is True


def test_a_misspelt_name_gets_a_suggestion(harness: Harness) -> None:
    assert "did you mean 'concise'?" in refused(harness, "/style use concis")
    assert "did you mean '/style list'?" in refused(harness, "/style lsit")


def test_why_lists_every_style(harness: Harness) -> None:
    assert "styles are off" in ok(harness, "/style why").text
    ok(harness, "/style on")
    assert ok(harness, "/style why").text == "No answer had a style yet."
    answer(harness, "fix the failing test in the parser")
    account = data(harness, "/style why")
    arms = {arm["id"]: arm for arm in account["arms"]}
    assert set(arms) == set(ids(harness))
    for arm in arms.values():
        parts = arm["intent"] + arm["time"] + arm["sentiment"] + arm["topic"]
        assert arm["trigger"] == pytest.approx(parts)
        if not arm["left_out"]:
            assert arm["score"] == pytest.approx(0.4 * arm["trigger"] + 0.3 * arm["sample"] + 0.3 * arm["aligned"])
    result = ok(harness, "/style why")
    assert result.table is not None
    assert {row[1] for row in result.table.rows} == {id for id, arm in arms.items() if not arm["left_out"]}
    assert [row[1] for row in result.table.rows if row[0]] == [account["chosen"]]
    left_out = [id for id, arm in arms.items() if arm["left_out"]]
    assert all(id in result.text for id in left_out)
    heading, lines = render_table(result.table, 80)
    assert heading
    assert max(map(count_cells, lines)) <= 80


def test_why_shows_what_was_learned_in_the_context(harness: Harness) -> None:
    ok(harness, "/style use concise")
    answer(harness, "fix the failing test in the parser")
    for _ in range(3):
        harness.memory.styles.learn(bucket(harness), "concise", 1)
    ok(harness, "/style auto")
    answer(harness, "fix the failing test in the parser")
    result = ok(harness, "/style why")
    assert "3 answers with this intent rated" in result.text
    assert "Your learned preferences there" in result.text
    assert result.table is not None
    assert [row[3] for row in result.table.rows if row[1] == "concise"] == ["3↑ 0↓"]
    assert ok(harness, "/style").text.endswith("Best rated: fix `concise` 3↑ 0↓.")


def test_another_clio_can_read_the_account(harness: Harness, tmp_path: Path) -> None:
    ok(harness, "/style on")
    answer(harness, "why does it fail?")
    harness.session.close()
    again = make_answering_harness(tmp_path)
    assert data(again, "/style why") == data(harness, "/style why")
    again.session.close()


def test_the_list_shows_the_ratings_of_each_style(harness: Harness, own: Path) -> None:
    ok(harness, "/style use haiku")
    answer(harness, "hello")
    ok(harness, "/feedback -")
    table = ok(harness, "/style list").table
    assert table is not None
    [row] = [row for row in table.rows if row[1] == "haiku (project)"]
    assert row == ("●", "haiku (project)", "in seventeen syllables", "0↑ 1↓", "0.41", "1 · now")


def test_one_style_is_shown_completely(harness: Harness, own: Path) -> None:
    table = ok(harness, "/style show haiku").table
    assert table is not None
    shown = {row[0]: row[1] for row in table.rows}
    assert shown["prompt text"] == "Answer as a haiku."
    assert shown["sounds"] == "verbosity 0.00"
    assert shown["from"] == str(own)


def test_reset_clears_one_style_or_after_a_question_all(harness: Harness) -> None:
    ok(harness, "/style on")
    place = "fix/neutral/morning"
    harness.memory.styles.learn(place, "concise", 1)
    harness.memory.styles.learn(place, "detailed", -1)
    assert mentions(ok(harness, "/style reset concise").text, "Deleted", "`concise`")
    assert set(harness.memory.styles.state().contexts[place]) == {"detailed"}
    asked = ok(harness, "/style reset").follow_up
    assert isinstance(asked, Confirm)
    assert asked.then == "/style reset --yes"
    ok(harness, asked.then)
    assert harness.memory.styles.state().contexts == {}
    assert harness.memory.styles.is_on
    assert ok(harness, "/style reset").text == "Nothing has been learned about styles yet."


def test_only_user_written_styles_can_be_deleted(harness: Harness, own: Path) -> None:
    assert "is built in" in refused(harness, "/style delete concise")
    asked = ok(harness, "/style delete haiku").follow_up
    assert isinstance(asked, Confirm)
    assert own.exists()
    ok(harness, asked.then)
    assert not own.exists()
    assert "haiku" not in ids(harness)


def test_deleting_a_users_style_restores_the_built_in_one(harness: Harness) -> None:
    own = harness.loaded.home / "styles" / "concise.md"
    own.parent.mkdir(parents=True)
    own.write_text(OWN.replace("haiku", "concise"), encoding="utf-8")
    assert mentions(ok(harness, "/style delete concise --yes").text, "built-in style", "used again")


def test_a_file_without_a_style_is_named(harness: Harness, own: Path) -> None:
    own.write_text("just words", encoding="utf-8")
    ok(harness, "/style on")
    assert str(own) in ok(harness, "/style list").text
    assert str(own) in ok(harness, "/style").text


def test_ratings_are_exported_with_the_styles_that_are_not_built_in(
    harness: Harness, own: Path, tmp_path: Path
) -> None:
    harness.memory.styles.learn("fix/neutral/morning", "haiku", 1)
    document = data(harness, "/style export")
    assert document["state"]["contexts"]["fix/neutral/morning"]["haiku"]["ups"] == 1.0
    assert [skill["id"] for skill in document["skills"]] == ["haiku"]
    path = tmp_path / "out.json"
    ok(harness, f"/style export {path}")
    assert json.loads(path.read_text(encoding="utf-8")) == document
    assert "--force replaces it" in refused(harness, f"/style export {path}")
    ok(harness, f"/style export {path} --force")


def test_names_are_completed(harness: Harness, own: Path) -> None:
    assert [one.text for one, _ in complete_command_line(harness, "/style use c")] == ["casual", "concise"]
    assert [one.text for one, _ in complete_command_line(harness, "/style delete ")] == ["haiku"]


def test_incognito_has_no_styles(tmp_path: Path) -> None:
    harness = make_answering_harness(tmp_path, incognito=True)
    for line in ("/style", "/style on", "/style list", "/style why", "/style use concise"):
        assert "incognito" in refused(harness, line)
    assert format_style(harness) == ""
    assert list(complete_command_line(harness, "/style use ")) == []
    assert not (tmp_path / ".clio").exists()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


def test_the_subcommand_turns_styles_on_for_later_runs(place: Place) -> None:
    assert "from the next answer on" in printed(place, "style", "on")
    assert as_json(place, "style")["on"] is True
    assert printed(place, "styles", "use", "concise").startswith("Every answer uses concise from now on")
    assert as_json(place, "style")["pinned"] == "concise"
    printed(place, "style", "off")
    assert as_json(place, "style")["on"] is False
    assert (place.home / ".clio" / "styles.json").stat().st_mode & 0o777 == 0o600


def test_the_subcommand_clears_nothing_without_confirmation(place: Place) -> None:
    as_json(place, "style", "on")
    done = clio(place, "style", "reset")
    assert (done.returncode, done.stdout) == (0, "Nothing has been learned about styles yet.\n")
