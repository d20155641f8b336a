"""What agents are asked in files: which files, in which order, what they import, and how much of it is taken."""

import subprocess
from pathlib import Path

import pytest

from clio.context import instructions
from clio.context.instructions import (
    FolderInstructions,
    Instructions,
    describe_left_out,
    find_instructions,
    make_instruction_fragments,
)
from clio.security.actions import ChangeFiles, FileChange, ReadFiles, RunCommand
from clio.tokens import TokenEstimator
from tests.support.wording import mentions


class House:
    """A repository `shop` in a user's home, clio's own folder beside it."""

    def __init__(self, home: Path) -> None:
        self.person = home
        self.home = home / ".clio"
        self.project = home / "shop"
        (self.project / ".git").mkdir(parents=True)

    def write(self, name: str, text: str) -> Path:
        path = self.person / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def find(self, project: str = "shop", start: str | None = None) -> Instructions:
        where = self.person / start if start else None
        return find_instructions(self.person / project, user_home=self.person, home=self.home, start=where)

    def told(self, project: str = "shop", start: str | None = None) -> list[tuple[str, str]]:
        return [(file.source, file.text) for file in self.find(project, start).files]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path.resolve())


def test_nothing_is_asked_where_there_are_no_files(house: House) -> None:
    assert house.find() == Instructions()


def test_the_users_come_first_then_clios_own_then_the_projects(house: House) -> None:
    house.write("shop/AGENTS.md", "the project's\n")
    house.write("shop/.clio/instructions.md", "<!-- write here -->\nclio's own")
    house.write(".clio/instructions.md", "mine")
    assert house.told() == [
        ("~/.clio/instructions.md", "mine"),
        (".clio/instructions.md", "clio's own"),
        ("AGENTS.md", "the project's"),
    ]


@pytest.mark.parametrize(
    ("there", "speaks"),
    [
        (("AGENTS.md", "CLAUDE.md", "GEMINI.md"), "AGENTS.md"),
        (("CLAUDE.md", "GEMINI.md"), "CLAUDE.md"),
        (("GEMINI.md",), "GEMINI.md"),
    ],
)
def test_one_file_speaks_for_a_folder(house: House, there: tuple[str, ...], speaks: str) -> None:
    for name in there:
        house.write(f"shop/{name}", name)
    assert house.told() == [(speaks, speaks)]


def test_an_empty_file_does_not_speak(house: House) -> None:
    house.write("shop/AGENTS.md", " \n")
    house.write("shop/CLAUDE.md", "words")
    assert house.told() == [("CLAUDE.md", "words")]


def test_from_the_repositorys_top_to_where_clio_was_started(house: House) -> None:
    house.write("AGENTS.md", "above the repository: nobody's")
    house.write("shop/AGENTS.md", "top")
    house.write("shop/packages/CLAUDE.md", "packages")
    house.write("shop/packages/api/AGENTS.md", "api")
    house.write("shop/packages/web/AGENTS.md", "web")
    assert house.told(start="shop/packages/api") == [
        ("AGENTS.md", "top"),
        ("packages/CLAUDE.md", "packages"),
        ("packages/api/AGENTS.md", "api"),
    ]
    assert house.told("shop/packages/api") == [
        ("../../AGENTS.md", "top"),
        ("../CLAUDE.md", "packages"),
        ("AGENTS.md", "api"),
    ]


def test_imports_follow_their_importer_once_each(house: House) -> None:
    house.write("shop/AGENTS.md", "See @docs/style.md, @docs/tests.md and @docs/style.md again; `@docs/no.md` is code.")
    house.write("shop/docs/style.md", "tabs; see @naming.md and @../AGENTS.md")
    house.write("shop/docs/naming.md", "short names")
    house.write("shop/docs/tests.md", "```\n@no.md\n```\nwith pytest, @types/node and me@example.org")
    house.write("shop/docs/no.md", "never read")
    found = house.find()
    assert [(file.source, file.imported_by) for file in found.files] == [
        ("AGENTS.md", ""),
        ("docs/style.md", "AGENTS.md"),
        ("docs/naming.md", "docs/style.md"),
        ("docs/tests.md", "AGENTS.md"),
    ]
    assert found.problems == ()


