"""An app for each test: a git repository, its own home folder, a server with a script."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.chat_server import ChatServer, Script
from tests.support.harness import Harness, make_repository

FILES = {
    ".gitignore": "__pycache__/\n",
    "calc.py": 'def add(a, b):\n    """Sum of two numbers."""\n    return a - b\n',
    "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
}

MakeHarness = Callable[..., Harness]


@pytest.fixture
def make_harness(tmp_path: Path) -> Iterator[MakeHarness]:
    """Return a function that makes harnesses: `make_harness([reply, …], approve="all", models=[…])`."""
    with ExitStack() as stack:

        def make(replies: list[Script], *, models: Any = None, **overrides: Any) -> Harness:
            project = tmp_path / "project"
            if not project.exists():
                make_repository(project, FILES)
            uses_responses = overrides.get("api") == "responses"
            server = ChatServer(replies, responses=uses_responses, **({"models": models} if models is not None else {}))
            stack.enter_context(server)
            return Harness(project, tmp_path / "home", server, **overrides)

        yield make
