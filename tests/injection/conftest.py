"""The app of the tests in turns/."""

from tests.turns.conftest import make_desk as make_desk
