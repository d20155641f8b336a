"""What git knows of a working tree, by commands that only read: no lock, no program, no index written."""

import hashlib
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from clio.errors import StorageError
from clio.git_looking import command, environment

_TIMEOUT_S = 8.0
_REGULAR = (b"100644", b"100755")


class Tracked(Struct, frozen=True, kw_only=True):
    """What the index says.

    blobs: the object name of every regular file git would notice a change of. special: what else is tracked and has to
    be looked at: links, files with a filter, files in a merge, files git was told not to look at.
    submodules: folders of other repositories.
    """

    blobs: dict[str, str]
    special: frozenset[str]
    submodules: tuple[str, ...]


class Changed(Struct, frozen=True, kw_only=True):
    """Tracked files that may differ from the index, those that are gone, and files git does not know."""

    touched: frozenset[str]
    gone: frozenset[str]
    others: frozenset[str]
    repositories: tuple[str, ...]


class GitTree:
    """One folder in a git working tree; paths are relative to it, with forward slashes."""

    def __init__(self, folder: Path, index: Path) -> None:
        self.folder = folder
        self._index = index

    def index_key(self) -> tuple[int, ...]:
        """Changes whenever the index does."""
        try:
            status = self._index.stat()
        except OSError:
            return ()
        return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns

    def tracked(self) -> Tracked:
        """Read the index. Raises StorageError where git fails."""
        listing = self._start("ls-files", "--stage", "-v", "-z")
        # Asked the other way round: "attr:filter" is a filter that is set, and not one that has a name, as all have.
        unfiltered = self._start("ls-files", "-z", ":(attr:!filter)")
        blobs: dict[str, str] = {}
        special: set[str] = set()
        plain = set(self._finish(unfiltered).split(b"\0"))
        submodules: list[str] = []
        for entry in self._finish(listing).split(b"\0"):
            if not entry:
                continue
            head, _, raw = entry.partition(b"\t")
            tag, mode, sha, stage = head.split(b" ")
            path = os.fsdecode(raw)
            if mode == b"160000":
                submodules.append(path)
            elif mode in _REGULAR and tag == b"H" and stage == b"0" and raw in plain:
                blobs[path] = sha.decode("ascii")
            else:
                special.add(path)
        for path in special:
            blobs.pop(path, None)
        return Tracked(blobs=blobs, special=frozenset(special), submodules=tuple(submodules))

    def changed(self) -> Changed:
        """Compare working tree and index by what the file system says of each file; no file is read.

        Raises StorageError where git fails.
        """
        differing = self._start("diff-files", "--name-status", "--ignore-submodules=all", "-z")
        unknown = self._start("ls-files", "--others", "--exclude-standard", "-z")
        words = [os.fsdecode(word) for word in self._finish(differing).split(b"\0")]
        rows = list(zip(words[::2], words[1::2], strict=False))
        others = {os.fsdecode(path) for path in self._finish(unknown).split(b"\0") if path}
        return Changed(
            touched=frozenset(path for status, path in rows if status != "D"),
            gone=frozenset(path for status, path in rows if status == "D"),
            others=frozenset(path for path in others if not path.endswith("/")),
            repositories=tuple(sorted(path for path in others if path.endswith("/"))),
        )

    def sizes(self, blobs: Sequence[str]) -> dict[str, int]:
        """The size in bytes of each object that is there."""
        lines = self._ask("cat-file", "--batch-check=%(objectname) %(objectsize)", blobs).splitlines()
        rows = [line.split(b" ") for line in lines]
        return {name.decode("ascii"): int(size) for name, size in rows if size.isdigit()}

    def contents(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """The bytes of each object that is there, unfiltered."""
        wanted = sorted(set(blobs))
        if not wanted:
            return {}
        output = self._ask("cat-file", "--batch", wanted)
        found: dict[str, bytes] = {}
        at = 0
        while (end := output.find(b"\n", at)) >= 0:
            words = output[at:end].split(b" ")
            at = end + 1
            if len(words) == 3 and words[1] == b"blob":
                size = int(words[2])
                found[words[0].decode("ascii")] = output[at : at + size]
                at += size + 1
        return found

    def _ask(self, command: str, option: str, blobs: Sequence[str]) -> bytes:
        process = self._start(command, option, stdin=subprocess.PIPE)
        return self._finish(process, "".join(f"{name}\n" for name in blobs).encode("ascii"))

    def _start(self, *words: str, stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
        try:
            return start(self.folder, *words, stdin=stdin)
        except OSError as error:
            raise StorageError(f"git cannot be run ({error.strerror}), so changes of commands are not kept") from error

    def _finish(self, process: "subprocess.Popen[bytes]", given: bytes | None = None) -> bytes:
        output, said = _communicate(process, given)
        if process.returncode != 0:
            cause = said.decode("utf-8", "replace").strip().splitlines()[:1] or ["it took too long"]
            raise StorageError(f"git cannot say what changed in {str(self.folder)!r}: {cause[0]}")
        return output


def git_tree(folder: Path) -> GitTree | None:
    """The working tree the folder lies in; None outside of git, without git, and where git ignores the folder."""
    try:
        asked = start(folder, "rev-parse", "--is-inside-work-tree", "--git-path", "index")
        answer, _ = _communicate(asked, None)
        lines = os.fsdecode(answer).splitlines()
        if asked.returncode != 0 or lines[:1] != ["true"]:
            return None
        ignored = start(folder, "check-ignore", "--quiet", ".")
        _communicate(ignored, None)
    except OSError:
        return None
    return None if ignored.returncode == 0 else GitTree(folder, folder / lines[1])


def blob_name(data: bytes, like: str) -> str:
    """What git calls these bytes, in the repository whose names look like `like`."""
    hashed = hashlib.sha256() if len(like) == 64 else hashlib.sha1(usedforsecurity=False)
    hashed.update(b"blob %d\0" % len(data))
    hashed.update(data)
    return hashed.hexdigest()


def start(folder: Path, *words: str, stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
    """Start a reading git command. Raises OSError where it cannot be started."""
    return subprocess.Popen(
        command(folder, *words),
        cwd=folder,
        env=environment(),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _communicate(process: "subprocess.Popen[bytes]", given: bytes | None) -> tuple[bytes, bytes]:
    try:
        return process.communicate(given, timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()
