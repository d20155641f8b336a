"""The default app for tests of commands."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.harness import Harness, make_harness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    harness = make_harness(tmp_path)
    yield harness
    harness.session.close()
