"""Earlier input lines on disk, written by several processes."""

import multiprocessing
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from clio.ui.history import LineHistory, format_history_entry, parse_history


def same(text: str) -> str:
    return text


def entries(path: Path) -> list[str]:
    return list(LineHistory(path).load_history_strings())


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1), max_size=5))
def test_entries_are_read_back_from_the_file(texts: list[str]) -> None:
    history = "".join(format_history_entry(text, "2026-01-01 00:00:00") for text in texts)
    assert [text for text, _ in parse_history(history)] == texts


def test_entries_are_newest_first_and_private(tmp_path: Path) -> None:
    path = tmp_path / "home" / "history"
    history = LineHistory(path)
    history.use_redaction(same)
    history.store_string("one")
    history.store_string("two\n+ lines")
    assert entries(path) == ["two\n+ lines", "one"]
    if sys.platform != "win32":
        assert path.stat().st_mode & 0o777 == 0o600


def test_nothing_is_written_before_secrets_can_be_redacted(tmp_path: Path) -> None:
    path = tmp_path / "history"
    history = LineHistory(path)
    history.store_string("my key is sesame")
    assert not path.exists()
    history.use_redaction(lambda text: text.replace("sesame", "[REDACTED]"))
    assert entries(path) == ["my key is [REDACTED]"]
    assert "sesame" not in path.read_text(encoding="utf-8")


def test_a_long_file_is_read_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text(
        "".join(format_history_entry(f"{number} " + "x" * 3000, "then") for number in range(400)), encoding="utf-8"
    )
    read = entries(path)
    assert [int(entry.split()[0]) for entry in read] == list(range(399, 399 - len(read), -1))
    assert 100 < len(read) < 400
    assert all(len(entry) > 3000 for entry in read)


def _write_many(path: Path, mark: str) -> None:
    history = LineHistory(path)
    history.use_redaction(same)
    for number in range(200):
        history.store_string(f"{mark} {number}\n" + mark * 500)


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "history"
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write_many, args=(path, mark)) for mark in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)
    expected = {f"{mark} {number}\n" + mark * 500 for mark in "ab" for number in range(200)}
    assert set(entries(path)) == expected
    assert len(entries(path)) == 400


def test_a_read_only_folder_is_tolerated(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.write_text("a file where the folder should be: it refuses root too", encoding="utf-8")
    history = LineHistory(folder / "history")
    history.use_redaction(same)
    history.append_string("kept in memory only")  # the prompt's calls: memory first, then the file
    assert history.problem is not None
    assert "history" in history.problem
    assert "kept in memory only" in history.get_strings()


def test_a_folder_in_place_of_the_file_is_tolerated(tmp_path: Path) -> None:
    history = LineHistory(tmp_path)
    history.use_redaction(same)
    assert list(history.load_history_strings()) == []
    history.store_string("x")
    assert history.problem is not None


def test_a_missing_file_is_no_error(tmp_path: Path) -> None:
    history = LineHistory(tmp_path / "none")
    assert list(history.load_history_strings()) == []
    assert history.problem is None
