"""Notes under keys that want out."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clio.memory.notes import Notes, file_name
from clio.memory.records import Note

DATA = Path(__file__).parent / "data"
NOW = 1_800_000_000.0
HOSTILE = [
    *("../x", "..", ".", "a/b", "/etc/passwd", "a\\b", "nul\0byte", "x" * 300, "é", "漢字", "0", "CON", "Key", "key"),
    *(" key ", "a\nb", "~", "$HOME", "x.json", "%2e%2e", "-rf"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "project" / ".clio" / "memory"


def notes(folder: Path) -> Notes:
    return Notes(folder, lambda: NOW)


@pytest.mark.parametrize("key", HOSTILE)
def test_hostile_keys_stay_inside_and_come_back(folder: Path, tmp_path: Path, key: str) -> None:
    assert notes(folder).store(key, f"content of {key}")
    assert notes(folder).retrieve(key) == Note(key=key, content=f"content of {key}", timestamp=NOW)
    outside = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent != folder]
    assert [path.name for path in outside] == [".gitignore"]
    assert [note.key for note in notes(folder).newest_first()] == [key]
    assert notes(folder).delete(key)
    assert notes(folder).retrieve(key) is None
    assert not notes(folder).delete(key)


def test_all_of_them_beside_each_other(folder: Path) -> None:
    for key in HOSTILE:
        notes(folder).store(key, key)
    assert all(notes(folder).retrieve(key).content == key for key in HOSTILE)  # type: ignore[union-attr]
    assert {note.key for note in notes(folder).newest_first()} == set(HOSTILE)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300), st.text(max_size=300))
def test_names_are_distinct_where_case_is_folded(one: str, other: str) -> None:
    name = file_name(one)
    assert Path(name).name == name
    assert len(name.encode()) < 200
    assert name.isascii()
    assert (name.casefold() == file_name(other).casefold()) == (one == other)


def test_the_file_is_what_the_seed_says(folder: Path) -> None:
    notes(folder).store("auth_bug", "naïve")
    stored = json.loads((folder / "auth_bug.json").read_text(encoding="utf-8"))
    assert stored == {"key": "auth_bug", "content": "naïve", "timestamp": NOW, "version": 1}


def test_storing_again_replaces(folder: Path) -> None:
    assert notes(folder).store("k", "one")
    assert not notes(folder).store("k", "two")
    assert notes(folder).retrieve("k").content == "two"  # type: ignore[union-attr]
    assert len(list(folder.glob("*.json"))) == 1


def test_notes_of_the_perl_clio_are_read_decoded_once(folder: Path) -> None:
    folder.mkdir(parents=True)
    raw = (DATA / "auth_bug_analysis.json").read_bytes()
    (folder / "auth_bug_analysis.json").write_bytes(raw)
    (folder / "Plain.Name.json").write_text(
        '{"key": "Plain.Name", "content": "x", "timestamp": "12"}', encoding="utf-8"
    )
    found = notes(folder).retrieve("auth_bug_analysis")
    assert found is not None
    assert "données 漢字" in found.content
    assert notes(folder).retrieve("Plain.Name") == Note(key="Plain.Name", content="x", timestamp=12.0)
    assert not notes(folder).store("Plain.Name", "new")
    assert {path.name for path in folder.glob("*.json")} == {"auth_bug_analysis.json", "Plain.Name.json"}


def test_own_notes_about_broken_text_stay_as_they_are(folder: Path) -> None:
    notes(folder).store("k", "Ã© is a broken é")
    assert notes(folder).retrieve("k").content == "Ã© is a broken é"  # type: ignore[union-attr]
    notes(folder).store("k2", "Ã©")
    assert notes(folder).retrieve("k2").content == "Ã©"  # type: ignore[union-attr]


def test_a_checkpoint_page_answers_by_its_name(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "session_progress.md").write_text("# Progress", encoding="utf-8")
    assert notes(folder).retrieve("session_progress").content == "# Progress"  # type: ignore[union-attr]
    assert notes(folder).retrieve("../memory/session_progress") is None


def test_links_are_not_followed(folder: Path, tmp_path: Path) -> None:
    folder.mkdir(parents=True)
    secret = tmp_path / "secret.json"
    secret.write_text('{"key": "k", "content": "secret"}', encoding="utf-8")
    (folder / "k.json").symlink_to(secret)
    assert notes(folder).retrieve("k") is None
    assert notes(folder).newest_first() == ()
    notes(folder).store("k", "mine")
    assert "secret" in secret.read_text(encoding="utf-8")
    assert notes(folder).retrieve("k").content == "mine"  # type: ignore[union-attr]


def test_files_that_are_no_notes_are_left_alone(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "broken.json").write_text("{", encoding="utf-8")
    (folder / "list.json").write_text("[]", encoding="utf-8")
    assert notes(folder).newest_first() == ()
    assert notes(folder).retrieve("broken") is None
    assert (folder / "broken.json").read_text(encoding="utf-8") == "{"


def test_a_broken_note_is_set_aside_not_overwritten(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "k.json").write_text("{", encoding="utf-8")
    assert notes(folder).store("k", "new")
    assert notes(folder).retrieve("k").content == "new"  # type: ignore[union-attr]
    assert [path.read_text(encoding="utf-8") for path in folder.glob("k.json.corrupt-*")] == ["{"]


@pytest.mark.parametrize("key", ["", "  ", "x" * 1001])
def test_keys_that_cannot_be(folder: Path, key: str) -> None:
    with pytest.raises(ValueError, match="the key"):
        notes(folder).store(key, "x")
    assert not folder.exists()


def test_a_fresh_project_has_none(folder: Path) -> None:
    assert notes(folder).newest_first() == ()
    assert notes(folder).retrieve("k") is None
    assert not notes(folder).delete("k")
    assert not folder.exists()
