"""Real clones that merge with plain git: `make team` runs twenty of them."""

import os
from pathlib import Path

import pytest

from tests.memory.team.simulation import play


def _no_sync(fd: int) -> None:
    """Do nothing, because tests need not survive power cuts."""


def test_clones_that_merge_in_any_order_have_equal_knowledge_and_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", _no_sync)  # there is no power cut here, and the disk is slow
    found = play(tmp_path, clones=5, entries=120, rounds=3, steps=4, seed=3)
    assert all(found[what] for what in ("added", "found alike", "changed", "forgot", "confirmed", "rivals", "late"))
