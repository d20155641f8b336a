"""Results of memory_operations label memory that came with the repository, in every operation."""

import json
from pathlib import Path
from typing import Any

import pytest

from clio.errors import ToolRetry
from clio.memory.system import MemorySystem
from clio.sessions.store import SessionStore
from clio.tools.memory import MemoryTool
from clio.tools.schemas import MemoryArgs
from tests.tools.file_support import run

CALLS: list[dict[str, Any]] = [
    {"operation": "search", "query": "port"},
    {"operation": "retrieve", "key": "port"},
    {"operation": "retrieve", "key": "prt"},
    {"operation": "list"},
    {"operation": "recall", "query": "port"},
    {"operation": "recall", "query": "port", "layer": "all"},
    {"operation": "recall_sessions", "query": "port"},
    {"operation": "forget_ltm", "query": "port"},
    {"operation": "forget", "query": "port"},
    {"operation": "prune_ltm", "min_confidence": 1.0},
    {"operation": "ltm_stats"},
]


@pytest.mark.parametrize("is_foreign", [True, False])
@pytest.mark.parametrize("call", CALLS, ids=lambda call: " ".join(map(str, call.values())))
def test_every_result_says_whose_memory_it_is(tmp_path: Path, call: dict[str, Any], is_foreign: bool) -> None:
    folder = tmp_path / "project" / ".clio"
    (folder / "memory").mkdir(parents=True)
    known = {"patterns": {"discoveries": [{"fact": "the port is 8080", "confidence": 0.5}]}}
    (folder / "ltm.json").write_text(json.dumps(known), encoding="utf-8")
    (folder / "memory" / "port.json").write_text(json.dumps({"key": "port", "content": "8080"}), encoding="utf-8")
    store = SessionStore(folder / "sessions", tmp_path / "project")
    session = store.new(tmp_path / "project", persist=False)
    memory = MemorySystem(
        tmp_path / "project", store, incognito=False, ltm=True, home=tmp_path / "home", is_foreign=is_foreign
    )
    tool = MemoryTool(memory, session)
    try:
        text = run(tool.prepare(MemoryArgs(**call))).text
    except ToolRetry as error:
        text = str(error)
    finally:
        session.close()
    assert ("came with the repository" in text) is is_foreign
