"""A scripted model: the replies of a play, served over HTTP on this machine.

    - calls:
        - [read_file, {path: app.py}]
        - [write_file, {path: app.py, content: {solution: app.py}}]
    - text: The start of the range was left out.

An argument `{solution: PATH}` is the text of that file of the reference solution, `{answer: reference}` the answer's.
"""

from pathlib import Path
from typing import Any

import yaml

from bench.agent_tasks.task import Task
from tests.support.chat_server import Reply, text, tool_calls


def load_play(task: Task, path: Path) -> list[Reply]:
    """The replies of a play in the order they are given."""
    data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    replies: list[Reply] = []
    for entry in data["replies"] if isinstance(data, dict) else data:
        words = fill_arguments(entry.get("text", ""), task)
        if "calls" in entry:
            replies.append(
                tool_calls([(name, fill_arguments(arguments, task)) for name, arguments in entry["calls"]], words)
            )
        else:
            replies.append(text(words, chunk_size=200))
    return replies


def fill_arguments(value: Any, task: Task) -> Any:
    """A value of a play with the texts it names put in."""
    match value:
        case {"solution": str() as path}:
            return (task.folder / "solution" / path).read_text(encoding="utf-8")
        case {"answer": "reference"}:
            return (task.folder / "answer.md").read_text(encoding="utf-8").strip()
        case dict():
            return {key: fill_arguments(item, task) for key, item in value.items()}
        case list():
            return [fill_arguments(item, task) for item in value]
        case _:
            return value
