"""One attack field for all tests; each sandbox level is probed once."""

from collections.abc import Iterator

import pytest

from clio.sandbox.fence import SandboxLevel
from clio.sandbox.sandbox import Sandbox
from tests.sandbox.range import REASONS, AttackField


@pytest.fixture(scope="session")
def field() -> Iterator[AttackField]:
    made = AttackField()
    yield made
    made.close()


@pytest.fixture(params=["bwrap", "landlock"], scope="session")
def working_sandbox(request: pytest.FixtureRequest, field: AttackField) -> Iterator[Sandbox]:
    """A sandbox that works at one level."""
    level: SandboxLevel = request.param
    if REASONS[level]:
        pytest.skip(f"{level} does not work here: {REASONS[level]}")
    sandbox = field.sandbox(level)
    yield sandbox
    sandbox.close()
