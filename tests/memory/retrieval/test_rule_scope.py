"""Which path rules of a project apply, and their order."""

from pathlib import Path

import pytest

from clio.memory.retrieval.prompt_prefix import find_matching_rules
from clio.memory.store.record import MemoryRecord


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("lib/core/io", "lib/net", "docs"):
        (tmp_path / "project" / folder).mkdir(parents=True)
    (tmp_path / "project" / "lib" / "core" / "main.py").write_text("", encoding="utf-8")
    (tmp_path / "outside").mkdir()
    return tmp_path / "project"


def find_applicable(project: Path, *contexts: str, start: str = "") -> list[str]:
    rules = [MemoryRecord(id="", confidence=0.8, kind="rule", content="r", context=context) for context in contexts]
    return [rule.context for rule in find_matching_rules(rules, project, project / start)]


def test_rules_apply_to_existing_paths_and_everywhere(project: Path) -> None:
    there = ["", "*", "lib", "./lib/", "lib/core/main.py", "lib/**/*.py", "*.py"]
    assert sorted(find_applicable(project, *there)) == sorted(there)
    assert find_applicable(project, "gone/", "lib/core/other.py", "gone/**/*.py", "x" * 5_000, "nul\0") == []


def test_a_path_outside_the_project_never_applies(project: Path) -> None:
    (project / "link").symlink_to(project.parent / "outside")
    assert find_applicable(project, "../outside", "lib/../../outside", str(project.parent / "outside"), "link") == []


def test_rules_nearest_to_the_start_folder_are_first(project: Path) -> None:
    contexts = ("docs/", "*", "lib/", "lib/core/", "lib/core/io/", "lib/net/")
    assert find_applicable(project, *contexts, start="lib/core") == [
        "lib/core/",
        "lib/",
        "lib/core/io/",
        "*",
        "lib/net/",
        "docs/",
    ]
    assert find_applicable(project, *contexts)[0] == "*"
    assert find_applicable(project, *contexts, start="../outside")[0] == "*"


def test_equally_near_rules_are_ordered_by_confidence_and_date(project: Path) -> None:
    rules = [
        MemoryRecord(id="", kind="rule", content="doubtful", context="lib/", confidence=0.2, updated=9.0),
        MemoryRecord(id="", kind="rule", content="sure", context="lib/", confidence=0.9, updated=1.0),
        MemoryRecord(id="", kind="rule", content="surest", context="lib/", confidence=0.9, updated=2.0),
    ]
    assert [rule.content for rule in find_matching_rules(rules, project, project)] == ["surest", "sure", "doubtful"]
