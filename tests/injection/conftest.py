"""The desk of the turns."""

from tests.turns.conftest import make_desk as make_desk
