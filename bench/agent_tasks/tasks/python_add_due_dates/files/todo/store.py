"""The list on disk."""

import json
import os
from pathlib import Path

from todo.item import Item


def _path():
    return Path(os.environ.get("TODO_FILE", "todo.json"))


def load():
    if not _path().exists():
        return []
    return [Item.from_json(data) for data in json.loads(_path().read_text())]


def save(items):
    _path().write_text(json.dumps([item.to_json() for item in items], indent=2))
