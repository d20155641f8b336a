"""/style on real files, and the same as `clio style`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.commands.command import Confirm
from clio.commands.registry import complete
from clio.commands.style_commands import style_word
from clio.ui.tables import table_lines
from clio.ui.text_width import cells_of
from tests.commands.answers import answer, bucket, make_answering_desk
from tests.commands.desk import Desk, data, ok, refused
from tests.entrypoints.repl_support import Place, clio, make_place
from tests.entrypoints.test_subcommand import as_json, printed

OWN = "---\nid: haiku\nname: Haiku\nsummary: in seventeen syllables\nverbosity: 0.0\n---\nAnswer as a haiku.\n"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = make_answering_desk(tmp_path)
    yield desk
    desk.session.close()


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A style of the project's."""
    path = tmp_path / ".clio" / "styles" / "haiku.md"
    path.parent.mkdir(parents=True)
    path.write_text(OWN, encoding="utf-8")
    return path


def ids(desk: Desk) -> list[str]:
    return [one["skill"]["id"] for one in data(desk, "/style list")]


def test_answers_get_a_style_only_between_on_and_off(desk: Desk) -> None:
    assert "Styles are off" in ok(desk, "/style").text
    assert answer(desk, "why?") is None
    assert "from the next answer on" in ok(desk, "/style on").text
    assert answer(desk, "why?") is not None
    assert style_word(desk)
    ok(desk, "/style off")
    assert style_word(desk) == ""
    assert answer(desk, "why?") is None


def test_a_named_style_is_used_until_clio_may_choose_again(desk: Desk) -> None:
    assert ok(desk, "/style use Teaching").text.startswith("Every answer is `teaching` from now on")
    for question in ("why?", "fix the bug", "hello"):
        given = answer(desk, question)
        assert given is not None
        assert given.source.endswith("teaching.md")
    assert data(desk, "/style")["pinned"] == "teaching"
    assert "you named it" in ok(desk, "/style why").text
    ok(desk, "/style auto")
    assert data(desk, "/style")["pinned"] is None
    assert data(desk, "/style")["on"] is True


def test_a_misspelt_name_is_helped_on(desk: Desk) -> None:
    assert "did you mean 'concise'?" in refused(desk, "/style use concis")
    assert "did you mean '/style list'?" in refused(desk, "/style lsit")


def test_why_accounts_for_every_style(desk: Desk) -> None:
    assert "Styles are off" in ok(desk, "/style why").text
    ok(desk, "/style on")
    assert ok(desk, "/style why").text == "No answer had a style yet."
    answer(desk, "fix the failing test in the parser")
    account = data(desk, "/style why")
    arms = {arm["id"]: arm for arm in account["arms"]}
    assert set(arms) == set(ids(desk))
    for arm in arms.values():
        parts = arm["intent"] + arm["time"] + arm["sentiment"] + arm["topic"]
        assert arm["trigger"] == pytest.approx(parts)
        if not arm["left_out"]:
            assert arm["score"] == pytest.approx(0.4 * arm["trigger"] + 0.3 * arm["sample"] + 0.3 * arm["aligned"])
    result = ok(desk, "/style why")
    assert result.table is not None
    assert {row[1] for row in result.table.rows} == {id for id, arm in arms.items() if not arm["left_out"]}
    assert [row[1] for row in result.table.rows if row[0]] == [account["chosen"]]
    left_out = [id for id, arm in arms.items() if arm["left_out"]]
    assert all(id in result.text for id in left_out)
    heading, lines = table_lines(result.table, 80)
    assert heading
    assert max(map(cells_of, lines)) <= 80


def test_why_tells_what_was_learned_there(desk: Desk) -> None:
    ok(desk, "/style use concise")
    answer(desk, "fix the failing test in the parser")
    for _ in range(3):
        desk.memory.styles.learn(bucket(desk), "concise", 1)
    ok(desk, "/style auto")
    answer(desk, "fix the failing test in the parser")
    result = ok(desk, "/style why")
    assert "3 answers with this intent rated" in result.text
    assert "Learned of your taste there" in result.text
    assert result.table is not None
    assert [row[3] for row in result.table.rows if row[1] == "concise"] == ["3↑ 0↓"]
    assert ok(desk, "/style").text.endswith("Liked best: fix `concise` 3↑ 0↓.")


def test_the_account_is_there_in_another_clio(desk: Desk, tmp_path: Path) -> None:
    ok(desk, "/style on")
    answer(desk, "why does it fail?")
    desk.session.close()
    again = make_answering_desk(tmp_path)
    assert data(again, "/style why") == data(desk, "/style why")
    again.session.close()


