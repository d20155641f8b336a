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
        words = _fill(entry.get("text", ""), task)
        if "calls" in entry:
            replies.append(tool_calls([(name, _fill(arguments, task)) for name, arguments in entry["calls"]], words))
        else:
            replies.append(text(words, chunk_size=200))
    return replies


def _fill(value: Any, task: Task) -> Any:
    match value:
        case {"solution": str() as path}:
            return (task.folder / "solution" / path).read_text(encoding="utf-8")
        case {"answer": "reference"}:
            return (task.folder / "answer.md").read_text(encoding="utf-8").strip()
        case dict():
            return {key: _fill(item, task) for key, item in value.items()}
        case list():
            return [_fill(item, task) for item in value]
        case _:
            return value
