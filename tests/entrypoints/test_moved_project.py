"""A project whose folder was renamed, moved or copied after clio wrote its memory."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.storage.files import find_birth_mark
from tests.entrypoints.repl_support import Place, at_prompt, clio, make_place
from tests.support.chat_server import ChatServer, text

LIMIT = "never push to the green remote in this project"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer([text(f"Answer {number}.") for number in range(6)]) as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, server: ChatServer) -> Place:
    """A project in which the user has stated a limit."""
    place = make_place(tmp_path, server)
    (place.project / "a.py").write_text("x = 1\n", encoding="utf-8")
    assert "Saved to project memory" in clio(place, "-p", LIMIT).stderr
    return place


def get_limits(server: ChatServer) -> str:
    """Return the hard limits of the last request."""
    sent = json.dumps(server.requests[-1].body["messages"])
    return sent.partition("<hard_limits")[2].partition("</hard_limits>")[0]


@pytest.mark.parametrize("moves", ["project", "its parent"])
def test_limits_apply_in_a_moved_project(place: Place, server: ChatServer, moves: str) -> None:
    if not find_birth_mark(place.project):
        pytest.skip("the file system does not tell a folder from a later one")
    if moves == "project":
        moved = place.project.rename(place.project.with_name("renamed"))
    else:
        parent = place.project.parent.rename(place.project.parent.with_name("elsewhere"))
        moved, place.home = parent / "project", parent / "home"
    done = clio(place, "-p", "hello", cwd=moved)
    assert "green remote" in get_limits(server)
    assert "clio config trust" not in done.stderr


def test_a_copied_project_says_that_its_limits_do_not_apply(place: Place, server: ChatServer) -> None:
    copied = Path(shutil.copytree(place.project, place.project.with_name("copied")))
    done = clio(place, "-p", "hello", cwd=copied)
    assert not get_limits(server)
    assert "a copy of another folder" in done.stderr
    assert "hard limits do not apply" in " ".join(done.stderr.split())
    assert "extra permissions" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize("answer", ["y", ""])
def test_the_question_about_a_copied_project_decides(place: Place, server: ChatServer, answer: str) -> None:
    copied = Path(shutil.copytree(place.project, place.project.with_name("copied")))
    place.project = copied
    with place.clio() as session:
        session.wait_for("Is this memory your own?")
        shown = " ".join(session.text.split())
        assert "a copy of another folder" in shown
        assert "its hard limits do not apply" in shown
        assert "permissions" not in shown
        session.line(answer)
        at_prompt(session)
        session.line("hello")
        session.wait_for("Answer 1.")
    assert ("green remote" in get_limits(server)) is (answer == "y")


def test_a_repository_with_a_copied_seal_is_foreign(place: Place, server: ChatServer, tmp_path: Path) -> None:
    made = tmp_path / "made"
    shutil.copytree(place.project, made)
    (made / ".clio" / ".gitignore").unlink(missing_ok=True)
    for command in (
        ["init", "-q"],
        ["add", "-f", "."],
        ["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *command], cwd=made, check=True)
    shutil.rmtree(place.project)
    subprocess.run(["git", "clone", "-q", str(made), str(place.project)], check=True)
    done = clio(place, "-p", "hello")
    assert not get_limits(server)
    assert "came with this project" in done.stderr