def test_the_list_shows_what_each_earned(desk: Desk, own: Path) -> None:
    ok(desk, "/style use haiku")
    answer(desk, "hello")
    ok(desk, "/feedback -")
    table = ok(desk, "/style list").table
    assert table is not None
    [row] = [row for row in table.rows if row[1] == "haiku (project)"]
    assert row == ("●", "haiku (project)", "in seventeen syllables", "0↑ 1↓", "0.41", "1 · now")


def test_one_style_is_shown_whole(desk: Desk, own: Path) -> None:
    table = ok(desk, "/style show haiku").table
    assert table is not None
    shown = {row[0]: row[1] for row in table.rows}
    assert shown["model reads"] == "Answer as a haiku."
    assert shown["sounds"] == "verbosity 0.00"
    assert shown["from"] == str(own)


def test_reset_forgets_one_or_after_a_question_all(desk: Desk) -> None:
    ok(desk, "/style on")
    place = "fix/neutral/morning"
    desk.memory.styles.learn(place, "concise", 1)
    desk.memory.styles.learn(place, "detailed", -1)
    assert ok(desk, "/style reset concise").text == "Nothing is known of `concise` any more."
    assert set(desk.memory.styles.state().contexts[place]) == {"detailed"}
    asked = ok(desk, "/style reset").follow_up
    assert isinstance(asked, Confirm)
    assert asked.then == "/style reset --yes"
    ok(desk, asked.then)
    assert desk.memory.styles.state().contexts == {}
    assert desk.memory.styles.is_on
    assert ok(desk, "/style reset").text == "Nothing was learned about styles yet."


def test_only_styles_someone_wrote_can_be_deleted(desk: Desk, own: Path) -> None:
    assert "is built in" in refused(desk, "/style delete concise")
    asked = ok(desk, "/style delete haiku").follow_up
    assert isinstance(asked, Confirm)
    assert own.exists()
    ok(desk, asked.then)
    assert not own.exists()
    assert "haiku" not in ids(desk)


def test_a_style_of_the_user_in_place_of_a_built_in_one_gives_way_to_it_again(desk: Desk) -> None:
    own = desk.loaded.home / "styles" / "concise.md"
    own.parent.mkdir(parents=True)
    own.write_text(OWN.replace("haiku", "concise"), encoding="utf-8")
    assert ok(desk, "/style delete concise --yes").text.endswith("The built-in style of that name shows again.")


def test_a_file_that_holds_no_style_is_named(desk: Desk, own: Path) -> None:
    own.write_text("just words", encoding="utf-8")
    ok(desk, "/style on")
    assert str(own) in ok(desk, "/style list").text
    assert str(own) in ok(desk, "/style").text


def test_what_was_learned_is_exported_with_the_styles_that_are_not_built_in(
    desk: Desk, own: Path, tmp_path: Path
) -> None:
    desk.memory.styles.learn("fix/neutral/morning", "haiku", 1)
    document = data(desk, "/style export")
    assert document["state"]["contexts"]["fix/neutral/morning"]["haiku"]["ups"] == 1.0
    assert [skill["id"] for skill in document["skills"]] == ["haiku"]
    path = tmp_path / "out.json"
    ok(desk, f"/style export {path}")
    assert json.loads(path.read_text(encoding="utf-8")) == document
    assert "--force replaces it" in refused(desk, f"/style export {path}")
    ok(desk, f"/style export {path} --force")


def test_names_are_completed(desk: Desk, own: Path) -> None:
    assert [one.text for one, _ in complete(desk, "/style use c")] == ["casual", "concise"]
    assert [one.text for one, _ in complete(desk, "/style delete ")] == ["haiku"]


def test_incognito_has_no_styles(tmp_path: Path) -> None:
    desk = make_answering_desk(tmp_path, incognito=True)
    for line in ("/style", "/style on", "/style list", "/style why", "/style use concise"):
        assert "incognito" in refused(desk, line)
    assert style_word(desk) == ""
    assert list(complete(desk, "/style use ")) == []
    assert not (tmp_path / ".clio").exists()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


def test_the_subcommand_turns_styles_on_for_every_later_clio(place: Place) -> None:
    assert "from the next answer on" in printed(place, "style", "on")
    assert as_json(place, "style")["on"] is True
    assert printed(place, "styles", "use", "concise").startswith("Every answer is concise from now on")
    assert as_json(place, "style")["pinned"] == "concise"
    printed(place, "style", "off")
    assert as_json(place, "style")["on"] is False
    assert (place.home / ".clio" / "styles.json").stat().st_mode & 0o777 == 0o600


def test_the_subcommand_forgets_nothing_unasked(place: Place) -> None:
    as_json(place, "style", "on")
    done = clio(place, "style", "reset")
    assert (done.returncode, done.stdout) == (0, "Nothing was learned about styles yet.\n")
