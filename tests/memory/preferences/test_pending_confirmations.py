"""Limits that could not be confirmed are asked about at the next start, once each."""

from pathlib import Path

from clio.memory.preferences.session_start import MAX_PENDING, PendingLimits
from clio.memory.preferences.stated_preferences import StatedPreference


def limit(content: str, *, in_project: bool) -> StatedPreference:
    return StatedPreference(
        kind="preference", content=content, score=0.0, certain=False, quote=content, in_project=in_project
    )


def test_a_limit_is_pending_once_and_removed_when_taken(tmp_path: Path) -> None:
    pending = PendingLimits(tmp_path, tmp_path / "shop")
    assert pending.is_empty and pending.take() == ()
    for _ in range(2):
        pending.add([limit("never push", in_project=True)], "s-1")
    (found,) = pending.take()
    assert (found.noticed.content, found.session) == ("never push", "s-1")
    assert pending.take() == ()


def test_a_limit_of_another_project_is_pending_there_and_one_of_the_user_everywhere(tmp_path: Path) -> None:
    shop, blog = (PendingLimits(tmp_path, tmp_path / name) for name in ("shop", "blog"))
    shop.add([limit("never push", in_project=True), limit("no emojis", in_project=False)], "s-1")
    assert [one.noticed.content for one in blog.take()] == ["no emojis"]
    assert [one.noticed.content for one in shop.take()] == ["never push"]


def test_the_oldest_are_dropped_when_there_are_too_many(tmp_path: Path) -> None:
    pending = PendingLimits(tmp_path, tmp_path)
    pending.add([limit(f"never {number}", in_project=True) for number in range(MAX_PENDING + 1)], "s-1")
    assert pending.take()[0].noticed.content == "never 1"
