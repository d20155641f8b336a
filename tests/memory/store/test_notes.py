"""Notes under keys that try to leave their folder."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clio.memory.store.notes import Notes, make_note_file_name
from clio.memory.store.record import Note

DATA = Path(__file__).parent / "data"
NOW = 1_800_000_000.0
HOSTILE = [
    *("../x", "..", ".", "a/b", "/etc/passwd", "a\\b", "nul\0byte", "x" * 300, "é", "漢字", "0", "CON", "Key", "key"),
    *(
        "e\u0301",
        "KEY",
        "key.",
        "key ",
        "con",
        "con.x",
        "Aux",
        "🎉",
        "👩‍💻",
        "\ufeff",
        "\u202etxt",
        "\x00",
        "..\\..",
        "C:\\x",
    ),
    *("note-con", "session_progress", "x" * 1000, "Ã©", "İ", "ß", "ﬁ"),
    *(" key ", "a\nb", "~", "$HOME", "x.json", "%2e%2e", "-rf"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "project" / ".clio" / "memory"


def notes(folder: Path) -> Notes:
    return Notes(folder, lambda: NOW)


@pytest.mark.parametrize("key", HOSTILE)
def test_hostile_keys_stay_in_the_folder_and_are_read_back(folder: Path, tmp_path: Path, key: str) -> None:
    assert notes(folder).store(key, f"content of {key}")
    assert notes(folder).retrieve(key) == Note(key=key, content=f"content of {key}", timestamp=NOW)
    outside = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent != folder]
    assert [path.name for path in outside] == [".gitignore"]
    assert [note.key for note in notes(folder).newest_first()] == [key]
    assert notes(folder).delete(key)
    assert notes(folder).retrieve(key) is None
    assert not notes(folder).delete(key)


def test_all_hostile_keys_can_be_saved_together(folder: Path) -> None:
    for key in HOSTILE:
        notes(folder).store(key, key)
    assert all(notes(folder).retrieve(key).content == key for key in HOSTILE)  # type: ignore[union-attr]
    assert {note.key for note in notes(folder).newest_first()} == set(HOSTILE)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300), st.text(max_size=300))
def test_file_names_differ_on_case_insensitive_file_systems(one: str, other: str) -> None:
    name = make_note_file_name(one)
    assert Path(name).name == name
    assert len(name.encode()) < 200
    assert name.isascii()
    assert name.partition(".")[0].upper() not in {"CON", "PRN", "AUX", "NUL", "COM1", "LPT1"}
    assert (name.casefold() == make_note_file_name(other).casefold()) == (one == other)


def test_the_file_has_the_format_of_the_specification(folder: Path) -> None:
    notes(folder).store("auth_bug", "naïve")
    stored = json.loads((folder / "auth_bug.json").read_text(encoding="utf-8"))
    assert stored == {"key": "auth_bug", "content": "naïve", "timestamp": NOW, "version": 1}


def test_saving_again_replaces_the_note(folder: Path) -> None:
    assert notes(folder).store("k", "one")
    assert not notes(folder).store("k", "two")
    assert notes(folder).retrieve("k").content == "two"  # type: ignore[union-attr]
    assert len(list(folder.glob("*.json"))) == 1


def test_notes_of_the_perl_clio_are_read_with_repaired_text(folder: Path) -> None:
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


def test_clios_own_notes_about_broken_text_are_not_repaired(folder: Path) -> None:
    notes(folder).store("k", "Ã© is a broken é")
    assert notes(folder).retrieve("k").content == "Ã© is a broken é"  # type: ignore[union-attr]
    notes(folder).store("k2", "Ã©")
    assert notes(folder).retrieve("k2").content == "Ã©"  # type: ignore[union-attr]


def test_a_checkpoint_page_is_found_by_its_name(folder: Path) -> None:
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


def test_files_that_are_not_notes_are_left_alone(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "broken.json").write_text("{", encoding="utf-8")
    (folder / "list.json").write_text("[]", encoding="utf-8")
    assert notes(folder).newest_first() == ()
    assert notes(folder).retrieve("broken") is None
    assert (folder / "broken.json").read_text(encoding="utf-8") == "{"


def test_a_corrupt_note_is_moved_aside_and_not_overwritten(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "k.json").write_text("{", encoding="utf-8")
    assert notes(folder).store("k", "new")
    assert notes(folder).retrieve("k").content == "new"  # type: ignore[union-attr]
    assert [path.read_text(encoding="utf-8") for path in folder.glob("k.json.corrupt-*")] == ["{"]


@pytest.mark.parametrize("key", ["", "  ", "x" * 1001])
def test_invalid_keys_are_refused(folder: Path, key: str) -> None:
    with pytest.raises(ValueError, match="the key"):
        notes(folder).store(key, "x")
    assert not folder.exists()


@pytest.mark.parametrize(("key", "content"), [("half \ud83d", "x"), ("k", "half \udcff")])
def test_a_lone_surrogate_is_refused_with_the_reason(folder: Path, key: str, content: str) -> None:
    with pytest.raises(ValueError, match=r"half of a surrogate pair, .ud"):
        notes(folder).store(key, content)
    assert not folder.exists()
    assert notes(folder).retrieve(key) is None
    assert not notes(folder).delete(key)


def test_a_new_project_has_no_notes(folder: Path) -> None:
    assert notes(folder).newest_first() == ()
    assert notes(folder).retrieve("k") is None
    assert not notes(folder).delete("k")
    assert not folder.exists()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.text(st.characters(), min_size=1, max_size=20), st.text(st.characters(), max_size=50), min_size=1, max_size=5
    )
)
def test_any_keys_are_read_back_and_all_files_are_in_the_folder(contents: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "project" / ".clio" / "memory"
        kept = {key: content for key, content in contents.items() if key.strip() and valid(key) and valid(content)}
        for key, content in contents.items():
            if key in kept:
                assert notes(folder).store(key, content)
            else:
                with pytest.raises(ValueError, match=r"the (key|content)"):
                    notes(folder).store(key, content)
        for key, content in kept.items():
            assert notes(folder).retrieve(key) == Note(key=key, content=content, timestamp=NOW)
        found = [path for path in Path(top).rglob("*") if path.is_file() and path.name != ".gitignore"]
        assert [path.parent for path in found] == [folder] * len(kept)


def valid(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


@pytest.mark.parametrize("content", ["", "0", " ", "\n", "\0", "null", "5 MB: é " + "漢" * 1_700_000])
def test_any_content_is_accepted(folder: Path, content: str) -> None:
    assert notes(folder).store("k", content)
    assert not notes(folder).store("k", content)
    assert notes(folder).retrieve("k") == Note(key="k", content=content, timestamp=NOW)
    assert notes(folder).newest_first() == (Note(key="k", content=content, timestamp=NOW),)


WRITER = """
import sys
from pathlib import Path
from clio.memory.store.notes import Notes

