"""/feedback on real files, and the same as `clio feedback`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clio.commands.feedback_commands import parse_quick_rating
from clio.commands.registry import complete_command_line
from tests.commands.answers import answer, bucket, make_answering_harness
from tests.commands.harness import Harness, ok, refused
from tests.entrypoints.repl_support import Place, clio, make_place
from tests.entrypoints.test_subcommand import as_json, make_session, printed
from tests.support.wording import mentions


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    harness = make_answering_harness(tmp_path)
    yield harness
    harness.session.close()


@pytest.fixture
def styled(harness: Harness) -> Harness:
    """Use the style `detailed` for every answer."""
    ok(harness, "/style use detailed")
    return harness


def rows(harness: Harness) -> list[dict[str, Any]]:
    return json.loads(json.dumps(ok(harness, "/feedback").data))


@pytest.mark.parametrize(
    ("line", "reward", "reason", "text"),
    [
        ("/feedback -", -1, None, ""),
        ("/feedback - too_verbose", -1, "too_verbose", ""),
        ("/feedback down too-verbose", -1, "too_verbose", ""),
        ("/feedback bad wrong tone", -1, "wrong_tone", ""),
        ('/feedback - too_brief "say why"', -1, "too_brief", "say why"),
        ("/feedback - too_brief say why", -1, "too_brief", "say why"),
        ('/feedback - "that port does not exist"', -1, "incorrect_info", "that port does not exist"),
        ("/feedback - it's a wall of text", -1, "too_verbose", "it's a wall of text"),
        ("/feedback - meh", -1, None, "meh"),
        ("/feedback +", 1, None, ""),
        ("/feedback good", 1, None, ""),
        ('/feedback up "just right"', 1, None, "just right"),
        ("/fb 0", 0, None, ""),
        ("/feedback neutral", 0, None, ""),
    ],
)
def test_a_rating_is_saved_with_its_reason_and_text(
    styled: Harness, line: str, reward: int, reason: str | None, text: str
) -> None:
    answer(styled, "why does it fail?")
    ok(styled, line)
    [row] = rows(styled)
    assert (row["reward"], row["reason"], row["text"], row["source"]) == (reward, reason, text, "you")
    assert (row["question"], row["style"]) == ("why does it fail?", "detailed")


def test_one_line_reports_the_effect(styled: Harness) -> None:
    answer(styled, "fix the bug in the parser")
    place = bucket(styled)
    assert mentions(
        ok(styled, "/feedback - too_verbose").text, "− too_verbose", "`detailed`", place, "0↑ 1↓", "0.50", "0.41"
    )
    assert mentions(ok(styled, "/feedback +").text, "+", "−", "`detailed`", place, "1↑ 0↓", "0.50", "0.59")
    assert mentions(ok(styled, "/feedback 0").text, "0", "+", "`detailed`", place)


def test_while_styles_are_off_a_rating_is_saved_without_effect(harness: Harness) -> None:
    answer(harness, "why?")
    text = ok(harness, "/feedback -").text
    assert text.startswith("Saved: − for `why?`. Styles are off")
    assert "/style on" in text
    assert len(rows(harness)) == 1
    assert harness.memory.styles.state().contexts == {}


def test_a_rating_can_be_withdrawn(styled: Harness) -> None:
    answer(styled, "why?")
    before = styled.memory.styles.state().contexts
    ok(styled, "/feedback - too long")
    assert mentions(ok(styled, "/feedback undo").text, "Removed", "−", "too_verbose", "“too long”", "“why?”")
    assert rows(styled) == []
    assert before == {}
    after = styled.memory.styles.state().contexts
    assert {one.ups + one.downs for arms in after.values() for one in arms.values()} == {0.0}
    assert "no rating to withdraw" in refused(styled, "/feedback undo")


def test_signals_are_listed_as_signals(styled: Harness) -> None:
    answer(styled, "fix it")
    answer(styled, "no, that's wrong")
    ok(styled, "/feedback + better")
    result = ok(styled, "/feedback")
    assert mentions(result.text, "2 ratings", "newest first", "clio")
    assert result.table is not None
    assert [row[:3] for row in result.table.rows] == [
        ("+", "no, that's wrong", "“better”"),
        ("−¼", "fix it", "your next message: “no, that's wrong”"),
    ]


def test_secrets_in_the_text_are_not_saved(tmp_path: Path, styled: Harness) -> None:
    answer(styled, "why?")
    ok(styled, "/feedback - you printed ghp_0123456789abcdefghijABCDEFGHIJ012345")
    assert b"ghp_0123456789" not in (tmp_path / ".clio" / "trajectories.jsonl").read_bytes()


def test_a_missing_answer_or_rating_is_reported(harness: Harness) -> None:
    assert "no answer to rate yet" in refused(harness, "/feedback +")
    assert "No answer has been rated yet" in ok(harness, "/feedback").text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/feedback too long", "/feedback: unknown argument 'too'"),
        ("/feedback - too_verbos", "did you mean 'too_verbose'?"),
        (f"/feedback - {'x' * 301}", "up to 300 characters"),
        ("/feedback undo it", "takes no argument"),
    ],
)
def test_an_invalid_rating_is_refused_and_not_saved(harness: Harness, line: str, message: str) -> None:
    answer(harness, "why?")
    assert message in refused(harness, line)
    assert rows(harness) == []


def test_incognito_saves_nothing(tmp_path: Path) -> None:
    harness = make_answering_harness(tmp_path, incognito=True)
    assert "incognito" in refused(harness, "/feedback +")
    assert not (tmp_path / ".clio").exists()


def test_reasons_are_completed(harness: Harness) -> None:
    assert [one.text for one, _ in complete_command_line(harness, "/feedback - too")] == ["too_verbose", "too_brief"]
    assert [one.text for one, _ in complete_command_line(harness, "/feedback ")] == ["+", "-", "0", "undo"]


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("+", "/feedback +"),
        (" - ", "/feedback -"),
        ("−", "/feedback -"),
        ("- too long", "/feedback - too long"),
        ("- way too long, please", "/feedback - way too long, please"),
        ("- too_brief", "/feedback - too_brief"),
        ("- wrong tone", "/feedback - wrong tone"),
        ("- you missed the point", "/feedback - you missed the point"),
        ("+ nice and short", "/feedback + nice and short"),
    ],
)
def test_an_unambiguous_rating_line_is_a_rating(line: str, command: str) -> None:
    rating = parse_quick_rating(line)
    assert rating is not None
    assert rating.command == command


@pytest.mark.parametrize(
    "line",
    [
        "- rename the flag",
        "- fix the wrong port",
        "- shorter variable names",
        "- too many open files",
        "- not enough disk space in ci",
        "- this function is missing details",
        "- you should expand the macro",
        "- meh",
        "- [ ] write it down",
        "- too long\n- too short",
        "-\n-",
        "+ 3 lines",
        "+ great circle distance",
        "+1",
        "-1",
        "-v",
        "--",
        "",
        "too long",
    ],
)
def test_every_other_line_is_a_message(line: str) -> None:
    assert parse_quick_rating(line) is None


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


def test_the_subcommand_rates_the_newest_answer_of_the_project(place: Place) -> None:
    make_session(place, "first question", "first answer")
    make_session(place, "second question", "second answer")
    text = printed(place, "feedback", "-", "too_verbose", "it went on")
    assert mentions(text, "Saved", "−", "too_verbose", "“it went on”", "second question")
    assert "`clio style on`" not in text
    assert "clio style on" in text
    [row] = as_json(place, "feedback")
    assert (row["question"], row["reward"], row["text"]) == ("second question", -1, "it went on")
    assert as_json(place, "feedback", "+")["replaced"]["reward"] == -1


def test_the_subcommand_reports_that_there_is_nothing_to_rate(place: Place) -> None:
    done = clio(place, "feedback", "+")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no answer in this project yet" in done.stderr
