"""Example files: their hashes are saved with an entry and compared later."""

import os
from pathlib import Path

import pytest

from clio.memory.store.ltm_codec import MAX_FILE_BYTES, MAX_FILES, ExampleFiles
from clio.memory.store.record import Freshness, MemoryRecord
from tests.memory.store.ltm_support import NOW, PERL, add, ltm, read_json, write_json


@pytest.fixture
def path(tmp_path: Path) -> Path:
    for name in ("a.py", "b.py"):
        file = tmp_path / "project" / "src" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{name}\n", encoding="utf-8")
    return tmp_path / "project" / ".clio" / "ltm.json"


def add_pattern(path: Path, *examples: str) -> MemoryRecord:
    return add(ltm(path), "pattern", "p", examples=examples).record


def state(path: Path) -> Freshness:
    memory = ltm(path)
    (entry,) = memory.read().entries
    return memory.freshness([entry])[entry.id]


def test_an_entry_is_fresh_until_a_file_changes(path: Path) -> None:
    source = path.parent.parent / "src" / "a.py"
    add_pattern(path, "src/a.py", "src/b.py")
    assert state(path) == "fresh"
    source.write_text("other\n", encoding="utf-8")
    assert state(path) == "drifted"
    source.write_text("a.py\n", encoding="utf-8")
    assert state(path) == "fresh"
    source.unlink()
    assert state(path) == "drifted"
    (path.parent.parent / "src" / "b.py").unlink()
    assert state(path) == "gone"


def test_examples_are_saved_as_a_list_of_paths(path: Path) -> None:
    add_pattern(path, "src/a.py", "missing.py")
    (raw,) = read_json(path)["patterns"]["code_patterns"]
    assert raw["examples"] == ["src/a.py", "missing.py"]
    assert list(raw["example_hashes"]) == ["src/a.py"]
    assert len(raw["example_hashes"]["src/a.py"]) == 32


def test_a_renamed_file_is_missing(path: Path) -> None:
    add_pattern(path, "src/a.py")
    (path.parent.parent / "src" / "a.py").rename(path.parent.parent / "src" / "c.py")
    assert state(path) == "gone"


def test_an_entry_stated_again_gets_the_current_hashes(path: Path) -> None:
    add_pattern(path, "src/a.py", "src/b.py")
    (path.parent.parent / "src" / "a.py").write_text("other\n", encoding="utf-8")
    (path.parent.parent / "src" / "b.py").unlink()
    add_pattern(path)
    assert state(path) == "drifted"
    (raw,) = read_json(path)["patterns"]["code_patterns"]
    assert sorted(raw["example_hashes"]) == ["src/a.py", "src/b.py"]
    ltm(path).update(add_pattern(path).id, examples=("src/a.py",))
    assert state(path) == "fresh"
    ltm(path).update(add_pattern(path).id, examples=())
    assert state(path) == "unbound"
    assert "example_hashes" not in read_json(path)["patterns"]["code_patterns"][0]


@pytest.mark.parametrize("example", ["src/a.py:1", "src/a.py:1-20", "./src/a.py", "src/../src/a.py"])
def test_a_file_is_recognized_by_any_of_its_paths(path: Path, example: str) -> None:
    add_pattern(path, example)
    assert state(path) == "fresh"


def test_an_absolute_path_inside_the_project_is_accepted(path: Path) -> None:
    add_pattern(path, str(path.parent.parent / "src" / "a.py"))
    assert state(path) == "fresh"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names")
def test_files_outside_the_project_are_never_opened(path: Path, tmp_path: Path) -> None:
    project = path.parent.parent
    outside = tmp_path / "secret"
    outside.write_text("secret", encoding="utf-8")
    (project / "link").symlink_to(outside)
    (project / "circle").symlink_to(project / "circle")
    os.mkfifo(project / "pipe")
    (project / "large").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    add_pattern(
        path, "link", "circle", "pipe", "large", "src", "../secret", str(outside), "x" * 5_000, "nul\0", "missing"
    )
    assert state(path) == "unbound"


def test_a_file_that_became_too_large_has_changed(path: Path) -> None:
    add_pattern(path, "src/a.py")
    (path.parent.parent / "src" / "a.py").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    assert state(path) == "drifted"


def test_a_link_inside_the_project_counts_as_its_target(path: Path) -> None:
    (path.parent.parent / "link.py").symlink_to("src/a.py")
    add_pattern(path, "link.py")
    assert state(path) == "fresh"


def test_at_most_a_few_of_many_examples_are_hashed(path: Path) -> None:
    project = path.parent.parent
    names = [f"{number}.py" for number in range(MAX_FILES + 5)]
    for name in names:
        (project / name).write_text(name, encoding="utf-8")
    assert list(ExampleFiles(project).hashes(names)) == names[:MAX_FILES]


def test_a_file_is_read_again_only_if_its_metadata_changed(path: Path) -> None:
    project = path.parent.parent
    files = ExampleFiles(project)
    first = files.hashes(["src/a.py"])
    info = (project / "src" / "a.py").stat()
    (project / "src" / "a.py").write_text("b.py\n", encoding="utf-8")
    os.utime(project / "src" / "a.py", ns=(info.st_atime_ns, info.st_mtime_ns))
    assert files.hashes(["src/a.py"]) == first
    assert ExampleFiles(project).hashes(["src/a.py"]) != first


def test_files_of_the_original_and_invalid_hashes_are_ignored(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((PERL / "ltm_all_types.json").read_bytes())
    memory = ltm(path)
    assert set(memory.freshness(memory.read().entries).values()) == {"unbound"}
    odd = [
        {"pattern": "p", "examples": ["src/a.py"], "example_hashes": {"src/a.py": 7, "other": "x"}, "timestamp": NOW}
    ]
    write_json(path, {"patterns": {"code_patterns": odd}})
    assert state(path) == "unbound"
