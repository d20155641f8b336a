"""`clio init` creates `.clio/`, overwrites nothing and changes no `.gitignore` without a question."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from clio.config.extension_files import FoundServers, read_servers
from clio.config.schema import read_settings_file
from clio.context.instructions import find_instructions
from tests.entrypoints.repl_support import ROOT, Place
from tests.support.harness import make_repository
from tests.support.wording import mentions

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
FILES = {"README.md", "config.yaml", "mcp.yaml", "instructions.md", ".gitignore"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path / "home" / "shop", tmp_path / "home")
    make_repository(place.project, {"app.py": "x = 1\n"})
    return place


def init(place: Place, *options: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "clio", "init", *options]
    where = cwd or place.project
    return subprocess.run(argv, cwd=where, env=place.env(), capture_output=True, text=True, check=False, input="")


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def asked(place: Place) -> list[str]:
    found = find_instructions(place.project, home=place.home, user_home=place.home)
    return [file.text for file in found.files]


@pytest.mark.fast
def test_it_writes_the_files_explains_each_and_leaves_gitignore_alone(place: Place) -> None:
    done = init(place)
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in (place.project / ".clio").iterdir()} == FILES
    assert [line.split()[0] for line in done.stdout.splitlines()[1:6]] == [
        "README.md", "config.yaml", "mcp.yaml", "instructions.md", ".gitignore",
    ]  # fmt: skip
    assert not (place.project / ".gitignore").exists()
    assert mentions(done.stdout, ".gitignore", "not changed", "clio init --yes", ".clio/")
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_the_new_files_change_nothing_until_they_are_edited(place: Place) -> None:
    init(place)
    assert read_settings_file(place.project / ".clio" / "config.yaml", "config.yaml") == ()
    assert read_servers(place.home / ".clio", place.project, lambda value: False) == FoundServers()
    assert asked(place) == []
    path = place.project / ".clio" / "instructions.md"
    path.write_text(path.read_text(encoding="utf-8") + "\n- Use tabs.\n", encoding="utf-8")
    assert asked(place) == ["- Use tabs."]


def test_a_second_run_writes_nothing(place: Place) -> None:
    init(place, "--yes")
    before = tree(place.project)
    done = init(place, "--yes")
    assert done.returncode == 0
    assert "written" not in done.stdout and ".gitignore already contains .clio/" in done.stdout
    assert tree(place.project) == before


def test_an_existing_file_is_kept_and_the_others_are_created(place: Place) -> None:
    own = place.project / ".clio" / "config.yaml"
    own.parent.mkdir()
    own.write_text("max_steps: 5\n", encoding="utf-8")
    done = init(place)
    assert own.read_text(encoding="utf-8") == "max_steps: 5\n"
    assert "config.yaml      kept" in done.stdout and "instructions.md  written" in done.stdout


def test_with_agents_md_no_instructions_file_is_created(place: Place) -> None:
    (place.project / "AGENTS.md").write_text("Use tabs.\n", encoding="utf-8")
    assert mentions(init(place).stdout, "left out", "AGENTS.md exists")
    assert not (place.project / ".clio" / "instructions.md").exists()


def test_a_dry_run_writes_nothing(place: Place) -> None:
    before = tree(place.project)
    done = init(place, "--dry-run", "--yes")
    assert done.returncode == 0 and done.stdout.count("would be written") == len(FILES)
    assert tree(place.project) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"", b".clio/\n"), (b"dist", b"dist\n.clio/\n"), (b"a\r\nb\r\n", b"a\r\nb\r\n.clio/\r\n")],
)
def test_yes_adds_the_line_in_the_style_of_the_file(place: Place, old: bytes, new: bytes) -> None:
    (place.project / ".gitignore").write_bytes(old)
    assert init(place, "--yes").returncode == 0
    assert (place.project / ".gitignore").read_bytes() == new


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 15), (200, 60)])
@pytest.mark.parametrize(("answer", "there"), [("y", True), ("", False), ("n", False)])
def test_a_user_is_asked(place: Place, answer: str, there: bool, columns: int, rows: int) -> None:
    with place.clio("init", columns=columns, lines=rows) as clio:
        clio.wait_for("Add .clio/ to .gitignore? [y/N]")
        clio.line(answer)
        assert clio.wait_exit() == 0
    assert (place.project / ".gitignore").exists() is there


def test_folders_in_which_init_is_refused(place: Place) -> None:
    done = init(place, cwd=place.home)
    assert (done.returncode, "clio's own" in done.stderr) == (2, True)
    done = init(place, "--incognito")
    assert (done.returncode, "writes nothing" in done.stderr) == (2, True)
    (place.project / ".clio").write_text("", encoding="utf-8")
    done = init(place)
    assert (done.returncode, "move it away" in done.stderr) == (2, True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_named(place: Place) -> None:
    place.project.chmod(0o500)
    done = init(place)
    place.project.chmod(0o700)
    assert (done.returncode, "shop" in done.stderr) == (1, True)


def test_flags_of_init_are_refused_elsewhere(place: Place) -> None:
    for words in (["--yes"], ["doctor", "--dry-run"], ["--yes", "memory", "list"]):
        argv = [sys.executable, "-m", "clio", *words]
        done = subprocess.run(argv, cwd=place.project, env=place.env(), capture_output=True, text=True, check=False)
        assert done.returncode == 2 and words[-1 if words[0] == "doctor" else 0] in done.stderr


def test_the_wheel_contains_the_example(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-500:]
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in FILES - {".gitignore"}:
            assert archive.read(f"clio/_example/{name}") == (ROOT / ".clio.example" / name).read_bytes()
