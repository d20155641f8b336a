"""What a program left behind: comparison of whole trees, and every file it opened for writing, even briefly."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

LISTENER = """
import os, sys

OUT = os.open(os.environ["WRITES_FILE"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {
    "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.utime", "os.chmod",
    "tempfile.mkstemp", "tempfile.mkdtemp", "sqlite3.connect", "shutil.copyfile", "shutil.move",
}

def listen(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        writes = any(letter in mode for letter in "wax+") if mode else bool((flags or 0) & WRITING)
        if not writes or not isinstance(path, (str, bytes)) or os.fsdecode(path).startswith(("/dev/", "/proc/")):
            return
        what = os.fsdecode(path)
    elif event in CHANGES:
        what = str(arguments[0])
    else:
        return
    os.write(OUT, f"{event} {what}\\n".encode("utf-8", "replace"))

sys.addaudithook(listen)
"""


class Listener:
    """Makes Python programs record the files they open for writing; `env` is added to their environment."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(LISTENER, encoding="utf-8")
        self._written = folder / "written"
        self._written.touch()
        self._folder = folder

    def env(self, pythonpath: str = "") -> dict[str, str]:
        """Return the environment variables that turn it on."""
        path = os.pathsep.join(filter(None, (str(self._folder), pythonpath)))
        return {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "WRITES_FILE": str(self._written)}

    @property
    def writes(self) -> list[str]:
        """Return one line for each file that was opened for writing, created, renamed or removed."""
        return self._written.read_text(encoding="utf-8").splitlines()


def snapshot(*tops: Path) -> dict[str, tuple[str, int, int, str]]:
    """Return every file and folder below: kind, mode, modification time, content.

    A folder's time shows that a file was created and removed.
    """
    return {str(path): _look(path) for top in tops for path in _below(top)}


def _below(top: Path) -> Iterator[Path]:
    yield top
    yield from sorted(top.rglob("*"))


def _look(path: Path) -> tuple[str, int, int, str]:
    stat = path.lstat()
    if path.is_symlink():
        return "link", stat.st_mode, stat.st_mtime_ns, str(path.readlink())
    if path.is_dir():
        return "folder", stat.st_mode, stat.st_mtime_ns, ""
    return "file", stat.st_mode, stat.st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest()
