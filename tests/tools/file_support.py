"""Calls a tool as the runner does: arguments from JSON, prepare, run."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec

from clio.security.actions import Workspace
from clio.tools.base import PreparedCall, ReadLog, ToolOutput
from clio.tools.toolbox import make_file_tools


class Bench:
    """The file tools in one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = Workspace(root)
        self.log = ReadLog()
        self.tools = {tool.name: tool for tool in make_file_tools(self.workspace, self.log)}

    def prepare(self, name: str, **arguments: Any) -> PreparedCall:
        tool = self.tools[name]
        return tool.prepare(msgspec.json.decode(json.dumps(arguments), type=tool.args))

    def call(self, name: str, **arguments: Any) -> ToolOutput:
        return run(self.prepare(name, **arguments))

    def write(self, name: str, data: bytes | str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
        return path


def run(prepared: PreparedCall) -> ToolOutput:
    return asyncio.run(prepared.run(lambda line: None))
