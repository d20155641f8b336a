"""A line `#text` that asks to forget something, or corrects it, has the effect of the same message."""

import pytest

from clio.ui.line_rules import make_memory_command
from tests.commands.harness import Harness, ok


def save_line(harness: Harness, text: str) -> str:
    return ok(harness, make_memory_command(text)).text


def list_facts(harness: Harness) -> list[str]:
    return sorted(one.content for one in harness.memory.store.records() if one.kind in ("fact", "discovery"))


@pytest.mark.parametrize("line", ["#forget the release manager", "#forget that Jonas is the release manager"])
def test_a_line_that_asks_to_forget_something_forgets_it(harness: Harness, line: str) -> None:
    save_line(harness, "#Jonas is the release manager")
    save_line(harness, "#the docs are in docs/")
    save_line(harness, line)
    assert list_facts(harness) == ["the docs are in docs/"]
    ok(harness, "/memory undo")
    assert len(list_facts(harness)) == 2


@pytest.mark.parametrize("line", ["#forget about staging", "#forget the release day"])
def test_a_request_to_forget_what_is_unknown_saves_nothing(harness: Harness, line: str) -> None:
    save_line(harness, "#the docs are in docs/")
    save_line(harness, line)
    assert list_facts(harness) == ["the docs are in docs/"]


@pytest.mark.parametrize("line", ["#forget-me-not is our codename", "#remove stale branches on Fridays"])
def test_a_line_that_only_begins_like_a_request_is_saved(harness: Harness, line: str) -> None:
    save_line(harness, line)
    assert list_facts(harness) == [line.removeprefix("#")]


def test_a_line_that_corrects_something_is_saved_without_its_introduction(harness: Harness) -> None:
    save_line(harness, "#Jonas is the release manager")
    save_line(harness, "#actually Ida is the release manager")
    assert list_facts(harness) == ["Ida is the release manager"]
    save_line(harness, "#we really like the word actually")
    assert "we really like the word actually" in list_facts(harness)
