"""A damaged memory key or seal: the sentence names the file, and does not say that a repository brought the memory."""

from collections.abc import Callable
from pathlib import Path

import pytest

from clio.config.own_memory import came_with_project, describe_seal_damage, make_key, seal_memory


@pytest.fixture
def own(tmp_path: Path) -> tuple[Path, Path]:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".clio").mkdir(parents=True)
    home.mkdir()
    (project / ".clio" / "ltm.json").write_text("{}")
    seal_memory(project, home)
    assert not came_with_project(project, home)
    assert describe_seal_damage(project, home) is None
    return project, home


@pytest.mark.parametrize("data", [b"", b"\0" * 99, b"[]", b"null", b"{}", b'{"key": 1}', b"\xff"])
def test_a_damaged_key_is_named(own: tuple[Path, Path], data: bytes) -> None:
    project, home = own
    (home / "memory_key.json").write_bytes(data)
    assert came_with_project(project, home)
    said = describe_seal_damage(project, home)
    assert said is not None
    assert f"{str(home / 'memory_key.json')!r} is damaged" in said


def test_a_key_that_was_set_aside_is_named_while_the_seal_is_another_ones(own: tuple[Path, Path]) -> None:
    project, home = own
    (home / "memory_key.json").rename(home / "memory_key.json.corrupt-20260101-000000")
    make_key(home)
    assert "set aside as 'memory_key.json.corrupt-20260101-000000'" in (describe_seal_damage(project, home) or "")


@pytest.mark.parametrize(
    "damage", [lambda text: "", lambda text: text[:40], lambda text: "\0" * 98, lambda text: text + "x", lambda _: "é"]
)
def test_a_damaged_seal_is_named(own: tuple[Path, Path], damage: Callable[[str], str]) -> None:
    project, home = own
    seal = project / ".clio" / "written-here"
    seal.write_text(damage(seal.read_text().strip()), encoding="utf-8")
    assert came_with_project(project, home)
    assert describe_seal_damage(project, home) == f"{str(seal)!r} is damaged"


def test_memory_without_a_seal_still_came_with_the_project(own: tuple[Path, Path]) -> None:
    project, home = own
    (project / ".clio" / "written-here").unlink()
    assert came_with_project(project, home)
    assert describe_seal_damage(project, home) is None
