"""Tool arguments written by a model: accepted if the meaning is clear, otherwise explained."""

import pytest

from clio.agent.tool_arguments import parse_arguments
from clio.errors import ToolRetry
from clio.tools.session_tools import TodoArgs


@pytest.mark.parametrize("status", ["in_progress", "in-progress", "In Progress", "IN_PROGRESS"])
def test_a_choice_is_recognized_in_any_spelling(status: str) -> None:
    todos = f'[{{"title": "In-Progress", "status": "{status}"}}, {{"status": "Pending"}}]'
    text = f'{{"operation": "Write", "todos": {todos}}}'
    given = parse_arguments(text, TodoArgs)
    assert isinstance(given, TodoArgs)
    assert given.operation == "write"
    assert [todo.status for todo in given.todos] == ["in_progress", "pending"]
    assert given.todos[0].title == "In-Progress"


def test_an_unknown_choice_is_explained() -> None:
    with pytest.raises(ToolRetry, match=r"Invalid enum value 'not_started' at `todos.*They are: "):
        parse_arguments('{"operation": "add", "todos": [{"status": "not-started"}]}', TodoArgs)
