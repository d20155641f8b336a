"""Changes by commands and tools are undone and redone to the byte."""

from pathlib import Path

import pytest

from tests.checkpoints.support import Place
from tests.support.harness import git

FILES = {"a.txt": "one\ntwo\n", "src/b.py": "print(1)\n", "empty": "", ".gitignore": "build/\n"}
COMMANDS = {
    "a change": "echo three >> a.txt",
    "a new file in a new folder": "mkdir -p x/y && echo hi > x/y/new.txt",
    "a deleted file": "rm src/b.py",
    "a renamed file": "mv a.txt src/a2.txt",
    "an executable bit": "chmod 755 a.txt",
    "a private file": "chmod 600 a.txt",
    "binary bytes": r"printf '\0\377\376binary' > a.txt",
    "an emptied file": ": > a.txt",
    "a filled empty file": "echo x > empty",
    "carriage returns": r"printf 'one\r\ntwo\r\n' > a.txt",
    "a link": "ln -s a.txt link",
    "a file become a link": "rm a.txt && ln -s src/b.py a.txt",
    "a file become a folder": "rm a.txt && mkdir a.txt && echo x > a.txt/in",
    "a folder become a file": "rm -r src && echo x > src",
    "a name with blanks": "echo x > 'a b\tc'",
    "a name with accents": "echo x > größe.txt",
    "a commit": "echo x >> a.txt && git add -A && git -c user.name=a -c user.email=b commit -qm x || true",
    "everything staged": "echo x > new && git add -A || true",
    "the same size": "printf 'two\\none\\n' > a.txt",
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("git_", [True, False], ids=["git", "plain"])
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_command_is_undone_and_redone(tmp_path: Path, command: str, git_: bool) -> None:
    place = Place(tmp_path, FILES, git=git_)
    before = place.tree()
    place.run("t1", command)
    after = place.tree()
    assert after != before
    assert not place.undo("t1").skipped
    assert place.tree() == before
    assert not place.redo().skipped
    assert place.tree() == after


@pytest.mark.fast
def test_a_tool_call_is_undone_and_redone(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    before = place.tree()
    place.edit(
        "t1", ["new/deep/c.txt", "a.txt"], lambda: (place.write("new/deep/c.txt", "c"), place.write("a.txt", ""))
    )
    after = place.tree()
    place.undo("t1")
    assert place.tree() == before
    place.redo()
    assert place.tree() == after


def test_gits_own_files_are_unchanged(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    place.write("a.txt", "staged\n")
    git(place.root, "add", "a.txt")
    place.write("a.txt", "worktree\n")
    git(place.root, "stash", "list")

    def gits() -> tuple[str, dict[str, bytes]]:
        inside = {
            str(p.relative_to(place.root)): p.read_bytes() for p in (place.root / ".git").rglob("*") if p.is_file()
        }
        return git(place.root, "--no-optional-locks", "status", "--porcelain"), inside

    before = gits()
    place.run("t1", "echo more >> a.txt; echo new > new.txt; rm src/b.py")
    place.undo("t1")
    assert gits() == before
    assert place.read("a.txt") == "worktree\n"
