"""Links in an answer: where they lead stays in sight, and nothing but web addresses and files can be clicked."""

import re

import pytest

from clio.ui.markdown import make_markdown
from clio.ui.painter import Painter, Part, count_row_cells
from clio.ui.theme import Theme

LINK = re.compile(r"\x1b\]8;([^;]*);([^\x1b]*)\x1b\\")


def painted(text: str, *, links: bool = True, columns: int = 80) -> list[str]:
    painter = Painter(Theme(links=links), lambda: (columns, 24))
    return painter.render_rows(Part(body=make_markdown(text, links=links)))


def targets(rows: list[str]) -> set[str]:
    return {found[2] for row in rows for found in LINK.finditer(row) if found[2]}


def plain(rows: list[str]) -> str:
    return "\n".join(re.sub(r"\x1b(?:\[[0-9;]*m|\]8;[^\x1b]*\x1b\\)", "", row) for row in rows)


def test_a_link_can_be_clicked_and_its_target_is_seen() -> None:
    rows = painted("See [the **docs**](https://docs.example/x) and go on.")
    assert plain(rows) == "See the docs (https://docs.example/x) and go on."
    assert targets(rows) == {"https://docs.example/x"}


@pytest.mark.parametrize(
    "text", ["src/__init__.py:84 and __main__.py", "the __init__ method", "call __file__, __name_x__"]
)
def test_names_between_double_underscores_are_text(text: str) -> None:
    assert plain(painted(text)) == text


def test_strong_text_is_strong_also_between_underscores() -> None:
    assert plain(painted("__Important note__ and **bold**, a__b__c")) == "Important note and bold, a__b__c"


def test_a_bare_address_is_not_said_twice() -> None:
    rows = painted("<https://docs.example/>")
    assert plain(rows) == "https://docs.example/"
    assert targets(rows) == {"https://docs.example/"}


@pytest.mark.parametrize("target", ["clio/app.py", "mailto:a@b.example", "#part", "//b.example/x"])
def test_what_is_no_web_address_is_shown_and_cannot_be_clicked(target: str) -> None:
    rows = painted(f"[here]({target})")
    assert plain(rows) == f"here ({target})"
    assert targets(rows) == set()


def test_a_file_of_this_machine_can_be_opened() -> None:
    assert targets(painted("[log](file:///tmp/a%20b.log)")) == {"file:///tmp/a%20b.log"}


def test_without_links_nothing_but_the_words_is_written() -> None:
    assert "\x1b]8" not in "".join(painted("[a](https://a.example)", links=False))
    assert plain(painted("[a](https://a.example)", links=False)) == "a (https://a.example)"


def test_every_row_closes_its_link_and_counts_its_columns() -> None:
    rows = painted("[" + "words " * 20 + "](https://a.example/" + "x" * 60 + ")", columns=40)
    assert len(rows) > 3
    for row in rows:
        assert count_row_cells(row) <= 39
        assert len(LINK.findall(row)) % 2 == 0
        assert all(found[1] == "" for found in LINK.findall(row)[1::2])


def test_in_a_table_and_a_list_too() -> None:
    rows = painted("- [a](https://a.example/1)\n\n| x |\n|---|\n| [b](https://b.example/2) |")
    assert targets(rows) == {"https://a.example/1", "https://b.example/2"}
