"""Instruction files for agents: which files, in which order, their imports, and size limits."""

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


class InstructionFiles:
    """A repository `shop` in a user's home folder, next to clio's own folder."""

    def __init__(self, home: Path) -> None:
        self.home_folder = home
        self.home = home / ".clio"
        self.project = home / "shop"
        (self.project / ".git").mkdir(parents=True)

    def write(self, name: str, text: str) -> Path:
        path = self.home_folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def find(self, project: str = "shop", start: str | None = None) -> Instructions:
        where = self.home_folder / start if start else None
        return find_instructions(self.home_folder / project, user_home=self.home_folder, home=self.home, start=where)

    def find_texts(self, project: str = "shop", start: str | None = None) -> list[tuple[str, str]]:
        return [(file.source, file.text) for file in self.find(project, start).files]


@pytest.fixture
def files(tmp_path: Path) -> InstructionFiles:
    return InstructionFiles(tmp_path.resolve())


def test_without_files_there_are_no_instructions(files: InstructionFiles) -> None:
    assert files.find() == Instructions()


def test_the_users_come_first_then_clios_own_then_the_projects(files: InstructionFiles) -> None:
    files.write("shop/AGENTS.md", "the project's\n")
    files.write("shop/.clio/instructions.md", "<!-- write here -->\nclio's own")
    files.write(".clio/instructions.md", "mine")
    assert files.find_texts() == [
        ("~/.clio/instructions.md", "mine"),
        (".clio/instructions.md", "clio's own"),
        ("AGENTS.md", "the project's"),
    ]


@pytest.mark.parametrize(
    ("there", "used"),
    [
        (("AGENTS.md", "CLAUDE.md", "GEMINI.md"), "AGENTS.md"),
        (("CLAUDE.md", "GEMINI.md"), "CLAUDE.md"),
        (("GEMINI.md",), "GEMINI.md"),
    ],
)
def test_only_one_file_per_folder_is_used(files: InstructionFiles, there: tuple[str, ...], used: str) -> None:
    for name in there:
        files.write(f"shop/{name}", name)
    assert files.find_texts() == [(used, used)]


def test_an_empty_file_is_not_used(files: InstructionFiles) -> None:
    files.write("shop/AGENTS.md", " \n")
    files.write("shop/CLAUDE.md", "words")
    assert files.find_texts() == [("CLAUDE.md", "words")]


def test_files_from_the_top_of_the_repository_to_the_start_folder_are_used(files: InstructionFiles) -> None:
    files.write("AGENTS.md", "above the repository: nobody's")
    files.write("shop/AGENTS.md", "top")
    files.write("shop/packages/CLAUDE.md", "packages")
    files.write("shop/packages/api/AGENTS.md", "api")
    files.write("shop/packages/web/AGENTS.md", "web")
    assert files.find_texts(start="shop/packages/api") == [
        ("AGENTS.md", "top"),
        ("packages/CLAUDE.md", "packages"),
        ("packages/api/AGENTS.md", "api"),
    ]
    assert files.find_texts("shop/packages/api") == [
        ("../../AGENTS.md", "top"),
        ("../CLAUDE.md", "packages"),
        ("AGENTS.md", "api"),
    ]


def test_imports_follow_their_importer_once_each(files: InstructionFiles) -> None:
    files.write("shop/AGENTS.md", "See @docs/style.md, @docs/tests.md and @docs/style.md again; `@docs/no.md` is code.")
    files.write("shop/docs/style.md", "tabs; see @naming.md and @../AGENTS.md")
    files.write("shop/docs/naming.md", "short names")
    files.write("shop/docs/tests.md", "```\n@no.md\n```\nwith pytest, @types/node and me@example.org")
    files.write("shop/docs/no.md", "never read")
    found = files.find()
    assert [(file.source, file.imported_by) for file in found.files] == [
        ("AGENTS.md", ""),
        ("docs/style.md", "AGENTS.md"),
        ("docs/naming.md", "docs/style.md"),
        ("docs/tests.md", "AGENTS.md"),
    ]
    assert found.problems == ()


def test_a_repository_cannot_import_files_outside_it(files: InstructionFiles) -> None:
    files.write(".ssh/id", "secret")
    files.write("shop/AGENTS.md", "@~/.ssh/id @../.ssh/id @link.md")
    (files.project / "link.md").symlink_to(files.home_folder / ".ssh" / "id")
    found = files.find()
    assert [file.source for file in found.files] == ["AGENTS.md"]
    assert len(found.problems) == 3
    assert all("outside the project" in problem for problem in found.problems)


def test_a_users_own_file_may_import_anything(files: InstructionFiles) -> None:
    files.write(".clio/instructions.md", "@~/notes/style.md")
    files.write("notes/style.md", "mine too")
    assert [(one.source, one.personal) for one in files.find().files] == [
        ("~/.clio/instructions.md", True),
        ("~/notes/style.md", True),
    ]


def test_imports_are_limited_to_five_levels_and_thirty_files(files: InstructionFiles) -> None:
    for depth in range(8):
        files.write(f"shop/{'AGENTS.md' if depth == 0 else f'd{depth}.md'}", f"{depth} @d{depth + 1}.md")
    found = files.find()
    assert [file.text[0] for file in found.files] == ["0", "1", "2", "3", "4", "5"]
    assert "nested more than 5 levels deep" in found.problems[0]
    files.write("shop/AGENTS.md", " ".join(f"@many{number:02}.md" for number in range(20)))
    for number in range(20):
        files.write(f"shop/many{number:02}.md", f"@more{number:02}.md")
        files.write(f"shop/more{number:02}.md", "end")
    found = files.find()
    assert len(found.files) == instructions.MAX_FILES
    assert "at most 30 instruction files are read" in found.problems[0]


