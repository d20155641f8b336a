"""Learned token ratios on disk: per model, shared by several clios, never causing a failure."""

import json
import multiprocessing
import sys
from pathlib import Path

import pytest

from clio.context.learned_limits import MAX_MODELS, RATIOS_FILE_NAME, LearnedRatios


class Notices(list[str]):
    """Records the notices to the user."""


def book(home: Path | None, notices: list[str] | None = None) -> LearnedRatios:
    return LearnedRatios(home, (notices if notices is not None else Notices()).append)


def test_each_model_has_its_own_ratio(tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = book(home)
    assert first.get_ratio("a") is None
    first.save_ratio("a", 2.04)
    first.save_ratio("b/漢", 5.5)
    again = book(home)
    assert [again.get_ratio(model) for model in ("a", "b/漢", "c")] == [2.04, 5.5, None]
    stored = json.loads((home / RATIOS_FILE_NAME).read_text(encoding="utf-8"))
    assert stored == {"schema": "clio.token_ratios", "version": 1, "models": {"a": 2.04, "b/漢": 5.5}}
    if sys.platform != "win32":
        assert (home / RATIOS_FILE_NAME).stat().st_mode & 0o777 == 0o600


def test_ratios_saved_by_others_meanwhile_are_kept(tmp_path: Path) -> None:
    mine, other = book(tmp_path), book(tmp_path)
    mine.get_ratio("a")
    other.save_ratio("a", 3.0)
    mine.save_ratio("b", 4.0)
    other.save_ratio("a", 3.5)
    assert (mine.get_ratio("a"), mine.get_ratio("b")) == (3.5, 4.0)


def _keep_many(home: Path, model: str) -> None:
    for step in range(20):
        book(home).save_ratio(f"{model}{step}", 2.0 + step)


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    clios = [spawn.Process(target=_keep_many, args=(tmp_path, name)) for name in "ab"]
    for each in clios:
        each.start()
    for each in clios:
        each.join(30)
    found = book(tmp_path)
    assert [found.get_ratio(f"{name}{step}") for name in "ab" for step in range(20)] == [2.0 + n for n in range(20)] * 2


def test_a_nearly_unchanged_ratio_is_not_written(tmp_path: Path) -> None:
    ratios = book(tmp_path)
    ratios.save_ratio("a", 3.0)
    before = (tmp_path / RATIOS_FILE_NAME).stat().st_mtime_ns
    ratios.save_ratio("a", 3.02)
    assert (tmp_path / RATIOS_FILE_NAME).stat().st_mtime_ns == before
    assert ratios.get_ratio("a") == 3.0
    ratios.save_ratio("a", 3.2)
    assert ratios.get_ratio("a") == 3.2


def test_the_file_has_a_size_limit(tmp_path: Path) -> None:
    ratios = book(tmp_path)
    for number in range(MAX_MODELS):
        ratios.save_ratio(f"m{number}", 3.0)
    ratios.save_ratio("m0", 5.0)  # used again, so it is not the oldest any more
    ratios.save_ratio("new", 4.0)
    assert [ratios.get_ratio(model) for model in ("m0", "m1", "m2", "new")] == [5.0, None, 3.0, 4.0]


@pytest.mark.parametrize("content", ['{"models": {"a": 2.0}', '{"models": {"a": "two"}}', "[]", "\xff\x00"])
def test_a_corrupt_file_is_moved_aside_with_one_sentence(tmp_path: Path, content: str) -> None:
    (tmp_path / RATIOS_FILE_NAME).write_text(content, encoding="latin-1")
    notices = Notices()
    ratios = book(tmp_path, notices)
    assert ratios.get_ratio("a") is None
    ratios.save_ratio("a", 3.0)
    assert ratios.get_ratio("a") == 3.0
    assert len(notices) == 1
    assert "renamed to 'token_ratios.json.corrupt-" in notices[0]
    assert [path.read_text(encoding="latin-1") for path in tmp_path.glob("*.corrupt-*")] == [content]


def test_a_file_that_becomes_corrupt_while_clio_runs_is_replaced(tmp_path: Path) -> None:
    notices = Notices()
    ratios = book(tmp_path, notices)
    assert ratios.get_ratio("a") is None
    (tmp_path / RATIOS_FILE_NAME).write_text("{", encoding="utf-8")
    ratios.save_ratio("a", 3.0)
    assert ratios.get_ratio("a") == 3.0
    assert len(notices) == 1


def test_a_newer_file_is_not_changed(tmp_path: Path) -> None:
    text = '{"schema": "clio.token_ratios", "version": 99, "models": {"a": 2.0}}'
    (tmp_path / RATIOS_FILE_NAME).write_text(text, encoding="utf-8")
    notices = Notices()
    ratios = book(tmp_path, notices)
    assert ratios.get_ratio("a") is None
    ratios.save_ratio("a", 3.0)
    assert (tmp_path / RATIOS_FILE_NAME).read_text(encoding="utf-8") == text
    assert len(notices) == 1


def test_unknown_fields_are_kept(tmp_path: Path) -> None:
    (tmp_path / RATIOS_FILE_NAME).write_text('{"version": 1, "models": {}, "later": {"x": [1]}}', encoding="utf-8")
    book(tmp_path).save_ratio("a", 3.0)
    assert json.loads((tmp_path / RATIOS_FILE_NAME).read_text(encoding="utf-8"))["later"] == {"x": [1]}


def test_a_read_only_home_is_reported_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("a file where the folder should be: it refuses root too", encoding="utf-8")
    notices = Notices()
    ratios = book(home, notices)
    ratios.save_ratio("a", 3.0)
    ratios.save_ratio("b", 3.0)
    assert len(notices) == 1
    assert home.is_file()


def test_without_a_home_folder_nothing_is_read_or_written(tmp_path: Path) -> None:
    book(tmp_path).save_ratio("a", 3.0)
    before = sorted(tmp_path.iterdir())
    nowhere = book(None)
    nowhere.save_ratio("a", 5.0)
    assert nowhere.get_ratio("a") is None
    assert sorted(tmp_path.iterdir()) == before
