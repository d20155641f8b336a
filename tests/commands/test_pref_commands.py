"""/prefs and /scenario on real files, and the same as `clio prefs`."""

import json
import re
from pathlib import Path

import pytest

from clio.commands.command import Confirm
from clio.commands.registry import complete_command_line, run_command
from clio.config.loaded import LoadedConfig
from clio.config.options import Options
from clio.config.schema import Config
from clio.entrypoints.subcommand import format_help, run_subcommand
from clio.errors import UserError
from clio.memory.store.record import Provenance, get_short_id
from clio.ui.painter import count_cells
from clio.ui.tables import render_table
from tests.commands.harness import Harness, data, make_harness, ok, refused
from tests.support.wording import mentions


def items(harness: Harness, line: str) -> list[str]:
    return [one["item"] for one in data(harness, line)]


@pytest.mark.parametrize(
    ("words", "item", "reason", "score"),
    [
        ("concise code", "concise code", "", 9.0),
        ('"concise code" "asks for shorter" --score 8', "concise code", "asks for shorter", 8.0),
        ("--score=5.5 dark mode --reason 'seen often'", "dark mode", "seen often", 5.5),
        ("emojis --score 0.5", "emojis", "", 0.5),
        ("never use tabs", "never use tabs", "", 0.5),
        ("don't use tabs", "don't use tabs", "", 0.5),
        ("always run the tests", "always run the tests", "", 10.0),
        ("always run the tests --score 8", "always run the tests", "", 8.0),
        ("-- --score", "--score", "", 9.0),
        ("偏好 简洁", "偏好 简洁", "", 9.0),
    ],
)
def test_a_preference_is_added(harness: Harness, words: str, item: str, reason: str, score: float) -> None:
    done = data(harness, f"/prefs add {words}")
    found = done["preference"]
    assert (done["action"], found["item"], found["reason"], found["score"]) == ("new", item, reason, score)
    assert data(harness, "/prefs") == [found | {"decay_coefficient": 1.0, "effective_weight": pytest.approx(score)}]
    ok(harness, "/memory undo")
    assert data(harness, "/prefs show") == []


def test_the_result_of_adding_is_reported(harness: Harness) -> None:
    assert "score 9, liked" in ok(harness, "/prefs add tabs").text
    assert mentions(ok(harness, "/prefs add tabs --score 5").text, "9", "60 %", "new", "40 %", "old")
    rule = ok(harness, "/prefs add never use tabs").text
    assert mentions(rule, "Changed", "`never use tabs`", "0.5", "hard limit")
    assert items(harness, "/prefs") == ["never use tabs"]
    assert mentions(ok(harness, "/prefs add tabs").text, "hard limit", "`never use tabs`")


def test_an_inferred_repetition_does_not_change_a_rule(harness: Harness) -> None:
    ok(harness, "/prefs add emojis --score 0.5")
    again = ok(harness, "/prefs add emojis --score 9").text
    assert "It is a rule, so its score is unchanged" in again
    assert data(harness, "/prefs show emojis")["score"] == 0.5
    ok(harness, "/prefs update emojis --score 6")
    assert data(harness, "/prefs show emojis")["score"] == 6.0


def test_tags_are_kept_and_can_be_set(harness: Harness) -> None:
    ok(harness, "/prefs add concise code --keywords 'brevity, minimal code' --scenarios code,ops")
    ok(harness, "/prefs add CONCISE code")
    one = data(harness, "/prefs show concise code")
    assert (one["keywords"], one["scenarios"]) == (["brevity", "minimal code"], ["coding", "ops"])
    ok(harness, "/prefs update concise code --keywords terse --scenarios ''")
    one = data(harness, "/prefs show concise code")
    assert (one["keywords"], one["scenarios"]) == (["terse"], [])
    assert data(harness, "/prefs keywords") == {"terse": 1}
    assert data(harness, "/prefs scenarios")["scenarios"]["coding"]["preferences"] == 0


def test_secrets_are_not_saved(harness: Harness) -> None:
    key = "sk-ant-" + "a1B2c3D4e5F6g7H8i9J0" * 2
    ok(harness, f'/prefs add "use {key}" "because {key}" --keywords {key}')
    ok(harness, f"/prefs add other --reason {key}")
    ok(harness, f"/prefs update other --item 'my {key}' --keywords {key}")
    stored = "".join(path.read_text() for path in (harness.loaded.home).rglob("*") if path.is_file())
    assert "my" in stored
    assert key not in stored