folder, letter = sys.argv[1:]
for number in range(60):
    Notes(Path(folder)).store("same", letter * 300_000)
"""


def test_of_two_writers_of_one_key_the_last_one_wins(folder: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(folder), letter]) for letter in "ab"]
    seen: set[str] = set()
    while any(writer.poll() is None for writer in writers):
        note = notes(folder).retrieve("same")
        if note:
            assert note.content in ("a" * 300_000, "b" * 300_000)
            seen.add(note.content[0])
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen
    assert [path.name for path in folder.iterdir() if path.suffix != ".tmp"] == ["same.json"]


def test_a_note_of_another_program_keeps_its_file_and_its_fields(folder: Path) -> None:
    """Whatever its file name is: the original uses the key unchanged."""
    folder.mkdir(parents=True)
    twice = "données".encode().decode("latin-1")
    path = folder / "données à part.json"
    path.write_text(json.dumps({"tags": ["a"], "key": twice + " Ã\xa0 part", "content": 0, "timestamp": 7}), "utf-8")
    assert notes(folder).retrieve("données à part") == Note(key="données à part", content="0", timestamp=7.0)
    before = path.read_bytes()
    assert [note.key for note in notes(folder).newest_first()] == ["données à part"]
    assert path.read_bytes() == before

    assert not notes(folder).store("données à part", "neu ü")
    assert [found.name for found in folder.iterdir()] == [path.name]
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert stored == {"key": "données à part", "content": "neu ü", "timestamp": NOW, "version": 1, "tags": ["a"]}
    assert notes(folder).delete("données à part")
    assert list(folder.iterdir()) == []


def test_a_note_of_a_newer_version_is_kept(folder: Path) -> None:
    folder.mkdir(parents=True)
    newer = '{"key": "k", "content": "from the future", "version": 2}'
    (folder / "k.json").write_text(newer, encoding="utf-8")
    assert notes(folder).retrieve("k") is None
    assert notes(folder).store("k", "now")
    assert [path.read_text(encoding="utf-8") for path in folder.glob("k.json.corrupt-*")] == [newer]
