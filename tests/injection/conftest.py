"""The app of the tests in turns/."""

from tests.turns.conftest import make_harness as make_harness
