"""Both scopes behind one set of verbs."""

from pathlib import Path

import pytest
from msgspec import structs

from clio.errors import UserError
from clio.memory.store.change_log import ScopeLogs
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import MemoryDraft


def make(folder: Path) -> MemoryStore:
    return MemoryStore(
        folder / "project" / ".clio",
        folder / "home",
        logs=ScopeLogs(folder / "project" / ".clio", folder / "home"),
        redact=str,
    )


def test_an_id_that_may_mean_a_memory_of_either_scope_is_no_answer(tmp_path: Path) -> None:
    memories = make(tmp_path)
    one = memories.add(MemoryDraft(content="the api listens on 8080", kind="fact")).record
    twin = structs.replace(one, id=one.id[:-4] + "ffff", content="tabs are four wide")
    memories.user.put("remembered", (twin,))

    with pytest.raises(UserError, match="2 memories have an id like"):
        memories.get(one.id[:12])

    assert memories.get(one.id).content == one.content
    assert memories.get(twin.id).content == twin.content
    with pytest.raises(UserError, match="there is no memory"):
        memories.get("ffff0000")
