"""Which skills exist: the published format, the folders, and invalid files."""

from pathlib import Path

import pytest

from clio.skills.skills import (
    MAX_FILES,
    MAX_SKILL_BYTES,
    Skill,
    SkillSet,
    find_skills,
    list_skill_files,
    list_skill_folders,
)
from tests.support.wording import mentions

WHOLE = """\
---
name: pdf-forms
description: >
  Fills in PDF forms, and reads what is in them.
  Use it when a PDF has fields.
license: Apache-2.0
compatibility: Needs python3 and pdftk
metadata:
  author: example-org
  version: "1.0"
allowed-tools: Bash(pdftk:*) Read
something-new: [kept, or not]
---

# PDF forms

Run scripts/fields.py first; see [the reference](references/FIELDS.md).
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def find(project: Path) -> SkillSet:
    home = project.parent
    return find_skills(list_skill_folders(project, home / "clio", home), project=project, user_home_folder=home)


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return folder


def named(name: str, description: str = "What it does.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\nSteps of {name}."


def test_all_properties_of_the_format(project: Path) -> None:
    folder = write(project / ".clio" / "skills" / "pdf-forms", WHOLE)
    assert find(project) == SkillSet(
        skills=(
            Skill(
                name="pdf-forms",
                description="Fills in PDF forms, and reads what is in them. Use it when a PDF has fields.",
                folder=folder.resolve(),
                displayed_path=".clio/skills/pdf-forms/SKILL.md",
                own=False,
                license="Apache-2.0",
                compatibility="Needs python3 and pdftk",
                metadata={"author": "example-org", "version": "1.0"},
                tools=("Bash(pdftk:*)", "Read"),
            ),
        )
    )


def test_the_project_comes_before_the_user_and_the_first_folder_before_the_others(project: Path) -> None:
    home = project.parent
    places = [
        project / ".clio" / "skills",
        project / ".claude" / "skills",
        project / ".agents" / "skills",
        home / "clio" / "skills",
        home / ".claude" / "skills",
        home / ".agents" / "skills",
    ]
    for number, place in enumerate(places):
        write(place / "same", named("same"))
        write(place / f"only-{number}", named(f"only-{number}"))
    found = find(project)
    assert [(skill.name, skill.own) for skill in found.skills] == [
        ("only-0", False),
        ("same", False),
        *((f"only-{number}", number > 2) for number in range(1, 6)),
    ]
    assert mentions(found.problems[0], ".claude/skills/same/SKILL.md", "not used", ".clio/skills/same/SKILL.md")
    assert len(found.problems) == 5


@pytest.mark.parametrize(
    ("text", "name", "problem"),
    [
        (named("other-name"), "other-name", "is not that of its folder, 'demo'"),
        ("---\ndescription: x\n---\n", "demo", "it has no name"),
        (named("Not A Name"), "demo", "'Not A Name' is not a valid name for a skill"),
        (named("demo", "Use when: it fits"), "demo", "SKILL.md:3:"),
        (named("demo", "x" * 2_000), "demo", "its description has 2,000 characters"),
        (named("demo", '"a\\u202e\\e[2Jb"'), "demo", ""),
        ("---\nname: demo\ndescription: [a, b]\n---\n", "demo", ""),
    ],
)
def test_format_violations_are_reported_and_the_skill_is_used(
    project: Path, text: str, name: str, problem: str
) -> None:
    write(project / ".clio" / "skills" / "demo", text)
    found = find(project)
    assert [skill.name for skill in found.skills] == [name]
    assert problem in "\n".join(found.problems)
    assert bool(found.problems) == bool(problem)
    assert found.skills[0].description.isprintable()
    assert len(found.skills[0].description) <= 1_024


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no properties at all", "it has no description"),
        ("---\nname: demo\n---\n", "it has no description"),
        ("---\nname: demo\ndescription: never closed\n", "it has no description"),
        ("", "it has no description"),
        ("---\na: &a [x]\nb: [*a,*a]\ndescription:\n---\n", "it has no description"),
        ("---\ndescription: " + "[" * 5_000 + "\n---\n", ""),
        ("x" * (MAX_SKILL_BYTES + 1), f"it is larger than {MAX_SKILL_BYTES:,} bytes"),
    ],
)
def test_files_that_are_not_skills_are_named(project: Path, text: str, problem: str) -> None:
    write(project / ".clio" / "skills" / "demo", text)
    found = find(project)
    assert problem in "\n".join(found.problems)
    if problem:
        assert found.skills == ()


def test_aliases_do_not_duplicate_skills(project: Path) -> None:
    bomb = "\n".join(
        ["a0: &a0 [x,x,x,x,x,x,x,x,x]", *(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10))]
    )
    write(project / ".clio" / "skills" / "demo", f"---\nname: demo\ndescription: small\n{bomb}\n---\n")
    found = find(project)
    assert found.skills[0].description == "small"
    assert "aliases" in found.problems[0]


def test_links_out_of_the_project_are_not_followed(project: Path) -> None:
    outside = write(project.parent / "outside", named("outside"))
    skills = project / ".clio" / "skills"
    skills.mkdir(parents=True)
    (skills / "linked").symlink_to(outside)
    (skills / "file").mkdir()
    (skills / "file" / "SKILL.md").symlink_to(outside / "SKILL.md")
    (skills / "loop").mkdir()
    (skills / "loop" / "SKILL.md").symlink_to(skills / "loop" / "SKILL.md")
    found = find(project)
    assert found.skills == ()
    assert sum("a link to a place outside the project" in problem for problem in found.problems) == 2
    assert len(found.problems) == 3


def test_the_users_own_files_may_be_links(project: Path) -> None:
    elsewhere = write(project.parent / "dotfiles" / "mine", named("mine"))
    skills = project.parent / "clio" / "skills"
    skills.mkdir(parents=True)
    (skills / "mine").symlink_to(elsewhere)
    assert [skill.folder for skill in find(project).skills] == [elsewhere.resolve()]


def test_in_the_home_folder_skills_are_the_users(tmp_path: Path) -> None:
    write(tmp_path / ".clio" / "skills" / "mine", named("mine"))
    found = find_skills(
        list_skill_folders(tmp_path, tmp_path / ".clio", tmp_path), project=tmp_path, user_home_folder=tmp_path
    )
    assert [skill.own for skill in found.skills] == [True]
    assert found.problems == ()


def test_files_next_to_a_skill_are_listed_without_links_and_hidden_ones(project: Path) -> None:
    folder = write(project / ".clio" / "skills" / "demo", named("demo"))
    (folder / "scripts").mkdir()
    for name in ("scripts/run.py", "REFERENCE.md", ".secret"):
        (folder / name).touch()
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "up").symlink_to(folder)
    (skill,) = find(project).skills
    assert list_skill_files(skill) == ("REFERENCE.md", "scripts/run.py")
    for number in range(MAX_FILES * 2):
        (folder / f"n{number}").touch()
    assert len(list_skill_files(skill)) == MAX_FILES
