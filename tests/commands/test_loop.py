"""/loop recognizes the interval at the beginning, and typing errors in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.commands.command import RepeatMessage
from clio.commands.registry import run_command
from tests.commands.harness import Harness, make_harness, refused


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    yield make_harness(tmp_path)


@pytest.mark.parametrize(
    ("line", "seconds", "text"),
    [
        ("10m look", 600, "look"),
        ("30 s look", 30, "look"),
        ("5 minutes look", 300, "look"),
        ("1h30m look", 5_400, "look"),
        ("1 h 30 min look", 5_400, "look"),  # as the interval is displayed
        ("1h 30m look", 5_400, "look"),
        ("2 Stunden schau nach", 7_200, "schau nach"),
        ("look", 600, "look"),
        ("3 tests still fail?", 600, "3 tests still fail?"),
        ("5m 2 hours left?", 300, "2 hours left?"),
        ("5m, look", 300, "look"),
        ("1h 30m: look, then tell", 5400, "look, then tell"),
        ("10m 3d model done?", 600, "3d model done?"),
        ("2 h1 tags?", 600, "2 h1 tags?"),
    ],
)
def test_an_interval_is_read_in_the_usual_formats(harness: Harness, line: str, seconds: float, text: str) -> None:
    step = run_command(harness, f"/loop {line}").follow_up
    assert isinstance(step, RepeatMessage) and (step.interval_s, step.text) == (seconds, text)


@pytest.mark.parametrize("line", ["500ms look", "3d look", "1.5h look", "10x look", "0s look"])
def test_a_mistyped_interval_is_not_sent_to_the_model(harness: Harness, line: str) -> None:
    assert refused(harness, f"/loop {line}")
