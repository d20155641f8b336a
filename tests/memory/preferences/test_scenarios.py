"""Scenarios, and the file that defines more of them."""

from pathlib import Path

import pytest

from clio.errors import UserError
from clio.memory.preferences.task_types import BUILT_IN, TaskTypes, check_task_type, load_task_types
from tests.support.wording import mentions


def book(tmp_path: Path, text: str) -> TaskTypes:
    (tmp_path / "scenarios.yaml").write_text(text, encoding="utf-8")
    return load_task_types(tmp_path)


def test_without_a_file_the_built_in_scenarios_apply(tmp_path: Path) -> None:
    found = load_task_types(tmp_path)
    assert found.problem == ""
    assert set(found.names) == set(BUILT_IN) >= {"coding", "testing", "review", "debugging", "git", "writing"}
    assert found.resolve("docs") == "writing"


@pytest.mark.parametrize("empty", ["", "# nothing\n", "---\n", "scenarios:\n  coding:\n"])
def test_an_empty_file_changes_nothing(tmp_path: Path, empty: str) -> None:
    found = book(tmp_path, empty)
    assert (found.problem, found.keywords("coding")) == ("", BUILT_IN["coding"].keywords)


@pytest.mark.parametrize("indent", ["", "  "])
def test_the_file_adds_and_changes_scenarios(tmp_path: Path, indent: str) -> None:
    lines = ["infra: [terraform, Helm Chart]", "coding:", "  aliases: [hack]", "testing:", "  keywords: [tox]"]
    head = "scenarios:\n" if indent else ""
    found = book(tmp_path, head + "".join(f"{indent}{line}\n" for line in lines))
    assert found.problem == ""
    assert found.keywords("infra") == ("terraform", "Helm Chart")
    assert (found.resolve("hack"), found.keywords("hack")) == ("coding", BUILT_IN["coding"].keywords)
    assert found.resolve("dev") == "dev"  # aliases in the file replace the built-in ones
    assert (found.keywords("testing"), found.resolve("qa")) == (("tox",), "testing")
    assert found.says("infra", "two helm charts")
    assert not found.says("infra", "the helmet")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("coding: 3\n", ":1: coding must be a list of keywords, or contain keywords and aliases, not '3'"),
        ("- coding\n", ":1: expected lines such as"),
        ("coding:\n  words: [a]\n", ":2: unknown key 'words' in coding; known: keywords and aliases"),
        ("coding:\n  keywords: a, b\n", ":2: coding.keywords must be a list such as [terraform, helm], not 'a, b'"),
        ("coding:\n  keywords:\n    - [a]\n", ":3: coding.keywords must contain words only, not a list"),
        ("infra: [a\n", ":1: a comma or the closing bracket"),
        ("auto: [a]\n", ":1: 'auto' cannot be the name of a task type"),
        ("two words: [a]\n", ":1: 'two words' cannot be the name of a task type"),
        ("Infra: [a]\ninfra: [b]\n", ":2: 'infra' is given twice"),
        ("infra:\n  aliases: [docs]\n", "'docs' is an alias of writing and of infra; keep one of them"),
        ("x: *a\n", "aliases ('*name') are not used here"),
        ("\ttab: [a]\n", "a tab at the start"),
        ("\x00", "control characters"),
    ],
)
def test_a_wrong_file_gives_an_error_message(tmp_path: Path, text: str, message: str) -> None:
    found = book(tmp_path, text)
    assert message in found.problem
    assert "scenarios.yaml" in found.problem
    assert mentions(found.problem, "built-in task types apply")
    assert set(found.names) == set(BUILT_IN)


def test_a_folder_instead_of_the_file_gives_an_error_message(tmp_path: Path) -> None:
    (tmp_path / "scenarios.yaml").mkdir()
    assert "is not a file" in load_task_types(tmp_path).problem


def test_an_unknown_scenario_gives_an_error_that_lists_the_known_ones() -> None:
    assert check_task_type(TaskTypes(), "Docs") == "writing"
    with pytest.raises(UserError, match="there is no task type 'infra'; known: coding, testing"):
        check_task_type(TaskTypes(), "infra")
