"""Files that belong to a project: ripgrep and the Python implementation agree, with git and without."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.tools.files.file_index import find_ripgrep, list_files, list_files_within, make_ripgrep_options, walk_files

ENGINES = pytest.mark.parametrize("rg", ["auto", None], ids=["ripgrep", "python"])
GIT = pytest.mark.parametrize("git", [True, False], ids=["git", "no git"])


def fill(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def make_repository(root: Path) -> None:
    subprocess.run(["git", "init", "-q", str(root)], check=True)


TREE = {
    ".gitignore": "*.log\n!keep.log\n/build\nout/\nsub/*.tmp\n# comment\n\nspace\\ \n",
    "a.py": "",
    "b.log": "",
    "keep.log": "",
    "build/x.py": "",
    "sub/build/x.py": "",
    "sub/out/y.py": "",
    "sub/a.tmp": "",
    "sub/deep/a.tmp": "",
    "sub/.gitignore": "!b.log\nlocal.py\n",
    "sub/b.log": "",
    "sub/local.py": "",
    "local.py": "",
    ".github/workflows/ci.yml": "",
    ".env": "",
    "node/.ignore": "own.py\n",
    "node/own.py": "",
    ".clio/sessions/1.json": "",
    ".clio/cache/vectors": "",
    ".clio/config.yaml": "",
    "ünï/çödé.py": "",
}
VISIBLE = [
    "a.py",
    "keep.log",
    "local.py",
    "sub/b.log",
    "sub/build/x.py",
    "sub/deep/a.tmp",
    "ünï/çödé.py",
]
HIDDEN = [".clio/config.yaml", ".env", ".github/workflows/ci.yml", ".gitignore", "node/.ignore", "sub/.gitignore"]


@ENGINES
@GIT
def test_ignore_rules_apply(tmp_path: Path, rg: str | None, git: bool) -> None:
    fill(tmp_path, TREE)
    if git:
        make_repository(tmp_path)
    assert list_files(tmp_path, rg=rg) == VISIBLE
    assert set(list_files(tmp_path, hidden=True, rg=rg)) == {*VISIBLE, *HIDDEN}


@ENGINES
@GIT
def test_a_folder_of_the_project_is_listed(tmp_path: Path, rg: str | None, git: bool) -> None:
    """The rules of the folders above apply, and paths are relative to the project."""
    fill(tmp_path, TREE)
    if git:
        make_repository(tmp_path)
    found = list_files(tmp_path, tmp_path / "sub", rg=rg)
    assert found == ["sub/b.log", "sub/build/x.py", "sub/deep/a.tmp"]


@ENGINES
@GIT
def test_an_ignored_folder_given_by_name_is_listed(tmp_path: Path, rg: str | None, git: bool) -> None:
    fill(tmp_path, {".gitignore": "node_modules/\n", "node_modules/lib/index.js": "", "a.js": ""})
    if git:
        make_repository(tmp_path)
    assert list_files(tmp_path, rg=rg) == ["a.js"]
    assert list_files(tmp_path, tmp_path / "node_modules", rg=rg) == ["node_modules/lib/index.js"]
    assert list_files(tmp_path, tmp_path / "node_modules/lib", rg=rg) == ["node_modules/lib/index.js"]


@ENGINES
def test_git_does_not_list_its_own_files(tmp_path: Path, rg: str | None) -> None:
    make_repository(tmp_path)
    fill(tmp_path, {"a": "", ".git/info/exclude": "private\n", "private": "", "deep/private": ""})
    assert list_files(tmp_path, hidden=True, rg=rg) == ["a"]


@ENGINES
def test_a_project_inside_a_repository(tmp_path: Path, rg: str | None) -> None:
    """A project inside a larger repository uses its rules too."""
    make_repository(tmp_path)
    fill(tmp_path, {".gitignore": "*.o\n/app/gen\n", "app/a.c": "", "app/a.o": "", "app/gen/b.c": ""})
    assert list_files(tmp_path / "app", rg=rg) == ["a.c"]


@ENGINES
def test_rules_above_a_project_without_git_do_not_apply(tmp_path: Path, rg: str | None) -> None:
    fill(tmp_path, {".gitignore": "*\n", "project/a.c": ""})
    assert list_files(tmp_path / "project", rg=rg) == ["a.c"]


@ENGINES
def test_a_repository_inside_another(tmp_path: Path, rg: str | None) -> None:
    """Rules outside a nested repository do not apply to it."""
    fill(tmp_path, {"inner/a.o": "", "inner/.gitignore": "*.x\n", "inner/b.x": "", "c.o": "", ".gitignore": "c.o\n"})
    make_repository(tmp_path)
    make_repository(tmp_path / "inner")
    assert list_files(tmp_path / "inner", rg=rg) == ["a.o"]
    assert list_files(tmp_path, rg=rg) == ["inner/a.o"]


@ENGINES
def test_links_are_not_listed(tmp_path: Path, rg: str | None) -> None:
    fill(tmp_path, {"real/a.py": ""})
    (tmp_path / "link.py").symlink_to(tmp_path / "real/a.py")
    (tmp_path / "circle").symlink_to(tmp_path, target_is_directory=True)
    assert list_files(tmp_path, rg=rg) == ["real/a.py"]


@ENGINES
def test_unusual_names_are_listed(tmp_path: Path, rg: str | None) -> None:
    names = ["new\nline", "quo'te\"", "-dash", "sp ace ", "[br]{ac}", "ä"]
    fill(tmp_path, dict.fromkeys(names, ""))
    assert sorted(list_files(tmp_path, rg=rg)) == sorted(names)


def test_a_program_that_cannot_be_started_is_replaced(tmp_path: Path) -> None:
    fill(tmp_path, {"a": "", "broken": "not a program"})
    assert list_files(tmp_path, rg=str(tmp_path / "broken")) == ["a", "broken"]
    assert list_files(tmp_path, rg=str(tmp_path / "none")) == ["a", "broken"]


@ENGINES
def test_an_empty_or_missing_folder(tmp_path: Path, rg: str | None) -> None:
    assert list_files(tmp_path, rg=rg) == []


LINES = ["*.a", "!*.a", "x/", "/x", "x/y", "**/y", "y/**", "!y/", "!x.a", "x*", "?", "[xy]", "/*", "!/x/", "*/y", "x/*"]
ODD_LINES = ["z/**", "**/x/**", "x**", "\\!y", "#x", "x ", "z/y*", "!*", "[!x]", "**", "/**/y", "z/[a-y]*", "\\y"]
RULES = st.lists(st.sampled_from(LINES + ODD_LINES), max_size=4)
NAMES = ["x/y/x.a", "x/y.a", "x/z", "y/x/y", "y/y.a", "z/x/y.a", "z/y/x", "z/xz", "x.a", "y.a", "!y", "#x"]


def ruled_tree(root: Path, top: list[str], inner: list[str]) -> None:
    fill(root, dict.fromkeys(NAMES, ""))
    fill(root, {".gitignore": "\n".join(top), "z/.gitignore": "\n".join(inner)})


@given(RULES, RULES)
def test_the_python_implementation_agrees_with_ripgrep(
    tmp_path_factory: pytest.TempPathFactory, top: list[str], inner: list[str]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    ruled_tree(root, top, inner)
    assert find_ripgrep() is not None
    assert list_files(root, hidden=True, rg=None) == list_files(root, hidden=True)


@given(st.lists(st.sampled_from([*LINES, *ODD_LINES, "{x,y}", "\\#x", "y\\ "]), max_size=4), RULES)
def test_the_python_implementation_agrees_with_git(
    tmp_path_factory: pytest.TempPathFactory, top: list[str], inner: list[str]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    ruled_tree(root, top, inner)
    make_repository(root)
    command = ["git", "ls-files", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    assert set(list_files(root, hidden=True, rg=None)) == {name for name in listed.split("\0") if name}


@pytest.mark.parametrize("has_rg", [True, False])
def test_a_listing_with_a_limit_is_complete_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_rg: bool
) -> None:
    if not has_rg:
        monkeypatch.setattr("clio.tools.files.file_index.find_ripgrep", lambda: None)
    for name in "abc":
        (tmp_path / name).write_text("", encoding="utf-8")
    assert list_files_within(tmp_path, limit_s=20, most=3) == ["a", "b", "c"]
    assert list_files_within(tmp_path, limit_s=20, most=2) is None
    assert list_files_within(tmp_path, limit_s=0.0, most=3) is None


def test_the_root_folder_is_searched_without_special_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = Path(tmp_path.anchor)
    assert "--glob=!/proc" in make_ripgrep_options(top, top, hidden=True)
    assert "--glob=!/proc" not in make_ripgrep_options(tmp_path, tmp_path, hidden=True)
    for name in ("proc", "etc"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").touch()
    monkeypatch.setattr("clio.tools.files.file_index._KERNEL_FOLDERS", (str(tmp_path / "proc"),))
    assert list(walk_files(tmp_path, tmp_path, hidden=True)) == ["etc/a"]
    assert list(walk_files(tmp_path, tmp_path / "proc", hidden=True)) == ["a"]