def test_listing_changes_nothing_and_touching_has_a_cooldown(harness: Harness) -> None:
    ok(harness, "/prefs add tabs --score 7")
    before = data(harness, "/prefs show tabs")
    for line in ("/prefs top", "/prefs recall tab", "/prefs recall --type like", "/prefs show"):
        ok(harness, line)
    assert data(harness, "/prefs show tabs")["last_seen"] == before["last_seen"]
    assert data(harness, "/prefs touch tabs")["status"] == "cooldown"
    id = before["id"]
    assert data(harness, f"/prefs apply {id[-8:]} {id} nothing") == [
        {"id": id, "status": "cooldown"},
        {"id": "nothing", "status": "not_found"},
    ]
    ok(harness, "/prefs recall tab --touch")
    assert data(harness, "/prefs show tabs")["touch_count"] == 0


def test_json_has_the_fields_of_the_specification_of_preferences(harness: Harness) -> None:
    ok(harness, "/prefs add concise code --score 9 --reason 'asked for shorter code'")
    entry = data(harness, "/prefs show concise code")
    fields = (
        "id item reason keywords base_score source added_at last_seen score_exponent decay_coefficient effective_weight"
    )
    assert set(fields.split()) <= set(entry)
    assert (entry["base_score"], entry["source"]) == (9.0, "manual")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", entry["added_at"])


def test_preferences_are_confirmed_by_their_text_too(harness: Harness) -> None:
    ok(harness, "/prefs add concise code")
    id = data(harness, "/prefs show concise code")["id"]
    assert data(harness, "/prefs apply 'concise code'") == [{"id": id, "status": "cooldown"}]


def test_confirming_only_unknown_preferences_is_refused(harness: Harness) -> None:
    ok(harness, "/prefs add tabs")
    assert "no preference '3'" in refused(harness, "/prefs apply 3 8")


def test_lists_are_filtered(harness: Harness) -> None:
    ok(harness, "/prefs add short functions --score 9 --scenarios coding")
    ok(harness, "/prefs add dark mode --score 5")
    ok(harness, "/prefs add never use goto")
    assert items(harness, "/prefs top 1") == ["short functions"]
    assert ok(harness, "/prefs top 1").text == "3 preferences, 1 shown."
    assert items(harness, "/prefs top --type taboo,habit") == ["dark mode", "never use goto"]
    assert items(harness, "/prefs recall --type hard --min-score 3") == []
    assert items(harness, "/prefs recall dark mode") == ["dark mode"]
    assert items(harness, "/prefs recall mode dark") == []
    assert items(harness, "/prefs recall --scenario dev") == ["short functions"]
    assert items(harness, "/prefs recall --min-score 5 --limit 1") == ["short functions"]
    unknown = ok(harness, "/prefs recall --scenario codin")
    assert mentions(unknown.text, "No matching preferences", "no task type", "`codin`", "'coding'")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/prefs add", "Which preference?"),
        ("/prefs add x --score 11", "--score takes a number from 0 to 10, not '11'"),
        ("/prefs add x --score -1", "--score takes a number from 0 to 10, not '-1'"),
        ("/prefs add x --score nan", "--score takes a number from 0 to 10"),
        ("/prefs add x --score 50%", "--score takes a number from 0 to 10"),
        ("/prefs add x --scor 5", "did you mean '--score'?"),
        ('/prefs add "a" "b" "c"', "takes an item and a reason"),
        ("/prefs update tabs", "Nothing to change;"),
        ("/prefs update", "Which preference?"),
        ("/prefs update spaces --score 3", "There is no memory 'spaces'"),
        ("/prefs remove", "Which preference?"),
        ("/prefs remove spaces", "There is no memory 'spaces'"),
        ("/prefs apply", "Which were used?"),
        ("/prefs touch spaces", "There is no preference 'spaces'"),
        ("/prefs top many", "/prefs top takes a whole number of at least 1, not 'many'"),
        ("/prefs top 0", "takes a whole number of at least 1"),
        ("/prefs top 1 2", "takes a number"),
        ("/prefs recall --limit 0", "--limit takes a whole number of at least 1"),
        ("/prefs recall --type lukewarm", "'lukewarm' is not a band of scores; the bands are preference, style"),
        ("/prefs recall --min-score 11", "--min-score takes a number from 0 to 10"),
        ("/prefs show --format xml", "--format takes table or context, not 'xml'"),
        ("/prefs config set-half-life 0", "preference_half_life_days must be a number above 0, not '0'"),
        ("/prefs config set-floor 1", "preference_floor must be a number from 0 to below 1, not '1'"),
        ("/prefs config sett", "/prefs config takes show"),
        ("/prefs clear all", "/prefs clear takes only --yes"),
        ("/prefs info x", "/prefs info takes no argument"),
        ("/prefs reccal", "did you mean '/prefs recall'?"),
        ("/scenario codin", "There is no task type 'codin'; did you mean 'coding'?"),
    ],
)
def test_invalid_commands_are_reported_and_change_nothing(harness: Harness, line: str, message: str) -> None:
    ok(harness, "/prefs add tabs")
    result = run_command(harness, line)
    assert not result.ok
    assert message in result.text
    assert items(harness, "/prefs") == ["tabs"]


