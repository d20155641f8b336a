"""A scripted model: replies from a YAML file.

    - calls:
        - [read_file, {path: app.py}]
        - [write_file, {path: app.py, content: {solution: app.py}}]
    - text: The start of the range was left out.

An argument `{solution: PATH}` stands for the text of that file of the reference solution, `{answer: reference}` for its
answer.
"""

from pathlib import Path
from typing import Any

import yaml

from bench.agent_tasks.task import Task
from tests.support.chat_server import Reply, text, tool_calls


def load_play(task: Task, path: Path) -> list[Reply]:
    """Load the replies in their order."""
    data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    replies: list[Reply] = []
    for entry in data["replies"] if isinstance(data, dict) else data:
        text_before = fill_arguments(entry.get("text", ""), task)
        if "calls" in entry:
            replies.append(
                tool_calls([(name, fill_arguments(arguments, task)) for name, arguments in entry["calls"]], text_before)
            )
        else:
            replies.append(text(text_before, chunk_size=200))
    return replies


def fill_arguments(value: Any, task: Task) -> Any:
    """Return a value with the texts of the reference solution inserted."""
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
