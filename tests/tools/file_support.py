"""Calling a tool as the runner does: arguments from JSON, prepare, run."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec

from clio.security.actions import Workspace
from clio.tools.base import Prepared, ReadLog, ToolOutput
from clio.tools.toolbox import file_tools


class Bench:
    """The file tools on one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = Workspace(root)
        self.log = ReadLog()
        self.tools = {tool.name: tool for tool in file_tools(self.workspace, self.log)}

    def prepare(self, name: str, **arguments: Any) -> Prepared:
        tool = self.tools[name]
        return tool.prepare(msgspec.json.decode(json.dumps(arguments), type=tool.args))

    def call(self, name: str, **arguments: Any) -> ToolOutput:
        return run(self.prepare(name, **arguments))

    def write(self, name: str, data: bytes | str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
        return path


def run(prepared: Prepared) -> ToolOutput:
    return asyncio.run(prepared.run(lambda line: None))
