"""A damaged memory key or seal: the message names the file and does not blame the repository."""

import hashlib
import hmac
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from clio.config.memory_seal import (
    describe_seal_damage,
    has_foreign_memory,
    load_or_create_key,
    record_sessions,
    seal_memory,
)
from clio.storage.files import find_birth_mark
from tests.support.wording import mentions


@pytest.fixture
def own(tmp_path: Path) -> tuple[Path, Path]:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".clio").mkdir(parents=True)
    home.mkdir()
    (project / ".clio" / "ltm.json").write_text("{}")
    seal_memory(project, home)
    assert not has_foreign_memory(project, home)
    assert describe_seal_damage(project, home) is None
    return project, home


@pytest.mark.parametrize("data", [b"", b"\0" * 99, b"[]", b"null", b"{}", b'{"key": 1}', b"\xff"])
def test_a_damaged_key_is_named(own: tuple[Path, Path], data: bytes) -> None:
    project, home = own
    (home / "memory_key.json").write_bytes(data)
    assert has_foreign_memory(project, home)
    message = describe_seal_damage(project, home)
    assert message is not None
    assert f"{str(home / 'memory_key.json')!r} is damaged" in message


def test_a_moved_aside_key_is_named_while_the_seal_is_another_ones(own: tuple[Path, Path]) -> None:
    project, home = own
    (home / "memory_key.json").rename(home / "memory_key.json.corrupt-20260101-000000")
    load_or_create_key(home)
    assert mentions(describe_seal_damage(project, home) or "", "'memory_key.json.corrupt-20260101-000000'")


@pytest.mark.parametrize(
    "damage", [lambda text: "", lambda text: text[:40], lambda text: "\0" * 98, lambda text: text + "x", lambda _: "é"]
)
def test_a_damaged_seal_is_named(own: tuple[Path, Path], damage: Callable[[str], str]) -> None:
    project, home = own
    seal = project / ".clio" / "written-here"
    seal.write_text(damage(seal.read_text().strip()), encoding="utf-8")
    assert has_foreign_memory(project, home)
    assert describe_seal_damage(project, home) == f"{str(seal)!r} is damaged"


def test_memory_without_a_seal_still_counts_as_from_the_repository(own: tuple[Path, Path]) -> None:
    project, home = own
    (project / ".clio" / "written-here").unlink()
    assert has_foreign_memory(project, home)
    assert describe_seal_damage(project, home) is None


@pytest.mark.parametrize("name", ["copy", "project2", "project/inner"])
def test_a_seal_copied_to_another_project_does_not_count(own: tuple[Path, Path], name: str) -> None:
    project, home = own
    other = project.parent / name
    (other / ".clio").mkdir(parents=True)
    (other / ".clio" / "ltm.json").write_text('{"version": 1}')
    shutil.copy(project / ".clio" / "written-here", other / ".clio")
    assert has_foreign_memory(other, home)
    assert f"{str(other / '.clio')!r} is a copy of another folder" in (describe_seal_damage(other, home) or "")


def test_a_seal_of_another_user_who_moved_the_project_names_no_move(own: tuple[Path, Path], tmp_path: Path) -> None:
    project, _ = own
    other_home = tmp_path / "other home"
    other_home.mkdir()
    load_or_create_key(other_home)
    assert has_foreign_memory(project, other_home)
    assert describe_seal_damage(project, other_home) is None


@pytest.mark.parametrize("moves", [("project", "renamed"), (".", "../elsewhere")])
def test_memory_in_a_moved_folder_is_the_users_own(tmp_path: Path, moves: tuple[str, str]) -> None:
    place, home = tmp_path / "place", tmp_path / "home"
    (place / "project" / ".clio").mkdir(parents=True)
    home.mkdir()
    (place / "project" / ".clio" / "ltm.json").write_text("{}")
    seal_memory(place / "project", home)
    (place / moves[0]).rename(place / moves[1])
    moved = tmp_path / "elsewhere" / "project" if moves[0] == "." else place / "renamed"
    if not find_birth_mark(moved):  # the file system does not tell a folder from a later one
        assert has_foreign_memory(moved, home)
        seal_memory(moved, home)
    assert not has_foreign_memory(moved, home)
    before = (moved / ".clio" / "written-here").read_text()
    seal_memory(moved, home)
    seal_memory(moved, home)
    assert not has_foreign_memory(moved, home)
    assert (moved / ".clio" / "written-here").read_text().count(":") == before.count(":")


@pytest.mark.parametrize("what", ["seal in a new folder", "folder in another project", "new folder at its number"])
def test_a_seal_moved_out_of_its_project_does_not_count(own: tuple[Path, Path], what: str) -> None:
    project, home = own
    other = project.parent / "other"
    other.mkdir()
    if what == "folder in another project":
        (project / ".clio").rename(other / ".clio")
    else:
        seal = (project / ".clio" / "written-here").read_text()
        if what == "new folder at its number":  # some file systems give a new folder the number of a deleted one
            shutil.rmtree(project)
            shutil.rmtree(other)
            other.mkdir()
        (other / ".clio").mkdir()
        (other / ".clio" / "ltm.json").write_text('{"version": 1}')
        (other / ".clio" / "written-here").write_text(seal)
    assert has_foreign_memory(other, home)


def test_a_seal_of_an_earlier_version_is_valid_and_is_completed_with_the_next_memory(own: tuple[Path, Path]) -> None:
    project, home = own
    seal = project / ".clio" / "written-here"
    seal.write_text(":".join(seal.read_text().strip().split(":")[:2]) + "\n")
    assert not has_foreign_memory(project, home)
    assert describe_seal_damage(project, home) is None
    seal_memory(project, home)
    assert seal.read_text().count(":") >= 2
    assert not has_foreign_memory(project, home)


def seal_without_folder(project: Path, home: Path) -> None:
    """Write what an earlier version left: a seal that names no folder, and a key that does not know such seals."""
    path = home / "memory_key.json"
    document = json.loads(path.read_text())
    document.pop("unbound")
    path.write_text(json.dumps(document))
    nonce = "s-" + hashlib.md5(b"an earlier seal").hexdigest()
    code = hmac.new(document["key"].encode(), nonce.encode(), "sha256").hexdigest()
    (project / ".clio" / "written-here").write_text(f"{nonce}:{code}\n")


def test_an_earlier_seal_counts_only_where_clio_was_in_use_then(own: tuple[Path, Path]) -> None:
    project, home = own
    seal_without_folder(project, home)
    assert has_foreign_memory(project, home)
    (home / "costs.jsonl").write_text(json.dumps({"project": str(project)}) + "\n")
    assert not has_foreign_memory(project, home)
    load_or_create_key(home)
    later = project.with_name("later")
    shutil.copytree(project, later)
    with (home / "costs.jsonl").open("a") as ledger:
        ledger.write(json.dumps({"project": str(later)}) + "\n")
    assert has_foreign_memory(later, home)
    assert not has_foreign_memory(project, home)
    earlier = (project / ".clio" / "written-here").read_text()
    seal_memory(project, home)
    assert (project / ".clio" / "written-here").read_text() != earlier
    assert not has_foreign_memory(project, home)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of Unix")
def test_a_pipe_in_place_of_the_list_of_sessions_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "own_sessions.txt")
    with pytest.raises(OSError, match="own_sessions"):
        record_sessions(tmp_path, ["0198c0de"])
