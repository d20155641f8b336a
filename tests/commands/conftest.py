"""An app for every test of commands that makes no other."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.desk import Desk, make_desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = make_desk(tmp_path)
    yield desk
    desk.session.close()