def test_clearing_asks_and_can_be_undone_completely(harness: Harness) -> None:
    assert ok(harness, "/prefs clear").text == "There are no preferences."
    for item in ("tabs", "dark mode", "never use goto"):
        ok(harness, f"/prefs add {item}")
    asked = ok(harness, "/prefs clear").follow_up
    assert asked == Confirm(question="Clear 3 preferences, 1 hard limit among them?", then="/prefs clear --yes")
    assert data(harness, asked.then) == {"cleared": 3}
    assert data(harness, "/prefs") == []
    ok(harness, "/memory undo")
    assert len(data(harness, "/prefs")) == 3
    ok(harness, "/prefs remove dark mode")
    assert len(data(harness, "/prefs")) == 2


def test_the_half_life_is_written_to_the_users_own_file(harness: Harness) -> None:
    answer = ok(harness, "/prefs config set-half-life 14")
    path = harness.loaded.home / "config.yaml"
    assert answer.text == f"Written to {path}."
    assert path.read_text() == "preference_half_life_days: 14\n"
    ok(harness, "/prefs config set-floor 0.05")
    assert data(harness, "/prefs config") == {"half_life_days": 14.0, "floor": 0.05}
    assert (harness.memory.preferences.fading.half_life_days, harness.memory.preferences.fading.floor) == (14.0, 0.05)


def test_the_file_is_named_the_same_way_in_the_answer_and_in_the_table(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = harness.loaded.home
    monkeypatch.setenv("HOME", str(home.parent))
    answer = ok(harness, "/prefs config set-half-life 14")
    assert answer.text == f"Written to ~/{home.name}/config.yaml."
    assert answer.table is not None and answer.table.rows[0][2] == f"~/{home.name}/config.yaml"


def test_a_value_set_by_the_project_is_named(harness: Harness) -> None:
    harness.loaded = LoadedConfig(
        config=harness.config,
        origins={"preference_floor": ".clio/config.yaml:2"},
        project=harness.loaded.project,
        home=harness.loaded.home,
    )
    assert mentions(ok(harness, "/prefs config set-floor 0.3").text, ".clio/config.yaml:2")
    assert data(harness, "/prefs config")["floor"] == 0.1


def test_the_whole_profile_is_printed_as_text(harness: Harness) -> None:
    ok(harness, "/prefs add concise --score 9")
    ok(harness, "/prefs add emojis --score 0.5")
    shown = ok(harness, "/prefs show --format context")
    assert shown.verbatim == "[User Preferences]\nLoves: concise (9.0)\nHard limits: emojis"
    assert shown.data == {"context": shown.verbatim}
    assert data(harness, "/prefs info")["bands"] == {"preference": 1, "style": 1, "habit": 0, "aversion": 0, "taboo": 1}


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_the_table_fits_the_terminal(harness: Harness, width: int) -> None:
    ok(harness, "/prefs add '" + "a long liking 漢字 " * 20 + "' --scenarios coding,testing")
    ok(harness, "/prefs add tabs")
    table = ok(harness, "/prefs").table
    assert table is not None
    heading, lines = render_table(table, width)
    assert all(count_cells(line) <= width for line in (heading, *lines))


def test_commands_and_options_are_completed(harness: Harness) -> None:
    ok(harness, "/prefs add dark mode")
    record = harness.memory.preferences.all()[0].record

    def offered(line: str) -> list[str]:
        return [suggestion.text for suggestion, _ in complete_command_line(harness, line)]

    assert "recall" in offered("/prefs re")
    assert offered("/prefs touch da") == ["dark mode"]
    assert get_short_id(record) in offered("/prefs update ")
    assert offered(f"/prefs update {get_short_id(record)} --sc") == ["--score", "--scenarios"]
    assert offered("/prefs recall --type ta") == ["taboo"]
    assert offered("/prefs recall --scenario cod") == ["coding"]
    assert offered("/scenario re") == ["review"]
    assert offered("/scenario a") == ["auto"]
    assert offered("/prefs config set-f") == ["set-floor "]


def test_a_scenario_is_set_and_reset(harness: Harness) -> None:
    assert "detected per turn" in ok(harness, "/scenario").text
    assert mentions(ok(harness, "/scenario Docs").text, "`writing`", "`/scenario auto`")
    assert harness.memory.scenario == "writing"
    assert data(harness, "/scenario")["scenario"] == "writing"
    ok(harness, "/scenario auto")
    assert harness.memory.scenario is None


def test_incognito_refuses_and_completes_nothing(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, incognito=True)
    for line in ("/prefs", "/prefs add x", "/prefs clear --yes", "/scenario coding", "/prefs config set-floor 0.5"):
        result = run_command(harness, line)
        assert not result.ok
        assert result.text.startswith("Memory is off")
    assert list(complete_command_line(harness, "/prefs touch ")) == []
    assert not (tmp_path / "home").exists()


def test_a_damaged_scenario_file_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "scenarios.yaml").write_text("coding: 3\n")
    loaded = LoadedConfig(config=Config(), origins={}, project=tmp_path, home=home)
    assert run_subcommand(Options(cwd=tmp_path), loaded, ("prefs", "scenarios"), json=False) == 0
    assert "scenarios.yaml:1: coding must be a list" in capsys.readouterr().out


