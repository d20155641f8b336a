"""The todo list on a screen: width, collapsed parts, the current item."""

import msgspec
import pytest

from clio.sessions.state import Todo, TodoStatus
from clio.ui.painter import count_cells
from clio.ui.tables import describe_active_todo, render_plain_todos, render_todos
from clio.ui.theme import Theme
from tests.support.wording import mentions


def todos(*statuses: str, title: str = "item") -> tuple[Todo, ...]:
    known = msgspec.convert(statuses, tuple[TodoStatus, ...])
    return tuple(Todo(id=number, title=f"{title} {number}", status=status) for number, status in enumerate(known, 1))


def rows(shown: tuple[Todo, ...], width: int = 60, *, fold: bool = True) -> list[str]:
    return [row.plain for row in render_todos(shown, width, Theme(), fold=fold)]


def test_each_status_has_its_mark() -> None:
    shown = todos("completed", "in_progress", "blocked", "pending")
    assert rows(shown) == ["  ☑ 1  item 1", "  ▸ 2  item 2", "  ! 3  item 3", "  ☐ 4  item 4"]
    assert list(render_plain_todos(shown)) == [
        "1. done: item 1",
        "2. in progress: item 2",
        "3. blocked: item 3",
        "4. item 4",
    ]


@pytest.mark.parametrize("width", [20, 39, 79, 199])
def test_no_row_is_wider_than_the_screen(width: int) -> None:
    long = todos("completed", "pending", title="a longword" + "x" * 60 + " 漢字 の 数 and more words of it")
    noted = (*long, Todo(id=300, title="short", note="a note that is rather long, too\nsecond line"))
    assert max(count_cells(row) for row in rows(noted, width)) <= width


def test_a_long_list_is_collapsed_around_the_current_item() -> None:
    shown = todos(*["completed"] * 20, "in_progress", *["pending"] * 40)
    folded = rows(shown)
    assert mentions(folded[0], "17 done", "/todo all")
    assert folded[4] == "  ▸ 21  item 21"
    assert mentions(folded[-1], "26 open", "/todo all")
    assert len(folded) == 20
    assert len(rows(shown, fold=False)) == 61


def test_a_single_item_is_not_collapsed() -> None:
    assert len(rows(todos(*["completed"] * 4, *["pending"] * 16))) == 20


def test_the_current_item_and_its_number() -> None:
    assert describe_active_todo(todos("completed", "in_progress", "pending")) == "2/3 item 2"
    assert describe_active_todo(todos("completed", "pending")) == ""
    assert count_cells(describe_active_todo(todos("in_progress", title="漢字" * 20))) <= 16


def test_control_characters_have_no_effect() -> None:
    evil = (Todo(id=1, title="a\x1b[2Jb", status="in_progress", note="c\x1b]0;x\x07d"),)
    assert rows(evil) == ["  ▸ 1  ab", "       cd"]
    assert describe_active_todo(evil) == "1/1 ab"
