"""The default model server, and a project that uses it, for tests of entry points."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.entrypoints.repl_support import Place, make_place
from tests.support.chat_server import ChatServer


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, server: ChatServer) -> Place:
    return make_place(tmp_path, server)