def test_the_subcommand_reads_the_same_file_with_the_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = Config(preference_half_life_days=7.0, preference_floor=0.5)
    loaded = LoadedConfig(config=config, origins={}, project=tmp_path, home=tmp_path / "home")

    def clio(*words: str, json: bool = False) -> str:
        assert run_subcommand(Options(cwd=tmp_path), loaded, ("prefs", *words), json=json) == 0
        return capsys.readouterr().out

    assert "`" not in clio("add", "concise code", "asks for shorter")
    assert "· clio memory undo" in clio("add", "never use tabs")
    found = json.loads(clio("top", json=True))
    assert [(one["item"], one["reason"]) for one in found] == [
        ("concise code", "asks for shorter"),
        ("never use tabs", ""),
    ]
    assert json.loads(clio("config", json=True)) == {"half_life_days": 7.0, "floor": 0.5}
    with pytest.raises(UserError, match=r"Clear 2 preferences.* add --yes"):
        run_subcommand(Options(cwd=tmp_path), loaded, ("prefs", "clear"), json=True)
    assert (tmp_path / "home" / "memories.json").parent.exists()
    assert "clio prefs recall [QUERY]" in format_help("prefs")


def test_the_one_letter_options_of_the_specification_are_accepted(harness: Harness) -> None:
    ok(harness, "/prefs add no tabs -s 0.5")
    ok(harness, "/prefs add short functions -s 9")
    ok(harness, "/prefs add early returns -s 8")
    assert items(harness, "/prefs recall -t taboo") == ["no tabs"]
    assert items(harness, "/prefs recall -t preference -l 1") == ["short functions"]
    ok(harness, "/prefs update short functions --scenarios coding")
    ok(harness, "/prefs update no tabs --scenarios writing")
    assert items(harness, "/prefs recall -s writing -t taboo") == ["no tabs"], "a search has no score: -s is --scenario"
    assert "There is no option '-l' here" in refused(harness, "/prefs top -l 3")
    assert items(harness, "/prefs top -t preference,taboo") == ["short functions", "early returns", "no tabs"]
    assert items(harness, "/prefs recall -- -t") == []


def test_the_source_field_names_the_author_of_a_preference(harness: Harness) -> None:
    ok(harness, "/prefs add short functions")
    harness.memory.preferences.add("early returns", provenance=Provenance(session="s", asserted_by="model"))
    sources = {one["item"]: one["source"] for one in data(harness, "/prefs show")}
    assert sources == {"short functions": "manual", "early returns": "analysis"}


def test_a_preference_may_be_remembered_with_an_importance(harness: Harness) -> None:
    ok(harness, "/memory remember prefers dark mode --type preference --importance 0.4")
    [one] = harness.memory.preferences.all()
    assert (one.record.importance, one.score) == (0.4, 9.0)
    assert "from 0 to 1" in refused(harness, "/memory remember likes tabs --type preference --importance 4")
    assert len(harness.memory.preferences.all()) == 1