def test_what_is_outside_of_the_repository_is_not_imported_by_it(house: House) -> None:
    house.write(".ssh/id", "secret")
    house.write("shop/AGENTS.md", "@~/.ssh/id @../.ssh/id @link.md")
    (house.project / "link.md").symlink_to(house.person / ".ssh" / "id")
    found = house.find()
    assert [file.source for file in found.files] == ["AGENTS.md"]
    assert len(found.problems) == 3
    assert all("outside the project" in problem for problem in found.problems)


def test_a_users_own_file_imports_what_they_like(house: House) -> None:
    house.write(".clio/instructions.md", "@~/notes/style.md")
    house.write("notes/style.md", "mine too")
    assert [(one.source, one.personal) for one in house.find().files] == [
        ("~/.clio/instructions.md", True),
        ("~/notes/style.md", True),
    ]


def test_imports_end_at_five_deep_and_thirty_files(house: House) -> None:
    for depth in range(8):
        house.write(f"shop/{'AGENTS.md' if depth == 0 else f'd{depth}.md'}", f"{depth} @d{depth + 1}.md")
    found = house.find()
    assert [file.text[0] for file in found.files] == ["0", "1", "2", "3", "4", "5"]
    assert "nested more than 5 levels deep" in found.problems[0]
    house.write("shop/AGENTS.md", " ".join(f"@many{number:02}.md" for number in range(20)))
    for number in range(20):
        house.write(f"shop/many{number:02}.md", f"@more{number:02}.md")
        house.write(f"shop/more{number:02}.md", "end")
    found = house.find()
    assert len(found.files) == instructions.MAX_FILES
    assert "at most 30 instruction files are read" in found.problems[0]


def test_what_is_no_text_is_named_and_not_read(house: House) -> None:
    house.write("shop/AGENTS.md", "@picture.png")
    (house.project / "picture.png").write_bytes(b"\x89PNG\0\0")
    found = house.find()
    assert [file.source for file in found.files] == ["AGENTS.md"]
    assert len(found.problems) == 1 and mentions(found.problems[0], "AGENTS.md", "picture.png", "not text")


