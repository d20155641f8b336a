"""Which files belong to the workspace."""

import os
from pathlib import Path
from typing import Protocol


class OpenFiles(Protocol):
    """An editor in which a person has files of the workspace open."""

    @property
    def can_save(self) -> bool:
        """Whether it saves a file when it is asked to."""
        ...

    def text(self, path: Path, disk: str) -> str | None:
        """What it shows of a file and has not saved; None where that is `disk`, the file's text, or is not known.

        May wait for the editor; for worker threads only.
        """
        ...


class Workspace:
    """The project folder; every path a tool is given is resolved against it before anything else looks at it.

    open_files: the editor its files are open in, where there is one; to be set before the first tool runs.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.open_files: OpenFiles | None = None

    def resolve(self, text: str) -> Path:
        """The absolute path a person or the model means, with `~`, `..` and every link resolved.

        The file need not exist. Raises ValueError for an empty path, one with a NUL character, and one with a link
        that may not be read.
        """
        if not text.strip():
            raise ValueError("the path is empty")
        if "\0" in text:
            raise ValueError(f"the path {text!r} holds a NUL character")
        path = Path(text).expanduser()
        try:
            return Path(os.path.realpath(path if path.is_absolute() else self.root / path))
        except OSError as error:  # a link whose target may not be read, as in /proc
            raise ValueError(f"the path {text!r} cannot be followed: {error.strerror}") from None

    def contains(self, path: Path) -> bool:
        """Whether a resolved path is the workspace or lies in it."""
        return path == self.root or self.root in path.parents

    def display(self, path: Path) -> str:
        """The path as it is shown: relative with forward slashes inside the workspace, else absolute."""
        return path.relative_to(self.root).as_posix() if self.contains(path) else str(path)