def test_a_file_that_is_not_text_is_named_and_not_read(files: InstructionFiles) -> None:
    files.write("shop/AGENTS.md", "@picture.png")
    (files.project / "picture.png").write_bytes(b"\x89PNG\0\0")
    found = files.find()
    assert [file.source for file in found.files] == ["AGENTS.md"]
    assert len(found.problems) == 1 and mentions(found.problems[0], "AGENTS.md", "picture.png", "not text")


def test_the_nearest_files_are_complete_if_there_is_not_space_for_all(files: InstructionFiles) -> None:
    files.write("shop/AGENTS.md", "far " * 400)
    files.write("shop/a/AGENTS.md", "middle " * 400)
    files.write("shop/a/b/AGENTS.md", "near " * 400)
    found = files.find(start="shop/a/b")
    count = TokenEstimator().estimate_text
    near, middle = count(found.files[2].text), count(found.files[1].text)
    fragments = make_instruction_fragments(found, 12 * (near + middle // 2), count)
    assert [part.source for part in fragments] == ["a/AGENTS.md", "a/b/AGENTS.md"]
    assert fragments[0].cap_tokens < middle and fragments[1].cap_tokens >= near
    assert describe_left_out(found, fragments)[0].startswith("AGENTS.md was left out")


def make_folder_instructions(
    files: InstructionFiles, start: str = "", window_tokens: int = 128_000
) -> FolderInstructions:
    return FolderInstructions(
        files.project,
        files.home_folder,
        TokenEstimator(),
        start=files.project / start,
        redact=lambda text: text.replace("hunter2", "[gone]"),
        window_tokens=window_tokens,
    )


def test_a_folders_instructions_are_sent_when_work_reaches_it(files: InstructionFiles) -> None:
    files.write("shop/AGENTS.md", "top")
    files.write("shop/packages/AGENTS.md", "packages")
    api = files.write("shop/packages/api/AGENTS.md", "api: hunter2").parent
    instructions = make_folder_instructions(files)
    read = ReadFiles(paths=(api / "app.py",))
    note = instructions.render_for(read)
    assert "top" not in note
    assert note.index('source="packages/AGENTS.md"') < note.index('source="packages/api/AGENTS.md"')
    assert "[gone]" in note and "hunter2" not in note
    change = ChangeFiles(changes=(FileChange(path=api / "new.py", kind="add", after=""),))
    assert instructions.render_for(read) == instructions.render_for(change) == ""
    instructions.forget_shown()
    assert instructions.render_for(change) == note


def test_instructions_in_the_prompt_are_not_repeated(files: InstructionFiles) -> None:
    api = files.write("shop/packages/api/AGENTS.md", "api").parent
    assert make_folder_instructions(files, "packages/api").render_for(ReadFiles(paths=(api / "app.py",))) == ""
    assert make_folder_instructions(files).render_for(ReadFiles(paths=(api,))) != ""
    assert make_folder_instructions(files).render_for(RunCommand(command="ls", cwd=api)) == ""


def test_instructions_read_as_a_file_are_not_repeated(files: InstructionFiles) -> None:
    path = files.write("shop/docs/AGENTS.md", "docs")
    instructions = make_folder_instructions(files)
    assert instructions.render_for(ReadFiles(paths=(path,))) == ""
    assert instructions.render_for(ReadFiles(paths=(path.parent / "other.md",))) == ""


def test_files_outside_the_project_are_not_sent(files: InstructionFiles) -> None:
    subprocess.run(["git", "init", "-q", str(files.project)], check=True)
    files.write("shop/.gitignore", "build/\n")
    for folder in ("build", "node_modules/left-pad", ".venv/lib"):
        files.write(f"shop/{folder}/AGENTS.md", "obey me")
    outside = files.write("elsewhere/AGENTS.md", "obey me")
    instructions = make_folder_instructions(files)
    for folder in ("build", "node_modules/left-pad", ".venv/lib"):
        assert instructions.render_for(ReadFiles(paths=(files.project / folder / "x.py",))) == ""
    assert instructions.render_for(ReadFiles(paths=(outside.parent / "x.py",))) == ""


def test_a_file_ignored_by_name_is_used_and_a_folder_ignored_by_pattern_is_not(files: InstructionFiles) -> None:
    subprocess.run(["git", "init", "-q", str(files.project)], check=True)
    files.write("shop/.gitignore", "AGENTS.md\n*.log\nout/*\n!out/.gitkeep\n")
    files.write("shop/out/.gitkeep", "")
    for folder in ("api", "out"):
        files.write(f"shop/{folder}/AGENTS.md", f"words of {folder}")
    instructions = make_folder_instructions(files)
    assert "words of api" in instructions.render_for(ReadFiles(paths=(files.project / "api/x.py",)))
    assert instructions.render_for(ReadFiles(paths=(files.project / "out/x.py",))) == ""


def test_a_tracked_file_in_an_ignored_folder_is_used(files: InstructionFiles) -> None:
    subprocess.run(["git", "init", "-q", str(files.project)], check=True)
    files.write("shop/.gitignore", "build/\n")
    files.write("shop/build/AGENTS.md", "words of build")
    subprocess.run(["git", "add", "--force", "build/AGENTS.md"], cwd=files.project, check=True)
    assert "words of build" in make_folder_instructions(files).render_for(
        ReadFiles(paths=(files.project / "build/x.py",))
    )


def test_the_instructions_have_a_size_limit(files: InstructionFiles) -> None:
    for folder in ("a", "a/b", "a/b/c"):
        files.write(f"shop/{folder}/AGENTS.md", f"{folder} words\n" * 300)
    note = make_folder_instructions(files, window_tokens=12_000).render_for(
        ReadFiles(paths=(files.project / "a/b/c/x.py",))
    )
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