def test_the_nearest_are_whole_where_there_is_not_room_for_all(house: House) -> None:
    house.write("shop/AGENTS.md", "far " * 400)
    house.write("shop/a/AGENTS.md", "middle " * 400)
    house.write("shop/a/b/AGENTS.md", "near " * 400)
    found = house.find(start="shop/a/b")
    count = TokenEstimator().estimate_text
    near, middle = count(found.files[2].text), count(found.files[1].text)
    fragments = make_instruction_fragments(found, 12 * (near + middle // 2), count)
    assert [part.source for part in fragments] == ["a/AGENTS.md", "a/b/AGENTS.md"]
    assert fragments[0].cap_tokens < middle and fragments[1].cap_tokens >= near
    assert describe_left_out(found, fragments)[0].startswith("AGENTS.md was left out")


def teller(house: House, start: str = "", window_tokens: int = 128_000) -> FolderInstructions:
    return FolderInstructions(
        house.project,
        house.person,
        TokenEstimator(),
        start=house.project / start,
        redact=lambda text: text.replace("hunter2", "[gone]"),
        window_tokens=window_tokens,
    )


def test_a_folders_instructions_are_reported_when_work_reaches_it(house: House) -> None:
    house.write("shop/AGENTS.md", "top")
    house.write("shop/packages/AGENTS.md", "packages")
    api = house.write("shop/packages/api/AGENTS.md", "api: hunter2").parent
    told = teller(house)
    read = ReadFiles(paths=(api / "app.py",))
    note = told.render_for(read)
    assert "top" not in note
    assert note.index('source="packages/AGENTS.md"') < note.index('source="packages/api/AGENTS.md"')
    assert "[gone]" in note and "hunter2" not in note
    change = ChangeFiles(changes=(FileChange(path=api / "new.py", kind="add", after=""),))
    assert told.render_for(read) == told.render_for(change) == ""
    told.forget_shown()
    assert told.render_for(change) == note


def test_what_the_prompt_holds_is_not_told_again(house: House) -> None:
    api = house.write("shop/packages/api/AGENTS.md", "api").parent
    assert teller(house, "packages/api").render_for(ReadFiles(paths=(api / "app.py",))) == ""
    assert teller(house).render_for(ReadFiles(paths=(api,))) != ""
    assert teller(house).render_for(RunCommand(command="ls", cwd=api)) == ""


def test_what_was_read_is_not_told_below_itself(house: House) -> None:
    path = house.write("shop/docs/AGENTS.md", "docs")
    told = teller(house)
    assert told.render_for(ReadFiles(paths=(path,))) == ""
    assert told.render_for(ReadFiles(paths=(path.parent / "other.md",))) == ""


def test_others_files_are_not_told(house: House) -> None:
    subprocess.run(["git", "init", "-q", str(house.project)], check=True)
    house.write("shop/.gitignore", "build/\n")
    for folder in ("build", "node_modules/left-pad", ".venv/lib"):
        house.write(f"shop/{folder}/AGENTS.md", "obey me")
    outside = house.write("elsewhere/AGENTS.md", "obey me")
    told = teller(house)
    for folder in ("build", "node_modules/left-pad", ".venv/lib"):
        assert told.render_for(ReadFiles(paths=(house.project / folder / "x.py",))) == ""
    assert told.render_for(ReadFiles(paths=(outside.parent / "x.py",))) == ""


def test_a_file_ignored_by_its_own_name_speaks_and_a_folder_ignored_by_a_pattern_does_not(house: House) -> None:
    subprocess.run(["git", "init", "-q", str(house.project)], check=True)
    house.write("shop/.gitignore", "AGENTS.md\n*.log\nout/*\n!out/.gitkeep\n")
    house.write("shop/out/.gitkeep", "")
    for folder in ("api", "out"):
        house.write(f"shop/{folder}/AGENTS.md", f"words of {folder}")
    told = teller(house)
    assert "words of api" in told.render_for(ReadFiles(paths=(house.project / "api/x.py",)))
    assert told.render_for(ReadFiles(paths=(house.project / "out/x.py",))) == ""


def test_a_tracked_file_in_an_ignored_folder_speaks(house: House) -> None:
    subprocess.run(["git", "init", "-q", str(house.project)], check=True)
    house.write("shop/.gitignore", "build/\n")
    house.write("shop/build/AGENTS.md", "words of build")
    subprocess.run(["git", "add", "--force", "build/AGENTS.md"], cwd=house.project, check=True)
    assert "words of build" in teller(house).render_for(ReadFiles(paths=(house.project / "build/x.py",)))


def test_what_is_told_is_bounded(house: House) -> None:
    for folder in ("a", "a/b", "a/b/c"):
        house.write(f"shop/{folder}/AGENTS.md", f"{folder} words\n" * 300)
    note = teller(house, window_tokens=12_000).render_for(ReadFiles(paths=(house.project / "a/b/c/x.py",)))
    assert note.index("no room for a/AGENTS.md") < note.index("cut here") < note.index('"a/b/c/AGENTS.md"')
    assert note.count("a/b/c words") == 300
    assert TokenEstimator().estimate_text(note) < 1_200


def test_no_project_displaces_the_users_own_file(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "instructions.md").write_text("Answer in Welsh.")
    project = tmp_path / "project"
    (project / ".clio").mkdir(parents=True)
    (project / ".clio" / "instructions.md").write_text("word " * 50_000)
    (project / "AGENTS.md").write_text("word " * 50_000)
    found = find_instructions(project, home=tmp_path / "home", user_home=tmp_path)
    fragments = make_instruction_fragments(found, 20_000, lambda text: len(text) // 4)
    assert fragments[0].text == "Answer in Welsh."
    assert fragments[-1].source == "AGENTS.md"
