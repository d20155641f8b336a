"""Which rules for parts of a project hold, and which come first."""

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


def holding(project: Path, *contexts: str, start: str = "") -> list[str]:
    rules = [MemoryRecord(id="", confidence=0.8, kind="rule", content="r", context=context) for context in contexts]
    return [rule.context for rule in find_matching_rules(rules, project, project / start)]


def test_rules_hold_for_paths_that_are_there_and_everywhere(project: Path) -> None:
    there = ["", "*", "lib", "./lib/", "lib/core/main.py", "lib/**/*.py", "*.py"]
    assert sorted(holding(project, *there)) == sorted(there)
    assert holding(project, "gone/", "lib/core/other.py", "gone/**/*.py", "x" * 5_000, "nul\0") == []


def test_a_path_that_leads_out_holds_nowhere(project: Path) -> None:
    (project / "link").symlink_to(project.parent / "outside")
    assert holding(project, "../outside", "lib/../../outside", str(project.parent / "outside"), "link") == []


def test_the_nearest_to_the_start_come_first(project: Path) -> None:
    contexts = ("docs/", "*", "lib/", "lib/core/", "lib/core/io/", "lib/net/")
    assert holding(project, *contexts, start="lib/core") == [
        "lib/core/",
        "lib/",
        "lib/core/io/",
        "*",
        "lib/net/",
        "docs/",
    ]
    assert holding(project, *contexts)[0] == "*"
    assert holding(project, *contexts, start="../outside")[0] == "*"


def test_of_rules_as_near_the_surest_and_newest_come_first(project: Path) -> None:
    rules = [
        MemoryRecord(id="", kind="rule", content="doubtful", context="lib/", confidence=0.2, updated=9.0),
        MemoryRecord(id="", kind="rule", content="sure", context="lib/", confidence=0.9, updated=1.0),
        MemoryRecord(id="", kind="rule", content="surest", context="lib/", confidence=0.9, updated=2.0),
    ]
    assert [rule.content for rule in find_matching_rules(rules, project, project)] == ["surest", "sure", "doubtful"]
