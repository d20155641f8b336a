"""Branches squashed, rebased and cherry-picked with real git never conflict."""

import os
from pathlib import Path

import pytest

from tests.memory.store.ltm_support import add
from tests.memory.team.simulation import SAID, Clone, git


def _no_sync(fd: int) -> None:
    """Do nothing, because tests need not survive power cuts."""


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    """Return a clone whose main branch shares one entry, changed once on branch `work`."""
    monkeypatch.setattr(os, "fsync", _no_sync)
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", "remote.git")
    clone = Clone(tmp_path / "remote.git", tmp_path / "ann", "Ann")
    git(clone.folder, "checkout", "--quiet", "-b", "main")
    clone.sharing.turn_on()
    clone.sharing.fix_ignore_rules()
    add(clone.memory, "discovery", "The port is 1", said=SAID)
    clone.commit()
    git(clone.folder, "checkout", "--quiet", "-b", "work")
    change(clone, "The port is 2")
    return clone


def change(clone: Clone, text: str) -> None:
    clone.now += 1
    [entry] = clone.memory.read().entries
    clone.memory.update(entry.id, content=text)
    clone.commit()


def squash(clone: Clone) -> None:
    """Merge `work` into main as one commit, like the squash button of a forge."""
    git(clone.folder, "checkout", "--quiet", "main")
    git(clone.folder, "merge", "--quiet", "--squash", "work")
    git(clone.folder, "commit", "--quiet", "--message", "squashed")
    git(clone.folder, "checkout", "--quiet", "work")


@pytest.mark.parametrize("into", ["main", "work"])
@pytest.mark.parametrize("last", ["changed", "forgotten"])
def test_a_branch_continues_after_it_was_squashed(clone: Clone, into: str, last: str) -> None:
    squash(clone)
    if last == "changed":
        change(clone, "The port is 3")
    else:
        clone.memory.forget([entry.id for entry in clone.memory.read().entries])
        clone.commit()
    git(clone.folder, "checkout", "--quiet", into)
    git(clone.folder, "merge", "--quiet", "--no-edit", "work" if into == "main" else "main")
    assert list(clone.texts()) == (["The port is 3"] if last == "changed" else [])


def test_a_branch_is_rebased_and_cherry_picked(clone: Clone) -> None:
    squash(clone)
    change(clone, "The port is 3")
    git(clone.folder, "rebase", "--quiet", "main")
    assert list(clone.texts()) == ["The port is 3"]
    git(clone.folder, "checkout", "--quiet", "main")
    change(clone, "The port is 9")
    git(clone.folder, "cherry-pick", "--keep-redundant-commits", "work")
    assert sorted(clone.texts()) == ["The port is 3", "The port is 9"]
    git(clone.folder, "revert", "--no-edit", "HEAD")
    assert list(clone.texts()) == ["The port is 9"]
