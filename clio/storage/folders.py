"""Folders only their owner may enter, and that git leaves alone."""

import os
import re
from contextlib import suppress
from pathlib import Path

from clio.storage.atomic import write_atomic

IGNORE_ALL = b"*\n"


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents, each with mode 0700. One that exists keeps its mode."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def make_ignored_folder(folder: Path, root: Path) -> None:
    """Create `folder`, which lies in `root`, so that git does not see what clio puts there.

    The topmost folder that had to be made, from `root` down, gets a `.gitignore` containing `*`. Where `root` was there
    already and has a `.gitignore`, its owner has decided what git sees, and none is written.
    """
    if folder.is_dir():
        return
    if not root.is_dir():
        _make_ignored(root)
    top = folder
    while top != root and not top.parent.is_dir():
        top = top.parent
    make_folder(folder)
    if not (root / ".gitignore").exists():
        write_atomic(top / ".gitignore", IGNORE_ALL, 0o644, durable=False)


def _make_ignored(folder: Path) -> None:
    """Made aside and then named: killed between a folder and its `.gitignore`, git would see all that comes later."""
    make_folder(folder.parent)
    aside = folder.with_name(f"{folder.name}.{os.urandom(4).hex()}.tmp")
    try:
        aside.mkdir(mode=0o700)
        write_atomic(aside / ".gitignore", IGNORE_ALL, 0o644, durable=False)
        aside.rename(folder)
    except OSError as error:
        _take_away(aside)
        if not folder.is_dir():  # another clio has made it meanwhile
            raise OSError(error.errno, error.strerror, str(folder)) from error
    # What a clio that was killed in the midst has left. One that is in the midst now finds the folder made, as above.
    pattern = re.compile(re.escape(folder.name) + r"\.[0-9a-f]{8}\.tmp")
    with suppress(OSError):
        for left in [each for each in folder.parent.iterdir() if pattern.fullmatch(each.name)]:
            if not left.is_symlink():  # a repository may bring one, to any folder
                _take_away(left)


def _take_away(aside: Path) -> None:
    """A folder made aside, where nothing but its `.gitignore` is in it, or what was to become one."""
    with suppress(OSError):
        inside = list(aside.iterdir())
        if all(path.name.startswith(".gitignore") for path in inside):
            for path in inside:
                path.unlink()
            aside.rmdir()
