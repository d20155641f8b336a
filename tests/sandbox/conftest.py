"""One range for all attacks; each level a sandbox that was found out about once."""

from collections.abc import Iterator

import pytest

from clio.sandbox.fence import SandboxLevel
from clio.sandbox.sandbox import Sandbox
from tests.sandbox.range import REASONS, Range


@pytest.fixture(scope="session")
def field() -> Iterator[Range]:
    made = Range()
    yield made
    made.close()


@pytest.fixture(params=["bwrap", "landlock"], scope="session")
def held(request: pytest.FixtureRequest, field: Range) -> Iterator[Sandbox]:
    """A sandbox that holds at one level."""
    level: SandboxLevel = request.param
    if REASONS[level]:
        pytest.skip(f"{level} does not work here: {REASONS[level]}")
    sandbox = field.sandbox(level)
    yield sandbox
    sandbox.close()
