"""The folders clio writes to: whether it may, who else may look, and how much room is left."""

import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from clio.commands.subcommands import GcRequest
from clio.entrypoints.doctor.finding import Finding, Ground, fix, note, ok, several
from clio.entrypoints.gc import look
from clio.tools.files.text_file import size_text

LITTLE_BYTES, SOME_BYTES = 100_000_000, 1_000_000_000
MUCH_BYTES, MANY_UNFINISHED = 100_000_000, 1_000
"""What `clio gc` could free is worth a word from so much on, or from so many files that kills left."""
_FEW_FILES = 1_000
_READ_BYTES = 1_000_000
_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# A value that is written out, and is no reference to a variable.
_SECRET = re.compile(
    rb"(?i)[\w-]*(key|token|secret|passw\w*|authorization|credential)[\w-]*[\"']?\s*[:=]\s*[\"']?(?!\$)[^\s\"'#]{8}"
)


def check_home(ground: Ground) -> Iterator[Finding]:
    """Whether clio's own folder, or what it will be made in, can be written."""
    if ground.loaded.config.incognito:
        yield ok("home", f"{ground.shown(ground.home)}, not written to because clio is incognito")
        return
    yield _writable("home", ground.home, ground, "make it yours, or set CLIO_HOME")
    if ground.home.is_dir() and _mode(ground.home) & _OTHERS_WRITE:
        yield fix("home", f"others can write into {ground.shown(ground.home)}, and so decide what clio runs",
                  f"chmod go-w {ground.shown(ground.home)}")  # fmt: skip


def check_project(ground: Ground) -> Iterator[Finding]:
    """Whether sessions and what is learned can be kept."""
    if ground.loaded.config.incognito:
        yield ok("project", f"{ground.owner}, not written to because clio is incognito")
    else:
        yield _writable("project", ground.owner / ".clio", ground, "make it yours, or work with --incognito")


def check_secrets(ground: Ground) -> Iterator[Finding]:
    """Whether a file with a key in it can be read by others."""
    own = [ground.home / name for name in ("config.yaml", "mcp.yaml", "hooks.yaml")]
    theirs = [ground.owner / ".clio" / name for name in ("config.yaml", "mcp.yaml")]
    files = [*own, *theirs, ground.owner / ".mcp.json"]
    holding = [path for path in dict.fromkeys(files) if path.is_file() and _SECRET.search(_head(path))]
    open_to_others = [path for path in holding if _mode(path) & _OTHERS_READ] if os.name != "nt" else []
    for path in open_to_others:
        yield fix("keys", f"{ground.shown(path)} holds one and others can read it", f"chmod 600 {ground.shown(path)}")
    if not open_to_others:
        yield ok(
            "keys",
            f"in {several(len(holding), 'file')}, which only you can read"
            if holding
            else "no file of clio's holds one",
        )


def check_disk(ground: Ground) -> Iterator[Finding]:
    """How much room is left where clio writes."""
    seen: set[int] = set()
    for name, folder in (("home", ground.home), ("project", ground.owner)):
        there = _nearest(folder)
        if (device := there.stat().st_dev) in seen:
            continue
        seen.add(device)
        free = shutil.disk_usage(there).free
        text = f"{size_text(free)} free for {ground.shown(folder) if name == 'home' else 'the project'}"
        if free < LITTLE_BYTES or _files_left(there) < _FEW_FILES:
            yield fix("disk", f"{text}, and {_files_left(there):,.0f} files" if free >= LITTLE_BYTES else text,
                      "make room before a session cannot be kept")  # fmt: skip
        elif free < SOME_BYTES:
            yield note("disk", text, "make room soon")
        else:
            yield ok("disk", text)


def check_space(ground: Ground) -> Iterator[Finding]:
    """What `clio gc` could free in clio's folders."""
    heaps = look(ground.loaded, GcRequest())
    waste = sum(heap.wasted for heap in heaps)
    unfinished = sum(len(heap.waste) for heap in heaps if heap.what == "unfinished writes")
    left = f" with {several(unfinished, 'unfinished write')} that kills left" if unfinished else ""
    if waste > MUCH_BYTES or unfinished > MANY_UNFINISHED:
        yield note("space", f"{size_text(waste)} may go{left}", "free it with: clio gc")
    else:
        size = size_text(sum(heap.bytes for heap in heaps))
        yield ok("space", f"{size} in clio's folders, {size_text(waste)} may go{left}" if heaps else "nothing kept yet")


def _writable(about: str, folder: Path, ground: Ground, todo: str) -> Finding:
    shown = ground.shown(folder)
    there = _nearest(folder)
    if not there.is_dir():
        return fix(about, f"{shown} cannot be written: {ground.shown(there)} is no folder", todo)
    if not os.access(there, os.W_OK | os.X_OK):
        return fix(about, f"{shown} cannot be written: you may not, or it is mounted to be read", todo)
    return ok(about, f"{shown} can be written" + ("" if there == folder else "; it is made when it is needed"))


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest above it that is there."""
    return next(path for path in (folder, *folder.parents) if os.path.lexists(path))


def _files_left(folder: Path) -> float:
    """How many more files the file system takes; infinite where it does not count them."""
    if not hasattr(os, "statvfs"):
        return float("inf")
    status = os.statvfs(folder)
    return status.f_favail if status.f_files else float("inf")


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_READ_BYTES)
    except OSError:
        return b""  # what the configuration says of it stands in its own line


def _mode(path: Path) -> int:
    return path.stat().st_mode
