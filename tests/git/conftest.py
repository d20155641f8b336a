"""git without configuration, identity and environment variables."""

import os

import pytest

from tests.support.repositories import NOBODY


@pytest.fixture(autouse=True)
def nobody_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_") or name == "EMAIL"]:
        monkeypatch.delenv(name)
    for name, value in NOBODY.items():
        monkeypatch.setenv(name, value)
